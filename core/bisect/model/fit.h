/*
 * The steps of fitting the model, in this order: scales and grid (likelihood.c), drift (drift.c),
 * posterior (posterior.c). Private to core/bisect.
 */
#ifndef PFC_CORE_BISECT_FIT_H
#define PFC_CORE_BISECT_FIT_H

#include "core/bisect/model/model.h"

/* Estimates the machine's slow state and corrects chain.x for it; leaves x as it is where there is
 * none. */
void plan_correct_drift(plan_model *model);
/* Jumps, levels and courses from the grid of log likelihoods log_e[nodes][points]. */
void plan_posterior_compute(plan_model *model, const double *log_e);

#endif
