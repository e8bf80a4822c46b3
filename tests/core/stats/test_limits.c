/* Limits of comparisons and alerts: each met exactly, one below it and one above it. */
#include <math.h>
#include <string.h>

#include "core/blocks/pair_rounds.h"
#include "core/changepoint/drift.h"
#include "core/changepoint/fdr.h"
#include "core/changepoint/power.h"
#include "core/stats/comparison_family.h"
#include "core/stats/dist.h"
#include "core/stats/sequential.h"

#include "tests/check/check.h"

/* ---- options and sizes ---- */

typedef struct limit {
    double value;
    bool fine;
} limit;

static const limit alphas[] = { { -0.0, true }, { -1e-300, false },         { 0.5, true },
                                { 1.0, false }, { 0.999999, true },         { (double)NAN, false },
                                { 2.0, false }, { (double)INFINITY, false } };
static const limit margins[] = { { 0.0, true },          { -1e-300, false },
                                 { 1e300, true },        { (double)INFINITY, false },
                                 { (double)NAN, false }, { -(double)INFINITY, false } };

static void check_refused(pfc_code code, const pfc_err *err, bool fine, const char *field)
{
    cr_assert(eq(int, (int)code, fine ? PFC_OK : PFC_EINVAL), "%s: %s", field, err->msg);
    if (!fine)
        cr_assert(eq(str, (char *)err->field, (char *)field));
}

Test(limits, rates_lie_from_zero_to_below_one_and_margins_are_finite)
{
    const double x[] = { 1, 2, 3 };
    pfc_compare_result r;
    pfc_seq seq;

    for (size_t i = 0; i < PFC_ARRAY_LEN(alphas); i++) {
        const bool fine = alphas[i].fine;
        const pfc_compare_opts compare = { .alpha = alphas[i].value };
        const pfc_seq_opts looks = { .alpha = alphas[i].value };
        pfc_err err = { 0 };

        check_refused(pfc_stats_compare(x, 3, x, 3, &compare, &r, &err), &err, fine, "alpha");
        check_refused(pfc_seq_init(&seq, &looks, &err), &err, fine, "alpha");
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(margins); i++) {
        const bool fine = margins[i].fine;
        const pfc_compare_opts compare = { .margin = margins[i].value };
        const pfc_seq_opts looks = { .margin = margins[i].value };
        const pfc_seq_opts floors = { .floor_rel = margins[i].value };
        pfc_err err = { 0 };

        check_refused(pfc_stats_compare(x, 3, x, 3, &compare, &r, &err), &err, fine, "margin");
        check_refused(pfc_seq_init(&seq, &looks, &err), &err, fine, "margin");
        check_refused(pfc_seq_init(&seq, &floors, &err), &err, fine, "floor_rel");
    }
}

/* Sizes are checked before any value is read. */
Test(limits, samples_have_at_least_and_at_most_so_many_values)
{
    static double many[PFC_STATS_MAX_SAMPLES];
    static const double x[] = { 1, 2, 3 };
    const pfc_compare_opts exact = { .exact = true };
    const size_t over = PFC_STATS_MAX_SAMPLES + 1;
    pfc_compare_result r;
    pfc_interval shift;
    pfc_err err = { 0 };
    double p;

    for (size_t i = 0; i < PFC_STATS_MAX_SAMPLES; i++)
        many[i] = 2;
    check_refused(pfc_stats_compare(many, PFC_STATS_MAX_SAMPLES, x, 1, &exact, &r, &err), &err,
                  true, "a");
    cr_assert(eq(dbl, r.rel_change, -0.5));
    check_refused(pfc_stats_compare(many, over, x, 3, &exact, &r, &err), &err, false, "a");
    check_refused(pfc_stats_compare(x, 3, many, over, &exact, &r, &err), &err, false, "b");
    check_refused(pfc_stats_compare(x, 0, x, 3, &exact, &r, &err), &err, false, "a");
    check_refused(pfc_stats_compare(x, 3, x, 0, &exact, &r, &err), &err, false, "b");
    check_refused(pfc_stats_ranktest(x, 3, x, 3, &p, &err), &err, true, "a");
    check_refused(pfc_stats_ranktest(x, 2, x, 3, &p, &err), &err, false, "a");
    check_refused(pfc_stats_ranktest(x, 3, x, 2, &p, &err), &err, false, "b");
    check_refused(pfc_stats_ranktest(many, over, x, 3, &p, &err), &err, false, "a");
    check_refused(pfc_stats_ranktest(x, 3, many, over, &p, &err), &err, false, "b");
    check_refused(pfc_stats_shift(x, 1, x, 1, 0.5, &shift, &err), &err, true, "a");
    check_refused(pfc_stats_shift(x, 0, x, 1, 0.5, &shift, &err), &err, false, "a");
    check_refused(pfc_stats_shift(x, 1, x, 0, 0.5, &shift, &err), &err, false, "b");
    check_refused(pfc_stats_shift(many, over, x, 1, 0.5, &shift, &err), &err, false, "a");
    check_refused(pfc_stats_shift(x, 1, x, 1, 0, &shift, &err), &err, false, "level");
    check_refused(pfc_stats_shift(x, 1, x, 1, 1, &shift, &err), &err, false, "level");
    check_refused(pfc_stats_shift(x, 1, x, 1, (double)NAN, &shift, &err), &err, false, "level");
    check_refused(pfc_stats_shift(x, 1, x, 1, 1e-9, &shift, &err), &err, true, "level");
}

