/*
 * Operating runners: draining, revoking, hiding results, and what each reports of itself. Runners
 * are named; project_id is the caller's project, 0: any. Every change is audited. PFC_ENOTFOUND: no
 * such runner. PFC_ECONFLICT: several projects have one of that name. Thread-safe; general rules:
 * server/services/service.h.
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_FLEET_H
#define PFC_SERVER_SERVICES_QUEUE_FLEET_H

#include "server/repo/connection/db.h"
#include "server/repo/sql/fleet.h"

/** Drains a runner (`drain` true): it gets no new job and finishes the job that it has. `drain`
 *  false ends that. *changed is false when the runner was in that state before. */
pfc_code pfc_runner_drain(pfc_db *db, const char *actor, int64_t project_id, const char *runner,
                          bool drain, bool *changed, pfc_err *err) PFC_MUSTCHECK;

/** Topic of the event that a runner was drained, revoked, or allowed to lease again. */
#define PFC_RUNNER_TOPIC "runner"

/** *stopped: the runner of that project (0: of all) is drained or revoked; false when unknown. */
pfc_code pfc_runner_stopped(pfc_db *db, int64_t project_id, const char *runner, bool *stopped,
                            pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_revocation {
    double since;       /* hides results since then, Unix seconds; 0: hides none */
    const char *reason; /* NULL: none */
    bool dry_run;       /* only counts */
    int64_t own_token;  /* of the caller, which does not end; 0: none */
} pfc_revocation;

/** Effects of a revocation, or those that it would have. Clear with pfc_revoked_clear. */
typedef struct pfc_revoked {
    pfc_sql_runner_tokens_rows tokens;      /* that ended */
    int64_t leases;                         /* jobs returned to the queue */
    int64_t quarantine;                     /* its number; 0: none */
    int64_t runs, results, series, commits; /* hidden */
} pfc_revoked;

/** Ends the tokens that the runner used (also where other runners use them), its leases, and keeps
 *  it from leasing. With `since` its results since then are hidden: they are moved out of every
 *  series in the same transaction, and detection is queued for the branches concerned. Results that
 *  come later are hidden by pfc_quarantines_sweep. */
pfc_code pfc_runner_revoke(pfc_db *db, const char *actor, int64_t project_id, const char *runner,
                           const pfc_revocation *revocation, pfc_revoked *out,
                           pfc_err *err) PFC_MUSTCHECK;
void pfc_revoked_clear(pfc_revoked *revoked);

/** Takes a revocation and its quarantine back: the results return to their series, detection is
 *  queued, and the runner may lease with a new token. Ended tokens stay ended. *runs: that count
 *  again. PFC_ECONFLICT: the runner is neither revoked nor quarantined. */
pfc_code pfc_runner_release(pfc_db *db, const char *actor, int64_t project_id, const char *runner,
                            int64_t *runs, pfc_err *err) PFC_MUSTCHECK;

/** Hides results of quarantined runners that came since. *branches: to be judged again. */
pfc_code pfc_quarantines_sweep(pfc_db *db, size_t *branches, pfc_err *err) PFC_MUSTCHECK;

/** Of all runners that reported within a week and are not revoked. documents: waiting for upload.
 *  oldest_s: age of the oldest; 0: none waits. alarms: runners that need attention.
 *  disk_free_bytes: the least; NAN: no report. */
typedef pfc_sql_fleet_figures_row pfc_fleet_figures;
pfc_code pfc_fleet_figures_get(pfc_db *db, pfc_fleet_figures *out, pfc_err *err) PFC_MUSTCHECK;

/** Report of a runner, sent with its requests. */
typedef struct pfc_runner_status {
    const char *version, *sandbox;                      /* NULL: not sent */
    int64_t documents, max_documents, bytes, max_bytes; /* waiting for upload, and the limits */
    double oldest_s;         /* age of the oldest of them; 0 without any */
    int64_t disk_free_bytes; /* where the spool is */
} pfc_runner_status;

/** Stores the report; at most one write in 30 s unless something changed. Logs `runner_alarm` when
 *  the runner begins to need attention. project_id 0: the runner of that name, whatever its. */
pfc_code pfc_runner_report(pfc_db *db, int64_t project_id, const char *runner,
                           const pfc_runner_status *status, pfc_err *err) PFC_MUSTCHECK;

#endif
