/* Kernels in text on a chip: loops, waits, results against the reference, and what the chip
 * refuses. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/ops/ops.h"
#include "kernels/accel/text/text.h"

#include "tests/check/check.h"

/* C = A B with m = n = k = 64: B stays, A comes in tiles of rows through two buffers. */
#define TILED(tile, wait_for_space)                                                                \
    "pca 1\ndtype bf16\nreference gemm m=64 n=64 k=64\n"                                           \
    "let T = " tile "\n"                                                                           \
    "arg A 8192\narg B 8192\narg C 8192\n"                                                         \
    "sram a 2*T*64*2\nsram b 8192\nacc c 2*T*64*4\n"                                               \
    "token b_in\ntoken a_in 64/T\ntoken used 64/T\ntoken out 64/T\n"                               \
    "load from=B to=b rows=64 cols=64 queue=1 signal=b_in\n"                                       \
    "repeat 64/T as i {  # rows of tiles\n"                                                        \
    "  load from=A+i*T*128 to=a+i%2*T*128 rows=T cols=64 " wait_for_space " signal=a_in[i]\n"      \
    "  matmul a=a+i%2*T*128 b=b to=c+i%2*T*256 m=T n=64 k=64 wait=a_in[i],b_in,out[i-2] "          \
    "signal=used[i]\n"                                                                             \
    "  store_acc from=c+i%2*T*256 to=C+i*T*128 rows=T cols=64 queue=2 wait=used[i] "               \
    "signal=out[i]\n"                                                                              \
    "}\n"

static pfc_err err;
static pfc_accel_chip chip;

static pfc_accel_text *parsed(const char *text)
{
    pfc_accel_text *t = NULL;

    err = (pfc_err){ 0 };
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_text_parse(text, strlen(text), "k.pca", &t, &err), PFC_OK), "%s",
              err.msg);
    return t;
}

/* Takes the program out of the text. */
static pfc_accel_case *opened(pfc_accel_text *t, const pfc_accel_problem *reference)
{
    pfc_accel_program *program = t->program;
    pfc_accel_case *c = NULL;

    t->program = NULL;
    cr_assert(
        eq(int, pfc_accel_case_new_program(&c, program, reference, &chip, NULL, &err), PFC_OK),
        "%s", err.msg);
    return c;
}

static uint64_t cycles_of(const char *text)
{
    pfc_accel_text *t = parsed(text);
    pfc_accel_result a;
    pfc_accel_result b;
    pfc_accel_case *c;

    cr_assert(eq(int, pfc_accel_text_check(t, &chip, &err), PFC_OK), "%s", err.msg);
    c = opened(t, &t->reference);
    cr_assert(eq(int, pfc_accel_case_run(c, &a, &err), PFC_OK), "%s", err.msg);
    cr_assert(a.functional);
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_run(c, &b, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, a.digest, b.digest));
    cr_assert(ge(u64, a.cycles, a.ceiling_cycles));
    cr_assert(gt(u64, a.ceiling_cycles, 0));
    pfc_accel_case_free(c);
    pfc_accel_text_free(t);
    return a.cycles;
}

Test(text_programs, loops_tiles_and_waits_give_the_product)
{
    const uint64_t large = cycles_of(TILED("32", "wait=used[i-2]"));
    const uint64_t small = cycles_of(TILED("4", "wait=used[i-2]"));

    cycles_of(TILED("16", "wait=used[i-2]"));
    cr_assert(gt(u64, small, large + large / 10), "%llu, %llu", (unsigned long long)small,
              (unsigned long long)large);
}

Test(text_programs, a_race_is_named_with_its_line)
{
    pfc_accel_text *t = parsed(TILED("8", ""));

    cr_assert(eq(int, pfc_accel_text_check(t, &chip, &err), PFC_EINVAL));
    cr_assert(strncmp(err.msg, "k.pca:17: race: command ", 24) == 0, "%s", err.msg);
    pfc_accel_text_free(t);
}

