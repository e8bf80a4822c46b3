/*
 * How many event streams may be open and how many requests may wait: of one client, and together.
 * A stream or a wait holds a connection without using it, so both count alike.
 */
#include <poll.h>
#include <string.h>

#include "server/http/internal.h"

bool httpd_same_client(const httpd_exchange *x, int64_t token_id, const char *address)
{
    return token_id == x->auth.token_id && (token_id || strcmp(address, x->address) == 0);
}

bool httpd_peer_gone(int fd)
{
    struct pollfd client = { .fd = fd, .events = POLLRDHUP };

    return poll(&client, 1, 0) > 0;
}

/* Streams and waits; `present`: without those whose client has closed its connection, which the
 * server notices only when it next writes to it. */
static unsigned count(const httpd_events *events, const httpd_exchange *x, bool present)
{
    unsigned has = 0;

    for (const httpd_stream *stream = events->streams; stream; stream = stream->next)
        has += (!x || httpd_same_client(x, stream->token_id, stream->address)) &&
               !(present && (stream->ended || httpd_peer_gone(stream->fd)));
    for (const httpd_exchange *other = events->waiters; other; other = other->wait_next)
        has += (!x || httpd_same_client(x, other->auth.token_id, other->address)) &&
               !(present && other->conn && httpd_peer_gone(other->conn->fd));
    return has;
}

int httpd_events_over_limit(const httpd_events *events, const httpd_exchange *x)
{
    const pfc_httpd_opts *opts = &x->http->opts;
    const unsigned all = PFC_MAX(opts->connections / 2, 1);

    /* A browser that moves from page to page leaves streams behind: the system is asked whether
     * they are closed only when they would make a difference. */
    if (events->streams_len + events->waiters_len >= all && count(events, NULL, true) >= all)
        return 503;
    if (opts->waiting_each && count(events, x, false) >= opts->waiting_each &&
        count(events, x, true) >= opts->waiting_each)
        return 429;
    return 0;
}

int httpd_events_refuse(httpd_exchange *x)
{
    httpd_events *events = &x->http->events;
    int status;

    pthread_mutex_lock(&events->lock);
    status = httpd_events_over_limit(events, x);
    pthread_mutex_unlock(&events->lock);
    if (status)
        atomic_fetch_add(&x->http->crowded, 1);
    return status;
}
