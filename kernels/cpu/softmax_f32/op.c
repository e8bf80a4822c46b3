/* Softmax as the registry sees it. */
#include <math.h>

#include "kernels/cpu/norm_op.h"
#include "kernels/cpu/softmax_f32/softmax_f32.h"

enum { X, Y };

static const pfc_kernel_param params[] = PFC_NORM_PARAM_TABLE;

static void plan(const int64_t *values, pfc_kernel_plan *out)
{
    size_t rows = (size_t)values[PFC_NORM_ROWS];
    size_t cols = (size_t)values[PFC_NORM_COLS];

    pfc_kernel_plan_add(out, PFC_KERNEL_IN, rows, cols, -10.0F, 10.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_OUT, rows, cols, 0.0F, 0.0F);
    /* A value: compare, subtract, exponential as one, add, scale. */
    out->flops = 5.0 * (double)rows * (double)cols;
    out->bytes = 2.0 * sizeof(float) * (double)rows * (double)cols;
}

#define PFC_VARIANT(op, isa, needs)                                                                \
    static void run_##isa(const int64_t *v, float *const *buf)                                     \
    {                                                                                              \
        pfc_##op##_##isa((size_t)v[PFC_NORM_ROWS], (size_t)v[PFC_NORM_COLS], buf[X], buf[Y]);      \
    }
#include "kernels/cpu/softmax_f32/variants.def"
#undef PFC_VARIANT

#define PFC_VARIANT(op, isa, needs) { "cpu-" #isa, needs, run_##isa },
static const pfc_kernel_impl impls[] = {
#include "kernels/cpu/softmax_f32/variants.def"
};
#undef PFC_VARIANT

static void verify(const int64_t *v, float *const *buf, pfc_kernel_check *check)
{
    size_t rows = (size_t)v[PFC_NORM_ROWS];
    size_t cols = (size_t)v[PFC_NORM_COLS];

    for (size_t i = 0; i < rows; i++) {
        const float *x = buf[X] + i * cols;
        double max = -INFINITY;
        double sum = 0.0;

        for (size_t j = 0; j < cols; j++)
            max = fmax(max, (double)x[j]);
        for (size_t j = 0; j < cols; j++)
            sum += exp((double)x[j] - max);
        for (size_t j = 0; j < cols; j++) {
            double below = max - (double)x[j];
            double want = exp(-below) / sum;

            pfc_kernel_compare(check, i, j, (double)buf[Y][i * cols + j], want,
                               want * ((6.0 + below) * 0x1p-24 + pfc_kernel_sum_tolerance(cols)));
        }
    }
}

const pfc_kernel_op pfc_kernel_op_softmax_f32 = {
    .name = "softmax",
    .dtype = "f32",
    .headline = "norm_gbps",
    .rate = PFC_KERNEL_GBPS,
    .params = params,
    .params_len = PFC_ARRAY_LEN(params),
    .impls = impls,
    .impls_len = PFC_ARRAY_LEN(impls),
    .plan = plan,
    .verify = verify,
};
