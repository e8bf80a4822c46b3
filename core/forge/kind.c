/* Names of forges and of what is in them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge_priv.h"

static const char *const names[] = { "github", "gitlab", "gitea" };

const char *pfc_forge_kind_name(pfc_forge_kind kind)
{
    return names[kind];
}

pfc_code pfc_forge_kind_parse(const char *name, pfc_forge_kind *out, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        *out = (pfc_forge_kind)i;
        return PFC_OK;
    }
    if (strcmp(name, "forgejo") != 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "expected github, gitlab, gitea or forgejo, got \"%.40s\"", name);
    *out = PFC_FORGE_GITEA;
    return PFC_OK;
}

/* A part of a path that is no "." or "..". */
static bool is_part(const char *at, size_t len)
{
    if (len == 0 || (len == 1 && at[0] == '.') || (len >= 2 && memmem(at, len, "..", 2)))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)at[i]) && !strchr("._-", at[i]))
            return false;
    }
    return true;
}

bool pfc_forge_is_repo(pfc_forge_kind kind, const char *text)
{
    size_t parts = 0;

    if (strlen(text) > PFC_FORGE_MAX_REPO)
        return false;
    for (const char *at = text;; at += strcspn(at, "/") + 1) {
        const size_t len = strcspn(at, "/");

        if (!is_part(at, len))
            return false;
        parts++;
        if (!at[len])
            break;
    }
    return parts == 2 || (kind == PFC_FORGE_GITLAB && parts > 2);
}

void pfc_forge_pull_clear(pfc_forge_pull *pull)
{
    free(pull->title);
    free(pull->author);
    free(pull->url);
    free(pull->head_commit);
    free(pull->head_branch);
    free(pull->head_repo);
    free(pull->base_commit);
    free(pull->base_branch);
    free(pull->base_repo);
    free(pull->merge_base);
    *pull = (pfc_forge_pull){ 0 };
}

bool pfc_forge_has_check_runs(const pfc_forge *forge)
{
    /* Tokens of Apps begin with "ghs_", those of GitHub Actions, too. */
    return forge->kind == PFC_FORGE_GITHUB &&
           (forge->app_key || (forge->token && strncmp(forge->token, "ghs_", 4) == 0));
}
