/*
 * The planner's posterior against sums over all courses of the level, and its probabilities against
 * what happens.
 */
#include <math.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/bisect/model/fit.h"

#include "tests/check/check.h"

#define NODES  4
#define GRID   7
#define STATES (2 * GRID) /* before and after the first jump to worse */

/* Probability of a jump of so many grid points, sizes being a mixture of three boxes: from 0.7
 * to 1.5 of the step that was seen (0.6; downwards from half of that), from the smallest that
 * counts to 2.5 of it (0.3), and to the whole grid (0.1). */
static double jump(const plan_model *m, bool up, size_t by)
{
    const double from[] = { 0.7 * m->scales.step, m->scales.smallest, m->scales.smallest };
    const double to[] = { 1.5 * m->scales.step, 2.5 * m->scales.step, m->grid.pitch * GRID };
    const double share[] = { 0.6, 0.3, 0.1 };
    double p = 0.0;

    for (size_t k = 0; k < 3; k++) {
        size_t a = (size_t)fmax(1.0, floor(from[k] / m->grid.pitch + 0.5));
        const size_t b = (size_t)fmin(GRID, floor(to[k] / m->grid.pitch + 0.5));
        if (!up && k == 0)
            a = PFC_MAX(a / 2, (size_t)1);
        if (a <= by && by <= b)
            p += share[k] / (double)(b - a + 1);
    }
    return p;
}

/* Weight of one state following another over a gap: prior 9 against none for the first jump to
 * worse, `further_weight` for a further one, 0.1 for one to better, each times the prior weight of
 * the gap. */
static double weight_of(const plan_model *m, size_t gap, size_t s, size_t t)
{
    const size_t l = s % GRID, to = t % GRID;
    const double w = m->chain.gaps[gap].weight;

    if (s == t)
        return 1.0;
    if (to > l)
        return t < GRID ? 0.0 : w * (s < GRID ? 9.0 : m->further_weight) * jump(m, true, to - l);
    return to < l && (s < GRID) == (t < GRID) ? 0.1 * w * jump(m, false, l - to) : 0.0;
}

/* Sums over all courses, each with its weight. */
typedef struct truth {
    double all, none, up[NODES - 1], down[NODES - 1], size[NODES - 1], level[NODES];
} truth;

static void walk(const plan_model *m, const double *e, size_t *at, size_t node, double p,
                 truth *sum)
{
    if (node == NODES) {
        sum->all += p;
        sum->none += at[NODES - 1] < GRID ? p : 0.0;
        for (size_t i = 0; i < NODES; i++)
            sum->level[i] += p * (double)(at[i] % GRID);
        for (size_t i = 0; i + 1 < NODES; i++) {
            const double by = (double)(at[i + 1] % GRID) - (double)(at[i] % GRID);
            sum->up[i] += by > 0.0 ? p : 0.0;
            sum->down[i] += by < 0.0 ? p : 0.0;
            sum->size[i] += by > 0.0 ? p * by : 0.0;
        }
        return;
    }
    for (size_t s = 0; s < (node == 0 ? GRID : STATES); s++) {
        const double step = node == 0 ? 1.0 : weight_of(m, node - 1, at[node - 1], s);
        at[node] = s;
        if (step > 0.0)
            walk(m, e, at, node + 1, p * step * exp(e[node * GRID + s % GRID]), sum);
    }
}

