/* Blocks: two builds are the comparison of two commits, and order, factors and drift change
 * nothing. */
#include <math.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/blocks/blocks.h"
#include "core/blocks/pair_rounds.h"

#include "tests/check/check.h"
#include "tests/support/rounds.h"

#define MOST 4000

typedef struct session {
    pfc_visit visits[MOST];
    size_t n;
    uint32_t round;
    pfc_rng rng;
    double noise;
} session;

static void start(session *s, uint64_t seed, double noise)
{
    s->n = 0;
    s->round = 0;
    s->noise = noise;
    pfc_rng_seed(&s->rng, seed);
}

static void visit(session *s, uint32_t build, uint32_t block, uint32_t position, double factor)
{
    s->visits[s->n++] = (pfc_visit){ build, block, position,
                                     100.0 * factor * exp(s->noise * pfc_rng_normal(&s->rng)) };
}

/* A round of all builds; factors[i] is the level of build i. */
static void add_round(session *s, const double *factors, uint32_t builds)
{
    size_t order[PFC_BLOCK_BUILDS];

    for (uint32_t i = 0; i < builds; i++)
        order[i] = i;
    pfc_rng_shuffle(&s->rng, order, builds);
    for (uint32_t i = 0; i < builds; i++)
        visit(s, (uint32_t)order[i], 2 * s->round, i, factors[order[i]]);
    for (uint32_t i = 0; i < builds; i++)
        visit(s, (uint32_t)order[builds - 1 - i], 2 * s->round + 1, i,
              factors[order[builds - 1 - i]]);
    s->round++;
}

static pfc_blocks_fit judge(const session *s, size_t builds)
{
    const pfc_blocks_opts opts = { .builds = builds, .first = 1 };
    pfc_blocks_fit fit;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_blocks_judge(s->visits, s->n, &opts, &fit, &err), PFC_OK), "%s", err.msg);
    return fit;
}

/* The same values, the same order: the same numbers to the last bit. */
Test(blocks, two_builds_are_judged_as_turns)
{
    static session s;
    const double factors[] = { 1.0, 1.01 };

    start(&s, 1, 0.01);
    for (int r = 0; r < 25; r++) {
        double a[2 * 25], b[2 * 25];
        char order[4 * 25 + 1] = "";
        size_t na = 0, nb = 0;
        pfc_interleaved_result turns;
        pfc_err err = { 0 };
        pfc_blocks_fit fit;

        add_round(&s, factors, 2);
        for (size_t i = 0; i < s.n; i++) {
            if (s.visits[i].build)
                b[nb++] = s.visits[i].value;
            else
                a[na++] = s.visits[i].value;
            order[i] = s.visits[i].build ? 'b' : 'a';
            order[i + 1] = '\0';
        }
        cr_assert(
            eq(int, pfc_interleaved_compare(a, na, b, nb, order, NULL, &turns, &err), PFC_OK));
        fit = judge(&s, 2);
        cr_assert(eq(sz, fit.boundaries_len, 1));
        cr_assert(eq(int, (int)fit.boundaries[0].verdict, (int)turns.cmp.verdict));
        cr_assert(eq(dbl, fit.boundaries[0].p, turns.cmp.p));
        cr_assert(eq(dbl, fit.boundaries[0].any_low, turns.cmp.rel_low));
        cr_assert(eq(dbl, fit.boundaries[0].any_high, turns.cmp.rel_high));
        cr_assert(eq(sz, fit.boundaries[0].rounds, turns.rounds));
        cr_assert(eq(sz, fit.boundaries[0].more, turns.more));
        pfc_blocks_fit_clear(&fit);
    }
}

/* Without noise the fit returns the factors. */
Test(blocks, levels_without_noise_are_returned_exactly)
{
    static session s;
    const double factors[] = { 1.0, 1.1, 1.1, 0.9, 1.2 };
    pfc_blocks_fit fit;

    start(&s, 2, 0.0);
    add_round(&s, factors, 5);
    add_round(&s, factors, 5);
    fit = judge(&s, 5);
    for (size_t i = 0; i < 5; i++)
        cr_assert(epsilon_eq(dbl, fit.levels[i].ratio, factors[i], 1e-9));
    cr_assert(eq(sz, fit.boundaries_len, 4));
    cr_assert(epsilon_eq(dbl, fit.boundaries[0].rel_change, 0.1, 1e-9));
    cr_assert(epsilon_eq(dbl, fit.boundaries[1].rel_change, 0.0, 1e-9));
    pfc_blocks_fit_clear(&fit);
}

