/*
 * Inside of the bisection planner: what its files share. Not for other folders.
 *
 * The model. Values are looked at as logarithms, with a sign that makes worse larger. Each commit
 * has a level; the level is constant but for jumps, which lie between neighbours with the prior's
 * weight. Levels live on a grid, so that a Student-t likelihood costs no more than a normal one.
 * The measured commits, in order, are then a hidden Markov chain: forward and backward sums give
 * the probability of a jump in each gap between two measured commits, all levels integrated out,
 * in time proportional to measured commits times grid points.
 */
#ifndef PFC_CORE_BISECT_BISECT_PRIV_H
#define PFC_CORE_BISECT_BISECT_PRIV_H

#include "core/base/rng.h"
#include "core/bisect/finding.h"

#define PLAN_NU          5.0 /* tails of one run: heavy, so that an outlier cannot decide */
#define PLAN_GRID_MAX    160
#define PLAN_DRAWS       128  /* courses of the level that stand for all */
#define PLAN_FAILS       3    /* failed runs in a row that make a commit unmeasurable */
#define PLAN_EXACT_NOISE 1e-5 /* less relative noise than this: one run decides */

typedef struct plan_run {
    size_t commit;
    unsigned build;
    double x;  /* signed logarithm of the value; larger is worse */
    bool slow; /* timed out: x is set by the model */
} plan_run;

/* A measured commit as the model sees it. */
typedef struct plan_node {
    size_t commit;
    size_t first, len; /* its runs in plan_model.order */
    unsigned builds;   /* number of the highest build + 1 */
    double mean, sd;   /* of its level */
} plan_node;

/* Between node i and node i + 1. */
typedef struct plan_gap {
    double weight;   /* prior weight of the commits in it; all gaps together 1 */
    double up, down; /* probability of a jump to worse, to better */
    double up_size;  /* expected size of a jump to worse, when there is one */
    double up_var;   /* its variance */
    bool atomic;     /* nothing measurable left inside */
} plan_gap;

typedef struct plan_model {
    size_t *order; /* run indices by commit, build, time */
    double *x;     /* of each run, corrected for the machine's state */
    double *scale; /* of each run: its noise relative to `noise` */
    plan_node *nodes;
    plan_gap *gaps; /* nodes_len - 1 */
    size_t nodes_len;
    double noise;    /* sd of one run, in x */
    double layout;   /* sd between builds, in x */
    double step;     /* size looked for, in x */
    double smallest; /* step that counts */
    double more;     /* odds of a further step */
    bool further;    /* a step is found: these are odds and sizes of further ones */
    double low, pitch;
    size_t grid;
    bool state;            /* the machine has a slow state of its own */
    double none;           /* probability that nothing became worse */
    unsigned char *course; /* [nodes][PLAN_DRAWS]: grid points, drawn together */
} plan_model;

struct pfc_bisect_plan {
    pfc_bisect_opts opts;
    double *cumulative; /* prior weight of commits 1..i, [0] = 0, [n - 1] = 1 */
    double sign;
    plan_run *runs;
    size_t runs_len, runs_cap;
    size_t spent; /* runs told, failed ones included */
    unsigned char *broken;
    unsigned char *fails;
    size_t skipped;
    plan_model model;
    bool fresh; /* model fits the runs */
};

/* What next() found. */
typedef enum plan_reason {
    PLAN_GO_ON,
    PLAN_DONE,   /* every step that is there is named, nothing else is left to look at */
    PLAN_NULL,   /* the ends do not differ by more than the margin */
    PLAN_OPEN,   /* probably not, and the runs that would show it are not worth it */
    PLAN_NARROW, /* no run is worth its cost any more */
    PLAN_BUDGET,
    PLAN_NO_END, /* an end cannot be measured */
} plan_reason;

/* likelihood.c: fits plan->model to the runs. */
void plan_model_fit(pfc_bisect_plan *plan);
void plan_model_clear(plan_model *model);
/* posterior.c: jumps and levels from the grid of log likelihoods e[nodes][grid]. */
void plan_posterior(pfc_bisect_plan *plan, const double *e);
/* machine_state.c: estimates the machine's slow state and corrects x; leaves x alone when there is none. */
void plan_state(pfc_bisect_plan *plan);
/* choose.c */
/* A gap that surely holds a step and nothing measurable: a culprit to name. */
bool plan_settled(const pfc_bisect_plan *plan, size_t gap);
plan_reason plan_choose(pfc_bisect_plan *plan, pfc_bisect_step *out);
/* A run and what it tells. */
typedef struct plan_best {
    pfc_bisect_step step;
    double score; /* bits by cost */
    double bits;
} plan_best;

/* Precision about a level that one run more brings, as a fresh commit (runs = 0) or build. */
double plan_precision(const plan_model *m, size_t runs);
size_t plan_runs_of_last_build(const pfc_bisect_plan *plan, const plan_node *node);
void plan_consider(plan_best *best, size_t commit, unsigned build, double bits, double cost);
/* joint.c: the run that tells most about all steps of nodes from..to at once, by the courses drawn. */
void plan_joint(const pfc_bisect_plan *plan, size_t from, size_t to, plan_best *best);
/* finding.c: of a plan whose model fits. */
void plan_finding(const pfc_bisect_plan *plan, pfc_finding *out);
/* Is another run of the ends worth it, while the finding is open? */
bool plan_finding_worth(const pfc_bisect_plan *plan, const pfc_finding *finding);
/* exact.c: the same for values without noise. */
plan_reason plan_exact_choose(pfc_bisect_plan *plan, pfc_bisect_step *out);
/* The steps to worse; `open`: also in gaps that hold something not yet measured. */
void plan_exact_culprits(const pfc_bisect_plan *plan, pfc_bisect_report *out, bool open);

/* report.c */
void plan_report_add(pfc_bisect_report *report, const pfc_culprit *culprit);
/* Probability of a jump to worse in a gap; without noise the values say it, and the chain does not. */
double plan_gap_up(const pfc_bisect_plan *plan, size_t gap);

/* plan.c */
plan_reason plan_next(pfc_bisect_plan *plan, pfc_bisect_step *out);
bool plan_is_exact(const pfc_bisect_plan *plan);
double plan_confidence(const pfc_bisect_plan *plan);
size_t plan_budget(const pfc_bisect_plan *plan);
/* A measurable commit strictly between a and b, as near to `want` as broken ones allow; 0: none. */
size_t plan_pick(const pfc_bisect_plan *plan, size_t a, size_t b, size_t want);
/* The commit of (a, b] where the prior weight reaches a share of the gap's, at least a + 1. */
size_t plan_quantile(const pfc_bisect_plan *plan, size_t a, size_t b, double share);
/* One run tells which side of the step looked for it is on, for the most part. */
bool plan_clear(const pfc_bisect_plan *plan);
/* Stretches wider than this part of the range are looked into for a step and its repair. */
size_t plan_stretches(const pfc_bisect_plan *plan);
/* Widest unmeasured stretch, as a node index; stretches that are to be looked into only. */
bool plan_widest(const pfc_bisect_plan *plan, size_t *gap);
pfc_bisect_plan *plan_clone(const pfc_bisect_plan *plan);

#endif
