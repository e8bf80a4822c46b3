/*
 * Checks out, builds and measures commits in a bounded cache of folders: one folder a commit and
 * layout, each built once. Used by the runner and by `perfci run`, `compare`, `bisect`.
 *
 * The repository is only read (core/git). Every command runs as a child with a deadline, in its own
 * process group, in the checkout. Variables whose names contain TOKEN, SECRET, PASSWORD, CREDENTIAL
 * or DATABASE are removed from its environment, all others pass. PERFCI_COMMIT (the id) and
 * PERFCI_BUILD (0, or n for the n-th rebuild with another layout) are added.
 *
 * A workspace belongs to one thread, and its folder to one process at a time (a lock file). An
 * unfinished checkout of a killed process is removed, never used.
 */
#ifndef PFC_RUNNER_WORKSPACE_WORKSPACE_H
#define PFC_RUNNER_WORKSPACE_WORKSPACE_H

#include "core/analysis/functions/functions.h"
#include "core/base/direction.h"
#include "core/git/repo.h"
#include "core/trace/run_files.h"
#include "core/wire/benchmark_filter.h"
#include "core/wire/wire.h"

#define PFC_MEASURE_CANNOT         125 /* exit status: this commit cannot be measured */
#define PFC_WORKSPACE_CHECKOUTS    16  /* default number of checkouts kept */
#define PFC_WORKSPACE_TIMEOUT_S    600.0
#define PFC_WORKSPACE_MAX_COMMAND  65536 /* bytes of a build or measure command */
#define PFC_WORKSPACE_REASON_BYTES 400

/** Result of one attempt to measure. */
typedef enum pfc_outcome_kind {
    PFC_OUTCOME_MEASURED,  /* `run` holds the samples */
    PFC_OUTCOME_BROKEN,    /* does not build, wrong result, or exit 125: a retry does not help */
    PFC_OUTCOME_FAILED,    /* crashed, or printed no result: a retry can help */
    PFC_OUTCOME_TIMED_OUT, /* the measurement went over its deadline */
    PFC_OUTCOME_CANCELLED, /* `cancelled` returned true */
} pfc_outcome_kind;

typedef struct pfc_outcome {
    pfc_outcome_kind kind;
    char reason[PFC_WORKSPACE_REASON_BYTES]; /* one sentence unless measured */
    char hint[PFC_ERR_HINT_MAX];             /* the next step, or empty */
    char note[PFC_WORKSPACE_REASON_BYTES];   /* which part of the output was used or ignored, or
                                                empty */
    pfc_run *run;     /* when measured: id, commit, times and machine are set, project is not */
    pfc_run_trace *traces; /* with opts->traces: those that the measurement left; owned */
    size_t traces_len;
    char *log_path;   /* of the build, NULL when there was none */
    bool unavailable; /* perfci-bench cannot measure on this machine: not the commit's fault */
    bool refused;     /* perfci-bench rejected the suite, filter or backend; or a
                         metric's direction is not known */
    bool over_disk;   /* the command was stopped because the disk was nearly full; its checkout was
                         removed */
    bool built;       /* this call built the commit (it was not in the cache) */
    double build_s;   /* wall time of it */
    double measure_s; /* wall time of the measurement */
} pfc_outcome;

void pfc_outcome_clear(pfc_outcome *outcome);
/** "measured", "broken", "failed", "timed out", "cancelled". */
const char *pfc_outcome_name(pfc_outcome_kind kind);

