/* The daemon in this process, asked over real sockets: framing, limits, waits, streams, stopping. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/http/http.h"

#define DEADLINE_S 240

struct pfc_app {
    atomic_int calls;     /* of the waiting handler */
    atomic_bool has_news; /* what it waits for */
};

/* ---- a little server ---- */

static pfc_code echo(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    (void)app;
    return pfc_reply_json(
        reply, 200,
        json_pack("{s:I, s:s}", "len", (json_int_t)req->body_len, "method", req->method), err);
}

static pfc_code large(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    char *text = pfc_alloc(100001);

    (void)app;
    (void)req;
    (void)err;
    memset(text, 'x', 100000);
    return pfc_reply_text(reply, 200, "text/plain", text);
}

static pfc_code waits(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    atomic_fetch_add(&app->calls, 1);
    if (atomic_load(&app->has_news))
        return pfc_reply_json(reply, 200, json_pack("{s:b}", "news", 1), err);
    if (req->stopping)
        return pfc_reply_empty(reply);
    return pfc_reply_wait(reply, "job", 30);
}

/* Its wait is over at once: the deadline, not news, ends it. */
static pfc_code waits_briefly(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    (void)app;
    (void)err;
    if (req->waited_s >= 0.05 || req->stopping)
        return pfc_reply_empty(reply);
    return pfc_reply_wait(reply, "job", 0.05);
}

static pfc_code events(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    (void)app;
    (void)req;
    (void)err;
    return pfc_reply_events(reply, "mine");
}

static const pfc_route table[] = {
    { "GET", "/echo", PFC_HTTPD_OPEN, echo, NULL, NULL, "", "200" },
    { "POST", "/echo", PFC_HTTPD_OPEN, echo, NULL, NULL, "", "200" },
    { "PATCH", "/echo", PFC_HTTPD_OPEN, echo, NULL, NULL, "", "200" },
    { "GET", "/large", PFC_HTTPD_OPEN, large, NULL, NULL, "", "200" },
    { "GET", "/waits", PFC_HTTPD_OPEN, waits, NULL, NULL, "", "200" },
    { "GET", "/brief", PFC_HTTPD_OPEN, waits_briefly, NULL, NULL, "", "204" },
    { "GET", "/events", PFC_HTTPD_OPEN, events, NULL, NULL, "", "200" },
};

static pfc_httpd *start_with(pfc_app *app, double request_timeout_s)
{
    const pfc_httpd_opts opts = {
        .listen = "127.0.0.1:0",
        .threads = 2,
        .request_timeout_s = request_timeout_s,
        .routes = table,
        .routes_len = PFC_ARRAY_LEN(table),
        .app = app,
    };
    pfc_httpd *http = NULL;
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    return http;
}

static pfc_httpd *start(pfc_app *app)
{
    return start_with(app, 60);
}

/* ---- a little client ---- */

static int dial(const pfc_httpd *http)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons((uint16_t)atoi(strrchr(pfc_httpd_url(http), ':') + 1));
    cr_assert(eq(int, connect(fd, (struct sockaddr *)&to, sizeof(to)), 0));
    return fd;
}

static bool put(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* Reads on until `until` is in the text or the other side ends; false at the deadline. */
static bool get_until(int fd, char *out, size_t cap, const char *until)
{
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * PFC_NS_PER_S;
    size_t len = strlen(out);

    while (!until || !strstr(out, until)) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        ssize_t n;

        if (pfc_clock_ns() > end_ns)
            return false;
        if (poll(&p, 1, 200) <= 0)
            continue;
        n = recv(fd, out + len, cap - len - 1, 0);
        if (n <= 0)
            return until == NULL;
        len += (size_t)n;
        out[len] = '\0';
    }
    return true;
}

/* One request, the connection ended by the server or by `Connection: close`; the whole answer. */
static void ask(const pfc_httpd *http, const char *request, char *out, size_t cap)
{
    int fd = dial(http);

    out[0] = '\0';
    (void)put(fd, request, strlen(request));
    cr_assert(get_until(fd, out, cap, NULL));
    close(fd);
}

static int status_of(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : -1;
}

#define HEAD "Host: x\r\nConnection: close\r\n"

