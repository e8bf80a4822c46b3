/*
 * Suspended requests, whose handlers run again when an event is published, and event streams.
 *
 * Publishing increments a generation. A request that is about to wait passes the generation that it
 * began with, so that an event published while its handler ran is not missed. libmicrohttpd aborts
 * when it is stopped with a suspended connection, so no request is suspended after
 * httpd_events_stop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/base/rng.h"
#include "server/http/internal.h"
#include "server/services/access/access.h"

#define RESET "event: reset\ndata: {\"type\":\"reset\"}\n\n"

/* Connections to resume after the lock is released: each one wakes a thread of libmicrohttpd, and
 * dozens of threads would contend for the lock. A suspended connection does not change until it is
 * resumed. */
typedef struct woken {
    struct MHD_Connection **items;
    size_t len, cap;
} woken;

static void woken_add(woken *w, struct MHD_Connection *mhd)
{
    w->items = pfc_grow(w->items, w->len, &w->cap, sizeof(*w->items));
    w->items[w->len++] = mhd;
}

static void unlock_and_wake(httpd_events *events, woken *w)
{
    pthread_mutex_unlock(&events->lock);
    for (size_t i = 0; i < w->len; i++)
        MHD_resume_connection(w->items[i]);
    free(w->items);
}

void httpd_events_init(httpd_events *events)
{
    memset(events, 0, sizeof(*events));
    pfc_random_id(events->epoch);
    pthread_mutex_init(&events->lock, NULL);
}

void httpd_events_clear(httpd_events *events)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(events->past); i++)
        free(events->past[i].text);
    pthread_mutex_destroy(&events->lock);
}

httpd_events_seen httpd_events_so_far(httpd_events *events)
{
    return (httpd_events_seen){ atomic_load(&events->generation), atomic_load(&events->offers) };
}

/* ---- waiting requests ---- */

/* The list that x is in while it waits. Tags are consecutive numbers, so the lists have equal
 * lengths. */
static httpd_exchange **list_of(httpd_events *events, const httpd_exchange *x)
{
    return x->wait_topic ? &events->waiters
                         : &events->later[x->wait_tag % PFC_ARRAY_LEN(events->later)];
}

/* Called with the lock held. */
static void suspend(httpd_events *events, httpd_exchange *x, const char *topic, int64_t wake_ns)
{
    httpd_exchange **list;

    x->waiting = x->waited = true;
    x->wait_topic = topic;
    x->wait_wake_ns = wake_ns;
    list = list_of(events, x);
    x->wait_prev = NULL;
    x->wait_next = *list;
    if (*list)
        (*list)->wait_prev = x;
    *list = x;
    if (topic)
        events->waiters_len++;
    MHD_suspend_connection(x->mhd);
}

uint64_t httpd_events_wait_tag(httpd_exchange *x, int64_t wake_ns)
{
    httpd_events *events = &x->http->events;
    uint64_t tag = 0;

    pthread_mutex_lock(&events->lock);
    if (!events->stopping) {
        tag = x->wait_tag = ++events->tags;
        suspend(events, x, NULL, wake_ns);
    }
    pthread_mutex_unlock(&events->lock);
    return tag;
}

static void forget_wish(httpd_exchange *x)
{
    if (x->wish.self)
        x->wish.free(x->wish.self);
    x->wish = (pfc_wish){ 0 };
}

int64_t httpd_recheck_ns(size_t waiting)
{
    return PFC_MAX(PFC_HTTPD_RECHECK_S * PFC_NS_PER_S,
                   (int64_t)waiting * (PFC_NS_PER_S / PFC_HTTPD_RECHECKS));
}

