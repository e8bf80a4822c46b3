/*
 * The planner on seeded noise: how often it is right, what it costs, whether it repeats itself.
 * Seeds are fixed, so each of these counts is the same on every machine.
 */
#include <math.h>

#include "tests/check/check.h"
#include "tests/core/analysis/session.h"
#include "tests/support/rounds.h"

static history h;

static const pfc_bisect_opts two_sigma = { .noise_rel = 0.01, .delta_rel = 0.02 };

static bool names(const pfc_bisect_report *r, size_t commit)
{
    for (size_t i = 0; i < r->culprits_len; i++)
        if (r->culprits[i].first == commit && r->culprits[i].last == commit)
            return true;
    return false;
}

Test(bisect_noise, two_sigma_over_64_commits_is_right_97_times_of_100)
{
    size_t right = 0;
    size_t runs = 0;
    const size_t sessions = PFC_ROUNDS(200);
    for (size_t k = 0; k < sessions; k++) {
        outcome o;
        size_t culprit = 1 + (k * 37) % 64;
        history_step(&h, 65, culprit, 0.02, 0.01);
        session_run(&h, two_sigma, k, &o);
        right += o.report.verdict == PFC_BISECT_FOUND && o.report.culprits_len == 1 &&
                 names(&o.report, culprit);
        runs += o.report.runs;
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, 100 * right, 97 * sessions), "right: %zu of %zu", right, sessions);
    cr_assert(le(sz, runs, 44 * sessions), "mean runs: %.1f", (double)runs / (double)sessions);
}

Test(bisect_noise, without_a_step_no_commit_is_named_and_the_search_ends_soon)
{
    const size_t sessions = PFC_ROUNDS(300);
    size_t clean = 0;
    size_t runs = 0;
    for (size_t k = 0; k < sessions; k++) {
        outcome o;
        history_step(&h, 65, 65, 0, 0.01);
        session_run(&h, two_sigma, 1000 + k, &o);
        clean += o.report.verdict == PFC_BISECT_NO_REGRESSION && o.report.culprits_len == 0;
        runs += o.report.runs;
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, 100 * clean, 99 * sessions), "clean: %zu of %zu", clean, sessions);
    cr_assert(le(sz, runs, 30 * sessions), "mean runs: %.1f", (double)runs / (double)sessions);
}

Test(bisect_noise, the_first_and_the_last_commit_are_found)
{
    const size_t places[] = { 1, 256 };
    for (size_t i = 0; i < 2; i++) {
        size_t right = 0;
        for (size_t k = 0; k < 20; k++) {
            outcome o;
            history_step(&h, 257, places[i], 0.03, 0.01);
            session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.01, .delta_rel = 0.03 }, k, &o);
            right += names(&o.report, places[i]);
            pfc_bisect_report_clear(&o.report);
        }
        cr_assert(ge(sz, right, 19), "commit %zu: %zu of 20", places[i], right);
    }
}

Test(bisect_noise, without_any_hint_noise_and_step_come_from_the_ends)
{
    size_t right = 0;
    for (size_t k = 0; k < 40; k++) {
        outcome o;
        history_step(&h, 129, 1 + k * 3, 0.04, 0.01);
        session_run(&h, (pfc_bisect_opts){ 0 }, k, &o);
        right += names(&o.report, 1 + k * 3);
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, right, 38), "right: %zu of 40", right);
}

Test(bisect_noise, two_culprits_are_both_named)
{
    size_t both = 0;
    for (size_t k = 0; k < 40; k++) {
        outcome o;
        history_step(&h, 257, 60, 0.04, 0.01);
        for (size_t i = 190; i < 257; i++)
            h.level[i] = 108;
        session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.01, .delta_rel = 0.04 }, k, &o);
        both += o.report.culprits_len == 2 && names(&o.report, 60) && names(&o.report, 190);
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, both, 36), "both: %zu of 40", both);
}

Test(bisect_noise, one_of_two_culprits_is_enough_where_the_first_is_asked_for)
{
    const pfc_bisect_opts all = { .noise_rel = 0.01, .delta_rel = 0.03 };
    const pfc_bisect_opts one = { .noise_rel = 0.01, .delta_rel = 0.03, .first_only = true };
    size_t runs[2] = { 0 };
    for (size_t k = 0; k < 20; k++) {
        outcome o;
        outcome first;
        history_step(&h, 257, 157, 0.03, 0.01);
        for (size_t i = 90; i < h.len; i++)
            h.level[i] *= 1.02;
        session_run(&h, all, k, &o);
        session_run(&h, one, k, &first);
        /* One run may settle both. */
        cr_assert(ge(sz, first.report.culprits_len, 1), "session %zu", k);
        for (size_t i = 0; i < first.report.culprits_len; i++)
            cr_assert(first.report.culprits[i].last == 157 || first.report.culprits[i].last == 90,
                      "session %zu blames %zu", k, first.report.culprits[i].last);
        runs[0] += o.report.runs;
        runs[1] += first.report.runs;
        pfc_bisect_report_clear(&o.report);
        pfc_bisect_report_clear(&first.report);
    }
    cr_assert(lt(sz, runs[1], runs[0]));
}

