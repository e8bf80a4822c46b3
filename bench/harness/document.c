/* Writes the results of a benchmark into the run document. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cells.h"
#include "core/stats/stats.h"

pfc_measurement *pfc_cell_measurement(pfc_run *run, const pfc_cell *c, const char *metric,
                                      const char *unit, bool higher)
{
    pfc_measurement *m = pfc_run_add(run);
    char text[32];

    m->benchmark = pfc_strdup(c->c->name);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup(c->backend_name);
    m->unit = pfc_strdup(unit);
    m->higher_is_better = higher;
    m->exact = c->backend && c->backend->exact;
    m->status = c->status;
    m->reason = pfc_strdup(c->reason);
    pfc_labels_set(&m->params, "dtype", c->c->dtype);
    for (size_t i = 0; i < c->c->op->params_len; i++) {
        snprintf(text, sizeof(text), "%lld", (long long)c->c->params[i]);
        pfc_labels_set(&m->params, c->c->op->params[i].name, text);
    }
    return m;
}

void pfc_extra_set(pfc_measurement *m, const char *name, double value)
{
    char text[40];

    /* whole numbers exactly: counters of long runs have more than nine digits */
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        snprintf(text, sizeof(text), "%.0f", value);
    else
        snprintf(text, sizeof(text), "%.9g", value);
    pfc_labels_set(&m->extra, name, text);
}

/* The launch's count of that name, or NULL when it has none: absent, which is not zero. */
static const pfc_count *count_of(const pfc_block *block, const char *name)
{
    for (size_t i = 0; i < block->counts.len; i++) {
        const pfc_count *n = &block->counts.items[i];
        if (strcmp(n->name, name) == 0)
            return n->share > 0.0 ? n : NULL;
    }
    return NULL;
}

/* A counter's value a call is the median over the launches that counted; the rest is absent. */
static void add_count(pfc_measurement *m, const pfc_cell *c, const char *event)
{
    double *values = pfc_calloc(c->blocks_len, sizeof(*values));
    char name[PFC_COUNTER_NAME_MAX + 16];
    double share = 1.0;
    size_t n = 0;

    for (size_t b = 0; b < c->blocks_len; b++) {
        const pfc_count *count = count_of(&c->blocks[b], event);
        if (!count)
            continue;
        values[n++] = count->value;
        share = PFC_MIN(share, count->share);
    }
    snprintf(name, sizeof(name), "count_%s", event);
    if (n == 0)
        pfc_labels_set(&m->extra, name, "not available");
    else
        pfc_extra_set(m, name, pfc_stats_median(values, n));
    if (n > 0 && share < 1.0) { /* took turns with other events: an estimate */
        snprintf(name, sizeof(name), "count_%s_share", event);
        pfc_extra_set(m, name, share);
    }
    free(values);
}

static void add_counts(pfc_measurement *m, const pfc_cell *c)
{
    for (size_t i = 0; i < c->blocks[0].counts.len; i++)
        add_count(m, c, c->blocks[0].counts.items[i].name);
}

/* Samples of a machine that was held back are kept, and say so: which launches, and by what. */
static void add_throttled(pfc_measurement *m, const pfc_cell *c)
{
    const char *why = NULL;
    size_t n = 0;

    for (size_t b = 0; b < c->blocks_len; b++) {
        if (!c->blocks[b].throttled[0])
            continue;
        n++;
        why = why ? why : c->blocks[b].throttled;
    }
    if (n == 0)
        return;
    pfc_extra_set(m, "throttled_blocks", (double)n);
    pfc_labels_set(&m->extra, "throttled", why);
}

