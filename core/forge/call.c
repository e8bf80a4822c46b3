/* One call to a forge: token, limits, ETag, the next page, and the answer as a code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/forge_priv.h"
#include "core/wire/wire.h"

enum { MAX_PAGES = 100, SAID_BYTES = 200, CACHED_BYTES = 256 * 1024 };

/* Headers of an answer that are read, by their place in this list. */
enum { LINK, ETAG, GITHUB_LEFT, GITHUB_RESET, GITLAB_LEFT, GITLAB_RESET };
static const char *const wanted[] = { "Link",
                                      "ETag",
                                      "x-ratelimit-remaining",
                                      "x-ratelimit-reset",
                                      "RateLimit-Remaining",
                                      "RateLimit-Reset",
                                      NULL };

const char *forge_text(const json_t *doc, const char *key)
{
    const char *text = json_string_value(json_object_get(doc, key));

    return text ? text : "";
}

char *forge_path(const char *fmt, ...)
{
    va_list args;
    char *path;

    va_start(args, fmt);
    path = pfc_vformat(fmt, args);
    va_end(args);
    return path;
}

/* ---- answers that are kept ---- */

static forge_cached *cached_at(pfc_forge *forge, const char *path)
{
    for (size_t i = 0; i < FORGE_CACHED; i++) {
        if (pfc_streq(forge->cached[i].path, path))
            return &forge->cached[i];
    }
    return NULL;
}

static void cached_clear(forge_cached *c)
{
    free(c->path);
    free(c->etag);
    free(c->next);
    json_decref(c->doc);
    *c = (forge_cached){ 0 };
}

static void keep(pfc_forge *forge, const char *path, const char *etag, json_t *doc,
                 const char *next)
{
    forge_cached *c = cached_at(forge, path);

    if (!c) {
        c = &forge->cached[0];
        for (size_t i = 1; i < FORGE_CACHED; i++)
            c = forge->cached[i].used < c->used ? &forge->cached[i] : c;
    }
    cached_clear(c);
    *c = (forge_cached){ .path = pfc_strdup(path),
                         .etag = pfc_strdup(etag),
                         .next = pfc_strdup(next),
                         .doc = json_incref(doc),
                         .used = ++forge->uses };
}

/* ---- the next page ---- */

/* The target of rel="next" in a Link header (RFC 8288), as a path below the client's URL; NULL:
 * there is none, or it leaves the forge. Caller frees. */
