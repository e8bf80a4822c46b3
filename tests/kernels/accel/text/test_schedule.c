/* Schedules: read, refused, and followed by the compiler. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/ops/ops.h"
#include "kernels/accel/text/text.h"

#include "tests/check/check.h"

static pfc_err err;

static pfc_code parse(const char *text, pfc_accel_schedule *out)
{
    err = (pfc_err){ 0 };
    return pfc_accel_schedule_parse(text, strlen(text), "s.schedule", out, &err);
}

Test(schedule, each_fault_is_named_with_its_line)
{
    static const struct {
        const char *text, *says;
    } faults[] = {
        { "m = 0\n", "s.schedule:1: m: expected 1..65536, got 0" },
        { "m = 65537\n", "1..65536" },
        { "m = 16\nn = 16\n", "s.schedule:3: expected \"k = SIZE\", got the end of the file" },
        { "m = 16\nm = 16\n", "s.schedule:2: expected m once, got it twice" },
        { "m 16\n", "expected \"key = value\", got \"m 16\"" },
        { "m = 16 16\n", "expected \"key = value\"" },
        { "m = 99999999999999999999999999999999\n", "expected \"key = value\"" },
        { "speed = 3\n", "expected m, n, k, group, buffers, order, queues or fuse, got \"speed\"" },
        { "order = k\n", "order: expected n or m, got \"k\"" },
        { "queues = many\n", "queues: expected split or shared" },
        { "fuse = no\n", "fuse: expected on or off, got \"no\"" },
        { "buffers = 33\n", "2..32" },
        { "buffers = 1\n", "2..32" },
        { "group = 257\n", "1..256" },
        { "", "expected \"m = SIZE\"" },
    };
    pfc_accel_schedule s;

    for (size_t i = 0; i < PFC_ARRAY_LEN(faults); i++) {
        cr_assert(eq(int, parse(faults[i].text, &s), PFC_EINVAL), "%s", faults[i].text);
        cr_assert(strstr(err.msg, faults[i].says) != NULL, "%s", err.msg);
    }
    cr_assert(eq(int, pfc_accel_schedule_parse("m = 1\0", 6, "s", &s, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "NUL") != NULL, "%s", err.msg);
}

static uint64_t cycles(const pfc_accel_schedule *s, const pfc_accel_problem *p)
{
    const pfc_accel_gemm_tiles tiles = pfc_accel_schedule_tiles(s, p);
    const pfc_accel_case_opts opts = { .gemm_tiles = &tiles, .seed = 3 };
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    pfc_accel_chip chip;

    err = (pfc_err){ 0 };
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_new(&c, p, &chip, chip.mode, &opts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "%s", err.msg);
    cr_assert(ge(u64, r.cycles, r.ceiling_cycles));
    pfc_accel_case_free(c);
    return r.cycles;
}

Test(schedule, every_key_reaches_the_compiler_and_results_stay_right)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 100, 130, 90 } };
    static const char *const texts[] = {
        "m=32 # rows\nn=32\nk=32\n",   "m=16\nn=32\nk=32\n",
        "m=32\nn=16\nk=32\n",          "m=32\nn=32\nk=16\n",
        "m=32\nn=32\nk=32\norder=m\n", "m=32\nn=32\nk=32\nbuffers=4\n",
        "m=32\nn=32\nk=32\ngroup=3\n", "m=32\nn=32\nk=32\nqueues=shared\n",
        "m=65536\nn=65536\nk=65536\n", /* the whole problem */
    };
    uint64_t got[PFC_ARRAY_LEN(texts)];

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        pfc_accel_schedule s;

        cr_assert(eq(int, parse(texts[i], &s), PFC_OK), "%s", err.msg);
        got[i] = cycles(&s, &p);
        for (size_t j = 0; j < i; j++)
            cr_assert(ne(u64, got[i], got[j]), "%s\nis as\n%s", texts[i], texts[j]);
    }
    cr_assert(gt(u64, got[1], got[0])); /* smaller tiles of rows read B more often */
}

Test(schedule, a_tile_that_does_not_fit_is_one_sentence)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 4096, 4096, 4096 } };
    pfc_accel_schedule s;
    pfc_accel_gemm_tiles tiles;
    pfc_accel_case_opts opts = { .gemm_tiles = &tiles };
    pfc_accel_case *c = NULL;
    pfc_accel_chip chip;

    cr_assert(eq(int, parse("m = 4096\nn = 4096\nk = 4096\n", &s), PFC_OK), "%s", err.msg);
    tiles = pfc_accel_schedule_tiles(&s, &p);
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_new(&c, &p, &chip, chip.mode, &opts, &err), PFC_ETOOBIG));
    cr_assert(strstr(err.msg, "bytes of scratchpad, expected") != NULL, "%s", err.msg);
}

