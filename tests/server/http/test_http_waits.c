/* Requests that wait for news, and event streams, of the daemon in this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/http/events.h"

#include "tests/check/check.h"
#include "tests/server/http/live.h"

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

Test(waits, a_waiting_request_is_answered_by_news)
{
    static const char request[] = "GET /waits HTTP/1.1\r\n" HEAD "\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192] = "";
    int fd = live_dial(http);

    cr_assert(live_put(fd, request, strlen(request)));
    until_waiting(http, "perfci_http_waiting 1\n");
    atomic_store(&app.has_news, true);
    pfc_httpd_publish(http, "job", "", NULL);
    cr_assert(live_get_until(fd, out, sizeof(out), NULL));
    cr_assert(eq(int, live_status_of(out), 200));
    cr_assert(ne(ptr, strstr(out, "\"news\":true"), NULL));
    cr_assert(ge(int, atomic_load(&app.calls), 2));
    close(fd);
    pfc_httpd_free(http);
}

/* A thousand runners wait, and one of them gets the job: the others must not ask the database. */
Test(waits, an_offer_wakes_one_of_those_that_it_suits)
{
    static const char *const requests[] = { "GET /waits/a HTTP/1.1\r\n" HEAD "\r\n",
                                            "GET /waits/b HTTP/1.1\r\n" HEAD "\r\n",
                                            "GET /waits/a HTTP/1.1\r\n" HEAD "\r\n",
                                            "GET /waits/b HTTP/1.1\r\n" HEAD "\r\n" };
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char line[64], out[8192] = "";
    int fds[PFC_ARRAY_LEN(requests)];

    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        fds[i] = live_dial(http);
        cr_assert(live_put(fds[i], requests[i], strlen(requests[i])));
        (void)snprintf(line, sizeof(line), "perfci_http_waiting %zu\n", i + 1);
        until_waiting(http, line);
    }
    pfc_httpd_publish(http, "job", "", NULL); /* no offer */
    cr_assert(not(pfc_httpd_offer(http, "job", "c")));
    cr_assert(not(pfc_httpd_offer(http, "run", "b")));
    cr_assert(pfc_httpd_offer(http, "job", "b"));
    /* The offer goes to the request that has waited longest: the second connection. */
    cr_assert(live_get_until(fds[1], out, sizeof(out), NULL));
    cr_assert(ne(ptr, strstr(out, "\"again\":true"), NULL), "%s", out);
    until_waiting(http, "perfci_http_waiting 3\n");
    cr_assert(eq(int, atomic_load(&app.calls), 5));
    /* A client that disconnected cannot use it: the next one gets it. */
    close(fds[0]);
    cr_assert(pfc_httpd_offer(http, "job", "a"));
    out[0] = '\0';
    cr_assert(live_get_until(fds[2], out, sizeof(out), NULL));
    cr_assert(ne(ptr, strstr(out, "\"again\":true"), NULL), "%s", out);
    cr_assert(eq(int, atomic_load(&app.calls), 6));
    cr_assert(not(pfc_httpd_offer(http, "job", "a")));
    for (size_t i = 1; i < PFC_ARRAY_LEN(fds); i++)
        close(fds[i]);
    pfc_httpd_free(http);
}

/* Each recheck asks the database: all waiting requests together do so 20 times a second at most. */
Test(waits, a_crowd_rechecks_no_more_often_than_a_few)
{
    static const struct {
        size_t waiting;
        int64_t seconds;
    } rows[] = { { 0, 5 }, { 1, 5 }, { 100, 5 }, { 200, 10 }, { 1000, 50 }, { 10000, 500 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(i64, httpd_recheck_ns(rows[i].waiting), rows[i].seconds * PFC_NS_PER_S), "%zu",
                  rows[i].waiting);
}

Test(waits, a_wait_ends_at_its_deadline)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    live_ask(http, "GET /brief HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 204));
    pfc_httpd_free(http);
}

/* The client disconnected, so its job would be lost. */
Test(waits, who_hung_up_is_not_asked_for_again)
{
    static const char request[] = "GET /waits HTTP/1.1\r\n" HEAD "\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    int fd = live_dial(http), calls;

    cr_assert(live_put(fd, request, strlen(request)));
    until_waiting(http, "perfci_http_waiting 1\n");
    close(fd);
    calls = atomic_load(&app.calls);
    pfc_httpd_publish(http, "job", "", NULL);
    until_waiting(http, "perfci_http_connections 0\n");
    cr_assert(eq(int, atomic_load(&app.calls), calls));
    pfc_httpd_free(http);
}

/* libmicrohttpd aborts when it is stopped with a suspended connection. */
Test(waits, stopping_answers_those_who_wait_and_ends_streams)
{
    static const char request[] = "GET /waits HTTP/1.1\r\n" HEAD "\r\n";
    static const char stream[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192] = "";
    int fds[20];

    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        fds[i] = live_dial(http);
        cr_assert(i % 2 ? live_put(fds[i], stream, strlen(stream))
                        : live_put(fds[i], request, strlen(request)));
    }
    until_waiting(http, "perfci_http_waiting 10\n");
    until_waiting(http, "perfci_http_streams 10\n");
    pfc_httpd_stop(http, DEADLINE_S);
    for (size_t i = 0; i < PFC_ARRAY_LEN(fds); i++) {
        out[0] = '\0';
        cr_assert(live_get_until(fds[i], out, sizeof(out), NULL));
        cr_assert(eq(int, live_status_of(out), i % 2 ? 200 : 204), "%zu: %s", i, out);
        close(fds[i]);
    }
    pfc_httpd_free(http);
}

