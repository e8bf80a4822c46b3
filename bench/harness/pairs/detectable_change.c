/* How small a change a benchmark can show, from the samples of a comparison. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/pairs/pairs.h"
#include "core/stats/stats.h"

#define AGREEING   18.0 /* launches of one sign that confirm twice */
#define PER_SPREAD 44.0 /* launches for a change of one spread, beyond these */

double pfc_noise_launches(double ratio_rel, double rel)
{
    return ceil(AGREEING + PER_SPREAD * (ratio_rel / rel) * (ratio_rel / rel));
}

/* Lag-1 correlation of what is left when each block's median is taken away; pairs within a block
 * only. Bounded residuals: one preempted sample must not decide it. */
static double autocorrelation(const double *residuals, const uint32_t *blocks, size_t blocks_len)
{
    double cross = 0.0;
    double square = 0.0;
    size_t at = 0;

    for (size_t b = 0; b < blocks_len; b++) {
        for (size_t i = 0; i < blocks[b]; i++) {
            square += residuals[at + i] * residuals[at + i];
            if (i > 0)
                cross += residuals[at + i] * residuals[at + i - 1];
        }
        at += blocks[b];
    }
    return square > 0.0 ? cross / square : 0.0;
}

static void bound(double *x, size_t n)
{
    const double most = 3.0 * pfc_stats_mad(x, n);

    for (size_t i = 0; i < n; i++)
        x[i] = PFC_MAX(-most, PFC_MIN(most, x[i]));
}

/* One side: logs around their launch's median, and these medians. */
static void take_apart(const double *samples, const pfc_pair_result *p, double *residuals,
                       double *medians)
{
    size_t at = 0;

    for (size_t b = 0; b < p->launches; b++) {
        medians[b] = log(pfc_stats_median(samples + at, p->blocks[b]));
        for (size_t i = 0; i < p->blocks[b]; i++)
            residuals[at + i] = log(samples[at + i]) - medians[b];
        at += p->blocks[b];
    }
}

pfc_code pfc_noise_of(const pfc_pair_result *p, size_t pairs, pfc_pair_noise *out, pfc_err *err)
{
    const size_t n = p->launches;
    const double *sides[2] = { p->a, p->b };
    const uint32_t all = (uint32_t)n;
    double per_launch, launches;
    double *residuals, *medians;

    if (p->status != PFC_STATUS_OK || n < PFC_NOISE_LAUNCHES || p->samples_len < n)
        return pfc_err_set(err, PFC_EINVAL, "noise: expected at least %d launches, got %zu",
                           PFC_NOISE_LAUNCHES, n);
    residuals = pfc_calloc(p->samples_len, sizeof(*residuals));
    medians = pfc_calloc(n, sizeof(*medians));
    *out = (pfc_pair_noise){ .ratio_rel = pfc_stats_mad(p->log_ratio, n) };
    for (size_t s = 0; s < 2; s++) {
        take_apart(sides[s], p, residuals, medians);
        out->sample_rel += 0.5 * pfc_stats_mad(residuals, p->samples_len);
        out->unpaired_rel += 0.5 * pfc_stats_mad(medians, n);
        bound(residuals, p->samples_len);
        out->autocorrelation += 0.5 * autocorrelation(residuals, p->blocks, n);
    }
    memcpy(medians, p->log_ratio, n * sizeof(*medians));
    for (size_t i = 0; i < n; i++)
        medians[i] -= pfc_stats_median(p->log_ratio, n);
    bound(medians, n);
    out->ratio_autocorrelation = autocorrelation(medians, &all, 1);
    free(residuals);
    free(medians);

    per_launch = (double)p->pairs / (double)n;
    launches = PFC_MAX((double)pairs / per_launch, AGREEING + 2.0);
    out->detectable_rel = expm1(out->ratio_rel * sqrt(PER_SPREAD / (launches - AGREEING)));
    out->pairs_1pct = per_launch * pfc_noise_launches(out->ratio_rel, 0.01);
    out->pairs_half_pct = per_launch * pfc_noise_launches(out->ratio_rel, 0.005);
    out->gates = out->detectable_rel <= PFC_NOISE_GATE_REL;
    return PFC_OK;
}
