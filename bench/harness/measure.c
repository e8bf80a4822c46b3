/*
 * Measures a suite: rounds of blocks over all benchmarks, adaptive stop, then the run document.
 */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/harness.h"
#include "core/base/clock.h"
#include "core/stats/stats.h"

#define LAUNCH_ESTIMATE_S 0.05 /* start, input and check of a small benchmark */
#define MAX_BLOCKS        512  /* of one benchmark on one backend */

/* One benchmark on one backend. */
typedef struct cell {
    const pfc_case *c;
    const pfc_backend *backend; /* NULL: not part of this build */
    const char *backend_name;
    pfc_block *blocks;
    size_t blocks_len;
    size_t blocks_cap;
    size_t samples_len;
    double seconds; /* warm-up and sampling so far */
    pfc_status status;
    char *reason;
    bool done;
} cell;

typedef struct cells {
    cell *items;
    size_t len;
    size_t cap;
} cells;

static void cells_clear(cells *all)
{
    for (size_t i = 0; i < all->len; i++) {
        cell *c = &all->items[i];
        for (size_t b = 0; b < c->blocks_len; b++)
            pfc_block_clear(&c->blocks[b]);
        free(c->blocks);
        free(c->reason);
    }
    free(all->items);
    *all = (cells){ 0 };
}

static void add_cell(cells *all, const pfc_case *c, const pfc_backend *backend, const char *name)
{
    cell *made;

    all->items = pfc_grow(all->items, all->len, &all->cap, sizeof(*all->items));
    made = &all->items[all->len++];
    *made = (cell){ .c = c, .backend = backend, .backend_name = name };
    if (!backend || backend->missing[0]) {
        made->done = true;
        made->status = PFC_STATUS_SKIPPED;
        made->reason = pfc_strdup(backend ? backend->missing : "not part of this build");
    }
}

static bool wanted(const pfc_measure_opts *opts, const char *backend)
{
    for (size_t i = 0; i < opts->backends_len; i++) {
        if (strcmp(opts->backends[i], backend) == 0)
            return true;
    }
    return opts->backends_len == 0;
}

static void add_case_cells(cells *all, const pfc_case *c, const pfc_backends *backends,
                           const pfc_measure_opts *opts)
{
    for (size_t i = 0; i < backends->len; i++) {
        const pfc_backend *b = &backends->items[i];
        if (pfc_case_wants(c, b->name) && wanted(opts, b->name))
            add_cell(all, c, b, b->name);
    }
    for (size_t i = 0; i < c->backends_len; i++) {
        const char *name = c->backends[i];
        if (!strchr(name, '*') && !pfc_backends_find(backends, name) && wanted(opts, name))
            add_cell(all, c, NULL, name);
    }
}

static pfc_code select_cells(const pfc_suite *suite, const pfc_backends *backends,
                             const pfc_measure_opts *opts, cells *all, pfc_err *err)
{
    regex_t filter;
    pfc_code code = PFC_OK;

    if (opts->filter) {
        const int bad = regcomp(&filter, opts->filter, REG_EXTENDED | REG_NOSUB);
        if (bad) {
            char why[128];
            regerror(bad, &filter, why, sizeof(why));
            return pfc_err_set(err, PFC_EINVAL, "filter '%.100s': %s", opts->filter, why);
        }
    }
    for (size_t i = 0; i < suite->cases_len; i++) {
        const pfc_case *c = &suite->cases[i];
        if (!opts->filter || regexec(&filter, c->name, 0, NULL, 0) == 0)
            add_case_cells(all, c, backends, opts);
    }
    if (opts->filter)
        regfree(&filter);
    if (all->len == 0)
        code = pfc_err_set(err, PFC_EINVAL,
                           "suite %s: no benchmark is left by the filter and the backends "
                           "(perfci-bench --list shows them)",
                           suite->name);
    return code;
}

/* Relative width of the interval of the median over the blocks so far; large when unknown. */
static double interval_width(const cell *c)
{
    double *x = pfc_calloc(c->samples_len, sizeof(*x));
    uint32_t *blocks = pfc_calloc(c->blocks_len, sizeof(*blocks));
    pfc_interval iv;
    size_t n = 0;

    for (size_t b = 0; b < c->blocks_len; b++) {
        memcpy(x + n, c->blocks[b].samples, c->blocks[b].len * sizeof(*x));
        n += c->blocks[b].len;
        blocks[b] = (uint32_t)c->blocks[b].len;
    }
    iv = pfc_stats_block_interval(x, blocks, c->blocks_len, 0.95, 1);
    free(x);
    free(blocks);
    return iv.value > 0.0 ? (iv.high - iv.low) / iv.value : (double)INFINITY;
}

