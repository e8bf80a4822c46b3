/* Connections of the daemon in this process: clocks, health, limits, stopping. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"

#include "tests/check/check.h"
#include "tests/server/http/live.h"

Test(conns, a_request_that_is_not_complete_in_time_is_ended)
{
    static const char *const starts[] = {
        "GET /ec",
        "GET /echo HTTP/1.1\r\nHost: localhost\r\nX-Drip: ",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
        /* the second request of a connection: libmicrohttpd reports it only when its first line is
           complete */
        "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\nGET /ec",
    };
    pfc_app app = { 0 };
    pfc_httpd *http = live_start_with(&app, 0.5);

    for (size_t i = 0; i < PFC_ARRAY_LEN(starts); i++) {
        int64_t end_ns = pfc_clock_ns() + DEADLINE_S * PFC_NS_PER_S;
        int fd = live_dial(http);
        bool ended = false;

        cr_assert(live_put(fd, starts[i], strlen(starts[i])));
        while (!ended && pfc_clock_ns() < end_ns) {
            struct pollfd p = { .fd = fd, .events = POLLIN };
            char byte;

            if (poll(&p, 1, 20) > 0)
                ended = recv(fd, &byte, 1, 0) <= 0;
            if (!ended)
                (void)live_put(fd, "a", 1);
        }
        cr_assert(ended, "still open: %s", starts[i]);
        /* by the request's clock, not by that of idle connections */
        cr_assert(lt(i64, pfc_clock_ns(), end_ns - (DEADLINE_S - 50) * PFC_NS_PER_S));
        close(fd);
    }
    pfc_httpd_free(http);
}

/* ---- health ---- */

#define HEALTH "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

typedef struct kept {
    int fds[64], spare[64], len;
} kept;

/* Both threads of the pool are in the handler that stays there. */
static kept keep_busy(const pfc_httpd *http, pfc_app *app)
{
    static const char request[] = "GET /busy HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * PFC_NS_PER_S;
    kept k = { .len = 0 };

    /* libmicrohttpd chooses a thread by the socket's number: one number more moves on to the next.
     */
    while (atomic_load(&app->busy) < 2 && k.len < 64 && pfc_clock_ns() < end_ns) {
        k.fds[k.len] = live_dial(http);
        cr_assert(live_put(k.fds[k.len], request, sizeof(request) - 1));
        k.spare[k.len++] = dup(STDERR_FILENO);
        for (int i = 0; i < 100 && atomic_load(&app->busy) < 2; i++)
            pfc_clock_sleep_ns(PFC_NS_PER_MS);
    }
    cr_assert(eq(int, atomic_load(&app->busy), 2));
    return k;
}

static void let_go(const kept *k, pfc_app *app)
{
    atomic_store(&app->done, true);
    for (int i = 0; i < k->len; i++) {
        close(k->fds[i]);
        close(k->spare[i]);
    }
}

Test(conns, health_is_answered_while_every_other_thread_is_busy)
{
    static const char *const questions[] = {
        HEALTH, "HEAD /healthz?x HTTP/1.1\r\nHost: localhost\r\n\r\n"
    };
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    kept k = keep_busy(http, &app);
    const double stuck_s = pfc_httpd_stuck_s(http);

    for (size_t i = 0; i < PFC_ARRAY_LEN(questions); i++) {
        char out[8192];

        /* One answer, and the end: what follows shall not keep that thread. */
        live_ask(http, questions[i], out, sizeof(out));
        cr_assert(eq(int, live_status_of(out), i ? 400 : 200), "%s", out);
        cr_assert(strstr(out, "Connection: close") != NULL, "%s", out);
    }
    /* And the watchdog is not fooled by those answers: the pool stands still, and longer every
     * time. */
    cr_assert(stuck_s > 0 && pfc_httpd_stuck_s(http) > stuck_s);
    let_go(&k, &app);
    while (pfc_httpd_stuck_s(http) > 0)
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    pfc_httpd_free(http);
}

static pfc_httpd *start_with_ops(pfc_app *app)
{
    const pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                                  .ops_listen = "127.0.0.1:0",
                                  .threads = 2,
                                  .connections = 90, /* fewer than the silent ones below */
                                  .request_timeout_s = 600,
                                  .routes = live_routes,
                                  .routes_len = live_routes_len,
                                  .app = app };
    pfc_httpd *http = NULL;
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    return http;
}

