#ifndef TINYGEMM_H
#define TINYGEMM_H

#include <stddef.h>

/* c (m x n) += a (m x k) * b (k x n), all row-major and dense. */
void gemm(size_t m, size_t n, size_t k, const float *a, const float *b, float *c);

#endif
