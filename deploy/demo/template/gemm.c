#include "gemm.h"

#include "dot.h"
#include "tune.h"

/* b by columns: each dot product then reads both operands in order. */
static float columns[MAX_N * MAX_K];

static void pack_b(size_t n, size_t k, const float *b)
{
    for (size_t j = 0; j < n; j++)
        for (size_t p = 0; p < k; p++)
            columns[j * k + p] = b[p * n + j];
}

void gemm(size_t m, size_t n, size_t k, const float *a, const float *b, float *c)
{
    pack_b(n, k, b);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            for (size_t p = 0; p < k; p += KC) {
                size_t depth = k - p < KC ? k - p : KC;

                dot_add(depth, a + i * k + p, columns + j * k + p, &c[i * n + j]);
            }
        }
    }
}
