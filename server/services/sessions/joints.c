/*
 * Anchors joined by the sessions that hold two of them: see anchored.h. Pure.
 */
#include <math.h>
#include <stdlib.h>

#include "server/services/sessions/anchored.h"

/* Without noise a joint would have infinite weight. */
#define SE_MIN 1e-9

/* Two anchors, and their ratio over all sessions. */
typedef struct edge {
    int64_t a, b;         /* a < b */
    double log_ratio, se; /* log(b / a) */
} edge;

static int by_pair(const void *x, const void *y)
{
    const edge *e = x, *f = y;

    if (e->a != f->a)
        return e->a < f->a ? -1 : 1;
    return (e->b > f->b) - (e->b < f->b);
}

/* The weighted mean of one pair's, its error widened where they disagree. */
static edge mean_of(const edge *e, size_t n)
{
    edge out = e[0];
    double weight = 0, sum = 0, spread = 0;

    for (size_t i = 0; i < n; i++) {
        weight += 1 / (e[i].se * e[i].se);
        sum += e[i].log_ratio / (e[i].se * e[i].se);
    }
    out.log_ratio = sum / weight;
    for (size_t i = 0; i < n; i++)
        spread += pow((e[i].log_ratio - out.log_ratio) / e[i].se, 2);
    out.se = sqrt(1 / weight * (n > 1 ? fmax(1, spread / (double)(n - 1)) : 1));
    return out;
}

/* One edge a pair; *len of them. */
static edge *make_edges(const pfc_joint *joints, size_t n, size_t *len)
{
    edge *edges = pfc_calloc(n + 1, sizeof(*edges));
    size_t used = 0, made = 0;

    for (size_t i = 0; i < n; i++) {
        const pfc_joint *j = &joints[i];
        const bool up = j->anchor < j->other;

        if (j->anchor == j->other || !isfinite(j->log_ratio) || !isfinite(j->log_se))
            continue;
        edges[used++] = (edge){ .a = up ? j->anchor : j->other,
                                .b = up ? j->other : j->anchor,
                                .log_ratio = up ? j->log_ratio : -j->log_ratio,
                                .se = fmax(j->log_se, SE_MIN) };
    }
    qsort(edges, used, sizeof(*edges), by_pair);
    for (size_t from = 0, to; from < used; from = to) {
        for (to = from + 1; to < used && by_pair(&edges[from], &edges[to]) == 0; to++)
            ;
        edges[made++] = mean_of(&edges[from], to - from);
    }
    *len = made;
    return edges;
}

/* The edge from a settled anchor to another one with the smallest error; NULL: none. */
static const edge *next_edge(const edge *edges, size_t n, const pfc_joined *done, size_t len,
                             pfc_joined *out)
{
    const edge *best = NULL;

    for (size_t i = 0; i < n; i++) {
        const pfc_joined *at[2] = { NULL, NULL };
        double se;

        for (size_t k = 0; k < len; k++) {
            if (done[k].anchor == edges[i].a)
                at[0] = &done[k];
            if (done[k].anchor == edges[i].b)
                at[1] = &done[k];
        }
        if (!at[0] == !at[1])
            continue;
        se = hypot(at[at[1] != NULL]->log_se, edges[i].se);
        if (best && se >= out->log_se)
            continue;
        best = &edges[i];
        *out = at[0] ? (pfc_joined){ edges[i].b, at[0]->log_ratio + edges[i].log_ratio, se }
                     : (pfc_joined){ edges[i].a, at[1]->log_ratio - edges[i].log_ratio, se };
    }
    return best;
}

/* Dijkstra by variance: variances add, so a longer path never has a smaller error. */
void pfc_joints_resolve(const pfc_joint *joints, size_t n, int64_t current, pfc_joined **out,
                        size_t *len)
{
    size_t edges_len;
    edge *edges = make_edges(joints, n, &edges_len);
    pfc_joined *done = pfc_calloc(edges_len + 1, sizeof(*done)), more;

    done[0] = (pfc_joined){ .anchor = current };
    *len = 1;
    while (next_edge(edges, edges_len, done, *len, &more))
        done[(*len)++] = more;
    free(edges);
    *out = done;
}
