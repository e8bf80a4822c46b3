/*
 * What to measure next.
 *
 * First both ends, until the change is seen again or seen not to be there. Then gaps that surely
 * hold a jump and nothing measurable inside are settled; they cut the range into parts, and the
 * part most likely to hold a further jump is searched: the next run is the one that tells most
 * about the steps to worse per cost (joint.c). Last, stretches that nobody has
 * looked into are probed, so that a step and its repair between two measured commits is seen.
 */
#include <math.h>
#include <stdlib.h>

#include "core/bisect/bisect_priv.h"

#define REPRODUCED   0.99  /* probability of a step at which the search begins */
#define NOT_THERE    0.985 /* probability of no step at which it ends */
#define LIKELY_NOT   0.90
#define TOLD_APART   16  /* 2 (z / size)^2 runs of either end tell a size apart: z = 2.8 */
#define REST         0.5 /* a part less likely to hold a step is done with: see rest_of */
#define REST_MOST    0.10
#define SPENT        12   /* runs of either border that were enough to see one */
#define SURE         0.90 /* a part this likely is searched inside, else its borders come first */
#define END_SHARE    0.14 /* of the runs belongs to each side's sure level */
#define END_RUNS     2
#define END_RUNS_NEW 4 /* when the noise itself must come from the ends */
#define SMALL_GAIN   0.01
#define LITTLE       0.02 /* bits: runs of the borders first */
#define KNOWN        0.05 /* of what a fresh commit tells: so little that one more run is not worth it */
#define ODD_FIT      0.5 /* a lone commit that fits the other level this much is asked again */
#define ODD_CLEAR    -2  /* likewise, where one run tells the levels apart for the most part */

typedef struct part {
    size_t from, to; /* nodes */
    double up;       /* expected jumps to worse inside */
} part;

bool plan_settled(const pfc_bisect_plan *plan, size_t gap)
{
    const plan_gap *g = &plan->model.gaps[gap];
    return g->atomic && g->up >= plan_confidence(plan);
}

static bool any_settled(const pfc_bisect_plan *plan)
{
    for (size_t i = 0; i + 1 < plan->model.nodes_len; i++)
        if (plan_settled(plan, i))
            return true;
    return false;
}

/* ---- one measurement's worth ---- */

/* Bits that a value tells about a side of probability f, the levels d standard deviations apart. */
static double side_bits(double f, double d)
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

/* No value tells more than what is in doubt: where even that is not worth as much as the best so
 * far, the integral is spared. */
static bool hopeful(const plan_best *best, double f, double cost)
{
    double doubt = f > 0 && f < 1 ? -f * log2(f) - (1 - f) * log2(1 - f) : 0;
    return doubt / cost > best->score;
}

double plan_precision(const plan_model *m, size_t runs)
{
    double noise = m->noise * m->noise;
    double layout = m->layout * m->layout;
    double after = 1 / (layout + noise / (double)(runs + 1));
    return runs ? after - 1 / (layout + noise / (double)runs) : after;
}

void plan_consider(plan_best *best, size_t commit, unsigned build, double bits, double cost)
{
    if (bits / cost <= best->score)
        return;
    best->score = bits / cost;
    best->bits = bits;
    best->step = (pfc_bisect_step){ .commit = commit, .build = build, .expected_gain_bits = bits };
}

size_t plan_runs_of_last_build(const pfc_bisect_plan *plan, const plan_node *node)
{
    size_t len = 0;
    for (size_t i = 0; i < node->len; i++)
        len += plan->runs[plan->model.order[node->first + i]].build + 1 == node->builds;
    return len;
}

/* Another run of this commit: of its last build, or of a new one where that tells more. */
static void consider_node(const pfc_bisect_plan *plan, const plan_node *node, double f, double size,
                          plan_best *best)
{
    const plan_model *m = &plan->model;
    const pfc_bisect_opts *o = &plan->opts;
    size_t runs = plan_runs_of_last_build(plan, node);
    if (plan->broken[node->commit] || !hopeful(best, f, o->run_cost))
        return;
    plan_consider(best, node->commit, node->builds - 1,
                  side_bits(f, size * sqrt(plan_precision(m, runs))), o->run_cost);
    if (o->relink && m->layout > 0)
        plan_consider(best, node->commit, node->builds,
                      side_bits(f, size * sqrt(plan_precision(m, 0))), o->run_cost + o->build_cost);
}

