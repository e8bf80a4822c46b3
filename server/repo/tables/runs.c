/*
 * Runs as lists show them.
 */
#include "core/base/parse.h"
#include "server/repo/tables/rows.h"

static const pfc_col run_cols[] = {
    PFC_COL(pfc_run_row, run_id, "run_id", I64),
    PFC_COL(pfc_run_row, id, "id", TEXT),
    PFC_COL(pfc_run_row, project_id, "project_id", I64),
    PFC_COL(pfc_run_row, project, "project", TEXT),
    PFC_COL(pfc_run_row, commit, "commit", TEXT),
    PFC_COL(pfc_run_row, branch, "branch", TEXT),
    PFC_COL(pfc_run_row, suite, "suite", TEXT),
    PFC_COL(pfc_run_row, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_run_row, started_at, "started_at", F64),
    PFC_COL(pfc_run_row, finished_at, "finished_at", F64),
    PFC_COL(pfc_run_row, measurements, "measurements", I64),
    PFC_COL(pfc_run_row, infra, "infra", BOOL),
    PFC_COL(pfc_run_row, extra, "extra", BOOL),
};
static const pfc_shape run_shape = PFC_SHAPE(run_cols, pfc_run_row);

pfc_code pfc_runs_list(pfc_db *db, int64_t project_id, const char *commit, pfc_page page,
                       pfc_run_rows *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    if (commit && !pfc_is_hex_id(commit))
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: expected 7 to 40 lower-case hexadecimal digits");
    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, commit);
    pfc_args_cursor(&args, page);
    pfc_args_i64(&args, pfc_page_fetch(page));
    code = pfc_rows_read(db, "runs_list", &args, &run_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_runs_get(pfc_db *db, int64_t project_id, const char *id, pfc_run_rows *out,
                      pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    int64_t number = 0;
    pfc_code code;

    /* 32 digits are the measurer's id even when all of them are decimal. */
    if (!(strlen(id) == 32 && pfc_is_hex_id(id))) {
        code = pfc_parse_i64(id, 1, INT64_MAX, "run id", &number, err);
        if (code)
            return code;
    }
    pfc_args_id(&args, project_id);
    pfc_args_id(&args, number);
    pfc_args_text(&args, number ? NULL : id);
    code = pfc_rows_one(db, "runs_get", &args, &run_shape, &rows, "such run", err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
