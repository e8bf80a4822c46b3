/*
 * Units and directions from names and units, against what the tools' own documentation says of
 * them. A rate and its inverse stand together: what confuses the two fails.
 */
#include <string.h>

#include "core/import/reader/reader.h"

#include "tests/check/check.h"

enum { LOWER = -1, ASK = 0, HIGHER = 1 };

typedef struct row {
    const char *metric;
    const char *unit; /* as the tool says it; NULL: the name alone */
    int better;
    const char *unit_of_name; /* NULL: not looked at */
} row;

static void check(const row *rows, size_t len)
{
    char unit[PFC_IMPORT_UNIT_BYTES];

    for (size_t i = 0; i < len; i++) {
        const row *r = &rows[i];
        cr_expect(eq(int, pfc_import_nature(r->metric, r->unit), r->better), "%s [%s]", r->metric,
                  r->unit ? r->unit : "");
        if (r->unit_of_name)
            cr_expect(eq(str, (char *)pfc_import_unit_of(r->metric, unit), (char *)r->unit_of_name),
                      "%s", r->metric);
    }
}

Test(directions, a_rate_and_its_inverse_are_distinguished)
{
    static const row rows[] = {
        { "tokens_per_s", NULL, HIGHER, "tokens/s" },
        { "s_per_token", NULL, LOWER, "s/token" },
        { "tokens_s", NULL, HIGHER, "tokens/s" },
        { "tok_s", NULL, HIGHER, "tok/s" },
        { "tok/s", NULL, HIGHER, "tok/s" },
        { "s/tok", NULL, LOWER, "s/tok" },
        { "mb_per_s", NULL, HIGHER, "MB/s" },
        { "s_per_mb", NULL, LOWER, "s/mb" },
        { "MB/s", NULL, HIGHER, "MB/s" },
        { "s/MB", NULL, LOWER, "s/mb" },
        { "throughput", "MB/s", HIGHER, "" },
        { "cost", "s/MB", LOWER, "" },
        { "mb_s", NULL, HIGHER, "MB/s" },
        { "reqs_per_s", NULL, HIGHER, "reqs/s" },
        { "reqs_s", NULL, HIGHER, "reqs/s" },
        { "items_s", NULL, HIGHER, "items/s" },
        { "items_per_second", NULL, HIGHER, "items/s" },
        { "itemsPerSecond", NULL, HIGHER, "items/s" },
        { "seconds_per_item", NULL, LOWER, "s/item" },
        { "ops_per_ms", NULL, HIGHER, "ops/ms" },
        { "ms_per_op", NULL, LOWER, "ms/op" },
        { "ops", NULL, HIGHER, "" },
        { "op", NULL, ASK, "" },
        { "op/ns", NULL, HIGHER, "op/ns" },
        { "ns/op", NULL, LOWER, "ns/op" },
        { "time_per_iter", NULL, LOWER, "" },
        { "iters_per_s", NULL, HIGHER, "iters/s" },
        { "bytes_per_second", NULL, HIGHER, "B/s" },
        { "bytes_per_op", NULL, LOWER, "B/op" },
        { "instructions_per_cycle", NULL, HIGHER, NULL },
        { "cycles_per_instruction", NULL, LOWER, NULL },
        { "tokens_per_joule", NULL, HIGHER, NULL },
        { "joules_per_token", NULL, LOWER, "J/token" },
        { "errors_per_s", NULL, LOWER, NULL },
        { "gc_ms_per_s", NULL, LOWER, NULL }, /* a share of the time */
        { "cache_misses_per_s", NULL, LOWER, NULL },
        { "1/s", NULL, HIGHER, "1/s" },
        { "value", "1/s", HIGHER, NULL },
        { "hit_rate", NULL, HIGHER, "" },
        { "miss_rate", NULL, LOWER, "" },
        { "success_rate", "%", HIGHER, NULL },
        { "error_rate", "%", LOWER, NULL },
        { "memory_bandwidth", NULL, HIGHER, "" },
        { "memory", NULL, LOWER, "" },
        { "throughput_mb", NULL, HIGHER, "MB" },
        { "rss_mb", NULL, LOWER, "MB" },
        { "cache_hit_latency", NULL, LOWER, "" },
    };

    check(rows, PFC_ARRAY_LEN(rows));
}

