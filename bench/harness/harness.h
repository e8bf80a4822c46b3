/*
 * How a number is made.
 *
 * One *block* is one process launch: open the benchmark, check its result (a wrong one yields no
 * number), warm up until steady, choose a batch so that a sample is long against the clock's
 * resolution and short against a scheduler slice, take samples. A *measurement* is several blocks,
 * because the variance between processes (layout, pages, frequency) is not the variance within one;
 * blocks of different benchmarks alternate, so that a slow minute of the machine does not fall on
 * one benchmark alone. Blocks are added until the interval is narrow enough or the budget is spent.
 *
 * Why samples of 5 to 300 us: longer ones are preempted on a busy machine, which doubles their
 * median; shorter ones fall between preemptions. A single call longer than that is timed by the
 * thread's CPU clock instead, which leaves out the time given to other processes.
 */
#ifndef PFC_BENCH_HARNESS_HARNESS_H
#define PFC_BENCH_HARNESS_HARNESS_H

#include "bench/counters/counters.h"
#include "bench/harness/backends/backend.h"
#include "core/base/fs.h"
#include "core/wire/wire.h"

/* ---- clocks ---- */

/** A clock in nanoseconds; replaced in tests, so that timing can be simulated. */
typedef struct pfc_timer {
    double (*now_ns)(void *arg);
    void *arg;
    const char *name;     /* "monotonic", "thread-cpu" */
    double resolution_ns; /* smallest step seen, or the cost of a reading when that is larger */
} pfc_timer;

/** CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID, calibrated here and now. */
pfc_timer pfc_timer_wall(void);
pfc_timer pfc_timer_cpu(void);

/* ---- one block ---- */

#define PFC_SAMPLE_TARGET_NS 20000.0  /* wanted length of a sample */
#define PFC_SAMPLE_LONG_NS   300000.0 /* a call longer than this is timed by the CPU clock */
#define PFC_SAMPLE_MIN_STEPS 100.0    /* a sample is at least so many clock resolutions */

#define PFC_MAX_COPIES 64

/** Order for one block. */
typedef struct pfc_block_spec {
    const pfc_case *c;
    const char *backend;
    uint64_t seed;         /* of the input */
    size_t samples;        /* wanted */
    double max_seconds;    /* of sampling; at least one sample is taken */
    double warmup_seconds; /* at most */
    double launch_seconds; /* beyond those, before the launch counts as hanging; 0: two minutes */
    bool check;            /* the first launch: compare the result with the reference, and count */
    size_t copies;         /* turns of pairs: problems that calls go round, so that each finds its
                              data out of the caches; 0: 1, at most PFC_MAX_COPIES */
    int cpu;               /* pin to this CPU; -1: leave as it is */
    char counters[PFC_COUNTER_LIST_MAX]; /* what to count, as pfc_counter_parse; "": the usual */
    char trace[PFC_PATH_MAX]; /* file for a trace of one more run; exact backends only; "": none */
} pfc_block_spec;

/** Result of one block. */
typedef struct pfc_block {
    pfc_status status; /* broken or skipped: `reason` says why, no samples */
    char *reason;
    double *samples; /* ns a call */
    size_t len;
    uint64_t batch;       /* calls a sample */
    bool steady;          /* warm-up ended because times were steady, not because it was spent */
    char clock[16];       /* "monotonic" or "thread-cpu" */
    double resolution_ns; /* of that clock */
    double setup_seconds; /* opening and checking */
    double seconds;       /* warm-up and sampling, with all that the harness does between */
    double warmup_seconds;
    double sampling_seconds; /* within samples */
    size_t taken;            /* samples, those included that the clock spoiled */
    bool pinned;
    bool fifo;           /* timed under SCHED_FIFO, because that was allowed */
    int64_t preempted;   /* involuntary context switches while sampling */
    int64_t page_faults; /* minor and major, while sampling */
    int64_t huge_bytes;  /* of the process's memory on huge pages after sampling; -1: not known */
    char throttled[160]; /* what slowed the machine meanwhile; "": nothing that is known */
    bool counted;        /* `counts` were taken (timed backends) */
    pfc_counts counts;   /* of one call, over all samples of a checked launch */
    pfc_exact *exact;    /* of an exact backend; owned; NULL: it is another backend's block */
} pfc_block;

