/* Limits of the detector: levels that stand or fall, series without noise, when it looks, and
 * what it saves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/changepoint/online/online.h"
#include "core/changepoint/segment/fit.h"

#include "tests/check/check.h"

#define MOST 400

static pfc_segment_space space;

/* ---- which changes stand ---- */

typedef struct made {
    pfc_clean_series track;
    pfc_fit fit;
    double z[MOST], scratch[3 * MOST], mean[8], y[MOST];
    uint32_t starts[8];
    uint8_t upper[MOST];
} made;

/* Levels of len[k] points at at[k], alternately `spread` above and below: their means are exact
 * where the count is even. Plain noise, as many places as points. */
static made *make(const size_t *len, const double *at, size_t levels, double spread)
{
    made *m = pfc_calloc(1, sizeof *m);
    size_t n = 0;

    for (size_t k = 0; k < levels; k++) {
        if (k)
            m->starts[k - 1] = (uint32_t)n;
        for (size_t i = 0; i < len[k]; i++, n++)
            m->z[n] = at[k] + (i % 2 ? -spread : spread);
    }
    m->track = (pfc_clean_series){ .n = n, .places = n, .y = m->y };
    m->fit = (pfc_fit){ .track = &m->track,
                        .n = n,
                        .z = m->z,
                        .upper = m->upper,
                        .starts = m->starts,
                        .changes = levels - 1,
                        .mean = m->mean,
                        .scratch = m->scratch,
                        .unit = 1,
                        .noise = { .sigma = 1, .freedom = 30, .inflate = 1 } };
    return m;
}

/* |z| that a change must have: sqrt(2 (log places + nats)), as t of n - 2 changes - 2 degrees
 * (at least 2) where these are at most 200. */
static double needed(double places, double nats, double n, double changes)
{
    const double z = sqrt(2 * (log(places) + nats));
    const double df = fmax(n - 2 * changes - 2, 2);

    return df > 200 ? z : sqrt(df * expm1(z * z / df));
}

typedef struct standing {
    const char *what;
    size_t before, after;
    double nats; /* above the logarithm of places */
    double freedom, inflate, strict;
    size_t places, more;
    bool third; /* another level of 60 points, far away, comes behind */
} standing;

/* Does one change of that jump stand? */
static bool stands(const standing *s, double jump)
{
    const size_t len[] = { s->before, s->after, 60 };
    const double at[] = { 0, jump, 100 };
    made *m = make(len, at, s->third ? 3 : 2, 0.25);
    bool kept;

    if (s->places)
        m->track.places = s->places;
    m->track.more = s->more;
    m->track.strict = s->strict;
    m->fit.noise.freedom = s->freedom;
    m->fit.noise.inflate = s->inflate;
    pfc_fit_decide(&m->fit);
    kept = m->fit.changes > 0 && m->fit.starts[0] == s->before;
    free(m);
    return kept;
}

/* 4 nats; 2.8 for the newest level of less than eight points from 30 points on; 7 for a short
 * one between others; 3 more under heavy tails where a side is short; alpha's own on top of
 * that, and never below 0. */
