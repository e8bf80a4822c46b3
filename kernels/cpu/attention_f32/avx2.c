/*
 * AVX2: the products by the GEMM's tile, the row of weights here.
 *
 * The bound is the products' FMA; the exponential costs some 5 clocks for 8 scores against 4 dim /
 * 16 clocks (16 for dim 64), so it is kept to one pass over scores that are in L1.
 */
#include <math.h>

#include "kernels/cpu/attention_f32/attention_f32.h"
#include "kernels/cpu/attention_f32/flash.h"
#include "kernels/cpu/vector_avx2.h"

#define LANES 8

static float highest(size_t keys, const float *scores, float start)
{
    __m256 max0 = _mm256_set1_ps(start);
    __m256 max1 = max0;
    float max = start;
    size_t j = 0;

    for (; j + 2 * LANES <= keys; j += 2 * LANES) {
        max0 = _mm256_max_ps(max0, _mm256_loadu_ps(scores + j));
        max1 = _mm256_max_ps(max1, _mm256_loadu_ps(scores + j + LANES));
    }
    max = pfc_max8(_mm256_max_ps(max0, max1));
    for (; j < keys; j++)
        max = scores[j] > max ? scores[j] : max;
    return max;
}

static void rescale(size_t dim, float factor, float *out)
{
    const __m256 by = _mm256_set1_ps(factor);
    size_t p = 0;

    for (; p + LANES <= dim; p += LANES)
        _mm256_storeu_ps(out + p, _mm256_mul_ps(by, _mm256_loadu_ps(out + p)));
    for (; p < dim; p++)
        out[p] *= factor;
}

static void weigh_row(size_t keys, float *scores, float *max, float *sum, size_t dim, float *out)
{
    const float top = highest(keys, scores, *max);
    const __m256 off = _mm256_set1_ps(top);
    __m256 sum0 = _mm256_setzero_ps();
    __m256 sum1 = sum0;
    size_t j = 0;

    if (top > *max && *sum > 0.0F) {
        float factor = _mm256_cvtss_f32(pfc_exp8(_mm256_set1_ps(*max - top)));

        *sum *= factor;
        rescale(dim, factor, out);
    }
    *max = top;

    for (; j + 2 * LANES <= keys; j += 2 * LANES) {
        __m256 e0 = pfc_exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + j), off));
        __m256 e1 = pfc_exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + j + LANES), off));

        _mm256_storeu_ps(scores + j, e0);
        _mm256_storeu_ps(scores + j + LANES, e1);
        sum0 = _mm256_add_ps(sum0, e0);
        sum1 = _mm256_add_ps(sum1, e1);
    }
    for (; j < keys; j += LANES) {
        __m256i mask = pfc_lanes8(keys - j < LANES ? keys - j : LANES);
        __m256 e = pfc_exp8(_mm256_sub_ps(_mm256_maskload_ps(scores + j, mask), off));

        _mm256_maskstore_ps(scores + j, mask, e);
        sum0 = _mm256_add_ps(sum0, _mm256_and_ps(e, _mm256_castsi256_ps(mask)));
    }
    *sum += pfc_sum8(_mm256_add_ps(sum0, sum1));
}

void pfc_attention_f32_avx2(size_t heads, size_t seq, size_t dim, bool causal, const float *q,
                            const float *k, const float *v, float *o, float *work)
{
    const pfc_flash_parts parts = { .gemm = &pfc_gemm_f32_tile_avx2, .row = weigh_row };

    pfc_attention_f32_flash(&parts, heads, seq, dim, causal, q, k, v, o, work);
}
