/*
 * Series as the list and the search show them.
 */
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

pfc_code pfc_series_list(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                         pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    const pfc_sql_series_list_args args = series_args(project_id, 0, filter, page);
    pfc_code code = pfc_sql_series_list_once(db, &args, out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
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
