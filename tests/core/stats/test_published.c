/*
 * Statistics against answers that are in print, or that R gives: R means 4.2.2 with the call beside
 * it. Which statistic is held to what: core/stats/SOURCES.md.
 */
#include <math.h>
#include <string.h>

#include "core/changepoint/drift.h"
#include "core/changepoint/fdr.h"
#include "core/changepoint/fourier.h"
#include "core/changepoint/segment/fit.h"
#include "core/changepoint/segment/segment.h"
#include "core/stats/dist.h"
#include "core/stats/ranktest.h"
#include "core/stats/stats.h"

#include "tests/check/check.h"
#include "tests/core/stats/published.h"

/* ---- summaries ---- */

/* NIST Statistical Reference Datasets, univariate, Michelso: certified mean 299.852400000000,
 * standard deviation 0.0790105478190518. R: quantile(m, c(.05, .9)), mad(m), whose factor has five
 * digits. */
Test(published, michelsons_speed_of_light_as_nist_certifies_it)
{
    double m[100];

    for (size_t i = 0; i < 100; i++)
        m[i] = 299.0 + michelson[i] / 1000.0;
    cr_assert(epsilon_eq(dbl, pfc_stats_mean(m, 100), 299.8524, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_sd(m, 100), 0.0790105478190518, 1e-13));
    cr_assert(epsilon_eq(dbl, pfc_stats_median(m, 100), 299.85, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_quantile(m, 100, 0.05), 299.739, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_quantile(m, 100, 0.9), 299.96, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_mad(m, 100), 0.066717, 1e-6));
}

/* NIST StRD, NumAcc1 to NumAcc4: certified means 10000002, 1.2, 1000000.2 and 10000000.2, standard
 * deviations 1, 0.1, 0.1 and 0.1, exactly. The error in the last one is the rounding of its data.
 */
Test(published, values_that_defeat_sums_of_squares_as_nist_certifies_them)
{
    static const double base[] = { 1.0, 1000000.0, 10000000.0 };
    static const double accuracy[] = { 1e-13, 1e-8, 1e-7 };
    static const double one[] = { 10000001.0, 10000003.0, 10000002.0 };
    double x[1001];

    cr_assert(eq(dbl, pfc_stats_mean(one, 3), 10000002.0));
    cr_assert(eq(dbl, pfc_stats_sd(one, 3), 1.0));
    for (size_t k = 0; k < 3; k++) {
        x[0] = base[k] + 0.2;
        for (size_t i = 1; i < 1001; i++)
            x[i] = base[k] + (i % 2 ? 0.1 : 0.3);
        cr_assert(epsilon_eq(dbl, pfc_stats_mean(x, 1001) / (base[k] + 0.2), 1.0, 1e-14));
        cr_assert(epsilon_eq(dbl, pfc_stats_sd(x, 1001) / 0.1, 1.0, accuracy[k]), "%zu", k);
    }
}

/* ---- distributions ---- */

/* The three values that Wichura's paper gives to check an implementation by. */
Test(published, normal_quantiles_of_as_241)
{
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_quantile(0.25), -0.6744897501960817, 1e-15));
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_quantile(0.001), -3.090232306167814, 1e-14));
    cr_assert(epsilon_eq(dbl, pfc_stats_normal_quantile(1e-20), -9.262340089798408, 1e-14));
}

/* R: qbinom(0.025, n, 0.5), qbinom(0.005, n, 0.5). Beyond 5,000 the normal approximation. */
Test(published, order_statistics_cut_from_each_side_as_by_the_binomial)
{
    static const size_t n[] = { 6, 10, 20, 25, 50, 100, 1000, 5000, 5001, 20001 };
    static const size_t five[] = { 1, 2, 6, 8, 18, 40, 469, 2431, 2431, 9862 };
    static const size_t one[] = { 0, 1, 4, 6, 16, 37, 459, 2409, 2409, 9818 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(n); i++) {
        cr_assert(eq(sz, pfc_stats_sign_cut(n[i], 0.025), five[i]), "n %zu", n[i]);
        cr_assert(eq(sz, pfc_stats_sign_cut(n[i], 0.005), one[i]), "n %zu", n[i]);
    }
}

