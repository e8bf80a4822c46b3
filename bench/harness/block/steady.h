/*
 * When warm-up is over.
 *
 * Not after a fixed number of calls, and not when two neighbouring samples happen to agree: caches,
 * branch predictors, page tables and clocks settle at different speeds, and a kernel that settles
 * in steps agrees with itself on every step. Judged is the second half of all that was sampled so
 * far: cut into four, the medians of the quarters must lie within 2 % of each other, or no further
 * apart than the noise of neighbouring samples lets such medians lie (below 40 samples: halves, and
 * 2 % alone). So a warm-up of any length is over when as much again has been level. A drift, a step
 * or a cycle longer than a quarter is not level; noise alone is, whatever its size. A cycle shorter
 * than a quarter is, too: samples taken next see many turns of it. Source: the idea of judging
 * whole windows and the classes (warm-up, flat, no steady state, slow cycle) from Barrett et al.,
 * "Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017; half and quarters are the Geweke
 * diagnostic's (1992) with medians for means.
 */
#ifndef PFC_BENCH_HARNESS_BLOCK_STEADY_H
#define PFC_BENCH_HARNESS_BLOCK_STEADY_H

#include "core/base/base.h"

#define PFC_STEADY_LEAST 10   /* samples below which nothing is called steady */
#define PFC_STEADY_REL   0.02 /* a difference that is never worth more warm-up */

/** True when the second half of x[0..n) (times, each > 0) is level. */
bool pfc_steady(const double *x, size_t n);

#endif
