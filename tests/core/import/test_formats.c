/*
 * Every example file: its format found by content, the number of measurements, and of some the
 * unit, direction, samples and value. Expected numbers are counted and read off the files.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/import/import.h"

#include "tests/check/check.h"

#define LOWER  false
#define HIGHER true

typedef struct expected {
    const char *file;
    const char *format;
    size_t measurements;
    const char *benchmark, *metric, *unit;
    bool higher;
    size_t samples;
    double median;
} expected;

/* ncu: 68 rows have a metric, 47 of them a number that is no repetition of another; nccl-tests: 34
 * sizes, one of them twice, by six columns, and the average; NVBench: 12 states with 3 times, 10 of
 * them with 3 rates. */
static const expected files[] = {
    { "nvbench/ref.json", "nvbench", 66, "simple", "gpu_time_ns", "ns", LOWER, 1,
      1003471.5849794225 },
    { "nvbench/ref.json", "nvbench", 66, "copy_type_sweep/T=U8", "bytes_per_second", "B/s", HIGHER,
      1, NAN },
    { "triton/fp16_results.csv", "triton", 16, "K=128", "triton_tflops", "TFLOP/s", HIGHER, 1,
      458.23076643332934 },
    { "triton/fp16_results.csv", "triton", 16, "K=1024", "cublas_tflops", "TFLOP/s", HIGHER, 1,
      1299.5522980171415 },
    { "ncu/cublaslt_ncu.log", "ncu", 47,
      "cutlass3x_sm100_tensorop_s64x256x32gemm_f8_f8_f32_f16_f16_64x256x128_1x1x1_0_tnn_align4_"
      "1sm_bias_f16_relu_aux_scalemax",
      "Duration", "ns", LOWER, 1, 406240 },
    { "ncu/cublaslt_ncu.log", "ncu", 47,
      "cutlass3x_sm100_tensorop_s64x256x32gemm_f8_f8_f32_f16_f16_64x256x128_1x1x1_0_tnn_align4_"
      "1sm_bias_f16_relu_aux_scalemax",
      "DRAM Throughput", "%", HIGHER, 1, 0.74 },
    { "rocprof/kernel_trace.csv", "rocprof", 4,
      "divide_kernel(float*, float const*, float const*, int, int)", "time_ns", "ns", LOWER, 2,
      (10103 + 11547) / 2.0 },
    { "rocprof/hip_api_stats.csv", "rocprof", 40, "hipFree", "time_ns", "ns", LOWER, 1, 166201.75 },
    { "nccl-tests/nccl_allreduce.log", "nccl-tests", 199, "nccl/float/sum/size=8589934592",
      "busbw_gbps", "GB/s", HIGHER, 1, 235.26 },
    { "nccl-tests/nccl_allreduce.log", "nccl-tests", 199, "nccl/float/sum/size=4",
      "inplace_time_ns", "ns", LOWER, 1, 35300 },
    { "nccl-tests/nccl_allreduce.log", "nccl-tests", 199, "nccl", "avg_busbw_gbps", "GB/s", HIGHER,
      1, 68.4048 },
    { "cutlass/cutlass_profiler_fp32.csv", "cutlass", 12,
      "cutlass_simt_sgemm_128x128_8x2_tn_align1/m=16384 n=16384 k=16384", "time_ns", "ns", LOWER, 1,
      482.034e6 },
    { "cutlass/cutlass_profiler_fp32.csv", "cutlass", 12,
      "cutlass_simt_sgemm_128x128_8x2_tn_align1/m=16384 n=16384 k=16384", "gflops", "GFLOP/s",
      HIGHER, 1, 18249 },
    { "criterion/stdout-many.txt", "criterion", 5, "tracing_file", "time_ns", "ns", LOWER, 1,
      18019 },
    { "criterion/raw.csv", "criterion", 1, "Fibonacci2/Recursive/20", "time_ns", "ns", LOWER, 100,
      19165.752851799363 },
    { "criterion/sample.json", "criterion", 1, "criterion", "time_ns", "ns", LOWER, 100,
      19165.752851799363 },
    { "criterion/estimates.json", "criterion", 1, "criterion", "time_ns", "ns", LOWER, 1,
      19165.752851799363 },
    { "criterion/change-estimates.json", "criterion", 1, "criterion", "time_change_percent", "%",
      LOWER, 1, -0.042394017927227523 },
    { "asv/v1.json", "asv", 12, "time_units.time_unit_to", "time_ns", "ns", LOWER, 1,
      7237.169742584229 },
    { "asv/v1.json", "asv", 12, "time_units.mem_unit", "memory_bytes", "bytes", LOWER, 1, 728 },
    { "asv/v2.json", "asv", 5, "bench_kernels.TimeGemm.time_matmul(512)", "time_ns", "ns", LOWER, 3,
      9110000 },
    { "asv/v2.json", "asv", 5, "bench_kernels.track_gemm_tflops", "value", "TFLOP/s", HIGHER, 1,
      18.4 },
    { "asv/stdout-six.txt", "asv", 10, "benchmarks.TimeSuite.time_keys3", "time_ns", "ns", LOWER, 1,
      9070 },
    { "asv/stdout-six.txt", "asv", 10, "benchmarks.MemSuite.mem_list", "memory_bytes", "bytes",
      LOWER, 1, 2420 },
    { "conbench/result.json", "conbench", 1,
      "file-write compression=snappy cpu_count=2 dataset=nyctaxi_sample file_type=parquet "
      "input_type=arrow",
      "time_ns", "ns", LOWER, 10, 8987500 },
    { "otava/sample.csv", "otava", 2, "history", "metric1", "", HIGHER, 10, 149039.5 },
    { "otava/sample_multi_branch.csv", "otava", 2, "history", "metric2", "", HIGHER, 8, 10.315 },
    { "go/go_output.txt", "go", 10, "BenchmarkFib20", "time_ns", "ns", LOWER, 1, 40537.123 },
    { "go/go_output.txt", "go", 10, "BenchmarkFib22-16", "auxMetricUnits", "auxMetricUnits", LOWER,
      1, 4 },
    { "catch2/catch2_output_v3.txt", "catch2", 4, "More Fibonacci/Fibonacci-15_bench", "time_ns",
      "ns", LOWER, 1, 3789 },
    { "jmh/jmh_output.json", "jmh", 1,
      "org.openjdk.jmh.samples.JMHSample_01_HelloWorld.wellHelloThere", "throughput", "ops/s",
      HIGHER, 3, 3.37651988895058E9 },
    { "lnt/report-example.json", "lnt", 3, "benchmark2", "compile_time_ns", "ns", LOWER, 1,
      13.12e9 },
    { "github-action/data.js", "github-action", 1, "bench_fib_10", "value", "ns/iter", LOWER, 1,
      100 },
    { "github-action/customBiggerIsBetter_output.json", "github-action", 2,
      "My Custom Bigger Is Better Benchmark - Free Memory", "value", "Megabytes", HIGHER, 1, 150 },
    { "github-action/customSmallerIsBetter_output.json", "github-action", 2,
      "My Custom Smaller Is Better Benchmark - Memory Used", "value", "Megabytes", LOWER, 1, 100 },
    { "bmf/report_latency.json", "bmf", 3, "tests::benchmark_a", "latency", "ns", LOWER, 1, 3247 },
    { "nvbandwidth/nvbandwidth_results.log", "nvbandwidth", 36, "host_to_device_memcpy_ce",
      "bandwidth_gbps", "GB/s", HIGHER, 1, 1985.6 },
    { "nvbandwidth/nvbandwidth_results.log", "nvbandwidth", 36, "host_device_latency_sm",
      "latency_ns", "ns", LOWER, 1, 772.58 },
    { "google-benchmark/googlecpp_output.json", "google-benchmark", 4, "fib_20", "time_ns", "ns",
      LOWER, 1, 27455.600415007055 },
    { "hyperfine/two.json", "hyperfine", 2, "sleep 0.2", "time_ns", "ns", LOWER, 13, NAN },
    { "pytest-benchmark/pytest_output.json", "pytest-benchmark", 2, "bench.py::test_fib_20",
      "time_ns", "ns", LOWER, 1, NAN },
};

