/* The reference: the formula of the header. */
#include <math.h>

#include "kernels/cpu/rmsnorm_f32/rmsnorm_f32.h"

void pfc_rmsnorm_f32_scalar(size_t rows, size_t cols, const float *x, const float *gamma,
                            float epsilon, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        float squares = 0.0F;
        float factor = 0.0F;

        for (size_t j = 0; j < cols; j++)
            squares += x[j] * x[j];
        factor = 1.0F / sqrtf(squares / (float)cols + epsilon);
        for (size_t j = 0; j < cols; j++)
            y[j] = x[j] * factor * gamma[j];
    }
}
