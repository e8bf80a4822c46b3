#include "tests/core/analysis/session.h"

#include <math.h>
#include <string.h>

void history_step(history *h, size_t len, size_t culprit, double size, double noise)
{
    memset(h, 0, sizeof *h);
    h->len = len;
    h->noise = noise;
    for (size_t i = 0; i < len; i++)
        h->level[i] = i < culprit ? 100 : 100 * (1 + size);
}

static double offset_of(const history *h, size_t commit, unsigned build, uint64_t seed)
{
    pfc_rng rng;
    if (!(h->layout > 0))
        return 0;
    pfc_rng_seed(&rng, seed * 1000003u + commit * 1009u + build);
    return h->layout * pfc_rng_normal(&rng);
}

static void take(pfc_bisect_plan *plan, const history *h, const pfc_bisect_step *step, pfc_rng *rng,
                 uint64_t seed)
{
    double e = h->noise * pfc_rng_normal(rng);
    pfc_err err = { 0 };
    if (h->broken[step->commit])
        pfc_bisect_skip(plan, step->commit);
    else if (pfc_rng_double(rng) < h->flaky)
        pfc_bisect_add_failure(plan, step->commit);
    else if (h->hangs[step->commit])
        pfc_bisect_add_timeout(plan, step->commit);
    else if (pfc_bisect_add_run(plan, step->commit, step->build,
                             h->level[step->commit] * (1 + e) *
                                 (1 + offset_of(h, step->commit, step->build, seed)),
                             &err))
        pfc_die("%s", err.msg);
}

void session_run(const history *h, pfc_bisect_opts opts, uint64_t seed, outcome *out)
{
    pfc_bisect_plan *plan = NULL;
    pfc_bisect_step step;
    pfc_rng rng;
    pfc_err err = { 0 };
    static bool skipped[HISTORY_MAX];

    memset(out, 0, sizeof *out);
    memset(skipped, 0, sizeof skipped);
    opts.commits = h->len;
    pfc_rng_seed(&rng, seed);
    if (pfc_bisect_new(&plan, &opts, &err))
        pfc_die("%s", err.msg);
    for (pfc_bisect_next(plan, &step); step.act == PFC_BISECT_MEASURE;
         pfc_bisect_next(plan, &step)) {
        out->trace = (out->trace ^ (step.commit * 64 + step.build)) * 1099511628211u;
        out->asked_broken += skipped[step.commit];
        skipped[step.commit] = h->broken[step.commit];
        take(plan, h, &step, &rng, seed);
    }
    pfc_bisect_report_get(plan, &out->report);
    pfc_bisect_free(plan);
}