static const double plain[] = { 1.0, 1.02, 1.02, 1.02, 0.99, 0.99 };
#define PLAIN 6

/* Six builds, `rounds` rounds. */
static void plain_session(session *s, uint64_t seed, double noise, int rounds)
{
    start(s, seed, noise);
    for (int r = 0; r < rounds; r++)
        add_round(s, plain, PLAIN);
}

/* Largest error of the ratios to the anchor. */
static double worst(const session *s)
{
    pfc_blocks_fit fit = judge(s, PLAIN);
    double most = 0.0;

    for (size_t i = 0; i < PLAIN; i++)
        most = fmax(most, fabs(log(fit.levels[i].ratio / plain[i])));
    pfc_blocks_fit_clear(&fit);
    return most;
}

static void same_fit(const pfc_blocks_fit *a, const pfc_blocks_fit *b)
{
    cr_assert(eq(sz, a->boundaries_len, b->boundaries_len));
    for (size_t i = 0; i < a->boundaries_len; i++) {
        cr_assert(eq(dbl, a->boundaries[i].rel_change, b->boundaries[i].rel_change));
        cr_assert(eq(dbl, a->boundaries[i].rel_low, b->boundaries[i].rel_low));
        cr_assert(eq(dbl, a->boundaries[i].p, b->boundaries[i].p));
        cr_assert(eq(dbl, a->boundaries[i].screen_p, b->boundaries[i].screen_p));
    }
}

/* Block and position give the order of time. */
Test(blocks, the_order_of_the_array_is_no_matter)
{
    static session s;
    size_t order[MOST];
    static session shuffled;
    pfc_blocks_fit a, b;

    plain_session(&s, 3, 0.01, 6);
    a = judge(&s, PLAIN);
    shuffled = s;
    for (size_t i = 0; i < s.n; i++)
        order[i] = i;
    pfc_rng_shuffle(&s.rng, order, s.n);
    for (size_t i = 0; i < s.n; i++)
        shuffled.visits[i] = s.visits[order[i]];
    b = judge(&shuffled, PLAIN);
    same_fit(&a, &b);
    pfc_blocks_fit_clear(&a);
    pfc_blocks_fit_clear(&b);
}

/* 12 visits of a build with 0.2 % of noise: its standard error is 0.06 %, that of a ratio 0.08 %;
 * four of them are the limit. */
#define FEW_ERRORS 0.0033

Test(blocks, a_machine_that_is_slower_in_some_blocks_changes_no_ratio)
{
    static session s;

    plain_session(&s, 4, 0.002, 6);
    cr_assert(lt(dbl, worst(&s), FEW_ERRORS));
    for (size_t i = 0; i < s.n; i++)
        s.visits[i].value *= s.visits[i].block % 3 == 1 ? 1.3 : 1.0;
    cr_assert(lt(dbl, worst(&s), FEW_ERRORS));
}

Test(blocks, a_machine_that_becomes_slower_all_the_time_changes_no_ratio)
{
    static session s;

    plain_session(&s, 5, 0.002, 6);
    for (size_t i = 0; i < s.n; i++)
        s.visits[i].value *=
            exp(0.001 * (double)(s.visits[i].block * PLAIN + s.visits[i].position));
    cr_assert(lt(dbl, worst(&s), FEW_ERRORS));
}

/* 8 % slower from the middle of block 1 on, and back in the middle of block 4. */
Test(blocks, a_change_of_speed_inside_a_block_is_found_and_changes_no_ratio)
{
    static session s;
    pfc_blocks_fit fit;

    plain_session(&s, 6, 0.002, 6);
    for (size_t i = 0; i < s.n; i++) {
        const size_t at = s.visits[i].block * PLAIN + s.visits[i].position;

        s.visits[i].value *= at >= PLAIN + 3 && at < 4 * PLAIN + 2 ? 1.08 : 1.0;
    }
    cr_assert(lt(dbl, worst(&s), FEW_ERRORS));
    fit = judge(&s, PLAIN);
    cr_assert(eq(sz, fit.moves, 2));
    pfc_blocks_fit_clear(&fit);
}

/* Two speeds that alternate every four visits: a change in nearly every block of six. */
Test(blocks, states_shorter_than_a_block_change_no_ratio)
{
    static session s;
    pfc_blocks_fit fit;

    plain_session(&s, 10, 0.002, 6);
    for (size_t i = 0; i < s.n; i++)
        s.visits[i].value *=
            (s.visits[i].block * PLAIN + s.visits[i].position) / 4 % 2 ? 1.07 : 1.0;
    cr_assert(lt(dbl, worst(&s), FEW_ERRORS));
    fit = judge(&s, PLAIN);
    cr_assert(lt(dbl, fit.noise_rel, 0.004));
    pfc_blocks_fit_clear(&fit);
}

