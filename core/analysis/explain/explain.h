/*
 * Explains one run of a benchmark (what limits it, what would help), or the difference between two
 * (what changed, through which resource, by how much), from the stored run documents alone: nothing
 * is measured or simulated again.
 *
 * An explanation owns everything in it. Thread-safe for different explanations; the rules are read
 * only.
 */
#ifndef PFC_CORE_ANALYSIS_EXPLAIN_EXPLAIN_H
#define PFC_CORE_ANALYSIS_EXPLAIN_EXPLAIN_H

#include "core/analysis/delta/delta.h"
#include "core/analysis/flame/flame.h"
#include "core/analysis/functions/functions.h"
#include "core/analysis/guidance/guidance.h"
#include "core/analysis/limiter/limiter.h"
#include "core/analysis/metrics/metrics.h"
#include "core/wire/wire.h"

#define PFC_EXPLAIN_MAX_WARNINGS 16
#define PFC_EXPLAIN_MAX_REPEAT   8

/** Metrics, rules and guidance, loaded once. */
typedef struct pfc_explain_rules {
    pfc_metrics *accelerator, *cpu;
    pfc_limiter_rules *limiter;
    pfc_guidance *guidance;
} pfc_explain_rules;

/** The built-in ones, or those of the files in `dir` (NULL: built-in); a folder may hold some of
 *  the files only. Errors as of the loaders; *out is to be cleared in every case. */
pfc_code pfc_explain_rules_load(const char *dir, pfc_explain_rules *out,
                                pfc_err *err) PFC_MUSTCHECK;
void pfc_explain_rules_clear(pfc_explain_rules *rules);

/** A trace of a run that was made again from what the run recorded. */
typedef struct pfc_explain_trace {
    char *file;            /* NULL: there is none; owned */
    char unavailable[300]; /* why it was asked for and is not there; "": it was not asked for, or
                              is there */
} pfc_explain_trace;

/** One command of a stream. */
typedef struct pfc_stream_command {
    uint64_t commands; /* of the whole stream */
    char text[200];    /* in words; "": the stream has ended */
    char line[80];     /* of the schedule that it comes from; "": not known */
} pfc_stream_command;

/** The first command that two streams do not share. */
typedef struct pfc_stream_difference {
    char unavailable[300]; /* why it is not known; "": it is */
    bool equal;            /* there is none */
    uint64_t at;           /* number of the command, from 0 */
    pfc_stream_command before, after;
} pfc_stream_difference;

/** One benchmark of one run. */
typedef struct pfc_explain_side {
    char *run;    /* id of the run */
    char *commit; /* full id; NULL: not known */
    char *machine_class;
    double value;     /* of the metric: median of the samples */
    double low, high; /* 95 % interval; equal to value for exact metrics */
    size_t samples;
    pfc_profile profile;
    pfc_limiter_verdict verdict;
    pfc_metric_value metrics[PFC_METRICS_MAX];
    size_t metrics_len;
    pfc_explain_trace trace;
} pfc_explain_side;

/** How the metric of two runs was judged, by who compares runs. */
typedef struct pfc_explain_judged {
    const char *verdict; /* "regression", "improvement", "same", "inconclusive"; static text */
    double rel_change, rel_low,
        rel_high; /* of the metric, (after - before) / before; NAN: unknown */
    double p;     /* NAN: exact, or unknown */
} pfc_explain_judged;

typedef struct pfc_explanation {
    char *benchmark, *metric, *backend, *unit;
    bool higher_is_better, exact;
    bool pair;               /* false: `after` alone is explained, `before` is empty */
    pfc_explain_side before; /* of a pair */
    pfc_explain_side after;
    pfc_explain_judged judged; /* of a pair */
    pfc_delta *delta;          /* of a pair; NULL where it cannot be made, a warning says why */
    pfc_advice advice[PFC_GUIDANCE_MAX]; /* for `after` */
    size_t advice_len;
    /* Added by a caller that can measure or simulate again; NULL: not asked for. Owned. */
    pfc_stream_difference *stream;
    pfc_function_delta *functions;
    pfc_flame *flame;
    char
        *warnings[PFC_EXPLAIN_MAX_WARNINGS]; /* what the reader has to know first: fingerprints that
                                                 differ, counters that contradict each other */
    size_t warnings_len;
    char *repeat[PFC_EXPLAIN_MAX_REPEAT]; /* shell commands that make the numbers again */
    size_t repeat_len;
} pfc_explanation;

