/* Least cycles of attention's products: see pairs.h. */
#include "kernels/accel/analytic/pairs.h"

#include <stdlib.h>

/* Rows whose last fold is used by up to 1, 2, ... PARTS PARTS-ths of its keys are looked at
 * together, by the number of their folds, of which LEVELS - 1 and more count as one. */
#define PARTS    128
#define LEVELS   6
#define SHARES   (2 * 2 * PARTS * LEVELS)
#define ROUNDING (1.0 - 1e-9) /* never above by rounding */

/* Work that either unit may do. */
typedef struct share {
    double array, vector; /* cycles */
} share;

typedef struct shares {
    share all[SHARES];
    size_t len;
} shares;

/* The share that saves the array most for a cycle of the vector unit comes first. */
static int by_saving(const void *a, const void *b)
{
    const share *x = a;
    const share *y = b;
    const double saved = x->array * y->vector;
    const double other = y->array * x->vector;

    return saved > other ? -1 : saved < other;
}

static void add(shares *s, double array, double vector)
{
    if (array > 0)
        s->all[s->len++] = (share){ array, vector };
}

/* A product: what its work costs on either unit. */
typedef struct product {
    double fold;  /* keys of a fold */
    double array; /* cycles of the array for a pass of a row */
    double least; /* cycles of the vector unit for any keys of a row, */
    double key;   /* and for each of them when they are many */
} product;

/* Cycles of the vector unit that save `passes` of a row whose last fold has `last` keys. */
static double instead(const product *p, double last, double passes)
{
    return PFC_MAX(p->least, (last + (passes - 1) * p->fold) * p->key);
}

/* The passes that save the array most for a cycle of the vector unit: as many as the least has
 * room for, or one more; past them each costs as much as the one before. */
static double best_passes(const product *p, double last, double most)
{
    const double room = (p->least / p->key - last) / p->fold + 1;
    const double in = PFC_MIN(PFC_MAX((double)(uint64_t)PFC_MAX(room, 0), 1), most);
    const double next = PFC_MIN(in + 1, most);

    return instead(p, last, next) * in < instead(p, last, in) * next ? next : in;
}

/* Rows with the same part of the last fold in use, and the same number of folds. */
typedef struct rows {
    double count;
    double last;  /* the least keys that one of them has in its last fold */
    double folds; /* of all of them */
} rows;

static void add_rows(shares *s, const product *p, const rows *r, double most)
{
    const double best = best_passes(p, r->last, most);
    const double first = PFC_MIN(r->folds, r->count * best);

    add(s, first * p->array, first * instead(p, r->last, best) / best);
    add(s, (r->folds - first) * p->array, (r->folds - first) * p->fold * p->key);
}

static void add_product(shares *s, const pfc_accel_pairs *p, const product *of)
{
    const uint64_t fold = (uint64_t)of->fold;
    rows all[LEVELS][PARTS] = { 0 };

    for (uint64_t i = 0; i < p->queries; i++) {
        const uint64_t keys = p->causal ? p->keys - p->queries + i + 1 : p->keys;
        const uint64_t folds = (keys + fold - 1) / fold;
        const uint64_t last = keys - (folds - 1) * fold;
        rows *r = &all[PFC_MIN(folds, LEVELS) - 1][(last - 1) * PARTS / fold];

        r->last = r->count > 0 ? PFC_MIN(r->last, (double)last) : (double)last;
        r->count += (double)p->heads;
        r->folds += (double)folds * (double)p->heads;
    }
    for (size_t level = 0; level < LEVELS; level++)
        for (size_t part = 0; part < PARTS; part++)
            add_rows(s, of, &all[level][part],
                     level + 1 < LEVELS ? (double)(level + 1) : (double)p->keys);
}

/* Both units are busy until both have done all shares; the array's last result leaves it `depth`
 * cycles after that. */
static uint64_t balanced(shares *s, double vector, double depth)
{
    double array = 0;

    qsort(s->all, s->len, sizeof(s->all[0]), by_saving);
    for (size_t i = 0; i < s->len; i++)
        array += s->all[i].array;
    for (size_t i = 0; i < s->len && array + depth > vector; i++) {
        const share *next = &s->all[i];
        /* of this share: both end at once, or all of it goes to the vector unit */
        const double part = PFC_MIN((array + depth - vector) / (next->array + next->vector), 1.0);

        array -= part * next->array;
        vector += part * next->vector;
    }
    if (array >= 1) /* else rounding is all that is left for it */
        vector = PFC_MAX(array + depth, vector);
    return (uint64_t)(vector * ROUNDING);
}

uint64_t pfc_accel_pairs_cycles(const pfc_accel_pairs *p, const pfc_accel_chip *chip)
{
    const double shared = (double)(p->heads / p->groups * p->queries); /* rows that share a fold */
    const double load = (double)pfc_accel_load_cycles(chip);
    const double pass = PFC_MAX((double)p->passes, load / shared);
    const double d = (double)p->d;
    const double heads = (double)p->groups; /* side by side in the lanes, at most */
    const double lanes = (double)chip->vector_lanes;
    const product scores = { .fold = (double)chip->array_cols,
                             .array = pass * d / (double)PFC_MIN(p->d, chip->array_rows),
                             .least = d / heads,
                             .key = d / lanes };
    const product sums = { .fold = (double)chip->array_rows,
                           .array = pass * d / (double)PFC_MIN(p->d, chip->array_cols),
                           .key = PFC_MAX(1 / heads, d / lanes) };
    shares s = { 0 };

    add_product(&s, p, &scores);
    add_product(&s, p, &sums);
    return balanced(&s, (double)p->own, (double)p->depth);
}
