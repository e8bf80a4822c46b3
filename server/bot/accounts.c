/* Accounts at forges: see accounts.h. */
#include "server/bot/accounts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/config/conf.h"
#include "core/base/config/entries.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define KEY_MAX    (64u * 1024)
#define SECRET_MIN 16

static const char *const words[] = { "forge", "secret",       "old-secret", "token",   "app",
                                     "key",   "installation", "url",        "project", NULL };

static void wipe(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

static void account_clear(pfc_forge_account *a)
{
    free(a->name);
    free(a->project);
    free(a->url);
    free(a->app_id);
    wipe(a->token);
    wipe(a->app_key);
    wipe(a->secret);
    wipe(a->old_secret);
    *a = (pfc_forge_account){ 0 };
}

void pfc_forge_accounts_clear(pfc_forge_accounts *accounts)
{
    for (size_t i = 0; i < accounts->len; i++)
        account_clear(&accounts->items[i]);
    free(accounts->items);
    *accounts = (pfc_forge_accounts){ 0 };
}

/* ---- checks ---- */

/* http only for this machine's own servers: the token is in each request. */
static bool is_api_url(const char *url)
{
    static const char *const here[] = { "http://127.0.0.1", "http://localhost", "http://[::1]" };
    bool ok = strncmp(url, "https://", 8) == 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(here); i++) {
        const size_t len = strlen(here[i]);

        ok |= strncmp(url, here[i], len) == 0 && strchr(":/", url[len]) != NULL;
    }
    for (const char *at = url; *at; at++)
        ok &= isgraph((unsigned char)*at) && !strchr("@#?", *at);
    return ok && strlen(url) <= 1024;
}

/* The sentence, or NULL: the account can be used. */
static const char *fault_of(const pfc_forge_account *a)
{
    if (a->url && !is_api_url(a->url))
        return "url: expected https://HOST..., or http to this machine, without user or query";
    if (a->project && a->project[0] && !pfc_is_slug(a->project))
        return "project: expected a project's name";
    if ((a->secret && strlen(a->secret) < SECRET_MIN) ||
        (a->old_secret && strlen(a->old_secret) < SECRET_MIN))
        return "the secret of webhooks is under 16 bytes";
    if (!a->app_id != !a->app_key)
        return "expected both the id of the GitHub App and its key, or neither";
    if (a->app_id && (a->token || a->kind != PFC_FORGE_GITHUB))
        return "a GitHub App has no token, and is an account at GitHub";
    if (a->kind == PFC_FORGE_GITEA && !a->url)
        return "expected the URL of the API: Gitea has no public server";
    if (!a->secret && !a->token && !a->app_id)
        return "expected a secret of webhooks, a token, or a GitHub App";
    return NULL;
}

/* ---- the environment ---- */

static pfc_code read_variable(const char *forge, const char *what, char **out, pfc_err *err)
{
    pfc_err why = { 0 };
    char *name = pfc_format("PERFCI_%s_%s", forge, what);
    pfc_code code = pfc_conf_secret(name, out, &why);

    free(name);
    if (code == PFC_ENOTFOUND)
        return PFC_OK;
    if (!code)
        (*out)[strcspn(*out, strcmp(what, "APP_KEY") == 0 ? "" : "\r\n")] = '\0';
    return code ? pfc_err_set(err, code, "%s", why.msg) : PFC_OK;
}

static pfc_code read_environment(pfc_forge_accounts *out, pfc_err *err)
{
    static const char *const forges[] = { "GITHUB", "GITLAB", "GITEA" };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(forges) && !code; i++) {
        pfc_forge_account *a = &out->items[out->len];
        const char *fault;
        const struct {
            const char *what;
            char **to;
        } variables[] = {
            { "WEBHOOK_SECRET", &a->secret }, { "OLD_WEBHOOK_SECRET", &a->old_secret },
            { "TOKEN", &a->token },           { "APP_ID", &a->app_id },
            { "APP_KEY", &a->app_key },       { "API_URL", &a->url }
        };

        *a = (pfc_forge_account){ .kind = (pfc_forge_kind)i };
        for (size_t k = 0; k < PFC_ARRAY_LEN(variables) && !code; k++)
            code = read_variable(forges[i], variables[k].what, variables[k].to, err);
        a->name = pfc_strdup(pfc_forge_kind_name(a->kind));
        a->project = pfc_strdup("");
        out->len++;
        if (code)
            break;
        if (!a->secret && !a->token && !a->app_id && !a->app_key) {
            account_clear(a);
            out->len--;
            continue;
        }
        fault = fault_of(a);
        if (fault)
            code = pfc_err_set(err, PFC_EINVAL, "PERFCI_%s_*: %s", forges[i], fault);
    }
    return code;
}

/* ---- the file ---- */

static pfc_code read_secrets(const pfc_entry *e, pfc_forge_account *a, pfc_err *err)
{
    const char *key = pfc_entry_get(e, "key");
    const struct {
        const char *path;
        char **to;
    } files[] = { { pfc_entry_get(e, "secret"), &a->secret },
                  { pfc_entry_get(e, "old-secret"), &a->old_secret },
                  { pfc_entry_get(e, "token"), &a->token } };
    pfc_err why = { 0 };
    size_t len = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(files) && !code; i++)
        code = files[i].path ? pfc_conf_secret_file(files[i].path, files[i].to, &why) : PFC_OK;
    if (!code && key) {
        code = pfc_fs_private(key, &why);
        if (!code)
            code = pfc_fs_read(key, KEY_MAX, &a->app_key, &len, &why);
    }
    return code ? pfc_entry_bad(e, err, why.msg) : PFC_OK;
}

