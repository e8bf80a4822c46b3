/*
 * How many event streams may be open and how many requests may wait: of one client, and together.
 * A stream or a wait holds a connection without using it, so both count alike.
 */
#include <string.h>

#include "server/http/internal.h"

/* Without a token the address identifies the client. */
static bool is_of(const httpd_exchange *x, int64_t token_id, const char *address)
{
    return token_id == x->auth.token_id && (token_id || strcmp(address, x->address) == 0);
}

int httpd_events_over_limit(const httpd_events *events, const httpd_exchange *x)
{
    const pfc_httpd_opts *opts = &x->http->opts;
    unsigned has = 0;

    if (events->streams_len + events->waiters_len >= PFC_MAX(opts->connections / 2, 1))
        return 503;
    if (opts->waiting_each == 0)
        return 0;
    for (const httpd_stream *stream = events->streams; stream; stream = stream->next)
        has += is_of(x, stream->token_id, stream->address);
    for (const httpd_exchange *other = events->waiters; other; other = other->wait_next)
        has += is_of(x, other->auth.token_id, other->address);
    return has >= opts->waiting_each ? 429 : 0;
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
