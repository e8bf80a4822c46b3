/*
 * The input of a plan: the checked options, the prior over commits, and the numbers that follow
 * from both. Nothing here changes after plan_input_init. Private to core/bisect.
 */
#ifndef PFC_CORE_BISECT_INPUT_H
#define PFC_CORE_BISECT_INPUT_H

#include "core/bisect/bisect.h"

#define PLAN_EXACT_NOISE 1e-5 /* less relative noise than this: one run decides */

typedef struct plan_input {
    pfc_bisect_opts opts; /* run_cost is above 0; prior is NULL: see cumulative */
    double *cumulative;   /* prior weight of commits 1..i, [0] = 0, [n - 1] = 1; owned */
    double sign;          /* of the logarithm of a value: makes worse larger */
} plan_input;

/* PFC_EINVAL with the option's name for an option out of range. Clear it. */
pfc_code plan_input_init(plan_input *input, const pfc_bisect_opts *opts,
                         pfc_err *err) PFC_MUSTCHECK;
plan_input plan_input_copy(const plan_input *input);
void plan_input_clear(plan_input *input);

/* The values carry no noise: see exact.h. */
bool plan_is_exact(const plan_input *input);
/* Of the logarithms of two equal values without noise: twice the rounding that a printed value may
 * carry. */
double plan_exact_tolerance(const plan_input *input);
double plan_confidence(const plan_input *input);
/* Runs allowed: opts.max_runs, else a default that grows with log2 n. */
size_t plan_budget(const plan_input *input);
/* The commit of (a, b] where the prior weight reaches a share of the gap's, at least a + 1. */
size_t plan_quantile(const plan_input *input, size_t a, size_t b, double share);

#endif
