/*
 * The plan of a local bisection: made from the options and the runs so far. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_PLANNING_H
#define PFC_CLI_BISECT_PLANNING_H

#include "cli/bisect/measuring/measuring.h"
#include "cli/bisect/measuring/units.h"

typedef struct bisect_planning {
    const bisect_opts *opts;
    const bisect_axis *axis;
    const bisect_measuring *measuring;
    const bisect_state *state;
    pfc_bisect_plan *plan;
    bisect_units units;
    bool higher_is_better;
} bisect_planning;

/* A new plan from all runs so far. */
pfc_code bisect_planning_remake(bisect_planning *planning, pfc_err *err) PFC_MUSTCHECK;
/* Adds a run to the plan. */
pfc_code bisect_planning_add(bisect_planning *planning, const bisect_run *run,
                             pfc_err *err) PFC_MUSTCHECK;
/* Adds the newest run, or makes a new plan where the run changes its options: the direction of the
 * metric, that it is exact, the cost of a build. */
pfc_code bisect_planning_update(bisect_planning *planning, const bisect_run *run,
                                pfc_err *err) PFC_MUSTCHECK;
void bisect_planning_clear(bisect_planning *planning);
/* Runs that a question of the plan takes on average; 1 without pairs. */
double bisect_runs_per_question(const bisect_planning *planning);

#endif
