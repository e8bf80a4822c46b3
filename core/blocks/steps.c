/*
 * Steps between builds: which changes explain the fitted effects.
 *
 * A change lasts: each build is at the level of its predecessor unless there is a step before it.
 * So the effects are regressed on steps, one before each build, and the steps are chosen greedily
 * by what they explain, by generalised least squares with the fit's precision. All builds on both
 * sides thus say whether there is a step, not the two neighbours alone. The sweep operator gives
 * the explained squares of all candidates at each stage (Beaton 1964).
 */
#include <math.h>
#include <stdlib.h>

#include "core/blocks/blocks_priv.h"
#include "core/stats/dist.h"

#define ENTER 0.05 /* probability of choosing a step although there is none */
#define PLACE                                                                                      \
    6.0 /* decrease of the explained squares, in variances, within which another place is likely */
#define TINY 1e-7

typedef struct table {
    size_t m;  /* rows: steps 1..m-1; row and column 0: the effects themselves */
    double *a; /* m x m, and m of scratch */
    bool *in;
} table;

static double *at(const table *t, size_t i, size_t j)
{
    return &t->a[i * t->m + j];
}

/* Takes step k into the regression, or out of it again. */
static bool sweep(table *t, size_t k)
{
    const double d = *at(t, k, k);
    const double sign = t->in[k] ? -1.0 : 1.0;

    if (fabs(d) < TINY)
        return false;
    for (size_t i = 0; i < t->m; i++) {
        const double f = *at(t, i, k) / d;

        for (size_t j = 0; i != k && j < t->m; j++) {
            if (j != k)
                *at(t, i, j) -= f * *at(t, k, j);
        }
    }
    for (size_t i = 0; i < t->m; i++) {
        if (i != k) {
            *at(t, i, k) *= sign / d;
            *at(t, k, i) *= sign / d;
        }
    }
    *at(t, k, k) = -1.0 / d;
    t->in[k] = !t->in[k];
    return true;
}

/* Squares that the step explains, or would. */
static double gain(const table *t, size_t k)
{
    const double d = fabs(*at(t, k, k));
    const double g = *at(t, 0, k);

    return d < TINY ? 0.0 : g * g / d;
}

static double step_p(const table *t, size_t k, const pfc_twoway *fit)
{
    return pfc_stats_student_tail2(sqrt(gain(t, k)) / fit->sigma, fit->dof);
}

static void fill(table *t, const pfc_twoway *fit, const size_t *present)
{
    const size_t m = t->m;
    const size_t k = fit->builds;

    /* A step raises all builds from its place on, so its terms are the tail sums of the precision
     * matrix. */
    for (size_t i = m; i-- > 0;) {
        double row = 0.0;
        double right = 0.0;

        for (size_t j = m; j-- > 0;) {
            const double s = fit->precision[present[i] * k + present[j]];

            row += s;
            right += s * fit->effect[present[j]];
            *at(t, i, j) = row + (i + 1 < m ? *at(t, i + 1, j) : 0.0);
        }
        t->a[m * m + i] = right + (i + 1 < m ? t->a[m * m + i + 1] : 0.0);
    }
    *at(t, 0, 0) = 0.0;
    for (size_t i = 1; i < m; i++)
        *at(t, 0, i) = *at(t, i, 0) = t->a[m * m + i];
}

static size_t best(const table *t, size_t from)
{
    size_t k = 0;
    double most = 0.0;

    for (size_t i = from; i < t->m; i++) {
        const double g = t->in[i] ? 0.0 : gain(t, i);

        if (g > most) {
            most = g;
            k = i;
        }
    }
    return k;
}

/* Where else the chosen step may be: `t` without it. */
static void places(const table *t, size_t k, size_t from, double sigma, pfc_step *step)
{
    const double least = gain(t, k) - PLACE * sigma * sigma;

    step->place_low = step->place_high = k;
    while (step->place_low > from && !t->in[step->place_low - 1] &&
           gain(t, step->place_low - 1) >= least)
        step->place_low--;
    while (step->place_high + 1 < t->m && !t->in[step->place_high + 1] &&
           gain(t, step->place_high + 1) >= least)
        step->place_high++;
}

void pfc_steps_find(const pfc_twoway *fit, const size_t *present, size_t m, size_t first,
                    const bool *gap, pfc_step *steps)
{
    table t = { .m = m };
    size_t from = 1;
    size_t chosen = 0;

    for (size_t i = 0; i < m; i++)
        steps[i] = (pfc_step){ .p = 1.0, .se = (double)INFINITY, .place_low = i, .place_high = i };
    if (m < 2 || isnan(fit->sigma))
        return;
    t.a = pfc_calloc(m * m + m, sizeof *t.a);
    t.in = pfc_calloc(m, sizeof *t.in);
    fill(&t, fit, present);
    while (from < m && present[from] < first)
        sweep(&t, from++);
    for (size_t i = from; i < m; i++) {
        if (gap[i])
            sweep(&t, i);
    }
    for (size_t k; (k = best(&t, from)) != 0 && chosen < m / 2 &&
                   step_p(&t, k, fit) * (double)(m - from) < ENTER;
         chosen++) {
        if (!sweep(&t, k))
            break;
        steps[k].chosen = true;
    }
    for (size_t i = from; i < m; i++) {
        const double d = fabs(*at(&t, i, i));

        if (d < TINY)
            continue;
        steps[i].p = step_p(&t, i, fit);
        steps[i].rel = t.in[i] ? *at(&t, 0, i) : *at(&t, 0, i) / d;
        steps[i].se = fit->sigma * (t.in[i] ? sqrt(d) : 1.0 / sqrt(d));
    }
    if (!chosen) {
        const size_t k = best(&t, from);

        if (k) {
            steps[k].chosen = true;
            places(&t, k, from, fit->sigma, &steps[k]);
        }
    }
    for (size_t i = from; i < m && chosen; i++) {
        if (!steps[i].chosen || !sweep(&t, i))
            continue;
        places(&t, i, from, fit->sigma, &steps[i]);
        sweep(&t, i);
    }
    free(t.a);
    free(t.in);
}
