/* The test by order: it is silent where nothing changed, whatever the machine does, and it tells a
 * step soon. */
#include <math.h>

#include "core/base/rng.h"
#include "core/blocks/order_test.h"

#include "tests/check/check.h"
#include "tests/support/rounds.h"

#define BUILDS 8
#define ROUNDS 12

typedef struct machine {
    double noise, state; /* state: how much slower, in stretches of 15 visits on average */
    double modes;        /* distance of the two speeds; each visit draws one */
    bool mirrored;
} machine;

typedef struct session {
    pfc_spot spots[2 * BUILDS * ROUNDS];
    size_t n;
    pfc_rng rng;
    bool slow;
} session;

static void visit(session *s, const machine *m, uint32_t build, uint32_t block, uint32_t position,
                  double step)
{
    double y = step + m->noise * pfc_rng_normal(&s->rng);

    if (pfc_rng_double(&s->rng) < 1.0 / 15.0)
        s->slow = !s->slow;
    y += s->slow ? m->state : 0.0;
    y += pfc_rng_double(&s->rng) < 0.5 ? m->modes : 0.0;
    s->spots[s->n++] = (pfc_spot){ build, block, position, exp(y), y };
}

/* Rounds of all builds; those from `at` on are slower by `step` (a logarithm). */
static void measure(session *s, const machine *m, uint64_t seed, uint32_t rounds, uint32_t at,
                    double step)
{
    *s = (session){ .n = 0 };
    pfc_rng_seed(&s->rng, seed);
    for (uint32_t r = 0; r < rounds; r++) {
        size_t order[2][BUILDS];

        for (size_t i = 0; i < BUILDS; i++)
            order[0][i] = i;
        pfc_rng_shuffle(&s->rng, order[0], BUILDS);
        for (size_t i = 0; i < BUILDS; i++)
            order[1][i] = order[0][BUILDS - 1 - i];
        if (!m->mirrored)
            pfc_rng_shuffle(&s->rng, order[1], BUILDS);
        for (uint32_t i = 0; i < 2 * BUILDS; i++) {
            const size_t build = order[i / BUILDS][i % BUILDS];

            visit(s, m, (uint32_t)build, 2 * r + i / BUILDS, i % BUILDS, build >= at ? step : 0.0);
        }
    }
}

static double p_of(const session *s, uint32_t low, uint32_t high, uint32_t split)
{
    pfc_orders *o = pfc_orders_new();
    double p;

    pfc_orders_take(o, s->spots, s->n);
    p = pfc_orders_p(o, low, high, split);
    pfc_orders_free(o);
    return p;
}

/* Bets lose money on average where nothing changed: p <= 0.05 in at most 5 % (of 150: 7.5 expected
 * at most, 16 would be three standard deviations more). */
Test(blocks_order, equal_builds_are_rarely_distinguished_on_any_machine)
{
    static const machine machines[] = {
        { .noise = 0.012 },
        { .noise = 0.012, .state = 0.08 },
        { .noise = 0.003, .modes = 0.03 },
        { .noise = 0.012, .state = 0.08, .mirrored = true },
    };

    for (size_t m = 0; m < PFC_ARRAY_LEN(machines); m++) {
        size_t detected = 0, surely = 0;

        for (uint64_t seed = 0; seed < PFC_ROUNDS(150); seed++) {
            static session s;
            double p;

            measure(&s, &machines[m], seed, 5, BUILDS, 0.0);
            p = p_of(&s, 0, BUILDS - 1, 1 + (uint32_t)seed % (BUILDS - 1));
            detected += p <= 0.05;
            surely += p <= 0.001;
        }
        cr_assert(le(sz, detected, 16), "machine %zu: %zu", m, detected);
        cr_assert(le(sz, surely, 2), "machine %zu: %zu", m, surely);
    }
}

