/*
 * What the parts of server/http share among themselves.
 *
 * Locks: pfc_httpd.lock guards connections and their deadlines, hub.lock guards waiters and streams.
 * Neither is held while the other is taken; libmicrohttpd's own locks come after both.
 */
#ifndef PFC_SERVER_HTTP_INTERNAL_H
#define PFC_SERVER_HTTP_INTERNAL_H

#include <gnutls/abstract.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "core/base/address.h"
#include "server/http/host_names.h"
#include "server/http/http.h"

#define PFC_HTTPD_COOKIE      "pfc_session"
#define PFC_HTTPD_MAX_ID      64 /* of a request */
#define PFC_HTTPD_BUCKETS     9
#define PFC_HTTPD_LISTEN_NS   PFC_NS_PER_S /* how often resting connections are listened to */
#define PFC_HTTPD_IDLE        2   /* request times-out between two requests of one connection */
#define PFC_HTTPD_WRITE       4   /* likewise for a client to take a reply */
#define PFC_HTTPD_STREAM_S    900 /* of a token's stream: it may have expired meanwhile */
#define PFC_HTTPD_PING_S      15  /* a comment line on every stream: finds clients that left */
#define PFC_HTTPD_RECHECK_S   5   /* waiting handlers look again even when nobody told them */
#define PFC_HTTPD_BODY_RATE   (256.0 * 1024)      /* bytes/s that a body must keep up with */
#define PFC_HTTPD_DRAIN_BYTES (64u * 1024 * 1024) /* read and dropped, to answer 413 in order */
#define PFC_HTTPD_EARLY_BYTES (64u * 1024)        /* a longer body is for those who may send it */
#define PFC_HTTPD_BODIES_BYTES                                                                     \
    (256u * 1024 * 1024) /* of all requests under way, as sent and after gunzip */
#define PFC_HTTPD_STREAM_BYTES (256u * 1024) /* queued for one stream; over it, it is ended */
#define PFC_HTTPD_PAST         512           /* events kept for those who connect again */
#define PFC_HTTPD_BACK_S       60            /* for a stream that ended to come back */
#define PFC_HTTPD_SPARE        16 /* places beyond the limit, for those who ask after health */
#define PFC_HTTPD_OPS          32 /* places of the listener for operations */
/* libmicrohttpd's, of a connection: an address, a header, each of them as long as may be, and others.
 * It writes the whole of it between two requests, so a connection takes so much of memory. */
#define PFC_HTTPD_POOL_BYTES   (20u * 1024)

/** One socket. */
typedef struct httpd_conn {
    struct httpd_conn *prev;
    struct httpd_conn *next;
    int fd;
    struct sockaddr_storage from;
    socklen_t from_len;
    pfc_address peer;
    bool health; /* the thread for health has it: one question, one answer */
    bool ops;    /* came through the listener for operations */
    bool spare;  /* beyond the limit: served if it asks after health, else closed */
    enum { HTTPD_UNHEARD, HTTPD_MOVES, HTTPD_SERVED } stage;
    int64_t deadline_ns; /* shut down after it; 0: none */
    bool reading;        /* it is the client that has to send */
    bool resting;        /* between two requests: the first byte of the next starts its clock */
    uint64_t received;   /* bytes, when it was looked at while resting; 0: not yet */
    int unread;          /* bytes that waited for libmicrohttpd at the last look */
} httpd_conn;

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
    char *cookie_text; /* owned: the session's token, NULL: none */
    bool cross_site;   /* the browser says that another site asks */
    double retry_s;    /* of a 429 */
    char *key_text;    /* owned: Idempotency-Key as sent */
    char *match_text;  /* owned: If-None-Match as sent */
    char *types_text;  /* owned: Accept as sent */
    char *accept_text; /* owned: Accept-Encoding as sent */
    char *proxy_text;  /* owned: X-Forwarded-For, all of its lines */
    bool chunks;       /* HTTP/1.1: a body may come in them */
    bool chunked;      /* it does */
    bool
        closing; /* the connection ends with this answer: where the next request begins is not sure */
    uint64_t declared; /* Content-Length */
    uint64_t received; /* bytes of the body, as sent; of chunks their content */
    bool body_gzip;
    bool counted_token; /* against the limit of its token */
    bool counted;       /* against the limit of its address */
    bool seen;          /* headers were looked at */
    bool over;          /* the body passed the limit and is dropped */
    bool complete;      /* the body is here */
    size_t dropped;     /* bytes of it after that */
    size_t held;        /* bytes of it counted in http->bodies */
    bool encrypted;     /* a trusted proxy says that its client speaks TLS */
    pfc_buf body;
    pfc_err fault; /* found in the headers, told when the body is read */
    int fault_status;
    char allow[64];      /* of a fault that is a 405 */
    int64_t begin_ns;    /* request line */
    int64_t complete_ns; /* last byte of the request */
    int status;          /* sent */
    int64_t run_id;      /* that it stored, for its log line; 0: none */
    size_t sent_bytes;
    size_t route_index;     /* routes_len: none matched */
    const pfc_later *later; /* what was given away; NULL: nothing */
    void *ticket;           /* of later; released with the exchange */
    pfc_principal auth;     /* of the first call, for the second */
    /* waiting, guarded by hub.lock */
    struct httpd_exchange *wait_prev;
    struct httpd_exchange *wait_next;
    bool waited; /* at any time; its own thread's */
    bool waiting;
    const char *wait_topic; /* NULL: for wait_tag */
    uint64_t wait_tag;
    int64_t wait_wake_ns;
} httpd_exchange;

