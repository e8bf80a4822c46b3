/* The passes of the tile compiler, one by one, and the check for races with planted ones. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/compiler/ir.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/small.h"

static pfc_err err;

/* ---- a second opinion on races, by brute force ---- */

typedef struct closure {
    const pfc_accel_program *p;
    bool *before; /* [a][b]: a is over before b starts */
} closure;

static size_t queue_of(const pfc_accel_cmd *cmd)
{
    return cmd->unit == PFC_ACCEL_UNIT_DMA ? 2 + (size_t)cmd->queue : cmd->unit;
}

static closure close_over(const pfc_accel_program *p)
{
    closure c = { p, calloc(p->len * p->len + 1, 1) };

    for (size_t b = 0; b < p->len; b++) {
        for (size_t a = 0; a < b; a++) {
            const bool queue = queue_of(&p->cmds[a]) == queue_of(&p->cmds[b]);

            /* what was over before an earlier command of the queue started */
            for (size_t x = 0; x < a && queue; x++)
                c.before[x * p->len + b] |= c.before[x * p->len + a];
        }
        for (size_t w = 0; w < p->cmds[b].waits_len; w++) {
            for (size_t a = 0; a < b; a++) {
                if (p->cmds[a].token != p->cmds[b].waits[w])
                    continue;
                for (size_t x = 0; x <= a; x++)
                    c.before[x * p->len + b] |= x == a || c.before[x * p->len + a] ||
                                                queue_of(&p->cmds[x]) == queue_of(&p->cmds[a]);
            }
        }
    }
    return c;
}

static bool share_argument(const pfc_accel_cmd *a, const pfc_accel_cmd *b)
{
    if (a->unit != PFC_ACCEL_UNIT_DMA || b->unit != PFC_ACCEL_UNIT_DMA || a->arg != b->arg)
        return false;
    for (uint64_t r = 0; r < a->m; r++) {
        for (uint64_t q = 0; q < b->m; q++) {
            const uint64_t x = a->offset + r * a->stride;
            const uint64_t y = b->offset + q * b->stride;

            if (x < y + (uint64_t)b->n * b->elem && y < x + (uint64_t)a->n * a->elem)
                return true;
        }
    }
    return false;
}

/* Whether b, the later one, must wait for a, and for its last result. */
static bool conflict(const pfc_accel_program *p, const pfc_accel_cmd *a, const pfc_accel_cmd *b,
                     bool *raw)
{
    pfc_accel_access x[PFC_ACCEL_MAX_ACCESSES], y[PFC_ACCEL_MAX_ACCESSES];
    const size_t xs = pfc_accel_cmd_accesses(p, a, x);
    const size_t ys = pfc_accel_cmd_accesses(p, b, y);
    const bool a_store = a->op != PFC_ACCEL_OP_LOAD;
    const bool b_store = b->op != PFC_ACCEL_OP_LOAD;
    bool any = (a_store || b_store) && share_argument(a, b);

    *raw = any && a_store && !b_store;
    for (size_t i = 0; i < xs; i++) {
        for (size_t j = 0; j < ys; j++) {
            if (x[i].space != y[j].space || x[i].at >= y[j].at + y[j].bytes ||
                y[j].at >= x[i].at + x[i].bytes || !(x[i].writes || y[j].writes))
                continue;
            any = true;
            *raw |= x[i].writes && y[j].reads;
        }
    }
    return any;
}

static bool races(const pfc_accel_program *p)
{
    closure c = close_over(p);
    bool found = false;

    for (size_t b = 0; b < p->len && !found; b++) {
        for (size_t a = 0; a < b && !found; a++) {
            const size_t queue = queue_of(&p->cmds[b]);
            bool raw = false;

            if (!conflict(p, &p->cmds[a], &p->cmds[b], &raw))
                continue;
            if (queue == queue_of(&p->cmds[a]) && (!raw || queue == PFC_ACCEL_UNIT_TENSOR))
                continue;
            found = !c.before[a * p->len + b];
        }
    }
    free(c.before);
    return found;
}

/* ---- the check ---- */

static const pfc_accel_problem some[] = {
    { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 40, 70, 90 } },
    { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 2, 90, 70 } },
    { PFC_ACCEL_GEMM_BIAS_ACT, PFC_ACCEL_F32, { 20, 40, 60, 2 } },
    { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 2, 60, 16, 1 } },
    { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 4, 90, 16, 0, 1, 2 } },
    { PFC_ACCEL_LAYERNORM, PFC_ACCEL_F32, { 40, 100 } },
    { PFC_ACCEL_RESIDUAL_RMSNORM, PFC_ACCEL_BF16, { 40, 100 } },
};

