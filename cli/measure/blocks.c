/*
 * Measuring several builds in blocks, for nightly, compare and check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comparison/document_pairs.h"
#include "cli/measure/measure.h"

static void show(void *arg, const char *line)
{
    pfc_cli_progress(((const pfc_take *)arg)->cli, "%s", line);
}

pfc_code pfc_take_blocks(pfc_take *t, const pfc_blocks_run_opts *opts, pfc_blocks_result *out,
                         pfc_err *err)
{
    const pfc_benchmark_filter wanted = pfc_take_select(t->opts);
    pfc_blocks_run_opts o = *opts;
    pfc_code code = pfc_take_workspace(t, o.len + o.anchors_len, err);

    *out = (pfc_blocks_result){ 0 };
    o.conf = &t->conf;
    o.wanted = &wanted;
    o.progress = show;
    o.progress_arg = t;
    t->measure.backend = NULL;
    if (!code)
        code = pfc_blocks_measure(t->ws, &t->measure, &o, out, err);
    pfc_cli_progress(t->cli, "%s", "");
    if (code)
        return code;
    if (out->said[0] && !t->noted)
        pfc_cli_note(t->cli, "%s", out->said);
    t->noted = t->noted || out->said[0];
    if (t->measure.measure && out->blocks && !out->canary_read && !t->no_canary) {
        pfc_cli_note(t->cli, "no canary: %s; a machine that changes its speed is not noticed",
                     out->canary_reason);
        t->no_canary = true;
    }
    return PFC_OK;
}

/* ---- two of them ---- */

typedef struct pair {
    const pfc_take_rounds *stop;
    size_t rounds;
} pair;

/* The letters of all turns, in the order of time: each visit of either side is one. */
static void put_order(pfc_run *const *runs, pfc_buf *out)
{
    char letters[2 * 2 * PFC_TAKE_MAX_REPEATS + 1] = { 0 };

    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < runs[side]->measurements_len; i++) {
            const pfc_measurement *m = &runs[side]->measurements[i];

            for (size_t k = 0; m->visits && k < m->blocks_len; k++) {
                const size_t at = 2 * (size_t)m->visits[k].block + m->visits[k].position;

                if (at < sizeof(letters) - 1)
                    letters[at] = side ? 'b' : 'a';
            }
        }
    pfc_buf_puts(out, letters);
}

static void mark(pfc_run *const *runs)
{
    pfc_buf order;

    pfc_buf_init(&order, 2 * 2 * PFC_TAKE_MAX_REPEATS + 1);
    put_order(runs, &order);
    for (int i = 0; i < 2; i++)
        pfc_document_pairs_mark(runs[i], i ? 'b' : 'a', runs[0]->session_id, pfc_buf_text(&order));
    pfc_buf_clear(&order);
}

static pfc_code after_round(void *arg, pfc_run *const *runs, size_t len, bool *done, pfc_err *err)
{
    pair *p = arg;

    (void)len;
    p->rounds++;
    mark(runs);
    return p->stop->decided ? p->stop->decided(p->stop->arg, runs[0], runs[1], done, err) : PFC_OK;
}

/* The documents of a pair name their turns, not blocks: it is no session that a service has. */
static void strip(pfc_run *run)
{
    free(run->session_id);
    free(run->session_anchor);
    free(run->session_base);
    run->session_id = run->session_anchor = run->session_base = NULL;
    for (size_t i = 0; i < run->measurements_len; i++) {
        free(run->measurements[i].visits);
        run->measurements[i].visits = NULL;
    }
}

/* Both sides must be measured. */
static pfc_code check_sides(const pfc_blocks_result *r, pfc_err *err)
{
    if (r->ended[0])
        return pfc_err_set(err, PFC_EUNAVAIL, "%s", r->ended);
    for (size_t i = 0; i < 2; i++) {
        const pfc_block_commit *c = &r->commits[i];

        if (c->status != PFC_BLOCK_BROKEN)
            continue;
        (void)pfc_err_set(err, c->code, "%.12s: %s", c->id.hex, c->reason);
        return c->hint[0] ? pfc_err_hint(err, "%s", c->hint) : c->code;
    }
    return PFC_OK;
}

pfc_code pfc_take_pair(pfc_take *t, const pfc_commit_id *a, const pfc_commit_id *b,
                       const pfc_take_rounds *stop, pfc_run **run_a, pfc_run **run_b,
                       size_t *rounds, pfc_err *err)
{
    const pfc_commit_id sides[2] = { *a, *b };
    pair p = { .stop = stop };
    const pfc_blocks_run_opts opts = { .commits = sides,
                                       .len = 2,
                                       .first = 1,
                                       .budget_s = stop->max_s,
                                       .exact_rounds =
                                           stop->most ? stop->most : PFC_TAKE_MAX_REPEATS,
                                       .decided = after_round,
                                       .decided_arg = &p,
                                       .mark_infra = true,
                                       .measure_identical = true,
                                       .seed = t->opts->seed };
    pfc_blocks_result r = { 0 };
    pfc_run *runs[2];
    pfc_code code = pfc_take_blocks(t, &opts, &r, err);

    if (!code)
        code = check_sides(&r, err);
    if (!code) {
        for (int i = 0; i < 2; i++) {
            runs[i] = r.commits[i].run;
            r.commits[i].run = NULL;
        }
        if (r.canary_moved)
            pfc_take_say_moved(t);
        strip(runs[0]);
        strip(runs[1]);
        pfc_document_pairs_mark_canary(runs, 2, r.session);
        *run_a = runs[0];
        *run_b = runs[1];
        *rounds = p.rounds;
    }
    pfc_blocks_result_clear(&r);
    return code;
}
