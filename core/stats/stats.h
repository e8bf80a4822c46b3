/*
 * Statistics: arrays in, numbers out, deterministic, no I/O, no state kept; every function is
 * thread-safe and leaves its inputs alone. Inputs are finite unless said.
 */
#ifndef PFC_CORE_STATS_STATS_H
#define PFC_CORE_STATS_STATS_H

#include "core/base/err.h"
#include "core/base/rng.h"

#define PFC_STATS_MAX_SAMPLES 1000000
#define PFC_P_MIN             1e-16 /* smaller p-values say nothing: no noise is that normal */

/* ---- summaries: n >= 1 ---- */

double pfc_stats_median(const double *x, size_t n);
/** Quantile q in [0, 1], linear interpolation between order statistics (R type 7). */
double pfc_stats_quantile(const double *x, size_t n, double q);
/** Median absolute deviation times 1.4826 (consistent for the normal); 0 for n == 1. */
double pfc_stats_mad(const double *x, size_t n);
double pfc_stats_mean(const double *x, size_t n);
/** Sample standard deviation (n - 1); 0 for n == 1. */
double pfc_stats_sd(const double *x, size_t n);
/** Geometric mean; every x > 0, else NAN. */
double pfc_stats_geomean(const double *x, size_t n);

typedef struct pfc_interval {
    double value;
    double low;
    double high;
} pfc_interval;

/** Median with a distribution-free interval from order statistics (binomial); level e.g. 0.95.
 *  n < 6 gives the range. Source: Hahn & Meeker, Statistical Intervals, 1991. */
pfc_interval pfc_stats_median_interval(const double *x, size_t n, double level);
/** Median of samples that lie in blocks (process launches): percentile bootstrap that redraws whole
 *  blocks, then samples within. One block: as pfc_stats_median_interval. */
pfc_interval pfc_stats_block_interval(const double *x, const uint32_t *blocks, size_t blocks_len,
                                      double level, uint64_t seed);

/* ---- two samples ---- */

/** Two-sided Mann-Whitney U test: exact for na + nb <= 20 without ties, else normal with tie and
 *  continuity correction. 3 <= na, nb. Source: Mann & Whitney 1947. */
pfc_code pfc_stats_ranktest(const double *a, size_t na, const double *b, size_t nb, double *p,
                            pfc_err *err) PFC_MUSTCHECK;
/** Hodges-Lehmann shift b - a with its interval at `level`. Source: Hodges & Lehmann 1963. */
pfc_code pfc_stats_shift(const double *a, size_t na, const double *b, size_t nb, double level,
                         pfc_interval *out, pfc_err *err) PFC_MUSTCHECK;

typedef enum pfc_verdict {
    PFC_VERDICT_INCONCLUSIVE, /* neither shown: more runs are needed */
    PFC_VERDICT_SAME,         /* the interval lies within the margin */
    PFC_VERDICT_DIFFERENT, /* p below alpha and the interval excludes zero and a part of margin */
} pfc_verdict;

typedef struct pfc_compare_opts {
    double alpha;  /* level of "different"; 0: 0.01 */
    double margin; /* relative change that does not matter; 0: 0.01 */
    bool exact;    /* deterministic metric: any difference is one */
    bool paired;   /* a[i] and b[i] were measured together */
} pfc_compare_opts;

typedef struct pfc_compare_result {
    pfc_verdict verdict;
    double rel_change;        /* (b - a) / a, by the Hodges-Lehmann shift of logarithms */
    double rel_low, rel_high; /* 1 - alpha interval */
    double p;
    double noise_rel;      /* larger of the two sides' relative MAD */
    double detectable_rel; /* smallest change this n can show at alpha with power 0.8 */
    bool few;              /* a side has too few values for a rank test to reach alpha */
} pfc_compare_result;

/** Further values a side (of a paired comparison: pairs) that are likely to decide one that is
 * open, at this scatter: the interval's half width falls with the square root of `n`, the values of
 * the smaller side, until the interval lies within the margin or excludes zero. At least 1;
 * INFINITY: more than 100,000, or the interval is not finite. Fewer values than `least`: least - n.
 */
double pfc_stats_more_values(double rel_change, double rel_low, double rel_high, size_t n,
                             size_t least, double margin);
/** Values a side from which ranks can decide at 1 %: 2 / C(10, 5) and 2 / 2^8. */
#define PFC_COMPARE_LEAST       5
#define PFC_COMPARE_LEAST_PAIRS 8

/** Three-way verdict for b against a. Values > 0. Blocks (process launches) may be NULL: with them,
 *  the block medians are what is compared. Fewer than 3 values a side (and not exact):
 *  inconclusive, with result.few set. Paired: Wilcoxon signed rank on log ratios. */
pfc_code pfc_stats_compare(const double *a, size_t na, const double *b, size_t nb,
                           const pfc_compare_opts *opts, pfc_compare_result *out,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- several tests at once ---- */

/** Benjamini-Hochberg: keep[i] true for the discoveries at level q among p[0..n). */
void pfc_stats_fdr(const double *p, size_t n, double q, bool *keep);

#endif
