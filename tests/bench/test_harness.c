/* The harness on a simulated backend and clock: every number below follows from the model. */
#include <regex.h>
#include <string.h>

#include "core/stats/stats.h"
#include "kernels/cpu/kernel.h"

#include "tests/bench/fake.h"
#include "tests/check/check.h"

#define SUITE                                                                                      \
    "suite: t\n"                                                                                   \
    "settings: {processes: 4, min_samples: 20, max_samples: 80, max_seconds: 10,"                  \
    " interval_rel: 0.05}\n"                                                                       \
    "backends: [cpu-scalar, cpu-avx512, cpu-neon, \"accel:*\"]\n"                                  \
    "benchmarks:\n"                                                                                \
    "  - {op: gemm, shapes: [{m: 10, n: 10, k: 10}, {m: 20, n: 10, k: 10}]}\n"

static pfc_backends backends;
static pfc_suite *suite;
static pfc_run *run;
static pfc_err err;

static void setup(void)
{
    fake_reset(&backends);
    err = (pfc_err){ 0 };
    run = pfc_run_new();
    cr_assert(eq(int, pfc_suite_parse(SUITE, strlen(SUITE), "t", &suite, &err), PFC_OK), "%s",
              err.msg);
}

static void teardown(void)
{
    pfc_backends_clear(&backends);
    pfc_suite_free(suite);
    pfc_run_free(run);
}

static pfc_measure_opts opts(void)
{
    return (pfc_measure_opts){ .block = fake_block, .block_arg = &backends, .cpu = -1 };
}

static void measure(const pfc_measure_opts *o)
{
    cr_assert(eq(int, pfc_suite_measure(suite, &backends, o, run, &err), PFC_OK), "%s", err.msg);
}

static const pfc_measurement *find(const char *benchmark, const char *metric, const char *backend)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (pfc_streq(m->benchmark, benchmark) && pfc_streq(m->metric, metric) &&
            pfc_streq(m->backend, backend))
            return m;
    }
    return NULL;
}

static pfc_block_spec spec(void)
{
    return (pfc_block_spec){ .c = &suite->cases[0],
                             .backend = "cpu-scalar",
                             .seed = 1,
                             .samples = 5,
                             .max_seconds = 1,
                             .warmup_seconds = 1,
                             .check = true,
                             .cpu = -1 };
}

TestSuite(harness, .init = setup, .fini = teardown);

/* A call of 1000 ns: 20 calls make the wanted 20 us; the clock's 100 x 20 ns need fewer. */
Test(harness, a_batch_makes_a_sample_long_enough)
{
    const pfc_block_spec s = spec();
    pfc_block b;

    cr_assert(
        eq(int, pfc_block_run(&backends.items[0], &s, &fake_wall, &fake_cpu, &b, &err), PFC_OK));
    cr_assert(eq(int, b.status, PFC_STATUS_OK));
    cr_assert(eq(u64, b.batch, 20));
    cr_assert(eq(sz, b.len, 5));
    cr_assert(b.steady);
    cr_assert(eq(str, b.clock, "monotonic"));
    cr_assert(epsilon_eq(dbl, b.samples[0], 1000, 1e-6));
    cr_assert(eq(sz, fake.checked, 1));
    pfc_block_clear(&b);
}

Test(harness, a_long_call_is_timed_by_the_cpu_clock)
{
    const pfc_block_spec s = spec();
    pfc_block b;

    fake.call_ns = 5e6;
    cr_assert(
        eq(int, pfc_block_run(&backends.items[0], &s, &fake_wall, &fake_cpu, &b, &err), PFC_OK));
    cr_assert(eq(str, b.clock, "thread-cpu"));
    cr_assert(eq(u64, b.batch, 1));
    cr_assert(epsilon_eq(dbl, b.samples[0], 5e6, 1e-3));
    pfc_block_clear(&b);
}

/* The first 500 calls are ten times slower: none of them is in a sample. */
Test(harness, warm_up_leaves_the_cold_calls_out)
{
    const pfc_block_spec s = spec();
    pfc_block b;

    fake.cold_calls = 500;
    cr_assert(
        eq(int, pfc_block_run(&backends.items[0], &s, &fake_wall, &fake_cpu, &b, &err), PFC_OK));
    for (size_t i = 0; i < b.len; i++)
        cr_assert(epsilon_eq(dbl, b.samples[i], 1000, 1e-6));
    cr_assert(b.steady);
    pfc_block_clear(&b);
}

