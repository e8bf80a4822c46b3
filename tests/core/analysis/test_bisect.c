/*
 * The planner on clear cases: what it asks for, what it answers, what it refuses.
 */
#include <math.h>
#include <string.h>

#include "core/bisect/remaining.h"

#include "tests/check/check.h"
#include "tests/core/analysis/session.h"

static history h;

static const pfc_culprit *only(const outcome *o)
{
    cr_assert(eq(sz, o->report.culprits_len, 1));
    return &o->report.culprits[0];
}

static void expect_commit(const outcome *o, size_t commit)
{
    const pfc_culprit *c = only(o);
    cr_assert(eq(int, (int)o->report.verdict, (int)PFC_BISECT_FOUND));
    cr_assert(eq(sz, c->first, commit));
    cr_assert(eq(sz, c->last, commit));
}

/* ---- without noise ---- */

/* Two ends, ceil(log2 n) halvings, and at most one probe for each eighth of the range. */
Test(bisect, without_noise_every_place_is_found_exactly)
{
    for (size_t culprit = 1; culprit < 65; culprit++) {
        outcome o;
        history_step(&h, 65, culprit, 0.01, 0);
        session_run(&h, (pfc_bisect_opts){ .noise_rel = 1e-6 }, 1, &o);
        expect_commit(&o, culprit);
        cr_assert(epsilon_eq(dbl, o.report.culprits[0].rel_change, 0.01, 1e-9));
        cr_assert(le(sz, o.report.runs, 2 + 6 + 8));
        pfc_bisect_report_clear(&o.report);
    }
}

Test(bisect, without_noise_two_commits_need_two_runs)
{
    outcome o;
    history_step(&h, 2, 1, 0.01, 0);
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 1e-6 }, 1, &o);
    expect_commit(&o, 1);
    cr_assert(eq(sz, o.report.runs, 2));
    pfc_bisect_report_clear(&o.report);
}

Test(bisect, without_noise_equal_ends_are_no_regression)
{
    outcome o;
    history_step(&h, 100, 100, 0, 0);
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 1e-6 }, 1, &o);
    cr_assert(eq(int, (int)o.report.verdict, (int)PFC_BISECT_NO_REGRESSION));
    cr_assert(eq(sz, o.report.culprits_len, 0));
    cr_assert(eq(sz, o.report.runs, 2));
    pfc_bisect_report_clear(&o.report);
}

/* 3 % up at 30, back at 50, 0.1 % up at 70: a small step beside a large one, a repair between. */
Test(bisect, without_noise_all_steps_are_named_and_no_repair)
{
    outcome o;
    history_step(&h, 100, 30, 0.03, 0);
    for (size_t i = 50; i < 100; i++)
        h.level[i] = i < 70 ? 100 : 100.1;
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 1e-6 }, 1, &o);
    cr_assert(eq(int, (int)o.report.verdict, (int)PFC_BISECT_FOUND));
    cr_assert(eq(sz, o.report.culprits_len, 2));
    cr_assert(eq(sz, o.report.culprits[0].first, 30));
    cr_assert(eq(sz, o.report.culprits[1].first, 70));
    pfc_bisect_report_clear(&o.report);
}

Test(bisect, a_lower_throughput_is_the_regression)
{
    outcome o;
    history_step(&h, 40, 17, -0.05, 0);
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 1e-6, .higher_is_better = true }, 1, &o);
    expect_commit(&o, 17);
    cr_assert(epsilon_eq(dbl, o.report.culprits[0].rel_change, -0.05, 1e-9));
    pfc_bisect_report_clear(&o.report);

    /* The same history is an improvement where lower is better. */
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 1e-6 }, 1, &o);
    cr_assert(eq(int, (int)o.report.verdict, (int)PFC_BISECT_NO_REGRESSION));
    pfc_bisect_report_clear(&o.report);
}

/* ---- commits that cannot be measured ---- */

