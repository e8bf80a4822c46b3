/*
 * Change points of a series: points in the order of history in, levels and the changes between them
 * out. Deterministic, no I/O, no state kept; every function is thread-safe and leaves its inputs
 * alone. online.h replays a history point by point, stages.h declares the stages.
 */
#ifndef PFC_CORE_CHANGEPOINT_CHANGEPOINT_H
#define PFC_CORE_CHANGEPOINT_CHANGEPOINT_H

#include "core/base/err.h"

#define PFC_SERIES_MAX_POINTS 1000000

typedef struct pfc_point {
    double t;              /* Unix seconds; need not be regular; NAN: unknown */
    double v;              /* value; NAN: missing */
    const double *repeats; /* raw repeats behind v, NULL when unknown */
    size_t repeats_len;
    uint64_t machine_state; /* hash of the fingerprint; 0: unknown */
} pfc_point;

typedef struct pfc_detect_opts {
    bool higher_is_better;
    bool exact;     /* deterministic metric: any lasting difference is a change */
    double min_rel; /* policy floor of a relative change; 0: 0.005, or the noise of a point where
                       that is less; none for series without noise */
    double alpha;   /* expected false changes per series that has none; values of 0.5 and more are
                       equivalent; 0: 0.01, the value tuned on the development corpus */
} pfc_detect_opts;

typedef struct pfc_change {
    size_t index;                 /* first point of the new level */
    size_t index_low, index_high; /* 90 % set of where it is */
    double before, after;         /* levels */
    double rel_change, rel_low, rel_high;
    double p;        /* of a step this clear at a place named beforehand, at least PFC_P_MIN (also
                        where there is no noise); times the points of the series, of one anywhere */
    bool regression; /* worse, by the metric's direction */
    bool confirmed;  /* else provisional: too few points yet */
} pfc_change;

typedef struct pfc_detection {
    pfc_change *changes; /* by index */
    size_t changes_len;
    double noise_rel; /* relative noise of one point around its level */
    size_t watching;  /* newest points that may be a new level: those after the last change while
                         it is provisional, else those in a row that lie off their level (no more
                         than 7); 0: none */
} pfc_detection;

/** Series order of points that came in any order: order[k] is the position of the k-th by time;
 *  equal times keep their order. Unless every t is finite the order is that of the array. Returns
 *  true when that differs from the array's order. */
bool pfc_stats_series_order(const pfc_point *points, size_t n, size_t *order);
/** Change points of one series of n <= PFC_SERIES_MAX_POINTS points, given in series order (the
 *  history's; pfc_stats_series_order makes it from times); same points, same answer.
 *  *out is filled on PFC_OK; clear it. */
pfc_code pfc_stats_detect(const pfc_point *points, size_t n, const pfc_detect_opts *opts,
                          pfc_detection *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_detection_clear(pfc_detection *d);
/** Posterior ratio of a change to a spike for the newest found->watching points; above 1 a change
 * is more likely. Compares the changes of the series so far with its excursions of at least half
 * this size that returned, and with how often those continued for one more point. A point most of
 * whose repeats lie on the old level is not counted. Rates start from half a case each (Jeffreys'
 * prior): in a series without a history the ratio is 1, 2, 4, ... for 1, 2, 3, ... points. NAN: no
 * point is watched, or its level is zero. O(n log n). */
double pfc_stats_change_or_spike(const pfc_point *points, size_t n, const pfc_detection *found);

#endif
