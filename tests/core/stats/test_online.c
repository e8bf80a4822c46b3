/* The detector a point at a time: the same answers, and what is confirmed stays. */
#include <stddef.h>
#include <stdlib.h>

#include "core/changepoint/online/online.h"

#include "tests/core/stats/series.h"
#include "tests/support/rounds.h"

/* Series of all kinds: steps, a wave, machine states, spikes, drift; by number. */
static void make(series *s, uint64_t seed, size_t n)
{
    pfc_rng rng;
    pfc_rng_seed(&rng, seed);
    bool slow = false;
    double level = 100.0;
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        double v = 0.01 * pfc_rng_normal(&rng);
        if (i > 0 && pfc_rng_below(&rng, 80) == 0 && seed % 3 != 2)
            level *= pfc_rng_below(&rng, 2) ? 1.05 : 0.95;
        if (pfc_rng_below(&rng, 12) == 0)
            slow = !slow;
        if (seed % 5 == 1)
            v += 0.03 * sin(2.0 * M_PI * (double)i / 24.0);
        if (seed % 5 == 2)
            v += slow ? 0.08 : 0.0;
        if (seed % 5 == 3 && pfc_rng_below(&rng, 30) == 0)
            v += 0.2;
        if (seed % 5 == 4)
            v += 0.0003 * (double)i;
        series_put(s, i, level * exp(v));
        if (pfc_rng_below(&rng, 40) == 0)
            s->points[i].v = NAN;
    }
}

static bool has(const pfc_detection *d, const pfc_change *c)
{
    for (size_t k = 0; k < d->changes_len; k++) {
        const pfc_change *x = &d->changes[k];
        if (x->confirmed && x->index == c->index && x->index_low == c->index_low &&
            x->index_high == c->index_high)
            return true;
    }
    return false;
}

/* Every prefix of every series: what one answer calls confirmed is in all later ones, in its place.
 */
Test(online, what_is_confirmed_stays_in_its_place)
{
    size_t confirmed = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        series s;
        make(&s, seed, 220);
        size_t n = s.n;
        pfc_detection before = { 0 };
        for (s.n = 1; s.n <= n; s.n++) {
            pfc_detection now = series_detect(&s, NULL);
            for (size_t k = 0; k < before.changes_len; k++) {
                if (!before.changes[k].confirmed)
                    continue;
                confirmed++;
                cr_assert(has(&now, &before.changes[k]), "seed %d, %zu points", (int)seed, s.n);
            }
            pfc_detection_clear(&before);
            before = now;
        }
        pfc_detection_clear(&before);
    }
    cr_assert(gt(sz, confirmed, 200));
}

/* Small steps under much noise have wide sets: these are reported once, whatever later points show.
 */
Test(online, the_set_of_a_confirmed_change_stays_as_reported)
{
    size_t wide = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        series s;
        pfc_rng rng;
        pfc_rng_seed(&rng, seed);
        series_step(&s, &rng, 420, 0.02, 150, 0.036);
        pfc_detection before = { 0 };
        for (s.n = 151; s.n <= 420; s.n += 3) {
            pfc_detection now = series_detect(&s, NULL);
            for (size_t k = 0; k < before.changes_len; k++) {
                const pfc_change *c = &before.changes[k];
                if (!c->confirmed)
                    continue;
                wide += c->index_high > c->index_low;
                cr_assert(has(&now, c), "seed %d, %zu points", (int)seed, s.n);
            }
            pfc_detection_clear(&before);
            before = now;
        }
        pfc_detection_clear(&before);
    }
    cr_assert(gt(sz, wide, 100));
}

/* Hysteresis: what one look finds is not settled by it. An earlier look, three points ago at least,
 * must have found the change within one place of here (series without noise are judged by length
 * alone). */
Test(online, nothing_is_settled_that_was_not_found_before)
{
    pfc_segment_space space = { 0 };
    size_t events = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        series s;
        pfc_online online;
        make(&s, seed, 400);
        cr_assert(eq(int, pfc_online_init(&online, NULL, NULL), PFC_OK));
        while (online.seen < s.n) {
            const pfc_online before = online;
            pfc_confirmed_changes settled;
            if (!pfc_online_append(&online, s.points, &space, &settled) || online.exact)
                continue;
            for (size_t k = 0; k < settled.len; k++) {
                const size_t at = settled.changes[k].index;
                bool known = false;
                for (size_t i = 0; i < before.open_len; i++)
                    known = known ||
                            (before.open[i].index <= at + 1 && at <= before.open[i].index + 1 &&
                             before.open[i].since + 3 <= online.seen);
                cr_assert(known, "seed %d: the change at %zu, at %u points", (int)seed, at,
                          online.seen);
                events++;
            }
        }
    }
    cr_assert(gt(sz, events, 30));
    pfc_segment_space_clear(&space);
}

