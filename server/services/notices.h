/*
 * The outbox of notifications. A notice is stored in the same transaction as its cause. It stays
 * open until it was delivered to each of its receivers, or until an API client marks it as sent.
 * Delivery is therefore at least once: a notice may be sent twice, but is never lost. The delivery
 * to one receiver is a job of kind "notify", which only servers take. A delivery that failed for
 * good stays as a dead letter until a user retries it or closes the notice. Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_NOTICES_H
#define PFC_SERVER_SERVICES_NOTICES_H

#include "core/base/hash.h"
#include "server/services/service.h"

#define PFC_RECEIVER_NAME_MAX 64

typedef struct pfc_notice {
    int64_t id, alert_id, fault_id; /* of the alert, or of the fault, that it is about; 0: none */
    const char *project, *kind, *text;
    const char *commit;           /* NULL: of a fault */
    const char *subject, *author; /* NULL: unknown */
    double created_at;
    const char *deliveries_json; /* pfc_notices_list: a JSON array */
    /* pfc_notice_content: of the alert; NULL and NAN: the alert was deleted */
    const char *benchmark, *metric, *backend, *machine_class;
    double rel_change;
    const char *owner; /* of the alert; NULL: none is known */
} pfc_notice;
PFC_ROWS(pfc_notices, pfc_notice);

/** Lists open notices, oldest first; project_id 0: of all projects. */
pfc_code pfc_notices_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_notices *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** Lists the newest notices of a project, closed ones, too, newest first; at most `limit`. */
pfc_code pfc_notices_recent(pfc_db *db, int64_t project_id, int limit, pfc_notices *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Returns the project of a notice. PFC_ENOTFOUND: no such notice. */
pfc_code pfc_notice_project(pfc_db *db, int64_t id, int64_t *project_id,
                            pfc_err *err) PFC_MUSTCHECK;
/** Closes a notice as sent; idempotent. */
pfc_code pfc_notice_done(pfc_db *db, const char *actor, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Queues the notice's dead letters again; *deliveries: how many there were. */
pfc_code pfc_notice_again(pfc_db *db, const char *actor, int64_t project_id, int64_t id,
                          size_t *deliveries, pfc_err *err) PFC_MUSTCHECK;

/* ---- sending ---- */

typedef struct pfc_delivery {
    int64_t job_id, project_id, notice_id, tries; /* tries: including this one */
    char receiver[PFC_RECEIVER_NAME_MAX];
    char lease_hash[PFC_SHA256_HEX];
    char digest[17]; /* the number of a digest, the same at each try; "": a single notice */
    bool closed;     /* the notice, or all of the digest, have been closed since they were queued */
} pfc_delivery;

typedef enum pfc_delivery_end {
    PFC_DELIVERY_SENT,
    PFC_DELIVERY_LATER, /* retry after `after_s` */
    PFC_DELIVERY_BACK,  /* as LATER, but this try does not count */
    PFC_DELIVERY_DEAD,
    PFC_DELIVERY_DROPPED, /* not sent: the notice was closed before */
} pfc_delivery_end;

#define PFC_NOTICE_ANY_OWNER "^"

/* The notices that a receiver takes, and the delay. */
typedef struct pfc_notice_route {
    const char *receiver;
    const char *project;    /* "": of all projects */
    const char *kinds;      /* ",culprit_confirmed,recovered," */
    const char *benchmarks; /* POSIX regular expression; "": all. A notice about none passes. */
    const char *owners;     /* of alerts with such an owner, by a regular expression of the names
                               separated by spaces; PFC_NOTICE_ANY_OWNER: whatever the owner; "":
                               those that no receiver takes by its owner */
    double delay_s;         /* until the delivery is due; >= 0 */
    double digest_unix_s;   /* time of the receiver's next digest, which replaces delay_s; 0: each
                               notice is delivered separately */
} pfc_notice_route;

/** Queues, once, a delivery of each open notice of the last `days` days to each receiver that takes
 *  it. *notices: how many, at most 100 per call. Announcements (not culprits) that no receiver
 *  takes are closed. */
pfc_code pfc_notices_dispatch(pfc_db *db, const pfc_notice_route *routes, size_t len, int days,
                              size_t *notices, pfc_err *err) PFC_MUSTCHECK;
/** Leases the delivery that has been due longest, or the whole digest it belongs to, at most 1000
 *  notices. PFC_ENOTFOUND: none is due. When the lease expires, the delivery returns to the queue;
 *  a digest is taken again with the same notices. */
pfc_code pfc_delivery_take(pfc_db *db, double lease_s, pfc_delivery *out,
                           pfc_err *err) PFC_MUSTCHECK;
/** Extends the lease to `lease_s` from now. PFC_ENOTFOUND: the lease has expired; the delivery no
 *  longer belongs to the caller. */
pfc_code pfc_delivery_prolong(pfc_db *db, const pfc_delivery *delivery, double lease_s,
                              pfc_err *err) PFC_MUSTCHECK;
/** *seconds: time until the next delivery is due, 0: now, INFINITY: none is queued. */
pfc_code pfc_delivery_due(pfc_db *db, double *seconds, pfc_err *err) PFC_MUSTCHECK;
/** Reads the content to send: the notice and the others of its kind about the same commit, oldest
 *  first. Of a digest: its notices that are open, by the worth of their alerts, recoveries last. */
pfc_code pfc_notice_content(pfc_db *db, const pfc_delivery *delivery, pfc_notices *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Ends the lease. reason: why the notices were not sent, or NULL. Closes each notice once all its
 *  deliveries are done. */
pfc_code pfc_delivery_finish(pfc_db *db, const pfc_delivery *delivery, pfc_delivery_end end,
                             const char *reason, double after_s, pfc_err *err) PFC_MUSTCHECK;

#endif
