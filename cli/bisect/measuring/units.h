/*
 * Units of interleaved pairs: the runs of a commit and of the good commit's build, and the ratios
 * that the planner receives from them. Private to cli/bisect.
 *
 * Runs of one unit have its number, so that a resumed bisection continues inside a unit. The
 * reference of a unit is commit 0, except in pairs of a confirmation: they compare a commit with
 * the commit before it, and give its ratio to commit 0 as far as the ratio of that one is known.
 */
#ifndef PFC_CLI_BISECT_UNITS_H
#define PFC_CLI_BISECT_UNITS_H

#include "cli/bisect/state.h"
#include "core/bisect/bisect.h"
#include "core/bisect/pairing.h"

/* A value for the planner. */
typedef struct bisect_ratio {
    size_t commit;
    unsigned build;
    double ratio; /* to the good commit's build */
} bisect_ratio;

typedef struct bisect_units {
    pfc_pairing pairing;  /* the unit in progress, and the spread of earlier ones */
    bisect_ratio *ratios; /* of the commits' units, in order; owned */
    size_t len, cap;
    bisect_run subject; /* the first run of the unit in progress */
    bisect_run link;    /* first half of a confirmation's pair; unit 0: none */
} bisect_units;

void bisect_units_clear(bisect_units *units);
/* Is a unit in progress? */
bool bisect_units_open(const bisect_units *units);
/* The next run of the unit in progress, or the first run of a new unit for this question. */
bisect_run bisect_units_next(const bisect_units *units, const bisect_state *state,
                             const pfc_bisect_step *question);
/* Drops the unit in progress: its commit cannot be measured. */
void bisect_units_drop(bisect_units *units);
/* Adds a measured run; returns how many values for the planner it completed, at most 2. */
size_t bisect_units_add(bisect_units *units, const bisect_run *run, bisect_ratio out[2]);
/* The runs of a confirmation become units. */
void bisect_units_adopt(bisect_state *state);
/* Units of a commit as pairs of 1 and its ratio; free both. */
size_t bisect_units_of(const bisect_units *units, size_t commit, double **ones, double **ratios);
/* 1.4826 MAD of a unit about its commit's median, over all commits; NAN when unknown. */
double bisect_units_noise(const bisect_units *units);

#endif
