/*
 * Sends the outbox (server/services/notices.h): each receiver of a file gets each notice of its project, by
 * HTTP, tried again with growing waits, given up after a number of tries. A delivery may arrive twice (the
 * answer to the first was lost), with the same id, and never in silence not at all.
 *
 * Where it connects to: public addresses by https; this machine for a receiver that says so by its URL;
 * other networks only when they are listed. Redirects are not followed.
 */
#ifndef PFC_SERVER_NOTIFY_NOTIFY_H
#define PFC_SERVER_NOTIFY_NOTIFY_H

#include "server/repo/connection/db.h"

#define PFC_NOTIFY_MAX_RECEIVERS 64

typedef enum pfc_receiver_kind {
    PFC_RECEIVER_WEBHOOK, /* a signed JSON document */
    PFC_RECEIVER_SLACK,   /* {"text"}, as Slack's and Mattermost's incoming webhooks take it */
    PFC_RECEIVER_GITHUB,  /* the culprit's one comment, edited when there is more to say */
} pfc_receiver_kind;

typedef struct pfc_receiver {
    char *name; /* a slug */
    pfc_receiver_kind kind;
    char *url;     /* scheme, host and port */
    char *path;    /* the rest of it */
    char *project; /* "": of all projects */
    char *secret;  /* webhook: signs; github: the token; slack: NULL */
    char *repo;    /* github: "owner/name" */
    bool local;    /* the URL says a loopback address */
} pfc_receiver;

typedef struct pfc_receivers {
    pfc_receiver *items;
    size_t len;
} pfc_receivers;

/**
 * Lines "NAME kind=webhook url=https://... secret=FILE [project=P]"; blank ones and those that begin with #
 * are nothing. url may be the absolute path of a file that holds it. Secrets are always files: of webhooks
 * at least 16 bytes. `where` stands for the file in messages; `networks`: those that may be reached by http,
 * too, as for pfc_nets_parse. PFC_EINVAL names the line. Clear *out, also on failure.
 */
pfc_code pfc_receivers_parse(const char *text, const char *where, const char *networks,
                             pfc_receivers *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_receivers_clear(pfc_receivers *receivers);

typedef struct pfc_notifier pfc_notifier;

typedef struct pfc_notifier_opts {
    pfc_db *db;             /* outlives the notifier; NULL: only to check the rest */
    const char *file;       /* of receivers */
    const char *networks;   /* beside public ones; NULL: none */
    const char *public_url; /* of the dashboard, for links; NULL: none */
    double timeout_s;       /* of one call; 0: 10 */
    double retry_s;         /* before the second try, doubled up to an hour; 0: 30 */
    int64_t tries;          /* 0: 10 */
    double lease_s;         /* what a killed server held is another's after it; 0: 60, at least 3 */
} pfc_notifier_opts;

/** Reads the receivers. PFC_EINVAL, PFC_EIO with the sentence for whoever wrote the file. */
pfc_code pfc_notifier_open(pfc_notifier **out, const pfc_notifier_opts *opts,
                           pfc_err *err) PFC_MUSTCHECK;
void pfc_notifier_close(pfc_notifier *notifier);
/** Ends the call under way, and every later one at once; any thread. */
void pfc_notifier_stop(pfc_notifier *notifier);
/** Turns open notices into deliveries and makes the one that is due longest. PFC_ENOTFOUND: none is due,
 *  the next in *due_s (INFINITY: none waits). One thread; several servers may. A receiver that fails is no error of this call. */
pfc_code pfc_notify_next(pfc_notifier *notifier, double *due_s, pfc_err *err) PFC_MUSTCHECK;

#endif
