/* The reference: the three loops of the definition. Rows of B innermost, so that it is not absurd.
 */
#include "kernels/cpu/gemm_f32/gemm_f32.h"

void pfc_gemm_f32_scalar(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                         const float *b, size_t ldb, float beta, float *c, size_t ldc, float *work)
{
    (void)work;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] = beta == 0.0F ? 0.0F : beta * c[i * ldc + j];
        for (size_t p = 0; p < k; p++) {
            float scaled = alpha * a[i * lda + p];

            for (size_t j = 0; j < n; j++)
                c[i * ldc + j] += scaled * b[p * ldb + j];
        }
    }
}