static pfc_bisect_step again(const pfc_bisect_plan *plan, size_t node, double size)
{
    plan_best best = { .score = -1 };
    consider_node(plan, &plan->model.nodes[node], 0.5, size, &best);
    return best.step;
}

/* ---- ends ---- */

static size_t node_runs(const pfc_bisect_plan *plan, size_t node)
{
    return plan->model.nodes[node].len;
}

/* The end with fewer runs; PLAN_NO_END when it can be measured no more. */
static plan_reason measure_fewer(const pfc_bisect_plan *plan, size_t a, size_t b, double size,
                                 pfc_bisect_step *out)
{
    size_t node = node_runs(plan, b) < node_runs(plan, a) ? b : a;
    if (plan->broken[plan->model.nodes[node].commit])
        node = node == a ? b : a;
    if (plan->broken[plan->model.nodes[node].commit])
        return PLAN_NO_END;
    *out = again(plan, node, size);
    return PLAN_GO_ON;
}

/* So sure that there is no step that the search ends. A difference of the ends that lies half-way
 * between none and the smallest that counts would be asked about for ever: once both ends have the
 * runs that tell these two apart, what is likely is enough. */
static double enough_none(const plan_model *m, size_t fewest)
{
    double ratio = hypot(m->noise, m->layout) / m->smallest;
    return (double)fewest >= TOLD_APART * ratio * ratio ? LIKELY_NOT : NOT_THERE;
}

/* Builds keep their layout and its offset: once these two have the runs to know their builds, more of
 * them say no more about their commits, and doubt is left to commits inside. */
static bool known_builds(const pfc_bisect_plan *plan, size_t a, size_t b)
{
    const plan_model *m = &plan->model;
    size_t fewest = PFC_MIN(node_runs(plan, a), node_runs(plan, b));
    return m->layout > 0 && !plan->opts.relink &&
           plan_precision(m, fewest) < KNOWN * plan_precision(m, 0);
}

/* Probably there is no step: that is an answer once the ends' interval shows it. */
static plan_reason show_none(const pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    const plan_model *m = &plan->model;
    const size_t last = m->nodes_len - 1;
    pfc_finding f;
    plan_finding(plan, &f);
    if (f.within)
        return PLAN_NULL;
    if (!plan_finding_worth(plan, &f))
        return PLAN_OPEN;
    return measure_fewer(plan, plan->opts.paired ? last : 0, last, m->step, out);
}

static bool reproduce(const pfc_bisect_plan *plan, pfc_bisect_step *out, plan_reason *reason)
{
    const plan_model *m = &plan->model;
    size_t last = m->nodes_len - 1;
    size_t want = plan->opts.noise_rel > 0 ? END_RUNS : END_RUNS_NEW;
    size_t fewest = PFC_MIN(node_runs(plan, 0), node_runs(plan, last));
    if (fewest >= want && m->none >= enough_none(m, fewest)) {
        *reason = show_none(plan, out);
        return true;
    }
    if (fewest >= want && 1 - m->none >= REPRODUCED)
        return false;
    if (fewest >= want && known_builds(plan, 0, last))
        return false;
    if (last > 1 && fewest >= want)
        return false; /* a look inside has raised the doubt: look there again */
    *reason = measure_fewer(plan, 0, last, m->step, out);
    return true;
}

/* ---- a part ---- */

/* What is left of the probability of a further step when it is not worth looking for any more. The
 * runs that would settle it grow with the square of noise over step, so what is small against the
 * noise may stay open at a higher probability. */
static double rest_of(const plan_model *m)
{
    double ratio = hypot(m->noise, m->layout) / m->step;
    return fmin(REST_MOST, REST * ratio * ratio);
}

