/*
 * Connections: their limit, and the deadlines that end slow ones (libmicrohttpd's time-out measures
 * inactivity only).
 */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/http/internal.h"

#define OTHER_FILES 256 /* database connections, logs, libmicrohttpd's own, evicted ones */
#define EVICTED_MAX 128 /* shut down and not closed yet */

unsigned httpd_raise_file_limit(unsigned connections)
{
    struct rlimit limit;
    rlim_t want = (rlim_t)connections + OTHER_FILES;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= want)
        return connections;
    limit.rlim_cur = PFC_MIN(want, limit.rlim_max);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= want)
        return connections;
    connections =
        limit.rlim_cur > 2 * OTHER_FILES ? (unsigned)(limit.rlim_cur - OTHER_FILES) : OTHER_FILES;
    pfc_log(PFC_WARN, "connections_limited_by_open_files", "connections", connections, "open_files",
            (unsigned)limit.rlim_cur);
    return connections;
}

/* Has this address all it may have? Under the lock. */
static bool is_over_address_limit(const pfc_httpd *http, const pfc_address *peer)
{
    const unsigned char *key, *other;
    size_t len = httpd_peer_key(peer, &key);
    unsigned has = 0;

    if (http->opts.connections_each == 0 || pfc_nets_hold(&http->trusted, peer))
        return false;
    for (const httpd_conn *conn = http->conns; conn; conn = conn->next)
        has += !conn->ops && !conn->spare && !conn->evicted &&
               httpd_peer_key(&conn->peer, &other) == len && memcmp(other, key, len) == 0;
    return has >= http->opts.connections_each;
}

/* Under the lock. */
static void take_out(pfc_httpd *http, httpd_conn *conn)
{
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        http->conns = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    else
        http->oldest = conn->prev;
    http->conns_len--;
    http->evicted_len -= conn->evicted;
    http->spares_len -= conn->spare;
    http->ops_len -= conn->ops;
}

/* Closes an unused connection, by the acceptor's thread: one that is still the acceptor's at once;
 * of another the socket is shut down, and its thread closes it a moment later. Under the lock. */
static bool make_room(pfc_httpd *http, bool *soon)
{
    httpd_conn *victim;

    /* So many sockets may be open beyond the limit. */
    if (http->evicted_len >= EVICTED_MAX) {
        *soon = true;
        return false;
    }
    victim = httpd_conn_victim(http, pfc_clock_ns(), soon);
    if (!victim)
        return false;
    atomic_fetch_add(&http->evicted, 1);
    if (victim->stage == HTTPD_ACCEPTED) {
        take_out(http, victim);
        (void)close(victim->fd);
        free(victim);
        return true;
    }
    victim->evicted = true;
    http->evicted_len++;
    (void)shutdown(victim->fd, SHUT_RDWR);
    return true;
}

/* Finds it a place. Under the lock. */
static bool reserve(pfc_httpd *http, httpd_conn *conn, bool can_peek, bool *soon)
{
    const size_t ordinary = http->conns_len - http->spares_len - http->ops_len - http->evicted_len;

    if (conn->ops)
        return http->ops_len < PFC_HTTPD_OPS;
    if (!is_over_address_limit(http, &conn->peer) &&
        (ordinary < http->opts.connections || make_room(http, soon)))
        return true;
    if (*soon)
        return false;
    /* Health probes are answered even when all connections are in use. */
    conn->spare = can_peek;
    return can_peek && http->spares_len < PFC_HTTPD_SPARE;
}

httpd_conn *httpd_conn_admit(pfc_httpd *http, int fd, const struct sockaddr_storage *from,
                             socklen_t len, bool can_peek, bool ops, bool *soon)
{
    httpd_conn *conn = pfc_alloc(sizeof(*conn));
    bool room;

    conn->fd = fd;
    conn->from = *from;
    conn->from_len = len;
    conn->since_ns = pfc_clock_ns();
    conn->deadline_ns = conn->since_ns + (int64_t)(http->opts.request_timeout_s * 1e9);
    conn->reading = true;
    conn->ops = ops;
    (void)pfc_address_of((const struct sockaddr *)from, &conn->peer);
    pthread_mutex_lock(&http->lock);
    *soon = false;
    room = reserve(http, conn, can_peek, soon);
    if (room) {
        conn->next = http->conns;
        if (http->conns)
            http->conns->prev = conn;
        else
            http->oldest = conn;
        http->conns = conn;
        http->conns_len++;
        http->spares_len += conn->spare;
        http->ops_len += conn->ops;
    }
    pthread_mutex_unlock(&http->lock);
    if (room)
        return conn;
    if (!*soon)
        atomic_fetch_add(&http->refused, 1);
    free(conn);
    return NULL;
}

void httpd_conn_hand_over(pfc_httpd *http, httpd_conn *conn, bool health)
{
    pthread_mutex_lock(&http->lock);
    conn->stage = HTTPD_HANDED_OVER;
    conn->health = health;
    pthread_mutex_unlock(&http->lock);
}

void httpd_conn_drop(pfc_httpd *http, httpd_conn *conn)
{
    pthread_mutex_lock(&http->lock);
    take_out(http, conn);
    pthread_mutex_unlock(&http->lock);
    free(conn);
}

/* Called with the lock held. The newest come first, and it is one of them that is looked for. */
static httpd_conn *find(const pfc_httpd *http, int fd)
{
    for (httpd_conn *conn = http->conns; conn; conn = conn->next) {
        if (conn->stage == HTTPD_HANDED_OVER && conn->fd == fd)
            return conn;
    }
    return NULL;
}

