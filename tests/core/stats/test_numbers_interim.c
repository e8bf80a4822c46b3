/* Numbers held to their definitions written out: sequential tests, the bootstrap, trends, power. */
#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/changepoint/drift.h"
#include "core/changepoint/fdr.h"
#include "core/changepoint/power.h"
#include "core/stats/sequential.h"

#include "tests/check/check.h"

static void check_near(double x, double want, double slack, const char *what)
{
    cr_assert(x == want || fabs(x - want) <= slack * fabs(want), "%s: %.17g, expected %.17g", what,
              x, want);
}

/* ---- one value after the other ---- */

/* The bets by their definition (see test_symmetric.c), the scale estimated again at 1, 2, 4 and 8
 * values. */
static double bets_written_out(const double *d, size_t n, double shift)
{
    static const double guesses[7][2] = { { 0.148, 0.989 }, { 0.287, 0.956 }, { 0.504, 0.840 },
                                          { 0.664, 0.553 }, { 0.674, 0.281 }, { 0.674, 0.135 },
                                          { 0.674, 0.067 } };
    double up[7], down[7], most = 1, scale = 0, sizes[32];

    for (size_t k = 0; k < 7; k++)
        up[k] = down[k] = 1 / 14.0;
    for (size_t i = 0; i < n; i++) {
        const double off = d[i] - shift;
        double wealth = 0;

        if (i + 1 == 1 || i + 1 == 2 || i + 1 == 4 || i + 1 == 8 || i + 1 == 16) {
            for (size_t j = 0; j <= i; j++)
                sizes[j] = fabs(d[j] - shift);
            scale = 1.4826 * pfc_stats_median(sizes, i + 1);
        }
        for (size_t k = 0; k < 7; k++) {
            const double size = fabs(off) / scale;
            const double here = pow(1 + pow((size - guesses[k][0]) / guesses[k][1], 2) / 5, -3);
            const double there = pow(1 + pow((size + guesses[k][0]) / guesses[k][1], 2) / 5, -3);
            const double stake = (here - there) / (here + there) * (off > 0 ? 1 : -1);

            up[k] *= 1 + stake;
            down[k] *= 1 - stake;
            wealth += up[k] + down[k];
        }
        most = fmax(most, wealth);
    }
    return 1 / most;
}

Test(numbers, bets_on_signs_written_out)
{
    double d[20];
    pfc_rng rng;

    pfc_rng_seed(&rng, 8);
    for (size_t i = 0; i < 20; i++)
        d[i] = 0.8 + pfc_rng_normal(&rng);
    for (size_t n = 1; n <= 20; n++) {
        check_near(pfc_seq_symmetric_p(d, n, 0), bets_written_out(d, n, 0), 1e-9, "of 0");
        check_near(pfc_seq_symmetric_p(d, n, 1.5), bets_written_out(d, n, 1.5), 1e-9, "of 1.5");
    }
}

static double difference(size_t i)
{
    static const double d[] = { 0.021, 0.013, 0.034, 0.008, 0.027, 0.018, 0.024, 0.011 };

    return d[i % 8];
}

/* Of n differences with mean m and variance v (divisor n), plus the floor's: the mixture's
 * logarithm at a mean `off` away is log(sqrt(0.1 / (n + 0.1))) - n / 2 log(1 - n r / ((n + 0.1)
 * (v + r))), r = off^2 (Lai 1976). */
static double log_mixture(double n, double v, double off)
{
    const double r = off * off;

    return 0.5 * log(0.1 / (n + 0.1)) - 0.5 * n * log1p(-n * r / ((n + 0.1) * (v + r)));
}

Test(numbers, the_interval_of_pairs_ends_where_the_mixture_reaches_one_over_alpha)
{
    static const double floors[] = { 0, 0.005 };
    static const double alphas[] = { 0, 0.05 };

    for (size_t k = 0; k < 4; k++) {
        const double floor_rel = floors[k % 2], alpha = alphas[k / 2];
        const pfc_seq_opts opts = {
            .paired = true, .alpha = alpha, .floor_rel = floor_rel, .min_values = 8
        };
        const double least = floor_rel > 0 ? floor_rel : 1e-4;
        double mean = 0, v = 0;
        pfc_compare_result r;
        pfc_seq seq;

        cr_assert(eq(int, pfc_seq_init(&seq, &opts, NULL), PFC_OK));
        for (size_t i = 0; i < 8; i++) {
            mean += difference(i) / 8;
            cr_assert(eq(int, pfc_seq_pair(&seq, 100, 100 * exp(difference(i)), NULL), PFC_OK));
        }
        for (size_t i = 0; i < 8; i++)
            v += pow(difference(i) - mean, 2) / 8;
        pfc_seq_result(&seq, &r);
        const double half = log1p(r.rel_high) - mean;
        const double sd = sqrt(v * 8 / 7);

        check_near(log_mixture(8, v + least * least, half), -log(alpha > 0 ? alpha : 0.01), 1e-7,
                   "at the upper end");
        check_near(mean - log1p(r.rel_low), half, 1e-9, "the lower end is as far");
        check_near(r.p, exp(-log_mixture(8, v + least * least, mean)), 1e-9, "p");
        check_near(r.rel_change, expm1(mean), 1e-9, "change");
        check_near(r.noise_rel, expm1(sd), 1e-9, "noise: side a has none");
        check_near(r.detectable_rel, expm1(half + 0.84162123357291442 * sd / sqrt(8)), 1e-9,
                   "detectable");
        pfc_seq_clear(&seq);
    }
}

