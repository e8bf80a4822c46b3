/*
 * A session of blocks: from commits to a run of each.
 */
#include "runner/blocks/blocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "runner/blocks/blocks_priv.h"
#include "runner/measure/canary.h"

static double seconds_since(int64_t ns)
{
    return (double)(pfc_clock_ns() - ns) * 1e-9;
}

static pfc_block_commit *commit_of(const pfc_blocks_session *s, size_t build)
{
    return &s->out->commits[s->builds[build]];
}

static size_t alive(const pfc_blocks_session *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++)
        n += !s->dropped[i];
    return n;
}

/* ---- one visit ---- */

static void drop(pfc_blocks_session *s, size_t build, pfc_outcome *outcome)
{
    pfc_block_commit *c = commit_of(s, build);

    c->status = PFC_BLOCK_BROKEN;
    c->code = outcome->refused                         ? PFC_EINVAL
              : outcome->kind == PFC_OUTCOME_TIMED_OUT ? PFC_ETIMEOUT
                                                       : PFC_EBROKEN;
    (void)snprintf(c->reason, sizeof(c->reason), "%s", outcome->reason);
    (void)snprintf(c->hint, sizeof(c->hint), "%s", outcome->hint);
    /* Values before it broke would pass for those of a commit that works. */
    pfc_run_free(c->run);
    c->run = outcome->run;
    outcome->run = NULL;
    c->visits = 0;
    s->dropped[build] = true;
    if (s->design)
        pfc_design_drop(s->design, build);
}

/* Measures once, and a second time if the failure was not caused by the commit. */
static pfc_code measure(pfc_blocks_session *s, size_t build, const pfc_benchmark_filter *wanted,
                        pfc_outcome *outcome, pfc_err *err)
{
    const pfc_block_commit *c = commit_of(s, build);
    pfc_code code = pfc_workspace_measure_some(s->ws, s->measure, wanted, &c->id, 0, outcome, err);

    if (code || outcome->kind != PFC_OUTCOME_FAILED || outcome->unavailable)
        return code;
    pfc_log(PFC_INFO, "visit_repeated", "commit", c->id.hex, "reason",
            (const char *)outcome->reason);
    pfc_outcome_clear(outcome);
    return pfc_workspace_measure_some(s->ws, s->measure, wanted, &c->id, 0, outcome, err);
}

static pfc_code visit(pfc_blocks_session *s, const pfc_benchmark_filter *wanted, pfc_block_visit *v,
                      pfc_err *err)
{
    const int64_t from_ns = pfc_clock_ns();
    pfc_outcome outcome = { 0 };
    pfc_code code = measure(s, v->build, wanted, &outcome, err);

    if (code)
        return code;
    if (outcome.kind == PFC_OUTCOME_CANCELLED || outcome.unavailable) {
        s->stop = true;
        s->out->cancelled = outcome.kind == PFC_OUTCOME_CANCELLED;
        (void)snprintf(s->out->ended, sizeof(s->out->ended), "%s",
                       outcome.unavailable ? outcome.reason : "interrupted");
        pfc_outcome_clear(&outcome);
        return PFC_OK;
    }
    if (s->design)
        pfc_design_spent(s->design, v->build, seconds_since(from_ns));
    if (outcome.kind == PFC_OUTCOME_MEASURED) {
        if (!s->out->said[0])
            (void)snprintf(s->out->said, sizeof(s->out->said), "%s", outcome.note);
        v->run = outcome.run;
        outcome.run = NULL;
    } else {
        drop(s, v->build, &outcome);
    }
    pfc_outcome_clear(&outcome);
    return PFC_OK;
}

/* ---- one block ---- */

static void say_place(const pfc_blocks_session *s, const pfc_design_block *b, size_t at)
{
    const double spent = seconds_since(s->began_ns);
    char limit[48] = "";

    if (s->opts->budget_s > 0)
        (void)snprintf(limit, sizeof(limit), " of %.0f", ceil(s->opts->budget_s / 60));
    pfc_blocks_say(s, "[block %u] %.7s (%zu of %zu), %.0f min%s", b->number + 1,
                   commit_of(s, b->builds[at])->id.hex, at + 1, b->len, floor(spent / 60), limit);
}

