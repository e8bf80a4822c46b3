/* The readers of other tools' results, on real files and on bad input. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/import/import.h"

#include "tests/check/check.h"

/* Most of these are about numbers, not about directions: test_missing_directions.c has those. */
static const pfc_import_opts any = { .any_direction = true };

static pfc_run *read_text(const char *text, const pfc_import_opts *opts)
{
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_text(opts ? opts : &any, text, strlen(text), &run, &err), PFC_OK),
              "%s", err.msg);
    return run;
}

static pfc_run *read_file(const char *name)
{
    char *path = pfc_format("%s/import/%s", PFC_TEST_DATA, name);
    char *text = NULL;
    size_t len = 0;
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_read(path, PFC_IMPORT_MAX_BYTES, &text, &len, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_import_text(&any, text, len, &run, &err), PFC_OK), "%s: %s", name,
              err.msg);
    free(text);
    free(path);
    return run;
}

static const pfc_measurement *find(const pfc_run *run, const char *benchmark, const char *metric)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (strcmp(m->benchmark, benchmark) == 0 && strcmp(m->metric, metric) == 0)
            return m;
    }
    cr_assert(false, "no measurement %s %s", benchmark, metric);
    return NULL;
}

static void refuse(const char *text, const pfc_import_opts *opts, const char *part)
{
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(ne(int, pfc_import_text(opts, text, strlen(text), &run, &err), PFC_OK), "%s", text);
    cr_assert(eq(ptr, run, NULL));
    cr_assert(ne(ptr, strstr(err.msg, part), NULL), "'%s' lacks '%s'", err.msg, part);
}

Test(numbers, a_bare_number_is_one_sample_of_the_metric_asked_for)
{
    const pfc_import_opts opts = { .metric = "gemm_tflops" };
    pfc_run *run = read_text("  1.25e-1\n", &opts);
    const pfc_measurement *m = find(run, "command", "gemm_tflops");

    cr_assert(eq(sz, m->samples_len, 1));
    cr_assert(epsilon_eq(dbl, m->samples[0], 0.125, 0));
    cr_assert(eq(str, m->unit, "TFLOP/s"));
    cr_assert(m->higher_is_better);
    pfc_run_free(run);
}

Test(numbers, lines_of_numbers_are_samples_in_order)
{
    pfc_run *run = read_text("3\n\n1\r\n2", NULL);
    const pfc_measurement *m = find(run, "command", "value");

    cr_assert(eq(sz, m->samples_len, 3));
    cr_assert(epsilon_eq(dbl, m->samples[0], 3, 0));
    cr_assert(epsilon_eq(dbl, m->samples[2], 2, 0));
    cr_assert(eq(sz, m->blocks_len, 1));
    cr_assert(eq(int, m->blocks[0], 3));
    cr_assert(not(m->higher_is_better));
    pfc_run_free(run);
}

Test(numbers, value_and_metrics_objects_are_read)
{
    pfc_run *run = read_text("{\"value\": 7}", NULL);
    const pfc_measurement *m = find(run, "command", "value");

    cr_assert(epsilon_eq(dbl, m->samples[0], 7, 0));
    pfc_run_free(run);

    run = read_text("{\"metrics\": {\"time_ns\": 5, \"size\": {\"value\": 9, \"unit\": \"bytes\"},"
                    "\"score\": {\"samples\": [2, 2], \"higher_is_better\": true,"
                    "\"exact\": true}}}",
                    NULL);
    cr_assert(eq(sz, run->measurements_len, 3));
    cr_assert(eq(str, find(run, "command", "time_ns")->unit, "ns"));
    cr_assert(eq(str, find(run, "command", "size")->unit, "bytes"));
    m = find(run, "command", "score");
    cr_assert(eq(sz, m->samples_len, 2));
    cr_assert(m->higher_is_better);
    cr_assert(m->exact);
    pfc_run_free(run);
}

Test(numbers, unequal_samples_of_an_exact_metric_are_refused)
{
    static const char text[] = "{\"metrics\": {\"size\": {\"samples\": [5, 6], \"exact\": true}}}";
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_text(NULL, text, strlen(text), &run, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "got 5 and 6"), NULL), "%s", err.msg);
}

Test(numbers, a_value_that_is_not_finite_is_skipped_with_a_reason)
{
    pfc_run *run = read_text("{\"metrics\": {\"a\": NaN, \"b\": -Infinity, \"NaN\": 1}}", NULL);

    cr_assert(eq(int, find(run, "command", "a")->status, PFC_STATUS_SKIPPED));
    cr_assert(ne(ptr, find(run, "command", "b")->reason, NULL));
    cr_assert(eq(int, find(run, "command", "NaN")->status, PFC_STATUS_OK));
    pfc_run_free(run);
}

