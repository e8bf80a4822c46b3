/* The detector on series whose answer is known: steps, exact metrics, odd input. */
#include <float.h>
#include <stdlib.h>

#include "core/changepoint/changepoint.h"

#include "tests/core/stats/series.h"

Test(detect, finds_a_step_at_its_place)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 1);
    series_step(&s, &rng, 120, 0.01, 70, 0.06);
    pfc_detection d = series_detect(&s, NULL);
    cr_assert(eq(sz, d.changes_len, 1));
    const pfc_change *c = &d.changes[0];
    cr_assert(eq(sz, c->index, 70));
    cr_assert(c->index_low <= 70 && c->index_high >= 70 && c->index_high - c->index_low <= 3);
    cr_assert(epsilon_eq(dbl, c->rel_change, 0.06, 0.01));
    cr_assert(c->rel_low < 0.06 && 0.06 < c->rel_high, "%g..%g", c->rel_low, c->rel_high);
    cr_assert(epsilon_eq(dbl, c->before, 100.0, 1.0));
    cr_assert(epsilon_eq(dbl, c->after, 106.0, 1.0));
    cr_assert(c->regression && c->confirmed && c->p < 1e-6);
    cr_assert(epsilon_eq(dbl, d.noise_rel, 0.01, 0.003));
    pfc_detection_clear(&d);
}

Test(detect, direction_says_what_a_regression_is)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 1);
    series_step(&s, &rng, 120, 0.01, 70, 0.06);
    const pfc_detect_opts higher = { .higher_is_better = true };
    pfc_detection d = series_detect(&s, &higher);
    cr_assert(eq(sz, d.changes_len, 1));
    cr_assert(not(d.changes[0].regression));
    pfc_detection_clear(&d);
}

Test(detect, a_floor_hides_small_changes)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 1);
    series_step(&s, &rng, 120, 0.001, 70, 0.02);
    const pfc_detect_opts floor_rel = { .min_rel = 0.05 };
    cr_assert(eq(sz, series_alarms(&s), 1));
    pfc_detection d = series_detect(&s, &floor_rel);
    cr_assert(eq(sz, d.changes_len, 0));
    pfc_detection_clear(&d);
}

/* Without a floor given: half a percent, or the noise of one point where that is less. */
Test(detect, the_floor_follows_the_noise)
{
    const double rel[] = { 0.003, 0.0003, 0.003 };
    const double noise[] = { 0.004, 0.0001, 0.001 };
    const size_t want[] = { 0, 0, 1 };
    for (size_t k = 0; k < 3; k++) {
        series s;
        pfc_rng rng;
        pfc_rng_seed(&rng, 21);
        series_step(&s, &rng, 600, noise[k], 300, k == 1 ? 0.00008 : rel[k]);
        const pfc_detect_opts none = { .min_rel = 1e-9 };
        pfc_detection d = series_detect(&s, &none);
        cr_assert(eq(sz, d.changes_len, 1), "series %zu", k);
        cr_assert(eq(dbl, d.changes[0].p, fmax(d.changes[0].p, PFC_P_MIN)));
        pfc_detection_clear(&d);
        cr_assert(eq(sz, series_alarms(&s), want[k]), "series %zu", k);
    }
}

/* The smaller the wanted rate of mistakes, the fewer changes are believed. */
Test(detect, alpha_moves_the_threshold)
{
    size_t found[3] = { 0 };
    const double alpha[] = { 1e-9, 0.0, 0.4 };
    for (size_t k = 0; k < 3; k++) {
        pfc_rng rng;
        pfc_rng_seed(&rng, 22);
        for (int round = 0; round < 40; round++) {
            series s;
            series_step(&s, &rng, 80, 0.01, 60, 0.012);
            const pfc_detect_opts opts = { .alpha = alpha[k] };
            pfc_detection d = series_detect(&s, &opts);
            found[k] += d.changes_len > 0;
            pfc_detection_clear(&d);
        }
    }
    cr_assert(lt(sz, found[0], found[1]));
    cr_assert(lt(sz, found[1], found[2]));
}

Test(detect, watching_counts_the_points_that_may_be_a_new_level)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 10);
    series_step(&s, &rng, 63, 0.01, 60, 0.08);
    for (size_t n = 60; n <= 63; n++) {
        s.n = n;
        pfc_detection d = series_detect(&s, NULL);
        cr_assert(eq(sz, d.watching, n - 60));
        pfc_detection_clear(&d);
    }
    series_step(&s, &rng, 120, 0.01, 60, 0.08);
    pfc_detection d = series_detect(&s, NULL);
    cr_assert(d.changes[0].confirmed);
    cr_assert(eq(sz, d.watching, 0));
    pfc_detection_clear(&d);
    /* without noise the value itself tells */
    for (size_t i = 0; i < 30; i++)
        s.points[i].v = i == 29 ? 101.0 : 100.0;
    s.n = 30;
    d = series_detect(&s, NULL);
    cr_assert(eq(sz, d.changes_len, 0));
    cr_assert(eq(sz, d.watching, 1));
    pfc_detection_clear(&d);
}

