/* Capacity limits of the tile compiler, to the byte: the largest problem that fits and the first
 * that does not. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/compiler/ir.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/small.h"

static pfc_err err;

/* A 16 x 16 array with room for anything and two engines; memory as the small chip has it. */
static pfc_accel_chip roomy(void)
{
    small s;

    small_init(&s, PFC_ACCEL_INT8);
    s.chip.array_rows = s.chip.array_cols = 16;
    s.chip.sram_bytes = 1 << 24;
    s.chip.acc_bytes = 1 << 24;
    return s.chip;
}

typedef struct fit {
    pfc_accel_problem problem;
    uint64_t sram_least; /* bytes with which it is compiled, and with one less it is not */
    uint64_t acc_least;
} fit;

static pfc_code compile(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                        pfc_accel_program **program)
{
    err = (pfc_err){ 0 };
    *program = NULL;
    return pfc_accel_compile(problem, chip, PFC_ACCEL_PIPELINED_WS, NULL, program, &err);
}

static void check_compiles(const fit *f, uint64_t sram, uint64_t acc, bool fits, size_t row)
{
    pfc_accel_chip chip = roomy();
    pfc_accel_program *program = NULL;
    pfc_code code;

    chip.sram_bytes = sram;
    chip.acc_bytes = acc;
    code = compile(&f->problem, &chip, &program);
    cr_assert(eq(int, code, fits ? PFC_OK : PFC_ETOOBIG), "row %zu, %llu and %llu bytes: %s", row,
              (unsigned long long)sram, (unsigned long long)acc, err.msg);
    if (fits) {
        cr_assert(le(u64, program->sram_used, sram));
        cr_assert(le(u64, program->acc_used, acc));
    }
    pfc_accel_program_free(program);
}

Test(capacity, the_smallest_tiles_decide_what_fits)
{
    static const fit fits[] = {
        /* two buffers of each operand, rounded to 64 bytes, and of the sums */
        { { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 16, 16, 16 } }, 4 * 256, 2 * 1024 },
        { { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 16, 16, 16 } }, 4 * 512, 2 * 1024 },
        /* few rows: a depth of four is enough */
        { { PFC_ACCEL_GEMM, PFC_ACCEL_F32, { 3, 5, 7 } }, 2 * 64 + 2 * 128, 2 * 60 },
        { { PFC_ACCEL_GEMM, PFC_ACCEL_F32, { 5, 3, 7 } }, 2 * 192 + 2 * 128, 2 * 60 },
        { { PFC_ACCEL_GEMM, PFC_ACCEL_F32, { 7, 5, 3 } }, 2 * 128 + 2 * 64, 2 * 140 },
        /* larger problems come in tiles of the array's size */
        { { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 40, 50, 60 } }, 4 * 256, 2 * 1024 },
        /* queries, keys, values, weights, outputs, statistics of one row, each twice */
        { { PFC_ACCEL_ATTENTION, PFC_ACCEL_F32, { 1, 1, 4 } }, 2 * 6 * 64, 2 * (1 + 4) * 4 },
        { { PFC_ACCEL_ATTENTION, PFC_ACCEL_F32, { 1, 1, 40 } }, 2 * (4 * 192 + 128), 2 * 41 * 4 },
        { { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 2, 300, 40 } },
          2 * (4 * 128 + 128),
          2 * 41 * 4 },
        /* one row, and what scales it */
        { { PFC_ACCEL_SOFTMAX, PFC_ACCEL_F32, { 9, 100 } }, 448, 0 },
        { { PFC_ACCEL_SOFTMAX, PFC_ACCEL_BF16, { 9, 100 } }, 256, 0 },
        { { PFC_ACCEL_RMSNORM, PFC_ACCEL_F32, { 9, 100 } }, 448 + 448, 0 },
        { { PFC_ACCEL_LAYERNORM, PFC_ACCEL_F32, { 9, 100 } }, 832 + 448, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(fits); i++) {
        check_compiles(&fits[i], fits[i].sram_least, fits[i].acc_least, true, i);
        check_compiles(&fits[i], fits[i].sram_least - 1, fits[i].acc_least, false, i);
        if (fits[i].acc_least)
            check_compiles(&fits[i], fits[i].sram_least, fits[i].acc_least - 1, false, i);
    }
}

