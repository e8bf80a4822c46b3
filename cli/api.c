/*
 * Which service is meant, and the few posts that several subcommands share.
 */
#include "cli/api.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/git/codeowners.h"
#include "core/git/tags.h"

enum { COMMITS_A_POST = 500, HISTORY_COMMITS = 200, SMALL_FILE_BYTES = 64 * 1024 };

/* ---- which service ---- */

/* DATA/endpoint.json's url; NULL when nothing was started there. */
static char *endpoint_url(const char *data)
{
    char *path = pfc_fs_join(data, "endpoint.json");
    char *text = NULL;
    char *url = NULL;
    json_t *doc = NULL;
    size_t len = 0;

    if (!pfc_fs_read(path, SMALL_FILE_BYTES, &text, &len, NULL) &&
        !pfc_json_parse(text, len, &doc, NULL) &&
        pfc_json_string(doc, NULL, "url", true, PFC_HTTP_MAX_URL - 1, &url, NULL))
        url = NULL;
    json_decref(doc);
    free(text);
    free(path);
    return url;
}

static pfc_code admin_token(const char *data, char **out, pfc_err *err)
{
    char *path = pfc_fs_join(data, "admin.token");
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, 4096, out, &len, err);

    if (!code)
        (*out)[strcspn(*out, "\r\n")] = '\0';
    free(path);
    return code;
}

pfc_code pfc_api_open(const char *url, const char *data, const pfc_conf *conf, pfc_http **out,
                      pfc_err *err)
{
    return pfc_api_open_with(url, data, conf, NULL, out, err);
}

pfc_code pfc_api_open_with(const char *url, const char *data, const pfc_conf *conf,
                           const pfc_http_opts *more, pfc_http **out, pfc_err *err)
{
    char *folder = pfc_conf_data_dir(data);
    char *local = endpoint_url(folder);
    char *token = NULL;
    pfc_http_opts opts = more ? *more : (pfc_http_opts){ 0 };
    pfc_code code;

    /* --data names a service as surely as --url does: another one is never asked instead. */
    if (!url && data && !local) {
        (void)pfc_err_set(err, PFC_EUNAVAIL, "no service runs in the data folder %.300s", data);
        (void)pfc_err_hint(err, "start one with \"perfci up --data %.150s\"", data);
        free(folder);
        return PFC_EUNAVAIL;
    }
    if (!url && data)
        url = local;
    opts.url = pfc_conf_pick(url, "PERFCI_URL", conf ? conf->server : NULL,
                             local ? local : PFC_DEFAULT_URL);
    code = pfc_conf_secret("PERFCI_TOKEN", &token, err);
    if (code == PFC_ENOTFOUND) {
        code = PFC_OK;
        if (local && strcmp(opts.url, local) == 0)
            code = admin_token(folder, &token, err);
        if (code == PFC_ENOTFOUND)
            code = PFC_OK;
    }
    opts.token = token;
    if (!code)
        code = pfc_http_new(&opts, out, err);
    free(token);
    free(local);
    free(folder);
    return code;
}

/* ---- which project ---- */

/* "My Kernels" -> "my-kernels"; at most 63 bytes. */
static char *slug_of(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    const char *name = slash ? slash + 1 : dir;
    char *slug = pfc_strndup(name, strnlen(name, 63));
    char *w = slug;

    for (const char *p = slug; *p; p++) {
        const char c = (char)tolower((unsigned char)*p);

        if (isalnum((unsigned char)c) || (w > slug && strchr("._-", c)))
            *w++ = c;
        else if (w > slug && w[-1] != '-')
            *w++ = '-';
    }
    *w = '\0';
    return slug;
}

pfc_code pfc_api_project(const char *flag, const pfc_conf *conf, const char *dir, char **out,
                         pfc_err *err)
{
    char *real = dir ? realpath(dir, NULL) : NULL;
    char *fallback = real ? slug_of(real) : NULL;
    const char *name = pfc_conf_pick(flag, "PERFCI_PROJECT", conf ? conf->project : NULL, fallback);
    pfc_code code = PFC_OK;

    if (!name || !pfc_is_slug(name))
        code = pfc_err_set(err, PFC_EINVAL,
                           "missing project: pass --project NAME (lower-case letters, digits, '.', "
                           "'_', '-'), or set `project` in perfci.yaml");
    else
        *out = pfc_strdup(name);
    free(real);
    free(fallback);
    return code;
}

pfc_code pfc_api_begin(const char *url, const char *data, const char *project, pfc_conf *conf,
                       char **name, pfc_http **http, pfc_err *err)
{
    pfc_code code = pfc_conf_find(".", conf, err);

    if (!code)
        code = pfc_api_project(project, conf, ".", name, err);
    return code ? code : pfc_api_open(url, data, conf, http, err);
}

pfc_code pfc_api_source(pfc_http *http, const char *project, const char *folder, const char **out,
                        pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s", project);
    json_t *answer = NULL;
    pfc_code code = pfc_http_json(http, "GET", path, NULL, NULL, &answer, err);

    *out = json_string_value(json_object_get(answer, "repo_url")) ? NULL : folder;
    json_decref(answer);
    free(path);
    return code;
}