/* Little scratchpad: many tiles of few problems. */
static pfc_accel_chip tight(void)
{
    pfc_accel_chip chip;

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    chip.sram_bytes = 32768;
    chip.acc_bytes = 16384;
    return chip;
}

static pfc_accel_program *compiled(const pfc_accel_problem *problem, const pfc_accel_chip *chip)
{
    pfc_accel_program *p = NULL;

    cr_assert(
        eq(int, pfc_accel_compile(problem, chip, PFC_ACCEL_PIPELINED_WS, NULL, &p, &err), PFC_OK),
        "%s", err.msg);
    return p;
}

/* Each wait of each program is left out once: check and brute force agree on what races then. */
Test(passes, every_missing_wait_that_matters_is_found, .timeout = 120)
{
    const pfc_accel_chip chip = tight();
    size_t found = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(some); i++) {
        pfc_accel_program *p = compiled(&some[i], &chip);
        size_t tried = 0;

        cr_assert(not(races(p)), "row %zu", i);
        for (size_t at = 0; at < p->len && tried < 40; at += 1 + p->len / 60) {
            pfc_accel_cmd *cmd = &p->cmds[at];

            for (size_t w = 0; w < cmd->waits_len; w++, tried++) {
                const pfc_accel_cmd saved = *cmd;
                pfc_code code;

                cmd->waits[w] = cmd->waits[--cmd->waits_len];
                code = pfc_accel_program_races(p, &chip, &err);
                cr_assert(eq(int, code, races(p) ? PFC_EINVAL : PFC_OK), "row %zu command %zu: %s",
                          i, at, err.msg);
                found += code != PFC_OK;
                *cmd = saved;
            }
        }
        pfc_accel_program_free(p);
    }
    cr_assert(gt(sz, found, 100));
}

/* Two commands that meet in one place, without and with a token between them. */
static void check_pair(small *s, const char *what, bool needs)
{
    pfc_code code = pfc_accel_program_races(&s->program, &s->chip, &err);

    cr_assert(eq(int, code, needs ? PFC_EINVAL : PFC_OK), "%s: %s", what, err.msg);
    small_wait(s, 0);
    cr_assert(eq(int, pfc_accel_program_races(&s->program, &s->chip, &err), PFC_OK), "%s: %s", what,
              err.msg);
}

Test(passes, races_in_every_memory_are_found)
{
    small s;

    small_init(&s, PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 16, 64)->a = 0;
    small_vector(&s, PFC_ACCEL_OP_SOFTMAX, 1, 16, 0)->a = 12;
    check_pair(&s, "a read of four bytes that are still loaded", true);
    small_init(&s, PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 16, 64)->a = 0;
    small_vector(&s, PFC_ACCEL_OP_SOFTMAX, 1, 16, 0)->a = 16;
    check_pair(&s, "neighbours", false);
    small_init(&s, PFC_ACCEL_F32);
    small_vector(&s, PFC_ACCEL_OP_SOFTMAX, 1, 16, 0)->a = 0;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 16, 64)->a = 0;
    check_pair(&s, "a load over what is worked on", true);
    small_init(&s, PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_STORE, 0, 1, 16, 64)->offset = 128;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 1, 1, 16, 64)->offset = 140;
    s.cmds[1].a = 1024;
    check_pair(&s, "a load of what is still stored", true);
    small_init(&s, PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_STORE, 0, 4, 4, 64)->offset = 0;
    small_transfer(&s, PFC_ACCEL_OP_STORE, 1, 4, 4, 64)->offset = 16;
    check_pair(&s, "columns beside each other", false);
    small_init(&s, PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_STORE, 0, 4, 4, 64)->offset = 0;
    small_transfer(&s, PFC_ACCEL_OP_STORE, 1, 4, 4, 64)->offset = 3;
    check_pair(&s, "columns that overlap", true);
    small_init(&s, PFC_ACCEL_F32);
    small_matmul(&s, 2, 2, 2)->acc = 0;
    small_transfer(&s, PFC_ACCEL_OP_STORE_ACC, 0, 2, 2, 64)->acc = 12;
    s.cmds[1].m = 1;
    check_pair(&s, "sums that are not there yet", true);
}