/* A build that was never visited may bring series that are not known yet. */
static bool all_known(const pfc_blocks_session *s, const pfc_design_block *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (!commit_of(s, b->builds[i])->visits)
            return false;
    return true;
}

static pfc_code measure_block(pfc_blocks_session *s, const pfc_design_block *b,
                              pfc_block_visit *visits, pfc_err *err)
{
    static const pfc_benchmark_filter everything = { 0 };
    pfc_benchmark_filter wanted = s->opts->wanted ? *s->opts->wanted : everything;
    const char *backend = NULL;
    char *filter = s->measure->measure || !all_known(s, b) ? NULL : pfc_blocks_narrow(s, &backend);
    pfc_code code = PFC_OK;

    if (filter)
        wanted.filter = filter;
    if (backend) {
        wanted.backends = &backend;
        wanted.backends_len = 1;
    }
    for (size_t i = 0; i < b->len && !code && !s->stop; i++) {
        visits[i] = (pfc_block_visit){ .build = b->builds[i], .at = { b->number, (uint32_t)i } };
        say_place(s, b, i);
        code = visit(s, &wanted, &visits[i], err);
    }
    free(filter);
    return code;
}

/* Measures a block and keeps its values if it is complete. */
static pfc_code take_block(pfc_blocks_session *s, const pfc_design_block *b, pfc_err *err)
{
    pfc_block_visit visits[PFC_BLOCK_BUILDS] = { 0 };
    pfc_code code = measure_block(s, b, visits, err);
    bool any = false;

    for (size_t i = 0; i < b->len && !code && !s->stop; i++) {
        if (!visits[i].run)
            continue;
        code = pfc_blocks_tell(s, &visits[i], err);
        pfc_blocks_keep(s, &visits[i]);
        any = true;
    }
    s->out->blocks += any && !code;
    for (size_t i = 0; i < b->len; i++)
        pfc_run_free(visits[i].run);
    return code;
}

/* ---- which block comes next ---- */

static pfc_code by_design(pfc_blocks_session *s, pfc_err *err)
{
    pfc_design_block block;
    pfc_code code = PFC_OK;

    while (!code && !s->stop && pfc_design_next(s->design, &block))
        code = take_block(s, &block, err);
    return code;
}

/* The builds that are left, dealt evenly to as few blocks as hold them; more than one block: each
 * holds the anchor, which links them. */
static size_t deal(const pfc_blocks_session *s, pfc_design_block *groups)
{
    size_t left[PFC_BLOCKS_MAX_BUILDS];
    const bool linked = alive(s) > PFC_BLOCK_BUILDS && !s->dropped[s->anchor];
    const size_t room = PFC_BLOCK_BUILDS - linked;
    size_t len = 0, at = 0, count;

    for (size_t i = 0; i < s->len; i++)
        if (!s->dropped[i] && !(linked && i == s->anchor))
            left[len++] = i;
    count = (len + room - 1) / room;
    for (size_t g = 0; g < count; g++) {
        const size_t size = len / count + (g < len % count);

        groups[g] = (pfc_design_block){ .len = 0 };
        if (linked)
            groups[g].builds[groups[g].len++] = s->anchor;
        for (size_t i = 0; i < size; i++)
            groups[g].builds[groups[g].len++] = left[at++];
    }
    return count;
}

static pfc_code one_round(pfc_blocks_session *s, pfc_rng *rng, uint32_t *number, pfc_err *err)
{
    pfc_design_block groups[PFC_BLOCKS_MAX_BUILDS / (PFC_BLOCK_BUILDS - 1) + 1];
    const size_t count = deal(s, groups);
    pfc_code code = PFC_OK;

    for (size_t g = 0; g < count && !code && !s->stop; g++) {
        pfc_design_block back = { 0 };

        pfc_rng_shuffle(rng, groups[g].builds, groups[g].len);
        groups[g].number = (*number)++;
        back.number = (*number)++;
        code = take_block(s, &groups[g], err);
        for (size_t i = groups[g].len; i-- > 0;)
            if (!s->dropped[groups[g].builds[i]])
                back.builds[back.len++] = groups[g].builds[i];
        if (!code && !s->stop)
            code = take_block(s, &back, err);
    }
    return code;
}

