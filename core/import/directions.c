/*
 * What a metric's name and unit say: its unit, and whether more of it is better. One table of words.
 *
 * A name is cut into words ("gpuTime_ms" is gpu, time, ms). A rate ("tokens_per_s", "mb/s", "reqs_s")
 * and its inverse ("s_per_token", "ns/op", "time_per_iter") share their words and differ in the order,
 * so the words around "per" are looked at before any single word. A name that says nothing has no
 * direction: the caller asks for it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/import/reader.h"

enum { MAX_WORDS = 48, WORD_BYTES = 24 };

typedef enum kind {
    NOTHING,
    HIGHER, /* more is better */
    LOWER,  /* less is better */
    COST,   /* less is better, as a rate, too: errors a second */
    RATE,   /* has its "per second" within: tflops, gbps */
    TIME,   /* a unit of time */
    SIZE,   /* a unit of data: a cost as such, work as a rate */
    SPENT,  /* cycles, joules: what is spent; work for it is better when more */
    TICK,   /* spent behind "per" alone: a clock may be a frequency */
    ONE,    /* a piece of work whose "_s" may be a rate or its seconds: op_s */
    PIECE,  /* a piece of work whose "_s" is its seconds: step_s */
    MANY,   /* pieces of work: items_s is a rate */
    KIND_OF /* which statistic: says nothing about the direction */
} kind;

typedef struct word {
    const char *text;
    kind kind;
    const char *unit; /* NULL: the word itself, or none */
} word;

