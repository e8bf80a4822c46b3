/*
 * The row operations and attention at the edge of their buffers: every variant, with each buffer in
 * turn against an inaccessible page, over rows of all remainders of the vectors (8 and 16 lanes),
 * of their steps (32, 64 and 128) and of the blocks of attention (48 queries, 128 keys).
 *
 * References are the formulas of the headers in double precision; so are the bounds, u = 2^-24 and
 * sum(n) = guarded_sum_bound(n).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/attention_f32/attention_f32.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/layernorm_f32/layernorm_f32.h"
#include "kernels/cpu/rmsnorm_f32/rmsnorm_f32.h"
#include "kernels/cpu/softmax_f32/softmax_f32.h"

#include "tests/check/check.h"
#include "tests/kernels/cpu/emulated/emulated.h"
#include "tests/kernels/cpu/guarded.h"

#define U       0x1p-24
#define EPSILON 0.03125F /* not the registry's, so that a fixed one shows */

typedef void (*softmax_fn)(size_t rows, size_t cols, const float *x, float *y);
typedef void (*exp_fn)(size_t len, const float *x, float *y);
typedef void (*rmsnorm_fn)(size_t rows, size_t cols, const float *x, const float *gamma,
                           float epsilon, float *y);
typedef void (*layernorm_fn)(size_t rows, size_t cols, const float *x, const float *gamma,
                             const float *beta, float epsilon, float *y);
typedef void (*attention_fn)(size_t heads, size_t seq, size_t dim, bool causal, const float *q,
                             const float *k, const float *v, float *o, float *work);

