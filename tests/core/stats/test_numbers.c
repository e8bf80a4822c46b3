/*
 * Numbers held to independent ones: distributions to mpmath 1.3.0 with 30 digits, rank tests to
 * counts of all orderings (Python, exact integers), intervals to their definition written out.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/stats/dist.h"
#include "core/stats/ranktest.h"
#include "core/stats/stats.h"

#include "tests/check/check.h"

static void check_near(double x, double want, double slack, const char *what)
{
    cr_assert(x == want || fabs(x - want) <= slack * fabs(want), "%s: %.17g, expected %.17g", what,
              x, want);
}

/* ---- distributions ---- */

/* mpmath: betainc(df / 2, 1 / 2, 0, df / (df + t^2), regularized = True). */
Test(numbers, tails_of_students_t)
{
    static const double t[] = { 0.1, 0.5, 1, 1.5, 2, 3, 6, 20 };
    static const struct {
        double df, tail[8];
    } rows[] = {
        { 1,
          { 0.9365489651388929, 0.7048327646991335, 0.5, 0.3743340836219976, 0.2951672353008665,
            0.2048327646991335, 0.1051369134225069, 0.03180450251235275 } },
        { 2.5,
          { 0.9278065440624896, 0.6576979198697147, 0.4040610272782735, 0.2478364530862963,
            0.157391495757966, 0.07257609554903184, 0.0152817298855229, 0.0007993882445024339 } },
        { 10,
          { 0.9223207185644083, 0.6278936057429729, 0.3408931323020599, 0.1645073264454402,
            0.07338803477074037, 0.01334365502256958, 0.0001321088603547856,
            2.146062317204252e-9 } },
        { 100,
          { 0.9205445310958512, 0.6181735658308866, 0.3197241557841234, 0.1367650581246889,
            0.04821217873113368, 0.00340791534332945, 3.172491502802857e-8,
            9.994267861336956e-37 } },
        { 1000,
          { 0.9203643690236041, 0.6171850808338748, 0.3175524180846723, 0.1339300388220862,
            0.04577034649325164, 0.002766709044238192, 2.755369173377469e-9,
            4.062288499524771e-75 } },
    };

    for (size_t k = 0; k < PFC_ARRAY_LEN(rows); k++) {
        for (size_t i = 0; i < 8; i++) {
            check_near(pfc_stats_student_tail2(t[i], rows[k].df), rows[k].tail[i], 1e-11, "tail");
            cr_assert(eq(dbl, pfc_stats_student_tail2(-t[i], rows[k].df),
                         pfc_stats_student_tail2(t[i], rows[k].df)));
        }
    }
    /* Up to a million degrees by the fraction, beyond by the normal: tails at 6 are 1.97385e-9
     * and 1.973175e-9. */
    check_near(pfc_stats_student_tail2(6, 1e6), 1.973849812354435e-9, 1e-9, "a million");
    check_near(pfc_stats_student_tail2(6, 1.0001e6), 1.9731752900753963e-9, 1e-12, "more");
}