/* The tool behind a row is where the word's meaning was read. */
static const word words[] = {
    /* Units of time: google-benchmark time_unit, hyperfine, JMH, NVBench, k6, wrk. */
    { "s", TIME, "s" },
    { "sec", TIME, "s" },
    { "secs", TIME, "s" },
    { "second", TIME, "s" },
    { "seconds", TIME, "s" },
    { "ms", TIME, "ms" },
    { "msec", TIME, "ms" },
    { "msecs", TIME, "ms" },
    { "millis", TIME, "ms" },
    { "millisecond", TIME, "ms" },
    { "milliseconds", TIME, "ms" },
    { "us", TIME, "us" },
    { "\xc2\xb5s", TIME, "us" },
    { "\xce\xbcs", TIME, "us" },
    { "usec", TIME, "us" },
    { "usecond", TIME, "us" }, /* ncu */
    { "usecs", TIME, "us" },
    { "micros", TIME, "us" },
    { "microsecond", TIME, "us" },
    { "microseconds", TIME, "us" },
    { "ns", TIME, "ns" },
    { "nsec", TIME, "ns" },
    { "nsecond", TIME, "ns" }, /* ncu */
    { "nsecs", TIME, "ns" },
    { "nanos", TIME, "ns" },
    { "nanosecond", TIME, "ns" },
    { "nanoseconds", TIME, "ns" },
    { "ps", TIME, "ps" },
    { "minute", TIME, "min" },
    { "minutes", TIME, "min" },
    { "hour", TIME, "h" },
    { "hours", TIME, "h" },

    /* Data: google-benchmark bytes_per_second, Criterion.rs thrpt, ncu, nccl-tests, Go B/op. */
    { "b", SIZE, "B" },
    { "byte", SIZE, "bytes" },
    { "bytes", SIZE, "bytes" },
    { "kb", SIZE, "kB" },
    { "mb", SIZE, "MB" },
    { "gb", SIZE, "GB" },
    { "tb", SIZE, "TB" },
    { "kib", SIZE, "KiB" },
    { "mib", SIZE, "MiB" },
    { "gib", SIZE, "GiB" },
    { "tib", SIZE, "TiB" },
    { "kbyte", SIZE, "kB" },
    { "mbyte", SIZE, "MB" },
    { "gbyte", SIZE, "GB" },
    { "tbyte", SIZE, "TB" },
    { "megabytes", SIZE, "MB" },
    { "bit", SIZE, "bit" },
    { "bits", SIZE, "bit" },
    { "kbit", SIZE, "kbit" },
    { "mbit", SIZE, "Mbit" },
    { "gbit", SIZE, "Gbit" },

    /* Spent on the work: ncu, perf stat, cachegrind and iai-callgrind, Bencher's estimated-cycles. */
    { "cycle", SPENT, "cycles" },
    { "cycles", SPENT, "cycles" },
    { "clock", TICK, NULL },
    { "clocks", TICK, NULL },
    { "clk", TICK, NULL },
    { "instruction", SPENT, NULL },
    { "instructions", SPENT, NULL },
    { "insn", SPENT, NULL },
    { "insns", SPENT, NULL },
    { "inst", SPENT, NULL },
    { "joule", SPENT, "J" },
    { "joules", SPENT, "J" },
    { "energy", SPENT, NULL },
    { "watt", SPENT, "W" },
    { "watts", SPENT, "W" },
    { "power", SPENT, NULL },
    { "dollar", SPENT, NULL },
    { "dollars", SPENT, NULL },
    { "usd", SPENT, NULL },
    { "memory", SPENT, NULL },
    { "mem", SPENT, NULL }, /* asv mem_, peakmem_ */

    /* Rates by their own name. */
    { "flops", RATE, "FLOP/s" },   /* google-benchmark's and CUTLASS' users, NVBench */
    { "kflops", RATE, "kFLOP/s" }, /* Linpack */
    { "mflops", RATE, "MFLOP/s" }, /* Linpack */
    { "gflops", RATE, "GFLOP/s" }, /* CUTLASS: GFLOPs */
    { "tflops", RATE, "TFLOP/s" }, /* Triton: TFLOPS */
    { "pflops", RATE, "PFLOP/s" },
    { "gops", RATE, "GOP/s" },
    { "tops", RATE, "TOP/s" },
    { "mops", RATE, "MOP/s" },
    { "kops", RATE, "kOP/s" },
    { "iops", RATE, "IOPS" }, /* fio */
    { "mips", RATE, "MIPS" }, /* 7-Zip */
    { "bps", RATE, NULL },    /* iperf3 bits_per_second */
    { "kbps", RATE, NULL },
    { "mbps", RATE, NULL },
    { "gbps", RATE, "GB/s" }, /* Triton, nccl-tests: bytes */
    { "tbps", RATE, "TB/s" },
    { "fps", RATE, "frames/s" },  /* ffmpeg, OpenVINO benchmark_app */
    { "qps", RATE, "queries/s" }, /* MLPerf Inference, ghz */
    { "rps", RATE, "reqs/s" },    /* wrk, hey, Locust */
    { "tps", RATE, NULL },        /* pgbench */
    { "mfu", HIGHER, NULL },      /* share of the peak: PaLM, appendix B */
    { "mbu", HIGHER, NULL },
    { "hfu", HIGHER, NULL },
    { "hz", RATE, "Hz" }, /* ncu; benchmark.js: operations a second */
    { "khz", RATE, "kHz" },
    { "mhz", RATE, "MHz" },
    { "ghz", RATE, "GHz" },
    { "busbw", HIGHER, NULL },      /* nccl-tests */
    { "algbw", HIGHER, NULL },      /* nccl-tests */
    { "bw", HIGHER, NULL },         /* fio */
    { "bandwidth", HIGHER, NULL },  /* nvbandwidth, ncu */
    { "throughput", HIGHER, NULL }, /* ncu, JMH thrpt, Criterion.rs, Bencher */
    { "thrpt", HIGHER, NULL },      /* JMH, Criterion.rs */
    { "goodput", HIGHER, NULL },    /* vLLM benchmark_serving */
    { "frequency", HIGHER, NULL },  /* ncu: SM Frequency */
    { "freq", HIGHER, NULL },

    /* Shares and ratios. */
    { "ipc", HIGHER, "inst/cycle" }, /* ncu: Executed Ipc Active; perf stat */
    { "cpi", LOWER, NULL },
    { "occupancy", HIGHER, NULL },   /* ncu: Achieved Occupancy */
    { "utilization", HIGHER, NULL }, /* NVBench: BWUtil; ncu */
    { "utilisation", HIGHER, NULL },
    { "efficiency", HIGHER, NULL }, /* ncu: Branch Efficiency */
    { "speedup", HIGHER, NULL },
    { "speed", HIGHER, NULL },
    { "hit", HIGHER, NULL },  /* ncu: L2 Hit Rate */
    { "hits", HIGHER, NULL }, /* iai-callgrind: L1 Hits */
    { "accuracy", HIGHER, NULL },
    { "recall", HIGHER, NULL },  /* ann-benchmarks */
    { "success", HIGHER, NULL }, /* hey, Vegeta */
    { "successes", HIGHER, NULL },
    { "acceptance", HIGHER, NULL }, /* vLLM: draft acceptance rate */
    { "uptime", HIGHER, NULL },
    { "mtbf", HIGHER, NULL },

    /* Times and amounts without their unit. */
    { "time", LOWER, NULL },
    { "times", LOWER, NULL },
    { "timing", LOWER, NULL },
    { "latency", LOWER, NULL }, /* nvbandwidth, Bencher, wrk */
    { "latencies", LOWER, NULL },
    { "duration", LOWER, NULL }, /* k6: http_req_duration; ncu: Duration */
    { "elapsed", LOWER, NULL },
    { "runtime", LOWER, NULL },
    { "walltime", LOWER, NULL },
    { "wallclock", LOWER, NULL },
    { "cputime", LOWER, NULL },
    { "delay", LOWER, NULL },
    { "lag", LOWER, NULL },
    { "ping", LOWER, NULL },
    { "rtt", LOWER, NULL },   /* iperf3, sockperf */
    { "pause", LOWER, NULL }, /* JMH -prof gc */
    { "pauses", LOWER, NULL },
    { "ttft", LOWER, NULL }, /* vLLM: time to first token */
    { "tpot", LOWER, NULL }, /* vLLM: time per output token */
    { "itl", LOWER, NULL },  /* vLLM: inter-token latency */
    { "rss", LOWER, NULL },  /* GNU time, getrusage */
    { "maxrss", LOWER, NULL },
    { "peakmem", LOWER, NULL }, /* asv */
    { "footprint", LOWER, NULL },
    { "heap", LOWER, NULL },        /* google-benchmark net_heap_growth */
    { "temperature", LOWER, NULL }, /* nvidia-smi */
    { "syscalls", LOWER, NULL },    /* perf stat */
    { "accesses", LOWER, NULL },    /* iai-callgrind */
    { "cost", LOWER, NULL },
    { "wer", LOWER, NULL },
    { "perplexity", LOWER, NULL },

    /* Bad at any rate. */
    { "error", COST, NULL }, /* wrk, Locust, Vegeta */
    { "errors", COST, NULL },
    { "failure", COST, NULL },
    { "failures", COST, NULL },
    { "failed", COST, NULL }, /* k6: http_req_failed; ab: Failed requests */
    { "miss", COST, NULL },   /* perf stat: cache-misses */
    { "misses", COST, NULL },
    { "mispredicts", COST, NULL },
    { "mispredictions", COST, NULL },
    { "mismatches", COST, NULL },
    { "loss", COST, NULL }, /* iperf3: lost_percent */
    { "lost", COST, NULL },
    { "dropped", COST, NULL }, /* k6: dropped_iterations */
    { "drops", COST, NULL },
    { "conflict", COST, NULL }, /* ncu: bank conflicts */
    { "conflicts", COST, NULL },
    { "stall", COST, NULL }, /* ncu: Stall Long Scoreboard */
    { "stalls", COST, NULL },
    { "stalled", COST, NULL },
    { "fault", COST, NULL }, /* perf stat: page-faults */
    { "faults", COST, NULL },
    { "switches", COST, NULL },   /* perf stat: context-switches */
    { "migrations", COST, NULL }, /* perf stat: cpu-migrations */
    { "retries", COST, NULL },
    { "retransmits", COST, NULL }, /* iperf3 */
    { "timeouts", COST, NULL },
    { "evictions", COST, NULL },
    { "spills", COST, NULL }, /* ptxas, ncu: Local Memory Spilling */
    { "spilling", COST, NULL },
    { "alloc", COST, NULL },      /* JMH: gc.alloc.rate */
    { "allocs", COST, "allocs" }, /* Go: allocs/op */
    { "allocation", COST, NULL },
    { "allocations", COST, NULL },
    { "allocated", COST, NULL }, /* google-benchmark total_allocated_bytes */
    { "overhead", COST, NULL },
    { "jitter", COST, NULL }, /* iperf3 */
    { "rmse", COST, NULL },
    { "mse", COST, NULL },
    { "mae", COST, NULL },

    /* Work. */
    { "op", ONE, NULL },
    { "operation", PIECE, NULL },
    { "iter", ONE, NULL }, /* libtest: ns/iter */
    { "iteration", PIECE, NULL },
    { "it", ONE, NULL }, /* tqdm: it/s, s/it */
    { "item", ONE, NULL },
    { "elem", ONE, NULL }, /* Criterion.rs: elem/s */
    { "element", ONE, NULL },
    { "token", ONE, NULL },
    { "req", ONE, NULL },
    { "request", ONE, NULL },
    { "query", ONE, NULL },
    { "call", PIECE, NULL },
    { "row", ONE, NULL },
    { "record", ONE, NULL },
    { "msg", ONE, NULL },
    { "message", ONE, NULL },
    { "event", ONE, NULL },
    { "image", ONE, NULL },
    { "img", ONE, NULL },
    { "frame", ONE, NULL },
    { "sample", ONE, NULL },
    { "step", PIECE, NULL },
    { "batch", PIECE, NULL },
    { "epoch", PIECE, NULL },
    { "page", ONE, NULL },
    { "packet", ONE, NULL },
    { "pkt", ONE, NULL },
    { "transaction", ONE, NULL },
    { "txn", ONE, NULL },
    { "tx", ONE, NULL },
    { "key", ONE, NULL },
    { "file", PIECE, NULL },
    { "line", PIECE, NULL },
    { "job", PIECE, NULL },
    { "task", PIECE, NULL },
    { "object", PIECE, NULL },
    { "entry", PIECE, NULL },
    { "lookup", ONE, NULL },
    { "read", ONE, NULL },
    { "write", ONE, NULL },
    { "insert", ONE, NULL },
    { "point", PIECE, NULL },
    { "cell", PIECE, NULL },
    { "edge", PIECE, NULL },
    { "node", PIECE, NULL },
    { "run", PIECE, NULL },
    { "launch", PIECE, NULL },
    { "kernel", PIECE, NULL },
    { "hash", PIECE, NULL },
    { "flop", PIECE, NULL },
    { "char", PIECE, NULL },
    { "word", PIECE, NULL },
    { "sequence", PIECE, NULL },
    { "sentence", PIECE, NULL },
    { "ops", MANY, NULL }, /* JMH: ops/s */
    { "operations", MANY, NULL },
    { "iters", MANY, NULL },
    { "iterations", MANY, NULL }, /* k6: iterations a second */
    { "its", MANY, NULL },
    { "items", MANY, NULL }, /* google-benchmark: items_per_second */
    { "elems", MANY, NULL },
    { "elements", MANY, NULL },
    { "kelem", MANY, NULL }, /* Criterion.rs: Kelem/s, Melem/s, Gelem/s */
    { "melem", MANY, NULL },
    { "gelem", MANY, NULL },
    { "tok", MANY, NULL }, /* llama.cpp: tok/s */
    { "toks", MANY, NULL },
    { "tokens", MANY, NULL },   /* vLLM: output tokens/s */
    { "reqs", MANY, NULL },     /* k6: http_reqs */
    { "requests", MANY, NULL }, /* wrk: Requests/sec */
    { "queries", MANY, NULL },
    { "calls", MANY, NULL },
    { "rows", MANY, NULL },
    { "records", MANY, NULL },
    { "msgs", MANY, NULL },
    { "messages", MANY, NULL },
    { "events", MANY, NULL }, /* sysbench */
    { "images", MANY, NULL },
    { "imgs", MANY, NULL },
    { "frames", MANY, NULL },
    { "samples", MANY, NULL },
    { "steps", MANY, NULL },
    { "batches", MANY, NULL },
    { "epochs", MANY, NULL },
    { "pages", MANY, NULL },
    { "packets", MANY, NULL },
    { "pkts", MANY, NULL },
    { "transactions", MANY, NULL }, /* sysbench, pgbench */
    { "txns", MANY, NULL },
    { "keys", MANY, NULL },
    { "files", MANY, NULL },
    { "lines", MANY, NULL },
    { "jobs", MANY, NULL },
    { "tasks", MANY, NULL },
    { "objects", MANY, NULL },
    { "entries", MANY, NULL },
    { "lookups", MANY, NULL },
    { "reads", MANY, NULL },
    { "writes", MANY, NULL },
    { "inserts", MANY, NULL },
    { "points", MANY, NULL },
    { "cells", MANY, NULL },
    { "edges", MANY, NULL }, /* Graph500: TEPS */
    { "nodes", MANY, NULL }, /* chess engines: nodes a second */
    { "runs", MANY, NULL },
    { "launches", MANY, NULL },
    { "hashes", MANY, NULL },
    { "chars", MANY, NULL },
    { "words", MANY, NULL },
    { "sequences", MANY, NULL },
    { "sentences", MANY, NULL },
    { "mflop", MANY, NULL },
    { "gflop", MANY, NULL },
    { "tflop", MANY, NULL },

    /* Which statistic of it. */
    { "mean", KIND_OF, NULL },
    { "avg", KIND_OF, NULL },
    { "average", KIND_OF, NULL },
    { "median", KIND_OF, NULL },
    { "med", KIND_OF, NULL },
    { "min", KIND_OF, NULL },
    { "max", KIND_OF, NULL },
    { "total", KIND_OF, NULL },
    { "sum", KIND_OF, NULL }, /* ncu: .sum.per_second */
    { "p50", KIND_OF, NULL },
    { "p90", KIND_OF, NULL },
    { "p95", KIND_OF, NULL },
    { "p99", KIND_OF, NULL },
    { "p999", KIND_OF, NULL },
};

