/* Tile operations and buffers. */
#include "kernels/accel/compiler/ir.h"

#include <stdlib.h>
#include <string.h>

void pfc_accel_ir_init(pfc_accel_ir *ir, const pfc_accel_chip *chip, pfc_accel_dtype dtype,
                       pfc_accel_mode mode)
{
    memset(ir, 0, sizeof(*ir));
    ir->chip = chip;
    ir->es = pfc_accel_dtype_bytes(dtype);
    ir->out_es = dtype == PFC_ACCEL_BF16 ? 2 : 4;
    ir->p = pfc_alloc(sizeof(*ir->p));
    ir->p->dtype = dtype;
    ir->p->mode = mode;
}

void pfc_accel_ir_fork(pfc_accel_ir *ir, const pfc_accel_ir *like)
{
    pfc_accel_ir_init(ir, like->chip, like->p->dtype, like->p->mode);
    ir->p->ideal_memory = like->p->ideal_memory;
    ir->p->args_len = like->p->args_len;
    memcpy(ir->p->arg_bytes, like->p->arg_bytes, sizeof(ir->p->arg_bytes));
}

void pfc_accel_ir_free(pfc_accel_ir *ir)
{
    free(ir->bufs);
    free(ir->ops);
    free(ir->order);
}

uint8_t pfc_accel_ir_line(pfc_accel_ir *ir, const char *text)
{
    pfc_accel_program *p = ir->p;

    for (size_t i = 0; i < p->lines_len; i++)
        if (strcmp(p->lines[i], text) == 0)
            return (uint8_t)(i + 1);
    if (p->lines_len == PFC_ACCEL_MAX_LINES)
        return 0;
    p->lines[p->lines_len++] = pfc_strdup(text);
    return (uint8_t)p->lines_len;
}

uint16_t pfc_accel_ir_buffer(pfc_accel_ir *ir, pfc_accel_space space, uint64_t bytes)
{
    if (ir->bufs_len >= PFC_ACCEL_MAX_BUFS) {
        ir->overflow = true;
        return PFC_ACCEL_NO_BUF;
    }
    ir->bufs = pfc_grow(ir->bufs, ir->bufs_len, &ir->bufs_cap, sizeof(*ir->bufs));
    ir->bufs[ir->bufs_len] = (pfc_accel_buffer){ .space = (uint8_t)space, .bytes = bytes };
    return (uint16_t)ir->bufs_len++;
}

static uint8_t unit_of(pfc_accel_op op)
{
    if (op == PFC_ACCEL_OP_LOAD || op == PFC_ACCEL_OP_STORE || op == PFC_ACCEL_OP_STORE_ACC)
        return PFC_ACCEL_UNIT_DMA;
    return op == PFC_ACCEL_OP_MATMUL ? PFC_ACCEL_UNIT_TENSOR : PFC_ACCEL_UNIT_VECTOR;
}

pfc_accel_tile_op *pfc_accel_ir_op(pfc_accel_ir *ir, pfc_accel_op op, uint8_t line)
{
    pfc_accel_tile_op *made;

    if (ir->ops_len >= PFC_ACCEL_MAX_COMMANDS) {
        ir->overflow = true;
        ir->ops_len--; /* overwrite the last operation: an overflow makes pfc_accel_compile fail */
    }
    ir->ops = pfc_grow(ir->ops, ir->ops_len, &ir->ops_cap, sizeof(*ir->ops));
    made = &ir->ops[ir->ops_len++];
    memset(made, 0, sizeof(*made));
    made->batch = 1;
    made->cmd.op = (uint8_t)op;
    made->cmd.unit = unit_of(op);
    made->cmd.line = line;
    made->a = made->b = made->c = made->acc = made->acc2 = PFC_ACCEL_NO_BUF;
    return made;
}

void pfc_accel_ir_move(pfc_accel_ir *ir, pfc_accel_op op, const pfc_accel_tile *tile, uint16_t buf,
                       uint8_t line)
{
    pfc_accel_tile_op *move;

    if (tile->rows == 0 || tile->cols == 0)
        return;
    move = pfc_accel_ir_op(ir, op, line);
    move->cmd.arg = tile->arg;
    move->cmd.offset = tile->offset;
    move->cmd.stride = tile->stride;
    move->cmd.m = (uint32_t)tile->rows;
    move->cmd.n = (uint32_t)tile->cols;
    move->cmd.elem = (uint32_t)(op == PFC_ACCEL_OP_STORE_ACC ? ir->out_es : ir->es);
    if (op == PFC_ACCEL_OP_STORE_ACC)
        move->acc = buf;
    else
        move->a = buf;
}

