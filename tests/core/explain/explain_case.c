#include "tests/core/explain/explain_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

static pfc_measurement *add(pfc_run *run, const char *benchmark, const char *metric,
                            const char *backend, const char *unit, const double *samples,
                            size_t len)
{
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup(backend);
    m->unit = pfc_strdup(unit);
    m->samples = pfc_calloc(len, sizeof(double));
    memcpy(m->samples, samples, len * sizeof(double));
    m->samples_len = len;
    m->blocks = pfc_calloc(1, sizeof(uint32_t));
    m->blocks[0] = (uint32_t)len;
    m->blocks_len = 1;
    return m;
}

static void number(pfc_measurement *m, const char *name, double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.17g", value);
    pfc_labels_set(&m->extra, name, text);
}

static void add_exact(pfc_run *run, const char *benchmark, double cycles, double memory)
{
    pfc_measurement *m = add(run, benchmark, "cycles", CASE_CHIP, "cycles", &cycles, 1);
    const double rate = 1e6 / cycles;

    m->exact = true;
    number(m, "cycles", cycles);
    number(m, "path.matmul.compute", cycles - memory);
    number(m, "path.load.memory", memory);
    number(m, "edge.load.matmul", 12);
    number(m, "edge.matmul.load", 9);
    number(m, "recoverable_compute_cycles", (cycles - memory) / 2);
    number(m, "recoverable_memory_cycles", memory / 2);
    number(m, "ceiling_cycles", 450);
    pfc_labels_set(&m->extra, "chip_hash", "c1");
    pfc_labels_set(&m->extra, "simulator", "accel-2");
    pfc_labels_set(&m->extra, "choice", memory > 100 ? "tiles of m 16" : "tiles of m 64");
    pfc_labels_set(&m->extra, "stream_digest", memory > 100 ? "d2" : "d1");
    pfc_labels_set(&m->params, "m", "64");
    m = add(run, benchmark, "gemm_tflops", CASE_CHIP, "TFLOP/s", &rate, 1);
    m->exact = true;
    m->higher_is_better = true;
}

pfc_run *case_run(const char *id, double cycles)
{
    pfc_run *run = pfc_run_new();
    const double canary = 5;

    run->id = pfc_strdup(id);
    run->commit = pfc_strdup("0123456789abcdef0123456789abcdef01234567");
    run->suite = pfc_strdup("accel");
    run->suite_hash = pfc_strdup("");
    run->machine.name = pfc_strdup("m1");
    run->machine.machine_class = pfc_strdup("epyc");
    pfc_labels_set(&run->machine.fingerprint, "cpu", "x");
    add_exact(run, CASE_GEMM, cycles, cycles > 600 ? cycles - 500 : 100);
    add_exact(run, CASE_ATTENTION, 500, 50);
    add(run, PFC_CANARY_BENCHMARK, "canary_ns", "", "ns", &canary, 1);
    return run;
}

void case_add_cpu(pfc_run *run, const double *samples, size_t len)
{
    add(run, "norm/f32", "time_ns", "cpu-avx2", "ns", samples, len);
}
