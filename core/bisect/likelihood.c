/*
 * From runs to likelihoods of levels: order, noise, grid, Student-t, build offsets.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bisect/bisect_priv.h"
#include "core/stats/stats.h"

#define NOISE_DOF   20.0 /* what history's noise counts for, in runs */
#define NOISE_SHARE 0.87 /* scale of the t against the standard deviation of the same runs */
#define FINE        0.2  /* grid points are this far apart, in standard deviations */
#define HINT_LOW    0.7  /* of the step that the detector saw, where the noise hides smaller ones */
#define SEEN_SD     1.3  /* steps of as many standard deviations are cheap to see */
#define SMALL_SIZE  0.36 /* and less of the one looked for than this is never asked about */
#define FIRST_MORE  0.30 /* odds of a further step, while none is found */
#define MORE_MORE   0.70 /* once one is: who has found one step may expect another */
#define NOISE_MIN   1e-7

void plan_model_clear(plan_model *m)
{
    free(m->order);
    free(m->x);
    free(m->scale);
    free(m->nodes);
    free(m->gaps);
    free(m->course);
    memset(m, 0, sizeof *m);
}

/* ---- order ---- */

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

static bool anything_inside(const pfc_bisect_plan *plan, size_t a, size_t b)
{
    for (size_t i = a + 1; i < b; i++)
        if (!plan->broken[i])
            return true;
    return false;
}

static void make_nodes(pfc_bisect_plan *plan)
{
    plan_model *m = &plan->model;
    size_t n = plan->runs_len;
    m->order = pfc_calloc(n, sizeof *m->order);
    m->x = pfc_calloc(n, sizeof *m->x);
    m->scale = pfc_calloc(n, sizeof *m->scale);
    m->nodes = pfc_calloc(n, sizeof *m->nodes);
    for (size_t i = 0; i < n; i++) {
        m->order[i] = i;
        m->scale[i] = 1;
        m->x[i] = plan->runs[i].x;
    }
    qsort_r(m->order, n, sizeof *m->order, by_place, plan->runs);
    for (size_t i = 0; i < n; i++) {
        const plan_run *run = &plan->runs[m->order[i]];
        if (!m->nodes_len || m->nodes[m->nodes_len - 1].commit != run->commit)
            m->nodes[m->nodes_len++] = (plan_node){ .commit = run->commit, .first = i };
        plan_node *node = &m->nodes[m->nodes_len - 1];
        node->len++;
        node->builds = PFC_MAX(node->builds, run->build + 1);
    }
    m->gaps = pfc_calloc(m->nodes_len, sizeof *m->gaps);
    m->course = pfc_calloc(m->nodes_len * PLAN_DRAWS, sizeof *m->course);
    for (size_t i = 0; i + 1 < m->nodes_len; i++) {
        size_t a = m->nodes[i].commit;
        size_t b = m->nodes[i + 1].commit;
        m->gaps[i].weight = plan->cumulative[b] - plan->cumulative[a];
        m->gaps[i].atomic = !anything_inside(plan, a, b);
    }
}

/* Median of a node's runs; of those with a value only, NAN when there is none. */
static double node_median(const pfc_bisect_plan *plan, const plan_node *node)
{
    const plan_model *m = &plan->model;
    double *x = pfc_calloc(node->len, sizeof *x);
    size_t len = 0;
    for (size_t i = 0; i < node->len; i++)
        if (!plan->runs[m->order[node->first + i]].slow)
            x[len++] = m->x[m->order[node->first + i]];
    double median = len ? pfc_stats_median(x, len) : (double)NAN;
    free(x);
    return median;
}

/* A run over its time counts as one at the bad end's level; far above the good one when the bad
 * end has no value either. Returns false when no run at all has a value. */
static bool place_slow_runs(pfc_bisect_plan *plan, double noise)
{
    plan_model *m = &plan->model;
    double top = node_median(plan, &m->nodes[m->nodes_len - 1]);
    double good = node_median(plan, &m->nodes[0]);
    if (isnan(good) && isnan(top))
        top = 0;
    else if (isnan(top) || (!isnan(good) && top < good + m->step))
        top = good + fmax(20 * noise, m->step);
    for (size_t i = 0; i < plan->runs_len; i++)
        if (plan->runs[i].slow)
            m->x[i] = top;
    return !(isnan(good) && isnan(top));
}

/* ---- noise ---- */

