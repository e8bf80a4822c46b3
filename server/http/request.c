/* A request's headers and body: what libmicrohttpd lets through and we do not. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "core/base/parse.h"
#include "server/http/internal.h"

#define MAX_KEY    200 /* bytes of an Idempotency-Key */
/* Run documents compress by a factor of 3 to 30, DEFLATE by at most 1,032. Small bodies are not
 * checked. */
#define BOMB_BYTES (1024u * 1024)
#define BOMB_RATIO 100

/* The result of one pass over the headers. */
typedef struct headers {
    httpd_exchange *x;
    size_t hosts;
    const char *host;
    size_t lengths;
    size_t encodings; /* Transfer-Encoding */
    size_t tokens;    /* Authorization */
    size_t keys;      /* Idempotency-Key */
    bool bad_name;
    bool bad_encoding;
    bool control_bytes;
    bool bad_length;
    uint64_t length;
    size_t content_encodings;
    const char *content_encoding;
    const char *origin, *fetch_site;      /* of browsers; NULL: none */
    const char *request_id, *traceparent; /* NULL: none */
} headers;

static bool clean(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)value[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* No blanks, no control bytes (RFC 9110, 5.1). libmicrohttpd reads "Content-Length : 4" as a header
 * of another name. A proxy may read it as Content-Length, and then the body would be a second
 * request (request smuggling). */
static bool is_name(const char *name)
{
    const char *at = name;

    while (*at > 0x20 && *at < 0x7f)
        at++;
    return at > name && !*at;
}

/* libmicrohttpd 0.9.75 appends a folded line ("Content-Length:\r\n 38") to the header name, and
 * sees no body, where a proxy sees one. No header in use has a name that continues one of these. */
static bool is_folded(const char *name)
{
    static const char *const framing[] = { "Content-Length", "Transfer-Encoding", "Host" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(framing); i++) {
        const size_t len = strlen(framing[i]);

        if (strncasecmp(name, framing[i], len) == 0 && name[len])
            return true;
    }
    return false;
}

static void keep(char **slot, const char *value)
{
    free(*slot);
    *slot = pfc_strdup(value);
}

/* A header that may come in several lines is one list. */
static void keep_list(char **slot, const char *value)
{
    char *joined = *slot ? pfc_format("%s, %s", *slot, value) : pfc_strdup(value);

    free(*slot);
    *slot = joined;
}

/* The value of our cookie out of "a=1; pfc_session=...; b=2". */
static void keep_session(httpd_exchange *x, const char *value)
{
    static const char name[] = PFC_HTTPD_COOKIE "=";

    while (*value) {
        size_t len;

        value += strspn(value, " ");
        len = strcspn(value, ";");
        if (strncmp(value, name, sizeof(name) - 1) == 0 && !x->cookie_text)
            x->cookie_text = pfc_strndup(value + sizeof(name) - 1, len - (sizeof(name) - 1));
        value += len;
        value += *value == ';';
    }
}

/* Ids go into headers and logs as they are, so they hold what needs no quoting anywhere. */
static bool is_request_id(const char *text)
{
    const size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789-._");

    return len > 0 && len <= PFC_HTTPD_MAX_ID && text[len] == '\0';
}

/* W3C Trace Context: version "-" trace (32) "-" parent (16) "-" flags (2), lower-case hexadecimal
 * digits; a trace of zeros is none, and so is version ff. */
static bool is_traceparent(const char *text)
{
    static const char form[] = "00-00000000000000000000000000000000-0000000000000000-00";

    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        if (form[i] == '-' ? text[i] != '-' : !text[i] || !strchr("0123456789abcdef", text[i]))
            return false;
    }
    return strncmp(text, "ff", 2) != 0 && strspn(text + 3, "0") < 32 &&
           strspn(text + 36, "0") < 16 &&
           (text[sizeof(form) - 1] == '\0' ||
            (text[sizeof(form) - 1] == '-' && strncmp(text, "00", 2) != 0));
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 size_t name_size, const char *value, size_t value_size)
{
    headers *h = cls;
    int64_t length = 0;

    (void)kind;
    (void)name_size;
    if (!value)
        value = "";
    if (!is_name(name) || is_folded(name)) {
        h->bad_name = true;
    } else if (value_size > PFC_HTTPD_MAX_HEADER || !clean(value, value_size)) {
        h->control_bytes = true;
        h->bad_length = h->bad_length || strcasecmp(name, "Content-Length") == 0;
        h->bad_encoding = h->bad_encoding || strcasecmp(name, "Transfer-Encoding") == 0;
    } else if (strcasecmp(name, "Host") == 0) {
        h->hosts++;
        h->host = value;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        h->lengths++;
        if (pfc_parse_i64(value, 0, INT64_MAX, name, &length, NULL))
            h->bad_length = true;
        h->length = (uint64_t)length;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        h->encodings++;
        h->bad_encoding = h->bad_encoding || strcasecmp(value, "chunked") != 0;
    } else if (strcasecmp(name, "Content-Encoding") == 0) {
        h->content_encodings++;
        h->content_encoding = value;
    } else if (strcasecmp(name, "Authorization") == 0) {
        h->tokens++;
        keep(&h->x->auth_text, value);
    } else if (strcasecmp(name, "Cookie") == 0) {
        keep_session(h->x, value);
    } else if (strcasecmp(name, "X-Forwarded-Proto") == 0) {
        h->x->encrypted = h->x->conn && strcasecmp(value, "https") == 0 &&
                          pfc_nets_hold(&h->x->http->trusted, &h->x->conn->peer);
    } else if (strcasecmp(name, "X-Forwarded-For") == 0) {
        /* A proxy may add a line of its own below what its client made up. */
        keep_list(&h->x->proxy_text, value);
    } else if (strcasecmp(name, "Sec-Fetch-Site") == 0) {
        h->fetch_site = h->fetch_site ? "" : value;
    } else if (strcasecmp(name, "Origin") == 0) {
        h->origin = h->origin ? "" : value; /* two of them: neither */
    } else if (strcasecmp(name, "Idempotency-Key") == 0) {
        h->keys++;
        keep(&h->x->key_text, value);
    } else if (strcasecmp(name, "If-None-Match") == 0) {
        keep_list(&h->x->match_text, value);
    } else if (strcasecmp(name, "Accept") == 0) {
        keep_list(&h->x->types_text, value);
    } else if (strcasecmp(name, "X-Request-Id") == 0) {
        h->request_id = h->request_id ? "" : value; /* two of them: neither */
    } else if (strcasecmp(name, "traceparent") == 0) {
        h->traceparent = h->traceparent ? "" : value;
    } else if (strcasecmp(name, "Accept-Encoding") == 0) {
        keep_list(&h->x->accept_text, value);
    }
    return MHD_YES;
}

