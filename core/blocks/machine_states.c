/*
 * The machine's level at each visit of a session, found together with the builds' effects.
 *
 * A hidden Markov model: the level stays, creeps, or jumps, mostly to a level where it was before;
 * noise is Student's t. Expectation: forward and backward filter over a grid of levels.
 * Maximisation: each build's effect is the weighted mean of what the levels leave of its values
 * (Lange, Little & Taylor 1989). So a state that is shorter than a block is recognised by its size,
 * from all visits at once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/blocks/blocks_priv.h"
#include "core/stats/sort.h"

#define CELLS     256  /* limit of the grid's cells */
#define A_SIGMA   2.0  /* width of a standard deviation, in cells */
#define PAD       6    /* cells beyond the smallest and largest residual */
#define WINDOW    1024 /* visits that are filtered together: bounds the memory */
#define TRIAL     4    /* iterations from each guess */
#define GUESSES   2   /* beside the blocks' fit: all builds alike, and each build's fastest visit */
#define FEW       200 /* visits */
#define LEAPS     3   /* attempts to leave a local optimum, each of TRIAL iterations */
#define REACH     128 /* cells of a leap, at most */
#define FARTHEST  0.2 /* limit of a leap, as a relative change */
#define WORTH     3.0 /* log likelihood that a leap must promise */
#define OVER      1.6 /* factor on the step of the maximisation, which converges slowly otherwise */
#define FREEDOM   4.0 /* degrees of freedom of the noise's t distribution */
#define JUMP      0.1 /* initial probability of a jump between two visits */
#define JUMP_MOST 0.5
#define RE_ENTRY  0.2 /* share of jumps that lead to any level */
#define CREEP     0.01
#define FLOOR     1e-4
/* quantile of the differences between neighbours; few below it contain a jump */
#define QUANTILE  0.35
#define OF_NORMAL 0.45376

typedef struct hmm {
    const pfc_spot *spots;
    size_t n, builds;
    double low, cell, sigma, jump;
    int len;
    double *residual;
    float *forward; /* WINDOW x CELLS: the level after each visit */
    float *likely;  /* WINDOW x CELLS: of each visit's value */
    float been[CELLS], next_been[CELLS];
    double *off, *weight; /* of each build: sums of the maximisation */
    double *profile; /* NULL, or builds x (2 REACH + 1): log likelihood of its values at effects
                        around */
    double squares, jumps;
    double log_likely; /* of all values */
} hmm;

static void residuals_of(hmm *h, const double *effect)
{
    for (size_t i = 0; i < h->n; i++)
        h->residual[i] = h->spots[i].y - effect[h->spots[i].build];
}

static double first_sigma(const hmm *h)
{
    double *off = pfc_calloc(h->n, sizeof *off);
    double q;

    for (size_t i = 1; i < h->n; i++)
        off[i - 1] = fabs(h->residual[i] - h->residual[i - 1]);
    q = pfc_stats_select(off, h->n - 1, (size_t)(QUANTILE * (double)(h->n - 2)));
    free(off);
    return fmax(q / (OF_NORMAL * M_SQRT2), FLOOR);
}

/* The occupancy is kept by level, not by cell: the grid may change between iterations. */
static void make_grid(hmm *h)
{
    float old[CELLS];
    const double low = h->low;
    const double cell = h->cell;
    const int len = h->len;
    double least = h->residual[0];
    double most = h->residual[0];

    for (size_t i = 1; i < h->n; i++) {
        least = fmin(least, h->residual[i]);
        most = fmax(most, h->residual[i]);
    }
    h->cell = fmax(h->sigma / A_SIGMA, (most - least) / (CELLS - 2 * PAD - 1));
    h->len = PFC_MIN((int)ceil((most - least) / h->cell) + 2 * PAD + 1, CELLS);
    h->low = least - PAD * h->cell;
    memcpy(old, h->been, sizeof old);
    for (int i = 0; i < h->len; i++) {
        const int at = len ? (int)lround((h->low + i * h->cell - low) / cell) : -1;

        h->been[i] = at >= 0 && at < len ? old[at] : len ? 0.0F : 1.0F;
    }
}

static void likelihoods(const hmm *h, double r, float *out)
{
    for (int i = 0; i < h->len; i++) {
        const float off = (float)((r - h->low - i * h->cell) / h->sigma);
        const float t = 1.0F + off * off / (float)FREEDOM;

        out[i] = 1.0F / (t * t * sqrtf(t)); /* (FREEDOM + 1) / 2 = 2.5 */
    }
}

/* Returns the sum before the division. */
static float scale_to_one(float *x, int len)
{
    float sum = 0.0F;

    for (int i = 0; i < len; i++)
        sum += x[i];
    for (int i = 0; i < len; i++)
        x[i] /= sum;
    return sum;
}

/* One transition of the level; it is its own reverse but for where jumps go. Returns the part of
 * each cell that came by jumps, when going back. */
