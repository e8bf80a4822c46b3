/*
 * The HTTP layer of the server: libmicrohttpd with epoll and a fixed pool of threads, a route table
 * that main.c passes in, strict requests, and replies whose statuses only reply.c decides.
 *
 * An acceptor thread accepts connections, waits for the first bytes and hands the connection to the
 * pool. A request for /healthz goes to a thread that serves nothing else and closes the connection
 * after its answer, so that a health probe never waits behind other requests; a few connections are
 * reserved for it when the limit is reached. Under TLS the first bytes do not show the path, and
 * the pool answers everything: there, and wherever monitoring uses another network than clients, a
 * second listener (ops_listen) serves only /healthz, /readyz, /metrics and /version, in plain HTTP,
 * with its own threads and connections.
 *
 * A handler runs on a pool thread, keeps no state between calls and answers in one of five ways:
 * with JSON or text; with nothing (204); later (pfc_reply_later: the connection is suspended until
 * pfc_httpd_resume, then the handler is called again with its ticket); after an event
 * (pfc_reply_wait: the connection is suspended, and the handler is called again when the topic is
 * published, or at the deadline); or with a stream of events (pfc_reply_events). A failure code
 * becomes {"error": {...}} with its status.
 *
 * Gaps of libmicrohttpd 0.9.75 that this layer closes: its time-out measures inactivity only, so a
 * timer shuts down sockets whose request, the first or a later one, is not complete in time;
 * Content-Length together with Transfer-Encoding is refused; a suspended connection has no
 * time-out, so every wait has a deadline and every stream gets a comment line periodically; all are
 * resumed before the daemon stops. Requests that libmicrohttpd refuses before our code runs (an
 * unreadable request line, headers over its memory) get its own HTML answers, not JSON.
 */
#ifndef PFC_SERVER_HTTP_HTTP_H
#define PFC_SERVER_HTTP_HTTP_H

#include <jansson.h>

#include "core/base/buf.h"
#include "server/services/access/access.h"

#define PFC_HTTPD_MAX_URI    8192
#define PFC_HTTPD_MAX_HEADER 8192                /* bytes of one header's value */
#define PFC_HTTPD_MAX_BODY   (16u * 1024 * 1024) /* as sent, and after gunzip */
#define PFC_HTTPD_MAX_PARAMS 4                   /* {names} in a pattern */
#define PFC_HTTPD_MAX_QUERY  24                  /* parameters in a query */
#define PFC_HTTPD_MAX_ROUTES 128
#define PFC_HTTPD_MAX_WAIT_S 30

/** Routes name scopes (PFC_SCOPE_*, any of them opens it); 0: no token is needed. */
#define PFC_HTTPD_OPEN   0
#define PFC_HTTPD_SIGNED ""

typedef struct pfc_app pfc_app;     /* what handlers share; defined in server/handlers/handlers.h */
typedef struct pfc_httpd pfc_httpd; /* the running server */

typedef struct pfc_httpd_pair {
    const char *name;
    const char *value;
} pfc_httpd_pair;

struct pfc_route;

/** A complete request; everything lives until the handler returns. */
typedef struct pfc_req {
    const struct pfc_route *route;
    const char *method; /* "GET" for HEAD, too: libmicrohttpd leaves the body out */
    const char *path;   /* as sent, without query */
    const char *id; /* request id, also in the X-Request-Id header and on log lines: the client's
                           own (X-Request-Id, else the trace of traceparent), else random */
    pfc_httpd_pair params[PFC_HTTPD_MAX_PARAMS]; /* decoded path parameters */
    size_t params_len;
    pfc_httpd_pair query[PFC_HTTPD_MAX_QUERY]; /* decoded, each name once */
    size_t query_len;
    const char *body; /* NUL-terminated, decompressed; "" without one */
    size_t body_len;
    const char *idempotency_key; /* header, NULL when absent */
    const char *accept;          /* header, NULL when absent */
    pfc_principal auth;          /* token_id 0: no token (an open route, or public_read) */
    const char *address;         /* of the client, behind trusted proxies; "": unknown */
    const char *session;         /* the browser's session cookie as sent; NULL: none */
    bool own_page;               /* the browser states that a page of this service sent it */
    double waited_s;             /* since the first call, for handlers that wait */
    bool again;                  /* the handler ran before and waited for a topic */
    bool stopping;               /* the server is shutting down: do not wait */
    void *headers;               /* for pfc_req_header; NULL: none */
    void *later;                 /* second call after pfc_reply_later: its ticket; else NULL */
} pfc_req;