Test(harness, a_block_stops_at_its_budget_but_takes_a_sample)
{
    pfc_block_spec s = spec();
    pfc_block b;

    s.samples = 100000;
    s.max_seconds = 0.001; /* 50 samples of 20 us */
    cr_assert(
        eq(int, pfc_block_run(&backends.items[0], &s, &fake_wall, &fake_cpu, &b, &err), PFC_OK));
    cr_assert(ge(sz, b.len, 49));
    cr_assert(le(sz, b.len, 52));
    pfc_block_clear(&b);
    s.max_seconds = 0;
    cr_assert(
        eq(int, pfc_block_run(&backends.items[0], &s, &fake_wall, &fake_cpu, &b, &err), PFC_OK));
    cr_assert(eq(sz, b.len, 1));
    pfc_block_clear(&b);
}

/* No noise: the interval has no width after the four processes that are asked for. */
Test(harness, a_quiet_benchmark_stops_after_the_processes_asked_for)
{
    const pfc_measure_opts o = opts();
    const pfc_measurement *m;

    measure(&o);
    m = find("gemm/f32/m10n10k10", "time_ns", "cpu-scalar");
    cr_assert(eq(sz, m->blocks_len, 4));
    cr_assert(eq(sz, m->samples_len, 20));
    cr_assert(epsilon_eq(dbl, m->samples[19], 1000, 1e-6));
    /* 2000 flops in 1000 ns are 2e9 flop/s */
    m = find("gemm/f32/m10n10k10", "gemm_tflops", "cpu-scalar");
    cr_assert(epsilon_eq(dbl, m->samples[0], 2e-3, 1e-9));
    cr_assert(m->higher_is_better);
    cr_assert(eq(str, m->unit, "TFLOP/s"));
    cr_assert(eq(str, run->suite_hash, suite->hash));
    /* checked in the first process only, opened in each: two benchmarks, and each once on accel */
    cr_assert(eq(sz, fake.checked, 4));
    cr_assert(eq(sz, fake.opened, 10));
}

Test(harness, a_noisy_benchmark_gets_more_processes_up_to_its_samples)
{
    const pfc_measure_opts o = opts();
    const pfc_measurement *m;

    fake.noise_rel = 0.05;
    fake.block_rel = 0.5;
    measure(&o);
    m = find("gemm/f32/m10n10k10", "time_ns", "cpu-scalar");
    cr_assert(gt(sz, m->blocks_len, 4));
    cr_assert(le(sz, m->samples_len, 84));
}

Test(harness, same_seeds_give_the_same_numbers)
{
    const pfc_measure_opts o = opts();
    double first;

    fake.noise_rel = 0.1;
    measure(&o);
    first = find("gemm/f32/m20n10k10", "time_ns", "cpu-scalar")->samples[3];
    pfc_run_free(run);
    run = pfc_run_new();
    pfc_backends_clear(&backends);
    fake_reset(&backends);
    fake.noise_rel = 0.1;
    measure(&o);
    cr_assert(
        epsilon_eq(dbl, find("gemm/f32/m20n10k10", "time_ns", "cpu-scalar")->samples[3], first, 0));
}

Test(harness, a_wrong_result_yields_no_number)
{
    const pfc_measure_opts o = opts();
    const pfc_measurement *m;

    fake.wrong = "gemm/f32/m20n10k10";
    measure(&o);
    m = find("gemm/f32/m20n10k10", "time_ns", "cpu-scalar");
    cr_assert(eq(int, m->status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, m->reason, "row 3: expected 1.5, got 2.5"));
    cr_assert(eq(sz, m->samples_len, 0));
    cr_assert(eq(ptr, (void *)find("gemm/f32/m20n10k10", "gemm_tflops", "cpu-scalar"), NULL));
    cr_assert(pfc_run_is_broken(run));
    m = find("headline", "gemm_tflops", "cpu-scalar");
    cr_assert(eq(int, m->status, PFC_STATUS_SKIPPED));
    cr_assert(eq(str, m->reason,
                 "1 of 2 members measured; gemm/f32/m20n10k10: row 3: expected 1.5, got 2.5"));
}

