/*
 * The forms that tools really write besides the usual one: what they print for people, their CSV,
 * older and newer versions, and what a capture adds. The texts are as the tools' sources and
 * manuals have them; the numbers are read off the texts.
 */
#include <string.h>

#include "core/import/import.h"

#include "tests/check/check.h"

enum { MAX_ROWS = 5 };

typedef struct row {
    const char *benchmark, *metric, *unit;
    bool higher;
    double median;
    pfc_status status;
} row;

typedef struct variant {
    const char *what;
    const char *text;
    const char *format;
    size_t measurements;
    row rows[MAX_ROWS];
} variant;

static const variant variants[] = {
    { "google-benchmark CSV",
      "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_"
      "occurred,error_message,\"foo\"\n"
      "\"BM_a/8\",1000,12.5,12.25,us,1000,2e6,,,,3\n"
      "\"BM_b\",,,,,,,,true,\"bad \"\"thing\"\"\"\n"
      "\"BM_c_mean\",3,12.5,12.25,us,,,,,,\n"
      "\"BM_c_median\",3,12.0,12.25,us,,,,,,\n"
      "\"BM_c_stddev\",3,.5,.25,us,,,,,,\n"
      "\"BM_c_cv\",3,.5,.25,,,,,,,\n"
      "\"BM_d_BigO\",,1.5,1.5,N,,,,,,\n"
      "\"BM_d_RMS\",,.5,.25,,,,,,,\n",
      "google-benchmark",
      8,
      { { "BM_a/8", "time_ns", "ns", false, 12500.0, PFC_STATUS_OK },
        { "BM_a/8", "bytes_per_second", "B/s", true, 1000.0, PFC_STATUS_OK },
        { "BM_c", "time_ns", "ns", false, 12000.0, PFC_STATUS_OK },
        { "BM_b", "time_ns", "ns", false, 0.0, PFC_STATUS_BROKEN } } },
    { "google-benchmark console",
      "2026-01-01T10:00:00+00:00\n"
      "Running ./bench\n"
      "Run on (8 X 3000 MHz CPU s)\n"
      "CPU Caches:\n"
      "  L1 Data 32 KiB (x4)\n"
      "***WARNING*** CPU scaling is enabled\n"
      "-------------------------------------------------------------------------------\n"
      "Benchmark                     Time             CPU   Iterations UserCounters...\n"
      "-------------------------------------------------------------------------------\n"
      "BM_a/8                     12.5 us         12.3 us        56000 bytes_per_second=1.5Gi/s "
      "foo=3.5k label words=x\n"
      "BM_b                       ERROR OCCURRED: 'it is bad'\n"
      "BM_s                       SKIPPED: 'not here'\n"
      "BM_c_mean                  12.5 ms         12.3 ms            3\n"
      "BM_c_median                12.0 ms         12.3 ms            3\n"
      "BM_c_stddev                0.50 ms         0.30 ms            3\n"
      "BM_c_cv                    0.50 %          0.30 %             3\n"
      "BM_d_BigO                   1.50 N          1.50 N\n"
      "BM_d_RMS                       1 %             1 %\n",
      "google-benchmark",
      8,
      { { "BM_a/8", "bytes_per_second", "B/s", true, 1610612736.0, PFC_STATUS_OK },
        { "BM_a/8", "foo", "", false, 3500.0, PFC_STATUS_OK },
        { "BM_c", "time_ns", "ns", false, 12000000.0, PFC_STATUS_OK },
        { "BM_s", "time_ns", "ns", false, 0.0, PFC_STATUS_SKIPPED } } },
    { "jmh table",
      "# JMH version: 1.36\n"
      "# Run complete. Total time: 00:00:10\n"
      "\n"
      "REMEMBER: The numbers below are just data.\n"
      "\n"
      "Benchmark                          (size)  (type)   Mode  Cnt     Score    Error   Units\n"
      "MyBench.foo                            10     hot  thrpt    5   123.456 \xc2\xb1  1.234  "
      "ops/ms\n"
      "MyBench.foo:\xc2\xb7gc.alloc.rate             10     hot  thrpt    5   600.000 \xc2\xb1  "
      "1.234  MB/sec\n"
      "MyBench.foo:\xc2\xb7gc.alloc.rate.norm        10     hot  thrpt    5    \xe2\x89\x88 "
      "10\xe2\x81\xbb\xc2\xb3             B/op\n"
      "MyBench.bar                           N/A     N/A   avgt    2     1,234             us/op\n"
      "MyBench.baz                           N/A     N/A     ss        12.500             ms/op\n"
      "MyBench.smp                           N/A     N/A sample  999     1.100 \xc2\xb1  0.1     "
      "ns/op\n"
      "MyBench.smp:smp\xc2\xb7p0.99                 N/A     N/A sample          9.000            "
      "ns/op\n",
      "jmh",
      6,
      { { "MyBench.foo{size=10,type=hot}", "throughput", "ops/s", true, 123456.0, PFC_STATUS_OK },
        { "MyBench.foo{size=10,type=hot}", "gc.alloc.rate", "MB/s", false, 600.0, PFC_STATUS_OK },
        { "MyBench.bar", "time_ns", "ns", false, 1234.0, PFC_STATUS_OK },
        { "MyBench.baz", "single_shot_time_ns", "ns", false, 12500000.0, PFC_STATUS_OK },
        { "MyBench.smp", "p0.99", "ns", false, 9.0, PFC_STATUS_OK } } },
    { "jmh CSV",
      "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",\"Score Error "
      "(99.9%)\",\"Unit\",\"Param: size\"\n"
      "\"a.B.foo\",\"thrpt\",1,5,123.456000,1.2,\"ops/s\",10\n"
      "\"a.B.foo:gc.alloc.rate\",\"thrpt\",1,5,600.0,NaN,\"MB/sec\",10\n"
      "\"a.B.bar\",\"avgt\",1,5,\"1,5\",NaN,\"us/op\",\n",
      "jmh",
      3,
      { { "a.B.foo{size=10}", "throughput", "ops/s", true, 123.456, PFC_STATUS_OK },
        { "a.B.bar", "time_ns", "ns", false, 1500.0, PFC_STATUS_OK } } },
    { "nvbench CSV",
      "Benchmark,Device,Device Name,BlockSize (pow2),BlockSize,T,Skipped,Samples,CPU Time "
      "(sec),Noise,GPU Time (sec),Noise,Elem/s (elem/sec),GlobalMem BW "
      "(bytes/sec),BWUtil,Samples,Batch GPU (sec)\n"
      "copy,0,Quadro GV100,2^6,64,U8,No,432,0.0012,0.1,0.001,0.05,1.3e10,5.4e11,0.83,440,0.0009\n"
      "copy,1,Quadro GV100,2^6,64,U8,No,432,0.0013,0.1,0.002,0.05,1.3e10,5.4e11,0.83,440,0.0009\n"
      "copy,0,Quadro GV100,2^7,128,U8,Yes,,,,,,,,,,\n"
      "cpu,,,,,,No,10,0.5,0.01,,,,,,,\n",
      "nvbench",
      14,
      { { "copy/BlockSize=2^6 T=U8", "gpu_time_ns", "ns", false, 1000000.0, PFC_STATUS_OK },
        { "copy/BlockSize=2^6 T=U8", "bandwidth_utilization", "%", true, 83.0, PFC_STATUS_OK },
        { "copy/BlockSize=2^7 T=U8", "gpu_time_ns", "ns", false, 0.0, PFC_STATUS_SKIPPED },
        { "cpu", "cpu_time_ns", "ns", false, 500000000.0, PFC_STATUS_OK } } },
    { "nvbench markdown",
      "# Devices\n"
      "\n"
      "## [0] `Quadro GV100`\n"
      "* SM Version: 700 (PTX Version: 700)\n"
      "\n"
      "# Log\n"
      "\n"
      "```\n"
      "Run:  [1/2] throughput_bench [Device=0 T=U8]\n"
      "Pass: Cold: 0.001ms\n"
      "```\n"
      "\n"
      "# Benchmark Results\n"
      "\n"
      "## throughput_bench\n"
      "\n"
      "### [0] Quadro GV100\n"
      "\n"
      "| T  |    NumInputs    | Samples |  CPU Time  | Noise  |  GPU Time  | Noise | Elem/s  | "
      "GlobalMem BW | BWUtil | Samples | Batch GPU  |\n"
      "|----|-----------------|---------|------------|--------|------------|-------|---------|-----"
      "---------|--------|---------|------------|\n"
      "| U8 | 2^24 = 16777216 |    432x |   1.221 ms | 15.90% | 962.101 us | 1.00% | 13.800G | "
      "735.100 GB/s | 83.20% |    440x | 950.000 us |\n"
      "| I8 | 2^24 = 16777216 |    432x |   1.221 ms |   inf% | 962.101 us | 1.00% | 13.800G | "
      "735.100 GB/s | 83.20% |    440x | 950.000 us |\n"
      "\n"
      "## cpu_only\n"
      "\n"
      "| Samples | CPU Time | Noise |\n"
      "|---------|----------|-------|\n"
      "|     10x | 1.000 s  | 0.10% |\n",
      "nvbench",
      13,
      { { "throughput_bench/T=U8 NumInputs=2^24", "gpu_time_ns", "ns", false, 962101.0,
          PFC_STATUS_OK },
        { "throughput_bench/T=I8 NumInputs=2^24", "bytes_per_second", "B/s", true, 735100000000.0,
          PFC_STATUS_OK },
        { "cpu_only", "cpu_time_ns", "ns", false, 1000000000.0, PFC_STATUS_OK } } },
    { "pytest-benchmark CSV",
      "name,param:n,min,max,mean,stddev,rounds,median,iqr,ops,iterations\n"
      "tests/test_a.py::test_fib[10],10,0.001,0.002,0.0015,0.0001,5,0.0014,0.1,700,1\n"
      "tests/test_a.py::test_fib[20],20,0.011,0.012,0.0115,0.0001,5,0.0114,0.1,70,1\n",
      "pytest-benchmark",
      2,
      { { "tests/test_a.py::test_fib[20]", "time_ns", "ns", false, 11400000.0, PFC_STATUS_OK } } },
    { "lnt lines",
      "\n"
      "foo.execution_time 10\n"
      "\n"
      "foo.execution_time 11\n"
      "bar.compile_time 20\n"
      "foo.hash d7\n"
      "bar.profile Xz6/\n",
      "lnt",
      2,
      { { "foo", "execution_time_ns", "ns", false, 10500000000.0, PFC_STATUS_OK } } },
    { "lnt version 1",
      "{\"Machine\":{\"Name\":\"m\",\"Info\":{}},\"Run\":{\"Start Time\":\"2009-11-17 "
      "02:12:25\",\"End Time\":\"2009-11-17 "
      "03:44:48\",\"Info\":{\"tag\":\"nts\"}},\"Tests\":[{\"Name\":\"nts.a/"
      "b.exec\",\"Info\":{},\"Data\":[2.5]},{\"Name\":\"nts.a/"
      "b.profile\",\"Info\":{},\"Data\":[\"x\"]},{\"Name\":\"nts.c.exec.status\",\"Info\":{},"
      "\"Data\":[1.0]},{\"Name\":\"nts.d.exec.status\",\"Info\":{},\"Data\":[2.0]},{\"Name\":\"nts."
      "e.user\",\"Info\":{},\"Data\":[1,2,3]}]}",
      "lnt",
      3,
      { { "a/b", "execution_time_ns", "ns", false, 2500000000.0, PFC_STATUS_OK },
        { "c", "execution_time_ns", "ns", false, 0.0, PFC_STATUS_BROKEN },
        { "e", "user_time_ns", "ns", false, 2000000000.0, PFC_STATUS_OK } } },
    { "libtest with units of its own",
      "test cmov ... bench:        2835 cycles/iter (+/- 14)\n"
      "\n"
      "test upload ... bench:        1,911 MS/s (+/- 420)\n"
      "test t ... bench:   1.5 us/iter (+/- 2)\n",
      "criterion",
      3,
      { { "cmov", "value", "cycles", false, 2835.0, PFC_STATUS_OK },
        { "upload", "value", "MS/s", true, 1911.0, PFC_STATUS_OK },
        { "t", "time_ns", "ns", false, 1500.0, PFC_STATUS_OK } } },
    { "jmh, a throughput in time",
      "[{\"benchmark\":\"a.B\",\"mode\":\"thrpt\",\"primaryMetric\":{\"score\":3.0,\"scoreUnit\":"
      "\"us/op\",\"rawData\":[[3.0]]},\"secondaryMetrics\":{}}]",
      "jmh",
      1,
      { { "a.B", "time_ns", "ns", false, 3000.0, PFC_STATUS_OK } } },
    { "github-action, a tool whose smaller is better",
      "window.BENCHMARK_DATA = "
      "{\"lastUpdate\":1,\"repoUrl\":\"\",\"entries\":{\"B\":[{\"commit\":{\"id\":\"a\"},\"date\":"
      "1,\"tool\":\"customSmallerIsBetter\",\"benches\":[{\"name\":\"x\",\"value\":2,\"unit\":"
      "\"req/s\"}]}]}};\n",
      "github-action",
      1,
      { { "x", "value", "req/s", false, 2.0, PFC_STATUS_OK } } },
    { "documents behind each other, and talk",
      "[ 50%] Building\n"
      "[1/3] x\n"
      "{\"context\":{},\"benchmarks\":[{\"name\":\"f\",\"run_type\":\"iteration\",\"real_time\":3,"
      "\"cpu_time\":1,\"time_unit\":\"us\"}]}\n"
      "{\"context\":{},\"benchmarks\":[{\"name\":\"g\",\"run_type\":\"iteration\",\"real_time\":5,"
      "\"cpu_time\":1,\"time_unit\":\"us\"}]}\n"
      "[ 100%] Built\n"
      "done\n",
      "google-benchmark",
      4,
      { { "f", "time_ns", "ns", false, 3000.0, PFC_STATUS_OK },
        { "g", "time_ns", "ns", false, 5000.0, PFC_STATUS_OK } } },
    { "aggregates of one benchmark among plain ones",
      "{\"context\":{},\"benchmarks\":[{\"name\":\"f\",\"run_name\":\"f\",\"run_type\":"
      "\"iteration\",\"real_time\":3,\"cpu_time\":1,\"time_unit\":\"ns\"},{\"name\":\"g_mean\","
      "\"run_name\":\"g\",\"run_type\":\"aggregate\",\"aggregate_name\":\"mean\",\"real_time\":9,"
      "\"cpu_time\":1,\"time_unit\":\"ns\"},{\"name\":\"g_median\",\"run_name\":\"g\",\"run_type\":"
      "\"aggregate\",\"aggregate_name\":\"median\",\"real_time\":8,\"cpu_time\":1,\"time_unit\":"
      "\"ns\"},{\"name\":\"f_mean\",\"run_name\":\"f\",\"run_type\":\"aggregate\",\"aggregate_"
      "name\":\"mean\",\"real_time\":4,\"cpu_time\":1,\"time_unit\":\"ns\"}]}",
      "google-benchmark",
      4,
      { { "f", "time_ns", "ns", false, 3.0, PFC_STATUS_OK },
        { "g", "time_ns", "ns", false, 8.0, PFC_STATUS_OK } } },
    { "a CI log with times before every line",
      "2026-01-31T10:00:00.1234567Z goos: linux\n"
      "2026-01-31T10:00:00.1234567Z BenchmarkA-8 \t 100 \t 12.5 ns/op\n"
      "2026-01-31T10:00:00.1234567Z PASS\n",
      "go",
      1,
      { { "BenchmarkA-8", "time_ns", "ns", false, 12.5, PFC_STATUS_OK } } },
    { "a terminal's words",
      "\x1b]8;;http://x\x1b\\goos\x1b]8;;\x07: linux\n"
      "\x1b[1;32mBenchmarkA-8\x1b[0m  100  12.5 ns/op\n",
      "go",
      1,
      { { "BenchmarkA-8", "time_ns", "ns", false, 12.5, PFC_STATUS_OK } } },
    { "numbers of other countries",
      "name;time_ms;rate (GB/s)\n"
      "a;1.234,5;2'345.25\n"
      "b;1.234.567;1\xe2\x80\xaf"
      "000\n",
      "csv",
      4,
      { { "a", "time_ms", "ms", false, 1234.5, PFC_STATUS_OK },
        { "a", "rate", "GB/s", true, 2345.25, PFC_STATUS_OK },
        { "b", "time_ms", "ms", false, 1234567.0, PFC_STATUS_OK },
        { "b", "rate", "GB/s", true, 1000.0, PFC_STATUS_OK } } },
    { "catch2 XML, sections, and one that failed",
      "<TestCase name=\"T\"><Section name=\"a\"><BenchmarkResults name=\"b\" samples=\"9\">"
      "<mean value=\"12.5\" lowerBound=\"12\" upperBound=\"13\"/></BenchmarkResults></Section>\n"
      "<Section name=\"c\"><BenchmarkResults name=\"b\" samples=\"9\">"
      "<mean value=\"22.5\" lowerBound=\"22\" upperBound=\"23\"/></BenchmarkResults></Section>\n"
      "<BenchmarkResults name=\"d\"><failed message=\"no\"/></BenchmarkResults></TestCase>\n",
      "catch2",
      3,
      { { "T a/b", "time_ns", "ns", false, 12.5, PFC_STATUS_OK },
        { "T c/b", "time_ns", "ns", false, 22.5, PFC_STATUS_OK },
        { "T/d", "time_ns", "ns", false, 0, PFC_STATUS_BROKEN } } },
    { "libtest, a line without a name",
      "test ... bench: 1,043 ns/iter (+/- 20)\n"
      "test a ... bench: 1,044 ns/iter (+/- 20)\n",
      "criterion",
      1,
      { { "a", "time_ns", "ns", false, 1044, PFC_STATUS_OK } } },
    { "triton, labels as units, a header again",
      "N,triton (execution time (ms)),torch (GB/s),cold (avg)\n"
      "256.0,1.5,100.0,7.0\n"
      "N,triton (execution time (ms)),torch (GB/s),cold (avg)\n"
      "512.0,2.5,200.0,8.0\n",
      "triton",
      6,
      { { "N=256", "triton", "ms", false, 1.5, PFC_STATUS_OK },
        { "N=512", "torch", "GB/s", true, 200, PFC_STATUS_OK },
        { "N=512", "cold (avg)", "", false, 8, PFC_STATUS_OK } } },
    { "ncu, one metric in two sections, many launches, ragged",
      "==PROF== Connected\n"
      "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"k \"\"q\"\"\",\"SOL\",\"Duration\",\"us\",\"1,234.5\"\n"
      "\"0\",\"k \"\"q\"\"\",\"SOL\",\"Grid\",\"\"\n"
      "\"1\",\"k \"\"q\"\"\",\"SOL\",\"Duration\",\"us\",\"1,236.5\"\n"
      "\"2\",\"k \"\"q\"\"\",\"SOL\",\"Duration\",\"ms\",\"1.2355\"\n",
      "ncu",
      1,
      { { "k \"q\"", "Duration", "ns", false, 1235500, PFC_STATUS_OK } } },
};

