/*
 * Tokens of a GitHub App: a JSON Web Token signed with the App's key (RS256) asks for the token of
 * an installation, which is valid for an hour. Source: GitHub, "Authenticating as a GitHub App".
 */
#include <jwt.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/forge_priv.h"

enum { BACKDATED_S = 60, VALID_S = 540, RENEW_S = 300 };

pfc_code forge_app_jwt(const char *app_id, const char *key_pem, int64_t now_unix_s, char **out,
                       pfc_err *err)
{
    jwt_t *jwt = NULL;
    char *text = NULL;

    if (jwt_new(&jwt) != 0)
        pfc_die("out of memory for a JSON Web Token");
    if (jwt_set_alg(jwt, JWT_ALG_RS256, (const unsigned char *)key_pem, (int)strlen(key_pem)) ==
            0 &&
        /* Ours may be ahead of GitHub's clock; more than ten minutes are refused. */
        jwt_add_grant_int(jwt, "iat", (long)(now_unix_s - BACKDATED_S)) == 0 &&
        jwt_add_grant_int(jwt, "exp", (long)(now_unix_s + VALID_S)) == 0 &&
        jwt_add_grant(jwt, "iss", app_id) == 0)
        text = jwt_encode_str(jwt);
    jwt_free(jwt);
    if (!text)
        return pfc_err_set(
            err, PFC_EINVAL,
            "GitHub App: expected an RSA private key in PEM (BEGIN RSA PRIVATE KEY)");
    *out = text;
    return PFC_OK;
}

void forge_app_forget(pfc_forge *forge)
{
    if (forge->app_token)
        explicit_bzero(forge->app_token, strlen(forge->app_token));
    free(forge->app_token);
    free(forge->app_repo);
    forge->app_token = NULL;
    forge->app_repo = NULL;
    forge->app_expires = 0;
}

/* The installation that has access to the repository. */
static pfc_code find_installation(pfc_forge *forge, const char *jwt, const char *repo, int64_t *out,
                                  pfc_err *err)
{
    char *path = NULL;
    json_t *doc = NULL;
    pfc_code code;

    if (forge->installation) {
        *out = forge->installation;
        return PFC_OK;
    }
    if (!repo)
        return pfc_err_set(err, PFC_EINVAL, "GitHub App: expected an installation or a repository");
    path = forge_path("/repos/%s/installation", repo);
    code = forge_call_as(forge, jwt, "GET", path, NULL, &doc, NULL, err);
    *out = json_integer_value(json_object_get(doc, "id"));
    if (!code && *out <= 0)
        code = pfc_err_set(err, PFC_EIO, "GitHub named no installation for %s", repo);
    json_decref(doc);
    free(path);
    return code ? pfc_err_wrap(err, "is the App installed for %s?", repo) : PFC_OK;
}

static pfc_code take_token(pfc_forge *forge, const char *repo, const json_t *doc, pfc_err *err)
{
    const char *token = forge_text(doc, "token");
    double expires = 0;

    if (!token[0] ||
        pfc_parse_rfc3339(forge_text(doc, "expires_at"), "expires_at", &expires, err) ||
        token[strspn(token,
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~+/=")])
        return pfc_err_set(err, PFC_EIO, "GitHub answered without a token and its end");
    forge_app_forget(forge);
    forge->app_token = pfc_strdup(token);
    forge->app_repo = pfc_strdup(repo);
    forge->app_expires = (int64_t)expires;
    return PFC_OK;
}

static pfc_code renew(pfc_forge *forge, const char *repo, pfc_err *err)
{
    int64_t installation = 0;
    char *jwt = NULL, *path = NULL;
    json_t *doc = NULL;
    pfc_code code = forge_app_jwt(forge->app_id, forge->app_key, forge_now(forge), &jwt, err);

    if (!code)
        code = find_installation(forge, jwt, repo, &installation, err);
    if (!code) {
        path = forge_path("/app/installations/%lld/access_tokens", (long long)installation);
        code = forge_call_as(forge, jwt, "POST", path, NULL, &doc, NULL, err);
    }
    if (!code)
        code = take_token(forge, repo, doc, err);
    json_decref(doc);
    free(path);
    free(jwt);
    return code;
}

pfc_code forge_token(pfc_forge *forge, const char *repo, const char **out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (!forge->app_key) {
        *out = forge->token;
        return PFC_OK;
    }
    if (!forge->app_token || forge->app_expires - RENEW_S <= forge_now(forge) ||
        (!forge->installation && !pfc_streq(forge->app_repo, repo)))
        code = renew(forge, repo, err);
    if (!code)
        *out = forge->app_token;
    return code;
}
