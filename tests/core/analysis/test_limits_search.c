/* Limits of a bisection: options, budgets, places, noise and step of the model. */
#include <math.h>
#include <string.h>

#include "core/bisect/plan.h"
#include "core/stats/stats.h"

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

/* ---- options ---- */

Test(limits_search, options_have_their_limits)
{
    static const double good[] = { -1, 1, 1e-9, 5 }, zero[] = { 1, 1, 0, 1 },
                        nan_last[] = { 1, 1, 1, (double)NAN };
    static const struct {
        pfc_bisect_opts opts;
        const char *field;
    } rows[] = {
        { { .commits = 1 }, "commits" },
        { { .commits = 2 }, NULL },
        { { .commits = PFC_BISECT_MAX_COMMITS }, NULL },
        { { .commits = PFC_BISECT_MAX_COMMITS + 1 }, "commits" },
        { { .commits = 4, .max_runs = PFC_BISECT_MAX_RUNS }, NULL },
        { { .commits = 4, .max_runs = PFC_BISECT_MAX_RUNS + 1 }, "max_runs" },
        { { .commits = 4, .confidence = 0.5 }, NULL },
        { { .commits = 4, .confidence = 0.4999 }, "confidence" },
        { { .commits = 4, .confidence = 0.9999 }, NULL },
        { { .commits = 4, .confidence = 1 }, "confidence" },
        { { .commits = 4, .confidence = (double)NAN }, "confidence" },
        { { .commits = 4, .delta_rel = -1 }, "delta_rel" },
        { { .commits = 4, .delta_rel = -0.999 }, NULL },
        { { .commits = 4, .delta_rel = 1e6 }, NULL },
        { { .commits = 4, .delta_rel = 1.0001e6 }, "delta_rel" },
        { { .commits = 4, .delta_rel = (double)NAN }, "delta_rel" },
        { { .commits = 4, .noise_rel = 10 }, NULL },
        { { .commits = 4, .noise_rel = 10.01 }, "noise_rel" },
        { { .commits = 4, .noise_rel = -1e-9 }, "noise_rel" },
        { { .commits = 4, .layout_noise_rel = 10 }, NULL },
        { { .commits = 4, .layout_noise_rel = 10.01 }, "layout_noise_rel" },
        { { .commits = 4, .layout_noise_rel = -1e-9 }, "layout_noise_rel" },
        { { .commits = 4, .margin = 10 }, NULL },
        { { .commits = 4, .margin = 10.01 }, "margin" },
        { { .commits = 4, .margin = (double)NAN }, "margin" },
        { { .commits = 4, .run_cost = 1e9 }, NULL },
        { { .commits = 4, .run_cost = 1.0001e9 }, "run_cost" },
        { { .commits = 4, .build_cost = 1e9 }, NULL },
        { { .commits = 4, .build_cost = -1 }, "build_cost" },
        { { .commits = 4, .checkout_cost = 1e9 }, NULL },
        { { .commits = 4, .checkout_cost = (double)INFINITY }, "checkout_cost" },
        { { .commits = 4, .prior = good }, NULL },
        { { .commits = 4, .prior = zero }, "prior" },
        { { .commits = 4, .prior = nan_last }, "prior" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_bisect_plan *plan = NULL;
        pfc_err err = { 0 };

        cr_assert(eq(int, (int)pfc_bisect_new(&plan, &rows[i].opts, &err),
                     rows[i].field ? PFC_EINVAL : PFC_OK),
                  "row %zu", i);
        if (rows[i].field)
            cr_assert(eq(str, (char *)err.field, (char *)rows[i].field));
        pfc_bisect_free(plan);
    }
    pfc_bisect_free(NULL);
}

/* 100 + 50 log2 of the commits; noise of one in a hundred thousand is none, unless builds
 * differ. */
Test(limits_search, budgets_confidence_and_exactness_by_hand)
{
    static const size_t budgets[][2] = {
        { 2, 150 }, { 3, 179 }, { 8, 250 }, { 1024, 600 }, { 100000, 930 }
    };
    static const struct {
        double noise, layout;
        bool exact;
    } rows[] = {
        { 1e-5, 0, true }, { 1.001e-5, 0, false }, { 0, 0, false }, { 1e-9, 1e-9, false }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(budgets); i++) {
        pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .commits = budgets[i][0] });

        cr_assert(eq(sz, plan_budget(&plan->input), budgets[i][1]));
        cr_assert(eq(dbl, plan_confidence(&plan->input), 0.99));
        cr_assert(eq(dbl, plan->input.opts.run_cost, 1));
        pfc_bisect_free(plan);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .noise_rel = rows[i].noise,
                                                           .layout_noise_rel = rows[i].layout,
                                                           .confidence = 0.7,
                                                           .max_runs = 33 });

        cr_assert(eq(int, plan_is_exact(&plan->input), rows[i].exact));
        cr_assert(plan_budget(&plan->input) == 33 && plan_confidence(&plan->input) == 0.7);
        pfc_bisect_free(plan);
    }
}

