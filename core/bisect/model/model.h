/*
 * The likelihood model and its posterior. Private to core/bisect.
 *
 * Values are logarithms with a sign that makes worse larger. Each commit has a level; the level is
 * constant except for jumps, which lie between neighbours with the prior's weight. Levels lie on a
 * grid, so that a Student-t likelihood costs no more than a normal one. The measured commits, in
 * order, are then a hidden Markov chain: forward and backward sums give the probability of a jump
 * in each gap between two measured commits, all levels integrated out, in time proportional to
 * measured commits times grid points.
 *
 * likelihood.c fits scales and grid to the observations, drift.c estimates a slow state of the
 * machine, posterior.c computes the sums; model.c answers questions about the fitted model.
 */
#ifndef PFC_CORE_BISECT_MODEL_H
#define PFC_CORE_BISECT_MODEL_H

#include "core/bisect/model/chain.h"

#define PLAN_NU       5.0 /* degrees of freedom of one run's t: no outlier decides */
#define PLAN_GRID_MAX 160
#define PLAN_DRAWS    128 /* courses of the level drawn from the posterior */

/* Sizes in x. */
typedef struct plan_scales {
    double noise;    /* sd of one run */
    double layout;   /* sd between builds of one commit */
    double step;     /* step size that is searched for */
    double smallest; /* smallest step that counts */
    bool drift;      /* the machine has a slow state of its own: x is corrected by it */
} plan_scales;

typedef struct plan_grid {
    double low, pitch;
    size_t points;
} plan_grid;

/* A level change between node i and node i + 1. */
typedef struct plan_jump {
    double up, down; /* probability of a jump to worse, to better */
    double up_size;  /* expected size of a jump to worse, when there is one */
    double up_var;   /* its variance */
} plan_jump;

typedef struct plan_posterior {
    plan_jump *jumps;       /* [nodes - 1]; owned */
    double *levels;         /* [nodes]: mean level; owned */
    unsigned char *courses; /* [nodes][PLAN_DRAWS]: grid points, drawn together; owned */
    double none;            /* probability that nothing became worse */
} plan_posterior;

typedef struct plan_model {
    const plan_input *input;
    const plan_observations *seen;
    plan_chain chain;
    plan_scales scales;
    plan_grid grid;
    plan_posterior posterior;
    double further_weight; /* prior weight of a further step against none */
    bool further;          /* a step is found: step and further_weight are those of further ones */
} plan_model;

/* Fits the model to the observations, which must outlive it unchanged; without any run the chain is
 * empty. Clear it. */
void plan_model_fit(plan_model *model, const plan_input *input, const plan_observations *seen);
void plan_model_clear(plan_model *model);

/* A gap that holds a step with the plan's confidence and nothing measurable: its commits are a
 * culprit to name. */
bool plan_is_settled(const plan_model *model, size_t gap);
bool plan_any_settled(const plan_model *model);
/* One run shows in most cases on which side of a step of the size searched for it is. */
bool plan_is_clear(const plan_model *model);
/* Stretches wider than this part of the range are probed for a step and its repair. */
size_t plan_stretches(const plan_model *model);
/* The widest unmeasured stretch that is to be probed, as a gap; false: none. */
bool plan_widest(const plan_model *model, size_t *gap);
/* x of a node's first run: without noise, its value. */
double plan_first_x(const plan_model *model, size_t node);
/* Probability of a jump to worse in a gap; without noise the values decide it, 0 or 1. */
double plan_gap_up(const plan_model *model, size_t gap);

#endif
