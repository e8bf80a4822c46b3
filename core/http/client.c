/*
 * One libcurl easy handle a client, so that connections are kept alive; every option is set
 * again for each call, so that no option of one call applies to the next.
 */
#include "core/http/client.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/http/transfer.h"

#define DEFAULT_CONNECT_S 10.0
#define DEFAULT_TIMEOUT_S 60.0
#define BEARER            "Authorization: Bearer "
#define DEFAULT_ANSWER    (16u * 1024 * 1024)
#define MAX_RETRY_AFTER_S 3600.0

struct pfc_http {
    CURL *curl;
    char *url;    /* without a slash at its end */
    char *bearer; /* the whole header, NULL: none */
    double connect_timeout_s;
    double timeout_s;
    size_t max_answer_bytes;
    transfer_guard guard;
    char *name;
};

/* http(s)://host[:port][/prefix]: no user or password, which would end up in logs, and no query. */
static pfc_code check_url(const char *url, pfc_err *err)
{
    const char *host;

    if (strlen(url) > PFC_HTTP_MAX_URL)
        return pfc_err_set(err, PFC_EINVAL, "server URL: expected at most %d bytes, got %zu",
                           PFC_HTTP_MAX_URL, strlen(url));
    if (strncmp(url, "http://", 7) == 0)
        host = url + 7;
    else if (strncmp(url, "https://", 8) == 0)
        host = url + 8;
    else
        return pfc_err_set(err, PFC_EINVAL,
                           "server URL: expected http://HOST or https://HOST, got '%s'", url);
    if (!host[0] || host[0] == '/' || host[0] == ':')
        return pfc_err_set(err, PFC_EINVAL, "server URL '%s' names no host", url);
    for (const char *at = host; *at; at++) {
        if (*at == '@')
            return pfc_err_set(
                err, PFC_EINVAL,
                "server URL: expected no user or password in it; give a token instead");
        if (*at == '?' || *at == '#' || isspace((unsigned char)*at) || !isprint((unsigned char)*at))
            return pfc_err_set(err, PFC_EINVAL, "server URL '%s': expected no query and no spaces",
                               url);
    }
    return PFC_OK;
}

/* A token goes into a header line, which a newline would end. */
static pfc_code check_token(const char *token, pfc_err *err)
{
    for (const char *at = token; *at; at++) {
        if (!isgraph((unsigned char)*at))
            return pfc_err_set(err, PFC_EINVAL,
                               "token: expected printable characters without spaces");
    }
    return PFC_OK;
}

pfc_code pfc_http_new(const pfc_http_opts *opts, pfc_http **out, pfc_err *err)
{
    pfc_http *http;
    size_t len;
    pfc_code code = check_url(opts->url, err);

    if (code == PFC_OK && opts->token)
        code = check_token(opts->token, err);
    if (code)
        return code;
    http = pfc_alloc(sizeof(*http));
    http->curl = transfer_open();
    len = strlen(opts->url);
    while (len > 0 && opts->url[len - 1] == '/')
        len--;
    http->url = pfc_strndup(opts->url, len);
    if (opts->token && opts->token[0])
        http->bearer = pfc_format(BEARER "%s", opts->token);
    http->connect_timeout_s =
        opts->connect_timeout_s > 0 ? opts->connect_timeout_s : DEFAULT_CONNECT_S;
    http->timeout_s = opts->timeout_s > 0 ? opts->timeout_s : DEFAULT_TIMEOUT_S;
    http->max_answer_bytes = opts->max_answer_bytes
                                 ? PFC_MIN(opts->max_answer_bytes, (size_t)PFC_HTTP_MAX_ANSWER)
                                 : DEFAULT_ANSWER;
    http->guard = (transfer_guard){ .cancelled = opts->cancelled,
                                    .cancelled_arg = opts->cancelled_arg,
                                    .may_reach = opts->may_reach,
                                    .may_reach_arg = opts->may_reach_arg };
    http->name = opts->name ? pfc_strdup(opts->name) : NULL;
    *out = http;
    return PFC_OK;
}

void pfc_http_free(pfc_http *http)
{
    if (!http)
        return;
    curl_easy_cleanup(http->curl);
    free(http->url);
    free(http->bearer);
    free(http->name);
    free(http);
}

const char *pfc_http_url(const pfc_http *http)
{
    return http->url;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    pfc_buf *body = arg;

    (void)size; /* libcurl promises 1 */
    pfc_buf_append(body, bytes, count);
    return body->overflow ? 0 : count;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(list, line);

    if (!longer)
        pfc_die("out of memory for a header");
    return longer;
}

static bool names_accept(const pfc_http_req *req)
{
    for (size_t i = 0; req->headers && req->headers[i]; i++) {
        if (strncasecmp(req->headers[i], "Accept:", 7) == 0)
            return true;
    }
    return false;
}