/* 64 x 64 x 16 of int8: tiles of 16, 32 and 64 rows and columns, each at least in two orders of the
   loops. Two buffers of 16 bytes for each row and column, two sums of 4 bytes for each element. */
Test(capacity, all_tiles_that_fit_are_looked_at)
{
    static const struct {
        uint64_t sram, acc;
        size_t sizes;
    } rows[] = {
        { 1 << 20, 32768, 9 },
        /* up to 512 elements: 16 x 16, 16 x 32, 32 x 16 */
        { 1 << 20, 4096, 3 },
        { 1 << 20, 4095, 1 },
        { 1 << 20, 2048, 1 },
        { 1 << 20, 2047, 0 },
        /* up to 64 rows and columns together */
        { 2048, 32768, 4 },
        { 2047, 32768, 3 },
        { 1024, 32768, 1 },
        { 1023, 32768, 0 },
    };
    const pfc_accel_problem problem = { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 64, 64, 16 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_gemm_tiles *tiles = NULL;
        pfc_accel_chip chip = roomy();
        bool seen[65][65] = { { false } };
        size_t sizes = 0;
        size_t len;

        chip.sram_bytes = rows[i].sram;
        chip.acc_bytes = rows[i].acc;
        len = pfc_accel_gemm_tiles_all(&problem, &chip, &tiles);
        for (size_t t = 0; t < len; t++) {
            cr_assert(le(u64, 32 * (tiles[t].m + tiles[t].n), rows[i].sram), "row %zu", i);
            cr_assert(le(u64, 4 * tiles[t].group * tiles[t].m * tiles[t].n, rows[i].acc), "row %zu",
                      i);
            cr_assert(eq(u64, tiles[t].k, 16));
            sizes += !seen[tiles[t].m][tiles[t].n];
            seen[tiles[t].m][tiles[t].n] = true;
        }
        cr_assert(eq(sz, sizes, rows[i].sizes), "row %zu", i);
        free(tiles);
    }
}

/* Each of these chips has half the room of the one before; every choice must fit it. */
Test(capacity, the_choice_fits_whatever_room_there_is)
{
    static const pfc_accel_problem problems[] = {
        { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 1, 300, 16 } },
        { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 8, 300, 16, 0, 1, 2 } },
        { PFC_ACCEL_SOFTMAX, PFC_ACCEL_F32, { 64, 64 } },
        { PFC_ACCEL_RESIDUAL_RMSNORM, PFC_ACCEL_F32, { 64, 64 } },
        { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 2, 300, 200 } },
        { PFC_ACCEL_GEMM_BIAS_ACT, PFC_ACCEL_BF16, { 70, 300, 200, 3 } },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(problems); i++) {
        pfc_accel_chip chip = roomy();
        pfc_accel_program *program = NULL;
        size_t fitted = 0;
        pfc_code code = PFC_OK;

        for (; chip.sram_bytes; chip.sram_bytes /= 2, chip.acc_bytes /= 2) {
            code = compile(&problems[i], &chip, &program);
            if (code)
                break;
            fitted++;
            cr_assert(le(u64, program->sram_used, chip.sram_bytes), "row %zu", i);
            cr_assert(le(u64, program->acc_used, chip.acc_bytes), "row %zu", i);
            pfc_accel_program_free(program);
        }
        cr_assert(eq(int, code, PFC_ETOOBIG), "row %zu: %s", i, err.msg);
        cr_assert(gt(sz, fitted, 8), "row %zu", i);
    }
}