/* Cost of a residual r, under t noise whose quartiles are the normal's: R, with s = qt(.75, nu) /
 * qnorm(.75), dt(0, nu, log = TRUE) - dt(r * s, nu, log = TRUE). Costs are kept in 64ths. */
Test(published, losses_are_those_of_students_t)
{
    static const double freedom[] = { 2.0, 3.0, 5.0, 10.0, 30.0 };
    static const double at[] = { 1.0, 2.0, 5.0 };
    static const double want[5][3] = { { 0.824524, 2.053269, 4.441523 },
                                       { 0.713496, 1.997364, 4.922062 },
                                       { 0.626289, 1.970400, 5.752452 },
                                       { 0.562321, 1.969509, 7.182791 },
                                       { 0.520568, 1.984933, 9.567882 } };

    for (size_t k = 0; k < 5; k++) {
        pfc_loss loss = { 0 };
        pfc_shapes shapes = { 0 };

        pfc_loss_init(&loss, &shapes, freedom[k], 1.0, 30.0);
        for (size_t i = 0; i < 3; i++)
            cr_assert(epsilon_eq(dbl, pfc_loss_at(&loss, at[i]), want[k][i], 1.0 / 64.0),
                      "nu %g, r %g: %g", freedom[k], at[i], pfc_loss_at(&loss, at[i]));
    }
}

/* ---- the bootstrap ---- */

/* Thirteen launches of one sample each are Efron's example: the bootstrap's median of 13 values is
 * the k-th smallest with probability .0015 .0142 .0550 .1242 .1936 for k = 2..6 (and 12..8) and
 * .2230 for 7 (Ann. Statist. 7, 1979, section 3). Below the 4th lie .0157, below the 5th .0707,
 * below the 6th .195. */
Test(published, efrons_bootstrap_of_a_median_of_thirteen)
{
    static const double levels[] = { 0.98, 0.95, 0.90, 0.80 };
    static const double low[] = { 3.0, 4.0, 4.0, 5.0 };
    double x[13];
    uint32_t blocks[13];

    for (size_t i = 0; i < 13; i++) {
        x[i] = (double)(1 + (5 * i) % 13);
        blocks[i] = 1;
    }
    for (size_t k = 0; k < 4; k++) {
        pfc_interval v = pfc_stats_block_interval(x, blocks, 13, levels[k], 3);
        cr_assert(eq(dbl, v.value, 7.0));
        cr_assert(eq(dbl, v.low, low[k]), "level %g: %g", levels[k], v.low);
        cr_assert(eq(dbl, v.high, 14.0 - low[k]), "level %g: %g", levels[k], v.high);
    }
}

/* ---- ranks ---- */

/* The usual tables, of Mann & Whitney (1947) and Wilcoxon (1945), give the largest statistic that
 * is significant; a cut is one more. R: qwilcox(0.025, n, n), qwilcox(0.005, n, n);
 * qsignrank(0.025, n). */
Test(published, critical_values_of_both_rank_tests)
{
    static const double u5[] = { 0, 2, 5, 8, 13, 17, 23 };
    static const double u1[] = { -1, 0, 2, 4, 7, 11, 16 };
    static const double w5[] = { 0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52 };
    static const double w1[] = { -1, -1, 0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37 };

    for (size_t n = 4; n <= 10; n++) {
        cr_assert(eq(dbl, pfc_ranktest_cut(n, n, 0.025), u5[n - 4] + 1.0), "%zu", n);
        cr_assert(eq(dbl, pfc_ranktest_cut(n, n, 0.005), u1[n - 4] + 1.0), "%zu", n);
    }
    for (size_t n = 6; n <= 20; n++) {
        cr_assert(eq(dbl, pfc_signed_rank_cut(n, 0.025), w5[n - 6] + 1.0), "%zu", n);
        cr_assert(eq(dbl, pfc_signed_rank_cut(n, 0.005), w1[n - 6] + 1.0), "%zu", n);
    }
    cr_assert(eq(dbl, pfc_signed_rank_cut(25, 0.025), 90.0));
    cr_assert(eq(dbl, pfc_signed_rank_cut(30, 0.025), 138.0));
}

