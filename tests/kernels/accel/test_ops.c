/* Whole problems: results against the reference, counters against their laws, repeatability. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"

static bool timing_only; /* of the cases opened from now on */

static pfc_accel_case *opened(const pfc_accel_problem *p, const char *chip_name, const char *mode)
{
    const pfc_accel_case_opts opts = { .seed = 7, .timing_only = timing_only };
    pfc_accel_mode how;
    pfc_accel_chip chip;
    pfc_accel_case *c = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_mode_parse(mode, &how, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_chip_load(chip_name, &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_new(&c, p, &chip, how, &opts, &err), PFC_OK),
              "%s %lld %lld %lld: %s", pfc_accel_kernel_name(p->kernel), (long long)p->p[0],
              (long long)p->p[1], (long long)p->p[2], err.msg);
    return c;
}

/* Right results, and at least the bytes that any machine must move. */
static pfc_accel_result checked(const pfc_accel_problem *p, const char *chip, const char *mode)
{
    pfc_accel_case *c = opened(p, chip, mode);
    pfc_accel_result r = { 0 };
    pfc_err err = { 0 };
    uint64_t in = 0;
    uint64_t out = 0;
    const size_t args = pfc_accel_case_program(c)->args_len;

    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(r.functional);
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "%s %s %s %s %lld %lld %lld %lld: %s",
              chip, mode, pfc_accel_kernel_name(p->kernel), pfc_accel_dtype_name(p->dtype),
              (long long)p->p[0], (long long)p->p[1], (long long)p->p[2], (long long)p->p[3],
              err.msg);
    for (size_t i = 0; i < args; i++) {
        uint64_t bytes = 0;

        pfc_accel_case_arg(c, i, &bytes);
        if (i + 1 < args)
            in += bytes;
        else
            out = bytes;
    }
    if (out)
        cr_assert(ge(u64, r.counters.v[PFC_ACCEL_HBM_READ], in));
    cr_assert(ge(u64, r.counters.v[PFC_ACCEL_HBM_WRITE], out));
    cr_assert(ge(u64, r.counters.v[PFC_ACCEL_MACS] + r.counters.v[PFC_ACCEL_VECTOR_MACS],
                 pfc_accel_case_program(c)->macs));
    pfc_accel_case_free(c);
    return r;
}

Test(ops, gemm_is_right_at_every_edge, .timeout = 120)
{
    static const int64_t dims[] = { 0, 1, 3, 16, 17, 65 };
    static const pfc_accel_dtype dtypes[] = { PFC_ACCEL_F32, PFC_ACCEL_BF16, PFC_ACCEL_INT8 };

    for (size_t i = 0; i < 6 * 6 * 6; i++) {
        const pfc_accel_problem p = { .kernel = PFC_ACCEL_GEMM,
                                      .dtype = dtypes[i % 3],
                                      .p = { dims[i % 6], dims[i / 6 % 6], dims[i / 36] } };
        const pfc_accel_result r = checked(&p, i % 2 ? "pfc-edge" : "pfc-server", "pipelined-ws");

        cr_assert(eq(u64, r.counters.v[PFC_ACCEL_MACS] + r.counters.v[PFC_ACCEL_VECTOR_MACS],
                     (uint64_t)(p.p[0] * p.p[1] * p.p[2])));
    }
}

Test(ops, gemm_is_right_over_many_tiles, .timeout = 120)
{
    static const int64_t shapes[][3] = {
        { 200, 130, 300 }, { 1, 513, 700 }, { 257, 1, 129 }, { 100, 90, 2100 }
    };
    static const char *const modes[] = { "pipelined-ws", "scalesim-ws", "scalesim-os",
                                         "scalesim-is", "onnxim-ws" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(shapes); i++) {
        for (pfc_accel_dtype t = PFC_ACCEL_F32; t <= PFC_ACCEL_INT8; t++) {
            const pfc_accel_problem p = { .kernel = PFC_ACCEL_GEMM,
                                          .dtype = t,
                                          .p = { shapes[i][0], shapes[i][1], shapes[i][2] } };

            checked(&p, "pfc-edge", modes[(i + (size_t)t) % 5]);
            checked(&p, "pfc-edge", "pipelined-ws");
        }
    }
}

