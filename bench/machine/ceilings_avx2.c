/* The loops of ceilings.h for AVX2 and FMA. */
#include <immintrin.h>

#include "bench/machine/ceilings.h"

/* Ten chains: two FMA a cycle with a latency of four to five. */
#define CHAINS 10

double pfc_fma_avx2(uint64_t iterations)
{
    const __m256 m = _mm256_set1_ps(0.9999F);
    const __m256 c = _mm256_set1_ps(0.0001F);
    __m256 a[CHAINS];
    volatile float sink;

    for (int k = 0; k < CHAINS; k++)
        a[k] = _mm256_set1_ps(0.5F + 0.01F * (float)k);
    for (uint64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < CHAINS; k++)
            a[k] = _mm256_fmadd_ps(a[k], m, c);
    }
    for (int k = 1; k < CHAINS; k++)
        a[0] = _mm256_add_ps(a[0], a[k]);
    sink = _mm256_cvtss_f32(a[0]);
    (void)sink;
    return 16.0 * CHAINS * (double)iterations;
}

float pfc_read_avx2(const float *x, size_t len)
{
    __m256 a[8];

    for (int k = 0; k < 8; k++)
        a[k] = _mm256_setzero_ps();
    for (size_t i = 0; i < len; i += 64) {
        for (size_t k = 0; k < 8; k++)
            a[k] = _mm256_add_ps(a[k], _mm256_load_ps(x + i + 8 * k));
    }
    for (int k = 1; k < 8; k++)
        a[0] = _mm256_add_ps(a[0], a[k]);
    return _mm256_cvtss_f32(a[0]);
}
