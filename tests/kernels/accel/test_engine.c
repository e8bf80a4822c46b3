/* The engine on small programs: what it refuses, and times that can be worked out by hand. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"

#include "tests/check/check.h"

static pfc_accel_chip chip;
static pfc_accel_cmd cmds[8];
static pfc_accel_program program;
static pfc_err err;

static void setup(void)
{
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    program = (pfc_accel_program){ .cmds = cmds,
                                   .tokens_len = 8,
                                   .dtype = PFC_ACCEL_INT8,
                                   .sram_used = 65536,
                                   .acc_used = 65536,
                                   .args_len = 1,
                                   .arg_bytes = { 65536 } };
    memset(cmds, 0, sizeof(cmds));
}

TestSuite(engine, .init = setup);

static pfc_accel_cmd *add_load(uint32_t rows, uint32_t cols, uint64_t stride)
{
    pfc_accel_cmd *c = &cmds[program.len];

    *c = (pfc_accel_cmd){ .unit = PFC_ACCEL_UNIT_DMA,
                          .op = PFC_ACCEL_OP_LOAD,
                          .token = (uint32_t)program.len++,
                          .stride = stride,
                          .m = rows,
                          .n = cols,
                          .elem = 1 };
    return c;
}

static pfc_accel_cmd *add_matmul(uint32_t m, uint32_t n, uint32_t k)
{
    pfc_accel_cmd *c = &cmds[program.len];

    *c = (pfc_accel_cmd){ .unit = PFC_ACCEL_UNIT_TENSOR,
                          .op = PFC_ACCEL_OP_MATMUL,
                          .token = (uint32_t)program.len++,
                          .m = m,
                          .n = n,
                          .k = k };
    return c;
}

static pfc_accel_counters timed(unsigned ideal)
{
    pfc_accel_run run = { .chip = &chip, .program = &program, .timing_only = true, .ideal = ideal };

    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_execute(&run, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_counters_check(&run.counters, &chip, &err), PFC_OK), "%s", err.msg);
    return run.counters;
}

/* pfc-edge: setup 40; 256 bytes of one channel at 12.8 bytes a cycle are 20 cycles, its first row
 * is not open: 8 more; latency 90. */
Test(engine, one_block_of_memory_by_hand)
{
    pfc_accel_counters c;

    add_load(1, 256, 256);
    c = timed(0);
    cr_assert(eq(u64, c.v[PFC_ACCEL_CYCLES], 40 + 20 + 8 + 90));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_READ], 256));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_ROW_MISS], 1));
    cr_assert(eq(u64, c.v[PFC_ACCEL_DMA_BUSY], 256 / 32));
    cr_assert(eq(u64, c.v[PFC_ACCEL_DMA_SETUP], 40));
}

/* Four blocks lie in four channels, which work at the same time. */
Test(engine, channels_work_side_by_side)
{
    add_load(1, 1024, 1024);
    cr_assert(eq(u64, timed(0).v[PFC_ACCEL_CYCLES], 40 + 32 + 90));
}

/* Single bytes move whole bursts of 64. */
Test(engine, narrow_rows_move_whole_bursts)
{
    pfc_accel_counters c;

    add_load(16, 1, 4096);
    c = timed(0);
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_READ], 16 * 64));
    cr_assert(eq(u64, c.v[PFC_ACCEL_SRAM_WRITE], 16));
}

/* 16x16x16 on 16x16: 15 before the first row, 16 of stream, 30 of drain; the second product follows
 * at once, its weights already there. A third one that waits for the load does not. */
Test(engine, weights_are_hidden_behind_the_stream)
{
    add_matmul(16, 16, 16);
    cr_assert(eq(u64, timed(0).v[PFC_ACCEL_CYCLES], 15 + 16 + 30));
    add_matmul(16, 16, 16);
    cr_assert(eq(u64, timed(0).v[PFC_ACCEL_CYCLES], 15 + 32 + 30));
}

Test(engine, a_stall_is_named_after_what_was_waited_for)
{
    pfc_accel_counters c;
    pfc_accel_cmd *use;

    add_load(1, 256, 256);
    use = add_matmul(16, 16, 16);
    use->waits[use->waits_len++] = 0;
    c = timed(0);
    cr_assert(eq(u64, c.v[PFC_ACCEL_TENSOR_STALL_DMA], 158));
    cr_assert(eq(u64, c.v[PFC_ACCEL_CYCLES], 158 + 61));
    cr_assert(eq(u64, c.v[PFC_ACCEL_TENSOR_FILL_DRAIN], 30));
    cr_assert(eq(u64, c.v[PFC_ACCEL_TENSOR_IDLE], 0));
}

