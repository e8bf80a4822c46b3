/* GitLab's REST API (version 4). A project is named by its path with "%2F" for the slashes. */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/forge_priv.h"

enum { DEVELOPER = 30, GUEST = 10 };

static void headers(const char *token, char *out[6])
{
    out[0] = pfc_format("PRIVATE-TOKEN: %s", token);
    out[1] = NULL;
}

/* "/projects/PROJECT" and the rest. */
static char *project_path(const char *repo, const char *fmt, ...) PFC_PRINTF(2, 3);
static char *project_path(const char *repo, const char *fmt, ...)
{
    char *project = pfc_http_escape(repo);
    va_list args;
    char *rest, *path;

    va_start(args, fmt);
    rest = pfc_vformat(fmt, args);
    va_end(args);
    path = forge_path("/projects/%s%s", project, rest);
    free(rest);
    free(project);
    return path;
}

static char *repo_path(const char *repo, const char *rest)
{
    return project_path(repo, "%s", rest);
}

static char *comments_path(const forge_place *at, bool list)
{
    return project_path(at->repo, "/merge_requests/%lld/notes%s", (long long)at->pull,
                        list ? "?per_page=100" : "");
}

static char *comment_path(const forge_place *at, int64_t id)
{
    return project_path(at->repo, "/merge_requests/%lld/notes/%lld", (long long)at->pull,
                        (long long)id);
}

static bool is_own(const pfc_forge *forge, const json_t *note)
{
    return !json_is_true(json_object_get(note, "system")) &&
           json_integer_value(json_object_get(json_object_get(note, "author"), "id")) ==
               forge->own.user;
}

static pfc_code find_user(pfc_forge *forge, const char *repo, const char *user, int64_t *id,
                          pfc_err *err)
{
    char *name = pfc_http_escape(user);
    char *path = forge_path("/users?username=%s", name);
    json_t *list = NULL;
    pfc_code code = forge_call(forge, repo, "GET", path, NULL, &list, err);

    *id = json_integer_value(json_object_get(json_array_get(list, 0), "id"));
    json_decref(list);
    free(path);
    free(name);
    return code;
}

static pfc_code access_of(pfc_forge *forge, const char *repo, const char *user,
                          pfc_forge_access *out, pfc_err *err)
{
    int64_t id = 0, level = 0;
    json_t *doc = NULL;
    char *path = NULL;
    pfc_code code = find_user(forge, repo, user, &id, err);

    if (!code && id > 0) {
        /* "all": members by a group, too. */
        path = project_path(repo, "/members/all/%lld", (long long)id);
        code = forge_call(forge, repo, "GET", path, NULL, &doc, err);
        level = json_integer_value(json_object_get(doc, "access_level"));
        if (strcmp(forge_text(doc, "state"), "active") != 0)
            level = 0;
    }
    if (code == PFC_ENOTFOUND)
        code = PFC_OK;
    if (!code)
        *out = level >= DEVELOPER ? PFC_ACCESS_WRITE
               : level >= GUEST   ? PFC_ACCESS_READ
                                  : PFC_ACCESS_NONE;
    json_decref(doc);
    free(path);
    return code;
}

/* The name of the project that the branch is in; NULL: deleted, or not visible. */
static pfc_code read_source(pfc_forge *forge, const char *repo, const json_t *mr,
                            pfc_forge_pull *out, pfc_err *err)
{
    const int64_t source = json_integer_value(json_object_get(mr, "source_project_id"));
    const int64_t target = json_integer_value(json_object_get(mr, "target_project_id"));
    json_t *doc = NULL;
    char *path = NULL;
    pfc_code code = PFC_OK;

    out->fork = source != target;
    if (!out->fork) {
        out->head_repo = pfc_strdup(repo);
        return PFC_OK;
    }
    if (source > 0) {
        path = forge_path("/projects/%lld", (long long)source);
        code = forge_call(forge, repo, "GET", path, NULL, &doc, err);
        if (!code && pfc_forge_is_repo(forge->kind, forge_text(doc, "path_with_namespace")))
            out->head_repo = pfc_strdup(forge_text(doc, "path_with_namespace"));
    }
    json_decref(doc);
    free(path);
    return code == PFC_ENOTFOUND ? PFC_OK : code;
}

static char *commit_of(const json_t *doc, const char *key)
{
    const char *text = forge_text(doc, key);

    return pfc_is_commit_id(text) ? pfc_strdup(text) : NULL;
}

static pfc_code read_merge_request(const json_t *doc, const char *repo, pfc_forge_pull *out,
                                   pfc_err *err)
{
    const json_t *refs = json_object_get(doc, "diff_refs");

    out->number = json_integer_value(json_object_get(doc, "iid"));
    out->title = pfc_strdup(forge_text(doc, "title"));
    out->author = pfc_strdup(forge_text(json_object_get(doc, "author"), "username"));
    out->url = pfc_strdup(forge_text(doc, "web_url"));
    out->head_commit = commit_of(doc, "sha");
    out->head_branch = pfc_strdup(forge_text(doc, "source_branch"));
    /* "start": the tip of the target branch; "base": where the branch left it. */
    out->base_commit = commit_of(refs, "start_sha");
    out->merge_base = commit_of(refs, "base_sha");
    out->base_branch = pfc_strdup(forge_text(doc, "target_branch"));
    out->base_repo = pfc_strdup(repo);
    out->open = strcmp(forge_text(doc, "state"), "opened") == 0;
    out->draft = json_is_true(json_object_get(doc, "draft"));
    if (!out->head_commit || out->number <= 0)
        return pfc_err_set(err, PFC_EIO, "GitLab: a merge request without its commit");
    return PFC_OK;
}

static pfc_code pull_get(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                         pfc_err *err)
{
    char *path = project_path(repo, "/merge_requests/%lld", (long long)number);
    json_t *doc = NULL;
    pfc_code code = forge_call(forge, repo, "GET", path, NULL, &doc, err);

    if (!code)
        code = read_merge_request(doc, repo, out, err);
    if (!code)
        code = read_source(forge, repo, doc, out, err);
    json_decref(doc);
    free(path);
    return code;
}

/* The list of a merge request's commits does not say their parents; that of the repository does. */
static char *commits_path(const char *repo, int64_t number, const char *base, const char *head)
{
    (void)number;
    return project_path(repo, "/repository/commits?ref_name=%s..%s&first_parent=true&per_page=100",
                        base, head);
}

static const forge_words words = {
    .states = { [PFC_CHECK_QUEUED] = "pending",
                [PFC_CHECK_IN_PROGRESS] = "running",
                [PFC_CHECK_SUCCESS] = "success",
                [PFC_CHECK_FAILURE] = "failed",
                [PFC_CHECK_NEUTRAL] = "success", /* any other would block a required one */
                [PFC_CHECK_ACTION_REQUIRED] = "failed" },
    .check_name = "name",
    .issue_body = "description",
    .issue_state = "state_event",
    .open = "reopen",
    .closed = "close",
    .number = "iid",
    .issue_url = "web_url",
};

const forge_ops forge_gitlab = {
    .name = "GitLab",
    .words = &words,
    .api_url = "https://gitlab.com/api/v4",
    .edit = "PUT",
    .headers = headers,
    .comments_path = comments_path,
    .comment_path = comment_path,
    .repo_path = repo_path,
    .who = forge_who,
    .is_own = is_own,
    .check_put = forge_status_put,
    .access_of = access_of,
    .pull_get = pull_get,
    .commits_path = commits_path,
    .issues_query = "per_page=100&created_after=",
};
