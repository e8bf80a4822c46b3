/*
 * Shared by the files of the device model: memory channels, unit costs, the functional model.
 * Private to kernels/accel/device.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_PARTS_H
#define PFC_KERNELS_ACCEL_DEVICE_PARTS_H

#include "kernels/accel/device/device.h"

#define PFC_ACCEL_NEVER     UINT64_MAX
#define PFC_ACCEL_DMA_GROUP 4096 /* bytes between two looks at a DMA engine */
#define PFC_ACCEL_SUBCYCLES 1024 /* of a cycle: the grain of a channel's time */

static inline uint64_t pfc_accel_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* ---- hbm.c ---- */

/** Channels with banks and open rows; requests are served in the order they arrive. */
typedef struct pfc_accel_hbm {
    const pfc_accel_chip *chip;
    pfc_accel_counters *counters;
    uint64_t free_at[PFC_ACCEL_MAX_CHANNELS];      /* subcycles */
    uint64_t next_refresh[PFC_ACCEL_MAX_CHANNELS]; /* cycles */
    bool wrote[PFC_ACCEL_MAX_CHANNELS];            /* direction of the last transfer */
    uint64_t open_row[PFC_ACCEL_MAX_CHANNELS][PFC_ACCEL_MAX_BANKS];
} pfc_accel_hbm;

void pfc_accel_hbm_init(pfc_accel_hbm *hbm, const pfc_accel_chip *chip,
                        pfc_accel_counters *counters);
/** Serves [addr, addr + bytes), which lies in one interleave block, from cycle `at`; returns the
 *  cycle in which it is done. Whole bursts move. */
uint64_t pfc_accel_hbm_access(pfc_accel_hbm *hbm, uint64_t addr, uint64_t bytes, bool write,
                              uint64_t at);

/* ---- dma.c ---- */

/** A transfer under way. */
typedef struct pfc_accel_dma {
    const pfc_accel_cmd *cmd;
    uint64_t base; /* device address of its first byte */
    uint64_t row;
    uint64_t column; /* bytes done of this row */
    uint64_t next_issue;
    uint64_t done;       /* cycle of the last byte so far */
    uint64_t window[64]; /* done cycles of the last groups, a ring */
    uint64_t groups;
} pfc_accel_dma;

/** Bytes of a transfer in HBM. */
uint64_t pfc_accel_dma_bytes(const pfc_accel_cmd *cmd);
/** Counts bytes in whole bursts without time, for ideal memory. */
void pfc_accel_dma_count(const pfc_accel_cmd *cmd, uint64_t base, const pfc_accel_chip *chip,
                         pfc_accel_counters *counters);
void pfc_accel_dma_start(pfc_accel_dma *dma, const pfc_accel_cmd *cmd, uint64_t base, uint64_t at);
/** Moves the next group; true when it was the last one. *dma says when to come back. */
bool pfc_accel_dma_step(pfc_accel_dma *dma, pfc_accel_hbm *hbm, unsigned ideal);

/* ---- tensor_unit.c, vector_unit.c: costs ---- */

typedef struct pfc_accel_cost {
    uint64_t preload; /* before the first result, when the unit was empty */
    uint64_t issue;   /* the unit is occupied */
    uint64_t trees;   /* part of issue: depth of reduction trees, whatever the number of elements */
    uint64_t drain;   /* from the end of issue to the last result */
} pfc_accel_cost;

/** Cost of a MATMUL; folds, slots and SRAM traffic are counted. */
pfc_accel_cost pfc_accel_tensor_cost(const pfc_accel_chip *chip, const pfc_accel_program *p,
                                     const pfc_accel_cmd *cmd, pfc_accel_counters *counters);
pfc_accel_cost pfc_accel_vector_cost(const pfc_accel_chip *chip, const pfc_accel_program *p,
                                     const pfc_accel_cmd *cmd, pfc_accel_counters *counters);

/* ---- scratchpad.c ---- */

/** A bit for every bank that [addr, addr + bytes) touches. */
uint64_t pfc_accel_sram_banks(const pfc_accel_chip *chip, uint64_t addr, uint64_t bytes);
/** The banks that a command touches. */
uint64_t pfc_accel_cmd_banks(const pfc_accel_chip *chip, const pfc_accel_program *p,
                             const pfc_accel_cmd *cmd);

/* ---- exec.c: results ---- */

typedef struct pfc_accel_memory {
    uint8_t *sram;
    uint8_t *acc;
    float *scratch; /* converted operands of one MATMUL */
    size_t scratch_len;
} pfc_accel_memory;

/** Executes one command on real bytes. */
void pfc_accel_exec(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd);

/** acc[m,n] (+)= a[m,k] b[k,n], k ascending for every element, one rounding a product and a sum. */
void pfc_accel_matmul_f32(float *acc, const float *a, const float *b, size_t m, size_t n, size_t k,
                          bool accumulate);
/** Exact: int32 sums of int8 products, held as floats in a and b. `part` is m * n floats. */
void pfc_accel_matmul_int8(int32_t *acc, const float *a, const float *b, float *part, size_t m,
                           size_t n, size_t k, bool accumulate);

/* vector_math.c: rows of floats */

float pfc_accel_exp(float x);
void pfc_accel_softmax_row(float *x, size_t n);
void pfc_accel_layernorm_row(float *x, const float *gamma, const float *beta, size_t n);
void pfc_accel_rmsnorm_row(float *x, const float *gamma, size_t n);
/** Sum in a fixed order: sixteen partial sums, then those in order. */
float pfc_accel_sum(const float *x, size_t n);

#endif
