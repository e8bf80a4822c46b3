/*
 * The job queue: enqueueing, leasing, completing and cancelling jobs. service.h
 * has the general rules (pool, thread safety, atomicity, `actor`).
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_QUEUE_H
#define PFC_SERVER_SERVICES_QUEUE_QUEUE_H

#include "core/base/config/rerun.h"
#include "core/wire/wire.h"
#include "server/repo/documents/job_task.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/tables/repo.h"

#define PFC_LEASE_S          60
#define PFC_JOB_MAX_TRIES    3
#define PFC_JOB_MAX_PARENTS  64
#define PFC_JOB_MAX_BACKENDS 8
#define PFC_JOB_MAX_ANCHORS  16
#define PFC_JOB_MAX_COMMITS  254 /* a session has at most 256 builds, with base and anchor */
#define PFC_JOB_MAX_BUDGET_S 86400
#define PFC_JOB_MAX_ROUNDS   200
#define PFC_LEASE_SIZE       53 /* 32 digits, "-", fencing token, NUL */

#define PFC_JOB_BY_KIND (-1)

/* Label with which a runner announces tasks beyond measuring one commit. An older runner does not
 * send the label and therefore never leases such a job. */
#define PFC_JOB_TASKS_LABEL  "tasks"
#define PFC_JOB_TASKS_BLOCKS "blocks"

/** Default priority of a kind: pull_request 80 (a user waits for the result), bisect and verify 60,
 *  nightly 50, measure 40, backfill 10; other kinds 0. */
int pfc_job_priority(const char *kind);

typedef struct pfc_job_spec {
    const char *kind; /* measure, nightly, pull_request, backfill, bisect, verify */
    const char *commit, *branch, *suite, *source; /* commit: 40 digits; others may be NULL */
    const char *settings_branch;  /* whose perfci.yaml counts; NULL: that of `branch` */
    const pfc_labels *labels;     /* that a runner must have; NULL: any runner */
    int priority;                 /* 0..100; PFC_JOB_BY_KIND: pfc_job_priority's */
    const int64_t *parents;       /* jobs of the project that must be done before this one */
    size_t parents_len;           /* at most PFC_JOB_MAX_PARENTS */
    const char *config;           /* perfci.yaml to use instead of the repository's; NULL */
    const char *filter;           /* benchmarks to measure, as --filter; NULL: all */
    const char *const *backends;  /* as --backend; empty: all */
    size_t backends_len;          /* at most PFC_JOB_MAX_BACKENDS */
    bool traces;                  /* the measurement's traces are stored with its run */
    const pfc_job_blocks *blocks; /* nightly, pull_request; NULL: the commit alone is measured */
} pfc_job_spec;

/** Queues a job. If an open job has the same kind, commit, suite, labels, task and parents, returns
 *  that one (*created false). A job with blocks also requires the label PFC_JOB_TASKS_LABEL, which
 *  runners send that measure in blocks. Raises queued parents to the job's priority. A parent that
 *  fails or is cancelled cancels its dependent jobs; PFC_ECONFLICT: a parent already has. */
