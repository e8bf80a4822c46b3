/*
 * The limiter of a run: the resource whose removal would save the most time, named from what one
 * run recorded. Two views give a verdict each:
 *
 *   trace     the recoverable ticks of each resource, projected from the run's trace (path/path.h)
 *             and stored with the run
 *   counters  rules over counters and constants of the chip, from a file (limiter.yaml)
 *
 * The trace's view is used where the run has one. A what-if re-simulation is the truth that the
 * verdicts are graded by; nothing here reads it.
 *
 * A run on a CPU (fact "backend" begins with "cpu", no number "cycles") has the counters' view
 * alone, by rules of its own: its place below the roofline. No truth is known there.
 *
 * The rules are a YAML file of expressions (expr/expr.h):
 *
 *   since        lowest N of the fact "simulator", "accel-N", whose counters have the meaning that
 *                the rules expect; a run without that fact is taken as it is
 *   definitions  named expressions
 *   savings      by resource: the share of the total that its removal is expected to save, from
 *                counters and constants alone. One that is not available makes the counters' view
 *                inconclusive, unless the expression states a default. Clamped to 0..1.
 *   least        a largest saving below this share names no limiter: inconclusive
 *   confidence   by view, a list of [ratio, probability]: `ratio` is (first - second) / first of
 *                the savings, increasing; the probability is interpolated between neighbours
 *   causes       list: id, resource (one or a list), value, threshold, text, and optionally below
 *                (true: the cause is there when value < threshold; else when value > threshold),
 *                when (a further condition), share, format (percent, number, bytes). In the text
 *                {value} and {threshold} stand for the numbers.
 */
#ifndef PFC_CORE_ANALYSIS_LIMITER_LIMITER_H
#define PFC_CORE_ANALYSIS_LIMITER_LIMITER_H

#include "core/analysis/profile/profile.h"

#define PFC_LIMITER_MAX_CAUSES 8

typedef enum pfc_limiter_view {
    PFC_LIMITER_BEST,     /* the trace's view where the run has one, else that of the counters */
    PFC_LIMITER_TRACE,    /* inconclusive where the run has no trace */
    PFC_LIMITER_COUNTERS, /* counters and constants alone */
} pfc_limiter_view;

/** Why the resource limits, for example "row misses take 31 % of the channels' time". */
typedef struct pfc_limiter_cause {
    char id[40];    /* of the rule: "row_misses" */
    char text[240]; /* a sentence with the measured value and the threshold */
    double share;   /* of the total, 0..1; NAN when the rule states none */
} pfc_limiter_cause;

typedef struct pfc_limiter_verdict {
    pfc_limiter_view view; /* TRACE or COUNTERS: which view the verdict is from */
    bool inconclusive;     /* `first` and `second` are PFC_RESOURCE_NONE then */
    char reason[240];      /* why it is inconclusive; "" otherwise */
    pfc_resource first;    /* the limiter */
    pfc_resource second;   /* the next one; PFC_RESOURCE_NONE: nothing else would save time */
    double confidence;     /* probability that `first` is the limiter, 0..1 */
    double
        saving[PFC_RESOURCES_LEN]; /* by resource: share of the total that its removal is expected
                                         to save, 0..1 */
    char disagreement[240]; /* how the other view's verdict differs; "" when it agrees or is none */
    pfc_limiter_cause causes[PFC_LIMITER_MAX_CAUSES]; /* of `first`, the largest share first */
    size_t causes_len;
} pfc_limiter_verdict;

typedef struct pfc_limiter_rules pfc_limiter_rules;

/** The built-in rules, or those of DIR/limiter.yaml; `dir` NULL: the built-in ones. For runs on a
 *  CPU those of DIR/limiter_cpu.yaml, without such a file the built-in ones. PFC_EINVAL names file,
 *  line and what was expected; PFC_ENOTFOUND, PFC_EIO as pfc_fs_read. */
pfc_code pfc_limiter_rules_load(const char *dir, pfc_limiter_rules **out,
                                pfc_err *err) PFC_MUSTCHECK;
/** The same of a text in memory; `name` is for messages. */
pfc_code pfc_limiter_rules_parse(const char *name, const char *text, size_t len,
                                 pfc_limiter_rules **out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_limiter_rules_free(pfc_limiter_rules *rules);

/** The verdict. Never fails: what is missing or contradictory makes it inconclusive with a reason.
 *  Thread-safe for one set of rules. */
void pfc_limiter_judge(const pfc_limiter_rules *rules, const pfc_profile *p, pfc_limiter_view view,
                       pfc_limiter_verdict *out);

#endif
