/* Limits of one client: requests per second, memory, time, and the length of its streams. */
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/http/internal.h"
#include "server/services/access/access.h"

#include "tests/check/check.h"
#include "tests/server/http/live.h"

/* ---- rates ---- */

#define S PFC_NS_PER_S

static int let_through(httpd_limits *limits, double per_s, const void *key, size_t len, int asked,
                       int64_t now_ns)
{
    int through = 0;

    for (int i = 0; i < asked; i++)
        through += httpd_limits_take(limits, per_s, 'a', key, len, now_ns) <= 0;
    return through;
}

/* The burst is 2 x rate + 1, then the bucket fills at the rate. */
Test(limits, exactly_the_burst_and_then_the_rate_is_let_through)
{
    httpd_limits *limits = httpd_limits_new();

    cr_assert(eq(int, let_through(limits, 10, "one", 3, 1000, 5 * S), 21));
    cr_assert(eq(int, let_through(limits, 10, "one", 3, 1000, 5 * S), 0));
    cr_assert(eq(int, let_through(limits, 10, "one", 3, 1000, 6 * S), 10));
    cr_assert(eq(int, let_through(limits, 10, "one", 3, 1000, 6 * S + S / 2), 5));
    /* an hour later it is full, not fuller */
    cr_assert(eq(int, let_through(limits, 10, "one", 3, 1000, 3600 * S), 21));
    /* what it says to wait is what it takes: to the next whole request */
    cr_assert(epsilon_eq(dbl, httpd_limits_take(limits, 10, 'a', "one", 3, 3600 * S), 0.1, 1e-9));
    /* others, and the same key of another kind, have buckets of their own */
    cr_assert(eq(int, let_through(limits, 10, "two", 3, 1000, 3600 * S), 21));
    cr_assert(httpd_limits_take(limits, 10, 't', "one", 3, 3600 * S) <= 0);
    cr_assert(eq(int, let_through(limits, 0, "one", 3, 1000, 3600 * S), 1000));
    httpd_limits_free(limits);
}

/* A client with many addresses cannot evict another client's bucket while that is limiting. */
Test(limits, a_limited_key_is_not_forgotten_among_many)
{
    httpd_limits *limits = httpd_limits_new();

    cr_assert(eq(int, let_through(limits, 1, "greedy", 6, 100, S), 3));
    for (uint32_t i = 0; i < 200000; i++)
        (void)httpd_limits_take(limits, 1, 'a', &i, sizeof(i), S);
    cr_assert(eq(int, let_through(limits, 1, "greedy", 6, 100, S), 0));
    httpd_limits_free(limits);
}

Test(limits, an_address_is_an_ipv4_host_or_an_ipv6_network_of_64_bits)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        { "198.51.100.7", "198.51.100.7", true },
        { "198.51.100.7", "198.51.100.8", false },
        { "2001:db8::1", "2001:db8::ffff:1", true },
        { "2001:db8::1", "2001:db8:0:0:1::1", true },
        { "2001:db8::1", "2001:db8:0:1::1", false },
        { "::ffff:198.51.100.7", "198.51.100.7", true },
        { "::ffff:198.51.100.7", "::ffff:198.51.100.8", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const unsigned char *key_a, *key_b;
        pfc_address a, b;
        size_t len_a, len_b;

        cr_assert(pfc_address_parse(cases[i].a, strlen(cases[i].a), &a));
        cr_assert(pfc_address_parse(cases[i].b, strlen(cases[i].b), &b));
        len_a = httpd_peer_key(&a, &key_a);
        len_b = httpd_peer_key(&b, &key_b);
        cr_assert(eq(int, len_a == len_b && memcmp(key_a, key_b, len_a) == 0, cases[i].same),
                  "%s and %s", cases[i].a, cases[i].b);
    }
}

/* ---- bodies ---- */