Test(waits, a_stream_gets_the_events_of_its_project_and_no_others)
{
    static const char request[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[16384] = "";
    int fd = live_dial(http);

    cr_assert(live_put(fd, request, strlen(request)));
    cr_assert(live_get_until(fd, out, sizeof(out), ": open"));
    pfc_httpd_publish(http, "run", "other", "{\"id\":1}");
    pfc_httpd_publish(http, "run", "mine", "{\"id\":2}");
    pfc_httpd_publish(http, "alert", "", "{\"id\":3}");
    cr_assert(live_get_until(fd, out, sizeof(out), "{\"id\":3}"));
    cr_assert(ne(ptr, strstr(out, "text/event-stream"), NULL));
    cr_assert(ne(ptr, strstr(out, "event: run\ndata: {\"id\":2}\n\n"), NULL));
    cr_assert(ne(ptr, strstr(out, "event: alert\n"), NULL));
    cr_assert(eq(ptr, strstr(out, "{\"id\":1}"), NULL));
    close(fd);
    pfc_httpd_free(http);
}

/* Opens the stream of "mine" with this Last-Event-ID (NULL: none), and reads until `until`. */
static int open_stream(const pfc_httpd *http, const char *last, const char *until, char *out,
                       size_t cap)
{
    char request[256];
    int fd = live_dial(http);

    (void)snprintf(request, sizeof(request),
                   "GET /events HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n",
                   last ? "Last-Event-ID: " : "", last ? last : "", last ? "\r\n" : "");
    memset(out, 0, cap);
    cr_assert(live_put(fd, request, strlen(request)));
    cr_assert(live_get_until(fd, out, cap, until), "%s: %s", last, out);
    return fd;
}

/* The id after the text `after`. */
static void copy_id(const char *out, const char *after, char *id, size_t cap)
{
    const char *at = strstr(strstr(out, after), "id: ");

    cr_assert(ne(ptr, (void *)(uintptr_t)at, NULL));
    (void)snprintf(id, cap, "%.*s", (int)strcspn(at + 4, "\n"), at + 4);
}

Test(waits, a_stream_that_comes_back_hears_what_it_missed)
{
    static const char *const unknown[] = {
        "7",
        "-1",
        "00000000000000000000000000000000-1",
        "x",
    };
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char *out = pfc_alloc(65536), begin[64], first[64], ahead[80];
    int fd = open_stream(http, NULL, "id: ", out, 65536);

    cr_assert(live_get_until(fd, out, 65536, "-0\n\n"), "%s", out);
    copy_id(out, ": open", begin, sizeof(begin));
    pfc_httpd_publish(http, "run", "mine", "{\"n\":1}");
    cr_assert(live_get_until(fd, out, 65536, "{\"n\":1}\n\n"));
    close(fd);
    copy_id(strstr(out, "-0\n\n"), "-0", first, sizeof(first));
    cr_assert(ne(str, first, begin));
    pfc_httpd_publish(http, "run", "other", "{\"n\":2}");
    pfc_httpd_publish(http, "alert", "mine", "{\"n\":3}");
    pfc_httpd_publish(http, "bisection", "", "{\"n\":4}");

    fd = open_stream(http, first, "{\"n\":4}\n\n", out, 65536);
    cr_assert(eq(ptr, strstr(out, "{\"n\":1}"), NULL), "sent again");
    cr_assert(eq(ptr, strstr(out, "{\"n\":2}"), NULL), "another project's");
    cr_assert(ne(ptr, strstr(out, "event: alert\ndata: {\"n\":3}\n\n"), NULL));
    cr_assert(eq(ptr, strstr(out, "event: reset"), NULL));
    cr_assert(live_get_until(fd, out, 65536, "-4\n\n"), "and where it stands now");
    close(fd);
    fd = open_stream(http, begin, "{\"n\":4}\n\n", out, 65536);
    cr_assert(ne(ptr, strstr(out, "{\"n\":1}"), NULL));
    close(fd);

    /* unknown ids: another server's, an invalid one, a future one, one that is no longer stored */
    for (size_t i = 0; i < PFC_ARRAY_LEN(unknown); i++)
        close(open_stream(http, unknown[i], "event: reset\n", out, 65536));
    (void)snprintf(ahead, sizeof(ahead), "%.32s-5", begin);
    close(open_stream(http, ahead, "event: reset\n", out, 65536));
    for (int i = 0; i < 600; i++)
        pfc_httpd_publish(http, "run", "other", "{}");
    close(open_stream(http, first, "event: reset\n", out, 65536));
    (void)snprintf(ahead, sizeof(ahead), "%.32s-604", begin);
    fd = open_stream(http, ahead, "-604\n\n", out, 65536);
    cr_assert(eq(ptr, strstr(out, "event: reset"), NULL), "it missed no event");

    /* after a database failure: open streams get a reset, and so do clients that reconnect */
    pfc_httpd_wake_all(http);
    cr_assert(live_get_until(fd, out, 65536, "event: reset\n"));
    close(fd);
    close(open_stream(http, ahead, "event: reset\n", out, 65536));
    free(out);
    pfc_httpd_free(http);
}

static bool has_streams(pfc_httpd *http, const char *line)
{
    pfc_buf text;
    bool has;

    pfc_buf_init(&text, 1 << 20);
    pfc_httpd_metrics(http, &text);
    has = strstr(pfc_buf_text(&text), line) != NULL;
    pfc_buf_clear(&text);
    return has;
}

Test(waits, events_without_a_reader_are_dropped_and_a_late_reader_starts_again)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char *out = pfc_alloc(65536), id[64], before[80];
    int fd;

    cr_assert(not(pfc_httpd_news(http)));
    fd = open_stream(http, NULL, "\n\n", out, 65536);
    copy_id(out, ": open", id, sizeof(id));
    cr_assert(pfc_httpd_news(http));
    close(fd);
    /* it may come back: what comes meanwhile is kept */
    cr_assert(pfc_httpd_news(http));
    pfc_httpd_publish(http, "run", "mine", "{\"n\":1}");
    close(open_stream(http, id, "{\"n\":1}\n\n", out, 65536));
    /* also for a number that was never sent */
    for (unsigned n = 0; n < (unsigned)atoi(id + 33); n++) {
        (void)snprintf(before, sizeof(before), "%.32s-%u", id, n);
        close(open_stream(http, before, "event: reset\n", out, 65536));
    }
    free(out);
    pfc_httpd_free(http);
}

