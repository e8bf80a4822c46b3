/*
 * Which repository of a forge a project watches.
 */
#include <stdio.h>
#include <string.h>

#include "core/wire/wire.h"
#include "server/services/bot/bot.h"
#include "server/services/queue/queue.h"

static const char *const policies[] = { "always", "on_change", "on_regression" };

pfc_code pfc_pull_policy_parse(const char *word, pfc_pull_policy *out, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(policies); i++) {
        if (pfc_streq(word, policies[i])) {
            *out = (pfc_pull_policy)i;
            return PFC_OK;
        }
    }
    return pfc_err_set_field(err, PFC_EINVAL, "policy",
                             "policy: expected always, on_change or on_regression, got \"%.40s\"",
                             word);
}

static pfc_code check(const pfc_forge_link_spec *spec, pfc_err *err)
{
    pfc_pull_policy policy;
    pfc_forge_kind kind;
    pfc_code code = pfc_forge_kind_parse(spec->forge ? spec->forge : "", &kind, err);

    if (code)
        return pfc_err_set_field(err, PFC_EINVAL, "forge",
                                 "forge: expected github, gitlab or gitea, got \"%.40s\"",
                                 spec->forge ? spec->forge : "");
    if (!spec->repo || !pfc_forge_is_repo(kind, spec->repo))
        return pfc_err_set_field(err, PFC_EINVAL, "repo",
                                 "repo: expected OWNER/NAME of letters, digits, '.', '_', '-', got "
                                 "\"%.100s\"",
                                 spec->repo ? spec->repo : "");
    if (spec->policy)
        code = pfc_pull_policy_parse(spec->policy, &policy, err);
    if (code)
        return code;
    if (spec->budget_s != 0 && !(spec->budget_s >= 1 && spec->budget_s <= PFC_JOB_MAX_BUDGET_S))
        return pfc_err_set_field(err, PFC_EINVAL, "budget_s",
                                 "budget_s: expected 1 to %d seconds, got %g", PFC_JOB_MAX_BUDGET_S,
                                 spec->budget_s);
    if (spec->patience_s != 0 &&
        !(spec->patience_s >= 60 && spec->patience_s <= PFC_PULL_MAX_PATIENCE_S))
        return pfc_err_set_field(err, PFC_EINVAL, "patience_s",
                                 "patience_s: expected 60 to %.0f seconds, got %g",
                                 PFC_PULL_MAX_PATIENCE_S, spec->patience_s);
    return PFC_OK;
}

pfc_code pfc_forge_link_set(pfc_db *db, const char *actor, int64_t project_id,
                            const pfc_forge_link_spec *spec, pfc_err *err)
{
    pfc_forge_kind kind = PFC_FORGE_GITHUB;
    char *what = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = check(spec, err);

    if (!code)
        code = pfc_forge_kind_parse(spec->forge, &kind, err);
    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_sql_forge_link_set(
            tx,
            &(pfc_sql_forge_link_set_args){
                .project_id = project_id,
                .forge = pfc_forge_kind_name(kind),
                .repo = spec->repo,
                .policy = spec->policy ? spec->policy : policies[PFC_PULL_ON_CHANGE],
                .budget_s = spec->budget_s > 0 ? spec->budget_s : PFC_PULL_BUDGET_S,
                .patience_s = spec->patience_s > 0 ? spec->patience_s : PFC_PULL_PATIENCE_S,
                .machine_class = spec->machine_class },
            err);
    if (!code) {
        what = pfc_format("%s %s", pfc_forge_kind_name(kind), spec->repo);
        code = pfc_audit_add(tx, actor, "link", project_id, what, spec->policy, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code;
}

pfc_code pfc_forge_link_get(pfc_db *db, int64_t project_id, pfc_forge_links *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_forge_link_get(
            tx, &(pfc_sql_forge_link_get_args){ .project_id = project_id }, out, err);
    pfc_tx_free(tx);
    if (!code && out->len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "the project is linked to no repository");
    return code;
}

pfc_code pfc_forge_link_remove(pfc_db *db, const char *actor, int64_t project_id, pfc_err *err)
{
    size_t removed = 0;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_forge_link_remove(
            tx, &(pfc_sql_forge_link_remove_args){ .project_id = project_id }, &removed, err);
    if (!code && removed)
        code = pfc_audit_add(tx, actor, "unlink", project_id, "forge", NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    if (!code && !removed)
        code = pfc_err_set(err, PFC_ENOTFOUND, "the project is linked to no repository");
    return code;
}
