/*
 * Root-mean-square normalisation of each row:
 * y[i][j] = x[i][j] / sqrt(mean_j x[i][j]^2 + epsilon) * gamma[j].
 * Zhang & Sennrich, NeurIPS 2019.
 *
 * x, y      rows x cols, row-major, dense; any alignment of a float; y may be x, else no overlap
 * gamma     cols values
 * epsilon   > 0
 *
 * Error: relative, half pfc_kernel_sum_tolerance(cols) from the sum of squares and 6 u, u = 2^-24.
 */
#ifndef PFC_KERNELS_CPU_RMSNORM_F32_H
#define PFC_KERNELS_CPU_RMSNORM_F32_H

#include <stddef.h>

#define PFC_VARIANT(op, isa, needs)                                                                \
    void pfc_rmsnorm_f32_##isa(size_t rows, size_t cols, const float *x, const float *gamma,       \
                               float epsilon, float *y);
#include "kernels/cpu/rmsnorm_f32/variants.def"
#undef PFC_VARIANT

#endif
