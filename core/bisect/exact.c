/*
 * Values without noise: one run decides, every step and every repair can be told apart.
 */
#include <math.h>

#include "core/bisect/bisect_priv.h"

/* Twice the rounding that a printed value may carry. */
static double slack(const pfc_bisect_plan *plan)
{
    return 4 * plan->opts.noise_rel;
}

static double node_x(const pfc_bisect_plan *plan, size_t node)
{
    const plan_model *m = &plan->model;
    return m->x[m->order[m->nodes[node].first]];
}

static double change(const pfc_bisect_plan *plan, size_t gap)
{
    return node_x(plan, gap + 1) - node_x(plan, gap);
}

/* The open gap with the largest change to worse. */
static bool largest(const pfc_bisect_plan *plan, size_t *gap)
{
    const plan_model *m = &plan->model;
    double most = slack(plan);
    bool found = false;
    for (size_t i = 0; i + 1 < m->nodes_len; i++) {
        if (m->gaps[i].atomic || change(plan, i) <= most)
            continue;
        most = change(plan, i);
        *gap = i;
        found = true;
    }
    return found;
}

static bool differs(const pfc_bisect_plan *plan)
{
    for (size_t i = 0; i + 1 < plan->model.nodes_len; i++)
        if (change(plan, i) > slack(plan))
            return true;
    return false;
}

/* A step with nothing measurable left inside: one to name. */
static bool any_closed(const pfc_bisect_plan *plan)
{
    for (size_t i = 0; i + 1 < plan->model.nodes_len; i++)
        if (plan->model.gaps[i].atomic && change(plan, i) > slack(plan))
            return true;
    return false;
}

plan_reason plan_exact_choose(pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    const plan_model *m = &plan->model;
    size_t gap = 0;
    if (!differs(plan))
        return PLAN_NULL;
    if (plan->opts.first_only && any_closed(plan))
        return PLAN_DONE;
    if (!largest(plan, &gap) && !plan_widest(plan, &gap))
        return PLAN_DONE;
    size_t a = m->nodes[gap].commit;
    size_t b = m->nodes[gap + 1].commit;
    size_t at = plan_pick(plan, a, b, plan_quantile(plan, a, b, 0.5));
    *out = (pfc_bisect_step){ .commit = at, .expected_gain_bits = 1 };
    return PLAN_GO_ON;
}

void plan_exact_culprits(const pfc_bisect_plan *plan, pfc_bisect_report *out, bool open)
{
    const plan_model *m = &plan->model;
    for (size_t i = 0; i + 1 < m->nodes_len; i++) {
        double x = change(plan, i);
        if (x <= slack(plan) || (!open && !m->gaps[i].atomic))
            continue;
        double rel = expm1(plan->sign * x);
        plan_report_add(out, &(pfc_culprit){ .first = m->nodes[i].commit + 1,
                                             .last = m->nodes[i + 1].commit,
                                             .probability = 1,
                                             .rel_change = rel,
                                             .rel_low = rel,
                                             .rel_high = rel });
    }
}
