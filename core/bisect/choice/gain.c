/*
 * Information per cost.
 */
#include "core/bisect/choice/gain.h"

#include <math.h>

double plan_side_bits(double f, double d)
{
    const int points = 48;
    double from = -4.5;
    double width = (d + 9.0) / points;
    double bits = 0;
    if (!(f > 0 && f < 1))
        return 0;
    for (int i = 0; i <= points; i++) {
        double y = from + width * i;
        double p0 = exp(-y * y / 2);
        double p1 = exp(-(y - d) * (y - d) / 2);
        double mix = (1 - f) * p0 + f * p1;
        if (p0 > 0)
            bits += (1 - f) * p0 * log2(p0 / mix);
        if (p1 > 0)
            bits += f * p1 * log2(p1 / mix);
    }
    return fmax(0, bits * width / sqrt(2 * M_PI));
}

/* A value gives at most the entropy of the question. The integral is skipped where even that would
 * not replace the best so far. */
static bool can_improve(const plan_best *best, double f, double cost)
{
    const double entropy = f > 0 && f < 1 ? -f * log2(f) - (1 - f) * log2(1 - f) : 0;
    return entropy / cost > best->score;
}

double plan_precision(const plan_scales *s, size_t runs)
{
    double noise = s->noise * s->noise;
    double layout = s->layout * s->layout;
    double after = 1 / (layout + noise / (double)(runs + 1));
    return runs ? after - 1 / (layout + noise / (double)runs) : after;
}

void plan_consider(plan_best *best, const pfc_bisect_step *step, double bits, double cost)
{
    if (bits / cost <= best->score)
        return;
    best->score = bits / cost;
    best->bits = bits;
    best->step = *step;
    best->step.expected_gain_bits = bits;
}

void plan_consider_node(const plan_model *m, size_t node, double f, double size, plan_best *best)
{
    const pfc_bisect_opts *o = &m->input->opts;
    const plan_node *n = &m->chain.nodes[node];
    pfc_bisect_step step = { .commit = n->commit, .build = n->builds - 1 };
    const size_t runs = plan_runs_of_last_build(&m->chain, node);

    if (m->seen->unmeasurable[n->commit] || !can_improve(best, f, o->run_cost))
        return;
    plan_consider(best, &step, plan_side_bits(f, size * sqrt(plan_precision(&m->scales, runs))),
                  o->run_cost);
    step.build = n->builds;
    if (o->relink && m->scales.layout > 0)
        plan_consider(best, &step, plan_side_bits(f, size * sqrt(plan_precision(&m->scales, 0))),
                      o->run_cost + o->build_cost);
}