Test(detect, a_staircase_has_a_change_a_stair)
{
    series s = { .n = 0 };
    pfc_rng rng;
    pfc_rng_seed(&rng, 4);
    for (size_t i = 0; i < 160; i++)
        series_put(&s, i, (100.0 + 5.0 * (double)(i / 40 % 2)) * exp(0.008 * pfc_rng_normal(&rng)));
    pfc_detection d = series_detect(&s, NULL);
    cr_assert(eq(sz, d.changes_len, 3));
    for (size_t k = 0; k < 3; k++)
        cr_assert(labs((long)d.changes[k].index - 40 * (long)(k + 1)) <= 1);
    pfc_detection_clear(&d);
}

/* Eight sigma seen again and again: from the third new point on it must be there, provisional. */
Test(detect, a_large_step_is_seen_within_three_points)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 10);
    for (int round = 0; round < 20; round++) {
        series_step(&s, &rng, 63, 0.01, 60, 0.08);
        pfc_detection d = series_detect(&s, NULL);
        cr_assert(eq(sz, d.changes_len, 1), "round %d", round);
        cr_assert(eq(sz, d.changes[0].index, 60));
        cr_assert(not(d.changes[0].confirmed));
        pfc_detection_clear(&d);
    }
}

Test(detect, repeats_tell_a_new_level_from_a_spike_at_once)
{
    static double repeats[61][5];
    pfc_rng rng;
    pfc_rng_seed(&rng, 2);
    for (int bad = 0; bad < 2; bad++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 61; i++) {
            for (size_t k = 0; k < 5; k++) {
                bool moved = i == 60 && (bad ? k < 2 : true);
                repeats[i][k] = 100.0 * exp(0.01 * pfc_rng_normal(&rng)) * (moved ? 1.1 : 1.0);
            }
            series_put(&s, i, pfc_stats_median(repeats[i], 5));
            s.points[i].repeats = repeats[i];
            s.points[i].repeats_len = 5;
        }
        cr_assert(eq(sz, series_alarms(&s), bad ? 0 : 1), "bad %d", bad);
    }
}

Test(detect, missing_points_keep_their_places)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 3);
    series_step(&s, &rng, 100, 0.01, 60, 0.1);
    for (size_t i = 0; i < 100; i += 7)
        s.points[i].v = i % 2 ? NAN : INFINITY;
    pfc_detection d = series_detect(&s, NULL);
    cr_assert(eq(sz, d.changes_len, 1));
    cr_assert(eq(sz, d.changes[0].index, 60));
    pfc_detection_clear(&d);
}

Test(detect, tiny_and_empty_series_have_no_changes)
{
    series s = { .n = 0 };
    for (size_t n = 0; n < 5; n++) {
        cr_assert(eq(sz, series_alarms(&s), 0));
        series_put(&s, n, 100.0 + (double)(n % 2));
    }
}

Test(detect, constant_series_have_no_changes)
{
    const double values[] = { 0.0, 1.0, -5.0, DBL_MAX, 4.9e-324 };
    for (size_t k = 0; k < 5; k++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 50; i++)
            series_put(&s, i, values[k]);
        cr_assert(eq(sz, series_alarms(&s), 0), "value %g", values[k]);
    }
}

Test(detect, without_noise_every_lasting_difference_counts)
{
    series s = { .n = 0 };
    for (size_t i = 0; i < 30; i++)
        series_put(&s, i, i == 7 ? 999999.0 : i < 20 ? 1000000.0 : 1000001.0);
    pfc_detection d = series_detect(&s, NULL);
    cr_assert(eq(sz, d.changes_len, 1));
    cr_assert(eq(sz, d.changes[0].index, 20));
    cr_assert(epsilon_eq(dbl, d.changes[0].rel_change, 1e-6, 1e-12));
    cr_assert(eq(dbl, d.changes[0].before, 1000000.0));
    pfc_detection_clear(&d);
}

/* A metric declared exact: each commit's own value is a level, a value that returns is none. */
Test(detect, declared_exact_needs_one_point)
{
    const double v[] = { 10, 10, 10, 12, 10, 10, 11, 13, 13, 14 };
    const size_t want[] = { 6, 7, 9 };
    const pfc_detect_opts exact = { .exact = true };
    series s = { .n = 0 };
    for (size_t i = 0; i < 10; i++)
        series_put(&s, i, v[i]);
    pfc_detection d = series_detect(&s, &exact);
    cr_assert(eq(sz, d.changes_len, 3));
    for (size_t k = 0; k < 3; k++)
        cr_assert(eq(sz, d.changes[k].index, want[k]));
    cr_assert(not(d.changes[2].confirmed));
    pfc_detection_clear(&d);
}

