/*
 * Rank statistics shared by the verdict and the detector. Inputs are checked by the callers.
 */
#ifndef PFC_CORE_STATS_RANKTEST_H
#define PFC_CORE_STATS_RANKTEST_H

#include "core/base/base.h"

#define PFC_RANKTEST_EXACT_MAX 20 /* na + nb up to here: all orderings are counted */

/** Two-sided p-value of the Mann-Whitney U test; na, nb >= 1. *superior (may be NULL) becomes the
 *  probability that a value of b is above one of a, ties counting half. */
double pfc_ranktest_p(const double *a, size_t na, const double *b, size_t nb, double *superior);
/** Two-sided Wilcoxon signed rank p-value of d[0..n): exact for n <= 30 without ties and zeros,
 *  else normal with tie and continuity correction. Zeros are left out; n == 0 gives 1. */
double pfc_signed_rank_p(const double *d, size_t n);
/** How many of the na * nb ordered differences may be cut from each side of an interval for the
 *  shift at tail probability `tail`; 0 when even the range does not reach it. */
double pfc_ranktest_cut(size_t na, size_t nb, double tail);
/** The same for the n (n + 1) / 2 Walsh averages of one sample. */
double pfc_signed_rank_cut(size_t n, double tail);

#endif
