/*
 * perfci-bench: measures a suite on this machine and writes the run document.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bracket.h"
#include "bench/harness/exact/exact.h"
#include "bench/harness/pairs/pairs.h"
#include "bench/machine/ceilings/ceilings.h"
#include "bench/machine/machine.h"
#include "bench/machine/quiet/quiet.h"
#include "bench/machine/tune/tune.h"
#include "bench/program.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/rng.h"

#define MAX_SPEC_BYTES (64u * 1024)

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    (void)sig;
    interrupted = 1;
}

static bool is_cancelled(void *arg)
{
    (void)arg;
    return interrupted != 0;
}

static int fail(const pfc_err *err)
{
    fprintf(stderr, "perfci-bench: %s\n", err->msg);
    return pfc_code_exit(err->code);
}

/* What a child of ours is asked for, from standard input. */
typedef struct order {
    pfc_backends backends;
    const pfc_backend *backend;
    pfc_block_spec spec;
    pfc_case c;
    char *backend_name;
} order;

static pfc_code read_order(order *o, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read("-", MAX_SPEC_BYTES, &text, &len, err);

    *o = (order){ 0 };
    pfc_backends_list(&o->backends);
    if (!code)
        code = pfc_block_spec_from_text(text, len, &o->spec, &o->c, &o->backend_name, err);
    free(text);
    if (code)
        return code;
    o->backend = pfc_backends_find(&o->backends, o->backend_name);
    if (!o->backend)
        return pfc_err_set(err, PFC_EINVAL, "unknown backend '%s'", o->backend_name);
    return PFC_OK;
}

static void clear_order(order *o)
{
    free(o->c.name);
    free(o->backend_name);
    pfc_backends_clear(&o->backends);
}

/* As a child: reads one spec, answers one block. */
static int run_block(void)
{
    const pfc_timer wall = pfc_timer_wall();
    const pfc_timer cpu = pfc_timer_cpu();
    pfc_block block = { 0 };
    pfc_err err = { 0 };
    order o;
    pfc_code code = read_order(&o, &err);

    if (!code)
        code = pfc_block_run(o.backend, &o.spec, &wall, &cpu, &block, &err);
    if (!code) {
        char *text = pfc_block_to_text(&block);
        puts(text);
        free(text);
    }
    pfc_block_clear(&block);
    clear_order(&o);
    return code ? fail(&err) : 0;
}

/* As a child of valgrind: one call is counted. */
static int run_call(void)
{
    pfc_err err = { 0 };
    order o;
    pfc_code code = read_order(&o, &err);

    if (!code)
        code = pfc_counted_run(o.backend, &o.spec, &err);
    clear_order(&o);
    return code ? fail(&err) : 0;
}

static int run_tune(bool tune)
{
    pfc_err err = { 0 };
    const pfc_code code =
        tune ? pfc_tune_host(NULL, stdout, &err) : pfc_untune_host(NULL, stdout, &err);

    return code ? fail(&err) : 0;
}

/* Before a measurement that wants it: PFC_EUNAVAIL with the reason when quiet never came. */
static pfc_code wait_quiet(const pfc_bench_args *args, pfc_err *err)
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

static int run_describe(const pfc_bench_args *args)
{
    pfc_backends backends;
    int status;

    pfc_backends_list(&backends);
    status = pfc_bench_describe(args, &backends);
    pfc_backends_clear(&backends);
    return status;
}

static int run_canary(const pfc_bench_args *args)
{
    pfc_backends backends;
    int status;

    pfc_backends_list(&backends);
    status = pfc_bench_canary(args, &backends);
    pfc_backends_clear(&backends);
    return status;
}

/* As a child: turns of one benchmark, as its parent asks for them. */
static int run_serve(void)
{
    const pfc_timer wall = pfc_timer_wall();
    const pfc_timer cpu = pfc_timer_cpu();
    pfc_backends backends;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_backends_list(&backends);
    code = pfc_serve(&backends, stdin, stdout, &wall, &cpu, &err);
    pfc_backends_clear(&backends);
    return code ? fail(&err) : 0;
}

