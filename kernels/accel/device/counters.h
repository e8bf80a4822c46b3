/*
 * Counters of the simulated accelerator: names, units, clock domains and the laws that tie them
 * together. Names are never renamed, only added; a changed meaning changes PFC_ACCEL_VERSION.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_COUNTERS_H
#define PFC_KERNELS_ACCEL_DEVICE_COUNTERS_H

#include "core/base/err.h"

#define PFC_ACCEL_MAX_DMA       64
#define PFC_ACCEL_MAX_CHANNELS  128
#define PFC_ACCEL_MAX_BANKS     64 /* of an HBM channel, and of the scratchpad */
#define PFC_ACCEL_HISTOGRAM_LEN 40 /* bin i counts values in [2^i, 2^(i+1)); 0 counts in bin 0 */

typedef struct pfc_accel_chip pfc_accel_chip;

/* id, text. `=` laws hold exactly, checked after every launch. */
#define PFC_ACCEL_LAWS(X)                                                                          \
    X(NONE, "counted on its own")                                                                  \
    X(TOTAL, "time from the first command to the last result")                                     \
    X(TENSOR, "tensor busy + preload + fill_drain + stalls + idle = cycles")                       \
    X(VECTOR, "vector busy + reduce + stalls + idle = cycles")                                     \
    X(DMA, "dma busy + setup + stalls + idle = cycles * DMA engines")                              \
    X(OVERLAP, "the eight overlap counters sum to cycles")                                         \
    X(HBM, "hbm hits + misses = accesses; busy <= cycles; queue + service = latency")              \
    X(BYTES, "hbm bytes >= bytes of the transfers; the rest fills bursts")                         \
    X(MACS, "macs_useful <= macs_mapped_slots <= array cells * (tensor busy + preload)")           \
    X(COPIES, "sum over the copies of the host")

/* id, name, unit, clock domain ("" for what is no time), law, version since which it has this
 * meaning */
