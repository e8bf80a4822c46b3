/* Location and spread of one sample, and the interval of its median. */
#include <math.h>
#include <stdlib.h>

#include "core/stats/dist.h"
#include "core/stats/sort.h"
#include "core/stats/stats.h"

#define MAD_TO_SIGMA 1.482602218505602 /* 1 / normal quantile of 3/4 */

double pfc_stats_median(const double *x, size_t n)
{
    double *copy = pfc_stats_copy(x, n);
    double median = pfc_stats_median_inplace(copy, n);
    free(copy);
    return median;
}

double pfc_stats_quantile(const double *x, size_t n, double q)
{
    double *copy = pfc_stats_copy(x, n);
    double place = PFC_MIN(PFC_MAX(q, 0.0), 1.0) * (double)(n - 1);
    size_t low = (size_t)floor(place);
    double part = place - (double)low;
    double value = pfc_stats_select(copy, n, low);
    if (part > 0.0 && low + 1 < n) {
        double next = copy[low + 1];
        for (size_t i = low + 2; i < n; i++)
            next = PFC_MIN(next, copy[i]);
        value = (1.0 - part) * value + part * next;
    }
    free(copy);
    return value;
}

double pfc_stats_mad(const double *x, size_t n)
{
    double *copy = pfc_stats_copy(x, n);
    double median = pfc_stats_median_inplace(copy, n);
    for (size_t i = 0; i < n; i++)
        copy[i] = fabs(copy[i] - median);
    double mad = MAD_TO_SIGMA * pfc_stats_median_inplace(copy, n);
    free(copy);
    return mad;
}

double pfc_stats_mean(const double *x, size_t n)
{
    /* A running mean, not a sum: a sum of values near DBL_MAX overflows. */
    double mean = 0.0;
    for (size_t i = 0; i < n; i++) {
        double share = 1.0 / (double)(i + 1);
        mean = mean * (1.0 - share) + x[i] * share;
    }
    return mean;
}

double pfc_stats_sd(const double *x, size_t n)
{
    if (n < 2)
        return 0.0;
    double mean = pfc_stats_mean(x, n);
    double scale = 0.0;
    for (size_t i = 0; i < n; i++)
        scale = PFC_MAX(scale, fabs(x[i] - mean));
    if (scale == 0.0)
        return 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double r = (x[i] - mean) / scale;
        sum += r * r;
    }
    return scale * sqrt(sum / (double)(n - 1));
}

double pfc_stats_geomean(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0.0))
            return (double)NAN;
        sum += log(x[i]);
    }
    return exp(sum / (double)n);
}

pfc_interval pfc_stats_median_interval(const double *x, size_t n, double level)
{
    double *copy = pfc_stats_copy(x, n);
    pfc_stats_sort(copy, n);
    size_t cut = n < 6 ? 0 : pfc_stats_sign_cut(n, 0.5 * (1.0 - level));
    size_t low = cut > 0 ? cut - 1 : 0; /* the cut-th order statistic, counted from one */
    double half = 0.5 * copy[(n - 1) / 2] + 0.5 * copy[n / 2];
    pfc_interval out = { .value = n % 2 ? copy[n / 2] : half,
                         .low = copy[low],
                         .high = copy[n - 1 - low] };
    free(copy);
    return out;
}
