/*
 * The functions whose number of instructions changed, of the session's new builds that differ from
 * the one before: where a decision needs an explanation, and where valgrind is there to count.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/parse.h"
#include "runner/blocks/blocks_priv.h"

/* A change below this part of the largest one is noise of the loader: paths, versions. */
#define SMALL_PART 0.01

/* Does a test say that the build differs from the one before? */
static bool differs(const pfc_blocks_session *s, size_t build)
{
    bool different = false;

    for (size_t i = 0; i < s->series_len && !different; i++) {
        pfc_blocks_fit fit = { 0 };
        const pfc_block_series *series = &s->series[i];

        if (series->dead || series->number == PFC_BLOCKS_NONE)
            continue;
        if (pfc_design_fit(s->design, series->number, &fit, NULL) == PFC_OK)
            for (size_t b = 0; b < fit.boundaries_len; b++)
                different |= fit.boundaries[b].to == build &&
                             fit.boundaries[b].verdict == PFC_VERDICT_DIFFERENT;
        pfc_blocks_fit_clear(&fit);
    }
    return different;
}

static uint64_t size_of(const pfc_function_change *c)
{
    return c->after > c->before ? c->after - c->before : c->before - c->after;
}

/* Keeps what a document may hold, and what is worth a look. */
static void keep_large(pfc_function_delta *d)
{
    const double largest = d->len ? (double)size_of(&d->changes[0]) : 0;
    size_t kept = 0;

    for (size_t i = 0; i < d->len; i++)
        if ((double)size_of(&d->changes[i]) >= SMALL_PART * largest && d->changes[i].name[0] &&
            !pfc_name_control(d->changes[i].name) &&
            pfc_is_utf8(d->changes[i].name, strlen(d->changes[i].name)))
            d->changes[kept++] = d->changes[i];
    d->len = kept;
}

static pfc_code count_pair(pfc_blocks_session *s, const pfc_commit_measure_opts *opts,
                           size_t before, size_t build, pfc_err *err)
{
    pfc_block_commit *c = &s->out->commits[s->builds[build]];
    pfc_functions a = { 0 }, b = { 0 };
    pfc_code code =
        pfc_workspace_count(s->ws, opts, &s->out->commits[s->builds[before]].id, &a, err);

    if (!code)
        code = pfc_workspace_count(s->ws, opts, &c->id, &b, err);
    if (!code) {
        c->functions = pfc_calloc(1, sizeof(*c->functions));
        pfc_functions_compare(&a, &b, c->functions);
        keep_large(c->functions);
    }
    pfc_functions_clear(&a);
    pfc_functions_clear(&b);
    return code;
}

void pfc_blocks_count_functions(pfc_blocks_session *s)
{
    pfc_commit_measure_opts opts = *s->measure;
    size_t before = PFC_BLOCKS_NONE;

    opts.timeout_s = s->opts->functions_s;
    for (size_t i = 0; i < s->len && s->design && opts.measure && !s->stop; i++) {
        pfc_err why = { 0 };

        if (s->dropped[i])
            continue;
        if (before != PFC_BLOCKS_NONE && s->builds[i] >= s->opts->first && differs(s, i)) {
            pfc_blocks_say(s, "[functions] %.12s", s->out->commits[s->builds[i]].id.hex);
            if (count_pair(s, &opts, before, i, &why))
                pfc_log(PFC_INFO, "functions_not_counted", "commit",
                        (const char *)s->out->commits[s->builds[i]].id.hex, "reason",
                        (const char *)why.msg);
        }
        before = i;
    }
}
