/*
 * The noise between runs: two runs of the same code, made at different times, differ by more than
 * the launches of one run do, because the state of the machine lasts longer than a run (other load,
 * pages, frequency). A test over launches alone therefore calls equal code different: with recorded
 * noise in 12 to 41 of 210 rows of a comparison (bench/results/comparisons.md). The history of a
 * series shows how far its runs differ where nothing changed.
 */
#ifndef PFC_CORE_STATS_BETWEEN_RUNS_H
#define PFC_CORE_STATS_BETWEEN_RUNS_H

#include "core/stats/stats.h"

/* Fewest runs from which the noise is estimated: of 19 steps the two largest are left out. */
#define PFC_BETWEEN_LEAST 20

typedef struct pfc_between {
    double sigma;   /* standard deviation of one run's median, of logarithms; NAN: not known */
    double freedom; /* degrees of freedom of Student's t for it: a tenth of the steps */
} pfc_between;

/**
 * From the steps between neighbouring runs, |log(x[i + 1] / x[i])|: the larger of their median and
 * their 97.5 % quantile, each divided by that of the normal distribution. The quantile counts
 * spells in which the machine was slower; the largest fortieth, at least two steps, is left out,
 * because a change of the code is a step, too.
 *
 * medians  of the runs of one series in the order of history, > 0, relative to any unit
 * n        fewer than PFC_BETWEEN_LEAST, or a value that is not above 0: sigma is NAN
 *
 * A tenth of the steps as degrees of freedom: the quantile rests on a few of them, and the tail
 * beyond it is heavier than a normal one. Both constants are those with which recordings of equal
 * code give less than one different row of 210 (tests/core/stats/test_between.c). Pure;
 * thread-safe.
 */
pfc_between pfc_stats_between(const double *medians, size_t n);

/**
 * Judges a comparison of separate runs again, given the noise between runs. *r: of
 * pfc_stats_compare over the launches; its interval is widened to cover that of the difference of
 * two runs, and p becomes the probability of a difference as large between runs of equal code (two
 * sided, Student's t), or the test's own where that has not decided. DIFFERENT and SAME are kept
 * only where the widened interval says so, too; nothing becomes more certain.
 *
 * If r->few, the launches cannot decide, however far they are apart, and the noise between runs
 * decides: p is that of Student's t with a third of the degrees of freedom, SAME needs the widened
 * interval within the margin, DIFFERENT p below alpha and that interval beyond zero. A third:
 * recordings of equal code then give less than one different row of 210 with one to four launches,
 * too (bench/results/comparisons.md); with a half 1.08, with all 1.4.
 *
 * runs_a, runs_b  runs behind each side, >= 1: the noise of their median falls with the square root
 * alpha, margin   as in pfc_compare_opts; 0: 0.01
 *
 * between->sigma NAN or 0: *r is left alone. Pure; thread-safe.
 */
void pfc_stats_compare_between(pfc_compare_result *r, const pfc_between *between, size_t runs_a,
                               size_t runs_b, double alpha, double margin);

#endif
