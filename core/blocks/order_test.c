/* Bets on the order of many builds within rounds: see order_test.h. */
#include "core/blocks/order_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/sort.h"

#define CELLS       192  /* limit of the grid's cells */
#define A_SIGMA     2.0  /* width of a standard deviation, in cells */
#define PAD         8    /* cells beyond the smallest and largest value */
#define REACH       24   /* cells of the largest shift, at most */
#define COVERED     0.95 /* share of the values that the grid covers; slower ones are ignored */
#define VISITS      (2 * PFC_BLOCK_BUILDS)
#define SHIFTS      8
#define SCALES      3
#define JUMPS       3
#define MODELS      (SHIFTS * SCALES * JUMPS)
#define KEPT        3   /* tests of one series that are kept and continued with new rounds */
#define ROUNDS_MOST 512 /* limit of the rounds that are used, which bounds the work */
#define RE_ENTRY    0.15F
#define CREEP       0.02F
#define FLOOR       1e-4
/* quantile of the differences of neighbours; few below it contain a jump or a step */
#define QUANTILE    0.35
#define OF_NORMAL   0.45376 /* that quantile of |N(0, 1)| */
/* largest logarithm of a build's weight, so that sums of products stay finite */
#define MOST        30.0

/* Shifts in units of the estimated noise; ratios of the true to the estimated noise; probability of
 * a jump between two visits. The last jump model is for programs with several speed modes, one
 * drawn by each process: then every visit has a level of its own, out of the levels seen before. */
static const double shifts[SHIFTS] = { 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0 };
static const double scales[SCALES] = { 0.4, 0.8, 1.6 };
static const double jumps[JUMPS] = { 0.04, 0.3, 0.9 };

/* One round: its visits in the order of time, and the builds that both blocks hold. */
typedef struct round_of {
    size_t builds, visits, second; /* second: first visit of the second block */
    bool mirrored;          /* the second block is the first in reverse: one order, not two */
    uint32_t build[VISITS]; /* of each visit */
    double y[VISITS];
} round_of;

typedef struct filter {
    float at[CELLS], been[CELLS];
} filter;

typedef struct grid {
    double low, cell, sigma;
    int len;
    int shifts[SHIFTS]; /* in cells */
} grid;

typedef struct bettor bettor;

struct pfc_orders {
    bettor *kept[KEPT]; /* tests with their state, the most recently used first */
    round_of *rounds;
    size_t len, cap;
    uint32_t next; /* number of the first round that is not yet included */
    uint32_t shift_from, shift_to;
    double shift;
};

typedef struct stretch {
    uint32_t low, high, split;
} stretch;

/* One test: its models go through the rounds. */
struct bettor {
    const pfc_orders *orders;
    stretch stretch;
    grid grids[SCALES];
    filter filters[MODELS];
    double wealth[MODELS]; /* logarithm */
    double left, most;     /* logarithms: of two orders; of the largest wealth so far */
    size_t done;           /* rounds */
    float likely[SCALES][VISITS][CELLS + 2 * REACH]; /* of a visit at each level */
    float forward[VISITS][CELLS]; /* level before the visit was seen, given the past */
    float mixed[VISITS][CELLS];   /* likelihood of a visit whose side is not known */
};

pfc_orders *pfc_orders_new(void)
{
    return pfc_calloc(1, sizeof(pfc_orders));
}

void pfc_orders_free(pfc_orders *orders)
{
    if (!orders)
        return;
    for (size_t i = 0; i < KEPT; i++)
        free(orders->kept[i]);
    free(orders->rounds);
    free(orders);
}

void pfc_orders_shift(pfc_orders *orders, uint32_t from, uint32_t to, double shift)
{
    orders->shift_from = from;
    orders->shift_to = to;
    orders->shift = shift;
}

/* ---- rounds ---- */

/* Returns true if the second block is the reverse of the first, restricted to the builds of
 * both. */
