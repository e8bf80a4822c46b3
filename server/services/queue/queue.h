/*
 * The queue: jobs as people ask for them and as runners take them. Part of services.h, which says what
 * holds for all of its calls.
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_QUEUE_H
#define PFC_SERVER_SERVICES_QUEUE_QUEUE_H

#include "server/repo/tables/repo.h"

#define PFC_LEASE_S          60
#define PFC_JOB_MAX_TRIES    3
#define PFC_JOB_MAX_PARENTS  64
#define PFC_JOB_MAX_BACKENDS 8
#define PFC_JOB_MAX_ANCHORS  16
#define PFC_JOB_MAX_COMMITS  254 /* of one session: its most builds are 256, with base and anchor */
#define PFC_JOB_MAX_BUDGET_S 86400
#define PFC_JOB_MAX_ROUNDS   200
#define PFC_LEASE_SIZE       53 /* 32 digits, "-", a number, NUL */

#define PFC_JOB_BY_KIND (-1)

/* What a runner can do beyond measuring one commit. A runner that is too old for it does not send the
 * label and never leases such a job. */
#define PFC_JOB_TASKS_LABEL  "tasks"
#define PFC_JOB_TASKS_BLOCKS "blocks"

/** Urgency of a kind where none is given: a pull request that somebody waits for (80), a search and its
 *  confirmation (60), the nightly round (50), a single measurement (40), what fills gaps (10). */
int pfc_job_priority(const char *kind);

/** Builds that one runner measures together in blocks, as one session; core/blocks/blocks.h says how. */
typedef struct pfc_job_blocks {
    const char *const *commits; /* the new ones, in the order of history; 40 digits, none twice */
    size_t commits_len;         /* 1..PFC_JOB_MAX_COMMITS; the last one is the job's commit */
    const char *base;           /* the last judged commit, which is not among them */
    const char *const
        *known; /* of commits: judged before, measured because later ones are compared with them */
    size_t known_len;
    const char *const *anchors; /* the first that builds is the anchor; not among commits */
    size_t anchors_len;         /* at most PFC_JOB_MAX_ANCHORS; 0: the base is the anchor */
    double budget_s;            /* of measuring, 1..PFC_JOB_MAX_BUDGET_S */
    double margin;              /* relative change that does not matter; 0: the runner's default */
    int64_t rounds;             /* so many, whatever is decided; 0: until all is decided */
} pfc_job_blocks;

typedef struct pfc_job_spec {
    const char *kind; /* measure, nightly, pull_request, backfill, bisect, verify */
    const char *commit, *branch, *suite, *source; /* commit: 40 digits; others may be NULL */
    const char *labels_json;      /* object of texts a runner must have; NULL: any runner */
    int priority;                 /* 0..100; PFC_JOB_BY_KIND: pfc_job_priority's */
    const int64_t *parents;       /* jobs of the project that must be done before it is taken */
    size_t parents_len;           /* at most PFC_JOB_MAX_PARENTS */
    const char *config;           /* perfci.yaml that counts instead of the repository's; NULL */
    const char *filter;           /* the benchmarks that are wanted, as --filter; NULL: all */
    const char *const *backends;  /* as --backend; none: all */
    size_t backends_len;          /* at most PFC_JOB_MAX_BACKENDS */
    const pfc_job_blocks *blocks; /* of kind nightly; NULL: the commit alone is measured */
} pfc_job_spec;

/** With blocks the job also wants the label PFC_JOB_TASKS_LABEL, which runners send that measure in blocks.
 *  An open job of the same kind, commit, suite, labels, task and parents is answered instead (*created false).
 *  Parents that wait become at least as urgent. One that fails or is cancelled cancels what waits for it:
 *  it is PFC_ECONFLICT to wait for such a one. */
