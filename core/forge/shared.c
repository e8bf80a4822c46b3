/* Operations that the providers share, with the words of each; paths of GitHub's shape. */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/forge/forge.h"
#include "core/forge/forge_priv.h"

enum { STATUS_BYTES = 140, URL_BYTES = 2000 };

/* How far the forge's clock may be behind ours. */
#define CLOCK_SLACK_S 3600

const forge_words forge_github_words = {
    .states = { [PFC_CHECK_QUEUED] = "pending",
                [PFC_CHECK_IN_PROGRESS] = "pending",
                [PFC_CHECK_SUCCESS] = "success",
                [PFC_CHECK_FAILURE] = "failure",
                [PFC_CHECK_NEUTRAL] = "success", /* any other would block a required one */
                [PFC_CHECK_ACTION_REQUIRED] = "error" },
    .check_name = "context",
    .comment_url = "html_url",
    .issue_body = "body",
    .issue_state = "state",
    .open = "open",
    .closed = "closed",
    .number = "number",
    .issue_url = "html_url",
};

char *forge_repos_path(const char *repo, const char *rest)
{
    return forge_path("/repos/%s%s", repo, rest);
}

char *forge_issue_comments_path(const forge_place *at, bool list)
{
    const char *query = list ? "?per_page=100" : "";

    return at->commit ? forge_path("/repos/%s/commits/%s/comments%s", at->repo, at->commit, query)
                      : forge_path("/repos/%s/issues/%lld/comments%s", at->repo,
                                   (long long)at->pull, query);
}

char *forge_issue_comment_path(const forge_place *at, int64_t id)
{
    return forge_path("/repos/%s/%scomments/%lld", at->repo, at->commit ? "" : "issues/",
                      (long long)id);
}

void forge_set_text(json_t *doc, const char *key, const char *text, size_t max_len)
{
    char *copy = text ? pfc_strndup(text, pfc_utf8_cut(text, max_len)) : NULL;

    if (copy)
        json_object_set_new(doc, key, json_string(copy));
    free(copy);
}

/* ---- the account ---- */

pfc_code forge_who(pfc_forge *forge, const char *repo, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_code code = forge_call(forge, repo, "GET", "/user", NULL, &doc, err);

    if (!code) {
        forge->own.user = json_integer_value(json_object_get(doc, "id"));
        forge->own.known = forge->own.user > 0;
    }
    if (!code && !forge->own.known)
        code = pfc_err_set(err, PFC_EIO, "%s named no account of the token", forge->ops->name);
    json_decref(doc);
    return code;
}

/* ---- commit statuses ---- */

pfc_code forge_status_put(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                          int64_t *id, pfc_err *err)
{
    const forge_words *words = forge->ops->words;
    char *rest = pfc_format("/statuses/%s", check->commit);
    char *path = forge->ops->repo_path(repo, rest);
    json_t *doc = json_pack("{s:s, s:s}", "state", words->states[check->state], words->check_name,
                            check->name);
    pfc_code code;

    (void)id; /* the forge finds it by commit and name */
    forge_set_text(doc, "description", check->title, STATUS_BYTES);
    forge_set_text(doc, "target_url", check->url, URL_BYTES);
    code = forge_call(forge, repo, "POST", path, doc, NULL, err);
    json_decref(doc);
    free(path);
    free(rest);
    return code;
}

/* ---- issues ---- */

static void take_answer(const pfc_forge *forge, const json_t *issue, int64_t *number, char **url)
{
    const forge_words *words = forge->ops->words;

    *number = json_integer_value(json_object_get(issue, words->number));
    if (url)
        *url = pfc_strdup(forge_text(issue, words->issue_url));
}

pfc_code pfc_forge_issue_put(pfc_forge *forge, const char *repo, const pfc_forge_issue *issue,
                             int64_t *number, char **url, pfc_err *err)
{
    const forge_words *words = forge->ops->words;
    json_t *doc = json_pack("{s:s, s:s}", "title", issue->title, words->issue_body, issue->body);
    json_t *answer = NULL;
    char *rest = *number ? pfc_format("/issues/%lld", (long long)*number) : pfc_strdup("/issues");
    char *path = forge->ops->repo_path(repo, rest);
    pfc_code code;

    if (*number)
        json_object_set_new(doc, words->issue_state,
                            json_string(issue->open ? words->open : words->closed));
    code = forge_call(forge, repo, *number ? forge->ops->edit : "POST", path, doc, &answer, err);
    if (!code)
        take_answer(forge, answer, number, url);
    if (!code && *number <= 0)
        code =
            pfc_err_set(err, PFC_EUNAVAIL, "%s named no number of the new issue", forge->ops->name);
    json_decref(answer);
    json_decref(doc);
    free(path);
    free(rest);
    return code;
}

typedef struct found {
    const pfc_forge *forge;
    char marker[PFC_COMMENT_MARKER_MAX];
    int64_t number;
    char *url;
} found;