/* What several words say that none of them says alone. Looked for first, within the name. */
static const struct {
    const char *words;
    int better;
} phrases[] = {
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

/* ---- words of a name ---- */

typedef struct cut {
    char text[WORD_BYTES]; /* in lower case; longer words are cut and match nothing */
    const word *known;     /* NULL: none of the table */
    bool per;              /* "per", or a slash */
} cut;

typedef struct cuts {
    cut of[MAX_WORDS];
    size_t len;
} cuts;

static const word *look_up(const char *text)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (words[i].text[0] == text[0] && strcmp(words[i].text, text) == 0)
            return &words[i];
    }
    return NULL;
}

static void add(cuts *out, const char *text, size_t len)
{
    cut *c;

    if (out->len == MAX_WORDS) { /* the end of a name says more than its begin */
        memmove(out->of, out->of + 1, (MAX_WORDS - 1) * sizeof(*out->of));
        out->len--;
    }
    c = &out->of[out->len++];
    *c = (cut){ .per = false };
    for (size_t i = 0; i < len && i < WORD_BYTES - 1; i++)
        c->text[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
    c->known = len < WORD_BYTES ? look_up(c->text) : NULL;
    c->per = strcmp(c->text, "per") == 0 || strcmp(c->text, "/") == 0;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

/* "opTime": a capital after a small letter begins a word, but not in "KiB", "kB". */
static bool is_hump(const char *text, size_t from, size_t at)
{
    return at > from + 2 && text[at] >= 'A' && text[at] <= 'Z' && text[at - 1] >= 'a' &&
           text[at - 1] <= 'z';
}

static void cut_up(const char *text, cuts *out)
{
    size_t from = 0;

    out->len = 0;
    for (size_t i = 0;; i++) {
        const bool inside = text[i] && is_word_byte(text[i]);

        if (inside && !(i > from && is_hump(text, from, i)))
            continue;
        if (i > from)
            add(out, text + from, i - from);
        from = inside ? i : i + 1;
        if (text[i] == '/' || text[i] == '%')
            add(out, text + i, 1);
        if (!text[i])
            return;
    }
}

static kind kind_at(const cuts *c, size_t i)
{
    return i < c->len && c->of[i].known ? c->of[i].known->kind : NOTHING;
}

static bool has_kind(const cuts *c, size_t from, size_t to, kind wanted)
{
    for (size_t i = from; i < to; i++) {
        if (kind_at(c, i) == wanted)
            return true;
    }
    return false;
}

/* ---- "A per B" ---- */

typedef struct ratio {
    size_t left;  /* the word that is counted; SIZE_MAX: none, as in "1/s" */
    size_t right; /* for each of these */
} ratio;

/* The last "per" with something behind it; or what a suffix abbreviates ("reqs_s"). */
static bool ratio_of(const cuts *c, ratio *out)
{
    size_t last = c->len;

    for (size_t i = c->len; i-- > 0;) {
        if (!c->of[i].per || i + 1 >= c->len)
            continue;
        *out = (ratio){ SIZE_MAX, i + 1 };
        for (size_t k = i; k-- > 0 && out->left == SIZE_MAX;) {
            if (kind_at(c, k) != KIND_OF)
                out->left = k;
        }
        /* "mean/ms" is a mean in ms. */
        return out->left != SIZE_MAX || i == 0 || c->of[i].text[0] != '/';
    }
    while (last > 0 && kind_at(c, last - 1) == KIND_OF)
        last--;
    if (last < 2 || (strcmp(c->of[last - 1].text, "s") && strcmp(c->of[last - 1].text, "sec")))
        return false;
    *out = (ratio){ last - 2, last - 1 };
    return kind_at(c, out->left) == MANY || kind_at(c, out->left) == SIZE;
}

/* "op_s", "step_s": a rate or the seconds of one? */
static bool is_ambiguous(const cuts *c)
{
    size_t last = c->len;

    while (last > 0 && kind_at(c, last - 1) == KIND_OF)
        last--;
    return last >= 2 && kind_at(c, last - 2) == ONE &&
           (strcmp(c->of[last - 1].text, "s") == 0 || strcmp(c->of[last - 1].text, "sec") == 0);
}

static int ratio_better(const cuts *c, const ratio *r)
{
    const kind left = r->left == SIZE_MAX ? NOTHING : kind_at(c, r->left);
    const kind right = kind_at(c, r->right);
    const bool work = right == ONE || right == PIECE || right == MANY;

    if (right == TIME || right == SPENT || right == TICK) {
        if (left == TIME || left == COST || has_kind(c, 0, r->right, COST))
            return -1;
        /* Watts are joules a second; instructions a cycle are work. */
        if (left == LOWER || (right == TIME && r->left != SIZE_MAX &&
                              (strncmp(c->of[r->left].text, "joule", 5) == 0 ||
                               strncmp(c->of[r->left].text, "watt", 4) == 0)))
            return -1;
        if (right != TIME && left == SPENT && strncmp(c->of[r->left].text, "ins", 3) != 0)
            return -1;
        return 1;
    }
    if (left == TIME || left == LOWER || left == COST)
        return -1;
    if ((left == SIZE || left == SPENT) && work)
        return -1;
    if ((left == ONE || left == PIECE || left == MANY) && right == SIZE)
        return 1;
    return 0;
}

/* ---- one word ---- */

/* Place of the unit that ends the name: behind it only which statistic it is. SIZE_MAX: none. */
static size_t unit_at(const cuts *c)
{
    size_t last = c->len;
    kind k;

    while (last > 0 && kind_at(c, last - 1) == KIND_OF)
        last--;
    if (last == 0)
        return SIZE_MAX;
    k = kind_at(c, last - 1);
    if (k != TIME && k != SIZE && k != RATE && k != SPENT && strcmp(c->of[last - 1].text, "pct") &&
        strcmp(c->of[last - 1].text, "percent") && strcmp(c->of[last - 1].text, "%"))
        return SIZE_MAX;
    if (k == SIZE && c->of[last - 1].text[0] == 'b' &&
        strncmp(c->of[last - 1].text, "byte", 4) != 0)
        return SIZE_MAX; /* "a_b", "int8_bit" */
    /* "s" alone is a name: a sequence length. */
    return last == 1 && strcmp(c->of[0].text, "s") == 0 ? SIZE_MAX : last - 1;
}

static int word_better(kind k)
{
    switch (k) {
    case HIGHER:
    case RATE:
        return 1;
    case LOWER:
    case COST:
    case SPENT:
        return -1;
    case TIME:
    case TICK:
    case SIZE:
    case ONE:
    case PIECE:
    case MANY:
    case KIND_OF:
    case NOTHING:
        break;
    }
    return 0;
}

/* A name's head stands last: "cache_hit_latency" is a latency. Data and memory say the least: a
 * "throughput_mb" is a throughput. */
static int head_better(const cuts *c)
{
    const size_t at = unit_at(c);
    const kind unit = at == SIZE_MAX ? NOTHING : kind_at(c, at);

    if (unit == TIME)
        return -1;
    if ((has_kind(c, 0, c->len, SIZE) || has_kind(c, 0, c->len, SPENT)) &&
        (has_kind(c, 0, c->len, HIGHER) || has_kind(c, 0, c->len, RATE)))
        return 1;
    for (size_t i = c->len; i-- > 0;) {
        const int better = word_better(kind_at(c, i));
        if (better)
            return better;
    }
    return unit == SIZE ? -1 : 0;
}

static int phrase_better(const cuts *c)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(phrases); i++) {
        for (size_t at = 0; at < c->len; at++) {
            const char *rest = phrases[i].words;
            size_t k = at;

            for (; k < c->len && *rest; k++) {
                const size_t n = strlen(c->of[k].text);
                if (strncmp(rest, c->of[k].text, n) != 0 || (rest[n] && rest[n] != ' '))
                    break;
                rest += n + (rest[n] == ' ');
            }
            if (!*rest)
                return phrases[i].better;
        }
    }
    return 0;
}

