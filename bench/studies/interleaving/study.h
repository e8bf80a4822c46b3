/*
 * How often comparisons by pairs are right: what the files of perfci-bench-pairs share.
 */
#ifndef PFC_BENCH_STUDIES_INTERLEAVING_STUDY_H
#define PFC_BENCH_STUDIES_INTERLEAVING_STUDY_H

#include <stdio.h>

#include "bench/harness/pairs/pairs.h"

#define PFC_STUDY_MAX_KERNELS 8

/** Options of the study, from the command line. */
typedef struct pfc_study_opts {
    int64_t aa, ab;    /* comparisons of a build with itself, and with injected work */
    double inject_rel; /* share of work that B does more; added to launches of a build with itself,
                          where the truth is known without any work */
    int64_t max_pairs, launch_pairs, turns, warm;
    double margin;      /* 0: half of inject_rel */
    double minutes;     /* for all; 0: no limit */
    double max_seconds; /* of one comparison */
    int64_t busy;       /* processes that keep the machine busy meanwhile */
    const char *kernels[PFC_STUDY_MAX_KERNELS];
    size_t kernels_len;
    const char *backend;
    const char *program; /* the perfci-bench of both sides */
    FILE *raw;           /* a line of JSON for each comparison; NULL: none */
    bool json, quiet;
} pfc_study_opts;

/** One count: a kernel, and a build against itself or against itself with more work. */
typedef struct pfc_tally {
    const char *kernel;
    char *benchmark; /* owned */
    double inject_rel;
    size_t wanted, done, different, slower, same, open, failed;
    size_t held, held_any; /* intervals that held the truth */
    /* of a build with itself: the same launches with a change added, judged again */
    size_t shifted, shifted_found, shifted_held;
    bool drifts; /* a model of a machine that does */
    double seconds;
    double *pairs, *noise, *change; /* of each comparison */
    uint64_t preempted;
} pfc_tally;

/** A kernel that can be studied. */
typedef struct pfc_study_kernel {
    const char *name;  /* "l1" */
    const char *about; /* where its data lies */
} pfc_study_kernel;

const pfc_study_kernel *pfc_study_kernels(size_t *len);

/** Makes the comparisons, the counts in turns, and prints the table (or JSON lines) to `out`, then
 * the verdicts; *kept is pfc_study_verdict's answer. PFC_EUNAVAIL: nothing could be measured. */
pfc_code pfc_study_run(const pfc_study_opts *opts, FILE *out, bool *kept,
                       pfc_err *err) PFC_MUSTCHECK;

#define PFC_STUDY_LEVEL 0.01 /* stated of false alarms */

/** A line for each promise: false alarms, changes found, intervals that hold the truth, all kernels
 *  together. False when one is broken by more than chance can explain (95 %). */
bool pfc_study_verdict(const pfc_study_opts *opts, const pfc_tally *tallies, size_t len, FILE *out);
/** The same of modelled rows, each with at least one comparison: the worst coverage, and drift. */
bool pfc_study_verdict_modelled(const pfc_tally *tallies, size_t len, FILE *out);

/** The table of counts; also of modelled ones. */
void pfc_tally_head(FILE *out);
void pfc_tally_row(FILE *out, const pfc_tally *t);
void pfc_tally_json(FILE *out, const pfc_tally *t);
/** k of n with the 95 % interval of Clopper & Pearson (Biometrika 26, 1934). */
pfc_interval pfc_tally_share(size_t k, size_t n);
/** Counts one comparison whose true change is t->inject_rel. */
void pfc_tally_add(pfc_tally *t, const pfc_pair_result *p);
/** Counts a comparison of a build with itself once more, as if B were slower by `rel`: its launches
 *  in their order, each with that change added, under the rule with `limit` launches. The noise is
 *  the machine's own, and the true change is known. */
void pfc_tally_shift(pfc_tally *t, const pfc_pair_result *p, double rel, size_t limit);
void pfc_tally_clear(pfc_tally *t);

/** Comparisons of modelled builds, whose truth is known: coverage of the intervals, and what a
 * drift of the machine does to the estimate. n comparisons a row; *kept as
 * pfc_study_verdict_modelled. */
pfc_code pfc_study_simulate(size_t n, bool json, FILE *out, bool *kept, pfc_err *err) PFC_MUSTCHECK;

/** Starts n processes that compute and copy memory, on whatever processor they get, until
 *  pfc_busy_stop or our end. */
typedef struct pfc_busy {
    pid_t pids[64];
    size_t len;
} pfc_busy;
pfc_code pfc_busy_start(pfc_busy *busy, size_t n, pfc_err *err) PFC_MUSTCHECK;
void pfc_busy_stop(pfc_busy *busy);

#endif