/* ---- posts ---- */

static pfc_code post_some_commits(pfc_http *http, const char *path, const char *branch,
                                  pfc_repo *repo, const pfc_commit_id *ids, size_t len,
                                  int64_t *fresh, pfc_err *err)
{
    pfc_commit *commits = pfc_calloc(len, sizeof(*commits));
    pfc_tag *tags = NULL;
    size_t tags_len = 0;
    json_t *body = NULL;
    json_t *answer = NULL;
    pfc_code code = pfc_repo_tags(repo, &tags, &tags_len, err);

    for (size_t i = 0; i < len && !code; i++) {
        code = pfc_repo_commit(repo, &ids[i], &commits[i], err);
        if (!code)
            pfc_tags_name(tags, tags_len, &commits[i]);
    }
    if (!code) {
        body = pfc_commits_to_json(branch, commits, len);
        code = pfc_http_json(http, "POST", path, body, NULL, &answer, err);
    }
    if (!code)
        *fresh += json_integer_value(json_object_get(answer, "new"));
    json_decref(answer);
    json_decref(body);
    pfc_tags_free(tags, tags_len);
    pfc_commits_free(commits, len);
    return code;
}

pfc_code pfc_api_post_commits(pfc_http *http, const char *project, const char *branch,
                              pfc_repo *repo, const pfc_commit_id *ids, size_t len, int64_t *fresh,
                              pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/commits", project);
    int64_t total = 0;
    pfc_code code = PFC_OK;

    for (size_t at = 0; at < len && !code; at += COMMITS_A_POST)
        code = post_some_commits(http, path, branch, repo, ids + at,
                                 PFC_MIN(len - at, COMMITS_A_POST), &total, err);
    if (!code && fresh)
        *fresh = total;
    free(path);
    return code;
}

void pfc_api_post_codeowners(pfc_http *http, const char *project, pfc_repo *repo,
                             const pfc_commit_id *tip)
{
    pfc_err err = { 0 };
    json_t *body = pfc_codeowners_document(repo, tip, &err);
    char *path = pfc_format("/api/v1/projects/%s/codeowners", project);
    pfc_code code = body ? pfc_http_json(http, "POST", path, body, NULL, NULL, &err) : PFC_EINVAL;

    if (code && code != PFC_ENOTFOUND) /* the server is too old for owners */
        pfc_log(PFC_WARN, "codeowners_not_sent", "reason", err.msg);
    json_decref(body);
    free(path);
}

pfc_code pfc_api_post_history(pfc_http *http, const char *project, const char *branch,
                              pfc_repo *repo, const pfc_commit_id *tip, pfc_err *err)
{
    pfc_commit_id *ids = NULL;
    size_t len = 0;
    pfc_code code = pfc_repo_history(repo, tip, HISTORY_COMMITS, &ids, &len, err);

    if (!code)
        code = pfc_api_post_commits(http, project, branch, repo, ids, len, NULL, err);
    if (!code)
        pfc_api_post_codeowners(http, project, repo, tip);
    free(ids);
    return code;
}

static pfc_code post_part(pfc_http *http, const char *text, int64_t *run_id, bool *repeated,
                          pfc_err *err)
{
    const pfc_http_req req = {
        .method = "POST", .path = "/api/v1/runs", .body = text, .body_len = strlen(text)
    };
    pfc_http_answer answer = { 0 };
    json_t *doc = NULL;
    pfc_code code = pfc_http_send(http, &req, &answer, err);

    if (code)
        return code;
    code = pfc_http_check(http, &answer, err);
    if (!code)
        code = pfc_json_parse(pfc_buf_text(&answer.body), answer.body.len, &doc, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "run_id", true, 0, INT64_MAX, run_id, err);
    *repeated = answer.status == 200;
    json_decref(doc);
    pfc_http_answer_clear(&answer);
    return code;
}

pfc_code pfc_api_post_run(pfc_http *http, const pfc_run *run, int64_t *run_id, bool *repeated,
                          pfc_err *err)
{
    char **parts = NULL;
    size_t len = 0;
    int64_t id = 0;
    bool again = true;
    pfc_code code = pfc_run_split(run, PFC_WIRE_MAX_BODY_BYTES, &parts, &len, err);

    for (size_t i = 0; i < len && !code; i++) {
        bool part_again = false;

        code = post_part(http, parts[i], &id, &part_again, err);
        again = again && part_again;
    }
    if (!code && run_id)
        *run_id = id;
    if (!code && repeated)
        *repeated = again;
    for (size_t i = 0; i < len; i++)
        free(parts[i]);
    free(parts);
    return code;
}

void pfc_api_post_sources(pfc_http *http, const char *project, const char *commit,
                          const pfc_conf *conf, const pfc_built *built)
{
    json_t *body = pfc_built_to_json(built, commit, conf);
    char *path = pfc_format("/api/v1/projects/%s/sources", project);
    pfc_err err = { 0 };

    if (body && pfc_http_json(http, "POST", path, body, NULL, NULL, &err))
        pfc_log(PFC_WARN, "build_report_failed", "reason", err.msg);
    json_decref(body);
    free(path);
}
