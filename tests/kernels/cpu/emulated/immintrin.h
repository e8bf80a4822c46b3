/*
 * The AVX-512 instructions that kernels/cpu uses, lane by lane in plain C.
 *
 * Most build machines cannot execute the AVX-512 files, so their tests would be skipped there. The
 * test programs compile these files a second time with this header found in place of the
 * compiler's. Lanes that an instruction leaves unchanged under its mask stay unchanged here. A
 * fused product and sum is rounded from double, which differs from one rounding by less than 2^-50
 * of the sum.
 */
#ifndef PFC_TESTS_KERNELS_CPU_EMULATED_IMMINTRIN_H
#define PFC_TESTS_KERNELS_CPU_EMULATED_IMMINTRIN_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <xmmintrin.h>

#define _MM_FROUND_TO_NEAREST_INT 0
#define _MM_FROUND_NO_EXC         8
#define _CMP_NLT_UQ               5

#define PFC_EMULATED static inline __attribute__((always_inline, unused))
#define PFC_LANES    for (int l = 0; l < 16; l++)

typedef float __m512 __attribute__((vector_size(64)));
typedef uint16_t __mmask16;

PFC_EMULATED __m512 _mm512_set1_ps(float x)
{
    __m512 out;

    PFC_LANES out[l] = x;
    return out;
}

PFC_EMULATED __m512 _mm512_setzero_ps(void)
{
    return _mm512_set1_ps(0.0F);
}

PFC_EMULATED float _mm512_cvtss_f32(__m512 x)
{
    return x[0];
}

PFC_EMULATED __m512 _mm512_loadu_ps(const float *from)
{
    __m512 out;

    memcpy(&out, from, sizeof out);
    return out;
}

PFC_EMULATED __m512 _mm512_mask_loadu_ps(__m512 other, __mmask16 mask, const float *from)
{
    PFC_LANES other[l] = mask >> l & 1 ? from[l] : other[l];
    return other;
}

PFC_EMULATED __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const float *from)
{
    return _mm512_mask_loadu_ps(_mm512_setzero_ps(), mask, from);
}

PFC_EMULATED void _mm512_storeu_ps(float *to, __m512 x)
{
    memcpy(to, &x, sizeof x);
}

PFC_EMULATED void _mm512_mask_storeu_ps(float *to, __mmask16 mask, __m512 x)
{
    PFC_LANES if (mask >> l & 1) to[l] = x[l];
}

PFC_EMULATED __m512 _mm512_add_ps(__m512 a, __m512 b)
{
    return a + b;
}

PFC_EMULATED __m512 _mm512_mask_add_ps(__m512 other, __mmask16 mask, __m512 a, __m512 b)
{
    PFC_LANES other[l] = mask >> l & 1 ? a[l] + b[l] : other[l];
    return other;
}

PFC_EMULATED __m512 _mm512_sub_ps(__m512 a, __m512 b)
{
    return a - b;
}

PFC_EMULATED __m512 _mm512_maskz_sub_ps(__mmask16 mask, __m512 a, __m512 b)
{
    PFC_LANES a[l] = mask >> l & 1 ? a[l] - b[l] : 0.0F;
    return a;
}

PFC_EMULATED __m512 _mm512_mul_ps(__m512 a, __m512 b)
{
    return a * b;
}

PFC_EMULATED __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c)
{
    PFC_LANES c[l] = (float)((double)a[l] * (double)b[l] + (double)c[l]);
    return c;
}

PFC_EMULATED __m512 _mm512_fnmadd_ps(__m512 a, __m512 b, __m512 c)
{
    return _mm512_fmadd_ps(-a, b, c);
}

/* The second operand when either is not a number. */
PFC_EMULATED __m512 _mm512_max_ps(__m512 a, __m512 b)
{
    PFC_LANES b[l] = a[l] > b[l] ? a[l] : b[l];
    return b;
}

PFC_EMULATED float _mm512_reduce_add_ps(__m512 x)
{
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            x[l] += x[l + half];
    return x[0];
}

PFC_EMULATED float _mm512_reduce_max_ps(__m512 x)
{
    PFC_LANES x[0] = x[l] > x[0] ? x[l] : x[0];
    return x[0];
}

/* The one comparison in use: not less, true for what is not a number. */
PFC_EMULATED __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int how)
{
    unsigned mask = 0;

    (void)how;
    PFC_LANES mask |= (unsigned)!(a[l] < b[l]) << l;
    return (__mmask16)mask;
}

/* The one rounding in use: to the nearest integer. */
PFC_EMULATED __m512 _mm512_roundscale_ps(__m512 x, int how)
{
    (void)how;
    PFC_LANES x[l] = nearbyintf(x[l]);
    return x;
}

PFC_EMULATED __m512 _mm512_maskz_scalef_ps(__mmask16 mask, __m512 x, __m512 exponent)
{
    PFC_LANES
    {
        if (!(mask >> l & 1))
            x[l] = 0.0F;
        else if (isnan(exponent[l]))
            x[l] = NAN;
        else
            x[l] = ldexpf(x[l], (int)floorf(exponent[l]));
    }
    return x;
}

#endif