bool httpd_events_wait(httpd_exchange *x, const char *topic, pfc_wish wish, httpd_events_seen seen,
                       int64_t end_ns)
{
    httpd_events *events = &x->http->events;
    const int64_t now_ns = pfc_clock_ns();
    bool waits = false;

    forget_wish(x);
    x->wish = wish;
    pthread_mutex_lock(&events->lock);
    if (!events->stopping && (wish.suits ? atomic_load(&events->offers) == seen.offers
                                         : atomic_load(&events->generation) == seen.generation)) {
        waits = !httpd_events_over_limit(events, x);
        x->no_wait = !waits;
        if (waits)
            suspend(events, x, topic,
                    PFC_MIN(end_ns, now_ns + httpd_recheck_ns(events->waiters_len)));
        else
            atomic_fetch_add(&x->http->crowded, 1);
    }
    pthread_mutex_unlock(&events->lock);
    return waits;
}

/* Called with the lock held. */
static void unlink_waiter(httpd_events *events, httpd_exchange *x)
{
    if (x->wait_prev)
        x->wait_prev->wait_next = x->wait_next;
    else
        *list_of(events, x) = x->wait_next;
    if (x->wait_next)
        x->wait_next->wait_prev = x->wait_prev;
    x->waiting = false;
    if (x->wait_topic)
        events->waiters_len--;
}

static void wake(httpd_events *events, httpd_exchange *x, woken *w)
{
    unlink_waiter(events, x);
    woken_add(w, x->mhd);
}

void httpd_events_forget(httpd_exchange *x)
{
    httpd_events *events = &x->http->events;

    if (x->waited) {
        pthread_mutex_lock(&events->lock);
        if (x->waiting)
            unlink_waiter(events, x);
        pthread_mutex_unlock(&events->lock);
    }
    forget_wish(x);
}

/* topic NULL: everyone; else those without a wish. Called with the lock held. */
static void wake_topic(httpd_events *events, const char *topic, woken *w)
{
    httpd_exchange *next;

    for (httpd_exchange *x = events->waiters; x; x = next) {
        next = x->wait_next;
        if (!topic || (!x->wish.suits && strcmp(x->wait_topic, topic) == 0))
            wake(events, x, w);
    }
}

/* True when the client disconnected meanwhile: its wait is over, but it cannot use the offer. */
static bool is_gone(const httpd_exchange *x)
{
    return httpd_peer_gone(x->conn ? x->conn->fd : -1);
}

/* The list has the newest first. Called with the lock held. */
static httpd_exchange *longest_waiting(const httpd_events *events, const char *topic,
                                       const void *offer)
{
    httpd_exchange *found = NULL;

    for (httpd_exchange *x = events->waiters; x; x = x->wait_next) {
        if (x->wish.suits && strcmp(x->wait_topic, topic) == 0 &&
            x->wish.suits(x->wish.self, offer))
            found = x;
    }
    return found;
}

/* ---- streams ---- */

/* Called with the lock held. */
static void resume_stream(httpd_stream *stream, woken *w)
{
    if (stream->suspended) {
        stream->suspended = false;
        woken_add(w, stream->mhd);
    }
}

static void stream_append(httpd_stream *stream, const char *text, woken *w)
{
    if (stream->taken == stream->pending.len) {
        pfc_buf_reset(&stream->pending);
        stream->taken = 0;
    }
    pfc_buf_puts(&stream->pending, text);
    /* A client that reads too slowly is disconnected; an EventSource reconnects automatically. The
     * socket is shut down because libmicrohttpd does not call on_stream_read for a client that does
     * not read at all. */
    if (stream->pending.overflow && !stream->ended) {
        stream->ended = true;
        if (stream->fd >= 0)
            (void)shutdown(stream->fd, SHUT_RDWR);
    }
    resume_stream(stream, w);
}

static ssize_t on_stream_read(void *cls, uint64_t pos, char *out, size_t max)
{
    httpd_stream *stream = cls;
    httpd_events *events = &stream->http->events;
    ssize_t n = 0;

    (void)pos;
    pthread_mutex_lock(&events->lock);
    if (stream->ended) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (stream->taken < stream->pending.len) {
        size_t left = PFC_MIN(stream->pending.len - stream->taken, max);

        memcpy(out, stream->pending.data + stream->taken, left);
        stream->taken += left;
        n = (ssize_t)left;
    } else {
        /* Returning 0 without suspending would spin. */
        stream->suspended = true;
        MHD_suspend_connection(stream->mhd);
    }
    pthread_mutex_unlock(&events->lock);
    return n;
}

