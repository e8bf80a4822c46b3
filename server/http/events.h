/*
 * Events: requests that wait for one, and event streams (event_streams.c).
 */
#ifndef PFC_SERVER_HTTP_EVENTS_H
#define PFC_SERVER_HTTP_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include <microhttpd.h>

#include "core/base/address.h"
#include "core/base/buf.h"
#include "server/http/http.h"

#define PFC_HTTPD_STREAM_S     900 /* of a token's stream: the token may have expired since */
#define PFC_HTTPD_PING_S       15 /* a comment line on every stream: detects disconnected clients */
#define PFC_HTTPD_RECHECK_S    5  /* waiting handlers run again even without an event */
#define PFC_HTTPD_RECHECKS     20 /* such runs a second at most, of all waiting handlers */
#define PFC_HTTPD_STREAM_BYTES (256u * 1024) /* queued for one stream; a longer queue ends it */
#define PFC_HTTPD_PAST         512           /* events stored for clients that reconnect */
#define PFC_HTTPD_BACK_S       60 /* how long the client of an ended stream may take to reconnect */

struct httpd_exchange;

/** One event stream; guarded by events.lock. */
typedef struct httpd_stream {
    struct httpd_stream *prev;
    struct httpd_stream *next;
    struct pfc_httpd *http;
    struct MHD_Connection *mhd;
    int fd; /* its socket, which is closed after the stream; -1: not known */
    char project[64];
    int64_t token_id;               /* of the token that opened it; 0: none */
    char address[PFC_ADDRESS_TEXT]; /* of its client */
    int64_t
        end_ns; /* at this time the stream ends, so that the client is authorised again; 0: never */
    pfc_buf pending;
    size_t taken; /* bytes of pending already sent */
    bool suspended;
    bool ended;
    int64_t ping_ns;
} httpd_stream;

/** One published event. */
typedef struct httpd_event {
    char *text; /* in the stream's format; NULL: the entry is unused */
    char project[64];
} httpd_event;

typedef struct httpd_events {
    pthread_mutex_t lock;
    struct httpd_exchange *waiters;    /* guarded by lock */
    struct httpd_exchange *later[512]; /* requests that wait for a tag, by tag; guarded by lock */
    uint64_t tags;                     /* assigned so far; guarded by lock */
    httpd_stream *streams;             /* guarded by lock */
    size_t streams_len;                /* guarded by lock */
    size_t waiters_len;                /* guarded by lock */
    int64_t left_ns;                  /* when the last stream ended, 0: none has; guarded by lock */
    httpd_event past[PFC_HTTPD_PAST]; /* event number n at n % PFC_HTTPD_PAST; guarded by lock */
    uint64_t news;                    /* events so far; guarded by lock */
    uint64_t gap;                     /* events up to this one are not stored; guarded by lock */
    char epoch[33];                   /* random, of this process: event ids are EPOCH-NUMBER */
    atomic_uint_fast64_t generation;  /* number of events published; changed under the lock */
    atomic_uint_fast64_t offers;      /* offers that no request took; changed under the lock */
    atomic_uint_fast64_t ends; /* how often pfc_httpd_end_streams ran; changed under the lock */
    bool stopping;             /* guarded by lock */
} httpd_events;

void httpd_events_init(httpd_events *events);
void httpd_events_clear(httpd_events *events);
/** The number of events and of offers so far. */
typedef struct httpd_events_seen {
    uint64_t generation, offers;
} httpd_events_seen;

httpd_events_seen httpd_events_so_far(httpd_events *events);
/** How long a handler waits without an event before it runs again, when `waiting` others wait:
 * each run asks the database, so a crowd must not do so every PFC_HTTPD_RECHECK_S. */
int64_t httpd_recheck_ns(size_t waiting);
/** Suspends x until `topic` (static) is published, or with a wish until an offer suits it, or
 * end_ns or the recheck; false when an event was published, or something was offered, since `seen`
 * (the handler must run again), or when the server stops; false and x->no_wait when too many wait.
 * Takes the wish. */
bool httpd_events_wait(struct httpd_exchange *x, const char *topic, pfc_wish wish,
                       httpd_events_seen seen, int64_t end_ns);
/** Suspends x until the returned tag is resumed or wake_ns; 0, and not suspended, when the server
 * stops. */
uint64_t httpd_events_wait_tag(struct httpd_exchange *x, int64_t wake_ns);
void httpd_events_forget(struct httpd_exchange *x);
/** Wakes the requests that are due; returns the time of the next call. */
int64_t httpd_events_tick(httpd_events *events, int64_t now_ns);
/** Ends all streams and all waits for events; waits for a tag continue until their work is done. */
void httpd_events_stop(httpd_events *events);
/** Ends the waits for tags, too: the work exceeds the grace of a stop. */
void httpd_events_abandon(httpd_events *events);
/** True when the client has closed its side of the connection; fd -1: not known, false. */
bool httpd_peer_gone(int fd);
/** 429 when the client of x has as many streams and waits as it may, 503 when all clients have; 0:
 * neither. Called with the lock held. */
int httpd_events_over_limit(const httpd_events *events, const struct httpd_exchange *x);
/** The status of a refusal when x may not open another stream: 429 (its token has too many) or 503
 * (the server has); 0: it may. */
int httpd_events_refuse(struct httpd_exchange *x);
/** Starts x's stream with the events after its Last-Event-ID, or with `reset` when they are not
 * stored. */
enum MHD_Result httpd_events_stream(struct httpd_exchange *x, const char *project, uint64_t ends);
/** Ends the streams that were opened without a token, after reading began to need one. */
void httpd_events_end_public(httpd_events *events);

#endif