/* Stored as text and shown in logs. */
static bool is_key(const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e)
            return false;
    }
    return len >= 1 && len <= MAX_KEY;
}

/* Keeps the first fault. It is answered after the body was read: a client that is still sending
 * does not read. After a 400 or 421 of the headers the connection is closed, because a proxy in
 * front of the server may see another end of this request, and what follows may not be a request of
 * the same client. */
static void fault(httpd_exchange *x, int status, const char *message)
{
    x->closing = x->closing || status == 400 || status == 421;
    if (x->fault_status)
        return;
    x->fault_status = status;
    (void)pfc_err_set(&x->fault, status == 503 ? PFC_EUNAVAIL : PFC_EINVAL, "%s", message);
}

/* Takes the request id that the client sent. A malformed id does not fail the request, which keeps
 * its random id then. */
static void take_id(httpd_exchange *x, const headers *h)
{
    if (h->request_id && is_request_id(h->request_id)) {
        memcpy(x->id, h->request_id, strlen(h->request_id) + 1);
    } else if (h->traceparent && is_traceparent(h->traceparent)) {
        memcpy(x->id, h->traceparent + 3, 32);
        x->id[32] = '\0';
    }
}

/* Of the client: the peer, or the address that a trusted proxy forwards for. */
static void take_address(httpd_exchange *x)
{
    pfc_address peer;

    if (!x->conn)
        return;
    peer = x->conn->peer;
    if (pfc_nets_hold(&x->http->trusted, &peer) &&
        !httpd_forwarded_for(x->proxy_text, &x->http->trusted, &peer))
        peer = x->conn->peer; /* a failed attempt may have changed it */
    pfc_address_text(&peer, x->address);
}

