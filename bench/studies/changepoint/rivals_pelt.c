/* Optimal partitioning with pruning (PELT) under two costs, and the rule of thumb of many scripts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/changepoint/rivals.h"
#include "core/stats/sort.h"

#define MIN_SIZE 2

typedef struct partition {
    double *best; /* cost of [0, t) */
    size_t *from; /* where its last segment begins */
    size_t *live; /* places that a last segment may still begin at */
    size_t live_len;
    double penalty;
} partition;

static void partition_init(partition *p, size_t n, double penalty)
{
    *p = (partition){ .best = pfc_calloc(n + 1, sizeof *p->best),
                      .from = pfc_calloc(n + 1, sizeof *p->from),
                      .live = pfc_calloc(n + 1, sizeof *p->live),
                      .penalty = penalty };
    p->best[0] = -penalty;
}

/* cost[i] is that of a segment from live[i] to t. */
static void partition_step(partition *p, size_t t, const double *cost)
{
    size_t kept = 0;
    p->best[t] = (double)INFINITY;
    for (size_t i = 0; i < p->live_len; i++) {
        double c = p->best[p->live[i]] + cost[i] + p->penalty;
        if (t - p->live[i] >= MIN_SIZE && c < p->best[t]) {
            p->best[t] = c;
            p->from[t] = p->live[i];
        }
    }
    for (size_t i = 0; i < p->live_len; i++) {
        if (t - p->live[i] < MIN_SIZE || p->best[p->live[i]] + cost[i] <= p->best[t])
            p->live[kept++] = p->live[i];
    }
    p->live_len = kept;
}

static size_t partition_read(partition *p, size_t n, size_t *changes)
{
    size_t len = 0;
    for (size_t t = n; t > 0 && p->from[t] > 0; t = p->from[t])
        changes[len++] = p->from[t];
    for (size_t i = 0; i < len / 2; i++) {
        size_t swap = changes[i];
        changes[i] = changes[len - 1 - i];
        changes[len - 1 - i] = swap;
    }
    free(p->live);
    free(p->from);
    free(p->best);
    return len;
}

/* ---- squared error ---- */

static double scale_of(const double *v, size_t n)
{
    double *d = pfc_calloc(n, sizeof *d);
    for (size_t i = 0; i + 1 < n; i++)
        d[i] = fabs(v[i + 1] - v[i]);
    double scale = n > 1 ? 1.4826 * M_SQRT1_2 * pfc_stats_median_inplace(d, n - 1) : 0.0;
    free(d);
    return scale > 0.0 ? scale : 1.0;
}

size_t pfc_rival_pelt(const double *v, size_t n, size_t *changes)
{
    if (n < 2 * MIN_SIZE)
        return 0;
    double *sum = pfc_calloc(n + 1, sizeof *sum);
    double *squares = pfc_calloc(n + 1, sizeof *squares);
    double *cost = pfc_calloc(n + 1, sizeof *cost);
    double scale = scale_of(v, n);
    partition p;
    partition_init(&p, n, 12.0 * log((double)n));
    for (size_t i = 0; i < n; i++) {
        double z = (v[i] - v[0]) / scale;
        sum[i + 1] = sum[i] + z;
        squares[i + 1] = squares[i] + z * z;
    }
    for (size_t t = 1; t <= n; t++) {
        if (p.best[t - 1] < (double)INFINITY)
            p.live[p.live_len++] = t - 1;
        for (size_t i = 0; i < p.live_len; i++) {
            size_t s = p.live[i];
            double total = sum[t] - sum[s];
            cost[i] = squares[t] - squares[s] - total * total / (double)(t - s);
        }
        partition_step(&p, t, cost);
    }
    free(cost);
    free(squares);
    free(sum);
    return partition_read(&p, n, changes);
}

/* ---- rbf kernel ---- */

static double bandwidth(const double *v, size_t n)
{
    double *d = pfc_calloc(n * (n - 1) / 2, sizeof *d);
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            d[len++] = (v[i] - v[k]) * (v[i] - v[k]);
    }
    double median = pfc_stats_median_inplace(d, len);
    free(d);
    return median > 0.0 ? 1.0 / median : 1.0;
}

static size_t kernel_with(const double *v, size_t n, double penalty, size_t *changes)
{
    if (n < 2 * MIN_SIZE)
        return 0;
    double gamma = bandwidth(v, n);
    double *inside = pfc_calloc(n + 1, sizeof *inside); /* kernel summed over the pairs of [s, t) */
    double *cost = pfc_calloc(n + 1, sizeof *cost);
    partition p;
    partition_init(&p, n, penalty * log((double)n));
    for (size_t t = 1; t <= n; t++) {
        double row = 0.0;
        /* The originals bound the exponent, also on the diagonal. */
        double self = exp(-0.01);
        for (size_t s = t; s-- > 0;) {
            double d = v[t - 1] - v[s];
            double k = s == t - 1 ? self : exp(-fmin(fmax(gamma * d * d, 0.01), 100.0));
            row += s == t - 1 ? k : 2.0 * k;
            inside[s] += row;
        }
        if (p.best[t - 1] < (double)INFINITY)
            p.live[p.live_len++] = t - 1;
        for (size_t i = 0; i < p.live_len; i++) {
            double len = (double)(t - p.live[i]);
            cost[i] = len * self - inside[p.live[i]] / len;
        }
        partition_step(&p, t, cost);
    }
    free(cost);
    free(inside);
    return partition_read(&p, n, changes);
}

size_t pfc_rival_kernel(const double *v, size_t n, size_t *changes)
{
    return kernel_with(v, n, 1.0, changes);
}

size_t pfc_rival_kernel_calm(const double *v, size_t n, size_t *changes)
{
    return kernel_with(v, n, 2.0, changes);
}

/* ---- rule of thumb ---- */

#define LAST 10
#define OFF  0.05
#define GAP  3 /* alarms so near to the one before are the same */

size_t pfc_rival_threshold(const double *v, size_t n, size_t *changes)
{
    size_t len = 0;
    size_t last = SIZE_MAX;
    for (size_t i = 1; i < n; i++) {
        double mean = 0.0;
        size_t from = i > LAST ? i - LAST : 0;
        for (size_t k = from; k < i; k++)
            mean += v[k] / (double)(i - from);
        if (fabs(v[i] - mean) <= OFF * fabs(mean))
            continue;
        if (last == SIZE_MAX || i - last > GAP)
            changes[len++] = i;
        last = i;
    }
    return len;
}
