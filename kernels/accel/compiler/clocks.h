/*
 * The commands that are known to be over when a command starts: for each queue a number of its
 * first ones. Queues start and complete their commands in order, a token is done when all that
 * signal it are. Private to kernels/accel/compiler.
 */
#ifndef PFC_KERNELS_ACCEL_COMPILER_CLOCKS_H
#define PFC_KERNELS_ACCEL_COMPILER_CLOCKS_H

#include "kernels/accel/compiler/compiler.h"

typedef struct pfc_accel_clocks {
    size_t queues;   /* tensor, vector, DMA engines */
    uint32_t *known; /* [queue][queue]: before the queue's next command starts */
    uint32_t *done;  /* [token][queue]: when the token is done */
    uint32_t *count; /* by queue: commands so far */
} pfc_accel_clocks;

void pfc_accel_clocks_init(pfc_accel_clocks *c, const pfc_accel_chip *chip, size_t tokens);
void pfc_accel_clocks_free(pfc_accel_clocks *c);
size_t pfc_accel_queue_of(const pfc_accel_cmd *cmd);
/** Adds what a wait for that token tells the queue. */
void pfc_accel_clocks_wait(pfc_accel_clocks *c, size_t queue, uint32_t token);
/** The queue's next command starts; returns its number in the queue, from 1. */
uint32_t pfc_accel_clocks_start(pfc_accel_clocks *c, size_t queue, uint32_t token);
/** Whether everything that signals the token is over before the queue's next command starts. */
bool pfc_accel_clocks_knows(const pfc_accel_clocks *c, size_t queue, uint32_t token);

#endif
