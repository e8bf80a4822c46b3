/*
 * The stages of the detector, each a function of arrays: points -> values in units of their own
 * noise -> candidates -> decisions. Private to core/changepoint; pfc_stats_detect runs them in
 * order.
 */
#ifndef PFC_CORE_CHANGEPOINT_STAGES_H
#define PFC_CORE_CHANGEPOINT_STAGES_H

#include "core/changepoint/changepoint.h"
#include "core/changepoint/segment/segment.h"
#include "core/stats/stats.h"

struct pfc_level;

/* A series without its missing points. Arrays of n, in memory of `space`. */
typedef struct pfc_clean_series {
    size_t n;
    uint32_t *place;          /* position in the caller's points */
    double *y;                /* chosen summary of the point: logarithm, or the value itself */
    double *raw;              /* the value itself (summary chosen), for levels */
    const pfc_point *points;  /* the caller's; not owned */
    const pfc_point *last;    /* the newest point, when repeats are used; not owned */
    bool logged;              /* y is a logarithm */
    bool exact;               /* no noise: any lasting difference is a change */
    int summary;              /* of the repeats, see pfc_summary_of */
    double most;              /* what the values were divided by; 1 for logarithms */
    size_t places;            /* points of the whole series that a change could be at */
    size_t more;              /* points before these that are known and left out */
    double sigma;             /* noise of y around its level, > 0 unless exact */
    pfc_segment_space *space; /* not owned */
    double strict; /* nats a change must be rarer than by default; < 0: more are wanted */
} pfc_clean_series;

/** Of points[from..from + n). `known` (may be NULL): the level that a pass over nearly the same
 * points found; its summary and noise are taken over. False: the points do not fit it, and *track
 * must not be used. */
bool pfc_clean_series_init(pfc_clean_series *track, const pfc_point *points, size_t from, size_t n,
                           const pfc_detect_opts *opts, const struct pfc_level *known,
                           pfc_segment_space *space);
void pfc_clean_series_clear(pfc_clean_series *track);
/** Median seconds between points, NAN when times are unknown. `scratch` holds n values. */
double pfc_clean_series_step_s(const pfc_clean_series *track, double *scratch);
/** One value for a point: a way to summarise its repeats, chosen by pfc_clean_series_init; below 0:
 * v. */
double pfc_summary_of(const pfc_point *point, int summary, bool higher_is_better);

/* Noise of a residual series in units of the first guess. */
typedef struct pfc_noise {
    double sigma;    /* by the median absolute deviation */
    double freedom;  /* of the Student t that fits the tails */
    double inflate;  /* long-run variance over variance: 1 for independent points */
    double log_norm; /* log of the density at 0, residuals in sigma */
    double spikes;   /* share of points farther than 4 sigma */
} pfc_noise;

/** Noise of known tails (freedom) and correlation (inflate), with sigma 1. */
pfc_noise pfc_noise_known(double freedom, double inflate);
/** Noise of z[0..n) around the medians of its levels. `scratch` holds 2 n values. */
pfc_noise pfc_noise_of(const double *z, size_t n, const uint32_t *starts, size_t changes,
                       double *scratch);
/** 1.4826 median |difference| / sqrt 2: noise of a series with few changes; 0 when most are 0. */
double pfc_noise_of_steps(const double *y, size_t n, double *scratch);

/* A change as one pass over a series finds it. */
typedef struct pfc_found_change {
    pfc_change change; /* indices are positions in the caller's points */
    double z;          /* jump over its standard error; INFINITY without noise */
    double jump;       /* ... in sigma of a point */
    size_t before;     /* points of the level before, and after */
    size_t after;
    bool fixed;  /* was confirmed before this pass */
    bool shares; /* the machine states' shares changed, not a level */
} pfc_found_change;

/* A pass's description of the newest level: enough to decide whether a further point fits it. */
typedef struct pfc_level {
    double at;      /* in units of the summary: logarithm, or value over most */
    double unit;    /* sigma of a point; 0: no noise */
    double inflate; /* long-run variance over variance */
    double freedom; /* of the Student t that fits the tails */
    double gap;     /* up to the other machine state; 0: one state */
    double period;  /* of the wave in points; 0: none */
    double wave[4];
    double most;
    int32_t summary;
    int32_t degree; /* of the trend */
    bool logged;
} pfc_level;

/* One pass over a stretch of a series, with the confirmed changes taken as given. */
typedef struct pfc_detect_pass {
    bool whole;             /* other explanations than levels were tried */
    bool light;             /* the noise was taken over from an earlier pass */
    bool wanted;            /* ... and a pass that estimates it is justified */
    size_t from;            /* of the points */
    pfc_found_change *seen; /* by index; owned */
    size_t len;
    double noise_rel;
    size_t watching;
    pfc_level level;
    size_t points; /* that are not missing */
    bool exact;
} pfc_detect_pass;

/* The stretch that a pass covers, and whether levels alone are enough. */
typedef struct pfc_stretch {
    size_t from, to; /* of the points */
    size_t places;   /* points of the whole series that are not missing */
    pfc_confirmed_starts
        fixed; /* confirmed changes: positions in the points, ascending, within (from, to) */
    /* True when, after the pass with levels alone, a trend, a wave and machine states should be
     * tried, too. NULL: always. */
    bool (*worth)(const struct pfc_detect_pass *look, const void *user);
    const void *user;
    /* The noise is known: the pass tries levels alone, and sets `wanted` when a full pass is
     * justified. NULL: the noise is estimated. */
    const pfc_level *known;
    size_t more; /* points of the same noise before `from`, that a light pass leaves out */
} pfc_stretch;

/** Runs one pass over a stretch. The caller clears *look with pfc_detect_pass_clear. */
void pfc_detect_pass_run(pfc_detect_pass *look, const pfc_point *points, const pfc_stretch *stretch,
                         const pfc_detect_opts *opts, pfc_segment_space *space);
void pfc_detect_pass_clear(pfc_detect_pass *look);
/** PFC_EINVAL: an option is out of range. */
pfc_code pfc_detect_check(const pfc_detect_opts *opts, pfc_err *err) PFC_MUSTCHECK;
/** The wave at the i-th point of the stretch that is not missing, in units of the summary. */
double pfc_wave_at(const pfc_level *level, size_t i);

#endif