static float move(const hmm *h, const float *from, const float *re_entry, bool back, float *to)
{
    const float stay = (float)(1.0 - h->jump);
    const float here = stay * (1.0F - (float)CREEP);
    const float beside = stay * 0.5F * (float)CREEP;
    const int last = h->len - 1;
    float all = 0.0F;

    for (int i = 0; i <= last; i++)
        all += back ? re_entry[i] * from[i] : from[i];
    all *= (float)h->jump;
    for (int i = 0; i <= last; i++)
        to[i] = here * from[i] + beside * (from[i ? i - 1 : 0] + from[i < last ? i + 1 : last]) +
                all * (back ? 1.0F : re_entry[i]);
    return all;
}

/* Adds one visit's posterior to the estimates of its build's effect, of the noise and of the
 * occupancy. */
static void collect(hmm *h, size_t at, const float *posterior)
{
    const double r = h->residual[at];
    const size_t build = h->spots[at].build;

    float sums[3] = { 0.0F, 0.0F, 0.0F };

    for (int i = 0; i < h->len; i++) {
        const float off = (float)(r - h->low) - (float)i * (float)h->cell;
        const float u = off / (float)h->sigma;
        const float w = posterior[i] * (float)(FREEDOM + 1.0) / ((float)FREEDOM + u * u);

        sums[0] += w;
        sums[1] += w * off;
        sums[2] += w * off * off;
        h->next_been[i] += posterior[i];
    }
    h->weight[build] += (double)sums[0];
    h->off[build] += (double)sums[1];
    h->squares += (double)sums[2];
}

/* One visit's part of its build's profile. `others`: the level's distribution without this visit.
 */
static void profile(hmm *h, size_t at, const float *others)
{
    const int reach = PFC_MIN((int)(FARTHEST / h->cell) + 1, REACH);
    double *out = h->profile + h->spots[at].build * (2 * REACH + 1) + REACH;
    float likely[CELLS + 2 * REACH];

    for (int i = -reach; i < h->len + reach; i++) {
        const float off = (float)((h->residual[at] - h->low - i * h->cell) / h->sigma);
        const float t = 1.0F + off * off / (float)FREEDOM;

        likely[i + reach] = 1.0F / (t * t * sqrtf(t));
    }
    /* An effect higher by k cells explains the value from a level that is k cells lower. */
    for (int k = -reach; k <= reach; k++) {
        float sum = 0.0F;

        for (int i = 0; i < h->len; i++)
            sum += others[i] * likely[i + k + reach];
        out[k] += log((double)sum);
    }
}

/* Filters visits [from, to); level (NULL: not wanted) gets the likeliest cell of each. */
static void filter(hmm *h, size_t from, size_t to, const float *re_entry, double *level)
{
    float back[CELLS];
    float next[CELLS];
    float jumped = 0.0F;

    for (size_t t = from; t < to; t++) {
        float *at = h->forward + (t - from) * CELLS;
        float *likely = h->likely + (t - from) * CELLS;

        if (t == from)
            memcpy(at, re_entry, sizeof next);
        else
            move(h, at - CELLS, re_entry, false, at);
        likelihoods(h, h->residual[t], likely);
        for (int i = 0; i < h->len; i++)
            at[i] *= likely[i];
        h->log_likely += log((double)scale_to_one(at, h->len));
    }
    for (int i = 0; i < h->len; i++)
        back[i] = 1.0F;
    for (size_t t = to; t-- > from;) {
        float *at = h->forward + (t - from) * CELLS;
        const float *likely = h->likely + (t - from) * CELLS;
        int best = 0;

        for (int i = 0; i < h->len; i++)
            at[i] *= back[i];
        h->jumps += (double)(jumped / scale_to_one(at, h->len));
        collect(h, t, at);
        if (h->profile) {
            for (int i = 0; i < h->len; i++)
                next[i] = at[i] / likely[i];
            scale_to_one(next, h->len);
            profile(h, t, next);
        }
        for (int i = 1; i < h->len && level; i++)
            best = at[i] > at[best] ? i : best;
        if (level)
            level[t] = h->low + best * h->cell;
        for (int i = 0; i < h->len; i++)
            next[i] = back[i] * likely[i];
        jumped = move(h, next, re_entry, true, back);
        jumped /= scale_to_one(back, h->len);
    }
}

static void expect(hmm *h, double *level)
{
    float re_entry[CELLS];

    scale_to_one(h->been, h->len);
    for (int i = 0; i < h->len; i++)
        re_entry[i] = (float)RE_ENTRY / (float)h->len + (1.0F - (float)RE_ENTRY) * h->been[i];
    memset(h->next_been, 0, sizeof h->next_been);
    memset(h->off, 0, h->builds * sizeof *h->off);
    memset(h->weight, 0, h->builds * sizeof *h->weight);
    h->squares = h->jumps = 0.0;
    h->log_likely = -(double)h->n * log(h->sigma);
    for (size_t from = 0; from < h->n; from += WINDOW)
        filter(h, from, PFC_MIN(from + WINDOW, h->n), re_entry, level);
    memcpy(h->been, h->next_been, sizeof h->been);
}

