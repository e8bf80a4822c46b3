/*
 * airspeed velocity's step detection: piecewise constant, least absolute deviations, a price a step
 * that is itself chosen by an information criterion allowing for correlated noise. Its
 * documentation describes it: short pieces by dynamic programming, then merged, then their edges
 * moved.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/changepoint/rivals.h"
#include "core/stats/sort.h"

#define PIECE      20 /* longest piece of the dynamic program */
#define CACHE_BITS 18

typedef struct fit {
    uint32_t from, to; /* [from, to), to > 0 when used */
    double median, cost;
} fit;

typedef struct potts {
    const double *v;
    size_t n;
    fit *cache;  /* of longer stretches */
    fit *pieces; /* [from][length - 1], up to PIECE */
    double *scratch;
    double *total;
    size_t *back;
} potts;

static fit measure(const potts *p, size_t from, size_t to)
{
    size_t n = to - from;
    double *x = p->scratch;
    fit f = { .from = (uint32_t)from, .to = (uint32_t)to };
    memcpy(x, p->v + from, n * sizeof *x);
    f.median = pfc_stats_median_inplace(x, n);
    for (size_t i = from; i < to; i++)
        f.cost += fabs(p->v[i] - f.median);
    return f;
}

static fit level(potts *p, size_t from, size_t to)
{
    if (to - from <= PIECE)
        return p->pieces[from * PIECE + (to - from - 1)];
    uint64_t key = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15u;
    fit *f = &p->cache[key >> (64 - CACHE_BITS)];
    if (f->from != from || f->to != to)
        *f = measure(p, from, to);
    return *f;
}

/* Ends of the best pieces of at most PIECE points. */
static size_t best_pieces(potts *p, double gamma, size_t *ends)
{
    size_t len = 0;
    p->total[0] = -gamma;
    for (size_t to = 1; to <= p->n; to++) {
        p->total[to] = INFINITY;
        for (size_t from = to > PIECE ? to - PIECE : 0; from < to; from++) {
            double c = p->total[from] + gamma + level(p, from, to).cost;
            if (c <= p->total[to]) {
                p->total[to] = c;
                p->back[to] = from;
            }
        }
    }
    for (size_t to = p->n; to > 0; to = p->back[to])
        ends[len++] = to;
    for (size_t i = 0; i < len / 2; i++) {
        size_t swap = ends[i];
        ends[i] = ends[len - 1 - i];
        ends[len - 1 - i] = swap;
    }
    return len;
}

/* Joins neighbours as long as that is cheaper, the first gain that its next two do not beat. */
static size_t join(potts *p, double gamma, size_t *ends, size_t len)
{
    for (;;) {
        double least = 0.0;
        size_t at = len;
        size_t from = 0;
        for (size_t j = 1; j < len && !(at + 2 < j); j++) {
            double gain = level(p, from, ends[j]).cost - level(p, from, ends[j - 1]).cost -
                          level(p, ends[j - 1], ends[j]).cost - gamma;
            if (gain <= least) {
                least = gain;
                at = j - 1;
            }
            from = ends[j - 1];
        }
        if (at == len)
            return len;
        len--;
        memmove(ends + at, ends + at + 1, (len - at) * sizeof *ends);
    }
}

static void move_edges(potts *p, size_t *ends, size_t len)
{
    size_t from = 0;
    for (size_t j = 1; j < len; j++) {
        size_t edge = ends[j - 1];
        size_t best = edge;
        double least = level(p, from, edge).cost + level(p, edge, ends[j]).cost;
        size_t first = PFC_MAX(from + 1, edge > PIECE ? edge - PIECE : 1);
        size_t last = PFC_MIN(ends[j] - 1, edge + PIECE);
        for (size_t at = first; at <= last; at++) {
            double c = level(p, from, at).cost + level(p, at, ends[j]).cost;
            if (at != edge && c < least) {
                least = c;
                best = at;
            }
        }
        ends[j - 1] = best;
        from = best;
    }
}

/* Sum of what is left when each residual foretells rho of the next. */
static double left_over(potts *p, const size_t *ends, size_t len, double rho)
{
    double before = p->v[0] - level(p, 0, ends[0]).median;
    double sum = fabs(before);
    size_t from = 0;
    for (size_t j = 0; j < len; j++) {
        double median = level(p, from, ends[j]).median;
        for (size_t i = PFC_MAX(from, (size_t)1); i < ends[j]; i++) {
            double now = p->v[i] - median;
            sum += fabs(now - rho * before);
            before = now;
        }
        from = ends[j];
    }
    return sum;
}