static pfc_code read_with(const char *file, const pfc_import_opts *opts, pfc_import_result *out,
                          pfc_err *err)
{
    char *path = pfc_format("%s/import/%s", PFC_TEST_DATA, file);
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, PFC_IMPORT_MAX_BYTES, &text, &len, err);

    if (!code)
        code = pfc_import_read(opts, text, len, out, err);
    free(text);
    free(path);
    return code;
}

static const pfc_measurement *find(const pfc_run *run, const char *benchmark, const char *metric)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (strcmp(m->benchmark, benchmark) == 0 && strcmp(m->metric, metric) == 0)
            return m;
    }
    return NULL;
}

/* Otava's own default, higher, counts where the format is named. Of others everything is counted,
 * also what has no direction. */
static pfc_import_opts opts_of(const expected *e)
{
    return (pfc_import_opts){ .format = strcmp(e->format, "otava") == 0 ? "otava" : NULL,
                              .any_direction = true };
}

Test(formats, every_example_is_read_with_its_measurements_units_and_directions)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(files); i++) {
        const expected *e = &files[i];
        pfc_import_result r = { 0 };
        pfc_err err = { 0 };
        const pfc_measurement *m;

        const pfc_import_opts opts = opts_of(e);

        cr_assert(eq(int, read_with(e->file, &opts, &r, &err), PFC_OK), "%s: %s", e->file, err.msg);
        cr_assert(eq(str, (char *)r.format, (char *)e->format), "%s", e->file);
        cr_expect(eq(sz, r.runs[0]->measurements_len, e->measurements), "%s", e->file);
        m = find(r.runs[0], e->benchmark, e->metric);
        cr_assert(ne(ptr, (void *)m, NULL), "%s: no %s %s", e->file, e->benchmark, e->metric);
        cr_expect(eq(str, m->unit, (char *)e->unit), "%s %s", e->file, e->metric);
        cr_expect(eq(int, m->higher_is_better, e->higher), "%s %s", e->file, e->metric);
        cr_expect(eq(sz, m->samples_len, e->samples), "%s %s", e->file, e->metric);
        if (isfinite(e->median))
            cr_expect(epsilon_eq(dbl, pfc_measurement_median(m), e->median, 1e-9 * fabs(e->median)),
                      "%s %s", e->file, e->metric);
        pfc_import_result_clear(&r);
    }
}

