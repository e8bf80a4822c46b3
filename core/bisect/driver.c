/*
 * The loop, and the choice beside pending measurements.
 */
#include "core/bisect/driver.h"

#include <math.h>
#include <stdlib.h>

#include "core/bisect/plan.h"

#define END_PENDING 4 /* limit of pending runs of both ends together before either has a value */

pfc_code pfc_bisect_add_result(pfc_bisect_plan *plan, const pfc_bisect_result *r, pfc_err *err)
{
    switch (r->outcome) {
    case PFC_BISECT_MEASURED:
        return pfc_bisect_add_run(plan, r->commit, r->build, r->value, err);
    case PFC_BISECT_BROKEN:
        pfc_bisect_skip(plan, r->commit);
        return PFC_OK;
    case PFC_BISECT_FAILED:
        pfc_bisect_add_failure(plan, r->commit);
        return PFC_OK;
    case PFC_BISECT_TIMED_OUT:
        pfc_bisect_add_timeout(plan, r->commit);
        return PFC_OK;
    case PFC_BISECT_PENDING:
        return PFC_OK;
    }
    return PFC_OK;
}

/* Returns the mean logarithm of the values of a commit, or NAN if it has none. */
static double level_at(const pfc_bisect_plan *plan, size_t commit)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < plan->seen.len; i++) {
        const plan_run *run = &plan->seen.runs[i];

        if (run->commit != commit || run->timed_out)
            continue;
        sum += plan->input.sign * run->x;
        n++;
    }
    return n ? sum / (double)n : (double)NAN;
}

/* The expected value of a run of `commit`: that of its runs so far, else of the end on whose side
 * of the change it more probably lies. */
static double expected_at(const pfc_bisect_plan *plan, size_t commit, const double *posterior)
{
    const size_t n = plan->input.opts.commits;
    const double own = level_at(plan, commit);
    double worse = 0;
    double all = 0;

    if (isfinite(own))
        return exp(own);
    for (size_t i = 1; i < n; i++) {
        all += posterior[i];
        if (i <= commit)
            worse += posterior[i];
    }
    return exp(level_at(plan, worse > all / 2 ? n - 1 : 0));
}

/* Without a value of both ends nothing can be expected of a commit between them. The ends are
 * needed first anyway, twice each. */
static pfc_bisect_step next_end(size_t commits, const pfc_bisect_step *pending, size_t len)
{
    size_t good = 0;
    size_t bad = 0;

    for (size_t i = 0; i < len; i++) {
        good += pending[i].commit == 0;
        bad += pending[i].commit == commits - 1;
    }
    if (good + bad >= END_PENDING)
        return (pfc_bisect_step){ .act = PFC_BISECT_STOP };
    return (pfc_bisect_step){ .act = PFC_BISECT_MEASURE, .commit = good <= bad ? 0 : commits - 1 };
}

void pfc_bisect_next_beside(pfc_bisect_plan *plan, const pfc_bisect_step *pending, size_t len,
                            pfc_bisect_step *out)
{
    const size_t n = plan->input.opts.commits;
    pfc_bisect_plan *assumed;
    double *posterior;

    pfc_bisect_next(plan, out);
    if (len == 0 || out->act == PFC_BISECT_STOP)
        return;
    if (!isfinite(level_at(plan, 0)) || !isfinite(level_at(plan, n - 1))) {
        *out = next_end(n, pending, len);
        return;
    }
    posterior = pfc_calloc(n, sizeof(*posterior));
    pfc_bisect_posterior(plan, posterior);
    assumed = plan_clone(plan);
    for (size_t i = 0; i < len; i++)
        if (pfc_bisect_add_run(assumed, pending[i].commit, pending[i].build,
                               expected_at(plan, pending[i].commit, posterior), NULL))
            break;
    pfc_bisect_next(assumed, out);
    pfc_bisect_free(assumed);
    free(posterior);
}

pfc_code pfc_bisect_drive(const pfc_bisect_driver *driver, void *context, pfc_err *err)
{
    pfc_code code = PFC_OK;

    while (!code) {
        pfc_bisect_turn turn = { 0 };
        pfc_bisect_step step = { .act = PFC_BISECT_MEASURE };

        code = driver->prepare(context, &turn, err);
        if (code || turn.pause)
            break;
        if (!turn.unit_open)
            pfc_bisect_next_beside(turn.plan, turn.pending, turn.pending_len, &step);
        if (step.act == PFC_BISECT_STOP)
            break;
        code = driver->measure(context, &step, err);
    }
    return code;
}
