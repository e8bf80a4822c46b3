/*
 * Drift: a slow state of the machine, such as its clock or the load of a neighbour.
 *
 * It shows as correlation between residuals of consecutive runs. Each run of an end then measures
 * the state at that moment, and other runs are corrected by it: the state is a random walk,
 * estimated by a Kalman smoother from the ends' runs. A run of an end is corrected by the other
 * runs of ends only; its own residual would remove its noise.
 * Source: Rauch, Tung & Striebel, AIAA Journal 3(8), 1965.
 */
#include <math.h>
#include <stdlib.h>

#include "core/bisect/model/fit.h"
#include "core/stats/stats.h"

#define MIN_PAIRS 14  /* pairs of consecutive runs */
#define MIN_CORR  0.3 /* lag-1 correlation above which runs are corrected */
#define MIN_Z     2.6 /* and the distance from 0, in standard errors, that it must have */
#define DIFFUSE   1e4 /* variance of the state before the first run, in runs' variances */

typedef struct track {
    size_t len;
    double *residual; /* residual of an end's run, NAN for other runs */
    double *mean, *var;
    double *ahead_mean, *ahead_var; /* predicted from the runs before */
} track;

/* Residuals around the median of each commit that has enough runs; NAN elsewhere. */
static void residuals(const plan_model *m, bool ends_only, double *out)
{
    double *x = pfc_calloc(m->seen->len, sizeof *x);
    for (size_t i = 0; i < m->seen->len; i++)
        out[i] = NAN;
    for (size_t i = 0; i < m->chain.len; i++) {
        const plan_node *node = &m->chain.nodes[i];
        bool end = i == 0 || i + 1 == m->chain.len;
        if (node->len < 4 || (ends_only && !end))
            continue;
        for (size_t k = 0; k < node->len; k++)
            x[k] = m->chain.x[m->chain.order[node->first + k]];
        double median = pfc_stats_median(x, node->len);
        for (size_t k = 0; k < node->len; k++)
            out[m->chain.order[node->first + k]] = x[k] - median;
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
        if (!isnan(t->residual[i])) {
            double miss = t->residual[i] / noise - mean;
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
        if (!isnan(t->residual[i])) {
            double rest = fmax(1 / var - 1, 1e-3);
            mean = (mean / var - t->residual[i] / noise) / rest;
            var = 1 / rest;
        }
        m->chain.x[i] -= mean * noise;
        m->chain.scale[i] = sqrt(1 + var);
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

void plan_correct_drift(plan_model *m)
{
    size_t n = m->seen->len;
    double *block = pfc_calloc(n * 5, sizeof *block);
    track t = { .len = n,
                .residual = block,
                .mean = block + n,
                .var = block + 2 * n,
                .ahead_mean = block + 3 * n,
                .ahead_var = block + 4 * n };
    residuals(m, false, t.residual);
    m->scales.drift = correlated(t.residual, n);
    if (m->scales.drift) {
        /* The noise without drift: the given one, else a share of the estimate, which includes
         * drift. */
        double noise =
            m->input->opts.noise_rel > 0 ? m->input->opts.noise_rel : 0.7 * m->scales.noise;
        residuals(m, true, t.residual);
        follow(m, &t, noise);
    }
    free(block);
}