Test(numbers, what_is_not_a_number_is_refused_with_its_line)
{
    refuse("1\n2 x\n", NULL, "line 2");
    refuse("0x10", NULL, "line 1");
    refuse("inf", NULL, "line 1");
    refuse("Segmentation fault", NULL, "line 1");
    refuse("", NULL, "nothing");
    refuse(" \n ", NULL, "nothing");
    refuse("{\"value\": \"7\"}", NULL, "no known benchmark format");
    refuse("{\"metrics\": {\"a\": {\"unit\": \"s\"}}}", NULL, "expected a number under 'value'");
    refuse("{\"metrics\": {\"a\": [1, \"x\"]}}", NULL, "sample 1");
    refuse("{\"metrics\": {}}", NULL, "no benchmark");
    refuse("{", NULL, "not valid JSON");
}

Test(import, an_unknown_or_wrong_format_is_refused)
{
    refuse("1", &(pfc_import_opts){ .format = "yaml" }, "unknown format 'yaml'");
    refuse("1", &(pfc_import_opts){ .format = "bmf" }, "expected JSON");
    refuse("{\"value\": 1}", &(pfc_import_opts){ .format = "hyperfine" },
           "not of format hyperfine");
}

Test(import, deep_nesting_is_refused)
{
    char text[4096];

    memset(text, '[', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refuse(text, NULL, "nested deeper");
}

Test(import, text_that_is_not_utf8_is_refused)
{
    refuse("{\"value\": 1, \"unit\": \"\xff\"}", NULL, "UTF-8");
}

Test(import, a_long_name_is_cut_and_stays_distinct)
{
    char a[600];
    char text[2000];
    pfc_run *run;

    memset(a, 'a', sizeof(a) - 1);
    a[sizeof(a) - 1] = '\0';
    snprintf(text, sizeof(text), "[{\"name\":\"%sx\",\"value\":1},{\"name\":\"%sy\",\"value\":2}]",
             a, a);
    run = read_text(text, NULL);
    cr_assert(eq(sz, run->measurements_len, 2));
    cr_assert(le(sz, strlen(run->measurements[0].benchmark), PFC_WIRE_MAX_NAME));
    cr_assert(ne(str, run->measurements[0].benchmark, run->measurements[1].benchmark));
    pfc_run_free(run);
}

/* Values from the files themselves. */
Test(google_benchmark, plain_iterations_give_time_and_cpu_time)
{
    pfc_run *run = read_file("google-benchmark/googlecpp_output.json");
    const pfc_measurement *m = find(run, "fib_10", "time_ns");

    cr_assert(eq(sz, run->measurements_len, 4));
    cr_assert(epsilon_eq(dbl, m->samples[0], 214.98980114547953, 1e-12));
    cr_assert(eq(str, m->unit, "ns"));
    cr_assert(not(m->higher_is_better));
    cr_assert(
        epsilon_eq(dbl, find(run, "fib_20", "cpu_time_ns")->samples[0], 27364.903204272359, 1e-9));
    pfc_run_free(run);
}

/* gemm/n:32 and n:64 with 3 repetitions in us, three softmax in ns; aggregates, BigO, RMS left out.
 */
Test(google_benchmark, repetitions_are_samples_and_aggregates_are_left_out)
{
    pfc_run *run = read_file("google-benchmark/repetitions-complexity.json");
    const pfc_measurement *m = find(run, "gemm/n:32/repeats:3", "time_ns");

    cr_assert(eq(sz, m->samples_len, 3));
    cr_assert(epsilon_eq(dbl, m->samples[1], 31295.04040087379, 1e-9));
    m = find(run, "gemm/n:64/repeats:3", "gemm_tflops");
    cr_assert(eq(sz, m->samples_len, 3));
    cr_assert(m->higher_is_better);
    cr_assert(eq(str, m->unit, "TFLOP/s"));
    cr_assert(eq(str, find(run, "gemm/n:32/repeats:3", "bytes_per_second")->unit, "B/s"));
    /* 2 x (time, cpu, bytes/s, tflops) + 3 x (time, cpu) */
    cr_assert(eq(sz, run->measurements_len, 14));
    pfc_run_free(run);
}

Test(google_benchmark, bare_nan_and_an_error_are_reported_not_lost)
{
    pfc_run *run = read_file("google-benchmark/nan-infinity-error.json");
    const pfc_measurement *m = find(run, "fails", "time_ns");

    cr_assert(eq(int, m->status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, m->reason, "out of device memory"));
    cr_assert(eq(int, find(run, "nanc", "ratio")->status, PFC_STATUS_SKIPPED));
    cr_assert(eq(int, find(run, "nanc", "peak")->status, PFC_STATUS_SKIPPED));
    cr_assert(eq(int, find(run, "nanc", "time_ns")->status, PFC_STATUS_OK));
    m = find(run, "attention<bf16, causal=\"yes\">/日本/real_time/threads:2", "tokens/s");
    cr_assert(m->higher_is_better);
    pfc_run_free(run);
}

Test(google_benchmark, entries_without_a_time_are_skipped)
{
    pfc_run *run = read_file("google-benchmark/aggregates-2016.json");

    cr_assert(gt(sz, run->measurements_len, 0));
    for (size_t i = 0; i < run->measurements_len; i++)
        cr_assert(eq(int, run->measurements[i].status, PFC_STATUS_SKIPPED));
    pfc_run_free(run);
}

Test(google_benchmark, aggregates_alone_give_the_median)
{
    pfc_run *run =
        read_text("{\"context\":{},\"benchmarks\":["
                  "{\"name\":\"f_mean\",\"run_name\":\"f\",\"run_type\":\"aggregate\","
                  "\"aggregate_name\":\"mean\",\"real_time\":3,\"time_unit\":\"ms\"},"
                  "{\"name\":\"f_median\",\"run_name\":\"f\",\"run_type\":\"aggregate\","
                  "\"aggregate_name\":\"median\",\"real_time\":2,\"time_unit\":\"ms\"}]}",
                  NULL);
    const pfc_measurement *m = find(run, "f", "time_ns");

    cr_assert(eq(sz, m->samples_len, 1));
    cr_assert(epsilon_eq(dbl, m->samples[0], 2e6, 0));
    pfc_run_free(run);
}

Test(google_benchmark, faults_name_their_place)
{
    refuse("{\"context\":{},\"benchmarks\":[{\"name\":\"a\",\"real_time\":1,"
           "\"time_unit\":\"h\"}]}",
           NULL, "expected ns, us, ms or s, got 'h'");
    refuse("{\"context\":{},\"benchmarks\":[7]}", NULL, "expected objects");
    refuse("{\"context\":{},\"benchmarks\":[]}", NULL, "no benchmark");
}

Test(hyperfine, times_become_nanoseconds)
{
    pfc_run *run = read_file("hyperfine/two.json");
    const pfc_measurement *m = find(run, "sleep 0.1", "time_ns");

    cr_assert(eq(sz, run->measurements_len, 2));
    cr_assert(epsilon_eq(dbl, m->samples[0], 105868768.72, 1e-3));
    pfc_run_free(run);

    run = read_file("hyperfine/parameters.json");
    m = find(run, "sleep 0.01", "time_ns");
    cr_assert(eq(sz, m->samples_len, 5));
    cr_assert(eq(str, (char *)pfc_labels_get(&m->params, "n"), "1"));
    pfc_run_free(run);
    run = read_text("{\"results\":[{\"command\":\"a\",\"times\":[1,2],\"parameters\":"
                    "{\"\":\"1\",\"a\\tb\":\"c\\u0001d\"}}]}",
                    NULL);
    m = find(run, "a", "time_ns");
    cr_assert(eq(sz, m->params.len, 1));
    cr_assert(eq(str, (char *)pfc_labels_get(&m->params, "a b"), "c d"));
    pfc_run_free(run);
    refuse("{\"results\":[{\"command\":\"a\",\"times\":[1,null]}]}", NULL, "value 1");
    refuse("{\"results\":[{\"command\":\"a\"}]}", NULL, "list of seconds");
}

Test(pytest_benchmark, rounds_are_samples_and_extra_numbers_are_metrics)
{
    pfc_run *run = read_file("pytest-benchmark/params-extra-info.json");
    const pfc_measurement *m = find(run, "test_c.py::test_gemm[shape0]", "gemm_tflops");

    cr_assert(epsilon_eq(dbl, m->samples[0], 1.5744, 0));
    cr_assert(m->higher_is_better);
    m = find(run, "test_c.py::test_gemm[shape0]", "time_ns");
    cr_assert(gt(sz, m->samples_len, 0));
    cr_assert(gt(dbl, m->samples[0], 0));
    cr_assert(eq(sz, run->measurements_len, 4));
    pfc_run_free(run);

    run = read_file("pytest-benchmark/pytest_output.json");
    cr_assert(eq(sz, run->measurements_len, 2));
    /* its rounds are shortened in the file: the median stands for them */
    m = find(run, "bench.py::test_fib_10", "time_ns");
    cr_assert(eq(sz, m->samples_len, 1));
    cr_assert(epsilon_eq(dbl, m->samples[0], 22300.000000363696, 1e-6));
    pfc_run_free(run);
}

Test(custom, direction_comes_from_the_caller_else_from_the_unit)
{
    const pfc_import_opts smaller = { .has_direction = true, .higher_is_better = false };
    pfc_run *run = read_file("github-action/customBiggerIsBetter_output.json");
    const char *text = "[{\"name\":\"a\",\"unit\":\"req/s\",\"value\":70}]";

    cr_assert(eq(sz, run->measurements_len, 2));
    cr_assert(
        find(run, "My Custom Bigger Is Better Benchmark - Throughput", "value")->higher_is_better);
    pfc_run_free(run);
    run = read_file("github-action/customSmallerIsBetter_output.json");
    cr_assert(not(
        find(run, "My Custom Smaller Is Better Benchmark - CPU Load", "value")->higher_is_better));
    pfc_run_free(run);
    run = read_text(text, &smaller);
    cr_assert(not(find(run, "a", "value")->higher_is_better));
    pfc_run_free(run);
}

Test(custom, bencher_metric_format_is_read)
{
    pfc_run *run = read_file("bmf/report_latency.json");
    const pfc_measurement *m = find(run, "tests::benchmark_b", "latency");

    cr_assert(eq(sz, run->measurements_len, 3));
    cr_assert(epsilon_eq(dbl, m->samples[0], 3443, 0));
    cr_assert(eq(str, m->unit, "ns"));
    pfc_run_free(run);
}
