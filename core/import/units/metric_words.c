/* The table of words: the direction and unit that each implies for a metric. */
#include "core/import/units/metric_words.h"

#include <string.h>

#include "core/base/base.h"

/* The tool behind a row is where the word's meaning was read. */
static const pfc_word words[] = {
    /* Units of time: google-benchmark time_unit, hyperfine, JMH, NVBench, k6, wrk. */
    { "s", PFC_WORD_TIME, "s" },
    { "sec", PFC_WORD_TIME, "s" },
    { "secs", PFC_WORD_TIME, "s" },
    { "second", PFC_WORD_TIME, "s" },
    { "seconds", PFC_WORD_TIME, "s" },
    { "ms", PFC_WORD_TIME, "ms" },
    { "msec", PFC_WORD_TIME, "ms" },
    { "msecs", PFC_WORD_TIME, "ms" },
    { "millis", PFC_WORD_TIME, "ms" },
    { "millisecond", PFC_WORD_TIME, "ms" },
    { "milliseconds", PFC_WORD_TIME, "ms" },
    { "us", PFC_WORD_TIME, "us" },
    { "\xc2\xb5s", PFC_WORD_TIME, "us" },
    { "\xce\xbcs", PFC_WORD_TIME, "us" },
    { "usec", PFC_WORD_TIME, "us" },
    { "usecond", PFC_WORD_TIME, "us" }, /* ncu */
    { "usecs", PFC_WORD_TIME, "us" },
    { "micros", PFC_WORD_TIME, "us" },
    { "microsecond", PFC_WORD_TIME, "us" },
    { "microseconds", PFC_WORD_TIME, "us" },
    { "ns", PFC_WORD_TIME, "ns" },
    { "nsec", PFC_WORD_TIME, "ns" },
    { "nsecond", PFC_WORD_TIME, "ns" }, /* ncu */
    { "nsecs", PFC_WORD_TIME, "ns" },
    { "nanos", PFC_WORD_TIME, "ns" },
    { "nanosecond", PFC_WORD_TIME, "ns" },
    { "nanoseconds", PFC_WORD_TIME, "ns" },
    { "ps", PFC_WORD_TIME, "ps" },
    { "minute", PFC_WORD_TIME, "min" },
    { "minutes", PFC_WORD_TIME, "min" },
    { "hour", PFC_WORD_TIME, "h" },
    { "hours", PFC_WORD_TIME, "h" },

    /* Data: google-benchmark bytes_per_second, Criterion.rs thrpt, ncu, nccl-tests, Go B/op. */
    { "b", PFC_WORD_SIZE, "B" },
    { "byte", PFC_WORD_SIZE, "bytes" },
    { "bytes", PFC_WORD_SIZE, "bytes" },
    { "kb", PFC_WORD_SIZE, "kB" },
    { "mb", PFC_WORD_SIZE, "MB" },
    { "gb", PFC_WORD_SIZE, "GB" },
    { "tb", PFC_WORD_SIZE, "TB" },
    { "kib", PFC_WORD_SIZE, "KiB" },
    { "mib", PFC_WORD_SIZE, "MiB" },
    { "gib", PFC_WORD_SIZE, "GiB" },
    { "tib", PFC_WORD_SIZE, "TiB" },
    { "kbyte", PFC_WORD_SIZE, "kB" },
    { "mbyte", PFC_WORD_SIZE, "MB" },
    { "gbyte", PFC_WORD_SIZE, "GB" },
    { "tbyte", PFC_WORD_SIZE, "TB" },
    { "megabytes", PFC_WORD_SIZE, "MB" },
    { "bit", PFC_WORD_SIZE, "bit" },
    { "bits", PFC_WORD_SIZE, "bit" },
    { "kbit", PFC_WORD_SIZE, "kbit" },
    { "mbit", PFC_WORD_SIZE, "Mbit" },
    { "gbit", PFC_WORD_SIZE, "Gbit" },

    /* Spent on the work: ncu, perf stat, cachegrind and iai-callgrind, Bencher's estimated-cycles.
     */
    { "cycle", PFC_WORD_SPENT, "cycles" },
    { "cycles", PFC_WORD_SPENT, "cycles" },
    { "clock", PFC_WORD_TICK, NULL },
    { "clocks", PFC_WORD_TICK, NULL },
    { "clk", PFC_WORD_TICK, NULL },
    { "instruction", PFC_WORD_SPENT, NULL },
    { "instructions", PFC_WORD_SPENT, NULL },
    { "insn", PFC_WORD_SPENT, NULL },
    { "insns", PFC_WORD_SPENT, NULL },
    { "inst", PFC_WORD_SPENT, NULL },
    { "joule", PFC_WORD_SPENT, "J" },
    { "joules", PFC_WORD_SPENT, "J" },
    { "energy", PFC_WORD_SPENT, NULL },
    { "watt", PFC_WORD_SPENT, "W" },
    { "watts", PFC_WORD_SPENT, "W" },
    { "power", PFC_WORD_SPENT, NULL },
    { "dollar", PFC_WORD_SPENT, NULL },
    { "dollars", PFC_WORD_SPENT, NULL },
    { "usd", PFC_WORD_SPENT, NULL },
    { "memory", PFC_WORD_SPENT, NULL },
    { "mem", PFC_WORD_SPENT, NULL }, /* asv mem_, peakmem_ */

    /* Rates by their own name. */
    { "flops", PFC_WORD_RATE, "FLOP/s" },   /* google-benchmark's and CUTLASS' users, NVBench */
    { "kflops", PFC_WORD_RATE, "kFLOP/s" }, /* Linpack */
    { "mflops", PFC_WORD_RATE, "MFLOP/s" }, /* Linpack */
    { "gflops", PFC_WORD_RATE, "GFLOP/s" }, /* CUTLASS: GFLOPs */
    { "tflops", PFC_WORD_RATE, "TFLOP/s" }, /* Triton: TFLOPS */
    { "pflops", PFC_WORD_RATE, "PFLOP/s" },
    { "gops", PFC_WORD_RATE, "GOP/s" },
    { "tops", PFC_WORD_RATE, "TOP/s" },
    { "mops", PFC_WORD_RATE, "MOP/s" },
    { "kops", PFC_WORD_RATE, "kOP/s" },
    { "iops", PFC_WORD_RATE, "IOPS" }, /* fio */
    { "mips", PFC_WORD_RATE, "MIPS" }, /* 7-Zip */
    { "bps", PFC_WORD_RATE, NULL },    /* iperf3 bits_per_second */
    { "kbps", PFC_WORD_RATE, NULL },
    { "mbps", PFC_WORD_RATE, NULL },
    { "gbps", PFC_WORD_RATE, "GB/s" }, /* Triton, nccl-tests: bytes */
    { "tbps", PFC_WORD_RATE, "TB/s" },
    { "fps", PFC_WORD_RATE, "frames/s" },  /* ffmpeg, OpenVINO benchmark_app */
    { "qps", PFC_WORD_RATE, "queries/s" }, /* MLPerf Inference, ghz */
    { "rps", PFC_WORD_RATE, "reqs/s" },    /* wrk, hey, Locust */
    { "tps", PFC_WORD_RATE, NULL },        /* pgbench */
    { "mfu", PFC_WORD_HIGHER, NULL },      /* share of the peak: PaLM, appendix B */
    { "mbu", PFC_WORD_HIGHER, NULL },
    { "hfu", PFC_WORD_HIGHER, NULL },
    { "hz", PFC_WORD_RATE, "Hz" }, /* ncu; benchmark.js: operations a second */
    { "khz", PFC_WORD_RATE, "kHz" },
    { "mhz", PFC_WORD_RATE, "MHz" },
    { "ghz", PFC_WORD_RATE, "GHz" },
    { "busbw", PFC_WORD_HIGHER, NULL },      /* nccl-tests */
    { "algbw", PFC_WORD_HIGHER, NULL },      /* nccl-tests */
    { "bw", PFC_WORD_HIGHER, NULL },         /* fio */
    { "bandwidth", PFC_WORD_HIGHER, NULL },  /* nvbandwidth, ncu */
    { "throughput", PFC_WORD_HIGHER, NULL }, /* ncu, JMH thrpt, Criterion.rs, Bencher */
    { "thrpt", PFC_WORD_HIGHER, NULL },      /* JMH, Criterion.rs */
    { "goodput", PFC_WORD_HIGHER, NULL },    /* vLLM benchmark_serving */
    { "frequency", PFC_WORD_HIGHER, NULL },  /* ncu: SM Frequency */
    { "freq", PFC_WORD_HIGHER, NULL },

    /* Shares and ratios. */
    { "ipc", PFC_WORD_HIGHER, "inst/cycle" }, /* ncu: Executed Ipc Active; perf stat */
    { "cpi", PFC_WORD_LOWER, NULL },
    { "occupancy", PFC_WORD_HIGHER, NULL },   /* ncu: Achieved Occupancy */
    { "utilization", PFC_WORD_HIGHER, NULL }, /* NVBench: BWUtil; ncu */
    { "utilisation", PFC_WORD_HIGHER, NULL },
    { "efficiency", PFC_WORD_HIGHER, NULL }, /* ncu: Branch Efficiency */
    { "speedup", PFC_WORD_HIGHER, NULL },
    { "speed", PFC_WORD_HIGHER, NULL },
    { "hit", PFC_WORD_HIGHER, NULL },  /* ncu: L2 Hit Rate */
    { "hits", PFC_WORD_HIGHER, NULL }, /* iai-callgrind: L1 Hits */
    { "accuracy", PFC_WORD_HIGHER, NULL },
    { "recall", PFC_WORD_HIGHER, NULL },  /* ann-benchmarks */
    { "success", PFC_WORD_HIGHER, NULL }, /* hey, Vegeta */
    { "successes", PFC_WORD_HIGHER, NULL },
    { "acceptance", PFC_WORD_HIGHER, NULL }, /* vLLM: draft acceptance rate */
    { "uptime", PFC_WORD_HIGHER, NULL },
    { "mtbf", PFC_WORD_HIGHER, NULL },

    /* Times and amounts without their unit. */
    { "time", PFC_WORD_LOWER, NULL },
    { "times", PFC_WORD_LOWER, NULL },
    { "timing", PFC_WORD_LOWER, NULL },
    { "latency", PFC_WORD_LOWER, NULL }, /* nvbandwidth, Bencher, wrk */
    { "latencies", PFC_WORD_LOWER, NULL },
    { "duration", PFC_WORD_LOWER, NULL }, /* k6: http_req_duration; ncu: Duration */
    { "elapsed", PFC_WORD_LOWER, NULL },
    { "runtime", PFC_WORD_LOWER, NULL },
    { "walltime", PFC_WORD_LOWER, NULL },
    { "wallclock", PFC_WORD_LOWER, NULL },
    { "cputime", PFC_WORD_LOWER, NULL },
    { "delay", PFC_WORD_LOWER, NULL },
    { "lag", PFC_WORD_LOWER, NULL },
    { "ping", PFC_WORD_LOWER, NULL },
    { "rtt", PFC_WORD_LOWER, NULL },   /* iperf3, sockperf */
    { "pause", PFC_WORD_LOWER, NULL }, /* JMH -prof gc */
    { "pauses", PFC_WORD_LOWER, NULL },
    { "ttft", PFC_WORD_LOWER, NULL }, /* vLLM: time to first token */
    { "tpot", PFC_WORD_LOWER, NULL }, /* vLLM: time per output token */
    { "itl", PFC_WORD_LOWER, NULL },  /* vLLM: inter-token latency */
    { "rss", PFC_WORD_LOWER, NULL },  /* GNU time, getrusage */
    { "maxrss", PFC_WORD_LOWER, NULL },
    { "peakmem", PFC_WORD_LOWER, NULL }, /* asv */
    { "footprint", PFC_WORD_LOWER, NULL },
    { "heap", PFC_WORD_LOWER, NULL },        /* google-benchmark net_heap_growth */
    { "temperature", PFC_WORD_LOWER, NULL }, /* nvidia-smi */
    { "syscalls", PFC_WORD_LOWER, NULL },    /* perf stat */
    { "accesses", PFC_WORD_LOWER, NULL },    /* iai-callgrind */
    { "cost", PFC_WORD_LOWER, NULL },
    { "wer", PFC_WORD_LOWER, NULL },
    { "perplexity", PFC_WORD_LOWER, NULL },

    /* Bad at any rate. */
    { "error", PFC_WORD_COST, NULL }, /* wrk, Locust, Vegeta */
    { "errors", PFC_WORD_COST, NULL },
    { "failure", PFC_WORD_COST, NULL },
    { "failures", PFC_WORD_COST, NULL },
    { "failed", PFC_WORD_COST, NULL }, /* k6: http_req_failed; ab: Failed requests */
    { "miss", PFC_WORD_COST, NULL },   /* perf stat: cache-misses */
    { "misses", PFC_WORD_COST, NULL },
    { "mispredicts", PFC_WORD_COST, NULL },
    { "mispredictions", PFC_WORD_COST, NULL },
    { "mismatches", PFC_WORD_COST, NULL },
    { "loss", PFC_WORD_COST, NULL }, /* iperf3: lost_percent */
    { "lost", PFC_WORD_COST, NULL },
    { "dropped", PFC_WORD_COST, NULL }, /* k6: dropped_iterations */
    { "drops", PFC_WORD_COST, NULL },
    { "conflict", PFC_WORD_COST, NULL }, /* ncu: bank conflicts */
    { "conflicts", PFC_WORD_COST, NULL },
    { "stall", PFC_WORD_COST, NULL }, /* ncu: Stall Long Scoreboard */
    { "stalls", PFC_WORD_COST, NULL },
    { "stalled", PFC_WORD_COST, NULL },
    { "fault", PFC_WORD_COST, NULL }, /* perf stat: page-faults */
    { "faults", PFC_WORD_COST, NULL },
    { "switches", PFC_WORD_COST, NULL },   /* perf stat: context-switches */
    { "migrations", PFC_WORD_COST, NULL }, /* perf stat: cpu-migrations */
    { "retries", PFC_WORD_COST, NULL },
    { "retransmits", PFC_WORD_COST, NULL }, /* iperf3 */
    { "timeouts", PFC_WORD_COST, NULL },
    { "evictions", PFC_WORD_COST, NULL },
    { "spills", PFC_WORD_COST, NULL }, /* ptxas, ncu: Local Memory Spilling */
    { "spilling", PFC_WORD_COST, NULL },
    { "alloc", PFC_WORD_COST, NULL },      /* JMH: gc.alloc.rate */
    { "allocs", PFC_WORD_COST, "allocs" }, /* Go: allocs/op */
    { "allocation", PFC_WORD_COST, NULL },
    { "allocations", PFC_WORD_COST, NULL },
    { "allocated", PFC_WORD_COST, NULL }, /* google-benchmark total_allocated_bytes */
    { "overhead", PFC_WORD_COST, NULL },
    { "jitter", PFC_WORD_COST, NULL }, /* iperf3 */
    { "rmse", PFC_WORD_COST, NULL },
    { "mse", PFC_WORD_COST, NULL },
    { "mae", PFC_WORD_COST, NULL },

    /* Work. */
    { "op", PFC_WORD_ONE, NULL },
    { "operation", PFC_WORD_PIECE, NULL },
    { "iter", PFC_WORD_ONE, NULL }, /* libtest: ns/iter */
    { "iteration", PFC_WORD_PIECE, NULL },
    { "it", PFC_WORD_ONE, NULL }, /* tqdm: it/s, s/it */
    { "item", PFC_WORD_ONE, NULL },
    { "elem", PFC_WORD_ONE, NULL }, /* Criterion.rs: elem/s */
    { "element", PFC_WORD_ONE, NULL },
    { "token", PFC_WORD_ONE, NULL },
    { "req", PFC_WORD_ONE, NULL },
    { "request", PFC_WORD_ONE, NULL },
    { "query", PFC_WORD_ONE, NULL },
    { "call", PFC_WORD_PIECE, NULL },
    { "row", PFC_WORD_ONE, NULL },
    { "record", PFC_WORD_ONE, NULL },
    { "msg", PFC_WORD_ONE, NULL },
    { "message", PFC_WORD_ONE, NULL },
    { "event", PFC_WORD_ONE, NULL },
    { "image", PFC_WORD_ONE, NULL },
    { "img", PFC_WORD_ONE, NULL },
    { "frame", PFC_WORD_ONE, NULL },
    { "sample", PFC_WORD_ONE, NULL },
    { "step", PFC_WORD_PIECE, NULL },
    { "batch", PFC_WORD_PIECE, NULL },
    { "epoch", PFC_WORD_PIECE, NULL },
    { "page", PFC_WORD_ONE, NULL },
    { "packet", PFC_WORD_ONE, NULL },
    { "pkt", PFC_WORD_ONE, NULL },
    { "transaction", PFC_WORD_ONE, NULL },
    { "txn", PFC_WORD_ONE, NULL },
    { "tx", PFC_WORD_ONE, NULL },
    { "key", PFC_WORD_ONE, NULL },
    { "file", PFC_WORD_PIECE, NULL },
    { "line", PFC_WORD_PIECE, NULL },
    { "job", PFC_WORD_PIECE, NULL },
    { "task", PFC_WORD_PIECE, NULL },
    { "object", PFC_WORD_PIECE, NULL },
    { "entry", PFC_WORD_PIECE, NULL },
    { "lookup", PFC_WORD_ONE, NULL },
    { "read", PFC_WORD_ONE, NULL },
    { "write", PFC_WORD_ONE, NULL },
    { "insert", PFC_WORD_ONE, NULL },
    { "point", PFC_WORD_PIECE, NULL },
    { "cell", PFC_WORD_PIECE, NULL },
    { "edge", PFC_WORD_PIECE, NULL },
    { "node", PFC_WORD_PIECE, NULL },
    { "run", PFC_WORD_PIECE, NULL },
    { "launch", PFC_WORD_PIECE, NULL },
    { "kernel", PFC_WORD_PIECE, NULL },
    { "hash", PFC_WORD_PIECE, NULL },
    { "flop", PFC_WORD_PIECE, NULL },
    { "char", PFC_WORD_PIECE, NULL },
    { "word", PFC_WORD_PIECE, NULL },
    { "sequence", PFC_WORD_PIECE, NULL },
    { "sentence", PFC_WORD_PIECE, NULL },
    { "ops", PFC_WORD_MANY, NULL }, /* JMH: ops/s */
    { "operations", PFC_WORD_MANY, NULL },
    { "iters", PFC_WORD_MANY, NULL },
    { "iterations", PFC_WORD_MANY, NULL }, /* k6: iterations a second */
    { "its", PFC_WORD_MANY, NULL },
    { "items", PFC_WORD_MANY, NULL }, /* google-benchmark: items_per_second */
    { "elems", PFC_WORD_MANY, NULL },
    { "elements", PFC_WORD_MANY, NULL },
    { "kelem", PFC_WORD_MANY, NULL }, /* Criterion.rs: Kelem/s, Melem/s, Gelem/s */
    { "melem", PFC_WORD_MANY, NULL },
    { "gelem", PFC_WORD_MANY, NULL },
    { "tok", PFC_WORD_MANY, NULL }, /* llama.cpp: tok/s */
    { "toks", PFC_WORD_MANY, NULL },
    { "tokens", PFC_WORD_MANY, NULL },   /* vLLM: output tokens/s */
    { "reqs", PFC_WORD_MANY, NULL },     /* k6: http_reqs */
    { "requests", PFC_WORD_MANY, NULL }, /* wrk: Requests/sec */
    { "queries", PFC_WORD_MANY, NULL },
    { "calls", PFC_WORD_MANY, NULL },
    { "rows", PFC_WORD_MANY, NULL },
    { "records", PFC_WORD_MANY, NULL },
    { "msgs", PFC_WORD_MANY, NULL },
    { "messages", PFC_WORD_MANY, NULL },
    { "events", PFC_WORD_MANY, NULL }, /* sysbench */
    { "images", PFC_WORD_MANY, NULL },
    { "imgs", PFC_WORD_MANY, NULL },
    { "frames", PFC_WORD_MANY, NULL },
    { "samples", PFC_WORD_MANY, NULL },
    { "steps", PFC_WORD_MANY, NULL },
    { "batches", PFC_WORD_MANY, NULL },
    { "epochs", PFC_WORD_MANY, NULL },
    { "pages", PFC_WORD_MANY, NULL },
    { "packets", PFC_WORD_MANY, NULL },
    { "pkts", PFC_WORD_MANY, NULL },
    { "transactions", PFC_WORD_MANY, NULL }, /* sysbench, pgbench */
    { "txns", PFC_WORD_MANY, NULL },
    { "keys", PFC_WORD_MANY, NULL },
    { "files", PFC_WORD_MANY, NULL },
    { "lines", PFC_WORD_MANY, NULL },
    { "jobs", PFC_WORD_MANY, NULL },
    { "tasks", PFC_WORD_MANY, NULL },
    { "objects", PFC_WORD_MANY, NULL },
    { "entries", PFC_WORD_MANY, NULL },
    { "lookups", PFC_WORD_MANY, NULL },
    { "reads", PFC_WORD_MANY, NULL },
    { "writes", PFC_WORD_MANY, NULL },
    { "inserts", PFC_WORD_MANY, NULL },
    { "points", PFC_WORD_MANY, NULL },
    { "cells", PFC_WORD_MANY, NULL },
    { "edges", PFC_WORD_MANY, NULL }, /* Graph500: TEPS */
    { "nodes", PFC_WORD_MANY, NULL }, /* chess engines: nodes a second */
    { "runs", PFC_WORD_MANY, NULL },
    { "launches", PFC_WORD_MANY, NULL },
    { "hashes", PFC_WORD_MANY, NULL },
    { "chars", PFC_WORD_MANY, NULL },
    { "words", PFC_WORD_MANY, NULL },
    { "sequences", PFC_WORD_MANY, NULL },
    { "sentences", PFC_WORD_MANY, NULL },
    { "mflop", PFC_WORD_MANY, NULL },
    { "gflop", PFC_WORD_MANY, NULL },
    { "tflop", PFC_WORD_MANY, NULL },

    /* Which statistic of it. */
    { "mean", PFC_WORD_KIND_OF, NULL },
    { "avg", PFC_WORD_KIND_OF, NULL },
    { "average", PFC_WORD_KIND_OF, NULL },
    { "median", PFC_WORD_KIND_OF, NULL },
    { "med", PFC_WORD_KIND_OF, NULL },
    { "min", PFC_WORD_KIND_OF, NULL },
    { "max", PFC_WORD_KIND_OF, NULL },
    { "total", PFC_WORD_KIND_OF, NULL },
    { "sum", PFC_WORD_KIND_OF, NULL }, /* ncu: .sum.per_second */
    { "p50", PFC_WORD_KIND_OF, NULL },
    { "p90", PFC_WORD_KIND_OF, NULL },
    { "p95", PFC_WORD_KIND_OF, NULL },
    { "p99", PFC_WORD_KIND_OF, NULL },
    { "p999", PFC_WORD_KIND_OF, NULL },
};