Test(blocks, builds_before_the_first_new_one_are_not_judged)
{
    static session s;
    const pfc_blocks_opts opts = { .builds = PLAIN, .first = 3 };
    pfc_blocks_fit fit;

    plain_session(&s, 11, 0.005, 4);
    cr_assert(eq(int, pfc_blocks_judge(s.visits, s.n, &opts, &fit, NULL), PFC_OK));
    cr_assert(eq(sz, fit.boundaries_len, 3));
    cr_assert(eq(sz, fit.boundaries[0].from, 2));
    cr_assert(eq(sz, fit.boundaries[0].to, 3));
    pfc_blocks_fit_clear(&fit);
}

/* Changes of +2 % before build 1 and -3 % before build 4, noise 0.5 %, 12 rounds. */
Test(blocks, steps_are_found_with_their_place_and_direction)
{
    static session s;
    pfc_blocks_fit fit;

    plain_session(&s, 7, 0.005, 12);
    fit = judge(&s, PLAIN);
    for (size_t i = 0; i < fit.boundaries_len; i++) {
        const pfc_boundary *b = &fit.boundaries[i];
        const bool step = b->to == 1 || b->to == 4;

        cr_assert(eq(sz, b->from + 1, b->to));
        cr_assert(eq(int, b->verdict == PFC_VERDICT_DIFFERENT, step), "build %zu: p %g", b->to,
                  b->p);
        cr_assert(eq(int, b->screen_p < 1e-6, step));
        cr_assert(le(dbl, b->rel_low, log1p(plain[b->to] / plain[b->from] - 1.0)));
        if (step) {
            cr_assert(eq(int, b->rel_change > 0.0, b->to == 1));
            cr_assert(eq(int, b->any_low > 0.0, b->to == 1));
            cr_assert(eq(int, b->any_high < 0.0, b->to == 4));
            cr_assert(eq(sz, b->more, 0));
        }
    }
    pfc_blocks_fit_clear(&fit);
}

/* Build 2 was never measured: the boundary of 3 is against 1. */
Test(blocks, a_build_without_values_is_passed_over)
{
    static session s;
    size_t kept = 0;
    pfc_blocks_fit fit;

    plain_session(&s, 8, 0.005, 4);
    for (size_t i = 0; i < s.n; i++) {
        if (s.visits[i].build != 2)
            s.visits[kept++] = s.visits[i];
    }
    s.n = kept;
    fit = judge(&s, PLAIN);
    cr_assert(eq(sz, fit.boundaries_len, PLAIN - 2));
    cr_assert(eq(sz, fit.boundaries[1].from, 1));
    cr_assert(eq(sz, fit.boundaries[1].to, 3));
    cr_assert(eq(sz, fit.boundaries[1].rounds, 4));
    cr_assert(eq(sz, fit.levels[2].visits, 0));
    cr_assert(isnan(fit.levels[2].ratio));
    pfc_blocks_fit_clear(&fit);
}

Test(blocks, exact_values_differ_or_not_and_no_test_is_made)
{
    const pfc_visit visits[] = {
        { 0, 0, 0, 1000.0 }, { 1, 0, 1, 1000.0 }, { 2, 0, 2, 1001.0 }, { 3, 0, 3, 1001.0 }
    };
    const pfc_blocks_opts opts = { .builds = 4, .first = 1, .exact = true };
    pfc_blocks_fit fit;

    cr_assert(eq(int, pfc_blocks_judge(visits, 4, &opts, &fit, NULL), PFC_OK));
    cr_assert(eq(sz, fit.boundaries_len, 3));
    cr_assert(eq(int, (int)fit.boundaries[0].verdict, (int)PFC_VERDICT_SAME));
    cr_assert(eq(int, (int)fit.boundaries[1].verdict, (int)PFC_VERDICT_DIFFERENT));
    cr_assert(eq(int, (int)fit.boundaries[2].verdict, (int)PFC_VERDICT_SAME));
    cr_assert(epsilon_eq(dbl, fit.boundaries[1].rel_change, 0.001, 1e-12));
    cr_assert(isnan(fit.boundaries[1].p));
    cr_assert(epsilon_eq(dbl, fit.levels[3].ratio, 1.001, 1e-12));
    pfc_blocks_fit_clear(&fit);
}

