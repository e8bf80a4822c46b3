/*
 * Jobs of the server's queue and their leases.
 */
#ifndef PFC_RUNNER_JOB_JOB_H
#define PFC_RUNNER_JOB_JOB_H

#include "core/base/config/conf.h"
#include "core/git/repo.h"
#include "core/http/client.h"
#include "runner/spool/spool.h"

#define PFC_TASK_MAX_BACKENDS 8
#define PFC_TASK_MAX_COMMITS  254 /* with base and anchor PFC_BLOCKS_MAX_BUILDS */
#define PFC_TASK_MAX_ANCHORS  16

/** Builds to measure in blocks, as one session; texts are owned. */
typedef struct pfc_task_blocks {
    char **commits; /* new commits, in the order of history */
    size_t commits_len;
    char **known; /* of `commits`: judged before, and measured only because later ones are compared
                     with them */
    size_t known_len;
    char *base;     /* the last judged commit */
    char **anchors; /* candidates; the first that builds is used; none: the base */
    size_t anchors_len;
    double budget_s; /* of measuring */
    double margin;   /* 0: the planner's default */
    int64_t rounds;  /* > 0: exactly this many */
    bool keyed; /* the session gets a key of its pair (runner/blocks/pair_key.h), so that later jobs
                   may use its result; false: an older server, which accepts none */
    bool reuse; /* an earlier result of that key may replace this job's */
} pfc_task_blocks;

/** Requirements of a bisection or a verification besides the commit. All zero: a normal job. */
typedef struct pfc_task {
    char *metric, *benchmark, *backend;    /* the only ones to measure; NULL: all */
    char *filter;                          /* as --filter; NULL: everything */
    char *backends[PFC_TASK_MAX_BACKENDS]; /* as --backend; none: everything */
    size_t backends_len;
    char *config;          /* perfci.yaml that replaces the repository's; NULL: none */
    char *settings_branch; /* whose perfci.yaml counts; NULL: that of the job's branch */
    int64_t layout;        /* PERFCI_BUILD: the n-th rebuild with another layout */
    int64_t launches;      /* starts of the measuring command; 0: the runner's default, 5 */
    char
        *pair; /* a second commit, measured in the same lease with a build of its own; NULL: none */
    bool pair_first;
    bool traces;             /* store the traces that the measurement leaves with the run */
    pfc_task_blocks *blocks; /* NULL: the commit alone */
} pfc_task;

typedef struct pfc_leased_job {
    int64_t id;
    char *lease;   /* secret; contains the fencing token */
    int64_t fence; /* fencing token, for its runs; 0: an older server sends none */
    char *token;   /* stores the results of this job; NULL: an older server sends none */
    double lease_s;
    char *kind; /* NULL: an older server sends none */
    char *project;
    char *commit;                  /* as given; resolved in the source */
    char *branch;                  /* NULL: the project's default */
    char *source;                  /* folder or URL */
    char *build, *measure, *suite; /* NULL: from perfci.yaml */
    pfc_task task;
} pfc_leased_job;

/** Reads "task" of a job, if present; clear *task in every case. */
pfc_code pfc_task_from_json(const json_t *obj, const pfc_json_at *up, pfc_task *task,
                            pfc_err *err) PFC_MUSTCHECK;
void pfc_task_clear(pfc_task *task);

/** Reads the answer to a lease request: {"job": {...}}. Unknown members are ignored, so that an
 * older runner works with a newer server. */
