/* Least cycles of attention's products: see pairs.h. */
#include "kernels/accel/analytic/pairs.h"

/* Rows whose last fold is used by up to 1, 2, ... PARTS PARTS-ths of its keys are looked at
 * together. */
#define PARTS    8
#define SHARES   (2 * (PARTS + 1))
#define ROUNDING (1.0 - 1e-9) /* never above by rounding */

/* Work that either unit may do. */
typedef struct share {
    double array, vector; /* cycles */
} share;

/* In the order in which the vector unit takes them. */
typedef struct shares {
    share all[SHARES];
    size_t len;
} shares;

/* The share that saves the array most for a cycle of the vector unit comes first. */
static bool before(const share *x, const share *y)
{
    return x->array * y->vector > y->array * x->vector;
}

static void add(shares *s, double passes, double array, double keys, double vector)
{
    const share new = { passes * array, keys * vector };
    size_t i;

    if (passes <= 0)
        return;
    for (i = s->len++; i > 0 && before(&new, &s->all[i - 1]); i--)
        s->all[i] = s->all[i - 1];
    s->all[i] = new;
}

/* One product. Its folds hold `fold` keys; a pass of a row costs `array` cycles of the array, a
 * key of a row `vector` cycles of the vector unit. */
static void add_product(shares *s, const pfc_accel_pairs *p, uint64_t fold, double array,
                        double vector)
{
    uint64_t whole = 0;
    uint64_t rows[PARTS] = { 0 }; /* that end in a fold of which they see such a part */
    uint64_t seen[PARTS] = { 0 }; /* the least keys that one of them sees there */

    for (uint64_t i = 0; i < p->queries; i++) {
        const uint64_t keys = p->causal ? p->keys - p->queries + i + 1 : p->keys;
        const uint64_t last = keys % fold;
        const uint64_t part = last * PARTS / fold;

        whole += keys / fold;
        if (last == 0)
            continue;
        seen[part] = rows[part] ? PFC_MIN(seen[part], last) : last;
        rows[part]++;
    }
    add(s, (double)whole * (double)p->heads, array, (double)whole * (double)p->heads * (double)fold,
        vector);
    for (size_t part = 0; part < PARTS; part++)
        add(s, (double)rows[part] * (double)p->heads, array,
            (double)(rows[part] * seen[part]) * (double)p->heads, vector);
}

/* Both units are busy until both have done all shares. */
static uint64_t balanced(const shares *s, double vector)
{
    double array = 0;

    for (size_t i = 0; i < s->len; i++)
        array += s->all[i].array;
    for (size_t i = 0; i < s->len && array > vector; i++) {
        const share *next = &s->all[i];
        /* of this share: both end at once, or all of it goes to the vector unit */
        const double part = PFC_MIN((array - vector) / (next->array + next->vector), 1.0);

        array -= part * next->array;
        vector += part * next->vector;
    }
    return (uint64_t)(PFC_MAX(array, vector) * ROUNDING);
}

uint64_t pfc_accel_pairs_cycles(const pfc_accel_pairs *p, const pfc_accel_chip *chip)
{
    const double rows = (double)(p->heads / p->groups * p->queries); /* that share a fold */
    const double load = (double)pfc_accel_load_cycles(chip);
    const double pass = PFC_MAX((double)p->passes, load / rows);
    const double d = (double)p->d;
    const double deep = d / (double)PFC_MIN(p->d, chip->array_rows);
    const double wide = d / (double)PFC_MIN(p->d, chip->array_cols);
    shares s = { 0 };

    add_product(&s, p, chip->array_cols, pass * deep,
                d / (double)PFC_MIN(chip->vector_lanes, p->groups * p->keys));
    add_product(&s, p, chip->array_rows, pass * wide,
                d / (double)PFC_MIN(chip->vector_lanes, p->groups * p->d));
    return balanced(&s, (double)p->own);
}
