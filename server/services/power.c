/* What a series can show, from its noise: for people who wonder why nothing was found. */
#include <math.h>

#include "server/services/services.h"

/* A change of few points is alerted at seven times its standard error (core/stats/fdr.h); a step as large
 * as threshold + 0.84 of them passes in four cases of five. */
#define THRESHOLD 7.0
#define POWER_80  0.84

double pfc_detectable(double noise_rel, size_t points_before, size_t points_after, double floor_rel)
{
    if (!(noise_rel >= 0) || points_before == 0 || points_after == 0)
        return (double)NAN;
    return fmax(floor_rel, (THRESHOLD + POWER_80) * noise_rel *
                               sqrt(1.0 / (double)points_before + 1.0 / (double)points_after));
}

size_t pfc_points_for(double noise_rel, size_t points_before, double rel)
{
    double share;

    if (!(noise_rel >= 0) || points_before == 0)
        return 0;
    if (noise_rel == 0)
        return 1;
    share = pow(rel / ((THRESHOLD + POWER_80) * noise_rel), 2) - 1.0 / (double)points_before;
    return share > 0 ? (size_t)ceil(1.0 / share) : 0;
}