/* The variants of all these operations have the same names and needs. */
static const struct {
    const char *name;
    pfc_cpu_level needs;
    softmax_fn softmax;
    exp_fn exp;
} variants[] = {
#define PFC_VARIANT(op, isa, needs)                                                                \
    { #isa, needs, pfc_softmax_f32_##isa, pfc_softmax_f32_exp_##isa },
#include "kernels/cpu/softmax_f32/variants.def"
#undef PFC_VARIANT
#if defined(__x86_64__)
    { "avx512 emulated", PFC_CPU_ANY, pfc_softmax_f32_emulated, pfc_softmax_f32_exp_emulated },
#endif
};
static const rmsnorm_fn rmsnorms[] = {
#define PFC_VARIANT(op, isa, needs) pfc_rmsnorm_f32_##isa,
#include "kernels/cpu/rmsnorm_f32/variants.def"
#undef PFC_VARIANT
#if defined(__x86_64__)
    pfc_rmsnorm_f32_emulated,
#endif
};
static const layernorm_fn layernorms[] = {
#define PFC_VARIANT(op, isa, needs) pfc_layernorm_f32_##isa,
#include "kernels/cpu/layernorm_f32/variants.def"
#undef PFC_VARIANT
#if defined(__x86_64__)
    pfc_layernorm_f32_emulated,
#endif
};
static const attention_fn attentions[] = {
#define PFC_VARIANT(op, isa, needs) pfc_attention_f32_##isa,
#include "kernels/cpu/attention_f32/variants.def"

#undef PFC_VARIANT
#if defined(__x86_64__)
    pfc_attention_f32_emulated,
#endif
};

typedef struct rows {
    size_t variant;
    size_t heads, rows, cols; /* attention: rows is the sequence, cols the length of a query */
    bool causal;
    size_t out; /* which buffer is the output */
    double *want;
    double *bound;
} rows;

static void expect_rows(rows *r, size_t len)
{
    r->want = pfc_calloc(len + 1, sizeof(double));
    r->bound = pfc_calloc(len + 1, sizeof(double));
}

static void free_rows(rows *r)
{
    free(r->want);
    free(r->bound);
}

static void check_rows(void *context, float *const *at, const char *where)
{
    const rows *r = context;
    const float *y = at[r->out];

    for (size_t i = 0; i < r->heads * r->rows * r->cols; i++)
        if (!(fabs((double)y[i] - r->want[i]) <= r->bound[i]))
            cr_assert(false, "%s: row %zu column %zu: %.9g, expected %.9g within %.3g", where,
                      i / r->cols, i % r->cols, (double)y[i], r->want[i], r->bound[i]);
}

static void run_all(guarded_call *call, rows *r, const char *name)
{
    char what[128];

    call->what = what;
    call->check = check_rows;
    call->context = r;
    for (r->variant = 0; r->variant < PFC_ARRAY_LEN(variants); r->variant++) {
        if (!pfc_cpu_can(variants[r->variant].needs, NULL))
            continue;
        snprintf(what, sizeof what, "%s %s heads %zu rows %zu cols %zu%s", name,
                 variants[r->variant].name, r->heads, r->rows, r->cols, r->causal ? " causal" : "");
        guarded_run(call);
    }
}

static void run_exp(void *context, float *const *at)
{
    const rows *r = context;

    variants[r->variant].exp(r->cols, at[0], at[1]);
}

static void run_softmax(void *context, float *const *at)
{
    const rows *r = context;

    variants[r->variant].softmax(r->rows, r->cols, at[0], at[1]);
}

static void run_softmax_in_place(void *context, float *const *at)
{
    const rows *r = context;

    variants[r->variant].softmax(r->rows, r->cols, at[0], at[0]);
}

static void run_rmsnorm(void *context, float *const *at)
{
    const rows *r = context;

    rmsnorms[r->variant](r->rows, r->cols, at[0], at[1], EPSILON, at[2]);
}

static void run_rmsnorm_in_place(void *context, float *const *at)
{
    const rows *r = context;

    rmsnorms[r->variant](r->rows, r->cols, at[0], at[1], EPSILON, at[0]);
}

static void run_layernorm(void *context, float *const *at)
{
    const rows *r = context;

    layernorms[r->variant](r->rows, r->cols, at[0], at[1], at[2], EPSILON, at[3]);
}

static void run_layernorm_in_place(void *context, float *const *at)
{
    const rows *r = context;

    layernorms[r->variant](r->rows, r->cols, at[0], at[1], at[2], EPSILON, at[0]);
}

static void run_attention(void *context, float *const *at)
{
    const rows *r = context;

    attentions[r->variant](r->heads, r->rows, r->cols, r->causal, at[0], at[1], at[2], at[3],
                           at[4]);
}

/* Two units in the last place of e^x, which is at most 2^-23 of it each. */
static void check_exp(size_t len)
{
    rows r = { .heads = 1, .rows = 1, .cols = len, .out = 1 };
    float *x = guarded_values(len, len);
    float *y = guarded_values(len, len);
    guarded_call call = { .buffers = { { "x", GUARDED_IN, len, x }, { "y", GUARDED_OUT, len, y } },
                          .buffers_len = 2,
                          .run = run_exp };

    expect_rows(&r, len);
    for (size_t i = 0; i < len; i++) {
        x[i] *= 80.0F;
        r.want[i] = exp((double)x[i]);
        r.bound[i] = 4.0 * U * r.want[i];
    }
    run_all(&call, &r, "exp");
    free_rows(&r);
    free(x);
    free(y);
}

/* As its header has it: (6 + |x - max|) u and the sum's bound, relative. The largest value is put
   at each place in turn: a lane left out of the maximum overflows or loses what matters. */
static void check_softmax(size_t height, size_t width)
{
    const size_t len = height * width;
    rows r = { .heads = 1, .rows = height, .cols = width, .out = 1 };
    float *x = guarded_values(len, len);
    float *y = guarded_values(len, 1);
    guarded_call call = { .buffers = { { "x", GUARDED_IN, len, x }, { "y", GUARDED_OUT, len, y } },
                          .buffers_len = 2,
                          .run = run_softmax };

    expect_rows(&r, len);
    for (size_t i = 0; i < height; i++) {
        double top = -INFINITY;
        double sum = 0.0;

        for (size_t j = 0; j < width; j++)
            x[i * width + j] *= 10.0F;
        x[i * width + (i * 7 + width - 1) % width] = 95.0F;
        /* Far below 0: a maximum that includes a lane without a value, 0, leaves nothing. */
        for (size_t j = 0; i % 2 == 1 && j < width; j++)
            x[i * width + j] -= 300.0F;
        for (size_t j = 0; j < width; j++)
            top = fmax(top, (double)x[i * width + j]);
        for (size_t j = 0; j < width; j++)
            sum += exp((double)x[i * width + j] - top);
        for (size_t j = 0; j < width; j++) {
            const double below = top - (double)x[i * width + j];

            r.want[i * width + j] = exp(-below) / sum;
            /* Terms below e^-87.33 count as 0. */
            r.bound[i * width + j] =
                r.want[i * width + j] * ((6.0 + below) * U + guarded_sum_bound(width)) + 1.2e-38;
        }
    }
    run_all(&call, &r, "softmax");
    call.buffers[0].role = GUARDED_OUT;
    call.buffers_len = 1;
    call.run = run_softmax_in_place;
    r.out = 0;
    run_all(&call, &r, "softmax in place");
    free_rows(&r);
    free(x);
    free(y);
}

/* Values around 1, so that a mean that is left out shows. */
static float *around_one(size_t len)
{
    float *x = guarded_values(len, len + 11);

    for (size_t i = 0; i < len; i++)
        x[i] = 2.0F * x[i] + 1.0F;
    return x;
}

static void check_rmsnorm(size_t height, size_t width)
{
    const size_t len = height * width;
    rows r = { .heads = 1, .rows = height, .cols = width, .out = 2 };
    float *x = around_one(len);
    float *gamma = guarded_values(width, 5);
    float *y = guarded_values(len, 1);
    guarded_call call = { .buffers = { { "x", GUARDED_IN, len, x },
                                       { "gamma", GUARDED_IN, width, gamma },
                                       { "y", GUARDED_OUT, len, y } },
                          .buffers_len = 3,
                          .run = run_rmsnorm };

    expect_rows(&r, len);
    for (size_t i = 0; i < height; i++) {
        double squares = 0.0;

        for (size_t j = 0; j < width; j++)
            squares += (double)x[i * width + j] * (double)x[i * width + j];
        for (size_t j = 0; j < width; j++) {
            double *want = &r.want[i * width + j];

            *want = (double)x[i * width + j] / sqrt(squares / (double)width + (double)EPSILON) *
                    (double)gamma[j];
            r.bound[i * width + j] = fabs(*want) * (0.5 * guarded_sum_bound(width) + 6.0 * U);
        }
    }
    run_all(&call, &r, "rmsnorm");
    call.buffers[0].role = GUARDED_OUT;
    call.buffers_len = 2;
    call.run = run_rmsnorm_in_place;
    r.out = 0;
    run_all(&call, &r, "rmsnorm in place");
    free_rows(&r);
    free(x);
    free(gamma);
    free(y);
}

/* The mean is off by sum(n) mean |x|, which moves each value and, by no more, the deviation. */
static void expect_layernorm(rows *r, size_t i, const float *x, const float *gamma,
                             const float *beta)
{
    const double n = (double)r->cols;
    double mean = 0.0;
    double size = 0.0;
    double variance = 0.0;
    double deviation;

    for (size_t j = 0; j < r->cols; j++) {
        mean += (double)x[j] / n;
        size += fabs((double)x[j]) / n;
    }
    for (size_t j = 0; j < r->cols; j++)
        variance += ((double)x[j] - mean) * ((double)x[j] - mean) / n;
    deviation = sqrt(variance + (double)EPSILON);
    for (size_t j = 0; j < r->cols; j++) {
        const double hat = ((double)x[j] - mean) / deviation;
        const double want = hat * (double)gamma[j] + (double)beta[j];
        const double shift = guarded_sum_bound(r->cols) * size / deviation;
        const double slack = shift * (1.0 + fabs(hat)) +
                             fabs(hat) * (0.5 * guarded_sum_bound(r->cols) + 6.0 * U) +
                             U * fabs((double)x[j]) / deviation;

        r->want[i * r->cols + j] = want;
        r->bound[i * r->cols + j] = slack * fabs((double)gamma[j]) + 2.0 * U * (fabs(want) + 1.0);
    }
}

static void check_layernorm(size_t height, size_t width)
{
    const size_t len = height * width;
    rows r = { .heads = 1, .rows = height, .cols = width, .out = 3 };
    float *x = around_one(len);
    float *gamma = guarded_values(width, 5);
    float *beta = guarded_values(width, 6);
    float *y = guarded_values(len, 1);
    guarded_call call = { .buffers = { { "x", GUARDED_IN, len, x },
                                       { "gamma", GUARDED_IN, width, gamma },
                                       { "beta", GUARDED_IN, width, beta },
                                       { "y", GUARDED_OUT, len, y } },
                          .buffers_len = 4,
                          .run = run_layernorm };

    expect_rows(&r, len);
    for (size_t i = 0; i < height; i++)
        expect_layernorm(&r, i, x + i * width, gamma, beta);
    run_all(&call, &r, "layernorm");
    call.buffers[0].role = GUARDED_OUT;
    call.buffers_len = 3;
    call.run = run_layernorm_in_place;
    r.out = 0;
    run_all(&call, &r, "layernorm in place");
    free_rows(&r);
    free(x);
    free(gamma);
    free(beta);
    free(y);
}

/* A score is off by the bound of its sum; a weight by twice that, and by its exponential. */
static void expect_attention(rows *r, size_t row, const float *q, const float *k, const float *v)
{
    const size_t seq = r->rows;
    const size_t dim = r->cols;
    const size_t head = row / seq * seq * dim;
    const size_t keys = r->causal ? row % seq + 1 : seq;
    double *weight = pfc_calloc(keys, sizeof *weight);
    double top = -INFINITY;
    double low = INFINITY;
    double most = 0.0;
    double sum = 0.0;
    double slack;

    for (size_t j = 0; j < keys; j++) {
        double size = 0.0;

        for (size_t p = 0; p < dim; p++) {
            const double term = (double)q[row * dim + p] * (double)k[head + j * dim + p];

            weight[j] += term / sqrt((double)dim);
            size += fabs(term) / sqrt((double)dim);
        }
        top = fmax(top, weight[j]);
        low = fmin(low, weight[j]);
        most = fmax(most, size);
    }
    for (size_t j = 0; j < keys; j++) {
        weight[j] = exp(weight[j] - top);
        sum += weight[j];
    }
    slack = 2.0 * ((guarded_sum_bound(dim) + 2.0 * U) * most + (8.0 + top - low) * U +
                   guarded_sum_bound(keys));
    for (size_t p = 0; p < dim; p++) {
        double mean = 0.0;
        double size = 0.0;

        for (size_t j = 0; j < keys; j++) {
            mean += weight[j] / sum * (double)v[head + j * dim + p];
            size += weight[j] / sum * fabs((double)v[head + j * dim + p]);
        }
        r->want[row * dim + p] = mean;
        r->bound[row * dim + p] = slack * size;
    }
    free(weight);
}

static void check_attention(size_t heads, size_t seq, size_t dim, bool causal)
{
    const size_t len = heads * seq * dim;
    rows r = { .heads = heads, .rows = seq, .cols = dim, .causal = causal, .out = 3 };
    float *q = guarded_values(len, 1);
    float *k = guarded_values(len, 2);
    float *v = guarded_values(len, 3);
    float *o = guarded_values(len, 4);
    guarded_call call = { .buffers = { { "Q", GUARDED_IN, len, q },
                                       { "K", GUARDED_IN, len, k },
                                       { "V", GUARDED_IN, len, v },
                                       { "O", GUARDED_OUT, len, o },
                                       { "the workspace", GUARDED_WORK,
                                         pfc_attention_f32_work_len(seq, dim), NULL } },
                          .buffers_len = 5,
                          .run = run_attention };

    expect_rows(&r, len);
    for (size_t i = 0; i < len; i++)
        q[i] *= 4.0F;
    for (size_t row = 0; row < heads * seq; row++)
        expect_attention(&r, row, q, k, v);
    run_all(&call, &r, "attention");
    free_rows(&r);
    free(q);
    free(k);
    free(v);
    free(o);
}

TestSuite(rows_guard, .fini = guarded_close);

static void every_width(void (*check)(size_t height, size_t width))
{
    /* Steps of 128 columns, and what is left of them. */
    static const size_t long_ones[] = {
        127, 128, 129, 159, 160, 161, 191, 192, 193, 255, 256, 257
    };

    guarded_open(8192);
    for (size_t width = 1; width <= 73; width++)
        for (size_t height = 1; height <= 3; height++)
            check(height, width);
    for (size_t i = 0; i < PFC_ARRAY_LEN(long_ones); i++)
        check(2, long_ones[i]);
}

Test(rows_guard, softmax_stays_inside_its_buffers)
{
    every_width(check_softmax);
}

Test(rows_guard, rmsnorm_stays_inside_its_buffers)
{
    every_width(check_rmsnorm);
}

Test(rows_guard, layernorm_stays_inside_its_buffers)
{
    every_width(check_layernorm);
}

Test(rows_guard, exp_stays_inside_its_buffers)
{
    guarded_open(8192);
    for (size_t len = 1; len <= 140; len++)
        check_exp(len);
}

Test(rows_guard, attention_stays_inside_its_buffers)
{
    static const size_t lengths[] = {
        1, 2, 5, 6, 7, 11, 12, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49
    };
    static const size_t dims[] = { 1, 3, 7, 8, 9, 15, 16, 17, 33 };

    guarded_open(32768);
    for (size_t i = 0; i < PFC_ARRAY_LEN(lengths); i++)
        for (size_t j = 0; j < PFC_ARRAY_LEN(dims); j++)
            check_attention(1 + (i + j) % 2, lengths[i], dims[j], (i + j) % 3 == 0);
}

/* More than one block of queries and of keys, the last of them short by one or just begun. */
Test(rows_guard, attention_over_several_blocks_stays_inside_its_buffers)
{
    static const size_t sizes[][2] = { { 95, 9 },  { 97, 8 },   { 127, 16 }, { 128, 7 },
                                       { 129, 5 }, { 145, 33 }, { 257, 3 } };

    guarded_open(65536);
    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++)
        for (int causal = 0; causal <= 1; causal++)
            check_attention(1, sizes[i][0], sizes[i][1], causal != 0);
}