static void on_stream_free(void *cls)
{
    httpd_stream *stream = cls;
    httpd_events *events = &stream->http->events;

    pthread_mutex_lock(&events->lock);
    if (stream->prev)
        stream->prev->next = stream->next;
    else
        events->streams = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    events->streams_len--;
    events->left_ns = pfc_clock_ns();
    pthread_mutex_unlock(&events->lock);
    pfc_buf_clear(&stream->pending);
    free(stream);
}

static bool is_for(const httpd_stream *stream, const char *project)
{
    return !stream->project[0] || !project[0] || pfc_streq(stream->project, project);
}

/* The number of the event with this id; -1 when another server sent it, or when later events are no
 * longer stored. Called with the lock held. */
static int64_t number_of(const httpd_events *events, const char *id)
{
    const size_t len = strlen(events->epoch);
    int64_t number = -1;

    if (strncmp(id, events->epoch, len) != 0 || id[len] != '-' ||
        pfc_parse_i64(id + len + 1, 0, INT64_MAX, "id", &number, NULL) ||
        (uint64_t)number > events->news || (uint64_t)number < events->gap ||
        events->news - (uint64_t)number > PFC_HTTPD_PAST)
        return -1;
    return number;
}

/* Appends the events after `id`. Called with the lock held. */
static void catch_up(httpd_events *events, httpd_stream *stream, const char *id)
{
    int64_t number = number_of(events, id);
    size_t bytes = 0;

    for (uint64_t n = (uint64_t)number + 1; number >= 0 && n <= events->news; n++)
        bytes += strlen(events->past[n % PFC_HTTPD_PAST].text);
    if (number < 0 || bytes > PFC_HTTPD_STREAM_BYTES / 2) {
        pfc_buf_puts(&stream->pending, RESET);
        return;
    }
    for (uint64_t n = (uint64_t)number + 1; n <= events->news; n++)
        if (is_for(stream, events->past[n % PFC_HTTPD_PAST].project))
            pfc_buf_puts(&stream->pending, events->past[n % PFC_HTTPD_PAST].text);
}

/* True when x's token was revoked, or reading without a token was disabled, after x was authorised:
 * the call that ended the other streams did not see this one. Called with the lock held. */
static bool lost_access(const httpd_exchange *x, uint64_t ends)
{
    const pfc_httpd *http = x->http;

    if (x->auth.token_id)
        return atomic_load(&http->events.ends) != ends;
    return !atomic_load(&http->public_read) &&
           http->opts.routes[x->route_index].scopes != PFC_HTTPD_OPEN;
}

enum MHD_Result httpd_events_stream(httpd_exchange *x, const char *project, uint64_t ends)
{
    const pfc_principal *who = &x->auth;
    const char *last_id = MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, "Last-Event-ID");
    httpd_events *events = &x->http->events;
    httpd_stream *stream = pfc_alloc(sizeof(*stream));
    struct MHD_Response *response;
    enum MHD_Result sent;

    stream->http = x->http;
    stream->mhd = x->mhd;
    stream->fd = x->conn ? x->conn->fd : -1;
    stream->ping_ns = pfc_clock_ns() + PFC_HTTPD_PING_S * PFC_NS_PER_S;
    stream->token_id = who->token_id;
    stream->end_ns = who->token_id ? pfc_clock_ns() + PFC_HTTPD_STREAM_S * PFC_NS_PER_S : 0;
    if (who->token_id && who->until_ns)
        stream->end_ns = PFC_MIN(stream->end_ns, who->until_ns);
    (void)snprintf(stream->project, sizeof(stream->project), "%s", project);
    memcpy(stream->address, x->address, sizeof(stream->address));
    pfc_buf_init(&stream->pending, PFC_HTTPD_STREAM_BYTES);

    pthread_mutex_lock(&events->lock);
    stream->ended = events->stopping || lost_access(x, ends);
    /* Sent at once, so that the client knows that the stream works, and its first event id. */
    pfc_buf_puts(&stream->pending, "retry: 2000\n: open\n");
    if (last_id)
        catch_up(events, stream, last_id);
    pfc_buf_printf(&stream->pending, "id: %s-%llu\n\n", events->epoch,
                   (unsigned long long)events->news);
    stream->next = events->streams;
    if (events->streams)
        events->streams->prev = stream;
    events->streams = stream;
    events->streams_len++;
    pthread_mutex_unlock(&events->lock);

    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, on_stream_read, stream,
                                                 on_stream_free);
    if (!response) {
        on_stream_free(stream);
        return MHD_NO;
    }
    httpd_security_headers(response, x);
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    x->status = 200;
    sent = MHD_queue_response(x->mhd, 200, response);
    MHD_destroy_response(response);
    return sent;
}

