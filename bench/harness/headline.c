/*
 * Headline metrics: on one backend, the geometric mean over every benchmark of the suite that has
 * the metric and counts. A mean over a part of its group would change with the part, so there is
 * none: the measurement is then skipped and says which member is missing.
 *
 * Its samples are one value a process launch: the geometric mean of the members' medians in that
 * launch. So it has n and an interval, and its spread is the spread between launches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/harness.h"
#include "core/stats/stats.h"

static const pfc_measurement *find(const pfc_run *run, const char *benchmark, const char *metric,
                                   const char *backend)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (strcmp(m->benchmark, benchmark) == 0 && strcmp(m->metric, metric) == 0 &&
            strcmp(m->backend, backend) == 0)
            return m;
    }
    return NULL;
}

/* Median of the block-th launch's samples. */
static double block_median(const pfc_measurement *m, size_t block)
{
    size_t at = 0;

    for (size_t b = 0; b < block; b++)
        at += m->blocks[b];
    return pfc_stats_median(m->samples + at, m->blocks[block]);
}

static bool is_member(const pfc_case *c, const char *metric, const char *backend)
{
    return c->headline && strcmp(c->op->metric, metric) == 0 && pfc_case_wants(c, backend);
}

typedef struct group {
    const char *metric;
    const char *unit;
    const char *backend;
    const pfc_measurement **members; /* measured ones */
    size_t measured;
    size_t size;
    size_t blocks; /* the smallest number of launches */
    bool exact;
    char *missing; /* why the first missing member is */
} group;

static void collect(const pfc_suite *suite, const pfc_run *run, group *g)
{
    g->members = pfc_calloc(suite->cases_len, sizeof(*g->members));
    for (size_t i = 0; i < suite->cases_len; i++) {
        const pfc_case *c = &suite->cases[i];
        const pfc_measurement *m;
        const pfc_measurement *time;
        if (!is_member(c, g->metric, g->backend))
            continue;
        g->size++;
        m = find(run, c->name, g->metric, g->backend);
        if (m && m->status == PFC_STATUS_OK && m->blocks_len > 0) {
            g->members[g->measured++] = m;
            g->blocks = g->measured == 1 ? m->blocks_len : PFC_MIN(g->blocks, m->blocks_len);
            g->exact = m->exact;
            continue;
        }
        time = find(run, c->name, "time_ns", g->backend);
        if (!g->missing)
            g->missing =
                pfc_format("%s: %s", c->name, time && time->reason ? time->reason : "not selected");
    }
}

static void add_group(pfc_run *run, const group *g)
{
    double *values = pfc_calloc(g->measured, sizeof(*values));
    double *samples = pfc_calloc(g->blocks, sizeof(*samples));
    char text[32];
    pfc_measurement *m;

    /* Computed before the append, which may move the measurements that the members point to. */
    for (size_t b = 0; g->measured == g->size && b < g->blocks; b++) {
        for (size_t i = 0; i < g->measured; i++)
            values[i] = block_median(g->members[i], b);
        samples[b] = pfc_stats_geomean(values, g->measured);
    }
    free(values);
    m = pfc_run_add(run);
    m->benchmark = pfc_strdup("headline");
    m->metric = pfc_strdup(g->metric);
    m->backend = pfc_strdup(g->backend);
    m->unit = pfc_strdup(g->unit);
    m->higher_is_better = true;
    m->exact = g->exact;
    snprintf(text, sizeof(text), "%zu", g->size);
    pfc_labels_set(&m->extra, "members", text);
    if (g->measured < g->size) {
        free(samples);
        m->status = PFC_STATUS_SKIPPED;
        m->reason = pfc_format("%zu of %zu members measured; %s", g->measured, g->size, g->missing);
        return;
    }
    m->samples = samples;
    m->samples_len = g->blocks;
    m->blocks = pfc_calloc(g->blocks, sizeof(*m->blocks));
    m->blocks_len = g->blocks;
    for (size_t b = 0; b < g->blocks; b++)
        m->blocks[b] = 1;
}

/* Every (metric, backend) that a benchmark of the run has, once, in the order of the run. */
void pfc_headline_add(const pfc_suite *suite, pfc_run *run)
{
    const size_t len = run->measurements_len;

    for (size_t i = 0; i < len; i++) {
        const pfc_case *c = NULL;
        /* add_group's append may move the array: our own copy of the name. */
        char *backend = pfc_strdup(run->measurements[i].backend);
        for (size_t k = 0; k < suite->cases_len && !c; k++) {
            if (strcmp(suite->cases[k].name, run->measurements[i].benchmark) == 0)
                c = &suite->cases[k];
        }
        if (c && is_member(c, c->op->metric, backend) &&
            !find(run, "headline", c->op->metric, backend)) {
            group g = { .metric = c->op->metric, .unit = c->op->unit, .backend = backend };
            collect(suite, run, &g);
            add_group(run, &g);
            free(g.members);
            free(g.missing);
        }
        free(backend);
    }
}
