/*
 * Alerts: opening, grouping, triage, and what changed together with them. service.h has the general
 * rules.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_ALERTS_H
#define PFC_SERVER_SERVICES_ALERTS_ALERTS_H

#include "server/repo/sql/evidence.h"
#include "server/repo/tables/repo.h"

typedef struct pfc_alert_change {
    const char *state;   /* NULL: unchanged */
    const char *seen;    /* the state that the caller read before; NULL: any */
    const char *reason;  /* for the history */
    const char *note;    /* NULL: unchanged; "": remove it */
    const char *culprit; /* commit id of 40 digits; NULL: unchanged; "": remove it */
    bool accept;         /* accept the new level as baseline; requires state wont_fix */
} pfc_alert_change;

/** True for the states of the API. */
bool pfc_alert_state_known(const char *state);
/** PFC_EINVAL: unknown state or culprit; PFC_ECONFLICT: the state machine has no such transition
 *  (verified_fixed must follow fixed or backed_out), or the alert is no longer in the state `seen`;
 *  nothing is changed then. *out: the updated alert. */
pfc_code pfc_alert_update(pfc_db *db, const char *actor, int64_t id, const pfc_alert_change *change,
                          pfc_alerts *out, pfc_err *err) PFC_MUSTCHECK;

/** Another series of the alert's benchmark, and its change where the alert's series changed.
 *  rel_change NAN: none; moved: worse, better, still (measured on both sides), unknown. */
typedef pfc_sql_alert_evidence_row pfc_witness;
typedef pfc_sql_alert_evidence_rows pfc_witnesses;
/** Lists the series that moved first. Clear *out with pfc_rows_clear. */
pfc_code pfc_alert_witnesses(pfc_db *db, int64_t project_id, int64_t alert_id, pfc_witnesses *out,
                             pfc_err *err) PFC_MUSTCHECK;

/* ---- for the other services, not for handlers ---- */

/* ---- regressions with one cause (cluster.c: pure) ---- */

typedef struct pfc_clustered {
    int64_t position, low, high; /* of the commit: likeliest, and the confidence set's bounds */
    double p;                    /* of a step of that size anywhere in its series */
    bool alerted;                /* has an alert, which stays */
    size_t cluster;              /* out */
    bool keep;                   /* out of pfc_cluster_judge: significant enough for an alert */
} pfc_clustered;

/** Numbers the clusters from 0; returns how many. `items` are sorted by high - low, smallest first:
 *  precisely located changes create the clusters, and an uncertain one joins the nearest cluster
 *  that it overlaps. The ranges of a cluster's changes all have commits in common. */
size_t pfc_clusters_make(pfc_clustered *const *items, size_t n);

/** Likeliest position of cluster k: that of its most precisely located member. */
int64_t pfc_cluster_position(pfc_clustered *const *items, size_t n, size_t k);
/** The clusters' numbers, ordered by position: a commit's significance level depends on the results
 *  at earlier commits (core/changepoint/fdr.h). The caller frees it. */
size_t *pfc_clusters_in_order(pfc_clustered *const *items, size_t n, size_t clusters);
/** Benjamini-Hochberg at `level` in cluster k, over the `measured` series tested at its position:
 *  series without a change count with p = 1. */
void pfc_cluster_judge(pfc_clustered *const *items, size_t n, size_t k, size_t measured,
                       double level);

/** Whether any member of cluster k has `keep` set. */
bool pfc_cluster_kept(pfc_clustered *const *items, size_t n, size_t k);
/** Stores in alerts.evidence which other series changed together with these alerts. */
pfc_code pfc_evidence_set(pfc_tx *tx, int64_t project_id, const int64_t *alerts, size_t len,
                          pfc_err *err) PFC_MUSTCHECK;

/* ---- opening and grouping (alerts/group.c) ---- */

#define PFC_WENT_AWAY "went away: the level is back where it was"

/** Opens alerts for a branch's regressions that are large enough and stay significant after
 *  correction for all series measured at the same commits and for the branch's commits (false
 *  discovery rate `fdr`, 0: PFC_ALERT_FDR). Groups alerts that one commit may have caused. Runs in
 *  a transaction of its own; idempotent. */
pfc_code pfc_alerts_open(pfc_db *db, int64_t project_id, const char *branch, double fdr,
                         pfc_err *err) PFC_MUSTCHECK;

/** Opens, keeps or closes the alerts about broken benchmarks: those with results in these runs, and
 *  all of these branches, whose commit order has changed. (broken.c) */
pfc_code pfc_broken_judge(pfc_db *db, int64_t project_id, const int64_t *runs, size_t runs_len,
                          const char *const *branches, size_t branches_len,
                          pfc_err *err) PFC_MUSTCHECK;

/** Locks a branch. Take it before writing several alerts of the branch, or events of its machines:
 *  concurrent writers would otherwise decide on stale rows and deadlock. */
pfc_code pfc_branch_lock(pfc_tx *tx, int64_t project_id, const char *branch,
                         pfc_err *err) PFC_MUSTCHECK;

/** Records whether the canary of a new run moved: opens, extends or ends the machine's event. */
pfc_code pfc_environment_note(pfc_tx *tx, int64_t project_id, int64_t machine_id, int64_t run_id,
                              bool infra, pfc_err *err) PFC_MUSTCHECK;
/** Applies the detector's change to an alert that was in state `from` when it was read. Does
 *  nothing if a user has changed its state since, or, with `own`, if the latest history entry is no
 *  longer the detector's. Locks the alert until the transaction ends. */
pfc_code pfc_alert_follow(pfc_tx *tx, int64_t project_id, int64_t alert_id, const char *from,
                          bool own, const pfc_alert_change *change, pfc_err *err) PFC_MUSTCHECK;

/** Sets state, note and culprit of an alert and writes its history; tx holds the alert's lock. The
 *  detector may set verified_fixed from any state, because it has measured the fix. */
pfc_code pfc_alert_apply(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                         const char *from, const pfc_alert_change *change,
                         pfc_err *err) PFC_MUSTCHECK;

#endif