Test(posterior, sums_over_the_chain_are_sums_over_all_courses)
{
    const pfc_bisect_opts opts = { .commits = 40, .noise_rel = 0.01, .delta_rel = 0.02 };
    const double weights[] = { 0.5, 0.2, 0.3 };
    pfc_rng rng;

    pfc_rng_seed(&rng, 3);
    for (int round = 0; round < 20; round++) {
        plan_input input;
        plan_observations seen;
        plan_model model = { 0 }, *m = &model;
        double e[NODES * GRID];
        size_t at[NODES];
        truth expected = { 0 };

        cr_assert(eq(int, plan_input_init(&input, &opts, NULL), PFC_OK));
        plan_observations_init(&seen, opts.commits);
        m->input = &input;
        m->seen = &seen;
        m->chain.len = NODES;
        m->chain.nodes = pfc_calloc(NODES, sizeof *m->chain.nodes);
        m->chain.gaps = pfc_calloc(NODES, sizeof *m->chain.gaps);
        m->posterior.jumps = pfc_calloc(NODES, sizeof *m->posterior.jumps);
        m->posterior.levels = pfc_calloc(NODES, sizeof *m->posterior.levels);
        m->posterior.courses = pfc_calloc(NODES * PLAN_DRAWS, sizeof *m->posterior.courses);
        m->grid.points = GRID;
        m->grid.pitch = 0.005 + 0.001 * round;
        m->scales.step = 0.02;
        m->scales.smallest = 0.008;
        m->further_weight = round % 2 ? 0.3 : 0.7;
        for (size_t i = 0; i + 1 < NODES; i++)
            m->chain.gaps[i].weight = weights[i];
        for (size_t i = 0; i < NODES * GRID; i++)
            e[i] = 2.0 * pfc_rng_normal(&rng);
        plan_posterior_compute(m, e);
        walk(m, e, at, 0, 1.0, &expected);
        cr_assert(epsilon_eq(dbl, m->posterior.none, expected.none / expected.all, 1e-12),
                  "round %d", round);
        for (size_t i = 0; i + 1 < NODES; i++) {
            cr_assert(
                epsilon_eq(dbl, m->posterior.jumps[i].up, expected.up[i] / expected.all, 1e-12));
            cr_assert(epsilon_eq(dbl, m->posterior.jumps[i].down, expected.down[i] / expected.all,
                                 1e-12));
            cr_assert(epsilon_eq(dbl, m->posterior.jumps[i].up_size,
                                 m->grid.pitch * expected.size[i] / expected.up[i], 1e-12));
        }
        for (size_t i = 0; i < NODES; i++)
            cr_assert(epsilon_eq(dbl, m->posterior.levels[i],
                                 m->grid.pitch * expected.level[i] / expected.all, 1e-12));
        plan_model_clear(m);
        plan_observations_clear(&seen);
        plan_input_clear(&input);
    }
}

/* Searches broken off after 8 to 20 runs: of the commits given a probability so large, as many must
 * be the culprit as the probabilities add up to. Noise is normal and has heavy tails in turn, three
 * standard deviations of the count are allowed, and a tenth for what the model does not know. */
Test(posterior, probabilities_come_true_as_often_as_they_say)
{
    enum { COMMITS = 65, SESSIONS = 400 };
    static const double edges[] = { 0.005, 0.03, 0.1, 0.3, 0.6, 0.9, 1.01 };
    double said[6] = { 0 }, variance[6] = { 0 }, true_ones[6] = { 0 };

    for (size_t k = 0; k < SESSIONS; k++) {
        const pfc_bisect_opts opts = {
            .commits = COMMITS, .noise_rel = 0.01, .delta_rel = 0.02, .seed = k
        };
        const size_t culprit = 1 + (k * 37) % 64;
        pfc_bisect_plan *plan = NULL;
        pfc_bisect_step step;
        double p[COMMITS];
        pfc_rng rng;

        pfc_rng_seed(&rng, 500 + k);
        cr_assert(eq(int, pfc_bisect_new(&plan, &opts, NULL), PFC_OK));
        for (size_t run = 0; run < 8 + k % 13; run++) {
            pfc_bisect_next(plan, &step);
            if (step.act == PFC_BISECT_STOP)
                break;
            double z = pfc_rng_normal(&rng);
            if (k % 2 && pfc_rng_below(&rng, 20) == 0)
                z *= 5.0;
            const double level = step.commit < culprit ? 100.0 : 102.0;
            cr_assert(eq(
                int, pfc_bisect_add_run(plan, step.commit, step.build, level * exp(0.01 * z), NULL),
                PFC_OK));
        }
        pfc_bisect_posterior(plan, p);
        pfc_bisect_free(plan);
        for (size_t i = 1; i < COMMITS; i++) {
            for (size_t b = 0; b < 6; b++) {
                if (p[i] < edges[b] || p[i] >= edges[b + 1])
                    continue;
                said[b] += p[i];
                variance[b] += p[i] * (1.0 - p[i]);
                true_ones[b] += i == culprit;
            }
        }
    }
    for (size_t b = 0; b < 6; b++) {
        const double most = 3.0 * sqrt(variance[b]) + 0.1 * said[b];
        cr_assert(le(dbl, fabs(true_ones[b] - said[b]), most), "from %g: %g true, %g said",
                  edges[b], true_ones[b], said[b]);
    }
    cr_assert(gt(dbl, said[2], 20.0));
}
