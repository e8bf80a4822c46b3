/*
 * The two-way fit of blocks: log value = build + machine + noise.
 *
 * First each block has a level of its own. Then the model with states (machine_states.c) says where
 * the level changes inside blocks, and stretches of visits that are level with each other become
 * groups: a machine of two speeds has two, a quiet one has one, and one that drifts has several.
 * Given the groups, their levels are eliminated and the builds' effects come from their normal
 * equations, with Huber's weights.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/blocks/blocks_priv.h"
#include "core/stats/dist.h"
#include "core/stats/sort.h"

#define INNER     10   /* iterations of the weights */
#define BREAK     1.5  /* change of level within a block, in scales, that counts as a break */
/* increase of the sum of squares, in noise variances, up to which two groups are joined */
#define APART     4.0
#define LEAST     8    /* visits that the model with states needs */
/* residuals up to this many scales have full weight; beyond, the weight falls with the distance */
#define NEAR      2.0
#define FAR       6.0  /* residuals beyond this many scales have no weight */
#define FLOOR     1e-5 /* lower bound of a visit's noise, as in sequential.h */
#define TINY      1e-9
#define TO_NORMAL 1.4826 /* factor from a median of absolute values to a standard deviation */

typedef struct work {
    const pfc_spot *spots;
    size_t n, builds, anchor;
    size_t *group; /* of each spot */
    size_t groups;
    size_t *order;  /* spots by group */
    size_t *starts; /* of each group in it, and the end */
    size_t moves;
    double *weight, *residual;
    double *scratch;        /* n, or builds */
    size_t *touched;        /* builds */
    double *factor, *right; /* builds x builds; builds */
    size_t *root;           /* of each build: parts */
    double scale;
} work;

/* ---- parts: builds that share levels ---- */

static size_t root_of(size_t *root, size_t i)
{
    while (root[i] != i)
        i = root[i] = root[root[i]];
    return i;
}

/* Each part's reference is the anchor, or its first build. */
static void find_parts(work *w, const size_t *visits)
{
    for (size_t i = 0; i < w->builds; i++)
        w->root[i] = i;
    for (size_t i = 1; i < w->n; i++) {
        if (w->spots[i].block != w->spots[i - 1].block)
            continue;
        const size_t a = root_of(w->root, w->spots[i - 1].build);
        const size_t b = root_of(w->root, w->spots[i].build);

        if (a == w->anchor || (a < b && b != w->anchor))
            w->root[b] = a;
        else
            w->root[a] = b;
    }
    for (size_t i = 0; i < w->builds; i++)
        w->root[i] = visits[i] ? root_of(w->root, i) : i;
}

/* ---- effects for given groups and weights ---- */

/* Sorts the spots by group, in the order of time within each. */
static void arrange(work *w)
{
    memset(w->starts, 0, (w->groups + 1) * sizeof *w->starts);
    for (size_t i = 0; i < w->n; i++)
        w->starts[w->group[i] + 1]++;
    for (size_t g = 0; g < w->groups; g++)
        w->starts[g + 1] += w->starts[g];
    for (size_t i = 0; i < w->n; i++)
        w->order[w->starts[w->group[i]]++] = i;
    for (size_t g = w->groups; g > 0; g--)
        w->starts[g] = w->starts[g - 1];
    w->starts[0] = 0;
}

/* Weighted mean of a group's values less their `effect` (NULL: 0). */
static double level_of(const work *w, size_t group, const double *effect, double *mass)
{
    double sum = 0.0;

    *mass = 0.0;
    for (size_t k = w->starts[group]; k < w->starts[group + 1]; k++) {
        const pfc_spot *at = &w->spots[w->order[k]];

        *mass += w->weight[w->order[k]];
        sum += w->weight[w->order[k]] * (at->y - (effect ? effect[at->build] : 0.0));
    }
    return sum / *mass;
}