Test(capacity, buffers_get_banks_of_their_own_where_banks_are_many)
{
    static const struct {
        uint64_t banks;
        uint64_t bytes;
        uint64_t rounded; /* banks of 1024 bytes */
    } rows[] = { { 16, 0, 0 },       { 16, 1, 64 },      { 16, 255, 256 },   { 16, 256, 1024 },
                 { 16, 1024, 1024 }, { 16, 1025, 2048 }, { 64, 2049, 3072 }, { 15, 256, 256 },
                 { 15, 257, 320 },   { 15, 1024, 1024 }, { 1, 65, 128 },     { 1, 64, 64 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_chip chip = roomy();

        chip.sram_banks = rows[i].banks;
        chip.sram_bytes = rows[i].banks * 1024;
        cr_assert(eq(u64, pfc_accel_sram_rounded(&chip, rows[i].bytes), rows[i].rounded), "row %zu",
                  i);
    }
}

Test(capacity, banks_are_ranges_of_addresses)
{
    static const struct {
        uint64_t at, bytes, mask;
    } rows[] = { { 0, 0, 0 },       { 0, 1, 1 },     { 0, 1024, 1 }, { 0, 1025, 3 },
                 { 1023, 1, 1 },    { 1023, 2, 3 },  { 1024, 1, 2 }, { 2048, 1024, 4 },
                 { 1024, 2048, 6 }, { 0, 4096, 15 }, { 3071, 2, 12 } };
    pfc_accel_chip chip = roomy();

    chip.sram_bytes = 4096;
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(u64, pfc_accel_sram_banks(&chip, rows[i].at, rows[i].bytes), rows[i].mask),
                  "row %zu", i);
}

/* 3 x 5 x 7 of f32: a product's operands have 84 and 140 bytes, rows 60, gamma and beta 20 each, an
   output tile 84. Each operand ends with its bank, then reaches a byte into the next one. */
Test(capacity, a_command_touches_the_banks_of_its_operands)
{
    static const struct {
        pfc_accel_op op;
        uint64_t a, b;
        uint64_t mask;
    } rows[] = {
        { PFC_ACCEL_OP_LOAD, 1024 - 15, 0, 1 },
        { PFC_ACCEL_OP_LOAD, 1024 - 14, 0, 3 },
        { PFC_ACCEL_OP_STORE, 1024 - 15, 0, 1 },
        { PFC_ACCEL_OP_STORE, 1024 - 14, 0, 3 },
        { PFC_ACCEL_OP_STORE_ACC, 0, 0, 0 },
        { PFC_ACCEL_OP_MATMUL, 1024 - 84, 3072 - 140, 1 | 4 },
        { PFC_ACCEL_OP_MATMUL, 1024 - 83, 3072 - 140, 1 | 2 | 4 },
        { PFC_ACCEL_OP_MATMUL, 1024 - 84, 3072 - 139, 1 | 4 | 8 },
        { PFC_ACCEL_OP_SOFTMAX, 1024 - 60, 3072, 1 },
        { PFC_ACCEL_OP_SOFTMAX, 1024 - 59, 3072, 3 },
        { PFC_ACCEL_OP_RMSNORM, 1024 - 60, 3072 - 20, 1 | 4 },
        { PFC_ACCEL_OP_RMSNORM, 1024 - 59, 3072 - 20, 1 | 2 | 4 },
        { PFC_ACCEL_OP_RMSNORM, 1024 - 60, 3072 - 19, 1 | 4 | 8 },
        { PFC_ACCEL_OP_LAYERNORM, 1024 - 60, 3072 - 40, 1 | 4 },
        { PFC_ACCEL_OP_LAYERNORM, 1024 - 59, 3072 - 40, 1 | 2 | 4 },
        { PFC_ACCEL_OP_LAYERNORM, 1024 - 60, 3072 - 39, 1 | 4 | 8 },
        { PFC_ACCEL_OP_ATT_STEP, 1024 - 60, 3072, 1 | 8 },
        { PFC_ACCEL_OP_ATT_STEP, 1024 - 59, 3072, 3 | 8 },
        { PFC_ACCEL_OP_ATT_END, 1024 - 84, 3072, 1 | 8 },
        { PFC_ACCEL_OP_ATT_END, 1024 - 83, 3072, 3 | 8 },
    };
    const pfc_accel_program program = { .dtype = PFC_ACCEL_F32 };
    pfc_accel_chip chip = roomy();

    chip.sram_bytes = 4096;
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_accel_cmd cmd = {
            .op = rows[i].op, .m = 3, .n = 5, .k = 7, .elem = 1, .a = rows[i].a, .b = rows[i].b
        };

        cr_assert(eq(u64, pfc_accel_cmd_banks(&chip, &program, &cmd), rows[i].mask), "row %zu", i);
    }
}

