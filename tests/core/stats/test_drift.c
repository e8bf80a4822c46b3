/* Slow drift: found where it is, with steps taken out, and seldom where there is none. */
#include <math.h>

#include "core/base/rng.h"
#include "core/changepoint/drift.h"

#include "tests/check/check.h"

#define N 70

static pfc_point points[N];

static void make(uint64_t seed, double a_point, double noise)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < N; i++)
        points[i] =
            (pfc_point){ .v = 100 * exp(a_point * (double)i) * (1 + noise * pfc_rng_normal(&rng)) };
}

Test(drift, three_per_cent_over_ten_weeks_are_found_with_an_interval)
{
    pfc_drift d;

    make(1, 0.003 / 7, 0.005);
    cr_assert(pfc_stats_drift(points, N, NULL, 0, &d));
    cr_assert(epsilon_eq(dbl, d.rel_change, 0.03, 0.006));
    cr_assert(lt(dbl, d.rel_low, d.rel_change));
    cr_assert(gt(dbl, d.rel_low, 0.015));
    cr_assert(lt(dbl, d.rel_high, 0.045));
    cr_assert(lt(dbl, d.p, 1e-4));
    cr_assert(epsilon_eq(dbl, d.before, 100, 0.5));
}

/* A step of 10 % is no drift once it is taken out, and hides none. */
Test(drift, steps_are_taken_out)
{
    pfc_change step = { .index = 40, .before = 100, .after = 110, .rel_change = 0.1 };
    pfc_drift flat, tilted;

    make(2, 0, 0.005);
    for (size_t i = 40; i < N; i++)
        points[i].v *= 1.1;
    cr_assert(pfc_stats_drift(points, N, &step, 1, &flat));
    cr_assert(lt(dbl, fabs(flat.rel_change), 0.006));
    make(2, -0.0005, 0.005);
    for (size_t i = 40; i < N; i++)
        points[i].v *= 1.1;
    cr_assert(pfc_stats_drift(points, N, &step, 1, &tilted));
    cr_assert(epsilon_eq(dbl, tilted.rel_change, expm1(-0.0005 * N), 0.006));
}

/* p <= 0.01 in about one of a hundred without drift: at most 8 of 300 (binomial, 99 %). */
Test(drift, its_level_holds_without_drift)
{
    size_t wrong = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        pfc_drift d;

        make(seed, 0, 0.01);
        cr_assert(pfc_stats_drift(points, N, NULL, 0, &d));
        wrong += d.p <= 0.01;
    }
    cr_assert(le(sz, wrong, 8), "%zu", wrong);
}

Test(drift, too_few_points_missing_ones_and_odd_values_have_defined_answers)
{
    pfc_drift d;

    make(4, 0, 0.01);
    cr_assert(not(pfc_stats_drift(points, PFC_DRIFT_MIN_POINTS - 1, NULL, 0, &d)));
    cr_assert(not(pfc_stats_drift(points, 0, NULL, 0, &d)));
    for (size_t i = 0; i < N; i++)
        points[i].v = i % 2 ? (double)NAN : (double)i - 20;
    cr_assert(pfc_stats_drift(points, N, NULL, 0, &d));
    cr_assert(gt(dbl, d.after, d.before));
    for (size_t i = 0; i < N; i++)
        points[i].v = 0;
    cr_assert(not(pfc_stats_drift(points, N, NULL, 0, &d)));
}

/* 0.1 % a point: the medians of ten points on either side of point 40 lie 10 and 24.5 behind it. */
Test(drift, the_change_since_a_reference_has_steps_taken_out)
{
    pfc_change step = { .index = 55, .before = 100, .after = 110, .rel_change = 0.1 };
    pfc_drift d = { .p = 7 };

    make(5, 0.001, 0.001);
    for (size_t i = 55; i < N; i++)
        points[i].v *= 1.1;
    cr_assert(pfc_stats_drift_since(points, N, &step, 1, 40, &d));
    cr_assert(epsilon_eq(dbl, d.rel_change, expm1(0.001 * (64.5 - 35.5)), 0.002));
    cr_assert(lt(dbl, d.rel_low, d.rel_change));
    cr_assert(gt(dbl, d.rel_high, d.rel_change));
    cr_assert(eq(dbl, d.p, 7.0));
    /* Four points on a side say nothing; nor do missing ones. */
    cr_assert(not(pfc_stats_drift_since(points, N, &step, 1, PFC_DRIFT_SIDE_MIN - 2, &d)));
    cr_assert(pfc_stats_drift_since(points, N, &step, 1, PFC_DRIFT_SIDE_MIN - 1, &d));
    cr_assert(not(pfc_stats_drift_since(points, N, &step, 1, N - PFC_DRIFT_SIDE_MIN, &d)));
    for (size_t i = 41; i < N; i++)
        points[i].v = (double)NAN;
    cr_assert(not(pfc_stats_drift_since(points, N, NULL, 0, 40, &d)));
    cr_assert(not(pfc_stats_drift_since(points, 0, NULL, 0, 0, &d)));
}
