/*
 * The acceptor: one thread accepts connections, waits for their first bytes and hands them to
 * libmicrohttpd. GET /healthz goes to a thread that serves nothing else: the pool's threads answer
 * a burst of requests whenever a group of runs was committed, and a probe that waited behind it
 * would report a busy server as failed. For the same reason a few connections are accepted beyond
 * the limit, for /healthz only: the server closes such a connection when it requests anything else,
 * and closes the oldest silent one when a new one arrives.
 *
 * A second acceptor, for operations, is always plain HTTP: under TLS the first bytes of a
 * connection are a handshake, which does not show the path.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/http/internal.h"

#define EVENTS 64
#define FULL_MS                                                                                    \
    50 /* out of descriptors: how long to leave new connections in the kernel's queue \
                          */
#define PEEK_BYTES    32
#define SOON_MS       1 /* between two looks for a place */
#define SOON_TRIES    50
#define BEGIN_S       1.0
#define PRIORITY_NICE (-10)
#define SLICE_NS      100000

struct httpd_acceptor {
    pfc_httpd *http;
    bool ops;
    int listener, epoll, stop; /* stop: an eventfd */
    pthread_t thread;
};

/* The first version of the kernel's structure (linux/sched/types.h): the C library has no wrapper.
 */
typedef struct sched_attr_v0 {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} sched_attr_v0;

void httpd_raise_priority(void)
{
    static _Thread_local bool done;
    sched_attr_v0 attr = {
        .size = sizeof(attr), .policy = SCHED_OTHER, .nice = PRIORITY_NICE, .runtime = SLICE_NS
    };

    if (done)
        return;
    done = true;
    /* The negative nice value needs a privilege, the short slice needs Linux 6.12. Without both the
     * thread runs as the others do. */
    if (syscall(SYS_sched_setattr, 0, &attr, 0)) {
        attr.nice = 0;
        (void)syscall(SYS_sched_setattr, 0, &attr, 0);
    }
}

/* ---- one connection ---- */

/* The request line's beginning, as far as it came with the first bytes. */
static bool asks_health(const char *text)
{
    static const char *const lines[] = { "GET /healthz", "HEAD /healthz" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(lines); i++) {
        const size_t len = strlen(lines[i]);

        if (strncmp(text, lines[i], len) == 0 && (text[len] == ' ' || text[len] == '?'))
            return true;
    }
    return false;
}

static void close_accepted(httpd_acceptor *d, httpd_conn *conn)
{
    const int fd = conn->fd;

    /* The connection is removed from the list before its descriptor can be reused. */
    httpd_conn_drop(d->http, conn);
    (void)close(fd);
}

static void hand_over(httpd_acceptor *d, httpd_conn *conn, bool health)
{
    struct MHD_Daemon *to = health ? d->http->health : (d->ops ? d->http->ops : d->http->daemon);
    const int fd = conn->fd;
    struct sockaddr_storage from = conn->from;

    httpd_conn_hand_over(d->http, conn, health);
    if (MHD_add_connection(to, fd, (const struct sockaddr *)&from, conn->from_len) != MHD_YES)
        httpd_conn_drop(d->http, conn); /* libmicrohttpd has closed the socket */
}

/* Returns false when there is nothing to read yet. */
static bool peek(httpd_acceptor *d, httpd_conn *conn)
{
    char text[PEEK_BYTES + 1];
    const ssize_t n = recv(conn->fd, text, PEEK_BYTES, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (epoll_ctl(d->epoll, EPOLL_CTL_DEL, conn->fd, NULL) && errno != ENOENT)
        pfc_log(PFC_WARN, "connection_handover_failed", "reason", (const char *)strerror(errno));
    if (n <= 0) {
        close_accepted(d, conn);
        return true;
    }
    text[n] = '\0';
    if (conn->spare && !asks_health(text)) {
        atomic_fetch_add(&d->http->refused, 1);
        close_accepted(d, conn);
        return true;
    }
    hand_over(d, conn, asks_health(text));
    return true;
}

static bool can_peek(const httpd_acceptor *d)
{
    return d->ops || !d->http->tls;
}

static void wait_for_bytes(httpd_acceptor *d, httpd_conn *conn)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };

    if (!can_peek(d)) /* its first bytes are a handshake, and that is libmicrohttpd's */
        hand_over(d, conn, false);
    else if (!peek(d, conn) && epoll_ctl(d->epoll, EPOLL_CTL_ADD, conn->fd, &event))
        close_accepted(d, conn);
}

/* ---- the thread ---- */

/* If all places are taken, one may become free as soon as a thread of the pool has run. The new
 * connection waits for that, and so do those after it. */
static httpd_conn *admit(httpd_acceptor *d, int fd, const struct sockaddr_storage *from,
                         socklen_t len)
{
    struct pollfd stop = { .fd = d->stop, .events = POLLIN };
    httpd_conn *conn = NULL;
    bool soon = true;

    for (int i = 0; i < SOON_TRIES && !conn && soon; i++) {
        if (i > 0)
            (void)poll(&stop, 1, SOON_MS);
        conn = httpd_conn_admit(d->http, fd, from, len, can_peek(d), d->ops, &soon);
    }
    if (!conn && soon)
        atomic_fetch_add(&d->http->refused, 1);
    return conn;
}

