/*
 * The new comparison that confirms a culprit. Seeds are fixed: each count is the same on every
 * machine.
 */
#include <math.h>

#include "core/base/rng.h"
#include "core/bisect/confirm.h"

#include "tests/check/check.h"

/* Runs to the end on values of `noise`, builds differing by `layout`, the named one `step` worse.
 */
static pfc_confirm_result play(pfc_confirm_opts opts, double step, double noise, double layout,
                               uint64_t seed)
{
    pfc_confirm *c = NULL;
    pfc_confirm_step next;
    pfc_confirm_result result;
    pfc_err err = { 0 };
    pfc_rng rng;

    opts.seed = seed;
    pfc_rng_seed(&rng, seed + 77);
    cr_assert(eq(int, pfc_confirm_new(&c, &opts, &err), PFC_OK), "%s", err.msg);
    while (pfc_confirm_next(c, &next)) {
        pfc_rng build;
        pfc_rng_seed(&build, seed * 1000003 + next.build * 2 + next.after);
        double x = log(100) + (next.after ? log1p(step) : 0) + layout * pfc_rng_normal(&build) +
                   noise * pfc_rng_normal(&rng);
        cr_assert(eq(int, pfc_confirm_add_value(c, exp(x), &err), PFC_OK), "%s", err.msg);
    }
    cr_assert(ne(int, pfc_confirm_add_value(c, 100, &err), PFC_OK),
              "a value after the end is refused");
    pfc_confirm_result_get(c, &result);
    pfc_confirm_free(c);
    return result;
}

/* The promise is 1 in 100, or 4 of 400; more than 10 has probability 0.003 at that. */
Test(confirm, equal_commits_are_confirmed_in_less_than_one_of_a_hundred_looks_included)
{
    const pfc_confirm_opts opts = { .expected_rel = 0.02 };
    size_t wrong = 0;
    for (uint64_t k = 0; k < 400; k++)
        wrong += play(opts, 0, 0.01, 0, k).verdict == PFC_CONFIRM_CONFIRMED;
    cr_assert(le(sz, wrong, 10), "confirmed by mistake: %zu of 400", wrong);
}

Test(confirm, a_step_of_two_standard_deviations_is_confirmed_within_twenty_pairs_on_average)
{
    const pfc_confirm_opts opts = { .expected_rel = 0.02 };
    size_t right = 0;
    size_t pairs = 0;
    for (uint64_t k = 0; k < 200; k++) {
        const pfc_confirm_result r = play(opts, 0.02, 0.01, 0, k);
        right += r.verdict == PFC_CONFIRM_CONFIRMED;
        pairs += r.pairs;
        if (r.verdict == PFC_CONFIRM_CONFIRMED)
            cr_assert(gt(dbl, r.cmp.rel_low, 0));
    }
    cr_assert(ge(sz, right, 198), "confirmed: %zu of 200", right);
    cr_assert(le(sz, pairs, 200 * 20), "pairs: %zu", pairs);
}

/* Builds differ by as much as a step would: one build a side is a trap, fresh ones are not. */
Test(confirm, layouts_of_its_own_keep_equal_commits_equal)
{
    pfc_confirm_opts opts = { .expected_rel = 0.02 };
    size_t fixed = 0;
    size_t fresh = 0;
    for (uint64_t k = 0; k < 200; k++) {
        opts.relink = false;
        fixed += play(opts, 0, 0.002, 0.01, k).verdict == PFC_CONFIRM_CONFIRMED;
        opts.relink = true;
        opts.first_build = 3;
        const pfc_confirm_result r = play(opts, 0, 0.002, 0.01, k);
        fresh += r.verdict == PFC_CONFIRM_CONFIRMED;
        cr_assert(eq(sz, r.layouts, r.pairs));
    }
    cr_assert(ge(sz, fixed, 60), "one layout each: %zu of 200 blamed by mistake", fixed);
    cr_assert(le(sz, fresh, 6), "a layout a pair: %zu of 200 blamed by mistake", fresh);
}

/* A machine that is slower by 8 % for a while, some fifty runs of a hundred: pairs that hold a
 * change of its speed differ by eight steps. */
