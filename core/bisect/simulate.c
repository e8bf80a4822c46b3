/*
 * How many runs are still to come: the plan played out on made values, a bounded number of times.
 */
#include <math.h>

#include "core/bisect/bisect_priv.h"
#include "core/stats/stats.h"

#define PLAYS       6
#define DECISIONS   240  /* over all plays: well below a second at the largest sizes */
#define GUESS_NOISE 0.01 /* while nothing is known */

/* A commit drawn from the posterior of "first bad". */
static size_t draw_culprit(const pfc_bisect_plan *plan, pfc_rng *rng)
{
    const plan_model *m = &plan->model;
    double all = 0;
    for (size_t i = 0; i + 1 < m->nodes_len; i++)
        all += plan_gap_up(plan, i);
    if (m->nodes_len < 2 || !(all > 0))
        return plan_quantile(plan, 0, plan->opts.commits - 1, pfc_rng_double(rng));
    double at = pfc_rng_double(rng) * all;
    size_t i = 0;
    for (; i + 2 < m->nodes_len && at >= plan_gap_up(plan, i); i++)
        at -= plan_gap_up(plan, i);
    return plan_quantile(plan, m->nodes[i].commit, m->nodes[i + 1].commit, pfc_rng_double(rng));
}

/* Is this build of the commit among the runs so far? */
static bool is_built(const pfc_bisect_plan *plan, const pfc_bisect_step *step)
{
    for (size_t i = 0; i < plan->runs_len; i++)
        if (plan->runs[i].commit == step->commit && plan->runs[i].build == step->build)
            return true;
    return false;
}

/* Without noise a level is what was measured: off by the grid's pitch it would look like a step. */
static double level_of(const pfc_bisect_plan *plan, size_t node)
{
    const plan_model *m = &plan->model;
    return plan_is_exact(plan) ? m->x[m->order[m->nodes[node].first]] : m->nodes[node].mean;
}

static size_t play(const pfc_bisect_plan *plan, pfc_rng *rng, size_t limit, size_t *builds)
{
    const plan_model *m = &plan->model;
    pfc_bisect_plan *twin = plan_clone(plan);
    size_t culprit = draw_culprit(plan, rng);
    bool known = m->nodes_len >= 2;
    double noise = known ? m->noise : fmax(plan->opts.noise_rel, 0);
    noise = noise > 0 ? noise : GUESS_NOISE;
    double delta = plan->opts.delta_rel;
    double step = delta != 0 ? fabs(log1p(delta)) : 2 * noise;
    double low = known ? level_of(plan, 0) : 0;
    double high = known ? level_of(plan, m->nodes_len - 1) : step;
    high = high > low ? high : low + step;
    size_t runs = 0;
    for (; runs < limit; runs++) {
        pfc_bisect_step next;
        pfc_bisect_next(twin, &next);
        if (next.act == PFC_BISECT_STOP)
            break;
        *builds += !is_built(twin, &next);
        double spread = plan_is_exact(plan) ? 0 : noise;
        double x = (next.commit >= culprit ? high : low) + spread * pfc_rng_normal(rng);
        if (pfc_bisect_tell(twin, next.commit, next.build, exp(plan->sign * x), NULL))
            break;
    }
    pfc_bisect_free(twin);
    return runs;
}

void pfc_bisect_expect(const pfc_bisect_plan *plan, pfc_bisect_cost *out)
{
    pfc_bisect_plan *twin = plan_clone(plan);
    pfc_bisect_step next;
    pfc_rng rng;
    size_t builds = 0;
    size_t runs = 0;
    size_t left = DECISIONS;
    int plays = 0;
    *out = (pfc_bisect_cost){ 0 };
    pfc_rng_seed(&rng, plan->opts.seed);
    pfc_bisect_next(twin, &next);
    for (; next.act == PFC_BISECT_MEASURE && plays < PLAYS && left > 0; plays++) {
        size_t played = play(twin, &rng, left, &builds);
        runs += played;
        left -= played;
        out->runs_most = fmax(out->runs_most, (double)played);
    }
    pfc_bisect_free(twin);
    if (!plays)
        return;
    out->runs = (double)runs / plays;
    out->builds = (double)builds / plays;
}

double pfc_bisect_expected_runs(const pfc_bisect_plan *plan)
{
    pfc_bisect_cost cost;
    pfc_bisect_expect(plan, &cost);
    return cost.runs;
}
