/*
 * Measures a suite: rounds of blocks over all benchmarks, adaptive stop, then the run document.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cells.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/stats/sequential.h"
#include "core/trace/run_files.h"

#define LAUNCH_ESTIMATE_S 0.05 /* start, input and check of a small benchmark */
#define MAX_BLOCKS        512  /* of one benchmark on one backend */

/* Relative width of the 95 % interval over the launches so far, valid at all looks together: it is
 * asked after every launch, and an interval for a fixed number, asked again and again, would by
 * chance be narrow too early. Infinite while nothing can be said. */
static double interval_width(const pfc_cell *c)
{
    const pfc_seq_opts opts = { .alpha = 0.05, .paired = true };
    pfc_compare_result r = { .rel_low = -1.0, .rel_high = (double)INFINITY };
    pfc_seq seq;

    if (pfc_seq_init(&seq, &opts, NULL))
        return (double)INFINITY;
    for (size_t b = 0; b < c->blocks_len; b++) {
        const double median = pfc_stats_median(c->blocks[b].samples, c->blocks[b].len);
        if (pfc_seq_pair(&seq, 1.0, median, NULL))
            break;
    }
    pfc_seq_result(&seq, &r);
    pfc_seq_clear(&seq);
    return isfinite(r.rel_high) ? (r.rel_high - r.rel_low) / (1.0 + r.rel_change)
                                : (double)INFINITY;
}

static bool enough(const pfc_cell *c)
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

/* Marks the first PFC_RUN_TRACES_MAX cells whose backend can write a trace. */
static void choose_traced(pfc_cells *all, const pfc_measure_opts *opts)
{
    size_t n = 0;

    for (size_t i = 0; opts->traces && i < all->len && n < PFC_RUN_TRACES_MAX; i++) {
        pfc_cell *c = &all->items[i];

        c->traced = !c->done && c->backend->exact && c->backend->ops->trace;
        n += c->traced;
    }
}

/* Sets spec->trace to the file of the cell's trace and makes its folder. A benchmark whose name
 * cannot be a path gets none. */
static pfc_code name_trace(const pfc_cell *c, const char *dir, pfc_block_spec *spec, pfc_err *err)
{
    char *file = pfc_run_trace_file(c->c->name, c->backend_name);
    char *path = file ? pfc_fs_join(dir, file) : NULL;
    char *folder = path ? pfc_strndup(path, (size_t)(strrchr(path, '/') - path)) : NULL;
    pfc_code code = folder ? pfc_fs_mkdirs(folder, 0755, err) : PFC_OK;

    if (!code && path && strlen(path) < sizeof(spec->trace))
        memcpy(spec->trace, path, strlen(path) + 1);
    free(folder);
    free(path);
    free(file);
    return code;
}

static pfc_code one_block(pfc_cell *c, const pfc_measure_opts *opts, pfc_err *err)
{
    const pfc_case_settings *s = &c->c->settings;
    const double processes = (double)s->processes;
    pfc_block_spec spec = {
        .c = c->c,
        .backend = c->backend_name,
        .seed = opts->seed ? opts->seed : 1,
        .samples = (size_t)((s->min_samples + s->processes - 1) / s->processes),
        .max_seconds = s->max_seconds / processes,
        .warmup_seconds = fmin(s->warmup_seconds, s->max_seconds / processes),
        .launch_seconds = s->launch_seconds,
        .check = c->blocks_len == 0,
        .cpu = opts->cpu,
    };
    pfc_block block = { 0 };
    pfc_code code = PFC_OK;

    if (opts->counters)
        snprintf(spec.counters, sizeof(spec.counters), "%s", opts->counters);
    if (c->traced)
        code = name_trace(c, opts->traces, &spec, err);
    if (!code)
        code = opts->block(opts->block_arg, &spec, &block, err);
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

static double cell_estimate(const pfc_cell *c)
{
    const pfc_case_settings *s = &c->c->settings;

    if (c->done)
        return 0.0;
    if (c->backend->exact)
        return LAUNCH_ESTIMATE_S;
    return s->max_seconds * (1.0 + 1.0 / (double)s->processes) +
           LAUNCH_ESTIMATE_S * (double)s->processes;
}

static void tell(const pfc_cells *all, const pfc_cell *now, double started, double estimate,
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

/* Ends a benchmark whose time is over. It keeps its samples; without any it is skipped with the
 * reason. */
static void end_by_budget(pfc_cell *c, double budget_s)
{
    c->done = true;
    if (c->blocks_len > 0)
        return;
    c->status = PFC_STATUS_SKIPPED;
    c->reason = pfc_format("the suite's budget of %.0f s was spent (max_total_seconds)", budget_s);
}

static pfc_code run_rounds(pfc_cells *all, double budget_s, const pfc_measure_opts *opts,
                           pfc_err *err)
{
    const double started = (double)pfc_clock_ns() * 1e-9;
    double estimate = 0.0;
    bool more = true;

    for (size_t i = 0; i < all->len; i++)
        estimate += cell_estimate(&all->items[i]);
    if (budget_s > 0.0)
        estimate = fmin(estimate, budget_s);
    while (more) {
        more = false;
        for (size_t i = 0; i < all->len; i++) {
            pfc_cell *c = &all->items[i];
            pfc_code code;
            if (!c->done && budget_s > 0.0 && (double)pfc_clock_ns() * 1e-9 - started >= budget_s)
                end_by_budget(c, budget_s);
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

pfc_code pfc_suite_estimate(const pfc_suite *suite, const pfc_backends *backends,
                            const pfc_measure_opts *opts, double *seconds, size_t *count,
                            pfc_err *err)
{
    pfc_cells all = { 0 };
    double sum = 0.0;
    size_t n = 0;
    pfc_code code = pfc_cells_select(suite, backends, opts, &all, err);

    for (size_t i = 0; !code && i < all.len; i++) {
        sum += cell_estimate(&all.items[i]);
        n += !all.items[i].done;
    }
    pfc_cells_clear(&all);
    if (code)
        return code;
    *seconds = suite->max_total_seconds > 0.0 ? fmin(sum, suite->max_total_seconds) : sum;
    *count = n;
    return PFC_OK;
}

pfc_code pfc_suite_measure(const pfc_suite *suite, const pfc_backends *backends,
                           const pfc_measure_opts *opts, pfc_run *run, pfc_err *err)
{
    pfc_cells all = { 0 };
    pfc_code code = pfc_cells_select(suite, backends, opts, &all, err);

    run->started_at = pfc_clock_unix_s();
    if (!code) {
        choose_traced(&all, opts);
        code = run_rounds(&all, suite->max_total_seconds, opts, err);
    }
    run->finished_at = pfc_clock_unix_s();
    if (!code) {
        pfc_run_take_suite(run, suite);
        for (size_t i = 0; i < all.len; i++)
            pfc_cell_document(run, &all.items[i]);
        pfc_headline_add(suite, run);
    }
    pfc_cells_clear(&all);
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
