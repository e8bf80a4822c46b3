/*
 * Scaled dot-product attention of a whole sequence (prefill), for each head on its own:
 * O = softmax(Q K' / sqrt(d)) V; causal: query i sees keys 0..i only.
 *
 * q, k, v, o   heads x seq x dim, dense, row-major; any alignment of a float; o overlaps no other
 * dim          1..PFC_ATTENTION_F32_MAX_DIM (0 is allowed and does nothing)
 * work         pfc_attention_f32_work_len floats, 64-byte aligned
 *
 * Error: each output is a weighted mean of values of V. A score is a sum of dim products, so a
 * weight is off by twice that sum's tolerance (times the scale) and by the exponential's; the mean
 * adds the tolerance of a sum of seq terms. See verify() in op.c.
 */
#ifndef PFC_KERNELS_CPU_ATTENTION_F32_H
#define PFC_KERNELS_CPU_ATTENTION_F32_H

#include <stdbool.h>
#include <stddef.h>

#define PFC_ATTENTION_F32_MAX_DIM 256

/** Floats of workspace that every variant is content with. */
size_t pfc_attention_f32_work_len(size_t seq, size_t dim);

#define PFC_VARIANT(op, isa, needs)                                                                \
    void pfc_attention_f32_##isa(size_t heads, size_t seq, size_t dim, bool causal,                \
                                 const float *q, const float *k, const float *v, float *o,         \
                                 float *work);
#include "kernels/cpu/attention_f32/variants.def"
#undef PFC_VARIANT

#endif
