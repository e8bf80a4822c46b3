/*
 * Interleaved pairs: a build is measured alternately with a kept build of the reference, so that
 * effects of the machine on both, such as another clock frequency or another load, cancel.
 *
 * A unit is two pairs of runs, x r r x: the mean of their two differences is free of a linear
 * drift. The first two units have three pairs, because the spread of units is not known yet. When
 * the pairs of a unit differ by much more than those of other units, the machine changed its speed
 * between them: a third pair is added, and two more when no two of the three agree; the unit's
 * value is the median. No run is discarded, so neither side gains. The two consecutive runs of the
 * reference are a unit of the reference against itself, and measure the noise of a unit without
 * extra runs. Source: Kalibera & Jones, ISMM 2013, for measuring noise at the level where it
 * arises; the order x r r x is the balanced design of Student (1937) for two treatments under
 * drift.
 *
 * Pure, no I/O; one thread. A resumed bisection replays the values.
 */
#ifndef PFC_CORE_BISECT_PAIRING_H
#define PFC_CORE_BISECT_PAIRING_H

#include "core/base/base.h"

#define PFC_PAIRING_PAIRS 2 /* of a unit whose pairs agree */
#define PFC_PAIRING_MOST  5

/* Defined here so that it can be a member; only these functions access its fields. All zero: no run
 * yet. */
typedef struct pfc_pairing {
    double x[PFC_PAIRING_MOST],
        reference[PFC_PAIRING_MOST]; /* logarithms of the unit in progress */
    size_t runs;                     /* in it */
    double *spreads; /* |difference of the first two pairs|, of all units so far; owned */
    size_t len, cap;
} pfc_pairing;

/** A complete unit. */
typedef struct pfc_pairing_unit {
    size_t pairs;
    double ratio;   /* of the build to the reference */
    bool has_still; /* two pairs only */
    double
        still; /* the reference against itself, with the noise of a unit of two pairs; 1: equal */
} pfc_pairing_unit;

/** Is the next run of the unit one of the reference? */
bool pfc_pairing_reference_next(const pfc_pairing *p);
/** The value (> 0, finite) of the run that is next; true: the unit is complete, *out is set, the
 * next run begins another. */
bool pfc_pairing_add_value(pfc_pairing *p, double value, pfc_pairing_unit *out);
/** Drops the unit in progress: its build cannot be measured. */
void pfc_pairing_drop(pfc_pairing *p);
void pfc_pairing_clear(pfc_pairing *p);

/** One run. */
typedef struct pfc_noise_run {
    size_t group; /* runs of one build */
    double value; /* > 0, finite */
} pfc_noise_run;

/** How runs scatter about the median of their own group; groups of one run do not count. */
typedef struct pfc_noise_check {
    size_t runs;
    size_t outliers; /* outside the noise of the others, by enough to hide the step searched for */
    double farthest; /* relative */
    double correlation; /* of consecutive runs; 0 with too few */
    bool has_states;    /* the machine has speed states: compare in pairs */
} pfc_noise_check;

/** Detects two speeds, or a speed that drifts, by more than a share of a step of this relative size
 *  (0: any). `runs` in the order they were made. */
pfc_noise_check pfc_noise_check_runs(const pfc_noise_run *runs, size_t len, double step);

#endif