/* Unpaired: the smallest product over the common level (a fine grid here); both spreads are
 * their own. */
Test(numbers, unpaired_p_is_the_smallest_product_over_the_common_level)
{
    const double a[] = { 0.000, 0.004, -0.003, 0.001, 0.005 };
    const double b[] = { 0.030, 0.012, 0.041, 0.022, 0.018, 0.027, 0.035 };
    double ma = 0, mb = 0, va = 0, vb = 0, least = INFINITY, half = 0;
    pfc_compare_result r;
    pfc_seq seq;

    cr_assert(eq(int, pfc_seq_init(&seq, &(pfc_seq_opts){ .min_values = 5 }, NULL), PFC_OK));
    for (size_t i = 0; i < 7; i++)
        cr_assert(eq(int, pfc_seq_add(&seq, PFC_SEQ_B, exp(b[i]), NULL), PFC_OK));
    for (size_t i = 0; i < 5; i++)
        cr_assert(eq(int, pfc_seq_add(&seq, PFC_SEQ_A, exp(a[i]), NULL), PFC_OK));
    pfc_seq_result(&seq, &r);
    pfc_seq_clear(&seq);
    for (size_t i = 0; i < 5; i++)
        ma += a[i] / 5;
    for (size_t i = 0; i < 7; i++)
        mb += b[i] / 7;
    for (size_t i = 0; i < 5; i++)
        va += pow(a[i] - ma, 2) / 5;
    for (size_t i = 0; i < 7; i++)
        vb += pow(b[i] - mb, 2) / 7;
    for (int i = 0; i <= 20000; i++) {
        const double off = (mb - ma) * i / 20000;

        least =
            fmin(least, log_mixture(5, va + 1e-8, off) + log_mixture(7, vb + 1e-8, mb - ma - off));
    }
    check_near(r.p, exp(-least), 1e-5, "p");
    check_near(r.rel_change, expm1(mb - ma), 1e-9, "change");
    /* At the interval's end the smallest product is 1 / alpha. */
    half = log1p(r.rel_high) - (mb - ma);
    least = INFINITY;
    for (int i = 0; i <= 20000; i++)
        least = fmin(least, log_mixture(5, va + 1e-8, half * i / 20000) +
                                log_mixture(7, vb + 1e-8, half - half * i / 20000));
    check_near(least, -log(0.01), 1e-4, "at the upper end");
    const double se = sqrt(va / 4 + vb / 6); /* m2 / (n - 1) / n is the variance by n, over n - 1 */
    check_near(r.detectable_rel, expm1(half + 0.84162123357291442 * se), 1e-4, "detectable");
    check_near(r.noise_rel, expm1(sqrt(vb * 7 / 6)), 1e-9, "noise");
}

/* The need: the least n at which half an interval of today's spread is at most the shift, or
 * what is left of the margin, whichever is wider. */
Test(numbers, the_need_is_the_first_count_whose_interval_is_narrow_enough)
{
    static const double shifts[] = { 0, 0.004, 0.02, -0.02 };

    for (size_t k = 0; k < PFC_ARRAY_LEN(shifts); k++) {
        const pfc_seq_opts opts = { .paired = true, .margin = 0.01 };
        double mean = 0, v = 0;
        pfc_seq seq;
        size_t n = 1;

        cr_assert(eq(int, pfc_seq_init(&seq, &opts, NULL), PFC_OK));
        for (size_t i = 0; i < 8; i++)
            mean += (shifts[k] + 2 * difference(i) - 0.039) / 8;
        for (size_t i = 0; i < 8; i++) {
            const double d = shifts[k] + 2 * difference(i) - 0.039;

            v += (d - mean) * (d - mean) / 8;
            cr_assert(eq(int, pfc_seq_pair(&seq, 100, 100 * exp(d), NULL), PFC_OK));
        }
        const double wanted = fmax(fabs(mean), log1p(0.01) - fabs(mean));

        while (!(log_mixture((double)n, v + 1e-8, wanted) >= -log(0.01)))
            n++;
        cr_assert(eq(sz, pfc_seq_need(&seq, 10000), n), "shift %g", shifts[k]);
        cr_assert(eq(sz, pfc_seq_need(&seq, n), n));
        cr_assert(eq(sz, pfc_seq_need(&seq, n - 1), n - 1));
        cr_assert(eq(sz, pfc_seq_need(&seq, 2), 2));
        pfc_seq_clear(&seq);
    }
}

