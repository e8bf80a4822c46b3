/* Compares the counts with the documented error rates, one line each. */
#include <math.h>

#include "bench/studies/interleaving/study.h"

#define HELD_LOW  0.93
#define HELD_HIGH 0.97

/* A share that shall be at most `limit`. */
static const char *at_most_text(pfc_interval share, double limit)
{
    if (share.value <= limit)
        return "kept";
    return share.low <= limit ? "more than stated, but chance can explain it" : "BROKEN";
}

static const char *coverage_text(pfc_interval share)
{
    if (share.value >= HELD_LOW && share.value <= HELD_HIGH)
        return "as stated (93 to 97 %)";
    if (share.high < HELD_LOW)
        return "TOO NARROW (stated: 93 to 97 %)";
    if (share.low > HELD_HIGH)
        return "too wide (stated: 93 to 97 %)";
    return "beside 93 to 97 %, but chance can explain it";
}

static void percent(FILE *out, size_t k, size_t n, pfc_interval share)
{
    fprintf(out, "%zu of %zu = %.2f %% [%.2f, %.2f]", k, n, 100.0 * share.value, 100.0 * share.low,
            100.0 * share.high);
}

static void coverage_line(FILE *out, const char *what, size_t held, size_t n, bool json,
                          bool *broken)
{
    const pfc_interval share = pfc_tally_share(held, n);

    if (n == 0)
        return;
    *broken = *broken || share.high < HELD_LOW;
    if (json) {
        fprintf(out, "{\"summary\":\"coverage\",\"of\":\"%s\",\"intervals\":%zu,\"held\":%zu}\n",
                what, n, held);
        return;
    }
    fprintf(out, "95 %% intervals, %s: ", what);
    percent(out, held, n, share);
    fprintf(out, " held the truth: %s\n", coverage_text(share));
}

static void alarms_line(FILE *out, const pfc_tally *sum, bool json, bool *broken)
{
    const pfc_interval share = pfc_tally_share(sum->different, sum->done);

    *broken = *broken || share.low > PFC_STUDY_LEVEL;
    if (json) {
        fprintf(out, "{\"summary\":\"false alarms\",\"comparisons\":%zu,\"called\":%zu}\n",
                sum->done, sum->different);
        return;
    }
    fprintf(out, "false alarms, a build with itself: ");
    percent(out, sum->different, sum->done, share);
    fprintf(out, ", stated at most 1 %%: %s\n", at_most_text(share, PFC_STUDY_LEVEL));
}

static void found_line(FILE *out, const pfc_study_opts *o, const pfc_tally *sum, bool json)
{
    if (json) {
        fprintf(out,
                "{\"summary\":\"found\",\"injected_rel\":%g,\"comparisons\":%zu,\"called\":%zu}\n",
                sum->inject_rel, sum->done, sum->slower);
        return;
    }
    fprintf(out, "found, %g %% more work: ", 100.0 * sum->inject_rel);
    percent(out, sum->slower, sum->done, pfc_tally_share(sum->slower, sum->done));
    fprintf(out, " within %lld pairs\n", (long long)o->max_pairs);
}

static void add(pfc_tally *sum, const pfc_tally *t)
{
    sum->inject_rel = t->inject_rel;
    sum->done += t->done;
    sum->different += t->different;
    sum->slower += t->slower;
    sum->held += t->held;
    sum->shifted += t->shifted;
    sum->shifted_found += t->shifted_found;
    sum->shifted_held += t->shifted_held;
}

bool pfc_study_verdict(const pfc_study_opts *o, const pfc_tally *tallies, size_t len, FILE *out)
{
    pfc_tally aa = { 0 };
    pfc_tally ab = { 0 };
    bool broken = false;

    for (size_t i = 0; i < len; i++)
        add(tallies[i].inject_rel > 0.0 ? &ab : &aa, &tallies[i]);
    if (aa.done) {
        alarms_line(out, &aa, o->json, &broken);
        coverage_line(out, "a build with itself", aa.held, aa.done, o->json, &broken);
    }
    if (aa.shifted) {
        char what[80];

        snprintf(what, sizeof(what), "those launches with %g %% added (found in %zu)",
                 100.0 * o->inject_rel, aa.shifted_found);
        coverage_line(out, what, aa.shifted_held, aa.shifted, o->json, &broken);
    }
    if (ab.done) {
        found_line(out, o, &ab, o->json);
        coverage_line(out, "injected work", ab.held, ab.done, o->json, &broken);
    }
    return !broken;
}

bool pfc_study_verdict_modelled(const pfc_tally *tallies, size_t len, FILE *out)
{
    size_t low = 0;
    size_t high = 0;
    double moved = 0.0;
    bool fine = true;

    for (size_t i = 0; i < len; i++) {
        const pfc_tally *t = &tallies[i];
        const pfc_interval share = pfc_tally_share(t->held, t->done);

        low = tallies[low].held > t->held ? i : low;
        high = tallies[high].held < t->held ? i : high;
        fine = fine && share.high >= HELD_LOW;
        if (t->drifts)
            moved = fmax(moved, fabs(pfc_stats_median(t->change, t->done) - t->inject_rel));
    }
    fprintf(out, "95 %% intervals held the truth in %.1f %% (%s) to %.1f %% (%s) of %zu: %s\n",
            100.0 * (double)tallies[low].held / (double)tallies[low].done, tallies[low].benchmark,
            100.0 * (double)tallies[high].held / (double)tallies[high].done,
            tallies[high].benchmark, tallies[low].done,
            fine ? "as stated (93 to 97 %)" : "TOO NARROW (stated: 93 to 97 %)");
    fprintf(out,
            "a drift of 5 %% over the comparison moved the estimate by %.3f %%, stated below "
            "0.3 %%: %s\n",
            100.0 * moved, moved < 0.003 ? "kept" : "BROKEN");
    return fine && moved < 0.003;
}
