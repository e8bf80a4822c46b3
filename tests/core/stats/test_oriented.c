/* The test by order: swapped names give nearly the same p, equal builds few alarms, states hide no
 * shift. */
#include <math.h>

#include "core/base/rng.h"
#include "core/blocks/pair_order_test.h"

#include "tests/check/check.h"
#include "tests/support/rounds.h"

#define ROUNDS 24

static void measure(pfc_round *rounds, size_t n, pfc_rng *rng, double shift, double noise,
                    double jump)
{
    double level = 0.0;

    for (size_t i = 0; i < n; i++) {
        const bool first = pfc_rng_below(rng, 2);

        for (int k = 0; k < PFC_ROUND_VISITS; k++) {
            if (pfc_rng_double(rng) < jump)
                level = level > 0.0 ? 0.0 : 0.05 + 0.07 * pfc_rng_double(rng);
            rounds[i].to[k] = (k == 1 || k == 2) != first;
            rounds[i].gap[k] = 1;
            rounds[i].y[k] = level + noise * pfc_rng_normal(rng) + (rounds[i].to[k] ? shift : 0.0);
        }
    }
}

Test(oriented, p_is_nearly_the_same_when_the_builds_change_their_names)
{
    pfc_round rounds[ROUNDS];
    pfc_rng rng;
    double p;

    pfc_rng_seed(&rng, 1);
    measure(rounds, ROUNDS, &rng, 0.01, 0.01, 0.1);
    p = pfc_oriented_p(rounds, ROUNDS, 0.0);
    for (size_t i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < PFC_ROUND_VISITS; k++)
            rounds[i].to[k] = !rounds[i].to[k];
    }
    /* The level is that of the first build, so the grid lies a little differently. */
    cr_assert(epsilon_eq(dbl, log(pfc_oriented_p(rounds, ROUNDS, 0.0)), log(p), 0.2));
}

Test(oriented, p_starts_at_one_and_never_grows)
{
    pfc_round rounds[ROUNDS];
    double last = 1.0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 2);
    measure(rounds, ROUNDS, &rng, 0.01, 0.01, 0.1);
    cr_assert(eq(dbl, pfc_oriented_p(rounds, 0, 0.0), 1.0));
    for (size_t n = 1; n <= ROUNDS; n++) {
        const double p = pfc_oriented_p(rounds, n, 0.0);

        cr_assert(le(dbl, p, last));
        /* A round is one coin. */
        cr_assert(ge(dbl, p, pow(0.5, (double)n) * 0.999));
        last = p;
    }
}

/* At 0.05, 400 sessions of equal builds on a machine that changes its speed at every fourth visit.
 */
Test(oriented, equal_builds_raise_no_more_alarms_than_promised)
{
    pfc_round rounds[ROUNDS];
    size_t alarms = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 3);
    for (int i = 0; i < PFC_ROUNDS(400); i++) {
        measure(rounds, ROUNDS, &rng, 0.0, 0.01, 0.25);
        alarms += pfc_oriented_p(rounds, ROUNDS, 0.0) < 0.05;
    }
    /* 20 are promised; 28 is two standard deviations above. */
    cr_assert(le(sz, alarms, 28), "%zu", alarms);
}

/* A shift of 3 % under 1 % of noise and states of 5 to 12 %; and the shift itself is not excluded.
 */
Test(oriented, a_shift_is_found_though_the_machine_changes_its_speed)
{
    pfc_round rounds[ROUNDS];
    size_t found = 0;
    size_t lost = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 4);
    for (int i = 0; i < 40; i++) {
        measure(rounds, ROUNDS, &rng, 0.03, 0.01, 0.1);
        found += pfc_oriented_p(rounds, ROUNDS, 0.0) < 0.001;
        lost += pfc_oriented_p(rounds, ROUNDS, 0.03) < 0.05;
    }
    cr_assert(ge(sz, found, 38), "%zu", found);
    cr_assert(le(sz, lost, 6), "%zu", lost);
}
