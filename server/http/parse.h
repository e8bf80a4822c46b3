/*
 * Parsing of addresses, queries and negotiation headers: pure functions.
 */
#ifndef PFC_SERVER_HTTP_PARSE_H
#define PFC_SERVER_HTTP_PARSE_H

#include "server/http/http.h"

/* negotiate.c */
typedef struct httpd_codings {
    bool br;       /* brotli is acceptable, with at least the weights of the others */
    bool gzip;     /* gzip is acceptable, with at least the weight of identity */
    bool identity; /* acceptable without a coding */
} httpd_codings;
/** Parses an Accept-Encoding header; NULL: no header. gzip and identity false: the client accepts
 * no coding that every answer has; only files of the dashboard have a brotli form. */
httpd_codings httpd_codings_of(const char *header);
/** True when If-None-Match (NULL: no header) lists the tag, strong or weak, or is "*". */
bool httpd_tag_listed(const char *header, const char *tag);

/** The weight, 0 to 1, of a media type ("text/plain") in an Accept header; the most specific
 * matching range counts. NULL: 1. */
double httpd_type_weight(const char *header, const char *type);

/* query.c */
/** Decodes %XX (and + in queries) into out, which has room for len + 1 bytes. Returns the length,
 * or -1 for invalid escapes, control bytes and invalid UTF-8. */
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

typedef struct httpd_routed {
    httpd_match match;
    size_t used;    /* bytes of the storage */
    char allow[64]; /* of HTTPD_NO_METHOD: the methods of the path */
} httpd_routed;

/** Finds the route of req->method and the path, sets req->route, and fills req->params from
 * `storage` (3 * path_len + 1 bytes are enough). */
httpd_routed httpd_route(const pfc_route *routes, size_t len, const char *path, size_t path_len,
                         char *storage, pfc_req *req);

#endif
