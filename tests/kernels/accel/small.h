/*
 * A chip and programs small enough to follow by hand.
 *
 * small_chip: 4 x 3 array, f32 in 2 passes, 8 vector lanes (latency 5, tree 3, exponential 4),
 * 4 scratchpad banks of 1024 bytes with ports of 16, two DMA engines of 8 bytes a cycle (setup 10,
 * 2 groups in flight), 2 channels of 4 bytes a cycle (blocks of 64, bursts of 16, 2 banks with rows
 * of 256, row miss 7, turnaround 6, refresh of 50 every 1000, latency 20), 1 GHz.
 *
 * Blocks 0, 3, 5, 6, 8 and 16 are in channel 0, blocks 1, 2, 4 and 7 in channel 1; eight blocks are
 * a row in both.
 */
#ifndef PFC_TESTS_KERNELS_ACCEL_SMALL_H
#define PFC_TESTS_KERNELS_ACCEL_SMALL_H

#include "kernels/accel/device/parts.h"

#define SMALL_CMDS 16

typedef struct small {
    pfc_accel_chip chip;
    pfc_accel_cmd cmds[SMALL_CMDS];
    pfc_accel_program program;
} small;

/** No commands yet; argument 0 has 65536 bytes at address 0, the program may use all of the chip.
 */
void small_init(small *s, pfc_accel_dtype dtype);
/** Adds a command that signals a token of its own, its index; returns it for changes. */
pfc_accel_cmd *small_transfer(small *s, pfc_accel_op op, uint8_t queue, uint32_t rows,
                              uint32_t cols, uint64_t stride);
pfc_accel_cmd *small_matmul(small *s, uint32_t m, uint32_t n, uint32_t k);
pfc_accel_cmd *small_vector(small *s, pfc_accel_op op, uint32_t m, uint32_t n, uint32_t k);
/** A command of each kind: a load of a block (engine 0), a store of one and of 16 sums (engine 1),
 * a product of 5 x 4 x 6, a softmax of 2 x 5. */
typedef enum small_step {
    SMALL_LOAD,
    SMALL_STORE,
    SMALL_SUMS,
    SMALL_PRODUCT,
    SMALL_WEIGH,
} small_step;
pfc_accel_cmd *small_add(small *s, small_step what);
/** The last command waits for command `earlier`. */
void small_wait(small *s, uint32_t earlier);
/** Runs the timing; asserts that it passes the checks. */
pfc_accel_counters small_run(const small *s, unsigned ideal);

#endif