static const pfc_measurement *find(const pfc_run *run, const row *want)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (strcmp(m->benchmark, want->benchmark) == 0 && strcmp(m->metric, want->metric) == 0)
            return m;
    }
    return NULL;
}

static void check(const variant *v, const pfc_run *run)
{
    for (size_t k = 0; k < MAX_ROWS && v->rows[k].benchmark; k++) {
        const row *want = &v->rows[k];
        const pfc_measurement *m = find(run, want);

        cr_assert(ne(ptr, (void *)m, NULL), "%s: no %s %s", v->what, want->benchmark, want->metric);
        cr_expect(eq(str, m->unit, (char *)want->unit), "%s: %s", v->what, want->benchmark);
        cr_expect(eq(int, m->higher_is_better, want->higher), "%s: %s %s", v->what, want->benchmark,
                  want->metric);
        cr_expect(eq(int, m->status, want->status), "%s: %s", v->what, want->benchmark);
        if (want->status == PFC_STATUS_OK)
            cr_expect(epsilon_eq(dbl, pfc_measurement_median(m), want->median, 1e-9 * want->median),
                      "%s: %s %s", v->what, want->benchmark, want->metric);
    }
}

Test(variants, every_form_is_found_by_content_and_read)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(variants); i++) {
        const variant *v = &variants[i];
        pfc_import_result r = { 0 };
        const pfc_import_opts opts = { .any_direction = true };
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_import_read(&opts, v->text, strlen(v->text), &r, &err), PFC_OK),
                  "%s: %s", v->what, err.msg);
        cr_expect(eq(str, (char *)r.format, (char *)v->format), "%s", v->what);
        cr_expect(eq(sz, r.runs[0]->measurements_len, v->measurements), "%s", v->what);
        check(v, r.runs[0]);
        pfc_import_result_clear(&r);
    }
}