pfc_code pfc_job_enqueue(pfc_db *db, const char *actor, int64_t project_id,
                         const pfc_job_spec *spec, bool *created, pfc_jobs *out,
                         pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_lease_request {
    const char *runner, *machine_class;
    const pfc_labels *labels; /* NULL: none */
    const char *const *backends;
    size_t backends_len;
    int64_t project_id; /* the token's project; 0: any */
    double lease_s;     /* 0: PFC_LEASE_S */
    const char *lease;  /* secret for the lease, 32 digits; NULL: the server draws one */
    int64_t asked;      /* sequence number of the request under it, increasing; 0: none */
    int64_t token_id;   /* of the request; ends when the runner is revoked; 0: none */
    char *token;        /* out: PFC_TOKEN_TEXT bytes, the lease's own token; NULL: none is issued */
    bool again;         /* the same request found no job a moment ago, and waited since */
} pfc_lease_request;

/** Leases the runner's next job. PFC_ENOTFOUND: none fits now (retry after a "job" event).
 *
 *  `lease` is SECRET-NUMBER and authorizes heartbeat and completion. NUMBER is a fencing token: it
 *  grows with each lease of the job, so that late requests of an earlier lease with the same secret
 *  are rejected. SECRET alone is accepted too, without that protection.
 *
 *  A job's labels must be among the runner's; the labels "machine_class" and "backend" are matched
 *  with the request's members. A job leased under request->lease before is released first: its
 *  holder lost the response, or was killed. PFC_ECONFLICT: a request with a higher sequence number
 *  was received under that secret, or this request already got a job; nothing is changed. */
pfc_code pfc_job_lease(pfc_db *db, const pfc_lease_request *request, pfc_jobs *out,
                       char lease[PFC_LEASE_SIZE], pfc_err *err) PFC_MUSTCHECK;
/** The job begins on another machine, or once more, under the lease that request->lease names and
 *  a dispatcher keeps: `lease` has a new fencing token, so that a machine that was given up
 *  can neither complete the job nor add results. Counts as a try, except the first start after the
 *  lease. Of `request` only runner, lease_s, lease, token_id and token are read. PFC_ECONFLICT: the
 *  lease is lost, or the tries are used up; then the job has failed. */
pfc_code pfc_job_restart(pfc_db *db, int64_t job_id, const pfc_lease_request *request,
                         pfc_jobs *out, char lease[PFC_LEASE_SIZE], pfc_err *err) PFC_MUSTCHECK;
/** Extends the lease. PFC_ECONFLICT: the lease is lost; stop. *cancel: a user cancelled the job. */
pfc_code pfc_job_heartbeat(pfc_db *db, int64_t job_id, const char *lease, const char *progress,
                           double lease_s, bool *cancel, pfc_err *err) PFC_MUSTCHECK;

/** Result of a job. */
typedef struct pfc_job_result {
    const char *const *run_ids;
    size_t run_ids_len;
    const char *session;          /* of a job with blocks; NULL: none */
    const pfc_rerun_rules *rerun; /* as the runner read them (reruns.h); NULL: not sent */
} pfc_job_result;

/** Completes a job. status: done, failed, broken or timed_out. Idempotent under the same lease.
 *  PFC_ECONFLICT: the lease is lost; PFC_ENOTFOUND: no such job. */
pfc_code pfc_job_finish(pfc_db *db, int64_t job_id, const char *lease, const char *status,
                        const char *reason, const pfc_job_result *result,
                        pfc_err *err) PFC_MUSTCHECK;
/** As pfc_job_finish, without a session. */
pfc_code pfc_job_complete(pfc_db *db, int64_t job_id, const char *lease, const char *status,
                          const char *reason, const char *const *run_ids, size_t run_ids_len,
                          pfc_err *err) PFC_MUSTCHECK;
/** Returns the job to the queue as if its lease had expired now, but without a back-off. The try
 *  counts. Errors as pfc_job_finish. */
pfc_code pfc_job_release(pfc_db *db, int64_t job_id, const char *lease, pfc_err *err) PFC_MUSTCHECK;
/** Cancels a queued job at once, a leased one at its runner's next heartbeat. */
pfc_code pfc_job_cancel(pfc_db *db, const char *actor, int64_t job_id, pfc_jobs *out,
                        pfc_err *err) PFC_MUSTCHECK;
/** Queues a failed or cancelled job again with all that it was ordered with, behind those of its
 *  parents that have not ended; returns the open one with the same properties where there is one
 *  (*created false). PFC_ECONFLICT: it has not failed, or its search or schedule repeats it;
 *  PFC_EDENIED: it brings its own perfci.yaml, and `admin` is false. */
pfc_code pfc_job_retry(pfc_db *db, const char *actor, int64_t project_id, int64_t job_id,
                       bool admin, bool *created, pfc_jobs *out, pfc_err *err) PFC_MUSTCHECK;
/** Returns jobs with an expired lease to the queue, with a back-off of a sixth of the lease, then a
 *  third; after PFC_JOB_MAX_TRIES tries they fail. Sends events for jobs whose back-off is over,
 *  and cancels the jobs that depend on jobs which failed. *expired: how many leases expired. */
pfc_code pfc_jobs_expire(pfc_db *db, size_t *expired, pfc_err *err) PFC_MUSTCHECK;

/** Expected start of a queued job, estimated as core/queue/wait.h describes. */
typedef struct pfc_job_wait {
    double low_s, middle_s, high_s; /* from now; NAN: unknown, or the job is not queued */
    /* Owned; why the wait is unknown, or what blocks the job; NULL: only earlier jobs do. */
    char *reason;
} pfc_job_wait;

/** Estimates the wait of each of `jobs`; free *out with pfc_job_waits_free. Reads the whole queue
 *  if at least one of them is queued. */
pfc_code pfc_job_waits(pfc_db *db, const pfc_jobs *jobs, pfc_job_wait **out,
                       pfc_err *err) PFC_MUSTCHECK;
void pfc_job_waits_free(pfc_job_wait *waits, size_t len);

/* ---- backfill ---- */

typedef struct pfc_backfill_opts {
    double delay_s;    /* minimum age of an alert: the next nightly run may narrow it at no cost */
    int64_t budget;    /* jobs per project and day */
    int64_t narrowest; /* ranges with fewer commits are skipped */
} pfc_backfill_opts;

/** Queues a job for the middle commit of the oldest wide range. The range's next job is queued once
 *  this one is done. PFC_ENOTFOUND: there is no such range, or the budget is spent. */
pfc_code pfc_backfill_next(pfc_db *db, const pfc_backfill_opts *opts, int64_t *job_id,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- for the other services, not for handlers ---- */

/* Prefixes of a failed job's reason that distinguish the kinds of failure. */
#define PFC_JOB_BROKEN    "broken: "
#define PFC_JOB_TIMED_OUT "timed out: "

/** One row of the queue; pointers may be NULL. */
typedef struct pfc_job_row {
    const char *kind, *commit, *branch, *suite, *source, *dedupe, *avoid_runner;
    const char *task;         /* a text of server/repo/documents/job_task.h */
    const pfc_labels *labels; /* that a runner must have */
    const int64_t *parents;   /* jobs of the project that must be done before this one */
    size_t parents_len;
    int64_t run_id;
    int priority;
} pfc_job_row;

/** As pfc_job_enqueue, in a transaction; *id: of the job, new or not. */
pfc_code pfc_job_enqueue_in(pfc_tx *tx, const char *actor, int64_t project_id,
                            const pfc_job_spec *spec, bool *created, int64_t *id,
                            pfc_err *err) PFC_MUSTCHECK;
/** Inserts a job and sends its event. *id 0: an open job has the same dedupe. */
pfc_code pfc_job_put(pfc_tx *tx, int64_t project_id, const pfc_job_row *row, int64_t *id,
                     pfc_err *err) PFC_MUSTCHECK;
/** Sends an event with the job's current state when tx commits. */
pfc_code pfc_job_announce(pfc_tx *tx, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Calls pfc_job_announce for each of the jobs. */
pfc_code pfc_jobs_announce(pfc_tx *tx, const pfc_sql_job_id_rows *jobs, pfc_err *err) PFC_MUSTCHECK;
/** Cancels the jobs that wait for this job (0: for any job) if it ended without being done. */
pfc_code pfc_jobs_cancel_children(pfc_tx *tx, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** PFC_OK: a job or a runner may have so many labels, of this length. NULL: none. */
pfc_code pfc_labels_check(const pfc_labels *labels, pfc_err *err) PFC_MUSTCHECK;
/** Checks the blocks of a job; PFC_OK: they are valid, or there are none. */
pfc_code pfc_job_blocks_check(const pfc_job_spec *spec, pfc_err *err) PFC_MUSTCHECK;

/** Expected wait and duration of a job if it were queued now. */
typedef struct pfc_job_prospect {
    double wait_s; /* until it starts, the middle of the estimate of pfc_job_waits; NAN: unknown */
    double run_s;  /* mean of the most similar jobs; NAN: none has ended */
    /* Queued jobs that go before it: of those its runners can take, or of all if it has none. */
    int64_t before;
} pfc_job_prospect;

/** Estimates for a job with the kind, labels and priority of `row`. Does not write. (wait.c) */
pfc_code pfc_job_foresee(pfc_tx *tx, int64_t project_id, const pfc_job_row *row,
                         pfc_job_prospect *out, pfc_err *err) PFC_MUSTCHECK;
/** After a database error: returns to the queue any job leased under that hash, without counting
 *  the try, also when only the response to the lease statement was lost. Sends events to runners,
 *  not to the server's own worker threads, which pause after an error. If the database is
 *  unreachable, the lease expires instead. */
void pfc_lease_undo(pfc_db *db, const char *lease_hash);

/** Queues a detect job for a run, or for a whole branch (run 0) whose commit order has changed. */
pfc_code pfc_detect_enqueue(pfc_tx *tx, int64_t project_id, int64_t run_id, const char *branch,
                            pfc_err *err) PFC_MUSTCHECK;

#endif