/* ---- problems ---- */

Test(capacity, every_parameter_is_held_to_its_range)
{
    static const struct {
        pfc_accel_kernel kernel;
        const char *name;
        const char *params[PFC_ACCEL_MAX_PARAMS];
        int64_t max[PFC_ACCEL_MAX_PARAMS];
    } rows[] = {
        { PFC_ACCEL_GEMM, "gemm", { "m", "n", "k" }, { 65536, 65536, 65536 } },
        { PFC_ACCEL_ATTENTION,
          "attention",
          { "h", "s", "d", "causal", "q", "kv" },
          { 1024, 65536, 1024, 1, 65536, 1024 } },
        { PFC_ACCEL_LAYERNORM, "layernorm", { "rows", "cols" }, { 65536, 65536 } },
        { PFC_ACCEL_RMSNORM, "rmsnorm", { "rows", "cols" }, { 65536, 65536 } },
        { PFC_ACCEL_SOFTMAX, "softmax", { "rows", "cols" }, { 65536, 65536 } },
        { PFC_ACCEL_GEMM_BIAS_ACT,
          "gemm_bias_act",
          { "m", "n", "k", "act" },
          { 65536, 65536, 65536, 3 } },
        { PFC_ACCEL_RESIDUAL_RMSNORM, "residual_rmsnorm", { "rows", "cols" }, { 65536, 65536 } },
    };
    const pfc_accel_chip chip = roomy();

    for (size_t r = 0; r < PFC_ARRAY_LEN(rows); r++) {
        pfc_accel_kernel kernel = PFC_ACCEL_GEMM;

        cr_assert(eq(str, (char *)pfc_accel_kernel_name(r), (char *)rows[r].name));
        cr_assert(eq(int, pfc_accel_kernel_parse(rows[r].name, &kernel, &err), PFC_OK));
        cr_assert(eq(int, (int)kernel, (int)rows[r].kernel));
        for (size_t i = 0; i < PFC_ACCEL_MAX_PARAMS; i++) {
            /* with the other parameters 0 there is nothing to do, and nothing that is too big */
            pfc_accel_problem problem = { .kernel = rows[r].kernel, .dtype = PFC_ACCEL_F32 };
            pfc_accel_program *program = NULL;
            const char *name = pfc_accel_param_name(rows[r].kernel, i);

            cr_assert(eq(int, name != NULL, rows[r].params[i] != NULL));
            if (!name)
                continue;
            cr_assert(eq(str, (char *)name, (char *)rows[r].params[i]));
            problem.p[i] = rows[r].max[i];
            cr_assert(eq(int, compile(&problem, &chip, &program), PFC_OK), "%s", err.msg);
            cr_assert(eq(sz, program->len, 0));
            pfc_accel_program_free(program);
            problem.p[i] = rows[r].max[i] + 1;
            cr_assert(eq(int, compile(&problem, &chip, &program), PFC_EINVAL));
            cr_assert(eq(str, err.field, (char *)name));
            problem.p[i] = -1;
            cr_assert(eq(int, compile(&problem, &chip, &program), PFC_EINVAL));
            cr_assert(eq(str, err.field, (char *)name));
        }
    }
    cr_assert(pfc_accel_kernel_name(PFC_ARRAY_LEN(rows)) == NULL);
    cr_assert(pfc_accel_param_name(PFC_ACCEL_ATTENTION, PFC_ACCEL_MAX_PARAMS) == NULL);
}

