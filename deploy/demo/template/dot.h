#ifndef TINYGEMM_DOT_H
#define TINYGEMM_DOT_H

#include <stddef.h>

/* *sum += a[0] * b[0] + ... + a[len - 1] * b[len - 1], in that order in every build. */
void dot_add(size_t len, const float *a, const float *b, float *sum);

#endif