/** Work that another thread does for a request. */
typedef struct pfc_later {
    /* Starts the work, after the connection is suspended; pfc_httpd_resume(http, &tag, 1) ends the
     * wait. */
    void (*start)(pfc_app *app, void *ticket, uint64_t tag);
    void (*release)(void *ticket); /* called at the end of the request */
} pfc_later;

/** Which offers a waiting request wants (pfc_httpd_offer). `suits` is called with a lock held, so
 * it neither blocks nor calls this library. */
typedef struct pfc_wish {
    bool (*suits)(const void *self, const void *offer);
    void (*free)(void *self);
    void *self; /* owned */
} pfc_wish;

typedef struct pfc_reply {
    int status; /* 401, when the handler fails: its own check of the sender failed */
    char *body; /* owned */
    size_t body_len;
    const char *content_type; /* static */
    const char *cache;        /* Cache-Control, static; NULL: "private, no-cache" */
    const char *encoding;     /* Content-Encoding of body as it is, static; NULL: plain */
    bool borrowed;            /* body is not freed: it is static, or the lender's */
    const char *gzip_body;    /* likewise, the same compressed beforehand; NULL: none */
    size_t gzip_len;
    const char *br_body; /* static, by brotli; NULL: none */
    size_t br_len;
    const char *tag;             /* entity tag of the lender's body; NULL: made from the body */
    void *lender;                /* whose bodies these are, see kept.h; NULL: they are static */
    void (*leave)(void *lender); /* called when they are no longer read */
    const char *wait_topic;      /* set by pfc_reply_wait, static */
    pfc_wish wish;          /* set by pfc_reply_wait_for; suits NULL: every event of the topic */
    double wait_s;          /* at most this long after the first call */
    const pfc_later *later; /* set by pfc_reply_later, static */
    void *ticket;           /* of later */
    bool events;            /* set by pfc_reply_events */
    bool own_style;         /* a page without scripts that carries its style in itself */
    bool for_others;        /* pages of other origins may show it as an image */
    int64_t run_id;         /* that was stored, for the log; 0: none */
    char project[64];       /* whose events */
    char cookie[192];       /* Set-Cookie; "": none */
    char allow[64];         /* Allow header of a 405 or an OPTIONS answer */
    const char *location;   /* Location header of a redirect, static; NULL: none */
} pfc_reply;

typedef pfc_code (*pfc_handler)(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err);

/** One row of the table. The query list both refuses unknown names and feeds openapi.json. */
typedef struct pfc_route {
    const char *method;  /* "GET", "POST", "PATCH", "DELETE" */
    const char *pattern; /* "/api/v1/projects/{p}/series" */
    int64_t scopes;      /* any of PFC_SCOPE_*; PFC_HTTPD_OPEN: no token needed */
    pfc_handler handle;
    /* "limit:integer(1..1000) project!:string sort:(new|worth)": `!` where it is required, bounds
     * that the handler holds to; NULL: none */
    const char *query;
    /* name of the body's schema in openapi.json; NULL: none; PFC_HTTPD_SIGNED: no schema describes
     * it, and the handler checks its sender itself */
    const char *body;
    const char *summary; /* one sentence for openapi.json */
    const char
        *statuses;      /* what it answers beside the errors that every route has: "200 201 409" */
    const char *answer; /* name of its body's schema in openapi.json, NULL: no JSON */
} pfc_route;

/** Looks a token up; PFC_EDENIED when it is unknown, expired or revoked. */
typedef pfc_code (*pfc_httpd_check_token)(pfc_app *app, const char *token, pfc_principal *out,
                                          pfc_err *err);

