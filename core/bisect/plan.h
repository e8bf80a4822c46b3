/*
 * The plan: input, observations, and the model fitted to them when it is next needed. Private to
 * core/bisect.
 */
#ifndef PFC_CORE_BISECT_PLAN_H
#define PFC_CORE_BISECT_PLAN_H

#include "core/bisect/choice/choose.h"

struct pfc_bisect_plan {
    plan_input input;
    plan_observations seen;
    plan_model model;
    bool fitted; /* model fits the observations */
};

/* pfc_bisect_next, with the reason to stop. */
plan_reason plan_next(pfc_bisect_plan *plan, pfc_bisect_step *out);
/* The model of all observations; of no run: an empty chain. */
const plan_model *plan_fitted(pfc_bisect_plan *plan);
/* A copy whose model is not fitted; free it. */
pfc_bisect_plan *plan_clone(const pfc_bisect_plan *plan);

#endif
