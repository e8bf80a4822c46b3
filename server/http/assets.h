/* The dashboard's files as embed.py wrote them into the program; constant, sorted by path. */
#ifndef PFC_SERVER_HTTP_ASSETS_H
#define PFC_SERVER_HTTP_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pfc_asset {
    const char *path; /* "assets/main-0a1b2c.js", without the leading slash */
    const char *type; /* Content-Type */
    const unsigned char *data;
    size_t len;
    const unsigned char *gzip; /* NULL: not worth it */
    size_t gzip_len;
    const unsigned char *br; /* brotli (RFC 7932); NULL: not worth it */
    size_t br_len;
    bool immutable; /* the name has a hash of the content */
} pfc_asset;

extern const pfc_asset pfc_assets[];
extern const size_t pfc_assets_len;
/** Paths that answer with index.html: exact, or prefixes when they end in '/'. */
extern const char *const pfc_asset_pages[];
extern const size_t pfc_asset_pages_len;
/** False: the server was built without the dashboard, and index.html only says so. */
extern const bool pfc_assets_dashboard;

#endif
