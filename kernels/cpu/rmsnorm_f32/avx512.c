/*
 * AVX-512: a pass for the sum of squares, a pass that writes and finds the row in L1. Eight
 * accumulators: FMA takes four clocks and there are two ports.
 */
#include <math.h>

#include "kernels/cpu/rmsnorm_f32/rmsnorm_f32.h"
#include "kernels/cpu/vector_avx512.h"

#define LANES 16
#define SUMS  8

static float row_squares(size_t cols, const float *x)
{
    __m512 sum[SUMS];
    size_t j = 0;

    for (size_t v = 0; v < SUMS; v++)
        sum[v] = _mm512_setzero_ps();
    for (; j + SUMS * LANES <= cols; j += SUMS * LANES) {
        for (size_t v = 0; v < SUMS; v++) {
            const __m512 value = _mm512_loadu_ps(x + j + LANES * v);

            sum[v] = _mm512_fmadd_ps(value, value, sum[v]);
        }
    }
    for (size_t v = 0; j < cols; j += LANES, v = (v + 1) % SUMS) {
        const __m512 value = _mm512_maskz_loadu_ps(pfc_lanes16(cols - j), x + j);

        sum[v] = _mm512_fmadd_ps(value, value, sum[v]);
    }
    for (size_t half = SUMS / 2; half > 0; half /= 2) {
        for (size_t v = 0; v < half; v++)
            sum[v] = _mm512_add_ps(sum[v], sum[v + half]);
    }
    return _mm512_reduce_add_ps(sum[0]);
}

void pfc_rmsnorm_f32_avx512(size_t rows, size_t cols, const float *x, const float *gamma,
                            float epsilon, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        const __m512 by =
            _mm512_set1_ps(1.0F / sqrtf(row_squares(cols, x) / (float)cols + epsilon));

        for (size_t j = 0; j < cols; j += LANES) {
            const __mmask16 mask = pfc_lanes16(cols - j);
            const __m512 hat = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + j), by);

            _mm512_mask_storeu_ps(y + j, mask,
                                  _mm512_mul_ps(hat, _mm512_maskz_loadu_ps(mask, gamma + j)));
        }
    }
}
