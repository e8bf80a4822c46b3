/*
 * The server and its requests, as the parts of server/http share them.
 *
 * Locks: pfc_httpd.lock guards connections and their deadlines, events.lock guards waiting requests
 * and streams. Neither is held while the other is taken; libmicrohttpd's own locks are taken after
 * both.
 */
#ifndef PFC_SERVER_HTTP_INTERNAL_H
#define PFC_SERVER_HTTP_INTERNAL_H

#include "server/http/connection/conns.h"
#include "server/http/connection/host_names.h"
#include "server/http/connection/tls.h"
#include "server/http/events.h"
#include "server/http/parse.h"
#include "server/services/access/access.h"

#define PFC_HTTPD_COOKIE    "pfc_session"
#define PFC_HTTPD_MAX_ID    64 /* of a request */
#define PFC_HTTPD_BUCKETS   9
#define PFC_HTTPD_WRITE     4              /* request time-outs for a client to read a reply */
#define PFC_HTTPD_BODY_RATE (256.0 * 1024) /* bytes/s, the slowest accepted body */
#define PFC_HTTPD_DRAIN_BYTES                                                                      \
    (64u * 1024 * 1024)                    /* read and dropped, so that the client reads the 413 */
#define PFC_HTTPD_EARLY_BYTES (64u * 1024) /* a longer body is authorised before it is stored */
#define PFC_HTTPD_BODIES_BYTES                                                                     \
    (256u * 1024 * 1024) /* of all active requests, as sent and after gunzip */
/* Memory of libmicrohttpd for a connection: an address and a header of the maximal lengths, and
 * other headers. It clears the whole pool between two requests, so every connection uses all of it.
 */
#define PFC_HTTPD_POOL_BYTES (20u * 1024)

/** One request and its answer, from the request line to the last byte. */
typedef struct httpd_exchange {
    pfc_httpd *http;
    struct MHD_Connection *mhd;
    httpd_conn *conn;
    char id[PFC_HTTPD_MAX_ID + 1];
    char method[16];
    char *uri;         /* owned: path and query as sent */
    char *decoded;     /* owned: storage of params and query */
    char *auth_text;   /* owned: Authorization as sent */
    char *cookie_text; /* owned: the session's id, NULL: none */
    bool cross_site;   /* the browser reports a request of another site */
    bool own_page;     /* the browser reports a page of this service, see same_origin */
    char address[PFC_ADDRESS_TEXT]; /* of the client, behind trusted proxies; "": unknown */
    double retry_s;                 /* of a 429 */
    char *key_text;                 /* owned: Idempotency-Key as sent */
    char *match_text;               /* owned: If-None-Match as sent */
    char *types_text;               /* owned: Accept as sent */
    char *accept_text;              /* owned: Accept-Encoding as sent */
    char *proxy_text;               /* owned: X-Forwarded-For, all of its lines */
    bool chunks;                    /* HTTP/1.1: the body may be chunked */
    bool chunked;                   /* the body is chunked */
    bool closing; /* the connection is closed after the answer: the start of the next request is not
                     certain */
    uint64_t declared; /* Content-Length */
    uint64_t received; /* bytes of the body as sent; of chunks their content */
    bool body_gzip;
    bool counted_token; /* in the limit of its token */
    bool counted;       /* in the limit of its address */
    bool seen;          /* the headers are parsed */
    bool over;          /* the body is over the limit and is dropped */
    bool complete;      /* the whole body is read */
    size_t dropped;     /* bytes of it after that */
    size_t held;        /* bytes of it counted in http->bodies */
    bool encrypted;     /* a trusted proxy reports that its client uses TLS */
    pfc_buf body;
    pfc_err fault; /* found in the headers, answered after the body is read */
    int fault_status;
    char allow[64];      /* of a fault that is a 405 */
    int64_t begin_ns;    /* request line */
    int64_t complete_ns; /* last byte of the request */
    int status;          /* sent */
    int64_t run_id;      /* of the run that it stored, for its log line; 0: none */
    size_t sent_bytes;
    size_t route_index;     /* routes_len: none matched */
    const pfc_later *later; /* work of another thread for it; NULL: none */
    void *ticket;           /* of later; released with the exchange */
    pfc_principal auth;     /* of the first call, for the second */
    bool short_time; /* the body is refused for its client's limit; its length gives no more time */
    bool uploading;  /* counted in http->uploads; used by its own thread only */
    /* guarded by uploads_lock */
    struct httpd_exchange *upload_prev;
    struct httpd_exchange *upload_next;
    /* waiting, guarded by events.lock */
    struct httpd_exchange *wait_prev;
    struct httpd_exchange *wait_next;
    bool waited;  /* it has waited before; used by its own thread only */
    bool no_wait; /* too many wait: answered as if its time were over */
    bool waiting;
    const char *wait_topic; /* NULL: for wait_tag */
    pfc_wish wish;          /* of wait_topic; suits NULL: every event */
    uint64_t wait_tag;
    int64_t wait_wake_ns;
} httpd_exchange;

