/* Bounds on made-up ceilings; the measured ones are only asked to be there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/backends/backend.h"
#include "bench/machine/ceilings/loop_dispatch.h"
#include "bench/machine/ceilings/pass.h"

#include "tests/check/check.h"
#include "tests/support/guard.h"

/* 100 GFLOP/s; reads 200, 100, 50, 10 GB/s; copies half of that. */
static const pfc_ceilings made_up = { .isa = { "avx2", "", "avx2 maddubs" },
                                      .size_bytes = { 32e3, 500e3, 8e6, INFINITY },
                                      .one = { .gops = { 100, 0, 400 },
                                               .read_gbps = { 200, 100, 50, 10 },
                                               .copy_gbps = { 100, 50, 25, 5 } },
                                      .all = { .gops = { 190, 0, 800 },
                                               .read_gbps = { 400, 200, 90, 12 },
                                               .copy_gbps = { 200, 100, 45, 6 } },
                                      .threads = 2 };

static pfc_suite *suite;

static void setup(void)
{
    const char *text =
        "suite: t\nbackends: [cpu-scalar]\nbenchmarks:\n"
        "  - {op: gemm, shapes: [{m: 100, n: 100, k: 100}, {m: 1, n: 1000, k: 1000}]}\n"
        "  - {op: softmax, shapes: [{rows: 100, cols: 100}]}\n"
        "  - {op: gemm, dtype: bf16, shapes: [{m: 8, n: 8, k: 8}]}\n"
        "  - {op: attention, shapes: [{h: 1, s: 100, d: 10}]}\n";
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suite_parse(text, strlen(text), "t", &suite, &err), PFC_OK), "%s",
              err.msg);
}

static void teardown(void)
{
    pfc_suite_free(suite);
}

TestSuite(ceilings, .init = setup, .fini = teardown);

Test(ceilings, the_bound_is_the_longer_of_operations_and_bytes)
{
    const char *bound = NULL;

    /* 2e6 flops at 100 GFLOP/s = 20000 ns; 120 kB at 100 GB/s are 1200 ns */
    cr_assert(
        epsilon_eq(dbl, pfc_ceilings_bound_ns(&made_up, &suite->cases[0], &bound), 20000, 1e-6));
    cr_assert(eq(str, (char *)bound, "fma"));
    /* one row: 4 (1e3 + 1e6 + 1e3) bytes, in L3 at 50 GB/s = 80160 ns; 2e6 flops are 20000 */
    cr_assert(
        epsilon_eq(dbl, pfc_ceilings_bound_ns(&made_up, &suite->cases[1], &bound), 80160, 1e-6));
    cr_assert(eq(str, (char *)bound, "L3 read"));
    /* 80 kB read and written, in L2, at 50 GB/s = 1600 ns */
    cr_assert(
        epsilon_eq(dbl, pfc_ceilings_bound_ns(&made_up, &suite->cases[2], &bound), 1600, 1e-6));
    cr_assert(eq(str, (char *)bound, "L2 copy"));
    /* 4 x 100 x 100 x 10 = 4e5 flops = 4000 ns; 16 kB are 80 ns */
    cr_assert(
        epsilon_eq(dbl, pfc_ceilings_bound_ns(&made_up, &suite->cases[4], &bound), 4000, 1e-6));
}

Test(ceilings, without_a_ceiling_for_the_type_there_is_no_share)
{
    const pfc_ceilings none = { 0 };
    const char *bound = "x";

    cr_assert(epsilon_eq(dbl, pfc_ceilings_bound_ns(&made_up, &suite->cases[3], &bound), 0, 0));
    cr_assert(eq(ptr, (void *)bound, NULL));
    cr_assert(epsilon_eq(dbl, pfc_ceilings_bound_ns(&none, &suite->cases[0], &bound), 0, 0));
}