/* Accepts a few at a time, because the existing connections have waited longer. Returns false if no
 * more are pending. */
static bool accept_some(httpd_acceptor *d)
{
    for (int i = 0; i < EVENTS; i++) {
        struct sockaddr_storage from = { 0 };
        socklen_t len = sizeof(from);
        const int fd =
            accept4(d->listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        httpd_conn *conn, *silent;

        if (fd < 0) {
            struct pollfd stop = { .fd = d->stop, .events = POLLIN };

            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                (void)poll(&stop, 1, FULL_MS);
            return false;
        }
        /* A health probe sends its request at once, so a connection that is still silent can be
         * closed. */
        silent = can_peek(d) ? httpd_conns_silent(d->http, d->ops) : NULL;
        if (silent && !peek(d, silent))
            close_accepted(d, silent);
        conn = admit(d, fd, &from, len);
        if (conn)
            wait_for_bytes(d, conn);
        else
            (void)close(fd);
    }
    return true;
}

static void *acceptor_main(void *arg)
{
    httpd_acceptor *d = arg;
    bool stop = false;

    httpd_raise_priority();
    while (!stop) {
        struct epoll_event events[EVENTS];
        const int n = epoll_wait(d->epoll, events, EVENTS, -1);
        bool news = false;

        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &d->stop)
                stop = true;
            else if (events[i].data.ptr == &d->listener)
                news = true;
            else
                (void)peek(d, events[i].data.ptr);
        }
        if (news && !stop)
            (void)accept_some(d);
    }
    return NULL;
}

static pfc_code watch(httpd_acceptor *d, int fd, int *what, pfc_err *err)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    if (epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &event))
        return pfc_err_set(err, PFC_EIO, "http: epoll: %s", strerror(errno));
    return PFC_OK;
}

pfc_code httpd_acceptor_open(pfc_httpd *http, int listener, bool ops, httpd_acceptor **out,
                             pfc_err *err)
{
    httpd_acceptor *d = pfc_alloc(sizeof(*d));
    pfc_code code = PFC_OK;

    d->http = http;
    d->ops = ops;
    d->listener = listener;
    d->epoll = epoll_create1(EPOLL_CLOEXEC);
    d->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->epoll < 0 || d->stop < 0)
        code = pfc_err_set(err, PFC_EIO, "http: epoll: %s", strerror(errno));
    if (!code)
        code = watch(d, d->listener, &d->listener, err);
    if (!code)
        code = watch(d, d->stop, &d->stop, err);
    if (!code && pthread_create(&d->thread, NULL, acceptor_main, d) != 0)
        code = pfc_err_set(err, PFC_EIO, "http: no thread to accept connections");
    if (code) {
        if (d->epoll >= 0)
            (void)close(d->epoll);
        if (d->stop >= 0)
            (void)close(d->stop);
        free(d);
        return code;
    }
    *out = d;
    return PFC_OK;
}

static bool is_lent(const httpd_acceptor *d)
{
    return (d->ops ? d->http->opts.ops_fd : d->http->opts.listen_fd) > 0;
}

/* A client that has just connected is about to send a request, and reports a connection that is
 * closed without an answer as an error. */
static void await_first_bytes(httpd_acceptor *d)
{
    const double begin_s = d->http->opts.begin_s > 0 ? d->http->opts.begin_s : BEGIN_S;
    const int64_t end_ns = pfc_clock_ns() + (int64_t)(begin_s * 1e9);
    int64_t left_ns;

    while (httpd_conns_accepted(d->http, d->ops) && (left_ns = end_ns - pfc_clock_ns()) > 0) {
        struct epoll_event events[EVENTS];
        const int n = epoll_wait(d->epoll, events, EVENTS, (int)(left_ns / PFC_NS_PER_MS) + 1);

        for (int i = 0; i < n; i++)
            (void)peek(d, events[i].data.ptr);
    }
}

void httpd_acceptor_close(httpd_acceptor *d)
{
    const uint64_t one = 1;
    httpd_conn *conn;

    if (!d)
        return;
    if (write(d->stop, &one, sizeof(one)) != (ssize_t)sizeof(one))
        pfc_die("http: cannot stop the accepting thread: %s", strerror(errno));
    pthread_join(d->thread, NULL);
    /* Connections in the kernel's queue are served: closing the socket would reset them. A socket
     * that the service manager also holds keeps its queue for the next server. */
    for (int i = 0; i < EVENTS && !is_lent(d) && accept_some(d); i++)
        continue;
    (void)epoll_ctl(d->epoll, EPOLL_CTL_DEL, d->listener, NULL);
    (void)epoll_ctl(d->epoll, EPOLL_CTL_DEL, d->stop, NULL);
    (void)close(d->listener);
    await_first_bytes(d);
    /* Connections that have sent bytes are served; silent ones have no request that could be lost.
     */
    while ((conn = httpd_conns_accepted(d->http, d->ops)) != NULL) {
        if (!peek(d, conn))
            close_accepted(d, conn);
    }
    (void)close(d->epoll);
    (void)close(d->stop);
    free(d);
}
