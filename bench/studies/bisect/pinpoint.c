/*
 * Pinpoint's rule.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/bisect/rivals.h"
#include "core/stats/ranktest.h"
#include "core/stats/stats.h"

#define ATTEMPTS       10
#define ATTEMPTS_MAX   160
#define BUILDS_MAX     60
#define P_LOW          0.01
#define IQR_SD         1.349 /* interquartile range of a normal distribution */
#define MAGNITUDES     80    /* thresholds are kept by tenths of an interquartile range */
#define LEVELS         5     /* 10, 20, 40, 80, 160 attempts */
#define TRIALS         400
#define FALSE_NEGATIVE 0.01

typedef struct change {
    size_t commit, len, wanted;
    double x[ATTEMPTS_MAX]; /* larger is worse */
} change;

typedef struct job {
    session *n;
    change *items; /* by commit */
    size_t len;
    size_t builds;
} job;

typedef enum relation { SAME, DIFFERENT, UNKNOWN } relation;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Asymptotic two-sample Kolmogorov-Smirnov p-value. Source: Smirnov, Ann. Math. Statist. 19, 1948,
 * with the small-sample correction of Stephens, J. R. Statist. Soc. B 32, 1970. */
static double kolmogorov_p(const double *a, size_t na, const double *b, size_t nb)
{
    double x[ATTEMPTS_MAX];
    double y[ATTEMPTS_MAX];
    size_t i = 0;
    size_t k = 0;
    double most = 0;
    double sum = 0;
    memcpy(x, a, na * sizeof *x);
    memcpy(y, b, nb * sizeof *y);
    qsort(x, na, sizeof *x, ascending);
    qsort(y, nb, sizeof *y, ascending);
    while (i < na && k < nb) {
        double at = fmin(x[i], y[k]);
        while (i < na && x[i] <= at)
            i++;
        while (k < nb && y[k] <= at)
            k++;
        most = fmax(most, fabs((double)i / (double)na - (double)k / (double)nb));
    }
    double root = sqrt((double)na * (double)nb / (double)(na + nb));
    double z = (root + 0.12 + 0.11 / root) * most;
    if (z < 0.2)
        return 1; /* the series converges too slowly where the answer is 1 anyway */
    for (int j = 1; j <= 100; j++)
        sum += (j % 2 ? 2 : -2) * exp(-2.0 * j * j * z * z);
    return fmin(1, fmax(0, sum));
}

static double smaller_p(const double *a, size_t na, const double *b, size_t nb)
{
    return fmin(pfc_ranktest_p(a, na, b, nb, NULL), kolmogorov_p(a, na, b, nb));
}

/* The p-value that pairs of samples with a real difference of this many IQRs stay under in all but
 * 1 % of cases: normal values, as the published tables were made, from a fixed seed. */
static double high_threshold(size_t attempts, double magnitude)
{
    static double kept[LEVELS][MAGNITUDES]; /* 0: not yet made */
    size_t level = 0;
    while (level + 1 < LEVELS && (size_t)ATTEMPTS << level < attempts)
        level++;
    size_t m = (size_t)fmin(MAGNITUDES - 1, fmax(1, floor(magnitude * 10)));
    if (kept[level][m] == 0) {
        double p[TRIALS];
        size_t len = (size_t)ATTEMPTS << level;
        pfc_rng rng;
        pfc_rng_seed(&rng, 7919 * level + m);
        for (size_t t = 0; t < TRIALS; t++) {
            double a[ATTEMPTS_MAX];
            double b[ATTEMPTS_MAX];
            for (size_t i = 0; i < len; i++) {
                a[i] = pfc_rng_normal(&rng);
                b[i] = pfc_rng_normal(&rng) + (double)m / 10 * IQR_SD;
            }
            p[t] = smaller_p(a, len, b, len);
        }
        kept[level][m] = pfc_stats_quantile(p, TRIALS, 1 - FALSE_NEGATIVE);
    }
    return kept[level][m];
}

