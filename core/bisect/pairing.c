/*
 * Units of pairs, and the check whether a machine needs them.
 */
#include "core/bisect/pairing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/stats.h"

#define MAD_TO_SD    1.4826
#define SPREAD_UNITS 3    /* units, the current one included, that give the spread of two pairs */
#define DISAGREE     4.0  /* standard deviations of the first two pairs' difference */
#define TINY         1e-4 /* a difference within the resolution of a clock */

#define OUTLIER       6.0  /* standard deviations: of normal noise one in half a billion */
#define OUTLIERS      2    /* a single one may be an accident */
#define OUTLIER_SHARE 0.08 /* from this share on, outliers cost more runs than pairs do */
#define RUNS_LEAST    8
#define STEP_SHARE    0.25 /* a run that is off by a smaller share of the step does not hide it */
#define CORR_PAIRS    14
#define CORR_LEAST    0.3
#define CORR_Z        2.6

/* ---- units ---- */

bool pfc_pairing_reference_next(const pfc_pairing *p)
{
    const bool second = p->runs % 2 == 1;
    const bool turned = p->runs / 2 % 2 == 1;

    return second != turned;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of two spreads the lower one: the larger may include a change of speed. */
static double tolerance(const pfc_pairing *p)
{
    double *sorted = pfc_calloc(p->len, sizeof *sorted);
    double middle;

    memcpy(sorted, p->spreads, p->len * sizeof *sorted);
    qsort(sorted, p->len, sizeof *sorted, ascending);
    middle = sorted[(p->len - 1) / 2];
    free(sorted);
    return p->len < SPREAD_UNITS ? (double)INFINITY : fmax(DISAGREE * MAD_TO_SD * middle, TINY);
}

/* d ascending. */
static bool any_two_agree(const double *d, size_t n, double within)
{
    for (size_t i = 1; i < n; i++)
        if (d[i] - d[i - 1] <= within)
            return true;
    return false;
}

bool pfc_pairing_add_value(pfc_pairing *p, double value, pfc_pairing_unit *out)
{
    const size_t at = p->runs / 2;
    double d[PFC_PAIRING_MOST];
    size_t pairs;

    (pfc_pairing_reference_next(p) ? p->reference : p->x)[at] = log(value);
    pairs = ++p->runs / 2;
    if (p->runs % 2 == 1 || pairs < PFC_PAIRING_PAIRS)
        return false;
    for (size_t i = 0; i < pairs; i++)
        d[i] = p->x[i] - p->reference[i];
    if (pairs == PFC_PAIRING_PAIRS) {
        p->spreads = pfc_grow(p->spreads, p->len, &p->cap, sizeof *p->spreads);
        p->spreads[p->len++] = fabs(d[0] - d[1]);
    }
    qsort(d, pairs, sizeof d[0], ascending);
    /* An even number of pairs that disagree has no reliable median. */
    if (p->len < SPREAD_UNITS && pairs == PFC_PAIRING_PAIRS)
        return false;
    if (pairs < PFC_PAIRING_MOST &&
        ((pairs % 2 == 0 && pairs > PFC_PAIRING_PAIRS) || !any_two_agree(d, pairs, tolerance(p))))
        return false;
    *out = (pfc_pairing_unit){
        .pairs = pairs,
        .ratio = exp(pairs % 2 ? d[pairs / 2] : 0.5 * (d[pairs / 2 - 1] + d[pairs / 2])),
        .has_still = pairs == PFC_PAIRING_PAIRS,
        .still = exp((p->reference[1] - p->reference[0]) / sqrt(2)),
    };
    p->runs = 0;
    return true;
}

void pfc_pairing_drop(pfc_pairing *p)
{
    /* Its spread stays, if it had two pairs. */
    p->runs = 0;
}

void pfc_pairing_clear(pfc_pairing *p)
{
    free(p->spreads);
    *p = (pfc_pairing){ 0 };
}

/* ---- the check ---- */

/* Residuals of the logarithms about the median of the group, NAN for groups of one run; returns
 * their number. Two runs have one residual, and of three the median itself has none. */
static size_t residuals(const pfc_noise_run *runs, size_t len, double *out, double *scratch)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        size_t n = 0;
        size_t before = 0;

        for (size_t k = 0; k < len; k++) {
            if (runs[k].group != runs[i].group)
                continue;
            before += k < i;
            scratch[n++] = log(runs[k].value);
        }
        out[i] = log(runs[i].value) - pfc_stats_median(scratch, n);
        if (n == 2)
            out[i] *= sqrt(2);
        if (n == 1 || (n == 2 && before == 0) || (n == 3 && !(fabs(out[i]) > 0)))
            out[i] = (double)NAN;
        count += isnan(out[i]) ? 0 : 1;
    }
    return count;
}

static double correlation(const double *r, size_t len, bool *sure)
{
    double product = 0;
    double square = 0;
    double corr;
    size_t pairs = 0;

    for (size_t i = 1; i < len; i++) {
        if (isnan(r[i]) || isnan(r[i - 1]))
            continue;
        product += r[i] * r[i - 1];
        square += (r[i] * r[i] + r[i - 1] * r[i - 1]) / 2;
        pairs++;
    }
    if (pairs < CORR_PAIRS || !(square > 0))
        return 0;
    corr = product / square;
    *sure = corr > CORR_LEAST && corr * sqrt((double)pairs) > CORR_Z;
    return corr;
}

pfc_noise_check pfc_noise_check_runs(const pfc_noise_run *runs, size_t len, double step)
{
    double *r = pfc_calloc(len + 1, sizeof *r);
    double *scratch = pfc_calloc(len + 1, sizeof *scratch);
    pfc_noise_check check = { .runs = residuals(runs, len, r, scratch) };
    bool sure = false;
    double limit;
    size_t n = 0;

    if (check.runs < RUNS_LEAST)
        goto done;
    for (size_t i = 0; i < len; i++)
        if (!isnan(r[i]))
            scratch[n++] = fabs(r[i]);
    limit = fmax(fmax(OUTLIER * MAD_TO_SD * pfc_stats_median(scratch, n), STEP_SHARE * fabs(step)),
                 TINY);
    for (size_t i = 0; i < n; i++) {
        check.outliers += scratch[i] > limit;
        check.farthest = fmax(check.farthest, scratch[i]);
    }
    check.correlation = correlation(r, len, &sure);
    check.has_states =
        (check.outliers >= OUTLIERS && (double)check.outliers >= OUTLIER_SHARE * (double)n) ||
        (sure && check.farthest > fmax(STEP_SHARE * fabs(step), TINY));
    check.farthest = expm1(check.farthest);

done:
    free(scratch);
    free(r);
    return check;
}
