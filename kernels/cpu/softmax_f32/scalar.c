/* The reference: three passes, as written in the header. */
#include <math.h>

#include "kernels/cpu/softmax_f32/softmax_f32.h"

void pfc_softmax_f32_exp_scalar(size_t len, const float *x, float *y)
{
    for (size_t i = 0; i < len; i++)
        y[i] = expf(x[i]);
}

void pfc_softmax_f32_scalar(size_t rows, size_t cols, const float *x, float *y)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        float max = -INFINITY;
        float sum = 0.0F;

        for (size_t j = 0; j < cols; j++)
            max = fmaxf(max, x[j]);
        for (size_t j = 0; j < cols; j++) {
            y[j] = expf(x[j] - max);
            sum += y[j];
        }
        for (size_t j = 0; j < cols; j++)
            y[j] /= sum;
    }
}
