/*
 * Estimates when a queued job starts, by Monte Carlo simulation of the queue: each runner takes the
 * first job in order that fits it, is due and has no open parent; the job lasts as long as a
 * randomly drawn finished job of its kind. The quantiles over the simulated rounds are the result.
 * Pure, deterministic for a seed, no I/O; thread-safe.
 *
 * The remaining time of a running job is drawn from the finished jobs of its kind that took longer
 * than its elapsed time; when there are none, it is uniform between zero and the elapsed time. A
 * kind with few finished jobs may be slower or faster altogether: its draws share a log-normal
 * factor of standard deviation 0.5/sqrt(n), drawn once a round. Later jobs of higher priority, and
 * runners that start or stop, are not modelled.
 */
#ifndef PFC_CORE_QUEUE_WAIT_H
#define PFC_CORE_QUEUE_WAIT_H

#include "core/base/err.h"

#define PFC_WAIT_MAX_JOBS  20000 /* waiting and running */
#define PFC_WAIT_MAX_SLOTS 4096
#define PFC_WAIT_LOW       0.1 /* quantiles of the range */
#define PFC_WAIT_HIGH      0.9

/** Seconds that finished jobs of one kind took, each >= 0, in any order. len 0: nothing is known.
 */
typedef struct pfc_wait_history {
    const double *seconds;
    size_t len;
    bool known; /* a budget that such jobs keep, not what others took: drawn without the factor */
} pfc_wait_history;

/** Runs one job at a time. */
typedef struct pfc_wait_slot {
    bool busy;
    size_t job;       /* busy: which of `jobs` */
    double elapsed_s; /* busy: since it took it */
} pfc_wait_slot;

typedef struct pfc_wait_job {
    bool running;          /* held by a slot; those below are of waiting jobs */
    size_t history;        /* which of `histories`; of running jobs, too */
    size_t fit;            /* which row of `fits` */
    double due_s;          /* seconds from now before which no runner takes it; <= 0: at once */
    const size_t *parents; /* which of `jobs` must end first */
    size_t parents_len;
} pfc_wait_job;

typedef struct pfc_wait_queue {
    const pfc_wait_job *jobs; /* in the order in which they are taken */
    size_t jobs_len;
    const pfc_wait_slot *slots;
    size_t slots_len;
    const bool *fits; /* fits_len x slots_len: may the slot take such a job? */
    size_t fits_len;
    const pfc_wait_history *histories;
    size_t histories_len;
    uint64_t seed;
} pfc_wait_queue;

typedef enum pfc_wait_known {
    PFC_WAIT_KNOWN,
    PFC_WAIT_NO_RUNNER,  /* no slot fits */
    PFC_WAIT_NO_HISTORY, /* a job before it is of a kind without finished jobs */
    PFC_WAIT_PARENT,     /* a parent's end is not known */
} pfc_wait_known;

typedef struct pfc_wait {
    pfc_wait_known known;
    double low_s, middle_s, high_s; /* until it begins: quantiles; NAN unless known */
    size_t parent;                  /* PFC_WAIT_PARENT: which of `jobs` */
} pfc_wait;

/** out: jobs_len of them; those of running jobs are 0. PFC_EINVAL: an index out of range, a
 * negative or infinite time, more than the limits above. Parents that wait for each other are never
 * known. */
pfc_code pfc_wait_estimate(const pfc_wait_queue *queue, pfc_wait *out, pfc_err *err) PFC_MUSTCHECK;

#endif