static pfc_code refused(const pfc_visit *visits, size_t n, pfc_blocks_opts opts)
{
    pfc_blocks_fit fit;
    const pfc_code code = pfc_blocks_judge(visits, n, &opts, &fit, NULL);

    pfc_blocks_fit_clear(&fit);
    return code;
}

Test(blocks, input_out_of_range_is_refused)
{
    const pfc_blocks_opts two = { .builds = 2, .first = 1 };
    pfc_visit many[PFC_BLOCK_BUILDS + 1];

    cr_assert(eq(int, refused(NULL, 0, two), PFC_OK));
    cr_assert(eq(int, refused((pfc_visit[]){ { 2, 0, 0, 1 } }, 1, two), PFC_EINVAL));
    cr_assert(eq(int, refused((pfc_visit[]){ { 0, 0, 0, 0 } }, 1, two), PFC_EINVAL));
    cr_assert(eq(int, refused((pfc_visit[]){ { 0, 0, 0, NAN } }, 1, two), PFC_EINVAL));
    /* one build twice, one position twice */
    cr_assert(
        eq(int, refused((pfc_visit[]){ { 0, 0, 0, 1 }, { 0, 0, 1, 1 } }, 2, two), PFC_EINVAL));
    cr_assert(
        eq(int, refused((pfc_visit[]){ { 0, 0, 0, 1 }, { 1, 0, 0, 1 } }, 2, two), PFC_EINVAL));
    for (uint32_t i = 0; i <= PFC_BLOCK_BUILDS; i++)
        many[i] = (pfc_visit){ i, 0, i, 1.0 };
    cr_assert(eq(int, refused(many, PFC_BLOCK_BUILDS, (pfc_blocks_opts){ .builds = 16 }), PFC_OK));
    cr_assert(eq(int, refused(many, PFC_BLOCK_BUILDS + 1, (pfc_blocks_opts){ .builds = 16 }),
                 PFC_EINVAL));
    cr_assert(eq(int, refused(NULL, 0, (pfc_blocks_opts){ .builds = 0 }), PFC_EINVAL));
    cr_assert(eq(int, refused(NULL, 0, (pfc_blocks_opts){ .builds = PFC_BLOCKS_MAX_BUILDS + 1 }),
                 PFC_EINVAL));
    cr_assert(eq(int, refused(NULL, 0, (pfc_blocks_opts){ .builds = 2, .anchor = 2 }), PFC_EINVAL));
    cr_assert(eq(int, refused(NULL, 0, (pfc_blocks_opts){ .builds = 2, .first = 3 }), PFC_EINVAL));
    cr_assert(eq(int, refused(NULL, 0, (pfc_blocks_opts){ .builds = 2, .alpha = 1 }), PFC_EINVAL));
    cr_assert(
        eq(int, refused(NULL, 0, (pfc_blocks_opts){ .builds = 2, .margin = -1 }), PFC_EINVAL));
}

/* Three builds alike on a machine with two speeds, in stretches of 5 visits. p never grows, so the
 * last of 24 rounds says whether any look was below 0.05. */
Test(blocks, looks_at_equal_builds_are_below_alpha_no_more_often_than_alpha)
{
    static session s;
    const double alike[] = { 1.0, 1.0, 1.0 };
    size_t alarms = 0;

    for (uint64_t seed = 0; seed < PFC_ROUNDS(120); seed++) {
        double level = 1.0;
        pfc_blocks_fit fit;

        start(&s, 100 + seed, 0.01);
        for (int r = 0; r < 24; r++)
            add_round(&s, alike, 3);
        for (size_t i = 0; i < s.n; i++) {
            if (pfc_rng_below(&s.rng, 5) == 0)
                level = level > 1.0 ? 1.0 : 1.05 + 0.07 * pfc_rng_double(&s.rng);
            s.visits[i].value *= level;
        }
        fit = judge(&s, 3);
        alarms += fit.boundaries[0].p < 0.05;
        alarms += fit.boundaries[1].p < 0.05;
        pfc_blocks_fit_clear(&fit);
    }
    /* 12 of 240 are promised; 19 is two standard deviations above. */
    cr_assert(le(sz, alarms, 19), "%zu", alarms);
}

/* 3.5 % at 1.8 % of noise in four rounds: the two builds beside the step cannot decide it, all
 * eight together can. */
