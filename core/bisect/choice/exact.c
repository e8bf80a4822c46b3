/*
 * The choice for values without noise: one run of a commit decides, and every step and every repair
 * is found.
 */
#include <math.h>

#include "core/bisect/choice/choose.h"

static double change(const plan_model *m, size_t gap)
{
    return plan_first_x(m, gap + 1) - plan_first_x(m, gap);
}

/* The open gap with the largest change to worse. */
static bool largest(const plan_model *m, size_t *gap)
{
    double most = plan_exact_tolerance(m->input);
    bool found = false;
    for (size_t i = 0; i + 1 < m->chain.len; i++) {
        if (m->chain.gaps[i].atomic || change(m, i) <= most)
            continue;
        most = change(m, i);
        *gap = i;
        found = true;
    }
    return found;
}

static bool differs(const plan_model *m)
{
    for (size_t i = 0; i + 1 < m->chain.len; i++)
        if (plan_gap_up(m, i) > 0)
            return true;
    return false;
}

/* A step with nothing measurable left inside: a culprit to name. */
static bool any_closed(const plan_model *m)
{
    for (size_t i = 0; i + 1 < m->chain.len; i++)
        if (m->chain.gaps[i].atomic && plan_gap_up(m, i) > 0)
            return true;
    return false;
}

plan_reason plan_exact_choose(const plan_model *m, pfc_bisect_step *out)
{
    size_t gap = 0;
    if (!differs(m))
        return PLAN_NULL;
    if (m->input->opts.first_only && any_closed(m))
        return PLAN_DONE;
    if (!largest(m, &gap) && !plan_widest(m, &gap))
        return PLAN_DONE;
    size_t a = m->chain.nodes[gap].commit;
    size_t b = m->chain.nodes[gap + 1].commit;
    size_t at = plan_pick(m->seen, a, b, plan_quantile(m->input, a, b, 0.5));
    *out = (pfc_bisect_step){ .commit = at, .expected_gain_bits = 1 };
    return PLAN_GO_ON;
}