/* Phrases with a direction that none of their words has alone. Matched first, anywhere in the name.
 */
const pfc_phrase pfc_phrases[] = {
    { "bigger is better", 1 }, /* github-action-benchmark, customBiggerIsBetter */
    { "higher is better", 1 },
    { "smaller is better", -1 },
    { "lower is better", -1 },
    { "pct of peak", 1 }, /* ncu: sm__throughput.avg.pct_of_peak_sustained_elapsed */
    { "free memory", 1 },
    { "memory free", 1 },
    { "available memory", 1 },
    { "memory available", 1 },
    { "no eligible", -1 },   /* ncu: share of cycles without a warp to issue */
    { "more eligible", 1 },  /* ncu: One or More Eligible */
    { "eligible warps", 1 }, /* ncu: Eligible Warps Per Scheduler */
    { "active warps", 1 },   /* ncu: Achieved Active Warps Per SM */
    { "issued warp", 1 },    /* ncu: Issued Warp Per Scheduler */
    { "slots busy", 1 },     /* ncu: Issue Slots Busy */
    { "mem busy", 1 },       /* ncu */
    { "pipes busy", 1 },     /* ncu: Mem Pipes Busy */
    { "sm busy", 1 },        /* ncu */
    { "dropped iterations", -1 },
    { "time to failure", 1 },
    { "frame rate", 1 },
    { "code size", -1 }, /* LNT */
    { "file size", -1 }, /* Bencher; "block_size" is a parameter */
    { "binary size", -1 },
    { "text size", -1 },
    { "heap size", -1 },
    { "package size", -1 },
    { "bundle size", -1 },
    { "compressed size", -1 },
    { "set size", -1 }, /* working set, resident set */
};

const size_t pfc_phrases_len = PFC_ARRAY_LEN(pfc_phrases);

const pfc_word *pfc_word_find(const char *text)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (words[i].text[0] == text[0] && strcmp(words[i].text, text) == 0)
            return &words[i];
    }
    return NULL;
}