Test(blocks, a_step_is_found_by_all_builds_and_has_a_place)
{
    static session s;
    const double factors[] = { 1.0, 1.0, 1.0, 1.0, 1.035, 1.035, 1.035, 1.035 };
    size_t decided = 0, exact = 0, covered = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        pfc_blocks_fit fit;

        start(&s, seed, 0.018);
        for (int r = 0; r < 4; r++)
            add_round(&s, factors, 8);
        fit = judge(&s, 8);
        for (size_t i = 0; i < fit.boundaries_len; i++) {
            const pfc_boundary *b = &fit.boundaries[i];

            if (!b->by_order)
                continue;
            decided++;
            exact += b->to == 4;
            cr_assert(eq(int, (int)b->verdict, (int)PFC_VERDICT_DIFFERENT));
            cr_assert(le(sz, b->place_from, b->from));
            cr_assert(ge(sz, b->place_to, b->to));
            cr_assert(le(sz, b->place_from, 3));
            cr_assert(ge(sz, b->place_to, 4));
            cr_assert(gt(dbl, b->any_low, 0.0));
            covered += b->any_low < 0.035 && 0.035 < b->any_high;
        }
        pfc_blocks_fit_clear(&fit);
    }
    cr_assert(ge(sz, decided, 12));
    cr_assert(le(sz, decided, 20));
    cr_assert(ge(sz, exact, decided - 2));
    cr_assert(ge(sz, covered, decided - 1));
}

/* The same upside down: a build that is faster. */
Test(blocks, a_step_downwards_is_reported_as_one)
{
    static session s;
    const double factors[] = { 1.0, 1.0, 1.0, 1.0, 0.96, 0.96, 0.96, 0.96 };
    pfc_blocks_fit fit;

    start(&s, 3, 0.01);
    for (int r = 0; r < 4; r++)
        add_round(&s, factors, 8);
    fit = judge(&s, 8);
    cr_assert(fit.boundaries[3].by_order);
    cr_assert(lt(dbl, fit.boundaries[3].rel_change, -0.03));
    cr_assert(lt(dbl, fit.boundaries[3].any_high, 0.0));
    cr_assert(gt(dbl, fit.boundaries[3].any_low, -0.06));
    pfc_blocks_fit_clear(&fit);
}

/* An anchor that is far older is no part of the stretch: its level is no evidence for a step behind
 * the base. */
Test(blocks, builds_apart_belong_to_no_stretch)
{
    static session s;
    const double factors[] = { 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 };
    const pfc_blocks_opts opts = { .builds = 7, .first = 1, .apart = 1 };
    pfc_blocks_fit fit;
    pfc_err err = { 0 };

    start(&s, 3, 0.01);
    for (int r = 0; r < 4; r++)
        add_round(&s, factors, 7);
    cr_assert(eq(int, pfc_blocks_judge(s.visits, s.n, &opts, &fit, &err), PFC_OK));
    for (size_t i = 0; i < fit.boundaries_len; i++)
        cr_assert(not(fit.boundaries[i].by_order), "%zu", i);
    pfc_blocks_fit_clear(&fit);
    fit = judge(&s, 7);
    cr_assert(fit.boundaries[0].by_order);
    pfc_blocks_fit_clear(&fit);
}

/* Between builds 2 and 3 lie commits that another session judged: what changed there belongs to
 * none of these, and the stretch ends there on both sides. The step before build 5 is still
 * reported. */
Test(blocks, a_gap_is_no_place_for_a_step)
{
    static session s;
    const double factors[] = { 1.0, 1.0, 1.0, 1.05, 1.05, 1.10, 1.10, 1.10 };
    const bool gap[8] = { [3] = true };
    const pfc_blocks_opts opts = { .builds = 8, .first = 1, .gap = gap };
    pfc_blocks_fit fit;
    pfc_err err = { 0 };

    start(&s, 4, 0.005);
    for (int r = 0; r < 5; r++)
        add_round(&s, factors, 8);
    cr_assert(eq(int, pfc_blocks_judge(s.visits, s.n, &opts, &fit, &err), PFC_OK));
    cr_assert(eq(sz, fit.boundaries_len, 7));
    for (size_t i = 0; i < 7; i++) {
        const pfc_boundary *b = &fit.boundaries[i];

        cr_assert(eq(int, b->gap, b->to == 3), "%zu", i);
        cr_assert(eq(int, b->by_order, b->to == 5), "%zu", i);
    }
    cr_assert(eq(sz, fit.boundaries[4].place_from, 4));
    cr_assert(eq(sz, fit.boundaries[4].place_to, 5));
    pfc_blocks_fit_clear(&fit);
}