static bool enough(const cell *c)
{
    const pfc_case_settings *s = &c->c->settings;

    if (c->backend->exact)
        return c->blocks_len > 0;
    if (c->blocks_len < (size_t)s->processes)
        return false;
    if (c->blocks_len >= MAX_BLOCKS || c->samples_len >= (size_t)s->max_samples ||
        c->seconds >= s->max_seconds)
        return true;
    return c->samples_len >= (size_t)s->min_samples && interval_width(c) <= s->interval_rel;
}

static pfc_code one_block(cell *c, const pfc_measure_opts *opts, pfc_err *err)
{
    const pfc_case_settings *s = &c->c->settings;
    const double processes = (double)s->processes;
    const pfc_block_spec spec = {
        .c = c->c,
        .backend = c->backend_name,
        .seed = opts->seed ? opts->seed : 1,
        .samples = (size_t)((s->min_samples + s->processes - 1) / s->processes),
        .max_seconds = s->max_seconds / processes,
        .warmup_seconds = fmin(s->warmup_seconds, s->max_seconds / processes),
        .check = c->blocks_len == 0,
        .cpu = opts->cpu,
    };
    pfc_block block = { 0 };
    pfc_code code = opts->block(opts->block_arg, &spec, &block, err);

    if (code)
        return code;
    if (block.status != PFC_STATUS_OK) {
        c->status = block.status;
        c->reason = pfc_strdup(block.reason);
        c->done = true;
        pfc_block_clear(&block);
        return PFC_OK;
    }
    c->blocks = pfc_grow(c->blocks, c->blocks_len, &c->blocks_cap, sizeof(*c->blocks));
    c->blocks[c->blocks_len++] = block;
    c->samples_len += block.len;
    c->seconds += block.seconds;
    c->done = enough(c);
    return PFC_OK;
}

static double cell_estimate(const cell *c)
{
    const pfc_case_settings *s = &c->c->settings;

    if (c->done)
        return 0.0;
    if (c->backend->exact)
        return LAUNCH_ESTIMATE_S;
    return s->max_seconds * (1.0 + 1.0 / (double)s->processes) +
           LAUNCH_ESTIMATE_S * (double)s->processes;
}

static void tell(const cells *all, const cell *now, double started, double estimate,
                 const pfc_measure_opts *opts)
{
    pfc_progress at = { .total = all->len,
                        .elapsed_s = (double)pfc_clock_ns() * 1e-9 - started,
                        .estimate_s = estimate,
                        .benchmark = now ? now->c->name : "",
                        .backend = now ? now->backend_name : "" };

    if (!opts->progress)
        return;
    for (size_t i = 0; i < all->len; i++)
        at.done += all->items[i].done;
    opts->progress(opts->progress_arg, &at);
}

static pfc_code run_rounds(cells *all, const pfc_measure_opts *opts, pfc_err *err)
{
    const double started = (double)pfc_clock_ns() * 1e-9;
    double estimate = 0.0;
    bool more = true;

    for (size_t i = 0; i < all->len; i++)
        estimate += cell_estimate(&all->items[i]);
    while (more) {
        more = false;
        for (size_t i = 0; i < all->len; i++) {
            cell *c = &all->items[i];
            pfc_code code;
            if (c->done)
                continue;
            if (opts->cancelled && opts->cancelled(opts->cancelled_arg))
                return pfc_err_set(err, PFC_EUNAVAIL, "the measurement was cancelled");
            tell(all, c, started, estimate, opts);
            code = one_block(c, opts, err);
            if (code)
                return code;
            more = more || !c->done;
        }
    }
    tell(all, NULL, started, estimate, opts);
    return PFC_OK;
}

/* ---- the document ---- */

static pfc_measurement *add_measurement(pfc_run *run, const cell *c, const char *metric,
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
    pfc_pairs_set(&m->params, "dtype", c->c->dtype);
    for (size_t i = 0; i < c->c->op->params_len; i++) {
        snprintf(text, sizeof(text), "%lld", (long long)c->c->params[i]);
        pfc_pairs_set(&m->params, c->c->op->params[i].name, text);
    }
    return m;
}