static pfc_measurement *add(pfc_run *run, const char *benchmark, const char *metric, double value)
{
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup("cpu-scalar");
    m->unit = pfc_strdup("");
    m->samples = pfc_calloc(1, sizeof(double));
    m->samples[0] = value;
    m->samples_len = 1;
    return m;
}

/* 20000 ns at best, 40000 measured: half of the attainable, on both metrics. */
Test(ceilings, every_line_of_a_benchmark_carries_its_share_and_the_canary_the_ceilings)
{
    pfc_run *run = pfc_run_new();

    add(run, "gemm/f32/m100n100k100", "time_ns", 40000);
    add(run, "gemm/f32/m100n100k100", "gemm_tflops", 0.05);
    add(run, "canary", "canary_ns", 1);
    pfc_ceilings_annotate(&made_up, suite, run);
    for (int i = 0; i < 2; i++) {
        cr_assert(
            eq(str, (char *)pfc_labels_get(&run->measurements[i].extra, "percent_of_peak"), "50"));
        cr_assert(eq(str, (char *)pfc_labels_get(&run->measurements[i].extra, "bound"), "fma"));
    }
    cr_assert(eq(str, (char *)pfc_labels_get(&run->measurements[2].extra, "ceiling_dram_read_gbps"),
                 "10"));
    pfc_run_free(run);
}

/* 2e6 operations at 400 Gop/s are 5000 ns; 30 kB at 200 GB/s are 150. */
Test(ceilings, int8_is_bound_by_its_own_arithmetic)
{
    const int64_t params[PFC_OP_MAX_PARAMS] = { 100, 100, 100 };
    pfc_case c = { .op = pfc_op_find("gemm"), .dtype = "int8" };
    const char *bound = NULL;

    memcpy(c.params, params, sizeof(params));
    cr_assert(epsilon_eq(dbl, pfc_ceilings_bound_ns(&made_up, &c, &bound), 5000, 1e-6));
    cr_assert(eq(str, (char *)bound, "int8"));
    cr_assert(epsilon_eq(dbl, pfc_case_bytes(&c), 30000, 1e-6));
    cr_assert(epsilon_eq(dbl, pfc_case_gops(&c), 0.002, 1e-12));
}

/* Shares of 50 and 12.5 % have the geometric mean 25 %. */
Test(ceilings, a_headline_carries_the_geometric_mean_of_its_members_shares)
{
    pfc_run *run = pfc_run_new();

    add(run, "gemm/f32/m100n100k100", "time_ns", 40000);
    add(run, "gemm/f32/m100n100k100", "gemm_tflops", 0.05);
    add(run, "gemm/f32/m1n1000k1000", "time_ns", 8 * 80160);
    add(run, "gemm/f32/m1n1000k1000", "gemm_tflops", 0.003);
    add(run, "headline", "gemm_tflops", 0.01);
    /* no member: a benchmark that the suite does not have, whatever share its run states */
    add(run, "gemm/f32/m7n7k7", "gemm_tflops", 0.01);
    pfc_labels_set(&run->measurements[5].extra, "percent_of_peak", "99");
    pfc_ceilings_annotate(&made_up, suite, run);
    cr_assert(
        eq(str, (char *)pfc_labels_get(&run->measurements[4].extra, "percent_of_peak"), "25"));
    pfc_run_free(run);
}

Test(ceilings, the_document_says_what_one_core_and_all_can_do_and_what_is_missing)
{
    static const struct {
        const char *name, *value;
    } want[] = {
        { "ceiling_fma_f32_gflops", "100" },
        { "ceiling_all_fma_f32_gflops", "190" },
        { "ceiling_bf16_gflops", "not available" },
        { "ceiling_bf16_isa", "not available" },
        { "ceiling_int8_isa", "avx2 maddubs" },
        { "ceiling_all_dram_copy_gbps", "6" },
        { "ceiling_all_threads", "2" },
        { "ceiling_l3_reach_bytes", "8e+06" },
    };
    pfc_run *run = pfc_run_new();

    add(run, "canary", "canary_ns", 1);
    pfc_ceilings_annotate(&made_up, suite, run);
    for (size_t i = 0; i < PFC_ARRAY_LEN(want); i++)
        cr_assert(eq(str, (char *)pfc_labels_get(&run->measurements[0].extra, want[i].name),
                     (char *)want[i].value),
                  "%s", want[i].name);
    pfc_run_free(run);
}