static pfc_code check(pfc_app *app, const char *token, pfc_principal *out, pfc_err *err)
{
    const bool brief = strcmp(token, "pfc_brief") == 0, revoked = strcmp(token, "pfc_revoked") == 0;

    if (strcmp(token, "pfc_good") != 0 && !brief && !revoked)
        return pfc_err_set(err, PFC_EDENIED, "token: not valid");
    *out = (pfc_principal){ .token_id = 1,
                            .scopes = PFC_SCOPE_INGEST,
                            .until_ns = brief ? pfc_clock_ns() + S / 20 : 0 };
    if (revoked) /* right after this look at it */
        pfc_httpd_end_streams(app->http, 1);
    return PFC_OK;
}

static pfc_httpd *start(pfc_app *app, double request_timeout_s, size_t bodies_bytes)
{
    const pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                                  .threads = 2,
                                  .request_timeout_s = request_timeout_s,
                                  .bodies_bytes = bodies_bytes,
                                  .public_read = true,
                                  .routes = live_routes,
                                  .routes_len = live_routes_len,
                                  .check = check,
                                  .app = app };
    pfc_httpd *http = NULL;
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    return http;
}

/* Of the bodies under way, once all that was sent on fd has been read. */
static size_t held_bytes(pfc_httpd *http, int fd)
{
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * S;
    int queued = 1;

    while (pfc_clock_ns() < end_ns) {
        if (atomic_load(&http->active) == 1 && ioctl(fd, SIOCOUTQ, &queued) == 0 && queued == 0 &&
            !httpd_conns_unread(http))
            return atomic_load(&http->bodies);
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    }
    cr_fail("the request was never read");
    return 0;
}

#define MIB (1024 * 1024)

static void until_idle(pfc_httpd *http)
{
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * S;

    while (atomic_load(&http->active) > 0 && pfc_clock_ns() < end_ns)
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
}

Test(bodies, a_long_body_is_kept_only_for_who_may_send_it)
{
    static const struct {
        const char *method, *path, *token, *line, *expected;
        int status;
        bool kept;
    } cases[] = {
        { "POST", "/guarded", "pfc_good", "", "2097152", 200, true },
        { "POST", "/guarded", "pfc_bad", "", "unauthorized", 401, false },
        { "POST", "/guarded", NULL, "", "WWW-Authenticate: Bearer", 401, false },
        { "POST", "/nowhere", "pfc_good", "", "not_found", 404, false },
        { "POST", "/guarded?x=1", "pfc_good", "", "unknown parameter", 400, false },
        { "POST", "/triage", "pfc_good", "", "forbidden", 403, false },
        { "DELETE", "/echo", NULL, "", "Allow: GET, HEAD, POST, PATCH\r\n", 405, false },
        /* the route takes no body */
        { "GET", "/echo", NULL, "", "\"len\":0", 200, false },
        { "HEAD", "/echo", NULL, "", "Content-Length: ", 200, false },
        /* it will be refused for another reason */
        { "POST", "/guarded", "pfc_good", "Host: y\r\n", "one Host header", 400, false },
    };
    char *body = pfc_alloc(2 * MIB);
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 600, 0);

    memset(body, 'x', 2 * MIB);
    for (int chunked = 0; chunked < 2; chunked++) {
        for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
            char *head =
                pfc_format("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s%s%s%s%s",
                           cases[i].method, cases[i].path, cases[i].line,
                           cases[i].token ? "Authorization: Bearer " : "",
                           cases[i].token ? cases[i].token : "", cases[i].token ? "\r\n" : "",
                           chunked ? "Transfer-Encoding: chunked\r\n\r\n200000\r\n"
                                   : "Content-Length: 2097152\r\n\r\n");
            char out[8192] = "";
            size_t held;
            int fd = live_dial(http);

            cr_assert(live_put(fd, head, strlen(head)));
            cr_assert(live_put(fd, body, MIB));
            held = held_bytes(http, fd);
            cr_assert(cases[i].kept ? held > 0 : held == 0, "%s %s: %zu", cases[i].path,
                      cases[i].token, held);
            cr_assert(live_put(fd, body, MIB));
            if (chunked)
                cr_assert(live_put(fd, "\r\n0\r\n\r\n", 7));
            /* answered after the whole body was sent */
            cr_assert(live_get_until(fd, out, sizeof(out), NULL));
            cr_assert(eq(int, live_status_of(out), cases[i].status), "%s %s: %s", cases[i].path,
                      cases[i].token, out);
            cr_assert(ne(ptr, strstr(out, cases[i].expected), NULL), "%s: %s", cases[i].path, out);
            close(fd);
            free(head);
            until_idle(http);
            cr_assert(eq(sz, atomic_load(&http->bodies), 0));
        }
    }
    pfc_httpd_free(http);
    free(body);
}

