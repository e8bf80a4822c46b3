/*
 * The runner's loop: lease a job, check the commit out, build, measure, spool, upload, complete.
 *
 * One thread; project commands run as child processes. While a child runs, a callback sends
 * heartbeats for the lease and receives cancellations. A lost lease stops the work. A server that
 * cannot be reached does not: the result is spooled and uploaded later. A runner that is stopped
 * returns its job to the queue. A killed runner leaves its job in `dir`: the next runner in that
 * folder completes the job when its result is in the spool, and returns it otherwise. Failing both,
 * the lease expires.
 */
#ifndef PFC_RUNNER_AGENT_AGENT_H
#define PFC_RUNNER_AGENT_AGENT_H

#include "core/base/err.h"

#define PFC_AGENT_SPOOL "spool" /* folder in the work folder, runner/spool/spool.h */

/** Whether jobs are isolated (runner/sandbox/sandbox.h). */
typedef enum pfc_sandbox_mode {
    PFC_SANDBOX_AUTO, /* where this machine can; else they run as the runner's user, with a warning
                       */
    PFC_SANDBOX_REQUIRE, /* or the runner does not start */
    PFC_SANDBOX_OFF,
} pfc_sandbox_mode;

typedef struct pfc_agent_opts {
    const char *url;   /* of the server */
    const char *token; /* scope runner */
    const char *dir;   /* work folder: lock, job.json, spool/, cache-*; made when absent, 0700 */
    const char *name;  /* NULL: the host's name */
    const char *machine_class; /* NULL: the CPU's model */
    const char *bench;         /* perfci-bench; NULL: as in pfc_commit_measure_opts */
    pfc_sandbox_mode sandbox;
    const char *const *sandbox_paths; /* as pfc_sandbox_opts.read_only; NULL: none */
    const char *sandbox_socket;       /* as pfc_sandbox_opts.socket; NULL: none */
    bool
        build_network; /* a build has the machine's network where the project's perfci.yaml asks for
                           it; measurements never have */
    const char *const *sandbox_variables; /* as pfc_sandbox_opts.variables; NULL: none */
    double poll_s;                        /* duration of a long poll for a job, 1..30; 0: 20 */
    double timeout_s;       /* of a build or measurement when perfci.yaml names none; 0: 600 */
    const char *wait_quiet; /* as in pfc_commit_measure_opts; NULL: measures at once */
    bool once;              /* run at most one job, upload the spool, and end */
    /* The service's answer to a lease request that another process sent and whose lease it keeps:
     * this job is run, then the agent ends. It is not returned when stopped. `token` may be NULL
     * then: the answer has one. NULL: jobs come from the queue. */
    const char *job;
    void (*alive)(void *); /* called several times a second while it works or waits; NULL: not */
    void *alive_arg;
    /* Called once, when the runner can work: its work folder is its own, the isolation of jobs was
     * tried, and the spool is open. NULL: not. */
    void (*ready)(void *);
    void *ready_arg;
    const char *machine_lock; /* as for pfc_machine_lock */
    int stop_fd;              /* becomes readable when the runner must end; -1: never */
    uint64_t seed;            /* of the back-off's jitter */
    double backoff_s;         /* first pause after a failure; doubles up to 60 s; 0: 0.5 */
} pfc_agent_opts;

typedef struct pfc_agent_report {
    size_t jobs; /* leased */
    size_t done; /* of them, completed as done */
    size_t broken;
    size_t failed;
    size_t abandoned; /* lease lost, or stopped in the middle */
    size_t waiting;   /* documents left in the spool */
} pfc_agent_report;

/**
 * Runs jobs until stopped, or one job with `once`.
 *
 * PFC_OK at a clean end; PFC_EUNAVAIL when jobs must be isolated and this machine cannot isolate
 * them; PFC_ECONFLICT when another runner uses `dir`; with `once`, PFC_EDENIED when the server does
 * not accept the token and PFC_EUNAVAIL when it cannot be reached. *report is always filled.
 */
pfc_code pfc_agent_run(const pfc_agent_opts *opts, pfc_agent_report *report,
                       pfc_err *err) PFC_MUSTCHECK;

#endif
