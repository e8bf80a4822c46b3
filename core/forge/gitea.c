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

static pfc_code who(pfc_forge *forge, const char *repo, pfc_err *err)
{
    const pfc_code code = forge_who(forge, repo, err);

    return code ? pfc_err_wrap(err, "the token needs the scope read:user") : PFC_OK;
}

static bool is_own(const pfc_forge *forge, const json_t *comment)
{
    return json_integer_value(json_object_get(json_object_get(comment, "user"), "id")) ==
           forge->own.user;
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
    .words = &forge_github_words,
    .edit = "PATCH",
    .headers = headers,
    .comments_path = comments_path,
    .comment_path = forge_issue_comment_path,
    .repo_path = forge_repos_path,
    .who = who,
    .is_own = is_own,
    .check_put = forge_status_put,
    .access_of = forge_permission_get,
    .pull_get = forge_pull_get,
    .commits_path = commits_path,
    .issues_query = "state=all&type=issues&limit=50&since=",
};