static pfc_code ask(pfc_blocks_session *s, bool *done, pfc_err *err)
{
    pfc_run *runs[PFC_BLOCKS_MAX_BUILDS];
    size_t len = 0;

    for (size_t i = 0; i < s->out->len; i++)
        if (s->out->commits[i].status == PFC_BLOCK_MEASURED && s->out->commits[i].run)
            runs[len++] = s->out->commits[i].run;
    return s->opts->decided(s->opts->decided_arg, runs, len, done, err);
}

/* Only whole rounds are measured. The duration of the next one is estimated by the mean so far. */
static pfc_code by_rounds(pfc_blocks_session *s, pfc_err *err)
{
    const double budget_s = s->opts->budget_s;
    uint32_t number = 0;
    bool done = false;
    pfc_code code = PFC_OK;
    pfc_rng rng;

    pfc_rng_seed(&rng, s->opts->seed);
    for (size_t n = 0; !code && !s->stop && !done && alive(s) > 1; n++) {
        const double spent = seconds_since(s->began_ns);

        if ((s->opts->exact_rounds && n == s->opts->exact_rounds) ||
            (n && budget_s > 0 && spent + spent / (double)n > budget_s))
            break;
        code = one_round(s, &rng, &number, err);
        if (!code && !s->stop && s->opts->decided && alive(s) == s->len)
            code = ask(s, &done, err);
    }
    return code;
}

/* ---- the end ---- */

static void finish_run(pfc_blocks_session *s, pfc_block_commit *c)
{
    pfc_run *run = c->run;
    const pfc_block_commit *base = &s->out->commits[s->opts->first - 1];

    /* A clock that steps must not make a run that ends before it began. */
    run->finished_at = PFC_MAX(run->finished_at, run->started_at);
    run->infra = run->infra && s->opts->mark_infra;
    free(run->session_id);
    free(run->session_anchor);
    free(run->session_base);
    run->session_id = pfc_strdup(s->out->session);
    run->session_anchor = pfc_strdup(s->out->commits[s->out->anchor].id.hex);
    run->session_base = pfc_strdup(base->id.hex);
    pfc_built_mark(&c->built, run);
}

static void say_needs(pfc_blocks_session *s)
{
    for (size_t i = 0; i < s->len; i++) {
        const double needs_s = s->design ? pfc_design_needs_s(s->design, i) : (double)NAN;

        if (s->builds[i] >= s->opts->first)
            commit_of(s, i)->needs_s = isfinite(needs_s) ? needs_s : (double)NAN;
    }
}

static void end_canary(pfc_blocks_session *s, pfc_canary *canary)
{
    pfc_run *runs[PFC_BLOCKS_MAX_BUILDS];
    pfc_canary_look look;
    size_t len = 0;

    (void)snprintf(s->out->canary_reason, sizeof(s->out->canary_reason), "%s", canary->reason);
    for (size_t i = 0; i < s->out->len; i++)
        if (s->out->commits[i].run && s->out->commits[i].status == PFC_BLOCK_MEASURED)
            runs[len++] = s->out->commits[i].run;
    s->out->canary_moved = pfc_canary_end(canary, runs, len, &look);
    s->out->canary_read = look.read;
}

/* Makes the session's result from its blocks. */
static pfc_code finish(pfc_blocks_session *s, pfc_err *err)
{
    pfc_blocks_result *out = s->out;
    const pfc_block_commit *refused = NULL;
    size_t runs = 0;

    out->spent_s = seconds_since(s->began_ns);
    out->finished_at = out->started_at + out->spent_s;
    if (out->commits[out->anchor].status == PFC_BLOCK_BROKEN)
        out->anchor = s->opts->first - 1;
    say_needs(s);
    for (size_t i = 0; i < out->len; i++) {
        pfc_block_commit *c = &out->commits[i];

        runs += c->run != NULL;
        if (c->status == PFC_BLOCK_BROKEN && c->code == PFC_EINVAL)
            refused = c;
        if (c->status == PFC_BLOCK_MEASURED && !c->run) {
            c->status = PFC_BLOCK_NOT_MEASURED;
            (void)snprintf(c->reason, sizeof(c->reason), "%s",
                           s->stop        ? s->out->ended
                           : !out->blocks ? "there is no build to measure it against"
                                          : "the budget was spent before its first block");
        }
        if (c->run)
            finish_run(s, c);
    }
    if (!runs && refused) {
        (void)pfc_err_set(err, PFC_EINVAL, "%s", refused->reason);
        return refused->hint[0] ? pfc_err_hint(err, "%s", refused->hint) : PFC_EINVAL;
    }
    if (s->stop && !out->blocks)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s", s->out->ended);
    return PFC_OK;
}

