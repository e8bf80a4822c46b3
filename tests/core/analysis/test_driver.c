/*
 * The loop of a bisection and the choice beside pending measurements; the prior and the JSON that
 * the command line and the service share.
 */
#include <math.h>

#include "core/bisect/driver.h"
#include "core/bisect/plan.h"
#include "core/bisect/report_json.h"

#include "tests/check/check.h"

enum { COMMITS = 33, CULPRIT = 21 };

static pfc_bisect_plan *plan_of(pfc_bisect_opts opts)
{
    pfc_bisect_plan *plan = NULL;

    opts.commits = opts.commits ? opts.commits : COMMITS;
    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, NULL), PFC_OK));
    return plan;
}

static double value_of(size_t commit)
{
    return commit < CULPRIT ? 100 : 110;
}

/* ---- results ---- */

Test(driver, each_outcome_has_its_effect_on_the_plan)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ 0 });
    pfc_bisect_result r = { .commit = 3, .build = 2, .value = 1 };
    pfc_err err = { 0 };

    r.outcome = PFC_BISECT_PENDING;
    cr_assert(eq(int, pfc_bisect_add_result(plan, &r, &err), PFC_OK));
    cr_assert(plan->seen.len == 0 && plan->seen.spent == 0);
    r.outcome = PFC_BISECT_MEASURED;
    cr_assert(eq(int, pfc_bisect_add_result(plan, &r, &err), PFC_OK));
    cr_assert(plan->seen.len == 1 && plan->seen.runs[0].build == 2 &&
              !plan->seen.runs[0].timed_out);
    r.outcome = PFC_BISECT_FAILED;
    cr_assert(eq(int, pfc_bisect_add_result(plan, &r, &err), PFC_OK));
    cr_assert(plan->seen.len == 1 && plan->seen.spent == 2 && plan->seen.failures[3] == 1);
    r.outcome = PFC_BISECT_TIMED_OUT;
    cr_assert(eq(int, pfc_bisect_add_result(plan, &r, &err), PFC_OK));
    cr_assert(plan->seen.len == 2 && plan->seen.runs[1].timed_out && plan->seen.failures[3] == 0);
    r.outcome = PFC_BISECT_BROKEN;
    cr_assert(eq(int, pfc_bisect_add_result(plan, &r, &err), PFC_OK));
    cr_assert(plan->seen.unmeasurable[3] == 1 && plan->seen.spent == 3);
    r.outcome = PFC_BISECT_MEASURED;
    r.value = 0;
    cr_assert(eq(int, pfc_bisect_add_result(plan, &r, &err), PFC_EINVAL));
    pfc_bisect_free(plan);
}

/* ---- beside pending measurements ---- */

/* Two pending runs of each end at most, the good commit first where both have as many. */
Test(driver, before_both_ends_have_a_value_only_ends_are_started)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ 0 });
    pfc_bisect_step pending[5] = { { 0 } }, next;

    for (size_t n = 0; n < 5; n++) {
        pfc_bisect_next_beside(plan, pending, n, &next);
        cr_assert(eq(int, next.act, n < 4 ? PFC_BISECT_MEASURE : PFC_BISECT_STOP));
        if (n < 4)
            cr_assert(eq(sz, next.commit, n % 2 ? COMMITS - 1 : 0), "%zu pending", n);
        pending[n] = next;
    }
    /* A value of one end is not enough. */
    cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, 100, NULL), PFC_OK));
    pfc_bisect_next_beside(plan, &(pfc_bisect_step){ .commit = 0 }, 1, &next);
    cr_assert(next.act == PFC_BISECT_MEASURE && next.commit == COMMITS - 1);
    /* Runs of the bad commit that timed out have no value. */
    pfc_bisect_add_timeout(plan, COMMITS - 1);
    pfc_bisect_next_beside(plan, &(pfc_bisect_step){ .commit = COMMITS - 1 }, 1, &next);
    cr_assert(next.act == PFC_BISECT_MEASURE && next.commit == 0);
    pfc_bisect_free(plan);
}

Test(driver, pending_measurements_spread_the_next_ones_and_leave_the_plan_as_it_is)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .noise_rel = 0.001, .delta_rel = 0.1 });
    pfc_bisect_step alone, next, again, pending[3];
    size_t runs, distinct = 0;

    for (size_t i = 0; i < 4; i++)
        cr_assert(eq(int,
                     pfc_bisect_add_run(plan, i % 2 ? COMMITS - 1 : 0, 0, i % 2 ? 110 : 100, NULL),
                     PFC_OK));
    runs = plan->seen.len;
    pfc_bisect_next_beside(plan, NULL, 0, &alone);
    cr_assert(alone.act == PFC_BISECT_MEASURE && alone.commit > 0 && alone.commit < COMMITS - 1);
    pending[0] = alone;
    for (size_t n = 1; n < 3; n++) {
        pfc_bisect_next_beside(plan, pending, n, &pending[n]);
        cr_assert(eq(int, pending[n].act, PFC_BISECT_MEASURE));
        for (size_t k = 0; k < n; k++)
            distinct += pending[k].commit != pending[n].commit;
    }
    cr_assert(eq(sz, distinct, 3));
    /* The pending middle is expected on the side of the posterior, so the next one lies in one
     * half. */
    cr_assert(eq(sz, plan->seen.len, runs));
    pfc_bisect_next(plan, &next);
    pfc_bisect_next_beside(plan, NULL, 0, &again);
    cr_assert(next.commit == alone.commit && again.commit == alone.commit);
    pfc_bisect_free(plan);
}

