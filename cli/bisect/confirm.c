/*
 * Before anybody is blamed: the commit before a named one against it, in fresh, interleaved pairs.
 *
 * The largest step comes first: it is the one that somebody has seen. Once it stands, further ones
 * may cost little more than it did; what they cannot show by then stays open and unsaid, and takes
 * nothing from the first. When nothing stands, a refuted answer's pairs become runs of the search:
 * they are the best evidence there is about those two commits.
 *
 * What was kept of an earlier call is replayed into the same seeded comparisons, so a kill costs the
 * run under way and no other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/search.h"

enum { CONFIRM_TRIES = 4, REFUTED_MOST = 2 };

/* Pairs of all further steps together, once one stands: so many times its own, at least. */
#define FURTHER_SHARE 1.5
#define FURTHER_LEAST 16

/* With a list of ids alone nothing is built by us, and what a run costs is not known: on request. */
bool pfc_hunt_confirms(const pfc_hunt *h)
{
    if (h->opts->confirm)
        return h->opts->confirm > 0;
    return !h->opts->no_checkout;
}

static size_t runs_left(const pfc_hunt *h)
{
    if (h->opts->max_runs <= 0)
        return 2 * PFC_CONFIRM_PAIRS;
    return h->state.len < (size_t)h->opts->max_runs ? (size_t)h->opts->max_runs - h->state.len : 0;
}

/* Above every build that the search has seen, so that layouts are fresh. */
static unsigned first_build(const pfc_hunt *h)
{
    unsigned most = 0;

    for (size_t i = 0; i < h->state.len; i++)
        if (!h->state.steps[i].confirm)
            most = PFC_MAX(most, h->state.steps[i].build);
    return most + 1;
}

/* The kept run that answers this question, from *cursor on; NULL: it must be measured. */
static const pfc_hunt_step *kept(const pfc_hunt *h, const pfc_bisect_step *want, size_t *cursor)
{
    for (size_t i = *cursor; i < h->state.len; i++) {
        const pfc_hunt_step *s = &h->state.steps[i];

        if (s->confirm && s->commit == want->commit && s->build == want->build) {
            *cursor = i + 1;
            return s;
        }
    }
    return NULL;
}

typedef struct turn {
    pfc_confirm *confirm;
    pfc_hunt_confirmed *out;
    size_t *cursor; /* in the kept steps */
    size_t failed;  /* runs in a row */
    size_t left;    /* runs that the budget allows */
} turn;

/* One run of a comparison, kept or fresh. *over: no further one. */
static pfc_code one_turn(pfc_hunt *h, turn *t, bool *over, pfc_err *err)
{
    pfc_confirm_step ask;
    pfc_bisect_step next = { .act = PFC_BISECT_MEASURE };
    const pfc_hunt_step *known;
    pfc_hunt_step step = { .confirm = true };
    char reason[PFC_WORKSPACE_REASON_BYTES] = "";
    bool taken = false;
    pfc_code code = PFC_OK;

    *over = !pfc_confirm_next(t->confirm, &ask);
    if (*over)
        return PFC_OK;
    next.commit = ask.after ? t->out->culprit.last : t->out->culprit.first - 1;
    next.build = ask.build;
    known = kept(h, &next, t->cursor);
    if (known) {
        step = *known;
    } else {
        *over = t->left == 0 || pfc_cli_interrupted(NULL);
        h->interrupted = h->interrupted || pfc_cli_interrupted(NULL);
        if (t->left == 0)
            snprintf(t->out->reason, sizeof(t->out->reason), "--max-runs leaves no run for it");
        if (*over)
            return PFC_OK;
        step.commit = next.commit;
        step.build = next.build;
        code = pfc_hunt_take(h, &step, reason, &taken, err);
        *t->cursor = h->state.len;
        *over = !taken;
        if (code || !taken)
            return code;
        t->left--;
        pfc_hunt_log(h, &step, reason);
    }
    if (step.kind == PFC_OUTCOME_MEASURED) {
        t->failed = 0;
        return pfc_confirm_tell(t->confirm, step.value, err);
    }
    if (step.kind == PFC_OUTCOME_FAILED && ++t->failed < CONFIRM_TRIES)
        return PFC_OK;
    snprintf(t->out->reason, sizeof(t->out->reason), "%.12s: %s%s%.120s",
             h->commits.items[step.commit].id, pfc_outcome_name(step.kind), reason[0] ? ": " : "",
             reason);
    *over = true;
    return PFC_OK;
}

