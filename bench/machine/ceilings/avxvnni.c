/* The loop of loops.h for VPDPBUSD of 256 bits on CPUs that have it without AVX-512. */
#include <immintrin.h>

#include "bench/machine/ceilings/loops.h"

#define CHAINS 12

double pfc_int8_avxvnni(uint64_t iterations)
{
    const __m256i x = _mm256_set1_epi8(2);
    const __m256i y = _mm256_set1_epi8(3);
    __m256i a[CHAINS];
    volatile int sink;

    for (int k = 0; k < CHAINS; k++)
        a[k] = _mm256_setzero_si256();
    for (uint64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < CHAINS; k++)
            a[k] = _mm256_dpbusd_avx_epi32(a[k], x, y);
    }
    for (int k = 1; k < CHAINS; k++)
        a[0] = _mm256_add_epi32(a[0], a[k]);
    sink = _mm256_extract_epi32(a[0], 0);
    (void)sink;
    return 64.0 * CHAINS * (double)iterations;
}