Test(live, answers_with_security_headers_and_a_request_id)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192];

    ask(http, "GET /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 200));
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
    pfc_httpd *http = start(&app);
    char out[8192];

    ask(http, "GET /nothing HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 404));
    cr_assert(ne(ptr, strstr(out, "\"not_found\""), NULL));
    ask(http, "DELETE /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 405));
    cr_assert(ne(ptr, strstr(out, "Allow: GET, HEAD, POST, PATCH"), NULL));
    cr_assert(ne(ptr, strstr(out, "\"method_not_allowed\""), NULL));
    ask(http, "OPTIONS /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 204));
    ask(http, "GET /echo?x=1 HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 400));
    cr_assert(ne(ptr, strstr(out, "\"field\":\"x\""), NULL));
    ask(http, "GET / HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 200));
    cr_assert(ne(ptr, strstr(out, "text/html"), NULL));
    pfc_httpd_free(http);
}

Test(live, head_answers_the_headers_alone)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192];

    ask(http, "HEAD /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 200));
    cr_assert(eq(ptr, strstr(out, "\"len\""), NULL));
    pfc_httpd_free(http);
}

Test(live, an_etag_that_matches_saves_the_body)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192], request[512], tag[64] = "";

    ask(http, "GET /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(ne(ptr, strstr(out, "ETag: "), NULL));
    (void)snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(strstr(out, "ETag: ") + 6, "\r"),
                   strstr(out, "ETag: ") + 6);
    (void)snprintf(request, sizeof(request),
                   "GET /echo HTTP/1.1\r\n" HEAD "If-None-Match: %s\r\n\r\n", tag);
    ask(http, request, out, sizeof(out));
    cr_assert(eq(int, status_of(out), 304));
    cr_assert(eq(ptr, strstr(out, "\"len\""), NULL));
    pfc_httpd_free(http);
}

Test(live, large_answers_are_compressed_for_those_who_ask)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char *out = pfc_alloc(200000);

    ask(http, "GET /large HTTP/1.1\r\n" HEAD "Accept-Encoding: gzip\r\n\r\n", out, 200000);
    cr_assert(ne(ptr, strstr(out, "Content-Encoding: gzip"), NULL));
    ask(http, "GET /large HTTP/1.1\r\n" HEAD "\r\n", out, 200000);
    cr_assert(eq(ptr, strstr(out, "Content-Encoding"), NULL));
    cr_assert(ne(ptr, strstr(out, "Content-Length: 100000"), NULL));
    free(out);
    pfc_httpd_free(http);
}

/* Length and chunks together are how a second request is smuggled behind a proxy. */
Test(live, ambiguous_framing_is_refused_and_the_connection_ends)
{
    static const char *const methods[] = { "POST", "PATCH", "GET" };
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[16384], request[512];

    for (size_t i = 0; i < PFC_ARRAY_LEN(methods); i++) {
        (void)snprintf(request, sizeof(request),
                       "%s /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                       "GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
                       methods[i]);
        ask(http, request, out, sizeof(out));
        cr_assert(eq(int, status_of(out), 400), "%s: %s", methods[i], out);
        cr_assert(eq(ptr, strstr(out + 9, "HTTP/1.1"), NULL), "a second answer: %s", out);
    }
    ask(http, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", out,
        sizeof(out));
    cr_assert(eq(int, status_of(out), 400));
    ask(http, "GET /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n", out,
        sizeof(out));
    cr_assert(eq(int, status_of(out), 400));
    pfc_httpd_free(http);
}

static void post(const pfc_httpd *http, const char *headers, const void *body, size_t len,
                 char *out, size_t cap)
{
    char head[512];
    int fd = dial(http);

    (void)snprintf(head, sizeof(head),
                   "POST /echo HTTP/1.1\r\n" HEAD "%sContent-Length: %zu\r\n\r\n", headers, len);
    out[0] = '\0';
    cr_assert(put(fd, head, strlen(head)));
    (void)put(fd, body, len);
    cr_assert(get_until(fd, out, cap, NULL));
    close(fd);
}

Test(live, a_body_over_the_limit_is_413_and_told)
{
    const size_t len = PFC_HTTPD_MAX_BODY + 1;
    char *body = pfc_alloc(len);
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192];

    memset(body, 'x', len);
    post(http, "", body, len, out, sizeof(out));
    cr_assert(eq(int, status_of(out), 413));
    cr_assert(ne(ptr, strstr(out, "\"too_large\""), NULL));
    post(http, "", body, len - 1, out, sizeof(out));
    cr_assert(eq(int, status_of(out), 200));
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
    pfc_httpd *http = start(&app);
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
        cr_assert(eq(int, status_of(out), bomb ? 413 : 200), "%s", out);
        if (!bomb)
            cr_assert(ne(ptr, strstr(out, "\"len\":5000"), NULL));
    }
    post(http, "Content-Encoding: gzip\r\n", "no gzip", 7, out, sizeof(out));
    cr_assert(eq(int, status_of(out), 400));
    post(http, "Content-Encoding: br\r\n", "x", 1, out, sizeof(out));
    cr_assert(eq(int, status_of(out), 415));
    free(plain);
    free(packed);
    pfc_httpd_free(http);
}