/** One event stream; guarded by hub.lock. */
typedef struct httpd_stream {
    struct httpd_stream *prev;
    struct httpd_stream *next;
    struct pfc_httpd *http;
    struct MHD_Connection *mhd;
    int fd; /* its socket, which outlives it; -1: not known */
    char project[64];
    int64_t token_id; /* who opened it; 0: nobody in particular */
    int64_t end_ns;   /* then the client asks again, and is looked at anew; 0: never */
    pfc_buf pending;
    size_t taken; /* bytes of pending already sent */
    bool suspended;
    bool ended;
    int64_t ping_ns;
} httpd_stream;

/** One event that was published. */
typedef struct httpd_news {
    char *text; /* as it is sent; NULL: there is none yet */
    char project[64];
} httpd_news;

typedef struct httpd_hub {
    pthread_mutex_t lock;
    httpd_exchange *waiters;    /* guarded by lock */
    httpd_exchange *later[512]; /* those who wait for a tag, by tag; guarded by lock */
    uint64_t tags;              /* given out so far; guarded by lock */
    httpd_stream *streams;      /* guarded by lock */
    size_t streams_len;         /* guarded by lock */
    size_t waiters_len;         /* guarded by lock */
    int64_t left_ns; /* when the newest stream ended, 0: there was none; guarded by lock */
    httpd_news past[PFC_HTTPD_PAST]; /* event number n at n % PFC_HTTPD_PAST; guarded by lock */
    uint64_t news;                   /* events so far; guarded by lock */
    uint64_t gap;                    /* events up to this one are not kept; guarded by lock */
    char epoch[33];                  /* of this server's life: event ids are EPOCH-NUMBER */
    atomic_uint_fast64_t generation; /* of news published; changed under the lock */
    atomic_uint_fast64_t ends; /* how often streams of tokens were ended; changed under the lock */
    bool stopping;             /* guarded by lock */
} httpd_hub;

/** Counters of one route; the last row is for what matched none. */
typedef struct httpd_route_stats {
    atomic_uint_fast64_t by_class[6]; /* [2]: 2xx, ... */
    atomic_uint_fast64_t buckets[PFC_HTTPD_BUCKETS];
    atomic_uint_fast64_t sum_ns;
} httpd_route_stats;

typedef struct httpd_limits httpd_limits;
typedef struct httpd_door httpd_door;
typedef struct httpd_tls httpd_tls;