#define PFC_ACCEL_COUNTERS(X)                                                                      \
    X(CYCLES, "cycles", "cycles", "core", TOTAL, 1)                                                \
    X(TENSOR_BUSY, "tensor_busy_cycles", "cycles", "core", TENSOR, 2)                              \
    X(TENSOR_PRELOAD, "tensor_preload_cycles", "cycles", "core", TENSOR, 1)                        \
    X(TENSOR_STALL_DMA, "tensor_stall_dma_cycles", "cycles", "core", TENSOR, 2)                    \
    X(TENSOR_STALL_VECTOR, "tensor_stall_vector_cycles", "cycles", "core", TENSOR, 2)              \
    X(TENSOR_STALL_DRAIN, "tensor_stall_drain_cycles", "cycles", "core", TENSOR, 2)                \
    X(TENSOR_STALL_BANK, "tensor_stall_bank_cycles", "cycles", "core", TENSOR, 1)                  \
    X(TENSOR_IDLE, "tensor_idle_cycles", "cycles", "core", TENSOR, 2)                              \
    X(VECTOR_BUSY, "vector_busy_cycles", "cycles", "core", VECTOR, 2)                              \
    X(VECTOR_STALL_DMA, "vector_stall_dma_cycles", "cycles", "core", VECTOR, 1)                    \
    X(VECTOR_STALL_TENSOR, "vector_stall_tensor_cycles", "cycles", "core", VECTOR, 1)              \
    X(VECTOR_STALL_CHAIN, "vector_stall_chain_cycles", "cycles", "core", VECTOR, 1)                \
    X(VECTOR_STALL_BANK, "vector_stall_bank_cycles", "cycles", "core", VECTOR, 1)                  \
    X(VECTOR_IDLE, "vector_idle_cycles", "cycles", "core", VECTOR, 1)                              \
    X(DMA_BUSY, "dma_busy_cycles", "cycles", "core", DMA, 2)                                       \
    X(DMA_STALL_HBM, "dma_stall_hbm_cycles", "cycles", "core", DMA, 1)                             \
    X(DMA_STALL_TENSOR, "dma_stall_tensor_cycles", "cycles", "core", DMA, 1)                       \
    X(DMA_STALL_VECTOR, "dma_stall_vector_cycles", "cycles", "core", DMA, 1)                       \
    X(DMA_STALL_DMA, "dma_stall_dma_cycles", "cycles", "core", DMA, 1)                             \
    X(DMA_IDLE, "dma_idle_cycles", "cycles", "core", DMA, 1)                                       \
    X(DMA_TRANSFERS, "dma_transfers", "count", "", NONE, 1)                                        \
    X(HBM_READ, "hbm_read_bytes", "bytes", "", BYTES, 1)                                           \
    X(HBM_WRITE, "hbm_write_bytes", "bytes", "", BYTES, 1)                                         \
    X(HBM_ROW_HIT, "hbm_row_hits", "count", "", HBM, 1)                                            \
    X(HBM_ROW_MISS, "hbm_row_misses", "count", "", HBM, 1)                                         \
    X(HBM_REFRESH, "hbm_refreshes", "count", "", NONE, 1)                                          \
    X(HBM_BUSY, "hbm_busy_cycles", "cycles", "core", HBM, 2)                                       \
    X(SRAM_READ, "sram_read_bytes", "bytes", "", NONE, 1)                                          \
    X(SRAM_WRITE, "sram_write_bytes", "bytes", "", NONE, 1)                                        \
    X(SRAM_CONFLICT, "sram_bank_conflicts", "count", "", NONE, 1)                                  \
    X(ACC_READ, "acc_read_bytes", "bytes", "", NONE, 1)                                            \
    X(ACC_WRITE, "acc_write_bytes", "bytes", "", NONE, 1)                                          \
    X(READS_IFMAP, "sram_reads_ifmap", "words", "", NONE, 1)                                       \
    X(READS_FILTER, "sram_reads_filter", "words", "", NONE, 1)                                     \
    X(WRITES_OFMAP, "sram_writes_ofmap", "words", "", NONE, 1)                                     \
    X(FOLDS, "tensor_folds", "count", "", NONE, 1)                                                 \
    X(MACS, "macs_useful", "count", "", MACS, 1)                                                   \
    X(MAC_SLOTS, "macs_mapped_slots", "count", "", MACS, 1)                                        \
    X(VECTOR_OPS, "vector_elements", "count", "", NONE, 1)                                         \
    X(COMMANDS, "commands", "count", "", NONE, 1)                                                  \
    X(PCIE_DOWN, "pcie_h2d_bytes", "bytes", "", COPIES, 1)                                         \
    X(PCIE_UP, "pcie_d2h_bytes", "bytes", "", COPIES, 1)                                           \
    X(PCIE_BUSY, "pcie_busy_cycles", "cycles", "core", COPIES, 1)                                  \
    X(TENSOR_STALL_WEIGHTS, "tensor_stall_weights_cycles", "cycles", "core", TENSOR, 2)            \
    X(TENSOR_FILL_DRAIN, "tensor_fill_drain_cycles", "cycles", "core", TENSOR, 2)                  \
    X(VECTOR_REDUCE, "vector_reduce_cycles", "cycles", "core", VECTOR, 2)                          \
    X(DMA_SETUP, "dma_setup_cycles", "cycles", "core", DMA, 2)                                     \
    X(DMA_BYTES, "dma_bytes", "bytes", "", BYTES, 2)                                               \
    X(HBM_COMPULSORY, "hbm_compulsory_bytes", "bytes", "", NONE, 2)                                \
    X(HBM_ACCESSES, "hbm_accesses", "count", "", HBM, 2)                                           \
    X(HBM_ROW_CONFLICT, "hbm_row_conflicts", "count", "", HBM, 2)                                  \
    X(HBM_TURNAROUND, "hbm_turnarounds", "count", "", NONE, 2)                                     \
    X(HBM_QUEUE, "hbm_queue_cycles", "cycles", "core", HBM, 2)                                     \
    X(HBM_SERVICE, "hbm_service_cycles", "cycles", "core", HBM, 2)                                 \
    X(HBM_LATENCY, "hbm_latency_cycles", "cycles", "core", HBM, 2)                                 \
    X(OVERLAP_NONE, "overlap_none_cycles", "cycles", "core", OVERLAP, 2)                           \
    X(OVERLAP_LOAD, "overlap_load_cycles", "cycles", "core", OVERLAP, 2)                           \
    X(OVERLAP_STORE, "overlap_store_cycles", "cycles", "core", OVERLAP, 2)                         \
    X(OVERLAP_LOAD_STORE, "overlap_load_store_cycles", "cycles", "core", OVERLAP, 2)               \
    X(OVERLAP_EXEC, "overlap_execute_cycles", "cycles", "core", OVERLAP, 2)                        \
    X(OVERLAP_LOAD_EXEC, "overlap_load_execute_cycles", "cycles", "core", OVERLAP, 2)              \
    X(OVERLAP_STORE_EXEC, "overlap_store_execute_cycles", "cycles", "core", OVERLAP, 2)            \
    X(OVERLAP_ALL, "overlap_load_store_execute_cycles", "cycles", "core", OVERLAP, 2)              \
    X(VECTOR_MACS, "vector_macs", "count", "", NONE, 2)