/* Up at 70, repaired at 130, up again at 200: the ends show one step, two commits made it worse. */
Test(bisect_noise, a_repair_between_two_culprits_hides_neither)
{
    size_t both = 0;
    for (size_t k = 0; k < 40; k++) {
        outcome o;
        history_step(&h, 257, 70, 0.05, 0.01);
        for (size_t i = 130; i < 200; i++)
            h.level[i] = 100;
        session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.01, .delta_rel = 0.05 }, k, &o);
        both += o.report.culprits_len == 2 && names(&o.report, 70) && names(&o.report, 200);
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, both, 36), "both: %zu of 40", both);
}

Test(bisect_noise, flaky_runs_cost_runs_and_no_answers)
{
    size_t right = 0;
    for (size_t k = 0; k < 20; k++) {
        outcome o;
        history_step(&h, 129, 100, 0.03, 0.01);
        h.flaky = 0.1;
        session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.01, .delta_rel = 0.03 }, k, &o);
        right += o.report.culprits_len == 1 && o.report.culprits[0].first <= 100 &&
                 o.report.culprits[0].last >= 100;
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, right, 19), "right: %zu of 20", right);
}

/* Builds differ by half the step and cannot be redone: a set is honest, a wrong name is not. */
Test(bisect_noise, layout_that_cannot_be_redone_gives_sets_and_no_false_name)
{
    size_t wrong = 0;
    for (size_t k = 0; k < 20; k++) {
        outcome o;
        pfc_bisect_opts opts = { .noise_rel = 0.01, .delta_rel = 0.04, .layout_noise_rel = 0.01 };
        history_step(&h, 65, 33, 0.04, 0.01);
        h.layout = 0.01;
        session_run(&h, opts, k, &o);
        for (size_t i = 0; i < o.report.culprits_len; i++)
            wrong += o.report.culprits[i].first > 33 || o.report.culprits[i].last < 33;
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(le(sz, wrong, 1), "wrong: %zu", wrong);
}

Test(bisect_noise, rebuilds_turn_layout_into_noise)
{
    size_t right = 0;
    for (size_t k = 0; k < 20; k++) {
        outcome o;
        pfc_bisect_opts opts = {
            .noise_rel = 0.01, .delta_rel = 0.04, .layout_noise_rel = 0.01, .relink = true
        };
        history_step(&h, 65, 33, 0.04, 0.01);
        h.layout = 0.01;
        session_run(&h, opts, k, &o);
        right += names(&o.report, 33);
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, right, 19), "right: %zu of 20", right);
}

Test(bisect_noise, a_budget_that_is_spent_leaves_it_open)
{
    outcome o;
    history_step(&h, 257, 99, 0.01, 0.01);
    session_run(&h, (pfc_bisect_opts){ .noise_rel = 0.01, .delta_rel = 0.01, .max_runs = 20 }, 1,
                &o);
    cr_assert(eq(int, (int)o.report.verdict, (int)PFC_BISECT_INCONCLUSIVE));
    cr_assert(eq(sz, o.report.runs, 20));
    pfc_bisect_report_clear(&o.report);
}

static size_t runs_with_prior(double weight_of_culprit, size_t *right)
{
    static double prior[1025];
    size_t runs = 0;
    *right = 0;
    for (size_t k = 0; k < 20; k++) {
        outcome o;
        pfc_bisect_opts opts = { .noise_rel = 0.01, .delta_rel = 0.03, .prior = prior };
        for (size_t i = 0; i < 1025; i++)
            prior[i] = i % 20 == 7 ? 20 : 1;
        prior[407] = weight_of_culprit;
        history_step(&h, 1025, 407, 0.03, 0.01);
        session_run(&h, opts, k, &o);
        *right += names(&o.report, 407);
        runs += o.report.runs;
        pfc_bisect_report_clear(&o.report);
    }
    return runs;
}

