/* Benjamini & Hochberg, J. R. Statist. Soc. B 57(1), 1995: the step-up rule. */
#include <stdlib.h>

#include "core/stats/sort.h"
#include "core/stats/stats.h"

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
