/*
 * Projects: created once, found again.
 */
#include "core/base/parse.h"
#include "server/services/internal.h"

static pfc_code insert_project(pfc_db *db, const char *actor, const char *name, const char *branch,
                               const char *repo_url, int64_t *id, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (code)
        goto done;
    pfc_args_text(&args, name);
    pfc_args_text(&args, branch);
    pfc_args_text(&args, repo_url);
    code = pfc_query_id(tx, "project_insert", &args, id, err);
    if (!code && *id)
        code = pfc_note(tx, actor, "create", *id, name, repo_url, err);
    if (!code)
        code = pfc_tx_commit(tx, err);

done:
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_project_create(pfc_db *db, const char *actor, const char *name, const char *branch,
                            const char *repo_url, bool *created, pfc_projects *out, pfc_err *err)
{
    pfc_projects rows = { 0 };
    int64_t id = 0;
    pfc_code code;

    if (!pfc_is_slug(name))
        return pfc_err_set_field(
            err, PFC_EINVAL, "name",
            "project name: expected 1 to 63 of a-z, 0-9, '.', '_', '-', starting"
            " with a letter or digit");
    if (branch && (!*branch || strlen(branch) > PFC_WIRE_MAX_NAME))
        return pfc_err_set_field(err, PFC_EINVAL, "branch", "branch: expected 1 to %d bytes",
                                 PFC_WIRE_MAX_NAME);
    code = insert_project(db, actor, name, branch, repo_url, &id, err);
    if (!code)
        code = pfc_projects_get(db, name, &rows, err);
    if (code)
        return code;
    if (!id && ((branch && !pfc_streq(branch, rows.items[0].branch)) ||
                (repo_url && !pfc_streq(repo_url, rows.items[0].repo_url)))) {
        pfc_rows_clear(&rows);
        return pfc_err_set(err, PFC_ECONFLICT,
                           "project %s exists with another branch or repository", name);
    }
    *created = id != 0;
    *out = rows;
    return PFC_OK;
}

pfc_code pfc_project_headline(pfc_db *db, int64_t project_id, pfc_series_rows *out, pfc_err *err)
{
    pfc_series_filter filter = { .headline = true, .spark = 60 };
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_res *res = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code) {
        pfc_args_i64(&args, project_id);
        code = pfc_tx_query(tx, "project_branch", &args, &res, err);
    }
    pfc_tx_free(tx);
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    if (!code) {
        filter.branch = pfc_res_text(res, 0, pfc_res_column(res, "branch"));
        code =
            pfc_series_list(db, project_id, &filter, (pfc_page){ .limit = PFC_LIST_MAX }, out, err);
    }
    pfc_res_free(res);
    return code;
}
