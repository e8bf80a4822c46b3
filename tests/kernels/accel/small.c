#include "tests/kernels/accel/small.h"

#include <string.h>

#include "tests/check/check.h"

void small_init(small *s, pfc_accel_dtype dtype)
{
    memset(s, 0, sizeof *s);
    s->chip = (pfc_accel_chip){ .name = "small",
                                .clock_mhz = 1000,
                                .array_rows = 4,
                                .array_cols = 3,
                                .array_load_rows = 1,
                                .f32_passes = 2,
                                .vector_lanes = 8,
                                .vector_latency = 5,
                                .vector_reduce = 3,
                                .vector_exp = 4,
                                .sram_bytes = 4096,
                                .sram_banks = 4,
                                .sram_port_bytes = 16,
                                .acc_bytes = 4096,
                                .dma_engines = 2,
                                .dma_bytes = 8,
                                .dma_setup = 10,
                                .dma_window = 2,
                                .hbm_bytes = 1 << 20,
                                .hbm_mbps = 8000,
                                .hbm_channels = 2,
                                .hbm_interleave = 64,
                                .hbm_burst = 16,
                                .hbm_banks = 2,
                                .hbm_row_bytes = 256,
                                .hbm_row_miss = 7,
                                .hbm_turnaround = 6,
                                .hbm_refresh_every = 1000,
                                .hbm_refresh = 50,
                                .hbm_latency = 20,
                                .pcie_gen = 3,
                                .pcie_lanes = 1,
                                .pcie_payload = 128 };
    s->program = (pfc_accel_program){ .cmds = s->cmds,
                                      .dtype = dtype,
                                      .sram_used = 4096,
                                      .acc_used = 4096,
                                      .args_len = 1,
                                      .arg_bytes = { 65536 } };
}

static pfc_accel_cmd *add(small *s, pfc_accel_cmd cmd)
{
    cr_assert(lt(sz, s->program.len, SMALL_CMDS));
    cmd.token = s->program.tokens_len++;
    s->cmds[s->program.len] = cmd;
    return &s->cmds[s->program.len++];
}

pfc_accel_cmd *small_transfer(small *s, pfc_accel_op op, uint8_t queue, uint32_t rows,
                              uint32_t cols, uint64_t stride)
{
    return add(s, (pfc_accel_cmd){ .unit = PFC_ACCEL_UNIT_DMA,
                                   .op = op,
                                   .queue = queue,
                                   .stride = stride,
                                   .m = rows,
                                   .n = cols,
                                   .elem = 1 });
}

pfc_accel_cmd *small_matmul(small *s, uint32_t m, uint32_t n, uint32_t k)
{
    return add(
        s, (pfc_accel_cmd){
               .unit = PFC_ACCEL_UNIT_TENSOR, .op = PFC_ACCEL_OP_MATMUL, .m = m, .n = n, .k = k });
}

pfc_accel_cmd *small_vector(small *s, pfc_accel_op op, uint32_t m, uint32_t n, uint32_t k)
{
    return add(s,
               (pfc_accel_cmd){ .unit = PFC_ACCEL_UNIT_VECTOR, .op = op, .m = m, .n = n, .k = k });
}

pfc_accel_cmd *small_add(small *s, small_step what)
{
    pfc_accel_cmd *cmd = NULL;

    switch (what) {
    case SMALL_LOAD:
        return small_transfer(s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    case SMALL_STORE:
        return small_transfer(s, PFC_ACCEL_OP_STORE, 1, 1, 64, 64);
    case SMALL_SUMS:
        cmd = small_transfer(s, PFC_ACCEL_OP_STORE_ACC, 1, 1, 16, 64);
        cmd->elem = 4;
        return cmd;
    case SMALL_PRODUCT:
        return small_matmul(s, 5, 4, 6);
    case SMALL_WEIGH:
        return small_vector(s, PFC_ACCEL_OP_SOFTMAX, 2, 5, 0);
    }
    return cmd;
}

void small_wait(small *s, uint32_t earlier)
{
    pfc_accel_cmd *cmd = &s->cmds[s->program.len - 1];

    cmd->waits[cmd->waits_len++] = earlier;
}

pfc_accel_counters small_run(const small *s, unsigned ideal)
{
    pfc_accel_run run = {
        .chip = &s->chip, .program = &s->program, .timing_only = true, .ideal = ideal
    };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_program_check(&s->program, &s->chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_execute(&run, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_counters_check(&run.counters, &s->chip, &err), PFC_OK), "%s",
              err.msg);
    return run.counters;
}
