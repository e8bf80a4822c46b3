/*
 * Strategies of other tools, from their published descriptions, on the same simulated measurements.
 */
#ifndef PFC_BENCH_STUDIES_BISECT_RIVALS_H
#define PFC_BENCH_STUDIES_BISECT_RIVALS_H

#include "bench/studies/bisect/strategy.h"

/**
 * Chromium's Pinpoint as of 2018 (catapult, dashboard/dashboard/pinpoint/models): both ends ten
 * times; neighbours in the list compared by Mann-Whitney and Kolmogorov-Smirnov, the smaller p:
 * different at p <= 0.01, the same above a threshold that real differences of the looked-for size
 * pass in 1 % of cases, else more attempts (doubling, 160 at most); a commit in the middle is added
 * between two that differ; 60 builds at most. A change to better counts as none. A commit that does
 * not build is replaced by its neighbour, which is kinder than the original.
 */
void rival_pinpoint(session *n, finding *out);
/** asv find: two processes a commit, then always into the half with the larger change. */
void rival_asv(session *n, finding *out);
/** git bisect: one run a commit, cut at the middle of the ends; also with more runs. */
void rival_git(session *n, finding *out);
void rival_halving_3(session *n, finding *out);
void rival_halving_5(session *n, finding *out);

#endif