Test(limits, values_are_finite_and_where_they_are_compared_above_zero)
{
    static const limit values[] = { { 1e-300, true },       { 1e300, true },
                                    { 0, false },           { -1, false },
                                    { (double)NAN, false }, { (double)INFINITY, false } };
    static const double good[] = { 1, 2, 3 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(values); i++) {
        const double x[] = { 1, values[i].value, 3 };
        const bool finite = isfinite(values[i].value), fine = values[i].fine;
        pfc_compare_result r;
        pfc_interleaved_result t;
        pfc_interval shift;
        pfc_err err = { 0 };
        pfc_seq seq;
        double p;

        check_refused(pfc_stats_compare(x, 3, good, 3, NULL, &r, &err), &err, fine, "a");
        check_refused(pfc_stats_compare(good, 3, x, 3, NULL, &r, &err), &err, fine, "b");
        check_refused(pfc_stats_ranktest(x, 3, good, 3, &p, &err), &err, finite, "a");
        check_refused(pfc_stats_ranktest(good, 3, x, 3, &p, &err), &err, finite, "b");
        check_refused(pfc_stats_shift(x, 3, good, 3, 0.5, &shift, &err), &err, finite, "a");
        check_refused(pfc_stats_shift(good, 3, x, 3, 0.5, &shift, &err), &err, finite, "b");
        check_refused(pfc_interleaved_compare(x, 2, good, 2, "abba", NULL, &t, &err), &err, fine,
                      "a");
        check_refused(pfc_interleaved_compare(good, 2, x, 2, "abba", NULL, &t, &err), &err, fine,
                      "b");
        cr_assert(eq(int, pfc_seq_init(&seq, NULL, &err), PFC_OK));
        check_refused(pfc_seq_add(&seq, PFC_SEQ_A, x[1], &err), &err, fine, "a");
        check_refused(pfc_seq_add(&seq, PFC_SEQ_B, x[1], &err), &err, fine, "b");
        check_refused(pfc_seq_pair(&seq, 1, 1, &err), &err, false, "paired");
        pfc_seq_clear(&seq);
        cr_assert(eq(int, pfc_seq_init(&seq, &(pfc_seq_opts){ .paired = true }, &err), PFC_OK));
        check_refused(pfc_seq_pair(&seq, x[1], 1, &err), &err, fine, "a");
        check_refused(pfc_seq_pair(&seq, 1, x[1], &err), &err, fine, "b");
        check_refused(pfc_seq_add(&seq, PFC_SEQ_B, 1, &err), &err, false, "paired");
        cr_assert(eq(sz, seq.d.n, fine ? 2 : 0));
        pfc_seq_clear(&seq);
    }
}