pfc_code pfc_job_from_json(const json_t *doc, pfc_leased_job *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_job_clear(pfc_leased_job *job);

/** Fills *conf from the perfci.yaml sent with the job, else from that on the job's branch (else
 * HEAD) of the repository; the job's own settings override it. The measured commit's file is never
 * read: a contributor who proposes a commit must not choose the command that runs. PFC_EINVAL:
 * there is no benchmark. */
pfc_code pfc_job_settings(const pfc_leased_job *job, pfc_repo *repo, pfc_conf *conf,
                          pfc_err *err) PFC_MUSTCHECK;

/** A lease while it is held; the callback for pfc_proc's `cancelled` is pfc_lease_cancelled. */
typedef struct pfc_lease {
    pfc_http *http;
    const pfc_leased_job *job;
    int stop_fd;           /* readable: stop */
    void (*alive)(void *); /* called whenever the work asks whether to stop; NULL: not */
    void *alive_arg;
    const char *progress; /* progress line, for the server */
    /* Makes the runner's report for a heartbeat; the caller decrefs it; NULL: none is sent. Set to
     * NULL when the server is too old for reports. */
    json_t *(*report)(void *arg);
    void *report_arg;
    int64_t next_beat_ns;
    bool lost;      /* out: the server gave the job to another runner */
    bool cancelled; /* out: a user cancelled the job; it stays leased until it is returned */
    bool stopped;   /* out: stop_fd became readable */
} pfc_lease;

/** Sends a heartbeat when one is due; true when the work must stop. */
bool pfc_lease_cancelled(void *lease);

/** True when fd is readable; waits at most `wait_s`. */
bool pfc_stop_wait(int fd, double wait_s);

/** Result of a job, for the server. */
typedef struct pfc_job_verdict {
    const char *status; /* "done", "failed", "broken", "timed_out"; static. NULL: none is sent */
    char reason[PFC_ERR_MAX];
    char (*run_ids)[33]; /* two for a verification, one for each build of a session; owned */
    size_t runs, cap;
    char session[33]; /* id of the session's documents in the spool; "": each run has its own id */
    bool has_rerun;   /* perfci.yaml was read, so `rerun` is what it says */
    pfc_rerun_rules rerun;
} pfc_job_verdict;

void pfc_job_verdict_add_run(pfc_job_verdict *verdict, const char *id);
void pfc_job_verdict_clear(pfc_job_verdict *verdict);

/** A lease request. The number grows with each request, so that the server can ignore a delayed
 * copy of an earlier one. */
typedef struct pfc_question {
    char lease[33];       /* name of the requested lease; "": none yet */
    int64_t asked;        /* number of the last request under that name */
    bool unnumbered;      /* the server is too old for request numbers */
    const json_t *labels; /* of the machine, borrowed; NULL: those of this program alone */
    char **document; /* receives the server's answer as one line, the caller's; NULL: not needed */
    json_t *status;  /* the runner's report, sent along; borrowed; NULL: none */
    bool unreported; /* the server is too old for reports */
} pfc_question;

/**
 * Requests a job for this machine by a long poll of at most wait_s.
 *
 * *leased false and PFC_OK: there is none now. PFC_ECONFLICT: the server has received a later
 * request under that name; repeat with another name.
 */
pfc_code pfc_job_ask(pfc_http *http, const pfc_machine *machine, double wait_s, pfc_question *q,
                     pfc_leased_job *out, bool *leased, pfc_err *err) PFC_MUSTCHECK;

/** Begins a job whose lease another process keeps (pfc_slurm_run): *job is replaced by the server's
 * answer, whose lease no earlier start of the job has. PFC_ECONFLICT, PFC_ENOTFOUND: the lease was
 * lost. */
pfc_code pfc_job_restart(pfc_http *http, const char *runner, pfc_leased_job *job,
                         pfc_err *err) PFC_MUSTCHECK;

/** verdict->status must not be NULL. PFC_ECONFLICT, PFC_ENOTFOUND: the lease was lost. */
pfc_code pfc_job_complete(pfc_http *http, const pfc_leased_job *job, const pfc_job_verdict *verdict,
                          pfc_err *err) PFC_MUSTCHECK;

/** An earlier result of the same pair of builds. */
typedef struct pfc_earlier {
    char session[33];     /* "": there is none */
    char measured_at[40]; /* RFC 3339 */
} pfc_earlier;

/** Asks for the session that measured a pair with that key. PFC_ECONFLICT, PFC_ENOTFOUND: the lease
 * was lost. */
pfc_code pfc_job_earlier(pfc_http *http, const pfc_leased_job *job, const char *key,
                         pfc_earlier *out, pfc_err *err) PFC_MUSTCHECK;

/** True when a completion should be retried later; false when it succeeded or the lease was lost.
 */
bool pfc_job_unsettled(pfc_code code);

/** Returns the job to the queue. Uses its own client, with a timeout of a few seconds and without
 *  cancellation, because a runner that ends calls it. */
pfc_code pfc_job_give_back(const char *url, const char *token, const pfc_leased_job *job,
                           pfc_err *err) PFC_MUSTCHECK;

/**
 * The leased job is kept on disk: a killed process leaves it for the next runner in the same work
 * folder (the lock file shows that the first process ended). A lease is named before it is
 * requested, so that a lost answer does no harm: a second request under the same name returns the
 * job that was leased. When the verdict is on disk too, the next runner completes the job and does
 * not measure it again.
 */
pfc_code pfc_lease_new(const char *dir, pfc_question *q, pfc_err *err) PFC_MUSTCHECK;
/** Keep "done" only after the runs are in the spool. */
pfc_code pfc_job_keep(const char *dir, const pfc_leased_job *job, const pfc_job_verdict *verdict,
                      pfc_err *err) PFC_MUSTCHECK;
/**
 * Sends the verdict kept on disk, if any, and fills in the next lease request. "done" becomes
 * "failed" when one of its runs was rejected or is put off; no other run of it may wait.
 *
 * On an error (see pfc_job_unsettled) the verdict stays on disk.
 */
pfc_code pfc_job_settle(pfc_http *http, const char *dir, const pfc_spool *spool, pfc_question *q,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
