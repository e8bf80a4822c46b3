/*
 * Commits and what was measured at them.
 */
#include "core/base/parse.h"
#include "server/repo/tables/repo.h"

pfc_code pfc_commits_list(pfc_db *db, int64_t project_id, const pfc_commit_filter *filter,
                          pfc_page page, pfc_commit_rows *out, pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_commits_list_once(db,
                                     &(pfc_sql_commits_list_args){ .project_id = project_id,
                                                                   .branch = filter->branch,
                                                                   .words = filter->words,
                                                                   .tagged = filter->tagged,
                                                                   .cursor = page.cursor,
                                                                   .limit = pfc_page_fetch(page) },
                                     out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_commits_get(pfc_db *db, int64_t project_id, const char *sha, pfc_commit_rows *out,
                         pfc_err *err)
{
    pfc_commit_rows rows = { 0 };
    pfc_code code;

    /* Only digits reach the pattern of the query. */
    if (!pfc_is_hex_id(sha))
        return pfc_err_set(err, PFC_EINVAL,
                           "commit id: expected 7 to 40 lower-case hexadecimal digits");
    code = pfc_sql_commits_get_once(
        db, &(pfc_sql_commits_get_args){ .project_id = project_id, .sha = sha }, &rows, err);
    if (!code && rows.len > 1)
        code = pfc_err_set(err, PFC_EINVAL,
                           "several commits begin with \"%.40s\": give more digits", sha);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "there is no commit \"%.40s\"", sha);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}

pfc_code pfc_commit_values_list(pfc_db *db, int64_t project_id, int64_t commit_id,
                                pfc_commit_values *out, pfc_err *err)
{
    return pfc_sql_commit_values_once(
        db, &(pfc_sql_commit_values_args){ .project_id = project_id, .commit_id = commit_id }, out,
        err);
}
