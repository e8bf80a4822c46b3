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

void pfc_accel_dma_start(pfc_accel_dma *dma, const pfc_accel_chip *chip, const pfc_accel_cmd *cmd,
                         uint64_t base, uint64_t at)
{
    dma->cmd = cmd;
    dma->rows = PFC_ACCEL_DMA_GROUP / PFC_MAX(row_bytes(cmd), 1);
    dma->full = pfc_accel_ceil_div(PFC_ACCEL_DMA_GROUP, chip->dma_bytes);
    dma->base = base;
    dma->row = 0;
    dma->column = 0;
    dma->next_issue = at;
    dma->done = at;
    dma->next = 0;
    dma->filled = false;
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

/* Whole rows that do not touch, as many as fit into `room`; 0 when one is begun or none fits. */
static uint64_t next_rows(pfc_accel_dma *dma, uint64_t room, pfc_accel_rows *out)
{
    const pfc_accel_cmd *cmd = dma->cmd;
    const uint64_t width = row_bytes(cmd);

    if (dma->column || cmd->stride == width || width > room)
        return 0;
    *out = (pfc_accel_rows){ .addr = dma->base + dma->row * cmd->stride,
                             .width = width,
                             .stride = cmd->stride,
                             .rows = room == PFC_ACCEL_DMA_GROUP ? dma->rows : room / width };
    out->rows = PFC_MIN(out->rows, cmd->m - dma->row);
    dma->row += out->rows;
    return out->rows * width;
}

/* Moves up to a group; returns its bytes, and when the last of them is there. */
static uint64_t move_group(pfc_accel_dma *dma, pfc_accel_hbm *hbm, bool ideal, uint64_t *done)
{
    const bool write = dma->cmd->op != PFC_ACCEL_OP_LOAD;
    const uint64_t at = dma->next_issue;
    uint64_t bytes = 0;

    *done = at;
    while (bytes < PFC_ACCEL_DMA_GROUP && dma->row < dma->cmd->m) {
        const uint64_t room = PFC_ACCEL_DMA_GROUP - bytes;
        pfc_accel_rows rows;
        uint64_t addr = 0;
        uint64_t end = at;
        uint64_t len = next_rows(dma, room, &rows);

        if (len && !ideal) {
            end = pfc_accel_hbm_rows(hbm, &rows, write, at);
        } else if (!len) {
            len = next_piece(dma, room, &addr);
            if (!ideal)
                end = pfc_accel_hbm_access(hbm, addr, len, write, at);
        }
        *done = PFC_MAX(*done, end);
        bytes += len;
    }
    return bytes;
}

bool pfc_accel_dma_step(pfc_accel_dma *dma, pfc_accel_hbm *hbm, unsigned ideal)
{
    const pfc_accel_chip *chip = hbm->chip;
    uint64_t done;
    const uint64_t bytes = move_group(dma, hbm, ideal & PFC_ACCEL_IDEAL_HBM, &done);
    uint64_t engine;
    uint64_t free_at;
    uint64_t oldest = 0;

    if (ideal & PFC_ACCEL_IDEAL_DMA)
        engine = 0;
    else
        engine =
            bytes == PFC_ACCEL_DMA_GROUP ? dma->full : pfc_accel_ceil_div(bytes, chip->dma_bytes);
    free_at = dma->next_issue + engine;
    done = PFC_MAX(done, free_at);
    if (dma->filled && !(ideal & PFC_ACCEL_IDEAL_DMA))
        oldest = dma->window[dma->next];
    dma->window[dma->next++] = done;
    if (dma->next == chip->dma_window) {
        dma->next = 0;
        dma->filled = true;
    }
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