Test(driver, a_stopped_plan_starts_nothing_beside_pending_measurements)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .max_runs = 2 });
    pfc_bisect_step next;

    cr_assert(eq(int, pfc_bisect_add_run(plan, 0, 0, 100, NULL), PFC_OK));
    cr_assert(eq(int, pfc_bisect_add_run(plan, COMMITS - 1, 0, 110, NULL), PFC_OK));
    pfc_bisect_next_beside(plan, &(pfc_bisect_step){ .commit = 4 }, 1, &next);
    cr_assert(eq(int, next.act, PFC_BISECT_STOP));
    pfc_bisect_free(plan);
}

/* ---- the loop ---- */

typedef struct search {
    pfc_bisect_plan *plan;
    size_t prepared, measured;
    size_t pause_at, fail_at; /* passes; 0: never */
    bool open, fails;
    size_t last;
} search;

static pfc_code prepare(void *context, pfc_bisect_turn *turn, pfc_err *err)
{
    search *s = context;

    cr_assert(not(turn->pause || turn->unit_open || turn->plan || turn->pending_len));
    s->prepared++;
    turn->plan = s->plan;
    turn->pause = s->prepared == s->pause_at;
    turn->unit_open = s->open;
    return s->fails ? pfc_err_set(err, PFC_EIO, "prepare") : PFC_OK;
}

static pfc_code measure(void *context, const pfc_bisect_step *step, pfc_err *err)
{
    search *s = context;

    s->measured++;
    s->last = step->commit;
    if (s->measured == s->fail_at)
        return pfc_err_set(err, PFC_EBROKEN, "measure");
    s->open = false;
    return pfc_bisect_add_run(s->plan, step->commit, step->build, value_of(step->commit), err);
}

static const pfc_bisect_driver driver = { prepare, measure };

Test(driver, the_loop_runs_until_the_plan_stops)
{
    search s = { .plan = plan_of((pfc_bisect_opts){ .exact = true }) };
    pfc_bisect_report report;

    cr_assert(eq(int, pfc_bisect_drive(&driver, &s, NULL), PFC_OK));
    cr_assert(s.measured >= 7 && s.prepared == s.measured + 1);
    pfc_bisect_report_get(s.plan, &report);
    cr_assert(pfc_bisect_verdict_names(report.verdict) && report.culprits[0].first == CULPRIT);
    pfc_bisect_report_clear(&report);
    pfc_bisect_free(s.plan);
}

Test(driver, a_pause_ends_a_pass_and_the_next_call_continues)
{
    search s = { .plan = plan_of((pfc_bisect_opts){ .exact = true }), .pause_at = 4 };

    cr_assert(eq(int, pfc_bisect_drive(&driver, &s, NULL), PFC_OK));
    cr_assert(s.prepared == 4 && s.measured == 3);
    cr_assert(eq(int, pfc_bisect_drive(&driver, &s, NULL), PFC_OK));
    cr_assert(gt(sz, s.measured, 5));
    pfc_bisect_free(s.plan);
}

Test(driver, an_open_unit_goes_on_without_a_question)
{
    search s = { .plan = plan_of((pfc_bisect_opts){ .exact = true }), .open = true, .pause_at = 2 };

    cr_assert(eq(int, pfc_bisect_add_run(s.plan, 0, 0, 100, NULL), PFC_OK));
    cr_assert(eq(int, pfc_bisect_drive(&driver, &s, NULL), PFC_OK));
    /* The plan would have measured the bad commit. */
    cr_assert(s.measured == 1 && s.last == 0);
    pfc_bisect_free(s.plan);
}

Test(driver, the_first_error_of_a_callback_ends_the_loop)
{
    search s = { .plan = plan_of((pfc_bisect_opts){ 0 }), .fail_at = 3 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_bisect_drive(&driver, &s, &err), PFC_EBROKEN));
    cr_assert(s.measured == 3 && s.prepared == 3);
    s.fails = true;
    cr_assert(eq(int, pfc_bisect_drive(&driver, &s, &err), PFC_EIO));
    cr_assert(eq(sz, s.measured, 3));
    pfc_bisect_free(s.plan);
}

