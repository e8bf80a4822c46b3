/*
 * The choice of the next measurement, as a function of the model alone: for noisy values (choose.c)
 * and for values without noise (exact.c). Private to core/bisect.
 */
#ifndef PFC_CORE_BISECT_CHOOSE_H
#define PFC_CORE_BISECT_CHOOSE_H

#include "core/bisect/choice/gain.h"

typedef enum plan_reason {
    PLAN_GO_ON,
    PLAN_DONE,   /* every step is named and no stretch is left to probe */
    PLAN_NULL,   /* the ends do not differ by more than the margin */
    PLAN_OPEN,   /* probably no step, and the runs that would show it cost too much */
    PLAN_NARROW, /* no further run gives enough for its cost */
    PLAN_BUDGET,
    PLAN_NO_END, /* an end cannot be measured */
} plan_reason;

plan_reason plan_choose(const plan_model *model, pfc_bisect_step *out);
plan_reason plan_exact_choose(const plan_model *model, pfc_bisect_step *out);
/* The run that gives most about all steps of nodes from..to at once, by the courses drawn.
 * (joint.c) */
void plan_joint(const plan_model *model, size_t from, size_t to, plan_best *best);

#endif