/* Bank 0 holds the operands and is being written: 2048 bytes through a port of 32 are 64 cycles,
 * more than the 16 that the product has to lose. */
Test(engine, transfers_and_products_collide_in_a_bank)
{
    pfc_accel_cmd *load = add_load(1, 2048, 2048);
    pfc_accel_counters c;

    add_matmul(16, 16, 16);
    load->a = 4096;
    c = timed(0);
    cr_assert(eq(u64, c.v[PFC_ACCEL_SRAM_CONFLICT], 0)); /* the product started first */
    program.len = 0;
    load = add_load(1, 2048, 2048);
    load->a = 4096;
    load = add_load(1, 64, 64);
    load->queue = 1;
    load = add_matmul(16, 16, 16);
    load->waits[load->waits_len++] = 1;
    c = timed(PFC_ACCEL_IDEAL_LATENCY);
    cr_assert(eq(u64, c.v[PFC_ACCEL_SRAM_CONFLICT], 1));
    cr_assert(eq(u64, c.v[PFC_ACCEL_TENSOR_STALL_BANK], 16));
    c = timed(PFC_ACCEL_IDEAL_LATENCY | PFC_ACCEL_IDEAL_BANKS);
    cr_assert(eq(u64, c.v[PFC_ACCEL_TENSOR_STALL_BANK], 0));
}

/* Over a long stream refresh and row misses leave some 87 % of the peak: 1 MiB in 4 KiB groups by
 * four engines, peak 51.2 bytes a cycle. */
Test(engine, streaming_reaches_what_memory_reaches)
{
    pfc_accel_counters c;
    double share;

    program.arg_bytes[0] = 1 << 20;
    program.sram_used = 1 << 20;
    for (unsigned i = 0; i < 4; i++) {
        pfc_accel_cmd *load = add_load(64, 4096, 4096);

        load->queue = (uint8_t)i;
        load->offset = load->a = (uint64_t)i << 18;
    }
    c = timed(0);
    share = (double)(1 << 20) / (double)c.v[PFC_ACCEL_CYCLES] / 51.2;
    cr_assert(gt(dbl, share, 0.80));
    cr_assert(lt(dbl, share, 0.95));
    cr_assert(gt(u64, c.v[PFC_ACCEL_HBM_REFRESH], 0));
}

Test(engine, programs_that_reach_outside_are_refused)
{
    pfc_accel_cmd *c = add_load(1, 256, 256);
    const pfc_accel_cmd good = *c;

    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_OK), "%s", err.msg);
    c->offset = 65536 - 255;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    *c = good;
    c->a = 65536;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    *c = good;
    c->arg = 1;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    *c = good;
    c->queue = 4;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    *c = good;
    c->stride = 255;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    *c = good;
    c->m = 2;
    c->stride = UINT64_MAX;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    *c = good;
    c->token = 8;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    *c = good;
    c->waits[c->waits_len++] = 0; /* itself */
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "comes later") != NULL, "%s", err.msg);
    program.len = 0;
    c = add_matmul(256, 256, 256);
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_EINVAL));
    program.len = 0;
    program.sram_used = chip.sram_bytes + 1;
    cr_assert(eq(int, pfc_accel_program_check(&program, &chip, &err), PFC_ETOOBIG));
}

Test(engine, bf16_rounds_to_nearest_even)
{
    static const struct {
        float v;
        uint16_t want;
    } rows[] = {
        { 1.0f, 0x3f80 },        { 1.00390625f, 0x3f80 }, /* half way, down to even */
        { 1.01171875f, 0x3f82 },                          /* half way, up to even */
        { 1.0040f, 0x3f81 },     { -0.0f, 0x8000 },
        { 3.4e38f, 0x7f80 }, /* rounds up to infinity */
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(u16, pfc_accel_f32_to_bf16(rows[i].v), rows[i].want));
    cr_assert(eq(flt, pfc_accel_bf16_to_f32(0x3f81), 1.0078125f));
}
