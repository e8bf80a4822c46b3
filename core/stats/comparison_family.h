/*
 * The rows of one comparison judged together: one rule for "different", used by the service's
 * comparisons, its commit pages, and the comparisons that the command makes of two runs.
 *
 * A row alone is different when pfc_stats_compare says so. Of 210 rows that did not change, a test
 * at 1 % calls two different at every commit. So the p-values of all rows are adjusted together
 * (Benjamini & Hochberg, J. R. Statist. Soc. B 57(1), 1995), and a row whose adjusted p is above
 * the rate is inconclusive: of the rows called different, at most that share did not change.
 */
#ifndef PFC_CORE_STATS_COMPARISON_FAMILY_H
#define PFC_CORE_STATS_COMPARISON_FAMILY_H

#include "core/stats/stats.h"

#define PFC_COMPARE_FDR    0.05 /* share of mistakes among the rows called different */
#define PFC_COMPARE_MARGIN 0.01 /* relative change that does not matter, where no rule sets one */

typedef struct pfc_family_row {
    double p; /* in: of the row alone; NAN: no test was made (exact, canary), so it is no member of
                 the family and keeps its verdict */
    double p_adjusted;   /* out: by Benjamini & Hochberg over the members; NAN: no member */
    pfc_verdict verdict; /* in: of the row alone; out: among all rows */
} pfc_family_row;

/** Judges rows[0..n) together. Pure; keeps their order. */
void pfc_compare_family(pfc_family_row *rows, size_t n);

/** adjusted[i]: the smallest rate at which p[i] is a discovery among p[0..n), at most 1; so
 * adjusted[i]
 *  <= q exactly where pfc_stats_fdr keeps it at q. */
void pfc_stats_fdr_adjust(const double *p, size_t n, double *adjusted);

#endif