Test(capacity, int8_is_for_products_alone)
{
    const pfc_accel_chip chip = roomy();

    for (int k = PFC_ACCEL_GEMM; k <= PFC_ACCEL_RESIDUAL_RMSNORM; k++) {
        const pfc_accel_problem problem = { (pfc_accel_kernel)k, PFC_ACCEL_INT8, { 1, 1, 1 } };
        pfc_accel_program *program = NULL;

        cr_assert(eq(int, compile(&problem, &chip, &program),
                     k == PFC_ACCEL_GEMM ? PFC_OK : PFC_EUNAVAIL));
        pfc_accel_program_free(program);
    }
}

Test(capacity, a_program_knows_its_arguments_and_its_work)
{
    static const struct {
        pfc_accel_problem problem;
        size_t args;
        uint64_t bytes[4];
        uint64_t macs;
    } rows[] = {
        { { PFC_ACCEL_GEMM, PFC_ACCEL_F32, { 2, 3, 5 } }, 3, { 40, 60, 24 }, 30 },
        { { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 2, 3, 5 } }, 3, { 20, 30, 12 }, 30 },
        { { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 2, 3, 5 } }, 3, { 10, 15, 24 }, 30 },
        /* scores and values: 2 h s s d, causal 2 h s (s + 1) / 2 d */
        { { PFC_ACCEL_ATTENTION, PFC_ACCEL_F32, { 2, 3, 5, 0 } }, 4, { 120, 120, 120, 120 }, 180 },
        { { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 2, 3, 5, 1 } }, 4, { 60, 60, 60, 60 }, 120 },
        /* one query a head, two heads share keys; two queries, of which one sees all */
        { { PFC_ACCEL_ATTENTION, PFC_ACCEL_F32, { 2, 3, 5, 0, 1, 1 } }, 4, { 40, 60, 60, 40 }, 60 },
        { { PFC_ACCEL_ATTENTION, PFC_ACCEL_F32, { 2, 3, 5, 1, 2, 2 } },
          4,
          { 80, 120, 120, 80 },
          100 },
        { { PFC_ACCEL_GEMM_BIAS_ACT, PFC_ACCEL_BF16, { 2, 3, 5, 1 } }, 4, { 20, 30, 6, 12 }, 30 },
        { { PFC_ACCEL_RESIDUAL_RMSNORM, PFC_ACCEL_F32, { 2, 3 } }, 4, { 24, 24, 12, 48 }, 0 },
        { { PFC_ACCEL_LAYERNORM, PFC_ACCEL_F32, { 2, 3 } }, 3, { 24, 24, 24 }, 0 },
        { { PFC_ACCEL_RMSNORM, PFC_ACCEL_F32, { 2, 3 } }, 3, { 24, 12, 24 }, 0 },
        { { PFC_ACCEL_SOFTMAX, PFC_ACCEL_BF16, { 2, 3 } }, 2, { 12, 12 }, 0 },
    };
    const pfc_accel_chip chip = roomy();

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_program *program = NULL;

        cr_assert(eq(int, compile(&rows[i].problem, &chip, &program), PFC_OK), "%s", err.msg);
        cr_assert(eq(sz, program->args_len, rows[i].args), "row %zu", i);
        for (size_t a = 0; a < rows[i].args; a++)
            cr_assert(eq(u64, program->arg_bytes[a], rows[i].bytes[a]), "row %zu arg %zu", i, a);
        cr_assert(eq(u64, program->macs, rows[i].macs), "row %zu", i);
        cr_assert(eq(u64, pfc_accel_problem_macs(&rows[i].problem), rows[i].macs), "row %zu", i);
        pfc_accel_program_free(program);
    }
}
