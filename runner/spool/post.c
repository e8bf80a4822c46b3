/*
 * Sends one document to the server: a run, or a session's own document.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/spool/spool_priv.h"

#define UPLOAD_S  120.0
#define RUNS_PATH "/api/v1/runs"

static pfc_code post(pfc_http *http, const char *path, const char *token, const char *text,
                     size_t len, pfc_http_answer *answer, pfc_err *err)
{
    const pfc_http_req req = { .method = "POST",
                               .path = path,
                               .timeout_s = UPLOAD_S,
                               .body = text,
                               .body_len = len,
                               .token = token };
    pfc_code code = pfc_http_send(http, &req, answer, err);

    return code ? code : pfc_http_check(http, answer, err);
}

pfc_code pfc_spool_post(pfc_http *http, const pfc_spool_parcel *parcel, pfc_http_answer *answer,
                        pfc_err *err)
{
    json_t *doc = NULL;
    char *path = NULL, *body = NULL;
    pfc_code code;

    if (!parcel->session)
        return post(http, RUNS_PATH, parcel->token, parcel->text, parcel->len, answer, err);
    code = pfc_json_parse(parcel->text, parcel->len, &doc, err);
    if (!code) {
        const char *project = json_string_value(json_object_get(doc, "project"));

        path = pfc_format("/api/v1/projects/%s/sessions", project ? project : "");
        body = json_dumps(json_object_get(doc, "session"), JSON_COMPACT);
        code = body ? post(http, path, parcel->token, body, strlen(body), answer, err)
                    : pfc_err_set(err, PFC_EINVAL, "session: expected an object");
    }
    json_decref(doc);
    free(path);
    free(body);
    return code;
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
