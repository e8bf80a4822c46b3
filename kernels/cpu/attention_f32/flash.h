/*
 * The blocks around one instruction set's parts, shared by the wide variants; private.
 *
 * Scores never exist as a whole: a block of queries meets one block of keys at a time, with a
 * running maximum and sum for each query; when the maximum moves, what was accumulated is rescaled.
 * Sources: Milakov & Gimelshein, arXiv 1805.02867; Dao, FlashAttention-2, arXiv 2307.08691.
 */
#ifndef PFC_KERNELS_CPU_ATTENTION_F32_FLASH_H
#define PFC_KERNELS_CPU_ATTENTION_F32_FLASH_H

#include <stdbool.h>

#include "kernels/cpu/gemm_f32/blocked.h"

#define PFC_FLASH_QUERIES 48  /* queries of a block: 8 register tiles of 6 rows */
#define PFC_FLASH_KEYS    128 /* keys of a block: their scores are 24 KiB, within L1 */

/**
 * One row of scores becomes weights.
 *
 * scores   keys values; out: e^(score - new maximum)
 * max      in: the running maximum, -inf at first; out: the new one
 * sum      in: the running sum; out: rescaled, with these weights added
 * out      dim values, rescaled when the maximum moved
 */
typedef void (*pfc_flash_row)(size_t keys, float *scores, float *max, float *sum, size_t dim,
                              float *out);

typedef struct pfc_flash_parts {
    const pfc_gemm_f32_tile *gemm;
    pfc_flash_row row;
} pfc_flash_parts;

/** As pfc_attention_f32_scalar. */
void pfc_attention_f32_flash(const pfc_flash_parts *parts, size_t heads, size_t seq, size_t dim,
                             bool causal, const float *q, const float *k, const float *v, float *o,
                             float *work);

#endif
