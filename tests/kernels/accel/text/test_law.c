/* The law of the two directions: a program as text assembles to the same program. */
#include <string.h>

#include "core/base/rng.h"
#include "kernels/accel/text/text.h"

#include "tests/check/check.h"

static void same(const pfc_accel_program *a, const pfc_accel_program *b, const char *text)
{
    char da[PFC_ACCEL_DIGEST_SIZE];
    char db[PFC_ACCEL_DIGEST_SIZE];

    pfc_accel_program_digest(a, da);
    pfc_accel_program_digest(b, db);
    cr_assert(eq(str, da, db), "%.2000s", text);
    cr_assert(eq(sz, a->len, b->len));
    cr_assert(eq(u32, a->tokens_len, b->tokens_len));
    cr_assert(eq(u64, a->sram_used, b->sram_used));
    cr_assert(eq(u64, a->acc_used, b->acc_used));
    cr_assert(eq(u64, a->dma_bytes, b->dma_bytes));
    cr_assert(eq(u64, a->macs, b->macs));
    cr_assert(eq(sz, a->args_len, b->args_len));
    for (size_t i = 0; i < a->args_len; i++)
        cr_assert(eq(u64, a->arg_bytes[i], b->arg_bytes[i]));
}

/* With and without a reference in the head. */
static void round_trip(const pfc_accel_program *p, const pfc_accel_problem *reference)
{
    for (int named = 0; named < (reference ? 2 : 1); named++) {
        pfc_accel_text *t = NULL;
        pfc_err err = { 0 };
        pfc_buf text;

        pfc_buf_init(&text, PFC_ACCEL_TEXT_MAX_BYTES);
        cr_assert(eq(int, pfc_accel_text_print(p, named ? reference : NULL, &text, &err), PFC_OK),
                  "%s", err.msg);
        cr_assert(eq(int, pfc_accel_text_parse(text.data, text.len, "x.pca", &t, &err), PFC_OK),
                  "%s\n%.2000s", err.msg, text.data);
        same(p, t->program, text.data);
        cr_assert(eq(int, t->has_reference, named));
        if (named)
            for (size_t i = 0; i < PFC_ACCEL_MAX_PARAMS; i++)
                cr_assert(eq(i64, t->reference.p[i], reference->p[i]));
        pfc_accel_text_free(t);
        pfc_buf_clear(&text);
    }
}

static int64_t dimension(pfc_rng *rng)
{
    return 1 + (int64_t)pfc_rng_below(rng, pfc_rng_below(rng, 4) == 0 ? 300 : 40);
}

/* Random values for every parameter that there is; switches get small ones. */
static pfc_accel_problem any_problem(pfc_rng *rng)
{
    size_t kernels = 0;
    pfc_accel_problem p = { 0 };

    while (pfc_accel_kernel_name(kernels))
        kernels++;
    p.kernel = (pfc_accel_kernel)pfc_rng_below(rng, kernels);
    p.dtype = pfc_rng_below(rng, 2) ? PFC_ACCEL_BF16 : PFC_ACCEL_F32;
    if (p.kernel == PFC_ACCEL_GEMM && pfc_rng_below(rng, 3) == 0)
        p.dtype = PFC_ACCEL_INT8;
    for (size_t i = 0; pfc_accel_param_name(p.kernel, i); i++)
        if (!pfc_accel_param_optional(p.kernel, i))
            p.p[i] = dimension(rng);
        else
            p.p[i] = (int64_t)pfc_rng_below(rng, 2);
    return p;
}

Test(text_law, programs_of_the_compiler_return_from_text)
{
    pfc_rng rng;
    size_t tried = 0;

    pfc_rng_seed(&rng, 17);
    for (int i = 0; i < 300; i++) {
        const pfc_accel_problem p = any_problem(&rng);
        const pfc_accel_compile_opts opts = { .ideal_memory = pfc_rng_below(&rng, 5) == 0 };
        const char *chip_name = pfc_accel_chip_name(pfc_rng_below(&rng, 2));
        pfc_accel_program *program = NULL;
        pfc_accel_chip chip;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_accel_chip_load(chip_name, &chip, &err), PFC_OK), "%s", err.msg);
        if (pfc_accel_compile(&p, &chip, (pfc_accel_mode)pfc_rng_below(&rng, 5), &opts, &program,
                              &err))
            continue; /* 3 shared heads of 2 */
        tried++;
        round_trip(program, &p);
        pfc_accel_program_free(program);
    }
    cr_assert(gt(sz, tried, 200));
}