/* The one with the lowest number: two that searched at once, and then created, agree on it. */
static bool take_ours(void *arg, const json_t *issue)
{
    found *f = arg;
    const forge_words *words = f->forge->ops->words;
    const int64_t number = json_integer_value(json_object_get(issue, words->number));

    if (number > 0 && (f->number == 0 || number < f->number) &&
        pfc_comment_is_ours(forge_text(issue, words->issue_body), f->marker) &&
        f->forge->ops->is_own(f->forge, issue)) {
        free(f->url);
        take_answer(f->forge, issue, &f->number, &f->url);
    }
    return true;
}

pfc_code pfc_forge_issue_find(pfc_forge *forge, const char *repo, const char *key,
                              int64_t since_unix_s, int64_t *number, char **url, pfc_err *err)
{
    found f = { .forge = forge };
    char since[32];
    char *path, *rest;
    pfc_code code = forge->own.known ? PFC_OK : forge->ops->who(forge, repo, err);

    *number = 0;
    *url = NULL;
    if (code)
        return code;
    pfc_comment_marker(key, f.marker);
    pfc_clock_rfc3339((double)(since_unix_s - CLOCK_SLACK_S), since);
    rest = pfc_format("/issues?%s%s", forge->ops->issues_query, since);
    path = forge->ops->repo_path(repo, rest);
    code = forge_list(forge, repo, path, take_ours, &f, err);
    if (code) {
        free(f.url);
    } else {
        *number = f.number;
        *url = f.url;
    }
    free(path);
    free(rest);
    return code;
}

/* ---- people and pull requests, as GitHub and Gitea have them ---- */

pfc_code forge_permission_get(pfc_forge *forge, const char *repo, const char *user,
                              pfc_forge_access *out, pfc_err *err)
{
    char *name = pfc_http_escape(user);
    char *path = forge_path("/repos/%s/collaborators/%s/permission", repo, name);
    json_t *doc = NULL;
    pfc_code code = forge_call(forge, repo, "GET", path, NULL, &doc, err);
    const char *permission = forge_text(doc, "permission");

    if (code == PFC_ENOTFOUND) {
        *out = PFC_ACCESS_NONE;
        code = PFC_OK;
    } else if (!code && (!strcmp(permission, "admin") || !strcmp(permission, "write") ||
                         !strcmp(permission, "owner") || !strcmp(permission, "maintain"))) {
        *out = PFC_ACCESS_WRITE;
    } else if (!code) {
        *out = !strcmp(permission, "read") || !strcmp(permission, "triage") ? PFC_ACCESS_READ
                                                                            : PFC_ACCESS_NONE;
    }
    json_decref(doc);
    free(path);
    free(name);
    return code;
}

/* "head" or "base" of a pull request. */
static void read_side(const json_t *side, char **commit, char **branch, char **repo)
{
    const json_t *in = json_object_get(side, "repo");

    *commit =
        pfc_is_commit_id(forge_text(side, "sha")) ? pfc_strdup(forge_text(side, "sha")) : NULL;
    *branch = pfc_strdup(forge_text(side, "ref"));
    *repo = forge_text(in, "full_name")[0] ? pfc_strdup(forge_text(in, "full_name")) : NULL;
}

static pfc_code pull_read(const forge_ops *ops, const json_t *doc, pfc_forge_pull *out,
                          pfc_err *err)
{
    read_side(json_object_get(doc, "head"), &out->head_commit, &out->head_branch, &out->head_repo);
    read_side(json_object_get(doc, "base"), &out->base_commit, &out->base_branch, &out->base_repo);
    out->number = json_integer_value(json_object_get(doc, "number"));
    out->title = pfc_strdup(forge_text(doc, "title"));
    out->author = pfc_strdup(forge_text(json_object_get(doc, "user"), "login"));
    out->url = pfc_strdup(forge_text(doc, "html_url"));
    out->open = strcmp(forge_text(doc, "state"), "open") == 0;
    out->draft = json_is_true(json_object_get(doc, "draft"));
    out->fork = !pfc_streq(out->head_repo, out->base_repo);
    if (pfc_is_commit_id(forge_text(doc, "merge_base")))
        out->merge_base = pfc_strdup(forge_text(doc, "merge_base"));
    if (!out->head_commit || !out->base_commit || out->number <= 0)
        return pfc_err_set(err, PFC_EIO, "%s: a pull request without its commits", ops->name);
    return PFC_OK;
}

pfc_code forge_pull_get(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                        pfc_err *err)
{
    char *path = forge_path("/repos/%s/pulls/%lld", repo, (long long)number);
    json_t *doc = NULL;
    pfc_code code = forge_call(forge, repo, "GET", path, NULL, &doc, err);

    if (!code)
        code = pull_read(forge->ops, doc, out, err);
    json_decref(doc);
    free(path);
    return code;
}
