/* Arithmetic: dot products of rows that fit the first-level cache. */
#include "kernels.h"

enum { ROWS = 30000, SIDE = 32, DEPTH = 128 };

static float left[SIDE][DEPTH], right[SIDE][DEPTH];

__attribute__((noinline)) static float matrix_row(const float *x, const float *y)
{
    float sum[4] = { 0 };

    for (int i = 0; i < DEPTH; i += 4)
        for (int j = 0; j < 4; j++)
            sum[j] += (x[i + j] + 0.25f) * (y[i + j] - 0.5f);
    return sum[0] + sum[1] + sum[2] + sum[3];
}

double matrix(void)
{
    double sum = 0;

    for (int row = 0; row < ROWS; row++)
        sum += (double)matrix_row(left[row % SIDE], right[row / SIDE % SIDE]);
    return sum;
}