static pfc_confirm_result two_states(double step, uint64_t seed)
{
    const pfc_confirm_opts opts = { .expected_rel = 0.01, .seed = seed };
    pfc_confirm *c = NULL;
    pfc_confirm_step next;
    pfc_confirm_result result;
    bool slow = false;
    pfc_rng rng;

    pfc_rng_seed(&rng, seed + 5);
    cr_assert(eq(int, pfc_confirm_new(&c, &opts, NULL), PFC_OK));
    while (pfc_confirm_next(c, &next)) {
        slow ^= pfc_rng_double(&rng) < 0.1;
        const double x = log(100) + (next.after ? log1p(step) : 0) + (slow ? 0.08 : 0) +
                         0.001 * pfc_rng_normal(&rng);
        cr_assert(eq(int, pfc_confirm_add_value(c, exp(x), NULL), PFC_OK));
    }
    pfc_confirm_result_get(c, &result);
    pfc_confirm_free(c);
    return result;
}

Test(confirm, a_machine_with_two_speeds_hides_no_step_and_makes_none)
{
    size_t right = 0;
    size_t covered = 0;
    size_t refuted = 0;
    size_t wrong = 0;
    for (uint64_t k = 0; k < 200; k++) {
        const pfc_confirm_result step = two_states(0.01, k);
        const pfc_confirm_result none = two_states(0, k);
        right += step.verdict == PFC_CONFIRM_CONFIRMED;
        covered += step.cmp.rel_low <= 0.01 && step.cmp.rel_high >= 0.01 && step.cmp.p < 0.01;
        refuted += none.verdict == PFC_CONFIRM_REFUTED;
        wrong += none.verdict == PFC_CONFIRM_CONFIRMED;
    }
    cr_assert(ge(sz, right, 196), "confirmed: %zu of 200", right);
    cr_assert(ge(sz, covered, 196), "interval holds the step: %zu of 200", covered);
    cr_assert(ge(sz, refuted, 196), "refuted: %zu of 200", refuted);
    cr_assert(le(sz, wrong, 4), "blamed by mistake: %zu of 200", wrong);
}

Test(confirm, the_other_direction_is_no_confirmation)
{
    const pfc_confirm_opts up = { .expected_rel = -0.05, .higher_is_better = true };
    cr_assert(eq(int, play(up, 0.05, 0.005, 0, 1).verdict, PFC_CONFIRM_REFUTED));
    cr_assert(eq(int, play(up, -0.05, 0.005, 0, 1).verdict, PFC_CONFIRM_CONFIRMED));
}

Test(confirm, one_pair_decides_without_noise)
{
    const pfc_confirm_opts opts = { .expected_rel = 0.001, .exact = true };
    const pfc_confirm_result worse = play(opts, 0.001, 0, 0, 1);
    cr_assert(eq(int, worse.verdict, PFC_CONFIRM_CONFIRMED));
    cr_assert(eq(sz, worse.pairs, 1));
    cr_assert(eq(int, play(opts, 0, 0, 0, 1).verdict, PFC_CONFIRM_REFUTED));
}

Test(confirm, the_order_of_sides_is_balanced_and_follows_the_seed)
{
    const pfc_confirm_opts opts = { .expected_rel = 0.02, .max_pairs = 40, .seed = 5 };
    pfc_confirm *c = NULL;
    pfc_confirm_step next;
    size_t first = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 9);
    cr_assert(eq(int, pfc_confirm_new(&c, &opts, NULL), PFC_OK));
    /* Noise far above the step: nothing is decided before the limit. */
    for (size_t run = 0; pfc_confirm_next(c, &next); run++) {
        first += run % 2 == 0 && next.after;
        cr_assert(eq(int, pfc_confirm_add_value(c, exp(pfc_rng_normal(&rng)), NULL), PFC_OK));
    }
    pfc_confirm_free(c);
    cr_assert(eq(sz, first, 20));
}

Test(confirm, bad_options_and_values_are_refused)
{
    pfc_confirm_opts opts = { .max_pairs = PFC_CONFIRM_MAX_PAIRS + 1 };
    pfc_confirm *c = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_confirm_new(&c, &opts, &err), PFC_EINVAL));
    opts = (pfc_confirm_opts){ .expected_rel = NAN };
    cr_assert(eq(int, pfc_confirm_new(&c, &opts, &err), PFC_EINVAL));
    opts.expected_rel = 0.1;
    cr_assert(eq(int, pfc_confirm_new(&c, &opts, &err), PFC_OK));
    cr_assert(eq(int, pfc_confirm_add_value(c, NAN, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_confirm_add_value(c, 0, &err), PFC_EINVAL));
    pfc_confirm_free(c);
}
