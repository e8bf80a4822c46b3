/*
 * Groups that a person has made: split and merged alerts keep their group when the detector groups
 * the alerts around them again.
 */
#include <stdlib.h>

#include "server/services/alerts/group.h"

/* One cluster for each group with placed alerts. Returns the new number of clusters. */
static size_t gather(grouping *g, size_t clusters)
{
    for (size_t i = 0; i < g->len; i++) {
        group_member *m = &g->members[i];
        size_t first = 0;

        if (!m->placed)
            continue;
        while (first < i &&
               (!g->members[first].placed || g->members[first].group_id != m->group_id))
            first++;
        m->at.cluster = first < i ? g->members[first].at.cluster : clusters++;
    }
    return clusters;
}

/* The group of the placed alerts that member i's change belongs to; NULL: its cluster has alerts of
 * its own, or placed alerts of several groups. */
static const group_member *company(const grouping *g, const size_t *natural, size_t i)
{
    const group_member *found = NULL;

    for (size_t k = 0; k < g->len; k++) {
        const group_member *m = &g->members[k];

        if (natural[k] != natural[i] || !m->alert_id)
            continue;
        if (!m->placed || (found && found->group_id != m->group_id))
            return NULL;
        found = m;
    }
    return found;
}

/* Numbers the clusters from 0 without gaps; returns how many there are. */
static size_t renumber(grouping *g, size_t clusters)
{
    size_t *number = pfc_calloc(clusters + 1, sizeof(*number)), len = 0;

    for (size_t i = 0; i < g->len; i++) {
        pfc_clustered *at = g->items[i];

        if (!number[at->cluster])
            number[at->cluster] = ++len;
        at->cluster = number[at->cluster] - 1;
    }
    free(number);
    return len;
}

size_t group_keep_placed(grouping *g, size_t clusters)
{
    size_t *natural = pfc_calloc(g->len + 1, sizeof(*natural));
    bool any = false;

    for (size_t i = 0; i < g->len; i++) {
        natural[i] = g->members[i].at.cluster;
        any |= g->members[i].placed;
    }
    if (any) {
        clusters = gather(g, clusters);
        for (size_t i = 0; i < g->len; i++) {
            const group_member *with =
                g->members[i].alert_id ? NULL : company(g, natural, i);

            if (with)
                g->members[i].at.cluster = with->at.cluster;
        }
        clusters = renumber(g, clusters);
    }
    free(natural);
    return clusters;
}
