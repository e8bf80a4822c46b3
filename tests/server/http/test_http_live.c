/* The daemon in this process, asked over real sockets: framing, bodies, answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/http/internal.h"

#include "tests/check/check.h"
#include "tests/server/http/live.h"

Test(live, answers_with_security_headers_and_a_request_id)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    live_ask(http, "GET /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200));
    cr_assert(ne(ptr, strstr(out, "Content-Security-Policy: default-src 'none';"), NULL));
    cr_assert(ne(ptr, strstr(out, "X-Content-Type-Options: nosniff"), NULL));
    cr_assert(ne(ptr, strstr(out, "X-Request-Id: "), NULL));
    cr_assert(ne(ptr, strstr(out, "Referrer-Policy: no-referrer"), NULL));
    cr_assert(ne(ptr, strstr(out, "{\"len\":0,\"method\":\"GET\"}"), NULL));
    pfc_httpd_free(http);
}

Test(live, unknown_paths_and_methods_are_json)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    live_ask(http, "GET /nothing HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 404));
    cr_assert(ne(ptr, strstr(out, "\"not_found\""), NULL));
    live_ask(http, "DELETE /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 405));
    cr_assert(ne(ptr, strstr(out, "Allow: GET, HEAD, POST, PATCH"), NULL));
    cr_assert(ne(ptr, strstr(out, "\"method_not_allowed\""), NULL));
    live_ask(http, "OPTIONS /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 204));
    live_ask(http, "GET /echo?x=1 HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 400));
    cr_assert(ne(ptr, strstr(out, "\"field\":\"x\""), NULL));
    live_ask(http, "GET / HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200));
    cr_assert(ne(ptr, strstr(out, "text/html"), NULL));
    pfc_httpd_free(http);
}

Test(live, head_answers_the_headers_alone)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    live_ask(http, "HEAD /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200));
    cr_assert(eq(ptr, strstr(out, "\"len\""), NULL));
    pfc_httpd_free(http);
}

/* A short address at the very end of what libmicrohttpd keeps of a connection: nothing past it is
 * read. */
Test(live, an_address_may_stand_far_from_the_beginning)
{
    const size_t far = PFC_HTTPD_POOL_BYTES - 3072; /* the rest of the request takes a little */
    static const char before[] = "GET ", after[] = "/echo HTTP/1.1\r\n" HEAD "\r\n";
    char *request = pfc_alloc(PFC_HTTPD_POOL_BYTES), out[8192];
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);

    memset(request, ' ', far);
    memcpy(request, before, sizeof(before) - 1);
    memcpy(request + far, after, sizeof(after));
    live_ask(http, request, out, sizeof(out));
    /* libmicrohttpd 1.0 takes one blank there and refuses more. */
    cr_assert(eq(int, live_status_of(out), MHD_VERSION < 0x01000000 ? 200 : 400), "%s", out);
    free(request);
    pfc_httpd_free(http);
}

/* Sends one request with this path and header; the status. */
static int ask_with(const pfc_httpd *http, const char *path, const char *header, char *out,
                    size_t cap)
{
    char *request = pfc_format("GET %s HTTP/1.1\r\n" HEAD "%s\r\n", path, header);

    live_ask(http, request, out, cap);
    free(request);
    return live_status_of(out);
}

/* A text of `len` bytes that begins with `before`; caller frees. */
static char *filled(const char *before, size_t len)
{
    char *text = pfc_alloc(len + 1);

    memset(text, 'a', len);
    text[len] = '\0';
    memcpy(text, before, strlen(before));
    return text;
}

Test(live, addresses_headers_and_ids_are_accepted_up_to_their_limits)
{
    static const struct {
        const char *before; /* of a header; NULL: the path is filled */
        size_t limit;       /* bytes of the value */
        int at, over;       /* statuses */
    } cases[] = {
        { NULL, PFC_HTTPD_MAX_URI, 404, 414 },
        { "X-Anything: ", PFC_HTTPD_MAX_HEADER, 200, 400 },
        { "Idempotency-Key: ", 200, 200, 400 },
    };
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[16384];

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        for (size_t more = 0; more < 2; more++) {
            const char *before = cases[i].before;
            char *value = filled(before ? "" : "/", cases[i].limit + more);
            char *header = pfc_format("%s%s\r\n", before ? before : "X: ", before ? value : "x");

            cr_expect(eq(int, ask_with(http, before ? "/echo" : value, header, out, sizeof(out)),
                         more ? cases[i].over : cases[i].at),
                      "case %zu, %zu bytes: %.300s", i, cases[i].limit + more, out);
            free(header);
            free(value);
        }
    }
    pfc_httpd_free(http);
}

/* A longer id is replaced by a random one. */
Test(live, a_request_id_has_at_most_64_bytes)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    for (size_t more = 0; more < 2; more++) {
        char *id = filled("", PFC_HTTPD_MAX_ID + more);
        char *header = pfc_format("X-Request-Id: %s\r\n", id);

        cr_expect(eq(int, ask_with(http, "/echo", header, out, sizeof(out)), 200));
        cr_expect(eq(int, strstr(out, id) != NULL, more == 0), "%s", out);
        free(header);
        free(id);
    }
    pfc_httpd_free(http);
}

Test(live, an_etag_that_matches_saves_the_body)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192], request[512], tag[64] = "";

    live_ask(http, "GET /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(ne(ptr, strstr(out, "ETag: "), NULL));
    (void)snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(strstr(out, "ETag: ") + 6, "\r"),
                   strstr(out, "ETag: ") + 6);
    (void)snprintf(request, sizeof(request),
                   "GET /echo HTTP/1.1\r\n" HEAD "If-None-Match: %s\r\n\r\n", tag);
    live_ask(http, request, out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 304));
    cr_assert(eq(ptr, strstr(out, "\"len\""), NULL));
    pfc_httpd_free(http);
}

