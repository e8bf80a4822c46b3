/* The reference: mean, variance, and the formula of the header. */
#include <math.h>

#include "kernels/cpu/layernorm_f32/layernorm_f32.h"

void pfc_layernorm_f32_scalar(size_t rows, size_t cols, const float *x, const float *gamma,
                              const float *beta, float epsilon, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        float mean = 0.0F;
        float variance = 0.0F;
        float factor = 0.0F;

        for (size_t j = 0; j < cols; j++)
            mean += x[j];
        mean /= (float)cols;
        for (size_t j = 0; j < cols; j++)
            variance += (x[j] - mean) * (x[j] - mean);
        variance /= (float)cols;
        factor = 1.0F / sqrtf(variance + epsilon);
        for (size_t j = 0; j < cols; j++)
            y[j] = (x[j] - mean) * factor * gamma[j] + beta[j];
    }
}