Test(text_programs, a_wrong_result_is_found)
{
    pfc_accel_text *t = parsed("pca 1\ndtype bf16\nreference gemm m=8 n=8 k=8\n"
                               "arg A 128\narg B 128\narg C 128\nsram s 256\nacc c 256\n"
                               "token t 3\n"
                               "load from=A to=s rows=8 cols=8 signal=t[0]\n"
                               "load from=B to=s+128 rows=8 cols=8 signal=t[1]\n"
                               "matmul a=s+128 b=s to=c m=8 n=8 k=8 wait=t[0],t[1] signal=t[2]\n"
                               "store_acc from=c to=C rows=8 cols=8 wait=t[2]\n");
    pfc_accel_result r;
    pfc_accel_case *c;

    cr_assert(eq(int, pfc_accel_text_check(t, &chip, &err), PFC_OK), "%s", err.msg);
    c = opened(t, &t->reference);
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EBROKEN));
    pfc_accel_case_free(c);
    pfc_accel_text_free(t);
}

Test(text_programs, without_a_reference_there_is_only_a_digest)
{
    pfc_accel_text *t = parsed("pca 1\ndtype f32\narg X 64\narg Y 64\nsram s 64\ntoken in\n"
                               "load from=X to=s rows=1 cols=16 signal=in\n"
                               "store from=s to=Y rows=1 cols=16 wait=in\n");
    uint64_t bytes = 0;
    pfc_accel_result r;
    pfc_accel_case *c;
    const void *x;

    cr_assert(not(t->has_reference));
    c = opened(t, NULL);
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(u64, r.ceiling_cycles, 0));
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EUNAVAIL));
    x = pfc_accel_case_arg(c, 0, &bytes);
    cr_assert(eq(int, memcmp(x, pfc_accel_case_arg(c, 1, &bytes), 64), 0));
    pfc_accel_case_free(c);
    pfc_accel_text_free(t);
}

Test(text_programs, arguments_must_be_those_of_the_reference)
{
    pfc_accel_text *t = parsed("pca 1\ndtype bf16\nreference gemm m=8 n=8 k=8\n"
                               "arg A 128\narg B 130\narg C 128\n");
    pfc_accel_program *program = t->program;
    pfc_accel_case *c = NULL;

    t->program = NULL;
    cr_assert(eq(int, pfc_accel_case_new_program(&c, program, &t->reference, &chip, NULL, &err),
                 PFC_EINVAL));
    cr_assert(strstr(err.msg, "expected 128 bytes for argument 1, got 130") != NULL, "%s", err.msg);
    pfc_accel_text_free(t);
}

Test(text_programs, what_the_chip_lacks_is_named_with_its_line)
{
    static const struct {
        const char *text, *says;
    } faults[] = {
        { "sram s 64\nload from=A to=s rows=1 cols=4 queue=99\n",
          "k.pca:5: command 0: no such DMA engine" },
        { "sram s 1073741824\n", "k.pca: pfc-edge has" },
        { "acc c 1073741824\n", "bytes of accumulators" },
        { "load from=A to=64 rows=1 cols=4\n", "k.pca:4: command 0: a transfer leaves the" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(faults); i++) {
        char *all = pfc_format("pca 1\ndtype bf16\narg A 64\n%s", faults[i].text);
        pfc_accel_text *t = parsed(all);

        cr_assert(ne(int, pfc_accel_text_check(t, &chip, &err), PFC_OK), "%s", all);
        cr_assert(strstr(err.msg, faults[i].says) != NULL, "%s", err.msg);
        pfc_accel_text_free(t);
        free(all);
    }
}

Test(text_programs, far_more_work_than_the_reference_is_only_timed)
{
    pfc_accel_text *t = parsed("pca 1\ndtype bf16\nreference gemm m=64 n=64 k=64\n"
                               "arg A 8192\narg B 8192\narg C 8192\nsram s 16384\nacc c 16384\n"
                               "repeat 10000 {\n"
                               "  matmul a=s b=s+8192 to=c m=64 n=64 k=64\n"
                               "}\n");
    pfc_accel_result r;
    pfc_accel_case *c = opened(t, &t->reference);

    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(not(r.functional));
    cr_assert(gt(u64, r.cycles, 10000));
    pfc_accel_case_free(c);
    pfc_accel_text_free(t);
}
