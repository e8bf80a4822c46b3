/*
 * Parts of blocks.c: visits in the order of time, the two-way fit, the search for steps, the test
 * of a boundary. The planner (core/blocks/design.c) uses the look, which is the judgement without
 * the intervals: a twentieth of the work.
 */
#ifndef PFC_CORE_BLOCKS_BLOCKS_PRIV_H
#define PFC_CORE_BLOCKS_BLOCKS_PRIV_H

#include "core/blocks/blocks.h"
#include "core/blocks/pair_rounds.h"

/** A visit in the order of time. */
typedef struct pfc_spot {
    uint32_t build, block, position;
    double value;
    double y; /* its logarithm */
} pfc_spot;

/** log value = effect of the build + level of the machine + noise. */
typedef struct pfc_twoway {
    size_t builds;
    size_t *visits;    /* of each build */
    double *effect;    /* of each build, against the reference of its part; NAN: no visit */
    size_t *part;      /* builds of different parts never shared a level of the machine */
    double *precision; /* builds x builds, of the effects, in units of one visit's */
    double *cov;       /* its inverse within each part, with the reference's row 0 */
    double sigma;      /* noise of one visit; NAN: too few visits */
    double dof;        /* of sigma */
    size_t moves;      /* changes of the machine's level inside blocks */
} pfc_twoway;

/** The robust fit of n spots in the order of time. Clear it. */
void pfc_twoway_fit(const pfc_spot *spots, size_t n, size_t builds, size_t anchor, pfc_twoway *out);
void pfc_twoway_clear(pfc_twoway *fit);
/** Standard error of effect[to] - effect[from]; INFINITY when they are not connected. */
double pfc_twoway_se(const pfc_twoway *fit, size_t from, size_t to);

/** The machine's level at each of n >= 2 spots by a model with states, found together with the
 * effects (in: a first guess). sigma: scale of the noise, of Student's t with 4 degrees of freedom.
 */
void pfc_states_find(const pfc_spot *spots, size_t n, size_t builds, size_t anchor, double *effect,
                     double *level, double *sigma);

/** Evidence of the steps about one boundary. */
typedef struct pfc_step {
    double p;    /* that anything changed just here, given the steps elsewhere */
    double rel;  /* logarithm of the step, if there is one here */
    double se;   /* of it; INFINITY: nothing is known */
    bool chosen; /* one of the steps that explain the session, or the likeliest if there is none */
    size_t place_low, place_high; /* chosen: boundaries at which it may be as well */
} pfc_step;

/** Builds are levels with steps between them. present[0..m) are the builds with visits, ascending;
 *  steps[i] (i >= 1) is about the boundary before present[i]. Boundaries before builds below
 * `first` may always be steps. */
void pfc_steps_find(const pfc_twoway *fit, const size_t *present, size_t m, size_t first,
                    const bool *gap, pfc_step *steps);

/** The rounds that hold both builds, in the order of time; caller frees. */
pfc_round *pfc_rounds_of(const pfc_spot *spots, size_t n, uint32_t from, uint32_t to, size_t *len);

/** One boundary without intervals. */
typedef struct pfc_boundary_test {
    size_t from, to;
    bool gap; /* belongs to no commit of the session: never a step that is looked for */
    double log_change, log_se; /* by the fit */
    pfc_step step;             /* its places are indices of looks */
    double pair_p;             /* of the two builds' test, at all looks */
    double order_p; /* of the test by order (order_test.h) of the stretch that the boundary divides;
                       1: no test */
    bool decided; /* by order_p, among the boundaries of this series: the stretch is divided here */
    double p;     /* of both tests together */
    size_t rounds; /* that hold both */
} pfc_boundary_test;

struct pfc_orders;

/** As pfc_blocks_judge checks and sorts them; caller frees *out. */
pfc_code pfc_spots_sort(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts,
                        pfc_spot **out, pfc_err *err) PFC_MUSTCHECK;
/** Looks of all boundaries in the order of history; caller frees. The fit is the caller's to clear.
 *  known[0..known_len): earlier looks at fewer visits of the same builds, whose p is taken over
 * where no round came; may be empty. orders: has taken in the spots. */
pfc_boundary_test *pfc_blocks_test_boundaries(const pfc_spot *spots, size_t n,
                                              const pfc_blocks_opts *opts,
                                              struct pfc_orders *orders,
                                              const pfc_boundary_test *known, size_t known_len,
                                              pfc_twoway *fit, size_t *len);

/** A stretch ends there. */
static inline bool pfc_boundary_ends_stretch(const pfc_boundary_test *look)
{
    return look->decided || look->gap;
}

/** Divides the stretch of looks [first, len) at the steps that the order of the visits decides, one
 * after the other: fills in order_p and decided. Each test is of the place that the fit names; its
 * p counts the divisions before it. */
void pfc_stretches_divide(struct pfc_orders *orders, pfc_boundary_test *looks, size_t first,
                          size_t len, double alpha);

#endif