Test(bisect, commits_that_do_not_build_before_the_culprit_share_its_blame)
{
    outcome o;
    history_step(&h, 101, 60, 0.05, 0.001);
    for (size_t i = 55; i < 60; i++)
        h.broken[i] = true;
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.001, .delta_rel = 0.05 }, 1, &o);
    cr_assert(eq(int, (int)o.report.verdict, (int)PFC_BISECT_RANGE));
    cr_assert(eq(sz, only(&o)->first, 55));
    cr_assert(eq(sz, only(&o)->last, 60));
    cr_assert(eq(sz, o.asked_broken, 0));
    pfc_bisect_report_clear(&o.report);
}

/* A third of the history in one stretch: it is jumped over, not walked through. */
Test(bisect, a_long_broken_stretch_is_jumped_over)
{
    outcome o;
    history_step(&h, 301, 250, 0.05, 0.001);
    for (size_t i = 100; i < 200; i++)
        h.broken[i] = true;
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.001, .delta_rel = 0.05 }, 1, &o);
    expect_commit(&o, 250);
    cr_assert(lt(sz, o.report.builds, 40));
    cr_assert(eq(sz, o.asked_broken, 0));
    pfc_bisect_report_clear(&o.report);
}

Test(bisect, nothing_between_the_ends_builds)
{
    outcome o;
    history_step(&h, 20, 7, 0.05, 0);
    for (size_t i = 1; i < 19; i++)
        h.broken[i] = true;
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.001 }, 1, &o);
    cr_assert(eq(int, (int)o.report.verdict, (int)PFC_BISECT_RANGE));
    cr_assert(eq(sz, only(&o)->first, 1));
    cr_assert(eq(sz, only(&o)->last, 19));
    pfc_bisect_report_clear(&o.report);
}

Test(bisect, an_end_that_does_not_build_leaves_it_open)
{
    outcome o;
    history_step(&h, 20, 7, 0.05, 0);
    h.broken[19] = true;
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.001 }, 1, &o);
    cr_assert(eq(int, (int)o.report.verdict, (int)PFC_BISECT_INCONCLUSIVE));
    cr_assert(eq(sz, o.report.culprits_len, 0));
    pfc_bisect_report_clear(&o.report);
}

Test(bisect, three_failures_in_a_row_give_a_commit_up_and_a_success_forgives)
{
    pfc_bisect_plan *plan = NULL;
    pfc_bisect_report report;
    pfc_err err = { 0 };
    const pfc_bisect_opts opts = { .commits = 3, .noise_rel = 1e-6 };

    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, 100, &err), PFC_OK));
    cr_assert(eq(int, pfc_bisect_add_run(plan, 2, 0, 110, &err), PFC_OK));
    pfc_bisect_add_failure(plan, 1);
    pfc_bisect_add_failure(plan, 1);
    cr_assert(eq(int, pfc_bisect_add_run(plan, 1, 0, 100, &err), PFC_OK));
    pfc_bisect_add_failure(plan, 1);
    pfc_bisect_report_get(plan, &report);
    cr_assert(eq(int, (int)report.verdict, (int)PFC_BISECT_FOUND));
    cr_assert(eq(sz, report.culprits[0].first, 2));
    cr_assert(eq(sz, report.runs, 6));
    pfc_bisect_report_clear(&report);
    pfc_bisect_free(plan);

    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, &err), PFC_OK));
    cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, 100, &err), PFC_OK));
    cr_assert(eq(int, pfc_bisect_add_run(plan, 2, 0, 110, &err), PFC_OK));
    for (int i = 0; i < 3; i++)
        pfc_bisect_add_failure(plan, 1);
    pfc_bisect_report_get(plan, &report);
    cr_assert(eq(int, (int)report.verdict, (int)PFC_BISECT_RANGE));
    cr_assert(eq(sz, report.culprits[0].first, 1));
    cr_assert(eq(sz, report.culprits[0].last, 2));
    pfc_bisect_report_clear(&report);
    pfc_bisect_free(plan);
}

