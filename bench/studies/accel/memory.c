/*
 * Microbenchmarks of DMA and HBM on every chip, from commands and not from a compiler: streams of
 * all engines, random bursts, and a sweep over the size of a transfer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/studies/accel/studies.h"
#include "core/base/rng.h"

#define BYTES      (32ull << 20) /* that a stream moves */
#define RANDOM     64            /* bytes of a random access */
#define ACCESSES   65536         /* of them */
#define SWEEP_FROM 64
#define SWEEP_TO   65536
#define SPACE      (1ull << 28) /* of the argument: far more than all open rows */

typedef struct plan {
    uint64_t size; /* bytes of a transfer */
    uint64_t rows; /* pieces that a transfer consists of; `size` bytes each */
    uint64_t stride;
    uint64_t transfers;
    bool random;
    bool store;
} plan;

/* Transfers in turn over the engines, one after the other in memory or at random. */
static pfc_code share_of_peak(const pfc_accel_chip *chip, const plan *p, double *out, pfc_err *err)
{
    pfc_accel_program program = { .len = p->transfers,
                                  .tokens_len = (uint32_t)p->transfers,
                                  .dtype = PFC_ACCEL_INT8,
                                  .mode = PFC_ACCEL_PIPELINED_WS,
                                  .sram_used = chip->sram_bytes,
                                  .arg_bytes = { SPACE },
                                  .args_len = 1 };
    pfc_accel_run run = { .chip = chip, .program = &program, .timing_only = true };
    const uint64_t bytes = p->size * p->rows * p->transfers;
    const uint64_t places = SPACE / p->stride - p->rows + 1;
    pfc_rng rng;
    pfc_code code;

    pfc_rng_seed(&rng, 5);
    program.cmds = pfc_calloc(p->transfers, sizeof(*program.cmds));
    for (uint64_t i = 0; i < p->transfers; i++)
        program.cmds[i] = (pfc_accel_cmd){
            .unit = PFC_ACCEL_UNIT_DMA,
            .op = p->store ? PFC_ACCEL_OP_STORE : PFC_ACCEL_OP_LOAD,
            .queue = (uint8_t)(i % chip->dma_engines),
            .token = (uint32_t)i,
            .offset = p->random ? pfc_rng_below(&rng, places) * p->stride
                                : i * p->rows * p->stride % SPACE,
            .stride = p->stride,
            .m = (uint32_t)p->rows,
            .n = (uint32_t)p->size,
            .elem = 1,
        };
    code = pfc_accel_program_check(&program, chip, err);
    if (!code)
        code = pfc_accel_execute(&run, err);
    free(program.cmds);
    *out = (double)bytes * (double)chip->clock_mhz /
           ((double)PFC_MAX(run.counters.v[PFC_ACCEL_CYCLES], 1) * (double)chip->hbm_mbps);
    return code;
}

/* Independent 64-byte accesses, as gathers make them: a descriptor of one row each would measure
 * the setup, so the commands take an engine that has none. */
static pfc_code random_share(const pfc_accel_chip *chip, double *out, pfc_err *err)
{
    const plan p = { RANDOM, 1, RANDOM, ACCESSES, true, false };
    pfc_accel_chip bare = *chip;

    bare.dma_setup = 0;
    bare.dma_engines = PFC_ACCEL_MAX_DMA;
    bare.dma_bytes = RANDOM;
    return share_of_peak(&bare, &p, out, err);
}

/* The best of transfers of 2 KiB to 1 MiB: at some powers of two the engines meet in few banks, and
 * the sweep shows what that costs. */
static pfc_code stream_share(const pfc_accel_chip *chip, bool store, double *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    *out = 0;
    for (uint64_t size = 2048; size <= 1u << 20 && !code; size *= 2) {
        const plan p = { size, 1, size, BYTES / size, false, store };
        double share = 0;

        code = share_of_peak(chip, &p, &share, err);
        *out = PFC_MAX(*out, share);
    }
    return code;
}

static pfc_code sweep(const pfc_accel_chip *chip, pfc_err *err)
{
    pfc_code code = PFC_OK;

    printf("%-12s transfers of", chip->name);
    for (uint64_t size = SWEEP_FROM; size <= SWEEP_TO && !code; size *= 2) {
        const plan p = { size, 1, size, PFC_MIN(BYTES / size, (uint64_t)ACCESSES), false, false };
        double share = 0;

        code = share_of_peak(chip, &p, &share, err);
        printf("  %llu: %.1f %%", (unsigned long long)size, share * 100);
        study_figure("efficiency_pct", share * 100, "accel/memory/transfers-of-%llu-bytes/%s",
                     (unsigned long long)size, chip->name);
    }
    printf("\n");
    return code;
}

pfc_code study_memory(pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; pfc_accel_chip_name(i) && !code; i++) {
        pfc_accel_chip chip;
        double read = 0;
        double written = 0;
        double random = 0;

        code = pfc_accel_chip_load(pfc_accel_chip_name(i), &chip, err);
        if (!code)
            code = stream_share(&chip, false, &read, err);
        if (!code)
            code = stream_share(&chip, true, &written, err);
        if (!code)
            code = random_share(&chip, &random, err);
        if (code)
            break;
        printf("%-12s share of HBM's peak: stream read %.1f %%, written %.1f %%, random %d B "
               "%.1f %%\n",
               chip.name, read * 100, written * 100, RANDOM, random * 100);
        study_figure("efficiency_pct", read * 100, "accel/memory/stream/%s", chip.name);
        study_figure("efficiency_pct", written * 100, "accel/memory/stream-written/%s", chip.name);
        study_figure("efficiency_pct", random * 100, "accel/memory/random-%d-bytes/%s", RANDOM,
                     chip.name);
        code = sweep(&chip, err);
    }
    return code;
}
