/*
 * The daemon's life: sockets, threads, the clock that ends slow clients, an orderly stop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/http/docs_site.h"
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
        int64_t next_ns = httpd_events_tick(&http->events, now_ns);
        struct timespec until;

        if (now_ns - listen_ns >= PFC_HTTPD_IDLE_CHECK_NS) {
            httpd_conns_check_idle(http, now_ns);
            httpd_conns_wake_threads(http);
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
    pfc_log(PFC_DEBUG, "libmicrohttpd_message", "message", (const char *)text);
}

static void init_timer_cond(pfc_httpd *http)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&http->timer_wake, &attr);
    pthread_condattr_destroy(&attr);
}

/* Without a listening socket: the acceptor has it. */
static struct MHD_Daemon *start_daemon(pfc_httpd *http, unsigned threads, bool secure)
{
    struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)PFC_HTTPD_TLS_PRIORITIES },
        { MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)httpd_tls_present },
        { MHD_OPTION_END, 0, NULL },
    };
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                           MHD_USE_ERROR_LOG | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET |
                           (secure ? MHD_USE_TLS : 0);
    struct MHD_OptionItem pool[] = {
        { MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL },
        { MHD_OPTION_END, 0, NULL },
    };

    /* A second more than our own clock, which counts what this does not. */
    const unsigned idle_s = (unsigned)(PFC_HTTPD_IDLE * http->opts.request_timeout_s) + 1;

    if (threads < 2)
        pool[0].option = MHD_OPTION_END;
    if (!secure)
        tls[0].option = MHD_OPTION_END;
    /* The logger first: libmicrohttpd wants it before every other option. */
    return MHD_start_daemon(
        flags, 0, NULL, NULL, httpd_on_access, http, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
        /* libmicrohttpd divides this limit among the threads of the pool, and one thread may have
         * most of the connections. The acceptor enforces the real limit. */
        MHD_OPTION_CONNECTION_LIMIT,
        http->opts.connections * threads + PFC_HTTPD_SPARE + PFC_HTTPD_OPS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PFC_HTTPD_POOL_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_COMPLETED, httpd_on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
        httpd_on_connection, http, MHD_OPTION_ARRAY, pool, MHD_OPTION_ARRAY, tls,
        MHD_OPTION_URI_LOG_CALLBACK, httpd_on_request_line, http, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_END);
}

/* The one that was passed (> 0), or a new one. */
static pfc_code take_socket(const char *flag, const char *address, int passed, int *fd, char *url,
                            size_t url_cap, pfc_err *err)
{
    pfc_code code;

    if (passed <= 0)
        return httpd_listen(flag, address, fd, url, url_cap, err);
    code = httpd_adopt(passed, url, url_cap, err);
    if (!code)
        *fd = passed;
    return code;
}

/* Everything that needs no socket and no thread. */
static pfc_code prepare(pfc_httpd *http, const pfc_httpd_opts *opts, pfc_err *err)
{
    pfc_code code;

    if (opts->routes_len > PFC_HTTPD_MAX_ROUTES)
        pfc_die("http: %zu routes, at most %d", opts->routes_len, PFC_HTTPD_MAX_ROUTES);
    http->opts = *opts;
    http->opts.tls_cert = http->opts.tls_key = NULL; /* the caller's to wipe */
    if (http->opts.threads == 0)
        http->opts.threads = 8;
    if (http->opts.connections == 0)
        http->opts.connections = 1024;
    http->opts.connections = httpd_raise_file_limit(http->opts.connections);
    if (http->opts.bodies_bytes == 0)
        http->opts.bodies_bytes = PFC_HTTPD_BODIES_BYTES;
    if (!(http->opts.request_timeout_s > 0))
        http->opts.request_timeout_s = 30;
    http->stats = pfc_calloc(opts->routes_len + 1, sizeof(*http->stats));
    pthread_mutex_init(&http->lock, NULL);
    pthread_mutex_init(&http->uploads_lock, NULL);
    init_timer_cond(http);
    httpd_events_init(&http->events);
    http->limits = httpd_limits_new();
    pfc_httpd_tune(http, opts->rate_address, opts->rate_token, opts->public_read);
    atomic_store(&http->tick_ns, pfc_clock_ns());
    code = pfc_nets_parse(opts->trusted, "--trusted-proxies", &http->trusted, err);
    if (!code && opts->tls_cert)
        code = httpd_tls_new(opts->tls_cert, opts->tls_key, &http->tls, err);
    if (!code && opts->docs)
        code = httpd_docs_load(opts->docs, &http->docs, err);
    return code;
}

