/*
 * Detectors that split by energy distance: the two sides of a change differ most from each other,
 * least within. One tests splits by permutations (E-divisive), one by Student's t in windows, and
 * takes weak splits back (Otava, which was Hunter).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/changepoint/rivals.h"
#include "core/base/rng.h"
#include "core/stats/sort.h"

typedef struct split {
    size_t at;
    double q;
} split;

/* ---- Student's t ---- */

/* Continued fraction of the incomplete beta function, modified Lentz (Numerical Recipes 6.4). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < 300; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        for (int k = 0; k < 2; k++) {
            double term = k ? odd : even;
            d = 1.0 + term * d;
            c = 1.0 + term / c;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            h *= d * c;
        }
        if (fabs(d * c - 1.0) < 1e-12)
            break;
    }
    return h;
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0.0 || x >= 1.0)
        return x <= 0.0 ? 0.0 : 1.0;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1.0) / (a + b + 2.0) ? front * beta_fraction(a, b, x) / a
                                         : 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

typedef struct sides {
    double p, magnitude;
} sides;

static void mean_and_variance(const double *v, size_t n, double *mean, double *var)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - *mean) * (v[i] - *mean);
    *var = squares / (double)n; /* with divisor n, as Otava has it */
}

/* v[from..at) against v[at..to): pooled t test, and the larger of both relative changes. */
static sides compare(const double *v, size_t from, size_t at, size_t to)
{
    double m1, v1, m2, v2;
    double n1 = (double)(at - from);
    double n2 = (double)(to - at);
    double df = n1 + n2 - 2.0;
    mean_and_variance(v + from, at - from, &m1, &v1);
    mean_and_variance(v + at, to - at, &m2, &v2);
    sides s = { .p = 1.0 };
    double up = m1 == 0.0 ? 0.0 : fabs(m2 / m1 - 1.0);
    double down = m2 == 0.0 ? 0.0 : fabs(m1 / m2 - 1.0);
    s.magnitude = fmax(up, down);
    if (df <= 0.0)
        return s;
    double pooled = ((n1 - 1.0) * v1 + (n2 - 1.0) * v2) / df;
    double error = sqrt(pooled * (1.0 / n1 + 1.0 / n2));
    if (error > 0.0) {
        double t = (m2 - m1) / error;
        s.p = incomplete_beta(0.5 * df, 0.5, df / (df + t * t));
    } else if (m1 != m2) {
        s.p = 0.0;
    }
    return s;
}

/* ---- Otava ---- */

/* Best (split, end) of v[from..to) over all ends: n^2 pairs from sums of distances. */
static split best_split(const double *v, size_t from, size_t to)
{
    size_t n = to - from;
    split best = { from, -INFINITY };
    double *within = pfc_calloc(n + 1, sizeof *within);   /* distances among the first tau */
    double *row = pfc_calloc(n + 1, sizeof *row);         /* of point i to all before it */
    double *to_left = pfc_calloc(n + 1, sizeof *to_left); /* of point i to the first tau */
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            row[i] += fabs(v[from + i] - v[from + k]);
        within[i + 1] = within[i] + row[i];
    }
    for (size_t tau = 1; tau < n; tau++) {
        double across = 0.0; /* between [0, tau) and [tau, kappa) */
        double right = 0.0;  /* among [tau, kappa) */
        for (size_t kappa = tau + 1; kappa <= n; kappa++) {
            to_left[kappa - 1] += fabs(v[from + kappa - 1] - v[from + tau - 1]);
            across += to_left[kappa - 1];
            right += row[kappa - 1] - to_left[kappa - 1];
            double a = (double)tau;
            double b = (double)(kappa - tau);
            double q = 2.0 * across / (a + b);
            q -= tau > 1 ? 2.0 * b / ((a + b) * (a - 1.0)) * within[tau] : 0.0;
            q -= b > 1.0 ? 2.0 * a / ((a + b) * (b - 1.0)) * right : 0.0;
            if (q > best.q)
                best = (split){ from + tau, q };
        }
    }
    free(to_left);
    free(row);
    free(within);
    return best;
}

static size_t insert(size_t *list, size_t len, size_t value)
{
    size_t at = len;
    for (size_t i = 0; i < len; i++) {
        if (list[i] == value)
            return len;
    }
    for (; at > 0 && list[at - 1] > value; at--)
        list[at] = list[at - 1];
    list[at] = value;
    return len + 1;
}

