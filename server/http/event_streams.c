/*
 * Who waits for news: suspended requests, which are called again, and event streams.
 *
 * Publishing bumps a generation; a request that would wait names the generation it began with, so
 * news that came while its handler ran is never slept through. libmicrohttpd aborts when it is
 * stopped with a suspended connection, so after httpd_hub_stop nothing suspends any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/base/rng.h"
#include "server/http/internal.h"

#define RESET "event: reset\ndata: {\"type\":\"reset\"}\n\n"

/* Connections to resume, once the hub's lock is free: each one wakes a thread of libmicrohttpd, and
 * dozens of those would run into the lock at once. A connection stays as it is until it is resumed. */
typedef struct woken {
    struct MHD_Connection **items;
    size_t len, cap;
} woken;

static void woken_add(woken *w, struct MHD_Connection *mhd)
{
    w->items = pfc_grow(w->items, w->len, &w->cap, sizeof(*w->items));
    w->items[w->len++] = mhd;
}

static void unlock_and_wake(httpd_hub *hub, woken *w)
{
    pthread_mutex_unlock(&hub->lock);
    for (size_t i = 0; i < w->len; i++)
        MHD_resume_connection(w->items[i]);
    free(w->items);
}

void httpd_hub_init(httpd_hub *hub)
{
    memset(hub, 0, sizeof(*hub));
    pfc_random_id(hub->epoch);
    pthread_mutex_init(&hub->lock, NULL);
}

void httpd_hub_clear(httpd_hub *hub)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(hub->past); i++)
        free(hub->past[i].text);
    pthread_mutex_destroy(&hub->lock);
}

uint64_t httpd_hub_generation(httpd_hub *hub)
{
    return atomic_load(&hub->generation);
}

/* ---- waiting requests ---- */

/* Where x hangs while it waits. Tags are counted up, so those who wait spread evenly. */
static httpd_exchange **list_of(httpd_hub *hub, const httpd_exchange *x)
{
    return x->wait_topic ? &hub->waiters : &hub->later[x->wait_tag % PFC_ARRAY_LEN(hub->later)];
}

/* Called with the lock held. */
static void suspend(httpd_hub *hub, httpd_exchange *x, const char *topic, int64_t wake_ns)
{
    httpd_exchange **list;

    x->waiting = x->waited = true;
    x->wait_topic = topic;
    x->wait_wake_ns = wake_ns;
    list = list_of(hub, x);
    x->wait_prev = NULL;
    x->wait_next = *list;
    if (*list)
        (*list)->wait_prev = x;
    *list = x;
    if (topic)
        hub->waiters_len++;
    MHD_suspend_connection(x->mhd);
}

uint64_t httpd_hub_wait_later(httpd_exchange *x, int64_t wake_ns)
{
    httpd_hub *hub = &x->http->hub;
    uint64_t tag = 0;

    pthread_mutex_lock(&hub->lock);
    if (!hub->stopping) {
        tag = x->wait_tag = ++hub->tags;
        suspend(hub, x, NULL, wake_ns);
    }
    pthread_mutex_unlock(&hub->lock);
    return tag;
}

bool httpd_hub_wait(httpd_exchange *x, const char *topic, uint64_t generation, int64_t wake_ns)
{
    httpd_hub *hub = &x->http->hub;
    bool waits = false;

    pthread_mutex_lock(&hub->lock);
    if (!hub->stopping && atomic_load(&hub->generation) == generation) {
        suspend(hub, x, topic, wake_ns);
        waits = true;
    }
    pthread_mutex_unlock(&hub->lock);
    return waits;
}

/* Called with the lock held. */
static void unlink_waiter(httpd_hub *hub, httpd_exchange *x)
{
    if (x->wait_prev)
        x->wait_prev->wait_next = x->wait_next;
    else
        *list_of(hub, x) = x->wait_next;
    if (x->wait_next)
        x->wait_next->wait_prev = x->wait_prev;
    x->waiting = false;
    if (x->wait_topic)
        hub->waiters_len--;
}

static void wake(httpd_hub *hub, httpd_exchange *x, woken *w)
{
    unlink_waiter(hub, x);
    woken_add(w, x->mhd);
}

void httpd_hub_forget(httpd_exchange *x)
{
    httpd_hub *hub = &x->http->hub;

    if (!x->waited)
        return;
    pthread_mutex_lock(&hub->lock);
    if (x->waiting)
        unlink_waiter(hub, x);
    pthread_mutex_unlock(&hub->lock);
}

/* topic NULL: everyone. Called with the lock held. */
static void wake_topic(httpd_hub *hub, const char *topic, woken *w)
{
    httpd_exchange *next;

    for (httpd_exchange *x = hub->waiters; x; x = next) {
        next = x->wait_next;
        if (!topic || strcmp(x->wait_topic, topic) == 0)
            wake(hub, x, w);
    }
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
    /* Too slow for the news: ended; an EventSource connects again by itself. Who does not read at all
     * would never be asked whether there is more. */
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
    httpd_hub *hub = &stream->http->hub;
    ssize_t n = 0;

    (void)pos;
    pthread_mutex_lock(&hub->lock);
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
    pthread_mutex_unlock(&hub->lock);
    return n;
}

