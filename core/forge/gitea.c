/* The REST API of Gitea and Forgejo (version 1), which follows that of GitHub. */
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge_priv.h"

static void headers(const char *token, char *out[6])
{
    out[0] = pfc_format("Authorization: token %s", token);
    out[1] = NULL;
}

/* Gitea answers all of them at once. */
static char *comments_path(const forge_place *at, bool list)
{
    (void)list;
    return forge_issue_comments_path(at, false);
}

static char *comment_path(const forge_place *at, int64_t id)
{
    return forge_path("/repos/%s/issues/comments/%lld", at->repo, (long long)id);
}

static pfc_code who(pfc_forge *forge, const char *repo, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_code code = forge_call(forge, repo, "GET", "/user", NULL, &doc, err);

    if (!code) {
        forge->own.user = json_integer_value(json_object_get(doc, "id"));
        forge->own.known = forge->own.user > 0;
    }
    if (!code && !forge->own.known)
        code = pfc_err_set(err, PFC_EIO, "Gitea named no account of the token");
    json_decref(doc);
    return code ? pfc_err_wrap(err, "the token needs the scope read:user") : PFC_OK;
}

static bool is_own(const pfc_forge *forge, const json_t *comment)
{
    return json_integer_value(json_object_get(json_object_get(comment, "user"), "id")) ==
           forge->own.user;
}

static pfc_code check_put(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                          int64_t *id, pfc_err *err)
{
    (void)id;
    return forge_status_put(forge, repo, check, err);
}

static pfc_code pull_get(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                         pfc_err *err)
{
    char *path = forge_path("/repos/%s/pulls/%lld", repo, (long long)number);
    json_t *doc = NULL;
    pfc_code code = forge_call(forge, repo, "GET", path, NULL, &doc, err);

    if (!code)
        code = forge_pull_read(forge->ops, doc, out, err);
    json_decref(doc);
    free(path);
    return code;
}

/* Gitea shows at most 50 in a page. Signatures and lists of files cost it time. */
static char *commits_path(const char *repo, int64_t number, const char *base, const char *head)
{
    (void)base;
    (void)head;
    return forge_path("/repos/%s/pulls/%lld/commits?limit=50&verification=false&files=false", repo,
                      (long long)number);
}

const forge_ops forge_gitea = {
    .name = "Gitea",
    .edit = "PATCH",
    .headers = headers,
    .comments_path = comments_path,
    .comment_path = comment_path,
    .comment_url = "html_url",
    .who = who,
    .is_own = is_own,
    .check_put = check_put,
    .access_of = forge_permission_get,
    .pull_get = pull_get,
    .commits_path = commits_path,
    .issue_put = forge_github_issue_put,
};
