/* Layer normalisation as the registry sees it. */
#include <math.h>

#include "kernels/cpu/layernorm_f32/layernorm_f32.h"
#include "kernels/cpu/norm_op.h"

enum { X, GAMMA, BETA, Y };

static const pfc_kernel_param params[] = PFC_NORM_PARAM_TABLE;

static void plan(const int64_t *values, pfc_kernel_plan *out)
{
    size_t rows = (size_t)values[PFC_NORM_ROWS];
    size_t cols = (size_t)values[PFC_NORM_COLS];

    /* A mean away from 0, so that a kernel that forgets it is found out. */
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, rows, cols, -1.0F, 3.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, 1, cols, 0.5F, 1.5F);
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, 1, cols, -1.0F, 1.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_OUT, rows, cols, 0.0F, 0.0F);
    /* A value: add; subtract, square, add; subtract, scale, multiply, add. */
    out->flops = 8.0 * (double)rows * (double)cols;
    out->bytes = sizeof(float) * (2.0 * (double)rows + 2.0) * (double)cols;
}

#define PFC_VARIANT(op, isa, needs)                                                                \
    static void run_##isa(const int64_t *v, float *const *buf)                                     \
    {                                                                                              \
        pfc_##op##_##isa((size_t)v[PFC_NORM_ROWS], (size_t)v[PFC_NORM_COLS], buf[X], buf[GAMMA],   \
                         buf[BETA], PFC_NORM_EPSILON, buf[Y]);                                     \
    }
#include "kernels/cpu/layernorm_f32/variants.def"
#undef PFC_VARIANT

#define PFC_VARIANT(op, isa, needs) { "cpu-" #isa, needs, run_##isa },
static const pfc_kernel_impl impls[] = {
#include "kernels/cpu/layernorm_f32/variants.def"
};
#undef PFC_VARIANT

static void verify_row(size_t i, size_t cols, float *const *buf, pfc_kernel_check *check)
{
    const float *x = buf[X] + i * cols;
    double n = (double)cols;
    double mean = 0.0;
    double size = 0.0;
    double variance = 0.0;
    double deviation = 0.0;
    double shift = 0.0;

    for (size_t j = 0; j < cols; j++) {
        mean += (double)x[j] / n;
        size += fabs((double)x[j]) / n;
    }
    for (size_t j = 0; j < cols; j++)
        variance += ((double)x[j] - mean) * ((double)x[j] - mean) / n;
    deviation = sqrt(variance + (double)PFC_NORM_EPSILON);

    /* The mean is off by at most sum tolerance * mean |x|; in units of the deviation that moves
       every value, and it moves the deviation itself by no more. The deviation's own sum adds half
       its tolerance; subtraction, scaling and the rest are a few roundings of each value. */
    shift = pfc_kernel_sum_tolerance(cols) * size / deviation;
    for (size_t j = 0; j < cols; j++) {
        double gamma = (double)buf[GAMMA][j];
        double hat = ((double)x[j] - mean) / deviation;
        double want = hat * gamma + (double)buf[BETA][j];
        double slack = shift * (1.0 + fabs(hat)) +
                       fabs(hat) * (0.5 * pfc_kernel_sum_tolerance(cols) + 6.0 * 0x1p-24) +
                       0x1p-24 * fabs((double)x[j]) / deviation;

        pfc_kernel_compare(check, i, j, (double)buf[Y][i * cols + j], want,
                           slack * fabs(gamma) + 2.0 * 0x1p-24 * (fabs(want) + 1.0));
    }
}

static void verify(const int64_t *v, float *const *buf, pfc_kernel_check *check)
{
    for (size_t i = 0; i < (size_t)v[PFC_NORM_ROWS]; i++)
        verify_row(i, (size_t)v[PFC_NORM_COLS], buf, check);
}

const pfc_kernel_op pfc_kernel_op_layernorm_f32 = {
    .name = "layernorm",
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
