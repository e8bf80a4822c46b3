/*
 * Sequential comparisons: a caller may evaluate them after every value and stop at any time, and
 * the error rate stays alpha. pfc_stats_compare, evaluated repeatedly, would not keep it: at alpha
 * = 0.01 and 200 looks it reports noise as a difference in one comparison of ten.
 *
 * What is kept is an e-process: a number that starts at 1, of which no strategy of stopping can
 * expect more than 1 while both sides are equally fast, so that it ever reaches 1 / alpha with
 * probability alpha at most (Ville 1939). p is 1 over the largest seen so far; the interval holds
 * the shifts whose own e-process has not reached 1 / alpha, at all looks together: it covers the
 * true shift at every moment at once. Both only ever narrow.
 *
 * PFC_SEQ_NORMAL  Mixture of t likelihood ratios: the standardised shift is drawn from N(0, 10),
 *                 the spread has the invariant prior. Exact at every n when the differences of
 *                 logarithms are normal with any spread; heavy tails make it slower, not wrong.
 *                 Unpaired: the smallest product of the two sides' e-processes over the unknown
 *                 common level, which allows a spread and a count of its own for each side.
 *                 Sources: Lai, Ann. Statist. 4, 1976; Wang & Ramdas, arXiv 2310.03722, 2024.
 * PFC_SEQ_SIGN    Krichevsky-Trofimov bets on the signs of the differences, the interval by order
 *                 statistics: exact for every distribution of the differences that is symmetric or
 *                 without ties, at the price of pairs (at alpha = 0.01 not before the tenth).
 *                 Unpaired values are taken as pairs in the order they came.
 *                 Sources: Krichevsky & Trofimov 1981; Howard & Ramdas, Bernoulli 28, 2022.
 *
 * Deterministic; a pfc_seq is not shared between threads. Exact metrics need none of this:
 * pfc_stats_compare with `exact` decides them at the first pair.
 */
#ifndef PFC_CORE_STATS_SEQUENTIAL_H
#define PFC_CORE_STATS_SEQUENTIAL_H

#include "core/stats/stats.h"

typedef enum pfc_seq_method {
    PFC_SEQ_NORMAL,
    PFC_SEQ_SIGN,
} pfc_seq_method;

typedef enum pfc_seq_side {
    PFC_SEQ_A,
    PFC_SEQ_B,
} pfc_seq_side;

typedef struct pfc_seq_opts {
    double alpha;  /* chance that the verdict is ever wrong, 0..1; 0: 0.01 */
    double margin; /* relative change that does not matter; 0: 0.01 */
    pfc_seq_method method;
    bool paired;       /* values come by pfc_seq_pair; else by pfc_seq_add */
    double floor_rel;  /* noise that a value has at least, so that a coarse clock's equal readings
                          are no proof; 0: 0.0001 */
    size_t min_values; /* a side, before anything is decided; 0: 4 */
} pfc_seq_opts;

/* Count, mean and sum of squared deviations of logarithms. */
typedef struct pfc_seq_sums {
    size_t n;
    double mean;
    double m2;
} pfc_seq_sums;

/* The state of one comparison. Open so that it can lie anywhere; its fields are read and written by
 * these functions alone. */
typedef struct pfc_seq {
    pfc_seq_opts opts; /* with the defaults filled in */
    pfc_seq_sums a, b; /* both sides */
    pfc_seq_sums d;    /* paired: log b - log a */
    double *diffs;     /* PFC_SEQ_SIGN: the differences, ascending; owned */
    double *waiting;   /* PFC_SEQ_SIGN, unpaired: a side's values without partner; owned */
    size_t diffs_cap, waiting_cap, waiting_len, waiting_first;
    double log_e;     /* of "no shift", largest so far */
    double low, high; /* of the shift of logarithms: what no look has excluded */
    bool torn;        /* looks excluded all shifts: the shift itself moves */
} pfc_seq;

