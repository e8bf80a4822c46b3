/* What a series can show, from its noise: for people who wonder why nothing was found. */
#include "core/stats/power.h"

#include <math.h>

#include "core/stats/fdr.h"

/* A change of few points is alerted at so many times its standard error (core/stats/fdr.h); a step
 * larger by 0.84 of them passes in four cases of five. */
#define POWER_80 0.84
#define ROUNDS   8
#define MOST     1e6 /* points: more is never */

static double needed(size_t points)
{
    return pfc_fdr_needed(points) + POWER_80;
}

double pfc_detectable(double noise_rel, size_t points_before, size_t points_after, double floor_rel)
{
    if (!(noise_rel >= 0) || points_before == 0 || points_after == 0)
        return (double)NAN;
    if (noise_rel == 0)
        return floor_rel;
    return fmax(floor_rel, needed(points_before + points_after) * noise_rel *
                               sqrt(1.0 / (double)points_before + 1.0 / (double)points_after));
}

/* More points after make the history longer and with it what is needed smaller: the answer is
 * between that for what is there and that for what then would be. */
size_t pfc_points_for(double noise_rel, size_t points_before, double rel)
{
    size_t points = 0;

    if (!(noise_rel >= 0) || points_before == 0)
        return 0;
    if (noise_rel == 0)
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        const double share = pow(rel / (needed(points_before + points) * noise_rel), 2) -
                             1.0 / (double)points_before;

        if (!(share > 1.0 / MOST))
            return 0;
        points = (size_t)ceil(1.0 / share);
    }
    return points;
}
