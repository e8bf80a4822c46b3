/*
 * Sends the outbox (server/services/notices.h): each receiver of a file gets each notice of its
 * project by HTTP, with retries at growing intervals, up to a number of tries; or all that were
 * collected for it at fixed times, in one message, a digest. A delivery can arrive twice, with the
 * same id, when the answer to the first was lost. A delivery that is given up is logged and listed.
 *
 * Connections go to public addresses by https, to this machine for a receiver with a loopback URL,
 * and to other networks only when they are listed. Redirects are not followed.
 */
#ifndef PFC_SERVER_NOTIFY_NOTIFY_H
#define PFC_SERVER_NOTIFY_NOTIFY_H

#include "core/schedule/schedule.h"
#include "server/repo/connection/db.h"

#define PFC_NOTIFY_MAX_RECEIVERS 64

typedef enum pfc_receiver_kind {
    PFC_RECEIVER_WEBHOOK, /* a signed JSON document */
    PFC_RECEIVER_SLACK,   /* {"text"}, as Slack's and Mattermost's incoming webhooks take it */
    PFC_RECEIVER_GITHUB,  /* one comment on the culprit, edited for later notices */
    PFC_RECEIVER_EMAIL,   /* one message, by SMTP */
} pfc_receiver_kind;

typedef struct pfc_receiver {
    char *name; /* a slug */
    pfc_receiver_kind kind;
    char *url;     /* scheme, host and port */
    char *path;    /* the rest of it */
    char *project; /* "": all projects */
    char *
        secret; /* webhook: signs; github: the token; email: "USER:PASSWORD" or NULL; slack: NULL */
    char *repo; /* github: "owner/name" */
    char *from; /* email: the sender's address */
    char **to;  /* email: addresses */
    size_t to_len;    /* 0..PFC_MAIL_MAX_RECIPIENTS */
    char *events;     /* kinds of notices, ",a,b," */
    char *benchmarks; /* regular expression; "": all */
    char *owners;     /* as pfc_notice_route.owners */
    int quiet_from_min,
        quiet_to_min; /* of the day, in the server's time zone; equal: never quiet */
    pfc_cron digest;  /* when what was collected is sent as one message */
    pfc_zone *zone;   /* of the digest; NULL: no digests */
    bool local;       /* the URL has a loopback address */
} pfc_receiver;

typedef struct pfc_receivers {
    pfc_receiver *items;
    size_t len;
} pfc_receivers;

/**
 * Lines (core/base/config/entries.h) "NAME kind=webhook url=https://... secret=FILE [project=P]
 * [events=K,...] [benchmarks=GLOB,...] [owner=GLOB,...] [quiet=HH:MM-HH:MM] [digest=hourly]", for
 * email also from=A and to=A,...; also digest="daily HH:MM [ZONE]", by default in UTC. url may be
 * the absolute path of a file that contains it. Secrets are always files; a webhook's has at least
 * 16 bytes. `where` is the file in messages; `networks`: networks that receivers may be in, by
 * http, too, as for pfc_nets_parse. PFC_EINVAL names the line. Clear *out, also on failure.
 */
pfc_code pfc_receivers_parse(const char *text, const char *where, const char *networks,
                             pfc_receivers *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_receivers_clear(pfc_receivers *receivers);

/** Seconds from `unix_s` until the receiver's quiet hours end, by the process's time zone (also
 * when the clocks change in between); 0 outside them. */
double pfc_receiver_quiet_s(const pfc_receiver *receiver, int64_t unix_s);
/** Unix time of the receiver's first digest after `unix_s`, moved to the end of quiet hours; 0: it
 * has no digests. */
int64_t pfc_receiver_digest_at(const pfc_receiver *receiver, int64_t unix_s);

typedef struct pfc_notifier pfc_notifier;

typedef struct pfc_notifier_opts {
    pfc_db *db;             /* outlives the notifier; NULL: only checks the rest */
    const char *file;       /* of receivers */
    const char *networks;   /* in addition to public ones; NULL: none */
    const char *public_url; /* of the dashboard, for links; NULL: none */
    double timeout_s;       /* of one call; 0: 10 */
    double retry_s;         /* before the second try, doubled up to an hour; 0: 30 */
    int64_t tries;          /* 0: 10 */
    double lease_s; /* after which another server takes over the deliveries of a killed one; 0: 60,
                       at least 3 */
} pfc_notifier_opts;

/** Reads the receivers. PFC_EINVAL, PFC_EIO with a message that names the file and the line. */
pfc_code pfc_notifier_open(pfc_notifier **out, const pfc_notifier_opts *opts,
                           pfc_err *err) PFC_MUSTCHECK;
void pfc_notifier_close(pfc_notifier *notifier);
/** Cancels the call under way and every later one; any thread. */
void pfc_notifier_stop(pfc_notifier *notifier);
/** Creates deliveries for open notices and makes the one that has been due longest. PFC_ENOTFOUND:
 * none is due; the next one is in *due_s (INFINITY: none waits). One thread per server; several
 * servers may call it at once. A failing receiver is not an error of this call. */
pfc_code pfc_notify_next(pfc_notifier *notifier, double *due_s, pfc_err *err) PFC_MUSTCHECK;

#endif
