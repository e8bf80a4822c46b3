/* Recorded answers of the detector: see recorded.h. */
#include <string.h>

#include "core/base/rng.h"
#include "core/changepoint/online/online.h"

#include "tests/core/stats/recorded.h"
#include "tests/core/stats/recorded_series.h"

#define POINTS 320

static pfc_point points[POINTS];
static double repeats[POINTS][7];

typedef struct series {
    size_t n;
    double noise, step; /* of logarithms; the step is at `at` */
    size_t at;
    double slope, wave;               /* a point; amplitude, of 24 points */
    double state, share, share_after; /* gap of two states, and how often the upper one */
    double spikes, alike;             /* share of points 8 % up; correlation of neighbours */
    bool repeated, higher;
} series;

static void make(const series *s, uint64_t seed)
{
    double e = 0;
    bool up = false;
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    memset(points, 0, sizeof points);
    for (size_t i = 0; i < s->n; i++) {
        const double share = i < s->at ? s->share : s->share_after;
        double y = log(100) + s->slope * (double)i + (i >= s->at ? s->step : 0);

        e = s->alike * e + sqrt(1 - s->alike * s->alike) * s->noise * pfc_rng_normal(&rng);
        y += e + s->wave * sin(2 * M_PI * (double)i / 24);
        if (pfc_rng_double(&rng) < 0.5)
            up = pfc_rng_double(&rng) < share;
        y += up ? s->state : 0;
        y += pfc_rng_double(&rng) < s->spikes ? 0.08 : 0;
        points[i] = (pfc_point){ .t = 3600.0 * (double)i, .v = exp(y) };
        for (size_t k = 0; k < 7 && s->repeated; k++)
            repeats[i][k] = exp(y + 0.02 * fabs(pfc_rng_normal(&rng)));
        if (s->repeated) {
            points[i].v = repeats[i][3];
            points[i].repeats = repeats[i];
            points[i].repeats_len = 7;
        }
    }
}

static const series cases[] = {
    { .n = 120, .noise = 0.01, .step = 0.03, .at = 70 },
    { .n = 120, .noise = 0.01, .step = -0.03, .at = 114, .higher = true },
    { .n = 200, .noise = 0.01, .step = 0.05, .at = 120, .slope = 0.0004 },
    { .n = 240, .noise = 0.01, .step = 0.04, .at = 130, .wave = 0.03 },
    { .n = 300,
      .noise = 0.004,
      .step = 0.03,
      .at = 160,
      .state = 0.05,
      .share = 0.3,
      .share_after = 0.3 },
    { .n = 300, .noise = 0.004, .at = 150, .state = 0.06, .share = 0.05, .share_after = 0.8 },
    { .n = 200, .noise = 0.008, .step = 0.03, .at = 100, .spikes = 0.08 },
    { .n = 250, .noise = 0.01, .step = 0.06, .at = 140, .alike = 0.6 },
    { .n = 150, .noise = 0.003, .step = 0.02, .at = 90, .repeated = true },
    { .n = 60, .noise = 0.01, .step = 0.09, .at = 59, .repeated = true },
    { .n = 40, .noise = 0.01, .step = 0.05, .at = 37 },
    { .n = 240, .noise = 0.01, .step = 0.012, .at = 120 },
    { .n = 240, .noise = 0.01, .step = -0.010, .at = 100, .alike = 0.3 },
    { .n = 320, .noise = 0.02, .step = 0.02, .at = 200, .slope = -0.0002, .spikes = 0.03 },
};

Test(recorded, changes_of_series_are_what_they_were)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(cases); k++) {
        const pfc_detect_opts opts = { .higher_is_better = cases[k].higher };
        record r = { .len = 0 };
        pfc_detection d;

        make(&cases[k], 100 + k);
        cr_assert(eq(int, pfc_stats_detect(points, cases[k].n, &opts, &d, NULL), PFC_OK));
        note(&r, d.noise_rel);
        note(&r, (double)d.watching);
        for (size_t i = 0; i < d.changes_len && i < 5; i++) {
            const pfc_change *c = &d.changes[i];

            note(&r, (double)c->index);
            note(&r, (double)c->index_low);
            note(&r, (double)c->index_high);
            note(&r, c->before);
            note(&r, c->rel_change);
            note(&r, c->rel_low);
            note(&r, c->rel_high);
            note(&r, log(c->p));
            note(&r, c->regression + 2 * c->confirmed);
        }
        pfc_detection_clear(&d);
        check_recorded(&r, &recorded_changes[k]);
    }
}

