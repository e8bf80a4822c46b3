/* Exact counts: what callgrind writes, and what becomes of counts that are right, wrong or unequal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/exact/exact.h"
#include "core/base/fs.h"

#include "tests/bench/fake.h"
#include "tests/check/check.h"

#define SUITE                                                                                      \
    "suite: t\n"                                                                                   \
    "backends: [cpu-scalar, \"accel:*\"]\n"                                                        \
    "benchmarks: [{op: gemm, shapes: [{m: 10, n: 10, k: 10}]}]\n"

static pfc_backends backends;
static pfc_suite *suite;
static pfc_run *run;
static pfc_err err;

/* The answer of the fake counter, and how often it was called. */
static struct {
    pfc_code code;
    uint64_t step; /* added by each count: 0 for one that is exact */
    uint64_t next;
    uint64_t read_step; /* each count has this times the number of calls more reads */
    int calls;
    pfc_block_spec spec; /* of the last call */
} counting;

static pfc_code fake_count(void *arg, const pfc_block_spec *spec, pfc_call_counts *out,
                           pfc_err *why)
{
    (void)arg;
    counting.calls++;
    counting.spec = *spec;
    if (counting.code)
        return pfc_err_set(why, counting.code, "made-up reason");
    *out = (pfc_call_counts){ .instructions = 1000 + counting.next, .reads = 300, .writes = 20 };
    out->reads += counting.read_step * (uint64_t)counting.calls;
    counting.next += counting.step;
    return PFC_OK;
}

static void setup(void)
{
    fake_reset(&backends);
    err = (pfc_err){ 0 };
    run = pfc_run_new();
    memset(&counting, 0, sizeof(counting));
    cr_assert(eq(int, pfc_suite_parse(SUITE, strlen(SUITE), "t", &suite, &err), PFC_OK), "%s",
              err.msg);
}

static void teardown(void)
{
    pfc_backends_clear(&backends);
    pfc_suite_free(suite);
    pfc_run_free(run);
}

static pfc_code count(void)
{
    const pfc_measure_opts opts = { .block = fake_block, .block_arg = &backends, .cpu = -1 };

    return pfc_suite_count(suite, &backends, &opts, fake_count, NULL, run, &err);
}

static const pfc_measurement *find(const char *metric, const char *backend)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (pfc_streq(m->metric, metric) && pfc_streq(m->backend, backend))
            return m;
    }
    return NULL;
}

TestSuite(exact, .init = setup, .fini = teardown);

Test(exact, a_count_is_one_exact_sample_beside_those_of_exact_backends)
{
    const pfc_measurement *m;

    cr_assert(eq(int, count(), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, counting.calls, 2));
    cr_assert(eq(sz, fake.checked, 2)); /* right before anything is counted, on both backends */
    m = find("instructions", "cpu-scalar");
    cr_assert(m && m->exact && m->samples_len == 1 && m->status == PFC_STATUS_OK);
    cr_assert(epsilon_eq(dbl, m->samples[0], 1000, 0));
    cr_assert(epsilon_eq(dbl, find("data_reads", "cpu-scalar")->samples[0], 300, 0));
    cr_assert(epsilon_eq(dbl, find("data_writes", "cpu-scalar")->samples[0], 20, 0));
    cr_assert(eq(ptr, (void *)find("time_ns", "cpu-scalar"), NULL));
    cr_assert(epsilon_eq(dbl, find("cycles", "accel:test")->samples[0], 500, 0));
}

Test(exact, two_counts_that_differ_by_one_instruction_are_an_error)
{
    counting.step = 1;
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_BROKEN));
    cr_assert(ne(ptr, strstr(find("instructions", "cpu-scalar")->reason, "1000 and 1001"), NULL));
    cr_assert(pfc_run_is_broken(run));
}

Test(exact, a_wrong_result_is_not_counted)
{
    fake.wrong = "gemm/f32/m10n10k10";
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, counting.calls, 0));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, find("instructions", "cpu-scalar")->reason, "row 3: expected 1.5, got 2.5"));
}

Test(exact, what_cannot_be_counted_is_skipped_and_what_fails_is_broken)
{
    counting.code = PFC_EUNAVAIL;
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_SKIPPED));
    cr_assert(eq(str, find("instructions", "cpu-scalar")->reason, "made-up reason"));
    teardown();
    setup();
    counting.code = PFC_EBROKEN;
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_BROKEN));
    teardown();
    setup();
    counting.code = PFC_EIO; /* the tool is not there: nothing can be counted */
    cr_assert(eq(int, count(), PFC_EIO));
    cr_assert(eq(sz, run->measurements_len, 0));
}

