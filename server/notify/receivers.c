/* The file of receivers. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/address.h"
#include "core/base/config/conf.h"
#include "core/base/config/entries.h"
#include "core/base/parse.h"
#include "core/http/client.h"
#include "core/http/mail.h"
#include "server/notify/internal.h"

#define SECRET_MIN     16
#define GITHUB_API     "https://api.github.com"
#define DEFAULT_EVENTS "culprit_confirmed,toolchain,harness"

static const char *const kinds[] = { "webhook", "slack", "github", "email" };
static const char *const events[] = { "culprit_confirmed", "toolchain", "harness",
                                      "regression",        "worsened",  "infrastructure",
                                      "recovered" };

static const char *const words[] = { "kind",  "url",    "secret", "project",    "repo",
                                     "from",  "to",     "events", "benchmarks", "owner",
                                     "quiet", "digest", NULL };

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
    free(r->from);
    for (size_t i = 0; i < r->to_len; i++)
        free(r->to[i]);
    free(r->to);
    free(r->events);
    free(r->benchmarks);
    free(r->owners);
    pfc_zone_free(r->zone);
}

void pfc_receivers_clear(pfc_receivers *receivers)
{
    for (size_t i = 0; i < receivers->len; i++)
        receiver_clear(&receivers->items[i]);
    free(receivers->items);
    *receivers = (pfc_receivers){ 0 };
}

/* The first line of a file that holds a secret. */
static pfc_code read_secret(const pfc_entry *e, const char *path, char **out, pfc_err *err)
{
    pfc_err why = { 0 };

    return pfc_conf_secret_file(path, out, &why) ? pfc_entry_bad(e, err, why.msg) : PFC_OK;
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
static pfc_code take_url(const pfc_entry *e, const char *text, const char *networks,
                         pfc_receiver *r, pfc_err *err)
{
    const bool mail = r->kind == PFC_RECEIVER_EMAIL;
    const bool plain = strncmp(text, "http://", 7) == 0;
    const char *host;
    size_t len, base;

    if (mail ? strncmp(text, "smtp://", 7) != 0 && strncmp(text, "smtps://", 8) != 0
             : !plain && strncmp(text, "https://", 8) != 0)
        return pfc_entry_bad(
            e, err,
            mail ? "url: expected smtp://HOST[:PORT] or smtps://HOST[:PORT]"
                 : "url: expected https://HOST..., or the path of a file that holds it");
    for (const char *at = text; *at; at++) {
        if (!isgraph((unsigned char)*at) || *at == '#')
            return pfc_entry_bad(e, err, "url: expected printable characters without spaces and #");
    }
    if (strlen(text) > PFC_HTTP_MAX_URL)
        return pfc_entry_bad(e, err, "url: it is over 4096 bytes");
    len = host_of(text, &host);
    if (len == 0)
        return pfc_entry_bad(e, err, "url: it names no host");
    r->local = is_local(host, len);
    if (plain && !r->local && !is_listed(host, len, networks))
        return pfc_entry_bad(e, err,
                             "url: expected https; http only to this machine, or to an address in "
                             "--notify-networks");
    base = (size_t)(strstr(text, "://") - text) + 3;
    base += strcspn(text + base, "/?");
    r->url = pfc_strndup(text, base);
    if (strchr(r->url, '@'))
        return pfc_entry_bad(e, err, "url: expected no user or password in it");
    r->path = pfc_format("%s%s", text[base] == '/' ? "" : "/", text + base);
    if (mail && r->path[1])
        return pfc_entry_bad(e, err, "url: expected nothing after the port of a mail server");
    return PFC_OK;
}

/* ---- what it takes, and when ---- */

/* "a,b" as ",a,b,", in which a kind is searched. */
static pfc_code take_events(const pfc_entry *e, pfc_receiver *r, pfc_err *err)
{
    const char *given = pfc_entry_get(e, "events");
    const char *list = given                            ? given
                       : r->kind == PFC_RECEIVER_GITHUB ? "culprit_confirmed"
                                                        : DEFAULT_EVENTS;
    pfc_buf out;
    pfc_code code = PFC_OK;

    pfc_buf_init(&out, PFC_ENTRY_MAX_BYTES);
    pfc_buf_putc(&out, ',');
    for (const char *at = list; *at && !code;) {
        const size_t len = strcspn(at, ",");
        size_t i = 0;

        while (i < PFC_ARRAY_LEN(events) &&
               !(strlen(events[i]) == len && strncmp(at, events[i], len) == 0))
            i++;
        if (len == 3 && strncmp(at, "all", 3) == 0)
            for (size_t k = 0; k < PFC_ARRAY_LEN(events); k++)
                pfc_buf_printf(&out, "%s,", events[k]);
        else if (i == PFC_ARRAY_LEN(events))
            code =
                pfc_err_set(err, PFC_EINVAL,
                            "%s:%zu: events: \"%.*s\" is none; known: all, culprit_confirmed, "
                            "toolchain, harness, regression, worsened, infrastructure, recovered",
                            e->where, e->number, (int)PFC_MIN(len, (size_t)40), at);
        else
            pfc_buf_printf(&out, "%s,", events[i]);
        at += len + (at[len] == ',');
    }
    if (!code && r->kind == PFC_RECEIVER_GITHUB && !pfc_streq(list, "culprit_confirmed"))
        code = pfc_entry_bad(e, err,
                             "events: kind=github comments on commits: culprit_confirmed alone");
    r->events = pfc_buf_take(&out);
    return code;
}

/* Globs as one regular expression of PostgreSQL between `begin` and `end`, because the database
 * chooses the receivers. star, one: what '*' and '?' match. */
static char *globs_pattern(const char *globs, const char *begin, const char *star, const char *one,
                           const char *end)
{
    pfc_buf out;

    pfc_buf_init(&out, 8 * PFC_ENTRY_MAX_BYTES);
    pfc_buf_puts(&out, begin);
    for (const char *at = globs; *at; at++) {
        if (*at == '*')
            pfc_buf_puts(&out, star);
        else if (*at == '?')
            pfc_buf_puts(&out, one);
        else if (*at == ',')
            pfc_buf_putc(&out, '|');
        else if (isalnum((unsigned char)*at) || (unsigned char)*at >= 0x80)
            pfc_buf_putc(&out, *at);
        else
            pfc_buf_printf(&out, "\\%c", *at);
    }
    pfc_buf_puts(&out, end);
    return pfc_buf_take(&out);
}

static void take_benchmarks(const pfc_entry *e, pfc_receiver *r)
{
    const char *globs = pfc_entry_get(e, "benchmarks");

    r->benchmarks = globs ? globs_pattern(globs, "^(?:", ".*", ".", ")$") : pfc_strdup("");
}

/* A comment on a commit is for its author, not for the owner of the benchmark. */
static void take_owners(const pfc_entry *e, pfc_receiver *r)
{
    const char *globs = pfc_entry_get(e, "owner");

    if (pfc_streq(globs, "*") || (!globs && r->kind == PFC_RECEIVER_GITHUB))
        r->owners = pfc_strdup(PFC_NOTICE_ANY_OWNER);
    else
        r->owners = globs ? globs_pattern(globs, "(?:^| )(?:", "[^ ]*", "[^ ]", ")(?: |$)")
                          : pfc_strdup("");
}

static bool read_minute(const char *text, int *minute)
{
    if (!isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1]) || text[2] != ':' ||
        !isdigit((unsigned char)text[3]) || !isdigit((unsigned char)text[4]))
        return false;
    *minute = ((text[0] - '0') * 10 + text[1] - '0') * 60 + (text[3] - '0') * 10 + text[4] - '0';
    return *minute < 24 * 60 && text[3] < '6';
}

