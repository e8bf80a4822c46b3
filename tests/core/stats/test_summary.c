/* Summaries, intervals of the median, discovery rate. */
#include <math.h>
#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/stats/dist.h"
#include "core/stats/sort.h"
#include "core/stats/stats.h"

Test(summary, median_of_odd_and_even_counts)
{
    const double odd[] = { 9.0, 1.0, 5.0 };
    const double even[] = { 4.0, 1.0, 3.0, 2.0 };
    cr_assert(eq(dbl, pfc_stats_median(odd, 3), 5.0));
    cr_assert(eq(dbl, pfc_stats_median(even, 4), 2.5));
    cr_assert(eq(dbl, pfc_stats_median(odd, 1), 9.0));
}

/* Type 7 (Hyndman & Fan 1996): place 0.25 * 3 = 0.75 between 1 and 2, so 1.75. */
Test(summary, quantile_interpolates_between_order_statistics)
{
    const double x[] = { 4.0, 2.0, 1.0, 3.0 };
    cr_assert(epsilon_eq(dbl, pfc_stats_quantile(x, 4, 0.25), 1.75, 1e-12));
    cr_assert(eq(dbl, pfc_stats_quantile(x, 4, 0.0), 1.0));
    cr_assert(eq(dbl, pfc_stats_quantile(x, 4, 1.0), 4.0));
}

/* Median 2, deviations 1 1 0 0 2 4 7, their median 1: the example of the MAD that a single far
 * value does not move. */
Test(summary, mad_is_scaled_to_the_normal)
{
    const double x[] = { 1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0 };
    cr_assert(epsilon_eq(dbl, pfc_stats_mad(x, 7), 1.4826, 1e-4));
    cr_assert(eq(dbl, pfc_stats_mad(x, 1), 0.0));
}

/* Sum of squares around 5 is 32 over 7 degrees of freedom. */
Test(summary, mean_and_standard_deviation)
{
    const double x[] = { 2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0 };
    cr_assert(epsilon_eq(dbl, pfc_stats_mean(x, 8), 5.0, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_sd(x, 8), sqrt(32.0 / 7.0), 1e-12));
    cr_assert(eq(dbl, pfc_stats_sd(x, 1), 0.0));
}

Test(summary, huge_values_do_not_overflow)
{
    const double x[] = { 1.5e308, 1.7e308 };
    cr_assert(epsilon_eq(dbl, pfc_stats_mean(x, 2) / 1.6e308, 1.0, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_median(x, 2) / 1.6e308, 1.0, 1e-12));
    cr_assert(isfinite(pfc_stats_sd(x, 2)));
}

Test(summary, geometric_mean_needs_positive_values)
{
    const double x[] = { 1.0, 10.0, 100.0 };
    const double zero[] = { 1.0, 0.0 };
    cr_assert(epsilon_eq(dbl, pfc_stats_geomean(x, 3), 10.0, 1e-9));
    cr_assert(isnan(pfc_stats_geomean(zero, 2)));
}

/* Quantiles of the standard normal as in any table: 1.959964 and 2.326348. */
Test(dist, normal_quantile_and_its_inverse)
{
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_quantile(0.975), 1.959963984540054, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_quantile(0.01), -2.326347874040841, 1e-12));
    cr_assert(eq(dbl, pfc_stats_normal_quantile(0.5), 0.0));
    for (double p = 1e-12; p < 1.0; p = p * 3.0 + 1e-3)
        cr_assert(epsilon_eq(dbl, pfc_stats_normal_cdf(pfc_stats_normal_quantile(p)), p, 1e-9));
}

/* Sign test table: n = 10, two-sided 5 % cuts one value (2 * 11/1024 = 0.0215; two would be
 * 2 * 56/1024 = 0.109), so the interval runs from the 2nd to the 9th order statistic. */
Test(interval, median_of_ten_runs_from_second_to_ninth)
{
    const double x[] = { 7, 3, 10, 1, 5, 9, 2, 8, 4, 6 };
    pfc_interval i = pfc_stats_median_interval(x, 10, 0.95);
    cr_assert(eq(dbl, i.value, 5.5));
    cr_assert(eq(dbl, i.low, 2.0));
    cr_assert(eq(dbl, i.high, 9.0));
}

