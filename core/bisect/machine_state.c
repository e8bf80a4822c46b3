/*
 * The machine's own slow state: another clock, another neighbour, a drift.
 *
 * It shows as correlation between residuals of runs that follow each other. Then each run of an end
 * tells what the machine is like at that moment, and the others are corrected by it: the state is a
 * random walk, estimated by a Kalman smoother from the ends' runs; a run of an end is corrected by
 * the others only, or its own noise would seem to vanish.
 * Source: Rauch, Tung & Striebel, AIAA Journal 3(8), 1965.
 */
#include <math.h>
#include <stdlib.h>

#include "core/bisect/bisect_priv.h"
#include "core/stats/stats.h"

#define MIN_PAIRS 14  /* of runs that follow each other */
#define MIN_CORR  0.3 /* lag-1 correlation that matters */
#define MIN_Z     2.6 /* and its distance from chance */
#define DIFFUSE   1e4 /* variance of the state before the first run, in runs' variances */

typedef struct track {
    size_t len;
    double *seen; /* residual of an end's run, NAN for other runs */
    double *mean, *var;
    double *ahead_mean, *ahead_var; /* predicted from the runs before */
} track;

/* Residuals around the median of each commit that has enough runs; NAN elsewhere. */
static void residuals(const pfc_bisect_plan *plan, bool ends_only, double *out)
{
    const plan_model *m = &plan->model;
    double *x = pfc_calloc(plan->runs_len, sizeof *x);
    for (size_t i = 0; i < plan->runs_len; i++)
        out[i] = NAN;
    for (size_t i = 0; i < m->nodes_len; i++) {
        const plan_node *node = &m->nodes[i];
        bool end = i == 0 || i + 1 == m->nodes_len;
        if (node->len < 4 || (ends_only && !end))
            continue;
        for (size_t k = 0; k < node->len; k++)
            x[k] = m->x[m->order[node->first + k]];
        double median = pfc_stats_median(x, node->len);
        for (size_t k = 0; k < node->len; k++)
            out[m->order[node->first + k]] = x[k] - median;
    }
    free(x);
}

static bool correlated(const double *r, size_t n)
{
    double product = 0;
    double square = 0;
    size_t pairs = 0;
    for (size_t i = 1; i < n; i++) {
        if (isnan(r[i]) || isnan(r[i - 1]))
            continue;
        product += r[i] * r[i - 1];
        square += (r[i] * r[i] + r[i - 1] * r[i - 1]) / 2;
        pairs++;
    }
    if (pairs < MIN_PAIRS || !(square > 0))
        return false;
    double corr = product / square;
    return corr > MIN_CORR && corr * sqrt((double)pairs) > MIN_Z;
}

/* Filters forward; returns the log likelihood. Variances are in those of one run. */
static double filter(track *t, double walk, double noise)
{
    double mean = 0;
    double var = DIFFUSE;
    double fit = 0;
    bool first = true;
    for (size_t i = 0; i < t->len; i++) {
        t->ahead_mean[i] = mean;
        t->ahead_var[i] = var;
        if (!isnan(t->seen[i])) {
            double miss = t->seen[i] / noise - mean;
            double all = var + 1;
            if (!first)
                fit -= 0.5 * (log(all) + miss * miss / all);
            first = false;
            mean += var / all * miss;
            var /= all;
        }
        t->mean[i] = mean;
        t->var[i] = var;
        var += walk;
    }
    return fit;
}

static void smooth(track *t)
{
    for (size_t i = t->len - 1; i-- > 0;) {
        double gain = t->var[i] / t->ahead_var[i + 1];
        t->mean[i] += gain * (t->mean[i + 1] - t->ahead_mean[i + 1]);
        t->var[i] += gain * gain * (t->var[i + 1] - t->ahead_var[i + 1]);
    }
}

static void correct(plan_model *m, track *t, double noise)
{
    for (size_t i = 0; i < t->len; i++) {
        double mean = t->mean[i];
        double var = fmax(t->var[i], 1e-9);
        if (!isnan(t->seen[i])) {
            double rest = fmax(1 / var - 1, 1e-3);
            mean = (mean / var - t->seen[i] / noise) / rest;
            var = 1 / rest;
        }
        m->x[i] -= mean * noise;
        m->scale[i] = sqrt(1 + var);
    }
}

static void follow(plan_model *m, track *t, double noise)
{
    static const double walks[] = { 0.01, 0.03, 0.1, 0.3, 1 };
    double best = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < PFC_ARRAY_LEN(walks); i++) {
        double fit = filter(t, walks[i], noise);
        if (fit > most) {
            most = fit;
            best = walks[i];
        }
    }
    (void)filter(t, best, noise);
    smooth(t);
    correct(m, t, noise);
}

void plan_state(pfc_bisect_plan *plan)
{
    plan_model *m = &plan->model;
    size_t n = plan->runs_len;
    double *block = pfc_calloc(n * 5, sizeof *block);
    track t = { .len = n,
                .seen = block,
                .mean = block + n,
                .var = block + 2 * n,
                .ahead_mean = block + 3 * n,
                .ahead_var = block + 4 * n };
    residuals(plan, false, t.seen);
    m->state = correlated(t.seen, n);
    if (m->state) {
        /* What a run scatters by itself: history's word, else a part of what is seen. */
        double noise = plan->opts.noise_rel > 0 ? plan->opts.noise_rel : 0.7 * m->noise;
        residuals(plan, true, t.seen);
        follow(m, &t, noise);
    }
    free(block);
}