/** Starts a comparison. opts NULL: the defaults, unpaired. PFC_EINVAL: an option out of range
 *  (nothing to clear then). Clear it. */
pfc_code pfc_seq_init(pfc_seq *seq, const pfc_seq_opts *opts, pfc_err *err) PFC_MUSTCHECK;
void pfc_seq_clear(pfc_seq *seq);

/** One pair measured together. PFC_EINVAL: not finite or not above 0, more than
 *  PFC_STATS_MAX_SAMPLES, or the comparison is not `paired`; the state is as before. */
pfc_code pfc_seq_pair(pfc_seq *seq, double a, double b, pfc_err *err) PFC_MUSTCHECK;
/** One value of a side, of an unpaired comparison; errors as above. Which side comes next may
 *  depend on all that was seen. */
pfc_code pfc_seq_add(pfc_seq *seq, pfc_seq_side side, double value, pfc_err *err) PFC_MUSTCHECK;

/** The current result, in the terms of pfc_stats_compare. SAME: the interval lies within the
 *  margin; DIFFERENT: it excludes 0; INCONCLUSIVE otherwise, with fewer than min_values a side
 *  (interval infinite: rel_low -1, rel_high infinity), or when the looks contradict each other
 *  because the shift moves during the measurement (then the interval is the last look's). `p` is
 *  valid at every look and never grows. */
void pfc_seq_result(const pfc_seq *seq, pfc_compare_result *out);

/** Values a side (pairs) after which a verdict is likely, counted from the start, if noise and
 * shift stay as they look now; at most `limit`, which also means "not within it". 0: too few values
 * to tell. For PFC_SEQ_SIGN an estimate from the normal. */
size_t pfc_seq_need(const pfc_seq *seq, size_t limit);

/**
 * Differences that are symmetric about a shift, of any distribution, at every look at once: what
 * PFC_SEQ_SIGN is exact for, without its price. Given how large a difference is, its sign is a fair
 * coin, so money is put on the signs, more on those of large differences (as the likelihood ratio
 * of a normal shift would, for six shifts at once): no bet can lose more than its stake, so a wild
 * value neither proves nor ruins anything. Needs about as many pairs as PFC_SEQ_NORMAL when noise
 * is normal, and far fewer when some launches are far off. Sources: Efron, J. Amer. Statist. Assoc.
 * 64, 1969 (signs given sizes); Ramdas et al., Statist. Sci. 38, 2023 (bets as tests).
 *
 * d, n    the differences in the order they came, finite; any n, 0 gives 1
 * shift   what they are symmetric about under the hypothesis
 *
 * Returns its p-value, valid at every n and never growing with n; at least PFC_P_MIN.
 */
double pfc_seq_symmetric_p(const double *d, size_t n, double shift);
/** The shifts whose p-value is alpha or more (value: the median), n >= 1: covers the true one at
 *  all looks together with probability 1 - alpha at least. Ends may be infinite. */
pfc_interval pfc_seq_symmetric_interval(const double *d, size_t n, double alpha);

#define PFC_SEQ_TESTS 2.0 /* each of the two below gets its part of alpha */

/**
 * Combines PFC_SEQ_NORMAL and the symmetric test on the same pairs. The normal one decides
 * earliest while the noise is constant. Where a machine changes its speed between the runs of a few
 * pairs, those pairs inflate its variance permanently; the test by signs and sizes is robust
 * against them.
 *
 * seq   paired and normal, its alpha that of each test: the wanted one over PFC_SEQ_TESTS
 * d     its differences of logarithms in the order they came, seq->d.n of them
 */
void pfc_seq_both(const pfc_seq *seq, const double *d, pfc_compare_result *out);
/** Its verdict and estimate alone: a small part of the work. */
pfc_verdict pfc_seq_both_verdict(const pfc_seq *seq, const double *d, double *rel_change);

#endif
