/*
 * The information of one run about all steps together.
 *
 * Each course drawn from the posterior places every jump of the level. Within a course the level of
 * a commit is the mean of the runs of its stretch; between courses it differs where they place
 * jumps differently. The information of a run about the courses is the entropy of its predicted
 * value minus the entropy of the noise alone. Steps are not treated separately: one run may end the
 * search for one step and begin the search for the next. Courses that agree on all steps to worse,
 * and differ in steps to better only, count as one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bisect/choice/choose.h"

#define BIN      0.25 /* width of a bin, as a share of the noise of the run that is considered */
#define BINS     160
#define KERNEL   16   /* bins on either side: four standard deviations */
#define SHARES   3    /* commits considered in a gap */
/* in a gap with a smaller probability of a jump only the middle commit is considered */
#define UNLIKELY 0.02

/* Means and variances of the level of each node, in each course. */
typedef struct courses {
    double *mean, *var; /* [nodes][PLAN_DRAWS] */
    double kernel[2 * KERNEL + 1];
    double noise_entropy;    /* of the kernel, nats */
    bool common[PLAN_DRAWS]; /* courses with the most frequent set of steps to worse */
} courses;

/* Mean and variance of the stretch of nodes a..b of course k; each run has its Student-t weight. */
static void fit_stretch(const plan_model *m, courses *s, size_t k, size_t a, size_t b)
{
    double level = m->grid.low + m->grid.pitch * (double)m->posterior.courses[a * PLAN_DRAWS + k];
    double weights = 0;
    double sum = 0;
    for (size_t i = a; i <= b; i++) {
        const plan_node *node = &m->chain.nodes[i];
        double offset = m->scales.layout * m->scales.layout * (double)node->len / node->builds;
        for (size_t r = node->first; r < node->first + node->len; r++) {
            double noise = m->scales.noise * m->chain.scale[m->chain.order[r]];
            double var = noise * noise + offset;
            double off = m->chain.x[m->chain.order[r]] - level;
            double w = (PLAN_NU + 1) / (PLAN_NU * var + off * off);
            weights += w;
            sum += w * off;
        }
    }
    for (size_t i = a; i <= b; i++) {
        s->mean[i * PLAN_DRAWS + k] = level + sum / weights;
        s->var[i * PLAN_DRAWS + k] = 1 / weights;
    }
}

static void fit_courses(const plan_model *m, courses *s)
{
    size_t n = m->chain.len;
    double all = 0;
    s->mean = pfc_calloc(2 * n * PLAN_DRAWS, sizeof *s->mean);
    s->var = s->mean + n * PLAN_DRAWS;
    for (size_t k = 0; k < PLAN_DRAWS; k++)
        for (size_t a = 0, i = 0; i < n; i++) {
            const unsigned char *here = m->posterior.courses + i * PLAN_DRAWS + k;
            if (i + 1 < n && here[0] == here[PLAN_DRAWS])
                continue;
            fit_stretch(m, s, k, a, i);
            a = i + 1;
        }
    for (int j = -KERNEL; j <= KERNEL; j++) {
        s->kernel[j + KERNEL] = exp(-BIN * BIN * j * j / 2);
        all += s->kernel[j + KERNEL];
    }
    s->noise_entropy = 0;
    for (int j = 0; j <= 2 * KERNEL; j++) {
        s->kernel[j] /= all;
        s->noise_entropy -= s->kernel[j] * log(s->kernel[j]);
    }
}

/* Marks the courses with the most frequent set of steps to worse among nodes from..to. */
static void find_common(const plan_model *m, size_t from, size_t to, courses *s)
{
    uint64_t steps[PLAN_DRAWS] = { 0 };
    size_t most = 0;
    size_t which = 0;
    for (size_t i = from; i < to; i++) {
        const unsigned char *here = m->posterior.courses + i * PLAN_DRAWS;
        for (size_t k = 0; k < PLAN_DRAWS; k++)
            if (here[k + PLAN_DRAWS] > here[k])
                steps[k] = (steps[k] + i + 1) * 0x9e3779b97f4a7c15u;
    }
    for (size_t k = 0; k < PLAN_DRAWS; k++) {
        size_t count = 0;
        for (size_t j = 0; j < PLAN_DRAWS; j++)
            count += steps[j] == steps[k];
        if (count > most) {
            most = count;
            which = k;
        }
    }
    for (size_t k = 0; k < PLAN_DRAWS; k++)
        s->common[k] = steps[k] == steps[which];
}

/* A distribution of levels on bins. */
typedef struct spread {
    double low, pitch;
    size_t bins;
    double mass[2][BINS + 1]; /* sums of the common courses and of the others */
} spread;

static void spread_levels(const double *level, const bool *common, double low, double high,
                          double noise, spread *p)
{
    p->low = low;
    p->pitch = fmax(BIN * sqrt(noise), (high - low) / (BINS - 2));
    p->bins = (size_t)((high - low) / p->pitch) + 2;
    memset(p->mass, 0, sizeof p->mass);
    for (size_t k = 0; k < PLAN_DRAWS; k++) {
        double at = (level[k] - low) / p->pitch;
        size_t bin = (size_t)at;
        double *mass = p->mass[common[k] ? 0 : 1];
        mass[bin] += (1 - (at - (double)bin)) / PLAN_DRAWS;
        mass[bin + 1] += (at - (double)bin) / PLAN_DRAWS;
    }
}

/* Adds the predicted value, levels plus noise, to density. */
static void blur(const courses *s, const spread *p, size_t which, double *density)
{
    for (size_t b = 0; b < p->bins; b++)
        for (size_t j = 0; p->mass[which][b] > 0 && j <= 2 * KERNEL; j++)
            density[b + j] += p->mass[which][b] * s->kernel[j];
}

