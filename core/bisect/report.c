/*
 * The answer so far.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bisect/bisect_priv.h"

#define Z95 1.959963984540054

void plan_report_add(pfc_bisect_report *report, const pfc_culprit *culprit)
{
    report->culprits =
        pfc_realloc(report->culprits, report->culprits_len + 1, sizeof *report->culprits);
    report->culprits[report->culprits_len++] = *culprit;
}

static void add_gaps(const pfc_bisect_plan *plan, size_t from, size_t to, double probability,
                     pfc_bisect_report *out)
{
    const plan_model *m = &plan->model;
    double all = 0;
    double mean = 0;
    double square = 0;
    for (size_t i = from; i <= to; i++) {
        const plan_gap *g = &m->gaps[i];
        all += g->up;
        mean += g->up * g->up_size;
        square += g->up * (g->up_var + g->up_size * g->up_size);
    }
    mean = all > 0 ? mean / all : 0;
    double sd = all > 0 ? sqrt(fmax(0, square / all - mean * mean)) : 0;
    double one = expm1(plan->sign * (mean - Z95 * sd));
    double two = expm1(plan->sign * (mean + Z95 * sd));
    plan_report_add(out, &(pfc_culprit){ .first = m->nodes[from].commit + 1,
                                         .last = m->nodes[to + 1].commit,
                                         .probability = fmin(probability, 1),
                                         .rel_change = expm1(plan->sign * mean),
                                         .rel_low = fmin(one, two),
                                         .rel_high = fmax(one, two) });
}

/* The shortest row of gaps of from..to that holds the wanted part of their jumps. */
static void add_credible(const pfc_bisect_plan *plan, size_t from, size_t to, double all,
                         pfc_bisect_report *out)
{
    const plan_model *m = &plan->model;
    double want = plan_confidence(plan) * fmin(all, 1);
    size_t best_a = from;
    size_t best_b = to;
    double best = all;
    for (size_t a = from; a <= to; a++) {
        double sum = 0;
        for (size_t b = a; b <= to; b++) {
            sum += m->gaps[b].up;
            if (sum < want)
                continue;
            size_t width = m->nodes[b + 1].commit - m->nodes[a].commit;
            if (width < m->nodes[best_b + 1].commit - m->nodes[best_a].commit) {
                best_a = a;
                best_b = b;
                best = sum;
            }
            break;
        }
    }
    add_gaps(plan, best_a, best_b, best, out);
}