static bool mirrored(round_of *r)
{
    size_t after = r->visits;
    bool all = true;

    for (size_t i = 0; i < r->second; i++) {
        size_t k = r->second;

        while (k < r->visits && r->build[k] != r->build[i])
            k++;
        if (k == r->visits)
            continue;
        all = all && k < after;
        after = k;
        r->builds++;
    }
    return all;
}

/* Fills the round from spots[0..n) of its two blocks; false: it does not count. */
static bool fill(const pfc_orders *o, const pfc_spot *spots, size_t n, round_of *out)
{
    if (spots[0].block % 2 || n > VISITS)
        return false;
    *out = (round_of){ .visits = n };
    while (out->second < n && spots[out->second].block == spots[0].block)
        out->second++;
    for (size_t i = 0; i < n; i++) {
        const bool shifted = spots[i].build >= o->shift_from && spots[i].build <= o->shift_to;

        out->build[i] = spots[i].build;
        out->y[i] = spots[i].y - (shifted ? o->shift : 0.0);
    }
    out->mirrored = mirrored(out);
    return out->builds > 1;
}

/* ---- scale: from what does not depend on the order ---- */

static double sigma_of(const pfc_orders *o, size_t n)
{
    double *off = pfc_calloc(n * VISITS, sizeof *off);
    size_t len = 0;
    double sigma;

    for (size_t i = 0; i < n; i++) {
        const round_of *r = &o->rounds[i];

        for (size_t k = 1; k < r->visits; k++) {
            if (k != r->second)
                off[len++] = fabs(r->y[k] - r->y[k - 1]);
        }
    }
    sigma = pfc_stats_select(off, len, (size_t)(QUANTILE * (double)(len - 1) + 0.5));
    free(off);
    return fmax(sigma / (OF_NORMAL * M_SQRT2), FLOOR);
}

static void make_grids(bettor *b, size_t n)
{
    const pfc_orders *o = b->orders;
    const double sigma = sigma_of(o, n);
    double *values = pfc_calloc(n * VISITS, sizeof *values);
    size_t len = 0;
    double low;
    double high;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < o->rounds[i].visits; k++)
            values[len++] = o->rounds[i].y[k];
    }
    high = pfc_stats_select(values, len, (size_t)(COVERED * (double)(len - 1)));
    low = values[0];
    for (size_t i = 1; i < len; i++)
        low = fmin(low, values[i]);
    free(values);
    for (int s = 0; s < SCALES; s++) {
        grid *g = &b->grids[s];

        g->sigma = scales[s] * sigma;
        g->cell = fmax(g->sigma / A_SIGMA, (high - low) / (CELLS - 2 * PAD - 1));
        g->len = PFC_MIN((int)ceil((high - low) / g->cell) + 2 * PAD + 1, CELLS);
        g->low = low - PAD * g->cell;
        for (int k = 0; k < SHIFTS; k++) {
            const int cells = PFC_MAX((int)round(fabs(shifts[k]) * sigma / g->cell), 1);

            g->shifts[k] = shifts[k] < 0.0 ? -PFC_MIN(cells, REACH) : PFC_MIN(cells, REACH);
        }
    }
}

/* ---- filter ---- */

/* Density of t with 4 degrees of freedom but for a factor: of the value at the grid's levels and
 * beyond. A visit after a step of k cells has that of k cells further up. */
static void densities(const grid *g, double y, float *out)
{
    const float first = (float)((y - g->low) / g->sigma);
    const float a_cell = (float)(g->cell / g->sigma);
    const bool beyond = y > g->low + (g->len - PAD / 2) * g->cell;

    for (int i = 0; i < g->len + 2 * REACH; i++) {
        const float off = first - (float)(i - REACH) * a_cell;
        const float t = 1.0F + 0.25F * off * off;

        out[i] = beyond ? 1.0F : 1.0F / (t * t * sqrtf(t));
    }
}

static void normalise(float *x, int len)
{
    float sum = 0.0F;

    for (int i = 0; i < len; i++)
        sum += x[i];
    sum = 1.0F / sum;
    for (int i = 0; i < len; i++)
        x[i] *= sum;
}