Test(conns, the_port_for_operations_answers_them_alone_and_whatever_the_pool_does)
{
    static const struct {
        const char *request;
        int status;
    } asked[] = {
        { HEALTH, 200 },
        { "GET /metrics HTTP/1.1\r\n" HEAD "\r\n", 200 },
        { "GET /echo HTTP/1.1\r\n" HEAD "\r\n", 404 },
        { "GET / HTTP/1.1\r\n" HEAD "\r\n", 404 },
        { "POST /healthz HTTP/1.1\r\n" HEAD "\r\n", 405 },
        { "GET /healthz/../echo HTTP/1.1\r\n" HEAD "\r\n", 404 },
        { "GET /healthz%2f HTTP/1.1\r\n" HEAD "\r\n", 404 },
        { "OPTIONS /echo HTTP/1.1\r\n" HEAD "\r\n", 404 },
    };
    pfc_app app = { 0 };
    pfc_httpd *http = start_with_ops(&app);
    kept k = keep_busy(http, &app);

    for (size_t i = 0; i < PFC_ARRAY_LEN(asked); i++) {
        char out[8192];

        live_ask_url(pfc_httpd_ops_url(http), asked[i].request, out, sizeof(out));
        cr_assert(eq(int, live_status_of(out), asked[i].status), "%s%s", asked[i].request, out);
        cr_assert(ne(ptr, strstr(out, "X-Content-Type-Options: nosniff"), NULL));
    }
    let_go(&k, &app);
    pfc_httpd_free(http);
}

/* Those who say nothing make way, however many they are. */
Test(conns, silence_cannot_fill_the_port_for_operations)
{
    pfc_app app = { 0 };
    pfc_httpd *http = start_with_ops(&app);
    int fds[100];
    char out[8192];

    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++)
        fds[i] = live_dial_url(pfc_httpd_ops_url(http));
    live_ask_url(pfc_httpd_ops_url(http), HEALTH, out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200), "%s", out);
    /* and none of them took a place of the service's clients */
    live_ask(http, "GET /echo HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200), "%s", out);
    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++)
        close(fds[i]);
    pfc_httpd_free(http);
}

/* Takes all places, in use: half of them by streams, half by answers that are not read; those of an
 * address may be unused, because its limit closes none of them. */
static void take_places(const pfc_httpd *http, int *fds, int len)
{
    for (int i = 0; i < len; i++) {
        const char *request = i % 2 ? "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                    : "GET /huge HTTP/1.1\r\nHost: localhost\r\n\r\n";
        char out[8192] = "";

        fds[i] = live_dial(http);
        cr_assert(live_put(fds[i], request, strlen(request)));
        cr_assert(live_get_until(fds[i], out, sizeof(out), "\r\n\r\n"), "connection %d", i + 1);
        cr_assert(eq(int, live_status_of(out), 200), "%s", out);
    }
}

/* by_address: it is one address that has all it may have, not all that has all there is. */
static void fill_the_house(bool by_address)
{
    enum { LIMIT = 8, SILENT = 100 };
    static const char request[] = "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    const pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                                  .threads = 2,
                                  .connections = by_address ? 1000 : LIMIT,
                                  .connections_each = by_address ? LIMIT : 0,
                                  .request_timeout_s = 600,
                                  .routes = live_routes,
                                  .routes_len = live_routes_len,
                                  .app = &app };
    pfc_httpd *http = NULL;
    int fds[LIMIT], silent[SILENT];
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    take_places(http, fds, LIMIT);
    for (int round = 0; round < 2; round++) {
        char out[8192];

        for (int i = 0; i < 40; i++) { /* more than there are places: each is free again */
            live_ask(http, HEALTH, out, sizeof(out));
            cr_assert(eq(int, live_status_of(out), 200), "%s", out);
        }
        live_ask(http, request, out, sizeof(out));
        cr_assert(eq(str, out, ""));
        for (int i = 0; i < SILENT && round == 0; i++)
            silent[i] = live_dial(http);
    }
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    for (int i = 0; i < LIMIT; i++)
        close(fds[i]);
    pfc_httpd_free(http);
}

Test(conns, health_is_answered_when_every_connection_is_taken)
{
    fill_the_house(false);
}

Test(conns, health_is_answered_to_an_address_that_has_all_it_may)
{
    fill_the_house(true);
}

Test(conns, what_was_asked_before_the_stop_is_answered)
{
    static const char begun[] = "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    int fds[32], silent = live_dial(http);

    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        fds[i] = live_dial(http);
        cr_assert(live_put(fds[i], begun, sizeof(begun) - 1));
    }
    /* The last one's answer: all before it were accepted. */
    {
        char out[8192] = "";

        cr_assert(live_get_until(fds[31], out, sizeof(out), "}"));
    }
    pfc_httpd_stop(http, 60);
    for (size_t i = 0; i < PFC_ARRAY_LEN(fds) - 1; i++) {
        char out[8192] = "";

        cr_assert(live_get_until(fds[i], out, sizeof(out), NULL));
        cr_assert(eq(int, live_status_of(out), 200), "connection %zu", i);
        close(fds[i]);
    }
    {
        char out[8192] = "";

        cr_assert(live_get_until(silent, out, sizeof(out), NULL));
        cr_assert(eq(str, out, ""));
    }
    close(silent);
    close(fds[31]);
    pfc_httpd_free(http);
}

