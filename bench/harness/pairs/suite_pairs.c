/* A suite of pairs, and the two run documents that come of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cells.h"
#include "bench/harness/pairs/pairs.h"
#include "core/base/clock.h"

static const char *verdict_name(pfc_verdict verdict)
{
    switch (verdict) {
    case PFC_VERDICT_SAME:
        return "same";
    case PFC_VERDICT_DIFFERENT:
        return "different";
    case PFC_VERDICT_INCONCLUSIVE:
        break;
    }
    return "inconclusive";
}

/* One side's samples as blocks of a cell, a launch a block. If one side has no
 * result, both get the reason, which names that side. */
static void fill_side(pfc_cell *cell, const pfc_pair_result *p, const double *samples)
{
    size_t at = 0;

    cell->status = p->status;
    if (p->status != PFC_STATUS_OK) {
        cell->reason = pfc_strdup(p->reason);
        return;
    }
    cell->seconds = p->seconds;
    for (size_t i = 0; i < p->launches; i++) {
        pfc_block *block;

        cell->blocks =
            pfc_grow(cell->blocks, cell->blocks_len, &cell->blocks_cap, sizeof(*cell->blocks));
        block = &cell->blocks[cell->blocks_len++];
        *block =
            (pfc_block){ .len = p->blocks[i], .batch = p->calls, .steady = true, .fifo = p->fifo };
        snprintf(block->clock, sizeof(block->clock), "%s",
                 p->cpu_clock ? "thread-cpu" : "monotonic");
        block->samples = pfc_calloc(block->len, sizeof(*block->samples));
        memcpy(block->samples, samples + at, block->len * sizeof(*samples));
        at += block->len;
        cell->samples_len += block->len;
    }
}

typedef struct fact {
    const char *name;
    double value;
} fact;

static void add_facts(pfc_measurement *m, const fact *facts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        pfc_extra_set(m, facts[i].name, facts[i].value);
}

/* A change of time, as one of the metric: a throughput falls as time grows. */
static double of_metric(const pfc_measurement *m, double change)
{
    return m->higher_is_better ? 1.0 / (1.0 + change) - 1.0 : change;
}

/* Adds the result of the pairs to a measurement of B. */
static void annotate(pfc_measurement *m, const pfc_pair_result *p, size_t max_pairs)
{
    const double low = m->higher_is_better ? p->rel_high : p->rel_low;
    const double high = m->higher_is_better ? p->rel_low : p->rel_high;
    const fact said[] = {
        { "pair_rel_change", of_metric(m, p->rel_change) },
        { "pair_rel_low", of_metric(m, low) },
        { "pair_rel_high", of_metric(m, high) },
        { "pair_p", p->p },
        { "pair_noise_rel", p->noise_rel },
        { "pair_min_rel", of_metric(m, p->min_rel) },
        { "pair_preempted", (double)p->preempted },
        { "pairs", (double)p->pairs },
        { "pair_launches", (double)p->launches },
        { "pair_confirmations", (double)p->confirmations },
    };
    pfc_pair_noise noise;

    pfc_labels_set(&m->extra, "pair_verdict", verdict_name(p->verdict));
    add_facts(m, said, PFC_ARRAY_LEN(said));
    if (pfc_noise_of(p, max_pairs, &noise, NULL))
        return;
    const fact study[] = {
        { "pair_sample_noise_rel", noise.sample_rel },
        { "pair_autocorrelation", noise.autocorrelation },
        { "pair_unpaired_noise_rel", noise.unpaired_rel },
        { "pair_ratio_autocorrelation", noise.ratio_autocorrelation },
        { "pair_detectable_rel", noise.detectable_rel },
        { "pairs_1pct", noise.pairs_1pct },
        { "pairs_half_pct", noise.pairs_half_pct },
    };
    add_facts(m, study, PFC_ARRAY_LEN(study));
    pfc_labels_set(&m->extra, "pair_gates", noise.gates ? "true" : "false");
}

