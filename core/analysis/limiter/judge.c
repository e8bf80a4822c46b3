/* A verdict of each view, and the one that is reported. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/limiter/priv.h"

/* ---- savings of the two views ---- */

static void inconclusive(pfc_limiter_verdict *v, const char *reason)
{
    v->inconclusive = true;
    v->first = v->second = PFC_RESOURCE_NONE;
    v->confidence = 0;
    snprintf(v->reason, sizeof(v->reason), "%.*s", (int)sizeof(v->reason) - 1, reason);
}

/* Number N of the fact simulator, "accel-N"; -1 when there is none. */
static int64_t simulator_of(const pfc_profile *p)
{
    const char *fact = pfc_profile_fact_of(p, "simulator");
    const char *dash = fact ? strrchr(fact, '-') : NULL;

    return dash ? strtoll(dash + 1, NULL, 10) : -1;
}

static bool too_old(const pfc_limiter_rules *r, const pfc_profile *p, pfc_limiter_verdict *v)
{
    const int64_t version = simulator_of(p);
    char reason[160];

    if (version < 0 || version >= r->since)
        return false;
    snprintf(reason, sizeof(reason),
             "the run was recorded by simulator %lld, whose counters have other meanings: expected "
             "%lld or newer",
             (long long)version, (long long)r->since);
    inconclusive(v, reason);
    return true;
}

static double clamped(double share)
{
    return PFC_MIN(PFC_MAX(share, 0.0), 1.0);
}

static void judge_counters(const pfc_limiter_rules *r, const pfc_profile *p,
                           const pfc_expr_scope *scope, pfc_limiter_verdict *v)
{
    v->view = PFC_LIMITER_COUNTERS;
    if (too_old(r, p, v))
        return;
    for (pfc_resource i = 0; i < PFC_RESOURCES_LEN && !v->inconclusive; i++) {
        const pfc_expr_result saving = r->savings[i]
                                           ? pfc_expr_eval(r->savings[i], scope)
                                           : (pfc_expr_result){ .available = true, .number = 0 };
        char reason[200];

        if (!saving.available) {
            snprintf(reason, sizeof(reason), "the saving of %s is not available: %s",
                     pfc_resource_name(i), saving.missing);
            inconclusive(v, reason);
        } else {
            v->saving[i] = clamped(saving.number);
        }
    }
}

/* A trace of a kernel has no part outside of it, so `pcie` and `host` may be absent; a run without
 * any of these numbers has no trace. */
static void judge_trace(const pfc_profile *p, pfc_limiter_verdict *v)
{
    const double total = pfc_profile_or(p, "cycles", 0);
    bool any = false;

    v->view = PFC_LIMITER_TRACE;
    for (pfc_resource i = 0; i < PFC_RESOURCES_LEN; i++) {
        char name[64];
        double ticks = 0;

        snprintf(name, sizeof(name), "recoverable_%s_cycles", pfc_resource_name(i));
        any = pfc_profile_number_of(p, name, &ticks) || any;
        v->saving[i] = total > 0.0 ? clamped(ticks / total) : 0.0;
    }
    if (!any)
        inconclusive(v, "the run has no trace: no number \"recoverable_RESOURCE_cycles\"");
}

/* ---- from savings to a verdict ---- */

static double interpolated(const confidence_table *t, double ratio)
{
    size_t i = 0;
    double share;

    while (i < t->len && t->ratio[i] <= ratio)
        i++;
    if (i == 0 || i == t->len)
        return t->probability[i ? i - 1 : 0];
    share = (ratio - t->ratio[i - 1]) / (t->ratio[i] - t->ratio[i - 1]);
    return t->probability[i - 1] + share * (t->probability[i] - t->probability[i - 1]);
}

static pfc_resource largest(const double *saving, pfc_resource but)
{
    pfc_resource best = PFC_RESOURCE_NONE;

    for (pfc_resource i = 0; i < PFC_RESOURCES_LEN; i++)
        if (i != but && saving[i] > 0.0 && (best == PFC_RESOURCE_NONE || saving[i] > saving[best]))
            best = i;
    return best;
}

static void name_first(const pfc_limiter_rules *r, pfc_limiter_verdict *v)
{
    const pfc_resource first = largest(v->saving, PFC_RESOURCE_NONE);
    const pfc_resource second = largest(v->saving, first);
    char reason[160];
    double next;

    if (first == PFC_RESOURCE_NONE || v->saving[first] < r->least) {
        snprintf(reason, sizeof(reason),
                 "no resource alone would save %.1f %% of the time: several limit it together",
                 100 * r->least);
        inconclusive(v, reason);
        return;
    }
    next = second == PFC_RESOURCE_NONE ? 0.0 : v->saving[second];
    v->first = first;
    v->second = second;
    v->confidence = interpolated(v->view == PFC_LIMITER_TRACE ? &r->trace : &r->counters,
                                 (v->saving[first] - next) / v->saving[first]);
}

