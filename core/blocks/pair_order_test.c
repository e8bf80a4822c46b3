/* Bets on the order of two builds within rounds, by a filter of the machine's level. */
#include "core/blocks/pair_order_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/sort.h"
#include "core/stats/stats.h"

#define CELLS_A_SIGMA 2.0
#define SHIFTS        6 /* number of shifts that are tried */
#define SCALES        4
#define JUMPS         2
#define MODELS        (SHIFTS * SCALES * JUMPS)
#define ROUNDS_MOST   512 /* limit of the rounds that are used, which bounds the work */
#define CELLS         192 /* limit of the grid's cells */
#define REACH         24  /* cells of the largest shift, at most */
#define LANES         8
#define PAD           8     /* cells beyond the smallest and largest value */
#define RE_ENTRY      0.15F /* share of jumps to any level; the others return to an earlier one */
#define CREEP         0.02F /* chance that the level moves to a neighbouring cell: drift */
#define FLOOR         1e-4
/* quantile of the differences of a build within a round; few below it contain a jump */
#define QUANTILE      0.35
#define OF_NORMAL     0.45376 /* that quantile of |N(0, 1)| */

/* Shifts in units of the estimated noise, factors by which that estimate may be wrong, and
 * probabilities of a jump between two visits. */
static const double shifts[SHIFTS] = { 0.7, -0.7, 1.5, -1.5, 3.0, -3.0 };
static const double scales[SCALES] = { 0.35, 0.6, 1.0, 1.6 };
static const double jumps[JUMPS] = { 0.04, 0.3 };

typedef struct filter {
    int shift, scale; /* numbers of them */
    double jump;
    float at[CELLS];   /* distribution of the machine's level, given the past */
    float been[CELLS]; /* sum of that distribution over all visits */
    double log_weight; /* logarithm of this model's probability, given the past */
} filter;

typedef struct grid {
    double low, cell, sigma;
    int len;
    int shifts[SHIFTS]; /* in cells */
} grid;

typedef struct bettor {
    const pfc_round *rounds;
    double shift;
    grid grids[SCALES];
    filter filters[MODELS];
    double log_wealth;
    float likely[SCALES][PFC_ROUND_VISITS][CELLS + 2 * REACH]; /* of a visit at each level */
} bettor;

static double value(const bettor *b, size_t round, int visit)
{
    const pfc_round *r = &b->rounds[round];

    return r->y[visit] - (r->to[visit] ? b->shift : 0.0);
}

/* ---- scale: from what does not depend on the names ---- */

/* Differences between the two visits of one build, of rounds [0, n). */
static double sigma_of(const bettor *b, size_t n)
{
    double *off = pfc_calloc(2 * n, sizeof *off);
    size_t len = 0;
    double sigma;

    for (size_t i = 0; i < n; i++) {
        double sums[2] = { 0.0, 0.0 };
        bool seen[2] = { false, false };

        for (int k = 0; k < PFC_ROUND_VISITS; k++) {
            const bool to = b->rounds[i].to[k];

            sums[to] += seen[to] ? -value(b, i, k) : value(b, i, k);
            seen[to] = true;
        }
        off[len++] = fabs(sums[0]);
        off[len++] = fabs(sums[1]);
    }
    sigma = pfc_stats_select(off, len, (size_t)(QUANTILE * (double)(len - 1) + 0.5));
    free(off);
    return fmax(sigma / (OF_NORMAL * M_SQRT2), FLOOR);
}

static void make_grids(bettor *b, size_t n)
{
    const double sigma = sigma_of(b, n);
    double low = (double)INFINITY;
    double high = -(double)INFINITY;

    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < PFC_ROUND_VISITS; k++) {
            low = fmin(low, value(b, i, k));
            high = fmax(high, value(b, i, k));
        }
    }
    for (int s = 0; s < SCALES; s++) {
        grid *g = &b->grids[s];

        g->sigma = scales[s] * sigma;
        g->cell = fmax(g->sigma / CELLS_A_SIGMA, (high - low) / (CELLS - 2 * PAD - 1));
        g->len = PFC_MIN((int)ceil((high - low) / g->cell) + 2 * PAD + 1, CELLS);
        g->len = (g->len + LANES - 1) / LANES * LANES;
        g->low = low - PAD * g->cell;
        for (int k = 0; k < SHIFTS; k++) {
            const int cells = PFC_MAX((int)round(fabs(shifts[k]) * sigma / g->cell), 1);

            g->shifts[k] = shifts[k] < 0.0 ? -PFC_MIN(cells, REACH) : PFC_MIN(cells, REACH);
        }
    }
}

/* ---- filter ---- */

/* Density of t with 4 degrees of freedom but for a factor, at levels of the grid and beyond. */
static void densities(bettor *b, int scale, size_t round)
{
    const grid *g = &b->grids[scale];

    for (int k = 0; k < PFC_ROUND_VISITS; k++) {
        const double y = value(b, round, k);

        for (int i = -REACH; i < g->len + REACH; i++) {
            const float off = (float)((y - g->low - i * g->cell) / g->sigma);
            const float t = 1.0F + 0.25F * off * off;

            b->likely[scale][k][i + REACH] = 1.0F / (t * t * sqrtf(t) * (float)scales[scale]);
        }
    }
}

