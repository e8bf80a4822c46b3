/*
 * Figures of the runs so far.
 */
#include "cli/bisect/measuring/runs.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats/stats.h"

#define MAD_TO_SD      1.4826
#define BUILD_COST_MAX 1000.0

const bisect_run *bisect_first_measured(const bisect_state *state)
{
    for (size_t i = 0; i < state->len; i++)
        if (state->runs[i].kind == PFC_OUTCOME_MEASURED)
            return &state->runs[i];
    return NULL;
}

double *bisect_values_of(const bisect_state *state, size_t commit, size_t *len)
{
    double *values = pfc_calloc(state->len + 1, sizeof(*values));

    *len = 0;
    for (size_t i = 0; i < state->len; i++)
        if (state->runs[i].commit == commit && state->runs[i].kind == PFC_OUTCOME_MEASURED)
            values[(*len)++] = state->runs[i].value;
    return values;
}

/* From the first build and the first run only, so that a resumed bisection plans as the interrupted
 * one did. */
double bisect_build_cost(const bisect_state *state)
{
    const bisect_run *run = bisect_first_measured(state);
    double build_s = 0;

    for (size_t i = 0; i < state->len && build_s <= 0; i++)
        if (state->runs[i].built)
            build_s = state->runs[i].build_s;
    if (!run || run->measure_s <= 0 || build_s <= 0)
        return 0;
    return PFC_MIN(build_s / run->measure_s, BUILD_COST_MAX);
}

size_t bisect_confirm_runs(const bisect_state *state)
{
    size_t runs = 0;

    for (size_t i = 0; i < state->len; i++)
        runs += state->runs[i].confirm;
    return runs;
}

size_t bisect_build_count(const bisect_state *state)
{
    size_t builds = 0;

    for (size_t i = 0; i < state->len; i++)
        builds += state->runs[i].built;
    return builds;
}

bisect_costs bisect_costs_of(const bisect_state *state)
{
    double *runs = pfc_calloc(state->len + 1, sizeof(double));
    double *builds = pfc_calloc(state->len + 1, sizeof(double));
    bisect_costs costs = { 0 };
    size_t n_runs = 0;
    size_t n_builds = 0;

    for (size_t i = 0; i < state->len; i++) {
        const bisect_run *run = &state->runs[i];

        if (run->kind == PFC_OUTCOME_MEASURED)
            runs[n_runs++] = run->measure_s;
        if (run->built)
            builds[n_builds++] = run->build_s;
    }
    costs.measure_s = n_runs ? pfc_stats_median(runs, n_runs) : 0;
    costs.build_s = n_builds ? pfc_stats_median(builds, n_builds) : 0;
    free(builds);
    free(runs);
    return costs;
}

/* Measured builds of a commit. */
static size_t builds_of(const bisect_state *state, size_t commit, size_t *layouts)
{
    size_t builds = 0;

    *layouts = 0;
    for (size_t i = 0; i < state->len; i++) {
        const bisect_run *run = &state->runs[i];
        bool counted = run->commit != commit || run->kind != PFC_OUTCOME_MEASURED;

        for (size_t k = 0; k < i && !counted; k++)
            counted = state->runs[k].commit == commit && state->runs[k].build == run->build &&
                      state->runs[k].kind == PFC_OUTCOME_MEASURED;
        builds += !counted;
        *layouts += !counted && run->build > 0;
    }
    return builds;
}

bisect_side bisect_side_of(const bisect_state *state, size_t commit)
{
    bisect_side side = { .commit = commit, .median = (double)NAN, .noise_rel = (double)NAN };
    double *values = bisect_values_of(state, commit, &side.runs);

    side.builds = builds_of(state, commit, &side.layouts);
    if (side.runs)
        side.median = pfc_stats_median(values, side.runs);
    for (size_t i = 0; i < side.runs; i++)
        values[i] = fabs(values[i] - side.median);
    if (side.runs >= 3)
        side.noise_rel = MAD_TO_SD * pfc_stats_median(values, side.runs) / side.median;
    free(values);
    return side;
}
