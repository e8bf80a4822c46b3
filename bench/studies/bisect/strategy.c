/*
 * The planner as a strategy.
 */
#include "bench/studies/bisect/strategy.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/studies/bisect/rivals.h"
#include "core/bisect/bisect.h"

const char *const strategy_names[] = { "perfci",    "pinpoint", "asv", "halving-5",
                                       "halving-3", "git",      NULL };

/* Of this thread: what a decision costs must not depend on who else runs. */
static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- perfci ---- */

static double *touch_prior(const scenario *s)
{
    double *weights;
    double *prior;
    if (!s->any_touches)
        return NULL;
    weights = pfc_calloc(s->len, sizeof *weights);
    for (size_t i = 1; i < s->len; i++)
        weights[i] = s->touches[i];
    prior = pfc_bisect_prior(weights, s->len);
    free(weights);
    return prior;
}

static void take_report(const pfc_bisect_plan *plan, finding *out)
{
    pfc_bisect_report report;
    pfc_bisect_report_get(plan, &report);
    if (pfc_bisect_verdict_names(report.verdict)) {
        for (size_t i = 0; i < report.culprits_len && out->len < SCENARIO_MAX_SETS; i++) {
            out->probability[out->len] = report.culprits[i].probability;
            out->sets[out->len++] =
                (commit_set){ report.culprits[i].first, report.culprits[i].last };
        }
    }
    pfc_bisect_report_clear(&report);
}

static void perfci(session *n, finding *out)
{
    const scenario *s = n->s;
    double *prior = touch_prior(s);
    pfc_bisect_opts opts = { .commits = s->len,
                             .higher_is_better = s->higher_is_better,
                             .noise_rel = s->noise_hint,
                             .layout_noise_rel = s->layout_hint,
                             .delta_rel = s->delta_hint,
                             .relink = s->layout_hint > 0 && !s->fixed_layout,
                             .first_only = s->first_only,
                             .run_cost = 1,
                             .prior = prior,
                             .seed = 1 };
    pfc_bisect_plan *plan = NULL;
    pfc_err err = { 0 };
    if (pfc_bisect_new(&plan, &opts, &err))
        pfc_die("%s: %s", s->name, err.msg);
    for (;;) {
        pfc_bisect_step step;
        double value = 0;
        int64_t from = cpu_ns();
        pfc_bisect_next(plan, &step);
        out->slowest_ns = PFC_MAX(out->slowest_ns, cpu_ns() - from);
        if (step.act == PFC_BISECT_STOP)
            break;
        switch (session_measure(n, step.commit, step.build, &value)) {
        case ANSWER_VALUE:
            if (pfc_bisect_add_run(plan, step.commit, step.build, value, &err))
                pfc_die("%s: %s", s->name, err.msg);
            break;
        case ANSWER_BROKEN:
            pfc_bisect_skip(plan, step.commit);
            break;
        case ANSWER_FAILED:
            pfc_bisect_add_failure(plan, step.commit);
            break;
        }
    }
    take_report(plan, out);
    pfc_bisect_free(plan);
    free(prior);
}

strategy_fn strategy_named(const char *name)
{
    static const strategy_fn all[] = { perfci,          rival_pinpoint,  rival_asv,
                                       rival_halving_5, rival_halving_3, rival_git };
    for (size_t i = 0; strategy_names[i]; i++)
        if (strcmp(strategy_names[i], name) == 0)
            return all[i];
    return NULL;
}