Test(limits, pairs_have_as_many_values_a_side)
{
    static const double x[] = { 1, 2, 3, 4 };
    const pfc_compare_opts paired = { .paired = true };

    for (size_t n = 3; n <= 4; n++) {
        pfc_compare_result r;
        pfc_err err = { 0 };

        check_refused(pfc_stats_compare(x, n, x, 3, &paired, &r, &err), &err, n == 3, "paired");
        check_refused(pfc_stats_compare(x, 3, x, n, &paired, &r, &err), &err, n == 3, "paired");
    }
}

/* Ascending, equal times as they came; a series in order, or with an unknown time, stays as it
 * is. */
Test(limits, the_order_of_a_series_is_that_of_its_times)
{
    static const struct {
        double t[4];
        bool moved;
        size_t order[4];
    } rows[] = { { { 4, 3, 2, 1 }, true, { 3, 2, 1, 0 } },
                 { { 2, 1, 2, 1 }, true, { 1, 3, 0, 2 } },
                 { { 1, 2, 4, 3 }, true, { 0, 1, 3, 2 } },
                 { { 2, 1, 3, 4 }, true, { 1, 0, 2, 3 } },
                 { { 1, 1, 2, 2 }, false, { 0, 1, 2, 3 } },
                 { { 3, 2, 1, (double)NAN }, false, { 0, 1, 2, 3 } },
                 { { (double)INFINITY, 2, 1, 0 }, false, { 0, 1, 2, 3 } } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_point points[4] = { { 0 } };
        size_t order[4];

        for (size_t k = 0; k < 4; k++)
            points[k].t = rows[i].t[k];
        cr_assert(eq(int, pfc_stats_series_order(points, 4, order), rows[i].moved), "row %zu", i);
        for (size_t k = 0; k < 4; k++)
            cr_assert(eq(sz, order[k], rows[i].order[k]), "row %zu", i);
    }
    cr_assert(not(pfc_stats_series_order(NULL, 0, NULL)));
}

/* A sample of one value tells its value and nothing else. */
Test(limits, one_value_has_a_median_and_no_spread)
{
    const double x[] = { 7 };
    const pfc_interval v = pfc_stats_median_interval(x, 1, 0.95);

    cr_assert(eq(dbl, pfc_stats_median(x, 1), 7));
    cr_assert(eq(dbl, pfc_stats_mad(x, 1), 0));
    cr_assert(eq(dbl, pfc_stats_sd(x, 1), 0));
    cr_assert(eq(dbl, pfc_stats_mean(x, 1), 7));
    cr_assert(epsilon_eq(dbl, pfc_stats_geomean(x, 1), 7, 1e-12));
    cr_assert(v.value == 7 && v.low == 7 && v.high == 7);
    cr_assert(isnan(pfc_stats_geomean((double[]){ 1, 0 }, 2)));
    cr_assert(isnan(pfc_stats_geomean((double[]){ (double)NAN }, 1)));
    cr_assert(eq(dbl, pfc_stats_sd((double[]){ 3, 3, 3 }, 3), 0));
    cr_assert(epsilon_eq(dbl, pfc_stats_sd((double[]){ 3, 5 }, 2), M_SQRT2, 1e-15));
}

Test(limits, quantiles_beyond_the_ends_are_the_ends)
{
    const double x[] = { 4, 1, 3, 2 };

    cr_assert(eq(dbl, pfc_stats_quantile(x, 4, -0.1), 1));
    cr_assert(eq(dbl, pfc_stats_quantile(x, 4, 0), 1));
    cr_assert(eq(dbl, pfc_stats_quantile(x, 4, 1), 4));
    cr_assert(eq(dbl, pfc_stats_quantile(x, 4, 1.1), 4));
    cr_assert(epsilon_eq(dbl, pfc_stats_quantile(x, 4, 0.5), 2.5, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_stats_quantile(x, 4, 0.25), 1.75, 1e-12));
}

/* At a level of 0.5 the 2nd of five would do (P(B(5) < 2) = 6/32 <= 1/4); five give the range
 * all the same. Of six the 2nd: P(B(6) < 2) = 7/64, P(B(6) < 3) = 22/64. */