static void normal_equations(work *w, double *precision)
{
    const size_t k = w->builds;
    double *by_build = w->scratch;

    memset(precision, 0, k * k * sizeof *precision);
    memset(w->right, 0, k * sizeof *w->right);
    memset(by_build, 0, k * sizeof *by_build);
    for (size_t g = 0; g < w->groups; g++) {
        double mass;
        const double mean = level_of(w, g, NULL, &mass);
        size_t len = 0;

        for (size_t i = w->starts[g]; i < w->starts[g + 1]; i++) {
            const pfc_spot *at = &w->spots[w->order[i]];
            const double weight = w->weight[w->order[i]];

            if (by_build[at->build] == 0.0)
                w->touched[len++] = at->build;
            by_build[at->build] += weight;
            precision[at->build * k + at->build] += weight;
            w->right[at->build] += weight * (at->y - mean);
        }
        for (size_t i = 0; i < len; i++) {
            for (size_t j = 0; j < len; j++)
                precision[w->touched[i] * k + w->touched[j]] -=
                    by_build[w->touched[i]] * by_build[w->touched[j]] / mass;
        }
        for (size_t i = 0; i < len; i++)
            by_build[w->touched[i]] = 0.0;
    }
}

/* Cholesky's factor of the precision with the references' rows replaced by the identity's, so that
 * their effects are 0. */
static void factorise(work *w, const double *precision)
{
    const size_t k = w->builds;
    double *l = w->factor;

    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j <= i; j++) {
            const bool fixed = w->root[i] == i || w->root[j] == j;
            double sum = fixed ? (i == j ? 1.0 : 0.0) : precision[i * k + j];

            for (size_t h = 0; h < j; h++)
                sum -= l[i * k + h] * l[j * k + h];
            if (i == j)
                l[i * k + i] = sqrt(fmax(sum, TINY));
            else
                l[i * k + j] = sum / l[j * k + j];
        }
    }
}

static void solve(const double *l, size_t k, double *x)
{
    for (size_t i = 0; i < k; i++) {
        for (size_t h = 0; h < i; h++)
            x[i] -= l[i * k + h] * x[h];
        x[i] /= l[i * k + i];
    }
    for (size_t i = k; i-- > 0;) {
        for (size_t h = i + 1; h < k; h++)
            x[i] -= l[h * k + i] * x[h];
        x[i] /= l[i * k + i];
    }
}

static void effects(work *w, pfc_twoway *out)
{
    normal_equations(w, out->precision);
    factorise(w, out->precision);
    for (size_t i = 0; i < w->builds; i++)
        out->effect[i] = w->root[i] == i ? 0.0 : w->right[i];
    solve(w->factor, w->builds, out->effect);
}

static void residuals(work *w, const double *effect)
{
    for (size_t g = 0; g < w->groups; g++) {
        double mass;
        const double level = level_of(w, g, effect, &mass);

        for (size_t k = w->starts[g]; k < w->starts[g + 1]; k++) {
            const size_t i = w->order[k];

            w->residual[i] = w->spots[i].y - effect[w->spots[i].build] - level;
        }
    }
}

/* ---- noise ---- */

static double freedom(const work *w, const pfc_twoway *out)
{
    /* A break counts as a parameter, because its place was chosen from the data. */
    double parameters = (double)(w->groups + w->moves);

    for (size_t i = 0; i < w->builds; i++)
        parameters += out->visits[i] && w->root[i] != i;
    return (double)w->n - parameters;
}

/* Robust scale of the residuals. Residuals that the fit made exactly zero (a level with one visit)
 * say nothing about noise and are left out. */
static double scale_of(work *w, double dof)
{
    size_t len = 0;

    for (size_t i = 0; i < w->n; i++) {
        const size_t g = w->group[i];

        if (w->starts[g + 1] - w->starts[g] > 1)
            w->scratch[len++] = fabs(w->residual[i]);
    }
    if (!len || dof <= 0.0)
        return (double)NAN;
    return fmax(TO_NORMAL * pfc_stats_median_inplace(w->scratch, len) *
                    sqrt((double)len / fmin(dof, (double)len)),
                FLOOR);
}