/* Side-by-side with other libraries is a program of its own, because it loads them. */
static int run_peers(const pfc_bench_args *args)
{
    pfc_err err = { 0 };
    char *dir = NULL;
    char *path = NULL;
    char *argv[] = { NULL, args->json ? (char[]){ "--json" } : NULL, NULL };

    if (pfc_fs_program_dir(&dir, &err))
        return fail(&err);
    path = pfc_fs_join(dir, "perfci-peers");
    argv[0] = path;
    execv(path, argv);
    fprintf(stderr, "perfci-bench: %s: %s\n", path, strerror(errno));
    free(path);
    free(dir);
    return 5;
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
    if (!code && fflush(stdout) != 0)
        code = pfc_err_set(err, PFC_EIO, "standard output: %s", strerror(errno));
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
                              .cancelled = is_cancelled };
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
    /* The kernel patches itself for the first user of an event, and back after the last, which takes
       milliseconds: one that stays open keeps that out of the launches. */
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

/* Before a minute is spent on measuring. */
static pfc_code check_out(const pfc_bench_args *args, pfc_err *err)
{
    const char *slash = args->out ? strrchr(args->out, '/') : NULL;
    char *dir = NULL;
    pfc_code code = PFC_OK;

    if (!slash || slash == args->out ||
        (args->mode != PFC_BENCH_MEASURE && args->mode != PFC_BENCH_PAIRS))
        return PFC_OK;
    dir = pfc_strndup(args->out, (size_t)(slash - args->out));
    if (!pfc_fs_is_dir(dir))
        code = pfc_err_set(err, PFC_EINVAL, "--out: no folder %.300s", dir);
    free(dir);
    return code;
}

static int run_suite(const pfc_bench_args *args)
{
    pfc_suite *suite = NULL;
    pfc_run *run = NULL;
    pfc_backends backends;
    pfc_err err = { 0 };
    bool broken = false;
    pfc_code code;

    pfc_backends_list(&backends);
    code = check_backends(args, &backends, &err);
    if (!code)
        code = check_out(args, &err);
    if (!code)
        code = pfc_suite_load(args->suite, &suite, &err);
    if (!code && (args->mode == PFC_BENCH_MEASURE || args->mode == PFC_BENCH_PAIRS))
        code = wait_quiet(args, &err);
    if (!code && args->mode == PFC_BENCH_LIST) {
        pfc_bench_list(stdout, suite, &backends, args->json);
    } else if (!code && args->mode == PFC_BENCH_COVERAGE) {
        pfc_bench_coverage(stdout, suite, &backends, args->json);
    } else if (!code && args->mode == PFC_BENCH_PAIRS) {
        const int status = pfc_bench_pairs(args, suite, &backends, is_cancelled);
        pfc_suite_free(suite);
        pfc_backends_clear(&backends);
        return status;
    } else if (!code) {
        run = pfc_run_new();
        run->id = pfc_alloc(33);
        pfc_random_id(run->id);
        code = measure(args, suite, &backends, run, &err);
        if (!code)
            code = write_results(args, run, &err);
        broken = !code && pfc_run_is_broken(run);
    }
    pfc_run_free(run);
    pfc_suite_free(suite);
    pfc_backends_clear(&backends);
    if (code)
        return fail(&err);
    return broken ? 4 : 0;
}

int main(int argc, char **argv)
{
    const struct sigaction action = { .sa_handler = on_signal };
    pfc_bench_args args;

    pfc_log_set_program("perfci-bench");
    pfc_bench_args_parse(argc, argv, &args);
    if (args.mode == PFC_BENCH_BLOCK)
        return run_block();
    if (args.mode == PFC_BENCH_CALL)
        return run_call();
    if (args.mode == PFC_BENCH_TUNE || args.mode == PFC_BENCH_UNTUNE)
        return run_tune(args.mode == PFC_BENCH_TUNE);
    if (args.mode == PFC_BENCH_CEILINGS)
        return pfc_bench_ceilings(&args);
    if (args.mode == PFC_BENCH_COUNTERS) {
        pfc_counter_list(stdout);
        return fflush(stdout) == 0 ? 0 : 5;
    }
    if (args.mode == PFC_BENCH_MACHINE)
        return run_describe(&args);
    if (args.mode == PFC_BENCH_CANARY)
        return run_canary(&args);
    if (args.mode == PFC_BENCH_SERVE)
        return run_serve();
    if (args.mode == PFC_BENCH_PEERS)
        return run_peers(&args);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return run_suite(&args);
}
