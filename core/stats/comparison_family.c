/* One rule for "different" over the rows of a comparison. */
#include "core/stats/comparison_family.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats/sort.h"

typedef struct ranked {
    double p;
    size_t at;
} ranked;

static int by_p(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Benjamini & Hochberg, J. R. Statist. Soc. B 57(1), 1995: the step-up rule. */
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

void pfc_stats_fdr_adjust(const double *p, size_t n, double *adjusted)
{
    ranked *order = pfc_calloc(n, sizeof(*order));
    double least = 1.0;

    for (size_t i = 0; i < n; i++)
        order[i] = (ranked){ p[i], i };
    if (n)
        qsort(order, n, sizeof(*order), by_p);
    for (size_t i = n; i-- > 0;) {
        least = fmin(least, order[i].p * (double)n / (double)(i + 1));
        adjusted[order[i].at] = least;
    }
    free(order);
}

void pfc_compare_family(pfc_family_row *rows, size_t n)
{
    double *p = pfc_calloc(n, sizeof(*p)), *adjusted = pfc_calloc(n, sizeof(*adjusted));
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isnan(rows[i].p))
            p[len++] = rows[i].p;
    }
    pfc_stats_fdr_adjust(p, len, adjusted);
    len = 0;
    for (size_t i = 0; i < n; i++) {
        pfc_family_row *row = &rows[i];

        row->p_adjusted = isnan(row->p) ? row->p : adjusted[len++];
        if (row->verdict == PFC_VERDICT_DIFFERENT && row->p_adjusted > PFC_COMPARE_FDR)
            row->verdict = PFC_VERDICT_INCONCLUSIVE;
    }
    free(adjusted);
    free(p);
}