/** Likewise the session cookie of a browser. */
typedef pfc_httpd_check_token pfc_httpd_check_session;

/** A write (no GET) of a route was refused with 401, 403 or 404. who->token_id 0: no valid token.
 * Called after the answer, on the thread that sent it. */
typedef void (*pfc_httpd_refused)(pfc_app *app, const pfc_route *route, const pfc_principal *who,
                                  const char *address, int status);

/** PFC_EUNAVAIL while the server cannot answer routes that need a token. */
typedef pfc_code (*pfc_httpd_gate)(pfc_app *app, pfc_err *err);

typedef struct pfc_httpd_opts {
    const char *listen;     /* "127.0.0.1:7420", "[::1]:0", "host:port" */
    int listen_fd;          /* > 0: a listening socket to use instead; the server's from then on */
    const char *ops_listen; /* likewise, for operations; NULL: none */
    int ops_fd;             /* > 0: goes before it, as listen_fd does */
    unsigned threads;       /* 0: 8 */
    double request_timeout_s; /* for a request to be complete; twice that between two, four times
                                 for an answer to be taken; 0: 30 */
    double begin_s;   /* at a stop: how long connected clients may take to begin a request; 0: 1 */
    bool public_read; /* routes of PFC_SCOPE_READ need no token */
    const pfc_route *routes;   /* lives as long as the server */
    size_t routes_len;         /* at most PFC_HTTPD_MAX_ROUTES */
    double rate_address;       /* requests a second of one address; 0: no limit */
    double rate_token;         /* requests a second of one token; 0: no limit */
    unsigned connections;      /* 0: 1024 */
    unsigned connections_each; /* of one address; 0: no limit */
    unsigned waiting_each;  /* event streams and waiting requests of one token (without a token: of
                              one address); 0: no limit. All of them: half of `connections` */
    unsigned uploads_each;  /* bodies over 64 KiB, or in chunks, that one token (without a token:
                              one address) may send at the same time, then 429; 0: no limit */
    size_t bodies_bytes;    /* of requests' bodies at once, then 503; 0: 256 MiB */
    const char *hosts;      /* names of the server, see host_names.h; NULL: none */
    const char *public_url; /* its host is one more; NULL: none */
    const char *trusted;    /* proxies, see pfc_nets_parse: no limit for them, X-Forwarded-For
                                  counts instead; borrowed until the server listens; NULL: none */
    const char *
        docs; /* folder of the built documentation, borrowed until the server listens; NULL: none */
    const char *tls_cert; /* PEM text, borrowed until the server listens; NULL: plain HTTP */
    const char *tls_key;
    bool allow_plain;                /* allows plain HTTP on an address other than loopback */
    pfc_httpd_check_token check;     /* NULL: refuses every token */
    pfc_httpd_check_session session; /* NULL: refuses every session */
    pfc_httpd_gate gate;             /* NULL: always */
    pfc_httpd_refused refused;       /* NULL: not reported */
    pfc_app *app;
} pfc_httpd_opts;

/** The folder for opts.docs: `given`, else the installed one next to the running program, else that
 * of a build tree; caller frees. NULL: none exists. */
char *pfc_httpd_docs_dir(const char *given);
/** Starts listening; the caller frees *out. PFC_EIO when the address is in use, PFC_EINVAL when it
 * or another setting is invalid. */
pfc_code pfc_httpd_start(const pfc_httpd_opts *opts, pfc_httpd **out, pfc_err *err) PFC_MUSTCHECK;
/** Changes the settings of a running server: requests per second of one address and of one token
 * (0: no limit), and whether reading needs no token. Thread-safe. */
void pfc_httpd_tune(pfc_httpd *http, double rate_address, double rate_token, bool public_read);
/** Uses another certificate from the next handshake on; *renewed: it differs from the current one.
 * On failure nothing changes: PFC_EINVAL with a message, also when the server uses plain HTTP.
 * Thread-safe. */
