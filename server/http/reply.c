/* Replies: the one place that maps codes to statuses, adds headers and compresses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/base/hash.h"
#include "core/base/parse.h"
#include "server/http/internal.h"

#define GZIP_FROM_BYTES 1024
#define JSON_TYPE       "application/json"

int httpd_status_of(pfc_code code)
{
    switch (code) {
    case PFC_OK:
        return 200;
    case PFC_EINVAL:
    case PFC_EBROKEN:
        return 400;
    case PFC_ENOTFOUND:
        return 404;
    case PFC_ECONFLICT:
        return 409;
    case PFC_EDENIED:
        return 403;
    case PFC_ETOOBIG:
        return 413;
    case PFC_EUNAVAIL:
    case PFC_ETIMEOUT:
        return 503;
    case PFC_EIO:
    case PFC_EBUG:
        return 500;
    }
    return 500;
}

const char *httpd_error_word(int status)
{
    static const struct {
        int status;
        const char *word;
    } words[] = {
        { 400, "invalid" },     { 401, "unauthorized" },       { 403, "forbidden" },
        { 404, "not_found" },   { 405, "method_not_allowed" }, { 406, "not_acceptable" },
        { 409, "conflict" },    { 413, "too_large" },          { 414, "too_large" },
        { 415, "unsupported" }, { 421, "misdirected" },        { 429, "too_many" },
        { 503, "unavailable" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (words[i].status == status)
            return words[i].word;
    }
    return "internal";
}

json_t *pfc_reply_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *pfc_reply_string(const char *text)
{
    json_t *json = text ? json_string(text) : NULL;

    return json ? json : json_null();
}

void httpd_reply_clear(pfc_reply *reply)
{
    if (!reply->borrowed)
        free(reply->body);
    if (reply->lender)
        reply->leave(reply->lender);
    memset(reply, 0, sizeof(*reply));
}

pfc_code pfc_reply_json(pfc_reply *reply, int status, json_t *json, pfc_err *err)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    char *body;

    json_decref(json);
    if (!text)
        return pfc_err_set(err, PFC_EBUG, "reply: a value could not be encoded as JSON");
    body = pfc_format("%s\n", text);
    free(text);
    return pfc_reply_text(reply, status, JSON_TYPE, body);
}

pfc_code pfc_reply_bytes(pfc_reply *reply, int status, const char *content_type, char *bytes,
                         size_t len)
{
    httpd_reply_clear(reply);
    reply->status = status;
    reply->content_type = content_type;
    reply->body = bytes;
    reply->body_len = len;
    return PFC_OK;
}

pfc_code pfc_reply_text(pfc_reply *reply, int status, const char *content_type, char *text)
{
    return pfc_reply_bytes(reply, status, content_type, text, strlen(text));
}

pfc_code pfc_reply_borrowed(pfc_reply *reply, int status, const char *content_type,
                            const char *text)
{
    /* Never written, and not freed. */
    (void)pfc_reply_text(reply, status, content_type, (char *)(uintptr_t)text);
    reply->borrowed = true;
    return PFC_OK;
}

pfc_code pfc_reply_empty(pfc_reply *reply)
{
    httpd_reply_clear(reply);
    reply->status = 204;
    return PFC_OK;
}

void pfc_reply_session(pfc_reply *reply, const char *id)
{
    /* Strict: no other site can make a browser send it. Only where the API is. */
    (void)snprintf(reply->cookie, sizeof(reply->cookie),
                   PFC_HTTPD_COOKIE "=%.100s; Path=/api/v1; HttpOnly; SameSite=Strict%s", id,
                   id[0] ? "" : "; Max-Age=0");
}

pfc_code pfc_reply_wait(pfc_reply *reply, const char *topic, double wait_s)
{
    reply->wait_topic = topic;
    reply->wait_s = wait_s;
    return PFC_OK;
}

pfc_code pfc_reply_wait_for(pfc_reply *reply, const char *topic, pfc_wish wish, double wait_s)
{
    reply->wish = wish;
    return pfc_reply_wait(reply, topic, wait_s);
}

pfc_code pfc_reply_later(pfc_reply *reply, const pfc_later *later, void *ticket, double wait_s)
{
    reply->later = later;
    reply->ticket = ticket;
    reply->wait_s = wait_s;
    return PFC_OK;
}

pfc_code pfc_reply_events(pfc_reply *reply, const char *project)
{
    reply->events = true;
    (void)snprintf(reply->project, sizeof(reply->project), "%s", project);
    return PFC_OK;
}

/* Messages of PostgreSQL and libpq quote hosts, sockets and users. The log keeps them; the answer
 * does not, because clients without a token can read it. */