/* One step of the t's scale from runs around the mean of their own build. */
static double noise_step(const pfc_bisect_plan *plan, double noise, double start, double dof)
{
    const plan_model *m = &plan->model;
    double sum = dof * start * start;
    size_t i = 0;
    while (i < plan->runs_len) {
        const plan_run *first = &plan->runs[m->order[i]];
        size_t end = i;
        double weights = 0;
        double mean = 0;
        double median;
        double x[64];
        while (end < plan->runs_len && plan->runs[m->order[end]].commit == first->commit &&
               plan->runs[m->order[end]].build == first->build)
            end++;
        size_t len = PFC_MIN(end - i, PFC_ARRAY_LEN(x));
        for (size_t k = 0; k < len; k++)
            x[k] = m->x[m->order[i + k]];
        median = pfc_stats_median(x, len);
        for (size_t k = i; k < end; k++) {
            double r = (m->x[m->order[k]] - median) / noise;
            double w = (PLAN_NU + 1) / (PLAN_NU + r * r);
            weights += w;
            mean += w * m->x[m->order[k]];
        }
        mean /= weights;
        for (size_t k = i; k < end && end - i > 1; k++) {
            double r = (m->x[m->order[k]] - mean) / m->scale[m->order[k]];
            double w = (PLAN_NU + 1) / (PLAN_NU + r * r / (noise * noise));
            sum += w * r * r;
        }
        dof += (double)(end - i - 1);
        i = end;
    }
    return sqrt(sum / dof);
}

static void estimate_noise(pfc_bisect_plan *plan)
{
    plan_model *m = &plan->model;
    bool known = plan->opts.noise_rel > 0;
    double start = plan->opts.noise_rel * NOISE_SHARE;
    if (!known) {
        double ends =
            node_median(plan, &m->nodes[m->nodes_len - 1]) - node_median(plan, &m->nodes[0]);
        start = fmax(isfinite(ends) ? fabs(ends) / 6 : 0, 1e-4);
    }
    double dof = known ? NOISE_DOF : 0.5;
    m->noise = start;
    for (int i = 0; i < 12; i++)
        m->noise = noise_step(plan, fmax(m->noise, NOISE_MIN), start, dof);
    m->noise = fmax(m->noise, NOISE_MIN);
}

static double wanted_step(const pfc_bisect_plan *plan, double noise)
{
    if (plan->opts.delta_rel != 0)
        return fabs(log1p(plan->opts.delta_rel));
    /* Nothing is known: what is smaller than 2.5 * 0.45 standard deviations does not count. */
    return fmax(2.5 * noise, 1e-4);
}

/* ---- grid ---- */

static void make_grid(pfc_bisect_plan *plan)
{
    plan_model *m = &plan->model;
    double good = node_median(plan, &m->nodes[0]);
    double bad = node_median(plan, &m->nodes[m->nodes_len - 1]);
    if (isnan(good))
        good = m->x[m->order[0]];
    if (isnan(bad))
        bad = m->x[m->order[plan->runs_len - 1]];
    double wide = sqrt(m->noise * m->noise + m->layout * m->layout);
    double reach = 20 * wide + 2.5 * fmax(m->step, fabs(bad - good));
    double low = good;
    double high = good;
    for (size_t i = 0; i < m->nodes_len; i++) {
        double median = node_median(plan, &m->nodes[i]);
        if (isnan(median))
            median = m->x[m->order[m->nodes[i].first]];
        low = fmin(low, fmax(median, fmin(good, bad) - reach));
        high = fmax(high, fmin(median, fmax(good, bad) + reach));
    }
    low -= 3 * wide + 0.2 * m->step;
    high += 3 * wide + 0.2 * m->step;
    m->pitch = fmax(FINE * m->noise, (high - low) / (PLAN_GRID_MAX - 1));
    m->grid = (size_t)ceil((high - low) / m->pitch) + 1;
    m->grid = PFC_MIN(m->grid, (size_t)PLAN_GRID_MAX);
    m->low = low;
    /* A coarse grid (steps of many standard deviations) must not fall between two of its points. */
    if (m->pitch > 0.5 * m->noise)
        m->noise = sqrt(m->noise * m->noise + m->pitch * m->pitch);
}

/* ---- likelihood ---- */

/* Adds the runs order[i..end) of one build to e: products first, one logarithm for several. */
static void add_runs(const plan_model *m, size_t i, size_t end, double *e)
{
    for (size_t l = 0; l < m->grid; l++) {
        double level = m->low + m->pitch * (double)l;
        double product = 1;
        double sum = 0;
        for (size_t k = i; k < end; k++) {
            double scale = m->noise * m->scale[m->order[k]];
            double r = (m->x[m->order[k]] - level) / scale;
            product *= 1 + r * r / PLAN_NU;
            if (product > 1e200) {
                sum += log(product);
                product = 1;
            }
        }
        e[l] -= (PLAN_NU + 1) / 2 * (sum + log(product));
    }
}

