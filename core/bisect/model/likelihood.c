/*
 * Fits the model: noise, grid, Student-t likelihoods of levels, offsets of builds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bisect/model/fit.h"
#include "core/stats/stats.h"

#define NOISE_DOF   20.0 /* weight of a given noise_rel, in runs */
#define NOISE_SHARE 0.87 /* scale of the t / standard deviation of the same runs */
#define FINE        0.2  /* distance of grid points in standard deviations */
#define HINT_LOW                                                                                   \
    0.7 /* share of the given step that still counts if the noise hides smaller ones */
/* steps of this many standard deviations and more need few runs to be detected */
#define VISIBLE_SD    1.3
#define SMALL_SIZE    0.36 /* a step below this share of the one searched for never counts */
/* Prior of a further step against none. */
#define FURTHER_FIRST 0.30 /* weight while no step is found */
#define FURTHER_NEXT  0.70 /* once one is found, another one is more probable */
#define NOISE_MIN     1e-7

/* A run that timed out has no value but is evidence of slowness: it counts as one at the bad
 * commit's level, or far above the good one's level if the bad commit has no value either. */
static void place_timed_out(plan_model *m, double noise)
{
    const double good = plan_node_median(&m->chain, 0);
    double top = plan_node_median(&m->chain, m->chain.len - 1);

    if (isnan(good) && isnan(top))
        top = 0;
    else if (isnan(top) || (!isnan(good) && top < good + m->scales.step))
        top = good + fmax(20 * noise, m->scales.step);
    for (size_t i = 0; i < m->seen->len; i++)
        if (m->seen->runs[i].timed_out)
            m->chain.x[i] = top;
}

/* ---- noise ---- */

/* One step of the t's scale from runs around the mean of their own build. */
static double noise_step(const plan_model *m, double noise, double start, double dof)
{
    double sum = dof * start * start;
    size_t i = 0;
    while (i < m->seen->len) {
        const plan_run *first = &m->seen->runs[m->chain.order[i]];
        size_t end = i;
        double weights = 0;
        double mean = 0;
        double median;
        double x[64];
        while (end < m->seen->len && m->seen->runs[m->chain.order[end]].commit == first->commit &&
               m->seen->runs[m->chain.order[end]].build == first->build)
            end++;
        size_t len = PFC_MIN(end - i, PFC_ARRAY_LEN(x));
        for (size_t k = 0; k < len; k++)
            x[k] = m->chain.x[m->chain.order[i + k]];
        median = pfc_stats_median(x, len);
        for (size_t k = i; k < end; k++) {
            double r = (m->chain.x[m->chain.order[k]] - median) / noise;
            double w = (PLAN_NU + 1) / (PLAN_NU + r * r);
            weights += w;
            mean += w * m->chain.x[m->chain.order[k]];
        }
        mean /= weights;
        for (size_t k = i; k < end && end - i > 1; k++) {
            double r = (m->chain.x[m->chain.order[k]] - mean) / m->chain.scale[m->chain.order[k]];
            double w = (PLAN_NU + 1) / (PLAN_NU + r * r / (noise * noise));
            sum += w * r * r;
        }
        dof += (double)(end - i - 1);
        i = end;
    }
    return sqrt(sum / dof);
}

static void estimate_noise(plan_model *m)
{
    bool known = m->input->opts.noise_rel > 0;
    double start = m->input->opts.noise_rel * NOISE_SHARE;
    if (!known) {
        double ends =
            plan_node_median(&m->chain, m->chain.len - 1) - plan_node_median(&m->chain, 0);
        start = fmax(isfinite(ends) ? fabs(ends) / 6 : 0, 1e-4);
    }
    double dof = known ? NOISE_DOF : 0.5;
    m->scales.noise = start;
    for (int i = 0; i < 12; i++)
        m->scales.noise = noise_step(m, fmax(m->scales.noise, NOISE_MIN), start, dof);
    m->scales.noise = fmax(m->scales.noise, NOISE_MIN);
}

static double target_step(const plan_model *m, double noise)
{
    if (m->input->opts.delta_rel != 0)
        return fabs(log1p(m->input->opts.delta_rel));
    /* Without a given step size, less than 2.5 * 0.45 standard deviations does not count. */
    return fmax(2.5 * noise, 1e-4);
}

/* ---- grid ---- */

static void make_grid(plan_model *m)
{
    double good = plan_node_median(&m->chain, 0);
    double bad = plan_node_median(&m->chain, m->chain.len - 1);
    if (isnan(good))
        good = m->chain.x[m->chain.order[0]];
    if (isnan(bad))
        bad = m->chain.x[m->chain.order[m->seen->len - 1]];
    double wide = sqrt(m->scales.noise * m->scales.noise + m->scales.layout * m->scales.layout);
    double reach = 20 * wide + 2.5 * fmax(m->scales.step, fabs(bad - good));
    double low = good;
    double high = good;
    for (size_t i = 0; i < m->chain.len; i++) {
        double median = plan_node_median(&m->chain, i);
        if (isnan(median))
            median = m->chain.x[m->chain.order[m->chain.nodes[i].first]];
        low = fmin(low, fmax(median, fmin(good, bad) - reach));
        high = fmax(high, fmin(median, fmax(good, bad) + reach));
    }
    low -= 3 * wide + 0.2 * m->scales.step;
    high += 3 * wide + 0.2 * m->scales.step;
    m->grid.pitch = fmax(FINE * m->scales.noise, (high - low) / (PLAN_GRID_MAX - 1));
    m->grid.points = (size_t)ceil((high - low) / m->grid.pitch) + 1;
    m->grid.points = PFC_MIN(m->grid.points, (size_t)PLAN_GRID_MAX);
    m->grid.low = low;
    /* A coarse grid (steps of many standard deviations) must not fall between two of its points. */
    if (m->grid.pitch > 0.5 * m->scales.noise)
        m->scales.noise = sqrt(m->scales.noise * m->scales.noise + m->grid.pitch * m->grid.pitch);
}

