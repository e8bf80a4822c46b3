/* GEMM as the registry sees it: C = A B, with optional gaps between rows. */
#include "kernels/cpu/op.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

#define MAX_DIM             (1 << 20) /* vocabularies are some 10^5 */
#define MAX_PAD             64
/* Products checked one by one: about a third of a second of double arithmetic. */
#define FULL_CHECK_PRODUCTS ((size_t)1 << 27)
#define CHECK_SEED          0x67656d6dU

enum { M, N, K, PAD };
enum { A, B, C, WORK };

static const pfc_kernel_param params[] = {
    [M] = { "m", "rows of A and C", 0, MAX_DIM, 512, false },
    [N] = { "n", "columns of B and C", 0, MAX_DIM, 512, false },
    [K] = { "k", "columns of A, rows of B", 0, MAX_DIM, 512, false },
    [PAD] = { "pad", "floats between the end of a row and the next", 0, MAX_PAD, 0, true },
};

static void plan(const int64_t *values, pfc_kernel_plan *out)
{
    size_t m = (size_t)values[M];
    size_t n = (size_t)values[N];
    size_t k = (size_t)values[K];
    size_t pad = (size_t)values[PAD];

    pfc_kernel_plan_add(out, PFC_KERNEL_IN, m, k + pad, -1.0F, 1.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, k, n + pad, -1.0F, 1.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_OUT, m, n + pad, 0.0F, 0.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_WORK, pfc_gemm_f32_work_len(m, n, k), 1, 0.0F, 0.0F);
    out->flops = 2.0 * (double)m * (double)n * (double)k;
    out->bytes = (double)sizeof(float) *
                 ((double)m * (double)k + (double)k * (double)n + (double)m * (double)n);
}

#define PFC_VARIANT(op, isa, needs)                                                                \
    static void run_##isa(const int64_t *v, float *const *buf)                                     \
    {                                                                                              \
        size_t pad = (size_t)v[PAD];                                                               \
        pfc_##op##_##isa((size_t)v[M], (size_t)v[N], (size_t)v[K], 1.0F, buf[A],                   \
                         (size_t)v[K] + pad, buf[B], (size_t)v[N] + pad, 0.0F, buf[C],             \
                         (size_t)v[N] + pad, buf[WORK]);                                           \
    }
#include "kernels/cpu/gemm_f32/variants.def"
#undef PFC_VARIANT

#define PFC_VARIANT(op, isa, needs) { "cpu-" #isa, needs, run_##isa },
static const pfc_kernel_impl impls[] = {
#include "kernels/cpu/gemm_f32/variants.def"
};
#undef PFC_VARIANT

/* One row of C, element by element, summed in double. */
static void verify_row(const int64_t *v, float *const *buf, size_t i, double *sum, double *size,
                       pfc_kernel_check *check)
{
    size_t n = (size_t)v[N];
    size_t k = (size_t)v[K];
    size_t pad = (size_t)v[PAD];

    for (size_t j = 0; j < n; j++)
        sum[j] = size[j] = 0.0;
    for (size_t p = 0; p < k; p++) {
        double a = (double)buf[A][i * (k + pad) + p];
        const float *b = buf[B] + p * (n + pad);

        for (size_t j = 0; j < n; j++) {
            double term = a * (double)b[j];

            sum[j] += term;
            size[j] += fabs(term);
        }
    }
    for (size_t j = 0; j < n; j++)
        pfc_kernel_compare(check, i, j, (double)buf[C][i * (n + pad) + j], sum[j],
                           pfc_kernel_sum_tolerance(k) * size[j]);
}

/*
 * Freivalds: C x against A (B x) for a vector x of random signs, in double. It costs one pass over
 * each matrix and sees every element of C, so a large product needs no full recomputation.
 * Source: Freivalds, "Probabilistic machines can use less running time", IFIP 1977.
 */
static void verify_sums(const int64_t *v, float *const *buf, pfc_kernel_check *check)
{
    size_t m = (size_t)v[M];
    size_t n = (size_t)v[N];
    size_t k = (size_t)v[K];
    size_t pad = (size_t)v[PAD];
    double *x = pfc_calloc(n, sizeof *x);
    double *bx = pfc_calloc(k, sizeof *bx);
    double *bsquare = pfc_calloc(k, sizeof *bsquare);
    pfc_rng rng;

    pfc_rng_seed(&rng, CHECK_SEED);
    for (size_t j = 0; j < n; j++)
        x[j] = pfc_rng_below(&rng, 2) ? 1.0 : -1.0;
    for (size_t p = 0; p < k; p++) {
        for (size_t j = 0; j < n; j++) {
            double b = (double)buf[B][p * (n + pad) + j];

            bx[p] += b * x[j];
            bsquare[p] += b * b;
        }
    }
    for (size_t i = 0; i < m; i++) {
        double got = 0.0;
        double want = 0.0;
        double square = 0.0;

        for (size_t j = 0; j < n; j++)
            got += (double)buf[C][i * (n + pad) + j] * x[j];
        for (size_t p = 0; p < k; p++) {
            double a = (double)buf[A][i * (k + pad) + p];

            want += a * bx[p];
            square += a * a * bsquare[p];
        }
        /* sum |a||b| <= sqrt(k sum a^2 b^2) for one element; random signs add n of them like noise,
           and the square root of the sum of squares over j is what `square` holds already. */
        pfc_kernel_compare(check, i, n, got, want,
                           pfc_kernel_sum_tolerance(k) * sqrt((double)k * square));
    }
    free(x);
    free(bx);
    free(bsquare);
}

static void verify(const int64_t *v, float *const *buf, pfc_kernel_check *check)
{
    size_t m = (size_t)v[M];
    size_t n = (size_t)v[N];
    size_t k = (size_t)v[K];
    size_t row_cost = PFC_MAX(n * k, (size_t)1);
    size_t rows = PFC_MIN(m, PFC_MAX(FULL_CHECK_PRODUCTS / row_cost, (size_t)2));
    double *sum = pfc_calloc(n, sizeof *sum);
    double *size = pfc_calloc(n, sizeof *size);

    /* Evenly spread, the first and the last among them; all of them when they are affordable. */
    for (size_t r = 0; r < rows; r++)
        verify_row(v, buf, rows > 1 ? r * (m - 1) / (rows - 1) : 0, sum, size, check);
    if (rows < m)
        verify_sums(v, buf, check);
    free(sum);
    free(size);
}

const pfc_kernel_op pfc_kernel_op_gemm_f32 = {
    .name = "gemm",
    .dtype = "f32",
    .headline = "gemm_tflops",
    .rate = PFC_KERNEL_TFLOPS,
    .params = params,
    .params_len = PFC_ARRAY_LEN(params),
    .impls = impls,
    .impls_len = PFC_ARRAY_LEN(impls),
    .plan = plan,
    .verify = verify,
};
