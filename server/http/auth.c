/* Authentication: the bearer token, its scopes, and the project that it is bound to. */
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "server/http/internal.h"
#include "server/services/access/access.h"

const char *httpd_bearer(const char *header)
{
    const char *token;

    if (!header || strncasecmp(header, "Bearer ", 7) != 0)
        return NULL;
    token = header + 7;
    token += strspn(token, " ");
    /* The token has a bounded length and no blanks; only the service checks its meaning. */
    if (!*token || strlen(token) > 256 || strpbrk(token, " \t,"))
        return NULL;
    return token;
}

bool httpd_is_own_page(const char *fetch_site, const char *origin, const char *host)
{
    const char *authority = origin ? strstr(origin, "://") : NULL;

    if (fetch_site)
        return strcasecmp(fetch_site, "same-origin") == 0;
    return authority && host && *host && strcasecmp(authority + 3, host) == 0;
}

/* Browsers send the cookie with requests of every page that they take for one of this site. It
 * reads for no page of another site, and it changes nothing without a proof that a page of this
 * service sent the request: a page on another port of this host is of the same site. */
static const char *session_of(const httpd_exchange *x, const pfc_req *req)
{
    if (x->auth_text || x->cross_site || !x->cookie_text || !x->cookie_text[0])
        return NULL;
    return x->own_page || strcmp(req->method, "GET") == 0 ? x->cookie_text : NULL;
}

pfc_code httpd_too_many(pfc_httpd *http, const char *who, int *status, pfc_err *err)
{
    atomic_fetch_add(&http->limited, 1);
    *status = 429;
    return pfc_err_set(err, PFC_EUNAVAIL, "too many requests from %s: try again later", who);
}

/* If the setting allows it, requests without a token may read, and use no other method. */
static bool is_public(pfc_httpd *http, const pfc_route *route)
{
    return (route->scopes & PFC_SCOPE_READ) && route->scopes != PFC_SCOPE_ALL &&
           strcmp(route->method, "GET") == 0 && atomic_load(&http->public_read);
}

static pfc_code allow_scope(pfc_httpd *http, const pfc_req *req, int *status, pfc_err *err)
{
    const pfc_route *route = req->route;

    if (!(req->auth.scopes & (route->scopes | PFC_SCOPE_ADMIN)) && !is_public(http, route)) {
        *status = 403;
        return pfc_err_set(err, PFC_EDENIED, "the token lacks the scope that %s %s needs",
                           route->method, route->pattern);
    }
    return PFC_OK;
}

static pfc_code check(pfc_httpd *http, pfc_httpd_check_token with, const char *secret,
                      pfc_principal *out, pfc_err *err)
{
    if (!with)
        return pfc_err_set(err, PFC_EDENIED, "unknown token");
    return with(http->opts.app, secret, out, err);
}

pfc_code httpd_authorise(pfc_httpd *http, httpd_exchange *x, pfc_req *req, int *status,
                         pfc_err *err)
{
    const pfc_route *route = req->route;
    const char *session, *token;
    pfc_code code;

    memset(&req->auth, 0, sizeof(req->auth));
    memcpy(req->auth.actor, "anonymous", sizeof("anonymous"));
    if (route->scopes != PFC_HTTPD_OPEN && http->opts.gate) {
        code = http->opts.gate(http->opts.app, err);
        if (code)
            return code;
    }
    session = session_of(x, req);
    if (!x->auth_text && !session) {
        if (route->scopes == PFC_HTTPD_OPEN || is_public(http, route))
            return PFC_OK;
        *status = 401;
        return pfc_err_set(err, PFC_EDENIED, "%s",
                           x->cookie_text && x->cookie_text[0] && !x->own_page
                               ? "a browser's session changes nothing without a proof of its "
                                 "origin: expected Sec-Fetch-Site: same-origin, or an Origin that "
                                 "is this host; other clients send Authorization: Bearer pfc_..."
                               : "this needs a token: Authorization: Bearer pfc_...");
    }

    token = session ? NULL : httpd_bearer(x->auth_text);
    if (!session && !token) {
        *status = 401;
        return pfc_err_set(err, PFC_EDENIED, "Authorization: expected \"Bearer pfc_...\"");
    }
    /* Open routes answer whatever was sent, so that probes never depend on the database. */
    if (route->scopes == PFC_HTTPD_OPEN)
        return PFC_OK;

    code = session ? check(http, http->opts.session, session, &req->auth, err)
                   : check(http, http->opts.check, token, &req->auth, err);
    /* A session whose token was removed can still read what needs no token. */
    if (code == PFC_EDENIED && !x->auth_text && is_public(http, route))
        return PFC_OK;
    if (code) {
        *status = code == PFC_EDENIED || code == PFC_ENOTFOUND || code == PFC_EINVAL ? 401 : 0;
        return code;
    }
    x->auth = req->auth;
    if (x->conn)
        httpd_conn_authorised(http, x->conn);
    if (x->counted_token) /* a request that waited is still the same */
        return allow_scope(http, req, status, err);
    x->counted_token = true;
    x->retry_s = httpd_limits_take(http->limits, atomic_load(&http->rate_token), 't',
                                   &req->auth.token_id, sizeof(req->auth.token_id), pfc_clock_ns());
    if (x->retry_s > 0)
        return httpd_too_many(http, "this token", status, err);
    return allow_scope(http, req, status, err);
}

pfc_code pfc_req_allow_project(const pfc_req *req, int64_t project_id, const char *what,
                               pfc_err *err)
{
    if (req->auth.project_id == 0 || req->auth.project_id == project_id)
        return PFC_OK;
    return pfc_err_set(err, PFC_ENOTFOUND, "no such %s", what);
}