Test(bisect, a_run_over_its_time_counts_as_slow)
{
    outcome o;
    history_step(&h, 64, 23, 0.05, 0.002);
    for (size_t i = 23; i < 63; i++)
        h.hangs[i] = true;
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.002, .delta_rel = 0.05 }, 1, &o);
    expect_commit(&o, 23);
    pfc_bisect_report_clear(&o.report);

    /* The bad commit itself times out. */
    h.hangs[63] = true;
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.002 }, 1, &o);
    expect_commit(&o, 23);
    pfc_bisect_report_clear(&o.report);
}

/* ---- what is refused ---- */

static void refused(pfc_bisect_opts opts, const char *field)
{
    pfc_bisect_plan *plan = NULL;
    pfc_err err = { 0 };
    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, &err), PFC_EINVAL));
    cr_assert(eq(ptr, plan, NULL));
    cr_assert(eq(str, err.field, (char *)field));
    cr_assert(ne(chr, err.msg[0], '\0'));
}

Test(bisect, senseless_options_are_refused_by_name)
{
    const double none[] = { 0, 1, 0, 1 };
    const double nan_weight[] = { 0, 1, NAN, 1 };
    refused((pfc_bisect_opts){ .commits = 1 }, "commits");
    refused((pfc_bisect_opts){ .commits = PFC_BISECT_MAX_COMMITS + 1 }, "commits");
    refused((pfc_bisect_opts){ .commits = 4, .confidence = 0.2 }, "confidence");
    refused((pfc_bisect_opts){ .commits = 4, .confidence = 1 }, "confidence");
    refused((pfc_bisect_opts){ .commits = 4, .confidence = NAN }, "confidence");
    refused((pfc_bisect_opts){ .commits = 4, .noise_rel = -0.1 }, "noise_rel");
    refused((pfc_bisect_opts){ .commits = 4, .noise_rel = NAN }, "noise_rel");
    refused((pfc_bisect_opts){ .commits = 4, .layout_noise_rel = -1 }, "layout_noise_rel");
    refused((pfc_bisect_opts){ .commits = 4, .delta_rel = -1 }, "delta_rel");
    refused((pfc_bisect_opts){ .commits = 4, .delta_rel = INFINITY }, "delta_rel");
    refused((pfc_bisect_opts){ .commits = 4, .build_cost = -1 }, "build_cost");
    refused((pfc_bisect_opts){ .commits = 4, .max_runs = PFC_BISECT_MAX_RUNS + 1 }, "max_runs");
    refused((pfc_bisect_opts){ .commits = 4, .prior = none }, "prior");
    refused((pfc_bisect_opts){ .commits = 4, .prior = nan_weight }, "prior");
}

Test(bisect, senseless_values_are_refused_and_change_nothing)
{
    const pfc_bisect_opts opts = { .commits = 4, .noise_rel = 0.01 };
    const double bad[] = { 0, -1, NAN, INFINITY };
    pfc_bisect_plan *plan = NULL;
    pfc_bisect_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, &err), PFC_OK));
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, bad[i], &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_bisect_add_run(plan, 4, 0, 1, &err), PFC_EINVAL));
    pfc_bisect_skip(plan, 4);
    pfc_bisect_add_failure(plan, 1000);
    pfc_bisect_add_timeout(plan, 1000);
    pfc_bisect_report_get(plan, &report);
    cr_assert(eq(sz, report.runs, 0));
    cr_assert(eq(sz, report.builds, 0));
    cr_assert(eq(int, (int)report.verdict, (int)PFC_BISECT_INCONCLUSIVE));
    pfc_bisect_report_clear(&report);
    pfc_bisect_free(plan);
    pfc_bisect_free(NULL);
}

/* ---- the posterior ---- */