/** Runs a block in this process. PFC_OK also when it is broken or skipped (out->status). */
pfc_code pfc_block_run(const pfc_backend *backend, const pfc_block_spec *spec,
                       const pfc_timer *wall, const pfc_timer *cpu, pfc_block *out,
                       pfc_err *err) PFC_MUSTCHECK;
void pfc_block_clear(pfc_block *block);

/** The spec and the block as JSON texts, between parent and child; caller frees. */
char *pfc_block_spec_to_text(const pfc_block_spec *spec);
/** *c is filled with the benchmark (its name is owned; free it), *backend is owned. */
pfc_code pfc_block_spec_from_text(const char *text, size_t len, pfc_block_spec *out, pfc_case *c,
                                  char **backend, pfc_err *err) PFC_MUSTCHECK;
char *pfc_block_to_text(const pfc_block *block);
pfc_code pfc_block_from_text(const char *text, size_t len, pfc_block *out,
                             pfc_err *err) PFC_MUSTCHECK;

/* ---- a suite ---- */

/** Runs a block somehow: in a child process (pfc_block_launch), or simulated in tests. */
typedef pfc_code (*pfc_block_fn)(void *arg, const pfc_block_spec *spec, pfc_block *out,
                                 pfc_err *err);

/** Runs a block in a fresh process: `program --block` with the spec on its standard input, with at
 *  most 8 GiB of address space, in a process group that is ended with it. A child that crashes,
 *  hangs, answers anything but a block of finite positive samples, or runs out of memory becomes a
 *  broken block with the reason. arg: the program's path. */
pfc_code pfc_block_launch(void *arg, const pfc_block_spec *spec, pfc_block *out,
                          pfc_err *err) PFC_MUSTCHECK;

/** Where a run stands, for a progress bar. */
typedef struct pfc_progress {
    size_t done, total; /* benchmarks (on a backend) that are finished; all of them */
    double elapsed_s;
    double estimate_s;     /* of the whole run, an upper bound by the budgets */
    const char *benchmark; /* being measured now */
    const char *backend;
} pfc_progress;

typedef struct pfc_measure_opts {
    const char *filter;          /* POSIX extended regular expression on names; NULL: all */
    const char *const *backends; /* only these; NULL: as the suite says */
    size_t backends_len;
    uint64_t seed;      /* of inputs; 0: 1 */
    pfc_block_fn block; /* how blocks are run */
    void *block_arg;
    int cpu;              /* to pin to; -1: none */
    const char *counters; /* names for pfc_counter_parse; NULL: the usual ones */
    const char *traces;   /* folder for traces, named as core/trace/run_files.h says, of at most
                             PFC_RUN_TRACES_MAX benchmarks on exact backends; NULL: none */
    void (*progress)(void *arg, const pfc_progress *at); /* may be NULL */
    void *progress_arg;
    bool (*cancelled)(void *arg); /* asked between blocks; may be NULL */
    void *cancelled_arg;
} pfc_measure_opts;

/** Upper bound of the time a run will take, by its budgets, in seconds; *cells gets the number of
 *  (benchmark, backend) pairs that will be measured. */
pfc_code pfc_suite_estimate(const pfc_suite *suite, const pfc_backends *backends,
                            const pfc_measure_opts *opts, double *seconds, size_t *cells,
                            pfc_err *err) PFC_MUSTCHECK;

/**
 * Measures a suite into `run` (its suite name, hash, times and measurements are set).
 * Each benchmark and backend gives `time_ns` and the throughput metric (and `cycles` and counters
 * on an exact backend); each headline metric and backend gives one measurement of benchmark
 * "headline", skipped with its reason when a member of its group is missing.
 * PFC_EINVAL: bad filter, unknown backend, nothing selected. PFC_EUNAVAIL: cancelled.
 */
pfc_code pfc_suite_measure(const pfc_suite *suite, const pfc_backends *backends,
                           const pfc_measure_opts *opts, pfc_run *run, pfc_err *err) PFC_MUSTCHECK;

/** True when some measurement of the run is broken. */
bool pfc_run_is_broken(const pfc_run *run);

/** Adds the headline measurements of what is in `run`; called by pfc_suite_measure. */
void pfc_headline_add(const pfc_suite *suite, pfc_run *run);

#endif
