/*
 * AVX2: a pass for the sum of squares, a pass that writes and finds the row in L1. Eight
 * accumulators: FMA takes four clocks and there are two ports.
 */
#include <math.h>

#include "kernels/cpu/rmsnorm_f32/rmsnorm_f32.h"
#include "kernels/cpu/vector_avx2.h"

#define LANES 8
#define SUMS  8

static float row_squares(size_t cols, const float *x)
{
    __m256 sum[SUMS];
    size_t j = 0;

    for (size_t v = 0; v < SUMS; v++)
        sum[v] = _mm256_setzero_ps();
    for (; j + SUMS * LANES <= cols; j += SUMS * LANES) {
        for (size_t v = 0; v < SUMS; v++) {
            __m256 value = _mm256_loadu_ps(x + j + LANES * v);

            sum[v] = _mm256_fmadd_ps(value, value, sum[v]);
        }
    }
    for (; j < cols; j += LANES) {
        __m256i mask = pfc_lanes8(cols - j < LANES ? cols - j : LANES);
        __m256 value = _mm256_maskload_ps(x + j, mask);

        sum[0] = _mm256_fmadd_ps(value, value, sum[0]);
    }
    for (size_t half = SUMS / 2; half > 0; half /= 2) {
        for (size_t v = 0; v < half; v++)
            sum[v] = _mm256_add_ps(sum[v], sum[v + half]);
    }
    return pfc_sum8(sum[0]);
}

static void row_write(size_t cols, const float *x, const float *gamma, float factor, float *y)
{
    const __m256 by = _mm256_set1_ps(factor);
    size_t j = 0;

    for (; j + LANES <= cols; j += LANES)
        _mm256_storeu_ps(y + j, _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + j), by),
                                              _mm256_loadu_ps(gamma + j)));
    if (j < cols) {
        __m256i mask = pfc_lanes8(cols - j);

        _mm256_maskstore_ps(y + j, mask,
                            _mm256_mul_ps(_mm256_mul_ps(_mm256_maskload_ps(x + j, mask), by),
                                          _mm256_maskload_ps(gamma + j, mask)));
    }
}

void pfc_rmsnorm_f32_avx2(size_t rows, size_t cols, const float *x, const float *gamma,
                          float epsilon, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols)
        row_write(cols, x, gamma, 1.0F / sqrtf(row_squares(cols, x) / (float)cols + epsilon), y);
}
