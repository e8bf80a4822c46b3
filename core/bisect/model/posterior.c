/*
 * Forward and backward sums over the chain of measured commits: where the level jumps.
 *
 * The weight of a path through the chain is the product of its likelihoods and of w * prior for
 * each jump, w being the prior weight of the gap it lies in. Two chains run in parallel, before and
 * after the first jump to worse, so that the first one, which was observed before the bisection,
 * has a high prior and each further one a low prior. Jump sizes are mixtures of uniform
 * distributions: prefix sums make a transition linear in the grid. Source of the sums: Rabiner,
 * Proc. IEEE 77(2), 1989.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/bisect/model/fit.h"

/* Prior of a jump against none. */
#define PRIOR_FIRST  9.0  /* the first to worse: 0.9 against 0.1 */
#define PRIOR_DOWN   0.10 /* to better */
#define FURTHER_LESS 0.6  /* further steps are mostly not larger than the largest */
#define BOXES        3

/* Sizes a..b in grid points, uniform. */
typedef struct box {
    size_t a, b;
    double share;
} box;

typedef struct sums {
    box up[BOXES], down[BOXES];
    size_t grid;
    double *prefix; /* grid + 1 */
    double *fwd[2], *bwd[2];
    double *work;   /* 4 * grid */
    double further; /* prior of a further jump to worse against none */
} sums;

static box make_box(const plan_model *m, double from, double to, double share)
{
    box b = { .share = share };
    b.a = (size_t)fmax(1, floor(from / m->grid.pitch + 0.5));
    b.b = (size_t)fmin((double)m->grid.points, fmax((double)b.a, floor(to / m->grid.pitch + 0.5)));
    b.a = PFC_MIN(b.a, b.b);
    return b;
}

static void make_boxes(const plan_model *m, sums *s)
{
    double span = m->grid.pitch * (double)m->grid.points;
    double d = m->scales.step;
    if (m->further) {
        s->up[0] = make_box(m, m->scales.smallest, 1.2 * d, FURTHER_LESS);
        s->up[1] = make_box(m, m->scales.smallest, 2.5 * d, 0.9 - FURTHER_LESS);
    } else if (m->input->opts.delta_rel != 0) {
        s->up[0] = make_box(m, 0.7 * d, 1.5 * d, 0.6);
        s->up[1] = make_box(m, m->scales.smallest, 2.5 * d, 0.3);
    } else {
        s->up[0] = make_box(m, m->scales.smallest, 3 * d, 0.45);
        s->up[1] = make_box(m, m->scales.smallest, 10 * d, 0.45);
    }
    s->up[2] = make_box(m, m->scales.smallest, span, 0.1);
    memcpy(s->down, s->up, sizeof s->down);
    s->down[0].a = PFC_MAX(s->down[0].a / 2, (size_t)1);
}

static void prefix_of(sums *s, const double *f)
{
    s->prefix[0] = 0;
    for (size_t l = 0; l < s->grid; l++)
        s->prefix[l + 1] = s->prefix[l] + f[l];
}

/* out[l] = sum of f over the points a..b below l. */
static void from_below(sums *s, const box *boxes, const double *f, double *out)
{
    prefix_of(s, f);
    memset(out, 0, s->grid * sizeof *out);
    for (size_t k = 0; k < BOXES; k++) {
        const box *b = &boxes[k];
        double share = b->share / (double)(b->b - b->a + 1);
        const size_t whole = PFC_MIN(b->b, s->grid); /* from here on, all of the box */
        for (size_t l = b->a; l < whole; l++)
            out[l] += share * s->prefix[l - b->a + 1];
        for (size_t l = whole; l < s->grid; l++)
            out[l] += share * (s->prefix[l - b->a + 1] - s->prefix[l - b->b]);
    }
}

/* out[l] = sum of f over the points a..b above l. */
static void from_above(sums *s, const box *boxes, const double *f, double *out)
{
    prefix_of(s, f);
    memset(out, 0, s->grid * sizeof *out);
    for (size_t k = 0; k < BOXES; k++) {
        const box *b = &boxes[k];
        double share = b->share / (double)(b->b - b->a + 1);
        const size_t whole = s->grid - PFC_MIN(b->b, s->grid);
        for (size_t l = 0; l < whole; l++)
            out[l] += share * (s->prefix[l + b->b + 1] - s->prefix[l + b->a]);
        for (size_t l = whole; l + b->a < s->grid; l++)
            out[l] += share * (s->prefix[s->grid] - s->prefix[l + b->a]);
    }
}