/* As PowerShell's `>` writes it, either way round. */
Test(variants, utf_16_is_read_like_utf_8)
{
    static const char text[] = "{\"b\": {\"latency\": {\"value\": 12.5}}}";

    for (int big = 0; big < 2; big++) {
        char wide[2 + 2 * sizeof(text)] = { 0 };
        pfc_run *run = NULL;
        pfc_err err = { 0 };

        memcpy(wide, big ? "\xfe\xff" : "\xff\xfe", 2);
        for (size_t i = 0; i + 1 < sizeof(text); i++)
            wide[2 + 2 * i + (size_t)big] = text[i];
        cr_assert(eq(int, pfc_import_text(NULL, wide, 2 * sizeof(text), &run, &err), PFC_OK), "%s",
                  err.msg);
        cr_expect(eq(sz, run->measurements_len, 1));
        cr_expect(eq(dbl, run->measurements[0].samples[0], 12.5));
        pfc_run_free(run);
    }
}

Test(variants, a_second_document_that_is_cut_off_is_reported)
{
    static const char text[] = "{\"b\": {\"latency\": {\"value\": 12.5}}}\n{\"c\": {\"latency\": {";
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_text(NULL, text, strlen(text), &run, &err), PFC_EINVAL));
    cr_expect(ne(ptr, strstr(err.msg, "cut off"), NULL), "%s", err.msg);
}
