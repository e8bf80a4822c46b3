/* The AVX-512 variants as compiled with the instructions emulated; on x86-64 only. */
#ifndef PFC_TESTS_KERNELS_CPU_EMULATED_EMULATED_H
#define PFC_TESTS_KERNELS_CPU_EMULATED_EMULATED_H

#include <stdbool.h>
#include <stddef.h>

void pfc_gemm_f32_emulated(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                           const float *b, size_t ldb, float beta, float *c, size_t ldc,
                           float *work);
void pfc_attention_f32_emulated(size_t heads, size_t seq, size_t dim, bool causal, const float *q,
                                const float *k, const float *v, float *o, float *work);
void pfc_layernorm_f32_emulated(size_t rows, size_t cols, const float *x, const float *gamma,
                                const float *beta, float epsilon, float *y);
void pfc_rmsnorm_f32_emulated(size_t rows, size_t cols, const float *x, const float *gamma,
                              float epsilon, float *y);
void pfc_softmax_f32_emulated(size_t rows, size_t cols, const float *x, float *y);
void pfc_softmax_f32_exp_emulated(size_t len, const float *x, float *y);

#endif