Test(bisect, before_any_run_the_posterior_is_the_prior)
{
    const double weights[] = { 0, 1, 2, 1 };
    const pfc_bisect_opts opts = { .commits = 4, .prior = weights };
    pfc_bisect_plan *plan = NULL;
    double p[4];

    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, NULL), PFC_OK));
    pfc_bisect_posterior(plan, p);
    cr_assert(eq(dbl, p[0], 0));
    cr_assert(epsilon_eq(dbl, p[1] + p[2] + p[3], 1, 1e-12));
    /* 5 % of the prior is spread evenly. */
    cr_assert(epsilon_eq(dbl, p[2], 0.95 / 2 + 0.05 / 3, 1e-12));
    pfc_bisect_free(plan);
}

Test(bisect, runs_move_the_posterior_to_the_side_that_they_show)
{
    const pfc_bisect_opts opts = { .commits = 101, .noise_rel = 0.01, .delta_rel = 0.05 };
    pfc_bisect_plan *plan = NULL;
    double p[101];
    double left = 0;
    double right = 0;

    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, NULL), PFC_OK));
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, 100 + 0.3 * i, NULL), PFC_OK));
        cr_assert(eq(int, pfc_bisect_add_run(plan, 100, 0, 105 + 0.3 * i, NULL), PFC_OK));
    }
    cr_assert(eq(int, pfc_bisect_add_run(plan, 50, 0, 105.2, NULL), PFC_OK));
    cr_assert(eq(int, pfc_bisect_add_run(plan, 50, 0, 104.9, NULL), PFC_OK));
    pfc_bisect_posterior(plan, p);
    for (size_t i = 0; i < 101; i++) {
        cr_assert(ge(dbl, p[i], 0));
        *(i <= 50 ? &left : &right) += p[i];
    }
    cr_assert(gt(dbl, left, 0.98));
    cr_assert(lt(dbl, right, 0.05));
    pfc_bisect_free(plan);
}

Test(bisect, fewer_runs_are_expected_the_more_is_known)
{
    const pfc_bisect_opts opts = { .commits = 257, .noise_rel = 0.01, .delta_rel = 0.04 };
    pfc_bisect_plan *plan = NULL;
    double first;

    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, NULL), PFC_OK));
    first = pfc_bisect_expected_runs(plan);
    /* Four standard deviations apart: 9.3 runs are the information bound, both levels known. */
    cr_assert(gt(dbl, first, 9.3));
    cr_assert(lt(dbl, first, 40));
    cr_assert(eq(dbl, pfc_bisect_expected_runs(plan), first));
    for (int i = 0; i < 4; i++) {
        cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, 100 + 0.2 * i, NULL), PFC_OK));
        cr_assert(eq(int, pfc_bisect_add_run(plan, 256, 0, 104 + 0.2 * i, NULL), PFC_OK));
        cr_assert(eq(int, pfc_bisect_add_run(plan, 100, 0, 100 + 0.2 * i, NULL), PFC_OK));
        cr_assert(eq(int, pfc_bisect_add_run(plan, 110, 0, 104 + 0.2 * i, NULL), PFC_OK));
    }
    cr_assert(lt(dbl, pfc_bisect_expected_runs(plan), first));
    pfc_bisect_free(plan);
}

/* ---- a budget that ends ---- */

/* 33 commits, two ends and one halving measured: the step is in the upper 16, every one as
 * likely. */