pfc_code pfc_httpd_renew(pfc_httpd *http, const char *tls_cert, const char *tls_key, bool *renewed,
                         pfc_err *err) PFC_MUSTCHECK;
/** Seconds since the timer last checked the connections, normally under 0.3: longer means that a
 * lock is stuck. Thread-safe. */
double pfc_httpd_silent_s(const pfc_httpd *http);
/** Seconds for which all threads of the pool have been in handlers without one returning; 0: a
 * thread is free. Thread-safe. */
double pfc_httpd_stuck_s(const pfc_httpd *http);
/** "http://127.0.0.1:7420": where it listens, with the real port. Lives as long as the server. */
const char *pfc_httpd_url(const pfc_httpd *http);
/** The table of opts. Lives as long as the server. */
const pfc_route *pfc_httpd_routes(const pfc_httpd *http, size_t *len);
/** Likewise of the listener for operations; "" when there is none. */
const char *pfc_httpd_ops_url(const pfc_httpd *http);
/** Stops accepting, answers suspended requests, ends streams, and lets running requests finish
 * within grace_s; then it shuts their sockets down. The only call allowed after it is
 * pfc_httpd_free. */
void pfc_httpd_stop(pfc_httpd *http, double grace_s);
/** From now on pfc_httpd_stopping is true and every connection closes after its answer; requests
 * are still answered. */
void pfc_httpd_drain(pfc_httpd *http);
/** True since pfc_httpd_drain or pfc_httpd_stop was called: /readyz answers 503. */
bool pfc_httpd_stopping(const pfc_httpd *http);
/** Stops the server first if it runs. Accepts NULL. */
void pfc_httpd_free(pfc_httpd *http);

/** Wakes the handlers that wait for `topic`, one word, and sends `json`, a small document, to the
 * event streams of the project; json NULL: wakes handlers only; project "": all streams.
 * Thread-safe. */
void pfc_httpd_publish(pfc_httpd *http, const char *topic, const char *project, const char *json);
/** Wakes the request that has waited longest among those of pfc_reply_wait_for whose wish suits
 * `offer`; false: there is none. Then a handler that is about to wait runs again first, so that
 * it does not miss the offer. Thread-safe. */
bool pfc_httpd_offer(pfc_httpd *http, const char *topic, const void *offer);
/** Counts an event without publishing it: a handler that is about to wait with an earlier
 * generation runs again. True when a handler waits, a stream is open, or a stream ended a moment
 * ago and its client may reconnect: then the caller must publish the event. When false, a stream
 * that resumes from an earlier event gets `reset`. Thread-safe. */
bool pfc_httpd_news(pfc_httpd *http);
/** Ends the waits with these tags; tags of finished waits are ignored. Thread-safe. */
void pfc_httpd_resume(pfc_httpd *http, const uint64_t *tags, size_t len);
/** Ends the event streams of this token, 0: of every token; their clients reconnect and are
 * authorised again. Thread-safe. */
void pfc_httpd_end_streams(pfc_httpd *http, int64_t token_id);
/** Wakes every waiting handler, and sends the event `reset` to all streams: call it after events
 * may have been missed. Thread-safe. */
void pfc_httpd_wake_all(pfc_httpd *http);
/** Requests, durations, connections and streams in OpenMetrics text, without the final # EOF. */
void pfc_httpd_metrics(pfc_httpd *http, pfc_buf *out);

/* ---- for handlers ---- */

