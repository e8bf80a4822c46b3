/*
 * The plan's input: options in range, the prior as cumulated weights.
 */
#include "core/bisect/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_NOISE 1e-6 /* relative noise_rel of values without noise, which must be above 0 */
#define PRIOR_FLOOR 0.05 /* share of the prior spread evenly: a weight pulls, it never forbids */

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

static bool all_equal(const double *weights, size_t len)
{
    for (size_t i = 2; i < len; i++)
        if (weights[i] < weights[1] || weights[i] > weights[1])
            return false;
    return true;
}

double *pfc_bisect_prior(const double *weights, size_t len)
{
    double *prior;
    double sum = 0;

    if (all_equal(weights, len))
        return NULL;
    for (size_t i = 1; i < len; i++)
        sum += weights[i];
    prior = pfc_calloc(len, sizeof(*prior));
    for (size_t i = 0; i < len; i++)
        prior[i] = (1 - PFC_BISECT_TOUCH_SHARE) / (double)(len - 1) +
                   PFC_BISECT_TOUCH_SHARE * weights[i] / sum;
    return prior;
}

pfc_code plan_input_init(plan_input *input, const pfc_bisect_opts *opts, pfc_err *err)
{
    pfc_code code = check_opts(opts, err);

    *input = (plan_input){ 0 };
    if (code)
        return code;
    input->opts = *opts;
    input->cumulative = cumulate(opts);
    input->opts.prior = NULL;
    input->sign = opts->higher_is_better ? -1 : 1;
    /* delta_rel is the change from the good to the bad commit; its sign states which direction is
     * worse. */
    if (opts->delta_rel != 0)
        input->sign = opts->delta_rel > 0 ? 1 : -1;
    if (input->opts.run_cost <= 0)
        input->opts.run_cost = 1;
    if (opts->exact && opts->noise_rel <= 0)
        input->opts.noise_rel = EXACT_NOISE;
    return PFC_OK;
}

plan_input plan_input_copy(const plan_input *input)
{
    const size_t bytes = input->opts.commits * sizeof *input->cumulative;
    plan_input copy = *input;

    copy.cumulative = pfc_alloc(bytes);
    memcpy(copy.cumulative, input->cumulative, bytes);
    return copy;
}

void plan_input_clear(plan_input *input)
{
    free(input->cumulative);
    *input = (plan_input){ 0 };
}

bool plan_is_exact(const plan_input *input)
{
    return input->opts.noise_rel > 0 && input->opts.noise_rel <= PLAN_EXACT_NOISE &&
           !(input->opts.layout_noise_rel > 0);
}

double plan_exact_tolerance(const plan_input *input)
{
    return 4 * input->opts.noise_rel;
}

double plan_confidence(const plan_input *input)
{
    return input->opts.confidence > 0 ? input->opts.confidence : 0.99;
}

/* A step of one standard deviation takes about 25 + 16 log2 n runs; this is three times that. */
size_t plan_budget(const plan_input *input)
{
    if (input->opts.max_runs)
        return input->opts.max_runs;
    return 100 + (size_t)(50 * log2((double)input->opts.commits));
}

size_t plan_quantile(const plan_input *input, size_t a, size_t b, double share)
{
    const double *c = input->cumulative;
    double target = c[a] + share * (c[b] - c[a]);
    size_t lo = a;
    size_t hi = b;
    while (lo + 1 < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c[mid] < target)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}
