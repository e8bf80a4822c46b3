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

/** Channels with banks and open rows; requests are served in the order they arrive. Eight channels
 *  share a slice of the memory, so that vector instructions serve a stretch of channels; hbm.c has
 *  the layout of a slice. */
typedef struct pfc_accel_hbm {
    const pfc_accel_chip *chip;
    uint64_t *memory; /* slices of eight channels */
    size_t slice;     /* numbers in a slice */
    uint64_t *
        *slots;     /* by channel: its first number in its slice; channels 0, 1, ... twice, so that
                         neighbours of the last channel follow it */
    uint64_t *took; /* by number of bursts: subcycles that they take */
    size_t took_len;
    unsigned block_shift, burst_shift, row_shift; /* log2 of the chip's sizes in bytes */
    uint64_t block_bursts;                        /* bursts of a whole block */
    uint64_t block_took;                          /* subcycles that a whole block takes */
    uint64_t by_channels;    /* reciprocal of the number of channels; hbm.c has its scale */
    uint64_t by_banks;       /* reciprocal of the number of banks */
    uint64_t channels_mask;  /* number of channels less 1; 0 when it is no power of two, or 1 */
    unsigned channels_shift; /* log2 of the number of channels where channels_mask is not 0 */
    uint64_t bank_mask;      /* number of banks less 1; 0 when it is no power of two, or 1 */
    uint64_t miss, turn;     /* subcycles of a row miss and of a turnaround */
    uint64_t unspilled; /* accesses since the packed sums of hbm.c were last emptied, or more */
} pfc_accel_hbm;

void pfc_accel_hbm_init(pfc_accel_hbm *hbm, const pfc_accel_chip *chip);
void pfc_accel_hbm_free(pfc_accel_hbm *hbm);
/** Serves [addr, addr + bytes) from cycle `at`, the blocks of an interleave in the order of their
 *  addresses; returns the cycle in which the last is done. Whole bursts move. `bytes` is at most
 *  PFC_ACCEL_DMA_GROUP. */
uint64_t pfc_accel_hbm_access(pfc_accel_hbm *hbm, uint64_t addr, uint64_t bytes, bool write,
                              uint64_t at);
/** Rows of a matrix in HBM, one after the other. */
typedef struct pfc_accel_rows {
    uint64_t addr;   /* of the first byte */
    uint64_t width;  /* bytes of a row */
    uint64_t stride; /* bytes from row to row */
    uint64_t rows;   /* at most 4096 */
} pfc_accel_rows;

/** The same as an access for each row, all from cycle `at`. */
uint64_t pfc_accel_hbm_rows(pfc_accel_hbm *hbm, const pfc_accel_rows *r, bool write, uint64_t at);
/** Time that a transfer took from HBM. */
typedef struct pfc_accel_memory_cost {
    uint64_t service; /* subcycles of the channels, summed over them */
    uint64_t waited;  /* subcycles that accesses waited, summed over the channels */
    uint64_t channels[PFC_ACCEL_MAX_CHANNELS / 64]; /* bit i of element j: channel 64 j + i */
} pfc_accel_memory_cost;

/** Sums of each channel in subcycles when they were last looked at; starts as zeros. */
typedef struct pfc_accel_hbm_seen {
    uint64_t free_at[PFC_ACCEL_MAX_CHANNELS]; /* end of its last access; no sum */
    uint64_t busy[PFC_ACCEL_MAX_CHANNELS], queue[PFC_ACCEL_MAX_CHANNELS];
} pfc_accel_hbm_seen;

/** Adds the accesses since the last call with the same `seen` to a transfer's cost. */
void pfc_accel_hbm_since(const pfc_accel_hbm *hbm, pfc_accel_hbm_seen *seen,
                         pfc_accel_memory_cost *cost);
/** Adds the channels' sums to the counters; detail may be NULL. */
void pfc_accel_hbm_close(pfc_accel_hbm *hbm, pfc_accel_counters *counters,
                         pfc_accel_detail *detail);

/* ---- dma.c ---- */

/** A transfer under way. */
typedef struct pfc_accel_dma {
    const pfc_accel_cmd *cmd;
    uint64_t base; /* device address of its first byte */
    uint64_t row;
    uint64_t column; /* bytes done of this row */
    uint64_t next_issue;
    uint64_t done;       /* cycle of the last byte so far */
    uint64_t busy;       /* cycles that its engine moved bytes */
    uint64_t stall_hbm;  /* cycles that its engine waited for HBM */
    uint64_t window[64]; /* done cycles of the last groups, a ring */
    uint32_t next;       /* place of the next group in it */
    bool filled;         /* every place of the ring has been used */
    uint64_t rows;       /* number of whole rows of the transfer that fit into a group */
    uint64_t full;       /* cycles in which the engine moves a whole group */
} pfc_accel_dma;

/** Bytes of a transfer in HBM. */
uint64_t pfc_accel_dma_bytes(const pfc_accel_cmd *cmd);
/** Bytes in whole bursts, for memory that takes no time. */
uint64_t pfc_accel_dma_burst_bytes(const pfc_accel_cmd *cmd, uint64_t base,
                                   const pfc_accel_chip *chip);
void pfc_accel_dma_start(pfc_accel_dma *dma, const pfc_accel_chip *chip, const pfc_accel_cmd *cmd,
                         uint64_t base, uint64_t at);
/** Moves the next group; true when it was the last one. *dma says when to come back. */
bool pfc_accel_dma_step(pfc_accel_dma *dma, pfc_accel_hbm *hbm, unsigned ideal);

/* ---- tensor_unit.c, vector_unit.c: costs ---- */