/* R, ?wilcox.test: wilcox.test(Ozone ~ Month, airquality, Month %in% c(5, 8)): W = 127.5, p-value =
 * 0.0001208, with ties on both sides; sort(outer(aug, may, "-"))[c(230, 447)] are 14 and 53, the
 * ranks being 338 - qnorm(0.975) sqrt(26 * 26 * 53 / 12) = 230.9 from each end (Hollander & Wolfe
 * 1973, 4.3). */
Test(published, ozone_of_may_and_august)
{
    pfc_interval shift;
    double p = -1.0;
    double superior = -1.0;

    cr_assert(eq(int, pfc_stats_ranktest(ozone_may, 26, ozone_august, 26, &p, NULL), PFC_OK));
    cr_assert(epsilon_eq(dbl, p, 0.000120807830768774, 1e-15));
    (void)pfc_ranktest_p(ozone_august, 26, ozone_may, 26, &superior);
    cr_assert(epsilon_eq(dbl, superior, 127.5 / 676.0, 1e-12));
    cr_assert(
        eq(int, pfc_stats_shift(ozone_may, 26, ozone_august, 26, 0.95, &shift, NULL), PFC_OK));
    cr_assert(eq(dbl, shift.value, 32.0));
    cr_assert(eq(dbl, shift.low, 14.0));
    cr_assert(eq(dbl, shift.high, 53.0));
}

/* Student's sleep data (1908), R: wilcox.test(extra ~ group, sleep, paired = TRUE, exact = FALSE):
 * one pair without a difference, ties among the others, V = 0, p-value = 0.009091. */