/* Records how the samples were taken, so that a reader can judge them. */
static void add_facts(pfc_measurement *m, const pfc_cell *c)
{
    const pfc_block *first = &c->blocks[0];
    double preempted = 0.0;
    double faults = 0.0;
    double setup = 0.0;
    double work = 0.0; /* within warm-up and samples */
    size_t steady = 0;

    for (size_t b = 0; b < c->blocks_len; b++) {
        preempted += (double)c->blocks[b].preempted;
        faults += (double)c->blocks[b].page_faults;
        steady += c->blocks[b].steady;
        setup += c->blocks[b].setup_seconds;
        work += c->blocks[b].warmup_seconds + c->blocks[b].sampling_seconds;
    }
    pfc_labels_set(&m->extra, "clock", first->clock);
    pfc_extra_set(m, "calls_per_sample", (double)first->batch);
    pfc_extra_set(m, "clock_resolution_ns", first->resolution_ns);
    pfc_extra_set(m, "preempted", preempted);
    pfc_extra_set(m, "page_faults", faults);
    pfc_extra_set(m, "steady_blocks", (double)steady);
    if (first->huge_bytes >= 0)
        pfc_extra_set(m, "huge_page_bytes", (double)first->huge_bytes);
    else
        pfc_labels_set(&m->extra, "huge_page_bytes", "not available");
    pfc_extra_set(m, "measured_seconds", c->seconds);
    pfc_extra_set(m, "setup_seconds", setup);
    if (work > 0.0 && !c->backend->exact)
        pfc_extra_set(m, "harness_seconds", fmax(c->seconds - work, 0.0));
    pfc_labels_set(&m->extra, "pinned", first->pinned ? "true" : "false");
    pfc_labels_set(&m->extra, "scheduler", first->fifo ? "fifo" : "other");
    /* Beside the median: of arithmetic the most stable number there is, of DRAM the least. */
    pfc_extra_set(m, "fastest",
                  pfc_stats_quantile(m->samples, m->samples_len, m->higher_is_better ? 1.0 : 0.0));
    add_throttled(m, c);
    add_counts(m, c);
}

/* Samples of a metric that is `scale * ns` or, when inverse, `scale / ns`. */
static void fill(pfc_measurement *m, const pfc_cell *c, double scale, bool inverse)
{
    m->samples = pfc_calloc(c->samples_len, sizeof(*m->samples));
    m->blocks = pfc_calloc(c->blocks_len, sizeof(*m->blocks));
    for (size_t b = 0; b < c->blocks_len; b++) {
        const pfc_block *block = &c->blocks[b];
        for (size_t i = 0; i < block->len; i++)
            m->samples[m->samples_len++] =
                inverse ? scale / block->samples[i] : scale * block->samples[i];
        m->blocks[m->blocks_len++] = (uint32_t)block->len;
    }
}

static void fill_one(pfc_measurement *m, double value)
{
    m->samples = pfc_calloc(1, sizeof(*m->samples));
    m->blocks = pfc_calloc(1, sizeof(*m->blocks));
    m->samples[m->samples_len++] = value;
    m->blocks[m->blocks_len++] = 1;
}

static void add_exact(pfc_run *run, const pfc_cell *c)
{
    const pfc_exact *exact = c->blocks[0].exact;
    pfc_measurement *m = pfc_cell_measurement(run, c, "cycles", "cycles", false);

    fill_one(m, (double)exact->cycles);
    for (size_t i = 0; i < exact->counters_len; i++)
        pfc_extra_set(m, exact->counters[i].name, exact->counters[i].value);
    for (size_t i = 0; i < exact->facts_len; i++)
        pfc_labels_set(&m->extra, exact->facts[i].name, exact->facts[i].text);
    for (size_t i = 0; i < exact->counters_len; i++) {
        /* Traffic is a metric of its own: it regresses without time regressing. */
        if (strcmp(exact->counters[i].name, "dram_bytes") != 0)
            continue;
        m = pfc_cell_measurement(run, c, "dram_bytes", "bytes", false);
        fill_one(m, exact->counters[i].value);
    }
}

void pfc_cell_document(pfc_run *run, const pfc_cell *c)
{
    /* work is in 1e12 flops or 1e9 bytes; over seconds that is TFLOP/s or GB/s */
    const double scale = pfc_case_work(c->c) * 1e9;
    pfc_measurement *m = pfc_cell_measurement(run, c, "time_ns", "ns", false);

    if (c->status != PFC_STATUS_OK)
        return;
    fill(m, c, 1.0, false);
    add_facts(m, c);
    m = pfc_cell_measurement(run, c, c->c->op->metric, c->c->op->unit, true);
    fill(m, c, scale, true);
    if (c->backend->exact)
        add_exact(run, c);
}

void pfc_run_take_suite(pfc_run *run, const pfc_suite *suite)
{
    free(run->suite);
    free(run->suite_hash);
    run->suite = pfc_strdup(suite->name);
    run->suite_hash = pfc_strdup(suite->hash);
}