Test(limits, six_values_are_the_fewest_of_which_some_are_cut)
{
    const double x[] = { 1, 2, 3, 4, 5, 6 };
    const pfc_interval five = pfc_stats_median_interval(x, 5, 0.5);
    const pfc_interval six = pfc_stats_median_interval(x, 6, 0.5);

    cr_assert(five.low == 1 && five.value == 3 && five.high == 5);
    cr_assert(six.low == 2 && six.value == 3.5 && six.high == 5);
    /* A tail that is met exactly may be cut: P(B(6) < 2) = 7/64. */
    cr_assert(eq(sz, pfc_stats_sign_cut(6, 7.0 / 64 + 1e-12), 2));
    cr_assert(eq(sz, pfc_stats_sign_cut(6, 7.0 / 64 - 1e-12), 1));
    cr_assert(eq(sz, pfc_stats_sign_cut(0, 0.5), 0));
    /* Up to 5000 summed, beyond by the normal approximation; expected: sums of whole binomial
     * coefficients. */
    cr_assert(eq(sz, pfc_stats_sign_cut(5000, 1e-5), 2349));
    cr_assert(eq(sz, pfc_stats_sign_cut(5001, 1e-5), 2350));
    cr_assert(eq(sz, pfc_stats_sign_cut(5000, 0.02), 2427));
    cr_assert(eq(sz, pfc_stats_sign_cut(5001, 0.02), 2428));
}

/* ---- verdicts ---- */

static pfc_compare_result compare(const double *a, const double *b, size_t n, double alpha,
                                  double margin)
{
    const pfc_compare_opts opts = { .alpha = alpha, .margin = margin };
    pfc_compare_result r;

    cr_assert(eq(int, pfc_stats_compare(a, n, b, n, &opts, &r, NULL), PFC_OK));
    return r;
}

/* p of triples apart is 0.1, which is below alpha only where alpha is larger; two values a side
 * never decide. */