Test(exact, the_totals_are_read_by_the_names_of_their_events)
{
    pfc_call_counts n = { 0 };

    cr_assert(eq(int,
                 pfc_call_counts_read("version: 1\nevents: Ir Dr Dw I1mr D1mr\nfn=(1)\n"
                                      "10 5\ntotals: 70334 24496 965 12\n",
                                      &n, &err),
                 PFC_OK));
    cr_assert(eq(u64, n.instructions, 70334));
    cr_assert(eq(u64, n.reads, 24496));
    cr_assert(eq(u64, n.writes, 965));
    cr_assert(eq(int, pfc_call_counts_read("events: Dw Ir\ntotals: 7 9", &n, &err), PFC_OK));
    cr_assert(eq(u64, n.instructions, 9));
    cr_assert(eq(u64, n.writes, 7));
}

Test(exact, output_without_counts_is_refused)
{
    static const char *const bad[] = { "",
                                       "events: Ir\n",
                                       "totals: 5\n",
                                       "events: Ir\ntotals: 0\n",
                                       "events: Ir\ntotals: x\n",
                                       "events: Ir\ntotals: -4\n",
                                       "events: Dr Dw\ntotals: 4 4\n",
                                       "events: Ir\ntotals: 99999999999999999999\n" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_call_counts n = { 0 };
        pfc_err why = { 0 };
        cr_assert(eq(int, pfc_call_counts_read(bad[i], &n, &why), PFC_EINVAL), "%s", bad[i]);
        cr_assert(gt(sz, strlen(why.msg), 10));
        cr_assert(eq(u64, n.instructions, 0));
    }
}

Test(exact, a_difference_in_the_reads_alone_is_an_error_too)
{
    counting.read_step = 1;
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_BROKEN));
    cr_assert(
        ne(ptr, strstr(find("instructions", "cpu-scalar")->reason, "301 and 302 reads"), NULL));
}

Test(exact, a_count_is_made_of_one_sample_with_the_seed_asked_for)
{
    pfc_measure_opts opts = { .block = fake_block, .block_arg = &backends, .cpu = -1 };

    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(u64, counting.spec.seed, 1));
    cr_assert(eq(sz, counting.spec.samples, 1));
    cr_assert(eq(int, counting.spec.check, true));
    cr_assert(eq(int, counting.spec.cpu, -1));
    pfc_run_free(run);
    run = pfc_run_new();
    opts.seed = 9;
    cr_assert(
        eq(int, pfc_suite_count(suite, &backends, &opts, fake_count, NULL, run, &err), PFC_OK));
    cr_assert(eq(u64, counting.spec.seed, 9));
    cr_assert(eq(str, find("instructions", "cpu-scalar")->unit, "instructions"));
    cr_assert(eq(str, find("data_reads", "cpu-scalar")->unit, "accesses"));
    cr_assert(eq(str,
                 (char *)pfc_labels_get(&find("data_writes", "cpu-scalar")->extra, "counted_by"),
                 "callgrind"));
    cr_assert(eq(sz, find("data_writes", "cpu-scalar")->blocks_len, 1));
    cr_assert(eq(u32, find("data_writes", "cpu-scalar")->blocks[0], 1));
    cr_assert(not(find("data_writes", "cpu-scalar")->higher_is_better));
    cr_assert(gt(dbl, run->started_at, 1e9));
    cr_assert(ge(dbl, run->finished_at, run->started_at));
}

static struct {
    size_t calls, last_done, total;
    double estimates[4];
    char last[64];
} progress;

static void note(void *arg, const pfc_progress *now)
{
    (void)arg;
    cr_assert(eq(sz, now->done, progress.calls));
    progress.estimates[progress.calls++ % 4] = now->estimate_s;
    progress.total = now->total;
    progress.last_done = now->done;
    (void)snprintf(progress.last, sizeof(progress.last), "%s %s", now->benchmark, now->backend);
}

static bool cancel_at_second(void *arg)
{
    return (*(int *)arg)++ == 1;
}

Test(exact, progress_counts_each_benchmark_and_ends_with_all)
{
    const pfc_measure_opts opts = {
        .block = fake_block, .block_arg = &backends, .cpu = -1, .progress = note
    };

    memset(&progress, 0, sizeof(progress));
    cr_assert(
        eq(int, pfc_suite_count(suite, &backends, &opts, fake_count, NULL, run, &err), PFC_OK));
    cr_assert(eq(sz, progress.calls, 3)); /* two backends, and the end */
    cr_assert(eq(sz, progress.last_done, 2));
    cr_assert(eq(sz, progress.total, 2));
    cr_assert(eq(dbl, progress.estimates[0], 0.0));
    cr_assert(gt(dbl, progress.estimates[1], 0.0));
    cr_assert(eq(str, progress.last, " "));
}