Test(limits_online, a_change_stands_from_its_threshold_on)
{
    static const standing rows[] = {
        { "long levels", 50, 50, 4, 30, 1, 0, 0, 0, false },
        { "eight points are not short", 60, 8, 4, 30, 1, 0, 0, 0, false },
        { "the newest is short", 60, 6, 2.8, 30, 1, 0, 0, 0, false },
        { "the newest is short, 30 points", 24, 6, 2.8, 30, 1, 0, 0, 0, false },
        { "the newest is short, 28 points", 22, 6, 4, 30, 1, 0, 0, 0, false },
        { "... and 2 left out", 22, 6, 2.8, 30, 1, 0, 0, 2, false },
        { "the first is short", 6, 60, 4, 30, 1, 0, 0, 0, false },
        { "short between others", 60, 6, 7, 30, 1, 0, 0, 0, true },
        { "eight between others", 60, 8, 4, 30, 1, 0, 0, 0, true },
        { "heavy tails, short", 60, 6, 5.8, 5, 1, 0, 0, 0, false },
        { "not heavy, short", 60, 6, 2.8, 10, 1, 0, 0, 0, false },
        { "heavy tails, long", 50, 50, 4, 5, 1, 0, 0, 0, false },
        { "correlated", 50, 50, 4, 30, 2, 0, 0, 0, false },
        { "stricter", 50, 50, 6.5, 30, 1, 2.5, 0, 0, false },
        { "less strict", 50, 50, 1.5, 30, 1, -2.5, 0, 0, false },
        { "not below the places", 50, 50, 0, 30, 1, -9, 0, 0, false },
        { "more places", 50, 50, 4, 30, 1, 0, 5000, 0, false },
        { "more points than 200", 150, 150, 4, 30, 1, 0, 0, 0, false },
        { "with those left out", 50, 50, 4, 30, 1, 0, 0, 120, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const standing *s = &rows[i];
        const double n = (double)(s->before + s->after + (s->third ? 60 : 0));
        const double places = s->places ? (double)s->places : n;
        const double se = sqrt(s->inflate * (1 / (double)s->before + 1 / (double)s->after));
        const double least = se * needed(places, s->nats, n + (double)s->more, s->third ? 2 : 1);

        cr_assert(stands(s, least * 1.0001), "%s: %g", s->what, least);
        cr_assert(not(stands(s, least * 0.9999)), "%s: %g", s->what, least);
        if (!s->third) {
            cr_assert(stands(s, -least * 1.0001), "%s: %g", s->what, least);
            cr_assert(not(stands(s, -least * 0.9999)), "%s: %g", s->what, least);
        }
    }
}

Test(limits_online, evidence_is_the_jump_over_its_standard_error)
{
    const size_t len[] = { 20, 30 };
    const double at[] = { 1, -2 };
    made *m = make(len, at, 2, 0);

    m->mean[0] = 1;
    m->mean[1] = -2;
    m->fit.noise.inflate = 1.5;
    cr_assert(epsilon_eq(dbl, pfc_fit_evidence(&m->fit, 0), 3 / sqrt(1.5 * (1 / 20.0 + 1 / 30.0)),
                         1e-12));
    free(m);
}

/* Four changes between the same two levels are states, three are not; nor are four whose levels
 * differ by 1.6. */
Test(limits_online, four_alternations_are_a_machine_with_states)
{
    const size_t len[] = { 20, 20, 20, 20, 20 };

    for (size_t levels = 4; levels <= 5; levels++) {
        for (int differ = 0; differ < 2; differ++) {
            const double at[] = { 0, 9, 0, differ ? 10.6 : 9, 0 };
            made *m = make(len, at, levels, 0.25);

            pfc_fit_decide(&m->fit);
            cr_assert(eq(sz, m->fit.changes, levels == 5 && !differ ? 0 : levels - 1));
            free(m);
        }
    }
}

/* A settled change stands whatever is said against it. */
Test(limits_online, a_settled_change_is_never_dropped)
{
    const size_t len[] = { 20, 20 };
    const double at[] = { 0, 0 };
    const uint32_t fixed[] = { 20 };
    made *m = make(len, at, 2, 0.25);

    m->fit.fixed = (pfc_confirmed_starts){ fixed, 1 };
    pfc_fit_decide(&m->fit);
    cr_assert(eq(sz, m->fit.changes, 1));
    m->fit.fixed.len = 0;
    pfc_fit_decide(&m->fit);
    cr_assert(eq(sz, m->fit.changes, 0));
    free(m);
}

/* A change as high as the gap of two states is theirs until it has lasted three times as long as
 * they do. */
Test(limits_online, a_change_as_high_as_the_gap_must_outlast_the_states)
{
    for (size_t after = 29; after <= 31; after++) {
        for (int off = 0; off < 2; off++) {
            const size_t len[] = { 100, after };
            const double at[] = { 0, off ? 9.2 : 8.9 };
            made *m = make(len, at, 2, 0.25);

            m->fit.gap = 8;
            memset(m->upper + 20, 1, 10);
            memset(m->upper + 50, 1, 7);
            pfc_fit_decide(&m->fit);
            cr_assert(eq(sz, m->fit.changes, off || after >= 30), "%zu, %d", after, off);
            free(m);
        }
    }
}

/* Two states nearer to each other than two and a half sigma are one: no explanation of the
 * series. */
Test(limits_online, states_lie_two_and_a_half_sigma_apart)
{
    static const double gaps[] = { 2.1, 2.8, 4 };

    for (size_t k = 0; k < 3; k++) {
        static pfc_point at[MOST];
        const double moves[4] = { 0.2, 1.7, 1.2, 0.35 };
        pfc_clean_series track;
        pfc_fit fit;
        pfc_rng rng;

        pfc_rng_seed(&rng, 8);
        for (size_t i = 0; i < 200; i++)
            at[i] = (pfc_point){ .v = exp(0.01 * pfc_rng_normal(&rng) +
                                          (i / 10 % 2 ? 0.01 * gaps[k] : 0)) };
        cr_assert(pfc_clean_series_init(&track, at, 0, 200, &(pfc_detect_opts){ 0 }, NULL, &space));
        pfc_fit_init(&fit, &track, (pfc_confirmed_starts){ 0 }, &space);
        fit.gap = 0.01 * gaps[k];
        memcpy(fit.move, moves, sizeof moves);
        pfc_fit_run(&fit, 0.01);
        cr_assert(eq(int, isfinite(fit.nll), k > 0), "%g: %g of %g", gaps[k], fit.gap, fit.unit);
        pfc_fit_clear(&fit);
        pfc_clean_series_clear(&track);
    }
}

/* ---- shares of states ---- */

static made *mixed(size_t n, size_t at, size_t ups_before, size_t ups_after)
{
    const size_t len[] = { n };
    const double level[] = { 0 };
    made *m = make(len, level, 1, 0.25);

    m->fit.gap = 5;
    for (size_t k = 0; k < ups_before; k++)
        m->upper[k * at / ups_before] = 1;
    for (size_t k = 0; k < ups_after; k++)
        m->upper[at + k * (n - at) / ups_after] = 1;
    pfc_fit_state_shares(&m->fit);
    return m;
}

/* Of 32 points from none to all: 32 log 2 = 22.2 nats; less where few points are on a side. The
 * correlation that is left is 2 / n. */
Test(limits_online, a_change_of_shares_needs_eight_points_a_side_and_32_in_all)
{
    static const struct {
        size_t n, at, found;
    } rows[] = { { 32, 16, 16 }, { 31, 16, 0 },  { 60, 8, 8 },
                 { 60, 7, 8 },   { 60, 52, 52 }, { 60, 53, 52 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        made *m = mixed(rows[i].n, rows[i].at, 0, rows[i].n - rows[i].at);

        cr_assert(eq(sz, m->fit.shares_at, rows[i].found), "%zu of %zu", rows[i].at, rows[i].n);
        if (rows[i].found == rows[i].at) {
            const double n = (double)rows[i].n, p = (double)rows[i].at / n, rho = 2 / n;
            const double g = -n * (p * log(p) + (1 - p) * log(1 - p));

            cr_assert(epsilon_eq(dbl, m->fit.shares_gain, g * (1 - rho) / (1 + rho), 1e-6));
        }
        free(m);
    }
}

/* The share must move by 0.3, and explain log n + 5 nats. */
Test(limits_online, a_change_of_shares_must_be_large_and_clear)
{
    /* 200 points a side, few ups on one: clear long before it is large. */
    made *m = mixed(400, 200, 0, 58);

    cr_assert(eq(sz, m->fit.shares_at, 0));
    free(m);
    m = mixed(400, 200, 0, 66);
    cr_assert(ge(sz, m->fit.shares_at, 195));
    free(m);
    /* Next to a change of level it is that change's shadow: within seven points. */
    for (size_t off = 7; off <= 8; off++) {
        for (int before = 0; before < 2; before++) {
            const size_t start = before ? 30 - off : 30 + off;
            const size_t len[] = { start, 60 - start };
            const double at[] = { 0, 0 };

            m = make(len, at, 2, 0.25);
            m->fit.gap = 5;
            memset(m->upper + 30, 1, 30);
            pfc_fit_state_shares(&m->fit);
            cr_assert(eq(sz, m->fit.shares_at, off == 8 ? 30 : 0));
            free(m);
        }
    }
}

/* ---- series without noise ---- */

static pfc_point points[MOST];

/* 30 points at 100, then the values given, as often as `times`. */
static size_t exact_series(const double *tail, size_t len, size_t times)
{
    size_t n = 30;

    memset(points, 0, sizeof points);
    for (size_t i = 0; i < n; i++)
        points[i] = (pfc_point){ .t = (double)i, .v = 100 };
    for (size_t k = 0; k < times; k++) {
        for (size_t i = 0; i < len; i++, n++)
            points[n] = (pfc_point){ .t = (double)n, .v = tail[i] };
    }
    return n;
}

static pfc_detection detect(size_t n, pfc_detect_opts opts)
{
    pfc_detection d;

    cr_assert(eq(int, pfc_stats_detect(points, n, &opts, &d, NULL), PFC_OK));
    return d;
}

Test(limits_online, without_noise_two_newest_points_or_three_are_a_level)
{
    static const struct {
        double tail[4];
        size_t len;
        size_t changes,
            declared; /* of a metric without noise in its data, and of one declared exact */
    } rows[] = {
        { { 101 }, 1, 0, 1 },           { { 101, 101 }, 2, 1, 1 },
        { { 101, 102 }, 2, 0, 2 },      { { 101, 101, 100 }, 3, 0, 0 },
        { { 101, 100 }, 2, 0, 0 },      { { 101, 101, 101 }, 3, 1, 1 },
        { { 101, 101, 102 }, 3, 0, 2 }, { { 101, 102, 102 }, 3, 1, 2 },
        { { 101, 102, 100 }, 3, 0, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const size_t n = exact_series(rows[i].tail, rows[i].len, 1);
        pfc_detection d = detect(n, (pfc_detect_opts){ 0 });

        cr_assert(eq(sz, d.changes_len, rows[i].changes), "row %zu", i);
        pfc_detection_clear(&d);
        d = detect(n, (pfc_detect_opts){ .exact = true });
        cr_assert(eq(sz, d.changes_len, rows[i].declared), "row %zu, declared", i);
        pfc_detection_clear(&d);
    }
}

/* 1 % exactly is not below a floor of 1 %. Both directions, and which of them is worse. */
Test(limits_online, without_noise_a_floor_is_met_exactly)
{
    for (int down = 0; down < 2; down++) {
        const double v = down ? 99 : 101;
        const double rel = (v - 100) / 100;
        const size_t n = exact_series(&v, 1, 4);

        for (int higher = 0; higher < 2; higher++) {
            pfc_detect_opts opts = { .exact = true,
                                     .min_rel = fabs(rel),
                                     .higher_is_better = higher };
            pfc_detection d = detect(n, opts);

            cr_assert(eq(sz, d.changes_len, 1));
            cr_assert(eq(sz, d.changes[0].index, 30));
            cr_assert(d.changes[0].index_low == 30 && d.changes[0].index_high == 30);
            cr_assert(d.changes[0].before == 100 && d.changes[0].after == v);
            cr_assert(eq(dbl, d.changes[0].rel_change, rel));
            cr_assert(eq(dbl, d.changes[0].p, PFC_P_MIN));
            cr_assert(eq(int, d.changes[0].regression, down == higher));
            cr_assert(eq(dbl, d.noise_rel, 0));
            pfc_detection_clear(&d);
            opts.min_rel = nextafter(fabs(rel), 1);
            d = detect(n, opts);
            cr_assert(eq(sz, d.changes_len, 0));
            pfc_detection_clear(&d);
        }
    }
}

/* A level of 0 has no ratio: the change is by all, upwards or downwards. */
Test(limits_online, without_noise_a_change_from_zero_is_by_all)
{
    for (int down = -1; down <= 1; down += 2) {
        pfc_detection d;

        for (size_t i = 0; i < 20; i++)
            points[i] = (pfc_point){ .t = (double)i, .v = i < 10 ? 0 : 5 * down };
        d = detect(20, (pfc_detect_opts){ .exact = true });
        cr_assert(eq(sz, d.changes_len, 1));
        cr_assert(eq(dbl, d.changes[0].rel_change, down));
        cr_assert(eq(int, d.changes[0].regression, down > 0));
        pfc_detection_clear(&d);
    }
}

/* A change is settled by five points from its first on, of a metric declared exact by three:
 * where a further change makes it look just then. Without one the next look is due six points
 * after the first. */
Test(limits_online, without_noise_a_change_is_settled_by_its_fifth_or_third_point)
{
    static const struct {
        double tail[9];
        size_t len;
        bool declared;
        size_t settled_at; /* points seen; 0: not at all */
    } rows[] = {
        { { 103, 103, 103, 103, 105 }, 5, false, 35 },
        { { 103, 103, 103, 105 }, 4, false, 0 },
        { { 103, 105, 106 }, 3, true, 33 },
        { { 103, 105 }, 2, true, 0 },
        { { 103, 103, 103, 103, 103, 103, 103, 103, 103 }, 9, false, 36 },
        { { 103, 103, 103, 103, 103, 103, 103, 103, 103 }, 9, true, 36 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_detect_opts opts = { .exact = rows[i].declared };
        const size_t n = exact_series(rows[i].tail, rows[i].len, 1);
        size_t settled_at = 0;
        pfc_confirmed_changes settled;
        pfc_online o;

        cr_assert(eq(int, pfc_online_init(&o, &opts, NULL), PFC_OK));
        while (o.seen < n) {
            if (!pfc_online_append(&o, points, &space, &settled))
                continue;
            settled_at = settled_at ? settled_at : o.seen;
            cr_assert(settled.changes[0].index == 30 && settled.changes[0].confirmed);
        }
        cr_assert(eq(sz, settled_at, rows[i].settled_at), "row %zu", i);
    }
}

/* ---- when it looks ---- */

static void noise_at(size_t from, size_t to, double level, uint64_t seed)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = from; i < to; i++)
        points[i] = (pfc_point){ .t = (double)i, .v = level * exp(0.01 * pfc_rng_normal(&rng)) };
}

/* The first look at 12 points; then after as many again as there are, at least 8. */
Test(limits_online, looks_at_a_calm_series_thin_out)
{
    pfc_online o;
    uint32_t due;

    noise_at(0, MOST, 100, 3);
    cr_assert(eq(int, pfc_online_init(&o, NULL, NULL), PFC_OK));
    cr_assert(eq(int, o.due, 12));
    while (o.seen < 11) {
        pfc_online_append(&o, points, &space, NULL);
        cr_assert(eq(dbl, o.level.unit, 0));
    }
    pfc_online_append(&o, points, &space, NULL);
    cr_assert(gt(dbl, o.level.unit, 0));
    for (due = 24; due < MOST; due *= 2) {
        cr_assert(eq(int, o.due, due));
        while (o.seen < due)
            pfc_online_append(&o, points, &space, NULL);
        cr_assert(eq(int, o.rest, due));
        cr_assert(eq(int, o.open_len, 0));
    }
}

/* Distances from the level are kept as running sums of 1024ths of a sigma, each at most four
 * sigma. */
Test(limits_online, a_point_is_kept_as_its_distance_from_the_level)
{
    static const double off[] = { 0, 1, -1, 3.9, 4.1, -4.1, 100 };
    pfc_online o;

    noise_at(0, 40, 100, 3);
    cr_assert(eq(int, pfc_online_init(&o, NULL, NULL), PFC_OK));
    while (o.seen < 26)
        pfc_online_append(&o, points, &space, NULL);
    for (size_t k = 0; k < PFC_ARRAY_LEN(off); k++) {
        pfc_online one = o;
        const int32_t last = o.ring[(o.places - 1) % PFC_ONLINE_RING];
        double want = fmax(-4, fmin(4, off[k])) * 1024;

        points[26].v = exp(o.level.at + off[k] * o.level.unit);
        pfc_online_append(&one, points, &space, NULL);
        cr_assert(eq(int, one.ring[o.places % PFC_ONLINE_RING] - last, (int)lrint(want)), "%g",
                  off[k]);
        cr_assert(one.places == o.places + 1 && one.phase == o.phase + 1 && one.age == o.age + 1);
    }
    /* A value without a logarithm counts as the lowest possible one. */
    pfc_online one = o;

    points[26].v = -1;
    pfc_online_append(&one, points, &space, NULL);
    cr_assert(eq(int,
                 one.ring[o.places % PFC_ONLINE_RING] - o.ring[(o.places - 1) % PFC_ONLINE_RING],
                 -4096));
}

/* Three points in a row whose mean is five standard errors off make a look: 8.66 sigma in sum. */
Test(limits_online, a_find_needs_five_standard_errors)
{
    for (int side = -1; side <= 1; side += 2) {
        for (int more = 0; more < 2; more++) {
            const double each = side * (more ? 2.90 : 2.87); /* 5 / sqrt 3 = 2.8868 */
            pfc_online o;

            noise_at(0, 60, 100, 3);
            cr_assert(eq(int, pfc_online_init(&o, NULL, NULL), PFC_OK));
            while (o.seen < 25)
                pfc_online_append(&o, points, &space, NULL);
            /* A flat past, so that only the three newest points speak. */
            for (size_t i = 0; i < PFC_ONLINE_RING; i++)
                o.ring[i] = 0;
            o.level.inflate = 1;
            for (size_t i = 25; i < 28; i++) {
                points[i].v = exp(o.level.at + each * o.level.unit);
                pfc_online_append(&o, points, &space, NULL);
                if (i < 27)
                    cr_assert(eq(int, o.rest, 24), "no look yet");
            }
            /* After a search that was started by a possible change, the next one waits four points,
             * or eight if the search confirmed no change. */
            cr_assert(eq(int, o.rest, !more ? 24 : o.open_len > 0 ? 28 + 4 : 28 + 8));
        }
    }
}
