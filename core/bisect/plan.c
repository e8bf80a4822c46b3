/*
 * The plan: what was told, what may be asked.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bisect/bisect_priv.h"

#define PRIOR_FLOOR 0.05 /* share of the prior spread evenly: a weight pulls, it never forbids */
#define PROBE_TRIES 6
#define CLEAR_STEP  2.6 /* standard deviations of one run */
#define CLEAR       8
#define FAINT       5

bool plan_is_exact(const pfc_bisect_plan *plan)
{
    return plan->opts.noise_rel > 0 && plan->opts.noise_rel <= PLAN_EXACT_NOISE &&
           !(plan->opts.layout_noise_rel > 0);
}

double plan_confidence(const pfc_bisect_plan *plan)
{
    return plan->opts.confidence > 0 ? plan->opts.confidence : 0.99;
}

/* A step of one standard deviation takes about 25 + 16 log2 n runs; this is three times that. */
size_t plan_budget(const pfc_bisect_plan *plan)
{
    if (plan->opts.max_runs)
        return plan->opts.max_runs;
    return 100 + (size_t)(50 * log2((double)plan->opts.commits));
}

/* ---- options ---- */

static pfc_code check_unit(double v, double max, const char *what, pfc_err *err)
{
    if (isfinite(v) && v >= 0 && v <= max)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_EINVAL, what, "bisect: expected %s in 0..%g, got %g", what,
                             max, v);
}

static pfc_code check_opts(const pfc_bisect_opts *o, pfc_err *err)
{
    pfc_code code;

    if (o->commits < 2 || o->commits > PFC_BISECT_MAX_COMMITS)
        return pfc_err_set_field(err, PFC_EINVAL, "commits",
                                 "bisect: expected 2..%d commits, both ends included, got %zu",
                                 PFC_BISECT_MAX_COMMITS, o->commits);
    if (o->max_runs > PFC_BISECT_MAX_RUNS)
        return pfc_err_set_field(err, PFC_EINVAL, "max_runs",
                                 "bisect: expected at most %d runs, got %zu", PFC_BISECT_MAX_RUNS,
                                 o->max_runs);
    if (!isfinite(o->confidence) ||
        (o->confidence != 0 && (o->confidence < 0.5 || o->confidence >= 1)))
        return pfc_err_set_field(err, PFC_EINVAL, "confidence",
                                 "bisect: expected a confidence in 0.5..1, got %g", o->confidence);
    if (!isfinite(o->delta_rel) || o->delta_rel <= -1 || o->delta_rel > 1e6)
        return pfc_err_set_field(err, PFC_EINVAL, "delta_rel",
                                 "bisect: expected a relative change above -1, got %g",
                                 o->delta_rel);
    code = check_unit(o->noise_rel, 10, "noise_rel", err);
    if (!code)
        code = check_unit(o->layout_noise_rel, 10, "layout_noise_rel", err);
    if (!code)
        code = check_unit(o->margin, 10, "margin", err);
    if (!code)
        code = check_unit(o->run_cost, 1e9, "run_cost", err);
    if (!code)
        code = check_unit(o->build_cost, 1e9, "build_cost", err);
    if (!code)
        code = check_unit(o->checkout_cost, 1e9, "checkout_cost", err);
    for (size_t i = 1; !code && o->prior && i < o->commits; i++)
        if (!isfinite(o->prior[i]) || o->prior[i] <= 0)
            code = pfc_err_set_field(err, PFC_EINVAL, "prior",
                                     "bisect: expected a weight above zero for commit %zu, got %g",
                                     i, o->prior[i]);
    return code;
}

/* Scaled by the largest weight first, so that the sum of huge weights stays finite. */
static double *cumulate(const pfc_bisect_opts *o)
{
    double *c = pfc_calloc(o->commits, sizeof *c);
    double even = 1.0 / (double)(o->commits - 1);
    double largest = 0;
    double sum = 0;

    for (size_t i = 1; o->prior && i < o->commits; i++)
        largest = fmax(largest, o->prior[i]);
    for (size_t i = 1; o->prior && i < o->commits; i++)
        sum += o->prior[i] / largest;
    for (size_t i = 1; i < o->commits; i++) {
        double own = o->prior ? o->prior[i] / largest / sum : even;
        c[i] = c[i - 1] + (1 - PRIOR_FLOOR) * own + PRIOR_FLOOR * even;
    }
    return c;
}

