/* "No regression" as a result: the interval of the ends' difference against the margin. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bisect/finding.h"
#include "core/bisect/remaining.h"

#include "tests/check/check.h"
#include "tests/core/analysis/session.h"
#include "tests/support/rounds.h"

static pfc_bisect_plan *plan_of(pfc_bisect_opts opts)
{
    pfc_bisect_plan *plan = NULL;
    pfc_err err = { 0 };

    opts.commits = 8;
    if (pfc_bisect_new(&plan, &opts, &err))
        pfc_die("%s", err.msg);
    return plan;
}

/* Values of an end: level times 1 + noise times fixed quantiles of the normal distribution. */
static void tell(pfc_bisect_plan *plan, size_t commit, double level, double noise, size_t n)
{
    pfc_err err = { 0 };

    for (size_t i = 0; i < n; i++) {
        /* Not in order of size, which would look like a machine that drifts. */
        const size_t k = i * (n % 7 ? 7 : 11) % n;
        const double u = ((double)k + 0.5) / (double)n;
        /* Logistic quantiles, scaled to a standard deviation of 1. */
        const double z = log(u / (1 - u)) * sqrt(3) / M_PI;

        if (pfc_bisect_add_run(plan, commit, 0, level * (1 + noise * z), &err))
            pfc_die("%s", err.msg);
    }
}

static pfc_finding finding_of(const pfc_bisect_opts *opts, double change, double noise, size_t n)
{
    pfc_bisect_plan *plan = plan_of(*opts);
    pfc_finding f;

    tell(plan, 0, 100, noise, n);
    tell(plan, 7, 100 * (1 + change), noise, n);
    pfc_bisect_finding_get(plan, &f);
    pfc_bisect_free(plan);
    return f;
}

Test(finding, a_true_change_below_the_step_is_not_reported_as_none)
{
    /* The case of the field: 1.8 % between the ends, an interval from below zero to above the
     * margin. */
    const pfc_bisect_opts opts = { .delta_rel = 0.05 };
    const pfc_finding f = finding_of(&opts, 0.018, 0.035, 8);

    cr_assert(f.known);
    cr_assert(epsilon_eq(dbl, f.margin, sqrt(1.05) - 1, 1e-9));
    cr_assert(lt(dbl, f.rel_low, 0));
    cr_assert(gt(dbl, f.rel_high, f.margin));
    cr_assert(not(f.within));
    cr_assert(gt(dbl, f.more_runs, 16));
    cr_assert(isfinite(f.more_runs));
}

Test(finding, more_runs_is_what_the_interval_needs)
{
    /* Equal ends: the half width falls with the square root, so four times the runs halve it. */
    const pfc_bisect_opts opts = { .margin = 0.01 };
    const pfc_finding f = finding_of(&opts, 0, 0.02, 16);
    const double half = log1p(f.rel_high);
    const double want = 2 * (16 * pow(half / log1p(0.01), 2) - 16);

    cr_assert(not(f.within));
    cr_assert(epsilon_eq(dbl, f.more_runs, want, 2.5), "%g, expected %g", f.more_runs, want);
    cr_assert(finding_of(&opts, 0, 0.02, 16 + (size_t)ceil(1.3 * f.more_runs / 2)).within);
}

Test(finding, only_the_worse_side_counts_in_either_direction)
{
    for (int higher = 0; higher < 2; higher++) {
        const pfc_bisect_opts opts = { .margin = 0.01, .higher_is_better = higher };
        const double worse = higher ? -1 : 1;
        const pfc_finding better = finding_of(&opts, -worse * 0.05, 0.005, 10);
        const pfc_finding same = finding_of(&opts, 0, 0.005, 10);
        const pfc_finding slower = finding_of(&opts, worse * 0.05, 0.005, 10);
        const pfc_finding open = finding_of(&opts, worse * 0.01, 0.005, 10);

        cr_assert(better.within);
        cr_assert(same.within);
        cr_assert(not(slower.within));
        cr_assert(not(open.within));
        cr_assert(eq(dbl, same.more_runs, 0));
        cr_assert(gt(dbl, open.more_runs, 0));
    }
}

