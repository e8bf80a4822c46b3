/*
 * A session in the spool: the runs of its builds, then its own document, under one name. The server's path
 * has the project in it, so the session's file is {"project": P, "session": {...}}.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/spool/spool_priv.h"

#define UPLOAD_S  120.0
#define RUNS_PATH "/api/v1/runs"
#define MOST      999 /* parts of a name's three digits, whose order is that of the names */

bool pfc_spool_is_session(const char *name)
{
    const char *part = strrchr(name, '-');

    return part && part[1 + strspn(part + 1, "0123456789")] == PFC_SPOOL_SESSION[0];
}

void pfc_spool_texts_free(char **texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
}

pfc_code pfc_spool_session_texts(const pfc_session_set *set, char ***texts, size_t *len,
                                 pfc_err *err)
{
    char **all = NULL;
    size_t n = 0, cap = 0;
    pfc_code code = PFC_OK;
    json_t *doc;

    for (size_t i = 0; i < set->len && !code; i++) {
        char **parts = NULL;
        size_t parts_len = 0;

        code = pfc_run_split(set->runs[i], PFC_WIRE_MAX_BODY_BYTES, &parts, &parts_len, err);
        for (size_t p = 0; p < parts_len && !code; p++) {
            all = pfc_grow(all, n, &cap, sizeof(*all));
            all[n++] = parts[p];
        }
        free(parts);
    }
    if (!code && n >= MOST)
        code =
            pfc_err_set(err, PFC_ETOOBIG, "session %.12s: expected less than %d documents, got %zu",
                        set->id, MOST, n + 1);
    if (code) {
        pfc_spool_texts_free(all, n);
        return code;
    }
    all = pfc_grow(all, n, &cap, sizeof(*all));
    doc = json_pack("{s:s, s:O}", "project", set->project, "session", set->session);
    all[n++] = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    *texts = all;
    *len = n;
    return PFC_OK;
}

static pfc_code post(pfc_http *http, const char *path, const char *text, size_t len,
                     pfc_http_answer *answer, pfc_err *err)
{
    const pfc_http_req req = {
        .method = "POST", .path = path, .timeout_s = UPLOAD_S, .body = text, .body_len = len
    };
    pfc_code code = pfc_http_send(http, &req, answer, err);

    return code ? code : pfc_http_check(http, answer, err);
}

pfc_code pfc_spool_post(pfc_http *http, bool session, const char *text, size_t len,
                        pfc_http_answer *answer, pfc_err *err)
{
    json_t *doc = NULL;
    char *path = NULL, *body = NULL;
    pfc_code code;

    if (!session)
        return post(http, RUNS_PATH, text, len, answer, err);
    code = pfc_json_parse(text, len, &doc, err);
    if (!code) {
        const char *project = json_string_value(json_object_get(doc, "project"));

        path = pfc_format("/api/v1/projects/%s/sessions", project ? project : "");
        body = json_dumps(json_object_get(doc, "session"), JSON_COMPACT);
        code = body ? post(http, path, body, strlen(body), answer, err)
                    : pfc_err_set(err, PFC_EINVAL, "session: expected an object");
    }
    json_decref(doc);
    free(path);
    free(body);
    return code;
}

pfc_code pfc_spool_bypass_session(pfc_http *http, const pfc_session_set *set, pfc_err *err)
{
    pfc_http_answer answer = { 0 };
    char **texts = NULL;
    size_t len = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < set->len && !code; i++)
        code = pfc_spool_bypass(http, set->runs[i], err);
    if (!code)
        code = pfc_spool_session_texts(
            &(pfc_session_set){ .id = set->id, .project = set->project, .session = set->session },
            &texts, &len, err);
    if (!code)
        code = pfc_spool_post(http, true, texts[0], strlen(texts[0]), &answer, err);
    pfc_http_answer_clear(&answer);
    pfc_spool_texts_free(texts, len);
    return code;
}
