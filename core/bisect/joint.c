/*
 * What a run tells about all steps at once.
 *
 * The courses drawn from the posterior are so many whole stories: where the level jumps, each time.
 * Within a story the level of a commit is the mean of the runs of its stretch; over the stories it
 * differs where they tell of other jumps. A run's value then tells the stories apart by as much as
 * the entropy of what is expected of it exceeds that of the noise alone. No step is looked at apart
 * from the others: one run may tell about the end of a step's search and the beginning of the next.
 * Where stories agree on all steps to worse, and differ in those to better only, nothing is gained.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bisect/bisect_priv.h"

#define BIN    0.25 /* of the noise of the run that is looked at */
#define BINS   160
#define KERNEL 16   /* bins on either side: four standard deviations */
#define SHARES 3    /* places looked at in a gap */
#define WORTH  0.02 /* a gap with less doubt than this is looked at in its middle only */

/* Means and variances of the level of each node, in each story. */
typedef struct stories {
    double *mean, *var; /* [nodes][PLAN_DRAWS] */
    double kernel[2 * KERNEL + 1];
    double alone;            /* entropy of the kernel, nats */
    bool common[PLAN_DRAWS]; /* those that agree on the steps to worse, as most do */
} stories;

/* The stretch of nodes a..b of story k, which lies at `level`: each run weighs as the t says. */
static void tell_stretch(const pfc_bisect_plan *plan, stories *s, size_t k, size_t a, size_t b)
{
    const plan_model *m = &plan->model;
    double level = m->low + m->pitch * (double)m->course[a * PLAN_DRAWS + k];
    double weights = 0;
    double sum = 0;
    for (size_t i = a; i <= b; i++) {
        const plan_node *node = &m->nodes[i];
        double offset = m->layout * m->layout * (double)node->len / node->builds;
        for (size_t r = node->first; r < node->first + node->len; r++) {
            double noise = m->noise * m->scale[m->order[r]];
            double var = noise * noise + offset;
            double off = m->x[m->order[r]] - level;
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

static void tell(const pfc_bisect_plan *plan, stories *s)
{
    const plan_model *m = &plan->model;
    size_t n = m->nodes_len;
    double all = 0;
    s->mean = pfc_calloc(2 * n * PLAN_DRAWS, sizeof *s->mean);
    s->var = s->mean + n * PLAN_DRAWS;
    for (size_t k = 0; k < PLAN_DRAWS; k++)
        for (size_t a = 0, i = 0; i < n; i++) {
            const unsigned char *here = m->course + i * PLAN_DRAWS + k;
            if (i + 1 < n && here[0] == here[PLAN_DRAWS])
                continue;
            tell_stretch(plan, s, k, a, i);
            a = i + 1;
        }
    for (int j = -KERNEL; j <= KERNEL; j++) {
        s->kernel[j + KERNEL] = exp(-BIN * BIN * j * j / 2);
        all += s->kernel[j + KERNEL];
    }
    s->alone = 0;
    for (int j = 0; j <= 2 * KERNEL; j++) {
        s->kernel[j] /= all;
        s->alone -= s->kernel[j] * log(s->kernel[j]);
    }
}

/* Marks the stories with the commonest steps to worse among nodes from..to. */
static void find_common(const plan_model *m, size_t from, size_t to, stories *s)
{
    uint64_t steps[PLAN_DRAWS] = { 0 };
    size_t most = 0;
    size_t which = 0;
    for (size_t i = from; i < to; i++) {
        const unsigned char *here = m->course + i * PLAN_DRAWS;
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

/* Levels as masses on a line of bins. */
typedef struct spread {
    double low, pitch;
    size_t bins;
    double mass[2][BINS + 1]; /* of the common stories, of the others */
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

/* Adds what a value may be to density. */
static void blur(const stories *s, const spread *p, size_t which, double *density)
{
    for (size_t b = 0; b < p->bins; b++)
        for (size_t j = 0; p->mass[which][b] > 0 && j <= 2 * KERNEL; j++)
            density[b + j] += p->mass[which][b] * s->kernel[j];
}

/* Nats, of a density that sums to `all`, times that sum. */
static double entropy_of(const double *density, double all)
{
    double sum = 0;
    for (size_t b = 0; b <= BINS + 2 * KERNEL; b++)
        if (density[b] > 0)
            sum -= density[b] * log(density[b] / all);
    return sum;
}

/* Bits that a value of variance `noise` tells about the steps to worse, when it comes from each of
 * the levels as likely; 0 when it cannot be as many as `least`. */
static double told(const stories *s, const double *level, const bool *common, double noise,
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
    /* No source of that variance tells more. */
    if (log2(1 + fmax(0, square - mean * mean) / noise) / 2 <= least)
        return 0;
    spread_levels(level, common, low, high, noise, &p);
    blur(s, &p, 0, density);
    double left = (1 - share) * s->alone + (share > 0 ? entropy_of(density, share) : 0);
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

static void look_at_node(const pfc_bisect_plan *plan, const stories *s, size_t i, plan_best *best)
{
    const plan_model *m = &plan->model;
    const pfc_bisect_opts *o = &plan->opts;
    const plan_node *node = &m->nodes[i];
    const double *level = s->mean + i * PLAN_DRAWS;
    size_t runs = plan_runs_of_last_build(plan, node);
    double var = mean_of(s->var + i * PLAN_DRAWS);
    if (plan->broken[node->commit])
        return;
    plan_consider(
        best, node->commit, node->builds - 1,
        told(s, level, s->common, 1 / plan_precision(m, runs) + var, best->score * o->run_cost),
        o->run_cost);
    double cost = o->run_cost + o->build_cost;
    if (o->relink && m->layout > 0)
        plan_consider(best, node->commit, node->builds,
                      told(s, level, s->common, 1 / plan_precision(m, 0) + var, best->score * cost),
                      cost);
}

static void look_into_gap(const pfc_bisect_plan *plan, const stories *s, size_t i, double share,
                          plan_best *best)
{
    const plan_model *m = &plan->model;
    const pfc_bisect_opts *o = &plan->opts;
    const double *left = s->mean + i * PLAN_DRAWS;
    const double *right = left + PLAN_DRAWS;
    size_t a = m->nodes[i].commit;
    size_t b = m->nodes[i + 1].commit;
    size_t at = plan_pick(plan, a, b, plan_quantile(plan, a, b, share));
    double level[PLAN_DRAWS];
    bool common[PLAN_DRAWS];
    double var = 0;
    if (!at)
        return;
    double in = (plan->cumulative[at] - plan->cumulative[a]) / m->gaps[i].weight;
    for (size_t k = 0; k < PLAN_DRAWS; k++) {
        /* Evenly spread, and unlike the order of the draws. */
        double place = (double)((k * 79) % PLAN_DRAWS) / PLAN_DRAWS + 0.5 / PLAN_DRAWS;
        const unsigned char *here = m->course + i * PLAN_DRAWS + k;
        level[k] = place < in ? right[k] : left[k];
        common[k] = s->common[k] && here[PLAN_DRAWS] <= here[0];
        var += s->var[(i + (place < in)) * PLAN_DRAWS + k] / PLAN_DRAWS;
    }
    double cost = o->run_cost + o->build_cost + o->checkout_cost;
    plan_consider(best, at, 0,
                  told(s, level, common, 1 / plan_precision(m, 0) + var, best->score * cost), cost);
}

void plan_joint(const pfc_bisect_plan *plan, size_t from, size_t to, plan_best *best)
{
    static const double shares[SHARES] = { 0.5, 0.25, 0.75 };
    const plan_model *m = &plan->model;
    stories s;
    tell(plan, &s);
    find_common(m, from, to, &s);
    for (size_t i = from; i <= to; i++) {
        look_at_node(plan, &s, i, best);
        if (i == to || m->gaps[i].atomic)
            continue;
        for (size_t k = 0; k < (m->gaps[i].up + m->gaps[i].down > WORTH ? SHARES : 1); k++)
            look_into_gap(plan, &s, i, shares[k], best);
    }
    free(s.mean);
}