/* ---- for the readers ---- */

static int unit_better(const char *unit)
{
    double scale = 1.0;
    const char *base = pfc_import_unit_base(unit, &scale);
    const size_t len = strlen(base);
    cuts c;
    ratio r;

    if (strcmp(base, "ns") == 0 || strcmp(base, "cycles") == 0)
        return -1;
    /* "MS/s" are megasamples, "ms/s" is a share of the time. */
    if (strcmp(base, "Hz") == 0 || strcmp(unit, "MS/s") == 0 ||
        (base != unit && len > 2 && strcmp(base + len - 2, "/s") == 0))
        return 1;
    cut_up(unit, &c);
    if (ratio_of(&c, &r))
        return ratio_better(&c, &r);
    return c.len > 0 ? word_better(kind_at(&c, c.len - 1)) : 0;
}

int pfc_import_nature(const char *metric, const char *unit)
{
    double scale = 1.0;
    cuts c;
    ratio r;
    int better;

    cut_up(metric ? metric : "", &c);
    better = phrase_better(&c);
    if (!better && ratio_of(&c, &r))
        better = ratio_better(&c, &r);
    if (!better && has_kind(&c, 0, c.len, COST))
        better = -1;
    if (!better && unit && *unit)
        better = unit_better(unit);
    if (better || (is_ambiguous(&c) && !(unit && *unit)))
        return better;
    if (c.len == 1 && strcmp(c.of[0].text, "ops") == 0) /* pytest-benchmark: rounds a second */
        return 1;
    better = head_better(&c);
    if (!better && unit && strcmp(pfc_import_unit_base(unit, &scale), "bytes") == 0)
        better = -1;
    return better;
}