/* ---- work that was given away ---- */

/* Called with the lock held. */
static void wake_tag(httpd_events *events, uint64_t tag, woken *w)
{
    for (httpd_exchange *x = events->later[tag % PFC_ARRAY_LEN(events->later)]; x;
         x = x->wait_next) {
        if (x->wait_tag == tag) {
            wake(events, x, w);
            return;
        }
    }
}

void pfc_httpd_resume(pfc_httpd *http, const uint64_t *tags, size_t len)
{
    woken w = { 0 };

    pthread_mutex_lock(&http->events.lock);
    for (size_t i = 0; i < len; i++)
        wake_tag(&http->events, tags[i], &w);
    unlock_and_wake(&http->events, &w);
}

/* Those who waited too long; everyone when now_ns is INT64_MAX. Called with the lock held. */
static int64_t wake_late(httpd_events *events, int64_t now_ns, woken *w)
{
    int64_t next_ns = INT64_MAX;
    httpd_exchange *next;

    for (size_t i = 0; i < PFC_ARRAY_LEN(events->later); i++) {
        for (httpd_exchange *x = events->later[i]; x; x = next) {
            next = x->wait_next;
            if (x->wait_wake_ns <= now_ns)
                wake(events, x, w);
            else
                next_ns = PFC_MIN(next_ns, x->wait_wake_ns);
        }
    }
    return next_ns;
}

void httpd_events_abandon(httpd_events *events)
{
    woken w = { 0 };

    pthread_mutex_lock(&events->lock);
    (void)wake_late(events, INT64_MAX, &w);
    unlock_and_wake(events, &w);
}

/* ---- news ---- */

/* Keeps it and sends it to whom it concerns. Called with the lock held. */
static void tell(httpd_events *events, const char *topic, const char *project, const char *json,
                 woken *w)
{
    httpd_event *news = &events->past[++events->news % PFC_HTTPD_PAST];

    free(news->text);
    news->text = pfc_format("id: %s-%llu\nevent: %s\ndata: %s\n\n", events->epoch,
                            (unsigned long long)events->news, topic, json);
    (void)snprintf(news->project, sizeof(news->project), "%s", project);
    for (httpd_stream *stream = events->streams; stream; stream = stream->next) {
        if (is_for(stream, project))
            stream_append(stream, news->text, w);
    }
}

void pfc_httpd_publish(pfc_httpd *http, const char *topic, const char *project, const char *json)
{
    httpd_events *events = &http->events;
    woken w = { 0 };

    pthread_mutex_lock(&events->lock);
    atomic_fetch_add(&events->generation, 1);
    wake_topic(events, topic, &w);
    if (json)
        tell(events, topic, project, json, &w);
    unlock_and_wake(events, &w);
}