Test(finding, the_margin_is_the_callers_then_half_of_the_step_then_half_of_what_a_run_shows)
{
    const pfc_bisect_opts given = { .margin = 0.004, .delta_rel = 0.10 };
    const pfc_bisect_opts step = { .delta_rel = 0.10 };
    const pfc_bisect_opts fall = { .delta_rel = -0.10, .higher_is_better = true };
    const pfc_bisect_opts quiet = { .noise_rel = 0.002 };
    const pfc_bisect_opts loud = { .noise_rel = 0.2 };
    pfc_finding f = finding_of(&given, 0, 0.002, 10);

    cr_assert(epsilon_eq(dbl, f.margin, 0.004, 1e-9));
    f = finding_of(&step, 0, 0.002, 10);
    cr_assert(epsilon_eq(dbl, f.margin, sqrt(1.1) - 1, 1e-9));
    f = finding_of(&fall, 0, 0.002, 10);
    cr_assert(epsilon_eq(dbl, f.margin, 1 / sqrt(0.9) - 1, 1e-9));
    f = finding_of(&quiet, 0, 0.002, 10);
    cr_assert(lt(dbl, f.margin, 0.004));
    cr_assert(gt(dbl, f.margin, 0.001));
    f = finding_of(&loud, 0, 0.2, 10);
    cr_assert(epsilon_eq(dbl, f.margin, PFC_FINDING_MARGIN_MOST, 1e-9));
}

Test(finding, without_noise_one_run_of_each_end_decides)
{
    for (int higher = 0; higher < 2; higher++) {
        const pfc_bisect_opts opts = { .noise_rel = 1e-6, .higher_is_better = higher };
        const double worse = higher ? -1 : 1;

        cr_assert(finding_of(&opts, 0, 0, 1).within);
        cr_assert(finding_of(&opts, -worse * 0.02, 0, 1).within);
        cr_assert(not(finding_of(&opts, worse * 0.001, 0, 1).within));
        cr_assert(eq(dbl, finding_of(&opts, 0, 0, 1).margin, 0));
    }
}

Test(finding, too_few_runs_are_none_and_say_how_many_are_missing)
{
    const pfc_bisect_opts opts = { .margin = 0.05 };
    const pfc_finding f = finding_of(&opts, 0, 0.001, 2);

    cr_assert(not(f.known));
    cr_assert(not(f.within));
    cr_assert(eq(dbl, f.more_runs, 4));
}

Test(finding, offsets_of_builds_cannot_be_averaged_away_without_relinking)
{
    pfc_bisect_opts opts = { .margin = 0.01, .layout_noise_rel = 0.02 };
    pfc_finding f = finding_of(&opts, 0, 0.002, 30);

    cr_assert(not(f.within));
    cr_assert(isinf(f.more_runs));
    opts.relink = true;
    f = finding_of(&opts, 0, 0.002, 30);
    cr_assert(not(f.within));
    cr_assert(isfinite(f.more_runs));
}

Test(finding, ratios_are_compared_with_one)
{
    const pfc_bisect_opts single = { .margin = 0.01 };
    const pfc_bisect_opts pairs = { .margin = 0.01, .paired = true };
    pfc_bisect_plan *plan = plan_of(pairs);
    pfc_finding f;

    tell(plan, 0, 1, 0.5, 4); /* does not change the level of the good commit, which is 1 */
    tell(plan, 7, 1, 0.005, 8);
    pfc_bisect_finding_get(plan, &f);
    cr_assert(f.within);
    cr_assert(epsilon_eq(dbl, f.rel_change, 0, 1e-3));
    pfc_bisect_free(plan);
    /* Of one end's scatter alone, the interval is narrower by the root of two. */
    cr_assert(gt(dbl, finding_of(&single, 0, 0.01, 40).rel_high,
                 1.2 * finding_of(&pairs, -0.99, 0.01, 40).rel_high));
}

/* ---- the search ---- */

static size_t verdicts(double change, pfc_bisect_opts opts, pfc_bisect_verdict verdict,
                       double noise, size_t sessions)
{
    static history h;
    size_t found = 0;

    for (size_t k = 0; k < sessions; k++) {
        outcome o;

        history_step(&h, 33, 16, change, noise);
        session_run(&h, opts, 5000 + k, &o);
        found += o.report.verdict == verdict;
        pfc_bisect_report_clear(&o.report);
    }
    return found;
}

/* A change of one and a half margins is none in at most 5 of 100 searches, whichever way is better.
 */
Test(finding, a_change_beyond_the_margin_is_hardly_ever_reported_as_none)
{
    const pfc_bisect_opts lower = { .noise_rel = 0.02, .delta_rel = 0.04 };
    const pfc_bisect_opts higher = { .noise_rel = 0.02,
                                     .delta_rel = -0.04,
                                     .higher_is_better = true };

    cr_assert(le(sz, verdicts(0.03, lower, PFC_BISECT_NO_REGRESSION, 0.02, PFC_ROUNDS(200)), 10));
    cr_assert(le(sz, verdicts(-0.03, higher, PFC_BISECT_NO_REGRESSION, 0.02, PFC_ROUNDS(200)), 10));
}