static void same_answer(const pfc_detection *a, const pfc_detection *b, size_t n)
{
    cr_assert(eq(sz, a->changes_len, b->changes_len), "%zu points", n);
    cr_assert(eq(sz, a->watching, b->watching));
    for (size_t k = 0; k < a->changes_len; k++) {
        cr_assert(eq(sz, a->changes[k].index, b->changes[k].index), "%zu points", n);
        cr_assert(eq(int, a->changes[k].confirmed, b->changes[k].confirmed));
        cr_assert(eq(sz, a->changes[k].index_low, b->changes[k].index_low));
        cr_assert(eq(sz, a->changes[k].index_high, b->changes[k].index_high));
    }
}

/* A point at a time, through bytes and back after every one of them, against the whole at once. */
Test(online, a_point_at_a_time_answers_as_the_whole_series_does)
{
    pfc_segment_space space = { 0 };
    for (uint64_t seed = 1; seed <= 10; seed++) {
        series s;
        pfc_online online;
        pfc_change past[64];
        size_t past_len = 0;
        make(&s, seed, 600);
        size_t n = s.n;
        cr_assert(eq(int, pfc_online_init(&online, NULL, NULL), PFC_OK));
        for (s.n = 1; s.n <= n; s.n++) {
            uint8_t bytes[PFC_ONLINE_BYTES];
            pfc_confirmed_changes settled;
            if (pfc_online_append(&online, s.points, &space, &settled)) {
                for (size_t k = 0; k < settled.len; k++)
                    past[past_len++] = settled.changes[k];
            }
            size_t len = pfc_online_save(&online, bytes);
            cr_assert(le(sz, len, 2000));
            memset(&online, 0xee, sizeof online);
            cr_assert(eq(int, pfc_online_load(&online, bytes, len, NULL), PFC_OK));
            if (s.n % 7 != 0 && s.n != n)
                continue;
            pfc_detection now;
            pfc_online_answer(&online, s.points, &space, &now);
            pfc_detection_join(&now, past, past_len);
            pfc_detection want = series_detect(&s, NULL);
            same_answer(&now, &want, s.n);
            pfc_detection_clear(&now);
            pfc_detection_clear(&want);
        }
    }
    pfc_segment_space_clear(&space);
}

/* A point comes late: the replay goes on from the state saved before its place. */
Test(online, a_backfill_replays_from_its_place)
{
    pfc_segment_space space = { 0 };
    series s;
    series gap;
    pfc_online online;
    pfc_online saved;
    make(&s, 4, 300);
    gap = s;
    memmove(gap.points + 150, gap.points + 151, 149 * sizeof *gap.points);
    cr_assert(eq(int, pfc_online_init(&online, NULL, NULL), PFC_OK));
    while (online.seen < 299) {
        if (online.seen == 128)
            saved = online;
        pfc_online_append(&online, gap.points, &space, NULL);
    }
    while (saved.seen < 300)
        pfc_online_append(&saved, s.points, &space, NULL);
    pfc_detection now;
    pfc_online_answer(&saved, s.points, &space, &now);
    pfc_detection want = series_detect(&s, NULL);
    cr_assert(le(sz, now.changes_len, want.changes_len));
    for (size_t k = 0; k < now.changes_len; k++) {
        size_t at = want.changes_len - now.changes_len + k;
        cr_assert(eq(sz, now.changes[k].index, want.changes[at].index));
        cr_assert(eq(int, now.changes[k].confirmed, want.changes[at].confirmed));
    }
    pfc_detection_clear(&now);
    pfc_detection_clear(&want);
    pfc_segment_space_clear(&space);
}

