/* Is b another speed than a? Yes, no, or not known yet: three answers, never two. */
#include <math.h>
#include <stdlib.h>

#include "core/stats/comparison_family.h"
#include "core/stats/dist.h"
#include "core/stats/ranktest.h"
#include "core/stats/sort.h"
#include "core/stats/stats.h"

#define ALPHA_DEFAULT   0.01
#define POWER           0.8
#define RANK_EFFICIENCY 1.0233 /* sqrt(pi / 3): a rank test needs this much more than a z test */
#define MORE_MOST       1e5
/* limit of the pairs whose Walsh averages are stored, which bounds the memory to 16 MB */
#define WALSH_MAX       2000

static pfc_code check_side(const char *name, const double *x, size_t n, pfc_err *err)
{
    if (n < 1 || n > PFC_STATS_MAX_SAMPLES)
        return pfc_err_set_field(err, PFC_EINVAL, name, "side %s: expected 1..%d values, got %zu",
                                 name, PFC_STATS_MAX_SAMPLES, n);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0.0) || !isfinite(x[i]))
            return pfc_err_set_field(err, PFC_EINVAL, name,
                                     "side %s: expected finite values above 0, value %zu is %g",
                                     name, i, x[i]);
    }
    return PFC_OK;
}

static pfc_code check_opts(const pfc_compare_opts *opts, size_t na, size_t nb, pfc_err *err)
{
    if (!(opts->alpha >= 0.0 && opts->alpha < 1.0))
        return pfc_err_set_field(err, PFC_EINVAL, "alpha", "alpha: expected 0..1, got %g",
                                 opts->alpha);
    if (!(opts->margin >= 0.0 && isfinite(opts->margin)))
        return pfc_err_set_field(err, PFC_EINVAL, "margin", "margin: expected at least 0, got %g",
                                 opts->margin);
    if (opts->paired && na != nb)
        return pfc_err_set_field(err, PFC_EINVAL, "paired",
                                 "paired sides: expected as many values each, got %zu and %zu", na,
                                 nb);
    return PFC_OK;
}

static double relative_noise(const double *log_x, size_t n)
{
    return n < 2 ? 0.0 : expm1(pfc_stats_mad(log_x, n));
}

/* Hodges-Lehmann estimate of paired differences: the median of all Walsh averages. */
static pfc_interval paired_shift(const double *d, size_t n, double alpha, bool *reached)
{
    size_t used = PFC_MIN(n, (size_t)WALSH_MAX);
    size_t len = 0;
    double *walsh = pfc_calloc(used * (used + 1) / 2, sizeof *walsh);
    /* Above the limit only every n/used-th pair is used, because the averages grow with the square
     * of n. */
    for (size_t i = 0; i < used; i++) {
        for (size_t j = i; j < used; j++)
            walsh[len++] = 0.5 * d[i * n / used] + 0.5 * d[j * n / used];
    }
    pfc_stats_sort(walsh, len);
    double cut = pfc_signed_rank_cut(used, 0.5 * alpha);
    size_t low = cut >= 1.0 ? (size_t)cut - 1 : 0;
    *reached = cut >= 1.0;
    pfc_interval out = { .value = 0.5 * walsh[(len - 1) / 2] + 0.5 * walsh[len / 2],
                         .low = walsh[low],
                         .high = walsh[len - 1 - low] };
    free(walsh);
    return out;
}

static void compare_exact(const double *a, size_t na, const double *b, size_t nb,
                          pfc_compare_result *out)
{
    double change = pfc_stats_median(b, nb) / pfc_stats_median(a, na) - 1.0;
    bool differ = change != 0.0;
    out->rel_change = out->rel_low = out->rel_high = change;
    out->verdict = differ ? PFC_VERDICT_DIFFERENT : PFC_VERDICT_SAME;
    out->p = differ ? 0.0 : 1.0;
}

static pfc_verdict judge(const pfc_interval *shift, double p, double alpha, double margin)
{
    double low = expm1(shift->low);
    double high = expm1(shift->high);
    if (low >= -margin && high <= margin)
        return PFC_VERDICT_SAME;
    if (p < alpha && (low > 0.0 || high < 0.0))
        return PFC_VERDICT_DIFFERENT;
    return PFC_VERDICT_INCONCLUSIVE;
}

