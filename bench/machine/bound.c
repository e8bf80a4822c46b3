/* How near a benchmark came to what the machine can do. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/ceilings.h"

/* Compulsory bytes of one call: inputs and outputs, once each. */
static double gemm_bytes(const int64_t *p, double elem)
{
    const double m = (double)p[0];
    const double n = (double)p[1];
    const double k = (double)p[2];

    return elem * (m * k + k * n + m * n);
}

static double attention_bytes(const int64_t *p, double elem)
{
    return elem * 4.0 * (double)p[0] * (double)p[1] * (double)p[2]; /* Q, K, V, O */
}

static int level_of(const pfc_ceilings *c, double bytes)
{
    int level = PFC_LEVEL_L1;

    while (level < PFC_LEVEL_DRAM && bytes > c->size_bytes[level])
        level++;
    return level;
}

double pfc_ceilings_bound_ns(const pfc_ceilings *c, const pfc_case *k, const char **bound)
{
    static const char *const reads[] = { "L1 read", "L2 read", "L3 read", "DRAM read" };
    static const char *const copies[] = { "L1 copy", "L2 copy", "L3 copy", "DRAM copy" };
    const double elem = pfc_dtype_bytes(k->dtype);
    const bool streams = strcmp(k->op->unit, "GB/s") == 0; /* norms: as much written as read */
    double bytes;
    double memory_ns;
    double flop_ns = 0.0;
    double gbps;
    int level;

    *bound = NULL;
    if (strcmp(k->dtype, "f32") != 0 || c->fma_f32_gflops <= 0.0)
        return 0.0;
    if (streams)
        bytes = pfc_case_work(k) * 1e9;
    else if (strcmp(k->op->name, "gemm") == 0)
        bytes = gemm_bytes(k->params, elem);
    else
        bytes = attention_bytes(k->params, elem);
    level = level_of(c, bytes);
    gbps = streams ? c->copy_gbps[level] : c->read_gbps[level];
    if (gbps <= 0.0)
        return 0.0;
    memory_ns = bytes / gbps;
    if (!streams)
        flop_ns = pfc_case_work(k) * 1e12 / c->fma_f32_gflops;
    *bound = flop_ns >= memory_ns ? "fma" : streams ? copies[level] : reads[level];
    return fmax(flop_ns, memory_ns);
}

static const pfc_case *case_of(const pfc_suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->cases_len; i++) {
        if (strcmp(suite->cases[i].name, name) == 0)
            return &suite->cases[i];
    }
    return NULL;
}

static double share(const pfc_ceilings *c, const pfc_case *k, const pfc_run *run,
                    const pfc_measurement *m, const char **bound)
{
    const double best_ns = pfc_ceilings_bound_ns(c, k, bound);

    for (size_t i = 0; best_ns > 0.0 && i < run->measurements_len; i++) {
        const pfc_measurement *t = &run->measurements[i];
        if (strcmp(t->metric, "time_ns") == 0 && pfc_streq(t->benchmark, m->benchmark) &&
            pfc_streq(t->backend, m->backend))
            return 100.0 * best_ns / pfc_measurement_median(t);
    }
    return 0.0;
}

static void set(pfc_measurement *m, const char *name, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.4g", value);
    pfc_pairs_set(&m->extra, name, text);
}

static void add_ceilings(const pfc_ceilings *c, pfc_measurement *m)
{
    static const char *const levels[] = { "l1", "l2", "l3", "dram" };
    char name[48];

    set(m, "ceiling_fma_f32_gflops", c->fma_f32_gflops);
    pfc_pairs_set(&m->extra, "ceiling_fma_isa", c->fma_isa);
    for (int i = 0; i < PFC_LEVELS; i++) {
        snprintf(name, sizeof(name), "ceiling_%s_read_gbps", levels[i]);
        set(m, name, c->read_gbps[i]);
        snprintf(name, sizeof(name), "ceiling_%s_copy_gbps", levels[i]);
        set(m, name, c->copy_gbps[i]);
    }
}

void pfc_ceilings_annotate(const pfc_ceilings *c, const pfc_suite *suite, pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];
        const pfc_case *k = case_of(suite, m->benchmark);
        const char *bound = NULL;
        double percent;

        if (strcmp(m->benchmark, "canary") == 0)
            add_ceilings(c, m);
        if (!k || m->exact || m->status != PFC_STATUS_OK)
            continue;
        percent = share(c, k, run, m, &bound);
        if (percent > 0.0) {
            set(m, "percent_of_peak", percent);
            pfc_pairs_set(&m->extra, "bound", bound);
        }
    }
}
