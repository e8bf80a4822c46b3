/*
 * The open question of a bisection that used up its budget: how many commits can be the culprit,
 * which is the most probable, and how many more runs the planner expects. Sets of commits that no
 * number of runs can separate are a different case.
 */
#ifndef PFC_CORE_BISECT_REMAINING_H
#define PFC_CORE_BISECT_REMAINING_H

#include "core/base/buf.h"
#include "core/bisect/bisect.h"

typedef struct pfc_bisect_remaining {
    bool wants_more;    /* without the budget the search would continue */
    bool budget_used;   /* the plan's own budget is used up */
    size_t budget;      /* runs of the plan's own budget */
    size_t candidates;  /* commits in the credible set of the first bad one, at the confidence */
    size_t likeliest;   /* index of the most probable one */
    double probability; /* of it, at most 1 */
    double none; /* probability that there is no step at all; 1 before both ends are measured */
    double runs; /* mean of the runs still to come from the current posterior, at least 1 while
                            wants_more; the plan is played out as for pfc_bisect_expect */
} pfc_bisect_remaining;

/** As if there were no budget, from the observations so far; the plan does not change. */
void pfc_bisect_remaining_get(const pfc_bisect_plan *plan, pfc_bisect_remaining *out);
/** "Budget of 40 runs used; 12 candidates remain; most likely COMMIT (probability 0.41); 9 more
 * runs expected." `budget`: of the caller, else out->budget; `runs`: still to come. */
void pfc_bisect_remaining_say(const pfc_bisect_remaining *r, size_t budget, const char *commit,
                              double runs, pfc_buf *out);
/** Size of the credible set of a posterior p[0..n): the smallest set of commits with `confidence`
 * of its sum. *likeliest: the index of its largest value. */
size_t pfc_bisect_credible(const double *p, size_t n, double confidence, size_t *likeliest);

#endif
