/* How near a benchmark came to what the machine can do. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/ceilings/ceilings.h"
#include "core/stats/stats.h"

static int level_of(const pfc_ceilings *c, double bytes)
{
    int level = PFC_LEVEL_L1;

    while (level < PFC_LEVEL_DRAM && bytes > c->size_bytes[level])
        level++;
    return level;
}

static int compute_of(const char *dtype)
{
    for (int kind = 0; kind < PFC_COMPUTES; kind++) {
        if (strcmp(dtype, pfc_compute_name(kind)) == 0)
            return kind;
    }
    return -1;
}

double pfc_ceilings_bound_ns(const pfc_ceilings *c, const pfc_case *k, const char **bound)
{
    static const char *const reads[] = { "L1 read", "L2 read", "L3 read", "DRAM read" };
    static const char *const copies[] = { "L1 copy", "L2 copy", "L3 copy", "DRAM copy" };
    static const char *const computes[] = { "fma", "bf16", "int8" };
    const int kind = compute_of(k->dtype);
    const double bytes = pfc_case_bytes(k);
    const int level = level_of(c, bytes);
    const double gbps = pfc_case_streams(k) ? c->one.copy_gbps[level] : c->one.read_gbps[level];
    double memory_ns;
    double compute_ns;

    *bound = NULL;
    if (kind < 0 || c->one.gops[kind] <= 0.0 || gbps <= 0.0)
        return 0.0;
    memory_ns = bytes / gbps;
    compute_ns = pfc_case_gops(k) * 1e9 / c->one.gops[kind];
    *bound = compute_ns >= memory_ns ? computes[kind]
             : pfc_case_streams(k)   ? copies[level]
                                     : reads[level];
    return fmax(compute_ns, memory_ns);
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
    pfc_labels_set(&m->extra, name, value > 0.0 ? text : "not available");
}

static void add_rates(const pfc_rates *r, const char *prefix, pfc_measurement *m)
{
    static const char *const levels[] = { "l1", "l2", "l3", "dram" };
    static const char *const computes[] = { "fma_f32_gflops", "bf16_gflops", "int8_gops" };
    char name[64];

    for (int i = 0; i < PFC_COMPUTES; i++) {
        snprintf(name, sizeof(name), "%s_%s", prefix, computes[i]);
        set(m, name, r->gops[i]);
    }
    for (int i = 0; i < PFC_LEVELS; i++) {
        snprintf(name, sizeof(name), "%s_%s_read_gbps", prefix, levels[i]);
        set(m, name, r->read_gbps[i]);
        snprintf(name, sizeof(name), "%s_%s_copy_gbps", prefix, levels[i]);
        set(m, name, r->copy_gbps[i]);
    }
}

static void add_ceilings(const pfc_ceilings *c, pfc_measurement *m)
{
    static const char *const isa[] = { "ceiling_fma_isa", "ceiling_bf16_isa", "ceiling_int8_isa" };

    add_rates(&c->one, "ceiling", m);
    for (int i = 0; i < PFC_COMPUTES; i++)
        pfc_labels_set(&m->extra, isa[i], c->isa[i][0] ? c->isa[i] : "not available");
    set(m, "ceiling_l3_reach_bytes", c->size_bytes[PFC_LEVEL_L3]);
    if (c->threads > 0) {
        add_rates(&c->all, "ceiling_all", m);
        set(m, "ceiling_all_threads", (double)c->threads);
    }
}

/* A headline is a geometric mean, so its share is that of its members' shares. */
static void annotate_headline(const pfc_suite *suite, const pfc_run *run, pfc_measurement *headline)
{
    double *shares = pfc_calloc(PFC_MAX(run->measurements_len, 1), sizeof(*shares));
    size_t n = 0;

    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        const pfc_case *k = pfc_suite_find(suite, m->benchmark);
        const char *percent = pfc_labels_get(&m->extra, "percent_of_peak");
        if (k && k->headline && percent && pfc_streq(m->metric, headline->metric) &&
            pfc_streq(m->backend, headline->backend))
            shares[n++] = strtod(percent, NULL);
    }
    if (n > 0)
        set(headline, "percent_of_peak", pfc_stats_geomean(shares, n));
    free(shares);
}

void pfc_ceilings_annotate(const pfc_ceilings *c, const pfc_suite *suite, pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];
        const pfc_case *k = pfc_suite_find(suite, m->benchmark);
        const char *bound = NULL;
        double percent;

        if (strcmp(m->benchmark, PFC_CANARY_BENCHMARK) == 0)
            add_ceilings(c, m);
        if (!k || m->exact || m->status != PFC_STATUS_OK)
            continue;
        percent = share(c, k, run, m, &bound);
        if (percent > 0.0) {
            set(m, "percent_of_peak", percent);
            pfc_labels_set(&m->extra, "bound", bound);
            if (pfc_case_gops(k) > 0.0)
                set(m, "ops_per_byte", 1e9 * pfc_case_gops(k) / pfc_case_bytes(k));
        }
    }
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];
        if (strcmp(m->benchmark, "headline") == 0 && m->status == PFC_STATUS_OK && !m->exact)
            annotate_headline(suite, run, m);
    }
}
