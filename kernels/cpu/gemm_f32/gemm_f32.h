/*
 * C = alpha A B + beta C in single precision.
 *
 * Shapes: A is m x k, B is k x n, C is m x n, all row-major; lda >= k, ldb >= n, ldc >= n are the
 * distances between rows in floats. Any size may be 0: with m or n 0 nothing happens, with k 0 (or
 * alpha 0) C becomes beta C. With beta 0 the old C is not read, so it may hold NaN. Any alignment
 * of a float; C overlaps neither A nor B nor the workspace. Columns n..ldc-1 of C are not touched.
 *
 * Error: each element is within pfc_kernel_sum_tolerance(k) * sum |a||b| of the exact product.
 * Variants differ in the order of summation, so their results differ in the last bits.
 */
#ifndef PFC_KERNELS_CPU_GEMM_F32_H
#define PFC_KERNELS_CPU_GEMM_F32_H

#include <stddef.h>

/** Floats of workspace that every variant is content with for this size; 64-byte aligned. */
size_t pfc_gemm_f32_work_len(size_t m, size_t n, size_t k);

#define PFC_VARIANT(op, isa, needs)                                                                \
    void pfc_gemm_f32_##isa(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda, \
                            const float *b, size_t ldb, float beta, float *c, size_t ldc,          \
                            float *work);
#include "kernels/cpu/gemm_f32/variants.def"
#undef PFC_VARIANT

#endif
