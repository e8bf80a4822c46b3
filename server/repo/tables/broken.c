/* Broken results of a series and of a commit. */
#include "server/repo/tables/broken.h"

#include "server/repo/tables/rows.h"

static const pfc_col broken_cols[] = {
    PFC_COL(pfc_broken_result, commit, "commit", TEXT),
    PFC_COL(pfc_broken_result, subject, "subject", TEXT),
    PFC_COL(pfc_broken_result, position, "position", I64),
    PFC_COL(pfc_broken_result, time, "time", F64),
    PFC_COL(pfc_broken_result, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_broken_result, metric, "metric", TEXT),
    PFC_COL(pfc_broken_result, backend, "backend", TEXT),
    PFC_COL(pfc_broken_result, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_broken_result, reason, "reason", TEXT),
    PFC_COL(pfc_broken_result, run_id, "run_id", I64),
};
static const pfc_shape broken_shape = PFC_SHAPE(broken_cols, pfc_broken_result);

static pfc_code read_list(pfc_db *db, const char *name, pfc_args *args, pfc_broken_results *out,
                          pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code = pfc_rows_read(db, name, args, &broken_shape, NULL, &rows, err);

    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_broken_of_series(pfc_db *db, int64_t series_id, int64_t from, int64_t to,
                              pfc_broken_results *out, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, series_id);
    pfc_args_id(&args, from);
    pfc_args_id(&args, to);
    pfc_args_i64(&args, PFC_BROKEN_MAX);
    return read_list(db, "broken_of_series", &args, out, err);
}

pfc_code pfc_broken_of_commit(pfc_db *db, int64_t project_id, int64_t commit_id,
                              pfc_broken_results *out, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, commit_id);
    pfc_args_i64(&args, PFC_BROKEN_MAX);
    return read_list(db, "broken_of_commit", &args, out, err);
}