Test(ops, attention_is_right, .timeout = 120)
{
    static const int64_t shapes[][3] = { { 1, 1, 1 },    { 2, 7, 5 },    { 1, 128, 64 },
                                         { 3, 129, 16 }, { 1, 300, 33 }, { 2, 0, 8 },
                                         { 0, 8, 8 },    { 1, 64, 200 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(shapes) * 4; i++) {
        const int64_t *s = shapes[i / 4];
        const pfc_accel_problem p = { .kernel = PFC_ACCEL_ATTENTION,
                                      .dtype = i % 2 ? PFC_ACCEL_BF16 : PFC_ACCEL_F32,
                                      .p = { s[0], s[1], s[2], i / 2 % 2 } };

        checked(&p, "pfc-edge", "pipelined-ws");
        if (i % 3 == 0)
            checked(&p, "pfc-server", "pipelined-ws");
    }
}

Test(ops, norms_are_right, .timeout = 120)
{
    static const int64_t shapes[][2] = { { 1, 1 },  { 3, 7 },  { 32, 1024 }, { 33, 1025 },
                                         { 0, 16 }, { 16, 0 }, { 500, 17 },  { 2, 65536 } };

    for (pfc_accel_kernel k = PFC_ACCEL_LAYERNORM; k <= PFC_ACCEL_SOFTMAX; k++) {
        for (size_t i = 0; i < PFC_ARRAY_LEN(shapes) * 2; i++) {
            const pfc_accel_problem p = { .kernel = k,
                                          .dtype = i % 2 ? PFC_ACCEL_BF16 : PFC_ACCEL_F32,
                                          .p = { shapes[i / 2][0], shapes[i / 2][1] } };

            checked(&p, i % 3 ? "pfc-edge" : "pfc-server2", "pipelined-ws");
        }
    }
}

/* Heads that share keys, few queries against many keys, and masks over both. */
Test(ops, grouped_attention_and_decode_are_right, .timeout = 120)
{
    static const int64_t shapes[][PFC_ACCEL_MAX_PARAMS] = {
        { 4, 70, 16, 0, 0, 2 },  { 4, 70, 16, 1, 0, 1 },   { 8, 300, 32, 0, 1, 2 },
        { 8, 300, 32, 1, 3, 2 }, { 2, 600, 64, 1, 40, 1 }, { 6, 129, 8, 1, 128, 3 },
        { 3, 50, 200, 0, 1, 0 }, { 2, 33, 5, 1, 33, 2 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(shapes) * 4; i++) {
        pfc_accel_problem p = { .kernel = PFC_ACCEL_ATTENTION,
                                .dtype = i % 2 ? PFC_ACCEL_BF16 : PFC_ACCEL_F32 };

        memcpy(p.p, shapes[i / 4], sizeof(p.p));
        checked(&p, i / 2 % 2 ? "pfc-edge" : "pfc-server2", "pipelined-ws");
    }
}

/* Keys that four heads share keep the array busy with weights for twice as long as the vector unit
 * would multiply: each unit has a share of the tiles, and may have the scores of a tile while the
 * other unit has the sums of its values. */
Test(ops, decode_of_grouped_heads_is_split_between_the_units, .timeout = 120)
{
    const pfc_accel_problem few = { PFC_ACCEL_ATTENTION,
                                    PFC_ACCEL_BF16,
                                    { 16, 2048, 128, 0, 1, 4 } };
    const pfc_accel_problem many = { PFC_ACCEL_ATTENTION,
                                     PFC_ACCEL_BF16,
                                     { 32, 2048, 128, 0, 1, 8 } };
    pfc_accel_result r = checked(&few, "pfc-server2", "pipelined-ws");

    cr_assert(ne(ptr, strstr(r.choice, "8/8 scores, 1/8 sums on the vector unit"), NULL), "%s",
              r.choice);
    r = checked(&many, "pfc-server2", "pipelined-ws");
    cr_assert(ne(ptr, strstr(r.choice, "3/8 scores, 8/8 sums on the vector unit"), NULL), "%s",
              r.choice);
    /* 2 x 8 heads of keys of 2,048 x 128 weights: 128 cycles for a fold of 128 x 128 */
    cr_assert(lt(u64, r.cycles, 2 * 8 * 16 * 128 / 2));
}

Test(ops, fused_kernels_are_right, .timeout = 120)
{
    static const int64_t shapes[][3] = { { 1, 1, 1 },    { 3, 70, 65 },   { 130, 33, 200 },
                                         { 16, 300, 7 }, { 200, 200, 0 }, { 0, 4, 4 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(shapes) * 8; i++) {
        const int64_t *s = shapes[i / 8];
        pfc_accel_problem p = { .kernel = PFC_ACCEL_GEMM_BIAS_ACT,
                                .dtype = i % 2 ? PFC_ACCEL_BF16 : PFC_ACCEL_F32,
                                .p = { s[0], s[1], s[2], (int64_t)(i / 2 % 4) } };

        checked(&p, i % 3 ? "pfc-edge" : "pfc-server", "pipelined-ws");
        p.kernel = PFC_ACCEL_RESIDUAL_RMSNORM;
        p.p[2] = p.p[3] = 0;
        checked(&p, i % 3 ? "pfc-edge" : "pfc-server", "pipelined-ws");
    }
}

/* Which unit computes a product of few rows must not show in its bits. */
Test(ops, both_units_compute_the_same_bits, .timeout = 120)
{
    for (int i = 0; i < 9; i++) {
        const pfc_accel_problem p = { .kernel = PFC_ACCEL_GEMM,
                                      .dtype = (pfc_accel_dtype)(i % 3),
                                      .p = { 1 << i / 3, 300, 700 } };
        const pfc_accel_case_opts tensor_only = { .seed = 7, .ideal_memory = true };
        pfc_accel_case *both = opened(&p, "pfc-edge", "pipelined-ws");
        pfc_accel_case *one = NULL;
        pfc_accel_chip chip;
        pfc_accel_result r[2];
        const void *bits[2];
        uint64_t bytes = 0;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
        cr_assert(
            eq(int, pfc_accel_case_new(&one, &p, &chip, chip.mode, &tensor_only, &err), PFC_OK));
        cr_assert(eq(int, pfc_accel_case_run(both, &r[0], &err), PFC_OK));
        cr_assert(eq(int, pfc_accel_case_run(one, &r[1], &err), PFC_OK));
        /* Numbers of 32 bits: the vector unit has a share in a product of one row alone. */
        cr_assert(
            eq(int, r[0].counters.v[PFC_ACCEL_VECTOR_MACS] > 0, i < 3 || p.dtype != PFC_ACCEL_F32));
        cr_assert(eq(u64, r[1].counters.v[PFC_ACCEL_VECTOR_MACS], 0));
        bits[0] = pfc_accel_case_arg(both, 2, &bytes);
        bits[1] = pfc_accel_case_arg(one, 2, &bytes);
        cr_assert(eq(int, memcmp(bits[0], bits[1], bytes), 0), "row %d", i);
        pfc_accel_case_free(both);
        pfc_accel_case_free(one);
    }
}

/* A reference that accepts anything would pass all of the above. */
Test(ops, a_wrong_result_is_found)
{
    static const int64_t params[][PFC_ACCEL_MAX_PARAMS] = {
        { 8, 8, 8 }, { 1, 8, 8, 1 }, { 4, 32 }, { 4, 32 }, { 4, 32 }, { 8, 8, 8, 2 }, { 4, 32 }
    };

    for (pfc_accel_kernel k = PFC_ACCEL_GEMM; k <= PFC_ACCEL_RESIDUAL_RMSNORM; k++) {
        pfc_accel_problem p = { .kernel = k, .dtype = PFC_ACCEL_F32 };
        pfc_accel_case *c;
        pfc_accel_result r;
        pfc_err err = { 0 };
        uint64_t bytes = 0;
        float *out;

        memcpy(p.p, params[k], sizeof(p.p));
        c = opened(&p, "pfc-edge", "pipelined-ws");
        cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
        out = (float *)pfc_accel_case_arg(c, pfc_accel_case_program(c)->args_len - 1, &bytes);
        out[5] += 1e-3f;
        cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EBROKEN));
        cr_assert(strstr(err.msg, "column 5") != NULL, "%s", err.msg);
        pfc_accel_case_free(c);
    }
}

Test(ops, causal_attention_does_less)
{
    const pfc_accel_problem full = { .kernel = PFC_ACCEL_ATTENTION,
                                     .dtype = PFC_ACCEL_BF16,
                                     .p = { 1, 1024, 64, 0 } };
    pfc_accel_problem causal = full;

    causal.p[3] = 1;
    cr_assert(lt(u64, checked(&causal, "pfc-edge", "pipelined-ws").cycles,
                 checked(&full, "pfc-edge", "pipelined-ws").cycles));
}

static const pfc_accel_problem repeated = { .kernel = PFC_ACCEL_ATTENTION,
                                            .dtype = PFC_ACCEL_BF16,
                                            .p = { 2, 200, 48, 1 } };

static void *digest_of(void *out)
{
    pfc_accel_case *c = opened(&repeated, "pfc-server", "pipelined-ws");
    pfc_accel_result r;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK));
    memcpy(out, r.digest, sizeof(r.digest));
    pfc_accel_case_free(c);
    return NULL;
}

