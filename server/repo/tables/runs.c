/*
 * Runs as lists show them.
 */
#include "core/base/parse.h"
#include "server/repo/tables/repo.h"

pfc_code pfc_runs_list(pfc_db *db, int64_t project_id, const char *commit, pfc_page page,
                       pfc_run_rows *out, pfc_err *err)
{
    pfc_code code;

    if (commit && !pfc_is_hex_id(commit))
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: expected 7 to 40 lower-case hexadecimal digits");
    code = pfc_sql_runs_list_once(db,
                                  &(pfc_sql_runs_list_args){ .project_id = project_id,
                                                             .sha = commit,
                                                             .cursor = page.cursor,
                                                             .limit = pfc_page_fetch(page) },
                                  out, err);
    if (!code)
        pfc_rows_cut(out, page, run_id);
    return code;
}

pfc_code pfc_runs_get(pfc_db *db, int64_t project_id, const char *id, pfc_run_rows *out,
                      pfc_err *err)
{
    pfc_run_rows rows = { 0 };
    int64_t number = 0;
    pfc_code code;

    /* 32 digits are the measurer's id even when all of them are decimal. */
    if (!(strlen(id) == 32 && pfc_is_hex_id(id))) {
        code = pfc_parse_i64(id, 1, INT64_MAX, "run id", &number, err);
        if (code)
            return code;
    }
    code = pfc_sql_runs_get_once(db,
                                 &(pfc_sql_runs_get_args){ .project_id = project_id,
                                                           .id = number,
                                                           .run_id = number ? NULL : id },
                                 &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such run", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}