static void reweight(work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const double off = fabs(w->residual[i]) / w->scale;

        w->weight[i] = off <= NEAR ? 1.0 : off <= FAR ? NEAR / off : TINY;
    }
}

/* ---- groups ---- */

typedef struct stretch {
    size_t from, to; /* spots */
    double mean;     /* of what the effects leave */
} stretch;

static int by_mean(const void *a, const void *b)
{
    const stretch *x = a, *y = b;

    if (x->mean != y->mean)
        return x->mean < y->mean ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static void blocks_are_groups(work *w)
{
    w->groups = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (i && w->spots[i].block != w->spots[i - 1].block)
            w->groups++;
        w->group[i] = w->groups;
    }
    w->groups += w->n > 0;
    arrange(w);
}

/* Stretches of a block in which `level` does not change; returns how many. */
static size_t cut(work *w, const double *effect, const double *level, double sigma, stretch *out)
{
    size_t len = 0;

    w->moves = 0;
    for (size_t i = 0; i < w->n; i++) {
        const bool same_block = i && w->spots[i].block == w->spots[i - 1].block;
        const bool jump = same_block && fabs(level[i] - level[i - 1]) > BREAK * sigma;

        if (!same_block || jump)
            out[len++] = (stretch){ .from = i };
        w->moves += jump;
        out[len - 1].to = i + 1;
        out[len - 1].mean += w->spots[i].y - effect[w->spots[i].build];
    }
    for (size_t k = 0; k < len; k++)
        out[k].mean /= (double)(out[k].to - out[k].from);
    return len;
}

/* Joins stretches from the lowest on while their means agree. */
static void join(work *w, stretch *all, size_t len, double sigma)
{
    double mean = 0.0;
    double mass = 0.0;

    qsort(all, len, sizeof *all, by_mean);
    w->groups = 0;
    for (size_t k = 0; k < len; k++) {
        const double size = (double)(all[k].to - all[k].from);
        const double off = all[k].mean - mean;

        if (k && off * off * mass * size / (mass + size) > APART * sigma * sigma) {
            w->groups++;
            mean = mass = 0.0;
        }
        mean = (mean * mass + all[k].mean * size) / (mass + size);
        mass += size;
        for (size_t i = all[k].from; i < all[k].to; i++)
            w->group[i] = w->groups;
    }
    w->groups += len > 0;
    arrange(w);
}

static void find_groups(work *w, const double *start)
{
    double *effect = pfc_calloc(w->builds, sizeof *effect);
    double *level = pfc_calloc(w->n, sizeof *level);
    stretch *all = pfc_calloc(w->n, sizeof *all);
    double sigma;

    memcpy(effect, start, w->builds * sizeof *effect);
    pfc_states_find(w->spots, w->n, w->builds, w->anchor, effect, level, &sigma);
    join(w, all, cut(w, effect, level, sigma, all), sigma);
    free(all);
    free(level);
    free(effect);
}

/* ---- the whole ---- */

static void settle(work *w, pfc_twoway *out)
{
    double dof;

    find_parts(w, out->visits);
    dof = freedom(w, out);
    for (size_t i = 0; i < w->n; i++)
        w->weight[i] = 1.0;
    for (size_t i = 0; i < INNER; i++) {
        effects(w, out);
        residuals(w, out->effect);
        w->scale = scale_of(w, dof);
        if (isnan(w->scale))
            return;
        reweight(w);
    }
}

/* Noise of a visit with full weight, by which the covariance of the weighted equations must be
 * scaled. */