Test(limits, different_needs_a_p_below_alpha_and_three_values)
{
    const double a[] = { 101, 102, 103 };
    const double b[] = { 111, 112, 113 };
    const double p = compare(a, b, 3, 0.5, 0.01).p;

    cr_assert(epsilon_eq(dbl, p, 0.1, 1e-12));
    cr_assert(eq(int, (int)compare(a, b, 3, p, 0.01).verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(int, (int)compare(a, b, 3, nextafter(p, 1) + 1e-12, 0.01).verdict,
                 PFC_VERDICT_DIFFERENT));
    cr_assert(eq(int, (int)compare(b, a, 3, nextafter(p, 1) + 1e-12, 0.01).verdict,
                 PFC_VERDICT_DIFFERENT));
    cr_assert(eq(int, (int)compare(a, b, 2, 0.9, 0.01).verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(int, (int)compare(a, a, 3, 0.9, 0.5).verdict, PFC_VERDICT_SAME));
    cr_assert(eq(int, (int)compare(a, a, 2, 0.9, 0.5).verdict, PFC_VERDICT_INCONCLUSIVE));
}

/* Ten equal values a side: the interval is one point, which lies on the margin or beyond it. */
Test(limits, same_holds_up_to_the_margin_on_either_side)
{
    for (int down = 0; down < 2; down++) {
        double a[10], b[10];

        for (size_t i = 0; i < 10; i++) {
            a[i] = 100;
            b[i] = down ? 96 : 104;
        }
        const double at = compare(a, b, 10, 0, 0.5).rel_high;

        cr_assert(epsilon_eq(dbl, at, down ? -0.04 : 0.04, 1e-12));
        cr_assert(eq(int, (int)compare(a, b, 10, 0, fabs(at)).verdict, PFC_VERDICT_SAME));
        cr_assert(eq(int, (int)compare(a, b, 10, 0, nextafter(fabs(at), 0)).verdict,
                     PFC_VERDICT_DIFFERENT));
    }
}

/* The defaults: alpha and margin 0.01. All values are equal on a side, so the interval is a
 * point. */
Test(limits, the_defaults_are_one_per_cent)
{
    double a[10], b[10];
    const pfc_compare_result none =
        compare((double[]){ 1, 2, 3, 4, 5 }, (double[]){ 2, 4, 3, 5, 6 }, 5, 0, 0);
    const pfc_compare_result same =
        compare((double[]){ 1, 2, 3, 4, 5 }, (double[]){ 2, 4, 3, 5, 6 }, 5, 0.01, 0.01);
    pfc_seq seq;

    cr_assert(zero(int, memcmp(&none, &same, sizeof none)));
    for (size_t i = 0; i < 10; i++) {
        a[i] = 100;
        b[i] = 100.999;
    }
    cr_assert(eq(int, (int)compare(a, b, 10, 0, 0).verdict, PFC_VERDICT_SAME));
    for (size_t i = 0; i < 10; i++)
        b[i] = 101.001;
    cr_assert(eq(int, (int)compare(a, b, 10, 0, 0).verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(eq(int, pfc_seq_init(&seq, NULL, NULL), PFC_OK));
    cr_assert(seq.opts.alpha == 0.01 && seq.opts.margin == 0.01 && seq.opts.floor_rel == 1e-4);
    cr_assert(eq(sz, seq.opts.min_values, 4));
    cr_assert(eq(int, pfc_seq_init(&seq, &(pfc_seq_opts){ .min_values = 1 }, NULL), PFC_OK));
    cr_assert(eq(sz, seq.opts.min_values, 2));
    cr_assert(eq(int, pfc_seq_init(&seq, &(pfc_seq_opts){ .min_values = 3 }, NULL), PFC_OK));
    cr_assert(eq(sz, seq.opts.min_values, 3));
}

Test(limits, exact_values_differ_by_any_amount_in_either_direction)
{
    const pfc_compare_opts exact = { .exact = true };
    const double a[] = { 1000000 };
    pfc_compare_result r;

    for (int k = -1; k <= 1; k++) {
        const double b[] = { 1000000 + k };

        cr_assert(eq(int, pfc_stats_compare(a, 1, b, 1, &exact, &r, NULL), PFC_OK));
        cr_assert(eq(int, (int)r.verdict, k ? PFC_VERDICT_DIFFERENT : PFC_VERDICT_SAME));
        cr_assert(eq(dbl, r.p, k ? 0 : 1));
        cr_assert(epsilon_eq(dbl, r.rel_change, k * 1e-6, 1e-15));
        cr_assert(r.rel_low == r.rel_change && r.rel_high == r.rel_change);
        cr_assert(r.noise_rel == 0 && r.detectable_rel == 0);
    }
}

/* n (half / want)^2 - n more, rounded up: half is the wider side, want what is left of the
 * margin or the change. */
Test(limits, further_values_by_hand)
{
    const double margin = expm1(0.02);

    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-0.04), expm1(0.04), 10, 5, margin), 30));
    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-0.01), expm1(0.04), 10, 5, margin), 30));
    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-0.04), expm1(0.01), 10, 5, margin), 30));
    /* A change of 0.015 leaves 0.005 of the margin; excluding zero is the nearer way. */
    cr_assert(eq(
        dbl, pfc_stats_more_values(expm1(0.015), expm1(-0.0151), expm1(0.045), 10, 5, margin), 31));
    /* Enough already: one more all the same. */
    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-0.001), expm1(0.001), 10, 5, margin), 1));
    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-0.04), expm1(0.04), 4, 5, margin), 1));
    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-0.04), expm1(0.04), 5, 5, margin), 15));
    cr_assert(eq(dbl, pfc_stats_more_values(0, -1, (double)INFINITY, 3, 5, margin), 2));
    cr_assert(isinf(pfc_stats_more_values(0, -1, (double)INFINITY, 5, 5, margin)));
    /* 10 values and 100 times the half width: 99,990; a hair more than 100,000 is no number. */
    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-1.9999999), 0, 10, 5, margin), 99990));
    cr_assert(isinf(pfc_stats_more_values(0, expm1(-2.0002), 0, 10, 5, margin)));
    cr_assert(eq(dbl, pfc_stats_more_values(0, expm1(-2.0000999), 0, 10, 5, margin), 100000));
}

/* ---- families ---- */

