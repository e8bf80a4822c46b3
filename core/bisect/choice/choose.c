/*
 * The choice of the next measurement.
 *
 * Both ends are measured first, until they reproduce the change or show that there is none. A gap
 * that holds a jump with the plan's confidence and nothing measurable inside is settled. Settled
 * gaps cut the range into parts, and the part with the highest probability of a further jump is
 * searched: the next run is the one with the largest information about the steps to worse per cost
 * (joint.c). Stretches without any measured commit are probed last, so that a step and its repair
 * between two measured commits are found.
 */
#include "core/bisect/choice/choose.h"

#include <math.h>
#include <stdlib.h>

#include "core/bisect/model/margin.h"

#define REPRODUCED   0.99  /* probability of a step at which the search begins */
#define NO_STEP      0.985 /* probability of no step at which it ends */
#define LIKELY_NONE  0.90  /* the same, once both ends have SEPARATING runs */
#define SEPARATING   16    /* 2 (z / size)^2 runs of either end, z = 2.8 */
/* a part with less probability of a step is not searched (see rest_of) */
#define REST         0.5
#define REST_MOST    0.10
#define SPENT        12   /* runs of either border that suffice to detect a step */
#define LIKELY       0.90 /* a part is searched inside from this probability on, else its borders */
#define END_SHARE    0.14 /* share of the runs that each side's level gets */
#define END_RUNS     2
#define END_RUNS_NEW 4 /* when the noise itself must come from the ends */
#define SMALL_GAIN   0.01
#define LITTLE       0.02 /* below this many bits the borders are measured first */
#define KNOWN        0.05 /* one more run of a known build adds less, relative to a new build */
#define ODD_FIT      0.5  /* log likelihood ratio at which an outlying commit is measured again */
#define ODD_CLEAR    -2   /* the same, where one run separates the levels in most cases */

typedef struct part {
    size_t from, to; /* nodes */
    double up;       /* expected jumps to worse inside */
} part;

static pfc_bisect_step another_run(const plan_model *m, size_t node, double size)
{
    plan_best best = { .score = -1 };
    plan_consider_node(m, node, 0.5, size, &best);
    return best.step;
}

/* ---- ends ---- */

static size_t node_runs(const plan_model *m, size_t node)
{
    return m->chain.nodes[node].len;
}

/* The end with fewer runs; PLAN_NO_END when neither can be measured. */
static plan_reason measure_fewer(const plan_model *m, size_t a, size_t b, double size,
                                 pfc_bisect_step *out)
{
    size_t node = node_runs(m, b) < node_runs(m, a) ? b : a;
    if (m->seen->unmeasurable[m->chain.nodes[node].commit])
        node = node == a ? b : a;
    if (m->seen->unmeasurable[m->chain.nodes[node].commit])
        return PLAN_NO_END;
    *out = another_run(m, node, size);
    return PLAN_GO_ON;
}

/* Probability of no step at which the search ends. A difference of the ends half-way between none
 * and the smallest step that counts would never reach NO_STEP, so a lower probability is enough
 * once both ends have the runs that separate these two. */
static double none_threshold(const plan_model *m, size_t fewest)
{
    double ratio = hypot(m->scales.noise, m->scales.layout) / m->scales.smallest;
    return (double)fewest >= SEPARATING * ratio * ratio ? LIKELY_NONE : NO_STEP;
}

/* A build keeps its layout and the offset that comes with it. Once both nodes have so many runs
 * that their builds' levels are known, further runs of these builds give nothing about the commits;
 * only runs of commits inside do. */
static bool known_builds(const plan_model *m, size_t a, size_t b)
{
    size_t fewest = PFC_MIN(node_runs(m, a), node_runs(m, b));
    return m->scales.layout > 0 && !m->input->opts.relink &&
           plan_precision(&m->scales, fewest) < KNOWN * plan_precision(&m->scales, 0);
}

/* There is probably no step. That must not become the verdict before the interval of the ends'
 * difference shows it. */
static plan_reason show_no_step(const plan_model *m, pfc_bisect_step *out)
{
    const size_t last = m->chain.len - 1;
    pfc_finding f;
    plan_finding(m, &f);
    if (f.within)
        return PLAN_NULL;
    if (!plan_finding_pays(m, &f))
        return PLAN_OPEN;
    return measure_fewer(m, m->input->opts.paired ? last : 0, last, m->scales.step, out);
}