Test(exact, a_cancelled_count_gives_no_document)
{
    int calls = 0;
    const pfc_measure_opts opts = { .block = fake_block,
                                    .block_arg = &backends,
                                    .cpu = -1,
                                    .cancelled = cancel_at_second,
                                    .cancelled_arg = &calls };

    cr_assert(eq(int, pfc_suite_count(suite, &backends, &opts, fake_count, NULL, run, &err),
                 PFC_EUNAVAIL));
    cr_assert(eq(sz, run->measurements_len, 0));
    cr_assert(eq(int, counting.calls, 2)); /* of the first backend */
}

/* ---- the child that is counted ---- */

Test(exact, the_counted_call_is_the_second_of_two)
{
    const pfc_block_spec spec = { .c = &suite->cases[0] };

    cr_assert(eq(int, pfc_counted_run(&backends.items[0], &spec, &err), PFC_OK));
    cr_assert(eq(u64, fake.calls, 2));
    cr_assert(eq(int, pfc_counted_run(&backends.items[1], &spec, &err), PFC_EUNAVAIL));
    cr_assert(eq(str, err.msg, "this CPU has no AVX-512"));
    fake.unknown = suite->cases[0].name;
    cr_assert(eq(int, pfc_counted_run(&backends.items[0], &spec, &err), PFC_EUNAVAIL));
}

/* ---- valgrind, replaced by a script ---- */

static char *folder;

/* A program `valgrind` that runs `script`, first on PATH; $out is the file that it is to write. */
static void install(const char *script)
{
    char *path = pfc_fs_join(folder, "valgrind");
    char *text = pfc_format("#!/bin/sh\nfor a; do case $a in --callgrind-out-file=*) "
                            "out=${a#*=};; esac; done\n%s\n",
                            script);

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0700, &err), PFC_OK));
    free(text);
    free(path);
}

static pfc_code count_by(const char *script, pfc_call_counts *out)
{
    const pfc_block_spec spec = { .c = &suite->cases[0], .backend = "cpu-scalar", .samples = 1 };

    if (script)
        install(script);
    err = (pfc_err){ 0 };
    *out = (pfc_call_counts){ 0 };
    return pfc_callgrind_count("/bin/true", &spec, out, &err);
}

Test(exact, what_valgrind_ends_with_decides_what_becomes_of_the_count)
{
    static const struct {
        const char *script;
        pfc_code code;
        const char *message;
    } rows[] = {
        { "printf 'events: Ir Dr Dw\\ntotals: 70 20 3\\n' > \"$out\"", PFC_OK, "" },
        { "cat > /dev/null; printf 'events: Ir\\ntotals: 0\\n' > \"$out\"", PFC_EINVAL,
          "callgrind saw no instruction" },
        { "echo 'perfci-bench: no such kernel' >&2; exit 5", PFC_EUNAVAIL,
          "under valgrind: no such kernel" },
        { "exit 5", PFC_EUNAVAIL, "under valgrind: " },
        { "echo 'perfci-bench: row 3 is wrong' >&2; exit 4", PFC_EBROKEN, "row 3 is wrong" },
        { "exit 1", PFC_EBROKEN, "no reason given" },
        { "kill -9 $$", PFC_EBROKEN, "no reason given" },
        { ":", PFC_ENOTFOUND, "" }, /* success, and no file */
    };
    pfc_call_counts n;
    char *before = pfc_strdup(getenv("PATH"));
    char *path;

    cr_assert(eq(int, pfc_fs_temp_dir("exact", &folder, &err), PFC_OK));
    path = pfc_format("%s:%s", folder, before);
    setenv("PATH", path, 1);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, count_by(rows[i].script, &n), rows[i].code), "row %zu: %s", i, err.msg);
        cr_assert(ne(ptr, strstr(err.msg, rows[i].message), NULL), "row %zu: %s", i, err.msg);
        cr_assert(eq(u64, n.instructions, rows[i].code ? 0 : 70));
        cr_assert(eq(u64, n.reads, rows[i].code ? 0 : 20));
        cr_assert(eq(u64, n.writes, rows[i].code ? 0 : 3));
    }
    cr_assert(eq(int, pfc_fs_remove_tree(folder, &err), PFC_OK));
    setenv("PATH", "/nonexistent", 1);
    cr_assert(eq(int, count_by(NULL, &n), PFC_EIO));
    cr_assert(ne(ptr, strstr(err.msg, "apt-get install valgrind"), NULL), "%s", err.msg);
    free(before);
    free(path);
    free(folder);
}
