/* Summaries, intervals of the median, discovery rate. */
#include <math.h>
#include <stdlib.h>

#include "core/changepoint/fdr.h"
#include "core/stats/dist.h"
#include "core/stats/sort.h"
#include "core/stats/stats.h"

#include "tests/check/check.h"

Test(summary, median_of_odd_and_even_counts)
{
    const double odd[] = { 9.0, 1.0, 5.0 };
    const double even[] = { 4.0, 1.0, 3.0, 2.0 };
    cr_assert(eq(dbl, pfc_stats_median(odd, 3), 5.0));
    cr_assert(eq(dbl, pfc_stats_median(even, 4), 2.5));
    cr_assert(eq(dbl, pfc_stats_median(odd, 1), 9.0));
}

/* Against the median by sorting: lengths around the sizes where the way changes, with ties, in
 * order, far spread, and with most values equal. */
Test(summary, median_of_spent_values_is_the_median)
{
    enum { MOST = 700 };
    double x[MOST];
    pfc_rng rng;
    pfc_rng_seed(&rng, 5);
    for (size_t n = 1; n <= MOST; n += n < 100 ? 1 : 37) {
        for (int kind = 0; kind < 6; kind++) {
            for (size_t i = 0; i < n; i++) {
                double z = pfc_rng_normal(&rng);
                const double kinds[] = { z,
                                         round(2.0 * z),
                                         (double)i,
                                         exp(300.0 * z),
                                         z > 2.0 ? z : 1.0,
                                         i % 2 ? 1e308 : -1e308 };
                x[i] = kinds[kind];
            }
            double *sorted = pfc_stats_copy(x, n);
            pfc_stats_sort(sorted, n);
            double low = sorted[(n - 1) / 2];
            double high = sorted[n / 2];
            double want = low == high ? low : 0.5 * low + 0.5 * high;
            free(sorted);
            cr_assert(eq(dbl, pfc_stats_median_spend(x, n), want), "kind %d of %zu", kind, n);
        }
    }
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

/* R: pnorm(1), pnorm(-3), 2 * pnorm(-5), 2 * pnorm(-8). */
Test(dist, normal_tails_far_out)
{
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_cdf(1.0), 0.8413447460685429, 1e-14));
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_cdf(-3.0), 0.001349898031630095, 1e-16));
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_tail2(5.0) / 5.733031437583866e-07, 1.0, 1e-10));
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_tail2(-8.0) / 1.244192114854357e-15, 1.0, 1e-10));
}

