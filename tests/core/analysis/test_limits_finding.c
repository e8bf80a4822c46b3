/* Limits of the finding of a bisection, and what is said of it. */
#include <math.h>
#include <string.h>

#include "core/bisect/model/margin.h"
#include "core/bisect/plan.h"
#include "core/bisect/remaining.h"

#include "tests/check/check.h"

static pfc_bisect_plan *plan_of(pfc_bisect_opts opts)
{
    pfc_bisect_plan *plan = NULL;
    pfc_err err = { 0 };

    opts.commits = opts.commits ? opts.commits : 8;
    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, &err), PFC_OK), "%s", err.msg);
    return plan;
}

static void tell(pfc_bisect_plan *plan, size_t commit, double value)
{
    cr_assert(eq(int, pfc_bisect_add_run(plan, commit, 0, value, NULL), PFC_OK));
}

/* ---- the finding ---- */

static pfc_finding finding(double bad, double margin, bool higher, bool paired, size_t n)
{
    pfc_bisect_plan *plan = plan_of(
        (pfc_bisect_opts){ .margin = margin, .higher_is_better = higher, .paired = paired });
    pfc_finding f;

    for (size_t i = 0; i < n; i++) {
        tell(plan, 0, paired ? 1 : 100);
        tell(plan, 7, bad);
    }
    pfc_bisect_finding_get(plan, &f);
    pfc_bisect_free(plan);
    return f;
}

/* Equal values a side: the interval is a point, within the margin when it is on it. Better is
 * always within. */
Test(limits_finding, a_finding_is_within_its_margin_up_to_it)
{
    for (int higher = 0; higher < 2; higher++) {
        for (int paired = 0; paired < 2; paired++) {
            const double bad = (paired ? 1 : 100) * (higher ? 1 / 1.04 : 1.04);
            const double at = expm1(fabs(log(bad) - log(paired ? 1 : 100)));
            const double good = (paired ? 1 : 100) * (higher ? 1.04 : 1 / 1.04);

            cr_assert(finding(bad, at * (1 + 1e-9), higher, paired, 8).within);
            cr_assert(not(finding(bad, at * (1 - 1e-9), higher, paired, 8).within));
            cr_assert(finding(good, 1e-6, higher, paired, 8).within);
            cr_assert(epsilon_eq(dbl, finding(bad, at, higher, paired, 8).rel_change,
                                 higher ? 1 / 1.04 - 1 : 0.04, 1e-9));
        }
    }
}

/* Four runs of either end are the fewest of which ranks give 95 % (2 / C(8, 4) = 1 / 35), six
 * ratios (2 / 64). */
Test(limits_finding, a_finding_needs_four_runs_of_either_end_or_six_ratios)
{
    for (size_t n = 1; n < 8; n++) {
        const pfc_finding single = finding(100, 0.01, false, false, n);
        const pfc_finding pairs = finding(1, 0.01, false, true, n);

        cr_assert(eq(int, single.known, n >= 4));
        cr_assert(eq(int, pairs.known, n >= 6));
        if (n < 4)
            cr_assert(eq(dbl, single.more_runs, 2.0 * (4 - (double)n)));
        if (n < 6)
            cr_assert(eq(dbl, pairs.more_runs, 6 - (double)n));
        cr_assert(eq(int, isnan(single.rel_low), n < 4));
    }
}

/* 37 (sd / margin)^2 runs of either end, half of that of ratios, with sd = noise / 0.87; none
 * once it is decided. */
Test(limits_finding, more_runs_pay_up_to_the_number_that_equal_ends_need)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .margin = 0.01 });
    plan_node nodes[] = { { .len = 50 }, { .commit = 7, .len = 90 } };
    pfc_finding f = { .known = true, .margin = expm1(0.02), .more_runs = 5 };

    plan->model.input = &plan->input;
    plan->model.chain = (plan_chain){ .nodes = nodes, .len = 2 };
    plan->model.scales.noise = 0.87 * 0.02;
    for (size_t n = 36; n <= 37; n++) {
        nodes[0].len = n;
        cr_assert(eq(int, plan_finding_pays(&plan->model, &f), n < 37));
    }
    nodes[0].len = 90;
    nodes[1].len = 37;
    cr_assert(not(plan_finding_pays(&plan->model, &f)));
    nodes[1].len = 36;
    cr_assert(plan_finding_pays(&plan->model, &f));
    plan->input.opts.paired = true;
    nodes[0].len = 1;
    nodes[1].len = 18;
    cr_assert(plan_finding_pays(&plan->model, &f));
    nodes[1].len = 19;
    cr_assert(not(plan_finding_pays(&plan->model, &f)));
    f.known = false;
    cr_assert(plan_finding_pays(&plan->model, &f));
    f.known = true;
    plan->input.opts.max_runs = 1;
    cr_assert(plan_finding_pays(&plan->model, &f));
    f.more_runs = 0;
    cr_assert(not(plan_finding_pays(&plan->model, &f)));
    f.more_runs = (double)INFINITY;
    cr_assert(not(plan_finding_pays(&plan->model, &f)));
    memset(&plan->model, 0, sizeof plan->model);
    pfc_bisect_free(plan);
}

