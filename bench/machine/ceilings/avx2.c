/* The loops of loops.h for AVX2 and FMA. */
#include <immintrin.h>

#include "bench/machine/ceilings/loops.h"

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

/* The way without a dot-product instruction: u8 x s8 to pairs in s16, pairs to s32, add. */
double pfc_int8_avx2(uint64_t iterations)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i y = _mm256_set1_epi8(3);
    __m256i x = _mm256_set1_epi8(2);
    __m256i a[CHAINS];
    volatile int sink;

    for (int k = 0; k < CHAINS; k++)
        a[k] = _mm256_setzero_si256();
    for (uint64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < CHAINS; k++) {
            /* the compiler must assume a new value each time, or it would move the products out of
             * the loop */
            __asm__ volatile("" : "+x"(x));
            a[k] = _mm256_add_epi32(a[k], _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), ones));
        }
    }
    for (int k = 1; k < CHAINS; k++)
        a[0] = _mm256_add_epi32(a[0], a[k]);
    sink = _mm256_extract_epi32(a[0], 0);
    (void)sink;
    return 64.0 * CHAINS * (double)iterations;
}

float pfc_read_avx2(const float *x, size_t len)
{
    __m256 a[8];
    float lanes[8];
    float sum = 0.0F;

    for (int k = 0; k < 8; k++)
        a[k] = _mm256_setzero_ps();
    for (size_t i = 0; i < len; i += 64) {
        for (size_t k = 0; k < 8; k++)
            a[k] = _mm256_add_ps(a[k], _mm256_load_ps(x + i + 8 * k));
    }
    for (int k = 1; k < 8; k++)
        a[0] = _mm256_add_ps(a[0], a[k]);
    _mm256_storeu_ps(lanes, a[0]);
    for (int k = 0; k < 8; k++)
        sum += lanes[k];
    return sum;
}
