/*
 * The outbox: what somebody ought to be told. A notice is stored in the transaction that made it true and
 * stays open until whoever sends it says that it is sent; so it may be sent twice, and is never lost.
 * Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_NOTICES_H
#define PFC_SERVER_SERVICES_NOTICES_H

#include "server/services/services.h"

typedef struct pfc_notice {
    int64_t id, alert_id;
    char *project, *kind, *commit, *subject, *author, *text; /* subject, author: or NULL */
    double created_at;
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

#endif