/* Expectation and maximisation in turn from a guess; `effect` is improved. */
static void improve(hmm *h, size_t anchor, double *effect, int times)
{
    residuals_of(h, effect);
    for (int k = 0; k < times; k++) {
        double shift;

        make_grid(h);
        expect(h, NULL);
        h->sigma = fmax(sqrt(h->squares / (double)h->n), FLOOR);
        h->jump = fmin((h->jumps + 1.0) / ((double)h->n + 10.0), JUMP_MOST);
        shift = h->weight[anchor] > 0.0 ? OVER * h->off[anchor] / h->weight[anchor] : 0.0;
        for (size_t b = 0; b < h->builds; b++) {
            if (h->weight[b] > 0.0)
                effect[b] += OVER * h->off[b] / h->weight[b] - shift;
        }
        residuals_of(h, effect);
    }
    make_grid(h);
    expect(h, NULL);
}

/* The guess is each build's fastest visit: if states are short, each build was visited in the fast
 * one. */
static void fastest(const hmm *h, size_t anchor, double *effect)
{
    double reference;

    for (size_t b = 0; b < h->builds; b++)
        effect[b] = (double)INFINITY;
    for (size_t i = 0; i < h->n; i++)
        effect[h->spots[i].build] = fmin(effect[h->spots[i].build], h->spots[i].y);
    reference = isfinite(effect[anchor]) ? effect[anchor] : h->spots[0].y;
    for (size_t b = 0; b < h->builds; b++)
        effect[b] = isfinite(effect[b]) ? effect[b] - reference : 0.0;
}

/* Builds whose values are much likelier at another effect leap there: one whose visits all fell
 * into slow states seems slow until then. Kept if the whole becomes likelier. */
static bool leap(hmm *h, size_t anchor, double *effect)
{
    const size_t row = 2 * REACH + 1;
    const double before = h->log_likely;
    double *kept = pfc_calloc(h->builds, sizeof *kept);
    bool any = false;
    hmm was;

    memcpy(kept, effect, h->builds * sizeof *kept);
    h->profile = pfc_calloc(h->builds * row, sizeof *h->profile);
    make_grid(h);
    expect(h, NULL);
    was = *h;
    for (size_t b = 0; b < h->builds; b++) {
        const int reach = PFC_MIN((int)(FARTHEST / h->cell) + 1, REACH);
        const double *p = h->profile + b * row + REACH;
        int best = 0;

        for (int k = -reach; k <= reach; k++)
            best = p[k] > p[best] ? k : best;
        if (p[best] - p[0] < WORTH)
            continue;
        effect[b] += best * h->cell;
        any = true;
    }
    free(h->profile);
    was.profile = h->profile = NULL;
    if (any) {
        improve(h, anchor, effect, TRIAL);
        any = h->log_likely > before;
    }
    if (!any) {
        memcpy(effect, kept, h->builds * sizeof *kept);
        *h = was;
        residuals_of(h, effect);
    }
    free(kept);
    return any;
}

static hmm begin(const hmm *blank, const double *effect)
{
    hmm h = *blank;

    residuals_of(&h, effect);
    h.sigma = first_sigma(&h);
    return h;
}

void pfc_states_find(const pfc_spot *spots, size_t n, size_t builds, size_t anchor, double *effect,
                     double *level, double *sigma)
{
    hmm blank = { .spots = spots, .n = n, .builds = builds, .jump = JUMP };
    double *other = pfc_calloc(builds, sizeof *other);
    hmm h;

    blank.residual = pfc_calloc(n, sizeof *blank.residual);
    blank.forward = pfc_calloc(PFC_MIN(n, (size_t)WINDOW) * CELLS, sizeof *blank.forward);
    blank.likely = pfc_calloc(PFC_MIN(n, (size_t)WINDOW) * CELLS, sizeof *blank.likely);
    blank.off = pfc_calloc(builds, sizeof *blank.off);
    blank.weight = pfc_calloc(builds, sizeof *blank.weight);
    h = begin(&blank, effect);
    improve(&h, anchor, effect, TRIAL);
    /* Many visits of each build leave no doubt that other guesses could settle. */
    for (int guess = 0; guess < GUESSES && n <= FEW; guess++) {
        hmm second;

        memset(other, 0, builds * sizeof *other);
        if (guess)
            fastest(&blank, anchor, other);
        second = begin(&blank, other);
        improve(&second, anchor, other, TRIAL);
        if (second.log_likely > h.log_likely) {
            h = second;
            memcpy(effect, other, builds * sizeof *effect);
        }
    }
    improve(&h, anchor, effect, TRIAL);
    for (int i = 0; i < LEAPS && leap(&h, anchor, effect); i++)
        continue;
    residuals_of(&h, effect);
    make_grid(&h);
    expect(&h, level);
    *sigma = h.sigma;
    free(other);
    free(blank.residual);
    free(blank.forward);
    free(blank.likely);
    free(blank.off);
    free(blank.weight);
}