bool pfc_httpd_offer(pfc_httpd *http, const char *topic, const void *offer)
{
    httpd_events *events = &http->events;
    httpd_exchange *x;
    bool gone = true;
    woken w = { 0 };

    pthread_mutex_lock(&events->lock);
    while (gone && (x = longest_waiting(events, topic, offer))) {
        gone = is_gone(x);
        wake(events, x, &w);
    }
    /* An offer that was taken concerns no other request. */
    if (gone)
        atomic_fetch_add(&events->offers, 1);
    unlock_and_wake(events, &w);
    return !gone;
}

/* Called with the lock held. */
static void end_stream(httpd_stream *stream, woken *w)
{
    stream->ended = true;
    resume_stream(stream, w);
}

void pfc_httpd_end_streams(pfc_httpd *http, int64_t token_id)
{
    woken w = { 0 };

    pthread_mutex_lock(&http->events.lock);
    atomic_fetch_add(&http->events.ends, 1);
    for (httpd_stream *stream = http->events.streams; stream; stream = stream->next) {
        if (stream->token_id && (token_id == 0 || stream->token_id == token_id))
            end_stream(stream, &w);
    }
    unlock_and_wake(&http->events, &w);
}

bool pfc_httpd_news(pfc_httpd *http)
{
    httpd_events *events = &http->events;
    bool wanted;

    pthread_mutex_lock(&events->lock);
    atomic_fetch_add(&events->generation, 1);
    wanted =
        events->waiters || events->streams ||
        (events->left_ns && pfc_clock_ns() - events->left_ns < PFC_HTTPD_BACK_S * PFC_NS_PER_S);
    /* The event is not stored: a client that reconnects later has to start again. */
    if (!wanted)
        events->gap = ++events->news;
    pthread_mutex_unlock(&events->lock);
    return wanted;
}

void pfc_httpd_wake_all(pfc_httpd *http)
{
    woken w = { 0 };

    pthread_mutex_lock(&http->events.lock);
    atomic_fetch_add(&http->events.generation, 1);
    atomic_fetch_add(&http->events.offers, 1);
    wake_topic(&http->events, NULL, &w);
    tell(&http->events, "reset", "", "{\"type\":\"reset\"}", &w);
    unlock_and_wake(&http->events, &w);
}

void httpd_events_end_public(httpd_events *events)
{
    woken w = { 0 };

    pthread_mutex_lock(&events->lock);
    for (httpd_stream *stream = events->streams; stream; stream = stream->next) {
        if (!stream->token_id)
            end_stream(stream, &w);
    }
    unlock_and_wake(events, &w);
}

int64_t httpd_events_tick(httpd_events *events, int64_t now_ns)
{
    int64_t next_ns = now_ns + PFC_NS_PER_S;
    httpd_exchange *next;
    woken w = { 0 };

    pthread_mutex_lock(&events->lock);
    for (httpd_exchange *x = events->waiters; x; x = next) {
        next = x->wait_next;
        if (x->wait_wake_ns <= now_ns)
            wake(events, x, &w);
        else
            next_ns = PFC_MIN(next_ns, x->wait_wake_ns);
    }
    next_ns = PFC_MIN(next_ns, wake_late(events, now_ns, &w));
    for (httpd_stream *stream = events->streams; stream; stream = stream->next) {
        if ((stream->end_ns && stream->end_ns <= now_ns) ||
            (!stream->ended && httpd_peer_gone(stream->fd)))
            end_stream(stream, &w);
        if (stream->ping_ns <= now_ns) {
            stream->ping_ns = now_ns + PFC_HTTPD_PING_S * PFC_NS_PER_S;
            stream_append(stream, ": ping\n\n", &w);
        }
    }
    unlock_and_wake(events, &w);
    return next_ns;
}

void httpd_events_stop(httpd_events *events)
{
    woken w = { 0 };

    pthread_mutex_lock(&events->lock);
    events->stopping = true;
    wake_topic(events, NULL, &w);
    for (httpd_stream *stream = events->streams; stream; stream = stream->next) {
        end_stream(stream, &w);
    }
    unlock_and_wake(events, &w);
}
