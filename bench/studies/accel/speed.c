/* How fast the simulator is, and what memory it takes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/studies/accel/studies.h"
#include "core/base/clock.h"

/* Short cases are run for so long, or the first runs, with cold caches, would be the figure. */
#define LEAST_S 0.1

/* Runs of a case; the fastest by wall time and by CPU time, in seconds. */
typedef struct took {
    double wall, cpu;
    pfc_accel_result result;
} took;

static pfc_code time_case(pfc_accel_case *c, const pfc_accel_trace_opts *trace, took *out,
                          pfc_err *err)
{
    const double begin = study_cpu_s();
    pfc_code code = PFC_OK;

    out->wall = out->cpu = 1e9;
    for (int i = 0; (i < STUDY_ROUNDS || study_cpu_s() < begin + LEAST_S) && !code; i++) {
        const int64_t start = pfc_clock_ns();
        const double cpu = study_cpu_s();

        code = pfc_accel_case_run_detail(c, &out->result, NULL, trace, err);
        out->cpu = PFC_MIN(out->cpu, study_cpu_s() - cpu);
        out->wall = PFC_MIN(out->wall, (double)PFC_MAX(pfc_clock_ns() - start, 1) * 1e-9);
    }
    return code;
}

typedef struct line {
    const char *chip;
    pfc_accel_dtype dtype;
    int64_t size;
    int64_t array; /* 0: the chip's own */
    bool results;
    /* "/dev/null" leaves out what the file system takes to create and rename a file. */
    const char *trace; /* NULL: none; "": a file */
} line;

static pfc_code open_case(const line *l, pfc_accel_case **c, pfc_err *err)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM,
                                        .dtype = l->dtype,
                                        .p = { l->size, l->size, l->size } };
    const pfc_accel_case_opts opts = { .timing_only = !l->results };
    pfc_accel_chip chip;
    pfc_code code = pfc_accel_chip_load(l->chip, &chip, err);

    if (!code && l->array)
        code = pfc_accel_chip_set_array(&chip, l->array, l->array, err);
    return code ? code : pfc_accel_case_new(c, &problem, &chip, chip.mode, &opts, err);
}

static void note(const line *l, double cycles_per_s, double macs_per_s)
{
    const char *how = l->results    ? "/results"
                      : !l->trace   ? ""
                      : l->trace[0] ? "/binary-trace-without-file"
                                    : "/binary-trace";

    study_figure("simulated_cycles_per_s", cycles_per_s, "accel/speed/gemm-%s-%lld/%s%s%s",
                 pfc_accel_dtype_name(l->dtype), (long long)l->size, l->chip,
                 l->array ? "-8x8" : "", how);
    if (l->results)
        study_figure("macs_per_s", macs_per_s, "accel/speed/gemm-%s-%lld/%s%s%s",
                     pfc_accel_dtype_name(l->dtype), (long long)l->size, l->chip,
                     l->array ? "-8x8" : "", how);
}

static pfc_code speed(const line *l, const char *trace_path, pfc_err *err)
{
    const pfc_accel_trace_opts trace = { .path = l->trace && l->trace[0] ? l->trace : trace_path,
                                         .kernel = "gemm" };
    const double macs = (double)l->size * (double)l->size * (double)l->size;
    pfc_accel_case *c = NULL;
    took t = { 0 };
    pfc_code code = open_case(l, &c, err);

    if (!code)
        code = time_case(c, l->trace ? &trace : NULL, &t, err);
    if (!code) {
        const double cycles = (double)t.result.cycles;

        printf("gemm %4s %4lld^3 %-11s %4s %-11s %-22s %9.0f cycles  cycles/s: %.3g of wall, %.3g "
               "of CPU time",
               pfc_accel_dtype_name(l->dtype), (long long)l->size, l->chip, l->array ? "8x8" : "",
               l->results ? "results" : "timing only",
               !l->trace     ? ""
               : l->trace[0] ? "binary trace, no file"
                             : "binary trace",
               cycles, cycles / t.wall, cycles / t.cpu);
        note(l, cycles / t.cpu, macs / t.cpu);
        if (l->results)
            printf("  GMAC/s: %.2f, %.2f", macs / t.wall * 1e-9, macs / t.cpu * 1e-9);
        printf("\n");
    }
    pfc_accel_case_free(c);
    return code;
}