static void normalise(double *a, double *b, size_t grid)
{
    double sum = 0;
    for (size_t l = 0; l < grid; l++)
        sum += a[l] + b[l];
    if (!(sum > 0)) {
        /* Every term underflowed: the runs contradict each other beyond the range of double. */
        for (size_t l = 0; l < grid; l++)
            a[l] = b[l] = 0.5 / (double)grid;
        return;
    }
    for (size_t l = 0; l < grid; l++) {
        a[l] /= sum;
        b[l] /= sum;
    }
}

/* fwd of node i + 1 from that of node i. */
static void forward(sums *s, size_t i, double w, const double *e)
{
    size_t g = s->grid;
    const double *f0 = s->fwd[0] + i * g;
    const double *f1 = s->fwd[1] + i * g;
    double *n0 = s->fwd[0] + (i + 1) * g;
    double *n1 = s->fwd[1] + (i + 1) * g;
    double *mix = s->work;
    double *up = s->work + g;
    double *d0 = s->work + 2 * g;
    double *d1 = s->work + 3 * g;

    for (size_t l = 0; l < g; l++)
        mix[l] = w * (PRIOR_FIRST * f0[l] + s->further * f1[l]);
    from_below(s, s->up, mix, up);
    from_above(s, s->down, f0, d0);
    from_above(s, s->down, f1, d1);
    for (size_t l = 0; l < g; l++) {
        n0[l] = e[l] * (f0[l] + PRIOR_DOWN * w * d0[l]);
        n1[l] = e[l] * (f1[l] + PRIOR_DOWN * w * d1[l] + up[l]);
    }
    normalise(n0, n1, g);
}

/* bwd of node i from that of node i + 1: the likelihood of node i and all nodes after it. */
static void backward(sums *s, size_t i, double w, const double *e)
{
    size_t g = s->grid;
    const double *b0 = s->bwd[0] + (i + 1) * g;
    const double *b1 = s->bwd[1] + (i + 1) * g;
    double *n0 = s->bwd[0] + i * g;
    double *n1 = s->bwd[1] + i * g;
    double *up = s->work;
    double *d0 = s->work + g;
    double *d1 = s->work + 2 * g;

    from_above(s, s->up, b1, up);
    from_below(s, s->down, b0, d0);
    from_below(s, s->down, b1, d1);
    for (size_t l = 0; l < g; l++) {
        n0[l] = e[l] * (b0[l] + w * (PRIOR_DOWN * d0[l] + PRIOR_FIRST * up[l]));
        n1[l] = e[l] * (b1[l] + w * (PRIOR_DOWN * d1[l] + s->further * up[l]));
    }
    normalise(n0, n1, g);
}

/* Sum over pairs of levels: f below, b above, times (above - below)^power, power 0..2. */
static void jump_moments(sums *s, const double *f, const double *b, double out[3])
{
    size_t g = s->grid;
    double *scaled = s->work + g;
    double *g0 = s->work + 2 * g;
    double *g1 = s->work + 3 * g;

    from_below(s, s->up, f, g0);
    for (size_t l = 0; l < g; l++)
        scaled[l] = f[l] * (double)l;
    from_below(s, s->up, scaled, g1);
    out[0] = out[1] = out[2] = 0;
    for (size_t l = 0; l < g; l++) {
        out[0] += b[l] * g0[l];
        out[1] += b[l] * ((double)l * g0[l] - g1[l]);
        out[2] += b[l] * (double)l * ((double)l * g0[l] - 2 * g1[l]);
    }
    for (size_t l = 0; l < g; l++)
        scaled[l] *= (double)l;
    from_below(s, s->up, scaled, g1);
    for (size_t l = 0; l < g; l++)
        out[2] += b[l] * g1[l];
}