static double iqr(const change *c)
{
    return pfc_stats_quantile(c->x, c->len, 0.75) - pfc_stats_quantile(c->x, c->len, 0.25);
}

static relation compare(const job *j, const change *a, const change *b)
{
    const scenario *s = j->n->s;
    size_t attempts = PFC_MIN(a->len, b->len);
    if (!attempts)
        return SAME;
    double p = smaller_p(a->x, a->len, b->x, b->len);
    double spread = fmax(iqr(a), iqr(b));
    double level = fabs(pfc_stats_median(a->x, a->len));
    double magnitude = spread > 0 ? fabs(s->delta_hint) * level / spread : MAGNITUDES;
    if (p <= P_LOW)
        return pfc_stats_median(b->x, b->len) > pfc_stats_median(a->x, a->len) ? DIFFERENT : SAME;
    if (p > fmax(P_LOW, high_threshold(attempts, magnitude)) || attempts >= ATTEMPTS_MAX)
        return SAME;
    return UNKNOWN;
}

/* Up to the wanted number of attempts; false: does not build. A failed run is simply lost. */
static bool attempt(job *j, change *c)
{
    for (size_t lost = 0; c->len < c->wanted && lost < ATTEMPTS_MAX;) {
        double value = 0;
        answer_kind kind = session_measure(j->n, c->commit, 0, &value);
        if (kind == ANSWER_BROKEN)
            return false;
        if (kind == ANSWER_VALUE)
            c->x[c->len++] = j->n->s->higher_is_better ? -value : value;
        else
            lost++;
    }
    return true;
}

static bool insert(job *j, size_t at, size_t commit)
{
    change c = { .commit = commit, .wanted = ATTEMPTS };
    if (!attempt(j, &c))
        return false;
    memmove(&j->items[at + 1], &j->items[at], (j->len - at) * sizeof *j->items);
    j->items[at] = c;
    j->len++;
    j->builds++;
    return true;
}

/* The buildable commit nearest to the middle of items i and i + 1 becomes item i + 1. */
static bool add_middle(job *j, size_t i)
{
    size_t a = j->items[i].commit;
    size_t b = j->items[i + 1].commit;
    size_t mid = a + (b - a) / 2;
    for (size_t off = 0; off < b - a; off++) {
        if (mid + off < b && mid + off > a && insert(j, i + 1, mid + off))
            return true;
        if (off && mid > a + off && insert(j, i + 1, mid - off))
            return true;
    }
    return false;
}

/* One round over all neighbours; false: nothing left to do. */
static bool explore(job *j)
{
    bool changed = false;
    for (size_t i = 0; i + 1 < j->len; i++) {
        change *a = &j->items[i];
        change *b = &j->items[i + 1];
        switch (compare(j, a, b)) {
        case SAME:
            break;
        case UNKNOWN:
            a = b->len < a->len ? b : a;
            a->wanted = PFC_MIN(2 * a->len, (size_t)ATTEMPTS_MAX);
            changed = attempt(j, a) || changed;
            break;
        case DIFFERENT:
            if (j->builds < BUILDS_MAX && add_middle(j, i)) {
                changed = true;
                i++; /* the new one is compared in the next round */
            }
            break;
        }
    }
    return changed;
}

void rival_pinpoint(session *n, finding *out)
{
    job j = { .n = n, .items = pfc_calloc(BUILDS_MAX + 2, sizeof *j.items) };
    if (insert(&j, 0, 0) && insert(&j, 1, n->s->len - 1)) {
        while (explore(&j)) {
        }
        for (size_t i = 0; i + 1 < j.len && out->len < SCENARIO_MAX_SETS; i++) {
            if (compare(&j, &j.items[i], &j.items[i + 1]) != DIFFERENT)
                continue;
            out->sets[out->len] = (commit_set){ j.items[i].commit + 1, j.items[i + 1].commit };
            out->probability[out->len++] = 1;
        }
    }
    free(j.items);
}
