/*
 * The stages of the detector, each a function of arrays: points -> values in units of their own
 * noise -> candidates -> decisions. Private to core/stats; pfc_stats_detect strings them together.
 */
#ifndef PFC_CORE_STATS_DETECT_H
#define PFC_CORE_STATS_DETECT_H

#include "core/stats/segment.h"
#include "core/stats/stats.h"

/* What is left of a series after missing points are dropped. Arrays of n, owned. */
typedef struct pfc_track {
    size_t n;
    uint32_t *place;       /* position in the caller's points */
    double *y;             /* chosen summary of the point: logarithm, or the value itself */
    double *raw;           /* the value itself (summary chosen), for levels */
    const pfc_point *last; /* the newest point, when repeats are used; not owned */
    bool logged;           /* y is a logarithm */
    bool exact;            /* no noise: any lasting difference is a change */
    double step_s;         /* usual seconds between points; NAN when times are unknown */
    double sigma;          /* noise of y around its level, > 0 unless exact */
    double strict;         /* nats a change must be rarer than by default; < 0: more are wanted */
} pfc_track;

void pfc_track_init(pfc_track *track, const pfc_point *points, size_t n,
                    const pfc_detect_opts *opts);
void pfc_track_clear(pfc_track *track);

/* Noise of a residual series in units of the first guess. */
typedef struct pfc_noise {
    double sigma;    /* by the median absolute deviation */
    double freedom;  /* of the Student t that fits the tails */
    double inflate;  /* long-run variance over variance: 1 for independent points */
    double log_norm; /* log of the density at 0, residuals in sigma */
    double spikes;   /* share of points farther than 4 sigma */
} pfc_noise;

/** Noise of z[0..n) around the medians of its levels. `scratch` holds 2 n values. */
pfc_noise pfc_noise_of(const double *z, size_t n, const uint32_t *starts, size_t changes,
                       double *scratch);
/** 1.4826 median |difference| / sqrt 2: noise of a series with few changes; 0 when most are 0. */
double pfc_noise_of_steps(const double *y, size_t n, double *scratch);

#endif