static pfc_code take_quiet(const pfc_entry *e, pfc_receiver *r, pfc_err *err)
{
    const char *quiet = pfc_entry_get(e, "quiet");

    if (!quiet)
        return PFC_OK;
    if (strlen(quiet) != 11 || quiet[5] != '-' || !read_minute(quiet, &r->quiet_from_min) ||
        !read_minute(quiet + 6, &r->quiet_to_min) || r->quiet_from_min == r->quiet_to_min)
        return pfc_entry_bad(e, err, "quiet: expected two different times, HH:MM-HH:MM");
    return PFC_OK;
}

/* localtime and mktime, so that a change of the clocks in the night is counted. */
double pfc_receiver_quiet_s(const pfc_receiver *r, int64_t unix_s)
{
    const time_t now = (time_t)unix_s;
    struct tm local = { 0 };
    int minute;
    bool over_midnight = r->quiet_from_min > r->quiet_to_min, quiet;

    localtime_r(&now, &local);
    minute = local.tm_hour * 60 + local.tm_min;
    quiet = over_midnight ? minute >= r->quiet_from_min || minute < r->quiet_to_min
                          : minute >= r->quiet_from_min && minute < r->quiet_to_min;
    if (!quiet)
        return 0;
    if (over_midnight && minute >= r->quiet_from_min)
        local.tm_mday++;
    local.tm_hour = r->quiet_to_min / 60;
    local.tm_min = r->quiet_to_min % 60;
    local.tm_sec = 0;
    local.tm_isdst = -1;
    return difftime(mktime(&local), now);
}

