/*
 * Sends one document to the server: a run, a session's own document, or a trace of a run.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/spool/spool_priv.h"

#define UPLOAD_S  120.0
#define RUNS_PATH "/api/v1/runs"

typedef struct body {
    const char *bytes;
    size_t len;
    const char *type; /* NULL: JSON */
} body;

static pfc_code post(pfc_http *http, const char *path, const char *token, const body *b,
                     pfc_http_answer *answer, pfc_err *err)
{
    const pfc_http_req req = { .method = "POST",
                               .path = path,
                               .timeout_s = UPLOAD_S,
                               .body = b->bytes,
                               .body_len = b->len,
                               .content_type = b->type,
                               .token = token };
    pfc_code code = pfc_http_send(http, &req, answer, err);

    return code ? code : pfc_http_check(http, answer, err);
}

static pfc_code post_session(pfc_http *http, const pfc_spool_parcel *parcel,
                             pfc_http_answer *answer, pfc_err *err)
{
    json_t *doc = NULL;
    char *path = NULL, *text = NULL;
    pfc_code code = pfc_json_parse(parcel->text, parcel->len, &doc, err);

    if (!code) {
        const char *project = json_string_value(json_object_get(doc, "project"));

        path = pfc_format("/api/v1/projects/%s/sessions", project ? project : "");
        text = json_dumps(json_object_get(doc, "session"), JSON_COMPACT);
        code = text ? post(http, path, parcel->token, &(body){ text, strlen(text), NULL }, answer,
                           err)
                    : pfc_err_set(err, PFC_EINVAL, "session: expected an object");
    }
    json_decref(doc);
    free(path);
    free(text);
    return code;
}

/* The first line names run and benchmark; the rest is the trace. */
static pfc_code post_trace(pfc_http *http, const pfc_spool_parcel *parcel, pfc_http_answer *answer,
                           pfc_err *err)
{
    const char *end = memchr(parcel->text, '\n', parcel->len);
    const size_t head = end ? (size_t)(end - parcel->text) : parcel->len;
    json_t *doc = NULL;
    char *run = NULL, *benchmark = NULL, *escaped = NULL, *path = NULL;
    pfc_code code = pfc_json_parse(parcel->text, head, &doc, err);

    if (!code)
        code = pfc_json_string(doc, NULL, "run", true, 32, &run, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "benchmark", true, PFC_WIRE_MAX_NAME, &benchmark, err);
    if (!code) {
        const body b = { parcel->text + PFC_MIN(head + 1, parcel->len),
                         parcel->len - PFC_MIN(head + 1, parcel->len), "application/octet-stream" };

        escaped = pfc_http_escape(benchmark);
        path = pfc_format(RUNS_PATH "/%s/traces?benchmark=%s", run, escaped);
        code = post(http, path, parcel->token, &b, answer, err);
    }
    json_decref(doc);
    free(run);
    free(benchmark);
    free(escaped);
    free(path);
    return code;
}

pfc_code pfc_spool_post(pfc_http *http, const pfc_spool_parcel *parcel, pfc_http_answer *answer,
                        pfc_err *err)
{
    if (parcel->session)
        return post_session(http, parcel, answer, err);
    if (parcel->trace)
        return post_trace(http, parcel, answer, err);
    return post(http, RUNS_PATH, parcel->token, &(body){ parcel->text, parcel->len, NULL }, answer,
                err);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Sets the member to what it is in a document without it. False: it was so before. */
static bool leave_out(pfc_run *run, const char *member)
{
    bool had = false;

    if (strcmp(member, "job_fence") == 0) {
        had = run->job_fence != 0;
        run->job_fence = 0;
    } else if (strcmp(member, "unsandboxed") == 0) {
        had = run->unsandboxed;
        run->unsandboxed = false;
    } else if (strcmp(member, "ceilings") == 0 || ends_with(member, "].operations") ||
               ends_with(member, "].bytes")) {
        had = pfc_run_drop_roofline(run); /* they came with one version */
    }
    return had;
}

char *pfc_spool_without_refused(const pfc_http_answer *answer, const pfc_err *refusal,
                                const char *text, size_t len)
{
    pfc_run *run = NULL;
    char *other = NULL;

    if (answer->status == 400 && pfc_run_from_json(text, len, &run, NULL) == PFC_OK &&
        leave_out(run, refusal->field))
        other = pfc_run_to_text(run);
    pfc_run_free(run);
    return other;
}