/* Drips without end: an inactivity time-out alone would let it live for ever. */
Test(live, a_request_that_is_not_complete_in_time_is_ended)
{
    static const char *const starts[] = {
        "GET /ec", "GET /echo HTTP/1.1\r\nHost: x\r\nX-Drip: ",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    };
    pfc_app app = { 0 };
    pfc_httpd *http = start_with(&app, 0.5);

    for (size_t i = 0; i < PFC_ARRAY_LEN(starts); i++) {
        int64_t end_ns = pfc_clock_ns() + DEADLINE_S * PFC_NS_PER_S;
        int fd = dial(http);
        bool ended = false;

        cr_assert(put(fd, starts[i], strlen(starts[i])));
        while (!ended && pfc_clock_ns() < end_ns) {
            struct pollfd p = { .fd = fd, .events = POLLIN };
            char byte;

            if (poll(&p, 1, 20) > 0)
                ended = recv(fd, &byte, 1, 0) <= 0;
            if (!ended)
                (void)put(fd, "a", 1);
        }
        cr_assert(ended, "still open: %s", starts[i]);
        close(fd);
    }
    pfc_httpd_free(http);
}

/* ---- waiting ---- */

static void until_waiting(const pfc_httpd *http, const char *line)
{
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * PFC_NS_PER_S;
    bool found = false;

    while (!found && pfc_clock_ns() < end_ns) {
        pfc_buf out;

        pfc_buf_init(&out, 1 << 20);
        pfc_httpd_metrics((pfc_httpd *)(uintptr_t)http, &out);
        found = strstr(pfc_buf_text(&out), line);
        pfc_buf_clear(&out);
        if (!found)
            pfc_clock_sleep_ns(PFC_NS_PER_MS);
    }
    cr_assert(found, "never: %s", line);
}

Test(live, a_waiting_request_is_answered_by_news)
{
    static const char request[] = "GET /waits HTTP/1.1\r\n" HEAD "\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192] = "";
    int fd = dial(http);

    cr_assert(put(fd, request, strlen(request)));
    until_waiting(http, "perfci_http_waiting 1\n");
    atomic_store(&app.has_news, true);
    pfc_httpd_publish(http, "job", "", NULL);
    cr_assert(get_until(fd, out, sizeof(out), NULL));
    cr_assert(eq(int, status_of(out), 200));
    cr_assert(ne(ptr, strstr(out, "\"news\":true"), NULL));
    cr_assert(ge(int, atomic_load(&app.calls), 2));
    close(fd);
    pfc_httpd_free(http);
}

Test(live, a_wait_ends_at_its_deadline)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192];

    ask(http, "GET /brief HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 204));
    pfc_httpd_free(http);
}

/* libmicrohttpd aborts when it is stopped with a suspended connection. */
Test(live, stopping_answers_those_who_wait_and_ends_streams)
{
    static const char request[] = "GET /waits HTTP/1.1\r\n" HEAD "\r\n";
    static const char stream[] = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192] = "";
    int fds[20];

    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        fds[i] = dial(http);
        cr_assert(i % 2 ? put(fds[i], stream, strlen(stream))
                        : put(fds[i], request, strlen(request)));
    }
    until_waiting(http, "perfci_http_waiting 10\n");
    until_waiting(http, "perfci_http_streams 10\n");
    pfc_httpd_stop(http, DEADLINE_S);
    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        out[0] = '\0';
        cr_assert(get_until(fds[i], out, sizeof(out), NULL));
        cr_assert(eq(int, status_of(out), i % 2 ? 200 : 204), "%zu: %s", i, out);
        close(fds[i]);
    }
    pfc_httpd_free(http);
}

