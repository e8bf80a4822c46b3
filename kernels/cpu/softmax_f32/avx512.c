/*
 * AVX-512: maximum, exponential with sum, scaling, as the AVX2 variant; masks make the last columns
 * part of the loop.
 *
 * The bound is the exponential: some 15 operations for 16 floats on two ports, 8 clocks; four
 * vectors a step hide its latency.
 */
#include <math.h>

#include "kernels/cpu/softmax_f32/softmax_f32.h"
#include "kernels/cpu/vector_avx512.h"

#define LANES 16
#define STEP  (4 * LANES)

static float row_max(size_t cols, const float *x)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    __m512 max[4] = { lowest, lowest, lowest, lowest };
    size_t j = 0;

    for (; j + STEP <= cols; j += STEP) {
        for (size_t v = 0; v < 4; v++)
            max[v] = _mm512_max_ps(max[v], _mm512_loadu_ps(x + j + LANES * v));
    }
    for (; j < cols; j += LANES)
        max[0] = _mm512_max_ps(max[0], _mm512_mask_loadu_ps(lowest, pfc_lanes16(cols - j), x + j));
    return _mm512_reduce_max_ps(
        _mm512_max_ps(_mm512_max_ps(max[0], max[1]), _mm512_max_ps(max[2], max[3])));
}

/* y = e^(x - shift); returns the sum. */
static float row_exp(size_t cols, const float *x, float shift, float *y)
{
    const __m512 off = _mm512_set1_ps(shift);
    __m512 sum[4] = { _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                      _mm512_setzero_ps() };
    size_t j = 0;

    for (; j + STEP <= cols; j += STEP) {
        for (size_t v = 0; v < 4; v++) {
            const __m512 e = pfc_exp16(_mm512_sub_ps(_mm512_loadu_ps(x + j + LANES * v), off));

            _mm512_storeu_ps(y + j + LANES * v, e);
            sum[v] = _mm512_add_ps(sum[v], e);
        }
    }
    for (; j < cols; j += LANES) {
        const __mmask16 mask = pfc_lanes16(cols - j);
        const __m512 e = pfc_exp16(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + j), off));

        _mm512_mask_storeu_ps(y + j, mask, e);
        sum[0] = _mm512_mask_add_ps(sum[0], mask, sum[0], e);
    }
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
}

void pfc_softmax_f32_exp_avx512(size_t len, const float *x, float *y)
{
    (void)row_exp(len, x, 0.0F, y);
}

void pfc_softmax_f32_avx512(size_t rows, size_t cols, const float *x, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        const __m512 by = _mm512_set1_ps(1.0F / row_exp(cols, x, row_max(cols, x), y));

        for (size_t j = 0; j < cols; j += LANES) {
            const __mmask16 mask = pfc_lanes16(cols - j);

            _mm512_mask_storeu_ps(y + j, mask,
                                  _mm512_mul_ps(by, _mm512_maskz_loadu_ps(mask, y + j)));
        }
    }
}