/* Any value in any field: what an operation does not use is in the digest, too. */
static pfc_accel_cmd any_command(pfc_rng *rng, uint32_t i)
{
    const uint64_t op = pfc_rng_below(rng, PFC_ACCEL_OP_BIAS_ROWS + 1);
    pfc_accel_cmd c = { .op = (uint8_t)op, .unit = PFC_ACCEL_UNIT_VECTOR, .token = i };

    if (op <= PFC_ACCEL_OP_STORE_ACC)
        c.unit = PFC_ACCEL_UNIT_DMA;
    else if (op == PFC_ACCEL_OP_MATMUL)
        c.unit = PFC_ACCEL_UNIT_TENSOR;
    c.queue = (uint8_t)pfc_rng_below(rng, 256);
    c.arg = (uint8_t)pfc_rng_below(rng, 3);
    c.accumulate = pfc_rng_below(rng, 2);
    c.transpose_b = pfc_rng_below(rng, 2);
    c.first = pfc_rng_below(rng, 2);
    c.act = (uint8_t)pfc_rng_below(rng, 4);
    c.m = (uint32_t)pfc_rng_below(rng, 8);
    c.n = (uint32_t)pfc_rng_below(rng, 8);
    c.k = (uint32_t)pfc_rng_below(rng, 8);
    c.elem = (uint32_t)pfc_rng_below(rng, 5);
    c.period = (uint32_t)pfc_rng_u64(rng);
    c.batch = (uint32_t)pfc_rng_below(rng, 3);
    c.offset = pfc_rng_below(rng, 1000);
    c.stride = pfc_rng_below(rng, 1000);
    c.a = pfc_rng_below(rng, 1000);
    c.b = pfc_rng_below(rng, 1000);
    c.c = pfc_rng_below(rng, 1000);
    c.acc = pfc_rng_below(rng, 1000);
    c.acc2 = pfc_rng_below(rng, 1000);
    c.diagonal = (int64_t)pfc_rng_u64(rng);
    /* Two statements: the order of two draws in one expression is the compiler's choice. */
    c.scale = (float)((double)pfc_rng_u64(rng) / 3e15);
    c.scale *= pfc_rng_below(rng, 2) ? 1.0f : -1e-20f;
    for (uint64_t w = pfc_rng_below(rng, PFC_ACCEL_MAX_WAITS + 1); w > 0 && i > 0; w--)
        c.waits[c.waits_len++] = (uint32_t)pfc_rng_below(rng, i);
    return c;
}

Test(text_law, random_programs_return_from_text)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 18);
    for (int i = 0; i < 500; i++) {
        pfc_accel_program *p = pfc_alloc(sizeof(*p));

        p->len = p->tokens_len = (uint32_t)pfc_rng_below(&rng, 12);
        p->cmds = pfc_calloc(p->len + 1, sizeof(*p->cmds));
        p->dtype = (pfc_accel_dtype)pfc_rng_below(&rng, 3);
        p->ideal_memory = pfc_rng_below(&rng, 2);
        p->sram_used = 2000;
        p->acc_used = 2000;
        p->args_len = 3;
        p->macs = pfc_rng_below(&rng, 1000);
        for (size_t a = 0; a < 3; a++)
            p->arg_bytes[a] = 1000 + pfc_rng_below(&rng, 1000);
        for (uint32_t c = 0; c < p->len; c++) {
            p->cmds[c] = any_command(&rng, c);
            if (p->cmds[c].unit == PFC_ACCEL_UNIT_DMA)
                p->dma_bytes += (uint64_t)p->cmds[c].m * p->cmds[c].n * p->cmds[c].elem;
        }
        round_trip(p, NULL);
        pfc_accel_program_free(p);
    }
}

/* A field of pfc_accel_cmd that the text forgets would be lost: the digest covers them all. */
Test(text_law, an_operation_without_a_row_is_refused)
{
    pfc_accel_cmd cmd = { .op = 200 };
    pfc_accel_program p = { .cmds = &cmd, .len = 1, .tokens_len = 1, .args_len = 1 };
    pfc_err err = { 0 };
    pfc_buf text;

    pfc_buf_init(&text, 10000);
    cr_assert(eq(int, pfc_accel_text_print(&p, NULL, &text, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "number 200") != NULL, "%s", err.msg);
    pfc_buf_clear(&text);
    for (uint8_t op = 0; op <= PFC_ACCEL_OP_BIAS_ROWS; op++)
        cr_assert(ne(str, (char *)(uintptr_t)pfc_accel_op_name(op), "?"), "operation %u", op);
}