/** Which benchmark of a run. NULL for `metric`: cycles where the run has them, else time_ns, else
 *  the first metric of the benchmark. */
typedef struct pfc_explain_what {
    const char *benchmark, *backend; /* NULL: the only one of the run; else PFC_EINVAL names them */
    const char *metric;
} pfc_explain_what;

/**
 * Explains a benchmark of a run. PFC_ENOTFOUND when the run has no such benchmark, PFC_EINVAL when
 * `what` leaves more than one open (the message names some), PFC_EBROKEN with its reason when the
 * benchmark has no samples. pfc_explanation_clear ends *out in every case.
 */
pfc_code pfc_explain_run(const pfc_explain_rules *rules, const pfc_run *run,
                         const pfc_explain_what *what, pfc_explanation *out,
                         pfc_err *err) PFC_MUSTCHECK;

/**
 * Explains the difference of a benchmark between two runs. If `judged` is NULL, the change is
 * judged here, as `perfci compare` judges runs that were not interleaved. If `what` names no
 * benchmark, the benchmark is explained whose metric became worse by the largest share; if no
 * metric became worse, the one that improved most. Exact metrics are preferred to noisy ones.
 */
pfc_code pfc_explain_pair(const pfc_explain_rules *rules, const pfc_run *before,
                          const pfc_run *after, const pfc_explain_what *what,
                          const pfc_explain_judged *judged, pfc_explanation *out,
                          pfc_err *err) PFC_MUSTCHECK;

/** Adds a command to `repeat`, and a sentence to `warnings`; dropped when there is no room. */
void pfc_explanation_repeat(pfc_explanation *e, const char *fmt, ...) PFC_PRINTF(2, 3);
void pfc_explanation_warn(pfc_explanation *e, const char *fmt, ...) PFC_PRINTF(2, 3);
/** Adds the command that simulates the runs again and writes their traces, where they recorded what
 *  it takes: a kernel alone on the simulated accelerator, with the digest of its commands. */
void pfc_explanation_repeat_trace(pfc_explanation *e);
void pfc_explanation_clear(pfc_explanation *e);

/** A benchmark in the ranking of a suite. */
typedef struct pfc_explain_rank {
    char *benchmark, *backend;
    double total;         /* ticks */
    pfc_resource limiter; /* PFC_RESOURCE_NONE: inconclusive */
    double recoverable;   /* ticks that are saved without the limiter, at most */
    double ceiling;       /* ticks of the lower bound; 0: none is known */
    char advice[200];     /* the first change that is advised; "" when there is none */
} pfc_explain_rank;

/** All benchmarks of a run that have a total, those with the largest share of recoverable ticks
 *  first. *out and its texts are the caller's: pfc_explain_ranks_free. */
pfc_code pfc_explain_suite(const pfc_explain_rules *rules, const pfc_run *run,
                           pfc_explain_rank **out, size_t *len, pfc_err *err) PFC_MUSTCHECK;
void pfc_explain_ranks_free(pfc_explain_rank *ranks, size_t len);

/** The profile of a benchmark of a run: numbers and facts of all its measurements' extras, its
 *  parameters as "param_NAME", the medians of its metrics as "metric_NAME", and for a CPU the
 *  ceilings that were measured in the run. PFC_ENOTFOUND when the run has no such benchmark. */
pfc_code pfc_explain_profile(const pfc_run *run, const char *benchmark, const char *backend,
                             pfc_profile *out, pfc_err *err) PFC_MUSTCHECK;

#endif