Test(detect, same_points_same_answer)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 12);
    series_step(&s, &rng, 300, 0.02, 150, 0.05);
    pfc_detection a = series_detect(&s, NULL);
    pfc_detection b = series_detect(&s, NULL);
    cr_assert(eq(sz, a.changes_len, b.changes_len));
    for (size_t k = 0; k < a.changes_len; k++)
        cr_assert(eq(int, memcmp(&a.changes[k], &b.changes[k], sizeof a.changes[k]), 0));
    pfc_detection_clear(&a);
    pfc_detection_clear(&b);
}

/* Points that arrive in any order and are put in series order give the one answer. */
Test(detect, arrival_order_does_not_matter)
{
    series s;
    pfc_rng rng;
    pfc_rng_seed(&rng, 13);
    series_step(&s, &rng, 90, 0.01, 50, 0.05);
    pfc_detection want = series_detect(&s, NULL);
    cr_assert(eq(sz, want.changes_len, 1));
    for (int round = 0; round < 1000; round++) {
        size_t order[90];
        series arrived = { .n = 0 };
        for (size_t i = 0; i < 90; i++)
            order[i] = i;
        pfc_rng_shuffle(&rng, order, 90);
        for (size_t i = 0; i < 90; i++)
            arrived.points[i] = s.points[order[i]];
        arrived.n = 90;
        size_t sorted[90];
        pfc_stats_series_order(arrived.points, 90, sorted);
        series again = { .n = 90 };
        for (size_t i = 0; i < 90; i++)
            again.points[i] = arrived.points[sorted[i]];
        pfc_detection got = series_detect(&again, NULL);
        cr_assert(eq(sz, got.changes_len, 1));
        cr_assert(eq(int, memcmp(got.changes, want.changes, sizeof *got.changes), 0));
        pfc_detection_clear(&got);
    }
    pfc_detection_clear(&want);
}

Test(detect, scaling_the_values_scales_the_levels_only)
{
    series s;
    series scaled = { .n = 0 };
    pfc_rng rng;
    pfc_rng_seed(&rng, 14);
    series_step(&s, &rng, 120, 0.01, 60, 0.05);
    for (size_t i = 0; i < s.n; i++)
        series_put(&scaled, i, s.points[i].v * 1024.0);
    pfc_detection a = series_detect(&s, NULL);
    pfc_detection b = series_detect(&scaled, NULL);
    cr_assert(eq(sz, a.changes_len, 1));
    cr_assert(eq(sz, b.changes_len, 1));
    cr_assert(eq(sz, a.changes[0].index, b.changes[0].index));
    cr_assert(epsilon_eq(dbl, b.changes[0].after / a.changes[0].after, 1024.0, 1e-6));
    pfc_detection_clear(&a);
    pfc_detection_clear(&b);
}

Test(detect, negative_values_have_changes_too)
{
    series s = { .n = 0 };
    pfc_rng rng;
    pfc_rng_seed(&rng, 15);
    for (size_t i = 0; i < 100; i++)
        series_put(&s, i, (i < 50 ? -10.0 : 10.0) + pfc_rng_normal(&rng));
    pfc_detection d = series_detect(&s, NULL);
    cr_assert(eq(sz, d.changes_len, 1));
    cr_assert(eq(sz, d.changes[0].index, 50));
    cr_assert(epsilon_eq(dbl, d.changes[0].rel_change, 2.0, 0.2));
    pfc_detection_clear(&d);
}

Test(detect, wild_values_are_survived)
{
    const double wild[] = { 0.0, -0.0, 4.9e-324, DBL_MAX, -DBL_MAX, NAN, INFINITY, 1.0, -1e-300 };
    pfc_rng rng;
    pfc_rng_seed(&rng, 16);
    for (int round = 0; round < 100; round++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 60; i++)
            series_put(&s, i, wild[pfc_rng_below(&rng, PFC_ARRAY_LEN(wild))]);
        pfc_detection d = series_detect(&s, NULL);
        for (size_t k = 0; k < d.changes_len; k++)
            cr_assert(d.changes[k].index < s.n && d.changes[k].index_low <= d.changes[k].index &&
                      d.changes[k].index <= d.changes[k].index_high);
        pfc_detection_clear(&d);
    }
}

Test(detect, bad_options_are_named)
{
    const pfc_point p = { .v = 1.0 };
    const pfc_detect_opts floor_rel = { .min_rel = -1.0 };
    const pfc_detect_opts alpha = { .alpha = 1.5 };
    pfc_detection out;
    pfc_err err = { 0 };
    cr_assert(eq(int, pfc_stats_detect(&p, 1, &floor_rel, &out, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "min_rel: expected at least 0, got -1"));
    cr_assert(eq(int, pfc_stats_detect(&p, 1, &alpha, &out, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "alpha"));
    cr_assert(
        eq(int, pfc_stats_detect(&p, PFC_SERIES_MAX_POINTS + 1, NULL, &out, &err), PFC_ETOOBIG));
    cr_assert(eq(int, pfc_stats_detect(NULL, 3, NULL, &out, &err), PFC_EINVAL));
}
