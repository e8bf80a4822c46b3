/* Which points of a series need its history, and that the others need only the stored state. */
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/online/steady.h"

#include "tests/core/stats/series.h"

#define HOUR 3600.0

/* Noise with steps, spikes and a stretch of another speed; some points are missing. */
static void make(series *s, uint64_t seed, size_t n, double spacing)
{
    pfc_rng rng;
    double level = 100.0;

    pfc_rng_seed(&rng, seed);
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        double v = 0.01 * pfc_rng_normal(&rng);

        if (i > 0 && seed % 3 != 0 && pfc_rng_below(&rng, 150) == 0)
            level *= pfc_rng_below(&rng, 2) ? 1.04 : 0.96;
        if (seed % 4 == 1 && pfc_rng_below(&rng, 40) == 0)
            v += 0.1;
        series_put(s, i, level * exp(v));
        s->points[i].t = spacing * (double)i;
        if (seed % 4 == 2 && pfc_rng_below(&rng, 50) == 0)
            s->points[i].v = NAN;
    }
}

typedef struct walked {
    uint8_t state[PFC_STEADY_BYTES];
    size_t len;
    size_t due;
} walked;

static walked take_all(const series *s, pfc_steady *steady, bool *due)
{
    walked w = { 0 };
    pfc_segment_space space = { 0 };
    pfc_confirmed_changes settled;

    cr_assert(eq(int, pfc_steady_init(steady, 0, NULL, NULL), PFC_OK));
    for (size_t i = 0; i < s->n; i++) {
        due[i] = pfc_steady_append(steady, s->points, &space, &settled);
        w.due += due[i];
    }
    w.len = pfc_steady_save(steady, w.state);
    pfc_segment_space_clear(&space);
    return w;
}

Test(steady, a_point_that_is_not_due_needs_the_state_alone)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        static bool due[600];
        series s;
        pfc_steady whole, parts;
        pfc_segment_space space = { 0 };
        uint8_t bytes[PFC_STEADY_BYTES];

        make(&s, seed, 600, HOUR);
        walked w = take_all(&s, &whole, due);
        cr_assert(eq(int, pfc_steady_init(&parts, 0, NULL, NULL), PFC_OK));
        for (size_t i = 0; i < s.n; i++) {
            const size_t len = pfc_steady_save(&parts, bytes);
            pfc_steady from_bytes;
            pfc_confirmed_changes settled;

            cr_assert(eq(int, pfc_steady_load(&from_bytes, bytes, len, NULL), PFC_OK));
            if (pfc_steady_pass(&from_bytes, &s.points[i])) {
                cr_assert(not(due[i]), "series %zu, point %zu", (size_t)seed, i);
                parts = from_bytes;
                continue;
            }
            cr_assert(due[i], "series %zu, point %zu", (size_t)seed, i);
            cr_assert(eq(sz, pfc_steady_save(&from_bytes, w.state), len));
            cr_assert(eq(int, memcmp(w.state, bytes, len), 0)); /* it was left as it was */
            (void)pfc_steady_append(&parts, s.points, &space, &settled);
        }
        w.len = pfc_steady_save(&whole, w.state);
        cr_assert(eq(sz, pfc_steady_save(&parts, bytes), w.len));
        cr_assert(eq(int, memcmp(bytes, w.state, w.len), 0));
        pfc_segment_space_clear(&space);
    }
}

/* Quiet noise at an hour a point: a few of a hundred are due, each of the first is, and none is
 * older than the limits say. */
Test(steady, few_points_of_a_quiet_series_are_due)
{
    static bool due[SERIES_MAX];
    size_t last = 0, n = 0;
    series s;
    pfc_steady steady;

    make(&s, 3, SERIES_MAX, HOUR);
    (void)take_all(&s, &steady, due);
    for (size_t i = 0; i < s.n; i++) {
        cr_assert(due[i] || i >= PFC_STEADY_FIRST, "%zu", i);
        cr_assert(due[i] || (i + 1) % PFC_STEADY_STRIDE != 0, "%zu", i);
        cr_assert(le(sz, i - last, 128 * 96 / (128 + 96) + 1), "%zu", i);
        if (!due[i])
            continue;
        last = i;
        n += i >= PFC_STEADY_FIRST;
    }
    cr_assert(le(sz, n, (s.n - PFC_STEADY_FIRST) / 8), "%zu", n);
}

Test(steady, results_grow_old_by_points_and_by_time)
{
    static bool due[300];
    const struct {
        double spacing;
        /* points between two that are due: 1 / (1 / 128 + spacing / 4 days), unless a look comes
         * before */
        size_t least, most;
    } cases[] = { { 1.0, 65, 128 }, { HOUR, 55, 55 }, { 24 * HOUR, 4, 4 }, { 96 * HOUR, 1, 1 } };

    for (size_t k = 0; k < PFC_ARRAY_LEN(cases); k++) {
        size_t last = 0, longest = 0;
        series s;
        pfc_steady steady;

        make(&s, 3, 300, cases[k].spacing);
        for (size_t i = 0; i < s.n; i++) /* no noise that stirs: each point near its level */
            s.points[i].v = 100.0 + (i % 2 ? 0.3 : -0.3) + (i % 5 ? 0.1 : -0.4);
        (void)take_all(&s, &steady, due);
        for (size_t i = PFC_STEADY_FIRST; i < s.n; i++) {
            longest = due[i] && last ? PFC_MAX(longest, i - last) : longest;
            last = due[i] ? i : last;
        }
        cr_assert(ge(sz, longest, cases[k].least), "spacing %g", cases[k].spacing);
        cr_assert(le(sz, longest, cases[k].most), "spacing %g", cases[k].spacing);
    }
}