Test(limits, a_row_on_the_rate_stays_different)
{
    static const double p[] = { 0.05, 0.050000001, 0.05, (double)NAN };
    static const pfc_verdict in[] = { PFC_VERDICT_DIFFERENT, PFC_VERDICT_DIFFERENT,
                                      PFC_VERDICT_SAME, PFC_VERDICT_DIFFERENT };
    static const pfc_verdict out[] = { PFC_VERDICT_DIFFERENT, PFC_VERDICT_INCONCLUSIVE,
                                       PFC_VERDICT_SAME, PFC_VERDICT_DIFFERENT };

    for (size_t i = 0; i < 4; i++) {
        pfc_family_row row = { .p = p[i], .p_adjusted = 7, .verdict = in[i] };

        pfc_compare_family(&row, 1);
        cr_assert(eq(int, (int)row.verdict, (int)out[i]), "row %zu", i);
        cr_assert(isnan(p[i]) ? isnan(row.p_adjusted) : row.p_adjusted == p[i]);
    }
    pfc_compare_family(NULL, 0);
    pfc_stats_fdr_adjust(NULL, 0, NULL);
}

/* Of two p-values 0.02 and 0.04 at a rate of 0.04 both are kept: the second meets its step
 * exactly. */
Test(limits, a_discovery_meets_its_step_exactly)
{
    const double p[] = { 0.04, 0.02 };
    bool keep[2] = { false, false };

    pfc_stats_fdr(p, 2, 0.04, keep);
    cr_assert(keep[0] && keep[1]);
    pfc_stats_fdr(p, 2, 0.0399, keep);
    cr_assert(not(keep[0] || keep[1]));
    pfc_stats_fdr(p, 2, 0.05, keep);
    cr_assert(keep[0] && keep[1]);
    pfc_stats_fdr(NULL, 0, 0.05, NULL);
    /* Measured but without a change: each counts with p = 1; fewer measured than there are is
     * all of them. */
    pfc_fdr_keep(p, 2, 1, 0.04, keep);
    cr_assert(keep[0] && keep[1]);
    pfc_fdr_keep(p, 2, 3, 0.04, keep);
    cr_assert(not(keep[0] || keep[1]));
    pfc_fdr_keep(p, 2, 3, 0.06, keep);
    cr_assert(keep[0] && keep[1]);
}

/* ---- alerts ---- */

/* A change of 10 points that stands out by z standard errors: by its p, or where p is at its
 * floor by its interval. */
static pfc_change clear_by(double z, bool by_interval)
{
    const double half = 0.1 / z * 1.96;

    return (pfc_change){ .index = 100000,
                         .rel_change = expm1(0.1),
                         .rel_low = expm1(0.1 - half),
                         .rel_high = expm1(0.1 + half),
                         .p = by_interval ? PFC_P_MIN : pfc_stats_normal_tail2(z) };
}

/* Standard errors that give a sureness of `sure` with n points: 1.64 / sqrt(n) of correlation, n
 * - 4 degrees. */
static double z_of(double sure, double n)
{
    const double alike = fmin(1.64 / sqrt(n), 0.6), df = fmax(n - 4, 1);

    return sqrt((1 + alike) / (1 - alike)) * sqrt(df * expm1(sure * sure / df));
}

Test(limits, five_points_and_seven_standard_errors_are_firm)
{
    const pfc_change firm = clear_by(z_of(7, 100005) * (1 + 1e-7), false);
    const pfc_change weak = clear_by(z_of(7, 100005) * (1 - 1e-7), false);
    const pfc_change faint = clear_by(1, false);
    pfc_change settled = faint;

    cr_assert(epsilon_eq(dbl, pfc_fdr_sureness(&firm, 100005), 7, 1e-5));
    cr_assert(not(pfc_alert_justified(&firm, firm.index + 4)));
    cr_assert(pfc_alert_justified(&firm, firm.index + 5));
    cr_assert(not(pfc_alert_justified(&weak, weak.index + 5)));
    cr_assert(not(pfc_alert_justified(&faint, faint.index + 19)));
    cr_assert(pfc_alert_justified(&faint, faint.index + 20));
    settled.confirmed = true;
    cr_assert(pfc_alert_justified(&settled, settled.index + 1));
    cr_assert(epsilon_eq(dbl, pfc_fdr_needed(100005), z_of(7, 100005), 1e-9));
    cr_assert(epsilon_eq(dbl, pfc_fdr_needed(0) / z_of(7, 1), 1, 1e-9));
    cr_assert(epsilon_eq(dbl, pfc_fdr_needed(12) / z_of(7, 12), 1, 1e-9));
}