/* Two tests share alpha: p is twice the smaller, the interval the part that neither excludes. */
Test(numbers, both_paired_tests_share_alpha)
{
    for (int kind = 0; kind < 3; kind++) {
        const pfc_seq_opts opts = { .paired = true, .alpha = 0.025, .margin = 0.02 };
        double d[16];
        pfc_compare_result normal, both;
        pfc_interval sign;
        pfc_seq seq;

        cr_assert(eq(int, pfc_seq_init(&seq, &opts, NULL), PFC_OK));
        pfc_seq_both(&seq, d, &both);
        cr_assert(eq(dbl, both.p, 1.0)); /* nothing seen yet */
        for (size_t i = 0; i < 16; i++) {
            d[i] = (kind == 1 ? 0.02 : 0) + 0.3 * (difference(i) - 0.0195) * (i % 3 ? 1 : -1);
            d[i] += kind == 2 && i == 1 ? 0.3 : 0;
            cr_assert(eq(int, pfc_seq_pair(&seq, 1, exp(d[i]), NULL), PFC_OK));
        }
        pfc_seq_result(&seq, &normal);
        pfc_seq_both(&seq, d, &both);
        sign = pfc_seq_symmetric_interval(d, 16, 0.025);
        if (pfc_seq_symmetric_p(d, 16, 0) >= 0.025) {
            sign.low = fmin(sign.low, 0);
            sign.high = fmax(sign.high, 0);
        }
        check_near(both.p, fmin(1, 2 * fmin(normal.p, pfc_seq_symmetric_p(d, 16, 0))), 1e-12, "p");
        check_near(both.rel_low, fmax(normal.rel_low, expm1(sign.low)), 1e-12, "low");
        check_near(both.rel_high, fmin(normal.rel_high, expm1(sign.high)), 1e-12, "high");
        check_near(both.rel_change, kind == 2 ? expm1(pfc_stats_median(d, 16)) : normal.rel_change,
                   1e-12, "change");
        /* An outlier of 30 % blinds the normal test; signs and sizes still show that nothing
         * changed. */
        cr_assert(eq(int, (int)normal.verdict,
                     kind == 0   ? PFC_VERDICT_SAME
                     : kind == 1 ? PFC_VERDICT_DIFFERENT
                                 : PFC_VERDICT_INCONCLUSIVE));
        cr_assert(eq(int, (int)both.verdict, kind == 1 ? PFC_VERDICT_DIFFERENT : PFC_VERDICT_SAME));
        pfc_seq_clear(&seq);
    }
}

/* ---- the bootstrap of blocks ---- */

/* Written out: 8,000,000 draws over the number of values, 200 to 2,000 rounds; whole blocks,
 * then values within. */
static pfc_interval bootstrap(const double *x, const uint32_t *blocks, size_t len, double level,
                              uint64_t seed)
{
    size_t n = 0, start[16] = { 0 };
    pfc_interval out;
    double *draw, *medians;
    pfc_rng rng;

    for (size_t i = 0; i < len; i++) {
        start[i] = n;
        n += blocks[i];
    }
    const size_t rounds = PFC_MIN(PFC_MAX(8000000 / n, (size_t)200), (size_t)2000);
    draw = pfc_calloc(2 * n, sizeof *draw);
    medians = pfc_calloc(rounds, sizeof *medians);
    pfc_rng_seed(&rng, seed);
    for (size_t r = 0; r < rounds; r++) {
        size_t got = 0;

        for (size_t i = 0; i < len; i++) {
            const size_t k = (size_t)pfc_rng_below(&rng, len);

            for (uint32_t j = 0; j < blocks[k] && got < 2 * n; j++)
                draw[got++] = x[start[k] + pfc_rng_below(&rng, blocks[k])];
        }
        medians[r] = got ? pfc_stats_median(draw, got) : x[0];
    }
    out.value = pfc_stats_median(x, n);
    out.low = fmin(out.value, pfc_stats_quantile(medians, rounds, (1 - level) / 2));
    out.high = fmax(out.value, pfc_stats_quantile(medians, rounds, (1 + level) / 2));
    free(medians);
    free(draw);
    return out;
}

