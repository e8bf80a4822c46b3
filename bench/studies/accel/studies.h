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

#endif
