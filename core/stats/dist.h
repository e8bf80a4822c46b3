/*
 * Distributions that the tests need: the standard normal, Student's t, and fair coins. Pure
 * functions.
 */
#ifndef PFC_CORE_STATS_DIST_H
#define PFC_CORE_STATS_DIST_H

#include "core/base/base.h"

/** P(Z <= z). */
double pfc_stats_normal_cdf(double z);
/** Two-sided tail P(|Z| >= |z|), accurate far out. */
double pfc_stats_normal_tail2(double z);
/** z with P(Z <= z) = p, 0 < p < 1; relative error below 1e-15. Source: Wichura, AS 241, 1988. */
double pfc_stats_normal_quantile(double p);
/** P(|T| >= |t|) of Student's t with df > 0 degrees of freedom (any real number). */
double pfc_stats_student_tail2(double t, double df);
/** t with P(|T| >= t) = tail, 0 < tail < 1. */
double pfc_stats_student_cut(double tail, double df);
/** Largest r >= 0 with P(Binomial(n, 1/2) < r) <= tail: how many order statistics may be cut from
 *  each side of an interval for the median. Exact to n = 5000, normal above. */
size_t pfc_stats_sign_cut(size_t n, double tail);

#endif
