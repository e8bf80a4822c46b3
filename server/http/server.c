/*
 * The daemon: libmicrohttpd's callbacks around one exchange, the clock that ends slow clients, and
 * an orderly stop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "server/http/internal.h"

static int64_t seconds_ns(double s)
{
    return (int64_t)(s * 1e9);
}

static void *timer_main(void *arg)
{
    pfc_httpd *http = arg;
    int64_t listen_ns = 0;
    bool stop = false;

    while (!stop) {
        int64_t now_ns = pfc_clock_ns();
        int64_t next_ns = httpd_hub_tick(&http->hub, now_ns);
        struct timespec until;

        if (now_ns - listen_ns >= PFC_HTTPD_LISTEN_NS) {
            httpd_conns_listen(http, now_ns);
            listen_ns = now_ns;
        }
        httpd_conns_reap(http, now_ns, false);
        atomic_store(&http->tick_ns, now_ns);
        /* Deadlines are looked at four times a second: exact to what a client can notice. */
        next_ns = PFC_MIN(next_ns, now_ns + PFC_NS_PER_S / 4);
        until.tv_sec = (time_t)(next_ns / PFC_NS_PER_S);
        until.tv_nsec = (long)(next_ns % PFC_NS_PER_S);
        pthread_mutex_lock(&http->lock);
        if (!http->timer_stop)
            (void)pthread_cond_timedwait(&http->timer_wake, &http->lock, &until);
        stop = http->timer_stop;
        pthread_mutex_unlock(&http->lock);
    }
    return NULL;
}

/* ---- one exchange ---- */

static void *on_request_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    pfc_httpd *http = cls;
    httpd_exchange *x = pfc_alloc(sizeof(*x));
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    atomic_fetch_add(&http->active, 1);
    x->http = http;
    x->mhd = mhd;
    x->conn = info ? info->socket_context : NULL;
    x->uri = pfc_strndup(uri, PFC_HTTPD_MAX_URI + 1);
    x->begin_ns = pfc_clock_ns();
    x->route_index = http->opts.routes_len;
    pfc_random_id(x->id);
    pfc_buf_init(&x->body, PFC_HTTPD_MAX_BODY);
    if (x->conn && x->conn->health)
        httpd_hurry();
    if (x->conn)
        httpd_conn_deadline(http, x->conn, x->begin_ns + seconds_ns(http->opts.request_timeout_s),
                            true);
    return x;
}

static void log_exchange(const httpd_exchange *x, int64_t now_ns,
                         enum MHD_RequestTerminationCode how)
{
    char path[200];
    size_t len = strcspn(x->uri, "?");

    /* Without the query: it may hold names that are nobody's business. */
    (void)snprintf(path, sizeof(path), "%.*s", (int)PFC_MIN(len, sizeof(path) - 1), x->uri);
    pfc_log(PFC_INFO, "request", "method", (const char *)x->method, "path", (const char *)path,
            "status", x->status, "bytes", x->sent_bytes, "ms",
            (double)(now_ns - x->begin_ns) * 1e-6, "complete",
            (bool)(how == MHD_REQUEST_TERMINATED_COMPLETED_OK), "request", (const char *)x->id);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                         enum MHD_RequestTerminationCode how)
{
    pfc_httpd *http = cls;
    httpd_exchange *x = *con_cls;
    int64_t now_ns = pfc_clock_ns();

    (void)mhd;
    if (!x)
        return;
    *con_cls = NULL;
    httpd_hub_forget(x);
    if (x->later)
        x->later->release(x->ticket);
    httpd_metrics_count(http, x, now_ns);
    log_exchange(x, now_ns, how);
    if (x->conn)
        httpd_conn_rests(http, x->conn, now_ns);
    free(x->uri);
    free(x->decoded);
    free(x->auth_text);
    free(x->cookie_text);
    free(x->key_text);
    free(x->match_text);
    free(x->accept_text);
    pfc_buf_clear(&x->body);
    free(x);
    atomic_fetch_sub(&http->active, 1);
}

static pfc_code answer_options(const char *allow, pfc_reply *reply)
{
    (void)pfc_reply_empty(reply);
    (void)snprintf(reply->allow, sizeof(reply->allow), "%s%sOPTIONS", allow, allow[0] ? ", " : "");
    return PFC_OK;
}

