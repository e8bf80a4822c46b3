/* Mann-Whitney, signed rank and the Hodges-Lehmann shift against tables and arithmetic. */
#include <math.h>

#include "core/stats/ranktest.h"
#include "core/stats/stats.h"

#include "tests/check/check.h"

static double p_of(const double *a, size_t na, const double *b, size_t nb)
{
    double p = -1.0;
    pfc_err err = { 0 };
    cr_assert(eq(int, pfc_stats_ranktest(a, na, b, nb, &p, &err), PFC_OK), "%s", err.msg);
    return p;
}

/* All of b above all of a: 2 of the C(6,3) = 20 orderings are as extreme, so p = 0.1. */
Test(ranktest, fully_separated_triples_give_one_tenth)
{
    const double a[] = { 101.0, 102.0, 103.0 };
    const double b[] = { 111.0, 112.0, 113.0 };
    cr_assert(epsilon_eq(dbl, p_of(a, 3, b, 3), 0.1, 1e-12));
}

/* Ranks of b 3 5 6 7 of 7: U = 21 - 10 = 11 of 12; P(U >= 11) = 2/35 (the orderings 4567 and
 * 3567), doubled 4/35. */
Test(ranktest, one_inversion_of_three_against_four)
{
    const double a[] = { 1.0, 2.0, 4.0 };
    const double b[] = { 3.0, 5.0, 6.0, 7.0 };
    cr_assert(epsilon_eq(dbl, p_of(a, 3, b, 4), 4.0 / 35.0, 1e-12));
}

/* Mann & Whitney's table: critical U at two-sided 5 % for 10 against 10 is 23. */
Test(ranktest, critical_value_of_ten_against_ten)
{
    cr_assert(eq(dbl, pfc_ranktest_cut(10, 10, 0.025), 24.0));
    /* 8 against 8: 13; 5 against 5: 2. */
    cr_assert(eq(dbl, pfc_ranktest_cut(8, 8, 0.025), 14.0));
    cr_assert(eq(dbl, pfc_ranktest_cut(5, 5, 0.025), 3.0));
    cr_assert(eq(dbl, pfc_ranktest_cut(3, 3, 0.025), 0.0));
}

/* 12 against 12 fully separated: U = 144, mean 72, variance 12*12*25/12 = 300,
 * z = 71.5 / sqrt(300) = 4.12806, p = erfc(z / sqrt 2) = 3.6586e-5. */
Test(ranktest, larger_samples_use_the_normal_with_continuity)
{
    double a[12];
    double b[12];
    for (size_t i = 0; i < 12; i++) {
        a[i] = (double)i;
        b[i] = 100.0 + (double)i;
    }
    double z = 71.5 / sqrt(300.0);
    cr_assert(epsilon_eq(dbl, p_of(a, 12, b, 12), erfc(z / sqrt(2.0)), 1e-15));
}

/* Ties: a = 1 1 2, b = 2 3 3. U = 0.5 (one tie) + 8 = 8.5; mean 4.5; ties 2,2,2 give
 * sum(t^3 - t) = 18; variance 9/12 * (7 - 18/30) = 4.8; z = 3.5 / sqrt(4.8). */
Test(ranktest, ties_shrink_the_variance)
{
    const double a[] = { 1.0, 1.0, 2.0 };
    const double b[] = { 2.0, 3.0, 3.0 };
    cr_assert(epsilon_eq(dbl, p_of(a, 3, b, 3), erfc(3.5 / sqrt(4.8) / sqrt(2.0)), 1e-12));
}

Test(ranktest, all_equal_values_tell_nothing)
{
    const double a[] = { 1.0, 1.0, 1.0 };
    cr_assert(eq(dbl, p_of(a, 3, a, 3), 1.0));
}

Test(ranktest, swapping_the_sides_keeps_p)
{
    pfc_rng rng;
    pfc_rng_seed(&rng, 5);
    for (int round = 0; round < 50; round++) {
        double a[9];
        double b[14];
        for (size_t i = 0; i < 9; i++)
            a[i] = pfc_rng_normal(&rng);
        for (size_t i = 0; i < 14; i++)
            b[i] = floor(3.0 * pfc_rng_normal(&rng));
        double p = p_of(a, 9, b, 14);
        cr_assert(p > 0.0 && p <= 1.0);
        cr_assert(epsilon_eq(dbl, p, p_of(b, 14, a, 9), 1e-12));
    }
}

/* 2000 seeded null pairs of 8: the share of p < 0.05 must be near, and not above, 5 %. */
Test(ranktest, false_alarms_stay_at_the_level)
{
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 11);
    for (int round = 0; round < 2000; round++) {
        double x[16];
        for (size_t i = 0; i < 16; i++)
            x[i] = exp(pfc_rng_normal(&rng));
        alarms += p_of(x, 8, x + 8, 8) < 0.05;
    }
    cr_assert(alarms <= 130 && alarms >= 50, "%zu alarms", alarms);
}

