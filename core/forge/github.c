/* GitHub's REST API (version 2022-11-28). */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/forge_priv.h"

enum { SUMMARY_BYTES = 65000, TITLE_BYTES = 250 };

static void headers(const char *token, char *out[6])
{
    out[0] = pfc_strdup("Accept: application/vnd.github+json");
    out[1] = pfc_strdup("X-GitHub-Api-Version: 2022-11-28");
    out[2] = pfc_format("Authorization: Bearer %s", token);
    out[3] = NULL;
}

/* ---- comments ---- */

/* The number in "ghs_NUMBER_JWT", as tokens of Apps are since April 2026; 0: another token. */
static int64_t app_of_token(const char *token)
{
    const size_t digits = strncmp(token, "ghs_", 4) == 0 ? strspn(token + 4, "0123456789") : 0;
    char *number = pfc_strndup(token + (digits ? 4 : 0), digits);
    int64_t app = 0;

    if (!digits || token[4 + digits] != '_' ||
        pfc_parse_i64(number, 1, INT64_MAX, "App", &app, NULL) != PFC_OK)
        app = 0;
    free(number);
    return app;
}

static pfc_code who_app(pfc_forge *forge, pfc_err *err)
{
    char *jwt = NULL;
    json_t *doc = NULL;
    pfc_code code = forge_app_jwt(forge->app_id, forge->app_key, forge_now(forge), &jwt, err);

    if (!code)
        code = forge_call_as(forge, jwt, "GET", "/app", NULL, &doc, NULL, err);
    if (!code) {
        forge->own.app = json_integer_value(json_object_get(doc, "id"));
        forge->own.login = pfc_format("%s[bot]", forge_text(doc, "slug"));
    }
    json_decref(doc);
    free(jwt);
    return code;
}

static pfc_code who(pfc_forge *forge, const char *repo, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (forge->app_key) {
        code = who_app(forge, err);
    } else if (strncmp(forge->token, "ghs_", 4) == 0) {
        /* Such a token has no user: GET /user is refused. */
        forge->own.app = app_of_token(forge->token);
        forge->own.any_bot = true;
    } else {
        code = forge_who(forge, repo, err);
    }
    forge->own.known = code == PFC_OK;
    return code;
}

static bool is_own(const pfc_forge *forge, const json_t *comment)
{
    const forge_own *own = &forge->own;
    const json_t *user = json_object_get(comment, "user");
    const json_t *app = json_object_get(comment, "performed_via_github_app");
    const int64_t app_id = json_integer_value(json_object_get(app, "id"));

    if (own->user)
        return json_integer_value(json_object_get(user, "id")) == own->user;
    if (own->app && app_id)
        return app_id == own->app;
    if (own->login)
        return strcmp(forge_text(user, "login"), own->login) == 0;
    /* Comments on commits do not say which App wrote them. */
    return own->any_bot && !json_is_null(app) && strcmp(forge_text(user, "type"), "Bot") == 0;
}

/* ---- checks ---- */

static json_t *check_json(const pfc_forge_check *check)
{
    static const struct {
        const char *status, *conclusion;
    } states[] = {
        [PFC_CHECK_QUEUED] = { "queued", NULL },
        [PFC_CHECK_IN_PROGRESS] = { "in_progress", NULL },
        [PFC_CHECK_SUCCESS] = { "completed", "success" },
        [PFC_CHECK_FAILURE] = { "completed", "failure" },
        [PFC_CHECK_NEUTRAL] = { "completed", "neutral" },
        [PFC_CHECK_ACTION_REQUIRED] = { "completed", "action_required" },
    };
    json_t *doc =
        json_pack("{s:s, s:s}", "name", check->name, "status", states[check->state].status);
    json_t *output = json_object();

    if (states[check->state].conclusion)
        json_object_set_new(doc, "conclusion", json_string(states[check->state].conclusion));
    forge_set_text(doc, "details_url", check->url, 2000);
    forge_set_text(doc, "external_id", check->external_id, 100);
    forge_set_text(output, "title", check->title, TITLE_BYTES);
    forge_set_text(output, "summary", check->summary ? check->summary : check->title,
                   SUMMARY_BYTES);
    json_object_set_new(doc, "output", output);
    return doc;
}

static pfc_code check_run_put(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                              int64_t *id, pfc_err *err)
{
    json_t *doc = check_json(check), *answer = NULL;
    char *path = forge_path("/repos/%s/check-runs/%lld", repo, (long long)*id);
    pfc_code code = PFC_ENOTFOUND;

    if (*id)
        code = forge_call(forge, repo, "PATCH", path, doc, &answer, err);
    if (code == PFC_ENOTFOUND) {
        json_object_set_new(doc, "head_sha", json_string(check->commit));
        free(path);
        path = forge_path("/repos/%s/check-runs", repo);
        code = forge_call(forge, repo, "POST", path, doc, &answer, err);
        if (!code)
            *id = json_integer_value(json_object_get(answer, "id"));
    }
    json_decref(answer);
    json_decref(doc);
    free(path);
    return code;
}

static pfc_code check_put(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                          int64_t *id, pfc_err *err)
{
    return pfc_forge_has_check_runs(forge) ? check_run_put(forge, repo, check, id, err)
                                           : forge_status_put(forge, repo, check, id, err);
}

/* ---- pull requests ---- */

/* Where the branch left the base branch. Without a common ancestor GitHub answers 404. */
static pfc_code read_merge_base(pfc_forge *forge, const char *repo, pfc_forge_pull *pull,
                                pfc_err *err)
{
    char *path = forge_path("/repos/%s/compare/%s...%s?per_page=1", repo, pull->base_commit,
                            pull->head_commit);
    json_t *doc = NULL;
    pfc_code code = forge_call(forge, repo, "GET", path, NULL, &doc, err);
    const char *sha = forge_text(json_object_get(doc, "merge_base_commit"), "sha");

    if (!code && pfc_is_commit_id(sha))
        pull->merge_base = pfc_strdup(sha);
    json_decref(doc);
    free(path);
    return code == PFC_ENOTFOUND ? PFC_OK : code;
}

static pfc_code pull_get(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                         pfc_err *err)
{
    pfc_code code = forge_pull_get(forge, repo, number, out, err);

    return code ? code : read_merge_base(forge, repo, out, err);
}

static char *commits_path(const char *repo, int64_t number, const char *base, const char *head)
{
    (void)base;
    (void)head;
    return forge_path("/repos/%s/pulls/%lld/commits?per_page=100", repo, (long long)number);
}

const forge_ops forge_github = {
    .name = "GitHub",
    .words = &forge_github_words,
    .api_url = "https://api.github.com",
    .edit = "PATCH",
    .headers = headers,
    .comments_path = forge_issue_comments_path,
    .comment_path = forge_issue_comment_path,
    .repo_path = forge_repos_path,
    .who = who,
    .is_own = is_own,
    .check_put = check_put,
    .access_of = forge_permission_get,
    .pull_get = pull_get,
    .commits_path = commits_path,
    .issues_query = "state=all&per_page=100&since=",
};