static void on_stream_free(void *cls)
{
    httpd_stream *stream = cls;
    httpd_hub *hub = &stream->http->hub;

    pthread_mutex_lock(&hub->lock);
    if (stream->prev)
        stream->prev->next = stream->next;
    else
        hub->streams = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    hub->streams_len--;
    hub->left_ns = pfc_clock_ns();
    pthread_mutex_unlock(&hub->lock);
    pfc_buf_clear(&stream->pending);
    free(stream);
}

static bool is_for(const httpd_stream *stream, const char *project)
{
    return !stream->project[0] || !project[0] || pfc_streq(stream->project, project);
}

/* The number of an event of this server's life that is still known to have been the last one heard;
 * -1: another server's, or too long ago. Called with the lock held. */
static int64_t number_of(const httpd_hub *hub, const char *id)
{
    const size_t len = strlen(hub->epoch);
    int64_t number = -1;

    if (strncmp(id, hub->epoch, len) != 0 || id[len] != '-' ||
        pfc_parse_i64(id + len + 1, 0, INT64_MAX, "id", &number, NULL) ||
        (uint64_t)number > hub->news || (uint64_t)number < hub->gap ||
        hub->news - (uint64_t)number > PFC_HTTPD_PAST)
        return -1;
    return number;
}

/* What a client that has heard of `id` has missed. Called with the lock held. */
static void catch_up(httpd_hub *hub, httpd_stream *stream, const char *id)
{
    int64_t number = number_of(hub, id);
    size_t bytes = 0;

    for (uint64_t n = (uint64_t)number + 1; number >= 0 && n <= hub->news; n++)
        bytes += strlen(hub->past[n % PFC_HTTPD_PAST].text);
    if (number < 0 || bytes > PFC_HTTPD_STREAM_BYTES / 2) {
        pfc_buf_puts(&stream->pending, RESET);
        return;
    }
    for (uint64_t n = (uint64_t)number + 1; n <= hub->news; n++)
        if (is_for(stream, hub->past[n % PFC_HTTPD_PAST].project))
            pfc_buf_puts(&stream->pending, hub->past[n % PFC_HTTPD_PAST].text);
}

/* Has its token ended, or was reading closed to strangers, after x was let in? Who ended the others' streams
 * has not seen this one. Called with the lock held. */
static bool comes_too_late(const httpd_exchange *x, uint64_t ends)
{
    const pfc_httpd *http = x->http;

    if (x->auth.token_id)
        return atomic_load(&http->hub.ends) != ends;
    return !atomic_load(&http->public_read) &&
           http->opts.routes[x->route_index].scopes != PFC_HTTPD_OPEN;
}

enum MHD_Result httpd_hub_stream(httpd_exchange *x, const char *project, uint64_t ends)
{
    const pfc_principal *who = &x->auth;
    const char *heard = MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, "Last-Event-ID");
    httpd_hub *hub = &x->http->hub;
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
    pfc_buf_init(&stream->pending, PFC_HTTPD_STREAM_BYTES);

    pthread_mutex_lock(&hub->lock);
    stream->ended = hub->stopping || comes_too_late(x, ends);
    /* First lines at once, so that the client knows that it is heard, and from where on. */
    pfc_buf_puts(&stream->pending, "retry: 2000\n: open\n");
    if (heard)
        catch_up(hub, stream, heard);
    pfc_buf_printf(&stream->pending, "id: %s-%llu\n\n", hub->epoch, (unsigned long long)hub->news);
    stream->next = hub->streams;
    if (hub->streams)
        hub->streams->prev = stream;
    hub->streams = stream;
    hub->streams_len++;
    pthread_mutex_unlock(&hub->lock);

    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, on_stream_read, stream,
                                                 on_stream_free);
    if (!response) {
        on_stream_free(stream);
        return MHD_NO;
    }
    httpd_security_headers(response, x->id);
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
static void wake_tag(httpd_hub *hub, uint64_t tag, woken *w)
{
    for (httpd_exchange *x = hub->later[tag % PFC_ARRAY_LEN(hub->later)]; x; x = x->wait_next) {
        if (x->wait_tag == tag) {
            wake(hub, x, w);
            return;
        }
    }
}

void pfc_httpd_resume(pfc_httpd *http, const uint64_t *tags, size_t len)
{
    woken w = { 0 };

    pthread_mutex_lock(&http->hub.lock);
    for (size_t i = 0; i < len; i++)
        wake_tag(&http->hub, tags[i], &w);
    unlock_and_wake(&http->hub, &w);
}