pfc_code pfc_job_enqueue(pfc_db *db, const char *actor, int64_t project_id,
                         const pfc_job_spec *spec, bool *created, pfc_jobs *out,
                         pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_lease_request {
    const char *runner, *machine_class;
    const char *labels_json; /* object of texts; NULL: none */
    const char *const *backends;
    size_t backends_len;
    int64_t project_id; /* the token's project; 0: any */
    double lease_s;     /* 0: PFC_LEASE_S */
    const char *lease;  /* the secret it shall have, 32 digits; NULL: one is drawn */
    int64_t asked;      /* number of the question under it, which only grows; 0: it has none */
} pfc_lease_request;

/** The runner's next job. PFC_ENOTFOUND when none fits now (wait for a "job" event and ask again).
 *  `lease` is SECRET-NUMBER: whoever has it may heartbeat and complete. The number is higher with each
 *  lease of the job, so that what comes late of an earlier one is told apart, although its secret was the
 *  same; with SECRET alone it is not. A job's labels
 *  must be among the runner's; the labels "machine_class" and "backend" mean the request's. What was
 *  leased under request->lease before is given back first: its holder lost the answer, or was killed.
 *  PFC_ECONFLICT: a question with a higher number was heard under it, or this one was answered with a job;
 *  nothing is given back and nothing taken. */
pfc_code pfc_job_lease(pfc_db *db, const pfc_lease_request *request, pfc_jobs *out,
                       char lease[PFC_LEASE_SIZE], pfc_err *err) PFC_MUSTCHECK;
/** Prolongs. PFC_ECONFLICT: the lease is lost; stop. *cancel: somebody wants it stopped. */
pfc_code pfc_job_heartbeat(pfc_db *db, int64_t job_id, const char *lease, const char *progress,
                           double lease_s, bool *cancel, pfc_err *err) PFC_MUSTCHECK;
/** What a job brought. */
typedef struct pfc_job_result {
    const char *const *run_ids;
    size_t run_ids_len;
    const char *session; /* of a job with blocks; NULL: none */
} pfc_job_result;
/** status: done, failed, broken or timed_out. PFC_ECONFLICT: the lease is lost; PFC_ENOTFOUND: no such job.
 *  Repeating the same completion with the same lease is fine. */
pfc_code pfc_job_finish(pfc_db *db, int64_t job_id, const char *lease, const char *status,
                        const char *reason, const pfc_job_result *result,
                        pfc_err *err) PFC_MUSTCHECK;
/** Likewise without a session. */
pfc_code pfc_job_complete(pfc_db *db, int64_t job_id, const char *lease, const char *status,
                          const char *reason, const char *const *run_ids, size_t run_ids_len,
                          pfc_err *err) PFC_MUSTCHECK;
/** Gives it back undone, as if the lease had run out now. PFC_ECONFLICT, PFC_ENOTFOUND: as above. */
pfc_code pfc_job_release(pfc_db *db, int64_t job_id, const char *lease, pfc_err *err) PFC_MUSTCHECK;
/** A queued job is cancelled at once, a leased one when its runner hears of it. */
pfc_code pfc_job_cancel(pfc_db *db, const char *actor, int64_t job_id, pfc_jobs *out,
                        pfc_err *err) PFC_MUSTCHECK;
/** Jobs whose lease ran out go back to the queue, to be taken after a back-off of a sixth of the lease,
 *  then a third; after PFC_JOB_MAX_TRIES tries they have failed. Tells of those whose back-off is over and
 *  cancels what waits for jobs that were not done. *expired: leases that ran out. */
pfc_code pfc_jobs_expire(pfc_db *db, size_t *expired, pfc_err *err) PFC_MUSTCHECK;

/** When a queued job is expected to begin; core/queue/wait.h says how. */
typedef struct pfc_job_wait {
    double low_s, middle_s, high_s; /* from now; NAN: not known, or the job is not queued */
    char
        *reason; /* why it is not known, or what holds the job; NULL: only those before it; owned */
} pfc_job_wait;

/** One for each of `jobs`; freed by pfc_job_waits_free. Reads the whole queue, unless none is queued. */
pfc_code pfc_job_waits(pfc_db *db, const pfc_jobs *jobs, pfc_job_wait **out,
                       pfc_err *err) PFC_MUSTCHECK;
void pfc_job_waits_free(pfc_job_wait *waits, size_t len);

#endif
