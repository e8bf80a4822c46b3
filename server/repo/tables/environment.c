/*
 * Machines that moved.
 */
#include "server/repo/tables/rows.h"

static const pfc_col cols[] = {
    PFC_COL(pfc_environment_event, id, "id", I64),
    PFC_COL(pfc_environment_event, project_id, "project_id", I64),
    PFC_COL(pfc_environment_event, project, "project", TEXT),
    PFC_COL(pfc_environment_event, kind, "kind", TEXT),
    PFC_COL(pfc_environment_event, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_environment_event, machine, "machine", TEXT),
    PFC_COL(pfc_environment_event, runs, "runs", I64),
    PFC_COL(pfc_environment_event, first_run_id, "first_run_id", I64),
    PFC_COL(pfc_environment_event, last_run_id, "last_run_id", I64),
    PFC_COL(pfc_environment_event, first_commit, "first_commit", TEXT),
    PFC_COL(pfc_environment_event, last_commit, "last_commit", TEXT),
    PFC_COL(pfc_environment_event, opened_at, "opened_at", F64),
    PFC_COL(pfc_environment_event, closed_at, "closed_at", F64),
    PFC_COL(pfc_environment_event, branch, "branch", TEXT),
    PFC_COL(pfc_environment_event, loss, "loss", F64),
    PFC_COL(pfc_environment_event, loss_low, "loss_low", F64),
    PFC_COL(pfc_environment_event, loss_high, "loss_high", F64),
    PFC_COL(pfc_environment_event, series, "series", I64),
    PFC_COL(pfc_environment_event, moved, "moved", I64),
    PFC_COL(pfc_environment_event, judged, "judged", I64),
    PFC_COL(pfc_environment_event, reasons_json, "reasons", TEXT),
    PFC_COL(pfc_environment_event, cause, "cause", TEXT),
    PFC_COL(pfc_environment_event, dismissed_by, "dismissed_by", TEXT),
    PFC_COL(pfc_environment_event, dismissed_reason, "dismissed_reason", TEXT),
};
static const pfc_shape shape = PFC_SHAPE(cols, pfc_environment_event);

static void push(pfc_args *args, int64_t project_id, bool open_only, pfc_page page, int64_t id)
{
    pfc_args_id(args, project_id);
    pfc_args_bool(args, open_only);
    pfc_args_cursor(args, page);
    pfc_args_i64(args, pfc_page_fetch(page));
    pfc_args_id(args, id);
}

pfc_code pfc_environment_list(pfc_db *db, int64_t project_id, bool open_only, pfc_page page,
                              pfc_environment_events *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    push(&args, project_id, open_only, page, 0);
    code = pfc_rows_read(db, "environment_list", &args, &shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_environment_get(pfc_db *db, int64_t id, pfc_environment_events *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such event");
    push(&args, 0, false, (pfc_page){ 0 }, id);
    code = pfc_rows_one(db, "environment_list", &args, &shape, &rows, "such event", err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