Test(live, large_answers_are_compressed_for_those_who_ask)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char *out = pfc_alloc(200000);

    live_ask(http, "GET /large HTTP/1.1\r\n" HEAD "Accept-Encoding: gzip\r\n\r\n", out, 200000);
    cr_assert(ne(ptr, strstr(out, "Content-Encoding: gzip"), NULL));
    live_ask(http, "GET /large HTTP/1.1\r\n" HEAD "\r\n", out, 200000);
    cr_assert(eq(ptr, strstr(out, "Content-Encoding"), NULL));
    cr_assert(ne(ptr, strstr(out, "Content-Length: 100000"), NULL));
    free(out);
    pfc_httpd_free(http);
}

/* Length and chunks together are how a second request is smuggled behind a proxy. */
Test(live, ambiguous_framing_is_refused_and_the_connection_ends)
{
    static const char *const methods[] = { "POST", "PATCH", "GET" };
    static const struct {
        int minor;
        const char *text, *expected;
    } lines[] = {
        { 1, "Content-Length : 39", "before the colon" },
        { 1, "Content-Length\t: 39", "before the colon" },
        { 1, "Content-Length\x0b: 39", "before the colon" },
        { 1, "Transfer-Encoding : chunked", "before the colon" },
        { 1, "Transfer-Encoding: chunked\x0b", "only \\\"chunked\\\"" },
        { 0, "Transfer-Encoding: chunked\r\n\r\n0", "HTTP/1.0 has none" },
    };
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[16384], request[512];

    for (size_t i = 0; i < PFC_ARRAY_LEN(methods); i++) {
        (void)snprintf(request, sizeof(request),
                       "%s /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                       "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
                       methods[i]);
        live_ask(http, request, out, sizeof(out));
        cr_assert(eq(int, live_status_of(out), 400), "%s: %s", methods[i], out);
        cr_assert(eq(ptr, strstr(out + 9, "HTTP/1.1"), NULL), "a second answer: %s", out);
    }
    /* what one hop takes for the body's length, and another for nothing at all */
    for (size_t i = 0; i < PFC_ARRAY_LEN(lines); i++) {
        (void)snprintf(
            request, sizeof(request),
            "POST /echo HTTP/1.%d\r\nHost: localhost\r\nConnection: keep-alive\r\n%s\r\n\r\n"
            "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
            lines[i].minor, lines[i].text);
        live_ask(http, request, out, sizeof(out));
        cr_assert(eq(int, live_status_of(out), 400), "%s: %s", lines[i].text, out);
        /* libmicrohttpd 1.0 refuses most of them itself, in words of its own. */
        if (MHD_VERSION < 0x01000000)
            cr_assert(ne(ptr, strstr(out, lines[i].expected), NULL), "%s: %s", lines[i].text, out);
        cr_assert(eq(ptr, strstr(out + 9, "HTTP/1.1"), NULL), "a second answer: %s", out);
    }
    live_ask(http, "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n",
             out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 400));
    live_ask(http, "GET /echo HTTP/1.1\r\nHost: localhost\r\nHost: y\r\nConnection: close\r\n\r\n",
             out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 400));
    pfc_httpd_free(http);
}

static void post(const pfc_httpd *http, const char *headers, const void *body, size_t len,
                 char *out, size_t cap)
{
    char head[512];
    int fd = live_dial(http);

    (void)snprintf(head, sizeof(head),
                   "POST /echo HTTP/1.1\r\n" HEAD "%sContent-Length: %zu\r\n\r\n", headers, len);
    out[0] = '\0';
    cr_assert(live_put(fd, head, strlen(head)));
    (void)live_put(fd, body, len);
    cr_assert(live_get_until(fd, out, cap, NULL));
    close(fd);
}

Test(live, a_body_over_the_limit_is_413_and_reported)
{
    const size_t len = PFC_HTTPD_MAX_BODY + 1;
    char *body = pfc_alloc(len);
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    memset(body, 'x', len);
    post(http, "", body, len, out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 413));
    cr_assert(ne(ptr, strstr(out, "\"too_large\""), NULL));
    post(http, "", body, len - 1, out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200));
    cr_assert(ne(ptr, strstr(out, "\"len\":16777216"), NULL));
    free(body);
    pfc_httpd_free(http);
}

Test(live, a_gzip_body_is_unpacked_and_a_bomb_is_not)
{
    const size_t plain_len = 64 * 1024 * 1024;
    uLong cap = compressBound(plain_len);
    unsigned char *plain = pfc_alloc(plain_len);
    unsigned char *packed = pfc_alloc(cap);
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    for (int bomb = 0; bomb < 2; bomb++) {
        z_stream z = { 0 };

        deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
        z.next_in = plain;
        z.avail_in = bomb ? plain_len : 5000;
        z.next_out = packed;
        z.avail_out = cap;
        cr_assert(eq(int, deflate(&z, Z_FINISH), Z_STREAM_END));
        post(http, "Content-Encoding: gzip\r\n", packed, z.total_out, out, sizeof(out));
        deflateEnd(&z);
        cr_assert(eq(int, live_status_of(out), bomb ? 413 : 200), "%s", out);
        if (!bomb)
            cr_assert(ne(ptr, strstr(out, "\"len\":5000"), NULL));
    }
    post(http, "Content-Encoding: gzip\r\n", "no gzip", 7, out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 400));
    post(http, "Content-Encoding: br\r\n", "x", 1, out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 415));
    free(plain);
    free(packed);
    pfc_httpd_free(http);
}

/* Drips without end: an inactivity time-out alone would let it live for ever. */
