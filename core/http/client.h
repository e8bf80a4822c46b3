/*
 * A small HTTP client (libcurl) for perfci's own API and for forges.
 *
 * A client belongs to one base URL. Its token goes to that scheme, host and port alone: redirects
 * are not followed, an answer 3xx comes back as it is. Answers are bounded, gzip and deflate are
 * understood, certificates are verified, only http and https are spoken. Connections are kept
 * alive between calls.
 *
 * A pfc_http is used by one thread at a time. libcurl's global state is set up once, at the first
 * pfc_http_new, whichever thread calls it.
 */
#ifndef PFC_CORE_HTTP_CLIENT_H
#define PFC_CORE_HTTP_CLIENT_H

#include <sys/socket.h>

#include <jansson.h>

#include "core/base/buf.h"

#define PFC_HTTP_MAX_ANSWER (64u * 1024 * 1024) /* the most that max_answer_bytes may be */
#define PFC_HTTP_MAX_URL    4096

typedef struct pfc_http pfc_http;

typedef struct pfc_http_opts {
    const char *url;   /* "http://127.0.0.1:7420", "https://host/prefix"; no user, no query */
    const char *token; /* sent as "Authorization: Bearer ..."; NULL: none */
    double connect_timeout_s;     /* 0: 10 */
    double timeout_s;             /* of a whole call; 0: 60 */
    size_t max_answer_bytes;      /* of a body, decompressed; 0: 16 MiB */
    bool (*cancelled)(void *arg); /* asked about once a second; true ends the call; NULL: never */
    void *cancelled_arg;
    /* asked before each connection, a proxy's too; false: not there; NULL: anywhere */
    bool (*may_reach)(void *arg, const struct sockaddr *address);
    void *may_reach_arg;
    const char
        *name; /* in messages instead of the URL, whose path may be a secret; NULL: the URL */
} pfc_http_opts;

typedef struct pfc_http_req {
    const char *method; /* "GET", "POST", "PATCH", "PUT", "DELETE"; NULL: GET */
    const char *path;   /* appended to the URL, e.g. "/api/v1/runs?limit=2" */
    const void *body;   /* NULL: none */
    size_t body_len;
    const char *content_type; /* NULL: application/json, when there is a body */
    const char *const
        *headers;      /* "Name: value", NULL-terminated; NULL: none. Accept replaces ours */
    const char *token; /* tried before the client's, which follows after 401; NULL: none */
    double timeout_s;  /* 0: the client's */
    bool fresh; /* by a new connection: libcurl sends a request again, a POST too, when a kept one
                   is closed without an answer */
    const char *const
        *answer_headers; /* names of headers to keep of the answer, NULL-terminated; NULL: none */
} pfc_http_req;

typedef struct pfc_http_answer {
    int status;           /* 100..599 */
    pfc_buf body;         /* NUL-terminated */
    char *content_type;   /* NULL when absent */
    double retry_after_s; /* of a Retry-After in seconds; 0 when absent */
    int64_t date_unix_s;  /* the Date of the answer: the clock there; 0 when absent */
    char **headers;       /* values in the order of answer_headers; NULL where absent */
    size_t headers_len;
} pfc_http_answer;

/** PFC_EINVAL for an URL that is not http(s)://host[:port][/prefix]; *out: free it. */
pfc_code pfc_http_new(const pfc_http_opts *opts, pfc_http **out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_http_free(pfc_http *http);
const char *pfc_http_url(const pfc_http *http);

/**
 * One call. PFC_OK whenever an answer came, whatever its status (clear *answer then); otherwise
 * PFC_EUNAVAIL (connection refused or lost), PFC_ETIMEOUT, PFC_ETOOBIG (answer over the limit),
 * PFC_ECONFLICT (cancelled), PFC_EDENIED (may_reach), PFC_EIO (TLS and the rest), with a message
 * that names the URL (or its placeholder) and never the token.
 */
pfc_code pfc_http_send(pfc_http *http, const pfc_http_req *req, pfc_http_answer *answer,
                       pfc_err *err) PFC_MUSTCHECK;
void pfc_http_answer_clear(pfc_http_answer *answer);

/**
 * The status as an error code, with the server's own sentence from {"error": {"message", "field"}}:
 * PFC_OK for 2xx; 400, 422 EINVAL; 401, 403 EDENIED; 404 ENOTFOUND; 409 ECONFLICT; 413 ETOOBIG;
 * 408, 504 ETIMEOUT; 429, 5xx EUNAVAIL; else EIO.
 */
pfc_code pfc_http_check(const pfc_http *http, const pfc_http_answer *answer, pfc_err *err);

/** May the same call succeed later? True for EUNAVAIL and ETIMEOUT; EIO means our side is wrong. */
bool pfc_http_retryable(pfc_code code);

/**
 * Call and check: a JSON body (NULL: none; borrowed) to a JSON answer.
 *
 * status  out, may be NULL: the HTTP status, 0 when no answer came
 * answer  out, may be NULL: the document, caller decrefs; NULL for an empty body (204)
 */
pfc_code pfc_http_json(pfc_http *http, const char *method, const char *path, const json_t *body,
                       int *status, json_t **answer, pfc_err *err) PFC_MUSTCHECK;

/** As above, with pfc_http_req.token. */
pfc_code pfc_http_json_as(pfc_http *http, const char *token, const char *method, const char *path,
                          const json_t *body, int *status, json_t **answer,
                          pfc_err *err) PFC_MUSTCHECK;

/** `text` with everything but unreserved characters as %XX, for a path or query part; caller frees.
 */
char *pfc_http_escape(const char *text);

#endif
