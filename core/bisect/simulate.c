/*
 * The expected number of further runs: simulations of the plan on generated values, within a
 * bounded number of choices.
 */
#include <math.h>

#include "core/base/rng.h"
#include "core/bisect/plan.h"

#define SIMULATIONS   6
#define CHOICES       240  /* over all simulations: well below a second at the largest sizes */
#define DEFAULT_NOISE 0.01 /* before any run */

/* A commit drawn from the posterior of "first bad". */
static size_t draw_culprit(const pfc_bisect_plan *plan, pfc_rng *rng)
{
    const plan_model *m = &plan->model;
    const plan_input *input = &plan->input;
    double all = 0;

    for (size_t i = 0; i + 1 < m->chain.len; i++)
        all += plan_gap_up(m, i);
    if (m->chain.len < 2 || !(all > 0))
        return plan_quantile(input, 0, input->opts.commits - 1, pfc_rng_double(rng));
    double at = pfc_rng_double(rng) * all;
    size_t i = 0;
    for (; i + 2 < m->chain.len && at >= plan_gap_up(m, i); i++)
        at -= plan_gap_up(m, i);
    return plan_quantile(input, m->chain.nodes[i].commit, m->chain.nodes[i + 1].commit,
                         pfc_rng_double(rng));
}

/* Without noise the level of a node is its value: a level off by the grid's pitch would look like a
 * step. */
static double level_of(const plan_model *m, size_t node)
{
    return plan_is_exact(m->input) ? plan_first_x(m, node) : m->posterior.levels[node];
}

/* Simulated values: one step at the culprit, from low to high, and noise. */
typedef struct simulation {
    size_t culprit;
    double low, high, noise;
} simulation;

static simulation draw_simulation(const pfc_bisect_plan *plan, pfc_rng *rng)
{
    const plan_model *m = &plan->model;
    const pfc_bisect_opts *o = &plan->input.opts;
    const bool known = m->chain.len >= 2;
    simulation s = { .culprit = draw_culprit(plan, rng) };
    double step;

    s.noise = known ? m->scales.noise : fmax(o->noise_rel, 0);
    s.noise = s.noise > 0 ? s.noise : DEFAULT_NOISE;
    step = o->delta_rel != 0 ? fabs(log1p(o->delta_rel)) : 2 * s.noise;
    s.low = known ? level_of(m, 0) : 0;
    s.high = known ? level_of(m, m->chain.len - 1) : step;
    s.high = s.high > s.low ? s.high : s.low + step;
    if (plan_is_exact(&plan->input))
        s.noise = 0;
    return s;
}

/* Runs of one simulation; adds its builds to *builds. */
static size_t simulate(const pfc_bisect_plan *plan, pfc_rng *rng, size_t limit, size_t *builds)
{
    pfc_bisect_plan *clone = plan_clone(plan);
    const simulation s = draw_simulation(plan, rng);
    size_t runs = 0;

    for (; runs < limit; runs++) {
        pfc_bisect_step next;
        double x;

        pfc_bisect_next(clone, &next);
        if (next.act == PFC_BISECT_STOP)
            break;
        *builds += !plan_has_build(&clone->seen, next.commit, next.build);
        x = (next.commit >= s.culprit ? s.high : s.low) + s.noise * pfc_rng_normal(rng);
        if (pfc_bisect_add_run(clone, next.commit, next.build, exp(plan->input.sign * x), NULL))
            break;
    }
    pfc_bisect_free(clone);
    return runs;
}

void pfc_bisect_expect(const pfc_bisect_plan *plan, pfc_bisect_cost *out)
{
    pfc_bisect_plan *clone = plan_clone(plan);
    pfc_bisect_step next;
    pfc_rng rng;
    size_t builds = 0;
    size_t runs = 0;
    size_t left = CHOICES;
    int simulations = 0;
    *out = (pfc_bisect_cost){ 0 };
    pfc_rng_seed(&rng, plan->input.opts.seed);
    pfc_bisect_next(clone, &next);
    for (; next.act == PFC_BISECT_MEASURE && simulations < SIMULATIONS && left > 0; simulations++) {
        const size_t made = simulate(clone, &rng, left, &builds);
        runs += made;
        left -= made;
        out->runs_most = fmax(out->runs_most, (double)made);
    }
    pfc_bisect_free(clone);
    if (!simulations)
        return;
    out->runs = (double)runs / simulations;
    out->builds = (double)builds / simulations;
}

double pfc_bisect_expected_runs(const pfc_bisect_plan *plan)
{
    pfc_bisect_cost cost;
    pfc_bisect_expect(plan, &cost);
    return cost.runs;
}