static size_t compress_zeros(size_t plain_len, char *out, size_t cap)
{
    char *plain = pfc_alloc(plain_len);
    z_stream z = { 0 };

    deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    z.next_in = (Bytef *)plain;
    z.avail_in = (uInt)plain_len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)cap;
    cr_assert(eq(int, deflate(&z, Z_FINISH), Z_STREAM_END));
    deflateEnd(&z);
    free(plain);
    return z.total_out;
}

Test(bodies, all_bodies_together_are_bounded_with_a_reason)
{
    static const char head[] = "POST /guarded HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                               "Authorization: Bearer pfc_good\r\nContent-Length: 1048576\r\n\r\n";
    char *body = pfc_alloc(MIB);
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * S;
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 600, 3 * MIB / 2);
    char out[8192] = "", packed[8192], *gzip_head;
    size_t len;
    int first = live_dial(http), second = live_dial(http), third;

    memset(body, 'x', MIB);
    cr_assert(live_put(first, head, sizeof(head) - 1));
    cr_assert(live_put(first, body, MIB - 1));
    while (atomic_load(&http->bodies) < MIB - 1 && pfc_clock_ns() < end_ns)
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    cr_assert(live_put(second, head, sizeof(head) - 1));
    cr_assert(live_put(second, body, MIB));
    cr_assert(live_get_until(second, out, sizeof(out), NULL));
    cr_assert(eq(int, live_status_of(out), 503), "%s", out);
    cr_assert(ne(ptr, strstr(out, "Retry-After: "), NULL));
    cr_assert(ne(ptr, strstr(out, "\"unavailable\""), NULL));
    /* a small one that is too large once it is unpacked, too */
    len = compress_zeros(MIB, packed, sizeof(packed));
    gzip_head = pfc_format("POST /guarded HTTP/1.1\r\n" HEAD "Authorization: Bearer pfc_good\r\n"
                           "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
                           len);
    third = live_dial(http);
    cr_assert(live_put(third, gzip_head, strlen(gzip_head)));
    cr_assert(live_put(third, packed, len));
    out[0] = '\0';
    cr_assert(live_get_until(third, out, sizeof(out), NULL));
    cr_assert(eq(int, live_status_of(out), 503), "%s", out);
    free(gzip_head);
    close(third);
    /* who came first is served, and then there is room again */
    for (int i = 0; i < 2; i++) {
        int fd = i ? live_dial(http) : first;

        if (i)
            cr_assert(live_put(fd, head, sizeof(head) - 1));
        cr_assert(live_put(fd, body, i ? MIB : 1));
        out[0] = '\0';
        cr_assert(live_get_until(fd, out, sizeof(out), NULL));
        cr_assert(eq(int, live_status_of(out), 200), "%s", out);
        close(fd);
    }
    close(second);
    pfc_httpd_free(http);
    free(body);
}

/* ---- time ---- */

/* Reads a little each `pause_ms`, until the server has dropped it. Returns how many bytes had come
 * by then. */
static size_t trickle(pfc_httpd *http, int fd, int pause_ms)
{
    static char bytes[65536];
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * S;
    size_t conns = 1, total = 0;

    while (conns > 0 && pfc_clock_ns() < end_ns) {
        const ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        total += n > 0 ? (size_t)n : 0;
        pfc_clock_sleep_ns(pause_ms * PFC_NS_PER_MS);
        pthread_mutex_lock(&http->lock);
        conns = http->conns_len;
        pthread_mutex_unlock(&http->lock);
    }
    cr_assert(eq(sz, conns, 0), "still open");
    /* what was under way, to the end that the server has made */
    for (ssize_t n = 1; n > 0; total += n > 0 ? (size_t)n : 0)
        n = recv(fd, bytes, sizeof(bytes), 0);
    return total;
}