pfc_code pfc_bisect_new(pfc_bisect_plan **out, const pfc_bisect_opts *opts, pfc_err *err)
{
    pfc_code code = check_opts(opts, err);
    if (code)
        return code;
    pfc_bisect_plan *plan = pfc_alloc(sizeof *plan);
    plan->opts = *opts;
    plan->cumulative = cumulate(opts);
    plan->opts.prior = NULL;
    plan->broken = pfc_calloc(opts->commits, 1);
    plan->fails = pfc_calloc(opts->commits, 1);
    /* The change that is looked for is the one that was seen: its sign says which way is worse. */
    plan->sign = opts->higher_is_better ? -1 : 1;
    if (opts->delta_rel != 0)
        plan->sign = opts->delta_rel > 0 ? 1 : -1;
    if (plan->opts.run_cost <= 0)
        plan->opts.run_cost = 1;
    *out = plan;
    return PFC_OK;
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = pfc_alloc(bytes ? bytes : 1);
    if (bytes)
        memcpy(to, from, bytes);
    return to;
}

pfc_bisect_plan *plan_clone(const pfc_bisect_plan *plan)
{
    size_t n = plan->opts.commits;
    pfc_bisect_plan *twin = copy_of(plan, sizeof *plan);
    twin->cumulative = copy_of(plan->cumulative, n * sizeof *plan->cumulative);
    twin->runs = copy_of(plan->runs, plan->runs_len * sizeof *plan->runs);
    twin->runs_cap = plan->runs_len;
    twin->broken = copy_of(plan->broken, n);
    twin->fails = copy_of(plan->fails, n);
    memset(&twin->model, 0, sizeof twin->model);
    twin->fresh = false;
    return twin;
}

void pfc_bisect_free(pfc_bisect_plan *plan)
{
    if (!plan)
        return;
    plan_model_clear(&plan->model);
    free(plan->cumulative);
    free(plan->runs);
    free(plan->broken);
    free(plan->fails);
    free(plan);
}

/* ---- what happened ---- */

static void add_run(pfc_bisect_plan *plan, size_t commit, unsigned build, double x, bool slow)
{
    plan->runs = pfc_grow(plan->runs, plan->runs_len, &plan->runs_cap, sizeof *plan->runs);
    plan->runs[plan->runs_len++] =
        (plan_run){ .commit = commit, .build = build, .x = x, .slow = slow };
    plan->spent++;
    plan->fails[commit] = 0;
    plan->fresh = false;
}

pfc_code pfc_bisect_tell(pfc_bisect_plan *plan, size_t commit, unsigned build, double value,
                         pfc_err *err)
{
    if (commit >= plan->opts.commits)
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "bisect: expected a commit below %zu, got %zu", plan->opts.commits,
                                 commit);
    if (!isfinite(value) || value <= 0)
        return pfc_err_set_field(err, PFC_EINVAL, "value",
                                 "bisect: expected a finite value above zero, got %g", value);
    if (plan->runs_len >= PFC_BISECT_MAX_RUNS)
        return pfc_err_set(err, PFC_ETOOBIG, "bisect: more than %d runs", PFC_BISECT_MAX_RUNS);
    add_run(plan, commit, build, plan->sign * log(value), false);
    return PFC_OK;
}

void pfc_bisect_skip(pfc_bisect_plan *plan, size_t commit)
{
    if (commit >= plan->opts.commits || plan->broken[commit])
        return;
    plan->broken[commit] = 1;
    plan->skipped++;
    plan->fresh = false;
}

void pfc_bisect_failed(pfc_bisect_plan *plan, size_t commit)
{
    if (commit >= plan->opts.commits)
        return;
    plan->spent++;
    plan->fresh = false;
    if (++plan->fails[commit] >= PLAN_FAILS)
        pfc_bisect_skip(plan, commit);
}

void pfc_bisect_timed_out(pfc_bisect_plan *plan, size_t commit)
{
    if (commit < plan->opts.commits && plan->runs_len < PFC_BISECT_MAX_RUNS)
        add_run(plan, commit, 0, 0, true);
}

/* ---- places between commits ---- */