static void noise(work *w, pfc_twoway *out)
{
    double squares = 0.0;
    double kept = 0.0;

    out->dof = freedom(w, out);
    out->sigma = (double)NAN;
    if (isnan(w->scale) || out->dof < 1.0)
        return;
    for (size_t i = 0; i < w->n; i++) {
        squares += w->weight[i] * w->residual[i] * w->residual[i];
        kept += w->weight[i];
    }
    out->dof = fmax(out->dof - ((double)w->n - kept), 1.0);
    /* The breaks are taken as known, which they are not; the factor was found by simulation
     * (bench/studies/night_simulated): with it 95 % intervals cover 90 to 95 % with states of 3
     * visits and more. */
    out->sigma = fmax(sqrt(squares / out->dof), FLOOR) * (1.0 + (double)w->moves / (double)w->n);
}

static void covariance(const work *w, pfc_twoway *out)
{
    const size_t k = w->builds;
    double *column = pfc_calloc(k, sizeof *column);

    for (size_t j = 0; j < k; j++) {
        memset(column, 0, k * sizeof *column);
        if (w->root[j] != j) {
            column[j] = 1.0;
            solve(w->factor, k, column);
        }
        for (size_t i = 0; i < k; i++)
            out->cov[i * k + j] = column[i];
    }
    free(column);
}

void pfc_twoway_fit(const pfc_spot *spots, size_t n, size_t builds, size_t anchor, pfc_twoway *out)
{
    work w = { .spots = spots, .n = n, .builds = builds, .anchor = anchor };

    *out = (pfc_twoway){
        .builds = builds,
        .visits = pfc_calloc(builds, sizeof(size_t)),
        .effect = pfc_calloc(builds, sizeof(double)),
        .part = pfc_calloc(builds, sizeof(size_t)),
        .precision = pfc_calloc(builds * builds, sizeof(double)),
        .cov = pfc_calloc(builds * builds, sizeof(double)),
        .sigma = (double)NAN,
    };
    w.group = pfc_calloc(n + 1, sizeof *w.group);
    w.order = pfc_calloc(n + 1, sizeof *w.order);
    w.starts = pfc_calloc(n + 2, sizeof *w.starts);
    w.touched = pfc_calloc(builds, sizeof *w.touched);
    w.weight = pfc_calloc(n + 1, sizeof *w.weight);
    w.residual = pfc_calloc(n + 1, sizeof *w.residual);
    w.scratch = pfc_calloc(PFC_MAX(n, builds), sizeof *w.scratch);
    w.factor = pfc_calloc(builds * builds, sizeof *w.factor);
    w.right = pfc_calloc(builds, sizeof *w.right);
    w.root = pfc_calloc(builds, sizeof *w.root);
    for (size_t i = 0; i < n; i++)
        out->visits[spots[i].build]++;
    blocks_are_groups(&w);
    settle(&w, out);
    if (n >= LEAST && !isnan(w.scale)) {
        find_groups(&w, out->effect);
        settle(&w, out);
    }
    noise(&w, out);
    covariance(&w, out);
    out->moves = w.moves;
    for (size_t i = 0; i < builds; i++) {
        out->part[i] = w.root[i];
        if (!out->visits[i])
            out->effect[i] = (double)NAN;
    }
    free(w.group);
    free(w.order);
    free(w.starts);
    free(w.touched);
    free(w.weight);
    free(w.residual);
    free(w.scratch);
    free(w.factor);
    free(w.right);
    free(w.root);
}

void pfc_twoway_clear(pfc_twoway *fit)
{
    free(fit->visits);
    free(fit->effect);
    free(fit->part);
    free(fit->precision);
    free(fit->cov);
    *fit = (pfc_twoway){ 0 };
}

double pfc_twoway_se(const pfc_twoway *fit, size_t from, size_t to)
{
    const size_t k = fit->builds;

    if (isnan(fit->sigma) || !fit->visits[from] || !fit->visits[to] ||
        fit->part[from] != fit->part[to])
        return (double)INFINITY;
    return fit->sigma * sqrt(fmax(fit->cov[from * k + from] + fit->cov[to * k + to] -
                                      2.0 * fit->cov[from * k + to],
                                  0.0));
}
