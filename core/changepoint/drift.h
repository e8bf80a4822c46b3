/*
 * Slow drift: many small losses, none of which is a step. Tests whether the newest level of a
 * series differs from that of a reference stretch (a release, or some weeks ago) by more than its
 * steps account for.
 */
#ifndef PFC_CORE_CHANGEPOINT_DRIFT_H
#define PFC_CORE_CHANGEPOINT_DRIFT_H

#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

#define PFC_DRIFT_MIN_POINTS 30 /* fewer show no drift */

typedef struct pfc_drift {
    double before,
        after;         /* levels at the ends of the trend, steps taken out, in the values' unit */
    double rel_change; /* after over before, less one */
    double rel_low, rel_high; /* 95 % interval */
    double p;                 /* of a trend so steep without any, at least PFC_P_MIN */
} pfc_drift;

/**
 * The trend over points[0..n) once the steps in `changes` are taken out: Theil-Sen's slope, on
 * logarithms where all values are above 0; its significance by Mann-Kendall's test on the medians
 * of blocks, long enough that neighbouring ones hang together little.
 *
 * changes  as pfc_stats_detect gave them for these points; `changes_len` may be 0
 *
 * Returns false when there is nothing to say: fewer than PFC_DRIFT_MIN_POINTS values, or a level of
 * 0. O(n^2) in blocks (at most 60), O(n log n) in points. Thread-safe. Sources: Sen, J. Am. Stat.
 * Assoc. 63, 1968; Mann, Econometrica 13, 1945; Kendall 1975.
 */
bool pfc_stats_drift(const pfc_point *points, size_t n, const pfc_change *changes,
                     size_t changes_len, pfc_drift *out);

#define PFC_DRIFT_SIDE_MIN 5  /* points on either side of a reference */
#define PFC_DRIFT_SIDE_MAX 10 /* ... that are compared: more would average the drift away */

/**
 * The change since a reference (a release): the newest points against those up to points[at], the
 * nearest PFC_DRIFT_SIDE_MAX of each, steps taken out. Hodges-Lehmann's shift, on logarithms where
 * all values are above 0, with its 95 % interval.
 *
 * at   the last point of the reference, < n
 * out  rel_change, rel_low, rel_high, before, after; p is left alone
 *
 * Returns false with fewer than PFC_DRIFT_SIDE_MIN values on a side, or a level of 0. Thread-safe.
 */
bool pfc_stats_drift_since(const pfc_point *points, size_t n, const pfc_change *changes,
                           size_t changes_len, size_t at, pfc_drift *out);

#endif
