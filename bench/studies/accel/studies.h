/* The studies of perfci-bench-accel. Private to this folder. */
#ifndef PFC_BENCH_STUDIES_ACCEL_STUDIES_H
#define PFC_BENCH_STUDIES_ACCEL_STUDIES_H

#include "kernels/accel/ops/ops.h"

/**
 * The compiler's GEMM tiles beside the best of a search over all tiles, for `count` random problems
 * of at most 512 rows, columns and depth on every built-in chip in turn: prints the share within
 * 3 % of the best and the worst. (tiles.c)
 */
pfc_code study_tiles(size_t count, pfc_err *err) PFC_MUSTCHECK;

/** Cycles and the share of the ceiling for products, attention and norms on every built-in chip, as
 *  a table. (attainable.c) */
pfc_code study_attainable(pfc_err *err) PFC_MUSTCHECK;

/**
 * Notes a figure of this run for study_figures_write.
 *
 * measure  name of the metric, whose words say its unit and direction as `perfci push` reads them:
 *          "simulated_cycles_per_s", "memory_mib", "cycles", "efficiency_pct"
 * value    finite
 * format   name of the benchmark, at most 159 bytes; spaces and commas become '-'
 */
void study_figure(const char *measure, double value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Writes the figures so far in Bencher Metric Format, of which `perfci push FILE` makes a series
 *  for each, and forgets them. NULL: forgets them only. PFC_EIO. */
pfc_code study_figures_write(const char *path, pfc_err *err) PFC_MUSTCHECK;

#define STUDY_ROUNDS 3 /* the fastest of these is the speed */

/** CPU seconds of this thread: machines are shared, wall time is the neighbours', too. */
double study_cpu_s(void);

/** Cycles of every DIR/scalesim-*.json beside ours, then the SCALE-Sim column of
 *  DIR/real-hw-tpu-matmul.json. PFC_EUNAVAIL without any. */
pfc_code study_tables(const char *dir, pfc_err *err) PFC_MUSTCHECK;
/** L1 against the ticked array on `cases` random problems in four modes, and ONNXim's rule. */
pfc_code study_fidelities(size_t cases, uint64_t seed, pfc_err *err) PFC_MUSTCHECK;
/** Streams, random accesses and transfer sizes on every chip. */
pfc_code study_memory(pfc_err *err) PFC_MUSTCHECK;
/** Simulated cycles and multiply-adds a second, and memory used. */
pfc_code study_speeds(pfc_err *err) PFC_MUSTCHECK;
/** Time and memory of the critical path and projection of traces of a million records. */
pfc_code study_path(pfc_err *err) PFC_MUSTCHECK;
/** A digest of result and counters for each of a list of cases, the same with a trace: the lines
 *  are equal in every build. */
pfc_code study_digests(pfc_err *err) PFC_MUSTCHECK;

#endif