typedef struct pfc_accel_cost {
    uint64_t preload; /* before the first result, when the unit was empty */
    uint64_t busy;    /* rows stream, or lanes work */
    uint64_t weights; /* the array waits until the next fold's weights are in */
    uint64_t fill;    /* fill and drain that nothing overlaps */
    uint64_t trees;   /* depth of reduction trees, whatever the number of elements */
    uint64_t drain;   /* from the end of the above to the last result; another command may start */
    uint64_t hidden;  /* cycles of loading weights that streaming rows hide */
    uint64_t depth;   /* from the last operand's entry into the unit to the last result */
    uint64_t folds;
} pfc_accel_cost;

/** Cost of a MATMUL with those resources ideal (PFC_ACCEL_IDEAL_TENSOR, _WEIGHTS, _LATENCY); folds,
 *  slots and SRAM traffic are counted. */
pfc_accel_cost pfc_accel_tensor_cost(const pfc_accel_run *run, const pfc_accel_cmd *cmd,
                                     pfc_accel_counters *counters);
pfc_accel_cost pfc_accel_vector_cost(const pfc_accel_chip *chip, const pfc_accel_program *p,
                                     const pfc_accel_cmd *cmd, pfc_accel_counters *counters);

/* ---- commands/costs.c: the cost of a command by part, for a trace ---- */

/** Ticks of a transfer by part. */
typedef struct pfc_accel_transfer_cost {
    uint64_t setup, rate, window, latency;
    const pfc_accel_memory_cost *memory;
} pfc_accel_transfer_cost;

struct pfc_accel_tracer;
/** Writes the parts of command `index` of the tensor or vector unit `unit`, which begins at `at`.
 *  cost->preload is the full one, `bank` the wait for banks, `banks` those it uses. */
void pfc_accel_trace_tile_cost(struct pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t at,
                               const pfc_accel_cost *cost, uint64_t bank, uint64_t banks);
/** The same for a transfer that arrived at `at`. */
void pfc_accel_trace_transfer_cost(struct pfc_accel_tracer *t, uint16_t unit, size_t index,
                                   uint64_t at, const pfc_accel_transfer_cost *cost);

/* ---- scratchpad.c ---- */

/** A bit for every bank that [addr, addr + bytes) touches. */
uint64_t pfc_accel_sram_banks(const pfc_accel_chip *chip, uint64_t addr, uint64_t bytes);
/** The banks that a command touches. */
uint64_t pfc_accel_cmd_banks(const pfc_accel_chip *chip, const pfc_accel_program *p,
                             const pfc_accel_cmd *cmd);

/* ---- overlap.c: which of load, store and execute are under way ---- */

#define PFC_ACCEL_LOADING   1u
#define PFC_ACCEL_STORING   2u
#define PFC_ACCEL_EXECUTING 4u

/** Sums the time of each combination. Intervals may be added in any order of their ends, but each
 *  begins no earlier than the one before. */
typedef struct pfc_accel_overlap {
    uint64_t seen;     /* time up to which is summed */
    uint64_t until[3]; /* end of the activity, when it is known */
    uint32_t open[2];  /* loads and stores whose end is not known yet */
    uint64_t time[8];  /* by the bits above */
} pfc_accel_overlap;

/** A transfer begins at `at`. */
void pfc_accel_overlap_open(pfc_accel_overlap *o, bool store, uint64_t at);
/** A transfer's last step is at `at`; its last byte arrives at `until`. */
void pfc_accel_overlap_close(pfc_accel_overlap *o, bool store, uint64_t at, uint64_t until);
/** The tensor or the vector unit works from `at` until `until`. */
void pfc_accel_overlap_execute(pfc_accel_overlap *o, uint64_t at, uint64_t until);
/** Sums the rest and writes the counters. */
void pfc_accel_overlap_end(pfc_accel_overlap *o, uint64_t total, pfc_accel_counters *counters);

/* ---- detail.c: histograms ---- */

/** Tiles of HBM that were loaded, with the bytes that had been loaded by then. */
typedef struct pfc_accel_reuse {
    struct pfc_accel_reuse_slot *slots;
    size_t cap, len;
    uint64_t loaded; /* bytes of all loads so far */
} pfc_accel_reuse;

/** Notes a transfer whose first byte lies at `base` of device memory. */
void pfc_accel_detail_transfer(pfc_accel_detail *d, pfc_accel_reuse *reuse,
                               const pfc_accel_cmd *cmd, uint64_t base);
void pfc_accel_reuse_free(pfc_accel_reuse *reuse);
/** Spreads the wait evenly over the banks; the first ones take the rest. */
void pfc_accel_detail_bank_wait(pfc_accel_detail *d, uint64_t banks, uint64_t cycles);

/* ---- exec.c: results ---- */

typedef struct pfc_accel_memory {
    uint8_t *sram;
    uint8_t *acc;
    float *scratch; /* converted operands of one MATMUL */
    size_t scratch_len;
} pfc_accel_memory;

/** Floats of scratch space that the commands of a program need at most. */
size_t pfc_accel_scratch_floats(const pfc_accel_program *p);
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
/** act: pfc_accel_act. */
float pfc_accel_activate(float x, uint8_t act);
void pfc_accel_softmax_row(float *x, size_t n);
void pfc_accel_layernorm_row(float *x, const float *gamma, const float *beta, size_t n);
void pfc_accel_rmsnorm_row(float *x, const float *gamma, size_t n);
/** Sum in a fixed order: sixteen partial sums, then those in order. */
float pfc_accel_sum(const float *x, size_t n);

#endif
