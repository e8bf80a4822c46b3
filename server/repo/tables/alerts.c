/*
 * Alerts, their history, and the commits that they may be about.
 */
#include <stdlib.h>

#include "server/repo/tables/rows.h"

static const pfc_col alert_cols[] = {
    PFC_COL(pfc_alert, id, "id", I64),
    PFC_COL(pfc_alert, project_id, "project_id", I64),
    PFC_COL(pfc_alert, series_id, "series_id", I64),
    PFC_COL(pfc_alert, project, "project", TEXT),
    PFC_COL(pfc_alert, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_alert, metric, "metric", TEXT),
    PFC_COL(pfc_alert, backend, "backend", TEXT),
    PFC_COL(pfc_alert, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_alert, unit, "unit", TEXT),
    PFC_COL(pfc_alert, branch, "branch", TEXT),
    PFC_COL(pfc_alert, state, "state", TEXT),
    PFC_COL(pfc_alert, higher_is_better, "higher_is_better", BOOL),
    PFC_COL(pfc_alert, regression, "regression", BOOL),
    PFC_COL(pfc_alert, before, "before", F64),
    PFC_COL(pfc_alert, after, "after", F64),
    PFC_COL(pfc_alert, rel_change, "rel_change", F64),
    PFC_COL(pfc_alert, rel_low, "rel_low", F64),
    PFC_COL(pfc_alert, rel_high, "rel_high", F64),
    PFC_COL(pfc_alert, p, "p", F64),
    PFC_COL(pfc_alert, commit, "commit", TEXT),
    PFC_COL(pfc_alert, commit_low, "commit_low", TEXT),
    PFC_COL(pfc_alert, commit_high, "commit_high", TEXT),
    PFC_COL(pfc_alert, culprit, "culprit", TEXT),
    PFC_COL(pfc_alert, created_at, "created_at", F64),
    PFC_COL(pfc_alert, updated_at, "updated_at", F64),
    PFC_COL(pfc_alert, note, "note", TEXT),
    PFC_COL(pfc_alert, group_id, "group_id", I64),
    PFC_COL(pfc_alert, group_series, "group_series", I64),
    PFC_COL(pfc_alert, group_measured, "group_measured", I64),
    PFC_COL(pfc_alert, group_summary, "group_summary", TEXT),
    PFC_COL(pfc_alert, accepted, "accepted", BOOL),
    PFC_COL(pfc_alert, undone_commit, "undone_commit", TEXT),
    PFC_COL(pfc_alert, kind, "kind", TEXT),
    PFC_COL(pfc_alert, reason, "reason", TEXT),
    PFC_COL(pfc_alert, boundary_json, "boundary", TEXT),
    PFC_COL(pfc_alert, drift_commits, "drift_commits", I64),
    PFC_COL(pfc_alert, drift_weeks, "drift_weeks", F64),
    PFC_COL(pfc_alert, reference_tag, "reference_tag", TEXT),
    PFC_COL(pfc_alert, reference_commit, "reference_commit", TEXT),
    PFC_COL(pfc_alert, reference_rel, "reference_rel", F64),
    PFC_COL(pfc_alert, reference_low, "reference_low", F64),
    PFC_COL(pfc_alert, reference_high, "reference_high", F64),
    PFC_COL(pfc_alert, evidence, "evidence", TEXT),
    PFC_COL(pfc_alert, two_speeds_json, "two_speeds", TEXT),
    PFC_COL(pfc_alert, blocks_json, "blocks", TEXT),
    PFC_COL(pfc_alert, worth, "worth", F64),
    PFC_COL(pfc_alert, event_id, "event_id", I64),
    PFC_COL(pfc_alert, suspect_subject, "suspect_subject", TEXT),
    PFC_COL(pfc_alert, suspect_author, "suspect_author", TEXT),
};
static const pfc_shape alert_shape = PFC_SHAPE(alert_cols, pfc_alert);

static void alert_args(pfc_args *args, const pfc_alert_filter *f, int64_t id, pfc_page page,
                       const int64_t *ids, size_t ids_len)
{
    pfc_args_id(args, f->project_id);
    pfc_args_id(args, f->series_id);
    pfc_args_text(args, f->state);
    pfc_args_id(args, id);
    pfc_args_cursor(args, page);
    pfc_args_i64(args, pfc_page_fetch(page));
    if (ids)
        pfc_args_i64s(args, ids, ids_len);
    else
        pfc_args_text(args, NULL);
    pfc_args_id(args, f->event_id);
    pfc_args_id(args, f->group_id);
}

