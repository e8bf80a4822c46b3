/*
 * The array's arithmetic. Four steps of k at a time keep a row of the result in registers longer;
 * every element still sums its products in ascending k, so the bits do not depend on the blocking.
 */
#include <string.h>

#include "kernels/accel/device/parts.h"

/* int8 products are at most 2^14, so sums of this many are exact in a float's 24 bits. */
#define EXACT_K 1024
/* columns that stay in the first-level cache with four rows of b */
#define COLUMNS 256
/* rows of b that stay in the second-level cache while every row of a passes */
#define DEPTH   128

static void row_block(float *restrict out, const float *restrict a, const float *restrict b,
                      size_t stride, size_t cols, size_t k)
{
    size_t p = 0;

    for (; p + 4 <= k; p += 4) {
        const float a0 = a[p];
        const float a1 = a[p + 1];
        const float a2 = a[p + 2];
        const float a3 = a[p + 3];
        const float *restrict b0 = b + p * stride;
        const float *restrict b1 = b0 + stride;
        const float *restrict b2 = b1 + stride;
        const float *restrict b3 = b2 + stride;

        for (size_t j = 0; j < cols; j++) {
            float sum = out[j];

            sum += a0 * b0[j];
            sum += a1 * b1[j];
            sum += a2 * b2[j];
            sum += a3 * b3[j];
            out[j] = sum;
        }
    }
    for (; p < k; p++) {
        const float *restrict b0 = b + p * stride;

        for (size_t j = 0; j < cols; j++)
            out[j] += a[p] * b0[j];
    }
}

void pfc_accel_matmul_f32(float *acc, const float *a, const float *b, size_t m, size_t n, size_t k,
                          bool accumulate)
{
    if (!accumulate && m && n)
        memset(acc, 0, m * n * sizeof(*acc));
    for (size_t j = 0; j < n; j += COLUMNS) {
        const size_t cols = PFC_MIN(n - j, (size_t)COLUMNS);

        for (size_t p = 0; p < k; p += DEPTH) {
            const size_t len = PFC_MIN(k - p, (size_t)DEPTH);

            for (size_t i = 0; i < m; i++)
                row_block(acc + i * n + j, a + i * k + p, b + p * n + j, n, cols, len);
        }
    }
}

void pfc_accel_matmul_int8(int32_t *acc, const float *a, const float *b, float *part, size_t m,
                           size_t n, size_t k, bool accumulate)
{
    if (!accumulate && m && n)
        memset(acc, 0, m * n * sizeof(*acc));
    for (size_t p = 0; p < k; p += EXACT_K) {
        const size_t len = PFC_MIN(k - p, (size_t)EXACT_K);

        memset(part, 0, PFC_MAX(m * n, 1) * sizeof(*part));
        for (size_t j = 0; j < n; j += COLUMNS) {
            for (size_t q = 0; q < len; q += DEPTH) {
                for (size_t i = 0; i < m; i++)
                    row_block(part + i * n + j, a + i * k + p + q, b + (p + q) * n + j, n,
                              PFC_MIN(n - j, (size_t)COLUMNS), PFC_MIN(len - q, (size_t)DEPTH));
            }
        }
        for (size_t i = 0; i < m * n; i++)
            acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(int32_t)part[i]);
    }
}
