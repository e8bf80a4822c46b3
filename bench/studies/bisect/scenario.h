/*
 * Made histories with known culprits: reading them, and measuring their commits.
 *
 * A scenario is a JSON file: the commits with their true values, what does not build, the noise of
 * the machine, what a detector would have hinted, and the truth to score against. A session is one
 * bisection of it: its noise is decided by scenario, session number and the order of calls.
 */
#ifndef PFC_BENCH_STUDIES_BISECT_SCENARIO_H
#define PFC_BENCH_STUDIES_BISECT_SCENARIO_H

#include "core/base/err.h"
#include "core/base/rng.h"

#define SCENARIO_MAX_SETS 64

typedef enum noise_kind {
    NOISE_GAUSSIAN,
    NOISE_LOGNORMAL,
    NOISE_OUTLIER,
    NOISE_BIMODAL,
    NOISE_DRIFT,
} noise_kind;

typedef struct commit_set {
    size_t first, last;
} commit_set;

typedef struct scenario {
    char *name, *group;
    size_t len;
    double *value, *layout;
    bool *broken, *touches;
    bool any_touches;
    bool higher_is_better;
    bool fixed_layout; /* builds cannot be linked with another layout */
    bool first_only;   /* one culprit is enough */
    double delta_hint, noise_hint, layout_hint, flaky_run, limit_runs;
    noise_kind kind;
    double cv, shape, rate, size, gap, flip, stationary, drift;
    commit_set truth[SCENARIO_MAX_SETS];
    size_t truth_len;
    uint64_t seed;
} scenario;

pfc_code scenario_load(scenario *s, const char *path, pfc_err *err) PFC_MUSTCHECK;
void scenario_clear(scenario *s);

typedef enum answer_kind { ANSWER_VALUE, ANSWER_BROKEN, ANSWER_FAILED } answer_kind;

typedef struct session {
    const scenario *s;
    uint64_t seed;
    pfc_rng rng;
    bool begun, slow; /* the bimodal machine */
    double level;     /* the drifting one */
    size_t runs, builds;
    unsigned char *built; /* of each commit: build 0 was made */
    unsigned *builds_of;  /* highest rebuild made */
} session;

void session_begin(session *n, const scenario *s, uint64_t number);
void session_end(session *n);
answer_kind session_measure(session *n, size_t commit, unsigned build, double *value);

#endif
