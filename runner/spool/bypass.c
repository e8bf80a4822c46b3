/*
 * Sends results straight from memory, for a runner whose disk takes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/spool/spool_priv.h"

static pfc_code send_text(pfc_http *http, const char *token, bool session, const char *text,
                          pfc_http_answer *answer, pfc_err *err)
{
    return pfc_spool_post(
        http,
        &(pfc_spool_parcel){
            .token = token, .session = session, .text = text, .len = strlen(text) },
        answer, err);
}

/* An older server gets *text without the members that it does not know. */
static pfc_code send_run(pfc_http *http, const char *token, char **text, pfc_err *err)
{
    char *other;
    pfc_code code;

    do {
        pfc_http_answer answer = { 0 };

        other = NULL;
        code = send_text(http, token, false, *text, &answer, err);
        if (code)
            other = pfc_spool_without_refused(&answer, err, *text, strlen(*text));
        pfc_http_answer_clear(&answer);
        if (other) {
            free(*text);
            *text = other;
        }
    } while (other);
    return code;
}

pfc_code pfc_spool_bypass(pfc_http *http, const char *token, const pfc_run *run, pfc_err *err)
{
    pfc_err own = { 0 };
    char **texts = NULL;
    size_t len = 0;
    pfc_code code = pfc_run_split(run, PFC_WIRE_MAX_BODY_BYTES, &texts, &len, &own);

    if (code)
        len = 0;
    for (size_t i = 0; i < len; i++) {
        if (code == PFC_OK)
            code = send_run(http, token, &texts[i], &own);
        free(texts[i]);
    }
    free(texts);
    if (code && err)
        *err = own;
    return code;
}

pfc_code pfc_spool_bypass_session(pfc_http *http, const char *token, const pfc_session_set *set,
                                  pfc_err *err)
{
    pfc_http_answer answer = { 0 };
    char **texts = NULL;
    size_t len = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < set->len && !code; i++)
        code = pfc_spool_bypass(http, token, set->runs[i], err);
    if (!code)
        code = pfc_spool_session_texts(
            &(pfc_session_set){ .id = set->id, .project = set->project, .session = set->session },
            &texts, &len, err);
    if (!code)
        code = send_text(http, token, true, texts[0], &answer, err);
    pfc_http_answer_clear(&answer);
    pfc_spool_texts_free(texts, len);
    return code;
}