/* ---- causes ---- */

/* Share of one cause before another; those without a share come last. */
static bool before(double a, double b)
{
    return !isnan(a) && (isnan(b) || a > b);
}

static void add_cause(pfc_limiter_verdict *v, const cause_rule *c, double value, double share)
{
    size_t at = v->causes_len;

    while (at > 0 && before(share, v->causes[at - 1].share))
        at--;
    if (at == PFC_LIMITER_MAX_CAUSES)
        return;
    if (v->causes_len < PFC_LIMITER_MAX_CAUSES)
        v->causes_len++;
    memmove(&v->causes[at + 1], &v->causes[at], (v->causes_len - at - 1) * sizeof(v->causes[0]));
    memset(&v->causes[at], 0, sizeof(v->causes[at]));
    snprintf(v->causes[at].id, sizeof(v->causes[at].id), "%s", c->id);
    pfc_expr_sentence(c->text, c->format, value, c->threshold, v->causes[at].text,
                      sizeof(v->causes[at].text));
    v->causes[at].share = share;
}

/* Rules whose numbers are not there say nothing. */
static void find_causes(const pfc_limiter_rules *r, const pfc_expr_scope *scope,
                        pfc_limiter_verdict *v)
{
    for (size_t i = 0; i < r->causes_len && !v->inconclusive; i++) {
        const cause_rule *c = &r->causes[i];
        pfc_expr_result value;
        pfc_expr_result share = { .number = (double)NAN };

        if (!c->resources[v->first] || (c->when && !pfc_expr_true(c->when, scope)))
            continue;
        value = pfc_expr_eval(c->value, scope);
        if (!value.available ||
            (c->below ? value.number >= c->threshold : value.number <= c->threshold))
            continue;
        if (c->share)
            share = pfc_expr_eval(c->share, scope);
        add_cause(v, c, value.number, share.available ? clamped(share.number) : (double)NAN);
    }
}

/* ---- both views ---- */

static void compare_views(pfc_limiter_verdict *v, const pfc_limiter_verdict *other)
{
    if (v->inconclusive || other->inconclusive || v->first == other->first)
        return;
    snprintf(v->disagreement, sizeof(v->disagreement),
             "the %s names %s (saves %.1f %%), the %s %s (saves %.1f %%)",
             v->view == PFC_LIMITER_TRACE ? "trace" : "view of the counters",
             pfc_resource_name(v->first), 100 * v->saving[v->first],
             other->view == PFC_LIMITER_TRACE ? "trace" : "view of the counters",
             pfc_resource_name(other->first), 100 * other->saving[other->first]);
}

static bool on_cpu(const pfc_profile *p)
{
    const char *backend = pfc_profile_fact_of(p, "backend");

    return backend && strncmp(backend, "cpu", 3) == 0 &&
           isnan(pfc_profile_or(p, "cycles", (double)NAN));
}

/* The total is a measured time: none of the laws of simulated counters holds for it. */
static void judge_cpu(const pfc_limiter_rules *rules, const pfc_profile *p, pfc_limiter_view view,
                      pfc_limiter_verdict *out)
{
    pfc_expr_scope scope;

    memset(out, 0, sizeof(*out));
    if (view == PFC_LIMITER_TRACE) {
        judge_trace(p, out);
        return;
    }
    pfc_expr_scope_init(&scope, &rules->defs, p);
    judge_counters(rules, p, &scope, out);
    if (!out->inconclusive)
        name_first(rules, out);
    find_causes(rules, &scope, out);
}

void pfc_limiter_judge(const pfc_limiter_rules *rules, const pfc_profile *p, pfc_limiter_view view,
                       pfc_limiter_verdict *out)
{
    pfc_limiter_verdict trace, counters;
    pfc_expr_scope scope;
    pfc_err err = { 0 };
    bool by_trace;

    if (rules->cpu && on_cpu(p)) {
        judge_cpu(rules->cpu, p, view, out);
        return;
    }
    memset(&trace, 0, sizeof(trace));
    memset(&counters, 0, sizeof(counters));
    pfc_expr_scope_init(&scope, &rules->defs, p);
    judge_trace(p, &trace);
    judge_counters(rules, p, &scope, &counters);
    by_trace = view == PFC_LIMITER_TRACE || (view == PFC_LIMITER_BEST && !trace.inconclusive);
    if (!trace.inconclusive)
        name_first(rules, &trace);
    if (!counters.inconclusive)
        name_first(rules, &counters);
    if (pfc_profile_check(p, &err)) {
        inconclusive(&trace, err.msg);
        inconclusive(&counters, err.msg);
    }
    *out = by_trace ? trace : counters;
    compare_views(out, by_trace ? &counters : &trace);
    find_causes(rules, &scope, out);
}