Test(finding, equal_and_better_ends_are_none_in_either_direction)
{
    const pfc_bisect_opts lower = { .noise_rel = 0.02, .delta_rel = 0.04 };
    const pfc_bisect_opts higher = { .noise_rel = 0.02,
                                     .delta_rel = -0.04,
                                     .higher_is_better = true };

    cr_assert(ge(sz, verdicts(0, lower, PFC_BISECT_NO_REGRESSION, 0.02, 100), 97));
    cr_assert(ge(sz, verdicts(0, higher, PFC_BISECT_NO_REGRESSION, 0.02, 100), 97));
    cr_assert(ge(sz, verdicts(-0.05, lower, PFC_BISECT_NO_REGRESSION, 0.02, 100), 97));
    cr_assert(ge(sz, verdicts(0.05, higher, PFC_BISECT_NO_REGRESSION, 0.02, 100), 97));
}

/* A margin that the default runs hardly show: open; a budget allows the runs that do. */
Test(finding, a_budget_that_is_given_may_be_used_for_the_evidence)
{
    static history h;
    pfc_bisect_opts opts = { .noise_rel = 0.01, .delta_rel = 0.04, .margin = 0.002 };
    size_t shown[2] = { 0, 0 };
    size_t runs[2] = { 0, 0 };

    history_step(&h, 8, 8, 0, 0.01);
    for (int given = 0; given < 2; given++) {
        opts.max_runs = given ? 2000 : 0;
        for (uint64_t seed = 0; seed < 4; seed++) {
            outcome o;

            session_run(&h, opts, seed, &o);
            shown[given] += o.report.verdict == PFC_BISECT_NO_REGRESSION;
            runs[given] = PFC_MAX(runs[given], o.report.runs);
            cr_assert(eq(sz, o.report.culprits_len, 0));
            pfc_bisect_report_clear(&o.report);
        }
    }
    cr_assert(le(sz, shown[0], 3));
    cr_assert(eq(sz, runs[0], 250)); /* the default budget of 8 commits: 100 + 50 log2 8 */
    cr_assert(eq(sz, shown[1], 4));
    cr_assert(gt(sz, runs[1], 250));
}

/* 40 runs of each end are more than equal ones need (37 at this noise): without a budget the search
 * ends, open. */
Test(finding, without_a_budget_the_search_ends_where_equal_ends_would_have)
{
    for (size_t most = 0; most <= 1000; most += 1000) {
        const pfc_bisect_opts opts = { .noise_rel = 0.02, .delta_rel = 0.04, .max_runs = most };
        pfc_bisect_plan *plan = plan_of(opts);
        pfc_bisect_step step;
        pfc_finding f;

        tell(plan, 0, 100, 0.02, 40);
        tell(plan, 7, 101.12, 0.02, 40);
        pfc_bisect_finding_get(plan, &f);
        cr_assert(not(f.within));
        pfc_bisect_next(plan, &step);
        cr_assert(eq(int, (int)step.act, most ? PFC_BISECT_MEASURE : PFC_BISECT_STOP));
        pfc_bisect_free(plan);
    }
}

Test(finding, a_budget_that_ends_before_the_evidence_is_open_and_estimates_it)
{
    const pfc_bisect_opts opts = { .noise_rel = 0.02, .delta_rel = 0.04, .max_runs = 10 };
    pfc_bisect_plan *plan = plan_of(opts);
    pfc_bisect_remaining left;
    pfc_bisect_report report;
    pfc_finding f;

    tell(plan, 0, 100, 0.02, 5);
    tell(plan, 7, 100.2, 0.02, 5);
    pfc_bisect_report_get(plan, &report);
    cr_assert(eq(int, (int)report.verdict, (int)PFC_BISECT_INCONCLUSIVE));
    pfc_bisect_report_clear(&report);
    pfc_bisect_remaining_get(plan, &left);
    pfc_bisect_finding_get(plan, &f);
    cr_assert(left.wants_more);
    cr_assert(left.budget_used);
    cr_assert(gt(dbl, left.none, 0.5));
    cr_assert(eq(dbl, left.runs, f.more_runs));
    pfc_bisect_free(plan);
}

Test(finding, is_said_in_one_sentence)
{
    pfc_finding f = { .known = true,
                      .rel_change = 0.018,
                      .rel_low = -0.0103,
                      .rel_high = 0.053,
                      .margin = 0.025,
                      .more_runs = 14 };
    pfc_buf text;

    pfc_buf_init(&text, 1024);
    pfc_finding_say(&f, &text);
    cr_assert(eq(str, (char *)pfc_buf_text(&text),
                 "+1.8 % (-1.0 % .. +5.3 %), margin 2.5 %; about 14 more runs expected"));
    pfc_buf_clear(&text);
    f.more_runs = (double)INFINITY;
    pfc_buf_init(&text, 1024);
    pfc_finding_say(&f, &text);
    cr_assert(not(zero(ptr, (void *)strstr(pfc_buf_text(&text), "no number of further runs"))));
    pfc_buf_clear(&text);
}