static void judge_gap(sums *s, plan_model *m, size_t i)
{
    size_t g = s->grid;
    const double weight = m->chain.gaps[i].weight;
    plan_jump *jump = &m->posterior.jumps[i];
    const double *f0 = s->fwd[0] + i * g;
    const double *f1 = s->fwd[1] + i * g;
    const double *b0 = s->bwd[0] + (i + 1) * g;
    const double *b1 = s->bwd[1] + (i + 1) * g;
    double *mix = s->work;
    double stay = 0;
    double down = 0;
    double up[3];

    for (size_t l = 0; l < g; l++) {
        stay += f0[l] * b0[l] + f1[l] * b1[l];
        mix[l] = weight * (PRIOR_FIRST * f0[l] + s->further * f1[l]);
    }
    jump_moments(s, mix, b1, up);
    from_above(s, s->down, f0, s->work + g);
    from_above(s, s->down, f1, s->work + 2 * g);
    for (size_t l = 0; l < g; l++)
        down += PRIOR_DOWN * weight * (s->work[g + l] * b0[l] + s->work[2 * g + l] * b1[l]);
    double all = stay + down + up[0];
    jump->up = all > 0 ? up[0] / all : 0;
    jump->down = all > 0 ? down / all : 0;
    double mean = up[0] > 0 ? up[1] / up[0] : 0;
    jump->up_size = mean * m->grid.pitch;
    jump->up_var =
        up[0] > 0 ? fmax(0, up[2] / up[0] - mean * mean) * m->grid.pitch * m->grid.pitch : 0;
}

static void judge_node(const sums *s, plan_model *m, size_t i, const double *e)
{
    size_t g = s->grid;
    double sum = 0;
    double first = 0;
    for (size_t l = 0; l < g; l++) {
        /* fwd and bwd both include this node's own likelihood. */
        double p = s->fwd[0][i * g + l] * s->bwd[0][i * g + l] +
                   s->fwd[1][i * g + l] * s->bwd[1][i * g + l];
        p = e[l] > 0 ? p / e[l] : 0;
        sum += p;
        first += p * (double)l;
    }
    m->posterior.levels[i] = m->grid.low + m->grid.pitch * (sum > 0 ? first / sum : 0);
}

/* ---- draws ---- */

/* Draws a level from which a jump to `to` may come, weighted by f and the box: the one at which the
 * cumulated weights pass `at`. `below`: from below `to`, else from above. */
static size_t draw_from(const box *boxes, const double *f, size_t g, size_t to, bool below,
                        double at)
{
    size_t last = to;
    for (size_t k = 0; k < BOXES; k++) {
        const box *b = &boxes[k];
        double share = b->share / (double)(b->b - b->a + 1);
        for (size_t d = b->a; d <= b->b; d++) {
            if (below ? d > to : to + d >= g)
                break;
            last = below ? to - d : to + d;
            at -= share * f[last];
            if (at < 0)
                return last;
        }
    }
    return last;
}

/* A draw's state: its level, and whether it lies after the first jump to worse (chain 1) or before
 * it (0). */
typedef struct draw {
    size_t chain, level;
} draw;

/* Draws the state before gap i, given the state after it. The sums over all jumps are in s->work:
 * mix, up, down of either chain. */
static draw draw_before(const sums *s, size_t i, double w, draw after, double u)
{
    size_t g = s->grid;
    const double *f0 = s->fwd[0] + i * g;
    const double *f = s->fwd[after.chain] + i * g;
    const double *mix = s->work;
    double stay = f[after.level];
    double up = after.chain ? s->work[g + after.level] : 0;
    double down = PRIOR_DOWN * w * s->work[(2 + after.chain) * g + after.level];
    double at = u * (stay + up + down);
    if (at < stay || !(up + down > 0))
        return after;
    at -= stay;
    if (at >= up) {
        after.level = draw_from(s->down, f, g, after.level, false, (at - up) / (PRIOR_DOWN * w));
        return after;
    }
    size_t level = draw_from(s->up, mix, g, after.level, true, at);
    double first = mix[level] > 0 ? PRIOR_FIRST * w * f0[level] / mix[level] : 1;
    /* The chain is drawn with the low-order digits of u, which the level did not use. */
    double rest = u * 4096 - floor(u * 4096);
    return (draw){ .chain = rest < first ? 0 : 1, .level = level };
}