/* All that the listener for operations answers. */
static bool is_operational(const char *path, size_t len)
{
    static const char *const paths[] = { "/healthz", "/readyz", "/metrics", "/version" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(paths); i++) {
        if (strlen(paths[i]) == len && memcmp(paths[i], path, len) == 0)
            return true;
    }
    return false;
}

/* Path and query to a route; *status says what a failure means. */
static pfc_code find_route(httpd_exchange *x, pfc_req *req, pfc_reply *reply, int *status,
                           bool *answered, pfc_err *err)
{
    const pfc_httpd *http = x->http;
    size_t path_len = strcspn(x->uri, "?");
    size_t used = 0;
    httpd_match match;

    if (strlen(x->uri) > PFC_HTTPD_MAX_URI) {
        *status = 414;
        return pfc_err_set(err, PFC_EINVAL, "the address is over %d bytes", PFC_HTTPD_MAX_URI);
    }
    if (x->conn && x->conn->ops && !is_operational(x->uri, path_len))
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "this port answers /healthz, /readyz, /metrics and /version");
    /* Parameters never grow by decoding; names and terminators take the rest. */
    free(x->decoded);
    x->decoded = pfc_alloc(2 * strlen(x->uri) + 256);
    match =
        httpd_route(http->opts.routes, http->opts.routes_len, req->method, x->uri, path_len,
                    x->decoded, &used, req, &x->route_index, reply->allow, sizeof(reply->allow));
    if (match == HTTPD_BAD_PATH)
        return pfc_err_set(err, PFC_EINVAL, "the path holds a broken escape or control byte");
    if (match == HTTPD_NO_METHOD && strcmp(req->method, "OPTIONS") == 0) {
        char allow[sizeof(reply->allow)];

        memcpy(allow, reply->allow, sizeof(allow));
        *answered = true;
        return answer_options(allow, reply);
    }
    if (match == HTTPD_NO_METHOD) {
        *status = 405;
        return pfc_err_set(err, PFC_EINVAL, "%s is not answered here; try %s", x->method,
                           reply->allow);
    }
    if (match == HTTPD_NO_PATH) {
        char *path = pfc_strndup(x->uri, path_len);
        pfc_code code = PFC_ENOTFOUND;

        if (strcmp(req->method, "GET") == 0)
            code = pfc_static_serve(path, reply, err);
        else
            (void)pfc_err_set(err, PFC_ENOTFOUND, "nothing is at this path");
        free(path);
        *answered = code == PFC_OK;
        return code;
    }
    return httpd_query_parse(x->uri[path_len] ? x->uri + path_len + 1 : "", req->route->query,
                             x->decoded + used, req, err);
}

/* Probes are never refused: what watches the service must see it. */
static bool over_address_limit(httpd_exchange *x, const pfc_req *req)
{
    const pfc_httpd *http = x->http;
    const unsigned char *key;
    pfc_address peer;
    size_t len;

    if (x->counted || !x->conn || !req->route || req->route->scopes == PFC_HTTPD_OPEN)
        return false;
    x->counted = true;
    peer = x->conn->peer;
    if (pfc_nets_hold(&http->trusted, &peer) &&
        !httpd_forwarded_for(
            MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, "X-Forwarded-For"), &http->trusted,
            &peer))
        return false;
    len = httpd_peer_key(&peer, &key);
    x->retry_s = httpd_limits_take(http->limits, atomic_load(&http->rate_address), 'a', key, len,
                                   pfc_clock_ns());
    return x->retry_s > 0;
}