/* ---- what is said ---- */

Test(limits_finding, a_credible_set_ends_where_its_confidence_is_met)
{
    static const double p[] = { 0, 0.25, 0.5, 0.125, 0.125 };
    static const double none[] = { 0, 0 };
    size_t at = 9;

    cr_assert(eq(sz, pfc_bisect_credible(p, 5, 0.5, &at), 1));
    cr_assert(eq(sz, at, 2));
    cr_assert(eq(sz, pfc_bisect_credible(p, 5, 0.501, &at), 2));
    cr_assert(eq(sz, pfc_bisect_credible(p, 5, 0.75, &at), 2));
    cr_assert(eq(sz, pfc_bisect_credible(p, 5, 0.875, &at), 3));
    cr_assert(eq(sz, pfc_bisect_credible(p, 5, 1, &at), 4));
    cr_assert(eq(sz, pfc_bisect_credible(none, 2, 0.9, &at), 0));
    cr_assert(eq(sz, at, 0));
}

static void check_said(const pfc_bisect_remaining *r, double runs, const char *want)
{
    pfc_buf text;

    pfc_buf_init(&text, 1024);
    pfc_bisect_remaining_say(r, 40, "0123456789abcdef", runs, &text);
    cr_assert(eq(str, (char *)pfc_buf_text(&text), (char *)want));
    pfc_buf_clear(&text);
}

Test(limits_finding, what_remains_is_said_with_its_numbers)
{
    pfc_bisect_remaining r = { .candidates = 12, .probability = 0.41, .none = 0.5 };

    check_said(&r, 9,
               "Budget of 40 runs used; 12 candidates remain; most likely 0123456789ab "
               "(probability 0.41); 9 more runs expected.");
    r.candidates = 1;
    check_said(&r, 0.2,
               "Budget of 40 runs used; 1 candidate remains; most likely 0123456789ab "
               "(probability 0.41); 1 more run expected.");
    r.none = 0.51;
    check_said(&r, 2.01,
               "Budget of 40 runs used; no regression shown so far (probability of none "
               "0.51); 3 more runs expected.");
}

static void check_finding(pfc_finding f, const char *want)
{
    pfc_buf text;

    pfc_buf_init(&text, 1024);
    pfc_finding_say(&f, &text);
    cr_assert(eq(str, (char *)pfc_buf_text(&text), (char *)want));
    pfc_buf_clear(&text);
}

Test(limits_finding, a_finding_is_said_with_its_numbers)
{
    pfc_finding f = { .known = true,
                      .rel_change = -0.00094,
                      .rel_low = -0.00096,
                      .rel_high = 0,
                      .margin = 0.005,
                      .within = true };

    check_finding(f, "-0.094 % (-0.1 % .. +0.0 %), margin 0.5 %");
    f.margin = 0;
    check_finding(f, "-0.094 %, without noise");
    f.within = false;
    f.more_runs = 1;
    check_finding(f, "-0.094 %, without noise; about 1 more run expected");
    f.known = false;
    f.more_runs = 2;
    check_finding(f, "an amount that too few runs show; about 2 more runs expected");
    f.more_runs = (double)INFINITY;
    check_finding(f, "an amount that too few runs show; no number of further runs is likely to "
                     "decide it");
}

Test(limits_finding, verdicts_have_their_names)
{
    cr_assert(eq(str, (char *)pfc_bisect_verdict_name(PFC_BISECT_FOUND), "found"));
    cr_assert(eq(str, (char *)pfc_bisect_verdict_name(PFC_BISECT_RANGE), "range"));
    cr_assert(eq(str, (char *)pfc_bisect_verdict_name(PFC_BISECT_NO_REGRESSION), "no-regression"));
    cr_assert(eq(str, (char *)pfc_bisect_verdict_name(PFC_BISECT_INCONCLUSIVE), "inconclusive"));
}