pfc_code pfc_alerts_list(pfc_db *db, const pfc_alert_filter *filter, pfc_page page, pfc_alerts *out,
                         pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    alert_args(&args, filter, 0, page, NULL, 0);
    code = pfc_rows_read(db, "alerts_list", &args, &alert_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

static int by_worth(const void *a, const void *b)
{
    const pfc_alert *x = a, *y = b;

    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return (x->id < y->id) - (x->id > y->id);
}

static pfc_code leaders(pfc_tx *tx, const pfc_alert_filter *filter, bool worth, pfc_page page,
                        pfc_res **out, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_id(&args, filter->project_id);
    pfc_args_id(&args, filter->series_id);
    pfc_args_text(&args, filter->state);
    pfc_args_i64(&args, worth ? page.limit : pfc_page_fetch(page));
    pfc_args_id(&args, filter->event_id);
    pfc_args_cursor(&args, page);
    pfc_args_bool(&args, worth);
    return pfc_tx_query(tx, "alert_leaders", &args, out, err);
}

static pfc_code worthiest(pfc_tx *tx, const pfc_alert_filter *filter, int limit, pfc_res **out,
                          pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_id(&args, filter->project_id);
    pfc_args_id(&args, filter->series_id);
    pfc_args_text(&args, filter->state);
    pfc_args_i64(&args, limit);
    pfc_args_id(&args, filter->event_id);
    return pfc_tx_query(tx, "alerts_by_worth", &args, out, err);
}

/* The alerts whose ids are the rows of `ids`, which is freed. */
static pfc_code read_ids(pfc_tx *tx, pfc_res *ids, pfc_page page, pfc_alerts *out, pfc_err *err)
{
    const pfc_alert_filter any = { 0 };
    const size_t len = pfc_res_rows(ids);
    int64_t *list = pfc_calloc(len + 1, sizeof(*list));
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        list[i] = pfc_res_i64(ids, i, 0);
    page.cursor = 0; /* the ids are of this page already */
    alert_args(&args, &any, 0, page, list, len);
    code = pfc_rows_query(tx, "alerts_list", &args, &alert_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    free(list);
    pfc_res_free(ids);
    return code;
}

pfc_code pfc_alerts_by_worth(pfc_db *db, const pfc_alert_filter *filter, int limit, pfc_alerts *out,
                             pfc_err *err)
{
    pfc_res *best = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = worthiest(tx, filter, limit, &best, err);
    if (!code)
        code = read_ids(tx, best, (pfc_page){ .limit = limit }, out, err);
    if (!code && out->len)
        qsort(out->items, out->len, sizeof(*out->items), by_worth);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_alert_leaders(pfc_db *db, const pfc_alert_filter *filter, bool worth, pfc_page page,
                           pfc_alerts *out, pfc_err *err)
{
    pfc_res *best = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = leaders(tx, filter, worth, page, &best, err);
    if (!code)
        code = read_ids(tx, best, page, out, err);
    if (!code && worth && out->len)
        qsort(out->items, out->len, sizeof(*out->items), by_worth);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_alerts_get(pfc_db *db, int64_t id, pfc_alerts *out, pfc_err *err)
{
    const pfc_alert_filter any = { 0 };
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such alert");
    alert_args(&args, &any, id, (pfc_page){ 0 }, NULL, 0);
    code = pfc_rows_one(db, "alerts_list", &args, &alert_shape, &rows, "such alert", err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

static const pfc_col event_cols[] = {
    PFC_COL(pfc_alert_event, id, "id", I64),
    PFC_COL(pfc_alert_event, at, "at", F64),
    PFC_COL(pfc_alert_event, actor, "actor", TEXT),
    PFC_COL(pfc_alert_event, from, "state_from", TEXT),
    PFC_COL(pfc_alert_event, to, "state_to", TEXT),
    PFC_COL(pfc_alert_event, reason, "reason", TEXT),
};
static const pfc_shape event_shape = PFC_SHAPE(event_cols, pfc_alert_event);

pfc_code pfc_alert_events_list(pfc_db *db, int64_t alert_id, pfc_alert_events *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, alert_id);
    code = pfc_rows_read(db, "alert_events", &args, &event_shape, NULL, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

static const pfc_col range_cols[] = {
    PFC_COL(pfc_alert_commit, position, "position", I64),
    PFC_COL(pfc_alert_commit, sha, "sha", TEXT),
    PFC_COL(pfc_alert_commit, author, "author", TEXT),
    PFC_COL(pfc_alert_commit, subject, "subject", TEXT),
    PFC_COL(pfc_alert_commit, paths_json, "paths", TEXT),
    PFC_COL(pfc_alert_commit, time, "time", F64),
    PFC_COL(pfc_alert_commit, measured, "measured", BOOL),
};
static const pfc_shape range_shape = PFC_SHAPE(range_cols, pfc_alert_commit);

pfc_code pfc_alert_commits_list(pfc_db *db, int64_t alert_id, pfc_alert_commits *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, alert_id);
    code = pfc_rows_read(db, "alert_commits", &args, &range_shape, NULL, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
