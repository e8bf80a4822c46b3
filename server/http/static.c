/* The dashboard out of a table in the program: no path is ever joined to a folder. */
#include <string.h>

#include "server/http/assets.h"
#include "server/http/internal.h"
#include "server/http/parse.h"

static const pfc_asset *find_asset(const char *path)
{
    for (size_t i = 0; i < pfc_assets_len; i++) {
        if (strcmp(pfc_assets[i].path, path) == 0)
            return &pfc_assets[i];
    }
    return NULL;
}

/* Does the page's own routing know the path? Prefixes end in '/'. */
static bool is_page(const char *path)
{
    for (size_t i = 0; i < pfc_asset_pages_len; i++) {
        const char *page = pfc_asset_pages[i];
        size_t len = strlen(page);

        if (strcmp(path, page) == 0)
            return true;
        if (len > 1 && page[len - 1] == '/' && strncmp(path, page, len) == 0)
            return true;
    }
    return false;
}

static void send_asset(const pfc_asset *asset, int status, pfc_reply *reply)
{
    reply->status = status;
    reply->borrowed = true;
    reply->body = (char *)(uintptr_t)asset->data; /* persistent: never written */
    reply->body_len = asset->len;
    reply->gzip_body = (const char *)asset->gzip;
    reply->gzip_len = asset->gzip_len;
    reply->br_body = (const char *)asset->br;
    reply->br_len = asset->br_len;
    reply->content_type = asset->type;
    reply->cache = asset->immutable ? "public, max-age=31536000, immutable" : "no-cache";
}

pfc_code pfc_static_serve(const char *path, pfc_reply *reply, pfc_err *err)
{
    const pfc_asset *asset = is_page(path) ? find_asset("index.html") : find_asset(path + 1);

    if (path[0] != '/' || !asset)
        return pfc_err_set(err, PFC_ENOTFOUND, "nothing is at this path");
    send_asset(asset, 200, reply);
    return PFC_OK;
}

bool httpd_static_missing(const pfc_req *req, const char *path, pfc_reply *reply)
{
    const pfc_asset *page = find_asset("index.html");

    /* Browsers prefer HTML where they open an address; scripts and other clients do not. */
    if (!page || strncmp(path, "/api/", 5) == 0 ||
        httpd_type_weight(req->accept, "text/html") <=
            httpd_type_weight(req->accept, "application/json"))
        return false;
    send_asset(page, 404, reply);
    return true;
}
