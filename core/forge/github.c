/* GitHub's comments by its REST API. */
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge.h"
#include "core/wire/wire.h"

enum { PAGE = 100, MAX_PAGES = 30, FOREIGN_MAX = 5 };

static const char *const github_headers[] = { "Accept: application/vnd.github+json",
                                              "X-GitHub-Api-Version: 2022-11-28",
                                              "User-Agent: perfci/" PFC_VERSION, NULL };

static pfc_code call(pfc_http *github, const char *method, const char *path, const json_t *body,
                     json_t **out, pfc_err *err)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    const pfc_http_req req = { .method = method,
                               .path = path,
                               .body = text,
                               .body_len = text ? strlen(text) : 0,
                               .headers = github_headers };
    pfc_http_answer answer = { 0 };
    pfc_code code = pfc_http_send(github, &req, &answer, err);

    if (!code) {
        if (answer.status >= 200 && answer.status < 300)
            code = pfc_json_parse(pfc_buf_text(&answer.body), answer.body.len, out, err);
        else if (answer.status == 403 && answer.retry_after_s > 0)
            code =
                pfc_err_set(err, PFC_EUNAVAIL, "GitHub asks to wait %.0f s", answer.retry_after_s);
        else if (answer.status == 401 || answer.status == 403)
            code = pfc_err_set(err, PFC_EDENIED, "GitHub refuses the token for %s (status %d)",
                               path, answer.status);
        else if (answer.status == 404)
            code = pfc_err_set(err, PFC_ENOTFOUND,
                               "GitHub knows no %s, or the token may not see it", path);
        else
            code = pfc_err_set(
                err, answer.status >= 500 || answer.status == 429 ? PFC_EUNAVAIL : PFC_EIO,
                "GitHub answers %d to %s %s", answer.status, method, path);
        pfc_http_answer_clear(&answer);
    }
    free(text);
    return code;
}

/* The number of the first comment over `skip` with our marker; 0 when there is none. */
static pfc_code find_comment(pfc_http *github, const char *list_path, const char *marker,
                             int64_t skip, int64_t *id, pfc_err *err)
{
    pfc_code code = PFC_OK;
    bool more = true;

    *id = 0;
    for (int page = 1; page <= MAX_PAGES && more && !*id && !code; page++) {
        char *path = pfc_format("%s?per_page=%d&page=%d", list_path, PAGE, page);
        json_t *list = NULL;

        code = call(github, "GET", path, NULL, &list, err);
        for (size_t i = 0; !code && i < json_array_size(list) && !*id; i++) {
            const json_t *comment = json_array_get(list, i);
            const char *body = json_string_value(json_object_get(comment, "body"));

            const int64_t number = json_integer_value(json_object_get(comment, "id"));

            if (body && number > skip && pfc_comment_is_ours(body, marker))
                *id = number;
        }
        more = json_array_size(list) == PAGE;
        json_decref(list);
        free(path);
    }
    return code;
}

pfc_code pfc_comment_put(pfc_http *github, const pfc_comment_place *at, const char *key,
                         const char *body, char **url, bool *created, pfc_err *err)
{
    char marker[PFC_COMMENT_MARKER_MAX];
    char *list = at->commit ? pfc_format("/repos/%s/commits/%s/comments", at->repo, at->commit)
                            : pfc_format("/repos/%s/issues/%lld/comments", at->repo,
                                         (long long)at->pull_request);
    json_t *doc = json_pack("{s:s}", "body", body);
    json_t *answer = NULL;
    int64_t id = 0;
    pfc_code code;

    pfc_comment_marker(key, marker);
    code = find_comment(github, list, marker, 0, &id, err);
    for (int tries = 0; !code && id; tries++) {
        char *one = pfc_format("/repos/%s/%scomments/%lld", at->repo, at->commit ? "" : "issues/",
                               (long long)id);

        code = call(github, "PATCH", one, doc, &answer, err);
        free(one);
        if (!code || code != PFC_EDENIED || tries == FOREIGN_MAX)
            break;
        /* The marker was in another user's comment, which this token may not edit: search for the
         * next one. */
        code = find_comment(github, list, marker, id, &id, err);
    }
    if (!code && !id)
        code = call(github, "POST", list, doc, &answer, err);
    if (!code) {
        *created = id == 0;
        if (url)
            *url = pfc_strdup(json_string_value(json_object_get(answer, "html_url")));
    }
    json_decref(answer);
    json_decref(doc);
    free(list);
    return code;
}
