/*
 * AVX-512: three passes over a row, of which the last two find it in L1 (or L2 past 8192 columns).
 *
 * The bound is memory for the first pass and the one store a clock of the last; the sums use four
 * accumulators because an addition takes four clocks and two loads a clock come in.
 */
#include <math.h>

#include "kernels/cpu/layernorm_f32/layernorm_f32.h"
#include "kernels/cpu/vector_avx512.h"

#define LANES 16
#define SUMS  8

static float total(__m512 sum[SUMS])
{
    for (size_t half = SUMS / 2; half > 0; half /= 2) {
        for (size_t v = 0; v < half; v++)
            sum[v] = _mm512_add_ps(sum[v], sum[v + half]);
    }
    return _mm512_reduce_add_ps(sum[0]);
}

static float row_sum(size_t cols, const float *x)
{
    __m512 sum[SUMS];
    size_t j = 0;

    for (size_t v = 0; v < SUMS; v++)
        sum[v] = _mm512_setzero_ps();
    for (; j + SUMS * LANES <= cols; j += SUMS * LANES) {
        for (size_t v = 0; v < SUMS; v++)
            sum[v] = _mm512_add_ps(sum[v], _mm512_loadu_ps(x + j + LANES * v));
    }
    for (size_t v = 0; j < cols; j += LANES, v = (v + 1) % SUMS)
        sum[v] = _mm512_add_ps(sum[v], _mm512_maskz_loadu_ps(pfc_lanes16(cols - j), x + j));
    return total(sum);
}

static float row_squares(size_t cols, const float *x, float mean)
{
    const __m512 off = _mm512_set1_ps(mean);
    __m512 sum[SUMS];
    size_t j = 0;

    for (size_t v = 0; v < SUMS; v++)
        sum[v] = _mm512_setzero_ps();
    for (; j + SUMS * LANES <= cols; j += SUMS * LANES) {
        for (size_t v = 0; v < SUMS; v++) {
            const __m512 d = _mm512_sub_ps(_mm512_loadu_ps(x + j + LANES * v), off);

            sum[v] = _mm512_fmadd_ps(d, d, sum[v]);
        }
    }
    for (size_t v = 0; j < cols; j += LANES, v = (v + 1) % SUMS) {
        const __mmask16 mask = pfc_lanes16(cols - j);
        const __m512 d = _mm512_maskz_sub_ps(mask, _mm512_maskz_loadu_ps(mask, x + j), off);

        sum[v] = _mm512_fmadd_ps(d, d, sum[v]);
    }
    return total(sum);
}

void pfc_layernorm_f32_avx512(size_t rows, size_t cols, const float *x, const float *gamma,
                              const float *beta, float epsilon, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        const float mean = row_sum(cols, x) / (float)cols;
        const float variance = row_squares(cols, x, mean) / (float)cols;
        const __m512 off = _mm512_set1_ps(mean);
        const __m512 by = _mm512_set1_ps(1.0F / sqrtf(variance + epsilon));

        for (size_t j = 0; j < cols; j += LANES) {
            const __mmask16 mask = pfc_lanes16(cols - j);
            const __m512 hat =
                _mm512_mul_ps(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + j), off), by);

            _mm512_mask_storeu_ps(y + j, mask,
                                  _mm512_fmadd_ps(hat, _mm512_maskz_loadu_ps(mask, gamma + j),
                                                  _mm512_maskz_loadu_ps(mask, beta + j)));
        }
    }
}
