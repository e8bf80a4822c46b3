/*
 * The answer so far: posterior, culprits, verdict, the ends' difference. Reads the plan, changes
 * nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "core/bisect/model/margin.h"
#include "core/bisect/plan.h"

#define Z95 1.959963984540054

static void add_culprit(pfc_bisect_report *report, const pfc_culprit *culprit)
{
    report->culprits =
        pfc_realloc(report->culprits, report->culprits_len + 1, sizeof *report->culprits);
    report->culprits[report->culprits_len++] = *culprit;
}

static void add_gaps(const plan_model *m, size_t from, size_t to, double probability,
                     pfc_bisect_report *out)
{
    double all = 0;
    double mean = 0;
    double square = 0;
    for (size_t i = from; i <= to; i++) {
        const plan_jump *g = &m->posterior.jumps[i];
        all += g->up;
        mean += g->up * g->up_size;
        square += g->up * (g->up_var + g->up_size * g->up_size);
    }
    mean = all > 0 ? mean / all : 0;
    double sd = all > 0 ? sqrt(fmax(0, square / all - mean * mean)) : 0;
    double one = expm1(m->input->sign * (mean - Z95 * sd));
    double two = expm1(m->input->sign * (mean + Z95 * sd));
    add_culprit(out, &(pfc_culprit){ .first = m->chain.nodes[from].commit + 1,
                                     .last = m->chain.nodes[to + 1].commit,
                                     .probability = fmin(probability, 1),
                                     .rel_change = expm1(m->input->sign * mean),
                                     .rel_low = fmin(one, two),
                                     .rel_high = fmax(one, two) });
}

/* The credible set: the narrowest run of gaps among from..to with the plan's confidence of their
 * jumps. */
static void add_credible(const plan_model *m, size_t from, size_t to, double all,
                         pfc_bisect_report *out)
{
    double target = plan_confidence(m->input) * fmin(all, 1);
    size_t best_a = from;
    size_t best_b = to;
    double best = all;
    for (size_t a = from; a <= to; a++) {
        double sum = 0;
        for (size_t b = a; b <= to; b++) {
            sum += m->posterior.jumps[b].up;
            if (sum < target)
                continue;
            size_t width = m->chain.nodes[b + 1].commit - m->chain.nodes[a].commit;
            if (width < m->chain.nodes[best_b + 1].commit - m->chain.nodes[best_a].commit) {
                best_a = a;
                best_b = b;
                best = sum;
            }
            break;
        }
    }
    add_gaps(m, best_a, best_b, best, out);
}

/* Settled gaps, and the credible set of each run of open gaps whose probability of a jump is above
 * one half. */
static void noisy_culprits(const plan_model *m, pfc_bisect_report *out, bool open)
{
    size_t from = 0;
    double up = 0;
    for (size_t i = 0; i < m->chain.len; i++) {
        bool last = i + 1 == m->chain.len;
        bool settled = !last && plan_is_settled(m, i);
        if (!last && !settled) {
            up += m->posterior.jumps[i].up;
            continue;
        }
        if (open && up > 0.5 && i > from)
            add_credible(m, from, i - 1, up, out);
        if (settled)
            add_gaps(m, i, i, m->posterior.jumps[i].up, out);
        from = i + 1;
        up = 0;
    }
}

static void exact_culprits(const plan_model *m, pfc_bisect_report *out, bool open)
{
    for (size_t i = 0; i + 1 < m->chain.len; i++) {
        if (!(plan_gap_up(m, i) > 0) || (!open && !m->chain.gaps[i].atomic))
            continue;
        const double rel = expm1(m->input->sign * (plan_first_x(m, i + 1) - plan_first_x(m, i)));
        add_culprit(out, &(pfc_culprit){ .first = m->chain.nodes[i].commit + 1,
                                         .last = m->chain.nodes[i + 1].commit,
                                         .probability = 1,
                                         .rel_change = rel,
                                         .rel_low = rel,
                                         .rel_high = rel });
    }
}

