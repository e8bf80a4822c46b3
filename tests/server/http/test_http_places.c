/* Connections when all are taken, and the limits of streams and waits. */
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/services/access/access.h"

#include "tests/check/check.h"
#include "tests/server/http/live.h"

#define ECHO  "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define WAITS "GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n"

/* "pfc_7" is token 7. */
static pfc_code check(pfc_app *app, const char *token, pfc_principal *out, pfc_err *err)
{
    (void)app;
    if (token[4] < '1' || token[4] > '9' || token[5])
        return pfc_err_set(err, PFC_EDENIED, "token: not valid");
    *out = (pfc_principal){ .token_id = token[4] - '0', .scopes = PFC_SCOPE_INGEST };
    return PFC_OK;
}

static pfc_httpd *start(pfc_app *app, unsigned connections, unsigned waiting_each)
{
    const pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                                  .threads = 2,
                                  .connections = connections,
                                  .waiting_each = waiting_each,
                                  .request_timeout_s = 600,
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

/* Sends on this connection and reads up to `until`; the status, -1: closed without an answer. */
static int ask_on(int fd, const char *request, const char *until, char out[8192])
{
    out[0] = '\0';
    if (!live_put(fd, request, strlen(request)) || !live_get_until(fd, out, 8192, until))
        return -1;
    return out[0] ? live_status_of(out) : -1;
}

static int authorised(int fd)
{
    static const char request[] =
        "POST /guarded HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer pfc_1\r\n"
        "Content-Length: 2\r\n\r\n{}";
    char out[8192];

    return ask_on(fd, request, "}", out);
}

static int stream(int fd, char token, char out[8192])
{
    char request[] = "GET /own-events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                     "pfc_?\r\n\r\n";

    *strchr(request, '?') = token;
    return ask_on(fd, request, "\r\n\r\n", out);
}

static void close_all(const int *fds, int len)
{
    for (int i = 0; i < len; i++)
        close(fds[i]);
}

Test(places, clients_that_send_nothing_or_too_little_make_way_for_the_next_one)
{
    enum { LIMIT = 16, SLOW = 64, PAGES = 40 };
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, LIMIT, 0);
    int slow[SLOW], pages[PAGES];
    char out[8192];

    for (int i = 0; i < SLOW; i++) {
        slow[i] = live_dial(http);
        if (i % 2)
            (void)live_put(slow[i], "GET /echo HTT", 13);
    }
    for (int i = 0; i < PAGES; i++) {
        pages[i] = live_dial(http);
        cr_expect(eq(int, ask_on(pages[i], ECHO, "}", out), 200), "page %d", i);
    }
    close_all(slow, SLOW);
    close_all(pages, PAGES);
    pfc_httpd_free(http);
}

Test(places, connections_of_authorised_requests_are_kept_when_strangers_crowd)
{
    enum { LIMIT = 16, OWN = 6, CROWD = 200 };
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, LIMIT, 0);
    int own[OWN], crowd[CROWD];
    char out[8192];

    for (int i = 0; i < OWN; i++) {
        own[i] = live_dial(http);
        cr_assert(eq(int, authorised(own[i]), 200));
    }
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = live_dial(http);
        if (i % 2) /* some are answered, and then rest */
            cr_expect(eq(int, ask_on(crowd[i], ECHO, "}", out), 200), "%d", i);
    }
    for (int i = 0; i < OWN; i++)
        cr_expect(eq(int, authorised(own[i]), 200), "connection %d", i);
    close_all(own, OWN);
    close_all(crowd, CROWD);
    pfc_httpd_free(http);
}

Test(places, one_token_cannot_keep_others_out_by_connections_that_rest)
{
    enum { LIMIT = 8, MORE = 20 };
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, LIMIT, 0);
    int held[LIMIT], more[MORE];
    char out[8192];

    for (int i = 0; i < LIMIT; i++) {
        held[i] = live_dial(http);
        cr_assert(eq(int, authorised(held[i]), 200));
    }
    for (int i = 0; i < MORE; i++) {
        more[i] = live_dial(http);
        cr_expect(eq(int, ask_on(more[i], ECHO, "}", out), 200), "%d", i);
    }
    /* The one that rested longest was closed. */
    cr_expect(eq(int, authorised(held[0]), -1));
    cr_expect(eq(int, authorised(held[LIMIT - 1]), 200));
    close_all(held, LIMIT);
    close_all(more, MORE);
    pfc_httpd_free(http);
}