/* One transition of the level: it stays, creeps, or jumps, mostly to where it was before. `back`:
 * in reverse. */
static void move(const float *from, const float *re_entry, float jump, bool back, int len,
                 float *to)
{
    const float here = (1.0F - jump) * (1.0F - CREEP);
    const float beside = (1.0F - jump) * 0.5F * CREEP;
    float all = 0.0F;

    for (int i = 0; i < len; i++)
        all += back ? re_entry[i] * from[i] : from[i];
    all *= jump;
    to[0] = here * from[0] + beside * (from[0] + from[1]);
    for (int i = 1; i + 1 < len; i++)
        to[i] = here * from[i] + beside * (from[i - 1] + from[i + 1]);
    to[len - 1] = here * from[len - 1] + beside * (from[len - 2] + from[len - 1]);
    for (int i = 0; i < len; i++)
        to[i] += all * (back ? 1.0F : re_entry[i]);
}

static void jumps_to(const filter *f, int len, float *re_entry)
{
    const float even = 1.0F / (float)len;
    float sum = 0.0F;

    for (int i = 0; i < len; i++)
        sum += f->been[i];
    for (int i = 0; i < len; i++)
        re_entry[i] = RE_ENTRY * even + (1.0F - RE_ENTRY) * (sum > 0.0F ? f->been[i] / sum : even);
}

/* Logarithm of how much likelier the visit is after the step, given all other visits. */
static float weight_of(const float *others, const float *before, const float *after, int len)
{
    float sums[2] = { 0.0F, 0.0F };

    for (int i = 0; i < len; i++) {
        sums[0] += others[i] * before[i];
        sums[1] += others[i] * after[i];
    }
    return logf(sums[1] / sums[0]);
}

/* Weights of a round's visits under one model, none of whose sides is known. */
static void weigh(bettor *b, size_t model, const round_of *r, const float *re_entry, float *weights)
{
    const grid *g = &b->grids[model / JUMPS % SCALES];
    const int scale = (int)(model / JUMPS % SCALES);
    const int cells = g->shifts[model / (JUMPS * SCALES)];
    const float jump = (float)jumps[model % JUMPS];
    float at[CELLS];
    float back[CELLS];
    float next[CELLS];

    memcpy(at, b->filters[model].at, sizeof at);
    for (size_t k = 0; k < r->visits; k++) {
        const float *likely = b->likely[scale][k] + REACH;

        move(at, re_entry, jump, false, g->len, b->forward[k]);
        for (int i = 0; i < g->len; i++) {
            b->mixed[k][i] = likely[i] + likely[i + cells];
            at[i] = b->forward[k][i] * b->mixed[k][i];
        }
        normalise(at, g->len);
    }
    for (int i = 0; i < g->len; i++)
        back[i] = 1.0F;
    for (size_t k = r->visits; k-- > 0;) {
        const float *likely = b->likely[scale][k] + REACH;

        for (int i = 0; i < g->len; i++)
            next[i] = b->forward[k][i] * back[i];
        weights[k] = weight_of(next, likely, likely + cells, g->len);
        for (int i = 0; i < g->len; i++)
            next[i] = back[i] * b->mixed[k][i];
        normalise(next, g->len);
        move(next, re_entry, jump, true, g->len, back);
    }
}

/* A past round: the builds of the stretch have known sides. */
static void pass(bettor *b, size_t model, const round_of *r, const float *re_entry)
{
    const grid *g = &b->grids[model / JUMPS % SCALES];
    const int scale = (int)(model / JUMPS % SCALES);
    const int cells = g->shifts[model / (JUMPS * SCALES)];
    const float jump = (float)jumps[model % JUMPS];
    filter *f = &b->filters[model];
    float moved[CELLS];

    for (size_t k = 0; k < r->visits; k++) {
        const bool in = r->build[k] >= b->stretch.low && r->build[k] <= b->stretch.high;
        const float *before = b->likely[scale][k] + REACH;
        const float *after = before + cells;

        if (in && r->build[k] < b->stretch.split)
            after = before;
        else if (in)
            before = after;
        move(f->at, re_entry, jump, false, g->len, moved);
        for (int i = 0; i < g->len; i++)
            f->at[i] = moved[i] * (before[i] + after[i]);
        normalise(f->at, g->len);
        for (int i = 0; i < g->len; i++)
            f->been[i] += f->at[i];
    }
}