Test(directions, what_says_nothing_is_asked_for)
{
    static const row rows[] = {
        { "score", NULL, ASK, "" },
        { "value", NULL, ASK, "" },
        { "value", "", ASK, NULL },
        { "x", "widgets", ASK, NULL },
        { "batch_size", NULL, ASK, "" },
        { "block size", NULL, ASK, NULL },
        { "iterations", NULL, ASK, "" },
        { "tokens", NULL, ASK, "" },
        { "rate", NULL, ASK, "" },
        { "S", NULL, ASK, "" },
        { "n", NULL, ASK, "" },
        { "op_s", NULL, ASK, "" }, /* operations a second, or the seconds of one? */
        { "req_s", NULL, ASK, "" },
        { "tokens_per_step", NULL, ASK, "tokens/step" },
        { "share", "%", ASK, NULL },
        { "", NULL, ASK, "" },
        { "Registers Per Thread", "register/thread", ASK, NULL },
    };

    check(rows, PFC_ARRAY_LEN(rows));
}

Test(directions, tools_mean_what_their_documentation_says)
{
    static const row rows[] = {
        /* google/benchmark docs/user_guide.md, "Custom Counters", "Extra Context" */
        { "bytes_per_second", NULL, HIGHER, "B/s" },
        { "items_per_second", NULL, HIGHER, "items/s" },
        { "real_time", "ns", LOWER, NULL },
        { "cpu_time", NULL, LOWER, NULL },
        { "gemm_tflops", NULL, HIGHER, "TFLOP/s" },
        { "tokens/s", NULL, HIGHER, "tokens/s" },
        /* pytest-benchmark docs/usage.rst: "ops: 1 / mean"; times are seconds */
        { "ops", NULL, HIGHER, "" },
        { "median", "s", LOWER, NULL },
        /* JMH, org.openjdk.jmh.annotations.Mode: thrpt ops/time, avgt, sample and ss time/op */
        { "throughput", "ops/ms", HIGHER, NULL },
        { "avgt", "us/op", LOWER, NULL },
        { "sample", "ms/op", LOWER, NULL },
        /* JMH GCProfiler: gc.alloc.rate is a cost */
        { "gc.alloc.rate", "MB/sec", LOWER, NULL },
        { "gc.alloc.rate.norm", "B/op", LOWER, NULL },
        { "gc.time", "ms", LOWER, NULL },
        /* Go, testing.B and golang.org/design/14313-benchmark-format */
        { "ns/op", "ns/op", LOWER, NULL },
        { "B/op", "B/op", LOWER, NULL },
        { "allocs/op", "allocs/op", LOWER, NULL },
        { "MB/s", "MB/s", HIGHER, NULL },
        /* NVBench docs/benchmarks.md: GPU Time, Elem/s, GlobalMem BW, BWUtil */
        { "GPU Time", "us", LOWER, NULL },
        { "Elem/s", NULL, HIGHER, "items/s" },
        { "GlobalMem BW", "GB/s", HIGHER, NULL },
        /* Criterion.rs book, "Throughput Measurements": thrpt 4.1 Melem/s, MiB/s */
        { "thrpt", "Melem/s", HIGHER, NULL },
        { "thrpt", "GiB/s", HIGHER, NULL },
        { "time", "ps", LOWER, NULL },
        /* hyperfine README, "Export results": seconds; user, system */
        { "mean", "s", LOWER, NULL },
        /* nccl-tests doc/PERFORMANCE.md: algbw and busbw in GB/s, time in us */
        { "algbw", NULL, HIGHER, NULL },
        { "busbw", NULL, HIGHER, NULL },
        { "time", "us", LOWER, NULL },
        { "#wrong errors", NULL, LOWER, NULL },
        /* Nsight Compute documentation, "Metrics Reference" and "Sections" */
        { "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", HIGHER, NULL },
        { "dram__bytes_read.sum.per_second", "Gbyte/second", HIGHER, NULL },
        { "Duration", "us", LOWER, NULL },
        { "Elapsed Cycles", "cycle", LOWER, NULL },
        { "SM Frequency", "cycle/nsecond", HIGHER, NULL },
        { "Executed Ipc Active", "inst/cycle", HIGHER, NULL },
        { "Achieved Occupancy", "%", HIGHER, NULL },
        { "L1/TEX Hit Rate", "%", HIGHER, NULL },
        { "No Eligible", "%", LOWER, NULL },
        { "One or More Eligible", "%", HIGHER, NULL },
        { "Issue Slots Busy", "%", HIGHER, NULL },
        { "Warp Cycles Per Issued Instruction", "cycle", LOWER, NULL },
        { "l1tex__data_bank_conflicts_pipe_lsu.sum", "", LOWER, NULL },
        { "smsp__sass_average_branch_efficiency", "%", HIGHER, NULL },
        /* rocprofv3, "Using rocprofv3": durations in ns */
        { "AverageNs", "ns", LOWER, NULL },
        { "TotalDurationNs", "ns", LOWER, NULL },
        /* LNT docs/importing_data.rst: execution_time, compile_time, code_size, mem_bytes */
        { "execution_time", NULL, LOWER, NULL },
        { "compile_time", NULL, LOWER, NULL },
        { "code_size", NULL, LOWER, NULL },
        { "mem_bytes", NULL, LOWER, "bytes" },
        /* Conbench conbench/units.py: s lower, B/s and i/s higher */
        { "", "s", LOWER, NULL },
        { "", "B/s", HIGHER, NULL },
        { "", "i/s", HIGHER, NULL },
        /* asv docs/source/writing_benchmarks.rst: time_, mem_, peakmem_ */
        { "time_keys", NULL, LOWER, NULL },
        { "peakmem_list", NULL, LOWER, NULL },
        /* github-action-benchmark README, customBiggerIsBetter and the tools' units */
        { "Throughput", "req/s", HIGHER, NULL },
        { "Free Memory", "Megabytes", HIGHER, NULL },
        { "Memory Used", "Megabytes", LOWER, NULL },
        { "fib(10)", "ops/sec", HIGHER, NULL },
        { "bench_fib", "ns/iter", LOWER, NULL },
        /* k6 docs, "Built-in metrics" */
        { "http_reqs", "reqs/s", HIGHER, NULL },
        { "http_req_duration", NULL, LOWER, NULL },
        { "http_req_failed", NULL, LOWER, NULL },
        { "dropped_iterations", NULL, LOWER, NULL },
        /* wrk README: Requests/sec, Transfer/sec, Latency */
        { "Requests/sec", NULL, HIGHER, "requests/s" },
        { "Transfer/sec", NULL, HIGHER, NULL },
        { "Latency", NULL, LOWER, NULL },
        /* vLLM benchmark_serving: output_throughput, mean_ttft_ms, p99_itl_ms */
        { "output_throughput", NULL, HIGHER, NULL },
        { "mean_ttft_ms", NULL, LOWER, "ms" },
        { "p99_itl_ms", NULL, LOWER, "ms" },
        /* perf stat, "insn per cycle", "cache-misses", "page-faults", "context-switches" */
        { "insn per cycle", NULL, HIGHER, NULL },
        { "cache-misses", NULL, LOWER, NULL },
        { "page-faults", NULL, LOWER, NULL },
        { "context-switches", NULL, LOWER, NULL },
        { "instructions", NULL, LOWER, NULL },
        /* CUTLASS media/docs/profiler.md: Runtime, GFLOPs; Triton perf_report */
        { "GFLOPs", NULL, HIGHER, "GFLOP/s" },
        { "GB/s", NULL, HIGHER, "GB/s" },
        { "Runtime", NULL, LOWER, NULL },
        { "TFLOPS", NULL, HIGHER, "TFLOP/s" },
        /* fio, iperf3, pgbench, MLPerf */
        { "iops", NULL, HIGHER, "IOPS" },
        { "bits_per_second", NULL, HIGHER, "bit/s" },
        { "retransmits", NULL, LOWER, NULL },
        { "jitter_ms", NULL, LOWER, "ms" },
        { "tps", NULL, HIGHER, NULL },
        { "qps", NULL, HIGHER, "queries/s" },
        /* Bencher, "Built-in measures"; iai-callgrind */
        { "file-size", NULL, LOWER, NULL },
        { "build-time", NULL, LOWER, NULL },
        { "L1 Hits", NULL, HIGHER, NULL },
        { "Estimated Cycles", NULL, LOWER, "cycles" },
    };

    check(rows, PFC_ARRAY_LEN(rows));
}

Test(directions, long_and_odd_names_are_cut_not_overrun)
{
    char name[4000];
    char unit[PFC_IMPORT_UNIT_BYTES];

    for (size_t i = 0; i + 2 < sizeof(name); i += 2)
        memcpy(name + i, "a_", 2);
    strcpy(name + sizeof(name) - 20, "_items_per_s");
    cr_assert(eq(int, pfc_import_nature(name, NULL), HIGHER));
    cr_assert(eq(str, (char *)pfc_import_unit_of(name, unit), "items/s"));
    memset(name, 'x', sizeof(name) - 1);
    strcpy(name + sizeof(name) - 20, "_ms");
    cr_assert(eq(str, (char *)pfc_import_unit_of(name, unit), "ms"));
    cr_assert(eq(int, pfc_import_nature("///%%%per", "/"), ASK));
}
