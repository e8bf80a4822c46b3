/* Limits of what is made of a series: values, noise, drift, watched points, series without
 * noise, saved states. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/changepoint/drift.h"
#include "core/changepoint/online/online.h"
#include "core/stats/dist.h"

#include "tests/check/check.h"

#define N 64

static pfc_segment_space space;
static pfc_point points[N];

static void set(const double *v, size_t n)
{
    memset(points, 0, sizeof points);
    for (size_t i = 0; i < n; i++)
        points[i] = (pfc_point){ .t = 60.0 * (double)i, .v = v[i] };
}

/* ---- values ---- */

Test(limits_series, summaries_of_repeats_by_hand)
{
    /* Sorted 1 2 3 5 9 (and one that is not finite): middle of 2 3 5; lower of 1 2 3. */
    const double x[] = { 5, 1, (double)NAN, 9, 2, 3 };
    const double lower[] = { 7, 3, 10 / 3.0, 4, 2, 1 }; /* below 0: the value itself */
    const double higher[] = { 7, 3, 10 / 3.0, 4, 17 / 3.0, 9 };
    const pfc_point p = { .v = 7, .repeats = x, .repeats_len = 6 };
    const pfc_point none = { .v = 7, .repeats = x + 2, .repeats_len = 1 };

    for (int s = -1; s < 5; s++) {
        cr_assert(epsilon_eq(dbl, pfc_summary_of(&p, s, false), lower[s + 1], 1e-12));
        cr_assert(epsilon_eq(dbl, pfc_summary_of(&p, s, true), higher[s + 1], 1e-12));
        cr_assert(eq(dbl, pfc_summary_of(&none, s, false), 7));
        cr_assert(eq(dbl, pfc_summary_of(&none, s, true), 7));
    }
}

/* Every second point's summaries lie off the others': the median by 2 %, the k-th by less, in
 * proportion to the handicap that it has to overcome. Returns the summary that is chosen. */
static int chosen(int summary, double handicap)
{
    const double middle = 100 * exp(summary == 2 ? -0.02 : 0.02);
    const double near = 100 * exp((summary == 2 ? -0.02 : 0.02) / handicap);
    double even[9], odd[9];
    pfc_clean_series track;
    int got;

    for (size_t i = 0; i < 9; i++) {
        even[i] = 100;
        odd[i] = middle;
    }
    if (summary == 2) /* the mean by one value */
        odd[8] += 9 * (near - middle);
    /* The mean of the five lowest by four of them; the middle and the mean are kept from
     * following. */
    for (size_t i = 0; i < 4 && summary == 3; i++)
        odd[i] += 1.25 * (near - middle);
    for (size_t i = 6; i < 9 && summary == 3; i++)
        odd[i] -= 2.5 * (near - middle);
    if (summary == 4) {
        odd[0] = near;
        odd[8] += middle - near;
    }
    for (size_t i = 0; i < 20; i++)
        points[i] = (pfc_point){ .v = i % 2 ? middle : 100,
                                 .repeats = i % 2 ? odd : even,
                                 .repeats_len = 9 };
    cr_assert(pfc_clean_series_init(&track, points, 0, 20, &(pfc_detect_opts){ 0 }, NULL, &space));
    got = track.summary;
    cr_assert(track.logged && !track.exact && track.last == &points[19]);
    pfc_clean_series_clear(&track);
    return got;
}

Test(limits_series, a_summary_is_chosen_that_is_better_by_more_than_its_handicap)
{
    cr_assert(eq(int, chosen(2, 1.021), 2));
    cr_assert(eq(int, chosen(2, 1.019), 0));
    cr_assert(eq(int, chosen(3, 1.031), 3));
    cr_assert(ne(int, chosen(3, 1.029), 3));
    cr_assert(eq(int, chosen(4, 1.061), 4));
    cr_assert(eq(int, chosen(4, 1.059), 0));
}

