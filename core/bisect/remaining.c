/*
 * The open question when a budget ends.
 */
#include "core/bisect/remaining.h"

#include <math.h>
#include <stdlib.h>

#include "core/bisect/finding.h"
#include "core/bisect/plan.h"

static int larger_first(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

size_t pfc_bisect_credible(const double *p, size_t n, double confidence, size_t *likeliest)
{
    double *sorted = pfc_calloc(n + 1, sizeof *sorted);
    double all = 0;
    double sum = 0;
    size_t len = 0;
    *likeliest = 0;
    for (size_t i = 0; i < n; i++) {
        sorted[i] = p[i];
        all += p[i];
        *likeliest = p[i] > p[*likeliest] ? i : *likeliest;
    }
    qsort(sorted, n, sizeof *sorted, larger_first);
    /* The sum of n rounded terms is below 1 by a few n epsilon. */
    while (len < n && sorted[len] > 0 && sum < confidence * all - 1e-12 * all)
        sum += sorted[len++];
    free(sorted);
    return len;
}

void pfc_bisect_remaining_get(const pfc_bisect_plan *plan, pfc_bisect_remaining *out)
{
    pfc_bisect_plan *clone = plan_clone(plan);
    const plan_input *input = &plan->input;
    const size_t n = input->opts.commits;
    double *p = pfc_calloc(n, sizeof *p);
    pfc_bisect_step step;
    pfc_finding finding;
    *out = (pfc_bisect_remaining){ .budget = plan_budget(input), .none = 1 };
    out->budget_used = plan->seen.spent >= out->budget;
    clone->input.opts.max_runs = PFC_BISECT_MAX_RUNS;
    out->wants_more = plan_next(clone, &step) == PLAN_GO_ON;
    if (clone->fitted)
        out->none = plan_is_exact(input) ? 0 : clone->model.posterior.none;
    pfc_bisect_posterior(clone, p);
    /* Values without noise leave no probabilities between 0 and 1: every commit of an open gap is a
     * candidate. */
    out->candidates = pfc_bisect_credible(p, n, plan_is_exact(input) ? 1 : plan_confidence(input),
                                          &out->likeliest);
    out->probability = fmin(p[out->likeliest], 1);
    pfc_bisect_finding_get(plan, &finding);
    /* Simulations of the plan assume a step; where there is probably none, the interval of the
     * ends' difference gives the number of runs. */
    if (out->wants_more && out->none > 0.5 && isfinite(finding.more_runs) && finding.more_runs > 0)
        out->runs = finding.more_runs;
    else if (out->wants_more)
        out->runs = fmax(1, pfc_bisect_expected_runs(clone));
    free(p);
    pfc_bisect_free(clone);
}

void pfc_bisect_remaining_say(const pfc_bisect_remaining *r, size_t budget, const char *commit,
                              double runs, pfc_buf *out)
{
    const double more = ceil(runs);
    pfc_buf_printf(out, "Budget of %zu runs used; ", budget);
    if (r->none > 0.5)
        pfc_buf_printf(out, "no regression shown so far (probability of none %.2f)", r->none);
    else
        pfc_buf_printf(out, "%zu candidate%s; most likely %.12s (probability %.2f)", r->candidates,
                       r->candidates == 1 ? " remains" : "s remain", commit, r->probability);
    pfc_buf_printf(out, "; %.0f more run%s expected.", more, more == 1 ? "" : "s");
}
