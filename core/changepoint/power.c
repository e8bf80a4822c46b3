/* Smallest change that a series can show, from its noise: explains why none was found. */
#include "core/changepoint/power.h"

#include <math.h>

#include "core/changepoint/fdr.h"

/* A change of few points is alerted at so many times its standard error (core/changepoint/fdr.h); a
 * step larger by 0.84 of them passes in four cases of five. */
#define POWER_80 0.84

static double needed(size_t points)
{
    return pfc_fdr_needed(points) + POWER_80;
}

double pfc_detectable(double noise_rel, size_t history, size_t points_before, size_t points_after,
                      double floor_rel)
{
    if (!(noise_rel >= 0) || points_before == 0 || points_after == 0)
        return (double)NAN;
    if (noise_rel == 0)
        return floor_rel;
    return fmax(floor_rel, needed(PFC_MAX(history, points_before) + points_after) * noise_rel *
                               sqrt(1.0 / (double)points_before + 1.0 / (double)points_after));
}

/* More points after make the history longer and the standard error smaller, so the size that they
 * show only sinks: the first number at which it is small enough is found by halving. */
size_t pfc_points_for(double noise_rel, size_t history, size_t points_before, double rel)
{
    size_t low = 1, high = PFC_POINTS_MOST;

    if (!(noise_rel >= 0) || points_before == 0)
        return 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (pfc_detectable(noise_rel, history, points_before, middle, 0) <= rel)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
