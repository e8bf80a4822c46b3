/*
 * The expected gain of one measurement: information per cost. Private to core/bisect.
 */
#ifndef PFC_CORE_BISECT_GAIN_H
#define PFC_CORE_BISECT_GAIN_H

#include "core/bisect/model/model.h"

/* The best measurement so far, and its expected information. */
typedef struct plan_best {
    pfc_bisect_step step;
    double score; /* bits per cost */
    double bits;
} plan_best;

/* Bits that a value gives about a side of probability f, the levels d standard deviations apart. */
double plan_side_bits(double f, double d);
/* Precision about a level that one more run brings, of a new build (runs = 0) or of one with `runs`
 * runs. */
double plan_precision(const plan_scales *scales, size_t runs);
/* Replaces the best where bits / cost is larger. */
void plan_consider(plan_best *best, const pfc_bisect_step *step, double bits, double cost);
/* Another run of the node's commit: of its last build, or of a new one where that gives more. `f`:
 * probability that it is on the other side of a step of `size`. */
void plan_consider_node(const plan_model *model, size_t node, double f, double size,
                        plan_best *best);

#endif
