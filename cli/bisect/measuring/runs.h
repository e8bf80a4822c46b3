/*
 * Figures of the runs so far. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_RUNS_H
#define PFC_CLI_BISECT_RUNS_H

#include "cli/bisect/state.h"

/* The first run with a value, NULL: none. */
const bisect_run *bisect_first_measured(const bisect_state *state);
/* All values of a commit, confirmations included; free it. */
double *bisect_values_of(const bisect_state *state, size_t commit, size_t *len);
/* A build's cost in runs; 0 while unknown. */
double bisect_build_cost(const bisect_state *state);
size_t bisect_confirm_runs(const bisect_state *state);
size_t bisect_build_count(const bisect_state *state);

/* Median seconds of a measurement and of a build; 0 when unknown. */
typedef struct bisect_costs {
    double measure_s, build_s;
} bisect_costs;

bisect_costs bisect_costs_of(const bisect_state *state);

/* The runs of one commit. */
typedef struct bisect_side {
    size_t commit, runs, builds, layouts; /* layouts: builds with another layout */
    double median, noise_rel;             /* NAN without runs; noise: 1.4826 MAD / median */
} bisect_side;

bisect_side bisect_side_of(const bisect_state *state, size_t commit);

#endif
