/* Attention as the registry sees it. */
#include "kernels/cpu/op.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/attention_f32/attention_f32.h"

/* Multiplications of a verification; past it, rows are taken evenly spread. */
#define CHECK_PRODUCTS ((size_t)1 << 27)

enum { HEADS, SEQ, DIM, CAUSAL };
enum { Q, K, V, O, WORK };

static const pfc_kernel_param params[] = {
    [HEADS] = { "h", "heads", 0, 256, 8, false },
    [SEQ] = { "s", "queries and keys of a head", 0, 65536, 512, false },
    [DIM] = { "d", "length of a query, key or value", 0, PFC_ATTENTION_F32_MAX_DIM, 64, false },
    [CAUSAL] = { "causal", "1: a query sees only keys up to its own place", 0, 1, 0, true },
};

static void plan(const int64_t *values, pfc_kernel_plan *out)
{
    size_t rows = (size_t)values[HEADS] * (size_t)values[SEQ];
    size_t dim = (size_t)values[DIM];
    double seq = (double)values[SEQ];
    double pairs = values[CAUSAL] ? seq * (seq + 1.0) / 2.0 : seq * seq;

    /* Queries in [-3, 3): scores then spread over some units, so that weights differ. */
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, rows, dim, -3.0F, 3.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, rows, dim, -1.0F, 1.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, rows, dim, -1.0F, 1.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_OUT, rows, dim, 0.0F, 0.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_WORK, pfc_attention_f32_work_len((size_t)values[SEQ], dim),
                        1, 0.0F, 0.0F);
    /* The two products; by custom the softmax between them is not counted. */
    out->flops = 4.0 * (double)values[HEADS] * pairs * (double)dim;
    out->bytes = 4.0 * sizeof(float) * (double)rows * (double)dim;
}

#define PFC_VARIANT(op, isa, needs)                                                                \
    static void run_##isa(const int64_t *v, float *const *buf)                                     \
    {                                                                                              \
        pfc_##op##_##isa((size_t)v[HEADS], (size_t)v[SEQ], (size_t)v[DIM], v[CAUSAL] != 0, buf[Q], \
                         buf[K], buf[V], buf[O], buf[WORK]);                                       \
    }
#include "kernels/cpu/attention_f32/variants.def"
#undef PFC_VARIANT

#define PFC_VARIANT(op, isa, needs) { "cpu-" #isa, needs, run_##isa },
static const pfc_kernel_impl impls[] = {
#include "kernels/cpu/attention_f32/variants.def"
};
#undef PFC_VARIANT

/* Softmax weights of one query over its keys. */
typedef struct weights {
    double *weight; /* owned; a value for each key */
    double sum;
    double spread;      /* largest score minus smallest */
    double score_error; /* how far a score may be off */
} weights;

static void weigh(weights *w, size_t keys, size_t dim, const float *query, const float *k)
{
    double scale = 1.0 / sqrt((double)dim);
    double top = -INFINITY;
    double low = INFINITY;
    double size_max = 0.0;

    for (size_t j = 0; j < keys; j++) {
        double score = 0.0;
        double size = 0.0;

        for (size_t p = 0; p < dim; p++) {
            double term = (double)query[p] * (double)k[j * dim + p];

            score += term;
            size += fabs(term);
        }
        w->weight[j] = score * scale;
        top = fmax(top, score * scale);
        low = fmin(low, score * scale);
        size_max = fmax(size_max, size * scale);
    }
    w->sum = 0.0;
    for (size_t j = 0; j < keys; j++) {
        w->weight[j] = exp(w->weight[j] - top);
        w->sum += w->weight[j];
    }
    w->spread = top - low;
    /* Two roundings more than the sum: the scale itself, and its product. */
    w->score_error = (pfc_kernel_sum_tolerance(dim) + 2.0 * 0x1p-24) * size_max;
}

static void verify_row(const int64_t *v, float *const *buf, size_t row, weights *w, double *sums,
                       pfc_kernel_check *check)
{
    size_t seq = (size_t)v[SEQ];
    size_t dim = (size_t)v[DIM];
    size_t head = row / seq * seq * dim;
    size_t keys = v[CAUSAL] ? row % seq + 1 : seq;
    double *sizes = sums + dim;
    double slack = 0.0;

    weigh(w, keys, dim, buf[Q] + row * dim, buf[K] + head);
    for (size_t p = 0; p < 2 * dim; p++)
        sums[p] = 0.0;
    for (size_t j = 0; j < keys; j++) {
        for (size_t p = 0; p < dim; p++) {
            double value = (double)buf[V][head + j * dim + p];

            sums[p] += w->weight[j] * value;
            sizes[p] += w->weight[j] * fabs(value);
        }
    }
    /* Both the weighted sum and the sum of weights carry the error, hence twice. */
    slack = 2.0 * (w->score_error + (8.0 + w->spread) * 0x1p-24 + pfc_kernel_sum_tolerance(keys));
    for (size_t p = 0; p < dim; p++)
        pfc_kernel_compare(check, row, p, (double)buf[O][row * dim + p], sums[p] / w->sum,
                           slack * sizes[p] / w->sum);
}

static void verify(const int64_t *v, float *const *buf, pfc_kernel_check *check)
{
    size_t rows = (size_t)v[HEADS] * (size_t)v[SEQ];
    size_t dim = (size_t)v[DIM];
    size_t row_cost = PFC_MAX(2 * (size_t)v[SEQ] * dim, (size_t)1);
    size_t taken = PFC_MIN(rows, PFC_MAX(CHECK_PRODUCTS / row_cost, (size_t)2));
    weights w = { .weight = pfc_calloc((size_t)v[SEQ], sizeof(double)) };
    double *sums = pfc_calloc(2 * dim, sizeof *sums);

    for (size_t r = 0; r < taken; r++)
        verify_row(v, buf, taken > 1 ? r * (rows - 1) / (taken - 1) : 0, &w, sums, check);
    /* A weighted mean of values in [-1, 1) stays there: holds for the rows not taken, too, and
       finds what was never written, because that is NaN. */
    for (size_t i = 0; taken < rows && i < rows * dim; i++)
        pfc_kernel_compare(check, i / dim, i % dim, (double)buf[O][i], 0.0, 1.001);
    free(w.weight);
    free(sums);
}

const pfc_kernel_op pfc_kernel_op_attention_f32 = {
    .name = "attention",
    .dtype = "f32",
    .headline = "attention_tflops",
    .rate = PFC_KERNEL_TFLOPS,
    .params = params,
    .params_len = PFC_ARRAY_LEN(params),
    .impls = impls,
    .impls_len = PFC_ARRAY_LEN(impls),
    .plan = plan,
    .verify = verify,
};
