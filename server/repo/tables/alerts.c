/*
 * Alerts, their history, and the commits that they may be about.
 */
#include "server/repo/tables/repo.h"

static pfc_sql_alerts_list_args alert_args(const pfc_alert_filter *f, pfc_page page)
{
    return (pfc_sql_alerts_list_args){ .project_id = f->project_id,
                                       .series_id = f->series_id,
                                       .state = f->state,
                                       .cursor = page.cursor,
                                       .limit = pfc_page_fetch(page),
                                       .event_id = f->event_id,
                                       .group_id = f->group_id,
                                       .owner = f->owner,
                                       .suppressed = f->suppressed,
                                       .words = f->words };
}

pfc_code pfc_alerts_list(pfc_db *db, const pfc_alert_filter *filter, pfc_page page, pfc_alerts *out,
                         pfc_err *err)
{
    const pfc_sql_alerts_list_args args = alert_args(filter, page);
    pfc_code code = pfc_sql_alerts_list_once(db, &args, out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

static int by_worth(const void *a, const void *b)
{
    const pfc_alert *x = a, *y = b;

    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return (x->id < y->id) - (x->id > y->id);
}

/* The alerts of these ids, which are those of the page. */
static pfc_code read_ids(pfc_tx *tx, const pfc_sql_alert_id_rows *ids, pfc_page page,
                         pfc_alerts *out, pfc_err *err)
{
    int64_t *list = pfc_calloc(ids->len + 1, sizeof(*list));
    pfc_code code;

    for (size_t i = 0; i < ids->len; i++)
        list[i] = ids->items[i].id;
    code = pfc_sql_alerts_list(tx,
                               &(pfc_sql_alerts_list_args){ .limit = pfc_page_fetch(page),
                                                            .alert_ids = list,
                                                            .alert_ids_len = ids->len },
                               out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    free(list);
    return code;
}

pfc_code pfc_alerts_by_worth(pfc_db *db, const pfc_alert_filter *filter, int limit, pfc_alerts *out,
                             pfc_err *err)
{
    pfc_sql_alert_id_rows best = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = pfc_sql_alerts_by_worth(
            tx,
            &(pfc_sql_alerts_by_worth_args){ .project_id = filter->project_id,
                                             .series_id = filter->series_id,
                                             .state = filter->state,
                                             .limit = limit,
                                             .event_id = filter->event_id,
                                             .owner = filter->owner,
                                             .suppressed = filter->suppressed },
            &best, err);
    if (!code)
        code = read_ids(tx, &best, (pfc_page){ .limit = limit }, out, err);
    if (!code && out->len)
        qsort(out->items, out->len, sizeof(*out->items), by_worth);
    pfc_rows_clear(&best);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_alert_leaders(pfc_db *db, const pfc_alert_filter *filter, bool worth, pfc_page page,
                           pfc_alerts *out, pfc_err *err)
{
    pfc_sql_alert_id_rows best = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = pfc_sql_alert_leaders(
            tx,
            &(pfc_sql_alert_leaders_args){ .project_id = filter->project_id,
                                           .series_id = filter->series_id,
                                           .state = filter->state,
                                           .limit = worth ? page.limit : pfc_page_fetch(page),
                                           .event_id = filter->event_id,
                                           .cursor = page.cursor,
                                           .by_worth = worth,
                                           .owner = filter->owner,
                                           .suppressed = filter->suppressed },
            &best, err);
    if (!code)
        code = read_ids(tx, &best, page, out, err);
    if (!code && worth && out->len)
        qsort(out->items, out->len, sizeof(*out->items), by_worth);
    pfc_rows_clear(&best);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_alerts_get(pfc_db *db, int64_t id, pfc_alerts *out, pfc_err *err)
{
    pfc_alerts rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such alert");
    code = pfc_sql_alerts_list_once(
        db, &(pfc_sql_alerts_list_args){ .alert_id = id, .limit = pfc_page_fetch((pfc_page){ 0 }) },
        &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such alert", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}

pfc_code pfc_alert_events_list(pfc_db *db, int64_t alert_id, pfc_alert_events *out, pfc_err *err)
{
    return pfc_sql_alert_events_once(db, &(pfc_sql_alert_events_args){ .alert_id = alert_id }, out,
                                     err);
}

pfc_code pfc_alert_commits_list(pfc_db *db, int64_t alert_id, pfc_alert_commits *out, pfc_err *err)
{
    return pfc_sql_alert_commits_once(db, &(pfc_sql_alert_commits_args){ .alert_id = alert_id },
                                      out, err);
}