Test(bisect_noise, a_prior_pulls_and_never_forbids)
{
    size_t right_told;
    size_t right_misled;
    size_t asked = runs_with_prior(20, &right_told);
    size_t misled = runs_with_prior(1e-9, &right_misled);
    cr_assert(ge(sz, right_told, 19));
    cr_assert(ge(sz, right_misled, 18), "misled: %zu of 20", right_misled);
    cr_assert(lt(sz, asked, misled));
}

Test(bisect_noise, the_same_values_give_the_same_steps_and_the_same_report)
{
    for (size_t k = 0; k < 5; k++) {
        outcome a;
        outcome b;
        history_step(&h, 257, 201, 0.02, 0.01);
        session_run(&h, two_sigma, k, &a);
        session_run(&h, two_sigma, k, &b);
        cr_assert(eq(u64, a.trace, b.trace));
        cr_assert(eq(sz, a.report.culprits_len, b.report.culprits_len));
        for (size_t i = 0; i < a.report.culprits_len; i++) {
            const pfc_culprit *x = &a.report.culprits[i];
            const pfc_culprit *y = &b.report.culprits[i];
            cr_assert(eq(sz, x->first, y->first));
            cr_assert(eq(dbl, x->probability, y->probability));
            cr_assert(eq(dbl, x->rel_low, y->rel_low));
        }
        pfc_bisect_report_clear(&a.report);
        pfc_bisect_report_clear(&b.report);
    }
}

/* The next step depends on the observations only: a second plan of the same observations continues
 * alike. */
Test(bisect_noise, a_second_plan_of_the_same_runs_has_the_same_next_step)
{
    const pfc_bisect_opts opts = { .commits = 129, .noise_rel = 0.01, .delta_rel = 0.02 };
    pfc_bisect_plan *one = NULL;
    pfc_bisect_step asked[30];
    double values[30];
    pfc_rng rng;

    pfc_rng_seed(&rng, 7);
    cr_assert(eq(int, pfc_bisect_new(&one, &opts, NULL), PFC_OK));
    for (size_t i = 0; i < 30; i++) {
        pfc_bisect_plan *two = NULL;
        pfc_bisect_step step;
        cr_assert(eq(int, pfc_bisect_new(&two, &opts, NULL), PFC_OK));
        for (size_t k = 0; k < i; k++)
            cr_assert(eq(int,
                         pfc_bisect_add_run(two, asked[k].commit, asked[k].build, values[k], NULL),
                         PFC_OK));
        pfc_bisect_next(one, &asked[i]);
        pfc_bisect_next(two, &step);
        cr_assert(eq(int, (int)step.act, (int)asked[i].act));
        cr_assert(eq(sz, step.commit, asked[i].commit));
        cr_assert(eq(dbl, step.expected_gain_bits, asked[i].expected_gain_bits));
        pfc_bisect_free(two);
        if (step.act == PFC_BISECT_STOP)
            break;
        values[i] = (step.commit < 77 ? 100 : 102) * (1 + 0.01 * pfc_rng_normal(&rng));
        cr_assert(
            eq(int, pfc_bisect_add_run(one, step.commit, step.build, values[i], NULL), PFC_OK));
    }
    pfc_bisect_free(one);
}

/* Builds differ by as much as the noise of a run and cannot get another layout: no number of runs
 * separates neighbours, so no wrong single commit is named, and the budget is not used up. */
Test(bisect_noise, fixed_layouts_end_in_a_set_and_never_in_a_false_name)
{
    const pfc_bisect_opts opts = { .noise_rel = 0.01, .layout_noise_rel = 0.01, .delta_rel = 0.04 };
    const size_t sessions = 40;
    size_t held = 0;
    size_t runs = 0;
    for (size_t k = 0; k < sessions; k++) {
        outcome o;
        size_t culprit = 1 + (k * 37) % 64;
        history_step(&h, 65, culprit, 0.04, 0.01);
        h.layout = 0.01;
        session_run(&h, opts, k, &o);
        for (size_t i = 0; i < o.report.culprits_len; i++) {
            const pfc_culprit *c = &o.report.culprits[i];
            cr_assert(c->first != c->last || c->first == culprit, "session %zu blames %zu", k,
                      c->first);
            held += c->first <= culprit && culprit <= c->last;
        }
        runs += o.report.runs;
        pfc_bisect_report_clear(&o.report);
    }
    cr_assert(ge(sz, held, 38), "held by a set: %zu of %zu", held, sessions);
    cr_assert(le(sz, runs, 100 * sessions), "mean runs: %.1f", (double)runs / (double)sessions);
}
