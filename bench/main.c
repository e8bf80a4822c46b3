/*
 * perfci-bench: measures a suite on this machine and writes the run document. Its other modes are
 * in the table below.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/counters/counters.h"
#include "bench/machine/tune/tune.h"
#include "bench/program.h"
#include "core/base/fs.h"
#include "core/base/log.h"

static int run_tune(const pfc_bench_args *args)
{
    pfc_err err = { 0 };

    (void)args;
    return pfc_tune_host(NULL, stdout, &err) ? pfc_bench_fail(&err) : 0;
}

static int run_untune(const pfc_bench_args *args)
{
    pfc_err err = { 0 };

    (void)args;
    return pfc_untune_host(NULL, stdout, &err) ? pfc_bench_fail(&err) : 0;
}

static int run_counters(const pfc_bench_args *args)
{
    (void)args;
    pfc_counter_list(stdout);
    return pfc_bench_flush();
}

/* The comparison with other libraries is a program of its own, because it loads them. */
static int run_peers(const pfc_bench_args *args)
{
    pfc_err err = { 0 };
    char *dir = NULL;
    char *path = NULL;
    char *argv[] = { NULL, args->json ? (char[]){ "--json" } : NULL, NULL };

    if (pfc_fs_program_dir(&dir, &err))
        return pfc_bench_fail(&err);
    path = pfc_fs_join(dir, "perfci-peers");
    argv[0] = path;
    execv(path, argv);
    fprintf(stderr, "perfci-bench: %s: %s\n", path, strerror(errno));
    free(path);
    free(dir);
    return PFC_BENCH_EXIT_INFRA;
}

static const struct {
    int (*run)(const pfc_bench_args *args); /* returns the exit status */
    bool
        catches_signals; /* ends after the current block; the other modes are ended by the signal */
} modes[] = {
    [PFC_BENCH_MEASURE] = { pfc_bench_run_measure, true },
    [PFC_BENCH_PAIRS] = { pfc_bench_run_pairs, true },
    [PFC_BENCH_LIST] = { pfc_bench_run_list, true },
    [PFC_BENCH_COVERAGE] = { pfc_bench_run_coverage, true },
    [PFC_BENCH_PEERS] = { run_peers, false },
    [PFC_BENCH_TUNE] = { run_tune, false },
    [PFC_BENCH_UNTUNE] = { run_untune, false },
    [PFC_BENCH_MACHINE] = { pfc_bench_describe, false },
    [PFC_BENCH_CANARY] = { pfc_bench_canary, false },
    [PFC_BENCH_CEILINGS] = { pfc_bench_ceilings, false },
    [PFC_BENCH_COUNTERS] = { run_counters, false },
    [PFC_BENCH_BLOCK] = { pfc_bench_run_block, false },
    [PFC_BENCH_CALL] = { pfc_bench_run_call, false },
    [PFC_BENCH_SERVE] = { pfc_bench_run_serve, false },
};

int main(int argc, char **argv)
{
    pfc_bench_args args;

    pfc_log_set_program("perfci-bench");
    pfc_bench_args_parse(argc, argv, &args);
    if (modes[args.mode].catches_signals)
        pfc_bench_catch_signals();
    return modes[args.mode].run(&args);
}
