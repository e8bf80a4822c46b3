/*
 * Every word of metric_words.c and every unit of units.c: what a word says alone, as a rate, as the
 * inverse of one and as a unit. Each kind of word has another combination of these results.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

#include "tests/check/check.h"

enum { LOWER = -1, ASK = 0, HIGHER = 1 };

/* Names with the word in the place of "$", and which way is better then; the unit of the last one.
 */
typedef struct form {
    const char *name;
    const char *unit; /* NULL: the name alone */
    int better;
} form;

/* The form with the word in the place of "$". */
static void fill(char out[100], const char *in, const char *word)
{
    const size_t at = strcspn(in, "$");

    (void)snprintf(out, 100, "%.*s%s%s", (int)at, in, word, in + at + 1);
}

/* Words apart by blanks, "word=unit" where it has a unit of its own. */
static void check(const char *words, const form *forms, size_t len, const char *unit_name)
{
    char text[100], unit[PFC_IMPORT_UNIT_BYTES];

    for (const char *at = words; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        const size_t eq = strcspn(at, "=");
        char *word = pfc_strndup(at, eq < n ? eq : n);
        char *own = pfc_strndup(eq < n ? at + eq + 1 : "", eq < n ? n - eq - 1 : 0);

        for (size_t i = 0; i < len; i++) {
            fill(text, forms[i].name, word);
            cr_expect(eq(int, pfc_import_nature(text, forms[i].unit), forms[i].better), "%s [%s]",
                      text, forms[i].unit ? forms[i].unit : "");
        }
        if (unit_name) {
            fill(text, unit_name, word);
            cr_expect(eq(str, (char *)pfc_import_unit_of(text, unit), own), "%s", text);
        }
        free(word);
        free(own);
        at += n;
    }
}