/** How to measure, independent of the checkout. */
typedef struct pfc_commit_measure_opts {
    const char *measure; /* shell command; NULL: by suite */
    const char *suite;   /* suite file or name for perfci-bench, when there is no command */
    const char *bench;   /* perfci-bench; NULL: the one built in the checkout
                               (build/release/bin), else the one beside this program */
    const char *filter;  /* --filter and --backend of perfci-bench; NULL: all */
    const char *backend;
    const char *metric; /* name of a bare number; NULL: "value" */
    const char *unit;   /* its unit; NULL: by the metric's name */
    bool resources;     /* of a command: also its wall and CPU time and its largest resident set,
                           as secondary metrics */
    bool time;          /* of a command: these three are the result, its output is not read */
    bool has_direction; /* higher_is_better counts for values that come without direction */
    bool higher_is_better;
    const pfc_direction *directions; /* by name; they override the output */
    size_t directions_len;
    bool any_direction; /* accept a metric of unknown direction: a bisection finds it from its two
                           endpoints */
    const char *machine_class; /* NULL: the CPU's model */
    const char *machine_name;  /* NULL: the host's name */
    const char *wait_quiet;    /* of suites: how long perfci-bench waits for a quiet machine ("5m"),
                                     then fails with the reason; NULL: it measures at once */
    bool traces;               /* collect the traces that the measurement leaves
                                  (core/trace/run_files.h) */
    double timeout_s;          /* of one measurement; 0: PFC_WORKSPACE_TIMEOUT_S */
    const struct pfc_sandbox *sandbox; /* for commands and suites; NULL: none */
    struct pfc_cgroups *cgroups;       /* likewise: each in a control group; NULL: none */
    bool (*cancelled)(void *arg);      /* asked about ten times a second; NULL: never */
    void *cancelled_arg;
} pfc_commit_measure_opts;

/**
 * Measures once in `dir`, as it is: no checkout, no build.
 *
 * commit  for PERFCI_COMMIT and the run; any text of 1..64 printable characters; NULL: not set
 * build   for PERFCI_BUILD
 * out     clear it with pfc_outcome_clear, whatever the outcome
 *
 * A command prints a number, {"value": x}, {"metrics": {M: x}} or any format of core/import; exit
 * 125 is BROKEN; every other non-zero status, and output without a result (empty, other text, nan),
 * is FAILED. A metric of unknown direction is BROKEN and `refused`. A suite whose every measurement
 * is broken is BROKEN, and out->run holds the reasons. PFC_OK for every outcome; PFC_EINVAL for bad
 * options, PFC_ENOTFOUND when there is no perfci-bench, PFC_EIO when no child can be started.
 */
pfc_code pfc_measure(const pfc_commit_measure_opts *opts, const char *dir, const char *commit,
                     unsigned build, pfc_outcome *out, pfc_err *err) PFC_MUSTCHECK;

/** --filter of perfci-bench for exactly this benchmark; NULL (all): no name, or the headline, which
 * is made of several. Caller frees. */
char *pfc_measure_filter(const char *benchmark);

/** Two checkouts to measure in interleaved pairs. */
typedef struct pfc_pair_opts {
    const char *dirs[2];    /* A, B: checked out and built */
    const char *commits[2]; /* of the runs */
    double margin;          /* relative change that does not matter; 0: perfci-bench's default */
    uint64_t seed;          /* of the order of turns */
} pfc_pair_opts;

/**
 * Measures a suite on both sides in interleaved pairs (bench/harness/pairs/pairs.h): *run_a and
 * out->run hold the samples, out->run's measurements the verdicts (extra.pair_*). opts->measure is
 * ignored. PFC_EUNAVAIL when a side's perfci-bench has no --serve; else as pfc_measure.
 */
pfc_code pfc_measure_pairs(const pfc_commit_measure_opts *opts, const pfc_pair_opts *pair,
                           pfc_run **run_a, pfc_outcome *out, pfc_err *err) PFC_MUSTCHECK;

/** Finds the measurement whose median a bisection compares. `benchmark` and `backend` may be NULL:
 *  then the headline of the metric is used, else its only measurement.
 *  PFC_ENOTFOUND lists what the run has, PFC_EINVAL when several fit. */