/* It would hold its queue, its socket and its place for ever. */
Test(waits, a_stream_without_a_reader_is_closed)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192], *large = pfc_alloc(8192);
    int64_t end_ns = pfc_clock_ns() + (int64_t)DEADLINE_S * PFC_NS_PER_S;
    int idle = open_stream(http, NULL, ": open", out, sizeof(out));
    int reader = open_stream(http, NULL, "-0\n\n", out, sizeof(out));
    bool cut = false;

    memset(large, 'x', 8000);
    while (!cut && pfc_clock_ns() < end_ns) {
        pfc_httpd_publish(http, "run", "mine", large);
        memset(out, 0, sizeof(out));
        cr_assert(live_get_until(reader, out, sizeof(out), "\n\n"),
                  "a stream that is read misses no event");
        cut = has_streams(http, "perfci_http_streams 1\n");
    }
    cr_assert(cut);
    close(idle);
    close(reader);
    free(large);
    pfc_httpd_free(http);
}

/* A HEAD of a stream has no body that could ever be written: it must end all the same. */
Test(waits, head_of_a_stream_ends)
{
    pfc_app app = { 0 };
    pfc_httpd *http = live_start(&app);
    char out[8192];

    live_ask(http, "HEAD /events HTTP/1.1\r\n" HEAD "\r\n", out, sizeof(out));
    cr_assert(eq(int, live_status_of(out), 200));
    cr_assert(eq(ptr, strstr(out, ": open"), NULL));
    until_waiting(http, "perfci_http_streams 0\n");
    pfc_httpd_free(http);
}
