/*
 * The modes of perfci-bench that read a suite: measure it, compare two builds on it, list it, or
 * show what it covers.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bracket.h"
#include "bench/harness/exact/exact.h"
#include "bench/machine/quiet/quiet.h"
#include "bench/program.h"
#include "core/base/fs.h"
#include "core/base/rng.h"

pfc_code pfc_bench_wait_quiet(const pfc_bench_args *args, pfc_err *err)
{
    pfc_quiet quiet;

    if (args->wait_quiet_s < 0.0)
        return PFC_OK;
    pfc_quiet_wait(args->wait_quiet_s, NULL, &quiet);
    if (!quiet.quiet)
        return pfc_err_set(err, PFC_EUNAVAIL, "the machine was not quiet within %.0f s: %s",
                           quiet.waited_s, quiet.reason);
    return PFC_OK;
}

static pfc_code write_results(const pfc_bench_args *args, const pfc_run *run, pfc_err *err)
{
    char *text = NULL;
    pfc_code code = PFC_OK;

    if (args->out || args->json)
        text = pfc_run_to_text(run);
    if (args->out && strcmp(args->out, "-") != 0)
        code = pfc_fs_write_atomic(args->out, text, strlen(text), 0644, err);
    if (args->json || (args->out && strcmp(args->out, "-") == 0))
        puts(text);
    else if (!args->out)
        pfc_bench_table(stdout, run);
    free(text);
    if (!code && pfc_bench_flush())
        code = pfc_err_set(err, PFC_EIO, "standard output: cannot be written");
    return code;
}

static pfc_code measure(const pfc_bench_args *args, const pfc_suite *suite,
                        const pfc_backends *backends, pfc_run *run, pfc_err *err)
{
    pfc_measure_opts opts = { .filter = args->filter,
                              .backends = args->backends,
                              .backends_len = args->backends_len,
                              .seed = (uint64_t)args->seed,
                              .block = pfc_bracket_block,
                              .cpu = args->pin ? pfc_machine_pin_cpu() : -1,
                              .counters = args->counters,
                              .traces = args->traces,
                              .cancelled = pfc_bench_is_interrupted };
    pfc_bracket bracket;
    pfc_ceilings ceilings;
    pfc_counter_set set;
    pfc_counters held;
    double seconds = 0.0;
    size_t cells = 0;
    char *dir = NULL;
    char *self = NULL;
    pfc_code code = pfc_suite_estimate(suite, backends, &opts, &seconds, &cells, err);

    if (!code)
        code = pfc_fs_program_dir(&dir, err);
    if (code)
        return code;
    self = pfc_fs_join(dir, "perfci-bench");
    opts.block_arg = &bracket;
    if (!args->quiet && args->exact)
        fprintf(stderr, "perfci-bench: suite %s, %zu benchmarks to count, some seconds each\n",
                suite->name, cells);
    else if (!args->quiet)
        fprintf(stderr, "perfci-bench: suite %s, %zu measurements, at most about %.0f s\n",
                suite->name, cells, seconds + 1.0);
    if (!args->quiet && isatty(STDERR_FILENO))
        opts.progress = pfc_bench_progress;

    pfc_bench_machine(backends, suite->hash, &run->machine);
    pfc_bracket_open(&bracket, &run->machine, pfc_block_launch, self);
    /* The kernel patches itself for the first user of an event, and back after the last, which
       takes milliseconds: one that stays open keeps that out of the launches. */
    pfc_counter_defaults(&set);
    pfc_counters_open(&held, &set, NULL);
    code = args->exact
               ? pfc_suite_count(suite, backends, &opts, pfc_callgrind_count, self, run, err)
               : pfc_suite_measure(suite, backends, &opts, run, err);
    pfc_counters_close(&held);
    if (!code && !args->exact) {
        pfc_bracket_finish(&bracket, run, args->quiet);
        pfc_ceilings_measure(0.0, true, &ceilings);
        pfc_ceilings_annotate(&ceilings, suite, run);
        pfc_ceilings_document(&ceilings, run);
        pfc_suite_set_work(suite, run);
        pfc_backends_accel_ceilings(run);
        if (args->svg)
            code = pfc_bench_roofline_svg(args->svg, &ceilings, suite, run, err);
    }
    pfc_bracket_close(&bracket);
    free(self);
    free(dir);
    return code;
}