Test(ops, the_same_again_in_threads_and_in_another_process, .timeout = 120)
{
    char here[65];
    char there[2][65];
    pthread_t threads[2];
    int ends[2];
    int status = 1;
    pid_t pid;

    digest_of(here);
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, digest_of, there[i]), 0));
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
        cr_assert(eq(str, there[i], here));
    }
    cr_assert(eq(int, pipe(ends), 0));
    pid = fork();
    if (pid == 0) {
        char text[65];

        digest_of(text);
        _exit(write(ends[1], text, sizeof(text)) == (ssize_t)sizeof(text) ? 0 : 1);
    }
    cr_assert(gt(int, pid, 0));
    cr_assert(eq(int, waitpid(pid, &status, 0), pid));
    cr_assert(eq(int, status, 0));
    cr_assert(eq(int, (int)read(ends[0], there[0], 65), 65));
    cr_assert(eq(str, there[0], here));
    close(ends[0]);
    close(ends[1]);
}

Test(ops, a_case_repeats_itself)
{
    const pfc_accel_problem p = { .kernel = PFC_ACCEL_GEMM,
                                  .dtype = PFC_ACCEL_F32,
                                  .p = { 100, 100, 100 } };
    pfc_accel_case *c = opened(&p, "pfc-edge", "pipelined-ws");
    pfc_accel_result a;
    pfc_accel_result b;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_case_run(c, &a, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_run(c, &b, &err), PFC_OK));
    cr_assert(eq(str, a.digest, b.digest));
    cr_assert(eq(u64, a.cycles, b.cycles));
    pfc_accel_case_free(c);
}