/* One point off the level is due, and so are the two after it. */
Test(steady, a_point_off_its_level_is_due_and_the_next_ones_too)
{
    series s;
    pfc_steady quiet, steady;
    static bool due[200];

    for (int side = -1; side <= 1; side += 2) {
        size_t at;

        make(&s, 3, 200, 1.0);
        (void)take_all(&s, &quiet, due);
        for (at = 150; due[at] || due[at + 1] || due[at + 2] || due[at + 3];)
            at++;
        s.points[at].v = 100.0 * exp(0.01 * 3.4 * side);
        (void)take_all(&s, &steady, due);
        cr_assert(due[at] && due[at + 1] && due[at + 2] && !due[at + 3], "%d", side);
    }
}

/* A level that is 1.5 sigma off: none of its points is off alone, several together are. */
Test(steady, several_points_off_together_are_due)
{
    series s;
    pfc_steady steady;
    static bool due[200];

    for (int side = -1; side <= 1; side += 2) {
        size_t found = 0;

        make(&s, 3, 200, 1.0);
        for (size_t i = 0; i < s.n; i++)
            s.points[i].v = 100.0 * exp(0.01 * (i % 2 ? 1.0 : -1.0));
        for (size_t i = 150; i < 170; i++)
            s.points[i].v = 100.0 * exp(0.01 * 1.5 * side);
        (void)take_all(&s, &steady, due);
        while (found < 20 && !due[150 + found])
            found++;
        cr_assert(gt(sz, found, 2), "%zu", found);
        cr_assert(lt(sz, found, 9), "%zu", found);
    }
}

Test(steady, an_exact_series_is_due_where_its_value_changes)
{
    const pfc_detect_opts opts = { .exact = true };
    pfc_segment_space space = { 0 };
    pfc_confirmed_changes settled;
    series s;
    pfc_steady steady;
    size_t due = 0;

    make(&s, 3, 200, 1.0);
    for (size_t i = 0; i < s.n; i++)
        s.points[i].v = i < 150 ? 4096.0 : 4097.0;
    cr_assert(eq(int, pfc_steady_init(&steady, 0, &opts, NULL), PFC_OK));
    for (size_t i = 0; i < s.n; i++) {
        const bool now = pfc_steady_append(&steady, s.points, &space, &settled);

        cr_assert(now || i != 150);
        due += now && i >= PFC_STEADY_FIRST && i < 150;
    }
    cr_assert(lt(sz, due, 40));
    pfc_segment_space_clear(&space);
}

Test(steady, the_result_is_that_of_the_points_up_to_the_newest_that_is_due)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        static bool due[500];
        series s;
        pfc_steady_replay replay = { 0 };
        pfc_steady walked_through;
        pfc_detection found = { 0 }, same = { 0 };
        const pfc_detect_opts opts = { 0 };
        size_t judged = 0, newest = 0;

        make(&s, seed, 500 - 7 * seed, HOUR);
        (void)take_all(&s, &walked_through, due);
        for (size_t i = 0; i < s.n; i++)
            newest = due[i] ? i + 1 : newest;
        cr_assert(eq(int,
                     pfc_steady_detect(s.points, s.n, 0, &opts, &replay, &judged, &found, NULL),
                     PFC_OK));
        cr_assert(eq(sz, judged, newest));
        cr_assert(eq(int, pfc_stats_detect(s.points, judged, &opts, &same, NULL), PFC_OK));
        cr_assert(eq(sz, found.changes_len, same.changes_len));
        for (size_t k = 0; k < same.changes_len; k++) {
            cr_assert(eq(sz, found.changes[k].index, same.changes[k].index));
            cr_assert(eq(dbl, found.changes[k].rel_change, same.changes[k].rel_change));
            cr_assert(found.changes[k].confirmed == same.changes[k].confirmed);
        }
        cr_assert(eq(dbl, found.noise_rel, same.noise_rel));
        cr_assert(eq(sz, found.watching, same.watching));
        pfc_steady_replay_clear(&replay);
        pfc_detection_clear(&found);
        pfc_detection_clear(&same);
    }
}

