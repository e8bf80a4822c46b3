/* The functions of perfci-bench-detect. Each prints its result and returns an exit status. */
#ifndef PFC_BENCH_STUDIES_CHANGEPOINT_BENCH_H
#define PFC_BENCH_STUDIES_CHANGEPOINT_BENCH_H

#include "bench/studies/changepoint/corpus.h"
#include "bench/studies/changepoint/score.h"
#include "core/changepoint/changepoint.h"

/** CPU time of this process, which other processes on the machine do not change. */
int64_t pfc_bench_cpu_ns(void);
/** Runs perfci's detector on the first n points of a series, as `perfci detect` does. False, with a
 * message on stderr, when it rejects them. */
bool pfc_bench_detect_one(const pfc_labelled *series, size_t n, pfc_detection *out);
/** The indices of its changes; *out is the caller's to free (out->changes). */
bool pfc_bench_detect_answer(const pfc_labelled *series, pfc_answer *out);

/** perfci's detector and the rivals over the corpus, alternating series by series: scores, then
 * speed. `categories` adds F1 and false positives category by category. */
int pfc_bench_side_by_side(const pfc_corpus *corpus, bool categories);
/** perfci's detector alone, as one JSON object: the figures, and F1 (margin 2) by category. */
int pfc_bench_score(const pfc_corpus *corpus);
/* Parameters of the simulation of false discoveries. */
typedef struct pfc_fdr_plan {
    size_t commits, series;
    uint64_t seed;
    double
        shared; /* 0..1: share of the noise's variance that all series of a commit have in common */
    double changes; /* 0..1: chance that a commit slows a tenth of the series down */
} pfc_fdr_plan;
/** Prints how often alerts are opened, and how often by mistake. Returns the exit status. */
int pfc_bench_false_discoveries(const pfc_fdr_plan *plan);
/** Speed of whole analyses and of appended points, on made series. */
void pfc_bench_speed(uint64_t seed);

#endif