static pfc_code pair_timed(const pfc_side *a, const pfc_side *b, const pfc_cell *cell,
                           const pfc_paired_opts *opts, pfc_run *run_a, pfc_run *run_b,
                           pfc_err *err)
{
    pfc_cell sides[2] = { *cell, *cell };
    pfc_pair_result p;
    size_t from;
    pfc_code code = pfc_paired_run(a, b, cell->c, cell->backend_name, opts, &p, err);

    if (!code) {
        fill_side(&sides[0], &p, p.a);
        fill_side(&sides[1], &p, p.b);
        pfc_cell_document(run_a, &sides[0]);
        from = run_b->measurements_len;
        pfc_cell_document(run_b, &sides[1]);
        for (size_t i = from; p.status == PFC_STATUS_OK && i < run_b->measurements_len; i++)
            annotate(&run_b->measurements[i], &p, PFC_PAIRS_DEFAULT);
    }
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < sides[i].blocks_len; k++)
            pfc_block_clear(&sides[i].blocks[k]);
        free(sides[i].blocks);
        free(sides[i].reason);
    }
    pfc_paired_clear(&p);
    return code;
}

/* One block a side answers: counted, not timed. */
static pfc_code once(const pfc_side *side, const pfc_cell *cell, const pfc_paired_opts *opts,
                     pfc_run *run, pfc_err *err)
{
    const pfc_block_spec spec = { .c = cell->c,
                                  .backend = cell->backend_name,
                                  .seed = opts->seed ? opts->seed : 1,
                                  .samples = 1,
                                  .max_seconds = 1.0,
                                  .check = true,
                                  .cpu = -1 };
    pfc_cell mine = *cell;
    pfc_block block = { 0 };
    pfc_code code = side->block(side->block_arg, &spec, &block, err);

    if (code)
        return code;
    mine.status = block.status;
    mine.reason = block.reason;
    mine.blocks = &block;
    mine.blocks_len = block.status == PFC_STATUS_OK;
    mine.samples_len = block.len;
    pfc_cell_document(run, &mine);
    pfc_block_clear(&block);
    return PFC_OK;
}

static void tell(const pfc_cells *all, size_t done, int64_t started, const pfc_measure_opts *opts)
{
    const pfc_cell *now = done < all->len ? &all->items[done] : NULL;
    const double elapsed = (double)(pfc_clock_ns() - started) * 1e-9;
    const pfc_progress at = { .done = done,
                              .total = all->len,
                              .elapsed_s = elapsed,
                              /* the duration of a benchmark is unknown before it runs */
                              .estimate_s = done ? elapsed * (double)all->len / (double)done
                                                 : 10.0 * (double)all->len,
                              .benchmark = now ? now->c->name : "",
                              .backend = now ? now->backend_name : "" };

    if (opts->progress)
        opts->progress(opts->progress_arg, &at);
}

static pfc_code pair_cell(const pfc_side *a, const pfc_side *b, const pfc_cell *cell,
                          const pfc_paired_opts *opts, pfc_run *run_a, pfc_run *run_b, pfc_err *err)
{
    pfc_code code;

    if (cell->done) { /* skipped here already */
        pfc_cell_document(run_a, cell);
        pfc_cell_document(run_b, cell);
        return PFC_OK;
    }
    if (!cell->backend->exact)
        return pair_timed(a, b, cell, opts, run_a, run_b, err);
    code = once(a, cell, opts, run_a, err);
    return code ? code : once(b, cell, opts, run_b, err);
}

static void head(const pfc_suite *suite, double started_at, pfc_run *run)
{
    free(run->suite);
    free(run->suite_hash);
    run->suite = pfc_strdup(suite->name);
    run->suite_hash = pfc_strdup(suite->hash);
    run->started_at = started_at;
    run->finished_at = pfc_clock_unix_s();
    pfc_headline_add(suite, run);
}

pfc_code pfc_suite_pair(const pfc_suite *suite, const pfc_backends *backends,
                        const pfc_side sides[2], const pfc_measure_opts *measure,
                        const pfc_paired_opts *opts, pfc_run *const runs[2], pfc_err *err)
{
    const double started_at = pfc_clock_unix_s();
    const int64_t started = pfc_clock_ns();
    pfc_cells all = { 0 };
    pfc_code code = pfc_cells_select(suite, backends, measure, &all, err);

    for (size_t i = 0; !code && i < all.len; i++) {
        tell(&all, i, started, measure);
        code = pair_cell(&sides[0], &sides[1], &all.items[i], opts, runs[0], runs[1], err);
    }
    if (!code) {
        tell(&all, all.len, started, measure);
        head(suite, started_at, runs[0]);
        head(suite, started_at, runs[1]);
    }
    pfc_cells_clear(&all);
    return code;
}