int httpd_request_headers(httpd_exchange *x)
{
    headers h = { .x = x };
    httpd_codings codings;

    MHD_get_connection_values_n(x->mhd, MHD_HEADER_KIND, on_header, &h);
    take_id(x, &h);
    x->cross_site = h.fetch_site && strcasecmp(h.fetch_site, "cross-site") == 0;
    x->own_page = httpd_is_own_page(h.fetch_site, h.origin, h.host);
    take_address(x);
    codings = httpd_codings_of(x->accept_text);
    x->declared = h.length;
    x->chunked = h.encodings > 0;
    /* Ends of lines in chunks are read more freely by libmicrohttpd than by others. */
    x->closing = x->chunked;
    if (h.bad_name) {
        fault(x, 400,
              "a header's name is none; expected NAME: VALUE on one line, without a blank before "
              "the colon");
        return 400;
    }
    /* Before 1.1 there were no chunks, and a hop of that age sees none (RFC 9112, 6.1). */
    if (h.encodings && !x->chunks) {
        fault(x, 400, "Transfer-Encoding: HTTP/1.0 has none");
        return 400;
    }
    if (h.bad_encoding) {
        /* 400 as RFC 9112 6.3 wants it where chunked does not come last: the length is unknowable.
         */
        fault(x, 400, "Transfer-Encoding: only \"chunked\" is understood");
        return 400;
    }
    if ((h.encodings && h.lengths) || h.encodings > 1 || h.lengths > 1 || h.bad_length) {
        fault(x, 400, "expected one Content-Length or one Transfer-Encoding, not both");
        return 400;
    }
    if (h.control_bytes)
        fault(x, 400, "a header holds control bytes or is over its limit");
    if (h.hosts > 1)
        fault(x, 400, "expected one Host header");
    if (h.hosts == 1 && !(x->conn && (x->conn->ops || x->conn->health)) &&
        !httpd_hosts_hold(&x->http->hosts, h.host))
        fault(x, 421,
              "Host: this name is not known here; expected localhost, an address, or a name of "
              "--public-url or --hosts");
    if (h.tokens > 1)
        fault(x, 400, "expected one Authorization header");
    if (h.keys > 1)
        fault(x, 400, "expected one Idempotency-Key header");
    if (x->key_text && !is_key(x->key_text))
        fault(x, 400, "Idempotency-Key: expected 1 to 200 printable ASCII characters");
    if (h.content_encodings > 1)
        fault(x, 415, "Content-Encoding: expected gzip, once, or none");
    if (h.content_encoding && strcasecmp(h.content_encoding, "gzip") == 0)
        x->body_gzip = true;
    else if (h.content_encoding && strcasecmp(h.content_encoding, "identity") != 0)
        fault(x, 415, "Content-Encoding: expected gzip or none");
    /* Before anything is done: a change whose answer cannot be sent would have been made all the
     * same. */
    if (!codings.gzip && !codings.identity)
        fault(x, 406, "Accept-Encoding: expected gzip or identity to be acceptable");
    if (h.length > PFC_HTTPD_DRAIN_BYTES) {
        fault(x, 413, "the body is over 16 MiB");
        return 413;
    }
    return 0;
}

bool httpd_request_chunked(httpd_exchange *x)
{
    return MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, "Transfer-Encoding") != NULL;
}

void httpd_request_refuse(httpd_exchange *x, int status, const pfc_err *err)
{
    x->over = true;
    if (x->fault_status)
        return;
    x->fault_status = status ? status : httpd_status_of(err->code);
    x->fault = *err;
}

void httpd_request_release(httpd_exchange *x)
{
    atomic_fetch_sub(&x->http->bodies, x->held);
    x->held = 0;
    pfc_buf_clear(&x->body);
}