/* Fills *reply, whatever happens. */
static void call_handler(httpd_exchange *x, pfc_reply *reply)
{
    pfc_httpd *http = x->http;
    pfc_req req = { .id = x->id, .path = x->uri, .idempotency_key = x->key_text };
    pfc_err err = { 0 };
    bool answered = false;
    int status = 0;
    pfc_code code;

    req.method = strcmp(x->method, "HEAD") == 0 ? "GET" : x->method;
    req.waited_s = (double)(pfc_clock_ns() - x->complete_ns) * 1e-9;
    req.stopping = atomic_load(&http->stopping);

    if (x->fault_status) {
        httpd_reply_error(reply, x->fault_status, &x->fault);
        return;
    }
    code = find_route(x, &req, reply, &status, &answered, &err);
    if (!code && !answered && over_address_limit(x, &req))
        code = httpd_too_many(http, "this address", &status, &err);
    if (x->later) {
        req.auth = x->auth;
        req.later = x->ticket;
        req.body = "";
    } else {
        if (!code && !answered)
            code = httpd_authorise(http, x, &req, &status, &err);
        if (!code && !answered)
            code = httpd_request_body(x, &req, &err);
    }
    if (!code && !answered) {
        reply->allow[0] = '\0';
        code = req.route->handle(http->opts.app, &req, reply, &err);
        x->auth = req.auth;
    }
    if (!code)
        return;
    if (err.code == PFC_OK)
        err.code = code;
    if (status == 0)
        status = httpd_status_of(code);
    if (status >= 500)
        pfc_log(status == 500 ? PFC_ERROR : PFC_WARN, "request failed", "status", status, "reason",
                (const char *)err.msg);
    if (status != 405)
        reply->allow[0] = '\0';
    httpd_reply_error(reply, status, &err);
}

/* Suspends, then starts the work; false: the server stops, call the handler again at once. */
static bool give_away(httpd_exchange *x, const pfc_reply *reply)
{
    uint64_t tag;

    x->later = reply->later;
    x->ticket = reply->ticket;
    tag = httpd_hub_wait_later(x, pfc_clock_ns() + seconds_ns(reply->wait_s));
    if (tag)
        reply->later->start(x->http->opts.app, reply->ticket, tag);
    return tag != 0;
}

static enum MHD_Result dispatch(httpd_exchange *x)
{
    pfc_httpd *http = x->http;

    for (;;) {
        uint64_t generation = httpd_hub_generation(&http->hub);
        pfc_reply reply = { 0 };
        int64_t now_ns, end_ns;

        pfc_log_set_request(x->id);
        call_handler(x, &reply);
        pfc_log_set_request(NULL);
        now_ns = pfc_clock_ns();

        if (reply.events)
            return httpd_hub_stream(x, reply.project);
        if (reply.later) {
            if (give_away(x, &reply))
                return MHD_YES;
            continue;
        }
        if (!reply.wait_topic) {
            if (x->conn)
                httpd_conn_deadline(http, x->conn, now_ns + seconds_ns(PFC_HTTPD_WRITE_S), false);
            return httpd_reply_send(x, &reply,
                                    atomic_load(&http->stopping) || (x->conn && x->conn->health));
        }
        end_ns = x->complete_ns + seconds_ns(reply.wait_s);
        end_ns = PFC_MIN(end_ns, now_ns + PFC_HTTPD_RECHECK_S * PFC_NS_PER_S);
        if (httpd_hub_wait(x, reply.wait_topic, generation, end_ns))
            return MHD_YES;
    }
}

/* Before the body: a fault that makes its end unknowable is answered at once, and the socket ends. */
static enum MHD_Result begin(httpd_exchange *x, const char *method)
{
    pfc_httpd *http = x->http;
    double body_s;
    int status;

    x->seen = true;
    (void)snprintf(x->method, sizeof(x->method), "%s", method);
    status = httpd_request_headers(x);
    if (status) {
        pfc_reply reply = { 0 };

        httpd_reply_error(&reply, status, &x->fault);
        return httpd_reply_send(x, &reply, true);
    }
    body_s = (double)httpd_request_length(x) / PFC_HTTPD_BODY_RATE;
    if (x->conn)
        httpd_conn_deadline(http, x->conn,
                            x->begin_ns + seconds_ns(http->opts.request_timeout_s + body_s), true);
    return MHD_YES;
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_size, void **con_cls)
{
    httpd_exchange *x = *con_cls;

    (void)cls;
    (void)mhd;
    (void)url;
    (void)version;
    if (!x)
        return MHD_NO;
    if (!x->seen)
        return begin(x, method);
    if (*upload_size > 0) {
        httpd_request_data(x, upload, *upload_size);
        *upload_size = 0;
        return x->dropped > PFC_HTTPD_DRAIN_BYTES ? MHD_NO : MHD_YES;
    }
    if (!x->complete) {
        x->complete = true;
        x->complete_ns = pfc_clock_ns();
        if (x->conn)
            httpd_conn_deadline(x->http, x->conn, 0, false);
    }
    return dispatch(x);
}