/* When each change is settled, and what the detector keeps of the newest level then. */
Test(recorded, settled_changes_and_levels_are_what_they_were)
{
    static pfc_segment_space space;

    for (size_t k = 0; k < PFC_ARRAY_LEN(cases); k++) {
        const pfc_detect_opts opts = { .higher_is_better = cases[k].higher };
        record r = { .len = 0 };
        pfc_confirmed_changes settled;
        pfc_online o;

        make(&cases[k], 200 + k);
        cr_assert(eq(int, pfc_online_init(&o, &opts, NULL), PFC_OK));
        while (o.seen < cases[k].n) {
            if (!pfc_online_append(&o, points, &space, &settled))
                continue;
            note(&r, (double)o.seen);
            note(&r, (double)settled.changes[0].index);
        }
        note(&r, (double)o.due);
        note(&r, (double)o.rest);
        note(&r, (double)o.from);
        note(&r, (double)o.noised);
        note(&r, (double)o.open_len);
        note(&r, o.level.at);
        note(&r, o.level.unit);
        note(&r, o.level.inflate);
        note(&r, o.level.freedom);
        note(&r, o.level.gap);
        note(&r, o.level.period);
        note(&r, o.level.degree);
        note(&r, (double)o.ring[(o.places + PFC_ONLINE_RING - 1) % PFC_ONLINE_RING]);
        check_recorded(&r, &recorded_settled[k]);
    }
    pfc_segment_space_clear(&space);
}

/* Many series on the verge: trends, waves, states and spikes that just pay for themselves or
 * just do not. The record has the number of changes, the sums of their places and sizes,
 * and the number of watched points. */
static const series verges[] = {
    { .n = 90, .noise = 0.01, .step = 0.02, .at = 60, .slope = 0.0003 },
    { .n = 60, .noise = 0.01, .step = 0.02, .at = 40, .slope = -0.0008 },
    { .n = 160, .noise = 0.01, .step = 0.03, .at = 90, .wave = 0.012 },
    { .n = 90, .noise = 0.01, .step = 0.012, .at = 70 },
    { .n = 30, .noise = 0.01, .step = 0.04, .at = 26 },
    { .n = 150,
      .noise = 0.006,
      .step = 0.02,
      .at = 100,
      .state = 0.03,
      .share = 0.3,
      .share_after = 0.3 },
    { .n = 150, .noise = 0.004, .at = 75, .state = 0.04, .share = 0.1, .share_after = 0.6 },
    { .n = 120, .noise = 0.008, .step = 0.02, .at = 80, .spikes = 0.12 },
    { .n = 150, .noise = 0.01, .step = 0.025, .at = 100, .alike = 0.5 },
    { .n = 70, .noise = 0.004, .step = 0.015, .at = 66, .repeated = true },
    { .n = 50, .noise = 0.01, .step = 0.035, .at = 49, .repeated = true },
};

Test(recorded, changes_of_series_on_the_verge_are_what_they_were)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(verges); k++) {
        double sums[8] = { 0 };
        record r = { .len = 0 };

        for (uint64_t seed = 0; seed < 24; seed++) {
            series s = verges[k];
            pfc_detection d;

            s.step *= seed % 3 == 0 ? -1 : 1;
            s.slope *= 1 + 0.1 * (double)seed;
            s.wave *= 1 + 0.1 * (double)seed;
            s.state *= 1 + 0.05 * (double)seed;
            make(&s, 1000 * k + seed);
            cr_assert(
                eq(int, pfc_stats_detect(points, s.n, &(pfc_detect_opts){ 0 }, &d, NULL), PFC_OK));
            sums[0] += (double)d.changes_len;
            sums[1] += d.noise_rel;
            sums[2] += (double)(d.watching * (seed % 5 + 1));
            for (size_t i = 0; i < d.changes_len; i++) {
                const pfc_change *c = &d.changes[i];

                sums[3] += (double)(c->index * (seed + 1));
                sums[4] += (double)(c->index_high - c->index_low);
                sums[5] += fabs(c->rel_change);
                sums[6] += c->rel_high - c->rel_low;
                sums[7] += c->regression + 2 * c->confirmed;
            }
            pfc_detection_clear(&d);
        }
        for (size_t i = 0; i < 8; i++)
            note(&r, sums[i]);
        check_recorded(&r, &recorded_verges[k]);
    }
}