/* The normal offset of a build in grid points: weights of 0..half, and what all of them sum to. */
typedef struct offsets {
    long half; /* below PLAN_GRID_MAX; 0: none */
    double weight[PLAN_GRID_MAX];
    double all;
} offsets;

static void make_offsets(const plan_model *m, offsets *o)
{
    o->half = 0;
    o->all = 1;
    if (!(m->layout > 0))
        return;
    o->half = PFC_MIN((long)ceil(3 * m->layout / m->pitch), (long)PLAN_GRID_MAX - 1);
    o->weight[0] = 1;
    for (long k = 1; k <= o->half; k++) {
        double z = (double)k * m->pitch / m->layout;
        o->weight[k] = exp(-z * z / 2);
        o->all += 2 * o->weight[k];
    }
}

/* Blurs a log likelihood by the offset of a build. */
static void blur(const plan_model *m, const offsets *o, double *e)
{
    double work[3 * PLAN_GRID_MAX];
    double *mid = work + o->half; /* with the grid's ends repeated on either side */
    long grid = (long)m->grid;
    double best = -INFINITY;
    for (long l = 0; l < grid; l++)
        best = fmax(best, e[l]);
    for (long l = 0; l < grid; l++)
        mid[l] = exp(e[l] - best);
    for (long k = 1; k <= o->half; k++) {
        mid[-k] = mid[0];
        mid[grid - 1 + k] = mid[grid - 1];
    }
    for (long l = 0; l < grid; l++) {
        double sum = mid[l];
        for (long k = 1; k <= o->half; k++)
            sum += o->weight[k] * (mid[l - k] + mid[l + k]);
        e[l] = best + log(fmax(sum / o->all, 1e-300));
    }
}

static void likelihoods(const pfc_bisect_plan *plan, double *e)
{
    const plan_model *m = &plan->model;
    double one[PLAN_GRID_MAX];
    offsets o;
    make_offsets(m, &o);
    for (size_t n = 0; n < m->nodes_len; n++) {
        size_t i = m->nodes[n].first;
        size_t last = i + m->nodes[n].len;
        while (i < last) {
            size_t end = i;
            while (end < last && plan->runs[m->order[end]].build == plan->runs[m->order[i]].build)
                end++;
            memset(one, 0, sizeof one);
            add_runs(m, i, end, one);
            if (o.half)
                blur(m, &o, one);
            for (size_t l = 0; l < m->grid; l++)
                e[n * m->grid + l] += one[l];
            i = end;
        }
    }
}

/* Once a step is found, a further one is looked for that is not much smaller than it. */
static double largest_found(const pfc_bisect_plan *plan)
{
    const plan_model *m = &plan->model;
    double size = 0;
    for (size_t i = 0; i + 1 < m->nodes_len; i++)
        if (plan_settled(plan, i))
            size = fmax(size, m->gaps[i].up_size);
    return size;
}

/* The smallest step that counts. To be sure that there is none of size s takes runs in proportion
 * to (noise / s)^2, so how small a step is looked for follows the noise, within what the hint may
 * be off by (upwards) and what matters beside the step that was seen (downwards). */
static double smallest_of(const plan_model *m)
{
    double seen = SEEN_SD * hypot(m->noise, m->layout);
    return fmin(fmax(seen, SMALL_SIZE * m->step), HINT_LOW * m->step);
}

static void judge(pfc_bisect_plan *plan)
{
    plan_model *m = &plan->model;
    double *e;
    make_grid(plan);
    e = pfc_calloc(m->nodes_len * m->grid, sizeof *e);
    likelihoods(plan, e);
    plan_posterior(plan, e);
    free(e);
}

void plan_model_fit(pfc_bisect_plan *plan)
{
    plan_model *m = &plan->model;
    plan_model_clear(m);
    make_nodes(plan);
    m->layout = plan->opts.layout_noise_rel;
    m->step = wanted_step(plan, plan->opts.noise_rel);
    (void)place_slow_runs(plan, fmax(plan->opts.noise_rel, 0.01));
    estimate_noise(plan);
    m->step = wanted_step(plan, m->noise);
    plan_state(plan);
    if (m->state)
        estimate_noise(plan);
    m->smallest = smallest_of(m);
    m->more = FIRST_MORE;
    judge(plan);
    double size = largest_found(plan);
    if (size > 0) {
        m->step = size > 1.6 * m->step ? size : m->step;
        m->smallest = smallest_of(m);
        m->more = MORE_MORE;
        m->further = plan_clear(plan);
        judge(plan);
    }
}
