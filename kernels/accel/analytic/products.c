/* Least cycles of tiled products: see products.h. */
#include "kernels/accel/analytic/products.h"

/* Steps of the vector unit for one row and one of the depth, as a function of the folds that cover
 * part of the columns there. Whole numbers of folds leave ceil((n - folds C) / lanes) steps; the
 * maximum of three lines below these points is convex, so it holds for means over rows, too. */
typedef struct steps {
    double none;  /* steps without a fold */
    double fold;  /* that each fold saves at most */
    double lanes; /* that each fold saves where the rest fills the lanes */
    double full;  /* the same rest in columns over lanes: steps without a fold */
    double last;  /* steps per fold that is still missing */
    double folds; /* that cover all columns */
} steps;

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static steps steps_of(const pfc_accel_products *p, const pfc_accel_chip *chip)
{
    const uint64_t folds = div_up(p->n, chip->array_cols);
    const uint64_t none = div_up(p->n, chip->vector_lanes);
    steps s = {
        .none = (double)none,
        .lanes = (double)chip->array_cols / (double)chip->vector_lanes,
        .full = (double)p->n / (double)chip->vector_lanes,
        .last = (double)none / (double)folds,
        .folds = (double)folds,
    };

    for (uint64_t i = 1; i <= folds; i++) {
        const uint64_t covered = PFC_MIN(i * chip->array_cols, p->n);
        const double left = (double)div_up(p->n - covered, chip->vector_lanes);

        s.fold = PFC_MAX(s.fold, (s.none - left) / (double)i);
        if (i < folds)
            s.last = PFC_MIN(s.last, left / (double)(folds - i));
    }
    return s;
}

static double steps_beside(const steps *s, double folds)
{
    const double some = PFC_MAX(s->none - folds * s->fold, s->full - folds * s->lanes);

    return PFC_MAX(PFC_MAX(some, s->last * (s->folds - folds)), 0.0);
}

/* Cycles of the vector unit for what `passing` rows through folds leave of the products. A row
 * passes through `folds` of them on average. Of the numbers of the depth that lie array_rows apart,
 * a fold covers at most one: whole + 1 of them share the folds, or, past the remainder, whole. */
static uint64_t vector_cycles(const pfc_accel_products *p, const pfc_accel_chip *chip,
                              const steps *s, uint64_t passing)
{
    const double folds = (double)passing / (double)p->m;
    const uint64_t whole = p->k / chip->array_rows;
    const uint64_t rest = p->k % chip->array_rows;
    double cycles = (double)(rest * (whole + 1)) * steps_beside(s, folds / (double)(whole + 1));

    if (whole > 0)
        cycles +=
            (double)((chip->array_rows - rest) * whole) * steps_beside(s, folds / (double)whole);
    return (uint64_t)(cycles * (double)p->m * (1.0 - 1e-12)); /* never above by rounding */
}

/* To the last result of an array through whose folds so many rows pass, one or more. Each fold but
 * the last takes as long as its weights load; the last one's rows, then the depth of the array. */
static uint64_t array_cycles(const pfc_accel_products *p, const pfc_accel_chip *chip,
                             uint64_t passing)
{
    const uint64_t load = pfc_accel_load_cycles(chip);
    const uint64_t each = PFC_MAX(p->m * p->passes, load);

    return load - 1 + (passing - 1) / p->m * each + ((passing - 1) % p->m + 1) * p->passes +
           chip->array_rows + chip->array_cols - 2;
}

typedef struct ends {
    uint64_t array, vector;
} ends;

static ends ends_with(const pfc_accel_products *p, const pfc_accel_chip *chip, const steps *s,
                      uint64_t passing)
{
    const uint64_t lanes = vector_cycles(p, chip, s, passing) + p->own;

    return (ends){ .array = array_cycles(p, chip, passing) + p->after,
                   .vector = lanes > 0 ? lanes + chip->vector_latency : 0 };
}

uint64_t pfc_accel_products_cycles(const pfc_accel_products *p, const pfc_accel_chip *chip)
{
    const steps s = steps_of(p, chip);
    const uint64_t all = p->m * div_up(p->n, chip->array_cols) * div_up(p->k, chip->array_rows);
    uint64_t few = 0; /* rows with which the vector unit ends later */
    uint64_t many = all;
    uint64_t best;
    ends e;

    if (p->m == 0 || p->n == 0 || p->k == 0)
        return 0;
    best = p->m * p->k * div_up(p->n, chip->vector_lanes) + p->own + chip->vector_latency;
    /* More rows through the array: it ends later, the vector unit earlier. */
    while (many - few > 1) {
        const uint64_t passing = few + (many - few) / 2;

        e = ends_with(p, chip, &s, passing);

        *(e.array < e.vector ? &few : &many) = passing;
    }
    if (few > 0)
        best = PFC_MIN(best, ends_with(p, chip, &s, few).vector);
    e = ends_with(p, chip, &s, many);
    return PFC_MIN(best, PFC_MAX(e.array, e.vector));
}