/* 3 % at 1.2 % of noise in 48 visits, upwards and downwards; states of 8 % change little. */
Test(blocks_order, a_step_of_three_per_cent_is_found_after_three_rounds)
{
    static const machine machines[] = { { .noise = 0.012 }, { .noise = 0.012, .state = 0.08 } };

    for (size_t m = 0; m < PFC_ARRAY_LEN(machines); m++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            size_t detected = 0;

            for (uint64_t seed = 0; seed < 40; seed++) {
                static session s;

                measure(&s, &machines[m], seed, 3, 4, sign * 0.03);
                detected += p_of(&s, 0, BUILDS - 1, 4) < 1e-3;
            }
            cr_assert(ge(sz, detected, 34), "machine %zu, sign %d: %zu of 40", m, sign, detected);
        }
    }
}

/* A program of two speeds 3 % apart, one drawn by each process: a step of half that distance is
 * still found. */
Test(blocks_order, levels_that_each_visit_draws_are_learned)
{
    static const machine m = { .noise = 0.003, .modes = 0.03 };
    size_t detected = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        static session s;

        measure(&s, &m, seed, 8, 4, 0.015);
        detected += p_of(&s, 0, BUILDS - 1, 4) < 1e-3;
    }
    cr_assert(ge(sz, detected, 32), "%zu of 40", detected);
}

/* One order of a mirrored round: 4 of 8 builds are one of 70 choices. */
Test(blocks_order, a_mirrored_round_is_one_order_and_two_orders_are_two)
{
    static session s;
    machine m = { .noise = 0.001, .mirrored = true };

    measure(&s, &m, 1, 3, 4, 0.05);
    cr_assert(ge(dbl, p_of(&s, 0, BUILDS - 1, 4), pow(70.0, -3)));
    m.mirrored = false;
    measure(&s, &m, 1, 3, 4, 0.05);
    cr_assert(lt(dbl, p_of(&s, 0, BUILDS - 1, 4), pow(70.0, -3)));
    cr_assert(ge(dbl, p_of(&s, 0, BUILDS - 1, 4), pow(70.0, -6)));
}

Test(blocks_order, builds_outside_the_stretch_are_no_evidence)
{
    static const machine m = { .noise = 0.012 };
    static session s;

    measure(&s, &m, 3, 6, 6, 0.10);
    cr_assert(lt(dbl, p_of(&s, 0, BUILDS - 1, 6), 1e-4));
    for (uint32_t split = 1; split <= 5; split++)
        cr_assert(gt(dbl, p_of(&s, 0, 5, split), 0.05), "%u", split);
    cr_assert(gt(dbl, p_of(&s, 6, 7, 7), 0.05));
}

/* An incomplete round is not counted, and is counted once when it becomes complete. */
Test(blocks_order, a_round_counts_once_and_when_it_is_whole)
{
    static const machine m = { .noise = 0.012 };
    static session s;
    pfc_orders *o = pfc_orders_new();

    measure(&s, &m, 5, 4, 4, 0.03);
    pfc_orders_take(o, s.spots, BUILDS);
    cr_assert(eq(dbl, pfc_orders_p(o, 0, BUILDS - 1, 4), 1.0));
    for (size_t n = 2 * BUILDS; n <= s.n; n += 2 * BUILDS)
        pfc_orders_take(o, s.spots, n);
    cr_assert(eq(dbl, pfc_orders_p(o, 0, BUILDS - 1, 4), p_of(&s, 0, BUILDS - 1, 4)));
    pfc_orders_free(o);
}

/* A known change is subtracted exactly: a change of 3 % less 3 % leaves none,
 * less 6 % leaves -3 %. */
Test(blocks_order, a_shift_is_taken_off_the_builds_it_names)
{
    static const machine m = { .noise = 0.012 };
    static session s;

    measure(&s, &m, 8, 6, 4, 0.03);
    for (int k = 0; k <= 2; k++) {
        pfc_orders *o = pfc_orders_new();

        pfc_orders_shift(o, 4, BUILDS - 1, 0.03 * k);
        pfc_orders_take(o, s.spots, s.n);
        if (k == 1)
            cr_assert(gt(dbl, pfc_orders_p(o, 0, BUILDS - 1, 4), 0.05));
        else
            cr_assert(lt(dbl, pfc_orders_p(o, 0, BUILDS - 1, 4), 1e-4));
        pfc_orders_free(o);
    }
}
