/* When pairs are enough: two confirmations that share no sample. */
#include <math.h>
#include <stdlib.h>

#include "bench/harness/pairs/pairs.h"
#include "core/stats/sequential.h"

#define MIN_LAUNCHES 8
#define ALPHA        0.01
#define MARGIN       0.005

static double alpha_of(const pfc_paired_opts *o)
{
    return o->alpha > 0.0 ? o->alpha : ALPHA;
}

static double margin_of(const pfc_paired_opts *o)
{
    return o->margin > 0.0 ? o->margin : MARGIN;
}

pfc_interval pfc_paired_estimate(const double *log_ratio, size_t n, double level)
{
    const pfc_compare_opts opts = { .alpha = 1.0 - level, .paired = true };
    double *ones = pfc_calloc(n, sizeof(*ones));
    double *ratio = pfc_calloc(n, sizeof(*ratio));
    pfc_compare_result r = { 0 };

    for (size_t i = 0; i < n; i++) {
        ones[i] = 1.0;
        ratio[i] = exp(log_ratio[i]);
    }
    if (pfc_stats_compare(ones, n, ratio, n, &opts, &r, NULL))
        r.rel_change = r.rel_low = r.rel_high = NAN;
    free(ones);
    free(ratio);
    return (pfc_interval){ r.rel_change, r.rel_low, r.rel_high };
}

/* The change must exceed the margin as well as chance, because layout alone moves a kernel by some
 * tenths of a per cent. */
static bool shows(const double *log_ratio, size_t n, const pfc_paired_opts *o, double p)
{
    return p < alpha_of(o) && fabs(expm1(pfc_stats_median(log_ratio, n))) > margin_of(o);
}

/* Everything beyond the margin, either way, is excluded. */
static bool same(const double *log_ratio, size_t n, const pfc_paired_opts *o)
{
    const double margin = log1p(margin_of(o));

    return n >= (o->min_launches ? o->min_launches : MIN_LAUNCHES) &&
           fabs(pfc_stats_median(log_ratio, n)) < margin &&
           pfc_seq_symmetric_p(log_ratio, n, margin) < alpha_of(o) &&
           pfc_seq_symmetric_p(log_ratio, n, -margin) < alpha_of(o);
}

static pfc_paired_state confirm(const double *log_ratio, size_t n, size_t first, size_t limit,
                                const pfc_paired_opts *o, double *p)
{
    const double *fresh = log_ratio + first;
    const double p_fresh = pfc_seq_symmetric_p(fresh, n - first, 0.0);
    const bool up = pfc_stats_median(log_ratio, first) > 0.0;

    /* Each is the reciprocal of the wealth of a bet on fair coins. Wealths of consecutive bets
     * multiply. */
    *p = fmax(pfc_seq_symmetric_p(log_ratio, first, 0.0) * p_fresh, PFC_P_MIN);
    if (shows(fresh, n - first, o, p_fresh) && (pfc_stats_median(fresh, n - first) > 0.0) == up)
        return PFC_PAIRED_DIFFERENT;
    return n >= limit ? PFC_PAIRED_OPEN : PFC_PAIRED_MORE;
}

pfc_paired_state pfc_paired_judge(const double *log_ratio, size_t n, size_t first, size_t limit,
                                  const pfc_paired_opts *o, double *p)
{
    if (first < n)
        return confirm(log_ratio, n, first, limit, o, p);
    *p = pfc_seq_symmetric_p(log_ratio, n, 0.0);
    if (n < limit && shows(log_ratio, n, o, *p))
        return PFC_PAIRED_CONFIRM;
    if (same(log_ratio, n, o))
        return PFC_PAIRED_SAME;
    return n >= limit ? PFC_PAIRED_OPEN : PFC_PAIRED_MORE;
}
