/*
 * The outbox: what somebody ought to be told. A notice is stored in the transaction that made it true and
 * stays open until each of its receivers has it, or whoever sends it says that it is sent; so it may be sent
 * twice, and is never lost. A receiver's delivery is a job of kind "notify", which only servers take; one
 * that is given up stays, as a dead letter, until somebody has it tried again or closes the notice.
 * Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_NOTICES_H
#define PFC_SERVER_SERVICES_NOTICES_H

#include "core/base/hash.h"
#include "server/services/services.h"

#define PFC_RECEIVER_NAME_MAX 64

typedef struct pfc_notice {
    int64_t id, alert_id;
    const char *project, *kind, *commit, *text;
    const char *subject, *author; /* NULL: not known */
    double created_at;
    const char *deliveries_json; /* pfc_notices_list: a JSON array */
    /* pfc_notice_content: the alert's, NULL and NAN when it is gone */
    const char *benchmark, *metric, *backend, *machine_class;
    double rel_change;
} pfc_notice;
PFC_ROWS(pfc_notices, pfc_notice);

/** Open ones, oldest first; project 0: of all. */
pfc_code pfc_notices_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_notices *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** PFC_ENOTFOUND: there is none. */
pfc_code pfc_notice_project(pfc_db *db, int64_t id, int64_t *project_id,
                            pfc_err *err) PFC_MUSTCHECK;
/** It is sent; again: nothing happens. */
pfc_code pfc_notice_done(pfc_db *db, const char *actor, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Has its dead letters tried anew; *deliveries: how many there were. */
pfc_code pfc_notice_again(pfc_db *db, const char *actor, int64_t project_id, int64_t id,
                          size_t *deliveries, pfc_err *err) PFC_MUSTCHECK;

/* ---- for who sends them ---- */

typedef struct pfc_delivery {
    int64_t job_id, project_id, notice_id, tries; /* tries: with this one */
    char receiver[PFC_RECEIVER_NAME_MAX];
    char lease_hash[PFC_SHA256_HEX];
    bool closed; /* meanwhile somebody said that the notice is sent */
} pfc_delivery;

typedef enum pfc_delivery_end {
    PFC_DELIVERY_SENT,
    PFC_DELIVERY_LATER, /* after `after_s` */
    PFC_DELIVERY_BACK,  /* as LATER, and this try did not count */
    PFC_DELIVERY_DEAD,
    PFC_DELIVERY_DROPPED, /* nobody wants it any more */
} pfc_delivery_end;

/** Makes a delivery of each open notice, of the last `days` days, for each receiver that wants its
 *  project's (projects[i] "": all), once. *notices: how many there were, at most 100 a call. */
pfc_code pfc_notices_dispatch(pfc_db *db, const char *const *receivers, const char *const *projects,
                              size_t len, int days, size_t *notices, pfc_err *err) PFC_MUSTCHECK;
/** Leases the delivery that has been due longest; PFC_ENOTFOUND: none is. A lease that runs out gives it
 *  back to the queue. */
pfc_code pfc_delivery_take(pfc_db *db, double lease_s, pfc_delivery *out,
                           pfc_err *err) PFC_MUSTCHECK;
/** `lease_s` from now on. PFC_ENOTFOUND: it has run out, and the delivery is not this lease's any more. */
pfc_code pfc_delivery_prolong(pfc_db *db, const pfc_delivery *delivery, double lease_s,
                              pfc_err *err) PFC_MUSTCHECK;
/** *seconds until the next delivery is due, 0 when it is; INFINITY: none waits. */
pfc_code pfc_delivery_due(pfc_db *db, double *seconds, pfc_err *err) PFC_MUSTCHECK;
/** What is to be sent: the notice and the others of its kind about the same commit, the oldest first. */
pfc_code pfc_notice_content(pfc_db *db, const pfc_delivery *delivery, pfc_notices *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Ends the lease. reason: why it was not sent, or NULL. When all have it the notice is closed. */
pfc_code pfc_delivery_finish(pfc_db *db, const pfc_delivery *delivery, pfc_delivery_end end,
                             const char *reason, double after_s, pfc_err *err) PFC_MUSTCHECK;

#endif
