/*
 * Confirmation: compares each culprit with the commit before it, in new interleaved pairs.
 *
 * The largest step comes first: it is the one that was observed before the bisection. Once it is
 * confirmed, further steps together get little more pairs than it took; those still open then are
 * reported as open and change nothing about the first. When no culprit is confirmed, the pairs of a
 * refuted one become runs of the search: they are the best evidence about these two commits.
 *
 * Kept runs of an earlier call are replayed into the same seeded comparisons, so a kill costs only
 * the run in progress.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/search.h"

enum { CONFIRM_TRIES = 4, REFUTED_MOST = 2 };

/* Pairs of all further steps together, once one is confirmed. */
#define FURTHER_SHARE 1.5 /* times the pairs of that one */
#define FURTHER_LEAST 16

static size_t runs_left(const bisect_session *b)
{
    if (b->opts->max_runs <= 0)
        return 2 * PFC_CONFIRM_PAIRS;
    return b->state.len < (size_t)b->opts->max_runs ? (size_t)b->opts->max_runs - b->state.len : 0;
}

/* Above every build of the search, so that layouts are new. */
static unsigned first_build(const bisect_session *b)
{
    unsigned most = 0;

    for (size_t i = 0; i < b->state.len; i++)
        if (!b->state.runs[i].confirm)
            most = PFC_MAX(most, b->state.runs[i].build);
    return most + 1;
}

/* The kept run of this commit and build, from *cursor on; NULL: it must be measured. */
static const bisect_run *kept(const bisect_session *b, const bisect_run *wanted, size_t *cursor)
{
    for (size_t i = *cursor; i < b->state.len; i++) {
        const bisect_run *run = &b->state.runs[i];

        if (run->confirm && run->commit == wanted->commit && run->build == wanted->build) {
            *cursor = i + 1;
            return run;
        }
    }
    return NULL;
}

typedef struct comparison {
    pfc_confirm *confirm;
    bisect_confirmation *out;
    size_t *cursor; /* in the kept runs */
    size_t failed;  /* runs in a row */
    size_t left;    /* runs that the budget allows */
} comparison;

/* Measures a run of the comparison; *over: the budget or a signal ends it first. */
static pfc_code measure_run(bisect_session *b, comparison *c, bisect_run *run, char *reason,
                            bool *over, pfc_err *err)
{
    bool recorded = false;
    pfc_code code;

    b->interrupted = b->interrupted || pfc_cli_interrupted(NULL);
    *over = c->left == 0 || pfc_cli_interrupted(NULL);
    if (c->left == 0)
        snprintf(c->out->reason, sizeof(c->out->reason), "--max-runs leaves no run for it");
    if (*over)
        return PFC_OK;
    code = bisect_record_run(b, run, reason, &recorded, err);
    *c->cursor = b->state.len;
    *over = !recorded;
    if (code || !recorded)
        return code;
    c->left--;
    bisect_log_run(&b->log, run, reason);
    return PFC_OK;
}

/* One run of a comparison, kept or new. *over: no further one. */
static pfc_code add_run(bisect_session *b, comparison *c, bool *over, pfc_err *err)
{
    pfc_confirm_step step;
    const bisect_run *known;
    bisect_run run = { .confirm = true };
    char reason[PFC_WORKSPACE_REASON_BYTES] = "";
    pfc_code code = PFC_OK;

    *over = !pfc_confirm_next(c->confirm, &step);
    if (*over)
        return PFC_OK;
    run.commit = step.after ? c->out->culprit.last : c->out->culprit.first - 1;
    run.build = step.build;
    known = kept(b, &run, c->cursor);
    if (known)
        run = *known;
    else
        code = measure_run(b, c, &run, reason, over, err);
    if (code || *over)
        return code;
    if (run.kind == PFC_OUTCOME_MEASURED) {
        c->failed = 0;
        return pfc_confirm_add_value(c->confirm, run.value, err);
    }
    if (run.kind == PFC_OUTCOME_FAILED && ++c->failed < CONFIRM_TRIES)
        return PFC_OK;
    snprintf(c->out->reason, sizeof(c->out->reason), "%.12s: %s%s%.120s",
             bisect_id(&b->axis, run.commit), pfc_outcome_name(run.kind), reason[0] ? ": " : "",
             reason);
    *over = true;
    return PFC_OK;
}

