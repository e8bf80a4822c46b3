/*
 * AVX-512: the products by the GEMM's tile, the row of weights here.
 *
 * The bound is the products' FMA; the exponential costs some 8 clocks for 16 scores against
 * 4 dim / 32 clocks a score's products (8 for dim 64), so it is kept to one pass over scores in L1.
 */
#include <math.h>

#include "kernels/cpu/attention_f32/attention_f32.h"
#include "kernels/cpu/attention_f32/flash.h"
#include "kernels/cpu/vector_avx512.h"

#define LANES 16

static float highest(size_t keys, const float *scores, float start)
{
    const __m512 lowest = _mm512_set1_ps(start);
    __m512 max0 = lowest;
    __m512 max1 = lowest;
    size_t j = 0;

    for (; j + 2 * LANES <= keys; j += 2 * LANES) {
        max0 = _mm512_max_ps(max0, _mm512_loadu_ps(scores + j));
        max1 = _mm512_max_ps(max1, _mm512_loadu_ps(scores + j + LANES));
    }
    for (; j < keys; j += LANES)
        max0 = _mm512_max_ps(max0, _mm512_mask_loadu_ps(lowest, pfc_lanes16(keys - j), scores + j));
    return _mm512_reduce_max_ps(_mm512_max_ps(max0, max1));
}

static void rescale(size_t dim, float factor, float *out)
{
    const __m512 by = _mm512_set1_ps(factor);

    for (size_t p = 0; p < dim; p += LANES) {
        const __mmask16 mask = pfc_lanes16(dim - p);

        _mm512_mask_storeu_ps(out + p, mask,
                              _mm512_mul_ps(by, _mm512_maskz_loadu_ps(mask, out + p)));
    }
}

static void weigh_row(size_t keys, float *scores, float *max, float *sum, size_t dim, float *out)
{
    const float top = highest(keys, scores, *max);
    const __m512 off = _mm512_set1_ps(top);
    __m512 sum0 = _mm512_setzero_ps();
    __m512 sum1 = sum0;
    size_t j = 0;

    if (top > *max && *sum > 0.0F) {
        const float factor = _mm512_cvtss_f32(pfc_exp16(_mm512_set1_ps(*max - top)));

        *sum *= factor;
        rescale(dim, factor, out);
    }
    *max = top;

    for (; j + 2 * LANES <= keys; j += 2 * LANES) {
        const __m512 e0 = pfc_exp16(_mm512_sub_ps(_mm512_loadu_ps(scores + j), off));
        const __m512 e1 = pfc_exp16(_mm512_sub_ps(_mm512_loadu_ps(scores + j + LANES), off));

        _mm512_storeu_ps(scores + j, e0);
        _mm512_storeu_ps(scores + j + LANES, e1);
        sum0 = _mm512_add_ps(sum0, e0);
        sum1 = _mm512_add_ps(sum1, e1);
    }
    for (; j < keys; j += LANES) {
        const __mmask16 mask = pfc_lanes16(keys - j);
        const __m512 e = pfc_exp16(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, scores + j), off));

        _mm512_mask_storeu_ps(scores + j, mask, e);
        sum0 = _mm512_mask_add_ps(sum0, mask, sum0, e);
    }
    *sum += _mm512_reduce_add_ps(_mm512_add_ps(sum0, sum1));
}

void pfc_attention_f32_avx512(size_t heads, size_t seq, size_t dim, bool causal, const float *q,
                              const float *k, const float *v, float *o, float *work)
{
    const pfc_flash_parts parts = { .gemm = &pfc_gemm_f32_tile_avx512, .row = weigh_row };

    pfc_attention_f32_flash(&parts, heads, seq, dim, causal, q, k, v, o, work);
}
