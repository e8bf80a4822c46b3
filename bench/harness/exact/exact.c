/* A suite counted instead of timed. */
#include "bench/harness/exact/exact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cells.h"
#include "core/base/clock.h"

pfc_code pfc_counted_run(const pfc_backend *backend, const pfc_block_spec *spec, pfc_err *err)
{
    void *inst = NULL;
    pfc_code code;

    if (backend->missing[0])
        return pfc_err_set(err, PFC_EUNAVAIL, "%s", backend->missing);
    code = backend->ops->open(backend, spec->c, spec->seed, &inst, err);
    if (code)
        return code;
    backend->ops->run(inst, 1);
    pfc_counted_call(backend, inst);
    backend->ops->close(inst);
    return PFC_OK;
}

static pfc_block_spec spec_of(const pfc_cell *c, const pfc_measure_opts *opts)
{
    return (pfc_block_spec){ .c = c->c,
                             .backend = c->backend_name,
                             .seed = opts->seed ? opts->seed : 1,
                             .samples = 1,
                             .max_seconds = 1e-4,
                             .check = true,
                             .cpu = opts->cpu };
}

/* Takes `reason`. */
static void end_cell(pfc_cell *c, pfc_status status, char *reason)
{
    c->status = status;
    c->reason = reason;
    c->done = true;
}

/* The benchmark at full speed: is its result right? An exact backend's counts come with it. */
static pfc_code check(pfc_cell *c, const pfc_block_spec *spec, const pfc_measure_opts *opts,
                      pfc_err *err)
{
    pfc_block block = { 0 };
    pfc_code code = opts->block(opts->block_arg, spec, &block, err);

    if (code)
        return code;
    if (block.status != PFC_STATUS_OK) {
        end_cell(c, block.status, pfc_strdup(block.reason));
        pfc_block_clear(&block);
        return PFC_OK;
    }
    c->blocks = pfc_grow(c->blocks, c->blocks_len, &c->blocks_cap, sizeof(*c->blocks));
    c->blocks[c->blocks_len++] = block;
    c->samples_len = block.len;
    c->done = c->backend->exact;
    return PFC_OK;
}

static pfc_code count_twice(pfc_cell *c, const pfc_block_spec *spec, pfc_count_fn count, void *arg,
                            pfc_call_counts *out, pfc_err *err)
{
    pfc_call_counts again = { 0 };
    pfc_err inner = { 0 };
    pfc_code code = count(arg, spec, out, &inner);

    if (!code)
        code = count(arg, spec, &again, &inner);
    if (code == PFC_EUNAVAIL || code == PFC_EBROKEN) {
        end_cell(c, code == PFC_EBROKEN ? PFC_STATUS_BROKEN : PFC_STATUS_SKIPPED,
                 pfc_strdup(inner.msg));
        return PFC_OK;
    }
    if (code)
        return pfc_err_set(err, code, "%s", inner.msg);
    if (memcmp(out, &again, sizeof(again)) != 0)
        end_cell(c, PFC_STATUS_BROKEN,
                 pfc_format("two exact counts differ: %llu and %llu instructions, %llu and %llu "
                            "reads, %llu and %llu writes",
                            (unsigned long long)out->instructions,
                            (unsigned long long)again.instructions, (unsigned long long)out->reads,
                            (unsigned long long)again.reads, (unsigned long long)out->writes,
                            (unsigned long long)again.writes));
    c->done = true;
    return PFC_OK;
}

static void tell(const pfc_cells *all, size_t at, double started, const pfc_measure_opts *opts)
{
    const double elapsed = (double)pfc_clock_ns() * 1e-9 - started;
    const pfc_cell *c = at < all->len ? &all->items[at] : NULL;
    /* There is no budget to estimate from, so the rest is expected to take as long as the part
     * before. */
    const pfc_progress now = { .done = at,
                               .total = all->len,
                               .elapsed_s = elapsed,
                               .estimate_s = at ? elapsed / (double)at * (double)all->len : 0.0,
                               .benchmark = c ? c->c->name : "",
                               .backend = c ? c->backend_name : "" };

    if (opts->progress)
        opts->progress(opts->progress_arg, &now);
}

static pfc_code count_all(pfc_cells *all, pfc_call_counts *counts, const pfc_measure_opts *opts,
                          pfc_count_fn count, void *arg, pfc_err *err)
{
    const double started = (double)pfc_clock_ns() * 1e-9;

    for (size_t i = 0; i < all->len; i++) {
        pfc_cell *c = &all->items[i];
        const pfc_block_spec spec = spec_of(c, opts);
        pfc_code code = PFC_OK;

        if (opts->cancelled && opts->cancelled(opts->cancelled_arg))
            return pfc_err_set(err, PFC_EUNAVAIL, "the measurement was cancelled");
        tell(all, i, started, opts);
        if (!c->done)
            code = check(c, &spec, opts, err);
        if (!code && !c->done)
            code = count_twice(c, &spec, count, arg, &counts[i], err);
        if (code)
            return code;
    }
    tell(all, all->len, started, opts);
    return PFC_OK;
}

static void add(pfc_run *run, const pfc_cell *c, const char *metric, const char *unit, uint64_t n)
{
    pfc_measurement *m = pfc_cell_measurement(run, c, metric, unit, false);

    m->exact = true;
    m->samples = pfc_calloc(1, sizeof(*m->samples));
    m->blocks = pfc_calloc(1, sizeof(*m->blocks));
    m->samples[m->samples_len++] = (double)n;
    m->blocks[m->blocks_len++] = 1;
    pfc_labels_set(&m->extra, "counted_by", "callgrind");
}

static void document(pfc_run *run, const pfc_cell *c, const pfc_call_counts *n)
{
    if (c->backend && c->backend->exact) {
        pfc_cell_document(run, c);
        return;
    }
    if (c->status != PFC_STATUS_OK) {
        (void)pfc_cell_measurement(run, c, "instructions", "instructions", false);
        return;
    }
    add(run, c, "instructions", "instructions", n->instructions);
    add(run, c, "data_reads", "accesses", n->reads);
    add(run, c, "data_writes", "accesses", n->writes);
}

pfc_code pfc_suite_count(const pfc_suite *suite, const pfc_backends *backends,
                         const pfc_measure_opts *opts, pfc_count_fn count, void *count_arg,
                         pfc_run *run, pfc_err *err)
{
    pfc_cells all = { 0 };
    pfc_call_counts *counts = NULL;
    pfc_code code = pfc_cells_select(suite, backends, opts, &all, err);

    run->started_at = pfc_clock_unix_s();
    counts = pfc_calloc(PFC_MAX(all.len, (size_t)1), sizeof(*counts));
    if (!code)
        code = count_all(&all, counts, opts, count, count_arg, err);
    run->finished_at = pfc_clock_unix_s();
    if (!code) {
        pfc_run_take_suite(run, suite);
        for (size_t i = 0; i < all.len; i++)
            document(run, &all.items[i], &counts[i]);
    }
    free(counts);
    pfc_cells_clear(&all);
    return code;
}
