/*
 * Ways to find a culprit, all over the same measuring machine.
 */
#ifndef PFC_BENCH_STUDIES_BISECT_STRATEGY_H
#define PFC_BENCH_STUDIES_BISECT_STRATEGY_H

#include "bench/studies/bisect/scenario.h"

typedef struct finding {
    commit_set sets[SCENARIO_MAX_SETS];
    double probability[SCENARIO_MAX_SETS];
    size_t len;
    int64_t slowest_ns; /* decision */
} finding;

typedef void (*strategy_fn)(session *n, finding *out);

/* NULL: no strategy of this name. */
strategy_fn strategy_named(const char *name);
extern const char *const strategy_names[]; /* NULL at the end */

#endif