static void set_extra(pfc_measurement *m, const char *name, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.9g", value);
    pfc_pairs_set(&m->extra, name, text);
}

/* How the samples were taken: what a sceptic asks first. */
static void add_facts(pfc_measurement *m, const cell *c)
{
    const pfc_block *first = &c->blocks[0];
    double preempted = 0.0;
    double faults = 0.0;
    size_t steady = 0;

    for (size_t b = 0; b < c->blocks_len; b++) {
        preempted += (double)c->blocks[b].preempted;
        faults += (double)c->blocks[b].page_faults;
        steady += c->blocks[b].steady;
    }
    pfc_pairs_set(&m->extra, "clock", first->clock);
    set_extra(m, "calls_per_sample", (double)first->batch);
    set_extra(m, "clock_resolution_ns", first->resolution_ns);
    set_extra(m, "preempted", preempted);
    set_extra(m, "page_faults", faults);
    set_extra(m, "steady_blocks", (double)steady);
    set_extra(m, "measured_seconds", c->seconds);
    pfc_pairs_set(&m->extra, "pinned", first->pinned ? "true" : "false");
}

/* Samples of a metric that is `scale * ns` or, when inverse, `scale / ns`. */
static void fill(pfc_measurement *m, const cell *c, double scale, bool inverse)
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

static void add_exact(pfc_run *run, const cell *c)
{
    const pfc_exact *exact = &c->blocks[0].exact;
    pfc_measurement *m = add_measurement(run, c, "cycles", "cycles", false);

    fill_one(m, (double)exact->cycles);
    for (size_t i = 0; i < exact->counters_len; i++)
        set_extra(m, exact->counters[i].name, exact->counters[i].value);
    for (size_t i = 0; i < exact->counters_len; i++) {
        /* Traffic is a metric of its own: it regresses without time regressing. */
        if (strcmp(exact->counters[i].name, "dram_bytes") != 0)
            continue;
        m = add_measurement(run, c, "dram_bytes", "bytes", false);
        fill_one(m, exact->counters[i].value);
    }
}

static void add_cell_measurements(pfc_run *run, const cell *c)
{
    /* work is in 1e12 flops or 1e9 bytes; over seconds that is TFLOP/s or GB/s */
    const double scale = pfc_case_work(c->c) * 1e9;
    pfc_measurement *m = add_measurement(run, c, "time_ns", "ns", false);

    if (c->status != PFC_STATUS_OK)
        return;
    fill(m, c, 1.0, false);
    add_facts(m, c);
    m = add_measurement(run, c, c->c->op->metric, c->c->op->unit, true);
    fill(m, c, scale, true);
    if (c->backend->exact)
        add_exact(run, c);
}

pfc_code pfc_suite_estimate(const pfc_suite *suite, const pfc_backends *backends,
                            const pfc_measure_opts *opts, double *seconds, size_t *count,
                            pfc_err *err)
{
    cells all = { 0 };
    double sum = 0.0;
    size_t n = 0;
    pfc_code code = select_cells(suite, backends, opts, &all, err);

    for (size_t i = 0; !code && i < all.len; i++) {
        sum += cell_estimate(&all.items[i]);
        n += !all.items[i].done;
    }
    cells_clear(&all);
    if (code)
        return code;
    *seconds = sum;
    *count = n;
    return PFC_OK;
}

pfc_code pfc_suite_measure(const pfc_suite *suite, const pfc_backends *backends,
                           const pfc_measure_opts *opts, pfc_run *run, pfc_err *err)
{
    cells all = { 0 };
    pfc_code code = select_cells(suite, backends, opts, &all, err);

    run->started_at = pfc_clock_unix_s();
    if (!code)
        code = run_rounds(&all, opts, err);
    run->finished_at = pfc_clock_unix_s();
    if (!code) {
        free(run->suite);
        free(run->suite_hash);
        run->suite = pfc_strdup(suite->name);
        run->suite_hash = pfc_strdup(suite->hash);
        for (size_t i = 0; i < all.len; i++)
            add_cell_measurements(run, &all.items[i]);
        pfc_headline_add(suite, run);
    }
    cells_clear(&all);
    return code;
}

bool pfc_run_is_broken(const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        if (run->measurements[i].status == PFC_STATUS_BROKEN)
            return true;
    }
    return false;
}
