/*
 * Projects: idempotent creation, and the headline series.
 */
#include "server/repo/sql/projects.h"

#include <stdlib.h>

#include "core/base/parse.h"
#include "core/wire/wire.h"
#include "server/services/access/access.h"
#include "server/services/service.h"

static pfc_code insert_project(pfc_db *db, const char *actor, const char *name, const char *branch,
                               const char *repo_url, int64_t *id, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (code)
        goto done;
    code = pfc_sql_project_insert(
        tx, &(pfc_sql_project_insert_args){ .name = name, .branch = branch, .repo_url = repo_url },
        id, err);
    if (!code && *id)
        code = pfc_audit_add(tx, actor, "create", *id, name, repo_url, err);
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

pfc_code pfc_project_set_repository(pfc_db *db, const char *actor, const char *name,
                                    const char *repo_url, pfc_projects *out, pfc_err *err)
{
    pfc_sql_project_repository_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_project_repository(
            tx, &(pfc_sql_project_repository_args){ .name = name, .repo_url = repo_url }, &rows,
            err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    if (!code && !pfc_streq(rows.items[0].before, repo_url)) {
        const char *before = rows.items[0].before ? rows.items[0].before : "none";
        char *detail =
            pfc_format("repository %s, before: %s", repo_url ? repo_url : "none", before);

        code = pfc_audit_add(tx, actor, "update", rows.items[0].id, name, detail, err);
        free(detail);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    return code ? code : pfc_projects_get(db, name, out, err);
}

pfc_code pfc_project_headline(pfc_db *db, int64_t project_id, pfc_series_rows *out, pfc_err *err)
{
    pfc_series_filter filter = { .headline = true, .spark = 60 };
    pfc_tx *tx = NULL;
    pfc_sql_project_branch_rows rows = { 0 };
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_project_branch(
            tx, &(pfc_sql_project_branch_args){ .project_id = project_id }, &rows, err);
    pfc_tx_free(tx);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    if (!code) {
        filter.branch = rows.items[0].branch;
        code =
            pfc_series_list(db, project_id, &filter, (pfc_page){ .limit = PFC_LIST_MAX }, out, err);
    }
    pfc_rows_clear(&rows);
    return code;
}