/* Histories of every kind, arrived in 1,000 wild orders and put in series order. */
Test(online, any_order_of_arrival_gives_one_answer)
{
    pfc_rng rng;
    pfc_rng_seed(&rng, 99);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        series s;
        make(&s, seed, 120);
        pfc_detection want = series_detect(&s, NULL);
        for (int round = 0; round < PFC_ROUNDS(100); round++) {
            size_t order[120];
            size_t sorted[120];
            series arrived = { .n = 120 };
            series again = { .n = 120 };
            for (size_t i = 0; i < 120; i++)
                order[i] = i;
            pfc_rng_shuffle(&rng, order, 120);
            for (size_t i = 0; i < 120; i++)
                arrived.points[i] = s.points[order[i]];
            pfc_stats_series_order(arrived.points, 120, sorted);
            for (size_t i = 0; i < 120; i++)
                again.points[i] = arrived.points[sorted[i]];
            pfc_detection got = series_detect(&again, NULL);
            cr_assert(eq(sz, got.changes_len, want.changes_len));
            cr_assert(eq(int,
                         memcmp(got.changes, want.changes, want.changes_len * sizeof *want.changes),
                         0));
            pfc_detection_clear(&got);
        }
        pfc_detection_clear(&want);
    }
}

/* A consumer that never sees the series in order: each point is put in its place as it arrives,
 * states are kept as bytes at every 16th point, those beyond the place are thrown away, and the
 * rest is replayed. */
typedef struct consumer {
    series s;
    size_t place[SERIES_MAX]; /* of each point, in the whole history */
    struct {
        uint8_t bytes[PFC_ONLINE_BYTES];
        size_t len, settled;
    } saved[SERIES_MAX / 16 + 1];
    pfc_change settled[SERIES_MAX];
    size_t settled_len, saved_len;
    pfc_online online;
} consumer;

static void arrive(consumer *c, const series *whole, size_t place, pfc_segment_space *space)
{
    size_t at = c->s.n;
    while (at > 0 && c->place[at - 1] > place)
        at--;
    memmove(c->s.points + at + 1, c->s.points + at, (c->s.n - at) * sizeof *c->s.points);
    memmove(c->place + at + 1, c->place + at, (c->s.n - at) * sizeof *c->place);
    c->s.points[at] = whole->points[place];
    c->place[at] = place;
    c->s.n++;
    if (at + 1 < c->s.n) {
        c->saved_len = PFC_MIN(c->saved_len, at / 16 + 1);
        const size_t k = c->saved_len - 1;
        cr_assert(
            eq(int, pfc_online_load(&c->online, c->saved[k].bytes, c->saved[k].len, NULL), PFC_OK));
        c->settled_len = c->saved[k].settled;
    }
    while (c->online.seen < c->s.n) {
        if (c->online.seen == 16 * c->saved_len) {
            c->saved[c->saved_len].len = pfc_online_save(&c->online, c->saved[c->saved_len].bytes);
            c->saved[c->saved_len++].settled = c->settled_len;
        }
        pfc_confirmed_changes settled;
        if (!pfc_online_append(&c->online, c->s.points, space, &settled))
            continue;
        for (size_t k = 0; k < settled.len; k++)
            c->settled[c->settled_len++] = settled.changes[k];
    }
}

/* 1,000 orders of arrival: some wild, most nearly in order with stragglers, as runners make them.
 * After the last point, and at some moments before it, what the consumer says is what a replay of
 * the points so far in series order says, bit for bit. */
Test(online, a_thousand_orders_of_arrival_point_by_point_give_one_answer)
{
    enum { N = 90 };
    static consumer c;
    pfc_segment_space space = { 0 };
    pfc_rng rng;
    size_t confirmed = 0;
    pfc_rng_seed(&rng, 123);
    for (size_t round = 0; round < PFC_ROUNDS(1000); round++) {
        series whole;
        size_t order[N];
        make(&whole, 1 + round % 40, N);
        for (size_t i = 0; i < N; i++)
            whole.points[i].v *= i < N / 2 ? 1.0 : 1.12;
        for (size_t i = 0; i < N; i++)
            order[i] = i;
        if (round % 25 == 0)
            pfc_rng_shuffle(&rng, order, N);
        for (size_t late = 0; late < 4; late++) {
            const size_t from = pfc_rng_below(&rng, N), to = from + pfc_rng_below(&rng, N - from);
            const size_t straggler = order[from];
            memmove(order + from, order + from + 1, (to - from) * sizeof *order);
            order[to] = straggler;
        }
        c.s.n = c.saved_len = c.settled_len = 0;
        cr_assert(eq(int, pfc_online_init(&c.online, NULL, NULL), PFC_OK));
        for (size_t i = 0; i < N; i++) {
            arrive(&c, &whole, order[i], &space);
            if (i + 1 < N && (i + round) % 61)
                continue;
            pfc_detection now;
            pfc_online_answer(&c.online, c.s.points, &space, &now);
            pfc_detection_join(&now, c.settled, c.settled_len);
            pfc_detection want = series_detect(&c.s, NULL);
            same_answer(&now, &want, c.s.n);
            for (size_t k = 0; k < want.changes_len; k++) {
                cr_assert(eq(dbl, now.changes[k].p, want.changes[k].p), "round %zu", round);
                cr_assert(eq(dbl, now.changes[k].after, want.changes[k].after), "round %zu", round);
                confirmed += want.changes[k].confirmed;
            }
            pfc_detection_clear(&now);
            pfc_detection_clear(&want);
        }
    }
    cr_assert(gt(sz, confirmed, PFC_ROUNDS(300)));
    pfc_segment_space_clear(&space);
}