Test(numbers, quantiles_of_students_t)
{
    static const double rows[][3] = {
        { 0.05, 1, 12.7062047361747 },   { 0.05, 2, 4.30265272974946 },
        { 0.05, 3.5, 2.94008863798273 }, { 0.15, 7, 1.61659173735532 },
        { 0.01, 12, 3.0545395893929 },   { 0.1, 40, 1.68385101333565 },
        { 0.001, 300, 3.32325151297419 }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        check_near(pfc_stats_student_cut(rows[i][0], rows[i][1]), rows[i][2], 1e-11, "cut");
}

/* mpmath: erfc(-z / sqrt 2) / 2 and its inverse: both sides of |p - 1/2| = 0.425 and of
 * exp(-25). */
Test(numbers, the_normal_distribution_and_its_inverse)
{
    static const double z[][2] = { { 0, 0.5 },
                                   { 0.5, 0.6914624612740131 },
                                   { 1, 0.84134474606854295 },
                                   { 1.96, 0.97500210485177956 },
                                   { 3, 0.99865010196836991 } };
    static const double p[][2] = { { 0.0749, -1.4402382675279636 },
                                   { 0.075, -1.4395314709384559 },
                                   { 0.0751, -1.43882539275254 },
                                   { 0.3, -0.52440051270804078 },
                                   { 0.5, 0 },
                                   { 0.6, 0.2533471031357998 },
                                   { 0.9, 1.2815515655446005 },
                                   { 0.925, 1.4395314709384559 },
                                   { 0.9251, 1.4402382675279636 },
                                   { 0.975, 1.9599639845400542 },
                                   { 0.995, 2.5758293035489008 },
                                   { 1e-10, -6.3613409024040562 },
                                   { 1e-11, -6.7060231554951363 },
                                   { 1e-12, -7.0344838253011319 },
                                   { 1e-100, -21.273453560965324 },
                                   { 1e-300, -37.047096299361196 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(z); i++) {
        check_near(pfc_stats_normal_cdf(z[i][0]), z[i][1], 1e-15, "cdf");
        check_near(pfc_stats_normal_cdf(-z[i][0]), 1 - z[i][1], 1e-12, "cdf below");
        check_near(pfc_stats_normal_tail2(z[i][0]), 2 * (1 - z[i][1]), 1e-12, "tail");
        cr_assert(eq(dbl, pfc_stats_normal_tail2(-z[i][0]), pfc_stats_normal_tail2(z[i][0])));
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(p); i++)
        check_near(pfc_stats_normal_quantile(p[i][0]), p[i][1], 4e-15, "quantile");
}

/* ---- ranks ---- */

/* b of `nb` values of which u pairs are above one of the `na` values of a, no ties. */
static double p_of_u(size_t na, size_t nb, size_t u)
{
    double a[20], b[20];

    for (size_t i = 0; i < na; i++)
        a[i] = (double)i;
    for (size_t k = 0; k < nb; k++) {
        const size_t above = PFC_MIN(u, na);

        b[k] = (double)above - 0.5 + 0.001 * (double)k;
        u -= above;
    }
    return pfc_ranktest_p(a, na, b, nb, NULL);
}

/* Counted with exact integers: twice the orderings with a statistic of at most min(u, na nb -
 * u). */
Test(numbers, mann_whitney_by_counting)
{
    static const struct {
        size_t na, nb, u;
        double p;
    } rows[] = {
        { 10, 10, 0, 1.082508822446903e-05 }, { 10, 10, 20, 0.023230639329710537 },
        { 10, 10, 23, 0.04325705254497824 },  { 10, 10, 24, 0.05242590227110351 },
        { 10, 10, 77, 0.04325705254497824 },  { 10, 10, 50, 1 },
        { 3, 17, 4, 0.01929824561403509 },    { 1, 19, 0, 0.1 },
        { 5, 15, 12, 0.02541279669762642 },   { 19, 1, 3, 0.4 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        check_near(p_of_u(rows[i].na, rows[i].nb, rows[i].u), rows[i].p, 1e-12, "p");
}

/* 21 values: z = (|U - na nb / 2| - 1/2) / sqrt(na nb 22 / 12). At U = 30 and 80 of 110 it is
 * 24.5. */
Test(numbers, mann_whitney_beyond_twenty_values_is_normal)
{
    const double z = 24.5 / sqrt(110.0 * 22.0 / 12.0);

    check_near(p_of_u(10, 11, 30), erfc(z * M_SQRT1_2), 1e-12, "below");
    check_near(p_of_u(10, 11, 80), erfc(z * M_SQRT1_2), 1e-12, "above");
    /* Of 110 cells half is 55: on it, and half a pair off it, there is no evidence at all. */
    cr_assert(eq(dbl, p_of_u(10, 11, 55), 1.0));
    check_near(pfc_ranktest_cut(10, 11, 0.025),
               floor(55.0 - 1.9599639845400542 * sqrt(110.0 * 22.0 / 12.0)), 0, "cut");
    check_near(pfc_ranktest_cut(10, 10, 0.025), 24, 0, "cut by counting");
}

/* Ranks 1..n with those of a positive sign first until their sum is w. */
static double p_of_w(size_t n, size_t w)
{
    double d[64];

    for (size_t i = n; i > 0; i--) {
        const bool up = w >= i;

        d[i - 1] = up ? (double)i : -(double)i;
        w -= up ? i : 0;
    }
    return pfc_signed_rank_p(d, n);
}

/* Counted likewise, over all 2^n signs; with 31 differences the normal with its half. */
Test(numbers, signed_ranks_by_counting)
{
    static const double rows[][3] = { { 30, 100, 0.005382779985666275 },
                                      { 30, 365, 0.005382779985666275 },
                                      { 30, 137, 0.049710121005773544 },
                                      { 30, 232, 1 },
                                      { 12, 14, 0.05224609375 },
                                      { 12, 13, 0.04248046875 },
                                      { 5, 0, 0.0625 } };
    const double sd = sqrt(31.0 * 32.0 * 63.0 / 24.0);

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        check_near(p_of_w((size_t)rows[i][0], (size_t)rows[i][1]), rows[i][2], 1e-12, "p");
    check_near(p_of_w(31, 150), erfc((248.0 - 150.0 - 0.5) / sd * M_SQRT1_2), 1e-12, "below");
    check_near(p_of_w(31, 346), erfc((248.0 - 150.0 - 0.5) / sd * M_SQRT1_2), 1e-12, "above");
    check_near(pfc_signed_rank_cut(31, 0.005), floor(248.0 - 2.5758293035489008 * sd), 0, "cut");
}

/* Sizes 1 1 1 2 2 3, of which one 1 and the 3 are negative: W+ = 2 + 2 + 4.5 + 4.5 = 13; the
 * variance is 6 7 13 / 24 - (24 + 6) / 48; zeros are left out. */
Test(numbers, signed_ranks_with_ties)
{
    const double d[] = { 1, -1, 0, 1, 2, 2, -3, 0 };

    check_near(pfc_signed_rank_p(d, 8),
               erfc((13 - 10.5 - 0.5) / sqrt(22.75 - 30.0 / 48.0) * M_SQRT1_2), 1e-12, "p");
}

/* 600 against 600 apart: z is 30, below the smallest double were it 40 with 1,200 a side: p is
 * never 0. */
Test(numbers, a_p_of_ranks_is_never_zero)
{
    static double a[1500], b[1500];

    for (size_t i = 0; i < 1500; i++) {
        a[i] = (double)i;
        b[i] = 1e4 + (double)i;
    }
    cr_assert(eq(dbl, pfc_ranktest_p(a, 1500, b, 1500, NULL), 1e-300));
}

/* ---- shifts ---- */

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x;
    const double b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Hollander & Wolfe 1973, 4.3: the interval is the C-th smallest and largest difference. */
Test(numbers, intervals_of_a_shift_are_the_differences_of_that_rank)
{
    static const size_t sizes[][2] = { { 1, 1 }, { 2, 5 }, { 5, 5 }, { 8, 12 }, { 9, 14 } };
    pfc_rng rng;

    pfc_rng_seed(&rng, 3);
    for (size_t k = 0; k < PFC_ARRAY_LEN(sizes); k++) {
        for (double level = 0.5; level < 1; level += 0.09) {
            const size_t na = sizes[k][0], nb = sizes[k][1], n = na * nb;
            double a[14], b[14], d[14 * 14];
            pfc_interval got;
            size_t cut;

            for (size_t i = 0; i < na; i++)
                a[i] = pfc_rng_normal(&rng);
            for (size_t i = 0; i < nb; i++)
                b[i] = 1 + pfc_rng_normal(&rng);
            for (size_t i = 0; i < n; i++)
                d[i] = b[i % nb] - a[i / nb];
            qsort(d, n, sizeof d[0], ascending);
            cut = (size_t)fmax(1, pfc_ranktest_cut(na, nb, 0.5 * (1 - level)));
            cr_assert(eq(int, pfc_stats_shift(a, na, b, nb, level, &got, NULL), PFC_OK));
            cr_assert(eq(dbl, got.low, d[cut - 1]));
            cr_assert(eq(dbl, got.high, d[n - cut]));
            check_near(got.value, 0.5 * d[(n - 1) / 2] + 0.5 * d[n / 2], 1e-12, "value");
        }
    }
}

/* Paired: the medians of Walsh averages, cut by the signed rank's table (Tukey 1949). Above
 * 2,000 pairs every n / 2000-th stands for its neighbours. */
Test(numbers, intervals_of_pairs_are_walsh_averages_of_that_rank)
{
    double a[9], b[9], walsh[45];
    pfc_rng rng;

    pfc_rng_seed(&rng, 5);
    for (size_t i = 0; i < 9; i++) {
        a[i] = exp(0.1 * pfc_rng_normal(&rng));
        b[i] = a[i] * exp(0.02 + 0.02 * pfc_rng_normal(&rng));
    }
    for (size_t i = 0, len = 0; i < 9; i++) {
        for (size_t k = i; k < 9; k++)
            walsh[len++] = 0.5 * (log(b[i]) - log(a[i])) + 0.5 * (log(b[k]) - log(a[k]));
    }
    qsort(walsh, 45, sizeof walsh[0], ascending);
    for (int i = 1; i < 40; i++) {
        const pfc_compare_opts opts = { .alpha = 0.005 * i, .paired = true };
        const double cut = pfc_signed_rank_cut(9, 0.5 * opts.alpha);
        const size_t low = cut >= 1 ? (size_t)cut - 1 : 0;
        pfc_compare_result r;

        cr_assert(eq(int, pfc_stats_compare(a, 9, b, 9, &opts, &r, NULL), PFC_OK));
        check_near(r.rel_change, expm1(walsh[22]), 1e-12, "change");
        check_near(r.rel_low, expm1(walsh[low]), 1e-12, "low");
        check_near(r.rel_high, expm1(walsh[44 - low]), 1e-12, "high");
    }
}

/* Minimum detectable change of n values: 1.0233 (z of alpha / 2 + z of 0.8) standard errors, by the
 * MADs of logarithms. */
Test(numbers, the_smallest_change_shown_is_that_of_noether)
{
    const double a[] = { 100, 101, 103, 102, 99 };
    const double b[] = { 110, 113, 108, 109, 120, 111, 112 };
    const double c[] = { 110, 111, 108, 109, 112 };
    double la[5], lb[7], d[5];
    pfc_compare_result r;

    for (size_t i = 0; i < 5; i++) {
        la[i] = log(a[i]);
        d[i] = log(c[i]) - log(a[i]);
    }
    for (size_t i = 0; i < 7; i++)
        lb[i] = log(b[i]);
    const double ma = pfc_stats_mad(la, 5), mb = pfc_stats_mad(lb, 7), md = pfc_stats_mad(d, 5);

    cr_assert(eq(int, pfc_stats_compare(a, 5, b, 7, NULL, &r, NULL), PFC_OK));
    check_near(r.detectable_rel,
               expm1(1.0233 * (2.5758293035489008 + 0.84162123357291442) *
                     sqrt(ma * ma / 5 + mb * mb / 7)),
               1e-9, "two sides");
    check_near(r.noise_rel, expm1(fmax(ma, mb)), 1e-12, "noise");
    cr_assert(eq(int,
                 pfc_stats_compare(a, 5, c, 5, &(pfc_compare_opts){ .alpha = 0.05, .paired = true },
                                   &r, NULL),
                 PFC_OK));
    check_near(r.detectable_rel,
               expm1(1.0233 * (1.9599639845400542 + 0.84162123357291442) * md / sqrt(5)), 1e-9,
               "pairs");
}