/* Compares the i-th culprit in at most so many pairs; `capped`: fewer than a first one gets. */
static pfc_code confirm_one(pfc_hunt *h, pfc_hunt_confirmed *out, size_t pairs, bool capped,
                            size_t *cursor, pfc_err *err)
{
    const pfc_hunt_step *first = pfc_hunt_first(h);
    const bool relink = h->opts->relink || h->ws_opts.relink;
    const pfc_confirm_opts opts = {
        .higher_is_better = h->higher_is_better,
        .expected_rel = out->culprit.rel_change,
        .max_pairs = pairs,
        .relink = relink,
        .first_build = relink ? first_build(h) : 0,
        .exact = first && first->exact,
        .seed = out->culprit.last,
    };
    turn t = { .out = out, .cursor = cursor, .left = runs_left(h) };
    bool over = false;
    pfc_code code = pfc_confirm_new(&t.confirm, &opts, err);

    pfc_hunt_phase(
        h, "confirming %.12s%s against %.12s, the commit before it, in new interleaved pairs",
        h->commits.items[out->culprit.last].id,
        out->culprit.first == out->culprit.last ? "" : " (the last of its set)",
        h->commits.items[out->culprit.first - 1].id);
    while (!code && !over)
        code = one_turn(h, &t, &over, err);
    if (t.confirm)
        pfc_confirm_result_get(t.confirm, &out->result);
    pfc_confirm_free(t.confirm);
    if (!code && capped && out->result.verdict == PFC_CONFIRM_OPEN && out->result.pairs >= pairs)
        snprintf(out->reason, sizeof(out->reason),
                 "further steps get %zu pairs once a larger one is confirmed", pairs);
    return code;
}

/* The comparison that has not been made with the largest stated change; NULL: all were. */
static pfc_hunt_confirmed *largest_left(const pfc_hunt *h, const bool *done)
{
    pfc_hunt_confirmed *best = NULL;

    for (size_t i = 0; i < h->confirmed_len; i++) {
        pfc_hunt_confirmed *c = &h->confirmed[i];

        if (!done[i] && (!best || fabs(c->culprit.rel_change) > fabs(best->culprit.rel_change)))
            best = c;
    }
    return best;
}

typedef struct outcome {
    bool stands, refuted;
} outcome;

static pfc_code confirm_all(pfc_hunt *h, outcome *all, pfc_err *err)
{
    bool *done = pfc_calloc(h->confirmed_len + 1, sizeof(*done));
    size_t cursor = 0;
    size_t left = PFC_CONFIRM_PAIRS;
    pfc_hunt_confirmed *c;
    pfc_code code = PFC_OK;

    while (!code && !h->interrupted && (c = largest_left(h, done)) != NULL) {
        done[c - h->confirmed] = true;
        if (left == 0) {
            snprintf(c->reason, sizeof(c->reason),
                     "not compared: further steps have had their pairs");
            continue;
        }
        code = confirm_one(h, c, left, all->stands, &cursor, err);
        all->refuted = all->refuted || c->result.verdict == PFC_CONFIRM_REFUTED;
        if (all->stands) {
            left -= PFC_MIN(left, c->result.pairs);
        } else if (c->result.verdict == PFC_CONFIRM_CONFIRMED) {
            all->stands = true;
            left = (size_t)(FURTHER_SHARE * (double)c->result.pairs);
            left = PFC_MIN(PFC_MAX(left, (size_t)FURTHER_LEAST), (size_t)PFC_CONFIRM_PAIRS);
        }
    }
    free(done);
    return code;
}

/* The pairs of a refuted answer become runs of the search. */
static pfc_code hand_over(pfc_hunt *h, pfc_err *err)
{
    pfc_code code;

    if (h->state.paired)
        pfc_hunt_pairs_take_over(h);
    for (size_t i = 0; i < h->state.len; i++)
        h->state.steps[i].confirm = false;
    h->state.refuted++;
    code = pfc_hunt_state_save(&h->state, err);
    return code ? code : pfc_hunt_replan(h, err);
}

pfc_code pfc_hunt_confirm(pfc_hunt *h, bool *again, pfc_err *err)
{
    pfc_bisect_report report = { 0 };
    outcome all = { 0 };
    pfc_code code = PFC_OK;

    free(h->confirmed);
    h->confirmed = NULL;
    h->confirmed_len = 0;
    pfc_bisect_report_get(h->plan, &report);
    if (report.verdict != PFC_BISECT_FOUND && report.verdict != PFC_BISECT_RANGE)
        goto done;
    h->confirmed_len = report.culprits_len;
    h->confirmed = pfc_calloc(report.culprits_len + 1, sizeof(h->confirmed[0]));
    for (size_t i = 0; i < report.culprits_len; i++)
        h->confirmed[i].culprit = report.culprits[i];
    code = confirm_all(h, &all, err);
    if (!code && !h->interrupted && all.refuted && !all.stands && !pfc_hunt_pairs_may(h) &&
        h->state.refuted < REFUTED_MOST) {
        pfc_hunt_view_wipe(h);
        pfc_cli_note(h->cli, "the new pairs do not show the change: the search continues with "
                             "their runs");
        code = hand_over(h, err);
        *again = true;
    }

done:
    pfc_bisect_report_clear(&report);
    return code;
}
