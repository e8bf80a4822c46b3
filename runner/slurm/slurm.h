/*
 * The Slurm executor: leases jobs from the service and hands each to a Slurm cluster as a batch job
 * that has a node to itself. On the node, `perfci-runner --job -` works on that lease and no other.
 *
 * The dispatcher leases, and not the node, for three reasons. The service's queue keeps its order
 * and its labels. A node gets the token of one lease, which stores the results of one job, and
 * never the runner's own. And a job that waits in Slurm has an owner, whose heartbeats say so.
 *
 * Where a job runs, when, and what becomes of it when a node fails or is drained is Slurm's
 * decision alone. The process on the node begins each start with a new fencing token (POST
 * /jobs/ID/restart): when Slurm requeues a job, the results of its earlier start no longer count,
 * and an old process that still runs can complete nothing.
 *
 * The dispatcher keeps what it holds on disk. Killed and started again, it finds its batch jobs by
 * their names and goes on. While it is away, running jobs keep their leases themselves.
 * The lease of a waiting one expires, and its batch job ends at once when it starts.
 */
#ifndef PFC_RUNNER_SLURM_SLURM_H
#define PFC_RUNNER_SLURM_SLURM_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

#define PFC_SLURM_MAX_OPTIONS 32

typedef struct pfc_slurm_opts {
    const char *url;            /* of the service, as the nodes reach it */
    const char *token;          /* scope runner */
    const char *dir;            /* work folder: lock, slurm/; made when absent, 0700 */
    const char *name;           /* of the runners, one a kind of node, NAME/CLASS; NULL: "slurm" */
    const char *machine_class;  /* of all nodes; NULL: their features, joined by "+" */
    const char *partition;      /* NULL: Slurm's default one */
    const char *const *options; /* more of sbatch's, at most PFC_SLURM_MAX_OPTIONS; NULL: none */
    const char *node_dir;       /* folder on the nodes, shared or not; NULL: "nodes" in `dir` */
    const char *program;        /* perfci-runner on the nodes; NULL: this program's own path */
    const char *const *node_flags; /* more of perfci-runner's there; NULL: none */
    const char *const *variables;  /* environment that jobs need there besides PATH; NULL: none */
    bool once;                     /* ends when no job is left */
    void (*alive)(void *);         /* called at least once a second; NULL: not */
    void *alive_arg;
    void (*ready)(void *); /* called once, when the cluster answered and what was held is read;
                              NULL: not */
    void *ready_arg;
    int stop_fd; /* readable: stop; -1: never */
} pfc_slurm_opts;

typedef struct pfc_slurm_report {
    size_t submitted; /* jobs handed to Slurm */
    size_t returned;  /* of them, given back to the queue because their batch job ended first */
    size_t held;      /* still in hand at the end */
} pfc_slurm_report;

/**
 * Dispatches until stopped, or with `once` until no job is left.
 *
 * PFC_OK at a clean end; PFC_ENOTFOUND without Slurm's programs; PFC_ECONFLICT when another
 * dispatcher uses `dir`; PFC_EINVAL when the partition has no node. Faults of Slurm and of the
 * service that may pass are logged and tried again. *report is always filled.
 */
pfc_code pfc_slurm_run(const pfc_slurm_opts *opts, pfc_slurm_report *report,
                       pfc_err *err) PFC_MUSTCHECK;

#endif
