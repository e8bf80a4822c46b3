/*
 * Waking a thread of libmicrohttpd that sleeps on work. Its MHD_epoll asks for 128 events and,
 * when it gets exactly as many, asks again, with the time-out of the first question, before it
 * can_peek at what it got: with 128 requests at once and nothing after them, they lie there for up
 * to a minute (0.9.75, daemon.c, "drain 'epoll' event queue").
 *
 * A connection that shall speak and has spoken, and of which nothing was read from one look to the
 * next, is taken for one of those; its thread gets a new connection, which is closed already. When
 * it was only busy, that costs it a few microseconds.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/log.h"
#include "server/http/internal.h"

#define TRIES 64 /* to get a number that leads to the thread */

/* libmicrohttpd chooses the thread by the socket's number. Returns -1 when there is none to be had.
 */
static int number_like(int fd, int like, int threads)
{
    int kept[TRIES], len = 0, found = -1;

    while (found < 0 && len < TRIES) {
        const int got = fcntl(fd, F_DUPFD_CLOEXEC, len ? kept[len - 1] + 1 : 0);

        if (got < 0)
            break;
        if (got % threads == like % threads)
            found = got;
        else
            kept[len++] = got;
    }
    while (len > 0)
        (void)close(kept[--len]);
    return found;
}

/* *to is read under the lock: stopping the server clears it. */
static void wake_thread(pfc_httpd *http, struct MHD_Daemon *const *to, int like, int threads)
{
    const struct sockaddr_un unnamed = { .sun_family = AF_UNIX };
    int pair[2], fd;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
        return;
    fd = number_like(pair[0], like, threads);
    (void)close(pair[0]);
    (void)close(pair[1]);
    if (fd < 0)
        return;
    pfc_log(PFC_DEBUG, "http_thread_woken", "thread", like % threads);
    pthread_mutex_lock(&http->lock);
    if (http->ended)
        (void)close(fd);
    else /* libmicrohttpd owns the socket from here on, also on failure */
        (void)MHD_add_connection(*to, fd, (const struct sockaddr *)&unnamed, sizeof(unnamed));
    pthread_mutex_unlock(&http->lock);
}

static bool has_waited(httpd_conn *conn)
{
    const int before = conn->unread;
    int unread = 0;

    if (conn->stage != HTTPD_SERVED || !conn->reading || ioctl(conn->fd, FIONREAD, &unread))
        unread = 0;
    conn->unread = unread;
    return unread > 0 && unread == before;
}

void httpd_conns_wake_threads(pfc_httpd *http)
{
    const int threads = (int)http->opts.threads;
    int *asleep =
        pfc_calloc((size_t)threads, sizeof(*asleep)); /* a socket of the thread's; 0: none */
    bool health = false, ops = false;

    pthread_mutex_lock(&http->lock);
    for (httpd_conn *conn = http->conns; conn; conn = conn->next) {
        if (!has_waited(conn))
            continue;
        if (conn->ops)
            ops = true;
        else if (conn->health)
            health = true;
        else
            asleep[conn->fd % threads] = conn->fd;
    }
    pthread_mutex_unlock(&http->lock);
    for (int i = 0; i < threads; i++) {
        if (asleep[i])
            wake_thread(http, &http->daemon, asleep[i], threads);
    }
    if (health)
        wake_thread(http, &http->health, 0, 1);
    if (ops)
        wake_thread(http, &http->ops, 0, 1);
    free(asleep);
}