Test(passes, a_queue_separates_all_but_a_read_of_what_was_written)
{
    small s;

    small_init(&s, PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 16, 64)->a = 0;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 16, 64)->a = 0;
    check_pair(&s, "two loads of one engine", false);
    small_init(&s, PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 16, 64)->a = 0;
    small_transfer(&s, PFC_ACCEL_OP_STORE, 0, 1, 16, 64)->a = 0;
    s.cmds[1].offset = 4096;
    check_pair(&s, "a store of what the same engine loads", true);
    small_init(&s, PFC_ACCEL_F32);
    small_vector(&s, PFC_ACCEL_OP_SOFTMAX, 1, 16, 0);
    small_vector(&s, PFC_ACCEL_OP_SOFTMAX, 1, 16, 0);
    check_pair(&s, "the vector unit's own result", true);
    small_init(&s, PFC_ACCEL_F32);
    small_matmul(&s, 2, 2, 2);
    small_matmul(&s, 2, 2, 2)->accumulate = true;
    check_pair(&s, "the array's own sums", false);
}

/* ---- place ---- */

Test(passes, place_gives_buffers_addresses_that_do_not_overlap)
{
    const pfc_accel_chip chip = tight();
    pfc_accel_ir ir;
    pfc_accel_tile_op *op;

    pfc_accel_ir_init(&ir, &chip, PFC_ACCEL_F32, PFC_ACCEL_PIPELINED_WS);
    for (uint64_t bytes = 1; bytes <= 6; bytes++)
        pfc_accel_ir_buffer(&ir, bytes % 2 ? PFC_ACCEL_SRAM : PFC_ACCEL_ACC, bytes * 100);
    op = pfc_accel_ir_op(&ir, PFC_ACCEL_OP_BIAS_ACT, 0);
    op->a = 2;
    op->b = 4;
    op->acc = 5;
    pfc_accel_pass_place(&ir);
    for (size_t i = 0; i < ir.bufs_len; i++)
        for (size_t j = i + 2; j < ir.bufs_len; j += 2)
            cr_assert(ge(u64, ir.bufs[j].at, ir.bufs[i].at + ir.bufs[i].bytes));
    cr_assert(eq(u64, ir.ops[0].cmd.a, ir.bufs[2].at));
    cr_assert(eq(u64, ir.ops[0].cmd.b, ir.bufs[4].at));
    cr_assert(eq(u64, ir.ops[0].cmd.acc, ir.bufs[5].at));
    cr_assert(ge(u64, ir.p->sram_used, ir.bufs[4].at + 500));
    cr_assert(eq(u64, ir.p->acc_used, 200 + 400 + 600));
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
}

/* ---- dependences and the schedule ---- */

/* Three loads, a norm of the second one, a norm of the first one, a store of it. */
static void add_rows(pfc_accel_ir *ir)
{
    const pfc_accel_tile tile = { .rows = 4, .cols = 64, .stride = 256 };
    uint16_t x[3];

    for (size_t i = 0; i < 3; i++)
        x[i] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, 1024);
    for (size_t i = 0; i < 3; i++)
        pfc_accel_ir_move(ir, PFC_ACCEL_OP_LOAD, &tile, x[i], 0);
    for (size_t i = 0; i < 2; i++) {
        pfc_accel_tile_op *op = pfc_accel_ir_op(ir, PFC_ACCEL_OP_SOFTMAX, 0);

        op->cmd.m = 4;
        op->cmd.n = 64;
        op->a = x[1 - i];
    }
    pfc_accel_ir_move(ir, PFC_ACCEL_OP_STORE, &tile, x[0], 0);
}

Test(passes, dependences_are_those_of_the_buffers)
{
    const pfc_accel_chip chip = tight();
    pfc_accel_ir ir;
    pfc_accel_deps deps;

    pfc_accel_ir_init(&ir, &chip, PFC_ACCEL_F32, PFC_ACCEL_PIPELINED_WS);
    add_rows(&ir);
    pfc_accel_deps_find(&ir, &deps);
    cr_assert(eq(u32, deps.of[3], 0)); /* the loads have none */
    cr_assert(eq(u32, deps.of[4] - deps.of[3], 1));
    cr_assert(eq(u32, deps.from[deps.of[3]], 1));
    cr_assert(deps.raw[deps.of[3]]);
    cr_assert(eq(u32, deps.from[deps.of[4]], 0));
    cr_assert(eq(u32, deps.of[6] - deps.of[5], 1));
    cr_assert(eq(u32, deps.from[deps.of[5]], 4));
    pfc_accel_deps_free(&deps);
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
}