Test(bisect, a_budget_that_ends_leaves_candidates_and_says_how_many_runs_more)
{
    pfc_bisect_plan *plan = NULL;
    pfc_bisect_remaining left;
    pfc_bisect_report report;
    pfc_buf text;
    pfc_err err = { 0 };
    size_t runs = 0;
    double needed = 0;

    history_step(&h, 33, 20, 0.10, 0);
    cr_assert(
        eq(int,
           pfc_bisect_new(
               &plan, &(pfc_bisect_opts){ .commits = 33, .noise_rel = 1e-6, .max_runs = 3 }, &err),
           PFC_OK));
    for (pfc_bisect_step next;; runs++) {
        pfc_bisect_next(plan, &next);
        if (next.act == PFC_BISECT_STOP)
            break;
        cr_assert(
            eq(int, pfc_bisect_add_run(plan, next.commit, 0, h.level[next.commit], &err), PFC_OK));
    }
    cr_assert(eq(sz, runs, 3));
    pfc_bisect_remaining_get(plan, &left);
    cr_assert(left.wants_more && left.budget_used);
    cr_assert(eq(sz, left.budget, 3));
    cr_assert(eq(sz, left.candidates, 16));
    cr_assert(epsilon_eq(dbl, left.probability, 1.0 / 16, 1e-9));
    for (size_t culprit = 17; culprit <= 32; culprit++) {
        outcome o;
        history_step(&h, 33, culprit, 0.10, 0);
        session_run(&h, (pfc_bisect_opts){ .noise_rel = 1e-6 }, 1, &o);
        needed += (double)(o.report.runs - 3) / 16;
        pfc_bisect_report_clear(&o.report);
    }
    /* A mean over a few plays against the mean over all sixteen. */
    cr_assert(epsilon_eq(dbl, left.runs, needed, 1.5), "%g, needed %g", left.runs, needed);
    pfc_bisect_report_get(plan, &report);
    cr_assert(eq(int, (int)report.verdict, (int)PFC_BISECT_INCONCLUSIVE));
    cr_assert(not(report.culprits[0].unmeasurable));
    pfc_bisect_report_clear(&report);
    pfc_buf_init(&text, 1000);
    pfc_bisect_remaining_say(&left, 3, "0123456789abcdef", 4.2, &text);
    cr_assert(
        eq(str, (char *)pfc_buf_text(&text),
           "Budget of 3 runs used; 16 candidates remain; most likely 0123456789ab (probability "
           "0.06); 5 more runs expected."));
    pfc_buf_clear(&text);
    pfc_bisect_free(plan);
}

/* Commits between that do not build are the other case: the answer is a set, and no run is
 * missing. */
Test(bisect, commits_that_cannot_be_measured_are_no_matter_of_budget)
{
    pfc_bisect_plan *plan = NULL;
    pfc_bisect_remaining left;
    pfc_bisect_report report;
    pfc_err err = { 0 };

    cr_assert(
        eq(int,
           pfc_bisect_new(
               &plan, &(pfc_bisect_opts){ .commits = 5, .noise_rel = 1e-6, .max_runs = 2 }, &err),
           PFC_OK));
    for (size_t i = 1; i < 4; i++)
        pfc_bisect_skip(plan, i);
    cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, 100, &err), PFC_OK));
    cr_assert(eq(int, pfc_bisect_add_run(plan, 4, 0, 110, &err), PFC_OK));
    pfc_bisect_remaining_get(plan, &left);
    cr_assert(not(left.wants_more));
    cr_assert(eq(dbl, left.runs, 0));
    /* The budget's last run has decided it: the answer counts. */
    pfc_bisect_report_get(plan, &report);
    cr_assert(eq(int, (int)report.verdict, (int)PFC_BISECT_RANGE));
    cr_assert(report.culprits[0].unmeasurable);
    pfc_bisect_report_clear(&report);
    pfc_bisect_free(plan);
}

/* 0.6 + 0.3 + 0.09 reach 99 %. */
Test(bisect, the_credible_set_is_the_fewest_commits_that_hold_the_confidence)
{
    const double p[] = { 0, 0.09, 0.6, 0.004, 0.3, 0.006 };
    const double none[] = { 0, 0 };
    size_t best = 0;

    cr_assert(eq(sz, pfc_bisect_credible(p, 6, 0.99, &best), 3));
    cr_assert(eq(sz, best, 2));
    cr_assert(eq(sz, pfc_bisect_credible(p, 6, 1, &best), 5));
    cr_assert(eq(sz, pfc_bisect_credible(none, 2, 0.99, &best), 0));
}