/* ---- likelihood ---- */

/* Adds the runs order[i..end) of one build to e: products first, one logarithm for several. */
static void add_runs(const plan_model *m, size_t i, size_t end, double *e)
{
    for (size_t l = 0; l < m->grid.points; l++) {
        double level = m->grid.low + m->grid.pitch * (double)l;
        double product = 1;
        double sum = 0;
        for (size_t k = i; k < end; k++) {
            double scale = m->scales.noise * m->chain.scale[m->chain.order[k]];
            double r = (m->chain.x[m->chain.order[k]] - level) / scale;
            product *= 1 + r * r / PLAN_NU;
            if (product > 1e200) {
                sum += log(product);
                product = 1;
            }
        }
        e[l] -= (PLAN_NU + 1) / 2 * (sum + log(product));
    }
}

/* The normal offset of a build in grid points: weights of 0..half, and the sum of the weights of
 * both sides. */
typedef struct offsets {
    long half; /* below PLAN_GRID_MAX; 0 if the build has no offset */
    double weight[PLAN_GRID_MAX];
    double all;
} offsets;

static void make_offsets(const plan_model *m, offsets *o)
{
    o->half = 0;
    o->all = 1;
    if (!(m->scales.layout > 0))
        return;
    o->half = PFC_MIN((long)ceil(3 * m->scales.layout / m->grid.pitch), (long)PLAN_GRID_MAX - 1);
    o->weight[0] = 1;
    for (long k = 1; k <= o->half; k++) {
        double z = (double)k * m->grid.pitch / m->scales.layout;
        o->weight[k] = exp(-z * z / 2);
        o->all += 2 * o->weight[k];
    }
}

/* Convolves a log likelihood with the distribution of a build's offset. */
static void blur(const plan_model *m, const offsets *o, double *e)
{
    double work[3 * PLAN_GRID_MAX];
    double *mid = work + o->half; /* with the grid's ends repeated on either side */
    long grid = (long)m->grid.points;
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

static void likelihoods(const plan_model *m, double *e)
{
    double one[PLAN_GRID_MAX];
    offsets o;
    make_offsets(m, &o);
    for (size_t n = 0; n < m->chain.len; n++) {
        size_t i = m->chain.nodes[n].first;
        size_t last = i + m->chain.nodes[n].len;
        while (i < last) {
            size_t end = i;
            while (end < last && m->seen->runs[m->chain.order[end]].build ==
                                     m->seen->runs[m->chain.order[i]].build)
                end++;
            memset(one, 0, sizeof one);
            add_runs(m, i, end, one);
            if (o.half)
                blur(m, &o, one);
            for (size_t l = 0; l < m->grid.points; l++)
                e[n * m->grid.points + l] += one[l];
            i = end;
        }
    }
}

/* Expected size of the largest settled step, 0: none. Further steps that are much smaller are not
 * searched for. */
static double largest_found(const plan_model *m)
{
    double size = 0;
    for (size_t i = 0; i + 1 < m->chain.len; i++)
        if (plan_is_settled(m, i))
            size = fmax(size, m->posterior.jumps[i].up_size);
    return size;
}

/* The smallest step that counts. Excluding a step of size s takes runs in proportion to (noise /
 * s)^2, so the smallest step follows the noise, between SMALL_SIZE and HINT_LOW of the step
 * searched for. */
static double smallest_of(const plan_scales *s)
{
    const double visible = VISIBLE_SD * hypot(s->noise, s->layout);

    return fmin(fmax(visible, SMALL_SIZE * s->step), HINT_LOW * s->step);
}

static void judge(plan_model *m)
{
    double *e;

    make_grid(m);
    e = pfc_calloc(m->chain.len * m->grid.points, sizeof *e);
    likelihoods(m, e);
    plan_posterior_compute(m, e);
    free(e);
}

static void fit(plan_model *m)
{
    const pfc_bisect_opts *o = &m->input->opts;
    double size;

    m->scales.layout = o->layout_noise_rel;
    m->scales.step = target_step(m, o->noise_rel);
    place_timed_out(m, fmax(o->noise_rel, 0.01));
    estimate_noise(m);
    m->scales.step = target_step(m, m->scales.noise);
    plan_correct_drift(m);
    if (m->scales.drift)
        estimate_noise(m);
    m->scales.smallest = smallest_of(&m->scales);
    m->further_weight = FURTHER_FIRST;
    judge(m);
    size = largest_found(m);
    if (size > 0) {
        m->scales.step = size > 1.6 * m->scales.step ? size : m->scales.step;
        m->scales.smallest = smallest_of(&m->scales);
        m->further_weight = FURTHER_NEXT;
        m->further = plan_is_clear(m);
        judge(m);
    }
}

void plan_model_fit(plan_model *m, const plan_input *input, const plan_observations *seen)
{
    size_t nodes;

    plan_model_clear(m);
    m->input = input;
    m->seen = seen;
    plan_chain_init(&m->chain, input, seen);
    nodes = m->chain.len;
    if (!nodes)
        return;
    m->posterior.jumps = pfc_calloc(nodes, sizeof *m->posterior.jumps);
    m->posterior.levels = pfc_calloc(nodes, sizeof *m->posterior.levels);
    m->posterior.courses = pfc_calloc(nodes * PLAN_DRAWS, sizeof *m->posterior.courses);
    fit(m);
}
