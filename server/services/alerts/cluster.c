/*
 * Clusters regressions that one commit may have caused, and selects those that get an alert,
 * corrected for the number of series tested. Used for stored changes and for those of a replay.
 */
#include <stdlib.h>

#include "core/changepoint/fdr.h"
#include "server/services/alerts/alerts.h"

/* The positions that the ranges of all members of a cluster share, from low to high. */
typedef struct span {
    int64_t low, high;
} span;

static int64_t distance(const span *s, int64_t position)
{
    if (position < s->low)
        return s->low - position;
    return position > s->high ? position - s->high : 0;
}

int64_t pfc_cluster_position(pfc_clustered *const *items, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i]->cluster == k)
            return items[i]->position;
    }
    return 0;
}

/* A cluster's number and place. */
typedef struct placed {
    size_t cluster;
    int64_t position;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->cluster > y->cluster) - (x->cluster < y->cluster);
}

size_t *pfc_clusters_in_order(pfc_clustered *const *items, size_t n, size_t clusters)
{
    placed *places = pfc_calloc(clusters + 1, sizeof(*places));
    size_t *order = pfc_calloc(clusters + 1, sizeof(*order));

    for (size_t i = n; i-- > 0;)
        places[items[i]->cluster] = (placed){ items[i]->cluster, items[i]->position };
    qsort(places, clusters, sizeof(*places), by_place);
    for (size_t k = 0; k < clusters; k++)
        order[k] = places[k].cluster;
    free(places);
    return order;
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

void pfc_cluster_judge(pfc_clustered *const *items, size_t n, size_t k, size_t measured,
                       double level)
{
    double *p = pfc_calloc(n, sizeof(*p));
    bool *keep = pfc_calloc(n, sizeof(*keep));
    size_t len = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        if (items[i]->cluster == k)
            p[len++] = items[i]->p;
    }
    pfc_fdr_keep(p, len, measured, level, keep);
    for (size_t i = 0; i < n; i++) {
        if (items[i]->cluster == k)
            items[i]->keep = keep[at++] || items[i]->alerted;
    }
    free(keep);
    free(p);
}

bool pfc_cluster_kept(pfc_clustered *const *items, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i]->cluster == k && items[i]->keep)
            return true;
    }
    return false;
}
