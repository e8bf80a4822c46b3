/* The loops of loops.h for the dot products of AVX-512: VDPBF16PS and VPDPBUSD. */
#include <immintrin.h>

#include "bench/machine/ceilings/loops.h"

/* Two a cycle with a latency of up to six would want twelve chains; some more forgive the
 * scheduler. */
#define CHAINS 16

double pfc_bf16_avx512(uint64_t iterations)
{
    const __m512bh x = (__m512bh)_mm512_set1_epi16(0x3f80); /* 1.0 */
    const __m512bh y = (__m512bh)_mm512_set1_epi16(0x3c00); /* 2^-7: the sums stay in range */
    __m512 a[CHAINS];
    volatile float sink;

    for (int k = 0; k < CHAINS; k++)
        a[k] = _mm512_setzero_ps();
    for (uint64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < CHAINS; k++)
            a[k] = _mm512_dpbf16_ps(a[k], x, y);
    }
    for (int k = 1; k < CHAINS; k++)
        a[0] = _mm512_add_ps(a[0], a[k]);
    sink = _mm512_cvtss_f32(a[0]);
    (void)sink;
    return 64.0 * CHAINS * (double)iterations;
}

double pfc_int8_avx512(uint64_t iterations)
{
    const __m512i x = _mm512_set1_epi8(2);
    const __m512i y = _mm512_set1_epi8(3);
    __m512i a[CHAINS];
    volatile int sink;

    for (int k = 0; k < CHAINS; k++)
        a[k] = _mm512_setzero_si512();
    for (uint64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < CHAINS; k++)
            a[k] = _mm512_dpbusd_epi32(a[k], x, y);
    }
    for (int k = 1; k < CHAINS; k++)
        a[0] = _mm512_add_epi32(a[0], a[k]);
    sink = _mm_cvtsi128_si32(_mm512_castsi512_si128(a[0]));
    (void)sink;
    return 128.0 * CHAINS * (double)iterations;
}
