/* Kernels in text: refused with the file's name, or a program that returns from text as it was and
 * that a chip refuses or executes to its end. */
#include <string.h>

#include "kernels/accel/ops/ops.h"
#include "kernels/accel/text/text.h"

#include "tests/fuzz/fuzz.h"

static void check_law(const pfc_accel_text *t)
{
    char before[PFC_ACCEL_DIGEST_SIZE];
    char after[PFC_ACCEL_DIGEST_SIZE];
    pfc_accel_text *again = NULL;
    pfc_err err = { 0 };
    pfc_buf text;

    pfc_buf_init(&text, PFC_ACCEL_TEXT_MAX_BYTES);
    FUZZ_CHECK(pfc_accel_text_print(t->program, t->has_reference ? &t->reference : NULL, &text,
                                    &err) == PFC_OK);
    FUZZ_CHECK(pfc_accel_text_parse(text.data, text.len, "x.pca", &again, &err) == PFC_OK);
    pfc_accel_program_digest(t->program, before);
    pfc_accel_program_digest(again->program, after);
    FUZZ_CHECK(strcmp(before, after) == 0);
    FUZZ_CHECK(t->program->sram_used == again->program->sram_used);
    FUZZ_CHECK(t->program->acc_used == again->program->acc_used);
    pfc_accel_text_free(again);
    pfc_buf_clear(&text);
}

/* A program that passes the checks ends, computes within its memory and keeps the laws of the
 * counters. */
static void execute(pfc_accel_text *t)
{
    pfc_accel_program *program = t->program;
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    FUZZ_CHECK(pfc_accel_chip_load("pfc-edge", &chip, &err) == PFC_OK);
    if (program->dma_bytes > 1 << 20 || program->len > 1000 ||
        pfc_accel_text_check(t, &chip, &err) != PFC_OK)
        return;
    t->program = NULL;
    if (pfc_accel_case_new_program(&c, program, t->has_reference ? &t->reference : NULL, &chip,
                                   NULL, &err))
        return;
    FUZZ_CHECK(pfc_accel_case_run(c, &r, &err) == PFC_OK);
    pfc_accel_case_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_accel_text *t = NULL;
    pfc_err err = { 0 };

    if (pfc_accel_text_parse((const char *)data, size, "x.pca", &t, &err)) {
        FUZZ_CHECK(t == NULL && strncmp(err.msg, "x.pca:", 6) == 0);
        return 0;
    }
    FUZZ_CHECK(t->program->len <= PFC_ACCEL_MAX_COMMANDS);
    if (t->program->len < 10000)
        check_law(t);
    execute(t);
    pfc_accel_text_free(t);
    return 0;
}