Test(ops, limits_are_refused_with_a_reason)
{
    pfc_accel_problem p = { .kernel = PFC_ACCEL_GEMM, .dtype = PFC_ACCEL_F32, .p = { -1, 4, 4 } };
    pfc_accel_program *program = NULL;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_compile(&p, &chip, chip.mode, NULL, &program, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "m"));
    p.p[0] = 65537;
    cr_assert(eq(int, pfc_accel_compile(&p, &chip, chip.mode, NULL, &program, &err), PFC_EINVAL));
    p = (pfc_accel_problem){ .kernel = PFC_ACCEL_SOFTMAX, .dtype = PFC_ACCEL_INT8, .p = { 4, 4 } };
    cr_assert(eq(int, pfc_accel_compile(&p, &chip, chip.mode, NULL, &program, &err), PFC_EUNAVAIL));
    p = (pfc_accel_problem){ .kernel = PFC_ACCEL_ATTENTION,
                             .dtype = PFC_ACCEL_F32,
                             .p = { 1024, 65536, 1024, 0 } };
    cr_assert(eq(int, pfc_accel_compile(&p, &chip, chip.mode, NULL, &program, &err), PFC_ETOOBIG));
    cr_assert(program == NULL);
}

/* One row through 64 MiB of weights: 1.3 million cycles of memory at 51.2 bytes a cycle, 1.0
 * million of the array (65536 folds of 16). Large squares wait for the array. */
Test(ops, the_limiter_is_what_a_roofline_says, .timeout = 120)
{
    static const struct {
        pfc_accel_problem p;
        const char *want;
    } rows[] = {
        { { PFC_ACCEL_GEMM, PFC_ACCEL_F32, { 1, 4096, 4096 } }, "memory" },
        { { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 512, 512, 512 } }, "compute" },
        { { PFC_ACCEL_SOFTMAX, PFC_ACCEL_F32, { 256, 1024 } }, "vector" },
    };

    timing_only = true;
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_case *c = opened(&rows[i].p, "pfc-edge", "pipelined-ws");
        pfc_accel_whatif whatif;
        const char *limiter;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_accel_case_whatif(c, &whatif, &err), PFC_OK), "%s", err.msg);
        limiter = pfc_accel_resource_name(whatif.limiter);
        cr_assert(eq(str, (char *)(uintptr_t)limiter, (char *)rows[i].want), "%s instead of %s",
                  limiter, rows[i].want);
        pfc_accel_case_free(c);
    }
}
