/*
 * Which regressions may have one commit as their cause, and which of them are worth an alert given
 * how many series were looked at. Used on what is stored and on what a replay finds.
 */
#include <stdlib.h>

#include "core/stats/fdr.h"
#include "server/services/internal.h"

/* What a cluster's members have in common, from low to high. */
typedef struct span {
    int64_t low, high;
} span;

static int64_t distance(const span *s, int64_t position)
{
    if (position < s->low)
        return s->low - position;
    return position > s->high ? position - s->high : 0;
}

size_t pfc_clusters_make(pfc_clustered *const *items, size_t n)
{
    span *spans = pfc_calloc(n, sizeof(*spans));
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        pfc_clustered *m = items[i];
        size_t best = len;

        for (size_t k = 0; k < len; k++) {
            if (m->high < spans[k].low || m->low > spans[k].high)
                continue;
            if (best == len ||
                distance(&spans[k], m->position) < distance(&spans[best], m->position))
                best = k;
        }
        m->cluster = best;
        if (best == len) {
            spans[len++] = (span){ .low = m->low, .high = m->high };
        } else {
            spans[best].low = PFC_MAX(spans[best].low, m->low);
            spans[best].high = PFC_MIN(spans[best].high, m->high);
        }
    }
    free(spans);
    return len;
}

void pfc_cluster_judge(pfc_clustered *const *items, size_t n, size_t k, size_t measured, double fdr)
{
    double *p = pfc_calloc(n, sizeof(*p));
    bool *keep = pfc_calloc(n, sizeof(*keep));
    size_t len = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        if (items[i]->cluster == k)
            p[len++] = items[i]->p;
    }
    pfc_fdr_keep(p, len, measured, fdr > 0 ? fdr : PFC_ALERT_FDR, keep);
    for (size_t i = 0; i < n; i++) {
        if (items[i]->cluster == k)
            items[i]->keep = keep[at++] || items[i]->alerted;
    }
    free(keep);
    free(p);
}
