/*
 * Measures commits again by the rules of perfci.yaml (core/base/config/rerun.h).
 *
 * Runners read the rules and send them with a job's result; the project keeps those of its default
 * branch for jobs that end without a result. A finished job fires at most one rule: infra or broken
 * when it failed, else canary before inconclusive. Detection fires "suspected". The rerun is a job
 * of its own that names the rule. Counts are those of the whole chain, so that reruns of reruns end
 * after PFC_RERUN_MAX_CHAIN jobs. Jobs of bisections and verifications are left alone: their
 * planners repeat what they need.
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_RERUNS_H
#define PFC_SERVER_SERVICES_QUEUE_RERUNS_H

#include "core/base/config/rerun.h"
#include "server/repo/connection/db.h"

#define PFC_RERUN_MAX_CHAIN    10    /* reruns of one job, by all rules together */
#define PFC_RERUN_OTHER_WAIT_S 600.0 /* another machine is waited for this long */

/** Applies the rules to each job that has ended since; *made: reruns that were queued. One job a
 *  transaction: a job that cannot be looked at is logged, and delays no other. Errors: of the
 *  database. Idempotent; several servers may call it at once. */
pfc_code pfc_reruns_decide(pfc_db *db, size_t *made, pfc_err *err) PFC_MUSTCHECK;

/** Applies the rule "suspected" to the commits at which series of these runs have a change that is
 *  not yet alertable. Call after the runs were judged. Only commits that a job measured are
 *  measured again. *made as above. */
pfc_code pfc_reruns_suspect(pfc_db *db, int64_t project_id, const int64_t *runs, size_t runs_len,
                            size_t *made, pfc_err *err) PFC_MUSTCHECK;

/** Keeps the rules with the job, and with its project if it measured the default branch by the
 *  repository's own perfci.yaml. Part of the transaction that ends the job. */
pfc_code pfc_reruns_keep(pfc_tx *tx, const char *actor, int64_t job_id,
                         const pfc_rerun_rules *rules, pfc_err *err) PFC_MUSTCHECK;

#endif