static double detectable(double noise_a, size_t na, double noise_b, size_t nb, double alpha)
{
    double z = pfc_stats_normal_quantile(1.0 - 0.5 * alpha) + pfc_stats_normal_quantile(POWER);
    double se = sqrt(noise_a * noise_a / (double)na + noise_b * noise_b / (double)nb);
    return expm1(RANK_EFFICIENCY * z * se);
}

static pfc_code compare_noisy(const double *la, size_t na, const double *lb, size_t nb, bool paired,
                              double alpha, double margin, pfc_compare_result *out, pfc_err *err)
{
    pfc_interval shift = { 0 };
    bool reached = false;
    pfc_code code = PFC_OK;
    double mad_a = pfc_stats_mad(la, na);
    double mad_b = pfc_stats_mad(lb, nb);
    out->noise_rel = PFC_MAX(relative_noise(la, na), relative_noise(lb, nb));
    out->detectable_rel = detectable(mad_a, na, mad_b, nb, alpha);
    if (paired) {
        double *d = pfc_calloc(na, sizeof *d);
        for (size_t i = 0; i < na; i++)
            d[i] = lb[i] - la[i];
        out->p = pfc_signed_rank_p(d, na);
        out->detectable_rel = detectable(pfc_stats_mad(d, na), na, 0.0, na, alpha);
        shift = paired_shift(d, na, alpha, &reached);
        free(d);
    } else {
        out->p = pfc_ranktest_p(la, na, lb, nb, NULL);
        reached = pfc_ranktest_cut(na, nb, 0.5 * alpha) >= 1.0;
        code = pfc_stats_shift(la, na, lb, nb, 1.0 - alpha, &shift, err);
    }
    out->rel_change = expm1(shift.value);
    out->rel_low = expm1(shift.low);
    out->rel_high = expm1(shift.high);
    out->few = !reached || na < 3 || nb < 3;
    out->verdict = out->few ? PFC_VERDICT_INCONCLUSIVE : judge(&shift, out->p, alpha, margin);
    return code;
}

double pfc_stats_more_values(double rel_change, double rel_low, double rel_high, size_t n,
                             size_t least, double margin)
{
    const double change = fabs(log1p(rel_change));
    const double half =
        PFC_MAX(log1p(rel_high) - log1p(rel_change), log1p(rel_change) - log1p(rel_low));
    /* The wider of the two ways out needs fewer values. */
    const double want = PFC_MAX(log1p(margin) - change, change);
    double more;
    if (n < least || !isfinite(half))
        return n < least ? (double)(least - n) : (double)INFINITY;
    more = ceil((double)n * (half / want) * (half / want)) - (double)n;
    return more > MORE_MOST ? (double)INFINITY : PFC_MAX(more, 1.0);
}

pfc_code pfc_stats_compare(const double *a, size_t na, const double *b, size_t nb,
                           const pfc_compare_opts *opts, pfc_compare_result *out, pfc_err *err)
{
    static const pfc_compare_opts defaults = { 0 };
    if (!opts)
        opts = &defaults;
    pfc_code code = check_side("a", a, na, err);
    if (!code)
        code = check_side("b", b, nb, err);
    if (!code)
        code = check_opts(opts, na, nb, err);
    if (code)
        return code;
    pfc_compare_result result = { .p = 1.0 };
    if (opts->exact) {
        compare_exact(a, na, b, nb, &result);
        *out = result;
        return PFC_OK;
    }
    double *la = pfc_calloc(na, sizeof *la);
    double *lb = pfc_calloc(nb, sizeof *lb);
    for (size_t i = 0; i < na; i++)
        la[i] = log(a[i]);
    for (size_t i = 0; i < nb; i++)
        lb[i] = log(b[i]);
    code =
        compare_noisy(la, na, lb, nb, opts->paired, opts->alpha > 0.0 ? opts->alpha : ALPHA_DEFAULT,
                      opts->margin > 0.0 ? opts->margin : PFC_COMPARE_MARGIN, &result, err);
    free(la);
    free(lb);
    if (!code)
        *out = result;
    return code;
}
