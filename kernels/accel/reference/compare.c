#include "kernels/accel/reference/compare.h"

#include <stdlib.h>
#include <string.h>

static uint32_t side(pfc_rng *rng, uint32_t most)
{
    uint32_t bits = 0;

    while (bits < 31 && (1u << bits) < most)
        bits++;
    return 1 + (uint32_t)pfc_rng_below(
                   rng, PFC_MIN(most, 1u << (uint32_t)pfc_rng_below(rng, (uint64_t)bits + 1)));
}

static int8_t *operands(pfc_rng *rng, size_t len)
{
    int8_t *v = pfc_alloc(len);

    for (size_t i = 0; i < len; i++)
        v[i] = (int8_t)((int)pfc_rng_below(rng, 256) - 128);
    return v;
}

void pfc_accel_compare_draw(pfc_accel_compare *p, pfc_rng *rng, uint32_t most)
{
    p->rows = side(rng, PFC_ACCEL_TICKED_MAX);
    p->cols = side(rng, PFC_ACCEL_TICKED_MAX);
    p->load_rows = pfc_rng_below(rng, 2) ? side(rng, p->rows) : 1;
    p->m = side(rng, most);
    p->n = side(rng, most);
    p->k = side(rng, most);
    p->a = operands(rng, (size_t)p->m * p->k);
    p->b = operands(rng, (size_t)p->k * p->n);
}

void pfc_accel_compare_free(pfc_accel_compare *p)
{
    free(p->a);
    free(p->b);
}

/* The product as a program for the engine: two loads, a MATMUL, a store. */
pfc_code pfc_accel_compare_engine(const pfc_accel_compare *p, pfc_accel_mode mode, int32_t *c,
                                  uint64_t *cycles, pfc_err *err)
{
    const uint64_t a_bytes = (uint64_t)p->m * p->k;
    const uint64_t b_bytes = (uint64_t)p->k * p->n;
    const uint64_t c_bytes = (uint64_t)p->m * p->n * 4;
    pfc_accel_cmd cmds[] = {
        { .unit = PFC_ACCEL_UNIT_DMA,
          .op = PFC_ACCEL_OP_LOAD,
          .stride = p->k,
          .m = p->m,
          .n = p->k,
          .elem = 1 },
        { .unit = PFC_ACCEL_UNIT_DMA,
          .op = PFC_ACCEL_OP_LOAD,
          .arg = 1,
          .token = 1,
          .stride = p->n,
          .m = p->k,
          .n = p->n,
          .elem = 1,
          .a = a_bytes },
        { .unit = PFC_ACCEL_UNIT_TENSOR,
          .op = PFC_ACCEL_OP_MATMUL,
          .token = 2,
          .waits = { 0, 1 },
          .waits_len = 2,
          .m = p->m,
          .n = p->n,
          .k = p->k,
          .b = a_bytes },
        { .unit = PFC_ACCEL_UNIT_DMA,
          .op = PFC_ACCEL_OP_STORE_ACC,
          .arg = 2,
          .token = 3,
          .waits = { 2 },
          .waits_len = 1,
          .stride = (uint64_t)p->n * 4,
          .m = p->m,
          .n = p->n,
          .elem = 4 },
    };
    const pfc_accel_program program = { .cmds = cmds,
                                        .len = PFC_ARRAY_LEN(cmds),
                                        .tokens_len = PFC_ARRAY_LEN(cmds),
                                        .dtype = PFC_ACCEL_INT8,
                                        .mode = mode,
                                        .ideal_memory = true,
                                        .sram_used = a_bytes + b_bytes,
                                        .acc_used = c_bytes,
                                        .arg_bytes = { a_bytes, b_bytes, c_bytes },
                                        .args_len = 3 };
    pfc_accel_run run = { .program = &program,
                          .addr = { 0, a_bytes, a_bytes + b_bytes },
                          .data = { (uint8_t *)p->a, (uint8_t *)p->b, (uint8_t *)c } };
    pfc_accel_chip chip;
    pfc_code code = pfc_accel_chip_load(pfc_accel_chip_name(0), &chip, err);

    run.chip = &chip;
    if (!code)
        code = pfc_accel_chip_set_array(&chip, p->rows, p->cols, err);
    if (!code)
        chip.array_load_rows = p->load_rows;
    if (!code)
        code = pfc_accel_program_check(&program, &chip, err);
    if (!code)
        code = pfc_accel_execute(&run, err);
    *cycles = run.counters.v[PFC_ACCEL_CYCLES];
    return code;
}

static pfc_code same_results(const pfc_accel_compare *p, const char *whose, const int32_t *got,
                             const int32_t *want, pfc_err *err)
{
    for (size_t i = 0; i < (size_t)p->m * p->n; i++)
        if (got[i] != want[i])
            return pfc_err_set(err, PFC_EBROKEN,
                               "%s: element %zu, %zu of %ux%ux%u: expected %d, got %d", whose,
                               i / p->n, i % p->n, p->m, p->n, p->k, want[i], got[i]);
    return PFC_OK;
}

static pfc_code same_cycles(const pfc_accel_compare *p, pfc_accel_mode mode, uint64_t l1,
                            uint64_t l2, pfc_err *err)
{
    /* the closed form is that of an array that loads a row a cycle, as those simulators have */
    const uint64_t form = mode == PFC_ACCEL_PIPELINED_WS && p->load_rows > 1
                              ? l1
                              : pfc_accel_tensor_cycles(mode, p->rows, p->cols, p->m, p->n, p->k);

    if (form == l2 && l1 == l2)
        return PFC_OK;
    return pfc_err_set(
        err, PFC_EBROKEN,
        "%s, array %ux%u loading %u, %ux%ux%u: the ticked array took %llu, the closed form "
        "says %llu, the engine %llu",
        pfc_accel_mode_name(mode), p->rows, p->cols, p->load_rows, p->m, p->n, p->k,
        (unsigned long long)l2, (unsigned long long)form, (unsigned long long)l1);
}

pfc_code pfc_accel_compare_run(const pfc_accel_compare *p, pfc_accel_mode mode, uint64_t *ticks,
                               pfc_err *err)
{
    const size_t len = (size_t)p->m * p->n;
    int32_t *const out = pfc_calloc(3 * len, sizeof(*out));
    int32_t *const plain = out + len;
    int32_t *const l1 = out + 2 * len;
    pfc_accel_ticked t = { .mode = mode,
                           .rows = p->rows,
                           .cols = p->cols,
                           .load_rows = p->load_rows,
                           .m = p->m,
                           .n = p->n,
                           .k = p->k,
                           .a = p->a,
                           .b = p->b,
                           .c = out };
    uint64_t cycles = 0;
    pfc_code code = pfc_accel_ticked_run(&t, err);

    pfc_accel_plain_gemm(plain, p->a, p->b, p->m, p->n, p->k);
    if (!code)
        code = pfc_accel_compare_engine(p, mode, l1, &cycles, err);
    if (!code)
        code = same_results(p, "ticked array", out, plain, err);
    if (!code)
        code = same_results(p, "engine", l1, plain, err);
    if (!code)
        code = same_cycles(p, mode, cycles, t.last, err);
    *ticks += t.last + 1;
    free(out);
    return code;
}
