#include "tests/core/analysis/rules/simulated.h"

static pfc_code set_chip(pfc_profile *p, const pfc_accel_chip *chip, pfc_err *err)
{
    const struct {
        const char *name;
        uint64_t value;
    } constants[] = {
        { "chip_clock_mhz", chip->clock_mhz },
        { "chip_array_rows", chip->array_rows },
        { "chip_array_cols", chip->array_cols },
        { "chip_array_load_rows", chip->array_load_rows },
        { "chip_f32_passes", chip->f32_passes },
        { "chip_vector_lanes", chip->vector_lanes },
        { "chip_vector_latency", chip->vector_latency },
        { "chip_sram_bytes", chip->sram_bytes },
        { "chip_sram_banks", chip->sram_banks },
        { "chip_acc_bytes", chip->acc_bytes },
        { "chip_dma_engines", chip->dma_engines },
        { "chip_dma_bytes", chip->dma_bytes },
        { "chip_dma_setup", chip->dma_setup },
        { "chip_dma_window", chip->dma_window },
        { "chip_hbm_mbps", chip->hbm_mbps },
        { "chip_hbm_channels", chip->hbm_channels },
        { "chip_hbm_burst", chip->hbm_burst },
        { "chip_hbm_interleave", chip->hbm_interleave },
        { "chip_hbm_row_miss", chip->hbm_row_miss },
        { "chip_hbm_turnaround", chip->hbm_turnaround },
        { "chip_hbm_latency", chip->hbm_latency },
    };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(constants) && !code; i++)
        code = pfc_profile_set(p, constants[i].name, (double)constants[i].value, err);
    return code;
}

/* Arguments one behind the other, as the driver would place them. */
static pfc_code run_program(pfc_accel_run *run, pfc_accel_whatif *whatif, pfc_err *err)
{
    uint64_t at = 1 << 20;
    pfc_code code;

    for (size_t i = 0; i < run->program->args_len; i++) {
        run->addr[i] = at;
        at += (run->program->arg_bytes[i] + 255) / 256 * 256;
    }
    code = pfc_accel_execute(run, err);
    if (!code && whatif)
        code = pfc_accel_whatif_run(run, whatif, err);
    return code;
}

pfc_code simulate(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                  const pfc_accel_gemm_tiles *tiles, pfc_profile *out, pfc_accel_whatif *whatif,
                  pfc_err *err)
{
    const pfc_accel_compile_opts opts = { .gemm_tiles = tiles };
    pfc_accel_run run = { .chip = chip, .timing_only = true };
    pfc_accel_program *program = NULL;
    pfc_code code = pfc_accel_compile(problem, chip, PFC_ACCEL_PIPELINED_WS, &opts, &program, err);

    pfc_profile_init(out, pfc_accel_kernel_name(problem->kernel));
    if (code)
        return code;
    run.program = program;
    code = run_program(&run, whatif, err);
    for (pfc_accel_counter i = 0; i < PFC_ACCEL_COUNTERS_LEN && !code; i++)
        code = pfc_profile_set(out, pfc_accel_counter_name(i), (double)run.counters.v[i], err);
    if (!code)
        code = set_chip(out, chip, err);
    if (!code)
        code = pfc_profile_set_fact(out, "simulator", PFC_ACCEL_VERSION, err);
    pfc_accel_program_free(program);
    return code;
}