Test(numbers, the_bootstrap_of_blocks_written_out)
{
    static const uint32_t rows[][3] = {
        { 3, 5, 4 }, { 30, 2, 1 }, { 2000, 2100, 1900 }, { 20000, 10, 21000 }
    };
    static double x[41010];
    pfc_rng rng;

    pfc_rng_seed(&rng, 6);
    for (size_t i = 0; i < 41010; i++)
        x[i] = pfc_rng_normal(&rng) + (i < 5 ? 1 : 0);
    for (size_t k = 0; k < 4; k++) {
        const pfc_interval got = pfc_stats_block_interval(x, rows[k], 3, 0.9, 12);
        const pfc_interval want = bootstrap(x, rows[k], 3, 0.9, 12);

        check_near(got.value, want.value, 1e-12, "value");
        check_near(got.low, want.low, 1e-12, "low");
        check_near(got.high, want.high, 1e-12, "high");
    }
}

/* ---- trend ---- */

/* Mann-Kendall and Sen by their formulas over medians of blocks of `size` points (Gilbert 1987,
 * ch. 16). */
static void check_trend(const pfc_point *points, size_t n, size_t size)
{
    double y[60], t[60], slopes[60 * 59 / 2], values[64];
    size_t len = 0, pairs = 0;
    double s = 0, var;
    pfc_drift d;

    for (size_t from = 0; from + size <= n; from += size) {
        for (size_t i = 0; i < size; i++)
            values[i] = log(points[from + i].v);
        t[len] = (double)from + (double)(size - 1) / 2;
        y[len++] = pfc_stats_median(values, size);
    }
    for (size_t i = 0; i < len; i++) {
        for (size_t k = i + 1; k < len; k++) {
            s += y[k] > y[i] ? 1 : y[k] < y[i] ? -1 : 0;
            slopes[pairs++] = (y[k] - y[i]) / (t[k] - t[i]);
        }
    }
    const double m = (double)len;

    var = m * (m - 1) * (2 * m + 5) / 18; /* no ties */
    cr_assert(pfc_stats_drift(points, n, NULL, 0, &d));
    check_near(d.p, fmax(1e-16, erfc((fabs(s) - 1) / sqrt(var) * M_SQRT1_2)), 1e-9, "p");
    const double span = t[len - 1] - t[0];
    const double reach = 1.96 * sqrt(var) / (2 * (double)pairs);

    check_near(d.rel_change, expm1(pfc_stats_quantile(slopes, pairs, 0.5) * span), 1e-9, "change");
    check_near(d.rel_low, expm1(pfc_stats_quantile(slopes, pairs, 0.5 - reach) * span), 1e-9,
               "low");
    check_near(d.rel_high, expm1(pfc_stats_quantile(slopes, pairs, 0.5 + reach) * span), 1e-9,
               "high");
    for (size_t i = 0; i < len; i++)
        y[i] -= pfc_stats_quantile(slopes, pairs, 0.5) * (t[i] - t[0]);
    check_near(d.before, exp(pfc_stats_median(y, len)), 1e-9, "before");
    check_near(d.after, d.before * (1 + d.rel_change), 1e-9, "after");
}

/* Blocks of three points, as many as 60; beyond 180 points they become longer. */
Test(numbers, a_trend_is_that_of_medians_of_blocks)
{
    static pfc_point points[400];
    pfc_rng rng;

    pfc_rng_seed(&rng, 9);
    for (size_t i = 0; i < 400; i++)
        points[i] = (pfc_point){ .v = 100 * exp(2e-4 * (double)i + 0.02 * pfc_rng_normal(&rng)) };
    check_trend(points, 30, 3);
    check_trend(points, 32, 3);
    check_trend(points, 180, 3);
    check_trend(points, 181, 4);
    check_trend(points, 240, 4);
    check_trend(points, 241, 5);
}

/* ---- power ---- */

/* The threshold of alerts, and 0.84 standard errors more; the history is the series and its new
 * points. */
Test(numbers, the_detectable_step_by_its_formula)
{
    check_near(pfc_detectable(0.01, 100, 40, 5, 0.001),
               (pfc_fdr_needed(105) + 0.84) * 0.01 * sqrt(1.0 / 40 + 1.0 / 5), 1e-12, "history");
    check_near(pfc_detectable(0.01, 10, 40, 5, 0.001),
               (pfc_fdr_needed(45) + 0.84) * 0.01 * sqrt(1.0 / 40 + 1.0 / 5), 1e-12,
               "at least the points before");
    for (size_t before = 1; before < 200; before += 40) {
        for (double rel = 0.02; rel < 0.4; rel *= 2) {
            size_t n = 1;

            while (n < PFC_POINTS_MOST && pfc_detectable(0.01, 300, before, n, 0) > rel)
                n++;
            cr_assert(eq(sz, pfc_points_for(0.01, 300, before, rel), n), "%zu, %g", before, rel);
        }
    }
}
