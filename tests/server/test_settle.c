/* Long histories judged piece by piece, and what a series can show. */
#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/changepoint/changepoint.h"
#include "core/changepoint/fdr.h"
#include "core/changepoint/power.h"
#include "server/services/detect/detect.h"

#include "tests/check/check.h"

#define POINTS 2900

static pfc_point points[POINTS];
static pfc_point_meta meta[POINTS];

/* Steps at a few places, some soon after one another; every third commit is measured twice. */
static void make_history(uint64_t seed)
{
    static const size_t steps[] = { 90, 300, 760, 1020, 1500, 1530, 2100, 2820 };
    double level = 100;
    int64_t position = 0;
    size_t next = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < POINTS; i++) {
        if (i % 4 != 3)
            position++;
        if (next < PFC_ARRAY_LEN(steps) && i == steps[next])
            level *= next++ % 3 == 1 ? 0.9 : 1.06;
        points[i] =
            (pfc_point){ .t = 3600.0 * (double)i, .v = level * (1 + 0.01 * pfc_rng_normal(&rng)) };
        meta[i] = (pfc_point_meta){ .commit_id = position, .position = position };
    }
}

/* The places that the service would have stored, confirmed ones first. */
typedef struct answer {
    size_t at[200];
    size_t len, settled;
} answer;

/* One judging of the first n points, from where `settled` stands. */
static void judge(size_t n, pfc_settled *settled, answer *a)
{
    const size_t base = (size_t)settled->anchor_points;
    const pfc_history h = { .points = points + base, .meta = meta + base, .len = n - base };
    const pfc_detect_opts opts = { 0 };
    pfc_steady_replay replay = { 0 };
    size_t judged = 0;
    pfc_detection found = { 0 };
    pfc_err err = { 0 };

    cr_assert(
        eq(int, pfc_history_detect(&h, &opts, settled, &replay, &judged, &found, &err), PFC_OK),
        "%s", err.msg);
    a->len = a->settled;
    for (size_t i = 0; i < found.changes_len; i++) {
        const size_t at = base + found.changes[i].index;

        cr_assert(lt(sz, a->len, PFC_ARRAY_LEN(a->at)));
        a->at[a->len++] = at;
        if (at < (size_t)settled->points)
            a->settled = a->len;
    }
    pfc_steady_replay_clear(&replay);
    pfc_detection_clear(&found);
}

Test(settle, points_in_any_portions_give_the_answer_of_the_whole)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        pfc_settled whole_at = { 0 }, at = { 0 };
        answer whole = { 0 }, parts = { 0 };
        pfc_rng rng;

        make_history(seed);
        judge(POINTS, &whole_at, &whole);
        cr_assert(gt(i64, whole_at.points, 1500));
        cr_assert(ge(sz, whole.len, 7));
        pfc_rng_seed(&rng, seed + 10);
        for (size_t n = 1; n < POINTS;) {
            judge(n, &at, &parts);
            n += 1 + pfc_rng_below(&rng, 400);
        }
        judge(POINTS, &at, &parts);
        cr_assert(eq(i64, at.points, whole_at.points));
        cr_assert(eq(i64, at.anchor_points, whole_at.anchor_points));
        cr_assert(eq(i64, at.position, whole_at.position));
        cr_assert(eq(sz, parts.len, whole.len));
        for (size_t i = 0; i < whole.len; i++)
            cr_assert(eq(sz, parts.at[i], whole.at[i]));
    }
}

/* The cost of a new point: only the last stretch is read, whatever the length of the series. */
Test(settle, detection_starts_near_the_end_and_never_within_a_commit)
{
    pfc_settled at = { 0 };
    answer a = { 0 };

    make_history(5);
    judge(1023, &at, &a);
    cr_assert(eq(i64, at.points, 0));
    judge(POINTS, &at, &a);
    cr_assert(le(i64, POINTS - at.anchor_points, 256 + 256 + 768 + 256));
    cr_assert(ne(i64, meta[at.anchor_points].position, meta[at.anchor_points - 1].position));
    cr_assert(eq(i64, meta[at.anchor_points].position, at.anchor));
}

/* The promise of pfc_detectable, counted: steps of that size, five points after them. */
Test(power, steps_of_the_detectable_size_mostly_open_an_alert_within_five_points)
{
    const size_t before = 80, after = 5, trials = 60;
    const double noise = 0.01, step = pfc_detectable(noise, before, before, after, 0);
    size_t hits = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 3);
    for (size_t trial = 0; trial < trials; trial++) {
        pfc_detection found = { 0 };

        for (size_t i = 0; i < before + after; i++)
            points[i] = (pfc_point){ .t = 3600.0 * (double)i,
                                     .v = (i < before ? 100 : 100 * (1 + step)) *
                                          (1 + noise * pfc_rng_normal(&rng)) };
        cr_assert(eq(int, pfc_stats_detect(points, before + after, NULL, &found, NULL), PFC_OK));
        if (found.changes_len) {
            const pfc_change *c = &found.changes[found.changes_len - 1];

            hits += pfc_alert_justified(c, before + after);
        }
        pfc_detection_clear(&found);
    }
    cr_assert(ge(sz, hits, trials / 2), "%zu of %zu", hits, trials);
}

Test(power, points_needed_and_size_shown_are_each_others_inverse)
{
    const size_t n = pfc_points_for(0.004, 100, 100, 0.02);

    cr_assert(le(dbl, pfc_detectable(0.004, 100, 100, n, 0), 0.02));
    cr_assert(gt(dbl, pfc_detectable(0.004, 100, 100, n - 1, 0), 0.02));
    /* a hundred points before are too few */
    cr_assert(eq(sz, pfc_points_for(0.05, 100, 100, 0.01), PFC_POINTS_MOST));
    cr_assert(eq(sz, pfc_points_for(0, 1, 1, 0.01), 1));
    cr_assert(eq(sz, pfc_points_for((double)NAN, 10, 10, 0.01), 0));
    cr_assert(isnan(pfc_detectable((double)NAN, 10, 10, 5, 0)));
    cr_assert(epsilon_eq(dbl, pfc_detectable(0.001, 100, 100, 5, 0.1), 0.1, 0));
}

/* The noise is known from the whole history, however short the newest level. */
Test(power, a_short_history_and_a_young_level_have_finite_answers)
{
    const size_t n = pfc_points_for(0.0019, 12, 12, 0.01);

    cr_assert(gt(sz, n, 1));
    cr_assert(lt(sz, n, PFC_POINTS_MOST), "%zu", n);
    cr_assert(lt(dbl, pfc_detectable(0.01, 200, 5, 5, 0), 0.07));
    cr_assert(gt(dbl, pfc_detectable(0.01, 5, 5, 5, 0), 0.2));
}