/* 95 % of the prior as given, 5 % evenly; the first commit's weight is not used. */
Test(limits_search, a_prior_is_a_pull_and_five_per_cent_evenly)
{
    static const double prior[] = { 1e300, 1e300, 2e300, 1e300, 4e300 };
    static const double even[] = { 0, 0.25, 0.25, 0.25, 0.25 };
    static const double want[] = { 0, 0.125, 0.25, 0.125, 0.5 };

    for (int given = 0; given < 2; given++) {
        pfc_bisect_plan *plan =
            plan_of((pfc_bisect_opts){ .commits = 5, .prior = given ? prior : NULL });
        double p[5];

        pfc_bisect_posterior(plan, p);
        for (size_t i = 0; i < 5; i++)
            cr_assert(
                epsilon_eq(dbl, p[i], given && i ? 0.95 * want[i] + 0.05 * 0.25 : even[i], 1e-12));
        pfc_bisect_free(plan);
    }
}

Test(limits_search, reported_values_have_their_limits)
{
    static const double bad[] = { 0, -1, (double)NAN, (double)INFINITY };
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .commits = 8 });
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_bisect_add_run(plan, 8, 0, 1, &err), PFC_EINVAL));
    cr_assert(eq(str, (char *)err.field, "commit"));
    for (size_t i = 0; i < 4; i++) {
        cr_assert(eq(int, pfc_bisect_add_run(plan, 7, 0, bad[i], &err), PFC_EINVAL));
        cr_assert(eq(str, (char *)err.field, "value"));
    }
    pfc_bisect_skip(plan, 8);
    pfc_bisect_add_failure(plan, 8);
    pfc_bisect_add_timeout(plan, 8);
    cr_assert(plan->seen.spent == 0 && plan->seen.unmeasurable_len == 0 && plan->seen.len == 0);
    /* Three failures in a row; a skip counts once. */
    pfc_bisect_add_failure(plan, 3);
    pfc_bisect_add_failure(plan, 3);
    cr_assert(plan->seen.spent == 2 && !plan->seen.unmeasurable[3]);
    tell(plan, 3, 1);
    pfc_bisect_add_failure(plan, 3);
    pfc_bisect_add_failure(plan, 3);
    cr_assert(not(plan->seen.unmeasurable[3]));
    pfc_bisect_add_failure(plan, 3);
    cr_assert(plan->seen.unmeasurable[3] && plan->seen.unmeasurable_len == 1 &&
              plan->seen.spent == 6);
    pfc_bisect_skip(plan, 3);
    cr_assert(eq(sz, plan->seen.unmeasurable_len, 1));
    while (plan->seen.len < PFC_BISECT_MAX_RUNS)
        tell(plan, 7, 1);
    cr_assert(eq(int, pfc_bisect_add_run(plan, 7, 0, 1, &err), PFC_ETOOBIG));
    pfc_bisect_add_timeout(plan, 7);
    cr_assert(eq(sz, plan->seen.len, PFC_BISECT_MAX_RUNS));
    pfc_bisect_free(plan);
}

/* ---- places ---- */

Test(limits_search, a_place_avoids_what_is_broken)
{
    static const struct {
        size_t a, b, want;
        const char *broken; /* of commits 0..19 */
        size_t at;
    } rows[] = {
        { 4, 5, 4, "....................", 0 },   { 4, 6, 0, "....................", 5 },
        { 4, 10, 4, "....................", 5 },  { 4, 10, 12, "....................", 9 },
        { 4, 10, 7, "....................", 7 },  { 4, 10, 7, ".......x............", 6 },
        { 0, 19, 9, ".........x..........", 10 }, { 0, 19, 8, "........x...........", 9 },
        { 0, 19, 9, "........xxx.........", 13 }, { 0, 19, 12, "...........xxx......", 8 },
        { 0, 19, 3, "........xxx.........", 3 },  { 0, 19, 15, "........xxx.........", 15 },
        { 0, 19, 2, ".xxx................", 6 },  { 0, 6, 3, ".xxxxx..............", 0 },
        { 0, 6, 3, ".x.xxx..............", 2 },   { 0, 6, 5, ".x.xxx..............", 2 },
        { 0, 6, 2, ".xxx.x..............", 4 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .commits = 20 });

        for (size_t k = 0; k < 20; k++)
            plan->seen.unmeasurable[k] = rows[i].broken[k] == 'x';
        cr_assert(eq(sz, plan_pick(&plan->seen, rows[i].a, rows[i].b, rows[i].want), rows[i].at),
                  "row %zu", i);
        pfc_bisect_free(plan);
    }
}

