/* Schedule files: refused with the file's name, or tiles with which a GEMM is right or refused. */
#include <string.h>

#include "kernels/accel/text/text.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 40, 50, 60 } };
    pfc_accel_compile_opts opts = { 0 };
    pfc_accel_program *program = NULL;
    pfc_accel_gemm_tiles tiles;
    pfc_accel_schedule s;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    if (pfc_accel_schedule_parse((const char *)data, size, "x.schedule", &s, &err)) {
        FUZZ_CHECK(strncmp(err.msg, "x.schedule:", 11) == 0);
        return 0;
    }
    tiles = pfc_accel_schedule_tiles(&s, &p);
    FUZZ_CHECK(tiles.m >= 1 && tiles.m <= 40 && tiles.n <= 50 && tiles.k <= 60);
    opts.gemm_tiles = &tiles;
    FUZZ_CHECK(pfc_accel_chip_load("pfc-edge", &chip, &err) == PFC_OK);
    if (tiles.m * tiles.n * tiles.k < 64) /* thousands of commands, slow for a fuzzer */
        return 0;
    FUZZ_CHECK(pfc_accel_compile(&p, &chip, PFC_ACCEL_PIPELINED_WS, &opts, &program, &err) ==
               PFC_OK);
    pfc_accel_program_free(program);
    return 0;
}