/* As a text editor or another system would have left it. */
Test(formats, a_byte_order_mark_and_crlf_change_nothing)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(files); i++) {
        const expected *e = &files[i];
        char *path = pfc_format("%s/import/%s", PFC_TEST_DATA, e->file);
        char *text = NULL;
        size_t len = 0;
        pfc_buf buf;
        pfc_import_result r = { 0 };
        const pfc_import_opts opts = opts_of(e);
        pfc_err err = { 0 };

        if (i > 0 && strcmp(files[i - 1].file, e->file) == 0) {
            free(path);
            continue;
        }
        cr_assert(eq(int, pfc_fs_read(path, PFC_IMPORT_MAX_BYTES, &text, &len, &err), PFC_OK));
        pfc_buf_init(&buf, PFC_IMPORT_MAX_BYTES);
        pfc_buf_puts(&buf, "\xef\xbb\xbf");
        for (size_t k = 0; k < len; k++) {
            if (text[k] == '\n' && (k == 0 || text[k - 1] != '\r'))
                pfc_buf_putc(&buf, '\r');
            pfc_buf_putc(&buf, text[k]);
        }
        cr_assert(eq(int, pfc_import_read(&opts, pfc_buf_text(&buf), buf.len, &r, &err), PFC_OK),
                  "%s: %s", e->file, err.msg);
        cr_expect(eq(str, (char *)r.format, (char *)e->format), "%s", e->file);
        cr_expect(eq(sz, r.runs[0]->measurements_len, e->measurements), "%s", e->file);
        pfc_import_result_clear(&r);
        pfc_buf_clear(&buf);
        free(text);
        free(path);
    }
}

Test(formats, a_history_is_a_run_a_commit_when_asked)
{
    const pfc_import_opts split = { .split = true, .format = "otava" };
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, read_with("otava/sample_multi_branch.csv", &split, &r, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, r.runs_len, 8));
    cr_assert(r.has_points);
    cr_expect(eq(str, r.runs[2]->commit, "aaa2"));
    cr_expect(eq(str, r.runs[2]->branch, "feature-x"));
    /* 2024.01.03 3:00:00 +0100: `date -u -d "2024-01-03 02:00:00" +%s` */
    cr_expect(epsilon_eq(dbl, r.runs[2]->started_at, 1704247200, 0));
    cr_expect(eq(sz, r.runs[2]->measurements_len, 2));
    pfc_import_result_clear(&r);
}

Test(formats, what_only_describes_is_refused_with_a_hint)
{
    static const char *const names[] = { "asv/machine.json", "criterion/benchmark.json" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        pfc_import_result r = { 0 };
        pfc_err err = { 0 };
        cr_assert(eq(int, read_with(names[i], NULL, &r, &err), PFC_EINVAL), "%s", names[i]);
        cr_expect(ne(ptr, strstr(err.msg, "describe"), NULL), "%s", err.msg);
    }
}

Test(formats, a_report_without_tests_is_empty_only_where_that_is_allowed)
{
    const pfc_import_opts empty = { .allow_empty = true };
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, read_with("lnt/minimal.json", &empty, &r, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(str, (char *)r.format, "lnt"));
    cr_expect(eq(sz, r.runs[0]->measurements_len, 0));
    cr_expect(eq(sz, r.notes_len, 1));
    pfc_import_result_clear(&r);
    cr_assert(eq(int, read_with("lnt/minimal.json", NULL, &r, &err), PFC_EINVAL));
}

static pfc_run *read_text(const char *text, const pfc_import_opts *opts)
{
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_text(opts, text, strlen(text), &run, &err), PFC_OK), "%s",
              err.msg);
    return run;
}