/* The first row is there first, whatever the order in which the norms were written. */
Test(passes, schedule_takes_what_can_start_first)
{
    const pfc_accel_chip chip = tight();
    pfc_accel_ir ir;
    size_t place[6];

    pfc_accel_ir_init(&ir, &chip, PFC_ACCEL_F32, PFC_ACCEL_PIPELINED_WS);
    add_rows(&ir);
    pfc_accel_pass_place(&ir);
    pfc_accel_pass_schedule(&ir);
    for (size_t i = 0; i < 6; i++)
        place[ir.order[i]] = i;
    cr_assert(lt(sz, place[4], place[3]));
    cr_assert(lt(sz, place[0], place[4]));
    cr_assert(lt(sz, place[4], place[5]));
    cr_assert(lt(u64, ir.ops[4].start, ir.ops[3].start));
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
}

/* 16 independent products of one row that take the array and the vector unit as long: both work. */
Test(passes, schedule_shares_products_of_few_rows_between_the_units)
{
    const pfc_accel_chip chip = tight();
    pfc_accel_ir ir;
    size_t units[2] = { 0 };

    pfc_accel_ir_init(&ir, &chip, PFC_ACCEL_F32, PFC_ACCEL_PIPELINED_WS);
    for (size_t i = 0; i < 16; i++) {
        const uint16_t a = pfc_accel_ir_buffer(&ir, PFC_ACCEL_SRAM, 64);
        const uint16_t b = pfc_accel_ir_buffer(&ir, PFC_ACCEL_SRAM, 1024);
        const uint16_t acc = pfc_accel_ir_buffer(&ir, PFC_ACCEL_ACC, 64);
        pfc_accel_tile_op *op = pfc_accel_ir_op(&ir, PFC_ACCEL_OP_MATMUL, 0);

        op->cmd.m = 1;
        op->cmd.n = op->cmd.k = 16;
        op->a = a;
        op->b = b;
        op->acc = acc;
        op->either = true;
    }
    pfc_accel_pass_place(&ir);
    pfc_accel_pass_schedule(&ir);
    for (size_t i = 0; i < 16; i++) {
        const pfc_accel_cmd *cmd = &ir.ops[i].cmd;

        units[cmd->unit]++;
        cr_assert(
            eq(int, cmd->op, cmd->unit ? (int)PFC_ACCEL_OP_MATVEC : (int)PFC_ACCEL_OP_MATMUL));
    }
    cr_assert(ge(sz, units[0], 6));
    cr_assert(ge(sz, units[1], 6));
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
}

/* ---- semaphores ---- */

Test(passes, semaphores_cut_transfers_and_leave_out_what_is_known)
{
    pfc_accel_chip chip = tight();
    pfc_accel_ir ir;
    const pfc_accel_tile tile = { .rows = 64, .cols = 64, .stride = 256 };
    uint16_t x;
    pfc_accel_tile_op *op;

    pfc_accel_ir_init(&ir, &chip, PFC_ACCEL_F32, PFC_ACCEL_PIPELINED_WS);
    x = pfc_accel_ir_buffer(&ir, PFC_ACCEL_SRAM, 16384);
    pfc_accel_ir_move(&ir, PFC_ACCEL_OP_LOAD, &tile, x, 0);
    for (size_t i = 0; i < 2; i++) {
        op = pfc_accel_ir_op(&ir, PFC_ACCEL_OP_SOFTMAX, 0);
        op->cmd.m = op->cmd.n = 64;
        op->a = x;
    }
    pfc_accel_pass_place(&ir);
    pfc_accel_pass_schedule(&ir);
    cr_assert(eq(int, pfc_accel_pass_semaphores(&ir, &err), PFC_OK));
    cr_assert(eq(sz, ir.p->len, 3 + 2)); /* three of four engines load */
    for (size_t i = 0; i < 3; i++) {
        cr_assert(eq(u32, ir.p->cmds[i].token, ir.p->cmds[0].token));
        cr_assert(eq(u64, ir.p->cmds[i].queue, i));
        cr_assert(eq(u64, ir.p->cmds[i].offset, ir.p->cmds[i].a));
    }
    cr_assert(eq(u32, ir.p->cmds[0].m + ir.p->cmds[1].m + ir.p->cmds[2].m, 64));
    /* the second waits for the first, and with that knows that the rows are loaded */
    cr_assert(eq(int, ir.p->cmds[3].waits_len, 1));
    cr_assert(eq(int, ir.p->cmds[4].waits_len, 1));
    cr_assert(eq(u32, ir.p->cmds[4].waits[0], ir.p->cmds[3].token));
    cr_assert(eq(u64, ir.p->dma_bytes, 16384));
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
}