static struct curl_slist *make_headers(const pfc_http *http, const pfc_http_req *req)
{
    /* Without an empty "Expect" header libcurl waits a second for "100 Continue" before it sends a
     * large body. */
    struct curl_slist *list = add_header(NULL, "Expect:");
    char *type, *bearer;

    if (!names_accept(req))
        list = add_header(list, "Accept: application/json");
    if (req->token) {
        bearer = pfc_format(BEARER "%s", req->token);
        list = add_header(list, bearer);
        free(bearer);
    } else if (http->bearer) {
        list = add_header(list, http->bearer);
    }
    if (req->body) {
        type = pfc_format("Content-Type: %s",
                          req->content_type ? req->content_type : "application/json");
        list = add_header(list, type);
        free(type);
    }
    for (size_t i = 0; req->headers && req->headers[i]; i++)
        list = add_header(list, req->headers[i]);
    return list;
}

static void set_options(pfc_http *http, const pfc_http_req *req, const char *url,
                        struct curl_slist *headers, char *reason, pfc_buf *body)
{
    CURL *curl = http->curl;
    const char *method = req->method ? req->method : "GET";

    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "perfci/" PFC_VERSION);
    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    transfer_guard_set(curl, &http->guard, reason, http->connect_timeout_s,
                       req->timeout_s > 0 ? req->timeout_s : http->timeout_s);
    if (req->body || strcmp(method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, req->body ? req->body : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)(req->body ? req->body_len : 0));
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, req->fresh ? 1L : 0L);
}

static double retry_after(CURL *curl)
{
    curl_off_t seconds = 0;

    if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK || seconds < 0)
        return 0.0;
    return fmin((double)seconds, MAX_RETRY_AFTER_S);
}

static int64_t date_of(CURL *curl)
{
    struct curl_header *date = NULL;
    time_t at;

    if (curl_easy_header(curl, "Date", 0, CURLH_HEADER, -1, &date) != CURLHE_OK)
        return 0;
    at = curl_getdate(date->value, NULL);
    return at > 0 ? (int64_t)at : 0;
}

/* The first value of each header that was asked for. */
static void keep_headers(CURL *curl, const char *const *names, pfc_http_answer *answer)
{
    while (names && names[answer->headers_len])
        answer->headers_len++;
    answer->headers = pfc_calloc(answer->headers_len, sizeof(*answer->headers));
    for (size_t i = 0; i < answer->headers_len; i++) {
        struct curl_header *header = NULL;

        if (curl_easy_header(curl, names[i], 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
            answer->headers[i] = pfc_strdup(header->value);
    }
}

static pfc_code explain(const pfc_http *http, CURLcode rc, const char *reason, const pfc_buf *body,
                        pfc_err *err)
{
    const char *url = http->name ? http->name : http->url;

    if (body->overflow)
        return pfc_err_set(err, PFC_ETOOBIG, "the answer of %s is over %zu bytes", url,
                           body->max_bytes);
    return transfer_failure(&http->guard, rc, url, reason, err);
}

static pfc_code send_once(pfc_http *http, const pfc_http_req *req, pfc_http_answer *answer,
                          pfc_err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    char *url = pfc_format("%s%s", http->url, req->path ? req->path : "");
    struct curl_slist *headers = make_headers(http, req);
    const char *type = NULL;
    long status = 0;
    pfc_code code = PFC_OK;
    CURLcode rc;

    *answer = (pfc_http_answer){ 0 };
    pfc_buf_init(&answer->body, http->max_answer_bytes);
    set_options(http, req, url, headers, reason, &answer->body);
    rc = transfer_perform(http->curl, &http->guard);
    if (rc != CURLE_OK) {
        code = explain(http, rc, reason, &answer->body, err);
        pfc_http_answer_clear(answer);
        goto done;
    }
    (void)curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(http->curl, CURLINFO_CONTENT_TYPE, &type);
    answer->status = (int)status;
    answer->content_type = pfc_strdup(type);
    answer->retry_after_s = retry_after(http->curl);
    answer->date_unix_s = date_of(http->curl);
    keep_headers(http->curl, req->answer_headers, answer);

done:
    curl_slist_free_all(headers);
    /* The handle must not keep pointers into this call's stack. */
    curl_easy_reset(http->curl);
    free(url);
    return code;
}

pfc_code pfc_http_send(pfc_http *http, const pfc_http_req *req, pfc_http_answer *answer,
                       pfc_err *err)
{
    pfc_http_req again = *req;
    pfc_code code = send_once(http, req, answer, err);

    if (code || !req->token || answer->status != 401)
        return code;
    pfc_http_answer_clear(answer);
    again.token = NULL;
    return send_once(http, &again, answer, err);
}

void pfc_http_answer_clear(pfc_http_answer *answer)
{
    if (!answer)
        return;
    pfc_buf_clear(&answer->body);
    free(answer->content_type);
    for (size_t i = 0; i < answer->headers_len; i++)
        free(answer->headers[i]);
    free(answer->headers);
    *answer = (pfc_http_answer){ 0 };
}