Test(live, a_stream_gets_the_events_of_its_project_and_no_others)
{
    static const char request[] = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[16384] = "";
    int fd = dial(http);

    cr_assert(put(fd, request, strlen(request)));
    cr_assert(get_until(fd, out, sizeof(out), ": open"));
    pfc_httpd_publish(http, "run", "other", "{\"id\":1}");
    pfc_httpd_publish(http, "run", "mine", "{\"id\":2}");
    pfc_httpd_publish(http, "alert", "", "{\"id\":3}");
    cr_assert(get_until(fd, out, sizeof(out), "{\"id\":3}"));
    cr_assert(ne(ptr, strstr(out, "text/event-stream"), NULL));
    cr_assert(ne(ptr, strstr(out, "event: run\ndata: {\"id\":2}\n\n"), NULL));
    cr_assert(ne(ptr, strstr(out, "event: alert\n"), NULL));
    cr_assert(eq(ptr, strstr(out, "{\"id\":1}"), NULL));
    close(fd);
    pfc_httpd_free(http);
}

/* A HEAD of a stream has no body that could ever be written: it must end all the same. */
Test(live, head_of_a_stream_ends)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app);
    char out[8192];

    ask(http, "HEAD /events HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, status_of(out), 200));
    cr_assert(eq(ptr, strstr(out, ": open"), NULL));
    until_waiting(http, "perfci_http_streams 0\n");
    pfc_httpd_free(http);
}

/* ---- how many ---- */

/* libmicrohttpd shares its limit out among its threads, and one thread may take all connections. */
Test(live, every_connection_up_to_the_limit_is_served_and_no_more)
{
    enum { LIMIT = 24 };
    static const char request[] = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                            .threads = 8,
                            .connections = LIMIT,
                            .request_timeout_s = 600,
                            .routes = table,
                            .routes_len = PFC_ARRAY_LEN(table),
                            .app = &app };
    pfc_httpd *http = NULL;
    int fds[LIMIT], over;
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    for (int i = 0; i < LIMIT; i++) {
        char out[8192] = "";

        fds[i] = dial(http);
        cr_assert(put(fds[i], request, sizeof(request) - 1));
        cr_assert(get_until(fds[i], out, sizeof(out), "}"), "connection %d", i + 1);
        cr_assert(eq(int, status_of(out), 200));
    }
    over = dial(http);
    (void)put(over, request, sizeof(request) - 1);
    {
        char out[8192] = "";

        cr_assert(get_until(over, out, sizeof(out), NULL));
        cr_assert(eq(str, out, ""));
    }
    close(over);
    for (int i = 0; i < LIMIT; i++)
        close(fds[i]);
    pfc_httpd_free(http);
}

Test(live, the_limit_of_open_files_is_raised_for_the_connections_asked_for)
{
    pfc_app app = { 0 };
    const pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                                  .threads = 2,
                                  .connections = 500,
                                  .routes = table,
                                  .routes_len = PFC_ARRAY_LEN(table),
                                  .app = &app };
    struct rlimit limit;
    pfc_httpd *http = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, getrlimit(RLIMIT_NOFILE, &limit), 0));
    if (limit.rlim_max < 1000)
        cr_skip("the hard limit of open files is under 1,000");
    limit.rlim_cur = 100;
    cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, getrlimit(RLIMIT_NOFILE, &limit), 0));
    cr_assert(ge(u64, limit.rlim_cur, 700));
    pfc_httpd_free(http);
}

/* ---- starting ---- */

Test(live, a_port_in_use_is_one_clear_sentence)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app), *second = NULL;
    const pfc_httpd_opts opts = { .listen = pfc_httpd_url(http) + strlen("http://") };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_httpd_start(&opts, &second, &err), PFC_EIO));
    cr_assert(ne(ptr, strstr(err.msg, "in use"), NULL), "%s", err.msg);
    pfc_httpd_free(http);
}

Test(live, an_address_that_is_none_is_refused)
{
    static const char *const bad[] = { "",    "7420",        "127.0.0.1:",   "127.0.0.1:65536",
                                       ":-1", "127.0.0.1:x", "300.1.1.1:80", "[::1:80" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        const pfc_httpd_opts opts = { .listen = bad[i] };
        pfc_httpd *http = NULL;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_EINVAL), "%s", bad[i]);
        cr_assert(ne(chr, err.msg[0], '\0'));
    }
}
