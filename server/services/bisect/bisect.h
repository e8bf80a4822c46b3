/*
 * Which commit caused a change: ranking of the suspects, bisections that the service runs, reports
 * of bisections that ran elsewhere, and verification of culprits. service.h has the general rules.
 */
#ifndef PFC_SERVER_SERVICES_BISECT_BISECT_H
#define PFC_SERVER_SERVICES_BISECT_BISECT_H

#include "core/suspects/suspects.h"
#include "core/wire/fingerprint.h"
#include "server/repo/documents/bisection.h"
#include "server/repo/documents/boundary.h"
#include "server/repo/sql/bisections.h"
#include "server/repo/sql/verifications.h"
#include "server/repo/tables/repo.h"

/* ---- suspects ---- */

#define PFC_RANKING_MAX_BOUNDARIES 16

typedef struct pfc_alert_ranking {
    pfc_alerts alert; /* one */
    pfc_alert_commits commits;
    pfc_suspects
        suspects; /* indices into commits and boundaries; empty when the range is unknown */
    pfc_suspect_boundary boundaries[PFC_RANKING_MAX_BOUNDARIES];     /* texts owned */
    pfc_boundary_fields boundary_fields[PFC_RANKING_MAX_BOUNDARIES]; /* all of one kind */
    size_t boundaries_len;
    size_t series;  /* series of the alert's group that locate the change */
    size_t sources; /* files that the benchmark is known to be built from */
} pfc_alert_ranking;

/** Computes from the stored data a probability for every commit of the alert's range, every change
 *  of toolchain, harness or machine in it, and "none of these". PFC_ENOTFOUND: no such alert. */
pfc_code pfc_alert_rank(pfc_db *db, int64_t alert_id, pfc_alert_ranking *out,
                        pfc_err *err) PFC_MUSTCHECK;

void pfc_alert_ranking_clear(pfc_alert_ranking *ranking);

/* ---- bisections ---- */

typedef struct pfc_bisection_report {
    const char *metric, *benchmark, *backend, *good, *bad,
        *verdict;                           /* benchmark, backend: or NULL */
    const char *culprits_json, *steps_json; /* arrays, checked by the caller; steps may be NULL */
    const char *stopped_json; /* JSON object: commits left open by the budget; or NULL */
    const char *culprit;      /* the one commit found, 40 digits; NULL: none, or several */
    int64_t runs, builds, commits_measured;
    double seconds;
    int64_t alert_id;   /* 0: the open alert of that metric whose range holds the culprit, if any */
    const char *before; /* commit that new runs compared the culprit with, or NULL */
    const double *pairs; /* of that comparison: before, after, ... each above 0; 2 x pairs_len */
    size_t pairs_len;
    double rel_change; /* as the bisection reported it; 0: unknown */
} pfc_bisection_report;

/** Sets the alert's culprit if the pairs, tested here, show the change; else only records it.
 *  PFC_EINVAL: the culprit is not in the range of alert_id. */
pfc_code pfc_bisection_store(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_bisection_report *report, pfc_bisections *out,
                             pfc_err *err) PFC_MUSTCHECK;

#define PFC_BISECTION_MAX_COMMITS 10000
#define PFC_BISECTION_PARALLEL    4 /* concurrent jobs, if there are as many runners */

/** A bisection to start. With alert_id, every other member may be NULL: the alert provides it. */
typedef struct pfc_bisection_order {
    const char *metric, *benchmark, *backend, *machine_class; /* NULL: the headline, any, any */
    const char *branch;                                       /* NULL: the project's */
    const char *good, *bad;                                   /* ids of 7 to 40 digits */
    char *const *globs; /* the benchmark's files, for the prior */
    size_t globs_len;
    int64_t alert_id; /* 0: none; its suspects are the prior */
    pfc_bisection_options options;
} pfc_bisection_order;

/** Expected cost of a bisection, estimated from stored data. */
typedef struct pfc_bisection_cost {
    size_t commits, stored_runs; /* of the range; used as evidence instead of new runs */
    double expected_runs, expected_builds;
    double run_seconds;  /* of a recent similar job, with its build; NAN: none yet */
    double wait_seconds; /* until one of its jobs, queued now, starts; NAN: unknown */
    double seconds;      /* expected total with the current runners; NAN: unknown */
    int64_t runners, jobs_waiting;
} pfc_bisection_cost;

/**
 * Starts a bisection on the runners: stores its range, its prior, and the stored runs that count as
 * evidence. pfc_bisections_advance continues it. dry_run: only fills *cost. PFC_EINVAL names the
 * invalid member, for example commits that are unknown, not on the branch's line, or swapped.
 */
pfc_code pfc_bisection_start(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_bisection_order *order, bool dry_run,
                             pfc_bisection_cost *cost, pfc_bisections *out,
                             pfc_err *err) PFC_MUSTCHECK;

