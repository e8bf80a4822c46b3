/* The file of receivers. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/address.h"
#include "core/base/config/conf.h"
#include "core/base/parse.h"
#include "core/http/client.h"
#include "server/notify/internal.h"

#define SECRET_MIN  16
#define LINE_MAX_   8192
#define GITHUB_API  "https://api.github.com"
#define KNOWN_WORDS "kind, url, secret, project, repo"

static const char *const kinds[] = { "webhook", "slack", "github" };

/* One line, while it is read. */
typedef struct line {
    const char *where;
    size_t number;
    const char *networks;
    char *kind, *url, *secret;
} line;

static void receiver_clear(pfc_receiver *r)
{
    if (r->secret)
        explicit_bzero(r->secret, strlen(r->secret));
    free(r->name);
    free(r->url);
    free(r->path);
    free(r->project);
    free(r->secret);
    free(r->repo);
}

void pfc_receivers_clear(pfc_receivers *receivers)
{
    for (size_t i = 0; i < receivers->len; i++)
        receiver_clear(&receivers->items[i]);
    free(receivers->items);
    *receivers = (pfc_receivers){ 0 };
}

static pfc_code bad(const line *l, pfc_err *err, const char *said)
{
    return pfc_err_set(err, PFC_EINVAL, "%s:%zu: %s", l->where, l->number, said);
}

/* The first line of a file that holds a secret. */
static pfc_code read_line(const line *l, const char *path, char **out, pfc_err *err)
{
    pfc_err why = { 0 };

    return pfc_conf_secret_file(path, out, &why) ? bad(l, err, why.msg) : PFC_OK;
}

/* ---- the URL ---- */

static size_t host_of(const char *url, const char **host)
{
    const char *at = strstr(url, "://") + 3;

    if (*at == '[') {
        *host = at + 1;
        return strcspn(at + 1, "]");
    }
    *host = at;
    return strcspn(at, ":/?");
}

static bool is_local(const char *host, size_t len)
{
    pfc_address address;

    if (pfc_address_parse(host, len, &address))
        return pfc_address_is_loopback(&address);
    return len == 9 && strncasecmp(host, "localhost", 9) == 0;
}

static bool is_listed(const char *host, size_t len, const char *networks)
{
    pfc_address address;
    pfc_nets nets;

    return pfc_address_parse(host, len, &address) &&
           pfc_nets_parse(networks, "networks", &nets, NULL) == PFC_OK &&
           pfc_nets_hold(&nets, &address);
}

/* Messages never hold it: the path of a chat's webhook is its password. */
static pfc_code take_url(const line *l, const char *text, pfc_receiver *r, pfc_err *err)
{
    const bool plain = strncmp(text, "http://", 7) == 0;
    const char *host;
    size_t len, base;

    if (!plain && strncmp(text, "https://", 8) != 0)
        return bad(l, err, "url: expected https://HOST..., or the path of a file that holds it");
    for (const char *at = text; *at; at++) {
        if (!isgraph((unsigned char)*at) || *at == '#')
            return bad(l, err, "url: expected printable characters without spaces and #");
    }
    if (strlen(text) > PFC_HTTP_MAX_URL)
        return bad(l, err, "url: it is over 4096 bytes");
    len = host_of(text, &host);
    if (len == 0)
        return bad(l, err, "url: it names no host");
    r->local = is_local(host, len);
    if (plain && !r->local && !is_listed(host, len, l->networks))
        return bad(l, err,
                   "url: expected https; http only to this machine, or to an address in "
                   "--notify-networks");
    base = (size_t)(strstr(text, "://") - text) + 3;
    base += strcspn(text + base, "/?");
    r->url = pfc_strndup(text, base);
    if (strchr(r->url, '@'))
        return bad(l, err, "url: expected no user or password in it");
    r->path = pfc_format("%s%s", text[base] == '/' ? "" : "/", text + base);
    return PFC_OK;
}

/* ---- words ---- */

static bool is_repo(const char *text)
{
    const char *slash = strchr(text, '/');

    return slash && slash > text && slash[1] && !strchr(slash + 1, '/') && !strstr(text, "..") &&
           text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/")] == '\0';
}