/* Field by field: one that is forgotten would show in an answer only now and then. */
Test(online, a_state_comes_back_from_its_bytes_whole)
{
    pfc_segment_space space = { 0 };
    size_t states = 0, pins = 0, open = 0, exact = 0;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        series s;
        pfc_online o;
        const pfc_detect_opts opts = { .min_rel = 0.001 * (double)seed,
                                       .alpha = 0.02,
                                       .higher_is_better = seed % 2 != 0 };
        make(&s, seed, 700);
        for (size_t i = 0; seed == 15 && i < s.n; i++)
            s.points[i].v = i < 350 ? 100.0 : 101.0; /* without noise */
        cr_assert(eq(int, pfc_online_init(&o, &opts, NULL), PFC_OK));
        while (o.seen < s.n) {
            uint8_t bytes[PFC_ONLINE_BYTES];
            pfc_online got;
            pfc_online_append(&o, s.points, &space, NULL);
            const pfc_level level = o.level;
            o.level.period = 24.5; /* waves are rare where something settles */
            for (size_t k = 0; k < 4; k++)
                o.level.wave[k] = 0.01 * (double)(k + 1);
            memset(&got, 0xee, sizeof got);
            cr_assert(
                eq(int, pfc_online_load(&got, bytes, pfc_online_save(&o, bytes), NULL), PFC_OK));
            cr_assert(eq(dbl, got.opts.min_rel, o.opts.min_rel));
            cr_assert(eq(dbl, got.opts.alpha, o.opts.alpha));
            cr_assert(eq(int, got.opts.higher_is_better, o.opts.higher_is_better));
            /* the counts lie between these two, without gaps */
            cr_assert(eq(
                int,
                memcmp(&got.seen, &o.seen,
                       offsetof(pfc_online, exact) - offsetof(pfc_online, seen) + sizeof o.exact),
                0));
            /* ... and so do the numbers of the level */
            cr_assert(eq(int, memcmp(&got.level.at, &o.level.at, offsetof(pfc_level, summary)), 0));
            cr_assert(eq(int, got.level.summary, o.level.summary));
            cr_assert(eq(int, got.level.degree, o.level.degree));
            cr_assert(eq(int, got.level.logged, o.level.logged));
            cr_assert(eq(u32, got.pins_len, o.pins_len));
            cr_assert(eq(int, memcmp(got.pins, o.pins, o.pins_len * sizeof *o.pins), 0));
            cr_assert(eq(u32, got.open_len, o.open_len));
            cr_assert(eq(int, memcmp(got.open, o.open, o.open_len * sizeof *o.open), 0));
            cr_assert(eq(int, memcmp(got.ring, o.ring, sizeof o.ring), 0));
            o.level = level;
            states += o.level.gap > 0.0;
            exact += o.exact;
            pins += o.pins_len;
            open += o.open_len;
        }
    }
    cr_assert(states > 0 && pins > 0 && open > 0 && exact > 0);
    pfc_segment_space_clear(&space);
}