/* Header and columns as nccl-tests 2.17, ncu 2021 and triton 3 write them. */
Test(versions, nccl_tests_name_the_collective_and_wrong_results_break_it)
{
    pfc_run *run = read_text(
        "# Collective test starting: all_gather_perf\n"
        "#       size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  "
        "#wrong\n"
        "#        (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n"
        "  1024  256  float  none  -1  21.21  0.05  0.04  0  20.87  0.05  0.04  3\n",
        NULL);

    cr_assert(eq(sz, run->measurements_len, 6));
    cr_expect(epsilon_eq(dbl, find(run, "all_gather_perf/float/size=1024", "time_ns")->samples[0],
                         21210, 1e-9));
    cr_expect(eq(int, find(run, "all_gather_perf/float/size=1024", "inplace_time_ns")->status,
                 PFC_STATUS_BROKEN));
    pfc_run_free(run);
}

Test(versions, ncu_metrics_of_one_name_in_two_sections_stay_two)
{
    pfc_run *run = read_text(
        "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
        "\"0\",\"k\",\"SOL\",\"Memory Throughput\",\"%\",\"15\"\n"
        "\"0\",\"k\",\"Memory\",\"Memory Throughput\",\"Gbyte/second\",\"1,001.5\"\n"
        "\"1\",\"k\",\"SOL\",\"Memory Throughput\",\"%\",\"17\"\n"
        "==PROF== Disconnected\n",
        NULL);
    const pfc_measurement *share = find(run, "k", "Memory Throughput");
    const pfc_measurement *rate = find(run, "k", "Memory: Memory Throughput");

    cr_assert(eq(sz, run->measurements_len, 2));
    cr_expect(eq(sz, share->samples_len, 2));
    cr_expect(share->higher_is_better);
    cr_expect(eq(str, rate->unit, "B/s"));
    cr_expect(epsilon_eq(dbl, rate->samples[0], 1.0015e12, 1));
    pfc_run_free(run);
}

Test(versions, triton_tables_take_unit_and_direction_from_the_caller)
{
    const pfc_import_opts opts = { .unit = "TFLOPS",
                                   .has_direction = true,
                                   .higher_is_better = true };
    pfc_run *run = read_text("M,N,K,cuBLAS,Triton\n256.000000,256.000000,256.000000,4.096,4.2\n"
                             "512.000000,512.000000,512.000000,26.2,\n",
                             &opts);

    cr_assert(eq(sz, run->measurements_len, 3));
    cr_expect(eq(str, find(run, "M=512 N=512 K=512", "cuBLAS")->unit, "TFLOP/s"));
    cr_expect(find(run, "M=256 N=256 K=256", "Triton")->higher_is_better);
    pfc_run_free(run);
}

Test(versions, aggregates_without_a_median_give_the_mean)
{
    pfc_run *run = read_text("{\"context\":{},\"benchmarks\":["
                             "{\"name\":\"f_mean\",\"run_name\":\"f\",\"run_type\":\"aggregate\","
                             "\"aggregate_name\":\"mean\",\"real_time\":3,\"time_unit\":\"ms\"}]}",
                             NULL);

    cr_expect(epsilon_eq(dbl, find(run, "f", "time_ns")->samples[0], 3e6, 0));
    pfc_run_free(run);
}

Test(versions, forks_are_blocks_and_parameters_part_of_the_name)
{
    pfc_run *run =
        read_text("[{\"benchmark\":\"a.B\",\"mode\":\"avgt\",\"params\":{\"n\":\"10\"},"
                  "\"primaryMetric\":{\"score\":1.5,\"scoreError\":\"NaN\",\"scoreUnit\":\"us/op\","
                  "\"rawData\":[[1.5,1.75],[2.0]]},\"secondaryMetrics\":{}}]",
                  NULL);
    const pfc_measurement *m = find(run, "a.B{n=10}", "time_ns");

    cr_assert(eq(sz, m->blocks_len, 2));
    cr_expect(eq(int, m->blocks[0], 2));
    cr_expect(epsilon_eq(dbl, m->samples[2], 2000, 0));
    pfc_run_free(run);
}

Test(versions, asv_prints_parameters_in_a_table)
{
    pfc_run *run = read_text("[ 50.00%] \xc2\xb7\xc2\xb7\xc2\xb7 a.time_x      ok\n"
                             "[ 50.00%] \xc2\xb7\xc2\xb7\xc2\xb7 ===== =========\n"
                             "             p1\n"
                             "            ----- ---------\n"
                             "              1    1.2\xc2\xb1"
                             "0.1ms\n"
                             "              2    failed\n"
                             "            ===== =========\n",
                             NULL);

    cr_assert(eq(sz, run->measurements_len, 2));
    cr_expect(epsilon_eq(dbl, find(run, "a.time_x(1)", "time_ns")->samples[0], 1.2e6, 1e-6));
    cr_expect(eq(int, find(run, "a.time_x(2)", "time_ns")->status, PFC_STATUS_BROKEN));
    pfc_run_free(run);
}
