#include "dot.h"

void dot_add(size_t len, const float *a, const float *b, float *sum)
{
    float total = *sum;

    for (size_t p = 0; p < len; p++)
        total += a[p] * b[p];
    *sum = total;
}
