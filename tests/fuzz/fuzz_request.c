/*
 * A request as it comes from the network, but for libmicrohttpd's own part: the first line's
 * address goes through router, decoder and query, the lines up to an empty one are headers, the
 * rest is the body.
 *
 * Properties: a fault is a 4xx with a sentence; the request's id is valid in a header; a token has
 * no blanks; what is decoded is UTF-8 without control bytes; a body that was taken is at most as
 * large as stated, and what zlib makes of it in small steps; the form of the reply is decided
 * (negotiation).
 */
#include <string.h>
#include <zlib.h>

#include "core/base/parse.h"
#include "server/http/internal.h"

#include "tests/fuzz/fuzz.h"

#define HEADERS_MAX 64
#define BOMB_BYTES  (1u << 20)

typedef struct header {
    char *name, *value;
    size_t value_len;
} header;

static header headers[HEADERS_MAX];
static size_t headers_len;

/* libmicrohttpd's, replaced here: the real one needs a socket. */
int MHD_get_connection_values_n(struct MHD_Connection *mhd, enum MHD_ValueKind kind,
                                MHD_KeyValueIteratorN iterator, void *cls)
{
    (void)mhd;
    for (size_t i = 0; i < headers_len; i++) {
        if (iterator(cls, kind, headers[i].name, strlen(headers[i].name), headers[i].value,
                     headers[i].value_len) != MHD_YES)
            return (int)i + 1;
    }
    return (int)headers_len;
}

const char *MHD_lookup_connection_value(struct MHD_Connection *mhd, enum MHD_ValueKind kind,
                                        const char *key)
{
    (void)mhd;
    (void)kind;
    for (size_t i = 0; i < headers_len; i++) {
        if (strcasecmp(headers[i].name, key) == 0)
            return headers[i].value;
    }
    return NULL;
}

static pfc_code handle(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    (void)app;
    (void)req;
    (void)reply;
    (void)err;
    return PFC_OK;
}

#define LISTED "limit:integer cursor:string q:string a b project:string from: to:"

static const pfc_route routes[] = {
    { .method = "GET", .pattern = "/healthz", .handle = handle, .query = "" },
    { .method = "GET",
      .pattern = "/api/v1/projects/{p}/series",
      .handle = handle,
      .query = LISTED },
    { .method = "POST", .pattern = "/api/v1/projects/{p}/commits", .handle = handle, .query = "" },
    { .method = "GET",
      .pattern = "/api/v1/projects/{p}/commits",
      .handle = handle,
      .query = LISTED },
    { .method = "GET", .pattern = "/api/v1/{a}/{b}/{c}/{d}", .handle = handle, .query = LISTED },
    { .method = "POST", .pattern = "/api/v1/runs", .handle = handle, .query = "" },
    { .method = "GET", .pattern = "/api/v1/runs/{id}", .handle = handle, .query = "" },
};

/* The line that begins at *at, without its end; moves past it. */
static char *take_line(const char **at, const char *end, size_t *len)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    char *line;

    *len = (size_t)((stop ? stop : end) - *at);
    line = pfc_alloc(*len + 1); /* may hold NUL bytes, as values do */
    memcpy(line, *at, *len);
    *at = stop ? stop + 1 : end;
    return line;
}

static void take_headers(const char **at, const char *end)
{
    while (*at < end && headers_len < HEADERS_MAX) {
        size_t len, name_len;
        char *line = take_line(at, end, &len);

        name_len = strcspn(line, ":");
        if (len == 0) {
            free(line);
            return;
        }
        if (name_len < len) {
            const size_t blank = line[name_len + 1] == ' ';

            line[name_len] = '\0';
            headers[headers_len] = (header){ .name = line,
                                             .value = line + name_len + 1 + blank,
                                             .value_len = len - name_len - 1 - blank };
            headers_len++;
        } else {
            free(line);
        }
    }
}