/* ---- the whole session ---- */

static pfc_code check(const pfc_blocks_run_opts *o, pfc_err *err)
{
    if (o->len < 2 || o->len > PFC_BLOCKS_MAX_BUILDS)
        return pfc_err_set(err, PFC_EINVAL, "blocks: expected 2..%d commits, got %zu",
                           PFC_BLOCKS_MAX_BUILDS, o->len);
    if (o->first < 1 || o->first > o->len || o->anchor >= o->first)
        return pfc_err_set(err, PFC_EINVAL,
                           "blocks: expected anchor < first <= %zu, got anchor %zu, first %zu",
                           o->len, o->anchor, o->first);
    return PFC_OK;
}

/* Boundaries over commits that were judged before: of a commit that does not build, too. One that
 * is identical to its predecessor parts nothing. */
static void find_gaps(const pfc_blocks_session *s, bool *gap)
{
    for (size_t i = 1; i < s->len && s->opts->known; i++) {
        for (size_t c = s->builds[i - 1] + 1; c <= s->builds[i]; c++)
            gap[i] |= s->opts->known[c] && s->out->commits[c].status != PFC_BLOCK_IDENTICAL;
    }
}

static pfc_code open_design(pfc_blocks_session *s, pfc_err *err)
{
    const pfc_blocks_run_opts *o = s->opts;
    bool gap[PFC_BLOCKS_MAX_BUILDS] = { false };
    const pfc_design_opts opts = { .builds = s->len,
                                   .anchor = s->anchor,
                                   .first = s->first,
                                   .gap = gap,
                                   .margin = o->margin,
                                   .budget_s = o->budget_s,
                                   .all = o->all,
                                   .seed = o->seed };

    find_gaps(s, gap);
    return o->exact_rounds || o->decided ? PFC_OK : pfc_design_new(&opts, &s->design, err);
}

static pfc_code measure_all(pfc_blocks_session *s, pfc_err *err)
{
    pfc_canary canary = { 0 };
    pfc_code code = open_design(s, err);

    if (code)
        return code;
    if (s->measure->measure)
        pfc_canary_begin(&canary, NULL);
    s->began_ns = pfc_clock_ns();
    code = s->design ? by_design(s, err) : by_rounds(s, err);
    if (!code && s->measure->measure)
        end_canary(s, &canary);
    pfc_canary_clear(&canary);
    return code;
}

pfc_code pfc_blocks_measure(pfc_workspace *ws, const pfc_commit_measure_opts *measure_opts,
                            const pfc_blocks_run_opts *opts, pfc_blocks_result *out, pfc_err *err)
{
    pfc_blocks_session s = { .ws = ws, .measure = measure_opts, .opts = opts, .out = out };
    pfc_code code = check(opts, err);

    *out = (pfc_blocks_result){ 0 };
    if (code)
        return code;
    pfc_random_id(out->session);
    out->anchor = opts->anchor;
    out->len = opts->len;
    out->commits = pfc_calloc(out->len, sizeof *out->commits);
    for (size_t i = 0; i < out->len; i++)
        out->commits[i].id = opts->commits[i];
    code = pfc_blocks_prepare(&s, err);
    out->started_at = pfc_clock_unix_s();
    s.began_ns = pfc_clock_ns();
    /* Without a new build there is nothing to judge, so the base is not measured either. */
    if (!code && s.len > 1 && (s.builds[s.len - 1] >= opts->first || opts->first == opts->len))
        code = measure_all(&s, err);
    if (!code)
        code = finish(&s, err);
    if (!code && opts->functions_s > 0)
        pfc_blocks_count_functions(&s);
    pfc_blocks_series_clear(&s);
    pfc_design_free(s.design);
    return code;
}

void pfc_blocks_result_clear(pfc_blocks_result *result)
{
    for (size_t i = 0; i < result->len; i++) {
        pfc_run_free(result->commits[i].run);
        pfc_built_clear(&result->commits[i].built);
        free(result->commits[i].functions);
    }
    free(result->commits);
    *result = (pfc_blocks_result){ 0 };
}