pfc_code pfc_run_value(const pfc_run *run, const char *metric, const char *benchmark,
                       const char *backend, const pfc_measurement **out,
                       pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_workspace pfc_workspace;

typedef struct pfc_workspace_opts {
    const char *dir;    /* cache folder, made when absent (0700) */
    const char *source; /* the repository: a folder, or an http(s), ssh or file URL, which the git
                            program mirrors below `dir` */
    const char *build;  /* shell command; NULL or "": nothing to build */
    const char *relink; /* shell command run after `build` when build > 0; NULL: none */
    double build_timeout_s;            /* 0: PFC_WORKSPACE_TIMEOUT_S */
    const struct pfc_sandbox *sandbox; /* for the build; NULL: none */
    struct pfc_cgroups *cgroups;       /* each build in a control group; NULL: none */
    size_t max_checkouts; /* 0: PFC_WORKSPACE_CHECKOUTS; the least recently used goes first */
    bool (*cancelled)(void *arg); /* as above, for fetching and building */
    void *cancelled_arg;
} pfc_workspace_opts;

/** The strings of opts must outlive the workspace. PFC_ECONFLICT when another process uses `dir`;
 *  what pfc_repo_open refuses. */
pfc_code pfc_workspace_open(const pfc_workspace_opts *opts, pfc_workspace **out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Removes all checkouts of the workspaces in `dir`/cache-*, for a disk that is full: they can be
 * made again. */
void pfc_workspace_drop_caches(const char *dir);
/** Keeps the cache. Accepts NULL. */
void pfc_workspace_close(pfc_workspace *ws);
/** The repository that is read; lives as long as the workspace. */
pfc_repo *pfc_workspace_repo(pfc_workspace *ws);

/** The commit that `revision` names, after a fetch when the source is a URL and it is missing. */
pfc_code pfc_workspace_find(pfc_workspace *ws, const char *revision, pfc_commit_id *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Replaces the build commands, for a caller that reads them from the repository; they must outlive
 * the workspace. */
void pfc_workspace_build_by(pfc_workspace *ws, const char *build, const char *relink,
                            double build_timeout_s);
/** Whether sandboxed builds have the machine's network; at first they have none. */
void pfc_workspace_build_network(pfc_workspace *ws, bool open);

/**
 * Makes the commit available: fetches it (when the source is a URL and it is missing), checks it
 * out and builds it, unless the cache has it. The cache also remembers a failed build.
 *
 * dir   out: the checkout, when out->kind is MEASURED (here: "ready"); caller frees; else NULL
 * out   kind MEASURED, BROKEN (with the first error line of the build) or CANCELLED; clear it.
 *       A build over its deadline is BROKEN but not remembered: the machine may have been busy
 *
 * PFC_ENOTFOUND when the source has no such commit.
 */
pfc_code pfc_workspace_prepare(pfc_workspace *ws, const pfc_commit_id *id, unsigned build,
                               char **dir, pfc_outcome *out, pfc_err *err) PFC_MUSTCHECK;

/** Prepare and measure. */
pfc_code pfc_workspace_measure(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                               const pfc_commit_id *id, unsigned build, pfc_outcome *out,
                               pfc_err *err) PFC_MUSTCHECK;

/**
 * Prepare, and run the measuring command once under valgrind's callgrind: the instructions of each
 * function of all processes that it starts, sorted by name. The values that it prints are dropped.
 * Clear *out in every case.
 *
 * PFC_EUNAVAIL with the reason: valgrind is not installed, the command fails under it, or takes
 * longer than opts->timeout_s; PFC_EINVAL: there is no command; PFC_EBROKEN: the commit does not
 * build; also the codes of pfc_callgrind_read.
 */
pfc_code pfc_workspace_count(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                             const pfc_commit_id *id, pfc_functions *out,
                             pfc_err *err) PFC_MUSTCHECK;

/** As pfc_workspace_measure, for the selection `wanted`: a command runs once and its other results
 * are dropped; a suite is measured once for each backend (opts' filter and backend are ignored).
 * Without a match: BROKEN and out->refused, and the reason lists the results. */
pfc_code pfc_workspace_measure_some(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                                    const pfc_benchmark_filter *wanted, const pfc_commit_id *id,
                                    unsigned build, pfc_outcome *out, pfc_err *err) PFC_MUSTCHECK;

#endif
