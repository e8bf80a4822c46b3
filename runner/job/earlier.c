/* Asks the server for an earlier result of the same pair of builds. */
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"
#include "runner/job/job.h"

static pfc_code read_answer(const json_t *doc, pfc_earlier *out, pfc_err *err)
{
    char *session = NULL, *at = NULL;
    pfc_code code = pfc_json_string(doc, NULL, "session", false, 32, &session, err);

    if (!code && session && (strlen(session) != 32 || !pfc_is_hex_id(session)))
        code = pfc_err_set_field(err, PFC_EINVAL, "session",
                                 "session: expected 32 hexadecimal digits, got \"%.32s\"", session);
    if (!code)
        code = pfc_json_string(doc, NULL, "measured_at", false, sizeof(out->measured_at) - 1, &at,
                               err);
    if (!code && session) {
        (void)snprintf(out->session, sizeof(out->session), "%s", session);
        (void)snprintf(out->measured_at, sizeof(out->measured_at), "%s", at ? at : "");
    }
    free(session);
    free(at);
    return code;
}

pfc_code pfc_job_earlier(pfc_http *http, const pfc_leased_job *job, const char *key,
                         pfc_earlier *out, pfc_err *err)
{
    json_t *body = json_pack("{s:s, s:s}", "lease", job->lease, "key", key), *answer = NULL;
    char path[64];
    int status = 0;
    pfc_code code;

    *out = (pfc_earlier){ 0 };
    (void)snprintf(path, sizeof(path), "/api/v1/jobs/%lld/earlier", (long long)job->id);
    code = pfc_http_json_as(http, job->token, "POST", path, body, &status, &answer, err);
    if (code == PFC_ECONFLICT && status == 0)
        code = PFC_EUNAVAIL; /* the call was cancelled, which is no answer */
    if (!code)
        code = read_answer(answer, out, err);
    json_decref(answer);
    json_decref(body);
    return code;
}
