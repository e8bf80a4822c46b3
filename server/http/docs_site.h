/*
 * The documentation's pages in memory, as docs/site/build.py made them; answers paths below /docs/.
 * Everything is read at the start, so that no request's path is ever joined to a folder. Immutable
 * afterwards: any thread may serve.
 */
#ifndef PFC_SERVER_HTTP_DOCS_SITE_H
#define PFC_SERVER_HTTP_DOCS_SITE_H

#include "server/http/http.h"

#define PFC_DOCS_MAX_FILES 2000
#define PFC_DOCS_MAX_BYTES (64u * 1024 * 1024) /* of all files together */
#define PFC_DOCS_MAX_DEPTH 8                   /* folders below the site's own */

typedef struct httpd_docs httpd_docs;

/** Reads the regular files below `dir` that have a known ending (html, css, js, json, svg, png);
 * links and hidden files are left out. PFC_ENOTFOUND: no folder, or no index.html in it;
 * PFC_ETOOBIG: over a limit above. */
pfc_code httpd_docs_load(const char *dir, httpd_docs **out, pfc_err *err) PFC_MUSTCHECK;
/** Answers "/docs", "/docs/" and files below; `docs` NULL: PFC_ENOTFOUND with a sentence that says
 * how to get them. */
pfc_code httpd_docs_serve(const httpd_docs *docs, const char *path, pfc_reply *reply,
                          pfc_err *err) PFC_MUSTCHECK;
/** Whether a path belongs to the documentation. */
bool httpd_docs_owns(const char *path);
/** Accepts NULL. */
void httpd_docs_free(httpd_docs *docs);

#endif
