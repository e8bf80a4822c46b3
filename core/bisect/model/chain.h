/*
 * The measured commits in order, with their runs: the nodes of the model's hidden Markov chain and
 * the gaps between them. Private to core/bisect.
 */
#ifndef PFC_CORE_BISECT_CHAIN_H
#define PFC_CORE_BISECT_CHAIN_H

#include "core/bisect/input.h"
#include "core/bisect/model/observations.h"

/* A measured commit. */
typedef struct plan_node {
    size_t commit;
    size_t first, len; /* its runs in plan_chain.order */
    unsigned builds;   /* number of the highest build + 1 */
} plan_node;

/* Between node i and node i + 1. */
typedef struct plan_gap {
    double weight; /* prior weight of the commits in it; all gaps together 1 */
    bool atomic;   /* nothing measurable left inside */
} plan_gap;

typedef struct plan_chain {
    const plan_observations *seen;
    size_t *order; /* run indices by commit, build, time; owned */
    double *x;     /* of each run: value as the model uses it, corrected for drift; owned */
    double *scale; /* of each run: its noise relative to that of a plain run; owned */
    plan_node *nodes;
    plan_gap *gaps; /* len - 1 */
    size_t len;     /* nodes */
} plan_chain;

void plan_chain_init(plan_chain *chain, const plan_input *input, const plan_observations *seen);
void plan_chain_clear(plan_chain *chain);
/* Median x of the node's runs that have a value; NAN when none has. */
double plan_node_median(const plan_chain *chain, size_t node);
size_t plan_runs_of_last_build(const plan_chain *chain, size_t node);

#endif
