/*
 * Projects, and the figures over all of them.
 */
#include "server/repo/tables/rows.h"

static const pfc_col project_cols[] = {
    PFC_COL(pfc_project, id, "id", I64),
    PFC_COL(pfc_project, name, "name", TEXT),
    PFC_COL(pfc_project, branch, "branch", TEXT),
    PFC_COL(pfc_project, repo_url, "repo_url", TEXT),
    PFC_COL(pfc_project, commits, "commits", I64),
    PFC_COL(pfc_project, runs, "runs", I64),
    PFC_COL(pfc_project, alerts_open, "alerts_open", I64),
    PFC_COL(pfc_project, last_run_at, "last_run_at", F64),
    PFC_COL(pfc_project, created_at, "created_at", F64),
};
static const pfc_shape project_shape = PFC_SHAPE(project_cols, pfc_project);

static void project_args(pfc_args *args, int64_t id, const char *name, pfc_page page)
{
    pfc_args_id(args, id);
    pfc_args_text(args, name);
    pfc_args_cursor(args, page);
    pfc_args_i64(args, pfc_page_fetch(page));
}

pfc_code pfc_projects_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_projects *out,
                           pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    project_args(&args, project_id, NULL, page);
    code = pfc_rows_read(db, "projects_list", &args, &project_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_projects_get(pfc_db *db, const char *name, pfc_projects *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    project_args(&args, 0, name, (pfc_page){ 0 });
    code = pfc_rows_one(db, "projects_list", &args, &project_shape, &rows, "such project", err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

static const pfc_col figure_cols[] = {
    PFC_COL(pfc_figures, runs, "runs", I64),
    PFC_COL(pfc_figures, measurements, "measurements", I64),
    PFC_COL(pfc_figures, series, "series", I64),
    PFC_COL(pfc_figures, alerts_open, "alerts_open", I64),
    PFC_COL(pfc_figures, jobs_queued, "jobs_queued", I64),
    PFC_COL(pfc_figures, jobs_leased, "jobs_leased", I64),
    PFC_COL(pfc_figures, notices_open, "notices_open", I64),
    PFC_COL(pfc_figures, notices_dead, "notices_dead", I64),
    PFC_COL(pfc_figures, runners, "runners", I64),
    PFC_COL(pfc_figures, detection_lag_s, "detection_lag_s", F64),
};
static const pfc_shape figure_shape = PFC_SHAPE(figure_cols, pfc_figures);

pfc_code pfc_figures_get(pfc_db *db, int64_t project_id, pfc_figures *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_id(&args, project_id);
    code = pfc_rows_one(db, "figures", &args, &figure_shape, &rows, "figures", err);
    if (!code)
        memcpy(out, rows.items, sizeof(*out));
    pfc_rows_clear(&rows);
    return code;
}

static const pfc_col job_count_cols[] = {
    PFC_COL(pfc_job_count, kind, "kind", TEXT),
    PFC_COL(pfc_job_count, state, "state", TEXT),
    PFC_COL(pfc_job_count, jobs, "jobs", I64),
    PFC_COL(pfc_job_count, oldest_s, "oldest_s", F64),
};
static const pfc_shape job_count_shape = PFC_SHAPE(job_count_cols, pfc_job_count);

pfc_code pfc_job_counts_get(pfc_db *db, pfc_job_counts *out, pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code = pfc_rows_read(db, "job_counts", NULL, &job_count_shape, NULL, &rows, err);

    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