static void check_text(const char *text)
{
    FUZZ_CHECK(pfc_is_utf8(text, strlen(text)));
    for (; *text; text++)
        FUZZ_CHECK((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_address(const char *uri)
{
    static pfc_req req;
    char *storage = pfc_alloc(2 * strlen(uri) + 256); /* as exchange.c does */
    size_t path_len = strcspn(uri, "?");
    pfc_err err = { 0 };
    httpd_routed found;

    memset(&req, 0, sizeof(req));
    req.method = "GET";
    found = httpd_route(routes, PFC_ARRAY_LEN(routes), uri, path_len, storage, &req);
    FUZZ_CHECK(strlen(found.allow) < sizeof(found.allow) && found.used <= 2 * strlen(uri) + 256);
    FUZZ_CHECK((found.match == HTTPD_NO_METHOD) == (found.allow[0] != '\0') ||
               found.match == HTTPD_MATCH || found.match == HTTPD_BAD_PATH);
    if (found.match == HTTPD_MATCH) {
        FUZZ_CHECK(req.route >= routes && req.route < routes + PFC_ARRAY_LEN(routes));
        for (size_t i = 0; i < req.params_len; i++)
            check_text(pfc_req_param(&req, req.params[i].name));
        if (uri[path_len] && httpd_query_parse(uri + path_len + 1, req.route->query,
                                               storage + found.used, &req, &err))
            FUZZ_CHECK(err.msg[0] != '\0');
        else
            for (size_t i = 0; i < req.query_len; i++)
                check_text(req.query[i].value);
    }
    free(storage);
}

/* In steps of another size than the server's. */
static void check_gunzipped(const char *packed, size_t packed_len, const char *text, size_t len)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)packed_len };
    unsigned char piece[61];
    size_t at = 0;
    int state = Z_OK;

    FUZZ_CHECK(inflateInit2(&stream, 16 + 15) == Z_OK);
    while (state == Z_OK) {
        size_t n;

        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        state = inflate(&stream, Z_SYNC_FLUSH);
        n = sizeof(piece) - stream.avail_out;
        FUZZ_CHECK(at + n <= len && memcmp(text + at, piece, n) == 0);
        at += n;
    }
    FUZZ_CHECK(state == Z_STREAM_END && at == len && stream.avail_in == 0);
    inflateEnd(&stream);
}

static void check_body(httpd_exchange *x, const char *data, size_t len)
{
    static pfc_req req;
    const bool packed = x->body_gzip && len > 0, refused = x->fault_status != 0;
    pfc_err err = { 0 };
    pfc_code code;

    httpd_request_data(x, data, len / 2);
    httpd_request_data(x, data + len / 2, len - len / 2);
    FUZZ_CHECK(x->over == refused);
    if (refused) { /* by its headers: nothing of it is kept */
        FUZZ_CHECK(x->body.len == 0 && x->held == 0 && x->dropped == len);
        return;
    }
    FUZZ_CHECK(x->held == len && atomic_load(&x->http->bodies) == len);
    code = httpd_request_body(x, &req, &err);
    if (code) {
        FUZZ_CHECK((code == PFC_EINVAL || code == PFC_ETOOBIG) && packed && err.msg[0]);
        return;
    }
    FUZZ_CHECK(req.body_len <= PFC_HTTPD_MAX_BODY && req.body[req.body_len] == '\0');
    if (!packed) {
        FUZZ_CHECK(req.body_len == len && memcmp(req.body, data, len) == 0);
        return;
    }
    FUZZ_CHECK(req.body_len <= BOMB_BYTES || req.body_len / 100 <= len);
    check_gunzipped(data, len, req.body, req.body_len);
}

static void check_headers(httpd_exchange *x)
{
    const int status = httpd_request_headers(x);
    const char *token = httpd_bearer(x->auth_text);
    const char *forwarded = MHD_lookup_connection_value(NULL, MHD_HEADER_KIND, "X-Forwarded-For");
    pfc_nets trusted = { 0 };
    pfc_address from;

    FUZZ_CHECK(status == 0 || status / 100 == 4);
    FUZZ_CHECK(x->fault_status == 0 || x->fault_status / 100 == 4);
    FUZZ_CHECK((x->fault_status != 0) == (x->fault.msg[0] != '\0'));
    FUZZ_CHECK(x->id[0] && strlen(x->id) <= PFC_HTTPD_MAX_ID && !strpbrk(x->id, " \t\"\\,;<>"));
    check_text(x->id);
    FUZZ_CHECK(!token || (token[0] && strlen(token) <= 256 && !strpbrk(token, " \t,")));
    if (x->key_text && !x->fault_status)
        check_text(x->key_text);
    FUZZ_CHECK(!httpd_tag_listed(NULL, "W/\"0\""));
    (void)httpd_tag_listed(x->match_text, "W/\"00112233\"");
    (void)httpd_request_length(x);
    /* Nobody is trusted: the last address alone can be the answer. */
    if (forwarded && httpd_forwarded_for(forwarded, &trusted, &from))
        FUZZ_CHECK(forwarded[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    static pfc_httpd http;
    static httpd_conn conn;
    httpd_exchange *x = pfc_alloc(sizeof(*x));
    size_t len;
    char *uri = take_line(&at, end, &len);

    headers_len = 0;
    http.opts.bodies_bytes = PFC_HTTPD_MAX_BODY;
    x->http = &http;
    x->conn = &conn;
    x->chunks = true;
    memcpy(x->id, "0", 2);
    pfc_buf_init(&x->body, PFC_HTTPD_MAX_BODY);
    take_headers(&at, end);
    check_address(uri);
    check_headers(x);
    check_body(x, at, (size_t)(end - at));
    for (size_t i = 0; i < headers_len; i++)
        free(headers[i].name);
    httpd_request_release(x);
    httpd_request_forget(x);
    FUZZ_CHECK(atomic_load(&http.bodies) == 0);
    free(x);
    free(uri);
    return 0;
}