static void *stop_it(void *http)
{
    pfc_httpd_stop(http, 60);
    return NULL;
}

/* It was let in before the stop, and says what it wants after it. */
Test(conns, who_has_just_connected_when_it_stops_may_still_ask)
{
    static const char request[] = "GET /echo HTTP/1.1\r\n" HEAD "\r\n";
    pfc_app app = { 0 };
    const pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                                  .threads = 1,
                                  .begin_s = DEADLINE_S,
                                  .request_timeout_s = 600,
                                  .routes = live_routes,
                                  .routes_len = live_routes_len,
                                  .app = &app };
    pfc_httpd *http = NULL;
    char out[8192] = "";
    pthread_t thread;
    pfc_err err = { 0 };
    int late;

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    late = live_dial(http);
    live_ask(http, request, out, sizeof(out)); /* accepted in turn: the first is in, too */
    cr_assert(eq(int, live_status_of(out), 200), "%s", out);
    cr_assert(eq(int, pthread_create(&thread, NULL, stop_it, http), 0));
    while (!pfc_httpd_stopping(http))
        sched_yield();
    cr_assert(live_put(late, request, sizeof(request) - 1));
    out[0] = '\0';
    cr_assert(live_get_until(late, out, sizeof(out), NULL));
    cr_assert(eq(int, live_status_of(out), 200), "%s", out);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    close(late);
    pfc_httpd_free(http);
}

/* ---- how many ---- */

/* As many events as libmicrohttpd asks for at once, and nothing after them: http/epoll_wake.c. */
Test(conns, requests_that_come_128_at_once_do_not_wait_for_a_next_one)
{
    static const char busy[] = "GET /busy HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char request[] = "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                            .threads = 1,
                            .connections = 256,
                            .request_timeout_s = 600,
                            .routes = live_routes,
                            .routes_len = live_routes_len,
                            .app = &app };
    pfc_httpd *http = NULL;
    int64_t end_ns = pfc_clock_ns() + DEADLINE_S * PFC_NS_PER_S;
    int first, fds[128];
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    first = live_dial(http);
    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        char out[8192] = "";

        fds[i] = live_dial(http);
        cr_assert(live_put(fds[i], request, sizeof(request) - 1));
        cr_assert(live_get_until(fds[i], out, sizeof(out), "}"), "connection %zu", i + 1);
    }
    cr_assert(live_put(first, busy, sizeof(busy) - 1));
    while (!atomic_load(&app.busy) && pfc_clock_ns() < end_ns)
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++)
        cr_assert(live_put(fds[i], request, sizeof(request) - 1));
    atomic_store(&app.done, true);
    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        /* Half of the minute that they would lie there. */
        struct pollfd p = { .fd = fds[i], .events = POLLIN };

        cr_assert(eq(int, poll(&p, 1, 30000), 1), "connection %zu got no answer", i);
        close(fds[i]);
    }
    close(first);
    pfc_httpd_free(http);
}

/* libmicrohttpd shares its limit out among its threads, and one thread may take all connections. */
Test(conns, every_connection_up_to_the_limit_is_served_and_no_more)
{
    enum { LIMIT = 8 };
    static const char request[] = "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                            .threads = 8,
                            .connections = LIMIT,
                            .request_timeout_s = 600,
                            .routes = live_routes,
                            .routes_len = live_routes_len,
                            .app = &app };
    pfc_httpd *http = NULL;
    int fds[LIMIT], over;
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    take_places(http, fds, LIMIT);
    over = live_dial(http);
    (void)live_put(over, request, sizeof(request) - 1);
    {
        char out[8192] = "";

        cr_assert(live_get_until(over, out, sizeof(out), NULL));
        cr_assert(eq(str, out, ""));
    }
    close(over);
    for (int i = 0; i < LIMIT; i++)
        close(fds[i]);
    pfc_httpd_free(http);
}

Test(conns, the_limit_of_open_files_is_raised_for_the_connections_asked_for)
{
    pfc_app app = { 0 };
    const pfc_httpd_opts opts = { .listen = "127.0.0.1:0",
                                  .threads = 2,
                                  .connections = 500,
                                  .routes = live_routes,
                                  .routes_len = live_routes_len,
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

Test(conns, a_port_in_use_is_one_clear_sentence)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app), *second = NULL;
    const pfc_httpd_opts opts = { .listen = pfc_httpd_url(http) + strlen("http://") };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_httpd_start(&opts, &second, &err), PFC_EIO));
    cr_assert(ne(ptr, strstr(err.msg, "in use"), NULL), "%s", err.msg);
    pfc_httpd_free(http);
}

Test(conns, an_address_that_is_none_is_refused)
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
