/* The two paired tests together. */
#include <math.h>

#include "core/stats/sequential.h"

static bool excluded(const pfc_seq *seq, const double *d, double rel_shift)
{
    return pfc_seq_symmetric_p(d, seq->d.n, log1p(rel_shift)) < seq->opts.alpha;
}

pfc_verdict pfc_seq_both_verdict(const pfc_seq *seq, const double *d, double *rel_change)
{
    const double margin = fmin(seq->opts.margin, 0.999);
    pfc_compare_result normal;

    pfc_seq_result(seq, &normal);
    *rel_change = normal.rel_change;
    if (normal.verdict != PFC_VERDICT_INCONCLUSIVE || seq->d.n < seq->opts.min_values)
        return normal.verdict;
    *rel_change = expm1(pfc_stats_median(d, seq->d.n));
    if (excluded(seq, d, 0))
        return PFC_VERDICT_DIFFERENT;
    return excluded(seq, d, margin) && excluded(seq, d, -margin) ? PFC_VERDICT_SAME
                                                                 : PFC_VERDICT_INCONCLUSIVE;
}

void pfc_seq_both(const pfc_seq *seq, const double *d, pfc_compare_result *out)
{
    const size_t n = seq->d.n;
    pfc_interval by_sign;
    double rel_low;
    double rel_high;
    double p;

    pfc_seq_result(seq, out);
    if (!n)
        return;
    out->verdict = pfc_seq_both_verdict(seq, d, &out->rel_change);
    by_sign = pfc_seq_symmetric_interval(d, n, seq->opts.alpha);
    p = pfc_seq_symmetric_p(d, n, 0);
    /* Its p need not fall evenly to both sides: what it does not exclude at 0 is no difference. */
    if (p >= seq->opts.alpha) {
        by_sign.low = fmin(by_sign.low, 0);
        by_sign.high = fmax(by_sign.high, 0);
    }
    out->p = fmin(PFC_SEQ_TESTS * fmin(out->p, p), 1);
    rel_low = fmax(out->rel_low, expm1(by_sign.low));
    rel_high = fmin(out->rel_high, expm1(by_sign.high));
    if (rel_low > rel_high)
        return; /* the shift itself changes over time: there is no common answer */
    out->rel_low = rel_low;
    out->rel_high = rel_high;
}