/* By hand: 2 m n k; 4 h d pairs, where the last 2 of 8 queries see 7 and 8 keys. */
Test(ceilings, operations_and_bytes_of_a_call_follow_from_its_shape)
{
    static const struct {
        const char *op, *dtype;
        int64_t params[PFC_OP_MAX_PARAMS];
        double operations, bytes;
    } rows[] = {
        { "gemm", "f32", { 2, 3, 5 }, 60, 4 * (10 + 15 + 6) },
        { "gemm", "bf16", { 2, 3, 5 }, 60, 2 * (10 + 15 + 6) },
        { "gemm_bias_act", "f32", { 2, 3, 5, 1 }, 60, 4 * (10 + 15 + 6 + 3) },
        { "attention", "f32", { 4, 8, 16 }, 4 * 4 * 64 * 16, 4 * 4 * 4 * 8 * 16 },
        { "attention",
          "f32",
          { 4, 8, 16, 1, 2, 2 },
          4 * 4 * 15 * 16,
          4 * 2 * 16 * (4 * 2 + 2 * 8) },
        { "softmax", "f32", { 10, 100 }, 5000, 4 * 2000 },
        { "layernorm", "f32", { 10, 100 }, 8000, 4 * 2200 },
        { "rmsnorm", "f32", { 10, 100 }, 4000, 4 * 2100 },
        { "residual_rmsnorm", "f32", { 10, 100 }, 5000, 4 * 4100 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_case c = { .op = pfc_op_find(rows[i].op) };

        snprintf(c.dtype, sizeof(c.dtype), "%s", rows[i].dtype);
        memcpy(c.params, rows[i].params, sizeof(c.params));
        cr_expect(epsilon_eq(dbl, pfc_case_operations(&c), rows[i].operations, 1e-6), "%s",
                  rows[i].op);
        cr_expect(epsilon_eq(dbl, pfc_case_bytes(&c), rows[i].bytes, 1e-6), "%s", rows[i].op);
    }
}

Test(ceilings, times_carry_operations_and_bytes_and_rates_do_not)
{
    pfc_run *run = pfc_run_new();

    add(run, "gemm/f32/m100n100k100", "time_ns", 40000);
    add(run, "gemm/f32/m100n100k100", "gemm_tflops", 0.05);
    add(run, "softmax/f32/rows100cols100", "time_ns", 1)->status = PFC_STATUS_BROKEN;
    add(run, "canary", "time_ns", 1);
    pfc_suite_set_work(suite, run);
    cr_expect(epsilon_eq(dbl, run->measurements[0].operations, 2e6, 1e-3));
    cr_expect(epsilon_eq(dbl, run->measurements[0].bytes, 120000, 1e-6));
    for (size_t i = 1; i < 4; i++) {
        cr_expect(zero(dbl, run->measurements[i].operations));
        cr_expect(zero(dbl, run->measurements[i].bytes));
    }
    pfc_run_free(run);
}

Test(ceilings, the_documents_ceilings_are_those_of_one_core_that_were_measured)
{
    pfc_run *run = pfc_run_new();
    const pfc_run_ceiling *c;

    pfc_ceilings_document(&made_up, run);
    cr_assert(eq(sz, run->ceilings_len, 6)); /* bf16 was not measured */
    c = &run->ceilings[1];
    cr_expect(eq(str, c->name, (char *)"int8 arithmetic, one core, avx2 maddubs"));
    cr_expect(eq(str, c->unit, (char *)"OP/s"));
    cr_expect(eq(str, c->dtype, (char *)"int8"));
    cr_expect(eq(str, c->backend, (char *)"cpu-*"));
    cr_expect(eq(dbl, c->value, 400e9));
    cr_expect(eq(int, c->memory || c->chip_file, 0));
    cr_expect(gt(dbl, c->at, 1.7e9));
    c = &run->ceilings[3];
    cr_expect(eq(str, c->name, (char *)"L2 read, one core"));
    cr_expect(eq(str, c->unit, (char *)"B/s"));
    cr_expect(eq(str, c->level, (char *)"L2"));
    cr_expect(eq(dbl, c->value, 100e9));
    cr_expect(eq(dbl, c->capacity_bytes, 500e3));
    cr_expect(eq(int, c->memory, 1));
    cr_expect(zero(dbl, run->ceilings[5].capacity_bytes), "DRAM has no limit");
    pfc_run_free(run);
}

/* pfc-edge: 16 x 16 multiply-adds at 1 GHz, f32 in 4 passes, and 16 lanes; 51200 MB/s. */
Test(ceilings, a_chip_has_those_of_its_file_when_the_run_has_measurements_of_it)
{
    pfc_run *run = pfc_run_new();

    pfc_backends_accel_ceilings(run);
    cr_assert(zero(sz, run->ceilings_len));
    free(add(run, "gemm", "cycles", 1)->backend);
    run->measurements[0].backend = pfc_strdup("accel:pfc-edge");
    pfc_backends_accel_ceilings(run);
    cr_assert(eq(sz, run->ceilings_len, 4));
    for (size_t i = 0; i < 4; i++) {
        static const double want[] = { 160e9, 544e9, 544e9, 51.2e9 };

        cr_expect(epsilon_eq(dbl, run->ceilings[i].value, want[i], 1));
        cr_expect(eq(int, run->ceilings[i].chip_file, 1));
        cr_expect(eq(int, run->ceilings[i].memory, i == 3));
        cr_expect(eq(str, run->ceilings[i].backend, (char *)"accel:pfc-edge"));
    }
    pfc_run_free(run);
}

Test(ceilings, all_of_them_are_measured)
{
    pfc_ceilings c;

    pfc_ceilings_measure(0.001, true, &c);
    cr_assert(gt(dbl, c.one.gops[PFC_COMPUTE_F32], 0));
    cr_assert(gt(dbl, c.all.gops[PFC_COMPUTE_F32], 0));
    cr_assert(gt(dbl, c.one.gops[PFC_COMPUTE_BF16], 0)); /* its own, or f32's */
    cr_assert(gt(sz, c.threads, 0));
    for (int i = 0; i < PFC_COMPUTES; i++)
        cr_assert(eq(int, c.isa[i][0] != '\0', c.one.gops[i] > 0));
    for (int i = 0; i < PFC_LEVELS; i++) {
        cr_assert(gt(dbl, c.size_bytes[i], 0));
        cr_assert(gt(dbl, c.one.read_gbps[i], 0));
        cr_assert(gt(dbl, c.one.copy_gbps[i], 0));
        cr_assert(gt(dbl, c.all.read_gbps[i], 0));
        cr_assert(gt(dbl, c.all.copy_gbps[i], 0));
    }
}

Test(ceilings, the_sums_are_sums_and_the_loops_say_what_they_did)
{
    float x[256] __attribute__((aligned(64)));
    pfc_loops loops;

    for (int i = 0; i < 256; i++)
        x[i] = 1.0F;
    pfc_loops_choose(&loops);
    cr_assert(epsilon_eq(flt, pfc_read_scalar(x, 256), 256.0F, 0.0F));
    cr_assert(epsilon_eq(flt, loops.read(x, 256), 256.0F, 0.0F));
    for (int i = 0; i < PFC_COMPUTES; i++) {
        if (loops.compute[i])
            cr_assert(epsilon_eq(dbl, loops.compute[i](20), 2 * loops.compute[i](10), 0));
    }
}

typedef struct reading {
    pfc_read_loop *loop;
    const float *x;
    size_t len;
    float sum;
} reading;

static void read_all(void *arg)
{
    reading *r = arg;

    r->sum = r->loop(r->x, r->len);
}

/* Each float once, and none behind the buffer: i + 1 summed to n is n (n + 1) / 2, exact here. */
Test(ceilings, the_loops_read_each_float_once_and_none_behind_the_last)
{
    pfc_loops loops;
    pfc_guard guard;

    pfc_loops_choose(&loops);
    pfc_guard_init(&guard, 512 * sizeof(float));
    for (size_t len = 128; len <= 512; len += 128) {
        float *x = pfc_guard_place(&guard, len * sizeof(float), PFC_GUARD_END, 64);
        reading r[2] = { { pfc_read_scalar, x, len, 0 }, { loops.read, x, len, 0 } };
        const void *touched = NULL;

        for (size_t i = 0; i < len; i++)
            x[i] = (float)(i + 1);
        for (size_t i = 0; i < 2; i++) {
            cr_assert(pfc_guard_try(read_all, &r[i], &touched), "loop %zu, %zu floats", i, len);
            cr_assert(eq(flt, r[i].sum, (float)(len * (len + 1) / 2)), "loop %zu", i);
        }
    }
    pfc_guard_clear(&guard);
}

/* A pass that goes round: half of the buffer is copied to the other half, piece by piece. */
Test(ceilings, a_pass_reads_or_copies_all_of_its_buffer)
{
    enum { BYTES = 4096, WINDOW = 1024 };
    char *buffer = pfc_buffer_get(BYTES);
    size_t at = 0;
    pfc_pass pass = { .buffer = buffer, .bytes = BYTES };

    for (size_t i = 0; i < BYTES; i++)
        buffer[i] = (char)(i % 251);
    cr_assert(eq(dbl, pfc_pass_run(&pass, 3), 3.0 * BYTES));
    cr_assert(eq(int, memcmp(buffer, buffer + BYTES / 2, BYTES / 2), 0));
    memset(buffer, 0, BYTES / 2);
    pass.window = WINDOW;
    pass.at = &at;
    for (size_t i = 1; i <= 4; i++) {
        cr_assert(eq(dbl, pfc_pass_run(&pass, 1), WINDOW));
        cr_assert(eq(sz, at, i == 4 ? 0 : i * WINDOW));
        cr_assert(eq(int, memcmp(buffer, buffer + BYTES / 2, i * WINDOW / 2), 0), "%zu", i);
    }
    pfc_buffer_drop(buffer, BYTES);
}

/* Half of a level; of an L3, which others share, at most four times L2; of DRAM twice L3, between
   64 and 256 MiB, divided by the threads, of which each has at least 16 MiB. */
Test(ceilings, a_buffer_fits_into_its_level)
{
    const double kib = 1024.0, mib = 1024.0 * 1024.0;
    const struct {
        double l3;
        int level;
        size_t threads;
        double bytes;
    } rows[] = {
        { 8 * mib, PFC_LEVEL_L1, 1, 16 * kib },      { 8 * mib, PFC_LEVEL_L2, 1, 256 * kib },
        { 8 * mib, PFC_LEVEL_L3, 1, 2 * mib },       { 2 * mib, PFC_LEVEL_L3, 1, 1 * mib },
        { 8 * mib, PFC_LEVEL_DRAM, 1, 64 * mib },    { 40 * mib, PFC_LEVEL_DRAM, 1, 80 * mib },
        { 500 * mib, PFC_LEVEL_DRAM, 1, 256 * mib }, { 40 * mib, PFC_LEVEL_DRAM, 2, 40 * mib },
        { 40 * mib, PFC_LEVEL_DRAM, 8, 16 * mib },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_ceilings c = { .size_bytes = { 32 * kib, 512 * kib, rows[i].l3, INFINITY } };

        cr_assert(
            eq(dbl, (double)pfc_buffer_bytes(&c, rows[i].level, rows[i].threads), rows[i].bytes),
            "row %zu", i);
    }
}
