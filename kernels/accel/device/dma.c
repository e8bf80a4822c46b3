/* DMA engines: strided transfers in groups of 4 KiB, a bounded number of groups in flight. */
#include "kernels/accel/device/parts.h"

static uint64_t row_bytes(const pfc_accel_cmd *cmd)
{
    return (uint64_t)cmd->n * cmd->elem;
}

uint64_t pfc_accel_dma_bytes(const pfc_accel_cmd *cmd)
{
    return row_bytes(cmd) * cmd->m;
}

uint64_t pfc_accel_dma_burst_bytes(const pfc_accel_cmd *cmd, uint64_t base,
                                   const pfc_accel_chip *chip)
{
    const uint64_t mask = ~(chip->hbm_burst - 1);
    const uint64_t width = row_bytes(cmd);
    uint64_t moved = 0;

    if (cmd->stride == width)
        return ((base + width * cmd->m + chip->hbm_burst - 1) & mask) - (base & mask);
    for (uint64_t r = 0; r < cmd->m; r++) {
        const uint64_t at = base + r * cmd->stride;

        moved += ((at + width + chip->hbm_burst - 1) & mask) - (at & mask);
    }
    return moved;
}

void pfc_accel_dma_start(pfc_accel_dma *dma, const pfc_accel_cmd *cmd, uint64_t base, uint64_t at)
{
    dma->cmd = cmd;
    dma->base = base;
    dma->row = 0;
    dma->column = 0;
    dma->next_issue = at;
    dma->done = at;
    dma->groups = 0;
    dma->busy = 0;
    dma->stall_hbm = 0;
}

/* The next bytes that lie one after the other, at most `room`; rows that touch are one. */
static uint64_t next_piece(pfc_accel_dma *dma, uint64_t room, uint64_t *addr)
{
    const uint64_t width = row_bytes(dma->cmd);
    const bool joined = dma->cmd->stride == width;
    const uint64_t left =
        joined ? width * (dma->cmd->m - dma->row) - dma->column : width - dma->column;
    const uint64_t len = PFC_MIN(room, left);

    *addr = dma->base + dma->row * dma->cmd->stride + dma->column;
    dma->column += len;
    if (dma->column < width)
        return len;
    if (joined) {
        dma->row += dma->column / width;
        dma->column %= width;
    } else {
        dma->row++;
        dma->column = 0;
    }
    return len;
}

bool pfc_accel_dma_step(pfc_accel_dma *dma, pfc_accel_hbm *hbm, unsigned ideal)
{
    const pfc_accel_chip *chip = hbm->chip;
    const bool write = dma->cmd->op != PFC_ACCEL_OP_LOAD;
    uint64_t bytes = 0;
    uint64_t done = dma->next_issue;
    uint64_t engine;
    uint64_t free_at;
    uint64_t oldest = 0;

    while (bytes < PFC_ACCEL_DMA_GROUP && dma->row < dma->cmd->m) {
        uint64_t addr = 0;
        const uint64_t len = next_piece(dma, PFC_ACCEL_DMA_GROUP - bytes, &addr);
        const uint64_t end = ideal & PFC_ACCEL_IDEAL_HBM
                                 ? dma->next_issue
                                 : pfc_accel_hbm_access(hbm, addr, len, write, dma->next_issue);

        done = PFC_MAX(done, end);
        bytes += len;
    }
    engine = ideal & PFC_ACCEL_IDEAL_DMA ? 0 : pfc_accel_ceil_div(bytes, chip->dma_bytes);
    free_at = dma->next_issue + engine;
    done = PFC_MAX(done, free_at);
    if (dma->groups >= chip->dma_window && !(ideal & PFC_ACCEL_IDEAL_DMA))
        oldest = dma->window[dma->groups % chip->dma_window];
    dma->window[dma->groups % chip->dma_window] = done;
    dma->groups++;
    dma->done = PFC_MAX(dma->done, done);
    dma->busy += engine;
    if (dma->row >= dma->cmd->m) {
        dma->next_issue = free_at;
        return true;
    }
    if (oldest > free_at) {
        dma->stall_hbm += oldest - free_at;
        free_at = oldest;
    }
    dma->next_issue = free_at;
    return false;
}
