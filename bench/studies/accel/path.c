/* Time and memory of the critical path and the projection of a trace of a million records. */
#include "core/analysis/path/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/studies/accel/studies.h"
#include "core/base/clock.h"

/* A product whose trace has about a million records. */
static pfc_code write_trace(const char *path, const char *chip_name, int64_t size, pfc_err *err)
{
    const pfc_accel_problem problem = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { size, size, size } };
    const pfc_accel_case_opts opts = { .timing_only = true };
    const pfc_accel_trace_opts trace = { .path = path, .kernel = "gemm" };
    pfc_accel_case *c = NULL;
    pfc_accel_result result;
    pfc_accel_chip chip;
    pfc_code code = pfc_accel_chip_load(chip_name, &chip, err);

    if (!code)
        code = pfc_accel_case_new(&c, &problem, &chip, chip.mode, &opts, err);
    if (!code)
        code = pfc_accel_case_run_detail(c, &result, NULL, &trace, err);
    pfc_accel_case_free(c);
    return code;
}

/* In a process of its own, so that its largest resident size is that of the analysis. */
static int read_child(const char *path)
{
    pfc_path *out = pfc_calloc(1, sizeof(*out));
    pfc_trace_reader *reader = NULL;
    double best = 0;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    for (int round = 0; round < STUDY_ROUNDS && !code; round++) {
        const double begin = study_cpu_s();
        double seconds;

        code = pfc_trace_reader_open(&reader, path, PFC_TRACE_STRICT, &err);
        if (!code)
            code = pfc_path_read(reader, out, &err);
        pfc_trace_reader_free(reader);
        reader = NULL;
        seconds = study_cpu_s() - begin;
        best = round == 0 || seconds < best ? seconds : best;
    }
    if (code)
        fprintf(stderr, "perfci-bench-accel: %s\n", err.msg);
    else
        printf("critical path and projection of %llu records, %llu commands: %.3f s of CPU time, "
               "%.3g records/s; model %+.2f %%",
               (unsigned long long)out->records, (unsigned long long)out->commands, best,
               (double)out->records / best, 100 * ((double)out->model / (double)out->total - 1));
    fflush(stdout);
    free(out);
    return code ? 1 : 0;
}

static pfc_code measure(const char *path, pfc_err *err)
{
    struct rusage used = { 0 };
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(read_child(path));
    if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0)
        return pfc_err_set(err, PFC_EIO, "the process that reads a trace failed");
    printf(", largest resident size %.1f MiB\n", (double)used.ru_maxrss / 1024);
    return PFC_OK;
}

pfc_code study_path(pfc_err *err)
{
    static const struct {
        const char *chip;
        int64_t size;
    } traces[] = { { "pfc-edge", 3072 }, { "pfc-server", 12288 }, { "pfc-xf", 24576 } };
    char folder[] = "/tmp/perfci-accel-XXXXXX";
    char name[64];
    pfc_code code = PFC_OK;

    if (!mkdtemp(folder))
        return pfc_err_set(err, PFC_EIO, "cannot make a folder in /tmp");
    snprintf(name, sizeof(name), "%s/trace.pct", folder);
    for (size_t i = 0; i < PFC_ARRAY_LEN(traces) && !code; i++) {
        code = write_trace(name, traces[i].chip, traces[i].size, err);
        if (!code)
            printf("gemm bf16 %lld^3 on %s: ", (long long)traces[i].size, traces[i].chip);
        if (!code)
            code = measure(name, err);
    }
    unlink(name);
    rmdir(folder);
    return code;
}