void httpd_request_forget(httpd_exchange *x)
{
    char **const texts[] = { &x->auth_text,  &x->cookie_text, &x->key_text,  &x->match_text,
                             &x->types_text, &x->accept_text, &x->proxy_text };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
}

/* Where headers were folded or the like, libmicrohttpd may take another length than it shows. */
void httpd_request_ends(httpd_exchange *x)
{
    if (!x->chunked && x->declared != x->received)
        fault(x, 400, "the body is not as long as Content-Length says");
}

uint64_t httpd_request_length(httpd_exchange *x)
{
    const char *value = MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, "Content-Length");
    int64_t length = 0;

    if (!value || pfc_parse_i64(value, 0, INT64_MAX, "Content-Length", &length, NULL))
        return 0;
    return (uint64_t)length;
}

#define TOO_MANY_BODIES "too many large requests at once: try again later"

/* Counts the body as it is now; false: with it, all of them together are too many. */
static bool hold(httpd_exchange *x)
{
    const size_t more = x->body.len - x->held; /* modulo its range: gunzip may also make it less */

    x->held = x->body.len;
    return atomic_fetch_add(&x->http->bodies, more) + more <= x->http->opts.bodies_bytes;
}

void httpd_request_data(httpd_exchange *x, const char *data, size_t len)
{
    if (!x->over) {
        pfc_buf_append(&x->body, data, len);
        if (!hold(x))
            fault(x, 503, TOO_MANY_BODIES);
        if (x->body.overflow)
            fault(x, 413, "the body is over 16 MiB");
        /* Whatever the fault is, no handler will see it. */
        if (x->fault_status) {
            x->over = true;
            httpd_request_release(x);
        }
    }
    if (x->over)
        x->dropped += len;
}

/* Output is bounded like a plain body, and by what text can shrink to: a bomb costs what it took to
 * send. */
static pfc_code gunzip(pfc_buf *body, pfc_err *err)
{
    z_stream stream = { 0 };
    pfc_buf out;
    char chunk[16384];
    int state;
    pfc_code code = PFC_OK;

    pfc_buf_init(&out, PFC_HTTPD_MAX_BODY);
    if (inflateInit2(&stream, 16 + 15) != Z_OK)
        return pfc_err_set(err, PFC_EBUG, "gunzip: zlib does not start");
    stream.next_in = (Bytef *)body->data;
    stream.avail_in = (uInt)body->len;
    do {
        stream.next_out = (Bytef *)chunk;
        stream.avail_out = sizeof(chunk);
        state = inflate(&stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END) {
            code = pfc_err_set(err, PFC_EINVAL, "the body is no complete gzip stream");
            break;
        }
        pfc_buf_append(&out, chunk, sizeof(chunk) - stream.avail_out);
        if (out.overflow) {
            code = pfc_err_set(err, PFC_ETOOBIG, "the body is over 16 MiB after gunzip");
            break;
        }
        if (out.len > BOMB_BYTES && out.len / BOMB_RATIO > body->len) {
            code = pfc_err_set(err, PFC_ETOOBIG,
                               "the body is over %d times as large after gunzip: send it without",
                               BOMB_RATIO);
            break;
        }
    } while (state != Z_STREAM_END);
    if (!code && stream.avail_in > 0)
        code = pfc_err_set(err, PFC_EINVAL, "bytes follow the body's gzip stream");
    inflateEnd(&stream);
    if (code) {
        pfc_buf_clear(&out);
        return code;
    }
    pfc_buf_clear(body);
    *body = out;
    return PFC_OK;
}

pfc_code httpd_request_body(httpd_exchange *x, pfc_req *req, pfc_err *err)
{
    pfc_code code;

    if (x->body_gzip && x->body.len > 0) {
        code = gunzip(&x->body, err);
        if (code)
            return code;
        x->body_gzip = false;
        if (!hold(x))
            return pfc_err_set(err, PFC_EUNAVAIL, TOO_MANY_BODIES);
    }
    req->body = pfc_buf_text(&x->body);
    req->body_len = x->body.len;
    return PFC_OK;
}

const char *pfc_req_header(const pfc_req *req, const char *name)
{
    struct MHD_Connection *mhd = req->headers;

    return mhd ? MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, name) : NULL;
}
