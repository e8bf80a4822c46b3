/*
 * Recorded numbers: answers of tuned methods on fixed data, for which there is no formula short of
 * the method itself. They notice a constant, a sign or a limit that changed without intent. Where a
 * change is intended, first measure it on the development corpus (bench/), then copy the numbers
 * out of the failed assertion.
 */
#ifndef PFC_TESTS_CORE_STATS_RECORDED_H
#define PFC_TESTS_CORE_STATS_RECORDED_H

#include <math.h>
#include <stdio.h>

#include "tests/check/check.h"

#define RECORDED_MOST 48

typedef struct record {
    const char *what;
    size_t len;
    double v[RECORDED_MOST];
} record;

static inline void note(record *r, double v)
{
    cr_assert(lt(sz, r->len, RECORDED_MOST));
    r->v[r->len++] = v;
}

/* * Relative to 1e-5 of the larger of the number and 1e-3: another C library may round another
 * way. */
static inline void check_recorded(const record *got, const record *want)
{
    char text[RECORDED_MOST * 24] = "";
    bool same = got->len == want->len;

    for (size_t i = 0, at = 0; i < got->len; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.8g", i ? ", " : "", got->v[i]);
        same = same && (got->v[i] == want->v[i] ||
                        fabs(got->v[i] - want->v[i]) <= 1e-5 * fmax(fabs(want->v[i]), 1e-3));
    }
    cr_assert(same, "\"%s\", %zu, { %s }", want->what, got->len, text);
}

#endif
