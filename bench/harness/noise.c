/*
 * What a benchmark's own samples say about how small a change it can show.
 *
 * The launches of one run are split into two alternating halves, which measure the same thing: an
 * A/A comparison. Whatever differs between them is noise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/harness.h"
#include "core/stats/stats.h"

/* (z(0.995) + z(0.9))^2 for a two-sided test at 1 % with power 0.9, times pi / 2 because medians
 * are compared: the median of a normal sample has that much more variance than its mean. */
#define PAIRS_FACTOR                                                                               \
    (1.5707963267948966 * (2.5758293035489004 + 1.2815515655446004) *                              \
     (2.5758293035489004 + 1.2815515655446004))

/* Pairs to confirm a change of `rel`: each pair is the difference of two independent samples. */
static double pairs_for(double noise_rel, double rel)
{
    const double n = PAIRS_FACTOR * 2.0 * (noise_rel / rel) * (noise_rel / rel);

    return fmax(ceil(n), 6.0); /* fewer cannot reach 1 % in a signed rank test */
}

/* Lag-1 correlation of the residuals, pairs within one launch only. */
static double autocorrelation(const double *residuals, const pfc_measurement *m)
{
    double cross = 0.0;
    double square = 0.0;
    size_t at = 0;

    for (size_t b = 0; b < m->blocks_len; b++) {
        for (size_t i = 0; i < m->blocks[b]; i++) {
            square += residuals[at + i] * residuals[at + i];
            if (i > 0)
                cross += residuals[at + i] * residuals[at + i - 1];
        }
        at += m->blocks[b];
    }
    return square > 0.0 ? cross / square : 0.0;
}

/* The even or odd launches of a measurement; returns how many. */
static size_t half(const double *medians, size_t len, size_t from, double *out)
{
    size_t n = 0;

    for (size_t b = from; b < len; b += 2)
        out[n++] = medians[b];
    return n;
}

pfc_code pfc_noise_of(const pfc_measurement *m, pfc_noise *out, pfc_err *err)
{
    double *residuals;
    double *medians;
    double *a;
    double *b;
    size_t at = 0;
    size_t na;
    size_t nb;
    pfc_compare_result verdict;
    pfc_code code;

    if (m->status != PFC_STATUS_OK || m->exact || m->blocks_len < 6 || m->samples_len < 12)
        return pfc_err_set(err, PFC_EINVAL,
                           "%s on %s: want at least 6 launches and 12 samples, got %zu and %zu",
                           m->benchmark, m->backend, m->blocks_len, m->samples_len);
    residuals = pfc_calloc(m->samples_len, sizeof(*residuals));
    medians = pfc_calloc(m->blocks_len, sizeof(*medians));
    a = pfc_calloc(m->blocks_len, sizeof(*a));
    b = pfc_calloc(m->blocks_len, sizeof(*b));
    for (size_t k = 0; k < m->blocks_len; k++) {
        medians[k] = pfc_stats_median(m->samples + at, m->blocks[k]);
        for (size_t i = 0; i < m->blocks[k]; i++)
            residuals[at + i] = log(m->samples[at + i] / medians[k]);
        at += m->blocks[k];
    }
    *out = (pfc_noise){ .within_rel = pfc_stats_mad(residuals, m->samples_len),
                        .autocorrelation = autocorrelation(residuals, m) };
    na = half(medians, m->blocks_len, 0, a);
    nb = half(medians, m->blocks_len, 1, b);
    out->between_rel =
        pfc_stats_mad(medians, m->blocks_len) / pfc_stats_median(medians, m->blocks_len);
    out->aa_rel = pfc_stats_median(b, nb) / pfc_stats_median(a, na) - 1.0;
    code = pfc_stats_compare(a, na, b, nb, NULL, &verdict, err);
    if (!code) {
        out->detectable_rel = verdict.detectable_rel;
        out->aa_different = verdict.verdict == PFC_VERDICT_DIFFERENT;
        out->pairs_1pct = pairs_for(out->within_rel, 0.01);
        out->pairs_half_pct = pairs_for(out->within_rel, 0.005);
        out->gates = out->detectable_rel <= PFC_NOISE_GATE_REL;
    }
    free(residuals);
    free(medians);
    free(a);
    free(b);
    return code;
}