static pfc_code check_account(const pfc_entry *e, pfc_forge_account *a, pfc_err *err)
{
    const char *forge = pfc_entry_get(e, "forge"), *fault;
    const char *installation = pfc_entry_get(e, "installation");
    pfc_code code = pfc_forge_kind_parse(forge ? forge : "", &a->kind, NULL);

    if (code)
        return pfc_entry_bad(e, err, "expected forge=github, forge=gitlab or forge=gitea");
    if (installation &&
        pfc_parse_i64(installation, 1, INT64_MAX, "installation", &a->installation, NULL))
        return pfc_entry_bad(e, err, "installation: expected its number");
    code = read_secrets(e, a, err);
    if (code)
        return code;
    fault = fault_of(a);
    return fault ? pfc_entry_bad(e, err, fault) : PFC_OK;
}

static pfc_code take_account(void *arg, pfc_entry *e, pfc_err *err)
{
    pfc_forge_accounts *out = arg;
    pfc_forge_account *a = &out->items[out->len];

    /* The accounts of the environment count, too. */
    if (out->len == PFC_FORGE_MAX_ACCOUNTS)
        return pfc_entry_bad(e, err, "expected at most 64 accounts");
    if (pfc_forge_account_named(out, e->name))
        return pfc_entry_bad(e, err, "another account has this name");
    out->len++;
    a->name = pfc_strdup(e->name);
    a->app_id = pfc_entry_take(e, "app");
    a->url = pfc_entry_take(e, "url");
    a->project = pfc_entry_take(e, "project");
    if (!a->project)
        a->project = pfc_strdup("");
    return check_account(e, a, err);
}

static pfc_code parse_lines(const char *text, const char *where, pfc_forge_accounts *out,
                            pfc_err *err)
{
    const pfc_entry_rules rules = { .what = "account",
                                    .words = words,
                                    .max = PFC_FORGE_MAX_ACCOUNTS };

    return pfc_entries_read(text, where, &rules, take_account, out, err);
}

pfc_code pfc_forge_accounts_parse(const char *text, const char *where, pfc_forge_accounts *out,
                                  pfc_err *err)
{
    *out = (pfc_forge_accounts){ .items =
                                     pfc_calloc(PFC_FORGE_MAX_ACCOUNTS + 1, sizeof(*out->items)) };
    return parse_lines(text, where, out, err);
}

pfc_code pfc_forge_accounts_read(const char *file, pfc_forge_accounts *out, pfc_err *err)
{
    char *text = NULL;
    pfc_code code;

    *out = (pfc_forge_accounts){ .items =
                                     pfc_calloc(PFC_FORGE_MAX_ACCOUNTS + 1, sizeof(*out->items)) };
    code = read_environment(out, err);
    if (!code && file)
        code = pfc_entries_file(file, "--forges", &text, err);
    if (!code && text)
        code = parse_lines(text, file, out, err);
    free(text);
    return code;
}

/* ---- look-up ---- */

const pfc_forge_account *pfc_forge_account_for(const pfc_forge_accounts *accounts,
                                               pfc_forge_kind kind, const char *project)
{
    const pfc_forge_account *general = NULL;

    for (size_t i = 0; i < accounts->len; i++) {
        const pfc_forge_account *a = &accounts->items[i];

        if (a->kind != kind || (!a->token && !a->app_id))
            continue;
        if (strcmp(a->project, project) == 0)
            return a;
        if (!a->project[0] && !general)
            general = a;
    }
    return general;
}

const pfc_forge_account *pfc_forge_account_named(const pfc_forge_accounts *accounts,
                                                 const char *name)
{
    for (size_t i = 0; i < accounts->len; i++) {
        if (strcmp(accounts->items[i].name, name) == 0)
            return &accounts->items[i];
    }
    return NULL;
}

/* Each account alone, since a secret of one project must not act for another. All are tried, so
 * that the time does not show which one fits. */
pfc_code pfc_forge_account_verify(const pfc_forge_accounts *accounts, pfc_forge_kind kind,
                                  const pfc_webhook_headers *headers, const void *body, size_t len,
                                  int64_t now_unix_s, const pfc_forge_account **out, pfc_err *err)
{
    const pfc_forge_account *found = NULL;
    pfc_err why = { 0 };
    pfc_code code = pfc_err_set(&why, PFC_EDENIED, "no secret for webhooks of %s is set",
                                pfc_forge_kind_name(kind));

    for (size_t i = 0; i < accounts->len; i++) {
        const pfc_forge_account *a = &accounts->items[i];
        const char *secrets[2];
        pfc_err own = { 0 };
        size_t n = 0;
        pfc_code one;

        if (a->kind != kind || !a->secret)
            continue;
        secrets[n++] = a->secret;
        if (a->old_secret)
            secrets[n++] = a->old_secret;
        one = pfc_webhook_verify(kind, headers, body, len, secrets, n, now_unix_s, &own);
        if (!one && !found)
            found = a;
        /* A signature that fits, and another fault, says more than one that does not fit. */
        if (one && code == PFC_EDENIED) {
            code = one;
            why = own;
        }
    }
    if (found) {
        *out = found;
        return PFC_OK;
    }
    return pfc_err_set(err, code, "%s", why.msg);
}