struct pfc_httpd {
    httpd_limits *limits;
    httpd_tls *tls;          /* NULL: plain HTTP */
    struct httpd_docs *docs; /* NULL: no documentation */
    pfc_nets trusted;
    httpd_hosts hosts;
    _Atomic double rate_address, rate_token; /* requests a second; 0: no limit */
    atomic_bool public_read;
    _Atomic int64_t tick_ns; /* the timer was here last */
    atomic_uint handling;    /* threads in handlers */
    _Atomic int64_t turn_ns; /* when one went in or came out last */
    atomic_uint_fast64_t limited;
    pfc_httpd_opts opts;
    char url[300];
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *health; /* one thread, for /healthz alone */
    struct MHD_Daemon *ops; /* one thread, for what else operations ask; NULL: no such listener */
    httpd_door *door, *ops_door;
    char ops_url[300];
    httpd_hub hub;
    pthread_t timer;
    bool timer_running;
    atomic_bool stopping;
    atomic_int active;        /* exchanges between request line and completion */
    atomic_size_t bodies;     /* bytes of their bodies */
    httpd_route_stats *stats; /* routes_len + 1 */
    atomic_uint_fast64_t timeouts;
    atomic_uint_fast64_t crowded; /* connections refused: there were too many */
    pthread_mutex_t lock;
    httpd_conn *conns;          /* guarded by lock; the newest first */
    size_t conns_len;           /* guarded by lock */
    size_t spares_len, ops_len; /* of them, guarded by lock */
    bool timer_stop;            /* guarded by lock */
    bool ended;                 /* the daemons are about to stop; guarded by lock */
    pthread_cond_t timer_wake;
};

/* conns.c */
/** Raises the process's limit of open files for so many connections; how many there may be. */
unsigned httpd_make_room(unsigned connections);
/**
 * Takes a new socket into the list; NULL: it is one too many. There are opts.connections places, and
 * PFC_HTTPD_SPARE more for those whose first bytes can be looked at (`looks`); `ops`: that listener's
 * PFC_HTTPD_OPS instead.
 */
httpd_conn *httpd_conn_admit(pfc_httpd *http, int fd, const struct sockaddr_storage *from,
                             socklen_t len, bool looks, bool ops);
/** The spare (or ops) place to give up for a newcomer: the oldest that has said nothing; NULL: all have,
 *  or there is a place left. */
httpd_conn *httpd_conns_silent(pfc_httpd *http, bool ops);
/** From now on the socket is libmicrohttpd's. */
void httpd_conn_moves(pfc_httpd *http, httpd_conn *conn, bool health);
/** Out of the list; the socket is the caller's to close. */
void httpd_conn_drop(pfc_httpd *http, httpd_conn *conn);
/** One of this door's that has not been handed over, NULL: none. */
httpd_conn *httpd_conns_unheard(pfc_httpd *http, bool ops);
/** Has any connection sent what nobody has read yet? */
bool httpd_conns_unread(pfc_httpd *http);
/** MHD_NotifyConnectionCallback: keeps the list. */
void httpd_on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                         enum MHD_ConnectionNotificationCode what);
/** After deadline_ns (0: never) the connection is ended, unless it is we who have not read. */
void httpd_conn_deadline(pfc_httpd *http, httpd_conn *conn, int64_t deadline_ns, bool reading);
/** Between two requests, for PFC_HTTPD_IDLE request time-outs at most. */
void httpd_conn_rests(pfc_httpd *http, httpd_conn *conn, int64_t now_ns);
/** Starts the clock of those that have begun another request. libmicrohttpd says nothing of it before its
 *  first line is whole. */
void httpd_conns_listen(pfc_httpd *http, int64_t now_ns);
/** Wakes the threads of libmicrohttpd that left requests lying since the last call (epoll_wake.c). */
void httpd_conns_nudge(pfc_httpd *http);
/** Ends sockets past their deadline, or all of them. */
void httpd_conns_reap(pfc_httpd *http, int64_t now_ns, bool all);

/* exchange.c: libmicrohttpd's callbacks */
void *httpd_on_request_line(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result httpd_on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **con_cls);
void httpd_on_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                        enum MHD_RequestTerminationCode how);

/* accept.c */
/** Accepts on `listener` (its own from then on) until it is closed; ops: for operations, plain HTTP. */
pfc_code httpd_door_open(pfc_httpd *http, int listener, bool ops, httpd_door **out,
                         pfc_err *err) PFC_MUSTCHECK;
/** No new connections; those that have sent something are handed over. Accepts NULL. */
void httpd_door_close(httpd_door *door);
/** Lets this thread go before the others, where that is allowed: it has little to do, and at once. */
void httpd_hurry(void);

