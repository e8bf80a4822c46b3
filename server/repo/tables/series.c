/*
 * Series as the list and the search show them.
 */
#include <stdlib.h>

#include "server/repo/tables/repo.h"

static pfc_sql_series_list_args series_args(int64_t project_id, int64_t series_id,
                                            const pfc_series_filter *f, pfc_page page)
{
    return (pfc_sql_series_list_args){ .project_id = project_id,
                                       .series_id = series_id,
                                       .metric = f->metric,
                                       .benchmark = f->benchmark,
                                       .backend = f->backend,
                                       .machine_class = f->machine_class,
                                       .branch = f->branch,
                                       .words = f->words,
                                       .headline_only = f->headline,
                                       .spark_length = PFC_MIN(PFC_MAX(f->spark, 0), 200),
                                       .cursor = page.cursor,
                                       .limit = pfc_page_fetch(page) };
}

static size_t place_of(const pfc_sql_series_order_rows *order, int64_t id)
{
    for (size_t i = 0; i < order->len; i++) {
        if (order->items[i].id == id)
            return i;
    }
    return order->len;
}

/* Puts the rows in the order of the ids. */
static void put_in_order(const pfc_sql_series_order_rows *order, pfc_series_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) { /* each step puts one row in its place */
        size_t to = place_of(order, rows->items[i].id);

        while (to < rows->len && to != i) {
            const pfc_series row = rows->items[to];

            rows->items[to] = rows->items[i];
            rows->items[i] = row;
            to = place_of(order, rows->items[i].id);
        }
    }
}

static pfc_code list_sorted(pfc_db *db, int64_t project_id, const pfc_series_filter *f,
                            pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    const pfc_sql_series_order_args asked = { .project_id = project_id,
                                              .metric = f->metric,
                                              .benchmark = f->benchmark,
                                              .backend = f->backend,
                                              .machine_class = f->machine_class,
                                              .branch = f->branch,
                                              .words = f->words,
                                              .headline_only = f->headline,
                                              .change = f->change,
                                              .sort = f->sort ? f->sort : "name",
                                              .cursor = page.cursor,
                                              .limit = pfc_page_fetch(page) };
    const pfc_series_filter any = { .spark = f->spark };
    pfc_sql_series_list_args args = series_args(project_id, 0, &any, page);
    pfc_sql_series_order_rows order = { 0 };
    int64_t *ids;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = pfc_sql_series_order(tx, &asked, &order, err);
    ids = pfc_calloc(order.len + 1, sizeof(*ids));
    for (size_t i = 0; i < order.len; i++)
        ids[i] = order.items[i].id;
    args.cursor = 0;
    args.ids = ids;
    args.ids_len = order.len;
    if (!code)
        code = pfc_sql_series_list(tx, &args, out, err);
    if (!code) {
        put_in_order(&order, out);
        pfc_rows_cut(out, page, id);
    }
    free(ids);
    pfc_rows_clear(&order);
    pfc_tx_free(tx);
    return code;
}

static pfc_code list_by_id(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                           pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    const pfc_sql_series_list_args args = series_args(project_id, 0, filter, page);
    pfc_code code = pfc_sql_series_list_once(db, &args, out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_series_list(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                         pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    if (filter->sort || filter->change)
        return list_sorted(db, project_id, filter, page, out, err);
    return list_by_id(db, project_id, filter, page, out, err);
}

pfc_code pfc_series_get(pfc_db *db, int64_t series_id, pfc_series_rows *out, pfc_err *err)
{
    const pfc_series_filter filter = { .spark = 200 };
    const pfc_sql_series_list_args args = series_args(0, series_id, &filter, (pfc_page){ 0 });
    pfc_series_rows rows = { 0 };
    pfc_code code;

    if (series_id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such series");
    code = pfc_sql_series_list_once(db, &args, &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such series", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}