static pfc_code take_sockets(pfc_httpd *http, bool with_ops, int *fd, int *ops_fd, pfc_err *err)
{
    const pfc_httpd_opts *opts = &http->opts;
    pfc_code code = take_socket("--listen", opts->listen, opts->listen_fd, fd, http->url,
                                sizeof(http->url), err);

    if (!code && !http->tls && !opts->allow_plain && !httpd_is_loopback(*fd))
        code = pfc_err_set(err, PFC_EINVAL,
                           "%s: plain HTTP shows tokens to the network; expected --tls-cert and "
                           "--tls-key, or --plain-http when a proxy or a tunnel in front of it "
                           "encrypts (a loopback address needs neither)",
                           http->url);
    if (!code)
        httpd_hosts_init(&http->hosts, opts->hosts, opts->public_url, httpd_is_loopback(*fd));
    if (!code && http->tls) {
        memmove(http->url + 5, http->url + 4, strlen(http->url + 4) + 1);
        http->url[4] = 's';
    }
    if (!code && with_ops)
        code = take_socket("--ops-listen", opts->ops_listen, opts->ops_fd, ops_fd, http->ops_url,
                           sizeof(http->ops_url), err);
    return code;
}

static pfc_code start_threads(pfc_httpd *http, bool with_ops, pfc_err *err)
{
    if (pthread_create(&http->timer, NULL, timer_main, http) != 0)
        return pfc_err_set(err, PFC_EIO, "http: no thread for the timer");
    http->timer_running = true;
    http->daemon = start_daemon(http, http->opts.threads, http->tls != NULL);
    if (http->daemon)
        http->health = start_daemon(http, 1, false);
    if (http->health && with_ops)
        http->ops = start_daemon(http, 1, false);
    if (!http->daemon || !http->health || (with_ops && !http->ops))
        return pfc_err_set(err, PFC_EIO, "http: libmicrohttpd does not start: %s", strerror(errno));
    return PFC_OK;
}

pfc_code pfc_httpd_start(const pfc_httpd_opts *opts, pfc_httpd **out, pfc_err *err)
{
    pfc_httpd *http = pfc_alloc(sizeof(*http));
    const bool with_ops = opts->ops_listen || opts->ops_fd > 0;
    int fd = -1, ops_fd = -1;
    pfc_code code = prepare(http, opts, err);

    if (!code)
        code = take_sockets(http, with_ops, &fd, &ops_fd, err);
    if (!code)
        code = start_threads(http, with_ops, err);
    if (!code)
        code = httpd_acceptor_open(http, fd, false, &http->acceptor, err);
    if (code)
        goto done;
    fd = -1; /* owned by the acceptor */
    if (with_ops)
        code = httpd_acceptor_open(http, ops_fd, true, &http->ops_acceptor, err);
    if (code)
        goto done;
    ops_fd = -1;
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
    if (atomic_exchange(&http->public_read, public_read) && !public_read)
        httpd_events_end_public(&http->events);
}

pfc_code pfc_httpd_renew(pfc_httpd *http, const char *tls_cert, const char *tls_key, bool *renewed,
                         pfc_err *err)
{
    if (!http->tls)
        return pfc_err_set(err, PFC_EINVAL, "--tls-cert: the server uses plain HTTP");
    return httpd_tls_renew(http->tls, tls_cert, tls_key, renewed, err);
}

double pfc_httpd_silent_s(const pfc_httpd *http)
{
    return (double)(pfc_clock_ns() - atomic_load(&http->tick_ns)) * 1e-9;
}

double pfc_httpd_stuck_s(const pfc_httpd *http)
{
    if (atomic_load(&http->handling) < http->opts.threads)
        return 0;
    return (double)(pfc_clock_ns() - atomic_load(&http->handler_ns)) * 1e-9;
}

const char *pfc_httpd_url(const pfc_httpd *http)
{
    return http->url;
}

const pfc_route *pfc_httpd_routes(const pfc_httpd *http, size_t *len)
{
    *len = http->opts.routes_len;
    return http->opts.routes;
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
    httpd_acceptor_close(http->acceptor);
    httpd_acceptor_close(http->ops_acceptor);
    http->acceptor = http->ops_acceptor = NULL;
    if (!http->daemon)
        return;
    httpd_events_stop(&http->events);
    if (!settle(http, grace_s)) {
        httpd_events_abandon(&http->events);
        httpd_conns_reap(http, 0, true);
        (void)settle(http, 2);
    }
    pthread_mutex_lock(&http->lock);
    http->ended = true;
    pthread_mutex_unlock(&http->lock);
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
    httpd_events_clear(&http->events);
    httpd_limits_free(http->limits);
    httpd_tls_free(http->tls);
    httpd_docs_free(http->docs);
    httpd_hosts_clear(&http->hosts);
    pthread_cond_destroy(&http->timer_wake);
    pthread_mutex_destroy(&http->lock);
    pthread_mutex_destroy(&http->uploads_lock);
    free(http->stats);
    free(http);
}
