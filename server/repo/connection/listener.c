/*
 * LISTEN on a connection of its own; an eventfd wakes the waiting thread.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/repo/connection/db_internal.h"

struct pfc_listener {
    char *url;
    PGconn *pg; /* NULL: not connected */
    int wake_fd;
};

pfc_code pfc_listener_open(pfc_listener **out, const char *url, pfc_err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pfc_listener *listener;

    if (fd < 0)
        return pfc_err_set(err, PFC_EIO, "listener: eventfd: %s", strerror(errno));
    listener = pfc_alloc(sizeof(*listener));
    listener->url = pfc_strdup(url);
    listener->wake_fd = fd;
    *out = listener;
    return PFC_OK;
}

void pfc_listener_close(pfc_listener *listener)
{
    if (!listener)
        return;
    PQfinish(listener->pg);
    (void)close(listener->wake_fd);
    free(listener->url);
    free(listener);
}

void pfc_listener_wake(pfc_listener *listener)
{
    uint64_t one = 1;
    ssize_t n = write(listener->wake_fd, &one, sizeof(one));

    (void)n; /* fails only when the counter is full, and then the waiter is awake */
}

/* Waits for the database (when connected), the wake-up or the time. True: the database spoke. */
static bool wait_for(pfc_listener *listener, int timeout_ms, bool *woken)
{
    struct pollfd fds[2] = {
        { .fd = listener->wake_fd, .events = POLLIN },
        { .fd = listener->pg ? PQsocket(listener->pg) : -1, .events = POLLIN },
    };
    uint64_t count;

    *woken = false;
    if (poll(fds, 2, timeout_ms) <= 0)
        return false;
    if (fds[0].revents) {
        *woken = true;
        if (read(listener->wake_fd, &count, sizeof(count)) < 0)
            return false; /* another call has read it */
    }
    return fds[1].revents != 0;
}

static pfc_code listen_on(PGconn *pg, pfc_err *err)
{
    pfc_code code = PFC_OK;
    PGresult *res;

    if (PQsendQuery(pg, "LISTEN perfci"))
        pfc_conn_await(pg, PFC_CONN_SETUP_MS);
    res = PQgetResult(pg);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        code = pfc_result_fault(pg, res, "listen", err);
    PQclear(res);
    while ((res = PQgetResult(pg)) != NULL)
        PQclear(res);
    return code;
}

static pfc_code connect_listener(pfc_listener *listener, int timeout_ms, pfc_err *err)
{
    bool woken;
    pfc_code code = pfc_conn_open(listener->url, 0, &listener->pg, err);

    if (!code)
        code = listen_on(listener->pg, err);
    if (!code)
        return PFC_OK;
    PQfinish(listener->pg);
    listener->pg = NULL;
    /* A caller in a loop must not spin while the database is away. */
    (void)wait_for(listener, PFC_MIN(timeout_ms, 1000), &woken);
    return code;
}

static bool take_event(pfc_listener *listener, char *out)
{
    PGnotify *event = PQnotifies(listener->pg);

    if (!event)
        return false;
    (void)snprintf(out, PFC_EVENT_MAX, "%s", event->extra);
    PQfreemem(event);
    return true;
}

pfc_code pfc_listener_next(pfc_listener *listener, int timeout_ms, char *out, pfc_err *err)
{
    int64_t until = pfc_clock_ns() + (int64_t)timeout_ms * PFC_NS_PER_MS;
    bool woken = false, looked = false;

    if (!listener->pg) {
        pfc_code code = connect_listener(listener, timeout_ms, err);

        /* Events before this moment are lost: let the caller look for itself at once. */
        return code ? code : pfc_err_set(err, PFC_ETIMEOUT, "listener: connected");
    }
    for (;;) {
        int64_t left_ms = (until - pfc_clock_ns()) / PFC_NS_PER_MS;

        if (take_event(listener, out))
            return PFC_OK;
        /* Without a time to wait, what is here already is an event all the same. */
        if (woken || (looked && left_ms <= 0))
            return pfc_err_set(err, PFC_ETIMEOUT, "listener: no event");
        looked = true;
        if (wait_for(listener, (int)PFC_MAX(left_ms, 0), &woken) && !PQconsumeInput(listener->pg)) {
            char message[256];

            pfc_conn_message(listener->pg, message, sizeof(message));
            PQfinish(listener->pg);
            listener->pg = NULL;
            return pfc_err_set(err, PFC_EUNAVAIL, "listener: %s", message);
        }
    }
}