/* ---- options ---- */

/* exact sets the noise of values without noise, and a given noise takes precedence. */
Test(driver, exact_values_have_a_noise_that_one_run_decides)
{
    pfc_bisect_plan *plan = plan_of((pfc_bisect_opts){ .exact = true });

    cr_assert(eq(dbl, plan->input.opts.noise_rel, 1e-6));
    cr_assert(plan_is_exact(&plan->input));
    pfc_bisect_free(plan);
    plan = plan_of((pfc_bisect_opts){ .exact = true, .noise_rel = 0.02 });
    cr_assert(eq(dbl, plan->input.opts.noise_rel, 0.02));
    pfc_bisect_free(plan);
    plan = plan_of((pfc_bisect_opts){ 0 });
    cr_assert(not(plan_is_exact(&plan->input)));
    pfc_bisect_free(plan);
}

/* 0.8 by weight and 0.2 evenly over the 4 candidates; index 0 is no candidate. */
Test(driver, a_prior_shares_by_weight_and_keeps_a_floor)
{
    const double weights[] = { 9, 1, 0, 3, 0 }, equal[] = { 0, 2, 2, 2 }, none[] = { 1, 0, 0 };
    const double first[] = { 0, 1, 2, 2 }, last[] = { 0, 2, 2, 1 };
    double *prior = pfc_bisect_prior(weights, 5), sum = 0;

    cr_assert(epsilon_eq(dbl, prior[1], 0.05 + 0.2, 1e-12));
    cr_assert(epsilon_eq(dbl, prior[2], 0.05, 1e-12));
    cr_assert(epsilon_eq(dbl, prior[3], 0.05 + 0.6, 1e-12));
    for (size_t i = 1; i < 5; i++)
        sum += prior[i];
    cr_assert(epsilon_eq(dbl, sum, 1, 1e-12));
    free(prior);
    cr_assert(zero(ptr, pfc_bisect_prior(equal, 4)));
    cr_assert(zero(ptr, pfc_bisect_prior(none, 3)));
    cr_assert(zero(ptr, pfc_bisect_prior(weights, 2)));
    prior = pfc_bisect_prior(first, 4);
    cr_assert(prior && prior[1] < prior[2]);
    free(prior);
    prior = pfc_bisect_prior(last, 4);
    cr_assert(prior && prior[3] < prior[2]);
    free(prior);
}

/* ---- JSON ---- */

static void expect_json(json_t *doc, const char *expected)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);

    cr_assert(eq(str, text, (char *)(uintptr_t)expected));
    free(text);
    json_decref(doc);
}

Test(driver, json_of_reports_has_null_for_numbers_that_do_not_exist)
{
    const pfc_culprit culprit = { .probability = 0.5,
                                  .rel_change = 0.25,
                                  .rel_low = (double)-INFINITY,
                                  .rel_high = (double)NAN,
                                  .unmeasurable = true };
    const pfc_finding finding = {
        .rel_change = 0.25, .rel_low = 0.125, .rel_high = 0.5, .margin = (double)NAN, .within = true
    };
    const pfc_bisect_remaining left = { .candidates = 3, .probability = 0.5, .none = 0.25 };
    json_t *doc = json_object();

    expect_json(pfc_culprit_json(&culprit, json_pack("[s]", "a")),
                "{\"commits\":[\"a\"],\"probability\":0.5,\"rel_change\":0.25,\"rel_high\":null,"
                "\"rel_low\":null,\"unmeasurable\":true}");
    expect_json(pfc_finding_json(&finding, 7),
                "{\"margin\":null,\"more_runs\":7.0,\"rel_change\":0.25,\"rel_high\":0.5,"
                "\"rel_low\":0.125,\"within\":true}");
    pfc_bisect_remaining_json(&left, 40, "c", 6.25, doc);
    expect_json(doc,
                "{\"budget_runs\":40,\"candidates\":3,\"expected_more_runs\":7.0,"
                "\"likeliest\":{\"commit\":\"c\",\"probability\":0.5},\"probability_none\":0.25,"
                "\"stopped\":\"budget\"}");
    doc = json_object();
    pfc_bisect_remaining_json(&left, 40, "c", (double)INFINITY, doc);
    cr_assert(eq(int, json_typeof(json_object_get(doc, "expected_more_runs")), JSON_NULL));
    json_decref(doc);
}

Test(driver, only_found_and_range_name_culprits)
{
    cr_assert(pfc_bisect_verdict_names(PFC_BISECT_FOUND));
    cr_assert(pfc_bisect_verdict_names(PFC_BISECT_RANGE));
    cr_assert(not(pfc_bisect_verdict_names(PFC_BISECT_NO_REGRESSION)));
    cr_assert(not(pfc_bisect_verdict_names(PFC_BISECT_INCONCLUSIVE)));
}