Test(harness, what_is_missing_here_is_skipped_with_its_reason)
{
    const pfc_measure_opts o = opts();

    fake.unknown = "gemm/f32/m20n10k10";
    measure(&o);
    cr_assert(eq(str, find("gemm/f32/m10n10k10", "time_ns", "cpu-avx512")->reason,
                 "this CPU has no AVX-512"));
    cr_assert(eq(str, find("gemm/f32/m10n10k10", "time_ns", "cpu-neon")->reason,
                 "not part of this build"));
    cr_assert(eq(str, find("gemm/f32/m20n10k10", "time_ns", "cpu-scalar")->reason,
                 "cpu-scalar has no gemm"));
    cr_assert(not(pfc_run_is_broken(run)));
}

/* 2000 and 4000 flops in 1000 ns: the geometric mean of 2e-3 and 4e-3 is 2e-3 x sqrt 2. */
Test(harness, the_headline_is_the_geometric_mean_of_the_whole_group)
{
    const pfc_measure_opts o = opts();
    const pfc_measurement *m;

    measure(&o);
    m = find("headline", "gemm_tflops", "cpu-scalar");
    cr_assert(eq(int, m->status, PFC_STATUS_OK));
    cr_assert(eq(sz, m->samples_len, 4));
    cr_assert(eq(sz, m->blocks_len, 4));
    cr_assert(epsilon_eq(dbl, m->samples[0], 2e-3 * sqrt(2.0), 1e-9));
    cr_assert(not(m->exact));
    m = find("headline", "gemm_tflops", "accel:test");
    cr_assert(m->exact);
    cr_assert(eq(sz, m->samples_len, 1));
    cr_assert(eq(int, find("headline", "gemm_tflops", "cpu-avx512")->status, PFC_STATUS_SKIPPED));
}

Test(harness, a_filtered_group_has_no_headline)
{
    pfc_measure_opts o = opts();
    const pfc_measurement *m;

    o.filter = "m10";
    measure(&o);
    cr_assert(eq(ptr, (void *)find("gemm/f32/m20n10k10", "time_ns", "cpu-scalar"), NULL));
    m = find("headline", "gemm_tflops", "cpu-scalar");
    cr_assert(eq(int, m->status, PFC_STATUS_SKIPPED));
    cr_assert(eq(str, m->reason, "1 of 2 members measured; gemm/f32/m20n10k10: not selected"));
}

/* 500 cycles in 500 ns of simulated time for 2000 flops: 4e9 flop/s. */
Test(harness, an_exact_backend_gives_one_exact_sample_and_its_counters)
{
    const pfc_measure_opts o = opts();
    const pfc_measurement *m;

    measure(&o);
    m = find("gemm/f32/m10n10k10", "cycles", "accel:test");
    cr_assert(m->exact);
    cr_assert(eq(sz, m->samples_len, 1));
    cr_assert(epsilon_eq(dbl, m->samples[0], 500, 0));
    cr_assert(eq(str, (char *)pfc_labels_get(&m->extra, "dram_bytes"), "4096"));
    cr_assert(epsilon_eq(dbl, find("gemm/f32/m10n10k10", "dram_bytes", "accel:test")->samples[0],
                         4096, 0));
    cr_assert(epsilon_eq(dbl, find("gemm/f32/m10n10k10", "gemm_tflops", "accel:test")->samples[0],
                         4e-3, 1e-12));
}

Test(harness, an_exact_backend_that_differs_is_broken)
{
    const pfc_measure_opts o = opts();

    fake.cycles_step = 1;
    measure(&o);
    cr_assert(
        eq(int, find("gemm/f32/m10n10k10", "time_ns", "accel:test")->status, PFC_STATUS_BROKEN));
}