static pfc_code take_word(line *l, pfc_receiver *r, char *word, pfc_err *err)
{
    char *value = strchr(word, '=');
    const struct {
        const char *name;
        char **to;
    } words[] = { { "kind", &l->kind },
                  { "url", &l->url },
                  { "secret", &l->secret },
                  { "project", &r->project },
                  { "repo", &r->repo } };

    if (!value || !value[1])
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected NAME WORD=VALUE..., got \"%.60s\"",
                           l->where, l->number, word);
    *value++ = '\0';
    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (strcmp(word, words[i].name) != 0)
            continue;
        if (*words[i].to)
            return pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected %s once, got it twice", l->where,
                               l->number, word);
        *words[i].to = pfc_strdup(value);
        return PFC_OK;
    }
    return pfc_err_set(err, PFC_EINVAL, "%s:%zu: unknown word \"%.40s\"; known: " KNOWN_WORDS,
                       l->where, l->number, word);
}

static pfc_code check_receiver(line *l, pfc_receiver *r, pfc_err *err)
{
    size_t kind = 0;
    char *url = NULL;
    pfc_code code = PFC_OK;

    while (kind < PFC_ARRAY_LEN(kinds) && !(l->kind && strcmp(l->kind, kinds[kind]) == 0))
        kind++;
    if (kind == PFC_ARRAY_LEN(kinds))
        return bad(l, err, "expected kind=webhook, kind=slack or kind=github");
    r->kind = (pfc_receiver_kind)kind;
    if (r->project && !pfc_is_slug(r->project))
        return bad(l, err, "project: expected a project's name");
    if (!r->project)
        r->project = pfc_strdup("");
    if (r->kind == PFC_RECEIVER_GITHUB && (!r->repo || !is_repo(r->repo)))
        return bad(l, err, "repo: expected OWNER/NAME");
    if (r->kind != PFC_RECEIVER_GITHUB && r->repo)
        return bad(l, err, "repo is for kind=github");
    if (r->kind == PFC_RECEIVER_SLACK ? l->secret != NULL : l->secret == NULL)
        return bad(l, err,
                   l->secret
                       ? "kind=slack signs nothing: its secret is the URL, which may be a file"
                       : "expected secret=FILE: what signs (webhook), or the token (github)");
    if (!l->url && r->kind != PFC_RECEIVER_GITHUB)
        return bad(l, err, "expected url=");
    if (l->secret)
        code = read_line(l, l->secret, &r->secret, err);
    if (!code && r->secret && strlen(r->secret) < SECRET_MIN)
        code = bad(l, err, "the secret is under 16 bytes");
    if (!code && l->url && l->url[0] == '/')
        code = read_line(l, l->url, &url, err);
    if (!code)
        code = take_url(l, url ? url : l->url ? l->url : GITHUB_API, r, err);
    free(url);
    return code;
}

static pfc_code parse_line(line *l, char *text, pfc_receivers *out, pfc_err *err)
{
    pfc_receiver *r = &out->items[out->len];
    char *rest = NULL;
    char *word = strtok_r(text, " \t\r", &rest);
    pfc_code code = PFC_OK;

    if (!word || word[0] == '#')
        return PFC_OK;
    if (out->len == PFC_NOTIFY_MAX_RECEIVERS)
        return bad(l, err, "expected at most 64 receivers");
    out->len++;
    if (!pfc_is_slug(word))
        return bad(l, err, "a line begins with the receiver's name: [a-z0-9][a-z0-9._-]*");
    for (size_t i = 0; i + 1 < out->len; i++) {
        if (strcmp(out->items[i].name, word) == 0)
            return bad(l, err, "another receiver has this name");
    }
    r->name = pfc_strdup(word);
    while (!code && (word = strtok_r(NULL, " \t\r", &rest)))
        code = take_word(l, r, word, err);
    if (!code)
        code = check_receiver(l, r, err);
    return code;
}

pfc_code pfc_receivers_parse(const char *text, const char *where, const char *networks,
                             pfc_receivers *out, pfc_err *err)
{
    char *copy = pfc_strdup(text);
    char *rest = NULL;
    size_t number = 0;
    pfc_code code = PFC_OK;

    *out =
        (pfc_receivers){ .items = pfc_calloc(PFC_NOTIFY_MAX_RECEIVERS + 1, sizeof(pfc_receiver)) };
    /* strsep, so that blank lines count. */
    rest = copy;
    for (char *at = strsep(&rest, "\n"); at && !code; at = strsep(&rest, "\n")) {
        line l = { .where = where, .number = ++number, .networks = networks };

        if (strlen(at) > LINE_MAX_)
            code = bad(&l, err, "the line is over 8192 bytes");
        else
            code = parse_line(&l, at, out, err);
        free(l.kind);
        free(l.url);
        free(l.secret);
    }
    if (!code && out->len == 0)
        code = pfc_err_set(err, PFC_EINVAL, "%s: it names no receiver", where);
    free(copy);
    return code;
}