/** Counters of one route; the last row counts requests without a route. */
typedef struct httpd_route_stats {
    atomic_uint_fast64_t by_class[6]; /* [2]: 2xx, ... */
    atomic_uint_fast64_t buckets[PFC_HTTPD_BUCKETS];
    atomic_uint_fast64_t sum_ns;
} httpd_route_stats;

typedef struct httpd_limits httpd_limits;

struct pfc_httpd {
    httpd_limits *limits;
    httpd_tls *tls;          /* NULL: plain HTTP */
    struct httpd_docs *docs; /* NULL: no documentation */
    pfc_nets trusted;
    httpd_hosts hosts;
    _Atomic double rate_address, rate_token; /* requests a second; 0: no limit */
    atomic_bool public_read;
    _Atomic int64_t tick_ns;    /* last run of the timer */
    atomic_uint handling;       /* threads in handlers */
    _Atomic int64_t handler_ns; /* when a thread last entered or left a handler */
    atomic_uint_fast64_t limited;
    pfc_httpd_opts opts;
    char url[300];
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *health; /* one thread, for /healthz alone */
    struct MHD_Daemon
        *ops; /* one thread, for the other paths of operations; NULL: no such listener */
    httpd_acceptor *acceptor, *ops_acceptor;
    char ops_url[300];
    httpd_events events;
    pthread_t timer;
    bool timer_running;
    atomic_bool stopping;
    atomic_int active;        /* exchanges between request line and completion */
    atomic_size_t bodies;     /* bytes of their bodies */
    httpd_route_stats *stats; /* routes_len + 1 */
    atomic_uint_fast64_t timeouts;
    atomic_uint_fast64_t refused; /* connections beyond the limit */
    atomic_uint_fast64_t evicted; /* unused connections closed for newer ones */
    atomic_uint_fast64_t crowded; /* streams and waits beyond their limits */
    pthread_mutex_t uploads_lock; /* held for the list alone, with no other lock */
    httpd_exchange *uploads;      /* that send a long body; guarded by uploads_lock */
    pthread_mutex_t lock;
    httpd_conn *conns;          /* guarded by lock; the newest first */
    httpd_conn *oldest;         /* the last of conns, guarded by lock */
    size_t evicted_len;         /* of conns: shut down for newer ones, guarded by lock */
    size_t conns_len;           /* guarded by lock */
    size_t spares_len, ops_len; /* of them, guarded by lock */
    bool timer_stop;            /* guarded by lock */
    bool ended;                 /* set before the daemons stop; guarded by lock */
    pthread_cond_t timer_wake;
};

/* exchange.c: libmicrohttpd's callbacks */
void *httpd_on_request_line(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result httpd_on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **con_cls);
void httpd_on_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                        enum MHD_RequestTerminationCode how);

/* request.c */
/** Parses the headers, once. Returns a status to answer at once and close the connection, because
 * the end of the body cannot be determined, or 0; other faults are stored in x->fault. */