/* tls.c */
/** TLS 1.2 and 1.3 alone, with GnuTLS's default ciphers. */
#define PFC_HTTPD_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
/** PEM texts; PFC_EINVAL with the setting that is wrong, also when the key is another certificate's. */
pfc_code httpd_tls_new(const char *cert, const char *key, httpd_tls **out,
                       pfc_err *err) PFC_MUSTCHECK;
/** Other files from the next handshake on; on failure nothing changes. *renewed: they are others. */
pfc_code httpd_tls_renew(httpd_tls *tls, const char *cert, const char *key, bool *renewed,
                         pfc_err *err) PFC_MUSTCHECK;
/** After the daemons have stopped. Accepts NULL. */
void httpd_tls_free(httpd_tls *tls);
/** When the certificate expires, Unix seconds. */
int64_t httpd_tls_ends(httpd_tls *tls);
/** A connection is there: its handshake will ask httpd_tls_present. */
void httpd_tls_begins(httpd_tls *tls, struct MHD_Connection *mhd);
/** gnutls_certificate_retrieve_function2. */
int httpd_tls_present(gnutls_session_t session, const gnutls_datum_t *authorities, int len,
                      const gnutls_pk_algorithm_t *algorithms, int algorithms_len,
                      gnutls_pcert_st **chain, unsigned *chain_len, gnutls_privkey_t *key);

/* listen.c */
/** Is what this socket is bound to an address of this machine alone (127.0.0.0/8, ::1)? */
bool httpd_is_near(int fd);
/** A socket that somebody else has bound: checks that it listens for streams, and tells its URL. */
pfc_code httpd_adopt(int fd, char *url, size_t url_cap, pfc_err *err) PFC_MUSTCHECK;
/** `flag` names the setting in errors: "--listen". */
pfc_code httpd_listen(const char *flag, const char *address, int *out_fd, char *url, size_t url_cap,
                      pfc_err *err) PFC_MUSTCHECK;

/* peer.c */
/** What limits count by: the IPv4 address, or the IPv6 address's /64. Its length; *bytes in *peer. */
size_t httpd_peer_key(const pfc_address *peer, const unsigned char **bytes);
/** Whom a trusted proxy speaks for: the last address of X-Forwarded-For that is not itself trusted.
 *  False: it does not say (or not readably). */
bool httpd_forwarded_for(const char *header, const pfc_nets *trusted, pfc_address *out);

/* request.c */
/** Looks at the headers once. Returns a status to answer at once with a closed connection (the body
 *  cannot be trusted to end), or 0; other faults are kept in x->fault. */
int httpd_request_headers(httpd_exchange *x);
void httpd_request_data(httpd_exchange *x, const char *data, size_t len);
/** Gunzips the body when it is compressed and fills req->body. */
pfc_code httpd_request_body(httpd_exchange *x, pfc_req *req, pfc_err *err) PFC_MUSTCHECK;
/** Declared body length, 0 when there is none or it comes in chunks. */
/** The body is complete: whether it is as long as was declared. */
void httpd_request_ends(httpd_exchange *x);
uint64_t httpd_request_length(httpd_exchange *x);
/** Whether a body comes in chunks. */
bool httpd_request_chunked(httpd_exchange *x);
/** Answers with this error once the body was read, none of which is kept. */
void httpd_request_refuse(httpd_exchange *x, int status, const pfc_err *err);
/** The body is needed no more. */
void httpd_request_release(httpd_exchange *x);
/** Frees what httpd_request_headers() kept. The last one to ask. */
void httpd_request_forget(httpd_exchange *x);

/* negotiate.c */
typedef struct httpd_codings {
    bool gzip;     /* it may be compressed, and the client likes that no less */
    bool identity; /* it may be sent as it is */
} httpd_codings;
/** Of an Accept-Encoding header, NULL: none. Both false: nothing that this server has. */
httpd_codings httpd_codings_of(const char *header);
/** Is the tag, of either strength, one of those in If-None-Match (NULL: none), or is any ("*")? */
bool httpd_tag_listed(const char *header, const char *tag);

/** Weight, 0 to 1, of a media type ("text/plain") by an Accept header; the most specific range that fits
 *  counts. NULL: 1. */
double httpd_type_weight(const char *header, const char *type);

