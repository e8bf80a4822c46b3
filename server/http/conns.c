/*
 * Connections: how many there may be, and the clock of our own that ends those whose client is slow
 * (libmicrohttpd's counts inactivity only).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/http/internal.h"

#define OTHER_FILES 256 /* database connections, logs, libmicrohttpd's own */

unsigned httpd_make_room(unsigned connections)
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
    pfc_log(PFC_WARN, "fewer connections than asked for: raise the limit of open files",
            "connections", connections, "open_files", (unsigned)limit.rlim_cur);
    return connections;
}

/* Has this address all it may have? Under the lock. */
static bool is_crowding(const pfc_httpd *http, const pfc_address *peer)
{
    const unsigned char *key, *other;
    size_t len = httpd_peer_key(peer, &key);
    unsigned has = 0;

    if (http->opts.connections_each == 0 || pfc_nets_hold(&http->trusted, peer))
        return false;
    for (const httpd_conn *conn = http->conns; conn; conn = conn->next)
        has += httpd_peer_key(&conn->peer, &other) == len && memcmp(other, key, len) == 0;
    return has >= http->opts.connections_each;
}

enum MHD_Result httpd_on_accept(void *cls, const struct sockaddr *address, socklen_t len)
{
    pfc_httpd *http = cls;
    pfc_address peer;
    bool room;

    (void)len;
    (void)pfc_address_of(address, &peer);
    pthread_mutex_lock(&http->lock);
    room = http->conns_len < http->opts.connections && !is_crowding(http, &peer);
    pthread_mutex_unlock(&http->lock);
    if (!room)
        atomic_fetch_add(&http->crowded, 1);
    return room ? MHD_YES : MHD_NO;
}

void httpd_conn_deadline(pfc_httpd *http, httpd_conn *conn, int64_t deadline_ns, bool reading)
{
    pthread_mutex_lock(&http->lock);
    conn->deadline_ns = deadline_ns;
    conn->reading = reading;
    pthread_mutex_unlock(&http->lock);
}

void httpd_on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                         enum MHD_ConnectionNotificationCode what)
{
    pfc_httpd *http = cls;
    httpd_conn *conn = *socket_context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        const union MHD_ConnectionInfo *from =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

        conn = pfc_alloc(sizeof(*conn));
        conn->fd = info ? info->connect_fd : -1;
        (void)pfc_address_of(from ? from->client_addr : NULL, &conn->peer);
        conn->deadline_ns = pfc_clock_ns() + (int64_t)(http->opts.request_timeout_s * 1e9);
        conn->reading = true;
        pthread_mutex_lock(&http->lock);
        conn->next = http->conns;
        if (http->conns)
            http->conns->prev = conn;
        http->conns = conn;
        http->conns_len++;
        pthread_mutex_unlock(&http->lock);
        *socket_context = conn;
    } else if (conn) {
        /* Before libmicrohttpd closes the socket, so a deadline never meets a reused number. */
        pthread_mutex_lock(&http->lock);
        if (conn->prev)
            conn->prev->next = conn->next;
        else
            http->conns = conn->next;
        if (conn->next)
            conn->next->prev = conn->prev;
        http->conns_len--;
        pthread_mutex_unlock(&http->lock);
        free(conn);
        *socket_context = NULL;
    }
}

/* Bytes that came and that we have not read: then it is we who are slow, not the client. */
static bool has_unread(int fd)
{
    int unread = 0;

    return ioctl(fd, FIONREAD, &unread) == 0 && unread > 0;
}

static bool is_late(const httpd_conn *conn, int64_t now_ns)
{
    return conn->deadline_ns && conn->deadline_ns <= now_ns &&
           !(conn->reading && has_unread(conn->fd));
}

void httpd_conns_reap(pfc_httpd *http, int64_t now_ns, bool all)
{
    uint64_t ended = 0;

    pthread_mutex_lock(&http->lock);
    for (httpd_conn *conn = http->conns; conn; conn = conn->next) {
        if (all || is_late(conn, now_ns)) {
            conn->deadline_ns = 0;
            (void)shutdown(conn->fd, SHUT_RDWR);
            ended++;
        }
    }
    pthread_mutex_unlock(&http->lock);
    if (ended && !all) {
        atomic_fetch_add(&http->timeouts, ended);
        pfc_log(PFC_DEBUG, "slow clients ended", "connections", ended);
    }
}
