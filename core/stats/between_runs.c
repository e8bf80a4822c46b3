/* How far runs of equal code differ, and what that leaves of a comparison. */
#include "core/stats/between_runs.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats/comparison_family.h"
#include "core/stats/dist.h"
#include "core/stats/sort.h"

#define ALPHA_DEFAULT     0.01
#define STEPS_PER_FREEDOM 10.0
#define FEW_FREEDOM       3.0 /* the tail is heavier without the launches' own test */

/* Share of the steps beyond the quantile; at least two: a change of the code, and back. */
#define TAIL         0.025
#define LEAST_BEYOND 2

static double step(const double *x)
{
    return fabs(log(x[1]) - log(x[0]));
}

pfc_between pfc_stats_between(const double *medians, size_t n)
{
    pfc_between out = { .sigma = (double)NAN };
    size_t steps = n ? n - 1 : 0, beyond;
    double *sorted, middle, far;

    if (n < PFC_BETWEEN_LEAST)
        return out;
    for (size_t i = 0; i < n; i++) {
        if (!(medians[i] > 0.0) || !isfinite(medians[i]))
            return out;
    }
    sorted = pfc_calloc(steps, sizeof(*sorted));
    for (size_t i = 0; i < steps; i++)
        sorted[i] = step(medians + i);
    pfc_stats_sort(sorted, steps);
    beyond = PFC_MAX((size_t)ceil(TAIL * (double)steps), (size_t)LEAST_BEYOND);
    middle = sorted[steps / 2] / pfc_stats_normal_quantile(0.75);
    far = sorted[steps - 1 - beyond] /
          pfc_stats_normal_quantile(1.0 - 0.5 * (double)beyond / (double)steps);
    free(sorted);
    /* A step is the difference of two runs. */
    out.sigma = PFC_MAX(middle, far) / sqrt(2.0);
    out.freedom = (double)steps / STEPS_PER_FREEDOM;
    return out;
}

void pfc_stats_compare_between(pfc_compare_result *r, const pfc_between *between, size_t runs_a,
                               size_t runs_b, double alpha, double margin)
{
    const double sigma = between->sigma * sqrt(1.0 / (double)PFC_MAX(runs_a, (size_t)1) +
                                               1.0 / (double)PFC_MAX(runs_b, (size_t)1));
    const double level = alpha > 0.0 ? alpha : ALPHA_DEFAULT;
    const double same = margin > 0.0 ? margin : PFC_COMPARE_MARGIN;
    const double change = log1p(r->rel_change);
    double half, p;

    if (!(sigma > 0.0) || !isfinite(change))
        return;
    half = sigma * pfc_stats_student_cut(level, between->freedom);
    p = pfc_stats_student_tail2(change / sigma, between->freedom / (r->few ? FEW_FREEDOM : 1.0));
    r->rel_low = PFC_MIN(r->rel_low, expm1(change - half));
    r->rel_high = PFC_MAX(r->rel_high, expm1(change + half));
    if (r->few) /* the test over launches cannot decide, whatever the launches are */
        r->verdict =
            r->rel_low >= -same && r->rel_high <= same ? PFC_VERDICT_SAME : PFC_VERDICT_DIFFERENT;
    /* Five launches a side reach 0.008 at best: over many rows that never decides, so the noise
     * between runs, which includes that of the launches, gives the p of what they have decided. */
    r->p = PFC_MAX(r->few || r->verdict == PFC_VERDICT_DIFFERENT ? p : PFC_MAX(r->p, p), PFC_P_MIN);
    if (r->verdict == PFC_VERDICT_DIFFERENT &&
        (p >= level || (r->rel_low <= 0.0 && r->rel_high >= 0.0)))
        r->verdict = PFC_VERDICT_INCONCLUSIVE;
    if (r->verdict == PFC_VERDICT_SAME && (r->rel_low < -same || r->rel_high > same))
        r->verdict = PFC_VERDICT_INCONCLUSIVE;
}
