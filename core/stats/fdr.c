/* Benjamini & Hochberg, J. R. Statist. Soc. B 57(1), 1995: the step-up rule. */
#include "core/stats/fdr.h"

#include <stdlib.h>
#include <string.h>

#include "core/stats/dist.h"
#include "core/stats/sort.h"

#define FIRM_POINTS   5
#define FIRM_LONG     20
#define FIRM_EVIDENCE 7.0 /* standard errors */

void pfc_stats_fdr(const double *p, size_t n, double q, bool *keep)
{
    if (n == 0)
        return;
    double *sorted = pfc_stats_copy(p, n);
    pfc_stats_sort(sorted, n);
    double cut = -1.0;
    for (size_t i = n; i-- > 0;) {
        if (sorted[i] <= q * (double)(i + 1) / (double)n) {
            cut = sorted[i];
            break;
        }
    }
    for (size_t i = 0; i < n; i++)
        keep[i] = p[i] <= cut;
    free(sorted);
}

double pfc_fdr_anywhere(double p, size_t points, bool exact)
{
    return exact ? p : PFC_MIN(1.0, p * (double)PFC_MAX(points, (size_t)1));
}

bool pfc_alert_firm(const pfc_change *change, size_t points_after)
{
    if (change->confirmed || points_after >= FIRM_LONG)
        return true;
    return points_after >= FIRM_POINTS && change->p <= pfc_stats_normal_tail2(FIRM_EVIDENCE);
}

void pfc_fdr_keep(const double *p, size_t n, size_t measured, double q, bool *keep)
{
    size_t all = PFC_MAX(n, measured);
    double *padded = pfc_calloc(all, sizeof *padded);
    bool *kept = pfc_calloc(all, sizeof *kept);
    memcpy(padded, p, n * sizeof *p);
    for (size_t i = n; i < all; i++)
        padded[i] = 1.0;
    pfc_stats_fdr(padded, all, q, kept);
    memcpy(keep, kept, n * sizeof *keep);
    free(kept);
    free(padded);
}
