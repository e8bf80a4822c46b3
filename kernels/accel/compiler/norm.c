/*
 * Row-wise operations: tiles of whole rows, worked on in place, several in flight. Loads and stores
 * either have engines of their own, or each engine does both: then memory changes direction less
 * often.
 */
#include <stdio.h>

#include "kernels/accel/compiler/ir.h"

#define MAX_SLOTS 8

typedef struct lowering {
    pfc_accel_ir *ir;
    uint64_t rows;
    uint64_t all_rows; /* of the whole problem, when this is a part */
    uint64_t cols;
    pfc_accel_op op;
    uint64_t aux_bytes;
    uint8_t aux_arg;
    uint8_t out_arg;
    bool residual;
} lowering;

static lowering lowering_of(pfc_accel_ir *ir, const pfc_accel_problem *problem)
{
    static const struct {
        pfc_accel_op op;
        uint8_t aux_rows, aux_arg, out_arg;
    } kinds[] = {
        [PFC_ACCEL_LAYERNORM] = { PFC_ACCEL_OP_LAYERNORM, 2, 1, 2 },
        [PFC_ACCEL_RMSNORM] = { PFC_ACCEL_OP_RMSNORM, 1, 1, 2 },
        [PFC_ACCEL_SOFTMAX] = { PFC_ACCEL_OP_SOFTMAX, 0, 1, 1 },
        [PFC_ACCEL_RESIDUAL_RMSNORM] = { PFC_ACCEL_OP_RES_NORM, 1, 2, 3 },
    };
    lowering l = { .ir = ir,
                   .rows = (uint64_t)problem->p[0],
                   .cols = (uint64_t)problem->p[1],
                   .op = kinds[problem->kernel].op,
                   .aux_arg = kinds[problem->kernel].aux_arg,
                   .out_arg = kinds[problem->kernel].out_arg,
                   .residual = problem->kernel == PFC_ACCEL_RESIDUAL_RMSNORM };

    l.all_rows = l.rows;
    l.aux_bytes = kinds[problem->kernel].aux_rows * l.cols * ir->es;
    return l;
}

static bool fits(const lowering *l, const pfc_accel_norm_tiles *t)
{
    const pfc_accel_chip *chip = l->ir->chip;
    const uint64_t tile = pfc_accel_sram_rounded(chip, t->rows * l->cols * l->ir->es);

    return pfc_accel_sram_rounded(chip, l->aux_bytes) + t->slots * tile * (l->residual ? 2 : 1) <=
           chip->sram_bytes;
}

static void all_tiles(const lowering *l, const pfc_accel_norm_tiles *t)
{
    pfc_accel_ir *ir = l->ir;
    const uint64_t row = l->cols * ir->es;
    const uint8_t line_aux = pfc_accel_ir_line(ir, "load gamma, beta");
    const uint8_t line_load = pfc_accel_ir_line(ir, "load x[i]");
    const uint8_t line_op = pfc_accel_ir_line(ir, "x[i] = norm(x[i])");
    const uint8_t line_store = pfc_accel_ir_line(ir, "store x[i]");
    const uint16_t aux = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, l->aux_bytes);
    uint16_t x[MAX_SLOTS], residual[MAX_SLOTS];

    ir->mixed = t->mixed;
    for (size_t i = 0; i < t->slots; i++) {
        x[i] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, t->rows * row);
        if (l->residual)
            residual[i] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, t->rows * row);
    }
    if (l->aux_bytes) {
        const pfc_accel_tile tile = {
            .arg = l->aux_arg, .stride = l->aux_bytes, .rows = 1, .cols = l->aux_bytes / ir->es
        };

        pfc_accel_ir_move(ir, PFC_ACCEL_OP_LOAD, &tile, aux, line_aux);
    }
    for (uint64_t r = 0, i = 0; r < l->rows && !ir->overflow; r += t->rows, i++) {
        const size_t s = (size_t)(i % t->slots);
        pfc_accel_tile tile = {
            .offset = r * row, .stride = row, .rows = PFC_MIN(t->rows, l->rows - r), .cols = l->cols
        };
        pfc_accel_tile_op *op;

        pfc_accel_ir_move(ir, PFC_ACCEL_OP_LOAD, &tile, x[s], line_load);
        tile.arg = 1;
        if (l->residual)
            pfc_accel_ir_move(ir, PFC_ACCEL_OP_LOAD, &tile, residual[s], line_load);
        op = pfc_accel_ir_op(ir, l->op, line_op);
        op->cmd.m = (uint32_t)tile.rows;
        op->cmd.n = (uint32_t)l->cols;
        op->a = x[s];
        op->b = l->aux_bytes ? aux : PFC_ACCEL_NO_BUF;
        op->c = l->residual ? residual[s] : PFC_ACCEL_NO_BUF;
        tile.arg = l->out_arg;
        if (l->residual) { /* the sums are the first half of the result */
            pfc_accel_ir_move(ir, PFC_ACCEL_OP_STORE, &tile, residual[s], line_store);
            tile.offset += l->all_rows * row;
        }
        pfc_accel_ir_move(ir, PFC_ACCEL_OP_STORE, &tile, x[s], line_store);
    }
}

