/*
 * AVX2: maximum, exponential with sum, scaling: three passes over a row that stays in L1.
 *
 * The bound is the exponential: about 16 operations for 8 floats on four vector ports, of which two
 * take FMA, so some 5 clocks; four vectors a step hide its latency of about 40.
 */
#include <math.h>

#include "kernels/cpu/softmax_f32/softmax_f32.h"
#include "kernels/cpu/vector_avx2.h"

#define LANES 8

static float row_max(size_t cols, const float *x)
{
    const __m256 lowest = _mm256_set1_ps(-INFINITY);
    __m256 max[4] = { lowest, lowest, lowest, lowest };
    size_t j = 0;

    for (; j + 4 * LANES <= cols; j += 4 * LANES) {
        for (size_t v = 0; v < 4; v++)
            max[v] = _mm256_max_ps(max[v], _mm256_loadu_ps(x + j + LANES * v));
    }
    for (; j + LANES <= cols; j += LANES)
        max[0] = _mm256_max_ps(max[0], _mm256_loadu_ps(x + j));
    if (j < cols) {
        __m256i mask = pfc_lanes8(cols - j);
        __m256 last = _mm256_maskload_ps(x + j, mask);

        max[1] = _mm256_max_ps(max[1], _mm256_blendv_ps(lowest, last, _mm256_castsi256_ps(mask)));
    }
    return pfc_max8(_mm256_max_ps(_mm256_max_ps(max[0], max[1]), _mm256_max_ps(max[2], max[3])));
}

/* y = e^(x - shift); returns the sum. */
static float row_exp(size_t cols, const float *x, float shift, float *y)
{
    const __m256 off = _mm256_set1_ps(shift);
    __m256 sum[4] = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps() };
    size_t j = 0;

    for (; j + 4 * LANES <= cols; j += 4 * LANES) {
        for (size_t v = 0; v < 4; v++) {
            __m256 e = pfc_exp8(_mm256_sub_ps(_mm256_loadu_ps(x + j + LANES * v), off));

            _mm256_storeu_ps(y + j + LANES * v, e);
            sum[v] = _mm256_add_ps(sum[v], e);
        }
    }
    for (; j < cols; j += LANES) {
        __m256i mask = pfc_lanes8(cols - j < LANES ? cols - j : LANES);
        __m256 e = pfc_exp8(_mm256_sub_ps(_mm256_maskload_ps(x + j, mask), off));

        _mm256_maskstore_ps(y + j, mask, e);
        sum[0] = _mm256_add_ps(sum[0], _mm256_and_ps(e, _mm256_castsi256_ps(mask)));
    }
    return pfc_sum8(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
}

static void row_scale(size_t cols, float factor, float *y)
{
    const __m256 by = _mm256_set1_ps(factor);
    size_t j = 0;

    for (; j + LANES <= cols; j += LANES)
        _mm256_storeu_ps(y + j, _mm256_mul_ps(by, _mm256_loadu_ps(y + j)));
    if (j < cols) {
        __m256i mask = pfc_lanes8(cols - j);

        _mm256_maskstore_ps(y + j, mask, _mm256_mul_ps(by, _mm256_maskload_ps(y + j, mask)));
    }
}

void pfc_softmax_f32_exp_avx2(size_t len, const float *x, float *y)
{
    (void)row_exp(len, x, 0.0F, y);
}

void pfc_softmax_f32_avx2(size_t rows, size_t cols, const float *x, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        float sum = row_exp(cols, x, row_max(cols, x), y);

        row_scale(cols, 1.0F / sum, y);
    }
}
