/*
 * Order without comparators: sorting and selecting doubles in place, for the statistics here.
 * Values are finite (no NAN). Deterministic: the pivot is a median of three, never drawn.
 */
#ifndef PFC_CORE_STATS_SORT_H
#define PFC_CORE_STATS_SORT_H

#include "core/base/base.h"

/** Sorts x[0..n) ascending, O(n log n) also in the worst case. */
void pfc_stats_sort(double *x, size_t n);
/** Puts the k-th smallest (k < n) at x[k], nothing larger before it, nothing smaller after it;
 *  returns it. Expected O(n). */
double pfc_stats_select(double *x, size_t n, size_t k);
/** Median, reordering x; n >= 1. */
double pfc_stats_median_inplace(double *x, size_t n);
/** Median of values that are needed no more: x holds anything afterwards. Several times as fast. */
double pfc_stats_median_spend(double *x, size_t n);
/** A copy of x[0..n), caller frees. */
double *pfc_stats_copy(const double *x, size_t n);

#endif