/* Nine of ten points carry three repeats: used; eight, or two repeats each, are not. */
Test(limits_series, repeats_are_used_where_nine_of_ten_points_have_three)
{
    static const double x[] = { 1, 2, 4 };

    for (size_t with = 8; with <= 10; with++) {
        for (size_t len = 2; len <= 3; len++) {
            pfc_clean_series track;

            for (size_t i = 0; i < 10; i++)
                points[i] = (pfc_point){ .v = 1 + (double)i,
                                         .repeats = i < with ? x : NULL,
                                         .repeats_len = i < with ? len : 0 };
            cr_assert(pfc_clean_series_init(&track, points, 0, 10, &(pfc_detect_opts){ 0 }, NULL,
                                            &space));
            cr_assert(eq(int, track.summary >= 0, with >= 9 && len == 3));
            cr_assert(eq(int, track.last != NULL, with >= 9 && len == 3));
            pfc_clean_series_clear(&track);
        }
    }
}

static pfc_clean_series track_of(const double *v, size_t n, const pfc_detect_opts *opts)
{
    static const pfc_detect_opts none = { 0 };
    pfc_clean_series track;

    set(v, n);
    cr_assert(pfc_clean_series_init(&track, points, 0, n, opts ? opts : &none, NULL, &space));
    return track;
}

Test(limits_series, logarithms_are_taken_where_all_values_are_above_zero)
{
    const double above[] = { 1, 2, 4, (double)NAN, 1 };
    const double zero[] = { 1, 2, -4, 0, 1 };
    const double none[] = { 0, 0, 0, 0, 0 };
    pfc_clean_series t = track_of(above, 5, NULL);

    cr_assert(t.logged && t.most == 1 && t.n == 4 && t.places == 4);
    cr_assert(t.place[2] == 2 && t.place[3] == 4);
    cr_assert(t.y[1] == log(2) && t.raw[1] == 2);
    pfc_clean_series_clear(&t);
    t = track_of(zero, 5, NULL);
    cr_assert(t.most == 4 && !t.logged && t.y[2] == -1 && t.y[1] == 0.5);
    pfc_clean_series_clear(&t);
    t = track_of(none, 5, NULL);
    cr_assert(t.most == 1 && !t.logged && t.y[0] == 0 && t.exact);
    pfc_clean_series_clear(&t);
}

/* Four of five neighbours alike: without noise; three: not; and five points are too few to say
 * so, unless nothing else is there. */
Test(limits_series, four_of_five_equal_neighbours_are_no_noise)
{
    const double four[] = { 1, 1, 1, 1, 1, 2 };
    const double three[] = { 1, 1, 1, 1, 2, 3 };
    const double few[] = { 1, 1, 1, 1, 2 };
    const double same[] = { 1, 1, 1, 1, 1 };
    pfc_clean_series t = track_of(four, 6, NULL);

    cr_assert(t.exact);
    pfc_clean_series_clear(&t);
    for (size_t equal = 7; equal <= 8; equal++) { /* of ten */
        double v[11] = { 0 };

        for (size_t i = 1; i < 11; i++)
            v[i] = v[i - 1] + (i > equal);
        t = track_of(v, 11, NULL);
        cr_assert(eq(int, t.exact, equal == 8));
        pfc_clean_series_clear(&t);
    }
    t = track_of(three, 6, NULL);
    cr_assert(not(t.exact));
    pfc_clean_series_clear(&t);
    t = track_of(few, 5, NULL);
    cr_assert(not(t.exact));
    pfc_clean_series_clear(&t);
    t = track_of(same, 5, NULL);
    cr_assert(t.exact && t.sigma == 0);
    pfc_clean_series_clear(&t);
    t = track_of(three, 6, &(pfc_detect_opts){ .exact = true });
    cr_assert(t.exact);
    pfc_clean_series_clear(&t);
}

/* sigma = 1.4826 median |difference| / sqrt 2; where most neighbours are equal 0.8862 times the
 * mean difference, each at most three of the least. Of logarithms here: differences 1 2 3 4 0
 * ... */
