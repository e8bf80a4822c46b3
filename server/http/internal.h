/*
 * What the parts of server/http share among themselves.
 *
 * Locks: pfc_http.lock guards connections and their deadlines, hub.lock guards waiters and streams.
 * Neither is held while the other is taken; libmicrohttpd's own locks come after both.
 */
#ifndef PFC_SERVER_HTTP_INTERNAL_H
#define PFC_SERVER_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/http/http.h"

#define PFC_HTTP_TOPICS 8
#define PFC_HTTP_BUCKETS 9
#define PFC_HTTP_IDLE_S 60      /* between two requests of one connection */
#define PFC_HTTP_WRITE_S 120    /* for a client to take a reply */
#define PFC_HTTP_PING_S 15      /* a comment line on every stream: finds clients that left */
#define PFC_HTTP_RECHECK_S 5    /* waiting handlers look again even when nobody told them */
#define PFC_HTTP_BODY_RATE (256.0 * 1024) /* bytes/s that a body must keep up with */
#define PFC_HTTP_DRAIN_BYTES (64u * 1024 * 1024) /* read and dropped, to answer 413 in order */
#define PFC_HTTP_STREAM_BYTES (256u * 1024)      /* queued for one stream; over it, it is ended */

/** One socket. */
typedef struct http_conn {
    struct http_conn *prev;
    struct http_conn *next;
    int fd;
    int64_t deadline_ns; /* shut down after it; 0: none */
} http_conn;

/** One request and its answer, from the request line to the last byte. */
typedef struct http_exchange {
    pfc_http *http;
    struct MHD_Connection *mhd;
    http_conn *conn;
    char id[33];
    char method[16];
    char *uri;        /* owned: path and query as sent */
    char *decoded;    /* owned: storage of params and query */
    char *auth_text;  /* owned: Authorization as sent */
    char *key_text;   /* owned: Idempotency-Key as sent */
    char *match_text; /* owned: If-None-Match as sent */
    bool accepts_gzip;
    bool body_gzip;
    bool seen;      /* headers were looked at */
    bool over;      /* the body passed the limit and is dropped */
    bool complete;  /* the body is here */
    size_t dropped; /* bytes of it after that */
    pfc_buf body;
    pfc_err fault; /* found in the headers, told when the body is read */
    int fault_status;
    int64_t begin_ns;    /* request line */
    int64_t complete_ns; /* last byte of the request */
    int status;          /* sent */
    size_t sent_bytes;
    size_t route_index; /* routes_len: none matched */
    /* waiting, guarded by hub.lock */
    struct http_exchange *wait_prev;
    struct http_exchange *wait_next;
    bool waiting;
    size_t wait_topic;
    uint64_t wait_generation; /* of the topic when the handler was called */
    int64_t wait_wake_ns;
} http_exchange;

/** One event stream; guarded by hub.lock. */
typedef struct http_stream {
    struct http_stream *prev;
    struct http_stream *next;
    struct pfc_http *http;
    struct MHD_Connection *mhd;
    char project[64];
    pfc_buf pending;
    size_t taken; /* bytes of pending already sent */
    bool suspended;
    bool ended;
    int64_t ping_ns;
} http_stream;

typedef struct http_hub {
    pthread_mutex_t lock;
    http_exchange *waiters;               /* guarded by lock */
    http_stream *streams;                 /* guarded by lock */
    size_t streams_len;                   /* guarded by lock */
    size_t waiters_len;                   /* guarded by lock */
    const char *topics[PFC_HTTP_TOPICS];  /* guarded by lock */
    uint64_t generation[PFC_HTTP_TOPICS]; /* guarded by lock */
    size_t topics_len;                    /* guarded by lock */
    uint64_t event_id;                    /* guarded by lock */
    bool stopping;                        /* guarded by lock */
} http_hub;

/** Counters of one route; the last row is for what matched none. */
typedef struct http_route_stats {
    atomic_uint_fast64_t by_class[6]; /* [2]: 2xx, ... */
    atomic_uint_fast64_t buckets[PFC_HTTP_BUCKETS];
    atomic_uint_fast64_t sum_ns;
} http_route_stats;

