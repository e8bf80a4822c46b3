/* Benchmarks that hang, crash, babble, leak or grab everything; clocks that step; budgets that end.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/stats/stats.h"

#include "tests/bench/fake.h"
#include "tests/check/check.h"

#define SUITE                                                                                      \
    "suite: t\n"                                                                                   \
    "settings: {processes: 4, min_samples: 20, max_samples: 80, max_seconds: 10}\n"                \
    "backends: [cpu-scalar]\n"                                                                     \
    "benchmarks:\n"                                                                                \
    "  - {op: gemm, shapes: [{m: 10, n: 10, k: 10}, {m: 20, n: 10, k: 10}]}\n"

static pfc_backends backends;
static pfc_suite *suite;
static pfc_err err;

static void setup(void)
{
    fake_reset(&backends);
    err = (pfc_err){ 0 };
    cr_assert(eq(int, pfc_suite_parse(SUITE, strlen(SUITE), "t", &suite, &err), PFC_OK), "%s",
              err.msg);
}

static void teardown(void)
{
    pfc_backends_clear(&backends);
    pfc_suite_free(suite);
}

static pfc_block_spec spec(void)
{
    return (pfc_block_spec){ .c = &suite->cases[0],
                             .backend = "cpu-scalar",
                             .seed = 1,
                             .samples = 50,
                             .max_seconds = 1,
                             .warmup_seconds = 0.001,
                             .check = true,
                             .cpu = -1 };
}

TestSuite(misbehaviour, .init = setup, .fini = teardown);

/* A stand-in for a measuring process: a script that ignores what it is asked. */
static void launch_script(const char *text, double launch_seconds, pfc_block *out)
{
    pfc_block_spec s = spec();
    char *dir = NULL;
    char *path;

    s.max_seconds = s.warmup_seconds = 0.01;
    s.launch_seconds = launch_seconds;
    cr_assert(eq(int, pfc_fs_temp_dir("script", &dir, NULL), PFC_OK));
    path = pfc_fs_join(dir, "bench");
    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0700, NULL), PFC_OK));
    cr_assert(eq(int, pfc_block_launch(path, &s, out, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, NULL), PFC_OK));
    free(path);
    free(dir);
}

#define ANSWER(samples)                                                                            \
    "#!/bin/sh\necho '{\"status\":\"ok\",\"samples\":" samples ",\"batch\":1,\"steady\":true,"     \
    "\"pinned\":false,\"resolution_ns\":1,\"setup_seconds\":0,\"seconds\":0,\"preempted\":0,"      \
    "\"page_faults\":0}'\n"