Test(words, more_of_these_is_better)
{
    static const char words[] =
        "mfu mbu hfu busbw algbw bw bandwidth throughput thrpt goodput frequency freq "
        "ipc=inst/cycle occupancy utilization utilisation efficiency speedup speed hit hits "
        "accuracy recall success successes acceptance uptime mtbf";
    static const form forms[] = { { "$", NULL, HIGHER },      { "x_$", NULL, HIGHER },
                                  { "$", "%", HIGHER },       { "$_mb", NULL, HIGHER },
                                  { "$", "ms", LOWER },       { "s_per_$", NULL, LOWER },
                                  { "$_per_s", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, less_of_these_is_better_but_their_unit_counts_more)
{
    static const char words[] =
        "cpi time times timing latency latencies duration elapsed runtime walltime wallclock "
        "cputime delay lag ping rtt pause pauses ttft tpot itl rss maxrss peakmem footprint heap "
        "temperature syscalls accesses cost wer perplexity";
    static const form forms[] = { { "$", NULL, LOWER },       { "x_$", NULL, LOWER },
                                  { "$", "%", LOWER },        { "$", "GB/s", HIGHER },
                                  { "$_per_s", NULL, LOWER }, { "$_per_op", NULL, LOWER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, less_of_these_is_better_at_any_rate)
{
    static const char words[] =
        "error errors failure failures failed miss misses mispredicts mispredictions mismatches "
        "loss lost dropped drops conflict conflicts stall stalls stalled fault faults switches "
        "migrations retries retransmits timeouts evictions spills spilling alloc allocs=allocs "
        "allocation allocations allocated overhead jitter rmse mse mae";
    static const form forms[] = { { "$", NULL, LOWER },       { "x_$", NULL, LOWER },
                                  { "$", "%", LOWER },        { "$", "GB/s", LOWER },
                                  { "$_per_s", NULL, LOWER }, { "$_per_op", NULL, LOWER },
                                  { "hit_$", NULL, LOWER },   { "$_hits", NULL, LOWER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, these_are_rates_of_their_own)
{
    static const char words[] =
        "flops=FLOP/s kflops=kFLOP/s mflops=MFLOP/s gflops=GFLOP/s tflops=TFLOP/s pflops=PFLOP/s "
        "gops=GOP/s tops=TOP/s mops=MOP/s kops=kOP/s iops=IOPS mips=MIPS bps kbps mbps gbps=GB/s "
        "tbps=TB/s fps=frames/s qps=queries/s rps=reqs/s tps hz=Hz khz=kHz mhz=MHz ghz=GHz";
    static const form forms[] = { { "$", NULL, HIGHER },
                                  { "x_$", NULL, HIGHER },
                                  { "x_$_mean", NULL, HIGHER },
                                  { "x_$_mb", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), "x_$");
}

Test(words, these_are_units_of_time)
{
    static const char words[] =
        "s=s sec=s secs=s second=s seconds=s ms=ms msec=ms msecs=ms millis=ms millisecond=ms "
        "milliseconds=ms us=us \xc2\xb5s=us \xce\xbcs=us usec=us usecond=us usecs=us micros=us "
        "microsecond=us microseconds=us ns=ns nsec=ns nsecond=ns nsecs=ns nanos=ns nanosecond=ns "
        "nanoseconds=ns ps=ps minute=min minutes=min hour=h hours=h";
    static const form forms[] = { { "x_$", NULL, LOWER },      { "x_$_mean", NULL, LOWER },
                                  { "hit_$", NULL, LOWER },    { "ops_per_$", NULL, HIGHER },
                                  { "$_per_op", NULL, LOWER }, { "$_per_s", NULL, LOWER } };

    check(words, forms, PFC_ARRAY_LEN(forms), "x_$");
}

Test(words, these_are_spent_on_the_work)
{
    static const char words[] =
        "cycle=cycles cycles=cycles instruction instructions insn insns inst joule=J joules=J "
        "energy watt=W watts=W power dollar dollars usd memory mem";
    static const form forms[] = { { "$", NULL, LOWER },
                                  { "x_$", NULL, LOWER },
                                  { "$_per_op", NULL, LOWER },
                                  { "ops_per_$", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), "x_$");
}

Test(words, these_say_nothing_but_behind_per)
{
    static const char words[] = "clock clocks clk";
    static const form forms[] = { { "$", NULL, ASK },
                                  { "x_$", NULL, ASK },
                                  { "ops_per_$", NULL, HIGHER },
                                  { "$_per_op", NULL, ASK } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, of_these_a_second_may_be_a_rate_or_a_time)
{
    static const char words[] =
        "op iter it item elem element token req request query row record msg message event image "
        "img frame sample page packet pkt transaction txn tx key lookup read write insert";
    static const form forms[] = { { "$", NULL, ASK },           { "$_s", NULL, ASK },
                                  { "$_sec", NULL, ASK },       { "$_s_mean", NULL, ASK },
                                  { "$_s", "items/s", HIGHER }, { "$_per_s", NULL, HIGHER },
                                  { "s_per_$", NULL, LOWER },   { "$/s", NULL, HIGHER },
                                  { "mb_per_$", NULL, LOWER },  { "$_per_mb", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, of_these_seconds_are_a_time)
{
    static const char words[] =
        "operation iteration call step batch epoch file line job task object entry point cell edge "
        "node run launch kernel hash flop char word sequence sentence";
    static const form forms[] = { { "$", NULL, ASK },          { "$_s", NULL, LOWER },
                                  { "$_sec", NULL, LOWER },    { "$_per_s", NULL, HIGHER },
                                  { "s_per_$", NULL, LOWER },  { "mb_per_$", NULL, LOWER },
                                  { "$_per_mb", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, of_these_seconds_are_a_rate)
{
    static const char words[] =
        "ops operations iters iterations its items elems elements kelem melem gelem tok toks "
        "tokens "
        "reqs requests queries calls rows records msgs messages events images imgs frames samples "
        "steps batches epochs pages packets pkts transactions txns keys files lines jobs tasks "
        "objects entries lookups reads writes inserts points cells edges nodes runs launches "
        "hashes "
        "chars words sequences sentences mflop gflop tflop";
    static const form forms[] = { { "x_$", NULL, ASK },        { "$_s", NULL, HIGHER },
                                  { "$_sec", NULL, HIGHER },   { "$_s_mean", NULL, HIGHER },
                                  { "$_per_s", NULL, HIGHER }, { "s_per_$", NULL, LOWER },
                                  { "mb_per_$", NULL, LOWER }, { "$_per_mb", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, these_say_only_which_statistic_it_is)
{
    static const char words[] =
        "mean avg average median med min max total sum p50 p90 p95 p99 p999";
    static const form forms[] = { { "$", NULL, ASK },
                                  { "latency_$", NULL, LOWER },
                                  { "$_latency", NULL, LOWER },
                                  { "x_gbps_$", NULL, HIGHER },
                                  { "$_x_ms", NULL, LOWER },
                                  { "x_ms_$", NULL, LOWER },
                                  { "items_s_$", NULL, HIGHER },
                                  { "op_s_$", NULL, ASK },
                                  { "items_$/s", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

Test(words, these_are_units_of_data)
{
    static const char words[] =
        "b=B byte=bytes bytes=bytes kb=kB mb=MB gb=GB tb=TB kib=KiB mib=MiB gib=GiB tib=TiB "
        "kbyte=kB mbyte=MB gbyte=GB tbyte=TB megabytes=MB bit=bit bits=bit kbit=kbit mbit=Mbit "
        "gbit=Gbit";
    static const form forms[] = { { "$_per_s", NULL, HIGHER },
                                  { "$_s", NULL, HIGHER },
                                  { "s_per_$", NULL, LOWER },
                                  { "$_per_op", NULL, LOWER },
                                  { "ops_per_$", NULL, HIGHER } };

    check(words, forms, PFC_ARRAY_LEN(forms), NULL);
}

/* "a_b" and "int8_bit" are names: bytes and what is larger are units. */
Test(words, of_the_units_of_data_those_of_bytes_end_a_name)
{
    static const char bytes[] =
        "byte=bytes bytes=bytes kb=kB mb=MB gb=GB tb=TB kib=KiB mib=MiB gib=GiB tib=TiB kbyte=kB "
        "mbyte=MB gbyte=GB tbyte=TB megabytes=MB kbit=kbit mbit=Mbit gbit=Gbit";
    static const char others[] = "b bit bits";
    static const form larger[] = { { "x_$", NULL, LOWER },
                                   { "rss_$", NULL, LOWER },
                                   { "x_$_max", NULL, LOWER } };
    static const form names[] = { { "x_$", NULL, ASK } };

    check(bytes, larger, PFC_ARRAY_LEN(larger), "x_$");
    check(others, names, PFC_ARRAY_LEN(names), "x_$");
}

Test(words, several_words_say_what_none_of_them_says_alone)
{
    static const form phrases[] = {
        { "bigger is better", NULL, HIGHER },  { "higher is better", NULL, HIGHER },
        { "smaller is better", NULL, LOWER },  { "lower is better", NULL, LOWER },
        { "pct of peak", NULL, HIGHER },       { "free memory", NULL, HIGHER },
        { "memory free", NULL, HIGHER },       { "available memory", NULL, HIGHER },
        { "memory available", NULL, HIGHER },  { "no eligible", NULL, LOWER },
        { "more eligible", NULL, HIGHER },     { "eligible warps", NULL, HIGHER },
        { "active warps", NULL, HIGHER },      { "issued warp", NULL, HIGHER },
        { "slots busy", NULL, HIGHER },        { "mem busy", NULL, HIGHER },
        { "pipes busy", NULL, HIGHER },        { "sm busy", NULL, HIGHER },
        { "dropped iterations", NULL, LOWER }, { "time to failure", NULL, HIGHER },
        { "frame rate", NULL, HIGHER },        { "code size", NULL, LOWER },
        { "file size", NULL, LOWER },          { "binary size", NULL, LOWER },
        { "text size", NULL, LOWER },          { "heap size", NULL, LOWER },
        { "package size", NULL, LOWER },       { "bundle size", NULL, LOWER },
        { "compressed size", NULL, LOWER },    { "set size", NULL, LOWER }
    };
    char text[100];

    for (size_t i = 0; i < PFC_ARRAY_LEN(phrases); i++) {
        const char *name = phrases[i].name;
        cr_expect(eq(int, pfc_import_nature(name, NULL), phrases[i].better), "%s", name);
        (void)snprintf(text, sizeof(text), "x %s y", name);
        cr_expect(eq(int, pfc_import_nature(text, NULL), phrases[i].better), "%s", text);
        (void)snprintf(text, sizeof(text), "%s", name);
        for (char *p = text; *p; p++)
            *p = (char)(*p == ' ' ? '_' : *p);
        cr_expect(eq(int, pfc_import_nature(text, NULL), phrases[i].better), "%s", text);
    }
}

typedef struct unit {
    const char *name, *spelled, *base;
    double scale;
} unit;

static const unit units[] = {
    { "ns", "ns", "ns", 1 },
    { "us", "us", "ns", 1e3 },
    { "\xc2\xb5s", "us", "ns", 1e3 },
    { "\xce\xbcs", "us", "ns", 1e3 },
    { "ms", "ms", "ns", 1e6 },
    { "s", "s", "ns", 1e9 },
    { "ps", "ps", "ns", 1e-3 },
    { "fs", "fs", "ns", 1e-6 },
    { "m", "min", "ns", 60e9 },
    { "min", "min", "ns", 60e9 },
    { "h", "h", "ns", 3600e9 },
    { "sec", "s", "ns", 1e9 },
    { "secs", "s", "ns", 1e9 },
    { "second", "s", "ns", 1e9 },
    { "seconds", "s", "ns", 1e9 },
    { "msec", "ms", "ns", 1e6 },
    { "msecond", "ms", "ns", 1e6 },
    { "millisecond", "ms", "ns", 1e6 },
    { "milliseconds", "ms", "ns", 1e6 },
    { "usec", "us", "ns", 1e3 },
    { "usecond", "us", "ns", 1e3 },
    { "microsecond", "us", "ns", 1e3 },
    { "microseconds", "us", "ns", 1e3 },
    { "nsec", "ns", "ns", 1 },
    { "nsecond", "ns", "ns", 1 },
    { "nanosecond", "ns", "ns", 1 },
    { "nanoseconds", "ns", "ns", 1 },
    { "picoseconds", "ps", "ns", 1e-3 },
    { "minutes", "min", "ns", 60e9 },
    { "B", "bytes", "bytes", 1 },
    { "byte", "bytes", "bytes", 1 },
    { "bytes", "bytes", "bytes", 1 },
    { "kB", "kB", "bytes", 1e3 },
    { "MB", "MB", "bytes", 1e6 },
    { "GB", "GB", "bytes", 1e9 },
    { "TB", "TB", "bytes", 1e12 },
    { "Kbyte", "kB", "bytes", 1e3 },
    { "Mbyte", "MB", "bytes", 1e6 },
    { "Gbyte", "GB", "bytes", 1e9 },
    { "Tbyte", "TB", "bytes", 1e12 },
    { "Megabytes", "Megabytes", "bytes", 1e6 },
    { "KiB", "KiB", "bytes", 1024.0 },
    { "MiB", "MiB", "bytes", 1048576.0 },
    { "GiB", "GiB", "bytes", 1073741824.0 },
    { "TiB", "TiB", "bytes", 1099511627776.0 },
    { "B/s", "B/s", "B/s", 1 },
    { "byte/s", "B/s", "B/s", 1 },
    { "bytes/s", "B/s", "B/s", 1 },
    { "byte/second", "B/s", "B/s", 1 },
    { "bytes/second", "B/s", "B/s", 1 },
    { "kB/s", "kB/s", "B/s", 1e3 },
    { "MB/s", "MB/s", "B/s", 1e6 },
    { "GB/s", "GB/s", "B/s", 1e9 },
    { "TB/s", "TB/s", "B/s", 1e12 },
    { "MB/sec", "MB/s", "B/s", 1e6 },
    { "GB/sec", "GB/s", "B/s", 1e9 },
    { "Gbps", "GB/s", "B/s", 1e9 },
    { "Kbyte/second", "kB/s", "B/s", 1e3 },
    { "Mbyte/second", "MB/s", "B/s", 1e6 },
    { "Gbyte/second", "GB/s", "B/s", 1e9 },
    { "Tbyte/second", "TB/s", "B/s", 1e12 },
    { "Kbyte/s", "kB/s", "B/s", 1e3 },
    { "Mbyte/s", "MB/s", "B/s", 1e6 },
    { "Gbyte/s", "GB/s", "B/s", 1e9 },
    { "Tbyte/s", "TB/s", "B/s", 1e12 },
    { "KiB/s", "KiB/s", "B/s", 1024.0 },
    { "MiB/s", "MiB/s", "B/s", 1048576.0 },
    { "GiB/s", "GiB/s", "B/s", 1073741824.0 },
    { "TiB/s", "TiB/s", "B/s", 1099511627776.0 },
    { "hz", "Hz", "Hz", 1 },
    { "khz", "kHz", "Hz", 1e3 },
    { "mhz", "MHz", "Hz", 1e6 },
    { "ghz", "GHz", "Hz", 1e9 },
    { "cycle/second", "Hz", "Hz", 1 },
    { "cycle/nsecond", "GHz", "Hz", 1e9 },
    { "cycle/usecond", "MHz", "Hz", 1e6 },
    { "cycle/nsec", "GHz", "Hz", 1e9 },
    { "FLOP/s", "FLOP/s", "FLOP/s", 1 },
    { "FLOPS", "FLOP/s", "FLOP/s", 1 },
    { "MFLOPS", "MFLOP/s", "FLOP/s", 1e6 },
    { "MFLOP/s", "MFLOP/s", "FLOP/s", 1e6 },
    { "GFLOPS", "GFLOP/s", "FLOP/s", 1e9 },
    { "GFLOP/s", "GFLOP/s", "FLOP/s", 1e9 },
    { "GFLOPS/s", "GFLOP/s", "FLOP/s", 1e9 },
    { "TFLOPS", "TFLOP/s", "FLOP/s", 1e12 },
    { "TFLOP/s", "TFLOP/s", "FLOP/s", 1e12 },
    { "TFLOPS/s", "TFLOP/s", "FLOP/s", 1e12 },
    { "TFLOP", "TFLOP/s", "FLOP/s", 1e12 },
    { "PFLOPS", "PFLOP/s", "FLOP/s", 1e15 },
    { "TOPS", "TOP/s", "OP/s", 1e12 },
    { "TOP/s", "TOP/s", "OP/s", 1e12 },
    { "GOPS", "GOP/s", "OP/s", 1e9 },
    { "elem/s", "items/s", "items/s", 1 },
    { "Kelem/s", "Kitems/s", "items/s", 1e3 },
    { "Melem/s", "Mitems/s", "items/s", 1e6 },
    { "Gelem/s", "Gitems/s", "items/s", 1e9 },
    { "items/s", "items/s", "items/s", 1 },
    { "i/s", "items/s", "items/s", 1 },
    { "ops/sec", "ops/s", "ops/s", 1 },
    { "ops/s", "ops/s", "ops/s", 1 },
    { "op/s", "ops/s", "ops/s", 1 },
    { "cycle", "cycles", "cycles", 1 },
    { "cycles", "cycles", "cycles", 1 },
    { "Kcycle", "Kcycles", "cycles", 1e3 },
    { "Mcycle", "Mcycles", "cycles", 1e6 },
    { "percent", "%", "%", 1 },
    { "%", "%", "%", 1 },
    { "pct", "%", "%", 1 },
};

Test(units, every_unit_has_its_spelling_its_base_and_its_factor)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(units); i++) {
        const unit *u = &units[i];
        const bool time = strcmp(u->base, "ns") == 0;
        double base = 0.0, as_time = 0.0;

        cr_expect(eq(str, (char *)pfc_import_unit_spelled(u->name), (char *)u->spelled), "%s",
                  u->name);
        cr_expect(eq(str, (char *)pfc_import_unit_base(u->name, &base), (char *)u->base), "%s",
                  u->name);
        cr_expect(eq(dbl, base, u->scale), "%s", u->name);
        cr_expect(eq(str, (char *)pfc_import_unit_time(u->name, &as_time),
                     (char *)(time ? "ns" : u->spelled)),
                  "%s", u->name);
        cr_expect(eq(dbl, as_time, time ? u->scale : 1.0), "%s", u->name);
        if (time)
            cr_expect(eq(dbl, pfc_import_unit_ns(u->name), u->scale), "%s", u->name);
        else
            cr_expect(isnan(pfc_import_unit_ns(u->name)), "%s", u->name);
    }
}

/* Short names count only as they are written: "m" is minutes, "M" nothing. */
Test(units, other_cases_of_letters_count_where_the_name_is_long)
{
    static const unit rows[] = { { "NS", "ns", "ns", 1 },
                                 { "Seconds", "s", "ns", 1e9 },
                                 { "gb/s", "GB/s", "B/s", 1e9 },
                                 { "Gflop/S", "GFLOP/s", "FLOP/s", 1e9 },
                                 { "M", "M", "M", 1 },
                                 { "S", "S", "S", 1 },
                                 { "H", "H", "H", 1 },
                                 { "b", "b", "b", 1 },
                                 { "widgets", "widgets", "widgets", 1 },
                                 { "", "", "", 1 },
                                 { "n", "n", "n", 1 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        double scale = 0.0;

        cr_expect(eq(str, (char *)pfc_import_unit_spelled(rows[i].name), (char *)rows[i].spelled),
                  "%s", rows[i].name);
        cr_expect(eq(str, (char *)pfc_import_unit_base(rows[i].name, &scale), (char *)rows[i].base),
                  "%s", rows[i].name);
        cr_expect(eq(dbl, scale, rows[i].scale), "%s", rows[i].name);
    }
}
