/*
 * Layer normalisation of each row:
 * y[i][j] = (x[i][j] - mean_i) / sqrt(var_i + epsilon) * gamma[j] + beta[j],
 * var_i the mean of squared deviations. Ba, Kiros & Hinton, arXiv 1607.06450, 2016.
 *
 * x, y          rows x cols, row-major, dense; any alignment of a float; y may be x, else they do
 *               not overlap
 * gamma, beta   cols values each
 * epsilon       > 0
 *
 * Two passes, the mean first: sums of squares lose everything when the mean is large.
 * Error: the mean is a sum of cols terms, so its error is pfc_kernel_sum_tolerance(cols) times the
 * mean of |x|, which the division by the deviation magnifies; see verify() in op.c.
 */
#ifndef PFC_KERNELS_CPU_LAYERNORM_F32_H
#define PFC_KERNELS_CPU_LAYERNORM_F32_H

#include <stddef.h>

#define PFC_VARIANT(op, isa, needs)                                                                \
    void pfc_layernorm_f32_##isa(size_t rows, size_t cols, const float *x, const float *gamma,     \
                                 const float *beta, float epsilon, float *y);
#include "kernels/cpu/layernorm_f32/variants.def"
#undef PFC_VARIANT

#endif