static draw draw_last(const sums *s, size_t n, double u)
{
    size_t g = s->grid;
    draw last = { .chain = 1, .level = 0 };
    for (size_t c = 0; c < 2; c++)
        for (size_t l = 0; l < g; l++) {
            double p = s->fwd[c][(n - 1) * g + l];
            if (!(p > 0))
                continue;
            last = (draw){ .chain = c, .level = l };
            u -= p;
            if (u < 0)
                return last;
        }
    return last;
}

/* Draws courses of the level from the posterior, last node first, each node given the next one.
 * Source: Fruehwirth-Schnatter, J. Time Series Analysis 15(2), 1994. */
static void draw_courses(plan_model *m, sums *s)
{
    size_t g = s->grid;
    size_t n = m->chain.len;
    draw at[PLAN_DRAWS];
    pfc_rng rng;
    pfc_rng_seed(&rng, m->input->opts.seed + m->seen->len);
    for (size_t k = 0; k < PLAN_DRAWS; k++) {
        at[k] = draw_last(s, n, ((double)k + pfc_rng_double(&rng)) / PLAN_DRAWS);
        m->posterior.courses[(n - 1) * PLAN_DRAWS + k] = (unsigned char)at[k].level;
    }
    for (size_t i = n - 1; i-- > 0;) {
        double w = m->chain.gaps[i].weight;
        const double *f0 = s->fwd[0] + i * g;
        const double *f1 = s->fwd[1] + i * g;
        for (size_t l = 0; l < g; l++)
            s->work[l] = w * (PRIOR_FIRST * f0[l] + s->further * f1[l]);
        from_below(s, s->up, s->work, s->work + g);
        from_above(s, s->down, f0, s->work + 2 * g);
        from_above(s, s->down, f1, s->work + 3 * g);
        for (size_t k = 0; k < PLAN_DRAWS; k++) {
            at[k] = draw_before(s, i, w, at[k], pfc_rng_double(&rng));
            m->posterior.courses[i * PLAN_DRAWS + k] = (unsigned char)at[k].level;
        }
    }
}

void plan_posterior_compute(plan_model *m, const double *log_e)
{
    size_t g = m->grid.points;
    size_t n = m->chain.len;
    double *block = pfc_calloc(n * g * 5 + g * 5 + 1, sizeof *block);
    double *e = block;
    sums s = { .grid = g,
               .further = m->further_weight,
               .fwd = { block + n * g, block + 2 * n * g },
               .bwd = { block + 3 * n * g, block + 4 * n * g },
               .work = block + 5 * n * g,
               .prefix = block + 5 * n * g + 4 * g };

    make_boxes(m, &s);
    for (size_t i = 0; i < n; i++) {
        double best = -INFINITY;
        for (size_t l = 0; l < g; l++)
            best = fmax(best, log_e[i * g + l]);
        for (size_t l = 0; l < g; l++)
            e[i * g + l] = exp(log_e[i * g + l] - best);
    }
    memcpy(s.fwd[0], e, g * sizeof *e);
    normalise(s.fwd[0], s.fwd[1], g);
    for (size_t i = 0; i + 1 < n; i++)
        forward(&s, i, m->chain.gaps[i].weight, e + (i + 1) * g);
    /* No node follows the last one: either chain may end it. */
    memcpy(s.bwd[0] + (n - 1) * g, e + (n - 1) * g, g * sizeof *e);
    memcpy(s.bwd[1] + (n - 1) * g, e + (n - 1) * g, g * sizeof *e);
    normalise(s.bwd[0] + (n - 1) * g, s.bwd[1] + (n - 1) * g, g);
    for (size_t i = n - 1; i-- > 0;)
        backward(&s, i, m->chain.gaps[i].weight, e + i * g);
    for (size_t i = 0; i + 1 < n; i++)
        judge_gap(&s, m, i);
    for (size_t i = 0; i < n; i++)
        judge_node(&s, m, i, e + i * g);
    m->posterior.none = 0;
    for (size_t l = 0; l < g; l++)
        m->posterior.none += s.fwd[0][(n - 1) * g + l];
    draw_courses(m, &s);
    free(block);
}
