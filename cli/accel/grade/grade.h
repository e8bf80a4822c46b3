/*
 * Grades of analyses on the simulated accelerator: verdicts from one run, compared with the truth
 * that simulations of the same run without each resource give. Private to cli/accel.
 */
#ifndef PFC_CLI_ACCEL_GRADE_GRADE_H
#define PFC_CLI_ACCEL_GRADE_GRADE_H

#include <jansson.h>

#include "cli/accel/grade/cases.h"
#include "core/analysis/limiter/limiter.h"

/* A case counts when removing the limiter saves at least this share of the run, and this much more,
 * as a share of its own saving, than removing any other resource. */
#define GRADE_LEAST_SAVING 0.01
#define GRADE_MARGIN       0.10
/* Cases that are drawn at most until one counts. */
#define GRADE_DRAWS        200

typedef enum grade_view { GRADE_TRACE, GRADE_COUNTERS, GRADE_VIEWS } grade_view;

/** A verdict, as far as it is graded. */
typedef struct grade_verdict {
    pfc_resource first, second; /* PFC_RESOURCE_NONE: inconclusive, or no second one */
    double confidence;
} grade_verdict;

/** One graded case. */
typedef struct grade_result {
    grade_case c;
    pfc_resource truth;
    double margin;  /* (first - second) / first of the simulated savings */
    uint64_t drawn; /* cases that were drawn until this one counted, with it */
    grade_verdict verdict[GRADE_VIEWS];
} grade_result;

/** The case number `index` of a seed: the same on every machine and in every order. PFC_EBUG when
 *  no drawn case counts. Thread-safe for one set of rules. (measure.c) */
pfc_code grade_measure(uint64_t seed, uint64_t index, const pfc_limiter_rules *rules,
                       grade_result *out, pfc_err *err) PFC_MUSTCHECK;

/** Sets what a run document has of a run: counters, constants of the chip, facts. (measure.c) */
pfc_code grade_profile_fill(pfc_profile *p, const pfc_accel_case *c, const pfc_accel_result *r,
                            pfc_err *err) PFC_MUSTCHECK;

/** Runs the kernel of a case, or the region around it, with a trace, and fills the profile as a run
 *  document has it, with its critical path. (measure.c) */
pfc_code grade_profile_run(pfc_accel_case *c, const grade_case *g, pfc_profile *p,
                           pfc_err *err) PFC_MUSTCHECK;
/** Cycles of the kernel, or of the region, without each resource, by simulation. (measure.c) */
pfc_code grade_simulate(pfc_accel_case *c, const grade_case *g, pfc_accel_whatif *out,
                        pfc_err *err) PFC_MUSTCHECK;

/* ---- tally.c ---- */

#define GRADE_BINS 8

typedef struct grade_share {
    uint64_t cases, right;
} grade_share;

/** The counts of one view. */
typedef struct grade_tally {
    uint64_t cases, inconclusive, top1, top2;
    grade_share by_resource[PFC_RESOURCES_LEN];
    grade_share by_confidence[GRADE_BINS]; /* of the verdicts that are not inconclusive */
    double confidence[GRADE_BINS];         /* sums of the stated confidences */
} grade_tally;

void grade_tally_add(grade_tally *tally, const grade_result *result, grade_view view);
/** Lower end of the 95 % confidence interval of a share (Wilson's score interval). */
double grade_low95(uint64_t right, uint64_t cases);
/** Members cases, decided, inconclusive, top1, top2, low95, top2_low95, by_resource, confidence;
 *  the caller owns it. */
json_t *grade_tally_json(const grade_tally *tally);
/** Lower and upper end of a bin of confidence. */
void grade_bin(size_t bin, double *low, double *high);

#endif