static void see(bettor *b, const round_of *r)
{
    for (int i = 0; i < SCALES; i++) {
        for (size_t k = 0; k < r->visits; k++)
            densities(&b->grids[i], r->y[k], b->likely[i][k]);
    }
}

/* Starts the filters again with what rounds [0, n) say about noise and range, and runs them over
 * [0, n - 1). The last of the n is known without its order alone. */
static void begin(bettor *b, size_t n)
{
    float re_entry[CELLS];

    make_grids(b, n);
    memset(b->filters, 0, sizeof b->filters);
    for (size_t m = 0; m < MODELS; m++) {
        const grid *g = &b->grids[m / JUMPS % SCALES];

        for (int i = 0; i < g->len; i++)
            b->filters[m].at[i] = 1.0F / (float)g->len;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        see(b, &b->orders->rounds[i]);
        for (size_t m = 0; m < MODELS; m++) {
            jumps_to(&b->filters[m], b->grids[m / JUMPS % SCALES].len, re_entry);
            pass(b, m, &b->orders->rounds[i], re_entry);
        }
    }
}

void pfc_orders_take(pfc_orders *o, const pfc_spot *spots, size_t n)
{
    for (size_t i = 0, next; i < n && o->len < ROUNDS_MOST; i = next) {
        const uint32_t number = spots[i].block / 2;
        round_of r;

        for (next = i; next < n && spots[next].block / 2 == number;)
            next++;
        if (number < o->next || !fill(o, spots + i, next - i, &r))
            continue;
        o->next = number + 1;
        o->rounds = pfc_grow(o->rounds, o->len, &o->cap, sizeof *o->rounds);
        o->rounds[o->len++] = r;
    }
}

/* ---- the test ---- */

/* The unit of one bet: visits whose builds can be in any order. */
typedef struct unit {
    size_t n;
    size_t visit[PFC_BLOCK_BUILDS],
        twin[PFC_BLOCK_BUILDS]; /* twin: VISITS, or of the mirrored block */
    bool after[PFC_BLOCK_BUILDS];
    size_t behind; /* how many are after the step */
} unit;

/* Logarithm of the stake: the weights of the builds after the step among all choices of as many. */
static double stake(const unit *u, const float *weights)
{
    double sums[PFC_BLOCK_BUILDS + 1] = { 1.0 };
    double mine = 0.0;
    double choices = 1.0;

    for (size_t i = 0; i < u->n; i++) {
        double w = (double)weights[u->visit[i]];

        w += u->twin[i] < VISITS ? (double)weights[u->twin[i]] : 0.0;
        w = fmax(fmin(w, MOST), -MOST);
        mine += u->after[i] ? w : 0.0;
        for (size_t k = PFC_MIN(i + 1, u->behind); k > 0; k--)
            sums[k] += sums[k - 1] * exp(w);
    }
    for (size_t k = 0; k < u->behind; k++)
        choices *= (double)(u->n - k) / (double)(k + 1);
    return mine - log(sums[u->behind]) + log(choices);
}

/* The visits [from, to) of builds of the stretch. */
static unit unit_of(const round_of *r, const stretch *s, size_t from, size_t to)
{
    unit u = { .n = 0 };

    for (size_t i = from; i < to; i++) {
        if (r->build[i] < s->low || r->build[i] > s->high)
            continue;
        u.visit[u.n] = i;
        u.twin[u.n] = VISITS;
        u.after[u.n] = r->build[i] >= s->split;
        u.behind += u.after[u.n++];
    }
    return u;
}