/* Even weights of 10 gaps: a share of 0.5 of (2, 8] is reached at 5, of a hair more at 6. */
Test(limits_search, a_quantile_is_the_first_commit_that_reaches_its_share)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .commits = 11 });

    cr_assert(eq(sz, plan_quantile(&plan->input, 2, 8, 0.499), 5));
    cr_assert(eq(sz, plan_quantile(&plan->input, 2, 8, 0.501), 6));
    cr_assert(eq(sz, plan_quantile(&plan->input, 2, 8, 0), 3));
    cr_assert(eq(sz, plan_quantile(&plan->input, 2, 8, 1), 8));
    cr_assert(eq(sz, plan_quantile(&plan->input, 2, 3, 0.5), 3));
    pfc_bisect_free(plan);
}

/* ---- the model ---- */

/* With one run of each commit nothing is learnt of noise: what is known times 0.87 stays. The
 * step looked for is what was seen, or 2.5 of the noise; the smallest that counts 1.3 of noise
 * and layout, within 0.36 and 0.7 of it. */
Test(limits_search, noise_step_and_smallest_step_by_hand)
{
    static const struct {
        double noise, layout, delta, step, smallest;
    } rows[] = {
        { 0.01, 0, 0, 2.5 * 0.0087, 1.3 * 0.0087 },
        { 0.01, 0, 0.05, 0.04879016416943204, 0.36 * 0.04879016416943204 },
        { 0.01, 0, -0.05, 0.05129329438755058, 0.36 * 0.05129329438755058 },
        { 0.03, 0, 0.05, 0.04879016416943204, 1.3 * 0.0261 },
        { 0.05, 0, 0.05, 0.04879016416943204, 0.7 * 0.04879016416943204 },
        { 0.01, 0.02, 0.05, 0.04879016416943204, 1.3 * 0.021810318 },
        { 2e-5, 0, 0, 1e-4, 0.36e-4 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .noise_rel = rows[i].noise,
                                                           .layout_noise_rel = rows[i].layout,
                                                           .delta_rel = rows[i].delta });

        tell(plan, 0, 100);
        tell(plan, 7, 100);
        (void)plan_fitted(plan);
        cr_assert(epsilon_eq(dbl, plan->model.scales.noise, 0.87 * rows[i].noise, 1e-12), "row %zu",
                  i);
        cr_assert(epsilon_eq(dbl, plan->model.scales.step, rows[i].step, 1e-9), "row %zu", i);
        cr_assert(epsilon_eq(dbl, plan->model.scales.smallest, rows[i].smallest, 1e-7),
                  "row %zu: %g", i, plan->model.scales.smallest);
        cr_assert(eq(dbl, plan->model.scales.layout, rows[i].layout));
        cr_assert(eq(dbl, plan->model.further_weight, 0.30));
        cr_assert(not(plan->model.scales.drift));
        /* The grid: a fifth of the noise, from three deviations and a fifth of a step below. */
        const double wide = hypot(plan->model.scales.noise, rows[i].layout);
        const double low = log(100) * (rows[i].delta < 0 ? -1 : 1) - 3 * wide - 0.2 * rows[i].step;
        const double span = 2 * (3 * wide + 0.2 * rows[i].step);

        cr_assert(epsilon_eq(dbl, plan->model.grid.low, low, 1e-9), "row %zu", i);
        cr_assert(epsilon_eq(dbl, plan->model.grid.pitch,
                             fmax(0.2 * plan->model.scales.noise, span / 159), 1e-12));
        pfc_bisect_free(plan);
    }
}

/* Nothing is known of the noise: a sixth of the ends' difference, at least 1e-4, counts for half
 * a run. */