/* Bytes with device memory of one run, checked against its reference. */
static uint64_t moved(const pfc_accel_problem *p, const char *text, uint64_t *cycles_out)
{
    pfc_accel_gemm_tiles tiles;
    const pfc_accel_case_opts opts = { .gemm_tiles = &tiles, .seed = 5 };
    pfc_accel_schedule s;
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    pfc_accel_chip chip;
    uint64_t bytes;

    cr_assert(eq(int, parse(text, &s), PFC_OK), "%s", err.msg);
    tiles = pfc_accel_schedule_tiles(&s, p);
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_new(&c, p, &chip, chip.mode, &opts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "%s", err.msg);
    *cycles_out = r.cycles;
    bytes = pfc_accel_case_program(c)->dma_bytes;
    pfc_accel_case_free(c);
    return bytes;
}

/* The second pass reads the sums back and writes the results: m n elements each way; it also reads
 * the bias of each column of tiles for itself, where the first pass did it before. */
Test(schedule, without_fusion_the_sums_go_to_memory_and_back)
{
    static const pfc_accel_dtype types[] = { PFC_ACCEL_BF16, PFC_ACCEL_F32 };

    for (size_t i = 0; i < 2 * 4; i++) {
        const pfc_accel_problem p = { PFC_ACCEL_GEMM_BIAS_ACT,
                                      types[i % 2],
                                      { 100, 130, 90, (int64_t)(i / 2) } };
        const uint64_t es = pfc_accel_dtype_bytes(p.dtype);
        uint64_t fused = 0;
        uint64_t apart = 0;
        const uint64_t less = moved(&p, "m=32\nn=64\nk=32\nfuse=on\n", &fused);
        const uint64_t more = moved(&p, "m=32\nn=64\nk=32\nfuse=off\n", &apart);

        cr_expect(eq(u64, more, less + 2 * 100 * 130 * es));
        cr_expect(ne(u64, apart, fused));
    }
}

Test(schedule, a_gemm_without_bias_has_nothing_to_fuse)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 40, 50, 60 } };
    pfc_accel_gemm_tiles tiles = { .m = 16, .n = 16, .k = 16, .group = 1, .slots = 2 };
    const pfc_accel_compile_opts opts = { .gemm_tiles = &tiles };
    pfc_accel_program *program = NULL;
    pfc_accel_chip chip;

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    tiles.unfused = true;
    cr_assert(eq(int, pfc_accel_compile(&p, &chip, chip.mode, &opts, &program, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "fuse = on") != NULL, "%s", err.msg);
}

/* The text of an unfused kernel runs as the kernel does, and its result is right. */
Test(schedule, an_unfused_kernel_returns_from_text)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM_BIAS_ACT, PFC_ACCEL_BF16, { 40, 50, 60, 2 } };
    const pfc_accel_gemm_tiles tiles = {
        .m = 16, .n = 16, .k = 16, .group = 1, .slots = 2, .unfused = true
    };
    const pfc_accel_compile_opts opts = { .gemm_tiles = &tiles };
    pfc_accel_program *program = NULL;
    pfc_accel_text *t = NULL;
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    pfc_accel_chip chip;
    char digest[PFC_ACCEL_DIGEST_SIZE];
    pfc_buf text;

    pfc_buf_init(&text, PFC_ACCEL_TEXT_MAX_BYTES);
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_compile(&p, &chip, chip.mode, &opts, &program, &err), PFC_OK), "%s",
              err.msg);
    pfc_accel_program_digest(program, digest);
    cr_assert(eq(int, pfc_accel_text_print(program, &p, &text, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_text_parse(text.data, text.len, "u.pca", &t, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int,
                 pfc_accel_case_new_program(&c, t->program, &p, &chip,
                                            &(pfc_accel_case_opts){ .seed = 7 }, &err),
                 PFC_OK),
              "%s", err.msg);
    t->program = NULL;
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, r.stream_digest, digest));
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "%s", err.msg);
    pfc_accel_case_free(c);
    pfc_accel_text_free(t);
    pfc_accel_program_free(program);
    pfc_buf_clear(&text);
}
