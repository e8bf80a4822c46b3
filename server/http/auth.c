/* Who asks: the bearer token, its scopes, and the project it is bound to. */
#include <string.h>
#include <strings.h>

#include "server/http/internal.h"

const char *http_bearer(const char *header)
{
    const char *token;

    if (!header || strncasecmp(header, "Bearer ", 7) != 0)
        return NULL;
    token = header + 7;
    token += strspn(token, " ");
    /* No spaces inside, a bounded length; what it means is the service's business. */
    if (!*token || strlen(token) > 256 || strpbrk(token, " \t,"))
        return NULL;
    return token;
}

unsigned http_scope_parse(const char *word)
{
    static const struct {
        const char *word;
        unsigned bit;
    } scopes[] = {
        { "read", PFC_HTTP_READ },     { "ingest", PFC_HTTP_INGEST }, { "runner", PFC_HTTP_RUNNER },
        { "triage", PFC_HTTP_TRIAGE }, { "admin", PFC_HTTP_ADMIN },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(scopes); i++) {
        if (strcmp(word, scopes[i].word) == 0)
            return scopes[i].bit;
    }
    return 0;
}

pfc_code http_authorise(const pfc_http *http, const http_exchange *x, pfc_req *req, int *status,
                        pfc_err *err)
{
    const pfc_route *route = req->route;
    const char *token;
    pfc_code code;

    memset(&req->auth, 0, sizeof(req->auth));
    memcpy(req->auth.actor, "anonymous", sizeof("anonymous"));
    if (!x->auth_text) {
        if (route->scopes == PFC_HTTP_OPEN ||
            ((route->scopes & PFC_HTTP_READ) && http->opts.public_read))
            return PFC_OK;
        *status = 401;
        return pfc_err_set(err, PFC_EDENIED, "this needs a token: Authorization: Bearer pfc_...");
    }

    token = http_bearer(x->auth_text);
    if (!token) {
        *status = 401;
        return pfc_err_set(err, PFC_EDENIED, "Authorization: want \"Bearer pfc_...\"");
    }
    /* Open routes answer whatever was sent, so that probes never depend on the database. */
    if (route->scopes == PFC_HTTP_OPEN)
        return PFC_OK;

    code = http->opts.check ? http->opts.check(http->opts.app, token, &req->auth, err)
                            : pfc_err_set(err, PFC_EDENIED, "unknown token");
    if (code) {
        *status = code == PFC_EDENIED || code == PFC_ENOTFOUND || code == PFC_EINVAL ? 401 : 0;
        return code;
    }
    if (!(req->auth.scopes & (route->scopes | PFC_HTTP_ADMIN)) &&
        !((route->scopes & PFC_HTTP_READ) && http->opts.public_read)) {
        *status = 403;
        return pfc_err_set(err, PFC_EDENIED, "the token lacks the scope that %s %s needs",
                           route->method, route->pattern);
    }
    if (http_pattern_has(route, "p"))
        return pfc_req_allow_project(req, pfc_req_param(req, "p"), err);
    return PFC_OK;
}

pfc_code pfc_req_allow_project(const pfc_req *req, const char *project, pfc_err *err)
{
    if (req->auth.project_id == 0 || strcmp(req->auth.project, project) == 0)
        return PFC_OK;
    return pfc_err_set(err, PFC_EDENIED, "the token is bound to another project than \"%.64s\"",
                       project);
}