/* R, ?mad: mad(c(1:9)) is 2.9652. */
Test(summary, mad_example_of_r)
{
    const double x[] = { 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0 };
    cr_assert(epsilon_eq(dbl, pfc_stats_mad(x, 9), 2.9652, 1e-4));
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

/* Levels that the R package onlineFDR prints for its examples LORD(sample.df, random = FALSE) and
 * LORD(sample.df, alpha = 0.1, w0 = 0.05), the latter in a shuffled order:
 * https://dsrobertson.github.io/onlineFDR/reference/LORD.html */
static void check_lord(double alpha, double w0, const double *p, const double *levels, size_t n)
{
    size_t before[16], len = 0;
    for (size_t t = 1; t <= n; t++) {
        double level = pfc_fdr_lord(alpha, w0, t, before, len);
        cr_assert(epsilon_eq(dbl, level, levels[t - 1], 1e-9), "test %zu: %.10f", t, level);
        if (p[t - 1] <= level)
            before[len++] = t;
    }
    cr_assert(eq(sz, len, 3));
}

Test(fdr, levels_over_time_are_those_of_an_independent_implementation)
{
    const double p[] = { 2.90e-08, 0.06743,  0.01514, 0.08174, 0.00171, 3.60e-05, 0.79149, 0.27201,
                         0.28295,  7.59e-08, 0.69274, 0.30443, 0.00136, 0.72342,  0.54757 };
    const double levels[] = {
        0.0002675839, 0.0024664457, 0.0005732818, 0.0004872805, 0.0004059066,
        0.0003447286, 0.0029745013, 0.0008450114, 0.0007305648, 0.0006243143,
        0.0032185913, 0.0010617227, 0.0009256825, 0.0008019657, 0.0007059610
    };
    const double shuffled[] = { 2.90e-08, 0.06743,  0.01514, 0.08174,  0.00171,
                                0.27201,  3.60e-05, 0.79149, 7.59e-08, 0.28295,
                                0.69274,  0.72342,  0.30443, 0.54757,  0.00136 };
    const double wide[] = { 0.0026758385, 0.0032577488, 0.0010775352, 0.0009078052, 0.0007616238,
                            0.0006517385, 0.0005682672, 0.0058549106, 0.0016151293, 0.0067518870,
                            0.0023619734, 0.0020342733, 0.0017477495, 0.0015277362, 0.0013569121 };
    check_lord(0.05, 0.005, p, levels, 15);
    check_lord(0.1, 0.05, shuffled, wide, 15);
}

/* Every commit a test of independent uniform p: over 1,000 of them hardly a run finds anything. */
Test(fdr, a_stream_without_changes_is_rarely_accused_even_once)
{
    enum { RUNS = 2000, COMMITS = 1000 };
    size_t accused = 0;
    pfc_rng rng;
    pfc_rng_seed(&rng, 11);
    for (size_t run = 0; run < RUNS; run++) {
        pfc_fdr_stream stream = { 0 };
        for (int64_t n = 1; n <= COMMITS; n++) {
            if (pfc_rng_double(&rng) <= pfc_fdr_level(&stream, n))
                pfc_fdr_found(&stream, n);
        }
        accused += stream.len > 0;
        pfc_fdr_stream_clear(&stream);
    }
    /* Of the starting wealth of 0.025 less than half is spent on the first 1,000: some 20 of 2,000.
     */
    cr_assert(le(sz, accused, 50));
    cr_assert(ge(sz, accused, 8));
}

Test(fdr, a_stream_with_changes_accuses_few_innocent_commits)
{
    enum { RUNS = 300, COMMITS = 1000 };
    double share = 0;
    size_t found = 0, planted = 0;
    pfc_rng rng;
    pfc_rng_seed(&rng, 12);
    for (size_t run = 0; run < RUNS; run++) {
        pfc_fdr_stream stream = { .fdr = 0.05 };
        size_t wrong = 0;
        for (int64_t n = 1; n <= COMMITS; n++) {
            const bool real = pfc_rng_double(&rng) < 0.05;
            const double z = fabs(pfc_rng_normal(&rng) + (real ? 5.0 : 0.0));
            const bool alert = pfc_stats_normal_tail2(z) <= pfc_fdr_level(&stream, n);
            if (alert)
                pfc_fdr_found(&stream, n);
            wrong += alert && !real;
            found += alert && real;
            planted += real;
        }
        share += stream.len ? (double)wrong / (double)stream.len : 0.0;
        pfc_fdr_stream_clear(&stream);
    }
    cr_assert(le(dbl, share / RUNS, 0.05), "share of innocent ones: %g", share / RUNS);
    cr_assert(gt(dbl, (double)found / (double)planted, 0.7));
}

Test(fdr, a_stream_starts_again_and_counts_a_commit_once)
{
    pfc_fdr_stream stream = { .fdr = 0.05 };
    const double first = pfc_fdr_level(&stream, 1);
    const double late = pfc_fdr_level(&stream, PFC_FDR_EPOCH);
    cr_assert(gt(dbl, first, late));
    cr_assert(eq(dbl, pfc_fdr_level(&stream, PFC_FDR_EPOCH + 1), first));
    pfc_fdr_found(&stream, 900);
    pfc_fdr_found(&stream, 7);
    pfc_fdr_found(&stream, 900);
    cr_assert(eq(sz, stream.len, 2));
    cr_assert(eq(i64, stream.found[0], 7));
    cr_assert(gt(dbl, pfc_fdr_level(&stream, PFC_FDR_EPOCH), late));
    cr_assert(eq(dbl, pfc_fdr_level(&stream, 7), pfc_fdr_lord(0.05, 0.025, 7, NULL, 0)));
    cr_assert(eq(dbl, pfc_fdr_level(&stream, PFC_FDR_EPOCH + 1), first));
    pfc_fdr_stream_clear(&stream);
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

/* Tables of Student's t: R 4.2 qt(0.975, c(1, 10, 100)), 2 * pt(-4, 5). */
Test(dist, student_tails_are_those_of_the_tables)
{
    cr_assert(epsilon_eq(dbl, pfc_stats_student_cut(0.05, 1.0), 12.706205, 1e-5));
    cr_assert(epsilon_eq(dbl, pfc_stats_student_cut(0.05, 10.0), 2.228139, 1e-6));
    cr_assert(epsilon_eq(dbl, pfc_stats_student_cut(0.05, 100.0), 1.983972, 1e-6));
    cr_assert(epsilon_eq(dbl, pfc_stats_student_tail2(4.0, 5.0), 0.0103231, 1e-6));
    cr_assert(
        epsilon_eq(dbl, pfc_stats_student_tail2(2.0, 1e9), pfc_stats_normal_tail2(2.0), 1e-9));
    cr_assert(eq(dbl, pfc_stats_student_tail2(0.0, 3.0), 1.0));
}