int httpd_request_headers(httpd_exchange *x);
/** The body is complete: checks its length against Content-Length. */
void httpd_request_ends(httpd_exchange *x);
void httpd_request_data(httpd_exchange *x, const char *data, size_t len);
/** Gunzips the body when it is compressed and fills req->body. */
pfc_code httpd_request_body(httpd_exchange *x, pfc_req *req, pfc_err *err) PFC_MUSTCHECK;
/** Declared body length; 0 without a body, and for a chunked one. */
uint64_t httpd_request_length(httpd_exchange *x);
/** True when the body is chunked. */
bool httpd_request_chunked(httpd_exchange *x);
/** Answers with this error after the body is read; none of it is stored. */
void httpd_request_refuse(httpd_exchange *x, int status, const pfc_err *err);
/** Frees the body. */
void httpd_request_release(httpd_exchange *x);
/** Frees the results of httpd_request_headers; call it last. */
void httpd_request_forget(httpd_exchange *x);

/* auth.c */
/** True when the browser states that a page of this service sent the request: Sec-Fetch-Site
 * "same-origin", which no script can set; without that header (plain HTTP on a name), an Origin
 * whose host and port are those of Host. NULL: the header is absent. */
bool httpd_is_own_page(const char *fetch_site, const char *origin, const char *host);
/** The token of "Bearer pfc_..."; NULL when the header has another form. Points into `header`. */
const char *httpd_bearer(const char *header);
/** Sets the error of a 429; who: "this address". */
pfc_code httpd_too_many(pfc_httpd *http, const char *who, int *status, pfc_err *err);
/** True when the exchange and this token and address are of one client. Without a token the address
 *  identifies the client. */
bool httpd_same_client(const httpd_exchange *x, int64_t token_id, const char *address);
/** Counts the authorised request, whose long body begins. False: its client sends as many as it may
 *  (pfc_httpd_opts.uploads_each), and this one is not counted. */
bool httpd_upload_begin(httpd_exchange *x);
/** The body is complete or given up. Harmless for a request that is not counted. */
void httpd_upload_end(httpd_exchange *x);
/** Authenticates the client and checks the scopes of the route. On failure sets *status to 401, 403
 * or 503. */
pfc_code httpd_authorise(pfc_httpd *http, httpd_exchange *x, pfc_req *req, int *status,
                         pfc_err *err) PFC_MUSTCHECK;

/* limit.c */
httpd_limits *httpd_limits_new(void);
void httpd_limits_free(httpd_limits *limits);
/** Takes one request from the bucket of this key, which fills with per_s requests a second (0: no
 *  limit). Returns 0, or the seconds until one is available. `kind` separates addresses from
 * tokens. Thread-safe. */
double httpd_limits_take(httpd_limits *limits, double per_s, char kind, const void *bytes,
                         size_t len, int64_t now_ns);

/* reply.c */
int httpd_status_of(pfc_code code);
const char *httpd_error_word(int status);
#define HTTPD_TAG_LEN 48

/** Replaces the reply by the error; status 0: the status of err->code. */
void httpd_reply_error(pfc_reply *reply, int status, const pfc_err *err);
void httpd_reply_clear(pfc_reply *reply);
/** The bytes compressed; NULL where that is no shorter. Caller frees. */
char *httpd_gzip(const char *bytes, size_t len, size_t *out_len);
/** True for a media type whose bodies compression makes shorter. */
bool httpd_compressible(const pfc_reply *reply);
/** "W/" and 32 digits of the body's hash. Weak, because the plain and the compressed body have the
 *  same tag. */
void httpd_tag_of(const pfc_reply *reply, char out[HTTPD_TAG_LEN]);
/** Passes the reply to libmicrohttpd, which owns its body from then on. */
enum MHD_Result httpd_reply_send(httpd_exchange *x, pfc_reply *reply, bool close);

/** Headers of every answer; under TLS Strict-Transport-Security, too. */
void httpd_security_headers(struct MHD_Response *response, const httpd_exchange *x);

/* metrics.c */
void httpd_metrics_count(pfc_httpd *http, const httpd_exchange *x, int64_t now_ns);

#endif
