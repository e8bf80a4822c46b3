/*
 * Responses: status to code, the server's own message, JSON in and out.
 */
#include <stdlib.h>
#include <string.h>

#include "core/http/client.h"

static pfc_code code_of_status(int status)
{
    switch (status) {
    case 400:
    case 422:
        return PFC_EINVAL;
    case 401:
    case 403:
        return PFC_EDENIED;
    case 404:
        return PFC_ENOTFOUND;
    case 408:
    case 504:
        return PFC_ETIMEOUT;
    case 409:
        return PFC_ECONFLICT;
    case 413:
        return PFC_ETOOBIG;
    case 429:
        return PFC_EUNAVAIL;
    default:
        return status >= 500 ? PFC_EUNAVAIL : PFC_EIO;
    }
}

/* The server's message is printed on terminals and in logs, so it must be one line without control
 * characters. */
static void one_line(const char *text, char *out, size_t cap)
{
    size_t len = 0;

    for (; *text && len + 1 < cap; text++)
        out[len++] = (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text;
    out[len] = '\0';
}

/* The next step, with the address that was asked: the sentence is the service's own. `ours`: the
 * answer has the form of perfci's errors, so that it is perfci's token and state that matter. */
static void add_hint(const pfc_http *http, int status, bool ours, pfc_err *err)
{
    const char *todo = "correct what the sentence names; it was refused by";

    if (status == 401 && ours)
        todo = "set PERFCI_TOKEN_FILE to the file of a valid token of";
    else if (status == 401 || status == 403)
        todo = "use a token that has the right to do this at";
    else if (status == 404)
        todo = "check the name or number; it was looked up at";
    else if (status >= 300 && status < 400)
        todo = "use the address that this one redirects to:";
    else if ((status >= 500 || status == 429) && ours)
        todo = "try again later; \"perfci doctor\" shows the state of";
    else if (status >= 500 || status == 429)
        todo = "try again later; the fault is on the side of";
    (void)pfc_err_hint(err, "%s %.160s", todo, http ? pfc_http_url(http) : "the service");
}

pfc_code pfc_http_check(const pfc_http *http, const pfc_http_answer *answer, pfc_err *err)
{
    json_t *doc = NULL;
    const json_t *error;
    const char *message = NULL;
    const char *field = NULL;
    char said[PFC_ERR_MAX] = "";
    char where[PFC_ERR_FIELD_MAX] = "";
    pfc_code code;

    if (answer->status >= 200 && answer->status < 300)
        return PFC_OK;
    if (answer->body.len)
        doc = json_loadb(answer->body.data, answer->body.len, JSON_REJECT_DUPLICATES, NULL);
    error = json_object_get(doc, "error");
    message = json_string_value(json_object_get(error, "message"));
    field = json_string_value(json_object_get(error, "field"));
    if (message)
        one_line(message, said, sizeof(said));
    if (field)
        one_line(field, where, sizeof(where));

    code = code_of_status(answer->status);
    if (said[0])
        (void)pfc_err_set_field(err, code, where, "%s", said);
    else
        (void)pfc_err_set(err, code, "the service at %s answered with HTTP status %d%s",
                          http ? pfc_http_url(http) : "an unknown address", answer->status,
                          answer->status >= 300 && answer->status < 400
                              ? ", a redirect, which is not followed"
                              : " and gave no reason");
    add_hint(http, answer->status, said[0] != '\0', err);
    json_decref(doc);
    return code;
}

bool pfc_http_retryable(pfc_code code)
{
    return code == PFC_EUNAVAIL || code == PFC_ETIMEOUT;
}

static pfc_code read_answer(const pfc_http *http, const pfc_http_answer *raw, json_t **answer,
                            pfc_err *err)
{
    json_error_t fault;
    json_t *doc;

    if (raw->body.len == 0)
        return PFC_OK;
    doc = json_loadb(raw->body.data, raw->body.len, JSON_REJECT_DUPLICATES, &fault);
    if (!doc)
        return pfc_err_set(err, PFC_EIO,
                           "%s answered %d with something that is no JSON (%s): is this a perfci "
                           "server?",
                           pfc_http_url(http), raw->status, fault.text);
    *answer = doc;
    return PFC_OK;
}

pfc_code pfc_http_json(pfc_http *http, const char *method, const char *path, const json_t *body,
                       int *status, json_t **answer, pfc_err *err)
{
    return pfc_http_json_as(http, NULL, method, path, body, status, answer, err);
}

pfc_code pfc_http_json_as(pfc_http *http, const char *token, const char *method, const char *path,
                          const json_t *body, int *status, json_t **answer, pfc_err *err)
{
    pfc_http_answer raw = { 0 };
    pfc_http_req req = { .method = method, .path = path, .token = token };
    char *text = NULL;
    pfc_code code;

    if (status)
        *status = 0;
    if (answer)
        *answer = NULL;
    if (body) {
        text = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);
        if (!text)
            return pfc_err_set(err, PFC_EBUG, "%s %s: the body is no JSON document", method, path);
        req.body = text;
        req.body_len = strlen(text);
    }
    code = pfc_http_send(http, &req, &raw, err);
    free(text);
    if (code)
        return code;
    if (status)
        *status = raw.status;
    code = pfc_http_check(http, &raw, err);
    if (code == PFC_OK && answer)
        code = read_answer(http, &raw, answer, err);
    pfc_http_answer_clear(&raw);
    return code;
}

char *pfc_http_escape(const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    char *out = pfc_alloc(3 * strlen(text) + 1);
    size_t len = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (strchr(plain, c)) {
            out[len++] = *text;
        } else {
            out[len++] = '%';
            out[len++] = hex[c >> 4];
            out[len++] = hex[c & 15];
        }
    }
    return out;
}