struct pfc_http {
    pfc_http_opts opts;
    char url[300];
    struct MHD_Daemon *daemon;
    http_hub hub;
    pthread_t timer;
    bool timer_running;
    atomic_bool stopping;
    atomic_int active; /* exchanges between request line and completion */
    http_route_stats *stats; /* routes_len + 1 */
    atomic_uint_fast64_t timeouts;
    pthread_mutex_t lock;
    http_conn *conns; /* guarded by lock */
    size_t conns_len; /* guarded by lock */
    bool timer_stop;  /* guarded by lock */
    pthread_cond_t timer_wake;
};

/* listen.c */
pfc_code http_listen(const char *address, int *out_fd, char *url, size_t url_cap,
                     pfc_err *err) PFC_MUSTCHECK;

/* request.c */
/** Looks at the headers once. Returns a status to answer at once with a closed connection (the body
 *  cannot be trusted to end), or 0; other faults are kept in x->fault. */
int http_request_headers(http_exchange *x);
void http_request_data(http_exchange *x, const char *data, size_t len);
/** Gunzips the body when it is compressed and fills req->body. */
pfc_code http_request_body(http_exchange *x, pfc_req *req, pfc_err *err) PFC_MUSTCHECK;
/** Declared body length, 0 when there is none. */
uint64_t http_request_length(http_exchange *x);

/* query.c */
/** Decodes %XX (and + in queries) into out, which has room for len + 1 bytes; refuses broken
 *  escapes, control bytes and what is no UTF-8. Returns the length, or -1. */
long http_decode(const char *text, size_t len, bool plus, char *out);
/** Splits "a=1&b=2" into req->query, each name once, all named in route->query. */
pfc_code http_query_parse(const char *query, const char *allowed, char *storage, pfc_req *req,
                          pfc_err *err) PFC_MUSTCHECK;

/* router.c */
typedef enum http_match { HTTP_NO_PATH, HTTP_NO_METHOD, HTTP_MATCH, HTTP_BAD_PATH } http_match;
/** Finds the route; fills req->params from `storage` (3 * strlen(path) + 1 bytes are enough) and
 *  `allow` with the methods of the path. */
http_match http_route(const pfc_route *routes, size_t len, const char *method, const char *path,
                      size_t path_len, char *storage, size_t *used, pfc_req *req, size_t *index,
                      char *allow, size_t allow_cap);
bool http_pattern_has(const pfc_route *route, const char *name);

/* auth.c */
/** The token of "Bearer pfc_..."; NULL when the header has another form. Points into `header`. */
const char *http_bearer(const char *header);
unsigned http_scope_parse(const char *word);
/** Decides who asks and whether the route is open to them. Sets *status to 401, 403 or 503. */
pfc_code http_authorise(const pfc_http *http, const http_exchange *x, pfc_req *req, int *status,
                        pfc_err *err) PFC_MUSTCHECK;

/* reply.c */
int http_status_of(pfc_code code);
const char *http_error_word(int status);
/** Replaces what is in the reply by the error; status 0: from err->code. */
void http_reply_error(pfc_reply *reply, int status, const pfc_err *err);
void http_reply_clear(pfc_reply *reply);
/** Hands the reply to libmicrohttpd, which takes its body. */
enum MHD_Result http_reply_send(http_exchange *x, pfc_reply *reply, bool close);

/* hub.c */
void http_hub_init(http_hub *hub);
void http_hub_clear(http_hub *hub);
/** The topic's number and its generation now; made on first use. */
size_t http_hub_topic(http_hub *hub, const char *topic, uint64_t *generation);
void http_hub_generations(http_hub *hub, uint64_t out[PFC_HTTP_TOPICS]);
/** Suspends x until the topic is published; false when that happened since the handler was called
 *  (it must look again), or when the server stops. */
bool http_hub_wait(http_exchange *x, size_t topic, uint64_t generation, int64_t wake_ns);
void http_hub_forget(http_exchange *x);
/** Wakes what is due; returns when it must be called next. */
int64_t http_hub_tick(http_hub *hub, int64_t now_ns);
void http_hub_stop(http_hub *hub);
enum MHD_Result http_hub_stream(http_exchange *x, const pfc_req *req);
void http_security_headers(struct MHD_Response *response, const char *request_id);

/* metrics.c */
void http_metrics_count(pfc_http *http, const http_exchange *x, int64_t now_ns);

#endif
