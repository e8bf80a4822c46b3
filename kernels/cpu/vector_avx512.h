/*
 * e^x and sums of sixteen floats; private to the AVX-512 files below this folder.
 *
 * pfc_exp16: as pfc_exp8 (vector_avx2.h), by the same polynomial: x in [-inf, 88], within 2 units
 * in the last place, 0 below -87.33, NaN gives NaN. 2^n by one instruction instead of three.
 */
#ifndef PFC_KERNELS_CPU_VECTOR_AVX512_H
#define PFC_KERNELS_CPU_VECTOR_AVX512_H

#include <immintrin.h>
#include <stddef.h>

static inline __attribute__((always_inline)) __m512 pfc_exp16(__m512 x)
{
    const __m512 lowest = _mm512_set1_ps(-87.33F);
    const __mmask16 kept = _mm512_cmp_ps_mask(x, lowest, _CMP_NLT_UQ);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(0x1.715476p0F)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
    __m512 q = _mm512_set1_ps(1.9875691500e-4F);

    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(1.3981999507e-3F));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(8.3334519073e-3F));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(4.1665795894e-2F));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(1.6666665459e-1F));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(5.0000001201e-1F));
    q = _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r), _mm512_set1_ps(1.0F));
    return _mm512_maskz_scalef_ps(kept, q, n);
}

/* The first `lanes` lanes, 16 when there are more. */
static inline __mmask16 pfc_lanes16(size_t lanes)
{
    return (__mmask16)(lanes < 16 ? (1u << lanes) - 1u : 0xffffu);
}

#endif