httpd_conn *httpd_conns_accepted(pfc_httpd *http, bool ops)
{
    httpd_conn *conn;

    pthread_mutex_lock(&http->lock);
    conn = http->conns;
    while (conn && (conn->stage != HTTPD_ACCEPTED || conn->ops != ops))
        conn = conn->next;
    pthread_mutex_unlock(&http->lock);
    return conn;
}

httpd_conn *httpd_conns_silent(pfc_httpd *http, bool ops)
{
    httpd_conn *found = NULL;

    pthread_mutex_lock(&http->lock);
    if (ops ? http->ops_len == PFC_HTTPD_OPS : http->spares_len == PFC_HTTPD_SPARE) {
        for (httpd_conn *conn = http->conns; conn; conn = conn->next) {
            if (conn->stage == HTTPD_ACCEPTED && (ops ? conn->ops : conn->spare))
                found = conn;
        }
    }
    pthread_mutex_unlock(&http->lock);
    return found;
}

void httpd_conn_deadline(pfc_httpd *http, httpd_conn *conn, int64_t deadline_ns, bool reading)
{
    pthread_mutex_lock(&http->lock);
    conn->deadline_ns = deadline_ns;
    conn->reading = reading;
    conn->idle = false;
    pthread_mutex_unlock(&http->lock);
}

void httpd_conn_idle(pfc_httpd *http, httpd_conn *conn, int64_t now_ns)
{
    pthread_mutex_lock(&http->lock);
    conn->deadline_ns = now_ns + (int64_t)(PFC_HTTPD_IDLE * http->opts.request_timeout_s * 1e9);
    conn->reading = true;
    conn->idle = true;
    conn->admitted = false;
    conn->since_ns = now_ns;
    conn->received = 0;
    pthread_mutex_unlock(&http->lock);
}

void httpd_conn_authorised(pfc_httpd *http, httpd_conn *conn)
{
    if (conn->admitted) /* written by this thread only */
        return;
    pthread_mutex_lock(&http->lock);
    conn->authorised = conn->admitted = true;
    pthread_mutex_unlock(&http->lock);
}

/* Bytes so far, never 0 after a request; those of the connection's set-up count, too. */
static uint64_t received(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 ? info.tcpi_bytes_received : 0;
}

void httpd_conns_check_idle(pfc_httpd *http, int64_t now_ns)
{
    pthread_mutex_lock(&http->lock);
    for (httpd_conn *conn = http->conns; conn; conn = conn->next) {
        uint64_t bytes = conn->idle ? received(conn->fd) : 0;

        if (conn->idle && conn->received && bytes != conn->received) {
            conn->idle = false;
            conn->deadline_ns = now_ns + (int64_t)(http->opts.request_timeout_s * 1e9);
        }
        conn->received = bytes;
    }
    pthread_mutex_unlock(&http->lock);
}

void httpd_on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                         enum MHD_ConnectionNotificationCode what)
{
    pfc_httpd *http = cls;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        httpd_conn *conn;

        pthread_mutex_lock(&http->lock);
        conn = info ? find(http, info->connect_fd) : NULL;
        if (conn)
            conn->stage = HTTPD_SERVED;
        pthread_mutex_unlock(&http->lock);
        *socket_context = conn;
        if (http->tls)
            httpd_tls_connected(http->tls, mhd);
    } else if (*socket_context) {
        /* Before libmicrohttpd closes the socket, so a deadline never meets a reused number. */
        httpd_conn_drop(http, *socket_context);
        *socket_context = NULL;
    }
}

/* In that case this server is slow, not the client, and the connection must not be closed. */
bool httpd_conn_unread(const httpd_conn *conn)
{
    int unread = 0;

    return ioctl(conn->fd, FIONREAD, &unread) == 0 && unread > 0;
}

bool httpd_conns_unread(pfc_httpd *http)
{
    bool unread = false;

    pthread_mutex_lock(&http->lock);
    for (const httpd_conn *conn = http->conns; conn && !unread; conn = conn->next)
        unread = conn->stage == HTTPD_HANDED_OVER || httpd_conn_unread(conn);
    pthread_mutex_unlock(&http->lock);
    return unread;
}

/* While it moves, the socket is about to become libmicrohttpd's, which may close it without a word.
 */
static bool is_late(const httpd_conn *conn, int64_t now_ns)
{
    return conn->stage != HTTPD_HANDED_OVER && conn->deadline_ns && conn->deadline_ns <= now_ns &&
           !(conn->reading && httpd_conn_unread(conn));
}

void httpd_conns_reap(pfc_httpd *http, int64_t now_ns, bool all)
{
    uint64_t ended = 0;

    pthread_mutex_lock(&http->lock);
    for (httpd_conn *conn = http->conns; conn; conn = conn->next) {
        if ((all && conn->stage != HTTPD_HANDED_OVER) || is_late(conn, now_ns)) {
            conn->deadline_ns = 0;
            (void)shutdown(conn->fd, SHUT_RDWR);
            ended++;
        }
    }
    pthread_mutex_unlock(&http->lock);
    if (ended && !all) {
        atomic_fetch_add(&http->timeouts, ended);
        pfc_log(PFC_DEBUG, "slow_clients_disconnected", "connections", ended);
    }
}