static bool reproduce(const plan_model *m, pfc_bisect_step *out, plan_reason *reason)
{
    size_t last = m->chain.len - 1;
    size_t needed = m->input->opts.noise_rel > 0 ? END_RUNS : END_RUNS_NEW;
    size_t fewest = PFC_MIN(node_runs(m, 0), node_runs(m, last));
    if (fewest >= needed && m->posterior.none >= none_threshold(m, fewest)) {
        *reason = show_no_step(m, out);
        return true;
    }
    if (fewest >= needed && 1 - m->posterior.none >= REPRODUCED)
        return false;
    if (fewest >= needed && known_builds(m, 0, last))
        return false;
    if (last > 1 && fewest >= needed)
        return false; /* runs inside the range lowered the probability: measure there another_run */
    *reason = measure_fewer(m, 0, last, m->scales.step, out);
    return true;
}

/* ---- a part ---- */

/* The probability of a further step below which the search for it stops. The runs that would decide
 * it grow with the square of noise over step, so a step that is small against the noise may stay
 * open at a higher probability. */
static double rest_of(const plan_model *m)
{
    double ratio = hypot(m->scales.noise, m->scales.layout) / m->scales.step;
    return fmin(REST_MOST, REST * ratio * ratio);
}

/* The part of the range between settled gaps that most likely holds a further jump. */
static bool worst_part(const plan_model *m, const bool *given_up, part *out)
{
    size_t from = 0;
    double up = 0;
    out->up = 0;
    for (size_t i = 0; i < m->chain.len; i++) {
        bool last = i + 1 == m->chain.len;
        if (!last && !plan_is_settled(m, i)) {
            up += m->posterior.jumps[i].up;
            continue;
        }
        if (up > out->up && !given_up[from])
            *out = (part){ .from = from, .to = i, .up = up };
        from = i + 1;
        up = 0;
    }
    return out->up > (plan_any_settled(m) ? rest_of(m) : 1 - NO_STEP);
}

static double part_size(const plan_model *m, const part *p)
{
    double size = 0;
    for (size_t i = p->from; i < p->to; i++)
        size += m->posterior.jumps[i].up * m->posterior.jumps[i].up_size;
    return p->up > 0 ? size / p->up : m->scales.step;
}

/* Narrows a part to the commits that hold all but 2 % of the probability of its jumps. */
static part core_of(const plan_model *m, const part *p)
{
    part core = *p;
    double cut = 0.02 * p->up;
    for (double sum = 0; core.from + 1 < core.to; core.from++) {
        sum += m->posterior.jumps[core.from].up;
        if (sum > cut)
            break;
    }
    for (double sum = 0; core.from + 1 < core.to; core.to--) {
        sum += m->posterior.jumps[core.to - 1].up;
        if (sum > cut)
            break;
    }
    return core;
}

/* The level on either side must be known as well as the commits between them. Returns true when an
 * end of the part is to be measured first. */
static bool anchor(const plan_model *m, const part *p, double size, pfc_bisect_step *out)
{
    size_t low = 0;
    size_t high = 0;
    size_t all = 0;
    double sum = 0;
    for (size_t i = p->from; i <= p->to; i++) {
        size_t runs = node_runs(m, i);
        all += runs;
        low += sum <= 0.05 ? runs : 0;
        high += sum >= p->up - 0.05 * PFC_MIN(p->up, 1.0) ? runs : 0;
        sum += i < p->to ? m->posterior.jumps[i].up : 0;
    }
    double needed = fmax(END_RUNS, END_SHARE * (double)all);
    size_t node = low <= high ? p->from : p->to;
    if ((double)PFC_MIN(low, high) >= needed || m->seen->unmeasurable[m->chain.nodes[node].commit])
        return false;
    *out = another_run(m, node, size);
    return true;
}

/* Checks whether the likeliest jump lies in its gap or beside it. The drawn courses cannot answer
 * that, because the alternative is too rare to occur among them. */
static void beside_likeliest(const plan_model *m, const part *p, double size, plan_best *best)
{
    size_t at = p->from;
    for (size_t i = p->from; i < p->to; i++)
        at = m->posterior.jumps[i].up > m->posterior.jumps[at].up ? i : at;
    double elsewhere = fmax(0, 1 - m->posterior.jumps[at].up);
    plan_consider_node(m, at, elsewhere, size, best);
    plan_consider_node(m, at + 1, elsewhere, size, best);
}

/* Checks whether the best run gives enough information, compared with a first run of a commit in
 * the middle of a step's gap. */
static bool pays(const plan_model *m, const plan_best *best, double size)
{
    double first = plan_side_bits(0.5, size * sqrt(plan_precision(&m->scales, 0)));
    double error = fmin(1, 100 * (1 - plan_confidence(m->input)));
    return best->score > 0 && best->bits > SMALL_GAIN * error * first;
}

/* After one step is found, a doubtful further one gets no more runs once both its sides have enough
 * to detect a step of the requested size: more runs would hardly change its probability. */
