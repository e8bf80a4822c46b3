/*
 * Commits and what was measured at them.
 */
#include "core/base/parse.h"
#include "server/repo/tables/rows.h"

static const pfc_col commit_cols[] = {
    PFC_COL(pfc_commit_row, id, "id", I64), /* the cursor: a commit's position may change */
    PFC_COL(pfc_commit_row, position, "position", I64),
    PFC_COL(pfc_commit_row, sha, "sha", TEXT),
    PFC_COL(pfc_commit_row, parents_json, "parents", TEXT),
    PFC_COL(pfc_commit_row, paths_json, "paths", TEXT),
    PFC_COL(pfc_commit_row, tags_json, "tags", TEXT),
    PFC_COL(pfc_commit_row, author, "author", TEXT),
    PFC_COL(pfc_commit_row, time, "time", F64),
    PFC_COL(pfc_commit_row, subject, "subject", TEXT),
    PFC_COL(pfc_commit_row, stub, "stub", BOOL),
    PFC_COL(pfc_commit_row, runs, "runs", I64),
    PFC_COL(pfc_commit_row, alerts, "alerts", I64),
    PFC_COL(pfc_commit_row, branch, "branch", TEXT),
};
static const pfc_shape commit_shape = PFC_SHAPE(commit_cols, pfc_commit_row);

pfc_code pfc_commits_list(pfc_db *db, int64_t project_id, const char *branch, pfc_page page,
                          pfc_commit_rows *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, branch);
    pfc_args_cursor(&args, page);
    pfc_args_i64(&args, pfc_page_fetch(page));
    code = pfc_rows_read(db, "commits_list", &args, &commit_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_commits_get(pfc_db *db, int64_t project_id, const char *sha, pfc_commit_rows *out,
                         pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    /* Only digits reach the pattern of the query. */
    if (!pfc_is_hex_id(sha))
        return pfc_err_set(err, PFC_EINVAL,
                           "commit id: expected 7 to 40 lower-case hexadecimal digits");
    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, sha);
    code = pfc_rows_one(db, "commits_get", &args, &commit_shape, &rows, "such commit", err);
    if (code == PFC_EINVAL)
        return pfc_err_set(err, code, "several commits begin with \"%.40s\": give more digits",
                           sha);
    if (code == PFC_ENOTFOUND)
        return pfc_err_set(err, code, "there is no commit \"%.40s\"", sha);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

static const pfc_col value_cols[] = {
    PFC_COL(pfc_commit_value, series_id, "series_id", I64),
    PFC_COL(pfc_commit_value, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_commit_value, metric, "metric", TEXT),
    PFC_COL(pfc_commit_value, backend, "backend", TEXT),
    PFC_COL(pfc_commit_value, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_commit_value, unit, "unit", TEXT),
    PFC_COL(pfc_commit_value, higher_is_better, "higher_is_better", BOOL),
    PFC_COL(pfc_commit_value, median, "median", F64),
    PFC_COL(pfc_commit_value, low, "low", F64),
    PFC_COL(pfc_commit_value, high, "high", F64),
    PFC_COL(pfc_commit_value, n, "n", I64),
    PFC_COL(pfc_commit_value, parent_median, "parent_median", F64),
};
static const pfc_shape value_shape = PFC_SHAPE(value_cols, pfc_commit_value);

pfc_code pfc_commit_values_list(pfc_db *db, int64_t project_id, int64_t commit_id,
                                pfc_commit_values *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, commit_id);
    code = pfc_rows_read(db, "commit_values", &args, &value_shape, NULL, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
