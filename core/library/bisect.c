/*
 * The plan of a bisection.
 */
#include "core/bisect/bisect.h"

#include <math.h>
#include <stdlib.h>

#include "core/library/library.h"

struct perfci_bisection {
    pfc_bisect_plan *plan;
    size_t commits;
};

static pfc_code check(const perfci_bisect_options *o, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (o->commits < 2 || o->commits > PERFCI_MAX_COMMITS)
        code = pfc_err_set_field(err, PFC_EINVAL, "commits", "commits: expected 2..%d, got %zu",
                                 PERFCI_MAX_COMMITS, o->commits);
    for (size_t i = 1; o->prior && i < o->commits && !code; i++)
        if (!(o->prior[i] > 0) || isinf(o->prior[i]))
            code = pfc_err_set_field(err, PFC_EINVAL, "prior",
                                     "prior[%zu]: expected a finite weight above 0, got %g", i,
                                     o->prior[i]);
    return code;
}

int perfci_bisect_new(const perfci_bisect_options *options, perfci_bisection **out)
{
    pfc_err *err = library_err();
    perfci_bisect_options o;
    pfc_bisect_plan *plan = NULL;
    pfc_bisect_opts opts;
    pfc_code code = library_need(out, "out", err);

    if (!code)
        code = library_take(options, LIBRARY_UNTIL(perfci_bisect_options, seed), &o, sizeof(o),
                            "options", err);
    if (!code)
        code = check(&o, err);
    if (code)
        return library_code(code);
    opts = (pfc_bisect_opts){ .commits = o.commits,
                              .higher_is_better = o.higher_is_better != 0,
                              .exact = o.exact != 0,
                              .first_only = o.first_only != 0,
                              .confidence = o.confidence,
                              .noise_rel = o.noise_rel,
                              .margin = o.margin,
                              .build_cost = o.build_cost,
                              .max_runs = o.max_runs,
                              .prior = o.prior,
                              .seed = o.seed };
    code = pfc_bisect_new(&plan, &opts, err);
    if (code)
        return library_code(code);
    *out = pfc_alloc(sizeof(**out));
    (*out)->plan = plan;
    (*out)->commits = o.commits;
    return PERFCI_OK;
}

void perfci_bisect_free(perfci_bisection *plan)
{
    if (!plan)
        return;
    pfc_bisect_free(plan->plan);
    free(plan);
}

int perfci_bisect_next(perfci_bisection *plan, size_t *commit)
{
    pfc_bisect_step step = { 0 };

    pfc_bisect_next(plan->plan, &step);
    if (step.act != PFC_BISECT_MEASURE)
        return 0;
    *commit = step.commit;
    return 1;
}

int perfci_bisect_add(perfci_bisection *plan, size_t commit, double value)
{
    pfc_err *err = library_err();
    pfc_code code = library_within(commit, plan->commits, "commit", err);

    if (!code && (!(value > 0) || isinf(value)))
        code = pfc_err_set_field(err, PFC_EINVAL, "value",
                                 "value: expected a finite number above 0, got %g", value);
    if (!code)
        code = pfc_bisect_add_run(plan->plan, commit, 0, value, err);
    return library_code(code);
}

int perfci_bisect_skip(perfci_bisection *plan, size_t commit)
{
    pfc_code code = library_within(commit, plan->commits, "commit", library_err());

    if (!code)
        pfc_bisect_skip(plan->plan, commit);
    return library_code(code);
}

int perfci_bisect_failed(perfci_bisection *plan, size_t commit)
{
    pfc_code code = library_within(commit, plan->commits, "commit", library_err());

    if (!code)
        pfc_bisect_add_failure(plan->plan, commit);
    return library_code(code);
}

void perfci_bisect_posterior(const perfci_bisection *plan, double *out)
{
    pfc_bisect_posterior(plan->plan, out);
}

double perfci_bisect_expected_runs(const perfci_bisection *plan)
{
    return pfc_bisect_expected_runs(plan->plan);
}

static pfc_code give_culprits(const pfc_bisect_report *report, perfci_culprit *culprits, size_t cap,
                              pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < report->culprits_len && i < cap && !code; i++) {
        const pfc_culprit *c = &report->culprits[i];
        perfci_culprit full = PERFCI_CULPRIT_INIT;

        full.first = c->first;
        full.last = c->last;
        full.probability = c->probability;
        full.rel_change = c->rel_change;
        full.rel_low = c->rel_low;
        full.rel_high = c->rel_high;
        code = library_give(&culprits[i], LIBRARY_UNTIL(perfci_culprit, rel_high), &full,
                            sizeof(full), "culprits", err);
    }
    return code;
}

int perfci_bisect_report(const perfci_bisection *plan, perfci_culprit *culprits, size_t cap,
                         size_t *len)
{
    pfc_err *err = library_err();
    pfc_bisect_report report = { 0 };
    pfc_code code = cap ? library_need(culprits, "culprits", err) : PFC_OK;
    int verdict;

    if (!code)
        code = library_need(len, "len", err);
    if (code)
        return library_code(code);
    pfc_bisect_report_get(plan->plan, &report);
    verdict = (int)report.verdict;
    code = give_culprits(&report, culprits, cap, err);
    if (!code)
        *len = report.culprits_len;
    pfc_bisect_report_clear(&report);
    return code ? library_code(code) : verdict;
}
