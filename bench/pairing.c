/* Two builds in turns: the programs, the documents, the table. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/pairs/pairs.h"
#include "bench/machine/machine.h"
#include "bench/program.h"
#include "core/base/fs.h"
#include "core/base/rng.h"

#define NOISE_PAIRS   40   /* of each benchmark: a spread to 11 % of itself */
#define NOISE_SECONDS 15.0 /* for each benchmark; a larger max_seconds of the suite replaces it */

static double extra(const pfc_measurement *m, const char *name)
{
    const char *text = pfc_labels_get(&m->extra, name);

    return text ? strtod(text, NULL) : (double)NAN;
}

static void print_row(FILE *out, int width, const pfc_measurement *m)
{
    const char *verdict = pfc_labels_get(&m->extra, "pair_verdict");

    if (m->status == PFC_STATUS_BROKEN)
        fprintf(out, "%-*s %-12s BROKEN: %s\n", width, m->benchmark, m->backend, m->reason);
    else if (verdict && strcmp(m->metric, "time_ns") == 0)
        fprintf(out, "%-*s %-12s %+8.2f  [%+.2f, %+.2f] %8.2f %5.0f %8.0f  %s\n", width,
                m->benchmark, m->backend, 100.0 * extra(m, "pair_rel_change"),
                100.0 * extra(m, "pair_rel_low"), 100.0 * extra(m, "pair_rel_high"),
                100.0 * extra(m, "pair_noise_rel"), extra(m, "pairs"), extra(m, "pair_launches"),
                verdict);
}

static void print_table(FILE *out, const pfc_run *b)
{
    int width = 9;

    for (size_t i = 0; i < b->measurements_len; i++)
        width = PFC_MAX(width, (int)PFC_MIN(strlen(b->measurements[i].benchmark), (size_t)60));
    fprintf(out, "%-*s %-12s %8s  %-16s %8s %5s %8s  %s\n", width, "benchmark", "backend", "time %",
            "95 % interval", "noise %", "pairs", "launches", "verdict");
    for (size_t i = 0; i < b->measurements_len; i++)
        print_row(out, width, &b->measurements[i]);
}

static pfc_code write_out(const pfc_bench_args *args, const pfc_run *a, const pfc_run *b,
                          pfc_err *err)
{
    json_t *doc = json_pack("{s:s,s:o,s:o}", "schema", "perfci.pairs/1", "a", pfc_run_to_json(a),
                            "b", pfc_run_to_json(b));
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));
    pfc_code code = PFC_OK;

    json_decref(doc);
    if (!text)
        return pfc_err_set(err, PFC_EBUG, "pairs: JSON encoding failed");
    if (args->out && strcmp(args->out, "-") != 0)
        code = pfc_fs_write_atomic(args->out, text, strlen(text), 0644, err);
    if (args->noise)
        pfc_bench_noise(stdout, b, args->json);
    else if (args->json || (args->out && strcmp(args->out, "-") == 0))
        puts(text);
    else if (!args->out)
        print_table(stdout, b);
    free(text);
    if (!code && pfc_bench_flush())
        code = pfc_err_set(err, PFC_EIO, "standard output: cannot be written");
    return code;
}

static pfc_run *new_run(const pfc_suite *suite, const pfc_backends *backends)
{
    pfc_run *run = pfc_run_new();

    run->id = pfc_alloc(33);
    pfc_random_id(run->id);
    pfc_bench_machine(backends, suite->hash, &run->machine);
    return run;
}

/* The side's program: as given, or this one. Caller frees. */
static pfc_code program_of(const char *given, char **out, pfc_err *err)
{
    char *dir = NULL;
    pfc_code code;

    if (given) {
        if (access(given, X_OK) != 0)
            return pfc_err_set(err, PFC_EINVAL, "%.300s: expected a perfci-bench: %s", given,
                               strerror(errno));
        *out = pfc_strdup(given);
        return PFC_OK;
    }
    code = pfc_fs_program_dir(&dir, err);
    if (!code)
        *out = pfc_fs_join(dir, "perfci-bench");
    free(dir);
    return code;
}

static double noise_seconds(const pfc_suite *suite)
{
    double seconds = NOISE_SECONDS;

    for (size_t i = 0; i < suite->cases_len; i++)
        seconds = fmax(seconds, suite->cases[i].settings.max_seconds);
    return seconds;
}

int pfc_bench_pairs(const pfc_bench_args *args, const pfc_suite *suite,
                    const pfc_backends *backends)
{
    const int cpu = args->pin ? pfc_machine_pin_cpu() : -1;
    const pfc_measure_opts measure = { .filter = args->filter,
                                       .backends = args->backends,
                                       .backends_len = args->backends_len,
                                       .progress = !args->quiet && isatty(STDERR_FILENO)
                                                       ? pfc_bench_progress
                                                       : NULL };
    const size_t noise_pairs = args->noise ? NOISE_PAIRS : 0;
    const pfc_paired_opts opts = { .seed = (uint64_t)args->seed,
                                   .margin = args->margin,
                                   .min_launches = noise_pairs, /* "same" shall not end it */
                                   .max_pairs = noise_pairs,
                                   .max_seconds = args->noise ? noise_seconds(suite) : 0.0,
                                   .cpu = cpu,
                                   .cancelled = pfc_bench_is_interrupted };
    pfc_serve_child children[2];
    pfc_side sides[2];
    char *programs[2] = { NULL, NULL };
    pfc_run *runs[2] = { new_run(suite, backends), new_run(suite, backends) };
    pfc_err err = { 0 };
    bool broken = false;
    pfc_code code = PFC_OK;

    for (int i = 0; i < 2 && !code; i++) {
        code = program_of(args->sides[i], &programs[i], &err);
        sides[i] = pfc_side_of_program(&children[i], programs[i]);
    }
    if (!code)
        code = pfc_suite_pair(suite, backends, sides, &measure, &opts, runs, &err);
    for (int i = 0; i < 2 && !code; i++) {
        pfc_suite_set_work(suite, runs[i]);
        pfc_backends_accel_ceilings(runs[i]);
    }
    if (!code) {
        broken = pfc_run_is_broken(runs[0]) || pfc_run_is_broken(runs[1]);
        code = write_out(args, runs[0], runs[1], &err);
        if (!code && args->noise && args->svg)
            code = pfc_bench_noise_svg(args->svg, runs[1], &err);
    }
    for (int i = 0; i < 2; i++) {
        pfc_run_free(runs[i]);
        free(programs[i]);
    }
    if (code)
        return pfc_bench_fail(&err);
    return broken ? PFC_BENCH_EXIT_BROKEN : 0;
}
