/* When pairs are enough: two confirmations that share no sample. */
#include <math.h>
#include <stdlib.h>

#include "bench/harness/pairs.h"

#define MIN_LAUNCHES 8
#define MAX_LAUNCHES 24
#define ALPHA        0.01
#define MARGIN       0.005
#define LOOK_EVERY   2 /* launches */

static size_t at_least(const pfc_paired_opts *o)
{
    return o->min_launches ? o->min_launches : MIN_LAUNCHES;
}

static size_t at_most(const pfc_paired_opts *o)
{
    return PFC_MAX(o->max_launches ? o->max_launches : MAX_LAUNCHES, at_least(o));
}

static double margin_of(const pfc_paired_opts *o)
{
    return o->margin > 0.0 ? o->margin : MARGIN;
}

/* The launches of one confirmation as a paired comparison of 1 with their ratios. */
static bool look(const double *log_ratio, size_t n, const pfc_paired_opts *o,
                 pfc_compare_result *out)
{
    const pfc_compare_opts opts = { .alpha = o->alpha > 0.0 ? o->alpha : ALPHA,
                                    .margin = margin_of(o),
                                    .paired = true };
    double *ones = pfc_calloc(n, sizeof(*ones));
    double *ratio = pfc_calloc(n, sizeof(*ratio));
    pfc_code code;

    for (size_t i = 0; i < n; i++) {
        ones[i] = 1.0;
        ratio[i] = exp(log_ratio[i]);
    }
    code = pfc_stats_compare(ones, n, ratio, n, &opts, out, NULL);
    free(ones);
    free(ratio);
    return code == PFC_OK;
}

/* How often one set of n launches was looked at. */
static double looks(size_t n, const pfc_paired_opts *o)
{
    return n < at_least(o) ? 0.0 : 1.0 + floor((double)(n - at_least(o)) / LOOK_EVERY);
}

/* Beyond the margin as well as beyond chance: layout alone moves a kernel by some tenths. */
static bool shows(const pfc_compare_result *r, const pfc_paired_opts *o)
{
    return r->verdict == PFC_VERDICT_DIFFERENT && fabs(r->rel_change) > margin_of(o);
}

static pfc_paired_state confirm(const double *log_ratio, size_t n, size_t first,
                                const pfc_paired_opts *o, double *p)
{
    pfc_compare_result one = { 0 };
    pfc_compare_result two = { 0 };
    const size_t fresh = n - first;

    if (!look(log_ratio, first, o, &one) || !look(log_ratio + first, fresh, o, &two))
        return PFC_PAIRED_OPEN;
    if (fresh >= at_least(o) && (fresh - at_least(o)) % LOOK_EVERY == 0) {
        /* The same direction twice by chance: p1 * p2 / 2, each p over all its looks. */
        *p = fmin(1.0, looks(first, o) * one.p * looks(fresh, o) * two.p * 0.5);
        if (shows(&two, o) && (one.rel_change > 0.0) == (two.rel_change > 0.0))
            return PFC_PAIRED_DIFFERENT;
    }
    return fresh >= at_most(o) ? PFC_PAIRED_OPEN : PFC_PAIRED_MORE;
}

pfc_paired_state pfc_paired_judge(const double *log_ratio, size_t n, size_t first,
                                  const pfc_paired_opts *o, double *p)
{
    pfc_compare_result r = { 0 };

    if (first < n)
        return confirm(log_ratio, n, first, o, p);
    if (n < at_least(o) || (n - at_least(o)) % LOOK_EVERY != 0)
        return n >= at_most(o) ? PFC_PAIRED_OPEN : PFC_PAIRED_MORE;
    if (!look(log_ratio, n, o, &r))
        return PFC_PAIRED_OPEN;
    *p = fmin(1.0, looks(n, o) * r.p);
    if (r.verdict == PFC_VERDICT_SAME)
        return PFC_PAIRED_SAME;
    if (shows(&r, o))
        return PFC_PAIRED_CONFIRM;
    return n >= at_most(o) ? PFC_PAIRED_OPEN : PFC_PAIRED_MORE;
}