typedef enum pfc_accel_law {
#define PFC_X(id, text) PFC_ACCEL_LAW_##id,
    PFC_ACCEL_LAWS(PFC_X)
#undef PFC_X
} pfc_accel_law;

typedef enum pfc_accel_counter {
#define PFC_X(id, name, unit, domain, law, since) PFC_ACCEL_##id,
    PFC_ACCEL_COUNTERS(PFC_X)
#undef PFC_X
        PFC_ACCEL_COUNTERS_LEN
} pfc_accel_counter;

typedef struct pfc_accel_counters {
    uint64_t v[PFC_ACCEL_COUNTERS_LEN];
} pfc_accel_counters;

/** Description of a counter; texts are static. */
typedef struct pfc_accel_counter_about {
    const char *name;
    const char *unit;
    const char *domain; /* clock domain; "" for what is no time */
    const char *law;
    unsigned since; /* N of "accel-N", since which it has this meaning */
} pfc_accel_counter_about;

const char *pfc_accel_counter_name(pfc_accel_counter c);
const char *pfc_accel_counter_unit(pfc_accel_counter c);
pfc_accel_counter_about pfc_accel_counter_describe(pfc_accel_counter c);
void pfc_accel_counters_add(pfc_accel_counters *sum, const pfc_accel_counters *more);
/** PFC_EBUG naming the law when the counters of one kernel contradict each other. */
pfc_code pfc_accel_counters_check(const pfc_accel_counters *c, const pfc_accel_chip *chip,
                                  pfc_err *err) PFC_MUSTCHECK;

/* ---- values of one run by queue, channel and bank, and histograms ---- */

typedef struct pfc_accel_queue_detail {
    uint64_t transfers, bytes, busy_cycles, setup_cycles, stall_hbm_cycles, wait_cycles;
} pfc_accel_queue_detail;

typedef struct pfc_accel_channel_detail {
    uint64_t read_bytes, write_bytes, busy_cycles, queue_cycles;
    uint64_t accesses, row_hits, row_conflicts, turnarounds, refreshes;
} pfc_accel_channel_detail;

/**
 * Sums over `queues`, `channels` and `banks` equal the counters of the same run: dma_transfers,
 * dma_bytes, dma_busy_cycles, ...; hbm_read_bytes, ...; tensor_ and vector_stall_bank_cycles
 * together. Each histogram sums to dma_transfers, `reuse` with `first_use` to the loads.
 */
typedef struct pfc_accel_detail {
    size_t queues_len, channels_len, banks_len;
    pfc_accel_queue_detail queues[PFC_ACCEL_MAX_DMA];
    pfc_accel_channel_detail channels[PFC_ACCEL_MAX_CHANNELS];
    uint64_t bank_wait_cycles[PFC_ACCEL_MAX_BANKS];       /* of the scratchpad */
    uint64_t transfer_bytes[PFC_ACCEL_HISTOGRAM_LEN];     /* size of a transfer */
    uint64_t transfer_stride[PFC_ACCEL_HISTOGRAM_LEN];    /* bytes from row to row */
    uint64_t transfer_row_bytes[PFC_ACCEL_HISTOGRAM_LEN]; /* contiguous bytes */
    /* Bytes that all loads moved since the same tile of HBM was loaded before. */
    uint64_t reuse_bytes[PFC_ACCEL_HISTOGRAM_LEN];
    uint64_t first_use; /* loads of a tile that was not loaded before */
} pfc_accel_detail;

/** PFC_EBUG naming the sum that does not hold. */
pfc_code pfc_accel_detail_check(const pfc_accel_detail *d, const pfc_accel_counters *c,
                                pfc_err *err) PFC_MUSTCHECK;

#endif
