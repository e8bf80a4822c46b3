/*
 * The measured commits in order.
 */
#include "core/bisect/model/chain.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats/stats.h"

static int by_place(const void *a, const void *b, void *arg)
{
    const plan_run *runs = arg;
    size_t i = *(const size_t *)a;
    size_t k = *(const size_t *)b;
    if (runs[i].commit != runs[k].commit)
        return runs[i].commit < runs[k].commit ? -1 : 1;
    if (runs[i].build != runs[k].build)
        return runs[i].build < runs[k].build ? -1 : 1;
    return i < k ? -1 : i > k;
}

void plan_chain_init(plan_chain *c, const plan_input *input, const plan_observations *seen)
{
    const size_t n = seen->len;

    *c = (plan_chain){ .seen = seen };
    c->order = pfc_calloc(n, sizeof *c->order);
    c->x = pfc_calloc(n, sizeof *c->x);
    c->scale = pfc_calloc(n, sizeof *c->scale);
    c->nodes = pfc_calloc(n, sizeof *c->nodes);
    for (size_t i = 0; i < n; i++) {
        c->order[i] = i;
        c->scale[i] = 1;
        c->x[i] = seen->runs[i].x;
    }
    qsort_r(c->order, n, sizeof *c->order, by_place, seen->runs);
    for (size_t i = 0; i < n; i++) {
        const plan_run *run = &seen->runs[c->order[i]];
        if (!c->len || c->nodes[c->len - 1].commit != run->commit)
            c->nodes[c->len++] = (plan_node){ .commit = run->commit, .first = i };
        plan_node *node = &c->nodes[c->len - 1];
        node->len++;
        node->builds = PFC_MAX(node->builds, run->build + 1);
    }
    c->gaps = pfc_calloc(c->len, sizeof *c->gaps);
    for (size_t i = 0; i + 1 < c->len; i++) {
        size_t a = c->nodes[i].commit;
        size_t b = c->nodes[i + 1].commit;
        c->gaps[i].weight = input->cumulative[b] - input->cumulative[a];
        c->gaps[i].atomic = !plan_any_measurable_between(seen, a, b);
    }
}

void plan_chain_clear(plan_chain *c)
{
    free(c->order);
    free(c->x);
    free(c->scale);
    free(c->nodes);
    free(c->gaps);
    *c = (plan_chain){ 0 };
}

double plan_node_median(const plan_chain *c, size_t node)
{
    const plan_node *n = &c->nodes[node];
    double *x = pfc_calloc(n->len, sizeof *x);
    size_t len = 0;

    for (size_t i = 0; i < n->len; i++)
        if (!c->seen->runs[c->order[n->first + i]].timed_out)
            x[len++] = c->x[c->order[n->first + i]];
    double median = len ? pfc_stats_median(x, len) : (double)NAN;
    free(x);
    return median;
}

size_t plan_runs_of_last_build(const plan_chain *c, size_t node)
{
    const plan_node *n = &c->nodes[node];
    size_t len = 0;

    for (size_t i = 0; i < n->len; i++)
        len += c->seen->runs[c->order[n->first + i]].build + 1 == n->builds;
    return len;
}