Test(interval, fewer_than_six_values_give_the_range)
{
    const double x[] = { 3, 1, 5, 2, 4 };
    pfc_interval i = pfc_stats_median_interval(x, 5, 0.95);
    cr_assert(eq(dbl, i.low, 1.0));
    cr_assert(eq(dbl, i.high, 5.0));
}

/* 2000 seeded samples of 25 normals: the 95 % interval must hold 0 in at least 93 %; exactly it
 * holds it in 1 - 2 * P(B(25, 1/2) <= 7) = 95.7 %. */
Test(interval, median_interval_covers_as_it_says)
{
    pfc_rng rng;
    size_t held = 0;
    pfc_rng_seed(&rng, 7);
    for (int round = 0; round < 2000; round++) {
        double x[25];
        for (size_t i = 0; i < 25; i++)
            x[i] = pfc_rng_normal(&rng);
        pfc_interval v = pfc_stats_median_interval(x, 25, 0.95);
        held += v.low <= 0.0 && 0.0 <= v.high;
    }
    cr_assert(held >= 1860 && held <= 1960, "held %zu of 2000", held);
}

/* Two launches far apart, steady within: the interval must span both, where one that takes the
 * samples for independent would shrink with their number. */
Test(interval, blocks_carry_the_spread_between_launches)
{
    double x[40];
    const uint32_t blocks[] = { 10, 10, 10, 10 };
    for (size_t i = 0; i < 40; i++)
        x[i] = (i < 20 ? 100.0 : 110.0) + 0.01 * (double)(i % 10);
    pfc_interval v = pfc_stats_block_interval(x, blocks, 4, 0.95, 1);
    pfc_interval again = pfc_stats_block_interval(x, blocks, 4, 0.95, 1);
    cr_assert(v.low < 101.0 && v.high > 109.0, "%g..%g", v.low, v.high);
    cr_assert(eq(dbl, v.low, again.low));
    cr_assert(eq(dbl, v.high, again.high));
}

Test(interval, one_block_is_the_plain_interval)
{
    const double x[] = { 7, 3, 10, 1, 5, 9, 2, 8, 4, 6 };
    const uint32_t blocks[] = { 10 };
    pfc_interval v = pfc_stats_block_interval(x, blocks, 1, 0.95, 1);
    cr_assert(eq(dbl, v.low, 2.0));
    cr_assert(eq(dbl, v.high, 9.0));
}

/* Benjamini & Hochberg 1995, section 4: of these 15 p-values the procedure at 0.05 rejects the
 * four smallest (0.0095 <= 4/15 * 0.05 = 0.0133), Bonferroni only three. */
Test(fdr, example_of_the_paper)
{
    const double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                         0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
    bool keep[15];
    pfc_stats_fdr(p, 15, 0.05, keep);
    for (size_t i = 0; i < 15; i++)
        cr_assert(eq(int, keep[i], i < 4), "at %zu", i);
}

Test(fdr, nothing_is_kept_when_nothing_is_small)
{
    const double p[] = { 0.9, 0.2, 0.5 };
    bool keep[3] = { true, true, true };
    pfc_stats_fdr(p, 3, 0.05, keep);
    cr_assert(not(keep[0] || keep[1] || keep[2]));
}

/* Against the C library's sort, on the patterns that make quicksort slow. */
Test(sort, agrees_with_qsort_on_awkward_orders)
{
    enum { N = 3000 };
    static double x[N];
    pfc_rng rng;
    pfc_rng_seed(&rng, 3);
    for (int pattern = 0; pattern < 5; pattern++) {
        for (size_t i = 0; i < N; i++) {
            const double values[] = { (double)i, (double)(N - i), 1.0, (double)(i % 7),
                                      pfc_rng_double(&rng) };
            x[i] = values[pattern];
        }
        double middle = pfc_stats_quantile(x, N, 0.5);
        pfc_stats_sort(x, N);
        for (size_t i = 1; i < N; i++)
            cr_assert(x[i - 1] <= x[i], "pattern %d at %zu", pattern, i);
        cr_assert(epsilon_eq(dbl, middle, 0.5 * (x[N / 2 - 1] + x[N / 2]), 1e-9));
    }
}
