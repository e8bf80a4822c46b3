/* Tests whether the end of a series is level. */
#include "bench/harness/block/steady.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats/stats.h"

#define BLOCKS_FEW   2
#define BLOCKS       4
#define MANY_SAMPLES 40 /* from so many on the second half is cut into four */
#define NOISE_LIMIT                                                                                \
    4.5 /* standard errors that the range of four medians passes once in a hundred */
#define MEDIAN_ERROR 1.2533 /* of a median against a mean, normal noise */

/* Robust standard deviation from differences of neighbours, because a trend or a slow cycle hardly
 * affects these. */
static double noise_of_neighbours(const double *x, size_t n)
{
    double *step = pfc_alloc((n - 1) * sizeof(*step));
    double out;

    for (size_t i = 0; i + 1 < n; i++)
        step[i] = fabs(x[i + 1] - x[i]);
    out = 1.4826 * pfc_stats_median(step, n - 1) / sqrt(2.0);
    free(step);
    return out;
}

bool pfc_steady(const double *x, size_t n)
{
    const size_t blocks = n >= MANY_SAMPLES ? BLOCKS : BLOCKS_FEW;
    const size_t each = n / 2 / blocks;
    const double *tail = x + n - each * blocks;
    double low = INFINITY;
    double high = -INFINITY;
    double error = 0.0;

    if (n < PFC_STEADY_LEAST)
        return false;
    for (size_t i = 0; i < blocks; i++) {
        const double median = pfc_stats_median(tail + i * each, each);
        low = fmin(low, median);
        high = fmax(high, median);
    }
    /* The noise cannot be estimated from so few samples. */
    if (n >= MANY_SAMPLES)
        error = MEDIAN_ERROR * noise_of_neighbours(tail, each * blocks) / sqrt((double)each);
    return high - low <= fmax(PFC_STEADY_REL * low, NOISE_LIMIT * error);
}