/* Paths and queries are decoded by httpd_decode, which refuses what this would guess. */
static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls;
    (void)mhd;
    return strlen(text);
}

static void on_mhd_log(void *cls, const char *fmt, va_list args) PFC_PRINTF(2, 0);
static void on_mhd_log(void *cls, const char *fmt, va_list args)
{
    char text[256];

    (void)cls;
    (void)vsnprintf(text, sizeof(text), fmt, args);
    text[strcspn(text, "\r\n")] = '\0';
    pfc_log(PFC_DEBUG, "libmicrohttpd", "message", (const char *)text);
}

/* ---- life ---- */

static void init_timer_cond(pfc_httpd *http)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&http->timer_wake, &attr);
    pthread_condattr_destroy(&attr);
}

/* Without a listening socket: the door accepts. tls NULL: plain. */
static struct MHD_Daemon *start_daemon(pfc_httpd *http, unsigned threads,
                                       struct MHD_OptionItem *tls)
{
    struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                           MHD_USE_ERROR_LOG | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET |
                           (tls ? MHD_USE_TLS : 0);
    struct MHD_OptionItem pool[] = {
        { MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL },
        { MHD_OPTION_END, 0, NULL },
    };

    if (threads < 2)
        pool[0].option = MHD_OPTION_END;
    /* The logger first: libmicrohttpd wants it before every other option. */
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, http, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
        /* libmicrohttpd gives each thread of the pool its share of this limit and one of them may
         * have most connections: ours is the door's. */
        MHD_OPTION_CONNECTION_LIMIT,
        http->opts.connections * threads + PFC_HTTPD_SPARE + PFC_HTTPD_OPS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)PFC_HTTPD_IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, httpd_on_connection, http,
        MHD_OPTION_ARRAY, pool, MHD_OPTION_ARRAY, tls ? tls : none, MHD_OPTION_URI_LOG_CALLBACK,
        on_request_line, http, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
}

pfc_code pfc_httpd_start(const pfc_httpd_opts *opts, pfc_httpd **out, pfc_err *err)
{
    pfc_httpd *http = pfc_alloc(sizeof(*http));
    struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)opts->tls_cert },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)opts->tls_key },
        { MHD_OPTION_END, 0, NULL },
    };
    int fd = -1, ops_fd = -1;
    pfc_code code;

    if (opts->routes_len > PFC_HTTPD_MAX_ROUTES)
        pfc_die("http: %zu routes, at most %d", opts->routes_len, PFC_HTTPD_MAX_ROUTES);
    http->opts = *opts;
    http->secure = opts->tls_cert != NULL;
    http->opts.tls_cert = http->opts.tls_key = NULL; /* the caller's to wipe */
    if (http->opts.threads == 0)
        http->opts.threads = 8;
    if (http->opts.connections == 0)
        http->opts.connections = 1024;
    http->opts.connections = httpd_make_room(http->opts.connections);
    if (!(http->opts.request_timeout_s > 0))
        http->opts.request_timeout_s = 30;
    http->stats = pfc_calloc(opts->routes_len + 1, sizeof(*http->stats));
    pthread_mutex_init(&http->lock, NULL);
    init_timer_cond(http);
    httpd_hub_init(&http->hub);
    http->limits = httpd_limits_new();
    pfc_httpd_tune(http, opts->rate_address, opts->rate_token, opts->public_read);
    atomic_store(&http->tick_ns, pfc_clock_ns());

    code = pfc_nets_parse(opts->trusted, "--trusted-proxies", &http->trusted, err);
    if (code)
        goto done;
    code = opts->listen_fd > 0
               ? httpd_adopt(opts->listen_fd, http->url, sizeof(http->url), err)
               : httpd_listen("--listen", opts->listen, &fd, http->url, sizeof(http->url), err);
    if (!code && opts->listen_fd > 0)
        fd = opts->listen_fd;
    if (!code && opts->ops_listen)
        code = httpd_listen("--ops-listen", opts->ops_listen, &ops_fd, http->ops_url,
                            sizeof(http->ops_url), err);
    if (code)
        goto done;
    if (pthread_create(&http->timer, NULL, timer_main, http) != 0) {
        code = pfc_err_set(err, PFC_EIO, "http: no thread for the timer");
        goto done;
    }
    http->timer_running = true;
    http->daemon = start_daemon(http, http->opts.threads, http->secure ? tls : NULL);
    if (http->daemon)
        http->health = start_daemon(http, 1, NULL);
    if (http->health && opts->ops_listen)
        http->ops = start_daemon(http, 1, NULL);
    if (!http->daemon || !http->health || (opts->ops_listen && !http->ops)) {
        code = pfc_err_set(err, PFC_EIO, "http: libmicrohttpd does not start: %s", strerror(errno));
        goto done;
    }
    code = httpd_door_open(http, fd, false, &http->door, err);
    if (code)
        goto done;
    fd = -1; /* the door's */
    if (opts->ops_listen)
        code = httpd_door_open(http, ops_fd, true, &http->ops_door, err);
    if (code)
        goto done;
    ops_fd = -1;
    if (opts->tls_cert) {
        memmove(http->url + 5, http->url + 4, strlen(http->url + 4) + 1);
        http->url[4] = 's';
    }
    *out = http;
    http = NULL;