/* A mirrored round is one unit: builds that both blocks hold. */
static unit mirrored_unit(const round_of *r, const stretch *s)
{
    const unit all = unit_of(r, s, 0, r->second);
    unit u = { .n = 0 };

    for (size_t i = 0; i < all.n; i++) {
        size_t k = r->second;

        while (k < r->visits && r->build[k] != r->build[all.visit[i]])
            k++;
        if (k == r->visits)
            continue;
        u.visit[u.n] = all.visit[i];
        u.twin[u.n] = k;
        u.after[u.n] = all.after[i];
        u.behind += u.after[u.n++];
    }
    return u;
}

static bool parted(const unit *u)
{
    return u->behind > 0 && u->behind < u->n;
}

/* Two independently drawn orders of n builds are the reverse of each other with probability 1/n!;
 * they are then treated as one. This factor on the stakes of all other cases keeps the mean payout
 * at most 1. */
static double of_two_orders(size_t n)
{
    double ways = 1.0;

    for (size_t i = 2; i <= n; i++)
        ways *= (double)i;
    return log1p(-1.0 / ways);
}

static double log_mean(const double *x, size_t n)
{
    double most = x[0];
    double sum = 0.0;

    for (size_t i = 1; i < n; i++)
        most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum / (double)n);
}

/* All models bet on the round and are then updated with it. Returns the ratio of payoff to
 * stakes. */
static double take(bettor *b, const round_of *r)
{
    unit units[2];
    const size_t len = r->mirrored ? 1 : 2;
    bool any = false;

    if (r->mirrored) {
        units[0] = mirrored_unit(r, &b->stretch);
    } else {
        units[0] = unit_of(r, &b->stretch, 0, r->second);
        units[1] = unit_of(r, &b->stretch, r->second, r->visits);
    }
    for (size_t u = 0; u < len; u++)
        any |= parted(&units[u]);
    see(b, r);
    for (size_t m = 0; m < MODELS; m++) {
        float re_entry[CELLS];
        float weights[VISITS];

        jumps_to(&b->filters[m], b->grids[m / JUMPS % SCALES].len, re_entry);
        if (any)
            weigh(b, m, r, re_entry, weights);
        for (size_t u = 0; u < len; u++)
            b->wealth[m] += parted(&units[u]) ? stake(&units[u], weights) : 0.0;
        pass(b, m, r, re_entry);
    }
    return any && len > 1 ? of_two_orders(r->builds) : 0.0;
}

/* Moves the test of that stretch to the front of those that are kept; the least recently used one
 * is dropped. */
static bettor *bettor_of(pfc_orders *o, const stretch *s)
{
    bettor *b;
    size_t at = 0;

    while (at < KEPT - 1 && o->kept[at] && memcmp(&o->kept[at]->stretch, s, sizeof *s) != 0)
        at++;
    b = o->kept[at];
    if (!b || memcmp(&b->stretch, s, sizeof *s) != 0) {
        free(b);
        b = pfc_calloc(1, sizeof *b);
        b->orders = o;
        b->stretch = *s;
    }
    for (; at > 0; at--)
        o->kept[at] = o->kept[at - 1];
    o->kept[0] = b;
    return b;
}

double pfc_orders_p(pfc_orders *o, uint32_t low, uint32_t high, uint32_t split)
{
    const stretch s = { low, high, split };
    bettor *b = bettor_of(o, &s);

    for (; b->done < o->len && b->most < -log(PFC_P_MIN); b->done++) {
        /* The scale is computed again at every power of two, which costs at most twice the work of
         * one pass. */
        if (((b->done + 1) & b->done) == 0)
            begin(b, b->done + 1);
        b->left += take(b, &o->rounds[b->done]);
        b->most = fmax(b->most, log_mean(b->wealth, MODELS) + b->left);
    }
    return fmax(exp(-b->most), PFC_P_MIN);
}