static void hide_places(char *text)
{
    static const char digits[] = "0123456789abcdefABCDEF.:%";

    for (char *at = strstr(text, "database: "); at && *at; at++) {
        const char close = *at == '"' ? '"' : ')';
        char *end = *at == '"' || *at == '(' ? strchr(at + 1, close) : NULL;

        if (!end || (close == ')' && strspn(at + 1, digits) != (size_t)(end - at - 1)))
            continue;
        memmove(at + 1, end, strlen(end) + 1);
        at++;
    }
}

void httpd_reply_error(pfc_reply *reply, int status, const pfc_err *err)
{
    char discreet[sizeof(err->msg)];
    char allow[sizeof(reply->allow)];
    json_t *error = json_object();
    const char *message = err->msg;

    memcpy(allow, reply->allow, sizeof(allow));
    if (status == 0)
        status = httpd_status_of(err->code);
    /* Our own faults are for the log; the caller gets the request id to quote. */
    if (status == 500)
        message = "the server failed; its log has the request id";
    if (status > 500) {
        memcpy(discreet, err->msg, sizeof(discreet));
        hide_places(discreet);
        message = discreet;
    }
    json_object_set_new(error, "code", json_string(httpd_error_word(status)));
    json_object_set_new(error, "message", pfc_reply_string(message));
    if (err->field[0] && pfc_is_utf8(err->field, strlen(err->field)))
        json_object_set_new(error, "field", json_string(err->field));
    if (pfc_reply_json(reply, status, json_pack("{s:o}", "error", error), NULL))
        pfc_die("http: an error could not be encoded");
    reply->cache = "no-store";
    memcpy(reply->allow, allow, sizeof(allow));
}

void httpd_security_headers(struct MHD_Response *response, const httpd_exchange *x)
{
    MHD_add_response_header(response, "Content-Security-Policy",
                            "default-src 'none'; script-src 'self'; style-src 'self'; "
                            "img-src 'self' data:; connect-src 'self'; font-src 'self'; "
                            "manifest-src 'self'; base-uri 'none'; form-action 'self'; "
                            "frame-ancestors 'none'");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "X-Frame-Options", "DENY");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    /* Of this host alone: nothing is known of others in its domain. */
    if (x->http->tls || x->encrypted)
        MHD_add_response_header(response, "Strict-Transport-Security", "max-age=31536000");
    MHD_add_response_header(response, "X-Request-Id", x->id);
}

/* gzip of the bytes; longest: NULL where the result would be longer. */
static char *deflated(const char *bytes, size_t len, size_t longest, size_t *out_len)
{
    z_stream stream = { 0 };
    uLong bound = compressBound((uLong)len) + 32;
    char *out;
    bool done;

    /* 16 + 15: gzip framing; level 1 costs a third of the default for 10 % more bytes. */
    if (deflateInit2(&stream, 1, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    out = pfc_alloc(bound);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)len;
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)bound;
    done = deflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out <= longest;
    *out_len = stream.total_out;
    deflateEnd(&stream);
    if (done)
        return out;
    free(out);
    return NULL;
}

char *httpd_gzip(const char *bytes, size_t len, size_t *out_len)
{
    char *out = len ? deflated(bytes, len, len - 1, out_len) : NULL;

    if (!out)
        *out_len = 0;
    return out;
}

/* Compresses in place; leaves the reply plain when that does not help, unless the client wants none
 * such. */
static void compress_body(pfc_reply *reply, bool must)
{
    size_t len;
    char *out = deflated(reply->body, reply->body_len, must ? SIZE_MAX : reply->body_len - 1, &len);

    if (!out)
        return;
    if (!reply->borrowed)
        free(reply->body);
    reply->body = out;
    reply->body_len = len;
    reply->borrowed = false;
    reply->encoding = "gzip";
}

bool httpd_compressible(const pfc_reply *reply)
{
    return !reply->encoding && reply->content_type &&
           strcmp(reply->content_type, "font/woff2") != 0 &&
           strcmp(reply->content_type, PFC_ARRAYS_TYPE) != 0;
}

void httpd_tag_of(const pfc_reply *reply, char out[HTTPD_TAG_LEN])
{
    char digest[PFC_SHA256_HEX];

    pfc_sha256_hex(reply->body, reply->body_len, digest);
    (void)snprintf(out, HTTPD_TAG_LEN, "W/\"%.32s\"", digest);
}

static void add_cookie(const httpd_exchange *x, struct MHD_Response *response, const char *cookie)
{
    char *text = pfc_format("%s%s", cookie, x->http->tls || x->encrypted ? "; Secure" : "");

    MHD_add_response_header(response, "Set-Cookie", text);
    free(text);
}

static void add_retry(struct MHD_Response *response, double seconds)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%.0f", ceil(PFC_MAX(seconds, 1)));
    MHD_add_response_header(response, "Retry-After", text);
}

