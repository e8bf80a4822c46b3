/*
 * Is there a wave in a series? One strong line in the spectrum of its differences. Private to
 * core/stats.
 */
#ifndef PFC_CORE_CHANGEPOINT_FOURIER_H
#define PFC_CORE_CHANGEPOINT_FOURIER_H

#include "core/base/base.h"

/** Period, in points, of the strongest line of z[0..n) (in sigma) between the two periods, when it
 *  stands out of the spectrum beyond chance; else 0. Differences are taken first, so that steps
 *  leave little behind, and clipped, so that spikes do. O(n log n). */
double pfc_fourier_period(const double *z, size_t n, double shortest, double longest);

#endif
