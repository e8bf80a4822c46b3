/*
 * The plan of a local bisection.
 */
#include "cli/bisect/planning.h"

#include <stdlib.h>

#include "cli/bisect/measuring/runs.h"
#include "core/bisect/driver.h"
#include "core/import/import.h"

/* The value of the first run of a commit; false: it has none. */
static bool first_value(const bisect_state *state, size_t commit, double *value)
{
    for (size_t i = 0; i < state->len; i++) {
        const bisect_run *run = &state->runs[i];

        if (run->kind != PFC_OUTCOME_MEASURED || run->commit != commit)
            continue;
        *value = run->value;
        return true;
    }
    return false;
}

/* Which direction is better. Where nothing states it, the bad commit is the worse one, by the first
 * run of each end, so that a resumed bisection decides as the interrupted one did. */
static bool direction_of(const bisect_planning *p)
{
    const pfc_commit_measure_opts *how = &p->measuring->how;
    const bisect_run *first = bisect_first_measured(p->state);
    double good = 0.0;
    double bad = 0.0;

    if (how->has_direction)
        return how->higher_is_better;
    if (!first)
        return pfc_import_higher_is_better(how->metric, how->unit);
    if (first->undirected && first_value(p->state, 0, &good) &&
        first_value(p->state, bisect_bad(p->axis), &bad))
        return bad < good;
    return first->higher_is_better;
}

pfc_code bisect_planning_remake(bisect_planning *p, pfc_err *err)
{
    const bisect_opts *o = p->opts;
    const bool paired = p->state->paired;
    const bisect_run *first = bisect_first_measured(p->state);
    double *prior = bisect_commits_prior(&p->axis->commits);
    pfc_bisect_opts opts = {
        .commits = p->axis->commits.len,
        .higher_is_better = p->higher_is_better = direction_of(p),
        .confidence = o->confidence,
        .exact = first && first->exact,
        .noise_rel = paired ? 0 : o->noise, /* a given noise is that of single runs */
        .layout_noise_rel = o->layout_noise,
        .delta_rel = o->delta,
        .margin = o->margin,
        .paired = paired,
        .relink = o->relink,
        .first_only = o->first_only,
        .max_runs = paired && o->max_runs ? PFC_BISECT_MAX_RUNS : (size_t)o->max_runs,
        .run_cost = 1,
        .build_cost = bisect_build_cost(p->state) / (paired ? 2.0 * PFC_PAIRING_PAIRS : 1),
        .prior = prior,
        .seed = 1,
    };
    pfc_code code;

    pfc_bisect_free(p->plan);
    p->plan = NULL;
    bisect_units_clear(&p->units);
    code = pfc_bisect_new(&p->plan, &opts, err);
    for (size_t i = 0; i < p->state->len && !code; i++)
        code = bisect_planning_add(p, &p->state->runs[i], err);
    free(prior);
    return code;
}

static pfc_bisect_outcome outcome_of(const bisect_planning *p, const bisect_run *run)
{
    switch (run->kind) {
    case PFC_OUTCOME_MEASURED:
        return PFC_BISECT_MEASURED;
    case PFC_OUTCOME_BROKEN:
        return PFC_BISECT_BROKEN;
    case PFC_OUTCOME_TIMED_OUT:
        return PFC_BISECT_TIMED_OUT;
    case PFC_OUTCOME_FAILED:
    case PFC_OUTCOME_CANCELLED:
        /* The loop repeats runs of an end; after three failures the plan would skip it. */
        return bisect_is_end(p->axis, run->commit) ? PFC_BISECT_PENDING : PFC_BISECT_FAILED;
    }
    return PFC_BISECT_PENDING;
}

static pfc_code add_to_units(bisect_planning *p, const bisect_run *run, pfc_err *err)
{
    bisect_ratio ratios[2];
    const size_t len = bisect_units_add(&p->units, run, ratios);
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len && !code; i++)
        code = pfc_bisect_add_run(p->plan, ratios[i].commit, ratios[i].build, ratios[i].ratio, err);
    return code;
}

pfc_code bisect_planning_add(bisect_planning *p, const bisect_run *run, pfc_err *err)
{
    const pfc_bisect_result result = { .commit = run->commit,
                                       .build = run->build,
                                       .outcome = outcome_of(p, run),
                                       .value = run->value };

    if (run->confirm)
        return PFC_OK; /* of a separate comparison: see confirm.c */
    if (p->state->paired && run->kind == PFC_OUTCOME_MEASURED)
        return add_to_units(p, run, err);
    if (p->state->paired && !run->reference)
        bisect_units_drop(&p->units);
    return pfc_bisect_add_result(p->plan, &result, err);
}

/* The newest run is the first with a value. */
static bool is_first_measured(const bisect_state *state)
{
    return state->len && bisect_first_measured(state) == &state->runs[state->len - 1];
}

/* The newest run is the first one by which the cost of a build is known. */
static bool is_first_with_cost(const bisect_state *state)
{
    bisect_state earlier = *state;

    earlier.len--;
    return bisect_build_cost(state) > 0 && !(bisect_build_cost(&earlier) > 0);
}

pfc_code bisect_planning_update(bisect_planning *p, const bisect_run *run, pfc_err *err)
{
    const bool measured = run->kind == PFC_OUTCOME_MEASURED;

    if (p->higher_is_better != direction_of(p) ||
        (measured && (is_first_measured(p->state) || is_first_with_cost(p->state))))
        return bisect_planning_remake(p, err);
    return bisect_planning_add(p, run, err);
}

void bisect_planning_clear(bisect_planning *p)
{
    pfc_bisect_free(p->plan);
    bisect_units_clear(&p->units);
    *p = (bisect_planning){ 0 };
}

double bisect_runs_per_question(const bisect_planning *p)
{
    /* A unit has two pairs. The good commit's share of the plan's questions, about half of them,
     * comes with the units of other commits. */
    return p->state->paired ? PFC_PAIRING_PAIRS : 1;
}