/* The part of the range between settled gaps that most likely holds a further jump. */
static bool worst_part(const pfc_bisect_plan *plan, const bool *given_up, part *out)
{
    const plan_model *m = &plan->model;
    size_t from = 0;
    double up = 0;
    out->up = 0;
    for (size_t i = 0; i < m->nodes_len; i++) {
        bool last = i + 1 == m->nodes_len;
        if (!last && !plan_settled(plan, i)) {
            up += m->gaps[i].up;
            continue;
        }
        if (up > out->up && !given_up[from])
            *out = (part){ .from = from, .to = i, .up = up };
        from = i + 1;
        up = 0;
    }
    return out->up > (any_settled(plan) ? rest_of(m) : 1 - NOT_THERE);
}

static double part_size(const plan_model *m, const part *p)
{
    double size = 0;
    for (size_t i = p->from; i < p->to; i++)
        size += m->gaps[i].up * m->gaps[i].up_size;
    return p->up > 0 ? size / p->up : m->step;
}

/* Narrows a part to where its jumps may be: all but 2 % of them. */
static part core_of(const plan_model *m, const part *p)
{
    part core = *p;
    double cut = 0.02 * p->up;
    for (double sum = 0; core.from + 1 < core.to; core.from++) {
        sum += m->gaps[core.from].up;
        if (sum > cut)
            break;
    }
    for (double sum = 0; core.from + 1 < core.to; core.to--) {
        sum += m->gaps[core.to - 1].up;
        if (sum > cut)
            break;
    }
    return core;
}

/* The level on either side must be known as well as the commits between them. Returns true when
 * an end of the part comes first. */
static bool anchor(const pfc_bisect_plan *plan, const part *p, double size, pfc_bisect_step *out)
{
    const plan_model *m = &plan->model;
    size_t low = 0;
    size_t high = 0;
    size_t all = 0;
    double sum = 0;
    for (size_t i = p->from; i <= p->to; i++) {
        size_t runs = node_runs(plan, i);
        all += runs;
        low += sum <= 0.05 ? runs : 0;
        high += sum >= p->up - 0.05 * PFC_MIN(p->up, 1.0) ? runs : 0;
        sum += i < p->to ? m->gaps[i].up : 0;
    }
    double want = fmax(END_RUNS, END_SHARE * (double)all);
    size_t node = low <= high ? p->from : p->to;
    if ((double)PFC_MIN(low, high) >= want || plan->broken[m->nodes[node].commit])
        return false;
    *out = again(plan, node, size);
    return true;
}

/* What is too rare for the courses drawn: whether the likeliest jump lies in its gap or beside it. */
static void beside_likeliest(const pfc_bisect_plan *plan, const part *p, double size,
                             plan_best *best)
{
    const plan_model *m = &plan->model;
    size_t at = p->from;
    for (size_t i = p->from; i < p->to; i++)
        at = m->gaps[i].up > m->gaps[at].up ? i : at;
    double doubt = fmax(0, 1 - m->gaps[at].up);
    consider_node(plan, &m->nodes[at], doubt, size, best);
    consider_node(plan, &m->nodes[at + 1], doubt, size, best);
}

/* Is the best run still worth a part of what a fresh commit in the middle would tell? */
static bool worth_it(const pfc_bisect_plan *plan, const plan_best *best, double size)
{
    double fresh = side_bits(0.5, size * sqrt(plan_precision(&plan->model, 0)));
    double doubt = fmin(1, 100 * (1 - plan_confidence(plan)));
    return best->score > 0 && best->bits > SMALL_GAIN * doubt * fresh;
}

/* A doubtful further step, after one is found, has had what can be spent on it: enough runs on both
 * sides to see one of the size looked for. */
static bool spent_on(const pfc_bisect_plan *plan, const part *core)
{
    return any_settled(plan) &&
           PFC_MIN(node_runs(plan, core->from), node_runs(plan, core->to)) > SPENT;
}

typedef enum part_end { PART_GO_ON, PART_QUIET, PART_NARROW } part_end;