/* Those who waited too long; everyone when now_ns is INT64_MAX. Called with the lock held. */
static int64_t wake_late(httpd_hub *hub, int64_t now_ns, woken *w)
{
    int64_t next_ns = INT64_MAX;
    httpd_exchange *next;

    for (size_t i = 0; i < PFC_ARRAY_LEN(hub->later); i++) {
        for (httpd_exchange *x = hub->later[i]; x; x = next) {
            next = x->wait_next;
            if (x->wait_wake_ns <= now_ns)
                wake(hub, x, w);
            else
                next_ns = PFC_MIN(next_ns, x->wait_wake_ns);
        }
    }
    return next_ns;
}

void httpd_hub_abandon(httpd_hub *hub)
{
    woken w = { 0 };

    pthread_mutex_lock(&hub->lock);
    (void)wake_late(hub, INT64_MAX, &w);
    unlock_and_wake(hub, &w);
}

/* ---- news ---- */

/* Keeps it and sends it to whom it concerns. Called with the lock held. */
static void tell(httpd_hub *hub, const char *topic, const char *project, const char *json, woken *w)
{
    httpd_news *news = &hub->past[++hub->news % PFC_HTTPD_PAST];

    free(news->text);
    news->text = pfc_format("id: %s-%llu\nevent: %s\ndata: %s\n\n", hub->epoch,
                            (unsigned long long)hub->news, topic, json);
    (void)snprintf(news->project, sizeof(news->project), "%s", project);
    for (httpd_stream *stream = hub->streams; stream; stream = stream->next) {
        if (is_for(stream, project))
            stream_append(stream, news->text, w);
    }
}

void pfc_httpd_publish(pfc_httpd *http, const char *topic, const char *project, const char *json)
{
    httpd_hub *hub = &http->hub;
    woken w = { 0 };

    pthread_mutex_lock(&hub->lock);
    atomic_fetch_add(&hub->generation, 1);
    wake_topic(hub, topic, &w);
    if (json)
        tell(hub, topic, project, json, &w);
    unlock_and_wake(hub, &w);
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

    pthread_mutex_lock(&http->hub.lock);
    atomic_fetch_add(&http->hub.ends, 1);
    for (httpd_stream *stream = http->hub.streams; stream; stream = stream->next) {
        if (stream->token_id && (token_id == 0 || stream->token_id == token_id))
            end_stream(stream, &w);
    }
    unlock_and_wake(&http->hub, &w);
}

bool pfc_httpd_news(pfc_httpd *http)
{
    httpd_hub *hub = &http->hub;
    bool heard;

    pthread_mutex_lock(&hub->lock);
    atomic_fetch_add(&hub->generation, 1);
    heard = hub->waiters || hub->streams ||
            (hub->left_ns && pfc_clock_ns() - hub->left_ns < PFC_HTTPD_BACK_S * PFC_NS_PER_S);
    /* What is not kept is too long ago for whoever comes back after all. */
    if (!heard)
        hub->gap = ++hub->news;
    pthread_mutex_unlock(&hub->lock);
    return heard;
}

void pfc_httpd_wake_all(pfc_httpd *http)
{
    woken w = { 0 };

    pthread_mutex_lock(&http->hub.lock);
    atomic_fetch_add(&http->hub.generation, 1);
    wake_topic(&http->hub, NULL, &w);
    tell(&http->hub, "reset", "", "{\"type\":\"reset\"}", &w);
    unlock_and_wake(&http->hub, &w);
}

void httpd_hub_end_public(httpd_hub *hub)
{
    woken w = { 0 };

    pthread_mutex_lock(&hub->lock);
    for (httpd_stream *stream = hub->streams; stream; stream = stream->next) {
        if (!stream->token_id)
            end_stream(stream, &w);
    }
    unlock_and_wake(hub, &w);
}

int64_t httpd_hub_tick(httpd_hub *hub, int64_t now_ns)
{
    int64_t next_ns = now_ns + PFC_NS_PER_S;
    httpd_exchange *next;
    woken w = { 0 };

    pthread_mutex_lock(&hub->lock);
    for (httpd_exchange *x = hub->waiters; x; x = next) {
        next = x->wait_next;
        if (x->wait_wake_ns <= now_ns)
            wake(hub, x, &w);
        else
            next_ns = PFC_MIN(next_ns, x->wait_wake_ns);
    }
    next_ns = PFC_MIN(next_ns, wake_late(hub, now_ns, &w));
    for (httpd_stream *stream = hub->streams; stream; stream = stream->next) {
        if (stream->end_ns && stream->end_ns <= now_ns)
            end_stream(stream, &w);
        if (stream->ping_ns <= now_ns) {
            stream->ping_ns = now_ns + PFC_HTTPD_PING_S * PFC_NS_PER_S;
            stream_append(stream, ": ping\n\n", &w);
        }
    }
    unlock_and_wake(hub, &w);
    return next_ns;
}

void httpd_hub_stop(httpd_hub *hub)
{
    woken w = { 0 };

    pthread_mutex_lock(&hub->lock);
    hub->stopping = true;
    wake_topic(hub, NULL, &w);
    for (httpd_stream *stream = hub->streams; stream; stream = stream->next) {
        end_stream(stream, &w);
    }
    unlock_and_wake(hub, &w);
}
