/*
 * e^x, sums, maxima and tails of eight floats; private to the AVX2 files below this folder.
 *
 * pfc_exp8:
 *
 * x in [-inf, 88]: within 2 units in the last place of e^x, 0 below -87.33 (where the result would
 * be subnormal). NaN gives NaN. Above 88 the result is unspecified.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts so that n ln 2 is exact enough; e^r by a
 * polynomial of degree 7 (coefficients: Moshier, Cephes expf); 2^n by its exponent bits.
 */
#ifndef PFC_KERNELS_CPU_VECTOR_AVX2_H
#define PFC_KERNELS_CPU_VECTOR_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define PFC_EXP_LOWEST (-87.33F)

static inline __attribute__((always_inline)) __m256 pfc_exp8(__m256 x)
{
    const __m256 lowest = _mm256_set1_ps(PFC_EXP_LOWEST);
    const __m256 is_zero = _mm256_cmp_ps(x, lowest, _CMP_LT_OQ);
    /* The order of operands keeps a NaN in x. */
    const __m256 safe = _mm256_max_ps(lowest, x);
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(safe, _mm256_set1_ps(0x1.715476p0F)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), safe);
    __m256 q = _mm256_set1_ps(1.9875691500e-4F);
    __m256i bits;

    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(1.3981999507e-3F));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(8.3334519073e-3F));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(4.1665795894e-2F));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(1.6666665459e-1F));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(5.0000001201e-1F));
    q = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(r, r), q, r), _mm256_set1_ps(1.0F));
    bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_andnot_ps(is_zero, _mm256_mul_ps(q, _mm256_castsi256_ps(bits)));
}

/* The first `lanes` (0..8) lanes set. */
static inline __m256i pfc_lanes8(size_t lanes)
{
    static const int32_t source[16] = { -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0 };

    return _mm256_loadu_si256((const __m256i *)(const void *)(source + (8 - lanes)));
}

static inline float pfc_sum8(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

static inline float pfc_max8(__m256 v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}

#endif