Test(places, a_token_has_its_number_of_streams_and_no_more)
{
    enum { EACH = 3 };
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 100, EACH);
    int fds[EACH], other = live_dial(http), over = live_dial(http), status;
    char out[8192];

    for (int i = 0; i < EACH; i++) {
        fds[i] = live_dial(http);
        cr_assert(eq(int, stream(fds[i], '1', out), 200), "%s", out);
    }
    cr_expect(eq(int, stream(over, '1', out), 429), "%s", out);
    cr_expect(ne(ptr, strstr(out, "Retry-After: 30"), NULL), "%s", out);
    cr_expect(ne(ptr, strstr(out, "Connection: close"), NULL), "%s", out);
    cr_expect(eq(int, stream(other, '2', out), 200), "%s", out);
    /* Without a token the address counts. */
    for (int i = 0; i < EACH + 1; i++) {
        int fd = live_dial(http);

        status = ask_on(fd, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n\r\n", out);
        cr_expect(eq(int, status, i < EACH ? 200 : 429), "%s", out);
    }
    /* The place of one that closed is free although nothing was written to it since; its packet may
     * need a moment. */
    close(fds[0]);
    for (int tries = 0; tries < 1000; tries++) {
        int fd = live_dial(http);

        status = stream(fd, '1', out);
        if (status != 429)
            break;
        close(fd);
    }
    cr_expect(eq(int, status, 200), "%s", out);
    pfc_httpd_free(http);
}

Test(places, streams_and_waits_have_half_of_the_connections)
{
    enum { LIMIT = 8 };
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, LIMIT, 0);
    int fds[LIMIT], page;
    char out[8192];

    for (int i = 0; i < LIMIT; i++) {
        fds[i] = live_dial(http);
        cr_expect(eq(int, stream(fds[i], (char)('1' + i), out), i < LIMIT / 2 ? 200 : 503), "%s",
                  out);
    }
    page = live_dial(http);
    cr_expect(eq(int, ask_on(page, ECHO, "}", out), 200));
    /* A wait is answered at once: the client polls. */
    cr_expect(eq(int, ask_on(page, WAITS, "\r\n\r\n", out), 204), "%s", out);
    close(page);
    close_all(fds, LIMIT);
    pfc_httpd_free(http);
}

Test(places, waits_beyond_those_of_a_client_are_answered_at_once)
{
    enum { EACH = 2 };
    pfc_app app = { 0 };
    pfc_httpd *http = start(&app, 100, EACH);
    int fds[EACH], over = live_dial(http), at_once = 0;
    char out[8192];

    for (int i = 0; i < EACH; i++) {
        fds[i] = live_dial(http);
        cr_assert(live_put(fds[i], WAITS, strlen(WAITS)));
        while (atomic_load(&app.calls) < i + 1)
            pfc_clock_sleep_ns(PFC_NS_PER_MS);
    }
    /* One of them may not be suspended yet; then this one waits in its place, and that one is
     * answered with 204. */
    cr_assert(live_put(over, WAITS, strlen(WAITS)));
    while (atomic_load(&app.calls) < EACH + 1)
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    atomic_store(&app.has_news, true);
    pfc_httpd_publish(http, "job", "", NULL);
    for (int i = 0; i < EACH + 1; i++) {
        int status;

        out[0] = '\0';
        cr_assert(live_get_until(i < EACH ? fds[i] : over, out, sizeof(out), "\r\n\r\n"));
        status = live_status_of(out);
        cr_expect(status == 200 || status == 204, "%s", out);
        at_once += status == 204;
    }
    cr_expect(eq(int, at_once, 1));
    close(over);
    close_all(fds, EACH);
    pfc_httpd_free(http);
}
