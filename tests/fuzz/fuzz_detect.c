/*
 * The detector on arbitrary series. The first byte chooses options, and under libFuzzer the
 * property that is tried; then a value takes two bytes (small numbers, which make the interesting
 * series) or eight (any bit pattern).
 *
 * Properties: never a crash; a change lies in the series and in its own set, in order; the answer
 * repeats; another order of arrival, put in series order, gives the same answer; times 1024 only
 * scales it; turning the direction swaps the verdicts; what was confirmed before the newest points
 * came is confirmed still, at its place.
 */
#include <math.h>
#include <string.h>

#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

#include "tests/fuzz/fuzz.h"

#define POINTS_MAX   400
/* Under libFuzzer an execution tries one property, on few points: most of what can break does on
 * them, and an execution takes less than a millisecond. A confirmed change needs a longer history.
 */
#define POINTS_MOST  32
#define POINTS_STAYS 96

typedef struct input {
    pfc_point points[400];
    double repeats[400][3];
    size_t n;
    pfc_detect_opts opts;
    bool plain; /* values that may be scaled without rounding */
} input;

/* The property that one execution tries, when it tries one alone. */
enum { ORDER, DIRECTION, SCALE, STAYS };

static int property_of(uint8_t flags)
{
    return flags >> 6;
}

static void decode(input *in, const uint8_t *data, size_t size)
{
    uint8_t flags = size ? data[0] : 0;
    bool wild = flags & 8;
    size_t step = wild ? 8 : 2;
    size_t most = POINTS_MAX;
    in->n = 0;
    in->plain = !wild;
    if (FUZZ_ONE_FORM)
        most = property_of(flags) == STAYS ? POINTS_STAYS : POINTS_MOST;
    in->opts = (pfc_detect_opts){ .higher_is_better = flags & 1,
                                  .exact = (flags & 2) != 0,
                                  .min_rel = flags & 4 ? 0.01 : 0.0 };
    for (size_t at = 1; at + step <= size && in->n < most; at += step) {
        double v = 0.0;
        if (wild)
            memcpy(&v, data + at, sizeof v);
        else
            v = (flags & 16 ? 1000.0 : -100.0) + 0.25 * (double)(data[at] + (data[at + 1] << 3));
        pfc_point *p = &in->points[in->n];
        *p = (pfc_point){ .t = 60.0 * (double)in->n, .v = v };
        if (flags & 32) {
            for (size_t k = 0; k < 3; k++)
                in->repeats[in->n][k] = v + 0.5 * (double)(data[at] >> (2 * k) & 3);
            p->repeats = in->repeats[in->n];
            p->repeats_len = 3;
        }
        in->n++;
    }
}

static pfc_detection detect(const pfc_point *points, size_t n, const pfc_detect_opts *opts)
{
    pfc_detection out;
    FUZZ_CHECK(pfc_stats_detect(points, n, opts, &out, NULL) == PFC_OK);
    for (size_t k = 0; k < out.changes_len; k++) {
        const pfc_change *c = &out.changes[k];
        FUZZ_CHECK(c->index < n && c->index > 0);
        FUZZ_CHECK(c->index_low <= c->index && c->index <= c->index_high && c->index_high < n);
        FUZZ_CHECK(k == 0 || out.changes[k - 1].index < c->index);
        FUZZ_CHECK(c->p >= 0.0 && c->p <= 1.0);
        FUZZ_CHECK(isfinite(c->before) && isfinite(c->after));
    }
    return out;
}

static void same(const pfc_detection *a, const pfc_detection *b, bool turned)
{
    FUZZ_CHECK(a->changes_len == b->changes_len);
    for (size_t k = 0; k < a->changes_len; k++) {
        FUZZ_CHECK(a->changes[k].index == b->changes[k].index);
        if (turned)
            FUZZ_CHECK(a->changes[k].regression != b->changes[k].regression);
    }
}

static void check_order(const input *in, const pfc_detection *want)
{
    pfc_point mixed[POINTS_MAX] = { 0 };
    pfc_point again[POINTS_MAX];
    size_t order[POINTS_MAX];
    /* A step of 7 visits every point when 7 does not divide their number. */
    size_t n = in->n;
    if (n % 7 == 0)
        return;
    for (size_t i = 0; i < n; i++)
        mixed[i] = in->points[i * 7 % n];
    pfc_stats_series_order(mixed, n, order);
    for (size_t i = 0; i < n; i++)
        again[i] = mixed[order[i]];
    pfc_detection got = detect(again, n, &in->opts);
    same(want, &got, false);
    pfc_detection_clear(&got);
}

static void check_direction(input *in, const pfc_detection *want)
{
    /* With repeats the direction also chooses which of them are the quiet ones. */
    if (in->points[0].repeats)
        return;
    in->opts.higher_is_better = !in->opts.higher_is_better;
    pfc_detection got = detect(in->points, in->n, &in->opts);
    same(want, &got, true);
    pfc_detection_clear(&got);
    in->opts.higher_is_better = !in->opts.higher_is_better;
}

/* Values of zero and below are not put into logarithms: there a power of two is exact. */
static void check_scale(const input *in, const pfc_detection *want)
{
    pfc_point scaled[POINTS_MAX];
    bool below = false;
    for (size_t i = 0; i < in->n; i++) {
        scaled[i] = in->points[i];
        scaled[i].repeats = NULL;
        scaled[i].repeats_len = 0;
        scaled[i].v *= 1024.0;
        below = below || in->points[i].v <= 0.0;
    }
    if (!in->plain || !below || in->points[0].repeats)
        return;
    pfc_detection got = detect(scaled, in->n, &in->opts);
    same(want, &got, false);
    pfc_detection_clear(&got);
}

static void check_stays(const input *in, const pfc_detection *now)
{
    size_t n = in->n - PFC_MIN(in->n, (size_t)(1 + in->n % 9));
    pfc_detection before = detect(in->points, n, &in->opts);
    for (size_t k = 0; k < before.changes_len; k++) {
        const pfc_change *was = &before.changes[k];
        bool there = !was->confirmed;
        for (size_t i = 0; i < now->changes_len && !there; i++) {
            const pfc_change *c = &now->changes[i];
            there = c->confirmed && c->index == was->index && c->index_low == was->index_low &&
                    c->index_high == was->index_high;
        }
        FUZZ_CHECK(there);
    }
    pfc_detection_clear(&before);
}

static void check_again(const input *in, const pfc_detection *want)
{
    pfc_detection got = detect(in->points, in->n, &in->opts);
    same(want, &got, false);
    pfc_detection_clear(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static input in;
    int one = property_of(size ? data[0] : 0);
    decode(&in, data, size);
    pfc_detection first = detect(in.points, in.n, &in.opts);
    if (!FUZZ_ONE_FORM)
        check_again(&in, &first);
    if (in.n > 0) {
        if (!FUZZ_ONE_FORM || one == ORDER)
            check_order(&in, &first);
        if (!FUZZ_ONE_FORM || one == DIRECTION)
            check_direction(&in, &first);
        if (!FUZZ_ONE_FORM || one == SCALE)
            check_scale(&in, &first);
        if (!FUZZ_ONE_FORM || one == STAYS)
            check_stays(&in, &first);
    }
    pfc_detection_clear(&first);
    return 0;
}