static void expect_same(const pfc_detection *got, const pfc_detection *expected)
{
    cr_assert(eq(sz, got->changes_len, expected->changes_len));
    for (size_t k = 0; k < expected->changes_len; k++) {
        const pfc_change *a = &got->changes[k], *b = &expected->changes[k];

        cr_assert(a->index == b->index && a->index_low == b->index_low &&
                  a->index_high == b->index_high && a->confirmed == b->confirmed &&
                  a->regression == b->regression);
        cr_assert(eq(int, memcmp(&a->before, &b->before, 6 * sizeof(double)), 0), "change %zu", k);
    }
    cr_assert(eq(int, memcmp(&got->noise_rel, &expected->noise_rel, sizeof(double)), 0));
    cr_assert(eq(sz, got->watching, expected->watching));
}

/* In portions of random lengths, some of which have no point that is due, against one call. */
Test(steady, a_replay_that_continues_gives_the_result_of_one_that_begins_again)
{
    size_t changes = 0;

    for (uint64_t seed = 1; seed <= 12; seed++) {
        const pfc_detect_opts opts = { 0 };
        pfc_steady_replay parts = { 0 };
        pfc_rng rng;
        series s;

        pfc_rng_seed(&rng, seed);
        make(&s, seed, 500, HOUR);
        for (size_t n = 1; n <= s.n; n += 1 + (size_t)pfc_rng_below(&rng, seed % 2 ? 3 : 40)) {
            uint8_t bytes[PFC_STEADY_BYTES], same_bytes[PFC_STEADY_BYTES];
            pfc_steady_replay whole = { 0 };
            pfc_detection found = { 0 }, same = { 0 };
            size_t judged = 0, same_judged = 0;

            cr_assert(eq(int,
                         pfc_steady_detect(s.points, n, 0, &opts, &parts, &judged, &found, NULL),
                         PFC_OK));
            cr_assert(
                eq(int, pfc_steady_detect(s.points, n, 0, &opts, &whole, &same_judged, &same, NULL),
                   PFC_OK));
            cr_assert(eq(sz, judged, same_judged), "seed %zu, %zu points", (size_t)seed, n);
            expect_same(&found, &same);
            const size_t len = pfc_steady_save(&parts.steady, bytes);
            cr_assert(eq(sz, pfc_steady_save(&whole.steady, same_bytes), len));
            cr_assert(eq(int, memcmp(bytes, same_bytes, len), 0));
            changes += found.changes_len;
            pfc_steady_replay_clear(&whole);
            pfc_detection_clear(&found);
            pfc_detection_clear(&same);
        }
        pfc_steady_replay_clear(&parts);
    }
    cr_assert(gt(sz, changes, 500));
}

/* With other options, or as number `base` of another start, the points are all taken again. */
Test(steady, a_replay_of_other_options_is_not_continued)
{
    const pfc_detect_opts one = { 0 }, other = { .higher_is_better = true };
    pfc_steady_replay replay = { 0 }, whole = { 0 };
    pfc_detection found = { 0 }, same = { 0 };
    size_t judged = 0;
    series s;

    make(&s, 3, 400, HOUR);
    cr_assert(
        eq(int, pfc_steady_detect(s.points, 200, 0, &one, &replay, &judged, &found, NULL), PFC_OK));
    pfc_detection_clear(&found);
    cr_assert(eq(int, pfc_steady_detect(s.points, 400, 0, &other, &replay, &judged, &found, NULL),
                 PFC_OK));
    cr_assert(
        eq(int, pfc_steady_detect(s.points, 400, 0, &other, &whole, &judged, &same, NULL), PFC_OK));
    expect_same(&found, &same);
    cr_assert(replay.steady.online.opts.higher_is_better);
    pfc_detection_clear(&found);
    cr_assert(eq(int, pfc_steady_detect(s.points, 400, 7, &other, &replay, &judged, &found, NULL),
                 PFC_OK));
    cr_assert(eq(u64, replay.steady.base, 7));
    pfc_detection_clear(&found);
    pfc_detection_clear(&same);
    pfc_steady_replay_clear(&replay);
    pfc_steady_replay_clear(&whole);
}

Test(steady, bytes_that_are_no_state_are_refused)
{
    static bool due[120];
    uint8_t bytes[PFC_STEADY_BYTES];
    series s;
    pfc_steady steady, kept;
    pfc_err err = { 0 };

    make(&s, 2, 120, HOUR);
    (void)take_all(&s, &steady, due);
    const size_t len = pfc_steady_save(&steady, bytes);
    kept = steady;
    for (size_t n = 0; n < len; n++)
        cr_assert(eq(int, pfc_steady_load(&kept, bytes, n, &err), PFC_EINVAL), "%zu bytes", n);
    static const size_t spoilt[] = { 0, 20, 27, 28 }; /* both marks, restless, newest due point */
    for (size_t k = 0; k < PFC_ARRAY_LEN(spoilt); k++) {
        uint8_t other[PFC_STEADY_BYTES];

        memcpy(other, bytes, len);
        other[spoilt[k]] ^= 0x7f;
        cr_assert(eq(int, pfc_steady_load(&kept, other, len, &err), PFC_EINVAL), "%zu", spoilt[k]);
        cr_assert(ne(ptr, strstr(err.msg, "expected"), NULL), "%s", err.msg);
    }
    cr_assert(eq(int, memcmp(&kept, &steady, sizeof kept), 0));
}
