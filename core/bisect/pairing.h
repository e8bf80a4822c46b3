/*
 * Measuring by difference: a build in turns with a kept build of the reference, in one stretch of
 * time, so that what the machine does to both (another clock, another neighbour) falls out.
 *
 * A unit is two pairs of runs, x r r x: the mean of their two differences is free of a linear
 * drift. The first two units are three pairs, for nothing is known of noise yet. Where the pairs
 * disagree by far more than those of other units do, the machine changed its speed in their midst:
 * a third pair is taken, and two more when no two of the three agree; their median counts. Nothing
 * is thrown away, so no side gains by it. The two runs of the reference lie side by side and are a
 * unit of the reference against itself that costs nothing: the honest measure of a unit's noise.
 * Source: Kalibera & Jones, ISMM 2013, for taking noise at the level where it arises; the order x r
 * r x is the balanced design of Student (1937) for two treatments under drift.
 *
 * Pure, no I/O; one thread. A search that is resumed replays the values.
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

/** Two speeds, or a speed that wanders, as far as it is worth minding for a step of this relative
 * size (0: any). runs in the order they were made. */
pfc_noise_check pfc_noise_check_runs(const pfc_noise_run *runs, size_t len, double step);

#endif
