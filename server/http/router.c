/* Matches method and path with a row of the route table. A {name} in a pattern matches one segment.
 */
#include <stdio.h>
#include <string.h>

#include "server/http/parse.h"

/* One pattern against one path; {names} are recorded undecoded in params. */
static bool matches(const char *pattern, const char *path, size_t path_len, pfc_httpd_pair *params,
                    size_t *lens, size_t *params_len)
{
    const char *end = path + path_len;

    *params_len = 0;
    while (*pattern) {
        if (*pattern == '{') {
            const char *close = strchr(pattern, '}');
            const char *begin = path;

            while (path < end && *path != '/')
                path++;
            if (path == begin || *params_len == PFC_HTTPD_MAX_PARAMS)
                return false;
            params[*params_len] = (pfc_httpd_pair){ .name = pattern + 1, .value = begin };
            lens[(*params_len)++] = (size_t)(path - begin);
            pattern = close + 1;
        } else {
            if (path == end || *path != *pattern)
                return false;
            path++;
            pattern++;
        }
    }
    return path == end;
}

/* Copies names and decoded values one after another into storage. */
static bool keep(pfc_req *req, const size_t *lens, char *storage, size_t *used)
{
    char *at = storage;

    for (size_t i = 0; i < req->params_len; i++) {
        size_t name_len = strcspn(req->params[i].name, "}");
        long n;

        memcpy(at, req->params[i].name, name_len);
        at[name_len] = '\0';
        req->params[i].name = at;
        at += name_len + 1;
        n = httpd_decode(req->params[i].value, lens[i], false, at);
        if (n < 0)
            return false;
        req->params[i].value = at;
        at += n + 1;
    }
    *used = (size_t)(at - storage);
    return true;
}

httpd_routed httpd_route(const pfc_route *routes, size_t len, const char *path, size_t path_len,
                         char *storage, pfc_req *req)
{
    httpd_routed out = { .match = HTTPD_NO_PATH };
    size_t allow_len = 0;

    for (size_t i = 0; i < len; i++) {
        size_t lens[PFC_HTTPD_MAX_PARAMS] = { 0 };

        if (!matches(routes[i].pattern, path, path_len, req->params, lens, &req->params_len))
            continue;
        if (strcmp(routes[i].method, req->method) == 0) {
            req->route = &routes[i];
            out.match = keep(req, lens, storage, &out.used) ? HTTPD_MATCH : HTTPD_BAD_PATH;
            return out;
        }
        out.match = HTTPD_NO_METHOD;
        if (allow_len < sizeof(out.allow)) {
            int n = snprintf(out.allow + allow_len, sizeof(out.allow) - allow_len, "%s%s%s",
                             allow_len ? ", " : "", routes[i].method,
                             strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");

            allow_len += n > 0 ? (size_t)n : 0;
        }
    }
    req->params_len = 0;
    return out;
}