static bool spent_on(const plan_model *m, const part *core)
{
    return plan_any_settled(m) && PFC_MIN(node_runs(m, core->from), node_runs(m, core->to)) > SPENT;
}

typedef enum part_end { PART_GO_ON, PART_QUIET, PART_NARROW } part_end;

static part_end search_part(const plan_model *m, const part *p, pfc_bisect_step *out)
{
    double size = part_size(m, p);
    part core = core_of(m, p);
    plan_best best = { .score = 0 };
    bool likely = p->up >= LIKELY || known_builds(m, core.from, core.to);
    if (p->up < LIKELY && spent_on(m, &core))
        return PART_QUIET;
    if (likely && anchor(m, p, size, out))
        return PART_GO_ON;
    plan_joint(m, p->from, p->to, &best);
    *out = best.step;
    if (!likely && best.bits > LITTLE)
        return PART_GO_ON;
    if (!likely)
        return measure_fewer(m, core.from, core.to, size, out) ? PART_NARROW : PART_GO_ON;
    if (!pays(m, &best, size))
        beside_likeliest(m, p, size, &best);
    *out = best.step;
    return pays(m, &best, size) ? PART_GO_ON : PART_NARROW;
}

/* ---- stretches without a measured commit ---- */

/* Logarithm of how much better a level `shift` away fits the runs of a node. */
static double shift_fit(const plan_model *m, size_t node, double shift)
{
    const plan_node *n = &m->chain.nodes[node];
    const double level = m->posterior.levels[node];
    double sum = 0;
    for (size_t i = 0; i < n->len; i++) {
        size_t run = m->chain.order[n->first + i];
        double noise = hypot(m->scales.noise * m->chain.scale[run], m->scales.layout);
        double here = (m->chain.x[run] - level) / noise;
        double there = (m->chain.x[run] - level - shift) / noise;
        sum += log1p(here * here / PLAN_NU) - log1p(there * there / PLAN_NU);
    }
    return sum * (PLAN_NU + 1) / 2;
}

/* A single commit in the middle of a wide stretch whose runs fit another level. The chain gives a
 * step and its repair around one run little probability; a second run decides. */
static bool outlying_commit(const plan_model *m, pfc_bisect_step *out)
{
    double most = plan_is_clear(m) ? ODD_CLEAR : ODD_FIT;
    bool found = false;
    for (size_t i = 1; i + 1 < m->chain.len; i++) {
        const plan_node *node = &m->chain.nodes[i];
        size_t width = node[1].commit - node[-1].commit;
        if (m->seen->unmeasurable[node->commit] ||
            width * plan_stretches(m) < m->input->opts.commits)
            continue;
        double fit = fmax(shift_fit(m, i, m->scales.step), shift_fit(m, i, -m->scales.step));
        if (fit <= most)
            continue;
        most = fit;
        *out = another_run(m, i, m->scales.step);
        found = true;
    }
    return found;
}

static bool probe(const plan_model *m, pfc_bisect_step *out)
{
    size_t gap = 0;
    if (!plan_widest(m, &gap))
        return false;
    size_t a = m->chain.nodes[gap].commit;
    size_t b = m->chain.nodes[gap + 1].commit;
    size_t at = plan_pick(m->seen, a, b, a + (b - a) / 2);
    *out = (pfc_bisect_step){ .commit = at };
    return at != 0;
}

/* On a machine that drifts, a run of an end follows each other run, as its reference. */
static bool reference_due(const plan_model *m)
{
    size_t last = m->seen->runs[m->seen->len - 1].commit;
    return m->scales.drift && last != 0 && last != m->input->opts.commits - 1;
}

plan_reason plan_choose(const plan_model *m, pfc_bisect_step *out)
{
    plan_reason reason = PLAN_GO_ON;
    bool *given_up;
    bool narrow = false;
    bool found = false;
    part p = { 0 };
    if (reproduce(m, out, &reason))
        return reason;
    if (m->input->opts.first_only && plan_any_settled(m))
        return PLAN_DONE;
    if (reference_due(m))
        return measure_fewer(m, 0, m->chain.len - 1, m->scales.step, out);
    given_up = pfc_calloc(m->chain.len, sizeof *given_up);
    while (!found && worst_part(m, given_up, &p)) {
        part_end end = search_part(m, &p, out);
        found = end == PART_GO_ON;
        narrow = narrow || end == PART_NARROW;
        given_up[p.from] = true;
    }
    free(given_up);
    if (found || (!narrow && (outlying_commit(m, out) || probe(m, out))))
        return PLAN_GO_ON;
    return narrow ? PLAN_NARROW : PLAN_DONE;
}
