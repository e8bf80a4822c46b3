/* Vector clocks over the queues. */
#include "kernels/accel/compiler/clocks.h"

#include <stdlib.h>
#include <string.h>

void pfc_accel_clocks_init(pfc_accel_clocks *c, const pfc_accel_chip *chip, size_t tokens)
{
    c->queues = 2 + (size_t)chip->dma_engines;
    c->known = pfc_calloc(c->queues * c->queues, sizeof(*c->known));
    c->done = pfc_calloc((tokens + 1) * c->queues, sizeof(*c->done));
    c->count = pfc_calloc(c->queues, sizeof(*c->count));
}

void pfc_accel_clocks_free(pfc_accel_clocks *c)
{
    free(c->known);
    free(c->done);
    free(c->count);
}

size_t pfc_accel_queue_of(const pfc_accel_cmd *cmd)
{
    if (cmd->unit == PFC_ACCEL_UNIT_DMA)
        return 2 + (size_t)cmd->queue;
    return cmd->unit == PFC_ACCEL_UNIT_TENSOR ? 0 : 1;
}

static void merge(uint32_t *into, const uint32_t *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        into[i] = PFC_MAX(into[i], from[i]);
}

void pfc_accel_clocks_wait(pfc_accel_clocks *c, size_t queue, uint32_t token)
{
    merge(c->known + queue * c->queues, c->done + (size_t)token * c->queues, c->queues);
}

uint32_t pfc_accel_clocks_start(pfc_accel_clocks *c, size_t queue, uint32_t token)
{
    uint32_t *done = c->done + (size_t)token * c->queues;

    merge(done, c->known + queue * c->queues, c->queues);
    c->count[queue]++;
    done[queue] = PFC_MAX(done[queue], c->count[queue]);
    return c->count[queue];
}

bool pfc_accel_clocks_knows(const pfc_accel_clocks *c, size_t queue, uint32_t token)
{
    const uint32_t *done = c->done + (size_t)token * c->queues;
    const uint32_t *known = c->known + queue * c->queues;

    for (size_t i = 0; i < c->queues; i++)
        if (done[i] > known[i])
            return false;
    return true;
}