bool pfc_import_higher_is_better(const char *metric, const char *unit_name)
{
    return pfc_import_nature(metric, unit_name) > 0;
}

/* A word's spelling in a unit: "kb" is kB, "reqs" stays. */
static const char *spelled(const cut *c)
{
    return c->known && c->known->unit ? c->known->unit : c->text;
}

static void ratio_unit(const cuts *c, const ratio *r, char out[PFC_IMPORT_UNIT_BYTES])
{
    const kind left = r->left == SIZE_MAX ? NOTHING : kind_at(c, r->left);
    const kind right = kind_at(c, r->right);
    const bool counted = left != LOWER && left != HIGHER && left != RATE;
    const char *count = r->left == SIZE_MAX ? "1" : spelled(&c->of[r->left]);
    char text[PFC_IMPORT_UNIT_BYTES];

    if (!counted || right == NOTHING || right == HIGHER || right == LOWER ||
        (left == NOTHING && right != TIME))
        return;
    if (left == SIZE && strcmp(count, "bytes") == 0)
        count = "B";
    (void)snprintf(text, sizeof(text), "%.20s/%.20s", count,
                   right == TIME ? spelled(&c->of[r->right]) : c->of[r->right].text);
    (void)snprintf(out, PFC_IMPORT_UNIT_BYTES, "%s", pfc_import_unit_spelled(text));
}

const char *pfc_import_unit_of(const char *metric, char out[PFC_IMPORT_UNIT_BYTES])
{
    cuts c;
    ratio r;
    size_t at;

    out[0] = '\0';
    cut_up(metric, &c);
    if (ratio_of(&c, &r))
        ratio_unit(&c, &r, out);
    if (!*out && !is_ambiguous(&c) && (at = unit_at(&c)) != SIZE_MAX) {
        const char *unit = c.of[at].known ? c.of[at].known->unit : "%";
        (void)snprintf(out, PFC_IMPORT_UNIT_BYTES, "%s", unit ? unit : "");
    }
    return out;
}