/* Answers 304 without a body when the client has this version. Writes the tag of a 200 to `tag`. */
static void answer_if_changed(const httpd_exchange *x, pfc_reply *reply, char tag[HTTPD_TAG_LEN])
{
    const bool safe = strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0;
    const char *cache = reply->cache;

    if (!safe || reply->status != 200 || reply->body_len == 0)
        return;
    if (reply->tag)
        (void)snprintf(tag, HTTPD_TAG_LEN, "%s", reply->tag);
    else
        httpd_tag_of(reply, tag);
    if (!httpd_tag_listed(x->match_text, tag))
        return;
    httpd_reply_clear(reply);
    reply->status = 304;
    reply->cache = cache;
}

static void choose_coding(const httpd_exchange *x, pfc_reply *reply)
{
    const httpd_codings codings = httpd_codings_of(x->accept_text);

    if (codings.br && reply->body_len > 0 && reply->br_body) {
        reply->body = (char *)(uintptr_t)reply->br_body; /* persistent: never written */
        reply->body_len = reply->br_len;
        reply->encoding = "br";
    } else if (codings.gzip && reply->body_len > 0 && reply->gzip_body) {
        reply->body = (char *)(uintptr_t)reply->gzip_body; /* persistent: never written */
        reply->body_len = reply->gzip_len;
        reply->encoding = "gzip";
    } else if (codings.gzip && reply->body_len > (codings.identity ? GZIP_FROM_BYTES : 0) &&
               httpd_compressible(reply)) {
        compress_body(reply, !codings.identity);
    }
}

static void replace_header(struct MHD_Response *response, const char *name, const char *value)
{
    const char *old = MHD_get_response_header(response, name);

    if (old)
        MHD_del_response_header(response, name, old);
    MHD_add_response_header(response, name, value);
}

static void add_headers(const httpd_exchange *x, const pfc_reply *reply, const char *tag,
                        struct MHD_Response *response)
{
    const struct {
        const char *name, *value; /* NULL: left out */
    } headers[] = {
        { "Content-Type", reply->body_len > 0 ? reply->content_type : NULL },
        { "Content-Encoding", reply->encoding },
        { "Vary", "Accept-Encoding, Authorization" },
        { "Cache-Control", reply->cache ? reply->cache : "private, no-cache" },
        { "ETag", tag[0] ? tag : NULL },
        { "Location", reply->location },
        { "Allow", reply->allow[0] ? reply->allow : NULL },
        { "WWW-Authenticate", reply->status == 401 ? "Bearer realm=\"perfci\"" : NULL },
        { "Retry-After", reply->status == 503 ? "1" : NULL },
    };

    httpd_security_headers(response, x);
    if (reply->own_style)
        replace_header(response, "Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'");
    if (reply->for_others)
        replace_header(response, "Cross-Origin-Resource-Policy", "cross-origin");
    for (size_t i = 0; i < PFC_ARRAY_LEN(headers); i++) {
        if (headers[i].value)
            MHD_add_response_header(response, headers[i].name, headers[i].value);
    }
    if (reply->cookie[0])
        add_cookie(x, response, reply->cookie);
    if (reply->status == 429)
        add_retry(response, x->retry_s);
}

static struct MHD_Response *response_of(pfc_reply *reply)
{
    struct MHD_Response *response;

    if (!reply->lender || !reply->borrowed)
        return MHD_create_response_from_buffer(reply->body_len, reply->body,
                                               reply->borrowed ? MHD_RESPMEM_PERSISTENT
                                                               : MHD_RESPMEM_MUST_FREE);
    response = MHD_create_response_from_buffer_with_free_callback_cls(reply->body_len, reply->body,
                                                                      reply->leave, reply->lender);
    if (response)
        reply->lender = NULL; /* reply->leave is called when the last byte is sent */
    return response;
}

enum MHD_Result httpd_reply_send(httpd_exchange *x, pfc_reply *reply, bool close)
{
    struct MHD_Response *response;
    enum MHD_Result sent;
    char tag[HTTPD_TAG_LEN] = "";

    answer_if_changed(x, reply, tag);
    choose_coding(x, reply);
    x->status = reply->status;
    x->sent_bytes = reply->body_len;
    x->run_id = reply->run_id;
    response = response_of(reply);
    if (!response)
        return MHD_NO;
    reply->body = NULL; /* owned by libmicrohttpd from here on */
    reply->borrowed = false;
    add_headers(x, reply, tag, response);
    if (close || x->closing)
        MHD_add_response_header(response, "Connection", "close");
    sent = MHD_queue_response(x->mhd, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    httpd_reply_clear(reply);
    return sent;
}
