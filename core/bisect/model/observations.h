/*
 * The observations of a plan: the runs so far, and the commits that cannot be measured. Nothing is
 * inferred here. Private to core/bisect.
 */
#ifndef PFC_CORE_BISECT_OBSERVATIONS_H
#define PFC_CORE_BISECT_OBSERVATIONS_H

#include "core/base/base.h"

typedef struct plan_run {
    size_t commit;
    unsigned build;
    double x;       /* signed logarithm of the value; larger is worse */
    bool timed_out; /* x is set by the model */
} plan_run;

typedef struct plan_observations {
    size_t commits; /* n */
    plan_run *runs; /* in the order they were made; owned */
    size_t len, cap;
    size_t spent;                /* runs, failed ones included */
    unsigned char *unmeasurable; /* [n]; owned */
    unsigned char *failures;     /* [n]: failed runs in a row; owned */
    size_t unmeasurable_len;
} plan_observations;

void plan_observations_init(plan_observations *seen, size_t commits);
plan_observations plan_observations_copy(const plan_observations *seen);
void plan_observations_clear(plan_observations *seen);

void plan_add_run(plan_observations *seen, const plan_run *run);
/* After three failed runs in a row the commit counts as unmeasurable. */
void plan_add_failure(plan_observations *seen, size_t commit);
void plan_add_unmeasurable(plan_observations *seen, size_t commit);

bool plan_has_run(const plan_observations *seen, size_t commit);
bool plan_has_build(const plan_observations *seen, size_t commit, unsigned build);
/* Unmeasurable commits strictly between a and b. */
size_t plan_unmeasurable_between(const plan_observations *seen, size_t a, size_t b);
bool plan_any_measurable_between(const plan_observations *seen, size_t a, size_t b);
/* A measurable commit strictly between a and b, as near to `target` as unmeasurable ones allow; 0:
 * none. */
size_t plan_pick(const plan_observations *seen, size_t a, size_t b, size_t target);

#endif
