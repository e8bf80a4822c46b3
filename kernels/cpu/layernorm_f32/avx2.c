/*
 * AVX2: three passes over a row, of which the last two find it in L1 (or L2 past 8192 columns).
 *
 * The bound is memory for the first pass and the one store a clock of the last; the sums use four
 * accumulators because an addition takes three clocks and two loads a clock come in.
 */
#include <math.h>

#include "kernels/cpu/layernorm_f32/layernorm_f32.h"
#include "kernels/cpu/vector_avx2.h"

#define LANES 8

static float row_sum(size_t cols, const float *x)
{
    __m256 sum[4] = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps() };
    size_t j = 0;

    for (; j + 4 * LANES <= cols; j += 4 * LANES) {
        for (size_t v = 0; v < 4; v++)
            sum[v] = _mm256_add_ps(sum[v], _mm256_loadu_ps(x + j + LANES * v));
    }
    for (; j < cols; j += LANES) {
        __m256i mask = pfc_lanes8(cols - j < LANES ? cols - j : LANES);

        sum[0] = _mm256_add_ps(sum[0], _mm256_maskload_ps(x + j, mask));
    }
    return pfc_sum8(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
}

static float row_squares(size_t cols, const float *x, float mean)
{
    const __m256 off = _mm256_set1_ps(mean);
    __m256 sum[4] = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps() };
    size_t j = 0;

    for (; j + 4 * LANES <= cols; j += 4 * LANES) {
        for (size_t v = 0; v < 4; v++) {
            __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x + j + LANES * v), off);

            sum[v] = _mm256_fmadd_ps(d, d, sum[v]);
        }
    }
    for (; j < cols; j += LANES) {
        __m256i mask = pfc_lanes8(cols - j < LANES ? cols - j : LANES);
        __m256 d = _mm256_and_ps(_mm256_sub_ps(_mm256_maskload_ps(x + j, mask), off),
                                 _mm256_castsi256_ps(mask));

        sum[0] = _mm256_fmadd_ps(d, d, sum[0]);
    }
    return pfc_sum8(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
}

static void row_write(size_t cols, const float *x, const float *gamma, const float *beta,
                      float mean, float factor, float *y)
{
    const __m256 off = _mm256_set1_ps(mean);
    const __m256 by = _mm256_set1_ps(factor);
    size_t j = 0;

    for (; j + LANES <= cols; j += LANES) {
        __m256 hat = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + j), off), by);

        _mm256_storeu_ps(
            y + j, _mm256_fmadd_ps(hat, _mm256_loadu_ps(gamma + j), _mm256_loadu_ps(beta + j)));
    }
    if (j < cols) {
        __m256i mask = pfc_lanes8(cols - j);
        __m256 hat = _mm256_mul_ps(_mm256_sub_ps(_mm256_maskload_ps(x + j, mask), off), by);

        _mm256_maskstore_ps(y + j, mask,
                            _mm256_fmadd_ps(hat, _mm256_maskload_ps(gamma + j, mask),
                                            _mm256_maskload_ps(beta + j, mask)));
    }
}

void pfc_layernorm_f32_avx2(size_t rows, size_t cols, const float *x, const float *gamma,
                            const float *beta, float epsilon, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        float mean = row_sum(cols, x) / (float)cols;
        float variance = row_squares(cols, x, mean) / (float)cols;

        row_write(cols, x, gamma, beta, mean, 1.0F / sqrtf(variance + epsilon), y);
    }
}