/* ---- digests ---- */

#define DIGEST_FORMS "digest: expected hourly, or \"daily HH:MM [ZONE]\" in quotes"

static pfc_code take_digest(const pfc_entry *e, pfc_receiver *r, pfc_err *err)
{
    const char *text = pfc_entry_get(e, "digest"), *zone = "UTC";
    pfc_err why = { 0 };
    char cron[32];
    int minute = 0;

    if (!text)
        return PFC_OK;
    if (r->kind == PFC_RECEIVER_GITHUB)
        return pfc_entry_bad(e, err, "digest: kind=github comments on each culprit");
    if (strcmp(text, "hourly") == 0) {
        (void)snprintf(cron, sizeof(cron), "0 * * * *");
    } else if (strncmp(text, "daily ", 6) == 0 && strlen(text) >= 11 &&
               read_minute(text + 6, &minute) && (!text[11] || (text[11] == ' ' && text[12]))) {
        (void)snprintf(cron, sizeof(cron), "%d %d * * *", minute % 60, minute / 60);
        zone = text[11] ? text + 12 : zone;
    } else {
        return pfc_entry_bad(e, err, DIGEST_FORMS);
    }
    if (pfc_zone_load(zone, NULL, &r->zone, &why) || pfc_cron_parse(cron, &r->digest, &why))
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: digest: %s", e->where, e->number, why.msg);
    return PFC_OK;
}

int64_t pfc_receiver_digest_at(const pfc_receiver *r, int64_t unix_s)
{
    int64_t next = 0;

    if (!r->zone || pfc_cron_next(&r->digest, r->zone, unix_s, &next, NULL))
        return 0;
    return next + (int64_t)pfc_receiver_quiet_s(r, next);
}

/* ---- mail ---- */