Test(limits_search, noise_comes_from_the_runs_of_each_commit)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .commits = 4 });

    tell(plan, 0, 100);
    tell(plan, 3, 106);
    (void)plan_fitted(plan);
    cr_assert(epsilon_eq(dbl, plan->model.scales.noise, log(1.06) / 6, 1e-12));
    pfc_bisect_free(plan);
    plan = plan_of((pfc_bisect_opts){ .commits = 4 });
    tell(plan, 0, 100);
    tell(plan, 3, 100);
    (void)plan_fitted(plan);
    cr_assert(epsilon_eq(dbl, plan->model.scales.noise, 1e-4, 1e-12));
    pfc_bisect_free(plan);
    /* Pairs d apart: each adds one degree, and the residuals' squares with the weights of t, 6 /
     * (5 + r^2 / s^2). */
    plan = plan_of((pfc_bisect_opts){ .commits = 4, .noise_rel = 0.01 });
    tell(plan, 0, exp(0.03));
    tell(plan, 0, exp(-0.03));
    tell(plan, 3, 1);
    (void)plan_fitted(plan);
    double noise = 0.0087;

    for (int i = 0; i < 12; i++) {
        const double r2 = 0.03 * 0.03;

        noise = sqrt((20 * 0.0087 * 0.0087 + 2 * r2 * 6 / (5 + r2 / (noise * noise))) / 21);
    }
    cr_assert(epsilon_eq(dbl, plan->model.scales.noise, noise, 1e-9));
    pfc_bisect_free(plan);
}

/* One over layout^2 + noise^2 / (runs + 1), less what is known. */
Test(limits_search, precision_of_another_run_by_hand)
{
    const plan_scales m = { .noise = 0.02, .layout = 0.01 };
    const plan_scales plain = { .noise = 0.02 };

    cr_assert(epsilon_eq(dbl, plan_precision(&m, 0), 1 / (1e-4 + 4e-4), 1e-6));
    cr_assert(
        epsilon_eq(dbl, plan_precision(&m, 3), 1 / (1e-4 + 1e-4) - 1 / (1e-4 + 4e-4 / 3), 1e-6));
    cr_assert(epsilon_eq(dbl, plan_precision(&plain, 5), 2500, 1e-6));
}

/* Sure where a step is at least 2.6 of the noise: eight stretches are looked into, else five. */
Test(limits_search, stretches_are_looked_into_from_an_eighth_or_a_fifth_on)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .commits = 41 });
    plan_node nodes[] = { { .commit = 0 }, { .commit = 8 }, { .commit = 17 }, { .commit = 40 } };
    plan_gap gaps[4] = { { 0 } };
    plan_jump jumps[4] = { { 0 } };
    size_t gap = 99;

    plan_model *m = &plan->model;

    m->input = &plan->input;
    m->seen = &plan->seen;
    m->chain = (plan_chain){ .nodes = nodes, .gaps = gaps, .len = 4 };
    m->posterior.jumps = jumps;
    plan->model.scales.noise = 0.03;
    plan->model.scales.layout = 0.04;
    plan->model.scales.step = 2.6 * 0.05;
    cr_assert(plan_is_clear(m) && plan_stretches(m) == 8);
    plan->model.scales.step *= 1 - 1e-9;
    cr_assert(eq(int, plan_is_clear(m), 0));
    cr_assert(eq(sz, plan_stretches(m), 5));
    /* 41 / 5 = 8: wider than 8. */
    cr_assert(plan_widest(m, &gap) && gap == 2);
    gaps[2].atomic = true;
    cr_assert(plan_widest(m, &gap) && gap == 1);
    gaps[1].atomic = true;
    cr_assert(not(plan_widest(m, &gap)));
    /* Six broken commits in a gap are enough. */
    gaps[1].atomic = false;
    for (size_t i = 9; i < 14; i++)
        plan->seen.unmeasurable[i] = 1;
    cr_assert(plan_widest(m, &gap));
    plan->seen.unmeasurable[14] = 1;
    cr_assert(not(plan_widest(m, &gap)));
    /* A gap is settled when nothing is in it and it holds a step with the confidence. */
    gaps[0].atomic = true;
    jumps[0].up = 0.99;
    cr_assert(plan_is_settled(m, 0));
    jumps[0].up = nextafter(0.99, 0);
    cr_assert(not(plan_is_settled(m, 0)));
    gaps[0].atomic = false;
    jumps[0].up = 1;
    cr_assert(not(plan_is_settled(m, 0)));
    memset(&plan->model, 0, sizeof plan->model);
    pfc_bisect_free(plan);
}