/* Settled long ago, and not in reach of the newest look, or seen by it again as something new. */
Test(online, a_confirmed_change_is_reported_once_and_first)
{
    const pfc_change past[] = { { .index = 10, .confirmed = true, .p = 0.25 },
                                { .index = 20, .confirmed = true } };
    pfc_detection d = { .changes = pfc_calloc(3, sizeof(pfc_change)), .changes_len = 3 };
    const size_t want[] = { 10, 20, 30 };
    d.changes[0] = (pfc_change){ .index = 10 };
    d.changes[1] = (pfc_change){ .index = 20, .confirmed = true, .p = 0.5 };
    d.changes[2] = (pfc_change){ .index = 30 };
    pfc_detection_join(&d, past, 2);
    cr_assert(eq(sz, d.changes_len, 3));
    for (size_t k = 0; k < 3; k++) {
        cr_assert(eq(sz, d.changes[k].index, want[k]));
        cr_assert(eq(int, d.changes[k].confirmed, k < 2));
    }
    cr_assert(eq(dbl, d.changes[0].p, 0.25)); /* as it was settled */
    cr_assert(eq(dbl, d.changes[1].p, 0.5));  /* what the look says of it now */
    pfc_detection_clear(&d);
}

Test(online, bytes_that_are_no_state_are_refused)
{
    pfc_segment_space space = { 0 };
    uint8_t bytes[PFC_ONLINE_BYTES];
    pfc_online online;
    pfc_online other;
    pfc_err err = { 0 };
    series s;
    make(&s, 2, 200);
    cr_assert(eq(int, pfc_online_init(&online, NULL, NULL), PFC_OK));
    while (online.seen < 200)
        pfc_online_append(&online, s.points, &space, NULL);
    size_t len = pfc_online_save(&online, bytes);
    other = online;
    cr_assert(eq(int, pfc_online_load(&other, bytes, len - 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_online_load(&other, bytes, 0, &err), PFC_EINVAL));
    /* Any byte turned: refused, or a state that goes on without reading out of bounds. */
    for (size_t i = 0; i < len; i++) {
        bytes[i] ^= 0xff;
        if (pfc_online_load(&other, bytes, len, &err) == PFC_OK && other.seen < s.n)
            pfc_online_append(&other, s.points, &space, NULL);
        bytes[i] ^= 0xff;
    }
    cr_assert(eq(int, pfc_online_load(&other, bytes, len, &err), PFC_OK));
    cr_assert(eq(int, memcmp(&other.level, &online.level, sizeof online.level), 0));
    pfc_segment_space_clear(&space);
}

/* A million points, the most there may be: steps early and late are found, and stay where they are.
 */
Test(online, a_million_points_are_no_trouble)
{
    const size_t n = PFC_SERIES_MAX_POINTS;
    pfc_point *points = pfc_calloc(n, sizeof *points);
    pfc_rng rng;
    pfc_detection d;
    pfc_rng_seed(&rng, 77);
    for (size_t i = 0; i < n; i++)
        points[i] = (pfc_point){ .t = (double)i,
                                 .v = (i >= 999900 ? 110.0
                                       : i >= 500  ? 105.0
                                                   : 100.0) *
                                      exp(0.01 * pfc_rng_normal(&rng)) };
    cr_assert(eq(int, pfc_stats_detect(points, n, NULL, &d, NULL), PFC_OK));
    cr_assert(ge(sz, d.changes_len, 2));
    cr_assert(le(sz, d.changes_len, 4));
    cr_assert(eq(int, labs((long)d.changes[0].index - 500) <= 1, 1));
    cr_assert(eq(int, labs((long)d.changes[d.changes_len - 1].index - 999900) <= 1, 1));
    cr_assert(d.changes[0].confirmed && d.changes[d.changes_len - 1].confirmed);
    pfc_detection_clear(&d);
    free(points);
}

/* A hundred thousand repeats in one point, of which the first 1,024 count: those after them may be
 * anything. Some are not finite; one point has none, one none that is finite. */
Test(online, many_repeats_in_a_point_are_taken)
{
    const size_t many = 100000;
    double *repeats = pfc_calloc(many, sizeof *repeats);
    const double no_value[] = { NAN, INFINITY, -INFINITY, NAN, NAN };
    pfc_rng rng;
    series s = { .n = 0 };
    pfc_rng_seed(&rng, 5);
    for (size_t i = 0; i < many; i++)
        repeats[i] = i % 1000 ? 100.0 * exp(0.01 * pfc_rng_normal(&rng)) : (double)NAN;
    for (size_t i = 0; i < 80; i++) {
        series_put(&s, i, 100.0 + (i >= 40 ? 10.0 : 0.0));
        s.points[i].repeats = repeats + 5 * i + (i >= 40 ? 2000 : 0);
        s.points[i].repeats_len = 5;
    }
    for (size_t i = 2200; i < 2400; i++)
        repeats[i] *= 1.1;
    s.points[20].repeats = repeats;
    s.points[20].repeats_len = many;
    s.points[30].repeats = NULL;
    s.points[30].repeats_len = 0;
    s.points[35].repeats = no_value;
    pfc_detection d[2];
    for (int wild = 0; wild < 2; wild++) {
        for (size_t i = 3000; wild && i < many; i++)
            repeats[i] = i % 2 ? 1e300 : -1e300;
        d[wild] = series_detect(&s, NULL);
        cr_assert(eq(sz, d[wild].changes_len, 1));
        cr_assert(eq(sz, d[wild].changes[0].index, 40));
        cr_assert(epsilon_eq(dbl, d[wild].changes[0].rel_change, 0.1, 0.01));
    }
    cr_assert(eq(int, memcmp(d[0].changes, d[1].changes, sizeof *d[0].changes), 0));
    pfc_detection_clear(&d[0]);
    pfc_detection_clear(&d[1]);
    free(repeats);
}

/* A slow path taken more often from some point on: settled once, at one place, however long it goes
 * on. */
Test(online, a_change_of_shares_is_settled_once)
{
    pfc_rng rng;
    size_t settled = 0;
    pfc_rng_seed(&rng, 31);
    for (int round = 0; round < 10; round++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 400; i++) {
            bool slow = pfc_rng_below(&rng, 100) < (i < 150 ? 8 : 80);
            series_put(&s, i, (slow ? 120.0 : 100.0) * exp(0.005 * pfc_rng_normal(&rng)));
        }
        pfc_detection d = series_detect(&s, NULL);
        size_t confirmed = 0;
        for (size_t k = 0; k < d.changes_len; k++) {
            cr_assert(k == 0 || d.changes[k - 1].index < d.changes[k].index, "round %d", round);
            confirmed += d.changes[k].confirmed;
        }
        cr_assert(le(sz, confirmed, 1), "round %d", round);
        settled += confirmed;
        pfc_detection_clear(&d);
    }
    cr_assert(gt(sz, settled, 5));
}