size_t plan_quantile(const pfc_bisect_plan *plan, size_t a, size_t b, double share)
{
    const double *c = plan->cumulative;
    double want = c[a] + share * (c[b] - c[a]);
    size_t lo = a;
    size_t hi = b;
    while (lo + 1 < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c[mid] < want)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* The commit nearest to `want` that is not known to be broken; 0: none. */
static size_t nearest(const unsigned char *broken, size_t a, size_t b, size_t want)
{
    for (size_t off = 0; off < b - a; off++) {
        if (want + off < b && !broken[want + off])
            return want + off;
        if (want > a + off && !broken[want - off])
            return want - off;
    }
    return 0;
}

/* Broken commits come in stretches. Nothing between a and b was measured, so all that was tried
 * there was broken: look as far beyond these as they reach, on the roomier side. */
size_t plan_pick(const pfc_bisect_plan *plan, size_t a, size_t b, size_t want)
{
    const unsigned char *broken = plan->broken;
    size_t low = b;
    size_t high = a;
    if (b <= a + 1)
        return 0;
    want = PFC_MIN(PFC_MAX(want, a + 1), b - 1);
    for (size_t i = a + 1; i < b; i++) {
        low = broken[i] && low == b ? i : low;
        high = broken[i] ? i : high;
    }
    if (low == b || want < low || want > high)
        return want;
    size_t below = low - a - 1;
    size_t above = b - high - 1;
    size_t reach = high - low + 1;
    if (!below && !above)
        return nearest(broken, a, b, want);
    if (above > below)
        return high + PFC_MIN(reach, (above + 1) / 2);
    return low - PFC_MIN(reach, (below + 1) / 2);
}

/* So much was tried in this gap in vain that a probe of it is not worth another build. */
static bool hopeless(const pfc_bisect_plan *plan, size_t gap)
{
    const plan_node *a = &plan->model.nodes[gap];
    size_t tries = 0;
    for (size_t i = a->commit + 1; i < a[1].commit; i++)
        tries += plan->broken[i];
    return tries >= PROBE_TRIES;
}

/* One run in the midst of a stretch tells a step and its repair only where the step is clear; of a
 * faint one it raises doubts that take several more, so fewer are worth asking. */
bool plan_clear(const pfc_bisect_plan *plan)
{
    const plan_model *m = &plan->model;
    return m->step >= CLEAR_STEP * hypot(m->noise, m->layout);
}

size_t plan_stretches(const pfc_bisect_plan *plan)
{
    return plan_clear(plan) ? CLEAR : FAINT;
}

bool plan_widest(const pfc_bisect_plan *plan, size_t *gap)
{
    const plan_model *m = &plan->model;
    size_t widest = PFC_MAX(plan->opts.commits / plan_stretches(plan), (size_t)1);
    bool found = false;
    for (size_t i = 0; i + 1 < m->nodes_len; i++) {
        size_t width = m->nodes[i + 1].commit - m->nodes[i].commit;
        if (m->gaps[i].atomic || width <= widest || hopeless(plan, i))
            continue;
        widest = width;
        *gap = i;
        found = true;
    }
    return found;
}

/* ---- questions ---- */

static bool has_run(const pfc_bisect_plan *plan, size_t commit)
{
    for (size_t i = 0; i < plan->runs_len; i++)
        if (plan->runs[i].commit == commit)
            return true;
    return false;
}

static plan_reason first_of_all(const pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    size_t last = plan->opts.commits - 1;
    size_t ends[] = { 0, last };
    if (plan->spent >= plan_budget(plan))
        return PLAN_BUDGET;
    for (size_t i = 0; i < 2; i++) {
        if (has_run(plan, ends[i]))
            continue;
        if (plan->broken[ends[i]])
            return PLAN_NO_END;
        out->commit = ends[i];
        return PLAN_GO_ON;
    }
    return PLAN_DONE;
}

plan_reason plan_next(pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    *out = (pfc_bisect_step){ .act = PFC_BISECT_MEASURE };
    plan_reason reason = first_of_all(plan, out);
    if (reason == PLAN_DONE) {
        if (!plan->fresh)
            plan_model_fit(plan);
        plan->fresh = true;
        reason = plan_is_exact(plan) ? plan_exact_choose(plan, out) : plan_choose(plan, out);
    }
    if (reason != PLAN_GO_ON)
        *out = (pfc_bisect_step){ .act = PFC_BISECT_STOP };
    return reason;
}

void pfc_bisect_next(pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    (void)plan_next(plan, out);
}