/* Many launches of a short kernel in one file, with their host: what a file costs is paid once. */
#define LAUNCHES 256

static pfc_code stream_speed(const char *trace_path, pfc_err *err)
{
    const line l = { "pfc-edge", PFC_ACCEL_INT8, 64, 8, false, "" };
    const pfc_accel_trace_opts trace = { .path = trace_path, .kernel = "gemm" };
    const pfc_accel_region_opts opts = { .launches = LAUNCHES, .trace = &trace };
    pfc_accel_region region = { 0 };
    pfc_accel_case *c = NULL;
    double best = 1e9;
    pfc_code code = open_case(&l, &c, err);

    for (int i = 0; i < STUDY_ROUNDS && !code; i++) {
        const double begin = study_cpu_s();

        code = pfc_accel_case_region(c, &opts, &region, err);
        best = PFC_MIN(best, study_cpu_s() - begin);
    }
    pfc_accel_case_free(c);
    if (code)
        return code;
    study_figure("simulated_cycles_per_s", (double)region.kernel_cycles / best,
                 "accel/speed/gemm-int8-64/pfc-edge-8x8/binary-trace-of-%d-launches", LAUNCHES);
    printf("gemm int8   64^3 pfc-edge    8x8  %d launches in one binary trace: %.3g simulated "
           "cycles/s of CPU time\n",
           LAUNCHES, (double)region.kernel_cycles / best);
    return PFC_OK;
}

/* A kernel with a trace of a million events and more, in a process of its own. */
static int traced_child(const char *path)
{
    const line l = { "pfc-edge", PFC_ACCEL_INT8, 4096, 0, false, "" };
    const pfc_accel_trace_opts trace = { .path = path, .kernel = "gemm", .every = 100 };
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    pfc_err err = { 0 };
    const pfc_code code =
        open_case(&l, &c, &err) || pfc_accel_case_run_detail(c, &r, NULL, &trace, &err);

    if (code)
        fprintf(stderr, "perfci-bench-accel: %s\n", err.msg);
    pfc_accel_case_free(c);
    return code ? 1 : 0;
}

static pfc_code resident(const char *path, pfc_err *err)
{
    struct rusage used = { 0 };
    FILE *f;
    long bytes = 0;
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(traced_child(path));
    if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0)
        return pfc_err_set(err, PFC_EIO, "the process that writes a trace failed");
    f = fopen(path, "rb");
    if (f && fseek(f, 0, SEEK_END) == 0)
        bytes = ftell(f);
    if (f)
        fclose(f);
    study_figure("memory_mib", (double)used.ru_maxrss / 1024, "accel/trace/largest-resident-size");
    printf("binary trace of %.3g records (32 bytes each): largest resident size %.1f MiB\n",
           (double)bytes / 32, (double)used.ru_maxrss / 1024);
    return PFC_OK;
}

pfc_code study_speeds(pfc_err *err)
{
    static const line lines[] = {
        { "pfc-server", PFC_ACCEL_BF16, 4096, 0, false, NULL },
        { "pfc-server", PFC_ACCEL_BF16, 4096, 0, false, "" },
        { "pfc-server2", PFC_ACCEL_BF16, 4096, 0, false, NULL },
        { "pfc-edge", PFC_ACCEL_BF16, 1024, 0, false, NULL },
        { "pfc-edge", PFC_ACCEL_INT8, 64, 8, false, NULL },
        { "pfc-edge", PFC_ACCEL_INT8, 64, 8, false, "" },
        { "pfc-edge", PFC_ACCEL_INT8, 64, 8, false, "/dev/null" },
        { "pfc-server", PFC_ACCEL_INT8, 1024, 0, true, NULL },
        { "pfc-server", PFC_ACCEL_F32, 1024, 0, true, NULL },
    };
    char path[] = "/tmp/perfci-accel-XXXXXX";
    char name[64];
    pfc_code code = PFC_OK;

    if (!mkdtemp(path))
        return pfc_err_set(err, PFC_EIO, "cannot make a folder in /tmp");
    snprintf(name, sizeof(name), "%s/trace.bin", path);
    for (size_t i = 0; i < PFC_ARRAY_LEN(lines) && !code; i++)
        code = speed(&lines[i], name, err);
    if (!code)
        code = stream_speed(name, err);
    if (!code)
        code = resident(name, err);
    unlink(name);
    rmdir(path);
    return code;
}