/* Splits v[from..to) while the best split is significant; adds to changes, returns the last one or
 * 0. */
static size_t split_window(const double *v, size_t from, size_t to, double max_p, size_t *changes,
                           size_t *len)
{
    size_t *bounds = pfc_calloc(to - from + 2, sizeof *bounds);
    split *known =
        pfc_calloc(to - from + 2, sizeof *known); /* best of [bounds[i], bounds[i + 1]) */
    size_t parts = 1;
    bounds[0] = from;
    bounds[1] = to;
    known[0] = to - from > 1 ? best_split(v, from, to) : (split){ from, -INFINITY };
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i < parts; i++)
            best = known[i].q > known[best].q ? i : best;
        split s = known[best];
        if (!(s.q > -(double)INFINITY) ||
            !(compare(v, bounds[best], s.at, bounds[best + 1]).p <= max_p))
            break;
        memmove(bounds + best + 2, bounds + best + 1, (parts - best) * sizeof *bounds);
        memmove(known + best + 2, known + best + 1, (parts - best - 1) * sizeof *known);
        bounds[best + 1] = s.at;
        parts++;
        for (size_t i = best; i < best + 2; i++)
            known[i] = bounds[i + 1] - bounds[i] > 1 ? best_split(v, bounds[i], bounds[i + 1])
                                                     : (split){ from, -INFINITY };
    }
    for (size_t i = 1; i < parts; i++)
        *len = insert(changes, *len, bounds[i]);
    size_t last = parts > 1 ? bounds[parts - 1] : 0;
    free(known);
    free(bounds);
    return last;
}

static sides at_bound(const double *v, size_t n, const size_t *changes, size_t len, size_t i)
{
    return compare(v, i ? changes[i - 1] : 0, changes[i], i + 1 < len ? changes[i + 1] : n);
}

/* Takes back the weakest change until all are significant and large enough. */
static size_t merge_weak(const double *v, size_t n, size_t *changes, size_t len, double max_p,
                         double min_rel)
{
    sides *s = pfc_calloc(len + 1, sizeof *s);
    for (size_t i = 0; i < len; i++)
        s[i] = at_bound(v, n, changes, len, i);
    while (len) {
        size_t weak = 0;
        for (size_t i = 1; i < len; i++)
            weak = s[i].p > s[weak].p ? i : weak;
        if (s[weak].p < max_p) {
            for (size_t i = 0; i < len; i++)
                weak = s[i].magnitude < s[weak].magnitude ? i : weak;
            if (s[weak].magnitude > min_rel)
                break;
        }
        len--;
        memmove(changes + weak, changes + weak + 1, (len - weak) * sizeof *changes);
        memmove(s + weak, s + weak + 1, (len - weak) * sizeof *s);
        if (weak > 0)
            s[weak - 1] = at_bound(v, n, changes, len, weak - 1);
        if (weak < len)
            s[weak] = at_bound(v, n, changes, len, weak);
    }
    free(s);
    return len;
}

static size_t otava(const double *v, size_t n, size_t window, double max_p, double min_rel,
                    size_t *changes)
{
    size_t len = 0;
    for (size_t start = 0; start < n;) {
        size_t last =
            split_window(v, start, PFC_MIN(start + window, n), 10.0 * max_p, changes, &len);
        start = PFC_MAX(last, start + window / 2);
    }
    return merge_weak(v, n, changes, len, max_p, min_rel);
}

size_t pfc_rival_otava(const double *v, size_t n, size_t *changes)
{
    return otava(v, n, 50, 0.001, 0.0, changes);
}

size_t pfc_rival_otava_tuned(const double *v, size_t n, size_t *changes)
{
    return otava(v, n, 100, 1e-5, 0.02, changes);
}

/* ---- E-divisive ---- */

#define PERMUTATIONS 100
#define MAX_P        0.05

/* Sums of distances to a growing set, by Fenwick trees over ranks. */
typedef struct ranked {
    size_t n;
    const double *v;    /* values */
    const size_t *rank; /* of each value, 0..n), among all of the series */
    double *count, *sum;
} ranked;

static double to_set(const ranked *r, size_t i, double all_count, double all_sum)
{
    double below = 0.0;
    double below_sum = 0.0;
    for (size_t k = r->rank[i] + 1; k > 0; k &= k - 1) {
        below += r->count[k];
        below_sum += r->sum[k];
    }
    double x = r->v[i];
    return x * below - below_sum + (all_sum - below_sum) - x * (all_count - below);
}

