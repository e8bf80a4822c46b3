/*
 * Questions about a fitted model.
 */
#include "core/bisect/model/model.h"

#include <math.h>
#include <stdlib.h>

#define PROBE_TRIES 6
#define CLEAR_STEP  2.6 /* standard deviations of one run */
#define CLEAR       8
#define FAINT       5

void plan_model_clear(plan_model *m)
{
    plan_chain_clear(&m->chain);
    free(m->posterior.jumps);
    free(m->posterior.levels);
    free(m->posterior.courses);
    *m = (plan_model){ 0 };
}

bool plan_is_settled(const plan_model *m, size_t gap)
{
    return m->chain.gaps[gap].atomic && m->posterior.jumps[gap].up >= plan_confidence(m->input);
}

bool plan_any_settled(const plan_model *m)
{
    for (size_t i = 0; i + 1 < m->chain.len; i++)
        if (plan_is_settled(m, i))
            return true;
    return false;
}

double plan_first_x(const plan_model *m, size_t node)
{
    return m->chain.x[m->chain.order[m->chain.nodes[node].first]];
}

double plan_gap_up(const plan_model *m, size_t gap)
{
    if (!plan_is_exact(m->input))
        return m->posterior.jumps[gap].up;
    return plan_first_x(m, gap + 1) - plan_first_x(m, gap) > plan_exact_tolerance(m->input);
}

/* So many commits of this gap could not be measured that a further probe would waste a build. */
static bool hopeless(const plan_model *m, size_t gap)
{
    const plan_node *a = &m->chain.nodes[gap];

    return plan_unmeasurable_between(m->seen, a[0].commit, a[1].commit) >= PROBE_TRIES;
}

/* One run in the middle of a stretch detects a step and its repair only where the step is large
 * against the noise. For a smaller one it leaves a question that takes several more runs, so fewer
 * stretches are probed. */
bool plan_is_clear(const plan_model *m)
{
    return m->scales.step >= CLEAR_STEP * hypot(m->scales.noise, m->scales.layout);
}

size_t plan_stretches(const plan_model *m)
{
    return plan_is_clear(m) ? CLEAR : FAINT;
}

bool plan_widest(const plan_model *m, size_t *gap)
{
    size_t widest = PFC_MAX(m->input->opts.commits / plan_stretches(m), (size_t)1);
    bool found = false;
    for (size_t i = 0; i + 1 < m->chain.len; i++) {
        size_t width = m->chain.nodes[i + 1].commit - m->chain.nodes[i].commit;
        if (m->chain.gaps[i].atomic || width <= widest || hopeless(m, i))
            continue;
        widest = width;
        *gap = i;
        found = true;
    }
    return found;
}
