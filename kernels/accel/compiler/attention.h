/*
 * Shared by the two files of attention: attention.c writes its tile operations, attention_tiles.c
 * chooses the tiles. Private to them.
 */
#ifndef PFC_KERNELS_ACCEL_COMPILER_ATTENTION_H
#define PFC_KERNELS_ACCEL_COMPILER_ATTENTION_H

#include "kernels/accel/compiler/ir.h"

/* Arguments. */
#define PFC_ACCEL_ATTENTION_Q 0
#define PFC_ACCEL_ATTENTION_K 1
#define PFC_ACCEL_ATTENTION_V 2
#define PFC_ACCEL_ATTENTION_O 3

#define PFC_ACCEL_ATTENTION_MAX_LANES  4
#define PFC_ACCEL_ATTENTION_MAX_DEPTH  8
#define PFC_ACCEL_ATTENTION_MAX_HEADS  32
/* Tiles of first queries load keys up to the next multiple of this. */
#define PFC_ACCEL_ATTENTION_PIECE_KEYS 64

typedef struct pfc_accel_attention_shape {
    uint64_t groups; /* heads of keys and values */
    uint64_t share;  /* heads a group */
    uint64_t s;
    uint64_t queries;
    uint64_t d;
    bool causal;
} pfc_accel_attention_shape;

pfc_accel_attention_shape pfc_accel_attention_shape_of(const pfc_accel_problem *problem);
/** Rows of a tile of queries, of at most `room`: of whole heads where it has room for several, else
 *  rows of one. */
uint64_t pfc_accel_attention_tile_rows(const pfc_accel_attention_shape *x, uint64_t room);
/** Number of tiles of so many rows for each head of keys, without the first queries. */
uint64_t pfc_accel_attention_tiles_a_group(const pfc_accel_attention_shape *x, uint64_t rows,
                                           uint64_t first);
/** Keys that a tile of first queries loads when it ends with query number `queries`. */
uint64_t pfc_accel_attention_piece_keys(uint64_t queries);
/** Writes the tile operations. */
void pfc_accel_attention_emit(pfc_accel_ir *ir, const pfc_accel_attention_shape *x,
                              const pfc_accel_attention_tiles *t);

#endif