/* Settled gaps, and for each row of open ones that holds a jump more likely than not, its set. */
static void noisy_culprits(const pfc_bisect_plan *plan, pfc_bisect_report *out, bool open)
{
    const plan_model *m = &plan->model;
    size_t from = 0;
    double up = 0;
    for (size_t i = 0; i < m->nodes_len; i++) {
        bool last = i + 1 == m->nodes_len;
        bool sure = !last && plan_settled(plan, i);
        if (!last && !sure) {
            up += m->gaps[i].up;
            continue;
        }
        if (open && up > 0.5 && i > from)
            add_credible(plan, from, i - 1, up, out);
        if (sure)
            add_gaps(plan, i, i, m->gaps[i].up, out);
        from = i + 1;
        up = 0;
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

static void count(const pfc_bisect_plan *plan, pfc_bisect_report *out)
{
    const plan_model *m = &plan->model;
    out->runs = plan->spent;
    out->commits_measured = m->nodes_len;
    out->builds = plan->skipped;
    for (size_t i = 0; i < plan->runs_len; i++) {
        const plan_run *a = &plan->runs[m->order[i]];
        const plan_run *b = i ? &plan->runs[m->order[i - 1]] : NULL;
        out->builds += !b || a->commit != b->commit || a->build != b->build;
    }
}

static bool one_commit(const pfc_bisect_plan *plan, const pfc_culprit *c)
{
    size_t len = 0;
    for (size_t i = c->first; i <= c->last; i++)
        len += !plan->broken[i];
    return c->first == c->last && len <= 1;
}

/* A set whose commits no run can tell apart, however many are made. */
static bool unmeasurable(const pfc_bisect_plan *plan, const pfc_culprit *c)
{
    for (size_t i = c->first; i < c->last; i++)
        if (!plan->broken[i])
            return false;
    return c->first < c->last;
}

static pfc_bisect_verdict verdict_of(const pfc_bisect_plan *plan, plan_reason reason,
                                     const pfc_bisect_report *out)
{
    if (reason == PLAN_NULL)
        return PFC_BISECT_NO_REGRESSION;
    if (reason != PLAN_DONE && reason != PLAN_NARROW)
        return PFC_BISECT_INCONCLUSIVE;
    if (!out->culprits_len)
        return PFC_BISECT_INCONCLUSIVE;
    for (size_t i = 0; i < out->culprits_len; i++)
        if (!one_commit(plan, &out->culprits[i]))
            return PFC_BISECT_RANGE;
    return PFC_BISECT_FOUND;
}

const char *pfc_bisect_verdict_name(pfc_bisect_verdict verdict)
{
    static const char *const names[] = { "found", "range", "no-regression", "inconclusive" };

    return names[verdict];
}

void pfc_bisect_report_get(const pfc_bisect_plan *plan, pfc_bisect_report *out)
{
    pfc_bisect_plan *twin = plan_clone(plan);
    pfc_bisect_step step;
    plan_reason reason = plan_next(twin, &step);
    memset(out, 0, sizeof *out);
    /* The last run of a budget can decide the search: then the answer counts, not the budget. */
    if (reason == PLAN_BUDGET) {
        twin->opts.max_runs = PFC_BISECT_MAX_RUNS;
        plan_reason open = plan_next(twin, &step);
        reason = open == PLAN_GO_ON ? PLAN_BUDGET : open;
    }
    if (twin->runs_len && !twin->fresh) {
        plan_model_fit(twin);
        twin->fresh = true;
    }
    count(twin, out);
    if (twin->model.nodes_len >= 2 && reason != PLAN_NULL) {
        if (plan_is_exact(twin))
            plan_exact_culprits(twin, out, reason != PLAN_DONE);
        else
            noisy_culprits(twin, out, reason != PLAN_DONE);
        if (out->culprits_len > 1)
            qsort(out->culprits, out->culprits_len, sizeof *out->culprits, by_probability);
        for (size_t i = 0; i < out->culprits_len; i++)
            out->culprits[i].unmeasurable = unmeasurable(twin, &out->culprits[i]);
    }
    out->verdict = verdict_of(twin, reason, out);
    pfc_bisect_free(twin);
}

void pfc_bisect_report_clear(pfc_bisect_report *report)
{
    free(report->culprits);
    memset(report, 0, sizeof *report);
}

double plan_gap_up(const pfc_bisect_plan *plan, size_t gap)
{
    const plan_model *m = &plan->model;
    if (!plan_is_exact(plan))
        return m->gaps[gap].up;
    double x = m->x[m->order[m->nodes[gap + 1].first]] - m->x[m->order[m->nodes[gap].first]];
    return x > 4 * plan->opts.noise_rel;
}

void pfc_bisect_posterior(const pfc_bisect_plan *plan, double *out)
{
    pfc_bisect_plan *twin = plan_clone(plan);
    const plan_model *m = &twin->model;
    size_t n = plan->opts.commits;
    out[0] = 0;
    for (size_t i = 1; i < n; i++)
        out[i] = plan->cumulative[i] - plan->cumulative[i - 1];
    if (twin->runs_len)
        plan_model_fit(twin);
    for (size_t k = 0; k + 1 < m->nodes_len; k++) {
        double up = plan_gap_up(twin, k);
        for (size_t i = m->nodes[k].commit + 1; i <= m->nodes[k + 1].commit; i++)
            out[i] = up * (plan->cumulative[i] - plan->cumulative[i - 1]) / m->gaps[k].weight;
    }
    pfc_bisect_free(twin);
}