static double least_left_over(potts *p, const size_t *ends, size_t len)
{
    const double ratio = 0.61803398874989485;
    double low = -1.0;
    double high = 1.0;
    double best = left_over(p, ends, len, 0.0);
    while (high - low > 0.05) {
        double x1 = high - ratio * (high - low);
        double x2 = low + ratio * (high - low);
        double y1 = left_over(p, ends, len, x1);
        double y2 = left_over(p, ends, len, x2);
        best = fmin(best, fmin(y1, y2));
        if (y2 < y1)
            low = x1;
        else
            high = x2;
    }
    return best;
}

/* The noise that is there at least: a tenth of the smallest step. */
static double noise_floor(potts *p, const size_t *ends, size_t len)
{
    double least = INFINITY;
    double before = 0.0;
    size_t from = 0;
    for (size_t j = 0; j < len; j++) {
        double median = level(p, from, ends[j]).median;
        if (len <= 2)
            least = fmin(least, 0.01 * fabs(median));
        else if (j > 0)
            least = fmin(least, fabs(median - before));
        before = median;
        from = ends[j];
    }
    return fmax(0.1 * least, 1e-300);
}

typedef struct choice {
    double criterion;
    size_t *ends;
    size_t len;
} choice;

static double try_gamma(potts *p, double gamma, size_t *ends, choice *best)
{
    double n = (double)p->n;
    size_t len = join(p, gamma, ends, best_pieces(p, gamma, ends));
    move_edges(p, ends, len);
    double criterion = 4.0 * log(n) / n * (double)len +
                       log(noise_floor(p, ends, len) + least_left_over(p, ends, len));
    if (criterion < best->criterion) {
        best->criterion = criterion;
        best->len = len;
        memcpy(best->ends, ends, len * sizeof *ends);
    }
    return criterion;
}

/* Golden section over the logarithm of the price, roughly. */
static void choose(potts *p, size_t *ends, choice *best)
{
    const double ratio = 2.0 / (1.0 + sqrt(5.0));
    double whole = level(p, 0, p->n).cost;
    double scale = whole > 0.0 ? whole : 1.0;
    double a = log(0.1 / (double)p->n);
    double x0 = ratio * a / (2.0 * ratio - 1.0); /* so that the first tries are at a and at 0 */
    double x3 = -(1.0 - ratio) * a / (2.0 * ratio - 1.0);
    double x1 = a;
    double x2 = 0.0;
    double y1 = try_gamma(p, scale * exp(x1), ends, best);
    double y2 = try_gamma(p, scale * exp(x2), ends, best);
    while (fabs(x0 - x3) >= 0.1 * fabs(a)) {
        if (y2 < y1) {
            x0 = x1;
            x1 = x2;
            y1 = y2;
            x2 = ratio * x1 + (1.0 - ratio) * x3;
            y2 = try_gamma(p, scale * exp(x2), ends, best);
        } else {
            x3 = x2;
            x2 = x1;
            y2 = y1;
            x1 = ratio * x2 + (1.0 - ratio) * x0;
            y1 = try_gamma(p, scale * exp(x1), ends, best);
        }
    }
}

size_t pfc_rival_asv(const double *v, size_t n, size_t *changes)
{
    if (n < 2)
        return 0;
    potts p = { .v = v, .n = n };
    size_t *ends = pfc_calloc(n + 1, sizeof *ends);
    choice best = { .criterion = INFINITY, .ends = pfc_calloc(n + 1, sizeof *ends) };
    p.cache = pfc_calloc((size_t)1 << CACHE_BITS, sizeof *p.cache);
    p.pieces = pfc_calloc(n * PIECE, sizeof *p.pieces);
    p.scratch = pfc_calloc(n, sizeof *p.scratch);
    p.total = pfc_calloc(n + 1, sizeof *p.total);
    p.back = pfc_calloc(n + 1, sizeof *p.back);
    for (size_t from = 0; from < n; from++) {
        for (size_t len = 1; len <= PIECE && from + len <= n; len++)
            p.pieces[from * PIECE + len - 1] = measure(&p, from, from + len);
    }
    choose(&p, ends, &best);
    for (size_t i = 0; i + 1 < best.len; i++)
        changes[i] = best.ends[i];
    free(p.back);
    free(p.total);
    free(p.scratch);
    free(p.pieces);
    free(p.cache);
    free(best.ends);
    free(ends);
    return best.len ? best.len - 1 : 0;
}
