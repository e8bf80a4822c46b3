/*
 * Softmax of each row: y[i][j] = e^(x[i][j] - max_i) / sum_j e^(x[i][j] - max_i).
 *
 * x, y    rows x cols, row-major, dense; any alignment of a float; y may be x, else no overlap
 *
 * The maximum is taken off first, so that nothing overflows. A row with +inf or NaN, or of nothing
 * but -inf, gives NaN. Terms below e^-87.33 count as 0.
 *
 * Error: relative, (6 + |x - max|) u from the exponential and its argument, u = 2^-24, plus
 * pfc_kernel_sum_tolerance(cols) from the sum.
 */
#ifndef PFC_KERNELS_CPU_SOFTMAX_F32_H
#define PFC_KERNELS_CPU_SOFTMAX_F32_H

#include <stddef.h>

/* The second function: y[i] = e^x[i] as the variant computes it, for -inf <= x <= 88, within 2
   units in the last place (0 below -87.33 for all but the scalar one). */
#define PFC_VARIANT(op, isa, needs)                                                                \
    void pfc_softmax_f32_##isa(size_t rows, size_t cols, const float *x, float *y);                \
    void pfc_softmax_f32_exp_##isa(size_t len, const float *x, float *y);
#include "kernels/cpu/softmax_f32/variants.def"
#undef PFC_VARIANT

#endif