static int by_probability(const void *a, const void *b)
{
    const pfc_culprit *x = a;
    const pfc_culprit *y = b;
    if (x->probability != y->probability)
        return x->probability > y->probability ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void count(const plan_model *m, pfc_bisect_report *out)
{
    const plan_observations *seen = m->seen;

    out->runs = seen->spent;
    out->commits_measured = m->chain.len;
    out->builds = seen->unmeasurable_len;
    for (size_t i = 0; i < seen->len; i++) {
        const plan_run *a = &seen->runs[m->chain.order[i]];
        const plan_run *b = i ? &seen->runs[m->chain.order[i - 1]] : NULL;
        out->builds += !b || a->commit != b->commit || a->build != b->build;
    }
}

/* A set whose commits no number of runs can separate. */
static bool inseparable(const plan_observations *seen, const pfc_culprit *c)
{
    return c->first < c->last &&
           plan_unmeasurable_between(seen, c->first - 1, c->last) == c->last - c->first;
}

static pfc_bisect_verdict verdict_of(plan_reason reason, const pfc_bisect_report *out)
{
    if (reason == PLAN_NULL)
        return PFC_BISECT_NO_REGRESSION;
    if (reason != PLAN_DONE && reason != PLAN_NARROW)
        return PFC_BISECT_INCONCLUSIVE;
    if (!out->culprits_len)
        return PFC_BISECT_INCONCLUSIVE;
    for (size_t i = 0; i < out->culprits_len; i++)
        if (out->culprits[i].first != out->culprits[i].last)
            return PFC_BISECT_RANGE;
    return PFC_BISECT_FOUND;
}

const char *pfc_bisect_verdict_name(pfc_bisect_verdict verdict)
{
    static const char *const names[] = { "found", "range", "no-regression", "inconclusive" };

    return names[verdict];
}

bool pfc_bisect_verdict_names(pfc_bisect_verdict verdict)
{
    return verdict == PFC_BISECT_FOUND || verdict == PFC_BISECT_RANGE;
}

void pfc_bisect_report_get(const pfc_bisect_plan *plan, pfc_bisect_report *out)
{
    pfc_bisect_plan *clone = plan_clone(plan);
    pfc_bisect_step step;
    plan_reason reason = plan_next(clone, &step);
    const plan_model *m;

    *out = (pfc_bisect_report){ 0 };
    /* The last run of a budget may decide the search: then its verdict is reported, not the end of
     * the budget. */
    if (reason == PLAN_BUDGET) {
        clone->input.opts.max_runs = PFC_BISECT_MAX_RUNS;
        plan_reason open = plan_next(clone, &step);
        reason = open == PLAN_GO_ON ? PLAN_BUDGET : open;
    }
    m = plan_fitted(clone);
    count(m, out);
    if (m->chain.len >= 2 && reason != PLAN_NULL) {
        if (plan_is_exact(m->input))
            exact_culprits(m, out, reason != PLAN_DONE);
        else
            noisy_culprits(m, out, reason != PLAN_DONE);
        if (out->culprits_len > 1)
            qsort(out->culprits, out->culprits_len, sizeof *out->culprits, by_probability);
        for (size_t i = 0; i < out->culprits_len; i++)
            out->culprits[i].unmeasurable = inseparable(m->seen, &out->culprits[i]);
    }
    out->verdict = verdict_of(reason, out);
    pfc_bisect_free(clone);
}

void pfc_bisect_report_clear(pfc_bisect_report *report)
{
    free(report->culprits);
    *report = (pfc_bisect_report){ 0 };
}

void pfc_bisect_posterior(const pfc_bisect_plan *plan, double *out)
{
    pfc_bisect_plan *clone = plan_clone(plan);
    const plan_model *m = plan_fitted(clone);
    const double *c = plan->input.cumulative;

    out[0] = 0;
    for (size_t i = 1; i < plan->input.opts.commits; i++)
        out[i] = c[i] - c[i - 1];
    for (size_t k = 0; k + 1 < m->chain.len; k++) {
        const double up = plan_gap_up(m, k);
        for (size_t i = m->chain.nodes[k].commit + 1; i <= m->chain.nodes[k + 1].commit; i++)
            out[i] = up * (c[i] - c[i - 1]) / m->chain.gaps[k].weight;
    }
    pfc_bisect_free(clone);
}

void pfc_bisect_finding_get(const pfc_bisect_plan *plan, pfc_finding *out)
{
    pfc_bisect_plan *clone = plan_clone(plan);

    plan_finding(plan_fitted(clone), out);
    pfc_bisect_free(clone);
}
