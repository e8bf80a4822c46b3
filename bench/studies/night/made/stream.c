/* Memory: sums rows of two arrays that are larger than the first-level cache. */
#include "kernels.h"

enum { ROWS = 3000, TOTAL_ROWS = 128, WIDTH = 256 };

static double a[TOTAL_ROWS][WIDTH], b[TOTAL_ROWS][WIDTH];

__attribute__((noinline)) static double stream_row(const double *x, double *y)
{
    double sum = 0;

    for (int i = 0; i < WIDTH; i++) {
        y[i] = 0.5 * y[i] + x[i] + 1.0;
        sum += y[i];
    }
    return sum;
}

double stream(void)
{
    double sum = 0;

    for (int row = 0; row < ROWS; row++)
        sum += stream_row(a[row * 7 % TOTAL_ROWS], b[row * 5 % TOTAL_ROWS]);
    return sum;
}