static pfc_code check_backends(const pfc_bench_args *args, const pfc_backends *backends,
                               pfc_err *err)
{
    for (size_t i = 0; i < args->backends_len; i++) {
        pfc_buf known;
        pfc_code code;
        if (pfc_backends_find(backends, args->backends[i]))
            continue;
        pfc_buf_init(&known, 400);
        for (size_t b = 0; b < backends->len; b++)
            pfc_buf_printf(&known, "%s%s", b ? ", " : "", backends->items[b].name);
        code = pfc_err_set(err, PFC_EINVAL, "--backend: unknown backend '%.64s' (known: %s)",
                           args->backends[i], pfc_buf_text(&known));
        pfc_buf_clear(&known);
        return code;
    }
    return PFC_OK;
}

/* Checked before measuring, so that a fault is reported before a minute is spent. */
static pfc_code check_out(const pfc_bench_args *args, pfc_err *err)
{
    const char *slash = args->out ? strrchr(args->out, '/') : NULL;
    char *dir = NULL;
    pfc_code code = PFC_OK;

    if (!slash || slash == args->out)
        return PFC_OK;
    dir = pfc_strndup(args->out, (size_t)(slash - args->out));
    if (!pfc_fs_is_dir(dir))
        code = pfc_err_set(err, PFC_EINVAL, "--out: expected a folder, got \"%.300s\"", dir);
    free(dir);
    return code;
}

/* Input of the modes with a suite. */
typedef struct suite_input {
    pfc_backends backends;
    pfc_suite *suite;
} suite_input;

static void close_input(suite_input *in)
{
    pfc_suite_free(in->suite);
    pfc_backends_clear(&in->backends);
}

/* Close it in every case. */
static pfc_code open_input(const pfc_bench_args *args, suite_input *in, pfc_err *err)
{
    pfc_code code;

    *in = (suite_input){ 0 };
    pfc_backends_list(&in->backends);
    code = check_backends(args, &in->backends, err);
    return code ? code : pfc_suite_load(args->suite, &in->suite, err);
}

/* As open_input, before measuring. */
static pfc_code open_to_measure(const pfc_bench_args *args, suite_input *in, pfc_err *err)
{
    pfc_code code = open_input(args, in, err);

    if (!code)
        code = check_out(args, err);
    return code ? code : pfc_bench_wait_quiet(args, err);
}

int pfc_bench_run_list(const pfc_bench_args *args)
{
    const pfc_benchmark_filter what = { args->filter, args->backends, args->backends_len };
    const bool all = !args->filter && args->backends_len == 0;
    pfc_benchmark_matcher wanted;
    pfc_err err = { 0 };
    suite_input in;
    pfc_code code = open_input(args, &in, &err);

    if (!code)
        code = pfc_benchmark_matcher_init(&wanted, &what, &err);
    if (!code) {
        if (!pfc_bench_list(stdout, in.suite, &in.backends, all ? NULL : &wanted, args->json))
            code =
                pfc_err_set(&err, PFC_EINVAL, "suite %s: no benchmark fits --filter and --backend",
                            in.suite->name);
        pfc_benchmark_matcher_clear(&wanted);
    }
    close_input(&in);
    return code ? pfc_bench_fail(&err) : pfc_bench_flush();
}

int pfc_bench_run_coverage(const pfc_bench_args *args)
{
    pfc_err err = { 0 };
    suite_input in;
    const pfc_code code = open_input(args, &in, &err);

    if (!code)
        pfc_bench_coverage(stdout, in.suite, &in.backends, args->json);
    close_input(&in);
    return code ? pfc_bench_fail(&err) : pfc_bench_flush();
}

int pfc_bench_run_pairs(const pfc_bench_args *args)
{
    pfc_err err = { 0 };
    suite_input in;
    const pfc_code code = open_to_measure(args, &in, &err);
    const int status = code ? pfc_bench_fail(&err) : pfc_bench_pairs(args, in.suite, &in.backends);

    close_input(&in);
    return status;
}

int pfc_bench_run_measure(const pfc_bench_args *args)
{
    pfc_run *run = pfc_run_new();
    pfc_err err = { 0 };
    suite_input in;
    bool broken;
    pfc_code code = open_to_measure(args, &in, &err);

    run->id = pfc_alloc(33);
    pfc_random_id(run->id);
    if (!code)
        code = measure(args, in.suite, &in.backends, run, &err);
    if (!code)
        code = write_results(args, run, &err);
    broken = !code && pfc_run_is_broken(run);
    pfc_run_free(run);
    close_input(&in);
    if (code)
        return pfc_bench_fail(&err);
    return broken ? PFC_BENCH_EXIT_BROKEN : 0;
}
