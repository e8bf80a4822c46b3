/*
 * The mirror image of a comparison: the same data with both sides exchanged, or with every value
 * replaced by its inverse, must give the same verdict and p, the negative shift, and an interval
 * whose ends have exchanged their places and signs. Shifts are logarithms.
 */
#ifndef PFC_TESTS_CORE_STATS_MIRROR_H
#define PFC_TESTS_CORE_STATS_MIRROR_H

#include <math.h>

#include "core/stats/stats.h"

#include "tests/check/check.h"

/** Equal, or both the same infinity, or nearly equal relative to `slack`. */
static inline bool near_to(double x, double y, double slack)
{
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= slack * fmax(1.0, fabs(y));
}

/** Of relative changes: (1 + x) (1 + y) = 1; -1 and infinity belong together. */
static inline bool opposite(double x, double y, double slack)
{
    return near_to(log1p(x), -log1p(y), slack);
}

static inline void check_mirrored(const pfc_compare_result *x, const pfc_compare_result *y,
                                  double slack, const char *what)
{
    cr_assert(eq(int, (int)x->verdict, (int)y->verdict), "%s", what);
    cr_assert(opposite(x->rel_change, y->rel_change, slack), "%s: %g and %g", what, x->rel_change,
              y->rel_change);
    cr_assert(opposite(x->rel_low, y->rel_high, slack), "%s: %g and %g", what, x->rel_low,
              y->rel_high);
    cr_assert(opposite(x->rel_high, y->rel_low, slack), "%s: %g and %g", what, x->rel_high,
              y->rel_low);
    cr_assert(near_to(log(x->p), log(y->p), slack), "%s: p %g and %g", what, x->p, y->p);
    cr_assert(near_to(x->noise_rel, y->noise_rel, slack), "%s: noise %g and %g", what, x->noise_rel,
              y->noise_rel);
    cr_assert(near_to(x->detectable_rel, y->detectable_rel, slack), "%s: detectable %g and %g",
              what, x->detectable_rel, y->detectable_rel);
}

#endif
