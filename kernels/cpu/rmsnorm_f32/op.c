/* Root-mean-square normalisation as the registry sees it. */
#include <math.h>

#include "kernels/cpu/norm_op.h"
#include "kernels/cpu/rmsnorm_f32/rmsnorm_f32.h"

enum { X, GAMMA, Y };

static const pfc_kernel_param params[] = PFC_NORM_PARAM_TABLE;

static void plan(const int64_t *values, pfc_kernel_plan *out)
{
    size_t rows = (size_t)values[PFC_NORM_ROWS];
    size_t cols = (size_t)values[PFC_NORM_COLS];

    pfc_kernel_plan_add(out, PFC_KERNEL_IN, rows, cols, -1.0F, 3.0F);
    pfc_kernel_plan_add(out, PFC_KERNEL_IN, 1, cols, 0.5F, 1.5F);
    pfc_kernel_plan_add(out, PFC_KERNEL_OUT, rows, cols, 0.0F, 0.0F);
    /* A value: square, add; scale, multiply. */
    out->flops = 4.0 * (double)rows * (double)cols;
    out->bytes = sizeof(float) * (2.0 * (double)rows + 1.0) * (double)cols;
}

#define PFC_VARIANT(op, isa, needs)                                                                \
    static void run_##isa(const int64_t *v, float *const *buf)                                     \
    {                                                                                              \
        pfc_##op##_##isa((size_t)v[PFC_NORM_ROWS], (size_t)v[PFC_NORM_COLS], buf[X], buf[GAMMA],   \
                         PFC_NORM_EPSILON, buf[Y]);                                                \
    }
#include "kernels/cpu/rmsnorm_f32/variants.def"
#undef PFC_VARIANT

#define PFC_VARIANT(op, isa, needs) { "cpu-" #isa, needs, run_##isa },
static const pfc_kernel_impl impls[] = {
#include "kernels/cpu/rmsnorm_f32/variants.def"
};
#undef PFC_VARIANT

static void verify(const int64_t *v, float *const *buf, pfc_kernel_check *check)
{
    size_t cols = (size_t)v[PFC_NORM_COLS];
    double slack = 0.5 * pfc_kernel_sum_tolerance(cols) + 6.0 * 0x1p-24;

    for (size_t i = 0; i < (size_t)v[PFC_NORM_ROWS]; i++) {
        const float *x = buf[X] + i * cols;
        double squares = 0.0;
        double root = 0.0;

        for (size_t j = 0; j < cols; j++)
            squares += (double)x[j] * (double)x[j];
        root = sqrt(squares / (double)cols + (double)PFC_NORM_EPSILON);
        for (size_t j = 0; j < cols; j++) {
            double want = (double)x[j] / root * (double)buf[GAMMA][j];

            pfc_kernel_compare(check, i, j, (double)buf[Y][i * cols + j], want, fabs(want) * slack);
        }
    }
}

const pfc_kernel_op pfc_kernel_op_rmsnorm_f32 = {
    .name = "rmsnorm",
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