Test(ranktest, bad_samples_are_named)
{
    const double good[] = { 1.0, 2.0, 3.0 };
    const double bad[] = { 1.0, NAN, 3.0 };
    double p = 7.0;
    pfc_err err = { 0 };
    cr_assert(eq(int, pfc_stats_ranktest(good, 2, good, 3, &p, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "sample a: expected 3..1000000 values, got 2"));
    cr_assert(eq(int, pfc_stats_ranktest(good, 3, bad, 3, &p, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "sample b: expected finite values, value 1 is nan"));
    cr_assert(eq(dbl, p, 7.0));
}

/* Differences b - a of {1,2,3} and {11,13,15}: 8 9 10 10 11 12 12 13 14; the middle one is 11. */
Test(shift, is_the_median_of_all_differences)
{
    const double a[] = { 1.0, 2.0, 3.0 };
    const double b[] = { 15.0, 11.0, 13.0 };
    pfc_interval shift;
    cr_assert(eq(int, pfc_stats_shift(a, 3, b, 3, 0.9, &shift, NULL), PFC_OK));
    cr_assert(eq(dbl, shift.value, 11.0));
    /* P(U = 0) = 1/20 = 0.05 a side: at 90 % the interval is the whole range. */
    cr_assert(eq(dbl, shift.low, 8.0));
    cr_assert(eq(dbl, shift.high, 14.0));
}

/* Against writing down all differences and sorting them. */
Test(shift, agrees_with_the_sorted_differences)
{
    pfc_rng rng;
    pfc_rng_seed(&rng, 2);
    for (int round = 0; round < 30; round++) {
        double a[13];
        double b[17];
        double d[13 * 17];
        for (size_t i = 0; i < 13; i++)
            a[i] = floor(8.0 * pfc_rng_normal(&rng)) / 4.0;
        for (size_t i = 0; i < 17; i++)
            b[i] = pfc_rng_normal(&rng) * 1e3;
        for (size_t i = 0; i < 13 * 17; i++)
            d[i] = b[i % 17] - a[i / 17];
        pfc_interval shift;
        cr_assert(eq(int, pfc_stats_shift(a, 13, b, 17, 0.95, &shift, NULL), PFC_OK));
        cr_assert(eq(dbl, shift.value, pfc_stats_median(d, 13 * 17)));
        cr_assert(shift.low <= shift.value && shift.value <= shift.high);
    }
}

Test(shift, refuses_a_level_that_is_none)
{
    const double a[] = { 1.0 };
    pfc_interval shift;
    pfc_err err = { 0 };
    cr_assert(eq(int, pfc_stats_shift(a, 1, a, 1, 1.0, &shift, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "level"));
}

/* All 5 of the same sign: 2 of 2^5 sign patterns, p = 1/16. One small negative of 6 (rank 1):
 * W = 20 of 21; patterns with W >= 20: 2, doubled 4/64. */
Test(signed_rank, small_samples_are_counted)
{
    const double up[] = { 1.0, 2.0, 3.0, 4.0, 5.0 };
    const double one_down[] = { -1.0, 2.0, 3.0, 4.0, 5.0, 6.0 };
    const double zeros[] = { 0.0, 0.0 };
    cr_assert(epsilon_eq(dbl, pfc_signed_rank_p(up, 5), 1.0 / 16.0, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_signed_rank_p(one_down, 6), 4.0 / 64.0, 1e-12));
    cr_assert(eq(dbl, pfc_signed_rank_p(zeros, 2), 1.0));
}

/* Wilcoxon's table: two-sided 5 %, n = 10: 8; n = 20: 52. */
Test(signed_rank, critical_values_of_the_table)
{
    cr_assert(eq(dbl, pfc_signed_rank_cut(10, 0.025), 9.0));
    cr_assert(eq(dbl, pfc_signed_rank_cut(20, 0.025), 53.0));
}

/* R 4, ?wilcox.test, Hollander & Wolfe 1973 p. 29 (depression scale before and after): V = 40,
 * p = 0.01953 one-sided, so 20 of the 512 signings two-sided. */
Test(signed_rank, depression_scale_example_of_r)
{
    const double x[] = { 1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30 };
    const double y[] = { 0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29 };
    double d[9];
    for (size_t i = 0; i < 9; i++)
        d[i] = x[i] - y[i];
    cr_assert(epsilon_eq(dbl, pfc_signed_rank_p(d, 9), 20.0 / 512.0, 1e-12));
}

/* R 4, ?wilcox.test, Hollander & Wolfe 1973 p. 69 (permeability constants): W = 35, p = 0.1272
 * one-sided. 35 of the 50 pairs favour the first sample. */
Test(ranktest, permeability_example_of_r)
{
    const double x[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46 };
    const double y[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
    double superior;
    cr_assert(epsilon_eq(dbl, p_of(x, 10, y, 5), 2.0 * 0.1272, 1e-4));
    (void)pfc_ranktest_p(x, 10, y, 5, &superior);
    cr_assert(epsilon_eq(dbl, superior, 15.0 / 50.0, 1e-12));
}