/* The machine has a state where residuals of runs in a row are alike: 14 pairs, 0.3, and 2.6 of
 * chance. */
Test(limits_search, a_state_of_the_machine_by_the_formula)
{
    size_t seen = 0, beyond = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 4);
    for (int k = 0; k < 120; k++) {
        const size_t n = k % 4 == 0 ? 15 : k % 4 == 1 ? 14 : 40 + 20 * (size_t)(k % 4);
        pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .commits = 4, .noise_rel = 0.01 });
        double x[128], copy[128], product = 0, square = 0;

        for (size_t i = 0; i < n; i++) {
            x[i] = (i ? 0.35 * x[i - 1] : 0) + 0.01 * pfc_rng_normal(&rng);
            tell(plan, 0, exp(x[i]));
            x[i] = log(exp(x[i]));
        }
        tell(plan, 3, 1);
        memcpy(copy, x, n * sizeof *x);
        const double median = pfc_stats_median(copy, n);

        for (size_t i = 1; i < n; i++) {
            const double a = x[i] - median, b = x[i - 1] - median;

            product += a * b;
            square += (a * a + b * b) / 2;
        }
        const double corr = product / square;
        const bool want = n > 14 && corr > 0.3 && corr * sqrt((double)n - 1) > 2.6;

        (void)plan_fitted(plan);
        cr_assert(eq(int, plan->model.scales.drift, want), "%zu runs, %g", n, corr);
        seen += want;
        beyond += corr > 0.3;
        pfc_bisect_free(plan);
    }
    cr_assert(seen > 20 && beyond > seen && seen < 100, "%zu, %zu", seen, beyond);
}

/* Without noise: a step is more than four times the stated rounding. Each end has one run. */
Test(limits_search, without_noise_a_step_is_more_than_four_roundings)
{
    for (int k = 0; k < 4; k++) {
        const double x = (k % 2 ? 4.01e-6 : 3.99e-6) * (k < 2 ? 1 : -1);
        pfc_bisect_plan *plan = plan_of(
            (pfc_bisect_opts){ .commits = 2, .noise_rel = 1e-6, .higher_is_better = k > 1 });
        pfc_bisect_report report;

        tell(plan, 0, 1);
        tell(plan, 1, exp(x));
        pfc_bisect_report_get(plan, &report);
        cr_assert(
            eq(int, (int)report.verdict, k % 2 ? PFC_BISECT_FOUND : PFC_BISECT_NO_REGRESSION));
        cr_assert(eq(sz, report.culprits_len, k % 2));
        pfc_bisect_report_clear(&report);
        pfc_bisect_free(plan);
    }
}

/* A search that is cut short names a set where a step is likelier than not. */
Test(limits_search, an_open_search_names_a_set_from_one_half_on)
{
    size_t named = 0, doubtful = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){
            .commits = 16, .noise_rel = 0.01, .delta_rel = 0.02, .max_runs = 4 + seed % 6 });
        pfc_bisect_report report;
        pfc_bisect_step step;
        pfc_bisect_plan *twin;
        double up = 0;
        pfc_rng rng;

        pfc_rng_seed(&rng, seed);
        for (pfc_bisect_next(plan, &step); step.act == PFC_BISECT_MEASURE;
             pfc_bisect_next(plan, &step))
            tell(plan, step.commit,
                 (step.commit > 7 ? 1.01 : 1) * exp(0.01 * pfc_rng_normal(&rng)));
        twin = plan_clone(plan);
        (void)plan_fitted(twin);
        for (size_t i = 0; i + 1 < twin->model.chain.len; i++) {
            cr_assert(not(plan_is_settled(&twin->model, i)));
            up += twin->model.posterior.jumps[i].up;
        }
        pfc_bisect_report_get(plan, &report);
        if (report.verdict != PFC_BISECT_NO_REGRESSION) {
            cr_assert(eq(sz, report.culprits_len, up > 0.5), "%zu: %g", (size_t)seed, up);
            named += up > 0.5;
            doubtful += up > 0.5 && up < 0.9;
        }
        pfc_bisect_report_clear(&report);
        pfc_bisect_free(twin);
        pfc_bisect_free(plan);
    }
    cr_assert(named > 10 && named < 60 && doubtful > 3, "%zu, %zu", named, doubtful);
}