Test(limits_series, noise_of_neighbours_by_hand)
{
    const double median[] = { 1, exp(1), exp(3), exp(0), exp(4) };
    const double coarse[] = { 1, 1, 1, exp(1), exp(1), exp(1), exp(1), exp(6), exp(6), exp(8) };
    double scratch[4];
    pfc_clean_series t = track_of(median, 5, NULL);

    cr_assert(epsilon_eq(dbl, t.sigma, 1.482602218505602 * 2.5 / M_SQRT2, 1e-9));
    pfc_clean_series_clear(&t);
    t = track_of(coarse, 10, NULL);
    cr_assert(epsilon_eq(dbl, t.sigma, (1 + 3 + 2) / 9.0 * 0.8862, 1e-9));
    pfc_clean_series_clear(&t);
    cr_assert(eq(dbl, pfc_noise_of_steps(median, 1, scratch), 0));
    cr_assert(epsilon_eq(dbl, pfc_noise_of_steps((double[]){ 3, 1 }, 2, scratch),
                         1.482602218505602 * 2 / M_SQRT2, 1e-12));
}

/* log(0.01 / alpha), alpha at most 0.5; 0 is the default. */
Test(limits_series, alpha_is_counted_in_nats_from_one_per_cent)
{
    static const double rows[][2] = { { 0, 0 },      { 0.01, 0 },     { 0.001, 10 }, { 0.5, 0.02 },
                                      { 0.6, 0.02 }, { 0.999, 0.02 }, { 0.4, 0.025 } };
    const double v[] = { 1, 2, 3, 5 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_clean_series t = track_of(v, 4, &(pfc_detect_opts){ .alpha = rows[i][0] });

        cr_assert(epsilon_eq(dbl, t.strict, rows[i][1] > 0 ? log(rows[i][1]) : 0, 1e-12));
        pfc_clean_series_clear(&t);
    }
}