static char *next_page(const pfc_forge *forge, const char *link)
{
    const char *base = pfc_http_url(forge->http);
    const size_t len = strlen(base);

    for (const char *at = link; at && (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        const char *stop = end ? strchr(end, ',') : NULL;
        const char *rel = end ? strstr(end, "rel=\"next\"") : NULL;

        if (rel && (!stop || rel < stop)) {
            if (strncmp(at + 1, base, len) != 0 || at[1 + len] != '/')
                return NULL;
            return pfc_strndup(at + 1 + len, (size_t)(end - at - 1) - len);
        }
    }
    return NULL;
}

/* ---- the answer as a code ---- */

/* The forge's own sentence: {"message"}, {"error"}, or what either holds. */
static void read_said(const pfc_http_answer *answer, char out[SAID_BYTES + 4])
{
    json_t *doc = json_loadb(pfc_buf_text(&answer->body), answer->body.len, 0, NULL);
    const json_t *said = json_object_get(doc, "message");
    const json_t *first = json_array_get(json_object_get(doc, "errors"), 0);
    char *text = NULL;

    said = said ? said : json_object_get(doc, "error");
    text = json_is_string(said) ? pfc_strdup(json_string_value(said))
           : said               ? json_dumps(said, JSON_COMPACT | JSON_ENCODE_ANY)
                                : pfc_strdup("");
    if (text && forge_text(first, "message")[0]) {
        char *longer = pfc_format("%s: %s", text, forge_text(first, "message"));

        free(text);
        text = longer;
    }
    if (text) {
        pfc_forge_redact(text);
        pfc_text_plain(text, false);
    }
    (void)snprintf(out, SAID_BYTES + 4, "%.*s", (int)pfc_utf8_cut(text ? text : "", SAID_BYTES),
                   text ? text : "");
    free(text);
    json_decref(doc);
}

/* " (its own words)", or nothing. */
static pfc_code refuse(const pfc_forge *forge, pfc_code code, const char *what, const char *method,
                       const char *path, const pfc_http_answer *answer, const char *said,
                       pfc_err *err)
{
    return pfc_err_set(err, code, "%s %s %s %.120s (status %d%s%s)", forge->ops->name, what, method,
                       path, answer->status, said[0] ? ": " : "", said);
}

static pfc_code judge(pfc_forge *forge, const char *method, const char *path,
                      const pfc_http_answer *answer, pfc_err *err)
{
    const bool gitlab = forge->kind == PFC_FORGE_GITLAB;
    char said[SAID_BYTES + 4] = "";
    const int status = answer->status;
    forge_limits limits = { .status = status,
                            .retry_after_s = answer->retry_after_s,
                            .remaining = answer->headers[gitlab ? GITLAB_LEFT : GITHUB_LEFT],
                            .reset = answer->headers[gitlab ? GITLAB_RESET : GITHUB_RESET],
                            .date_unix_s = answer->date_unix_s,
                            .message = said };

    if (status >= 400)
        read_said(answer, said);
    if (forge_limited(forge, &limits))
        return pfc_err_set(err, PFC_EUNAVAIL, "%s limits the number of calls: wait %.0f s%s%s",
                           forge->ops->name, pfc_forge_wait_s(forge), said[0] ? ": " : "", said);
    if (status < 300 || status == 304)
        return PFC_OK;
    if (status < 400)
        return refuse(forge, PFC_ENOTFOUND, "redirects (was the repository renamed?)", method, path,
                      answer, said, err);
    if (status == 401 || status == 403)
        return refuse(forge, PFC_EDENIED, "refuses the token for", method, path, answer, said, err);
    if (status == 404 || status == 410)
        return refuse(forge, PFC_ENOTFOUND, "has nothing, or not for this token, at", method, path,
                      answer, said, err);
    if (status == 400 || status == 413 || status == 422)
        return refuse(forge, PFC_EINVAL, "does not accept", method, path, answer, said, err);
    if (status == 408 || status == 504)
        return refuse(forge, PFC_ETIMEOUT, "took too long for", method, path, answer, said, err);
    if (status == 409 || status >= 500)
        return refuse(forge, PFC_EUNAVAIL, "failed to do", method, path, answer, said, err);
    return refuse(forge, PFC_EIO, "refuses", method, path, answer, said, err);
}

/* ---- the call ---- */

static pfc_code read_answer(pfc_forge *forge, const char *method, const char *path,
                            const pfc_http_answer *answer, forge_cached *known, json_t **out,
                            char **next, pfc_err *err)
{
    json_t *doc = NULL;
    char *after = NULL;
    pfc_code code = PFC_OK;

    if (answer->status == 304 && known) {
        known->used = ++forge->uses;
        *out = json_incref(known->doc);
        *next = pfc_strdup(known->next);
        return PFC_OK;
    }
    if (answer->body.len > 0)
        code = pfc_json_parse(pfc_buf_text(&answer->body), answer->body.len, &doc, err);
    if (code)
        /* The end is missing, or a proxy answered: the same call may be answered in full. */
        return pfc_err_set(err, PFC_EUNAVAIL, "%s answered %d to %s %.120s with what is no JSON",
                           forge->ops->name, answer->status, method, path);
    after = next_page(forge, answer->headers[LINK]);
    if (strcmp(method, "GET") == 0 && answer->headers[ETAG] && answer->body.len <= CACHED_BYTES)
        keep(forge, path, answer->headers[ETAG], doc, after);
    *out = doc;
    *next = after;
    return PFC_OK;
}

static pfc_code send_call(pfc_forge *forge, const char *token, const char *method, const char *path,
                          const char *body, json_t **out, char **next, pfc_err *err)
{
    forge_cached *known = strcmp(method, "GET") == 0 ? cached_at(forge, path) : NULL;
    char *headers[8] = { NULL };
    size_t len = 0;
    pfc_http_req req = { .method = method,
                         .path = path,
                         .body = body,
                         .body_len = body ? strlen(body) : 0,
                         .headers = (const char *const *)headers,
                         .fresh = strcmp(method, "POST") == 0, /* a second one is another thing */
                         .answer_headers = wanted };
    pfc_http_answer answer = { 0 };
    pfc_code code;

    forge->ops->headers(token, headers);
    while (headers[len])
        len++;
    if (known)
        headers[len] = pfc_format("If-None-Match: %s", known->etag);
    code = pfc_http_send(forge->http, &req, &answer, err);
    if (!code) {
        code = judge(forge, method, path, &answer, err);
        if (!code)
            code = read_answer(forge, method, path, &answer, known, out, next, err);
        pfc_http_answer_clear(&answer);
    }
    for (size_t i = 0; headers[i]; i++)
        free(headers[i]);
    return code;
}

pfc_code forge_call_as(pfc_forge *forge, const char *token, const char *method, const char *path,
                       const json_t *body, json_t **out, char **next, pfc_err *err)
{
    char *text = NULL, *after = NULL;
    json_t *doc = NULL;
    pfc_code code;

    if (pfc_forge_wait_s(forge) > 0)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s limits the number of calls: wait %.0f s",
                           forge->ops->name, pfc_forge_wait_s(forge));
    text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    if (body && !text)
        return pfc_err_set(err, PFC_EBUG, "%s %s: the body is no JSON document", method, path);
    code = send_call(forge, token, method, path, text, &doc, &after, err);
    if (!code && out)
        *out = json_incref(doc);
    if (!code && next)
        *next = pfc_strdup(after);
    json_decref(doc);
    free(after);
    free(text);
    if (code && err)
        pfc_forge_redact(err->msg);
    return code;
}