static part_end search_part(const pfc_bisect_plan *plan, const part *p, pfc_bisect_step *out)
{
    const plan_model *m = &plan->model;
    double size = part_size(m, p);
    part core = core_of(m, p);
    plan_best best = { .score = 0 };
    bool likely = p->up >= SURE || known_builds(plan, core.from, core.to);
    if (p->up < SURE && spent_on(plan, &core))
        return PART_QUIET;
    if (likely && anchor(plan, p, size, out))
        return PART_GO_ON;
    plan_joint(plan, p->from, p->to, &best);
    *out = best.step;
    if (!likely && best.bits > LITTLE)
        return PART_GO_ON;
    if (!likely)
        return measure_fewer(plan, core.from, core.to, size, out) ? PART_NARROW : PART_GO_ON;
    if (!worth_it(plan, &best, size))
        beside_likeliest(plan, p, size, &best);
    *out = best.step;
    return worth_it(plan, &best, size) ? PART_GO_ON : PART_NARROW;
}

/* ---- what nobody has looked into ---- */

/* Logarithm of how much better a level `shift` away fits the runs of a node. */
static double shift_fit(const pfc_bisect_plan *plan, const plan_node *node, double shift)
{
    const plan_model *m = &plan->model;
    double sum = 0;
    for (size_t i = 0; i < node->len; i++) {
        size_t run = m->order[node->first + i];
        double noise = hypot(m->noise * m->scale[run], m->layout);
        double here = (m->x[run] - node->mean) / noise;
        double there = (m->x[run] - node->mean - shift) / noise;
        sum += log1p(here * here / PLAN_NU) - log1p(there * there / PLAN_NU);
    }
    return sum * (PLAN_NU + 1) / 2;
}

/* A lone commit in the middle of a wide stretch that looks as if it were on another level. The
 * chain thinks little of a step and its repair around one run; a second run settles it. */
static bool odd_one(const pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    const plan_model *m = &plan->model;
    double most = plan_clear(plan) ? ODD_CLEAR : ODD_FIT;
    bool found = false;
    for (size_t i = 1; i + 1 < m->nodes_len; i++) {
        const plan_node *node = &m->nodes[i];
        size_t width = node[1].commit - node[-1].commit;
        if (plan->broken[node->commit] || width * plan_stretches(plan) < plan->opts.commits)
            continue;
        double fit = fmax(shift_fit(plan, node, m->step), shift_fit(plan, node, -m->step));
        if (fit <= most)
            continue;
        most = fit;
        *out = again(plan, i, m->step);
        found = true;
    }
    return found;
}

static bool probe(const pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    const plan_model *m = &plan->model;
    size_t gap = 0;
    if (!plan_widest(plan, &gap))
        return false;
    size_t a = m->nodes[gap].commit;
    size_t b = m->nodes[gap + 1].commit;
    size_t at = plan_pick(plan, a, b, a + (b - a) / 2);
    *out = (pfc_bisect_step){ .commit = at };
    return at != 0;
}

/* On a machine with a state of its own every run is followed by one of an end, to compare with. */
static bool reference_due(const pfc_bisect_plan *plan)
{
    size_t last = plan->runs[plan->runs_len - 1].commit;
    return plan->model.state && last != 0 && last != plan->opts.commits - 1;
}

plan_reason plan_choose(pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    plan_reason reason = PLAN_GO_ON;
    bool *given_up;
    bool narrow = false;
    bool found = false;
    part p = { 0 };
    if (reproduce(plan, out, &reason))
        return reason;
    if (plan->opts.first_only && any_settled(plan))
        return PLAN_DONE;
    if (reference_due(plan))
        return measure_fewer(plan, 0, plan->model.nodes_len - 1, plan->model.step, out);
    given_up = pfc_calloc(plan->model.nodes_len, sizeof *given_up);
    while (!found && worst_part(plan, given_up, &p)) {
        part_end end = search_part(plan, &p, out);
        found = end == PART_GO_ON;
        narrow = narrow || end == PART_NARROW;
        given_up[p.from] = true;
    }
    free(given_up);
    if (found || (!narrow && (odd_one(plan, out) || probe(plan, out))))
        return PLAN_GO_ON;
    return narrow ? PLAN_NARROW : PLAN_DONE;
}
