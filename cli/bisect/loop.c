/*
 * The search of a local bisection: the loop of core/bisect/driver.h with one recorded run per
 * question.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/answer.h"
#include "cli/bisect/search.h"
#include "core/bisect/driver.h"

/* An end must be measured; any other commit is skipped after three failed runs. */
enum { END_TRIES = 8 };

/* The context of the loop. */
typedef struct searching {
    bisect_session *session;
    size_t failed; /* runs of an end in a row */
} searching;

/* An end that cannot be measured leaves nothing to compare with. */
static pfc_code check_end(const bisect_session *b, const bisect_run *run, const char *reason,
                          size_t *failed, pfc_err *err)
{
    const char *which = run->commit == 0 ? "good" : "bad";

    if (!bisect_is_end(&b->axis, run->commit) || run->kind == PFC_OUTCOME_MEASURED) {
        *failed = 0;
        return PFC_OK;
    }
    if (run->kind == PFC_OUTCOME_TIMED_OUT && run->commit != 0)
        return PFC_OK;
    if (run->kind == PFC_OUTCOME_BROKEN || ++*failed >= END_TRIES)
        return pfc_err_set(err, PFC_EBROKEN, "the %s commit, %.12s, cannot be measured: %.350s",
                           which, bisect_id(&b->axis, run->commit), reason);
    return PFC_OK;
}

static pfc_code measure(void *context, const pfc_bisect_step *question, pfc_err *err)
{
    searching *s = context;
    bisect_session *b = s->session;
    char reason[PFC_WORKSPACE_REASON_BYTES];
    bisect_run run = { .commit = question->commit, .build = question->build };
    bool recorded;
    pfc_code code;

    if (b->state.paired)
        run = bisect_units_next(&b->planning.units, &b->state, question);
    code = bisect_record_run(b, &run, reason, &recorded, err);
    if (code || !recorded)
        return code;
    code = check_end(b, &run, reason, &s->failed, err);
    if (!code)
        code = bisect_planning_update(&b->planning, &run, err);
    if (!code)
        bisect_log_run(&b->log, &run, reason);
    return code;
}

static bool runs_spent(const bisect_session *b)
{
    return b->opts->max_runs > 0 && b->state.len >= (size_t)b->opts->max_runs;
}

static pfc_code prepare(void *context, pfc_bisect_turn *turn, pfc_err *err)
{
    searching *s = context;
    bisect_session *b = s->session;
    bool changed;
    pfc_code code = PFC_OK;

    b->interrupted = b->interrupted || pfc_cli_interrupted(NULL);
    if (!b->interrupted)
        code = bisect_pairs_on_states(b, &changed, err);
    turn->plan = b->planning.plan;
    /* In pairs the plan counts units, and --max-runs limits runs. */
    turn->pause = b->interrupted || (b->state.paired && runs_spent(b));
    turn->unit_open = b->state.paired && bisect_units_open(&b->planning.units);
    return code;
}

static pfc_code search(bisect_session *b, pfc_err *err)
{
    static const pfc_bisect_driver driver = { prepare, measure };
    searching s = { .session = b };

    bisect_session_phase(b, "searching %zu %s, from %.12s to %.12s", b->axis.commits.len,
                         bisect_axis_noun(&b->axis), bisect_id(&b->axis, 0),
                         bisect_id(&b->axis, bisect_bad(&b->axis)));
    return pfc_bisect_drive(&driver, &s, err);
}

/* The readings are part of the answer. Runs of a suite have a canary each. */
static void end_canary(bisect_session *b, pfc_canary *canary)
{
    if (pfc_canary_end(canary, NULL, 0, &b->canary))
        pfc_cli_warn(b->cli,
                     "the machine changed its speed during the search (canary %.3g us, then "
                     "%.3g us): single runs may say more about it than about the code",
                     b->canary.before_ns / 1000, b->canary.after_ns / 1000);
}

pfc_code bisect_search(bisect_session *b, pfc_err *err)
{
    pfc_canary canary = { 0 };
    bool again = true;
    pfc_code code = PFC_OK;

    if (b->measuring.how.measure)
        pfc_canary_begin(&canary, NULL);
    while (!code && again) {
        again = false;
        code = search(b, err);
        if (!code && !b->interrupted && bisect_confirms(b->opts))
            code = bisect_confirm(b, &again, err);
        if (!code && !b->interrupted && !again && !bisect_names_culprit(b) && !runs_spent(b))
            code = bisect_pairs_on_doubt(b, &again, err);
    }
    bisect_view_erase(b->cli);
    end_canary(b, &canary);
    return code;
}
