/* The little server and client of the tests that ask a daemon in their own process. */
#include "tests/server/http/live.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/services/access/access.h"

#include "tests/check/check.h"

/* ---- a little server ---- */

static pfc_code echo(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    (void)app;
    return pfc_reply_json(
        reply, 200,
        json_pack("{s:I, s:s}", "len", (json_int_t)req->body_len, "method", req->method), err);
}

/* More than any socket's buffers take. */
static pfc_code huge(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    const size_t len = 32u * 1024 * 1024;
    char *text = pfc_alloc(len + 1);

    (void)app;
    (void)req;
    (void)err;
    memset(text, 'x', len);
    return pfc_reply_text(reply, 200, "text/plain", text);
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

static bool is_same(const void *self, const void *offer)
{
    return strcmp(self, offer) == 0;
}

/* Waits for an offer of the word in its path. */
static pfc_code waits_for(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    const pfc_wish wish = { is_same, free, pfc_strdup(pfc_req_param(req, "word")) };

    atomic_fetch_add(&app->calls, 1);
    if (req->again || req->stopping) {
        free(wish.self);
        return pfc_reply_json(reply, 200, json_pack("{s:b}", "again", req->again), err);
    }
    return pfc_reply_wait_for(reply, "job", wish, 30);
}

/* Keeps its thread, as a slow database would. */
static pfc_code is_busy(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    (void)req;
    (void)err;
    atomic_fetch_add(&app->busy, 1);
    while (!atomic_load(&app->done))
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    return pfc_reply_empty(reply);
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

/* Reading is closed to strangers when this one has just been let in. */
static pfc_code late_events(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    pfc_httpd_tune(app->http, 0, 0, false);
    return events(app, req, reply, err);
}

const pfc_route live_routes[] = {
    { "GET", "/echo", PFC_HTTPD_OPEN, echo, NULL, NULL, "", "200", NULL },
    { "POST", "/echo", PFC_HTTPD_OPEN, echo, NULL, "Any", "", "200", NULL },
    { "PATCH", "/echo", PFC_HTTPD_OPEN, echo, NULL, "Any", "", "200", NULL },
    { "GET", "/healthz", PFC_HTTPD_OPEN, echo, NULL, NULL, "", "200", NULL },
    { "GET", "/metrics", PFC_HTTPD_OPEN, echo, NULL, NULL, "", "200", NULL },
    { "GET", "/busy", PFC_HTTPD_OPEN, is_busy, NULL, NULL, "", "204", NULL },
    { "GET", "/large", PFC_HTTPD_OPEN, large, NULL, NULL, "", "200", NULL },
    { "GET", "/waits", PFC_HTTPD_OPEN, waits, NULL, NULL, "", "200", NULL },
    { "GET", "/waits/{word}", PFC_HTTPD_OPEN, waits_for, NULL, NULL, "", "200", NULL },
    { "GET", "/brief", PFC_HTTPD_OPEN, waits_briefly, NULL, NULL, "", "204", NULL },
    { "GET", "/huge", PFC_HTTPD_OPEN, huge, NULL, NULL, "", "200", NULL },
    { "POST", "/guarded", PFC_SCOPE_INGEST, echo, NULL, "Any", "", "200", NULL },
    { "POST", "/triage", PFC_SCOPE_TRIAGE, echo, NULL, "Any", "", "200", NULL },
    { "GET", "/own-events", PFC_SCOPE_INGEST, events, NULL, NULL, "", "200", NULL },
    { "GET", "/late-events", PFC_SCOPE_READ, late_events, NULL, NULL, "", "200", NULL },
    { "GET", "/events", PFC_HTTPD_OPEN, events, NULL, NULL, "", "200", NULL },
};
const size_t live_routes_len = PFC_ARRAY_LEN(live_routes);

pfc_httpd *live_start_with(pfc_app *app, double request_timeout_s)
{
    const pfc_httpd_opts opts = {
        .listen = "127.0.0.1:0",
        .threads = 2,
        .request_timeout_s = request_timeout_s,
        .routes = live_routes,
        .routes_len = live_routes_len,
        .app = app,
    };
    pfc_httpd *http = NULL;
    pfc_err err = { 0 };

    pfc_log_set_level(PFC_ERROR);
    cr_assert(eq(int, pfc_httpd_start(&opts, &http, &err), PFC_OK), "%s", err.msg);
    return http;
}

pfc_httpd *live_start(pfc_app *app)
{
    return live_start_with(app, 60);
}

/* ---- a little client ---- */

int live_dial(const pfc_httpd *http)
{
    return live_dial_url(pfc_httpd_url(http));
}

int live_dial_url(const char *url)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
    cr_assert(eq(int, connect(fd, (struct sockaddr *)&to, sizeof(to)), 0));
    return fd;
}

bool live_put(int fd, const void *bytes, size_t len)
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
bool live_get_until(int fd, char *out, size_t cap, const char *until)
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
void live_ask(const pfc_httpd *http, const char *request, char *out, size_t cap)
{
    live_ask_url(pfc_httpd_url(http), request, out, cap);
}

void live_ask_url(const char *url, const char *request, char *out, size_t cap)
{
    int fd = live_dial_url(url);

    out[0] = '\0';
    (void)live_put(fd, request, strlen(request));
    cr_assert(live_get_until(fd, out, cap, NULL));
    close(fd);
}

int live_status_of(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : -1;
}