void pfc_accel_ring_init(pfc_accel_ir *ir, pfc_accel_ring *ring, size_t len, uint64_t bytes)
{
    memset(ring, 0, sizeof(*ring));
    ring->len = len;
    for (size_t i = 0; i < len; i++)
        ring->slots[i].buf = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, bytes);
}

uint16_t pfc_accel_ring_fetch(pfc_accel_ir *ir, pfc_accel_ring *ring, uint64_t tag,
                              const pfc_accel_tile *tile, uint8_t line)
{
    size_t oldest = 0;

    for (size_t i = 0; i < ring->len; i++) {
        if (ring->slots[i].full && ring->slots[i].tag == tag) {
            ring->slots[i].turn = ++ring->turn;
            return ring->slots[i].buf;
        }
        if (ring->slots[i].turn < ring->slots[oldest].turn)
            oldest = i;
    }
    ring->slots[oldest].full = true;
    ring->slots[oldest].tag = tag;
    ring->slots[oldest].turn = ++ring->turn;
    pfc_accel_ir_move(ir, PFC_ACCEL_OP_LOAD, tile, ring->slots[oldest].buf, line);
    return ring->slots[oldest].buf;
}

/* ---- place ---- */

uint64_t pfc_accel_sram_rounded(const pfc_accel_chip *chip, uint64_t bytes)
{
    const uint64_t bank = chip->sram_bytes / chip->sram_banks;

    /* A bank each, so that loading one buffer never holds up the use of another; where banks are
     * few, space counts more. A few bytes are not worth a bank. */
    if (bytes < 256 || chip->sram_banks < PFC_ACCEL_SPARE_BANKS)
        return (bytes + 63) / 64 * 64;
    return (bytes + bank - 1) / bank * bank;
}

static uint64_t address(const pfc_accel_ir *ir, uint16_t buf)
{
    return buf == PFC_ACCEL_NO_BUF ? 0 : ir->bufs[buf].at;
}

void pfc_accel_pass_place(pfc_accel_ir *ir)
{
    pfc_accel_program *p = ir->p;

    for (size_t i = 0; i < ir->bufs_len; i++) {
        pfc_accel_buffer *b = &ir->bufs[i];
        uint64_t *used = b->space == PFC_ACCEL_SRAM ? &p->sram_used : &p->acc_used;

        b->at = *used;
        *used += b->space == PFC_ACCEL_SRAM ? pfc_accel_sram_rounded(ir->chip, b->bytes)
                                            : (b->bytes + 3) / 4 * 4;
    }
    for (size_t i = 0; i < ir->ops_len; i++) {
        pfc_accel_tile_op *op = &ir->ops[i];

        op->cmd.a = address(ir, op->a);
        op->cmd.b = address(ir, op->b);
        op->cmd.c = address(ir, op->c);
        op->cmd.acc = address(ir, op->acc);
        op->cmd.acc2 = address(ir, op->acc2);
    }
}

/* ---- a part of a problem, timed ---- */

uint64_t pfc_accel_ir_cycles(pfc_accel_ir *ir)
{
    pfc_accel_run run = { .chip = ir->chip, .program = ir->p, .timing_only = true };
    uint64_t at = 1 << 20;

    /* one argument after the other, as a fresh device would place them */
    for (size_t i = 0; i < ir->p->args_len; i++) {
        run.addr[i] = at;
        at += (ir->p->arg_bytes[i] + 255) / 256 * 256;
    }
    if (ir->overflow)
        return UINT64_MAX;
    pfc_accel_pass_place(ir);
    pfc_accel_pass_schedule(ir);
    if (pfc_accel_pass_semaphores(ir, NULL) || pfc_accel_program_check(ir->p, ir->chip, NULL) ||
        pfc_accel_execute(&run, NULL))
        return UINT64_MAX;
    return run.counters.v[PFC_ACCEL_CYCLES];
}
