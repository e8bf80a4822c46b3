/* Counts of comparisons, with the intervals that so few of them allow. */
#include <math.h>
#include <stdlib.h>

#include "bench/studies/interleaving/study.h"

/* P(Binomial(n, p) <= k), summed in logarithms. */
static double at_most(size_t k, size_t n, double p)
{
    double sum = 0.0;

    if (p <= 0.0 || k >= n)
        return 1.0;
    if (p >= 1.0)
        return 0.0;
    for (size_t i = 0; i <= k; i++)
        sum +=
            exp(lgamma((double)n + 1.0) - lgamma((double)i + 1.0) - lgamma((double)(n - i) + 1.0) +
                (double)i * log(p) + (double)(n - i) * log1p(-p));
    return fmin(sum, 1.0);
}

/* By bisection. */
pfc_interval pfc_tally_share(size_t k, size_t n)
{
    pfc_interval out = { n ? (double)k / (double)n : (double)NAN, 0.0, 1.0 };
    double low[2] = { 0.0, 0.0 };
    double high[2] = { 1.0, 1.0 };

    for (int i = 0; n && i < 60; i++) {
        const double below = 0.5 * (low[0] + high[0]);
        const double above = 0.5 * (low[1] + high[1]);

        /* lower end: k or more would come with 2.5 %; upper end: k or fewer would */
        if (k > 0 && 1.0 - at_most(k - 1, n, below) < 0.025)
            low[0] = below;
        else
            high[0] = below;
        if (at_most(k, n, above) < 0.025)
            high[1] = above;
        else
            low[1] = above;
    }
    out.low = k > 0 ? low[0] : 0.0;
    out.high = k < n ? high[1] : 1.0;
    return out;
}

void pfc_tally_add(pfc_tally *t, const pfc_pair_result *p)
{
    const size_t i = t->done;

    t->seconds += p->seconds;
    if (p->status != PFC_STATUS_OK) {
        t->failed++;
        return;
    }
    t->pairs[i] = (double)p->pairs;
    t->noise[i] = p->noise_rel;
    t->change[i] = p->rel_change;
    t->preempted += p->preempted;
    t->done++;
    t->held += p->rel_low <= t->inject_rel && t->inject_rel <= p->rel_high;
    t->held_any += p->any_low <= t->inject_rel && t->inject_rel <= p->any_high;
    if (p->verdict == PFC_VERDICT_DIFFERENT) {
        t->different++;
        t->slower += p->rel_change > 0.0;
    } else if (p->verdict == PFC_VERDICT_SAME) {
        t->same++;
    } else {
        t->open++;
    }
}

void pfc_tally_shift(pfc_tally *t, const pfc_pair_result *p, double rel, size_t limit)
{
    const pfc_paired_opts opts = { .margin = 0.5 * rel };
    double *log_ratio = pfc_alloc(p->launches * sizeof(*log_ratio));
    pfc_paired_state state = PFC_PAIRED_MORE;
    pfc_interval at;
    size_t first = 0;
    size_t n = 0;
    double chance = 1.0;

    while (n < p->launches && (state == PFC_PAIRED_MORE || state == PFC_PAIRED_CONFIRM)) {
        log_ratio[n] = p->log_ratio[n] + log1p(rel);
        n++;
        state = pfc_paired_judge(log_ratio, n, first ? first : n, limit, &opts, &chance);
        if (state == PFC_PAIRED_CONFIRM)
            first = n;
    }
    if (n > 0) {
        at = pfc_paired_estimate(log_ratio, n, 0.95);
        t->shifted++;
        t->shifted_found += state == PFC_PAIRED_DIFFERENT && at.value > 0.0;
        t->shifted_held += at.low <= rel && rel <= at.high;
    }
    free(log_ratio);
}

void pfc_tally_clear(pfc_tally *t)
{
    free(t->benchmark);
    free(t->pairs);
    free(t->noise);
    free(t->change);
    *t = (pfc_tally){ 0 };
}

void pfc_tally_head(FILE *out)
{
    fprintf(out, "%-30s %8s %5s  %-26s %5s %5s %11s %7s %8s %6s %8s %6s\n", "benchmark", "injected",
            "runs", "called (95 % interval)", "same", "open", "pairs (90 %)", "noise %", "median %",
            "held %", "any held", "s each");
}

/* "Called": different without injected work is a false alarm, different and slower with it right.
 */
void pfc_tally_row(FILE *out, const pfc_tally *t)
{
    const size_t called = t->inject_rel > 0.0 ? t->slower : t->different;
    const pfc_interval share = pfc_tally_share(called, t->done);
    const double n = (double)PFC_MAX(t->done, 1);
    char text[40];
    char pairs[24];

    if (t->done == 0) {
        fprintf(out, "%-30s %7.2f%% %5s  (%zu of %zu failed)\n", t->benchmark,
                100.0 * t->inject_rel, "none", t->failed, t->wanted);
        return;
    }
    snprintf(text, sizeof(text), "%zu = %.1f %% [%.1f, %.1f]", called, 100.0 * share.value,
             100.0 * share.low, 100.0 * share.high);
    snprintf(pairs, sizeof(pairs), "%.0f (%.0f)", pfc_stats_median(t->pairs, t->done),
             pfc_stats_quantile(t->pairs, t->done, 0.9));
    fprintf(out, "%-30s %7.2f%% %5zu  %-26s %5zu %5zu %11s %7.2f %+8.3f %6.1f %8.1f %6.2f\n",
            t->benchmark, 100.0 * t->inject_rel, t->done, text, t->same, t->open, pairs,
            100.0 * pfc_stats_median(t->noise, t->done),
            100.0 * pfc_stats_median(t->change, t->done), 100.0 * (double)t->held / n,
            100.0 * (double)t->held_any / n, t->seconds / n);
    if (t->failed)
        fprintf(out, "%30s %zu of %zu failed\n", "", t->failed, t->done + t->failed);
}

void pfc_tally_json(FILE *out, const pfc_tally *t)
{
    const pfc_interval share =
        pfc_tally_share(t->inject_rel > 0.0 ? t->slower : t->different, t->done);

    if (t->done == 0) {
        fprintf(out,
                "{\"benchmark\":\"%s\",\"injected_rel\":%g,\"comparisons\":0,\"failed\":%zu}\n",
                t->benchmark, t->inject_rel, t->failed);
        return;
    }
    fprintf(out,
            "{\"benchmark\":\"%s\",\"injected_rel\":%g,\"comparisons\":%zu,\"different\":%zu,"
            "\"slower\":%zu,\"same\":%zu,\"inconclusive\":%zu,\"failed\":%zu,\"called\":%.6g,"
            "\"called_low\":%.6g,\"called_high\":%.6g,\"median_pairs\":%g,\"pairs_90\":%g,"
            "\"noise_rel\":%.6g,\"median_change_rel\":%.6g,\"held\":%zu,\"held_any\":%zu,"
            "\"shifted\":%zu,\"shifted_found\":%zu,\"shifted_held\":%zu,\"preempted\":%llu,"
            "\"seconds\":%.1f}\n",
            t->benchmark, t->inject_rel, t->done, t->different, t->slower, t->same, t->open,
            t->failed, share.value, share.low, share.high, pfc_stats_median(t->pairs, t->done),
            pfc_stats_quantile(t->pairs, t->done, 0.9), pfc_stats_median(t->noise, t->done),
            pfc_stats_median(t->change, t->done), t->held, t->held_any, t->shifted,
            t->shifted_found, t->shifted_held, (unsigned long long)t->preempted, t->seconds);
}