done:
    if (fd >= 0)
        close(fd);
    if (ops_fd >= 0)
        close(ops_fd);
    pfc_httpd_free(http);
    return code;
}

void pfc_httpd_tune(pfc_httpd *http, double rate_address, double rate_token, bool public_read)
{
    atomic_store(&http->rate_address, rate_address);
    atomic_store(&http->rate_token, rate_token);
    atomic_store(&http->public_read, public_read);
}

double pfc_httpd_silent_s(const pfc_httpd *http)
{
    return (double)(pfc_clock_ns() - atomic_load(&http->tick_ns)) * 1e-9;
}

const char *pfc_httpd_url(const pfc_httpd *http)
{
    return http->url;
}

const char *pfc_httpd_ops_url(const pfc_httpd *http)
{
    return http->ops_url;
}

bool pfc_httpd_stopping(const pfc_httpd *http)
{
    return atomic_load(&http->stopping);
}

void pfc_httpd_drain(pfc_httpd *http)
{
    atomic_store(&http->stopping, true);
}

/* Waits until no exchange is under way; false at the deadline. */
static bool settle(pfc_httpd *http, double seconds)
{
    int64_t end_ns = pfc_clock_ns() + seconds_ns(seconds);

    while (atomic_load(&http->active) > 0 || httpd_conns_unread(http)) {
        if (pfc_clock_ns() >= end_ns)
            return false;
        pfc_clock_sleep_ns(2 * PFC_NS_PER_MS);
    }
    return true;
}

void pfc_httpd_stop(pfc_httpd *http, double grace_s)
{
    pfc_httpd_drain(http);
    httpd_door_close(http->door);
    httpd_door_close(http->ops_door);
    http->door = http->ops_door = NULL;
    if (!http->daemon)
        return;
    httpd_hub_stop(&http->hub);
    if (!settle(http, grace_s)) {
        httpd_hub_abandon(&http->hub);
        httpd_conns_reap(http, 0, true);
        (void)settle(http, 2);
    }
    MHD_stop_daemon(http->daemon);
    if (http->health)
        MHD_stop_daemon(http->health);
    if (http->ops)
        MHD_stop_daemon(http->ops);
    http->daemon = http->health = http->ops = NULL;
}

void pfc_httpd_free(pfc_httpd *http)
{
    if (!http)
        return;
    pfc_httpd_stop(http, 5);
    if (http->timer_running) {
        pthread_mutex_lock(&http->lock);
        http->timer_stop = true;
        pthread_cond_signal(&http->timer_wake);
        pthread_mutex_unlock(&http->lock);
        pthread_join(http->timer, NULL);
    }
    httpd_hub_clear(&http->hub);
    httpd_limits_free(http->limits);
    pthread_cond_destroy(&http->timer_wake);
    pthread_mutex_destroy(&http->lock);
    free(http->stats);
    free(http);
}
