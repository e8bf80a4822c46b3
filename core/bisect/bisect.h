/*
 * Bayesian bisection planner: which commit to measure next, and when to stop. Pure, deterministic
 * for a seed, no I/O; a plan is used by one thread.
 *
 * Commits are indices 0 .. n-1, oldest first; 0 is the good commit, n-1 the bad one, and both are
 * the ends of the range. The plan holds the posterior of "commit i is the first bad one" and of
 * "there is no step", with a Student-t likelihood. The next measurement is the one with the largest
 * mutual information per cost. Both ends are measured first. Several steps are found by searching
 * both sides of each, unless the first one named is enough.
 */
#ifndef PFC_CORE_BISECT_BISECT_H
#define PFC_CORE_BISECT_BISECT_H

#include "core/base/err.h"

#define PFC_BISECT_MAX_COMMITS 100000
#define PFC_BISECT_MAX_RUNS    100000
#define PFC_BISECT_TOUCH_SHARE 0.8

typedef struct pfc_bisect_plan pfc_bisect_plan;

typedef struct pfc_bisect_opts {
    size_t commits; /* n >= 2, both ends included */
    bool higher_is_better;
    double confidence;       /* 0: 0.99 */
    double noise_rel;        /* known run-to-run noise (relative sd); 0: estimated */
    double layout_noise_rel; /* known build-to-build noise; 0: none known */
    double delta_rel;        /* known signed change, bad against good; 0: estimated */
    double margin;           /* largest change to worse that does not count; 0: see finding.h */
    bool paired;             /* values are ratios to the good commit's build, whose level is 1 */
    bool relink;             /* builds can be redone with another layout (build > 0) */
    bool first_only;         /* stop at the first step that is named; others are not searched for */
    size_t max_runs;         /* 0: a default growing with log2 n */
    double run_cost, build_cost, checkout_cost; /* relative costs; 0: 1, 0, 0 */
    const double *prior; /* weight of each commit (index 1..n-1 used), > 0; NULL: equal */
    bool exact;          /* values carry no noise, unless noise_rel says otherwise */
    uint64_t seed;
} pfc_bisect_opts;

typedef enum pfc_bisect_act {
    PFC_BISECT_MEASURE, /* measure `commit` with `build` once and add the run */
    PFC_BISECT_STOP,
} pfc_bisect_act;

typedef struct pfc_bisect_step {
    pfc_bisect_act act;
    size_t commit;
    unsigned build; /* 0, or n for the n-th rebuild (only with relink) */
    double expected_gain_bits;
} pfc_bisect_step;

typedef enum pfc_bisect_verdict {
    PFC_BISECT_FOUND,
    PFC_BISECT_RANGE,         /* a set of commits that could not be separated */
    PFC_BISECT_NO_REGRESSION, /* shown: see finding.h */
    PFC_BISECT_INCONCLUSIVE,
} pfc_bisect_verdict;

/** "found", "range", "no-regression", "inconclusive". */
const char *pfc_bisect_verdict_name(pfc_bisect_verdict verdict);
/** The verdict names culprits: found, or range. */
bool pfc_bisect_verdict_names(pfc_bisect_verdict verdict);

typedef struct pfc_culprit {
    size_t first, last; /* the set of commits, inclusive; one commit: first == last */
    double probability;
    double rel_change, rel_low, rel_high;
    bool unmeasurable; /* several commits, because only the last one can be measured */
} pfc_culprit;

typedef struct pfc_bisect_report {
    pfc_bisect_verdict verdict;
    pfc_culprit *culprits; /* owned by the report, the most probable first */
    size_t culprits_len;
    size_t runs, builds, commits_measured;
} pfc_bisect_report;

/** The prior of commits of which some touch the benchmark's files: weights[1..len) share
 * PFC_BISECT_TOUCH_SHARE of it, the rest is spread evenly, so that a wrong prior costs some runs
 * and never the answer. NULL when the weights distinguish no commits; free it. */
double *pfc_bisect_prior(const double *weights, size_t len);
pfc_code pfc_bisect_new(pfc_bisect_plan **out, const pfc_bisect_opts *opts,
                        pfc_err *err) PFC_MUSTCHECK;
void pfc_bisect_free(pfc_bisect_plan *plan);
/** The next step; a pure function of the options and the observations so far. */
void pfc_bisect_next(pfc_bisect_plan *plan, pfc_bisect_step *out);
/** A run of `commit` gave `value` (> 0, finite). */
pfc_code pfc_bisect_add_run(pfc_bisect_plan *plan, size_t commit, unsigned build, double value,
                            pfc_err *err) PFC_MUSTCHECK;
/** `commit` cannot be measured, for example because it does not build: it is not chosen again. */
void pfc_bisect_skip(pfc_bisect_plan *plan, size_t commit);
/** A run failed but may succeed when repeated; after three failures in a row the commit is
 * skipped. */
void pfc_bisect_add_failure(pfc_bisect_plan *plan, size_t commit);
/** A run timed out: it counts as slow, which is evidence for the bad side. */
void pfc_bisect_add_timeout(pfc_bisect_plan *plan, size_t commit);
/** Probability that commit i is a first bad one, out[0..n). */
void pfc_bisect_posterior(const pfc_bisect_plan *plan, double *out);
/** Expected further cost: means over a few simulations of the plan, in bounded time. */
typedef struct pfc_bisect_cost {
    double runs, builds; /* builds: of commits and layouts without a build so far */
    double runs_most;    /* of the longest simulation */
} pfc_bisect_cost;

/** For progress and --dry-run; all zero when the plan has stopped. */
void pfc_bisect_expect(const pfc_bisect_plan *plan, pfc_bisect_cost *out);
/** Its `runs` alone. */
double pfc_bisect_expected_runs(const pfc_bisect_plan *plan);
/** The answer so far. *out: clear with pfc_bisect_report_clear. */
void pfc_bisect_report_get(const pfc_bisect_plan *plan, pfc_bisect_report *out);
void pfc_bisect_report_clear(pfc_bisect_report *report);

#endif
