/* Times each kernel several times, one after the other, and prints the medians in microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels.h"

enum { REPEATS = 7 };

typedef double (*kernel)(void);

static const kernel kernels[] = { stream, matrix, sorting, list, text, table };
static const char *const names[] = { "stream", "matrix", "sorting", "list", "text", "table" };

enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* of this thread alone, as perfci-bench does */
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(void)
{
    double us[KERNELS][REPEATS], median[KERNELS], sum = 0;

    for (int k = 0; k < KERNELS; k++)
        sum += kernels[k](); /* warm-up */
    for (int r = 0; r < REPEATS; r++)
        for (int k = 0; k < KERNELS; k++) {
            double start = now_us();

            sum += kernels[k]();
            us[k][r] = now_us() - start;
        }
    for (int k = 0; k < KERNELS; k++) {
        qsort(us[k], REPEATS, sizeof(us[k][0]), by_value);
        median[k] = us[k][REPEATS / 2];
    }
    report(KERNELS, names, median);
    return sum == 12345.678; /* the sum must be computed */
}
