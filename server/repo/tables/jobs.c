/*
 * The queue as people see it; runners and machines.
 */
#include "server/repo/tables/rows.h"

static const pfc_col job_cols[] = {
    PFC_COL(pfc_job, id, "id", I64),
    PFC_COL(pfc_job, project_id, "project_id", I64),
    PFC_COL(pfc_job, project, "project", TEXT),
    PFC_COL(pfc_job, kind, "kind", TEXT),
    PFC_COL(pfc_job, state, "state", TEXT),
    PFC_COL(pfc_job, commit, "commit", TEXT),
    PFC_COL(pfc_job, branch, "branch", TEXT),
    PFC_COL(pfc_job, suite, "suite", TEXT),
    PFC_COL(pfc_job, source, "source", TEXT),
    PFC_COL(pfc_job, build, "build", TEXT),
    PFC_COL(pfc_job, measure, "measure", TEXT),
    PFC_COL(pfc_job, labels_json, "labels", TEXT),
    PFC_COL(pfc_job, task_json, "task", TEXT),
    PFC_COL(pfc_job, priority, "priority", I64),
    PFC_COL(pfc_job, tries, "tries", I64),
    PFC_COL(pfc_job, fence, "fence", I64),
    PFC_COL(pfc_job, runner, "runner", TEXT),
    PFC_COL(pfc_job, position, "position", I64),
    PFC_COL(pfc_job, reason, "reason", TEXT),
    PFC_COL(pfc_job, progress, "progress", TEXT),
    PFC_COL(pfc_job, run_ids_json, "run_ids", TEXT),
    PFC_COL(pfc_job, session, "session", TEXT),
    PFC_COL(pfc_job, parents_json, "parents", TEXT),
    PFC_COL(pfc_job, created_at, "created_at", F64),
    PFC_COL(pfc_job, started_at, "started_at", F64),
    PFC_COL(pfc_job, finished_at, "finished_at", F64),
    PFC_COL(pfc_job, cancel_requested, "cancel_requested", BOOL),
    PFC_COL(pfc_job, run_id, "run_id", I64),
};
static const pfc_shape job_shape = PFC_SHAPE(job_cols, pfc_job);

static void job_args(pfc_args *args, const pfc_job_filter *f, int64_t id, pfc_page page)
{
    pfc_args_id(args, f->project_id);
    pfc_args_text(args, f->state);
    pfc_args_text(args, f->kind);
    pfc_args_id(args, id);
    pfc_args_cursor(args, page);
    pfc_args_i64(args, pfc_page_fetch(page));
}

pfc_code pfc_jobs_list(pfc_db *db, const pfc_job_filter *filter, pfc_page page, pfc_jobs *out,
                       pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    job_args(&args, filter, 0, page);
    code = pfc_rows_read(db, "jobs_list", &args, &job_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_jobs_get(pfc_db *db, int64_t id, pfc_jobs *out, pfc_err *err)
{
    const pfc_job_filter any = { 0 };
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such job");
    job_args(&args, &any, id, (pfc_page){ 0 });
    code = pfc_rows_one(db, "jobs_list", &args, &job_shape, &rows, "such job", err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

static const pfc_col runner_cols[] = {
    PFC_COL(pfc_runner, name, "name", TEXT),
    PFC_COL(pfc_runner, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_runner, labels_json, "labels", TEXT),
    PFC_COL(pfc_runner, backends_json, "backends", TEXT),
    PFC_COL(pfc_runner, last_seen_at, "last_seen_at", F64),
    PFC_COL(pfc_runner, job_id, "job_id", I64),
};
static const pfc_shape runner_shape = PFC_SHAPE(runner_cols, pfc_runner);

pfc_code pfc_runners_list(pfc_db *db, int64_t project_id, pfc_runners *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_id(&args, project_id);
    code = pfc_rows_read(db, "runners_list", &args, &runner_shape, NULL, &rows, err);

    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

static const pfc_col machine_cols[] = {
    PFC_COL(pfc_machine_row, id, "id", I64),
    PFC_COL(pfc_machine_row, machine_class, "class", TEXT),
    PFC_COL(pfc_machine_row, name, "name", TEXT),
    PFC_COL(pfc_machine_row, fingerprint_hash, "fingerprint_hash", TEXT),
    PFC_COL(pfc_machine_row, fingerprint_json, "fingerprint", TEXT),
    PFC_COL(pfc_machine_row, before_json, "before", TEXT),
    PFC_COL(pfc_machine_row, first_seen_at, "first_seen_at", F64),
    PFC_COL(pfc_machine_row, last_seen_at, "last_seen_at", F64),
    PFC_COL(pfc_machine_row, runs, "runs", I64),
};
static const pfc_shape machine_shape = PFC_SHAPE(machine_cols, pfc_machine_row);

pfc_code pfc_machines_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_machine_rows *out,
                           pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code =
        pfc_rows_page(db, "machines_list", project_id, page, &machine_shape, &rows, err);

    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
