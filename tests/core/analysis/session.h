/*
 * Bisections over made histories, for the planner's tests: true levels, noise from a seed, commits
 * that do not build. Same history, same seed, same session.
 */
#ifndef PFC_TESTS_CORE_ANALYSIS_SESSION_H
#define PFC_TESTS_CORE_ANALYSIS_SESSION_H

#include "core/base/rng.h"
#include "core/bisect/bisect.h"

#define HISTORY_MAX 5000

typedef struct history {
    size_t len;
    double level[HISTORY_MAX];
    bool broken[HISTORY_MAX];
    bool hangs[HISTORY_MAX]; /* every run goes over its time */
    double noise;            /* relative */
    double layout;           /* relative, fixed for a commit's build */
    double flaky;            /* share of runs that fail */
} history;

typedef struct outcome {
    pfc_bisect_report report; /* clear it */
    size_t asked_broken;      /* how often a commit was asked for again after a skip */
    uint64_t trace;           /* hash of all steps */
} outcome;

/** One step of `size` (relative) in front of commit `culprit`; culprit = len: none. */
void history_step(history *h, size_t len, size_t culprit, double size, double noise);
/** Runs to the end. opts->commits is set here. */
void session_run(const history *h, pfc_bisect_opts opts, uint64_t seed, outcome *out);

#endif
