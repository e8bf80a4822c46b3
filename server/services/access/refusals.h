/*
 * Refused writes in the audit log, without letting their senders fill it.
 *
 * Refusals are counted in memory by client, route and status. A thread writes each count as one
 * row: at once for the first refusal, then at most once a minute for the same key. At most
 * PFC_REFUSALS_BURST rows are written at once and one more every PFC_REFUSALS_ROW_S seconds, that
 * is 14,400 rows a day; meanwhile the counts grow. Keys beyond PFC_REFUSALS_KEYS share one row.
 * What is counted is written at a stop; a crash loses at most the counts that wait for their row.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_REFUSALS_H
#define PFC_SERVER_SERVICES_ACCESS_REFUSALS_H

#include "core/base/address.h"
#include "server/repo/connection/db.h"

#define PFC_REFUSALS_KEYS  64
#define PFC_REFUSALS_BURST 16
#define PFC_REFUSALS_ROW_S 6.0
#define PFC_REFUSALS_KEY_S 60.0

typedef struct pfc_refusals pfc_refusals;

/** One refused request; texts are copied. */
typedef struct pfc_refusal {
    const char *actor;   /* "token 3 (ci)"; NULL: without a valid token */
    int64_t project_id;  /* that the token is bound to; 0: none */
    const char *what;    /* "POST /api/v1/jobs", the route's pattern */
    const char *address; /* of the client; "": unknown */
    int status;          /* 401, 403 or 404 */
} pfc_refusal;

/** Starts the thread. db outlives it. PFC_EIO: no thread. */
pfc_code pfc_refusals_start(pfc_refusals **out, pfc_db *db, pfc_err *err) PFC_MUSTCHECK;
/** Counts a refusal; never waits for the database. Thread-safe; accepts NULL (no effect). */
void pfc_refusals_add(pfc_refusals *refusals, const pfc_refusal *refusal);
/** Writes what is counted and ends the thread. Accepts NULL. */
void pfc_refusals_stop(pfc_refusals *refusals);

#endif
