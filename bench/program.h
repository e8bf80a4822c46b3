/* Declarations shared by the files of perfci-bench. */
#ifndef PFC_BENCH_PROGRAM_H
#define PFC_BENCH_PROGRAM_H

#include <stdio.h>

#include "bench/harness/harness.h"
#include "bench/machine/ceilings/ceilings.h"
#include "core/wire/benchmark_filter.h"

#define PFC_BENCH_MAX_BACKENDS 16

typedef enum pfc_bench_mode {
    PFC_BENCH_MEASURE,
    PFC_BENCH_LIST,
    PFC_BENCH_COVERAGE,
    PFC_BENCH_PEERS,
    PFC_BENCH_TUNE,
    PFC_BENCH_UNTUNE,
    PFC_BENCH_MACHINE,
    PFC_BENCH_CANARY, /* one reading, for a measurement by another program */
    PFC_BENCH_CEILINGS,
    PFC_BENCH_COUNTERS, /* the names of events */
    PFC_BENCH_PAIRS,    /* two builds in interleaved pairs */
    PFC_BENCH_BLOCK,    /* as a child: one block, spec on stdin, answer on stdout */
    PFC_BENCH_CALL,     /* as a child under valgrind: one call, spec on stdin */
    PFC_BENCH_SERVE,    /* as a child: one benchmark, one turn for each request */
} pfc_bench_mode;

/** The command line; strings belong to argv. */
typedef struct pfc_bench_args {
    pfc_bench_mode mode;
    bool exact;         /* count instructions instead of time */
    bool noise;         /* of pairs: this program against itself, to report noise */
    const char *suite;  /* path or name; "quick" when not given */
    const char *filter; /* NULL: all */
    const char *backends[PFC_BENCH_MAX_BACKENDS];
    size_t backends_len;
    const char *traces;   /* folder for traces of accelerators; NULL: none */
    const char *svg;      /* file for the roofline; NULL: none */
    const char *out;      /* file for the run document; "-" is stdout; NULL: none */
    const char *counters; /* events to count; NULL: the usual ones */
    bool json;            /* the run document (or the list) on stdout */
    bool quiet;           /* no progress, no notes */
    int64_t seed;
    bool pin;
    const char *before;   /* of the canary: the reading before; NULL: this is it */
    const char *sides[2]; /* the perfci-bench of A and of B; NULL: this program */
    double wait_quiet_s;  /* wait so long for a quiet machine, then give up; < 0: do not wait */
    double margin;        /* of pairs; 0: the default */
} pfc_bench_args;

/** Parses argv; prints and exits with status 2 on misuse, 0 on --help and --version. */
void pfc_bench_args_parse(int argc, char **argv, pfc_bench_args *out);

#define PFC_BENCH_EXIT_BROKEN 4 /* a benchmark computes a wrong result */
#define PFC_BENCH_EXIT_INFRA  5 /* the machine or the system does not allow it */

/** Prints the error on stderr and returns the exit status for its code. */
int pfc_bench_fail(const pfc_err *err);
/** Writes out what is buffered for stdout; returns 0, or PFC_BENCH_EXIT_INFRA when that fails. */
int pfc_bench_flush(void);

/** From now on SIGINT and SIGTERM set a flag instead of ending the process. */
void pfc_bench_catch_signals(void);
/** True after one of these signals. `arg` is not used. */
bool pfc_bench_is_interrupted(void *arg);

/* The modes: each returns the exit status of the program. */
int pfc_bench_run_measure(const pfc_bench_args *args);
int pfc_bench_run_pairs(const pfc_bench_args *args);
int pfc_bench_run_list(const pfc_bench_args *args);
int pfc_bench_run_coverage(const pfc_bench_args *args);
/** Reads the spec of one block from stdin and prints what was measured. */
int pfc_bench_run_block(const pfc_bench_args *args);
/** Reads the spec of one block from stdin and makes one call, which valgrind counts. */
int pfc_bench_run_call(const pfc_bench_args *args);
/** One side of a comparison: reads a spec and requests for turns from stdin until it ends. */
int pfc_bench_run_serve(const pfc_bench_args *args);

/** Compares two builds in interleaved pairs and reports; returns the exit status. */
int pfc_bench_pairs(const pfc_bench_args *args, const pfc_suite *suite,
                    const pfc_backends *backends);
/** This machine and its fingerprint, for a run document; suite_hash NULL: of no suite. */
void pfc_bench_machine(const pfc_backends *backends, const char *suite_hash, pfc_machine *out);
/** `--machine`: prints all facts about this machine as text or JSON; returns the exit status. */
int pfc_bench_describe(const pfc_bench_args *args);
/** With --wait-quiet: PFC_EUNAVAIL with the reason when the machine did not become quiet in that
 * time; else PFC_OK at once. */
pfc_code pfc_bench_wait_quiet(const pfc_bench_args *args, pfc_err *err) PFC_MUSTCHECK;

/** `--canary`: prints a reading, or with args->before the canary of a run document. */
int pfc_bench_canary(const pfc_bench_args *args);
/** `--ceilings`: measures them and prints a table and the roofline, or JSON; writes args->svg. */
int pfc_bench_ceilings(const pfc_bench_args *args);
/** The roofline of one core and all, with the benchmarks of `run` as points (suite and run may be
 *  NULL), as an SVG image. PFC_EIO: the file cannot be written. */
pfc_code pfc_bench_roofline_svg(const char *path, const pfc_ceilings *ceilings,
                                const pfc_suite *suite, const pfc_run *run,
                                pfc_err *err) PFC_MUSTCHECK;
/** The same as text, without points. */
void pfc_bench_roofline_text(FILE *out, const pfc_ceilings *ceilings);
/** The results as a table: benchmark, backend, metric, median, interval, n, noise. */
void pfc_bench_table(FILE *out, const pfc_run *run);
/** Prints the benchmarks of a suite that `wanted` selects and those of their backends that it
 * selects, as text or JSON; NULL selects all. Returns how many benchmarks it printed. */
size_t pfc_bench_list(FILE *out, const pfc_suite *suite, const pfc_backends *backends,
                      const pfc_benchmark_matcher *wanted, bool json);
/** Operations x types x backends: how many benchmarks the suite has of each, which are gaps and
 * which have no kernel; then the shapes that backends could be measured with and are not. */
void pfc_bench_coverage(FILE *out, const pfc_suite *suite, const pfc_backends *backends, bool json);
/** The noise of every benchmark of a build compared with itself (`b`: its B side), and the minimum
 *  detectable change: a table and a plot, or a line of JSON each. A benchmark with fewer than
 *  PFC_NOISE_LAUNCHES launches is named on stderr, and has `not_known` in its line. */
void pfc_bench_noise(FILE *out, const pfc_run *b, bool json);
/** The plot as an SVG image. PFC_EIO: the file cannot be written. */
pfc_code pfc_bench_noise_svg(const char *path, const pfc_run *b, pfc_err *err) PFC_MUSTCHECK;
/** One line on stderr that is overwritten; for pfc_measure_opts.progress. */
void pfc_bench_progress(void *arg, const pfc_progress *at);

#endif