Test(passes, a_ring_keeps_what_was_used_last)
{
    const pfc_accel_chip chip = tight();
    const pfc_accel_tile tile = { .rows = 1, .cols = 4, .stride = 16 };
    pfc_accel_ir ir;
    pfc_accel_ring ring;
    uint16_t a;

    pfc_accel_ir_init(&ir, &chip, PFC_ACCEL_F32, PFC_ACCEL_PIPELINED_WS);
    pfc_accel_ring_init(&ir, &ring, 2, 16);
    a = pfc_accel_ring_fetch(&ir, &ring, 7, &tile, 0);
    cr_assert(ne(u16, pfc_accel_ring_fetch(&ir, &ring, 8, &tile, 0), a));
    cr_assert(eq(u16, pfc_accel_ring_fetch(&ir, &ring, 7, &tile, 0), a));
    cr_assert(eq(sz, ir.ops_len, 2));
    cr_assert(ne(u16, pfc_accel_ring_fetch(&ir, &ring, 9, &tile, 0), a));
    cr_assert(eq(u16, pfc_accel_ring_fetch(&ir, &ring, 7, &tile, 0), a));
    cr_assert(eq(sz, ir.ops_len, 3));
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
}

/* ---- batches ---- */

/* Three columns on eight lanes: two products fit beside each other, three do not. */
Test(passes, products_of_a_batch_share_the_lanes)
{
    static const uint64_t cycles[] = { 2 * 6, 2 * 6, 2 * 6, 2 * 6 * 2 };

    for (uint32_t batch = 0; batch <= 3; batch++) {
        pfc_accel_access parts[PFC_ACCEL_MAX_ACCESSES];
        pfc_accel_cmd *cmd;
        uint64_t drain = 0;
        small s;

        small_init(&s, PFC_ACCEL_F32);
        cmd = small_vector(&s, PFC_ACCEL_OP_MATVEC, 2, 3, 6);
        cmd->batch = batch;
        cmd->b = 1024;
        cr_assert(eq(u64, pfc_accel_cmd_cycles(&s.chip, &s.program, cmd, &drain), cycles[batch]));
        cr_assert(eq(sz, pfc_accel_cmd_accesses(&s.program, cmd, parts), 3));
        cr_assert(eq(u64, parts[1].bytes, 4 * 6 * 3 * PFC_MAX(batch, 1)));
        cr_assert(eq(u64, parts[2].bytes, 4 * 2 * 3 * PFC_MAX(batch, 1)));
        cr_assert(eq(int, pfc_accel_program_check(&s.program, &s.chip, &err), PFC_OK), "%s",
                  err.msg);
    }
}

/* The array has no batches: it takes products one by one, and a program may not ask for them. */
Test(passes, the_array_takes_a_batch_one_by_one)
{
    const pfc_accel_chip chip = tight();
    pfc_accel_ir ir;
    pfc_accel_tile_op *op;
    uint16_t bufs[3];
    small s;

    pfc_accel_ir_init(&ir, &chip, PFC_ACCEL_F32, PFC_ACCEL_PIPELINED_WS);
    bufs[0] = pfc_accel_ir_buffer(&ir, PFC_ACCEL_SRAM, 3 * 128);
    bufs[1] = pfc_accel_ir_buffer(&ir, PFC_ACCEL_SRAM, 3 * 1024);
    bufs[2] = pfc_accel_ir_buffer(&ir, PFC_ACCEL_ACC, 3 * 128);
    op = pfc_accel_ir_op(&ir, PFC_ACCEL_OP_MATMUL, 0);
    op->cmd.m = 2;
    op->cmd.n = op->cmd.k = 16;
    op->a = bufs[0];
    op->b = bufs[1];
    op->acc = bufs[2];
    op->batch = 3;
    pfc_accel_pass_place(&ir);
    pfc_accel_pass_schedule(&ir);
    cr_assert(eq(int, pfc_accel_pass_semaphores(&ir, &err), PFC_OK));
    cr_assert(eq(sz, ir.p->len, 3));
    for (size_t i = 0; i < 3; i++) {
        cr_assert(eq(u64, ir.p->cmds[i].a, ir.p->cmds[0].a + 128 * i));
        cr_assert(eq(u64, ir.p->cmds[i].b, ir.p->cmds[0].b + 1024 * i));
        cr_assert(eq(u64, ir.p->cmds[i].acc, 128 * i));
    }
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
    small_init(&s, PFC_ACCEL_F32);
    small_matmul(&s, 2, 3, 4)->batch = 2;
    cr_assert(eq(int, pfc_accel_program_check(&s.program, &s.chip, &err), PFC_EINVAL));
}