Test(misbehaviour, each_way_of_it_is_a_broken_block_with_its_reason)
{
    static const struct {
        const char *script;
        double launch_seconds;
        const char *reason;
    } bad[] = {
        { "#!/bin/sh\nsleep 1000\n", 0.2, "no end within its time limit" },
        { "#!/bin/sh\nkill -SEGV $$\n", 60, "signal 11" },
        { "#!/bin/sh\necho 'kernel: bad shape' >&2\nexit 3\n", 60, "kernel: bad shape" },
        { "#!/bin/sh\nhead -c 20000000 /dev/zero\n", 60, "answered no block" },
        { ANSWER("[1,NaN]"), 60, "answered no block" },
        { ANSWER("[1,1e999]"), 60, "answered no block" },
        { ANSWER("[1,-2]"), 60, "expected a positive number" },
        { ANSWER("[1,0]"), 60, "expected a positive number" },
        { ANSWER("[]"), 60, "expected at least one" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_block b;
        launch_script(bad[i].script, bad[i].launch_seconds, &b);
        cr_assert(eq(int, b.status, PFC_STATUS_BROKEN), "script %zu", i);
        cr_assert(ne(ptr, strstr(b.reason, bad[i].reason), NULL), "script %zu: %s", i, b.reason);
        cr_assert(eq(sz, b.len, 0));
        pfc_block_clear(&b);
    }
}

/* The child writes the id of the process it leaves behind, which is gone soon after the launch. */
Test(misbehaviour, what_a_child_leaves_behind_is_ended)
{
    pfc_block b;
    char *id;

    launch_script("#!/bin/sh\nsleep 1000 &\necho \"left $!\" >&2\nexit 1\n", 60, &b);
    cr_assert(eq(int, b.status, PFC_STATUS_BROKEN));
    id = strstr(b.reason, "left ");
    cr_assert(ne(ptr, id, NULL), "%s", b.reason);
    /* Whoever inherits it buries it: until then its id is there. */
    for (int tries = 0; tries < 6000 && kill(atoi(id + 5), 0) == 0; tries++)
        pfc_clock_sleep_ns(10 * PFC_NS_PER_MS);
    cr_assert(ne(int, kill(atoi(id + 5), 0), 0));
    pfc_block_clear(&b);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which map terabytes */
Test(misbehaviour, a_child_that_allocates_everything_gets_no_more_than_its_limit)
{
    pfc_block b;

    launch_script("#!/usr/bin/env python3\nx = bytearray(16 << 30)\n", 600, &b);
    cr_assert(eq(int, b.status, PFC_STATUS_BROKEN));
    cr_assert(ne(ptr, strstr(b.reason, "MemoryError"), NULL), "%s", b.reason);
    pfc_block_clear(&b);
}
#endif

/* A block whose clock steps in the middle of sampling: what is stored is what calls take. */
static void sample_with_step(double step_ns)
{
    pfc_block_spec s = spec();
    pfc_block block = { 0 };

    fake.step_at_ns = 1e6 + 20.5 * PFC_SAMPLE_TARGET_NS; /* within a sample */
    fake.step_ns = step_ns;
    cr_assert(eq(int, fake_block(&backends, &s, &block, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, block.status, PFC_STATUS_OK));
    cr_assert(gt(sz, block.len, 5));
    for (size_t i = 0; i < block.len; i++)
        cr_assert(gt(dbl, block.samples[i], 0.0));
    cr_assert(epsilon_eq(dbl, pfc_stats_median(block.samples, block.len), 1000, 1e-6));
    pfc_block_clear(&block);
}

Test(misbehaviour, a_clock_that_steps_changes_no_median_and_ends_no_later)
{
    sample_with_step(3600e9); /* an hour ahead: a machine that slept */
    pfc_backends_clear(&backends);
    fake_reset(&backends);
    sample_with_step(-3600e9); /* and back: one sample is negative, the budget would never end */
}

Test(misbehaviour, a_clock_that_steps_back_within_the_warm_up_does_not_prolong_it)
{
    pfc_block_spec s = spec();
    pfc_block block = { 0 };

    fake.noise_rel = 0.5; /* never steady */
    fake.step_at_ns = 1e5;
    fake.step_ns = -3600e9;
    s.warmup_seconds = 0.002;
    cr_assert(eq(int, fake_block(&backends, &s, &block, &err), PFC_OK), "%s", err.msg);
    cr_assert(lt(dbl, fake.now_ns, 1e8)); /* some hundred windows of 100 us at most, not an hour */
    pfc_block_clear(&block);
}

Test(misbehaviour, a_clock_that_stands_still_gives_no_number)
{
    pfc_block_spec s = spec();
    pfc_block block = { 0 };

    fake.stopped = true;
    cr_assert(eq(int, fake_block(&backends, &s, &block, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, block.status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, block.reason, "the monotonic clock did not move during a sample"));
    cr_assert(eq(sz, block.len, 0));
    pfc_block_clear(&block);
}

static pfc_code slow_block(void *arg, const pfc_block_spec *s, pfc_block *out, pfc_err *why)
{
    const int64_t end = pfc_clock_ns() + 40 * PFC_NS_PER_MS;

    while (pfc_clock_ns() < end)
        continue;
    return fake_block(arg, s, out, why);
}

/* A launch takes 40 ms at least: the budget of 30 ms is spent after the first one. */
Test(misbehaviour, a_budget_of_the_run_keeps_what_there_is_and_names_the_rest)
{
    const pfc_measure_opts o = { .block = slow_block, .block_arg = &backends, .cpu = -1 };
    pfc_run *run = pfc_run_new();
    const pfc_measurement *last;
    double seconds = 0;
    size_t cells = 0;

    suite->max_total_seconds = 0.03;
    cr_assert(eq(int, pfc_suite_estimate(suite, &backends, &o, &seconds, &cells, &err), PFC_OK));
    cr_assert(epsilon_eq(dbl, seconds, 0.03, 1e-12));
    cr_assert(eq(int, pfc_suite_measure(suite, &backends, &o, run, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, run->measurements[0].metric, "time_ns"));
    cr_assert(eq(int, run->measurements[0].status, PFC_STATUS_OK));
    cr_assert(eq(sz, run->measurements[0].blocks_len, 1));
    last = &run->measurements[2]; /* after time and throughput of the first */
    cr_assert(eq(str, last->benchmark, "gemm/f32/m20n10k10"));
    cr_assert(eq(int, last->status, PFC_STATUS_SKIPPED));
    cr_assert(ne(ptr, strstr(last->reason, "max_total_seconds"), NULL));
    pfc_run_free(run);
}