Test(time, an_answer_that_is_taken_bit_by_bit_is_given_up)
{
    static const char request[] = "GET /huge HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 0.25, 0);
    char out[8192];
    int fd = live_dial(http);

    cr_assert(live_put(fd, request, sizeof(request) - 1));
    /* Not all: at this pace that takes 5 s, and an answer has four times 0.25 s. So fast that it
     * never stands still for the second that libmicrohttpd would take for silence. */
    cr_assert(lt(sz, trickle(http, fd, 10), 32 * MIB));
    live_ask(http, "GET /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200));
    close(fd);
    pfc_httpd_free(http);
}

Test(time, a_connection_that_rests_too_long_is_ended)
{
    static const char request[] = "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 0.25, 0);
    char out[8192] = "";
    int fd = live_dial(http);

    cr_assert(live_put(fd, request, sizeof(request) - 1));
    cr_assert(live_get_until(fd, out, sizeof(out), "}"));
    (void)trickle(http, fd, 50);
    close(fd);
    pfc_httpd_free(http);
}

/* ---- streams ---- */

Test(streams, none_outlives_its_token_by_beginning_late_or_by_its_expiry)
{
    static const char *const tokens[] = { "revoked", "brief" };
    pfc_app app = { 0 };
    pfc_httpd *http = app.http = start(&app, 600, 0);

    for (size_t i = 0; i < PFC_ARRAY_LEN(tokens); i++) {
        char *request = pfc_format(
            "GET /own-events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer pfc_%s\r\n\r\n",
            tokens[i]);
        char out[8192] = "";
        int fd = live_dial(http);

        cr_assert(live_put(fd, request, strlen(request)));
        cr_assert(live_get_until(fd, out, sizeof(out), "0\r\n\r\n"), "%s: %s", tokens[i], out);
        cr_assert(eq(int, live_status_of(out), 200));
        close(fd);
        free(request);
    }
    pfc_httpd_free(http);
}

Test(streams, those_of_a_token_end_with_it_and_others_go_on)
{
    static const char open_stream[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char token_stream[] =
        "GET /own-events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer pfc_good\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 600, 0);
    char out[8192] = "", all[8192] = "";
    int of_token = live_dial(http), of_all = live_dial(http);

    cr_assert(live_put(of_token, token_stream, sizeof(token_stream) - 1));
    cr_assert(live_put(of_all, open_stream, sizeof(open_stream) - 1));
    cr_assert(live_get_until(of_token, out, sizeof(out), ": open"));
    cr_assert(live_get_until(of_all, all, sizeof(all), ": open"));
    pfc_httpd_end_streams(http, 2); /* another's */
    pfc_httpd_publish(http, "run", "mine", "{\"id\":1}");
    cr_assert(live_get_until(of_token, out, sizeof(out), "{\"id\":1}"));
    pfc_httpd_end_streams(http, 1);
    cr_assert(live_get_until(of_token, out, sizeof(out), "0\r\n\r\n"));
    pfc_httpd_publish(http, "run", "mine", "{\"id\":2}");
    cr_assert(live_get_until(of_all, all, sizeof(all), "{\"id\":2}"));
    cr_assert(eq(ptr, strstr(out, "{\"id\":2}"), NULL));
    cr_assert(ne(ptr, strstr(all, "X-Content-Type-Options: nosniff"), NULL));
    cr_assert(ne(ptr, strstr(all, "Content-Security-Policy: default-src 'none'"), NULL));
    close(of_token);
    close(of_all);
    pfc_httpd_free(http);
}

Test(streams, who_was_let_in_just_before_reading_was_closed_to_strangers_hears_nothing)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 600, 0);
    char out[8192];

    app.http = http;
    live_ask(http, "GET /late-events HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200));
    cr_assert(eq(ptr, strstr(out, ": open"), NULL), "%s", out);
    live_ask(http, "GET /late-events HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 401));
    pfc_httpd_free(http);
}
