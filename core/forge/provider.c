/* A forge that is opened, and the calls that every provider has in its own way. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/forge/forge_priv.h"

#define DEFAULT_TIMEOUT_S 20.0

static const forge_ops *const ops_of[] = { &forge_github, &forge_gitlab, &forge_gitea };

static int64_t real_now(void *arg)
{
    (void)arg;
    return (int64_t)time(NULL);
}

/* It goes into a header. */
static bool is_token(const char *token)
{
    for (const char *at = token; *at; at++) {
        if (!isgraph((unsigned char)*at))
            return false;
    }
    return token[0] != '\0';
}

static pfc_code check_opts(const pfc_forge_opts *o, pfc_err *err)
{
    const char *name = ops_of[o->kind]->name;

    if (!o->api_url && !ops_of[o->kind]->api_url)
        return pfc_err_set(err, PFC_EINVAL,
                           "%s: expected the URL of its API, such as https://HOST/api/v1", name);
    if (!o->token == !o->app_key_pem)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected %s", name,
                           o->token ? "a token or the key of an App, got both" : "a token");
    if (o->token && !is_token(o->token))
        return pfc_err_set(err, PFC_EINVAL,
                           "%s: token: expected printable characters without spaces", name);
    if (o->app_key_pem && o->kind != PFC_FORGE_GITHUB)
        return pfc_err_set(err, PFC_EINVAL, "%s has no Apps: expected a token", name);
    if (o->app_key_pem && (!o->app_id || !o->app_id[0]))
        return pfc_err_set(err, PFC_EINVAL, "GitHub App: expected its client id or number");
    return PFC_OK;
}

/* An unreadable key fails here, not at the first call. */
static pfc_code check_key(const pfc_forge_opts *o, pfc_err *err)
{
    char *jwt = NULL;
    pfc_code code = o->app_key_pem
                        ? forge_app_jwt(o->app_id, o->app_key_pem, real_now(NULL), &jwt, err)
                        : PFC_OK;

    free(jwt);
    return code;
}

pfc_code pfc_forge_open(const pfc_forge_opts *opts, pfc_forge **out, pfc_err *err)
{
    const pfc_http_opts http_opts = {
        .url = opts->api_url ? opts->api_url : ops_of[opts->kind]->api_url,
        .timeout_s = opts->timeout_s > 0 ? opts->timeout_s : DEFAULT_TIMEOUT_S,
        .cancelled = opts->cancelled,
        .cancelled_arg = opts->cancelled_arg,
        .may_reach = opts->may_reach,
        .may_reach_arg = opts->may_reach_arg,
    };
    pfc_http *http = NULL;
    pfc_forge *forge;
    pfc_code code = check_opts(opts, err);

    if (!code)
        code = check_key(opts, err);
    if (!code)
        code = pfc_http_new(&http_opts, &http, err);
    if (code)
        return code;
    forge = pfc_alloc(sizeof(*forge));
    *forge = (pfc_forge){ .kind = opts->kind,
                          .ops = ops_of[opts->kind],
                          .http = http,
                          .token = pfc_strdup(opts->token),
                          .app_id = pfc_strdup(opts->app_id),
                          .app_key = pfc_strdup(opts->app_key_pem),
                          .installation = opts->installation,
                          .now = opts->now_unix_s ? opts->now_unix_s : real_now,
                          .now_arg = opts->now_arg };
    *out = forge;
    return PFC_OK;
}

static void free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void pfc_forge_close(pfc_forge *forge)
{
    if (!forge)
        return;
    forge_app_forget(forge);
    forge_cache_clear(forge);
    free_secret(forge->token);
    free_secret(forge->app_key);
    free(forge->app_id);
    free(forge->own.login);
    pfc_http_free(forge->http);
    free(forge);
}

pfc_forge_kind pfc_forge_kind_of(const pfc_forge *forge)
{
    return forge->kind;
}

pfc_code pfc_forge_check_put(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                             int64_t *id, pfc_err *err)
{
    return forge->ops->check_put(forge, repo, check, id, err);
}

pfc_code pfc_forge_access_of(pfc_forge *forge, const char *repo, const char *user,
                             pfc_forge_access *out, pfc_err *err)
{
    if (!user[0] || strlen(user) > PFC_FORGE_MAX_USER)
        return pfc_err_set(err, PFC_EINVAL, "user: expected 1 to %d bytes, got %zu",
                           PFC_FORGE_MAX_USER, strlen(user));
    return forge->ops->access_of(forge, repo, user, out, err);
}

pfc_code pfc_forge_pull_get(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                            pfc_err *err)
{
    pfc_code code;

    *out = (pfc_forge_pull){ 0 };
    code = forge->ops->pull_get(forge, repo, number, out, err);
    if (code)
        pfc_forge_pull_clear(out);
    return code;
}
