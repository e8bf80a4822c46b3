/*
 * The runner's loop: lease a job, check the commit out, build, measure, spool, upload, complete.
 *
 * One thread; everything foreign is a child process. While a child runs, its callback keeps the
 * lease alive and learns of cancellations. A lost lease stops the work; a server that cannot be
 * reached does not: the result is spooled and uploaded when it is back. A runner that is stopped
 * gives its job back; one that was killed left it in `dir`, and the next one there ends it when its
 * result is stored, or gives it back. Without either, the lease runs out.
 */
#ifndef PFC_RUNNER_AGENT_AGENT_H
#define PFC_RUNNER_AGENT_AGENT_H

#include "core/base/err.h"

#define PFC_AGENT_SPOOL "spool" /* folder in the work folder, runner/spool/spool.h */

typedef struct pfc_agent_opts {
    const char *url;   /* of the server */
    const char *token; /* scopes runner and ingest */
    const char *dir;   /* work folder: lock, job.json, spool/, cache-*; made when absent, 0700 */
    const char *name;  /* NULL: the host's name */
    const char *machine_class; /* NULL: the CPU's model */
    const char *bench;         /* perfci-bench; NULL: as in pfc_commit_measure_opts */
    double poll_s;             /* how long one question for a job may wait, 1..30; 0: 20 */
    double timeout_s;          /* of a build or measurement when perfci.yaml names none; 0: 600 */
    const char *wait_quiet;    /* as in pfc_commit_measure_opts; NULL: measures at once */
    bool once;                 /* at most one job, then the spool is emptied and it ends */
    int stop_fd;               /* becomes readable when it shall end; -1: never */
    uint64_t seed;             /* of the back-off's jitter */
    double backoff_s;          /* first pause after a failure; doubles up to 60 s; 0: 0.5 */
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
 * Works until stopped, or through one job with `once`.
 *
 * PFC_OK at a clean end; PFC_ECONFLICT when another runner uses `dir`; PFC_EDENIED with `once` when
 * the token is refused; PFC_EUNAVAIL with `once` when the server stayed away. *report is always
 * filled.
 */
pfc_code pfc_agent_run(const pfc_agent_opts *opts, pfc_agent_report *report,
                       pfc_err *err) PFC_MUSTCHECK;

#endif