/* Entropy in nats of a density that sums to `all`, multiplied by that sum. */
static double entropy_of(const double *density, double all)
{
    double sum = 0;
    for (size_t b = 0; b <= BINS + 2 * KERNEL; b++)
        if (density[b] > 0)
            sum -= density[b] * log(density[b] / all);
    return sum;
}

/* Bits that a value of variance `noise` gives about the steps to worse, when each of the levels has
 * the same probability; 0 when it cannot be more than `least`. */
static double information(const courses *s, const double *level, const bool *common, double noise,
                          double least)
{
    double density[BINS + 2 * KERNEL + 1] = { 0 };
    double low = INFINITY;
    double high = -INFINITY;
    double mean = 0;
    double square = 0;
    double share = 0;
    spread p;
    for (size_t k = 0; k < PLAN_DRAWS; k++) {
        low = fmin(low, level[k]);
        high = fmax(high, level[k]);
        share += common[k] ? 1.0 / PLAN_DRAWS : 0;
    }
    for (size_t k = 0; k < PLAN_DRAWS; k++) {
        mean += (level[k] - low) / PLAN_DRAWS;
        square += (level[k] - low) * (level[k] - low) / PLAN_DRAWS;
    }
    /* The capacity of a Gaussian channel is an upper bound (C. Shannon, 1948), so a worse candidate
     * can be skipped without the exact sum. */
    if (log2(1 + fmax(0, square - mean * mean) / noise) / 2 <= least)
        return 0;
    spread_levels(level, common, low, high, noise, &p);
    blur(s, &p, 0, density);
    double left = (1 - share) * s->noise_entropy + (share > 0 ? entropy_of(density, share) : 0);
    blur(s, &p, 1, density);
    return fmax(0, (entropy_of(density, 1) - left) / M_LN2);
}

static double mean_of(const double *x)
{
    double sum = 0;
    for (size_t k = 0; k < PLAN_DRAWS; k++)
        sum += x[k];
    return sum / PLAN_DRAWS;
}

static void consider_node(const plan_model *m, const courses *s, size_t i, plan_best *best)
{
    const pfc_bisect_opts *o = &m->input->opts;
    const plan_node *node = &m->chain.nodes[i];
    const double *level = s->mean + i * PLAN_DRAWS;
    pfc_bisect_step step = { .commit = node->commit, .build = node->builds - 1 };
    size_t runs = plan_runs_of_last_build(&m->chain, i);
    double var = mean_of(s->var + i * PLAN_DRAWS);
    double noise = 1 / plan_precision(&m->scales, runs) + var;
    double cost = o->run_cost;

    if (m->seen->unmeasurable[node->commit])
        return;
    plan_consider(best, &step, information(s, level, s->common, noise, best->score * cost), cost);
    if (!o->relink || !(m->scales.layout > 0))
        return;
    step.build = node->builds;
    noise = 1 / plan_precision(&m->scales, 0) + var;
    cost = o->run_cost + o->build_cost;
    plan_consider(best, &step, information(s, level, s->common, noise, best->score * cost), cost);
}

static void consider_gap(const plan_model *m, const courses *s, size_t i, double share,
                         plan_best *best)
{
    const pfc_bisect_opts *o = &m->input->opts;
    const double *left = s->mean + i * PLAN_DRAWS;
    const double *right = left + PLAN_DRAWS;
    size_t a = m->chain.nodes[i].commit;
    size_t b = m->chain.nodes[i + 1].commit;
    size_t at = plan_pick(m->seen, a, b, plan_quantile(m->input, a, b, share));
    double level[PLAN_DRAWS];
    bool common[PLAN_DRAWS];
    double var = 0;
    if (!at)
        return;
    double in = (m->input->cumulative[at] - m->input->cumulative[a]) / m->chain.gaps[i].weight;
    for (size_t k = 0; k < PLAN_DRAWS; k++) {
        /* The places are spread evenly. 79 is prime to PLAN_DRAWS, so that their order does not
         * follow that of the draws. */
        double place = (double)((k * 79) % PLAN_DRAWS) / PLAN_DRAWS + 0.5 / PLAN_DRAWS;
        const unsigned char *here = m->posterior.courses + i * PLAN_DRAWS + k;
        level[k] = place < in ? right[k] : left[k];
        common[k] = s->common[k] && here[PLAN_DRAWS] <= here[0];
        var += s->var[(i + (place < in)) * PLAN_DRAWS + k] / PLAN_DRAWS;
    }
    const double noise = 1 / plan_precision(&m->scales, 0) + var;
    const double cost = o->run_cost + o->build_cost + o->checkout_cost;
    plan_consider(best, &(pfc_bisect_step){ .commit = at },
                  information(s, level, common, noise, best->score * cost), cost);
}

void plan_joint(const plan_model *m, size_t from, size_t to, plan_best *best)
{
    static const double shares[SHARES] = { 0.5, 0.25, 0.75 };
    courses s;
    fit_courses(m, &s);
    find_common(m, from, to, &s);
    for (size_t i = from; i <= to; i++) {
        consider_node(m, &s, i, best);
        if (i == to || m->chain.gaps[i].atomic)
            continue;
        const bool likely = m->posterior.jumps[i].up + m->posterior.jumps[i].down > UNLIKELY;
        for (size_t k = 0; k < (likely ? SHARES : 1); k++)
            consider_gap(m, &s, i, shares[k], best);
    }
    free(s.mean);
}