Test(harness, selection_faults_are_reported)
{
    pfc_measure_opts o = opts();
    const char *avx2[] = { "cpu-avx2" };
    regex_t bad;
    char why[128];

    o.filter = "[";
    cr_assert(eq(int, pfc_suite_measure(suite, &backends, &o, run, &err), PFC_EINVAL));
    cr_assert(ne(int, regcomp(&bad, "[", REG_EXTENDED), 0));
    (void)regerror(regcomp(&bad, "[", REG_EXTENDED), &bad, why, sizeof(why));
    cr_assert(ne(ptr, strstr(err.msg, "filter '[': "), NULL));
    cr_assert(ne(ptr, strstr(err.msg, why), NULL), "%s: %s", err.msg, why);
    o.filter = "nothing-like-it";
    cr_assert(eq(int, pfc_suite_measure(suite, &backends, &o, run, &err), PFC_EINVAL));
    o.filter = NULL;
    o.backends = avx2;
    o.backends_len = 1;
    cr_assert(eq(int, pfc_suite_measure(suite, &backends, &o, run, &err), PFC_EINVAL));
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

Test(harness, a_cancelled_run_says_so)
{
    pfc_measure_opts o = opts();

    o.cancelled = always;
    cr_assert(eq(int, pfc_suite_measure(suite, &backends, &o, run, &err), PFC_EUNAVAIL));
    cr_assert(eq(sz, run->measurements_len, 0));
}

static void last_progress(void *arg, const pfc_progress *at)
{
    *(pfc_progress *)arg = *at;
}

Test(harness, progress_ends_with_everything_done_and_the_estimate_is_a_budget)
{
    pfc_progress last = { 0 };
    pfc_measure_opts o = opts();
    double seconds = 0;
    size_t cells = 0;

    o.progress = last_progress;
    o.progress_arg = &last;
    measure(&o);
    cr_assert(eq(sz, last.done, last.total));
    cr_assert(eq(sz, last.total, 8)); /* 2 benchmarks x 4 backends */
    cr_assert(eq(int, pfc_suite_estimate(suite, &backends, &o, &seconds, &cells, &err), PFC_OK));
    cr_assert(eq(sz, cells, 4));
    cr_assert(ge(dbl, seconds, 20.0)); /* 2 timed benchmarks of 10 s */
}

/* The document that comes out is one that the strict reader takes. */
Test(harness, the_run_document_goes_round)
{
    const pfc_measure_opts o = opts();
    pfc_run *back = NULL;
    char *text;

    fake.noise_rel = 0.01;
    measure(&o);
    run->id = pfc_strdup("0123456789abcdef0123456789abcdef");
    run->machine.name = pfc_strdup("host");
    run->machine.machine_class = pfc_strdup("class");
    pfc_labels_set(&run->machine.fingerprint, "cpu", "x");
    pfc_machine_hash(&run->machine);
    text = pfc_run_to_text(run);
    cr_assert(eq(int, pfc_run_from_json(text, strlen(text), &back, &err), PFC_OK), "%s: %s",
              err.field, err.msg);
    cr_assert(eq(sz, back->measurements_len, run->measurements_len));
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *a = &run->measurements[i];
        const pfc_measurement *b = &back->measurements[i];
        cr_assert(eq(sz, a->samples_len, b->samples_len));
        for (size_t s = 0; s < a->samples_len; s++)
            cr_assert(epsilon_eq(dbl, a->samples[s], b->samples[s], 0));
    }
    pfc_run_free(back);
    free(text);
}

/* ---- between processes ---- */

