/* The loops of loops.h in plain C. */
#include "bench/machine/ceilings/loops.h"

double pfc_fma_scalar(uint64_t iterations)
{
    float a[16];
    volatile float sink;
    float sum = 0.0F;

    for (int k = 0; k < 16; k++)
        a[k] = 0.5F + 0.01F * (float)k;
    for (uint64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < 16; k++)
            a[k] = a[k] * 0.9999F + 0.0001F;
    }
    for (int k = 0; k < 16; k++)
        sum += a[k];
    sink = sum;
    (void)sink;
    return 32.0 * (double)iterations;
}

float pfc_read_scalar(const float *x, size_t len)
{
    float a[16] = { 0.0F };
    float sum = 0.0F;

    for (size_t i = 0; i < len; i += 16) {
        for (size_t k = 0; k < 16; k++)
            a[k] += x[i + k];
    }
    for (int k = 0; k < 16; k++)
        sum += a[k];
    return sum;
}