/* ---- text ---- */

Test(passes, each_pass_can_be_printed_and_commands_name_their_line)
{
    static const char *const wants[] = { "tiles of m",   "either unit: matmul",
                                         "%0 sram [0, ", "vector matvec",
                                         "after t",      "no race in" };
    const pfc_accel_problem problem = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 1, 64, 64 } };
    const pfc_accel_chip chip = tight();
    pfc_accel_pass pass;

    for (size_t i = 0; pfc_accel_pass_name(i); i++) {
        pfc_buf text;
        pfc_accel_compile_opts opts = { .dump = &text, .dump_after = (pfc_accel_pass)i };
        pfc_accel_program *p = NULL;

        pfc_buf_init(&text, 1 << 20);
        cr_assert(eq(int,
                     pfc_accel_compile(&problem, &chip, PFC_ACCEL_PIPELINED_WS, &opts, &p, &err),
                     PFC_OK));
        cr_assert(strstr(pfc_buf_text(&text), wants[i]) != NULL, "%s", pfc_buf_text(&text));
        for (size_t c = 0; c < p->len; c++)
            cr_assert(p->cmds[c].line >= 1 && p->cmds[c].line <= p->lines_len);
        cr_assert(eq(int, pfc_accel_pass_parse(pfc_accel_pass_name(i), &pass, &err), PFC_OK));
        cr_assert(eq(int, (int)pass, (int)i));
        pfc_accel_program_free(p);
        pfc_buf_clear(&text);
    }
    cr_assert(eq(int, pfc_accel_pass_parse("parse", &pass, &err), PFC_ENOTFOUND));
}

/* ---- attention ---- */

/* 256 queries and keys of one head, causal: masked tiles are neither multiplied nor weighed. */
Test(passes, masked_tiles_are_left_out)
{
    const pfc_accel_problem problem = { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 1, 256, 16, 1 } };
    const pfc_accel_chip chip = tight();
    pfc_accel_program *p = compiled(&problem, &chip);
    uint64_t pairs = 0;
    uint64_t rows = 0;

    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *cmd = &p->cmds[i];

        if (cmd->op != PFC_ACCEL_OP_ATT_STEP)
            continue;
        /* its last row sees its first column and its last one sees its last column */
        cr_assert(ge(i64, (int64_t)cmd->m - 1 + cmd->diagonal, (int64_t)cmd->n - 1));
        pairs += (uint64_t)cmd->m * cmd->n;
        rows = PFC_MAX(rows, cmd->m);
    }
    cr_assert(ge(u64, pairs, 256 * 257 / 2));
    cr_assert(le(u64, pairs, 256 * 257 / 2 + 256 * rows / 2));
    pfc_accel_program_free(p);
}

/* 32 heads of 1024 queries on the largest array: the vector unit takes the first ones of all heads
 * at once. Every pair of a query and a key that it sees is weighed once. */
Test(passes, first_queries_of_all_heads_lie_side_by_side)
{
    const pfc_accel_problem problem = { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 32, 1024, 32, 1 } };
    pfc_accel_chip chip;
    pfc_accel_program *p;
    uint64_t pairs = 0;
    uint64_t products[2] = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-xf", &chip, &err), PFC_OK), "%s", err.msg);
    p = compiled(&problem, &chip);
    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *cmd = &p->cmds[i];

        products[0] += cmd->op == PFC_ACCEL_OP_MATMUL;
        products[1] += cmd->op == PFC_ACCEL_OP_MATVEC;
        if (cmd->op == PFC_ACCEL_OP_MATVEC)
            cr_assert(eq(u64, cmd->batch, 32));
        if (cmd->op != PFC_ACCEL_OP_ATT_STEP)
            continue;
        for (int64_t row = 0; row < cmd->m; row++) {
            const int64_t seen = (cmd->period ? row % cmd->period : row) + cmd->diagonal + 1;

            pairs += (uint64_t)PFC_MAX(PFC_MIN(seen, (int64_t)cmd->n), 0);
        }
    }
    cr_assert(gt(u64, products[0], 0));
    cr_assert(gt(u64, products[1], 0));
    cr_assert(eq(u64, pairs, 32ull * 1024 * 1025 / 2));
    pfc_accel_program_free(p);
}