/** Queues no further jobs and cancels the queued ones; a leased job ends at its runner's next
 *  heartbeat. Measurements stay stored. PFC_ECONFLICT: the bisection has already ended. */
pfc_code pfc_bisection_cancel(pfc_db *db, const char *actor, int64_t id, pfc_bisections *out,
                              pfc_err *err) PFC_MUSTCHECK;

/** Advances one running bisection that has new results or no open job: reads the results, then
 *  queues jobs or ends it. One transaction. PFC_ENOTFOUND: none is due. */
pfc_code pfc_bisections_advance(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;

/** state: asked, measured, broken, failed, timed_out; value NAN unless measured; job_id, run_id 0:
 *  none; run: its id of 32 digits, NULL: none; seconds: of its job, NAN: none. */
typedef pfc_sql_bisection_steps_row pfc_bisection_step;
typedef pfc_sql_bisection_steps_rows pfc_bisection_steps;

/** Comparison, in new runs, of a bisection's culprit with the commit before it; the alert's culprit
 *  is set only if this confirms the change. before, after: commits; state: running, confirmed,
 *  refuted, open, cancelled; rel_change, rel_low, rel_high, p NAN: no pair yet; p stays valid under
 *  repeated testing. */
typedef pfc_sql_verifications_of_row pfc_verification;

typedef pfc_sql_verifications_of_rows pfc_verifications;
/** As pfc_bisections_advance, for one verification. */
pfc_code pfc_verifications_advance(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;

/** The content of a running bisection's page, in addition to its row. */
typedef struct pfc_bisection_detail {
    pfc_bisection_steps steps; /* in order */
    pfc_verifications verifications;
    pfc_texts line;    /* ids, the good commit first */
    double *posterior; /* for each commit of the line; NULL: not yet */
    char *options;     /* JSON text, as stored */
    pfc_bisection_cost cost;
} pfc_bisection_detail;

pfc_code pfc_bisection_detail_get(pfc_db *db, int64_t project_id, int64_t id,
                                  pfc_bisection_detail *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_bisection_detail_clear(pfc_bisection_detail *detail);

#define PFC_BISECTION_REPLAY_PLACES 300
/* Posterior probabilities that one replay computes, so that a search over thousands of commits
 * does not keep a thread busy for seconds. */
#define PFC_BISECTION_REPLAY_WORK   1000000

/** One step that has ended, and the posterior once its result was known. */
typedef struct pfc_bisection_replayed {
    int64_t n;
    const char *commit, *state; /* as of pfc_bisection_step */
    size_t place;
    double value;      /* NAN: none */
    double *posterior; /* one a place; NULL: not computed, see pfc_bisection_replay */
} pfc_bisection_replayed;

/** The search step by step, recomputed from its results by the planner that it used. A place holds
 *  `commits_per_place` consecutive commits of the line, the last place perhaps fewer; their
 *  probabilities are summed. Of a long search only every k-th step and the last one have a
 *  posterior. Needs a bisection of mode remote; clear with pfc_bisection_replay_clear. */
typedef struct pfc_bisection_replay {
    pfc_texts line;
    size_t commits_per_place, places;
    pfc_bisection_replayed *steps;
    size_t steps_len;
    pfc_bisection_steps rows; /* texts of the steps */
} pfc_bisection_replay;

pfc_code pfc_bisection_replay_get(pfc_db *db, int64_t project_id, int64_t id,
                                  pfc_bisection_replay *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_bisection_replay_clear(pfc_bisection_replay *replay);

/* ---- for the other services, not for handlers ---- */

/** Adds the stored fingerprint of a machine to *out; adds nothing if there is none. */
pfc_code pfc_machine_fingerprint(pfc_tx *tx, int64_t machine_id, pfc_labels *out,
                                 pfc_err *err) PFC_MUSTCHECK;
/** Finds the open alert that a culprit belongs to: the report's alert, else the alert of its metric
 *  whose range contains the culprit; 0: none. */
pfc_code pfc_alert_of_culprit(pfc_tx *tx, int64_t project_id, const pfc_bisection_report *report,
                              int64_t *alert_id, pfc_err *err) PFC_MUSTCHECK;

/** Sets the alert's culprit (NULL: none), adds the reason to its history and a notice to the
 *  outbox. PFC_ENOTFOUND: no such alert. */
pfc_code pfc_alert_set_culprit(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                               const char *culprit, const char *reason, pfc_err *err) PFC_MUSTCHECK;

/** As pfc_alert_rank. places false: ignores the points of the series, for a caller that already
 *  counts them as evidence. */
pfc_code pfc_alert_rank_by(pfc_db *db, int64_t alert_id, bool places, pfc_alert_ranking *out,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