static pfc_code call_page(pfc_forge *forge, const char *repo, const char *method, const char *path,
                          const json_t *body, json_t **out, char **next, pfc_err *err)
{
    const char *token = NULL;
    pfc_code code = forge_token(forge, repo, &token, err);

    if (!code)
        code = forge_call_as(forge, token, method, path, body, out, next, err);
    if (code == PFC_EDENIED && forge->app_token && strstr(err ? err->msg : "", "status 401")) {
        /* The token of an installation can end before its time: once more, with a new one. */
        forge_app_forget(forge);
        code = forge_token(forge, repo, &token, err);
        if (!code)
            code = forge_call_as(forge, token, method, path, body, out, next, err);
    }
    return code;
}

pfc_code forge_call(pfc_forge *forge, const char *repo, const char *method, const char *path,
                    const json_t *body, json_t **out, pfc_err *err)
{
    if (out)
        *out = NULL;
    return call_page(forge, repo, method, path, body, out, NULL, err);
}

pfc_code forge_list(pfc_forge *forge, const char *repo, const char *path,
                    bool (*each)(void *arg, const json_t *item), void *arg, pfc_err *err)
{
    char *at = pfc_strdup(path);
    pfc_code code = PFC_OK;

    for (int page = 0; !code && at; page++) {
        json_t *list = NULL, *item;
        char *next = NULL;
        size_t i;

        if (page == MAX_PAGES)
            code = pfc_err_set(err, PFC_EIO, "%s lists over %d pages at %.120s", forge->ops->name,
                               MAX_PAGES, path);
        else
            code = call_page(forge, repo, "GET", at, NULL, &list, &next, err);
        if (!code && list && !json_is_array(list))
            code = pfc_err_set(err, PFC_EIO, "%s: expected a list at %.120s", forge->ops->name, at);
        json_array_foreach(list, i, item)
        {
            if (!each(arg, item)) {
                free(next);
                next = NULL;
                break;
            }
        }
        json_decref(list);
        free(at);
        at = next;
    }
    free(at);
    return code;
}

void forge_cache_clear(pfc_forge *forge)
{
    for (size_t i = 0; i < FORGE_CACHED; i++)
        cached_clear(&forge->cached[i]);
}