/** The weight of this media type in the request's Accept header, 0 to 1; 1 without a header. */
double pfc_req_type_weight(const pfc_req *req, const char *type);
/** A path parameter; ends the process when the route's pattern does not have it. */
const char *pfc_req_param(const pfc_req *req, const char *name);
/** A path parameter as a positive number; PFC_ENOTFOUND for anything else. */
pfc_code pfc_req_param_id(const pfc_req *req, const char *name, int64_t *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** A query parameter of at most max_len bytes; *out NULL when absent. */
pfc_code pfc_req_query(const pfc_req *req, const char *name, size_t max_len, const char **out,
                       pfc_err *err) PFC_MUSTCHECK;
/** Likewise, and PFC_EINVAL when it is absent or empty. */
pfc_code pfc_req_query_required(const pfc_req *req, const char *name, size_t max_len,
                                const char **out, pfc_err *err) PFC_MUSTCHECK;
/** A whole number in [min, max]; absent leaves *out alone. */
pfc_code pfc_req_query_i64(const pfc_req *req, const char *name, int64_t min, int64_t max,
                           int64_t *out, pfc_err *err) PFC_MUSTCHECK;
/** "1", "true", "0" or "false"; absent leaves *out alone. */
pfc_code pfc_req_query_bool(const pfc_req *req, const char *name, bool *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** PFC_ENOTFOUND "no such `what`" when the caller's token is bound to another project: the answer
 * must be that of a thing that does not exist. what: as in the message of the thing's lookup. */
pfc_code pfc_req_allow_project(const pfc_req *req, int64_t project_id, const char *what,
                               pfc_err *err) PFC_MUSTCHECK;

/** The first header of that name, as sent; NULL: there is none. */
const char *pfc_req_header(const pfc_req *req, const char *name);
/** Takes `json` (also on failure). PFC_EBUG when it is NULL: a value could not be encoded. */
pfc_code pfc_reply_json(pfc_reply *reply, int status, json_t *json, pfc_err *err) PFC_MUSTCHECK;
/** Takes `text`. */
pfc_code pfc_reply_text(pfc_reply *reply, int status, const char *content_type, char *text);
/** Arrays of floats behind a head in JSON: sent as they are, because they hardly compress. */
#define PFC_ARRAYS_TYPE "application/vnd.perfci.arrays"
/** Likewise `len` bytes of any kind. */
pfc_code pfc_reply_bytes(pfc_reply *reply, int status, const char *content_type, char *bytes,
                         size_t len);
/** Likewise text that lives as long as the server. */
pfc_code pfc_reply_borrowed(pfc_reply *reply, int status, const char *content_type,
                            const char *text);
pfc_code pfc_reply_empty(pfc_reply *reply);
/** Sets the session cookie to this id; "": deletes the cookie. Call it after the body was set. */
void pfc_reply_session(pfc_reply *reply, const char *id);
/** Suspends the request until `topic` is published, at most wait_s after the first call. The
 * handler does not run again when the client has disconnected. When too many requests wait, the
 * answer is 204 at once, so that the client polls in place of waiting. */
pfc_code pfc_reply_wait(pfc_reply *reply, const char *topic, double wait_s);
/** As pfc_reply_wait, but only offers of the topic that suit the wish end the wait, and each offer
 * ends one wait: many requests that wait for the same need not all run when one can get it. Takes
 * wish.self. */
pfc_code pfc_reply_wait_for(pfc_reply *reply, const char *topic, pfc_wish wish, double wait_s);
/**
 * Suspends the request, then starts `later` with `ticket`, which the request owns from now on. The
 * handler is called again, with req->later, when the tag is resumed or after wait_s. The route is
 * matched a second time; the token is not checked again. When the server stops, the work may not
 * have been started: the ticket must record that.
 */
pfc_code pfc_reply_later(pfc_reply *reply, const pfc_later *later, void *ticket, double wait_s);
/** Answers with server-sent events; project "": of all. With 429 in place of them when the token
 * has too many, with 503 when the server has. */
pfc_code pfc_reply_events(pfc_reply *reply, const char *project);
/** A JSON number, or null when it is not finite. */
json_t *pfc_reply_number(double value);
/** A JSON string, or null when text is NULL or no UTF-8. */
json_t *pfc_reply_string(const char *text);

/** The dashboard's page or file for a path; PFC_ENOTFOUND for any other path. */
pfc_code pfc_static_serve(const char *path, pfc_reply *reply, pfc_err *err) PFC_MUSTCHECK;
/** Status 404 with the dashboard's page, which says that the path is unknown, when the request
 *  prefers HTML; false: it does not, or the path is the API's, and `reply` is unchanged. */
bool httpd_static_missing(const pfc_req *req, const char *path, pfc_reply *reply);

#endif