/* p at its floor says 8.2 standard errors at least: beyond, the interval does, here 12 of them. */
Test(limits, beyond_the_floor_of_p_the_interval_says_how_clear_a_change_is)
{
    const pfc_change sure = clear_by(z_of(12, 100000), true);
    const pfc_change wide = clear_by(2, true);

    cr_assert(epsilon_eq(dbl, pfc_fdr_sureness(&sure, 100000), 12, 1e-6));
    cr_assert(epsilon_eq(dbl, z_of(pfc_fdr_sureness(&wide, 100000), 100000),
                         -pfc_stats_normal_quantile(PFC_P_MIN / 2), 1e-6));
}

Test(limits, three_points_six_standard_errors_and_a_ratio_of_eight_alert_after_an_accepted_level)
{
    const pfc_change firm = clear_by(z_of(6, 100003) * (1 + 1e-7), false);
    const pfc_change weak = clear_by(z_of(6, 100003) * (1 - 1e-7), false);
    const size_t end = firm.index + 3;

    cr_assert(pfc_alert_justified_accepted(&firm, end, 8));
    cr_assert(not(pfc_alert_justified_accepted(&firm, end, nextafter(8, 0))));
    cr_assert(not(pfc_alert_justified_accepted(&firm, end, (double)NAN)));
    cr_assert(not(pfc_alert_justified_accepted(&firm, end - 1, 8)));
    cr_assert(not(pfc_alert_justified_accepted(&weak, end, 8)));
    cr_assert(pfc_alert_justified_accepted(&weak, firm.index + 20, 0));
}

Test(limits, sureness_has_ends)
{
    const pfc_change sharp = { .rel_change = 0.1, .rel_low = 0.1, .rel_high = 0.1, .p = PFC_P_MIN };
    const pfc_change lost = { .rel_change = -1, .rel_low = -1.2, .rel_high = -0.8, .p = PFC_P_MIN };
    const pfc_change none = { .p = 1 };
    pfc_change c = clear_by(5, false);

    cr_assert(isinf(pfc_fdr_sureness(&sharp, 50)));
    /* No logarithm of a fall by all: |jump| over the interval as it is. 1 / 0.4 * 2 * 1.96 =
     * 9.8. */
    cr_assert(epsilon_eq(dbl, pfc_fdr_sureness(&lost, 100000), 9.8 / (z_of(9.8, 1e5) / 9.8), 2e-3));
    cr_assert(eq(dbl, pfc_fdr_sureness(&none, 50), 0));
    cr_assert(eq(dbl, pfc_fdr_sureness(&c, 0), pfc_fdr_sureness(&c, 1)));
    cr_assert(eq(dbl, pfc_fdr_anywhere(&none, 50, false), 1));
    cr_assert(eq(dbl, pfc_fdr_anywhere(&c, 50, true), c.p));
    cr_assert(epsilon_eq(dbl, pfc_fdr_anywhere(&c, 1000, false),
                         1000 * pfc_stats_normal_tail2(pfc_fdr_sureness(&c, 1000)), 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_fdr_anywhere(&sharp, 50, false), 50 * PFC_P_MIN, 1e-25));
    cr_assert(epsilon_eq(dbl, pfc_fdr_anywhere(&sharp, 0, false), PFC_P_MIN, 1e-25));
}

