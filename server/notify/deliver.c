/* Takes the deliveries that are due from the queue and sends them. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/analysis/report/report.h"
#include "core/base/address.h"
#include "core/base/clock.h"
#include "core/base/config/entries.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/forge/provider.h"
#include "core/http/mail.h"
#include "server/notify/internal.h"
#include "server/services/explain/explain.h"
#include "server/services/queue/queue.h"

#define NEWS_DAYS      7 /* older notices are not sent when the first receiver is configured */
#define MAX_WAIT_S     3600.0
#define LEASE_MIN_S    3.0 /* a delivery checks about once a second whether it may continue */
#define ANSWER_BYTES   (8u * 1024 * 1024)
#define READ_WAIT_S    1.0 /* after a failure of the database, which does not count as a try */
#define FINISH_TRIES   5   /* after the first; each waits twice as long, 6 s in total */
#define FINISH_WAIT_MS 200
#define MAX_EXPLAINED  4 /* alerts of a commit that are tried, until one has an explanation */

struct pfc_notifier {
    pfc_notifier_opts opts;
    pfc_nets networks;
    char *link; /* of the dashboard, without a slash at its end; NULL: none */
    pfc_receivers receivers;
    atomic_bool stopping;
};

/* The URL is inserted into Markdown and chat messages without escaping. */
static pfc_code take_link(pfc_notifier *n, pfc_err *err)
{
    const char *url = n->opts.public_url;
    size_t len = url ? strlen(url) : 0;

    if (!url)
        return PFC_OK;
    if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || len > 1024 ||
        url[strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/[]%")])
        return pfc_err_set(err, PFC_EINVAL,
                           "--public-url: expected https://HOST[/PATH], got \"%.200s\"", url);
    n->link = pfc_strndup(url, len - (url[len - 1] == '/'));
    return PFC_OK;
}

pfc_code pfc_notifier_open(pfc_notifier **out, const pfc_notifier_opts *opts, pfc_err *err)
{
    pfc_notifier *n = pfc_calloc(1, sizeof(*n));
    char *text = NULL;
    pfc_code code;

    n->opts = *opts;
    n->opts.timeout_s = opts->timeout_s > 0 ? opts->timeout_s : 10;
    n->opts.retry_s = opts->retry_s > 0 ? opts->retry_s : 30;
    n->opts.tries = opts->tries > 0 ? opts->tries : 10;
    n->opts.lease_s = fmax(opts->lease_s > 0 ? opts->lease_s : PFC_LEASE_S, LEASE_MIN_S);
    code = take_link(n, err);
    if (!code)
        code = pfc_nets_parse(opts->networks, "--notify-networks", &n->networks, err);
    if (!code)
        code = pfc_entries_file(opts->file, "--notify", &text, err);
    if (!code)
        code = pfc_receivers_parse(text, opts->file, opts->networks, &n->receivers, err);
    free(text);
    if (code)
        pfc_notifier_close(n);
    else
        *out = n;
    return code;
}

void pfc_notifier_close(pfc_notifier *n)
{
    if (!n)
        return;
    pfc_receivers_clear(&n->receivers);
    free(n->link);
    free(n);
}

void pfc_notifier_stop(pfc_notifier *n)
{
    atomic_store(&n->stopping, true);
}

static bool is_stopping(const pfc_notifier *n)
{
    return atomic_load(&n->stopping);
}

/* One delivery under way. */
typedef struct sending {
    pfc_notifier *notifier;
    const pfc_receiver *receiver;
    const pfc_delivery *delivery;
    int64_t renewed_ns; /* time of the last try to renew the lease */
    bool lost;          /* the lease expired and another server has it */
} sending;

/* ---- cancellation ---- */

/* The lease is short, so that another server soon takes over the deliveries of a killed one, and is
 * renewed during long calls (GitHub's comments are paged). An unreachable database does not end a
 * call: no other server can take the lease then. */
static bool must_end(void *arg)
{
    sending *s = arg;
    const int64_t now_ns = pfc_clock_ns();
    const double lease_s = s->notifier->opts.lease_s;

    if (!s->lost && (double)(now_ns - s->renewed_ns) * 1e-9 >= lease_s / 3) {
        s->renewed_ns = now_ns;
        s->lost =
            pfc_delivery_prolong(s->notifier->opts.db, s->delivery, lease_s, NULL) == PFC_ENOTFOUND;
    }
    return s->lost || is_stopping(s->notifier);
}

/* ---- allowed addresses ---- */

/* Checked after name resolution: refuses public names that resolve to this machine, and networks
 * that are not listed. */
static bool may_reach(void *arg, const struct sockaddr *to)
{
    const sending *s = arg;
    pfc_address address;

    if (!pfc_address_of(to, &address))
        return false;
    return (s->receiver->local && pfc_address_is_loopback(&address)) ||
           pfc_address_is_public(&address) || pfc_nets_hold(&s->notifier->networks, &address);
}

/* ---- one call ---- */

/* The body of the receiver's answer is not stored: its content is not trusted. */
static pfc_code judge_status(const pfc_http_answer *answer, pfc_err *err)
{
    const int status = answer->status;

    if (status >= 200 && status < 300)
        return PFC_OK;
    if (status == 408 || status == 425 || status == 429 || status >= 500)
        return pfc_err_set(err, PFC_EUNAVAIL, "the receiver answered %d", status);
    return pfc_err_set(err, PFC_EINVAL, "the receiver answered %d%s", status,
                       status >= 300 && status < 400 ? ", a redirect, which is not followed" : "");
}

/* Id and time are signed with the body, so that neither can be replaced. */
static char *sign(const pfc_receiver *r, const char *id, const char *time, const char *body)
{
    char hex[PFC_SHA256_HEX];
    char *signed_text = pfc_format("%s.%s.%s", id, time, body);
    char *out;

    pfc_hmac_hex(r->secret, strlen(r->secret), signed_text, strlen(signed_text), hex);
    out = pfc_format("Perfci-Signature: sha256=%s", hex);
    free(signed_text);
    return out;
}

/* The content of a message: a notice, or a digest (notice NULL). */
typedef struct content {
    const pfc_notices *all;
    const pfc_notice *notice;
} content;

/* The same at each try. */
static char *delivery_id(const sending *s, const content *c)
{
    return c->notice ? pfc_format("notice-%lld-%s", (long long)c->notice->id, s->receiver->name)
                     : pfc_format("digest-%s-%s", s->delivery->digest, s->receiver->name);
}

static pfc_code post(pfc_http *http, const sending *s, const content *c, const char *body,
                     double *retry_after_s, pfc_err *err)
{
    const pfc_receiver *r = s->receiver;
    char *id = delivery_id(s, c);
    char *time_text = pfc_format("%lld", (long long)time(NULL));
    char *lines[] = { pfc_format("Perfci-Event: %s", c->notice ? c->notice->kind : "digest"),
                      pfc_format("Perfci-Delivery: %s", id),
                      pfc_format("Perfci-Timestamp: %s", time_text),
                      r->secret ? sign(r, id, time_text, body) : NULL };
    const char *const headers[] = { lines[0], lines[1], lines[2], lines[3], NULL };
    const pfc_http_req req = { .method = "POST",
                               .path = r->path,
                               .body = body,
                               .body_len = strlen(body),
                               .headers = headers };
    pfc_http_answer answer = { 0 };
    pfc_code code = pfc_http_send(http, &req, &answer, err);

    if (!code) {
        *retry_after_s = answer.retry_after_s;
        code = judge_status(&answer, err);
        pfc_http_answer_clear(&answer);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(lines); i++)
        free(lines[i]);
    free(id);
    free(time_text);
    return code;
}

/* Why the benchmark of the first alert changed that has a stored run on both sides and recorded
 * parts of its time; NULL: none has. */
static json_t *explain(pfc_db *db, const pfc_notices *all)
{
    pfc_explanation *e = pfc_calloc(1, sizeof(*e));
    pfc_explain_rules rules = { 0 };
    json_t *found = NULL;
    pfc_code code = pfc_explain_rules_load(NULL, &rules, NULL);

    for (size_t i = 0; !code && i < PFC_MIN(all->len, (size_t)MAX_EXPLAINED) && !found; i++) {
        if (!pfc_explain_alert(db, &rules, all->items[i].alert_id, e, NULL) && e->delta &&
            e->delta->basis != PFC_DELTA_TOTAL)
            found = pfc_explanation_json(e);
        pfc_explanation_clear(e);
    }
    pfc_explain_rules_clear(&rules);
    free(e);
    return found;
}

static char *body_of(const sending *s, const content *c)
{
    const char *link = s->notifier->link;
    const bool slack = s->receiver->kind == PFC_RECEIVER_SLACK;

    if (!c->notice)
        return slack ? notify_digest_slack(c->all, link)
                     : notify_digest_webhook(c->all, s->delivery->digest, link);
    return slack ? notify_slack(c->all, c->notice->id, link)
                 : notify_webhook(c->all, c->notice->id, link);
}

static pfc_code call_receiver(sending *s, const content *c, double *retry_after_s, pfc_err *err)
{
    const pfc_notifier *n = s->notifier;
    const pfc_receiver *r = s->receiver;
    char *name = pfc_format("receiver %s", r->name);
    const pfc_http_opts opts = { .url = r->url,
                                 .connect_timeout_s = n->opts.timeout_s,
                                 .timeout_s = n->opts.timeout_s,
                                 .max_answer_bytes = ANSWER_BYTES,
                                 .cancelled = must_end,
                                 .cancelled_arg = s,
                                 .may_reach = may_reach,
                                 .may_reach_arg = s,
                                 .name = name };
    pfc_http *http = NULL;
    char *body = NULL;
    pfc_code code = pfc_http_new(&opts, &http, err);

    if (!code) {
        body = body_of(s, c);
        code = post(http, s, c, body, retry_after_s, err);
    }
    pfc_http_free(http);
    free(body);
    free(name);
    return code;
}

/* One comment on the culprit, edited for later notices. */
static pfc_code comment(sending *s, const content *c, double *retry_after_s, pfc_err *err)
{
    const pfc_notifier *n = s->notifier;
    const pfc_receiver *r = s->receiver;
    char *url = pfc_format("%s%s", r->url, strcmp(r->path, "/") != 0 ? r->path : "");
    const pfc_forge_opts opts = { .kind = PFC_FORGE_GITHUB,
                                  .api_url = url,
                                  .token = r->secret,
                                  .timeout_s = n->opts.timeout_s,
                                  .cancelled = must_end,
                                  .cancelled_arg = s,
                                  .may_reach = may_reach,
                                  .may_reach_arg = s };
    json_t *explanation = explain(n->opts.db, c->all);
    char *body = notify_github(c->all, explanation, n->link);
    pfc_forge_comment put = { 0 };
    pfc_forge *forge = NULL;
    pfc_code code = pfc_forge_open(&opts, &forge, err);

    if (!code) {
        code = pfc_forge_commit_comment_put(forge, r->repo, c->notice->commit, GITHUB_KEY, 0, body,
                                            &put, err);
        *retry_after_s = pfc_forge_wait_s(forge);
    }
    pfc_forge_close(forge);
    json_decref(explanation);
    free(put.url);
    free(body);
    free(url);
    return code;
}

/* "[perfci] PROJECT: TEXT"; a digest may be of several projects. */
static char *mail_subject(const content *c)
{
    char *title, *subject;

    if (c->notice)
        return pfc_format("[perfci] %s: %s", c->notice->project, c->notice->text);
    title = notify_digest_title(c->all);
    subject = pfc_format("[perfci] %s", title);
    free(title);
    return subject;
}

static pfc_code send_mail(sending *s, const content *c, pfc_err *err)
{
    const pfc_receiver *r = s->receiver;
    char *name = pfc_format("receiver %s", r->name);
    char *user = r->secret ? pfc_strndup(r->secret, strcspn(r->secret, ":")) : NULL;
    char *id = delivery_id(s, c);
    char *subject = mail_subject(c);
    char *text = c->notice ? notify_mail(c->all, c->notice->id, s->notifier->link)
                           : notify_digest_mail(c->all, s->notifier->link);
    const pfc_code code =
        pfc_mail_send(&(pfc_mail_opts){ .url = r->url,
                                        .user = user,
                                        .password = user ? r->secret + strlen(user) + 1 : NULL,
                                        .clear = r->local,
                                        .timeout_s = s->notifier->opts.timeout_s,
                                        .cancelled = must_end,
                                        .cancelled_arg = s,
                                        .may_reach = may_reach,
                                        .may_reach_arg = s,
                                        .name = name },
                      &(pfc_mail){ .from = r->from,
                                   .to = (const char *const *)r->to,
                                   .to_len = r->to_len,
                                   .subject = subject,
                                   .id = id,
                                   .text = text,
                                   .date_unix_s = (int64_t)time(NULL) },
                      err);

    free(text);
    free(name);
    free(subject);
    free(id);
    free(user);
    return code;
}

static pfc_code send_to(sending *s, const content *c, double *retry_after_s, pfc_err *err)
{
    if (s->receiver->kind == PFC_RECEIVER_EMAIL)
        return send_mail(s, c, err);
    if (s->receiver->kind != PFC_RECEIVER_GITHUB)
        return call_receiver(s, c, retry_after_s, err);
    /* Only a confirmed culprit gets a comment on its commit. */
    if (c->notice && strcmp(c->notice->kind, "culprit_confirmed") == 0)
        return comment(s, c, retry_after_s, err);
    pfc_log(PFC_DEBUG, "notice_without_commit", "notice", s->delivery->notice_id);
    return PFC_OK;
}

/* ---- the queue ---- */

static const pfc_receiver *find_receiver(const pfc_notifier *n, const char *name)
{
    for (size_t i = 0; i < n->receivers.len; i++)
        if (strcmp(n->receivers.items[i].name, name) == 0)
            return &n->receivers.items[i];
    return NULL;
}

/* *read: false when the database failed, which is not the receiver's fault. */
static pfc_code deliver(pfc_notifier *n, const pfc_delivery *d, bool *read, double *retry_after_s,
                        pfc_err *err)
{
    sending s = { .notifier = n,
                  .receiver = find_receiver(n, d->receiver),
                  .delivery = d,
                  .renewed_ns = pfc_clock_ns() };
    pfc_notices all = { 0 };
    content c = { .all = &all };
    pfc_code code;

    *read = true;
    if (!s.receiver)
        return pfc_err_set(err, PFC_EINVAL, "the receiver is no longer configured");
    code = pfc_notice_content(n->opts.db, d, &all, err);
    *read = code != PFC_EUNAVAIL && code != PFC_ETIMEOUT;
    for (size_t i = 0; !code && !d->digest[0] && i < all.len; i++)
        if (all.items[i].id == d->notice_id)
            c.notice = &all.items[i];
    if (!code)
        code = c.notice || (d->digest[0] && all.len)
                   ? send_to(&s, &c, retry_after_s, err)
                   : pfc_err_set(err, PFC_EINVAL, "the notice was deleted");
    pfc_rows_clear(&all);
    return code;
}

static double wait_of(const pfc_notifier *n, const pfc_delivery *d, double retry_after_s)
{
    const double doubled = n->opts.retry_s * exp2(fmin((double)d->tries - 1, 30));

    return fmin(fmax(doubled, retry_after_s), MAX_WAIT_S);
}

static pfc_delivery_end end_of(const pfc_notifier *n, const pfc_delivery *d, pfc_code code)
{
    if (!code)
        return PFC_DELIVERY_SENT;
    if (code == PFC_ECONFLICT)
        return PFC_DELIVERY_BACK;
    /* A wrong certificate or host name may be corrected within the hours of the tries; a refusal is
     * final. */
    if (code == PFC_EINVAL || code == PFC_EDENIED || code == PFC_ENOTFOUND ||
        d->tries >= n->opts.tries)
        return PFC_DELIVERY_DEAD;
    return PFC_DELIVERY_LATER;
}

static void log_end(const pfc_delivery *d, pfc_delivery_end end, double wait_s, const pfc_err *why)
{
    const char *receiver = d->receiver;

    if (end == PFC_DELIVERY_SENT)
        pfc_log(PFC_INFO, "notice_sent", "notice", d->notice_id, "receiver", receiver, "tries",
                d->tries);
    else if (end == PFC_DELIVERY_LATER)
        pfc_log(PFC_WARN, "notice_retry", "notice", d->notice_id, "receiver", receiver, "tries",
                d->tries, "retry_s", wait_s, "why", (const char *)why->msg);
    else if (end == PFC_DELIVERY_DEAD)
        pfc_log(PFC_ERROR, "notice_given_up", "notice", d->notice_id, "receiver", receiver, "tries",
                d->tries, "why", (const char *)why->msg);
}

/* Retries: the notice is sent, and without its end in the database another server sends it again
 * after the lease expires. Storing the same end twice has no effect. */
static pfc_code finish(pfc_notifier *n, const pfc_delivery *d, pfc_delivery_end end,
                       const char *reason, double wait_s, pfc_err *err)
{
    pfc_code code = pfc_delivery_finish(n->opts.db, d, end, reason, wait_s, err);

    for (int i = 0;
         i < FINISH_TRIES && (code == PFC_EUNAVAIL || code == PFC_ETIMEOUT) && !is_stopping(n);
         i++) {
        pfc_clock_sleep_ns(FINISH_WAIT_MS * PFC_NS_PER_MS << i);
        code = pfc_delivery_finish(n->opts.db, d, end, reason, wait_s, err);
    }
    return code;
}

static pfc_code dispatch(pfc_notifier *n, pfc_err *err)
{
    pfc_notice_route routes[PFC_NOTIFY_MAX_RECEIVERS];
    const int64_t now = (int64_t)time(NULL);
    size_t notices = 0;

    for (size_t i = 0; i < n->receivers.len; i++) {
        const pfc_receiver *r = &n->receivers.items[i];

        routes[i] = (pfc_notice_route){ .receiver = r->name,
                                        .project = r->project,
                                        .kinds = r->events,
                                        .benchmarks = r->benchmarks,
                                        .owners = r->owners,
                                        .delay_s = pfc_receiver_quiet_s(r, now),
                                        .digest_unix_s = (double)pfc_receiver_digest_at(r, now) };
    }
    return pfc_notices_dispatch(n->opts.db, routes, n->receivers.len, NEWS_DAYS, &notices, err);
}

pfc_code pfc_notify_next(pfc_notifier *n, double *due_s, pfc_err *err)
{
    pfc_err why = { 0 };
    pfc_delivery d;
    pfc_delivery_end end;
    double retry_after_s = 0, wait_s = 0;
    bool read;
    pfc_code code;

    *due_s = INFINITY;
    if (is_stopping(n))
        return pfc_err_set(err, PFC_ENOTFOUND, "the notifier is stopping");
    code = dispatch(n, err);
    if (!code)
        code = pfc_delivery_take(n->opts.db, n->opts.lease_s, &d, err);
    if (code == PFC_ENOTFOUND && pfc_delivery_due(n->opts.db, due_s, NULL))
        *due_s = INFINITY; /* the caller tries again soon anyway */
    if (code)
        return code;
    if (d.closed) {
        end = PFC_DELIVERY_DROPPED;
        (void)pfc_err_set(&why, PFC_ECONFLICT, "the notice was closed before");
    } else {
        code = deliver(n, &d, &read, &retry_after_s, &why);
        end = read ? end_of(n, &d, code) : PFC_DELIVERY_BACK;
        if (!read) {
            pfc_log(PFC_WARN, "notice_not_read", "notice", d.notice_id, "why",
                    (const char *)why.msg);
            wait_s = READ_WAIT_S;
        }
    }
    if (end == PFC_DELIVERY_LATER)
        wait_s = wait_of(n, &d, retry_after_s);
    log_end(&d, end, wait_s, &why);
    return finish(n, &d, end, end == PFC_DELIVERY_SENT ? NULL : why.msg, wait_s, err);
}