/* query.c */
/** Decodes %XX (and + in queries) into out, which has room for len + 1 bytes; refuses broken
 *  escapes, control bytes and what is no UTF-8. Returns the length, or -1. */
long httpd_decode(const char *text, size_t len, bool plus, char *out);
/** Splits "a=1&b=2" into req->query, each name once, all named in route->query. */
pfc_code httpd_query_parse(const char *query, const char *allowed, char *storage, pfc_req *req,
                           pfc_err *err) PFC_MUSTCHECK;

/* router.c */
typedef enum httpd_match {
    HTTPD_NO_PATH,
    HTTPD_NO_METHOD,
    HTTPD_MATCH,
    HTTPD_BAD_PATH
} httpd_match;
/** Finds the route; fills req->params from `storage` (3 * strlen(path) + 1 bytes are enough) and
 *  `allow` with the methods of the path. */
httpd_match httpd_route(const pfc_route *routes, size_t len, const char *method, const char *path,
                        size_t path_len, char *storage, size_t *used, pfc_req *req, size_t *index,
                        char *allow, size_t allow_cap);

/* auth.c */
/** The token of "Bearer pfc_..."; NULL when the header has another form. Points into `header`. */
const char *httpd_bearer(const char *header);
/** A 429; who: "this address". */
pfc_code httpd_too_many(pfc_httpd *http, const char *who, int *status, pfc_err *err);
/** Decides who asks and whether the route is open to them. Sets *status to 401, 403 or 503. */
pfc_code httpd_authorise(pfc_httpd *http, httpd_exchange *x, pfc_req *req, int *status,
                         pfc_err *err) PFC_MUSTCHECK;

/* limit.c */
httpd_limits *httpd_limits_new(void);
void httpd_limits_free(httpd_limits *limits);
/** Takes one request from the bucket of this key, which fills with per_s requests a second (0: no
 *  limit); 0, or the seconds until there is one. `kind` keeps keys of different sorts apart.
 *  Thread-safe. */
double httpd_limits_take(httpd_limits *limits, double per_s, char kind, const void *bytes,
                         size_t len, int64_t now_ns);

/* reply.c */
int httpd_status_of(pfc_code code);
const char *httpd_error_word(int status);
/** Replaces what is in the reply by the error; status 0: from err->code. */
void httpd_reply_error(pfc_reply *reply, int status, const pfc_err *err);
void httpd_reply_clear(pfc_reply *reply);
/** Hands the reply to libmicrohttpd, which takes its body. */
enum MHD_Result httpd_reply_send(httpd_exchange *x, pfc_reply *reply, bool close);

/* event_streams.c */
void httpd_hub_init(httpd_hub *hub);
void httpd_hub_clear(httpd_hub *hub);
/** The count of all news so far. */
uint64_t httpd_hub_generation(httpd_hub *hub);
/** Suspends x until `topic` (static) is published or wake_ns; false when there was news since
 *  `generation` (the handler must look again), or when the server stops. */
bool httpd_hub_wait(httpd_exchange *x, const char *topic, uint64_t generation, int64_t wake_ns);
/** Suspends x until its tag is resumed or wake_ns; 0, and not suspended, when the server stops. */
uint64_t httpd_hub_wait_later(httpd_exchange *x, int64_t wake_ns);
void httpd_hub_forget(httpd_exchange *x);
/** Wakes what is due; returns when it must be called next. */
int64_t httpd_hub_tick(httpd_hub *hub, int64_t now_ns);
/** Ends all waits for streams and news; those for work that was given away go on until it is done. */
void httpd_hub_stop(httpd_hub *hub);
/** Ends those waits, too: the work takes too long for an orderly stop. */
void httpd_hub_abandon(httpd_hub *hub);
/** Begins x's stream: with what came after its Last-Event-ID, or the event `reset` when nobody knows. */
enum MHD_Result httpd_hub_stream(httpd_exchange *x, const char *project, uint64_t ends);
/** Ends the streams that were opened without a token: reading needs one now. */
void httpd_hub_end_public(httpd_hub *hub);
void httpd_security_headers(struct MHD_Response *response, const char *request_id);

/* metrics.c */
void httpd_metrics_count(pfc_httpd *http, const httpd_exchange *x, int64_t now_ns);

#endif
