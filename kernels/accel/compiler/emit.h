/*
 * Shared by the lowerings: tokens, commands, scratchpad space. Private to kernels/accel/compiler.
 */
#ifndef PFC_KERNELS_ACCEL_COMPILER_EMIT_H
#define PFC_KERNELS_ACCEL_COMPILER_EMIT_H

#include "kernels/accel/compiler/compiler.h"

#define PFC_ACCEL_NO_TOKEN    UINT32_MAX
#define PFC_ACCEL_SPARE_BANKS 16 /* from here on buffers get banks of their own */

typedef struct pfc_accel_emit {
    pfc_accel_program *p;
    const pfc_accel_chip *chip;
    size_t es;          /* bytes of an element */
    size_t out_es;      /* of a GEMM's result */
    uint32_t load_next; /* DMA engines are used in turn */
    uint32_t store_next;
    bool overflow; /* over PFC_ACCEL_MAX_COMMANDS: the rest is not emitted */
} pfc_accel_emit;

/** A matrix tile in HBM and its place on the chip. */
typedef struct pfc_accel_tile {
    uint8_t arg;
    uint64_t offset; /* bytes */
    uint64_t stride; /* bytes from row to row */
    uint64_t rows;
    uint64_t cols;
    uint64_t place; /* scratchpad or accumulator address */
} pfc_accel_tile;

uint32_t pfc_accel_emit_token(pfc_accel_emit *e);
/** Adds a command with its waits; PFC_ACCEL_NO_TOKEN among them is left out. */
pfc_accel_cmd *pfc_accel_emit_cmd(pfc_accel_emit *e, const pfc_accel_cmd *cmd,
                                  const uint32_t *waits, size_t waits_len);
/** Loads or stores a tile over several engines; returns the token of the whole. */
uint32_t pfc_accel_emit_move(pfc_accel_emit *e, pfc_accel_op op, const pfc_accel_tile *tile,
                             const uint32_t *waits, size_t waits_len);
/** An empty program like that of `e`, to try something; free its program. */
pfc_accel_emit pfc_accel_emit_fork(const pfc_accel_emit *e);
/** Cycles of the program so far, results left out; UINT64_MAX when it does not fit the chip. */
uint64_t pfc_accel_emit_cycles(const pfc_accel_emit *e);
/** Space in the scratchpad, at the start of a bank when that leaves room enough for all. */
uint64_t pfc_accel_emit_sram(pfc_accel_emit *e, uint64_t bytes);
uint64_t pfc_accel_emit_acc(pfc_accel_emit *e, uint64_t bytes);
/** Bytes that pfc_accel_emit_sram takes for a buffer of that size. */
uint64_t pfc_accel_sram_rounded(const pfc_accel_chip *chip, uint64_t bytes);

pfc_code pfc_accel_lower_gemm(pfc_accel_emit *e, const pfc_accel_problem *problem, pfc_err *err);
pfc_code pfc_accel_lower_attention(pfc_accel_emit *e, const pfc_accel_problem *problem,
                                   pfc_err *err);
pfc_code pfc_accel_lower_norm(pfc_accel_emit *e, const pfc_accel_problem *problem, pfc_err *err);

/** Tile sizes of a GEMM and the order of its loops. */
typedef struct pfc_accel_gemm_tiles {
    uint64_t m;
    uint64_t n;
    uint64_t k;
    bool m_outer; /* rows of tiles in the outer loop; else columns */
} pfc_accel_gemm_tiles;

#define PFC_ACCEL_TILE_CHOICES 16

/** The cheapest tiles that fit, best first; returns how many there are, 0 when none fits. */
size_t pfc_accel_gemm_tiles_choose(const pfc_accel_chip *chip, pfc_accel_dtype dtype, uint64_t m,
                                   uint64_t n, uint64_t k,
                                   pfc_accel_gemm_tiles out[PFC_ACCEL_TILE_CHOICES]);

#endif