/* Sum of x[0..len) in LANES parts, so that the compiler can use vector additions. */
static float sum_of(const float *x, int len)
{
    float parts[LANES] = { 0.0F };
    float sum = 0.0F;

    for (int i = 0; i < len; i += LANES) {
        for (int k = 0; k < LANES; k++)
            parts[k] += x[i + k];
    }
    for (int k = 0; k < LANES; k++)
        sum += parts[k];
    return sum;
}

/* Advances the filter by one visit: predicts the level, then updates it by the value. Returns the
 * value's likelihood. `len` must be a multiple of LANES. */
static double step(float *restrict at, const float *restrict re_entry, const float *restrict likely,
                   float stay, int len)
{
    float moved[CELLS + 2];
    const float here = stay * (1.0F - CREEP);
    const float beside = stay * 0.5F * CREEP;
    const float jump = 1.0F - stay;
    float sum;

    memcpy(moved + 1, at, (size_t)len * sizeof *at);
    moved[0] = at[0];
    moved[len + 1] = at[len - 1];
    for (int i = 0; i < len; i++)
        at[i] = (here * moved[i + 1] + beside * (moved[i] + moved[i + 2]) + jump * re_entry[i]) *
                likely[i];
    sum = sum_of(at, len);
    for (int i = 0; i < len; i++)
        at[i] *= 1.0F / sum;
    return (double)sum;
}

/* Four visits with the names as they are, or swapped; returns the log likelihood. */
static double run(const bettor *b, size_t round, const filter *f, bool swapped,
                  const float *re_entry, float *at, float *been)
{
    const pfc_round *r = &b->rounds[round];
    const grid *g = &b->grids[f->scale];
    const int cells = g->shifts[f->shift];
    double log_likely = 0.0;

    for (int k = 0; k < PFC_ROUND_VISITS; k++) {
        const float *likely = b->likely[f->scale][k] + REACH + (r->to[k] != swapped ? cells : 0);
        const double stay = r->gap[k] ? pow(1.0 - f->jump, (double)r->gap[k]) : 0.5;

        log_likely += log(step(at, re_entry, likely, (float)stay, g->len));
        for (int i = 0; been && i < g->len; i++)
            been[i] += at[i];
    }
    return log_likely;
}

static void jumps_to(const filter *f, int len, float *re_entry)
{
    const float sum = sum_of(f->been, len);
    const float even = 1.0F / (float)len;

    for (int i = 0; i < len; i++)
        re_entry[i] = RE_ENTRY * even + (1.0F - RE_ENTRY) * (sum > 0.0F ? f->been[i] / sum : even);
}

static double log_sum(const double *x, int n)
{
    double most = x[0];
    double sum = 0.0;

    for (int i = 1; i < n; i++)
        most = fmax(most, x[i]);
    for (int i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

/* Updates all models with the round. With `bet` set, all of them first bet on its order, each with
 * its weight from the past. */
static void take(bettor *b, size_t round, bool bet)
{
    float re_entry[CELLS];
    float other[CELLS];
    double named[MODELS];
    double swapped[MODELS];
    double all;

    for (int s = 0; s < SCALES; s++)
        densities(b, s, round);
    for (int m = 0; m < MODELS; m++) {
        filter *f = &b->filters[m];

        jumps_to(f, b->grids[f->scale].len, re_entry);
        if (bet) {
            memcpy(other, f->at, sizeof other);
            swapped[m] = f->log_weight + run(b, round, f, true, re_entry, other, NULL);
        }
        named[m] = f->log_weight + run(b, round, f, false, re_entry, f->at, f->been);
    }
    all = log_sum(named, MODELS);
    if (bet)
        b->log_wealth += M_LN2 - log1p(exp(log_sum(swapped, MODELS) - all));
    for (int m = 0; m < MODELS; m++)
        b->filters[m].log_weight = named[m] - all;
}

/* Starts the filters again with what rounds [0, n) say about noise and range, and runs them over
 * [0, n - 1) without bets. The last of the n is known without its names alone. */
static void begin(bettor *b, size_t n)
{
    make_grids(b, n);
    memset(b->filters, 0, sizeof b->filters);
    for (int m = 0; m < MODELS; m++) {
        filter *f = &b->filters[m];

        f->shift = m / (SCALES * JUMPS);
        f->scale = m / JUMPS % SCALES;
        f->jump = jumps[m % JUMPS];
        for (int i = 0; i < b->grids[f->scale].len; i++)
            f->at[i] = 1.0F / (float)b->grids[f->scale].len;
    }
    for (size_t i = 0; i + 1 < n; i++)
        take(b, i, false);
}

double pfc_oriented_p(const pfc_round *rounds, size_t n, double shift)
{
    const double enough = -log(PFC_P_MIN);
    bettor *b;
    double most = 0.0;

    if (!n)
        return 1.0;
    b = pfc_alloc(sizeof *b);
    b->rounds = rounds;
    b->shift = shift;
    n = PFC_MIN(n, (size_t)ROUNDS_MOST);
    for (size_t i = 0; i < n && most < enough; i++) {
        /* The scale is computed again at every power of two, which costs at most twice the work of
         * one pass. */
        if (((i + 1) & i) == 0)
            begin(b, i + 1);
        take(b, i, true);
        most = fmax(most, b->log_wealth);
    }
    free(b);
    return fmax(exp(-most), PFC_P_MIN);
}
