/*
 * How often comparisons by pairs are right: what the files of perfci-bench-pairs share.
 */
#ifndef PFC_BENCH_PAIRS_STUDY_H
#define PFC_BENCH_PAIRS_STUDY_H

#include <stdio.h>

#include "bench/harness/pairs.h"

#define PFC_STUDY_MAX_KERNELS 8

/** What is counted; as the command line says. */
typedef struct pfc_study_opts {
    int64_t aa, ab;    /* comparisons of a build with itself, and with injected work */
    double inject_rel; /* share of work that B does more */
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

/** Makes the comparisons, the counts in turns, and prints the table (or JSON lines) to `out`.
 *  PFC_EUNAVAIL: nothing could be measured. */
pfc_code pfc_study_run(const pfc_study_opts *opts, FILE *out, pfc_err *err) PFC_MUSTCHECK;

/** The table of counts; also of modelled ones. */
void pfc_tally_head(FILE *out);
void pfc_tally_row(FILE *out, const pfc_tally *t);
void pfc_tally_json(FILE *out, const pfc_tally *t);
/** Counts one comparison whose true change is t->inject_rel. */
void pfc_tally_add(pfc_tally *t, const pfc_paired *p);
void pfc_tally_clear(pfc_tally *t);

/** Comparisons of modelled builds, whose truth is known: coverage of the intervals, and what a drift
 *  of the machine does to the estimate. n comparisons a row. */
pfc_code pfc_study_simulate(size_t n, bool json, FILE *out, pfc_err *err) PFC_MUSTCHECK;

/** Starts n processes that compute and copy memory, on whatever processor they get, until
 *  pfc_busy_stop or our end. */
typedef struct pfc_busy {
    pid_t pids[64];
    size_t len;
} pfc_busy;
pfc_code pfc_busy_start(pfc_busy *busy, size_t n, pfc_err *err) PFC_MUSTCHECK;
void pfc_busy_stop(pfc_busy *busy);

#endif