/* Compares a culprit in at most `pairs` pairs; `capped`: fewer than the first culprit gets. */
static pfc_code confirm_one(bisect_session *b, bisect_confirmation *out, size_t pairs, bool capped,
                            size_t *cursor, pfc_err *err)
{
    const bisect_run *first = bisect_first_measured(&b->state);
    const bool relink = bisect_builds_relink(&b->builds, b->opts);
    const pfc_confirm_opts opts = {
        .higher_is_better = b->planning.higher_is_better,
        .expected_rel = out->culprit.rel_change,
        .max_pairs = pairs,
        .relink = relink,
        .first_build = relink ? first_build(b) : 0,
        .exact = first && first->exact,
        .seed = out->culprit.last,
    };
    comparison c = { .out = out, .cursor = cursor, .left = runs_left(b) };
    bool over = false;
    pfc_code code = pfc_confirm_new(&c.confirm, &opts, err);

    bisect_session_phase(
        b, "confirming %.12s%s against %.12s, the commit before it, in new interleaved pairs",
        bisect_id(&b->axis, out->culprit.last),
        out->culprit.first == out->culprit.last ? "" : " (the last of its set)",
        bisect_id(&b->axis, out->culprit.first - 1));
    while (!code && !over)
        code = add_run(b, &c, &over, err);
    if (c.confirm)
        pfc_confirm_result_get(c.confirm, &out->result);
    pfc_confirm_free(c.confirm);
    if (!code && capped && out->result.verdict == PFC_CONFIRM_OPEN && out->result.pairs >= pairs)
        snprintf(out->reason, sizeof(out->reason),
                 "further steps get %zu pairs once a larger one is confirmed", pairs);
    return code;
}

/* The culprit with the largest stated change that is not compared yet; NULL: none. */
static bisect_confirmation *largest_left(const bisect_confirmations *all, const bool *done)
{
    bisect_confirmation *best = NULL;

    for (size_t i = 0; i < all->len; i++) {
        bisect_confirmation *c = &all->items[i];

        if (!done[i] && (!best || fabs(c->culprit.rel_change) > fabs(best->culprit.rel_change)))
            best = c;
    }
    return best;
}

typedef struct outcome {
    bool confirmed, refuted; /* any of them */
} outcome;

static pfc_code confirm_all(bisect_session *b, outcome *all, pfc_err *err)
{
    bool *done = pfc_calloc(b->confirmations.len + 1, sizeof(*done));
    size_t cursor = 0;
    size_t left = PFC_CONFIRM_PAIRS;
    bisect_confirmation *c;
    pfc_code code = PFC_OK;

    while (!code && !b->interrupted && (c = largest_left(&b->confirmations, done)) != NULL) {
        done[c - b->confirmations.items] = true;
        if (left == 0) {
            snprintf(c->reason, sizeof(c->reason),
                     "not compared: the pairs for further steps are used");
            continue;
        }
        code = confirm_one(b, c, left, all->confirmed, &cursor, err);
        all->refuted = all->refuted || c->result.verdict == PFC_CONFIRM_REFUTED;
        if (all->confirmed) {
            left -= PFC_MIN(left, c->result.pairs);
        } else if (c->result.verdict == PFC_CONFIRM_CONFIRMED) {
            all->confirmed = true;
            left = (size_t)(FURTHER_SHARE * (double)c->result.pairs);
            left = PFC_MIN(PFC_MAX(left, (size_t)FURTHER_LEAST), (size_t)PFC_CONFIRM_PAIRS);
        }
    }
    free(done);
    return code;
}

/* The pairs of a refuted answer become runs of the search. */
static pfc_code adopt_runs(bisect_session *b, pfc_err *err)
{
    pfc_code code;

    if (b->state.paired)
        bisect_units_adopt(&b->state);
    for (size_t i = 0; i < b->state.len; i++)
        b->state.runs[i].confirm = false;
    b->state.refuted++;
    code = bisect_state_save(&b->state, err);
    return code ? code : bisect_planning_remake(&b->planning, err);
}

pfc_code bisect_confirm(bisect_session *b, bool *again, pfc_err *err)
{
    pfc_bisect_report report = { 0 };
    outcome all = { 0 };
    pfc_code code = PFC_OK;

    free(b->confirmations.items);
    b->confirmations.items = NULL;
    b->confirmations.len = 0;
    pfc_bisect_report_get(b->planning.plan, &report);
    if (!pfc_bisect_verdict_names(report.verdict))
        goto done;
    b->confirmations.len = report.culprits_len;
    b->confirmations.items = pfc_calloc(report.culprits_len + 1, sizeof(b->confirmations.items[0]));
    for (size_t i = 0; i < report.culprits_len; i++)
        b->confirmations.items[i].culprit = report.culprits[i];
    code = confirm_all(b, &all, err);
    if (!code && !b->interrupted && all.refuted && !all.confirmed && !bisect_pairs_possible(b) &&
        b->state.refuted < REFUTED_MOST) {
        bisect_view_erase(b->cli);
        pfc_cli_note(b->cli, "the new pairs do not show the change: the search continues with "
                             "their runs");
        code = adopt_runs(b, err);
        *again = true;
    }

done:
    pfc_bisect_report_clear(&report);
    return code;
}
