/* Series whose steady state is known: when is warm-up over? */
#include <math.h>

#include "bench/harness/block/steady.h"
#include "core/base/rng.h"

#include "tests/check/check.h"

#define N 400

static double x[N];
static pfc_rng rng;

static void setup(void)
{
    pfc_rng_seed(&rng, 7);
}

TestSuite(steady, .init = setup);

/* Samples until it is called steady, looked at after each; N + 1: never. */
static size_t called_at(size_t from)
{
    for (size_t n = from; n <= N; n++) {
        if (pfc_steady(x, n))
            return n;
    }
    return N + 1;
}

static double noise(double rel)
{
    return exp(rel * pfc_rng_normal(&rng));
}

Test(steady, a_level_series_is_at_once_and_few_samples_never_are)
{
    for (size_t i = 0; i < N; i++)
        x[i] = 1000.0;
    cr_assert(not(pfc_steady(x, PFC_STEADY_LEAST - 1)));
    cr_assert(eq(sz, called_at(1), PFC_STEADY_LEAST));
}

/* Warm-ups of different length: what is sampled next is slower by less than 1 %, and the wait was
 * as long as this one took, not a fixed number. */
Test(steady, a_warm_up_is_over_when_it_is_over)
{
    static const double half_lives[] = { 2, 8, 20 };

    for (size_t k = 0; k < 3; k++) {
        size_t n;
        double left;

        for (size_t i = 0; i < N; i++)
            x[i] = 1000.0 * (1.0 + exp2(-(double)i / half_lives[k])) * noise(0.002);
        n = called_at(1);
        left = exp2(-(double)n / half_lives[k]);
        cr_assert(le(sz, n, N), "half-life %g", half_lives[k]);
        cr_assert(le(dbl, left, 0.01), "half-life %g: called at %zu", half_lives[k], n);
        cr_assert(le(dbl, (double)n, 20.0 * half_lives[k] + 20.0), "half-life %g: only at %zu",
                  half_lives[k], n);
    }
}

/* Noise of any size is no warm-up. */
Test(steady, noise_alone_is_level)
{
    static const double sizes[] = { 0.003, 0.03, 0.2 };

    for (size_t k = 0; k < 3; k++) {
        size_t level = 0;

        for (size_t round = 0; round < 200; round++) {
            for (size_t i = 0; i < N; i++)
                x[i] = 1000.0 * noise(sizes[k]) * (pfc_rng_below(&rng, 20) == 0 ? 2.0 : 1.0);
            level += pfc_steady(x, 200);
        }
        cr_assert(ge(sz, level, 190), "noise %g: %zu of 200", sizes[k], level);
    }
}

Test(steady, what_has_no_steady_state_is_never_called_one)
{
    for (size_t i = 0; i < N; i++)
        x[i] = 1000.0 * (1.0 + 0.002 * (double)i) * noise(0.003); /* a drift */
    cr_assert(eq(sz, called_at(60), N + 1));
    for (size_t i = 0; i < N; i++)
        x[i] = 1000.0 * pow(1.03, floor((double)i / 25.0)) * noise(0.003); /* step after step */
    cr_assert(gt(sz, called_at(120), N));
}

/* A step in the second half keeps it open, however level both of its sides are. */
Test(steady, a_step_must_lie_back_far_enough)
{
    for (size_t i = 0; i < N; i++)
        x[i] = (i < 150 ? 1100.0 : 1000.0) * noise(0.003);
    cr_assert(not(pfc_steady(x, 180)));
    cr_assert(not(pfc_steady(x, 240)));
    cr_assert(pfc_steady(x, 310));
}

/* A cycle longer than a quarter of what is looked at is no steady state; one that samples see many
 * turns of is. Two neighbouring windows on a crest would have agreed. */
Test(steady, a_slow_cycle_is_distinguished_from_a_fast_one)
{
    for (size_t i = 0; i < N; i++)
        x[i] = 1000.0 * (1.0 + 0.1 * sin(2.0 * M_PI * (double)i / 160.0)) * noise(0.003);
    cr_assert(not(pfc_steady(x, 200)));
    cr_assert(not(pfc_steady(x, 300)));
    cr_assert(not(pfc_steady(x, 400)));
    for (size_t i = 0; i < N; i++)
        x[i] = 1000.0 * (1.0 + 0.1 * sin(2.0 * M_PI * (double)i / 5.0)) * noise(0.003);
    cr_assert(pfc_steady(x, 400));
}
