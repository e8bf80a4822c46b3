/*
 * The plan: passes observations on, refits the model when they changed, and asks for the next
 * choice.
 */
#include "core/bisect/plan.h"

#include <math.h>
#include <stdlib.h>

pfc_code pfc_bisect_new(pfc_bisect_plan **out, const pfc_bisect_opts *opts, pfc_err *err)
{
    plan_input input;
    pfc_code code = plan_input_init(&input, opts, err);

    if (code)
        return code;
    *out = pfc_alloc(sizeof **out);
    (*out)->input = input;
    plan_observations_init(&(*out)->seen, opts->commits);
    return PFC_OK;
}

pfc_bisect_plan *plan_clone(const pfc_bisect_plan *plan)
{
    pfc_bisect_plan *clone = pfc_alloc(sizeof *clone);

    clone->input = plan_input_copy(&plan->input);
    clone->seen = plan_observations_copy(&plan->seen);
    return clone;
}

void pfc_bisect_free(pfc_bisect_plan *plan)
{
    if (!plan)
        return;
    plan_model_clear(&plan->model);
    plan_observations_clear(&plan->seen);
    plan_input_clear(&plan->input);
    free(plan);
}

/* ---- observations ---- */

pfc_code pfc_bisect_add_run(pfc_bisect_plan *plan, size_t commit, unsigned build, double value,
                            pfc_err *err)
{
    const size_t commits = plan->input.opts.commits;

    if (commit >= commits)
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "bisect: expected a commit below %zu, got %zu", commits, commit);
    if (!isfinite(value) || value <= 0)
        return pfc_err_set_field(err, PFC_EINVAL, "value",
                                 "bisect: expected a finite value above zero, got %g", value);
    if (plan->seen.len >= PFC_BISECT_MAX_RUNS)
        return pfc_err_set(err, PFC_ETOOBIG, "bisect: more than %d runs", PFC_BISECT_MAX_RUNS);
    plan_add_run(
        &plan->seen,
        &(plan_run){ .commit = commit, .build = build, .x = plan->input.sign * log(value) });
    plan->fitted = false;
    return PFC_OK;
}

void pfc_bisect_skip(pfc_bisect_plan *plan, size_t commit)
{
    if (commit >= plan->input.opts.commits)
        return;
    plan_add_unmeasurable(&plan->seen, commit);
    plan->fitted = false;
}

void pfc_bisect_add_failure(pfc_bisect_plan *plan, size_t commit)
{
    if (commit >= plan->input.opts.commits)
        return;
    plan_add_failure(&plan->seen, commit);
    plan->fitted = false;
}

void pfc_bisect_add_timeout(pfc_bisect_plan *plan, size_t commit)
{
    if (commit >= plan->input.opts.commits || plan->seen.len >= PFC_BISECT_MAX_RUNS)
        return;
    plan_add_run(&plan->seen, &(plan_run){ .commit = commit, .timed_out = true });
    plan->fitted = false;
}

/* ---- the choice ---- */

const plan_model *plan_fitted(pfc_bisect_plan *plan)
{
    if (!plan->fitted)
        plan_model_fit(&plan->model, &plan->input, &plan->seen);
    plan->fitted = true;
    return &plan->model;
}

/* Both ends get one run each before anything is modelled. PLAN_DONE: they have it. */
static plan_reason first_of_all(const pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    const size_t ends[] = { 0, plan->input.opts.commits - 1 };

    if (plan->seen.spent >= plan_budget(&plan->input))
        return PLAN_BUDGET;
    for (size_t i = 0; i < 2; i++) {
        if (plan_has_run(&plan->seen, ends[i]))
            continue;
        if (plan->seen.unmeasurable[ends[i]])
            return PLAN_NO_END;
        out->commit = ends[i];
        return PLAN_GO_ON;
    }
    return PLAN_DONE;
}

plan_reason plan_next(pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    plan_reason reason;

    *out = (pfc_bisect_step){ .act = PFC_BISECT_MEASURE };
    reason = first_of_all(plan, out);
    if (reason == PLAN_DONE)
        reason = plan_is_exact(&plan->input) ? plan_exact_choose(plan_fitted(plan), out)
                                             : plan_choose(plan_fitted(plan), out);
    if (reason != PLAN_GO_ON)
        *out = (pfc_bisect_step){ .act = PFC_BISECT_STOP };
    return reason;
}

void pfc_bisect_next(pfc_bisect_plan *plan, pfc_bisect_step *out)
{
    (void)plan_next(plan, out);
}