static pfc_code take_mail(const pfc_entry *e, pfc_receiver *r, pfc_err *err)
{
    const char *colon = r->secret ? strchr(r->secret, ':') : NULL;
    const char *to = pfc_entry_get(e, "to");

    if (!r->from || !pfc_mail_is_address(r->from))
        return pfc_entry_bad(e, err, "from: expected the sender's address");
    if (!to)
        return pfc_entry_bad(e, err, "expected to=ADDRESS[,ADDRESS...]");
    if (r->secret && (!colon || colon == r->secret || !colon[1]))
        return pfc_entry_bad(e, err,
                             "secret: expected the user, a colon and the password in the file");
    r->to = pfc_calloc(PFC_MAIL_MAX_RECIPIENTS, sizeof(*r->to));
    for (const char *at = to; *at;) {
        const size_t len = strcspn(at, ",");

        if (r->to_len == PFC_MAIL_MAX_RECIPIENTS)
            return pfc_entry_bad(e, err, "to: expected at most 20 addresses");
        r->to[r->to_len++] = pfc_strndup(at, len);
        if (!pfc_mail_is_address(r->to[r->to_len - 1]))
            return pfc_err_set(err, PFC_EINVAL, "%s:%zu: to: \"%.100s\" is no address", e->where,
                               e->number, r->to[r->to_len - 1]);
        at += len + (at[len] == ',');
    }
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

static pfc_code check_receiver(pfc_entry *e, const char *networks, pfc_receiver *r, pfc_err *err)
{
    const char *kind_name = pfc_entry_get(e, "kind"), *secret = pfc_entry_get(e, "secret");
    const char *url = pfc_entry_get(e, "url");
    size_t kind = 0;
    char *read_url = NULL;
    pfc_code code = PFC_OK;

    while (kind < PFC_ARRAY_LEN(kinds) && !(kind_name && strcmp(kind_name, kinds[kind]) == 0))
        kind++;
    if (kind == PFC_ARRAY_LEN(kinds))
        return pfc_entry_bad(e, err,
                             "expected kind=webhook, kind=slack, kind=github or kind=email");
    r->kind = (pfc_receiver_kind)kind;
    if (r->project && !pfc_is_slug(r->project))
        return pfc_entry_bad(e, err, "project: expected a project's name");
    if (!r->project)
        r->project = pfc_strdup("");
    if (r->kind == PFC_RECEIVER_GITHUB && (!r->repo || !is_repo(r->repo)))
        return pfc_entry_bad(e, err, "repo: expected OWNER/NAME");
    if (r->kind != PFC_RECEIVER_GITHUB && r->repo)
        return pfc_entry_bad(e, err, "repo is for kind=github");
    if (r->kind != PFC_RECEIVER_EMAIL && (r->from || pfc_entry_get(e, "to")))
        return pfc_entry_bad(e, err, "from and to are for kind=email");
    if (r->kind != PFC_RECEIVER_EMAIL &&
        (r->kind == PFC_RECEIVER_SLACK ? secret != NULL : secret == NULL))
        return pfc_entry_bad(
            e, err,
            secret ? "kind=slack signs nothing: its secret is the URL, which may be a file"
                   : "expected secret=FILE: what signs (webhook), or the token (github)");
    if (!url && r->kind != PFC_RECEIVER_GITHUB)
        return pfc_entry_bad(e, err, "expected url=");
    if (secret)
        code = read_secret(e, secret, &r->secret, err);
    if (!code && r->secret && r->kind != PFC_RECEIVER_EMAIL && strlen(r->secret) < SECRET_MIN)
        code = pfc_entry_bad(e, err, "the secret is under 16 bytes");
    if (!code && url && url[0] == '/')
        code = read_secret(e, url, &read_url, err);
    if (!code)
        code = take_url(e, read_url ? read_url : url ? url : GITHUB_API, networks, r, err);
    free(read_url);
    if (!code && r->kind == PFC_RECEIVER_EMAIL)
        code = take_mail(e, r, err);
    if (!code)
        code = take_events(e, r, err);
    if (!code)
        code = take_quiet(e, r, err);
    if (!code)
        code = take_digest(e, r, err);
    take_benchmarks(e, r);
    take_owners(e, r);
    return code;
}

/* While the file is read. */
typedef struct reading {
    pfc_receivers *out;
    const char *networks;
} reading;

static pfc_code take_receiver(void *arg, pfc_entry *e, pfc_err *err)
{
    const reading *reads = arg;
    pfc_receiver *r = &reads->out->items[reads->out->len++];

    r->name = pfc_strdup(e->name);
    r->project = pfc_entry_take(e, "project");
    r->repo = pfc_entry_take(e, "repo");
    r->from = pfc_entry_take(e, "from");
    return check_receiver(e, reads->networks, r, err);
}

pfc_code pfc_receivers_parse(const char *text, const char *where, const char *networks,
                             pfc_receivers *out, pfc_err *err)
{
    const pfc_entry_rules rules = { .what = "receiver",
                                    .words = words,
                                    .max = PFC_NOTIFY_MAX_RECEIVERS };
    reading reads = { .out = out, .networks = networks };
    pfc_code code;

    *out = (pfc_receivers){ .items = pfc_calloc(PFC_NOTIFY_MAX_RECEIVERS, sizeof(pfc_receiver)) };
    code = pfc_entries_read(text, where, &rules, take_receiver, &reads, err);
    if (!code && out->len == 0)
        code = pfc_err_set(err, PFC_EINVAL, "%s: it names no receiver", where);
    return code;
}