/* Several runs of one commit share a time: they keep the order they were given in. */
Test(online, equal_times_keep_their_order)
{
    const pfc_point points[] = { { .t = 3, .v = 1 },
                                 { .t = 1, .v = 2 },
                                 { .t = 1, .v = 3 },
                                 { .t = 2, .v = 4 },
                                 { .t = 1, .v = 5 } };
    const size_t want[] = { 1, 2, 4, 3, 0 };
    size_t order[5];
    cr_assert(pfc_stats_series_order(points, 5, order));
    for (size_t i = 0; i < 5; i++)
        cr_assert(eq(sz, order[i], want[i]));
}

/* One time that is not known and nothing can be put in order by time: the given order stands. */
Test(online, an_unknown_time_leaves_the_order_as_it_is)
{
    const double unknown[] = { NAN, INFINITY, -INFINITY };
    for (size_t k = 0; k < 3; k++) {
        const pfc_point points[] = { { .t = 3, .v = 1 },
                                     { .t = unknown[k], .v = 2 },
                                     { .t = 1, .v = 3 } };
        size_t order[3];
        cr_assert(not(pfc_stats_series_order(points, 3, order)));
        for (size_t i = 0; i < 3; i++)
            cr_assert(eq(sz, order[i], i));
    }
    cr_assert(not(pfc_stats_series_order(NULL, 0, NULL)));
}

/* Zeros among positive values take away the logarithm, not the change. */
Test(online, zeros_and_signs_within_a_series_keep_its_change)
{
    pfc_rng rng;
    pfc_rng_seed(&rng, 8);
    for (int kind = 0; kind < 3; kind++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 120; i++) {
            const double level = i < 60 ? 4.0 : 8.0;
            const double v = level + 0.5 * pfc_rng_normal(&rng);
            series_put(&s, i, i % 11 ? v : kind == 0 ? 0.0 : kind == 1 ? -v : 4.9e-324);
        }
        pfc_detection d = series_detect(&s, NULL);
        cr_assert(eq(sz, d.changes_len, 1), "kind %d", kind);
        cr_assert(eq(sz, d.changes[0].index, 60), "kind %d", kind);
        pfc_detection_clear(&d);
    }
}
