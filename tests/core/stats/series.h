/* Seeded series for the detector's tests. */
#ifndef PFC_TESTS_CORE_STATS_SERIES_H
#define PFC_TESTS_CORE_STATS_SERIES_H

#include <math.h>
#include <string.h>

#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

#include "tests/check/check.h"

#define SERIES_MAX 1200

typedef struct series {
    pfc_point points[SERIES_MAX];
    size_t n;
} series;

static inline void series_put(series *s, size_t i, double v)
{
    s->points[i] = (pfc_point){ .t = 1.7e9 + 3600.0 * (double)i, .v = v };
    s->n = s->n > i ? s->n : i + 1;
}

/** n points around 100 with `noise` relative noise; from `at` on, `step` higher (relative). */
static inline void series_step(series *s, pfc_rng *rng, size_t n, double noise, size_t at,
                               double step)
{
    s->n = 0;
    for (size_t i = 0; i < n; i++)
        series_put(s, i, 100.0 * exp(noise * pfc_rng_normal(rng)) * (i >= at ? 1.0 + step : 1.0));
}

static inline pfc_detection series_detect(const series *s, const pfc_detect_opts *opts)
{
    pfc_detection out;
    pfc_err err = { 0 };
    cr_assert(eq(int, pfc_stats_detect(s->points, s->n, opts, &out, &err), PFC_OK), "%s", err.msg);
    return out;
}

static inline size_t series_alarms(const series *s)
{
    pfc_detection d = series_detect(s, NULL);
    size_t found = d.changes_len;
    pfc_detection_clear(&d);
    return found;
}

#endif
