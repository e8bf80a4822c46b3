/* The loops of loops.h for AVX-512. */
#include <immintrin.h>

#include "bench/machine/ceilings/loops.h"

#define CHAINS 10

double pfc_fma_avx512(uint64_t iterations)
{
    const __m512 m = _mm512_set1_ps(0.9999F);
    const __m512 c = _mm512_set1_ps(0.0001F);
    __m512 a[CHAINS];
    volatile float sink;

    for (int k = 0; k < CHAINS; k++)
        a[k] = _mm512_set1_ps(0.5F + 0.01F * (float)k);
    for (uint64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < CHAINS; k++)
            a[k] = _mm512_fmadd_ps(a[k], m, c);
    }
    for (int k = 1; k < CHAINS; k++)
        a[0] = _mm512_add_ps(a[0], a[k]);
    sink = _mm512_cvtss_f32(a[0]);
    (void)sink;
    return 32.0 * CHAINS * (double)iterations;
}

float pfc_read_avx512(const float *x, size_t len)
{
    __m512 a[8];

    for (int k = 0; k < 8; k++)
        a[k] = _mm512_setzero_ps();
    for (size_t i = 0; i < len; i += 128) {
        for (size_t k = 0; k < 8; k++)
            a[k] = _mm512_add_ps(a[k], _mm512_load_ps(x + i + 16 * k));
    }
    for (int k = 1; k < 8; k++)
        a[0] = _mm512_add_ps(a[0], a[k]);
    return _mm512_reduce_add_ps(a[0]);
}