static void put(const ranked *r, size_t i, double sign)
{
    for (size_t k = r->rank[i] + 1; k <= r->n; k += k & (~k + 1)) {
        r->count[k] += sign;
        r->sum[k] += sign * r->v[i];
    }
}

/* Largest statistic over the splits of items[0..n) (places in the series), and where. */
static split best_energy(ranked *r, const size_t *items, size_t n, double *scratch)
{
    double count = 0.0, sum = 0.0, all = 0.0;
    split best = { 0, 0.0 };
    memset(r->count, 0, (r->n + 1) * sizeof *r->count);
    memset(r->sum, 0, (r->n + 1) * sizeof *r->sum);
    for (size_t i = 0; i < n; i++) { /* of each to those before it */
        scratch[i] = to_set(r, items[i], count, sum);
        all += scratch[i];
        put(r, items[i], 1.0);
        count += 1.0;
        sum += r->v[items[i]];
    }
    double *whole = scratch + n; /* of each to all */
    for (size_t i = 0; i < n; i++)
        whole[i] = to_set(r, items[i], count, sum);
    double left = 0.0;
    double right = all;
    for (size_t tau = 1; tau < n; tau++) {
        left += scratch[tau - 1];
        right -= whole[tau - 1] - scratch[tau - 1];
        double across = all - left - right;
        double a = (double)tau;
        double b = (double)(n - tau);
        double q = a * b / (a + b) *
                   (2.0 * across / (a * b) - 2.0 * left / (a * a) - 2.0 * right / (b * b));
        if (q > best.q)
            best = (split){ tau, q };
    }
    return best;
}

static int by_value(const void *a, const void *b, void *arg)
{
    const double *v = arg;
    double x = v[*(const size_t *)a];
    double y = v[*(const size_t *)b];
    return (x > y) - (x < y);
}

static bool significant(ranked *r, const size_t *bounds, size_t parts, double q, pfc_rng *rng,
                        size_t *items, double *scratch)
{
    size_t better = 0;
    for (int round = 0; round < PERMUTATIONS; round++) {
        double best = 0.0;
        for (size_t i = 0; i < parts; i++) {
            size_t n = bounds[i + 1] - bounds[i];
            for (size_t k = 0; k < n; k++)
                items[k] = bounds[i] + k;
            pfc_rng_shuffle(rng, items, n);
            best = fmax(best, best_energy(r, items, n, scratch).q);
        }
        better += best >= q;
        if ((double)better / (PERMUTATIONS + 1) > MAX_P)
            return false;
    }
    return true;
}

size_t pfc_rival_e_divisive(const double *v, size_t n, size_t *changes)
{
    size_t *order = pfc_calloc(n + 1, sizeof *order);
    size_t *rank = pfc_calloc(n + 1, sizeof *rank);
    size_t *items = pfc_calloc(n + 1, sizeof *items);
    size_t *bounds = pfc_calloc(n + 2, sizeof *bounds);
    double *scratch = pfc_calloc(2 * n + 1, sizeof *scratch);
    ranked r = { .n = n, .v = v, .rank = rank };
    r.count = pfc_calloc(n + 2, sizeof *r.count);
    r.sum = pfc_calloc(n + 2, sizeof *r.sum);
    size_t parts = 1;
    pfc_rng rng;
    pfc_rng_seed(&rng, 1);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, by_value, (double *)(uintptr_t)v);
    for (size_t i = 0; i < n; i++)
        rank[order[i]] = i;
    bounds[1] = n;
    while (n > 1) {
        split best = { 0, 0.0 };
        for (size_t i = 0; i < parts; i++) {
            size_t len = bounds[i + 1] - bounds[i];
            for (size_t k = 0; k < len; k++)
                items[k] = bounds[i] + k;
            split s = best_energy(&r, items, len, scratch);
            if (s.q > best.q)
                best = (split){ bounds[i] + s.at, s.q };
        }
        if (best.at == 0 || !significant(&r, bounds, parts, best.q, &rng, items, scratch))
            break;
        parts = insert(bounds, parts + 1, best.at) - 1;
    }
    for (size_t i = 1; i < parts; i++)
        changes[i - 1] = bounds[i];
    free(r.sum);
    free(r.count);
    free(scratch);
    free(bounds);
    free(items);
    free(rank);
    free(order);
    return parts - 1;
}