Test(harness, a_spec_goes_round)
{
    const pfc_block_spec a = spec();
    pfc_block_spec b;
    pfc_case c;
    char *backend = NULL;
    char *text = pfc_block_spec_to_text(&a);

    cr_assert(eq(int, pfc_block_spec_from_text(text, strlen(text), &b, &c, &backend, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(str, c.name, suite->cases[0].name));
    cr_assert(eq(str, backend, "cpu-scalar"));
    cr_assert(eq(sz, b.samples, 5));
    cr_assert(b.check);
    cr_assert(eq(int, b.cpu, -1));
    free(text);
    free(c.name);
    free(backend);
}

Test(harness, a_block_goes_round_bit_for_bit)
{
    pfc_block_spec s = spec();
    pfc_block a;
    pfc_block b;
    char *text;

    fake.noise_rel = 0.1;
    cr_assert(
        eq(int, pfc_block_run(&backends.items[0], &s, &fake_wall, &fake_cpu, &a, &err), PFC_OK));
    text = pfc_block_to_text(&a);
    cr_assert(eq(int, pfc_block_from_text(text, strlen(text), &b, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, a.len, b.len));
    for (size_t i = 0; i < a.len; i++)
        cr_assert(epsilon_eq(dbl, a.samples[i], b.samples[i], 0));
    cr_assert(eq(u64, b.batch, a.batch));
    free(text);
    pfc_block_clear(&a);
    pfc_block_clear(&b);
}

Test(harness, a_bad_spec_or_block_is_refused)
{
    pfc_block_spec s;
    pfc_block b;
    pfc_case c;
    char *backend = NULL;
    const char *specs[] = { "", "{}", "{\"op\":\"gemm\"}", "7",
                            "{\"op\":\"x\",\"dtype\":\"f32\",\"params\":{}}" };
    const char *blocks[] = { "", "{}", "null", "{\"status\":\"ok\"}" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(specs); i++)
        cr_assert(eq(int,
                     pfc_block_spec_from_text(specs[i], strlen(specs[i]), &s, &c, &backend, &err),
                     PFC_EINVAL));
    for (size_t i = 0; i < PFC_ARRAY_LEN(blocks); i++)
        cr_assert(eq(int, pfc_block_from_text(blocks[i], strlen(blocks[i]), &b, &err), PFC_EINVAL));
}

Test(harness, a_child_that_dies_or_babbles_is_a_broken_block)
{
    const pfc_block_spec s = spec();
    char fails[] = "false";
    char babbles[] = "echo";
    char missing[] = "/no/such/program";
    pfc_block b;

    cr_assert(eq(int, pfc_block_launch(fails, &s, &b, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, b.status, PFC_STATUS_BROKEN));
    cr_assert(ne(ptr, strstr(b.reason, "exit status 1"), NULL), "%s", b.reason);
    pfc_block_clear(&b);
    cr_assert(eq(int, pfc_block_launch(babbles, &s, &b, &err), PFC_OK));
    cr_assert(ne(ptr, strstr(b.reason, "answered no block"), NULL), "%s", b.reason);
    pfc_block_clear(&b);
    cr_assert(eq(int, pfc_block_launch(missing, &s, &b, &err), PFC_ENOTFOUND));
}

Test(harness, real_clocks_have_a_resolution)
{
    const pfc_timer wall = pfc_timer_wall();
    const pfc_timer cpu = pfc_timer_cpu();
    const double earlier_ns = wall.now_ns(NULL);

    cr_assert(gt(dbl, wall.resolution_ns, 0));
    cr_assert(gt(dbl, cpu.resolution_ns, 0));
    cr_assert(le(dbl, earlier_ns, wall.now_ns(NULL)));
}

/* Names, parameters and work of the suite's table are those of the kernels; the suite may know more
 * parameters, which then have a default. */
Test(harness, every_cpu_kernel_has_its_operation_with_the_same_name_and_work)
{
    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        const pfc_kernel_op *kernel = pfc_kernel_at(i);
        const pfc_op *op = pfc_op_find(pfc_kernel_name(kernel));
        const pfc_kernel_param *params = NULL;
        const size_t params_len = pfc_kernel_params(kernel, &params);
        pfc_kernel_arg args[PFC_OP_MAX_PARAMS] = { 0 };
        pfc_kernel_case *problem = NULL;
        pfc_case c = { .op = op };
        double work;

        cr_assert(ne(ptr, (void *)op, NULL), "%s", pfc_kernel_name(kernel));
        cr_assert(le(sz, params_len, op->params_len));
        for (size_t p = params_len; p < op->params_len; p++)
            c.params[p] = op->params[p].fallback;
        for (size_t p = params_len; p < op->params_len; p++)
            cr_assert(ge(i64, op->params[p].fallback, 0));
        cr_assert(eq(str, (char *)op->metric, (char *)pfc_kernel_headline(kernel)));
        strcpy(c.dtype, pfc_kernel_dtype(kernel));
        for (size_t p = 0; p < params_len; p++) {
            cr_assert(eq(str, (char *)op->params[p].name, (char *)params[p].name));
            c.params[p] = op->params[p].max == 1 ? 1 : (int64_t)(3 + p);
            args[p] = (pfc_kernel_arg){ params[p].name, c.params[p] };
        }
        cr_assert(eq(int, pfc_kernel_case_new(&problem, kernel, args, params_len, 1, &err), PFC_OK),
                  "%s", err.msg);
        c.name = pfc_case_name(op, c.dtype, c.params);
        cr_assert(eq(str, c.name, (char *)pfc_kernel_label(problem)));
        work = pfc_kernel_rate_of(kernel) == PFC_KERNEL_TFLOPS ? pfc_kernel_flops(problem) * 1e-12
                                                               : pfc_kernel_bytes(problem) * 1e-9;
        cr_assert(epsilon_eq(dbl, pfc_case_work(&c) / work, 1.0, 1e-9));
        free(c.name);
        pfc_kernel_case_free(problem);
    }
}