/* Cycles of all rows, or of a part of them where there are many. */
#define TRY_BYTES (32u << 20)
static uint64_t tried(const lowering *l, const pfc_accel_norm_tiles *t)
{
    lowering part = *l;
    pfc_accel_ir ir;
    uint64_t cycles;

    pfc_accel_ir_fork(&ir, l->ir);
    part.ir = &ir;
    part.rows = PFC_MIN(l->rows, PFC_MAX(TRY_BYTES / (l->cols * l->ir->es), 1));
    all_tiles(&part, t);
    cycles = pfc_accel_ir_cycles(&ir);
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
    return cycles;
}

/* Sizes from a fourth of the rows down to one that is hardly worth its setup. */
static bool choose(const lowering *l, pfc_accel_norm_tiles *out)
{
    const uint64_t least_bytes = 2048 * l->ir->chip->dma_engines;
    uint64_t best = UINT64_MAX;
    pfc_accel_norm_tiles t = { .rows = l->rows };
    bool any = false;

    for (; t.rows; t.rows = t.rows > 1 ? (t.rows + 1) / 2 : 0) {
        if (any && (t.rows * l->cols * l->ir->es < least_bytes || l->rows / t.rows > 64))
            break;
        for (t.slots = MAX_SLOTS; t.slots; t.slots /= 2) {
            if (!fits(l, &t) || (any && t.slots < 4))
                continue;
            for (int mixed = 0; mixed < 2; mixed++) {
                uint64_t cycles;

                t.mixed = mixed == 1;
                cycles = tried(l, &t);
                any = true;
                if (cycles < best) {
                    best = cycles;
                    *out = t;
                }
            }
        }
    }
    return any;
}

pfc_code pfc_accel_choose_norm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                               pfc_accel_plan *out, bool *empty, pfc_err *err)
{
    const lowering l = lowering_of(ir, problem);
    const uint64_t row = l.cols * ir->es;
    pfc_accel_program *p = ir->p;

    p->args_len = (size_t)l.out_arg + 1;
    p->arg_bytes[0] = l.rows * row;
    if (l.residual)
        p->arg_bytes[1] = l.rows * row;
    if (l.aux_bytes || l.aux_arg != l.out_arg)
        p->arg_bytes[l.aux_arg] = l.aux_bytes;
    p->arg_bytes[l.out_arg] = l.rows * row * (l.residual ? 2 : 1);
    *empty = l.rows == 0 || l.cols == 0;
    if (*empty)
        return PFC_OK;
    out->norm = (pfc_accel_norm_tiles){ l.rows, 1, false };
    if (!p->ideal_memory && !choose(&l, &out->norm))
        return pfc_err_set(err, PFC_ETOOBIG,
                           "%s: a row of %llu bytes and its weights do not fit its scratchpad",
                           ir->chip->name, (unsigned long long)row);
    snprintf(p->choice, sizeof(p->choice), "tiles of %llu rows; %llu buffers; %s",
             (unsigned long long)out->norm.rows, (unsigned long long)out->norm.slots,
             pfc_accel_queues_text(out->norm.mixed));
    return PFC_OK;
}

void pfc_accel_tile_norm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                         const pfc_accel_plan *plan)
{
    const lowering l = lowering_of(ir, problem);

    all_tiles(&l, &plan->norm);
}
