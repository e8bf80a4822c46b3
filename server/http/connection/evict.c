/*
 * Which connection is closed when a new one arrives and the limit is reached. A client that holds
 * connections without using them must not keep others out, and a client without a token must not
 * displace clients whose requests were authorised.
 *
 * Candidates: connections between two requests, in the middle of receiving one that is not
 * authorised yet, or whose client has not read its answer for a while. Requests that are being
 * handled, event streams and waiting requests are none; the latter two are limited separately
 * (event_streams.c). The order:
 *
 * 1. the oldest connection without an authorised request, when it had a while to send one
 * 2. when more than half of all connections made an authorised request: the one of them that has
 *    been unused longest
 * 3. the oldest connection without an authorised request
 * 4. the authorised one that has been unused longest
 *
 * A while: with the default time limit of a request, 30 s, these are 1 s to send and 5 s to read.
 */
#include "core/base/clock.h"
#include "server/http/internal.h"

#define SEND_SHARE (1.0 / 30) /* of the time limit of a request */
#define READ_SHARE (1.0 / 6)

static int64_t share_ns(const pfc_httpd *http, double share)
{
    return (int64_t)(share * http->opts.request_timeout_s * 1e9);
}

/* Since when it has been a candidate, ns; INT64_MAX: it is none. */
static int64_t candidate_since(const pfc_httpd *http, const httpd_conn *conn, int64_t now_ns)
{
    int64_t begun_ns;

    if (conn->ops || conn->spare || conn->health || conn->evicted ||
        conn->stage == HTTPD_HANDED_OVER)
        return INT64_MAX;
    if (conn->reading)
        return conn->admitted ? INT64_MAX : conn->since_ns;
    if (conn->deadline_ns == 0) /* handled, waiting, or a stream */
        return INT64_MAX;
    begun_ns = conn->deadline_ns - share_ns(http, PFC_HTTPD_WRITE);
    return now_ns - begun_ns >= share_ns(http, READ_SHARE) ? begun_ns : INT64_MAX;
}

httpd_conn *httpd_conn_victim(const pfc_httpd *http, int64_t now_ns, bool *soon)
{
    httpd_conn *stranger = NULL, *unused = NULL;
    int64_t stranger_ns = INT64_MAX, unused_ns = INT64_MAX;
    size_t authorised = 0;

    for (httpd_conn *conn = http->oldest; conn; conn = conn->prev) {
        const int64_t since_ns = candidate_since(http, conn, now_ns);
        const bool better = since_ns < (conn->authorised ? unused_ns : stranger_ns);

        *soon = *soon || conn->stage == HTTPD_HANDED_OVER;
        authorised += conn->authorised && !conn->evicted;
        /* From the oldest on, so that few are asked for unread bytes, which is a system call. */
        if (!better)
            continue;
        if (conn->reading && httpd_conn_unread(conn)) {
            *soon = true;
            continue;
        }
        if (conn->authorised) {
            unused = conn;
            unused_ns = since_ns;
        } else {
            stranger = conn;
            stranger_ns = since_ns;
        }
    }
    if (stranger && now_ns - stranger_ns >= share_ns(http, SEND_SHARE))
        return stranger;
    if (unused && authorised > http->opts.connections / 2)
        return unused;
    return stranger ? stranger : unused;
}
