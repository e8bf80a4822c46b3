/*
 * Bisections: those that were reported, and those that the runners do.
 */
#include "server/repo/tables/rows.h"

static const pfc_col bisection_cols[] = {
    PFC_COL(pfc_bisection, id, "id", I64),
    PFC_COL(pfc_bisection, project_id, "project_id", I64),
    PFC_COL(pfc_bisection, project, "project", TEXT),
    PFC_COL(pfc_bisection, mode, "mode", TEXT),
    PFC_COL(pfc_bisection, state, "state", TEXT),
    PFC_COL(pfc_bisection, reason, "reason", TEXT),
    PFC_COL(pfc_bisection, branch, "branch", TEXT),
    PFC_COL(pfc_bisection, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_bisection, commits, "commits", I64),
    PFC_COL(pfc_bisection, expected_runs, "expected_runs", F64),
    PFC_COL(pfc_bisection, finished_at, "finished_at", F64),
    PFC_COL(pfc_bisection, metric, "metric", TEXT),
    PFC_COL(pfc_bisection, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_bisection, backend, "backend", TEXT),
    PFC_COL(pfc_bisection, good, "good", TEXT),
    PFC_COL(pfc_bisection, bad, "bad", TEXT),
    PFC_COL(pfc_bisection, verdict, "verdict", TEXT),
    PFC_COL(pfc_bisection, culprits_json, "culprits", TEXT),
    PFC_COL(pfc_bisection, steps_json, "steps", TEXT),
    PFC_COL(pfc_bisection, stopped_json, "stopped", TEXT),
    PFC_COL(pfc_bisection, counts_json, "counts", TEXT),
    PFC_COL(pfc_bisection, failure_json, "failure", TEXT),
    PFC_COL(pfc_bisection, runs, "runs", I64),
    PFC_COL(pfc_bisection, builds, "builds", I64),
    PFC_COL(pfc_bisection, commits_measured, "commits_measured", I64),
    PFC_COL(pfc_bisection, seconds, "seconds", F64),
    PFC_COL(pfc_bisection, alert_id, "alert_id", I64),
    PFC_COL(pfc_bisection, created_at, "created_at", F64),
    PFC_COL(pfc_bisection, actor, "actor", TEXT),
};
static const pfc_shape bisection_shape = PFC_SHAPE(bisection_cols, pfc_bisection);

static void bisection_args(pfc_args *args, int64_t project_id, int64_t id, pfc_page page)
{
    pfc_args_id(args, project_id);
    pfc_args_id(args, id);
    pfc_args_cursor(args, page);
    pfc_args_i64(args, pfc_page_fetch(page));
}

pfc_code pfc_bisections_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_bisections *out,
                             pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    bisection_args(&args, project_id, 0, page);
    code = pfc_rows_read(db, "bisections_list", &args, &bisection_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_bisections_get(pfc_db *db, int64_t id, pfc_bisections *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such bisection");
    bisection_args(&args, 0, id, (pfc_page){ 0 });
    code =
        pfc_rows_one(db, "bisections_list", &args, &bisection_shape, &rows, "such bisection", err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