Test(published, students_sleep_data)
{
    static const double first[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 };
    static const double second[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
    double d[10];

    for (size_t i = 0; i < 10; i++)
        d[i] = round(10.0 * (second[i] - first[i]));
    cr_assert(epsilon_eq(dbl, pfc_signed_rank_p(d, 10), 0.00909069801592506, 1e-15));
}

/* Hollander & Wolfe 1973, p. 69 and p. 29. R: wilcox.test(y, x, conf.int = TRUE) of permeability
 * gives -0.305 (-0.76, 0.15); verdicts compare logarithms, so the rest is wilcox.test(log(y),
 * log(x), conf.int = TRUE), and the same with paired = TRUE for the depression scale. */
Test(published, shifts_and_their_intervals_as_r_gives_them)
{
    static const double x[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46 };
    static const double y[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
    static const double before[] = { 1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30 };
    static const double after[] = { 0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29 };
    const pfc_compare_opts five = { .alpha = 0.05 };
    const pfc_compare_opts paired = { .alpha = 0.05, .paired = true };
    pfc_compare_result r;
    pfc_interval shift;

    cr_assert(eq(int, pfc_stats_shift(x, 10, y, 5, 0.95, &shift, NULL), PFC_OK));
    cr_assert(epsilon_eq(dbl, shift.value, -0.305, 1e-12));
    cr_assert(epsilon_eq(dbl, shift.low, -0.76, 1e-12));
    cr_assert(epsilon_eq(dbl, shift.high, 0.15, 1e-12));
    cr_assert(eq(int, pfc_stats_compare(x, 10, y, 5, &five, &r, NULL), PFC_OK));
    cr_assert(epsilon_eq(dbl, r.p, 0.254412254412254, 1e-12));
    cr_assert(epsilon_eq(dbl, r.rel_change, expm1(-0.271375187786272), 1e-12));
    cr_assert(epsilon_eq(dbl, r.rel_low, expm1(-0.672668649216405), 1e-12));
    cr_assert(epsilon_eq(dbl, r.rel_high, expm1(0.151399646455368), 1e-12));
    cr_assert(eq(int, r.verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(int, pfc_stats_compare(before, 9, after, 9, &paired, &r, NULL), PFC_OK));
    cr_assert(epsilon_eq(dbl, r.p, 0.0546875, 1e-12));
    cr_assert(epsilon_eq(dbl, r.rel_change, expm1(-0.325471826158883), 1e-12));
    cr_assert(epsilon_eq(dbl, r.rel_low, expm1(-0.686610116372038), 1e-12));
    cr_assert(epsilon_eq(dbl, r.rel_high, expm1(0.00904291893098116), 1e-12));
    cr_assert(eq(int, r.verdict, PFC_VERDICT_INCONCLUSIVE));
}

/* ---- trend ---- */

/* R: cor.test(1:60, nhtemp, method = "kendall", exact = FALSE, continuity = TRUE): z = 3.977766,
 * p-value = 6.95656705505e-05, many ties. Slopes of all pairs of years: median 0.0344827586; their
 * ranks (N -+ C) / 2 with C = 306.97 of N = 1770 (Gilbert, Statistical Methods for Environmental
 * Pollution Monitoring, 1987, 16.4) are 0.0204081633 and 0.05. Each year stands five times, so that
 * the medians of blocks are the years; 60 is taken off, so that values are not compared as
 * logarithms. */
Test(published, warming_of_new_haven)
{
    pfc_point points[300];
    pfc_drift d;

    for (size_t i = 0; i < 300; i++)
        points[i] = (pfc_point){ .t = (double)i, .v = new_haven[i / 5] - 60.0 };
    cr_assert(pfc_stats_drift(points, 300, NULL, 0, &d));
    cr_assert(epsilon_eq(dbl, d.p, 6.95656705505e-05, 1e-15));
    cr_assert(epsilon_eq(dbl, (d.after - d.before) / 59.0, 0.0344827586206897, 1e-12));
    cr_assert(epsilon_eq(dbl, d.rel_low * fabs(d.before) / 59.0, 0.0204081632653, 1e-5));
    cr_assert(epsilon_eq(dbl, d.rel_high * fabs(d.before) / 59.0, 0.05, 1e-5));
}

/* Nothing but ties is no trend, and no division by a variance of 0. */
Test(published, a_series_of_ties_has_no_trend)
{
    pfc_point points[90];
    pfc_drift d;

    for (size_t i = 0; i < 90; i++)
        points[i] = (pfc_point){ .t = (double)i, .v = 50.0 };
    cr_assert(pfc_stats_drift(points, 90, NULL, 0, &d));
    cr_assert(eq(dbl, d.p, 1.0));
    cr_assert(eq(dbl, d.rel_change, 0.0));
}

/* ---- waves ---- */

/* The lynx cycle: 9.6 years (Elton & Nicholson 1942; Moran, Austral. J. Zool. 1, 1953). R:
 * spectrum(log(lynx), taper = 0, pad = 7) has its peak at 9.6. */
Test(published, the_cycle_of_the_lynx)
{
    double z[114];

    for (size_t i = 0; i < 114; i++)
        z[i] = log(lynx[i]);
    const double median = pfc_stats_median(z, 114);
    const double spread = pfc_stats_mad(z, 114);
    for (size_t i = 0; i < 114; i++)
        z[i] = (z[i] - median) / spread;
    cr_assert(epsilon_eq(dbl, pfc_fourier_period(z, 114, 3.0, 40.0), 9.6, 0.1));
}

/* ---- changes ---- */

/* The flow fell after 1898 (Cobb 1978), so point 28 is the first of the new level. R:
 * median(Nile[1:28]), median(Nile[29:100]). Bai & Perron's 95 % interval for the break is 25..32 (R
 * package strucchange, example of confint.breakpointsfull). */
Test(published, the_nile_falls_after_1898)
{
    pfc_point points[100];
    pfc_detection d;

    for (size_t i = 0; i < 100; i++)
        points[i] = (pfc_point){ .t = (double)i, .v = nile[i] };
    cr_assert(eq(int, pfc_stats_detect(points, 100, NULL, &d, NULL), PFC_OK));
    cr_assert(eq(sz, d.changes_len, 1));
    cr_assert(eq(sz, d.changes[0].index, 28));
    cr_assert(ge(sz, d.changes[0].index_low, 25));
    cr_assert(le(sz, d.changes[0].index_high, 33));
    cr_assert(eq(dbl, d.changes[0].before, 1130.0));
    cr_assert(eq(dbl, d.changes[0].after, 842.5));
    pfc_detection_clear(&d);
}

/* The upper state at 2 of 25 points, then at 23 of 25. The likelihood ratio of two binomials is
 * half of the G statistic (Sokal & Rohlf, Biometry, 1995, ch. 17); R: O <- matrix(c(2, 23, 23, 2),
 * 2), sum(O * log(O / E)) = 20.7188904395679. The few odd points stand apart, so that neighbours
 * are alike less than by chance and nothing is taken off. */
Test(published, a_change_of_shares_weighs_half_the_g_statistic)
{
    uint8_t upper[50] = { 0 };
    pfc_fit f = { .n = 50, .upper = upper, .gap = 1.0 };

    for (size_t i = 25; i < 50; i++)
        upper[i] = 1;
    upper[7] = upper[15] = 1;
    upper[33] = upper[41] = 0;
    pfc_fit_state_shares(&f);
    cr_assert(eq(sz, f.shares_at, 25));
    cr_assert(epsilon_eq(dbl, f.shares_gain, 20.7188904395679, 1e-9));
}

/* ---- false discoveries ---- */

/* R: p.adjust(p, "BH"), and p.adjust(c(p, rep(1, 85)), "BH") where a hundred series were measured:
 * what is kept at q is what has an adjusted p of at most q. */
Test(published, discoveries_are_those_of_adjusted_p_values)
{
    static const double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
    static const double alone[] = { 0.0015,  0.003,  0.0095, 0.035625, 0.0603,
                                    0.06386, 0.0639, 0.0645, 0.0765,   0.486,
                                    0.5812,  0.7149, 0.7533, 0.8133,   1.0 };
    static const double among[] = { 0.01, 0.02, 0.06334, 0.2375, 0.402, 0.4258, 0.4258, 0.43,
                                    0.51, 1,    1,       1,      1,     1,      1 };
    static const double rates[] = { 0.001, 0.002, 0.005, 0.0122, 0.05, 0.063, 0.07, 0.3, 0.5, 0.9 };
    bool keep[15];

    for (size_t k = 0; k < PFC_ARRAY_LEN(rates); k++) {
        pfc_stats_fdr(p, 15, rates[k], keep);
        for (size_t i = 0; i < 15; i++)
            cr_assert(eq(int, keep[i], alone[i] <= rates[k]), "%zu at %g", i, rates[k]);
        pfc_fdr_keep(p, 15, 100, rates[k], keep);
        for (size_t i = 0; i < 15; i++)
            cr_assert(eq(int, keep[i], among[i] <= rates[k]), "%zu at %g", i, rates[k]);
    }
}

/* The sureness of a change seen z standard errors off, without the part for correlation, is the
 * normal quantile of Student's t: R, -qnorm(pt(-z, n - 4, log.p = TRUE), log.p = TRUE). Wallace's
 * approximation is within 1 % of it from 30 points on, and within 5 % with ten. */
Test(published, sureness_is_students_t_seen_as_a_normal)
{
    static const size_t n[] = { 10, 30, 100, 1000 };
    static const double z[] = { 2, 4, 6, 7 };
    static const double want[4][4] = { { 1.682735, 2.691227, 3.300672, 3.525000 },
                                       { 1.910661, 3.498716, 4.711254, 5.202487 },
                                       { 1.974493, 3.837002, 5.515158, 6.276180 },
                                       { 1.997495, 3.983075, 5.945331, 6.914398 } };

    for (size_t k = 0; k < 4; k++) {
        /* 1.64 / sqrt(n), at most 0.6, is the correlation that cannot be ruled out. */
        const double rho = fmin(1.64 / sqrt((double)n[k]), 0.6);
        const double longer = sqrt((1.0 + rho) / (1.0 - rho));

        for (size_t i = 0; i < 4; i++) {
            const double seen = z[i] * longer;
            const pfc_change c = { .p = pfc_stats_normal_tail2(seen) };
            if (c.p <= PFC_P_MIN)
                continue;
            const double got = pfc_fdr_sureness(&c, n[k]);
            cr_assert(epsilon_eq(dbl, got / want[k][i], 1.0, k == 0 ? 0.05 : 0.01),
                      "n %zu, z %g: %g", n[k], z[i], got);
        }
        /* An alert needs seven of these; this is the inverse function. */
        const double least = pfc_fdr_needed(n[k]);
        const double t = least / longer;
        const double freedom = (double)n[k] - 4.0;
        cr_assert(epsilon_eq(dbl, sqrt(freedom * log1p(t * t / freedom)), 7.0, 1e-9));
    }
}