Test(limits_series, options_of_the_detector_out_of_range_are_named)
{
    static const struct {
        pfc_detect_opts opts;
        const char *field;
    } rows[] = {
        { { .min_rel = 0 }, NULL },
        { { .min_rel = 1e9 }, NULL },
        { { .min_rel = -1e-9 }, "min_rel" },
        { { .min_rel = (double)NAN }, "min_rel" },
        { { .min_rel = (double)INFINITY }, "min_rel" },
        { { .alpha = 0.999999 }, NULL },
        { { .alpha = 1 }, "alpha" },
        { { .alpha = -1e-9 }, "alpha" },
        { { .alpha = (double)NAN }, "alpha" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_online online;
        pfc_err err = { 0 };

        cr_assert(eq(int, (int)pfc_detect_check(&rows[i].opts, &err),
                     rows[i].field ? PFC_EINVAL : PFC_OK));
        if (rows[i].field)
            cr_assert(eq(str, (char *)err.field, (char *)rows[i].field));
        cr_assert(eq(int, (int)pfc_online_init(&online, &rows[i].opts, &err),
                     rows[i].field ? PFC_EINVAL : PFC_OK));
    }
}

Test(limits_series, a_series_has_at_most_a_million_points)
{
    pfc_detection d;
    pfc_err err = { 0 };

    cr_assert(
        eq(int, pfc_stats_detect(points, PFC_SERIES_MAX_POINTS + 1, NULL, &d, &err), PFC_ETOOBIG));
    cr_assert(eq(int, pfc_stats_detect(NULL, 1, NULL, &d, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_stats_detect(NULL, 0, NULL, &d, &err), PFC_OK));
    cr_assert(eq(sz, d.changes_len, 0));
    pfc_detection_clear(&d);
    pfc_detection_clear(NULL);
}

/* More than half of the steps in time must be known. */
Test(limits_series, the_step_in_time_is_the_median_of_known_ones)
{
    const double v[] = { 1, 2, 3, 5, 8, 9 };
    double scratch[6];
    pfc_clean_series t = track_of(v, 6, NULL);

    points[5].t = 1000;
    cr_assert(eq(dbl, pfc_clean_series_step_s(&t, scratch), 60));
    points[5].t = points[4].t; /* no time between two points is no step: four of six points */
    cr_assert(eq(dbl, pfc_clean_series_step_s(&t, scratch), 60));
    points[4].t = points[5].t = (double)NAN; /* three steps of six points: not more than half */
    cr_assert(isnan(pfc_clean_series_step_s(&t, scratch)));
    pfc_clean_series_clear(&t);
}

/* ---- noise ---- */

/* Density of t at 0 and its quartile, by gamma functions and by the quantile (dist.c). */
Test(limits_series, known_noise_has_the_density_of_students_t)
{
    static const double freedom[] = { 2, 3, 5, 10, 30 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(freedom); i++) {
        const double v = freedom[i];
        const double density = lgamma((v + 1) / 2) - lgamma(v / 2) - 0.5 * log(v * M_PI);
        const double quartile = pfc_stats_student_cut(0.5, v);
        const pfc_noise noise = pfc_noise_known(v, 1.5);

        cr_assert(
            epsilon_eq(dbl, noise.log_norm, density - log(0.6744897501960817 / quartile), 3e-6));
        cr_assert(noise.sigma == 1 && noise.freedom == v && noise.inflate == 1.5);
    }
}

/* Values at the quantiles of t in a shuffled order: scale, tails, and the share beyond four
 * sigma. */
Test(limits_series, noise_at_the_quantiles_of_students_t_is_recognised)
{
    static const double freedom[] = { 2, 3, 5, 10, 1e9 };

    for (size_t f = 0; f < 5; f++) {
        double z[501], scratch[1002];
        size_t far = 0;
        pfc_noise noise;

        for (size_t i = 0; i < 501; i++) {
            const double u = (double)(i * 211 % 501 + 0.5) / 501;

            z[i] = 2 * (u < 0.5 ? -1 : 1) *
                   (u == 0.5 ? 0 : pfc_stats_student_cut(2 * fmin(u, 1 - u), freedom[f]));
        }
        noise = pfc_noise_of(z, 501, NULL, 0, scratch);
        cr_assert(eq(dbl, noise.freedom, fmin(freedom[f], 30)), "%g", freedom[f]);
        /* sigma: quartiles of the normal are 0.6745 sigma. */
        const double sigma = 2 * pfc_stats_student_cut(0.5, freedom[f]) / 0.6744897501960817;

        cr_assert(epsilon_eq(dbl, noise.sigma / sigma, 1, f == 4 ? 0.02 : 0.01), "%g: %g, %g",
                  freedom[f], noise.sigma, sigma);
        for (size_t i = 0; i < 501; i++)
            far += fabs(z[i]) > 4 * noise.sigma;
        cr_assert(epsilon_eq(dbl, noise.spikes, (double)far / 501, 1e-12));
    }
}

/* Long-run variance of AR(1) from residuals in sigma, cut at 2.5: sum of products over that of
 * squares, plus (1 + 3 rho) levels / pairs; below 2 / sqrt(pairs) it is chance; at most 0.9, and
 * 8 at most. */
static double inflation_by_hand(const double *z, size_t n, const uint32_t *starts, size_t changes,
                                double sigma)
{
    double product = 0, square = 0, pairs = 0, levels = 0, copy[512];

    for (size_t k = 0; k <= changes; k++) {
        const size_t from = k ? starts[k - 1] : 0, to = k < changes ? starts[k] : n;
        const size_t len = to - from;

        if (len < 8)
            continue;
        memcpy(copy, z + from, len * sizeof *z);
        const double median = pfc_stats_median(copy, len);
        const double widen = sqrt((double)len / ((double)len - 1)) / sigma;

        for (size_t i = 0; i < len; i++)
            copy[i] = fmax(-2.5, fmin(2.5, (z[from + i] - median) * widen));
        for (size_t i = 1; i < len; i++) {
            product += copy[i] * copy[i - 1];
            square += (copy[i] * copy[i] + copy[i - 1] * copy[i - 1]) / 2;
        }
        pairs += (double)len - 1;
        levels++;
    }
    if (pairs < 16 || !(square > 0))
        return 1;
    double rho = product / square;

    rho += (1 + 3 * rho) * levels / pairs;
    if (rho < 2 / sqrt(pairs))
        return 1;
    rho = fmin(rho, 0.9);
    return fmin((1 + rho) / (1 - rho), 8);
}

Test(limits_series, correlated_noise_is_inflated_by_the_formula)
{
    static const uint32_t starts[] = { 7, 15, 80 };
    double scratch[2 * 203], z[203];
    size_t inflated = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 12);
    for (int k = 0; k < 60; k++) {
        const size_t n = k % 3 == 0 ? 203 : k % 3 == 1 ? 15 : 40;
        const size_t changes = k % 3 == 0 ? 3 : k % 3 == 1 ? 1 : 2;
        const double phi = k / 60.0;

        for (size_t i = 0; i < n; i++)
            z[i] = (i ? phi * z[i - 1] : 0) + pfc_rng_normal(&rng);
        const pfc_noise noise = pfc_noise_of(z, n, starts, changes, scratch);
        const double want = inflation_by_hand(z, n, starts, changes, noise.sigma);

        cr_assert(epsilon_eq(dbl, noise.inflate, want, 1e-9), "%d: %g, expected %g", k,
                  noise.inflate, want);
        inflated += want > 1;
    }
    cr_assert(inflated > 15 && inflated < 50, "%zu", inflated);
}

/* Fewer than four residuals, or no spread, say nothing. A level of two points has none. */
Test(limits_series, too_few_residuals_leave_the_noise_as_it_was)
{
    static const uint32_t starts[] = { 2, 4 };
    const double z[] = { 1, 5, 2, 9, 3, 7, 4 };
    double scratch[14];

    cr_assert(eq(dbl, pfc_noise_of(z, 6, starts, 2, scratch).sigma, 1));
    cr_assert(eq(dbl, pfc_noise_of(z, 3, NULL, 0, scratch).sigma, 1));
    cr_assert(ne(dbl, pfc_noise_of(z, 4, NULL, 0, scratch).sigma, 1));
    cr_assert(eq(dbl, pfc_noise_of((double[]){ 1, 1, 1, 1, 2 }, 5, NULL, 0, scratch).sigma, 1));
    cr_assert(eq(dbl, pfc_noise_of(z, 6, starts, 2, scratch).log_norm, -0.96862));
}

/* ---- drift ---- */

static void ramp(size_t n, double a_point)
{
    for (size_t i = 0; i < n; i++)
        points[i] = (pfc_point){ .v = 100 * exp(a_point * (double)i) };
}

Test(limits_series, thirty_points_are_the_fewest_that_drift)
{
    pfc_drift d;

    ramp(N, 0.01);
    cr_assert(not(pfc_stats_drift(points, 29, NULL, 0, &d)));
    cr_assert(pfc_stats_drift(points, 30, NULL, 0, &d));
    /* Ten medians of three in a row: 45 signs, z = 44 / sqrt(10 9 25 / 18). */
    cr_assert(epsilon_eq(dbl, d.p, erfc(44 / sqrt(125) * M_SQRT1_2), 1e-15));
    cr_assert(epsilon_eq(dbl, d.rel_change, expm1(0.27), 1e-9));
    points[3].v = (double)NAN;
    cr_assert(not(pfc_stats_drift(points, 30, NULL, 0, &d)));
    cr_assert(pfc_stats_drift(points, 31, NULL, 0, &d));
}

/* A change by all, or one that is no number, is taken out as a difference, not as a ratio. */
Test(limits_series, a_step_that_is_no_ratio_is_taken_out_as_a_difference)
{
    static const double rels[] = { -1, (double)INFINITY, (double)NAN, -0.5 };

    for (size_t k = 0; k < 4; k++) {
        const pfc_change step = { .index = 30, .before = 100, .after = 50, .rel_change = rels[k] };
        pfc_drift d;

        ramp(60, 0);
        for (size_t i = 30; i < 60; i++)
            points[i].v = 50;
        cr_assert(pfc_stats_drift(points, 60, &step, 1, &d));
        cr_assert(epsilon_eq(dbl, d.rel_change, 0, 1e-12));
        cr_assert(epsilon_eq(dbl, d.before, 100, 1e-9));
        if (k < 3) /* rounding of logarithms breaks ties */
            cr_assert(eq(dbl, d.p, 1));
    }
}

/* The ten newest against the ten up to the reference: an 11th point on either side does not
 * count. */
Test(limits_series, a_reference_is_compared_by_ten_points_a_side)
{
    const pfc_change step = { .index = 20, .before = 100, .after = 110, .rel_change = 0.1 };
    double a[10], b[10];
    pfc_interval shift;
    pfc_drift d, again;

    for (size_t i = 0; i < 40; i++)
        points[i] = (pfc_point){ .v = (i < 20 ? 100 : 112) * (1 + 0.001 * (double)(i * 7 % 10)) };
    for (size_t i = 0; i < 10; i++) {
        a[i] = log(points[6 + i].v);
        b[i] = log(points[30 + i].v) - log1p(0.1);
    }
    cr_assert(eq(int, pfc_stats_shift(a, 10, b, 10, 0.95, &shift, NULL), PFC_OK));
    cr_assert(pfc_stats_drift_since(points, 40, &step, 1, 15, &d));
    cr_assert(epsilon_eq(dbl, d.rel_change, expm1(shift.value), 1e-12));
    cr_assert(epsilon_eq(dbl, d.rel_low, expm1(shift.low), 1e-12));
    cr_assert(epsilon_eq(dbl, d.rel_high, expm1(shift.high), 1e-12));
    cr_assert(epsilon_eq(dbl, d.before, exp(pfc_stats_median(a, 10)), 1e-9));
    cr_assert(epsilon_eq(dbl, d.after, exp(pfc_stats_median(a, 10) + shift.value), 1e-9));
    points[5].v = 1000;
    points[29].v = 1;
    cr_assert(pfc_stats_drift_since(points, 40, &step, 1, 15, &again));
    cr_assert(again.rel_low == d.rel_low && again.rel_high == d.rel_high);
    points[6].v = 1000;
    cr_assert(pfc_stats_drift_since(points, 40, &step, 1, 15, &again));
    cr_assert(again.rel_low != d.rel_low || again.rel_high != d.rel_high);
    /* Five a side are the fewest. */
    cr_assert(pfc_stats_drift_since(points, 10, NULL, 0, 4, &d));
    cr_assert(not(pfc_stats_drift_since(points, 10, NULL, 0, 3, &d)));
    cr_assert(not(pfc_stats_drift_since(points, 10, NULL, 0, 5, &d)));
    for (size_t i = 0; i < 40; i++)
        points[i].v = i < 20 ? 0 : 1;
    cr_assert(not(pfc_stats_drift_since(points, 40, NULL, 0, 15, &d)), "a level of 0");
}

/* ---- watched points ---- */

/* An excursion counts from half of the watched points' distance on; backed by three quarters of
 * five repeats. */
Test(limits_series, excursions_count_from_half_the_distance_on)
{
    const pfc_detection one = { .watching = 1 };
    const double old[] = { 100, 100, 100, 100, 100, 110, 110, 110 };
    const double most[] = { 110, 110, 110, 110, 110, 110, 100, 100 };

    for (size_t i = 0; i < N; i++)
        points[i] = (pfc_point){ .v = i == N - 1 ? 110 : 100 };
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 1, 1e-12));
    points[20].v = 105;
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 0.5 / 1.5, 1e-12));
    points[20].v = 104.9999;
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 1, 1e-12));
    /* Four repeats say nothing; of five four must be off, of eight six. */
    points[N - 1].repeats = old;
    points[N - 1].repeats_len = 4;
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 1, 1e-12));
    points[N - 1].repeats_len = 5;
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 0.5, 1e-12));
    points[N - 1].repeats = most;
    points[N - 1].repeats_len = 8;
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 1, 1e-12));
    points[N - 1].repeats = most + 1;
    points[N - 1].repeats_len = 7; /* five of seven */
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 0.5, 1e-12));
    /* A repeat exactly half-way is off. */
    points[N - 1].repeats = (const double[]){ 105, 105, 105, 105, 100 };
    points[N - 1].repeats_len = 5;
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N, &one), 1, 1e-12));
    /* All points watched: no level to compare with. */
    cr_assert(isnan(pfc_stats_change_or_spike(points, N, &(pfc_detection){ .watching = N + 5 })));
}