Test(limits, epochs_begin_every_thousand_commits)
{
    static const int64_t rows[][2] = {
        { -5, 1 },   { 0, 1 },       { 1, 1 },       { 2, 1 },
        { 1000, 1 }, { 1001, 1001 }, { 2000, 1001 }, { 2001, 2001 }
    };
    pfc_fdr_stream stream = { 0 };
    pfc_fdr_stream same = { .fdr = PFC_ALERT_FDR };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(i64, pfc_fdr_epoch(rows[i][0]), rows[i][1]));
    cr_assert(eq(dbl, pfc_fdr_level(&stream, 40), pfc_fdr_level(&same, 40)));
    cr_assert(eq(dbl, pfc_fdr_level(&stream, 0), pfc_fdr_level(&same, 1)));
    /* A discovery at the first commit of an epoch counts in it; one at the commit itself does
     * not yet. */
    pfc_fdr_found(&stream, 1000);
    pfc_fdr_found(&stream, 1001);
    cr_assert(eq(dbl, pfc_fdr_level(&stream, 1001), pfc_fdr_level(&same, 1)));
    cr_assert(
        eq(dbl, pfc_fdr_level(&stream, 1002), pfc_fdr_lord(0.05, 0.025, 2, (size_t[]){ 1 }, 1)));
    cr_assert(eq(dbl, pfc_fdr_level(&stream, 1000), pfc_fdr_level(&same, 1000)));
    pfc_fdr_found(&stream, 1001);
    cr_assert(eq(sz, stream.len, 2));
    pfc_fdr_stream_clear(&stream);
    cr_assert(eq(sz, stream.len, 0));
}

/* ---- power ---- */

Test(limits, what_is_unknown_is_not_detectable)
{
    cr_assert(isnan(pfc_detectable(-1e-9, 10, 10, 5, 0)));
    cr_assert(isnan(pfc_detectable((double)NAN, 10, 10, 5, 0)));
    cr_assert(isnan(pfc_detectable(0.01, 10, 0, 5, 0)));
    cr_assert(isnan(pfc_detectable(0.01, 10, 10, 0, 0)));
    cr_assert(eq(dbl, pfc_detectable(0, 10, 10, 5, 0.02), 0.02));
    cr_assert(eq(dbl, pfc_detectable(1e-9, 10, 10, 5, 0.02), 0.02));
    cr_assert(eq(sz, pfc_points_for((double)NAN, 10, 10, 0.1), 0));
    cr_assert(eq(sz, pfc_points_for(-1, 10, 10, 0.1), 0));
    cr_assert(eq(sz, pfc_points_for(0.01, 10, 0, 0.1), 0));
    cr_assert(eq(sz, pfc_points_for(0, 10, 10, 0.1), 1));
    cr_assert(eq(sz, pfc_points_for(0.01, 10, 10, 1e-9), PFC_POINTS_MOST));
    /* The size that a number of points shows is shown by as many. */
    cr_assert(eq(sz, pfc_points_for(0.01, 30, 30, pfc_detectable(0.01, 30, 30, 7, 0)), 7));
    cr_assert(
        eq(sz, pfc_points_for(0.01, 30, 30, nextafter(pfc_detectable(0.01, 30, 30, 7, 0), 0)), 8));
}

/* ---- turns ---- */

Test(limits, a_round_of_turns_has_two_of_each_side)
{
    static const double v[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const struct {
        const char *order;
        size_t na, nb;
        bool fine;
        size_t rounds;
    } rows[] = {
        { "", 0, 0, true, 0 },         { "a", 1, 0, true, 0 },     { "aab", 2, 1, true, 0 },
        { "abba", 2, 2, true, 1 },     { "abab", 2, 2, true, 1 },  { "abbaaba", 4, 3, true, 1 },
        { "abbabaab", 4, 4, true, 2 }, { "abbb", 1, 3, false, 0 }, { "aaab", 3, 1, false, 0 },
        { "abba", 2, 1, false, 0 },    { "abba", 3, 2, false, 0 }, { "abba", 2, 3, false, 0 },
        { "abba", 1, 2, false, 0 },    { "abbx", 2, 2, false, 0 }, { "abbaaaab", 5, 3, false, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_interleaved_result r = { .rounds = 99 };
        pfc_err err = { 0 };
        const pfc_code code =
            pfc_interleaved_compare(v, rows[i].na, v, rows[i].nb, rows[i].order, NULL, &r, &err);

        check_refused(code, &err, rows[i].fine, "order");
        cr_assert(eq(sz, r.rounds, rows[i].fine ? rows[i].rounds : 99), "%s", rows[i].order);
    }
}
