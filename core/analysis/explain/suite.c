/* All benchmarks of a run, those with the most to gain first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/explain/explain_priv.h"
#include "core/base/base.h"
#include "core/base/buf.h"

void pfc_explain_ranks_free(pfc_explain_rank *ranks, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        free(ranks[i].benchmark);
        free(ranks[i].backend);
    }
    free(ranks);
}

static double share(const pfc_explain_rank *r)
{
    return r->recoverable / r->total;
}

static int compare_ranks(const void *a, const void *b)
{
    const pfc_explain_rank *x = a;
    const pfc_explain_rank *y = b;
    const int name = strcmp(x->benchmark, y->benchmark);

    if (share(x) != share(y))
        return share(x) < share(y) ? 1 : -1;
    return name ? name : strcmp(x->backend, y->backend);
}

/* Of a kernel its bound; of a region, whose bound is not known, that of its kernels and the
 * rest. */
static double ceiling_of(const pfc_profile *p)
{
    const double kernel = pfc_profile_or(p, "ceiling_cycles", 0);
    const double launches = pfc_profile_or(p, "launches", 1);
    const double total = pfc_profile_or(p, "cycles", 0);

    if (kernel == 0)
        return 0;
    return total - pfc_profile_or(p, "kernel_cycles", total) + kernel * launches;
}

/* False when the benchmark has no total, as headlines and broken benchmarks have none. */
static bool rank_one(const pfc_explain_rules *rules, const pfc_run *run, const pfc_measurement *m,
                     pfc_explain_rank *out)
{
    pfc_limiter_verdict verdict;
    pfc_advice advice[PFC_GUIDANCE_MAX];
    pfc_profile profile;
    pfc_err err = { 0 };
    const bool ok = !pfc_explain_profile(run, m->benchmark, m->backend, &profile, &err) &&
                    pfc_profile_total(&profile, &out->total) && out->total > 0;

    if (ok) {
        out->benchmark = pfc_strdup(m->benchmark);
        out->backend = pfc_strdup(m->backend);
        pfc_limiter_judge(rules->limiter, &profile, PFC_LIMITER_BEST, &verdict);
        out->limiter = verdict.first;
        if (verdict.first != PFC_RESOURCE_NONE)
            out->recoverable = verdict.saving[verdict.first] * out->total;
        out->ceiling = ceiling_of(&profile);
        if (pfc_guidance_advise(rules->guidance, &profile, &verdict, advice))
            snprintf(out->advice, sizeof(out->advice), "%s", advice[0].change);
    }
    pfc_profile_clear(&profile);
    return ok;
}

/* Measurements of one benchmark and backend may lie apart in the document. */
static bool seen(const pfc_run *run, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (pfc_streq(run->measurements[i].benchmark, run->measurements[at].benchmark) &&
            pfc_streq(run->measurements[i].backend, run->measurements[at].backend))
            return true;
    return false;
}

pfc_code pfc_explain_suite(const pfc_explain_rules *rules, const pfc_run *run,
                           pfc_explain_rank **out, size_t *len, pfc_err *err)
{
    *out = pfc_calloc(run->measurements_len + 1, sizeof(**out));
    *len = 0;
    for (size_t i = 0; i < run->measurements_len; i++)
        if (!seen(run, i) && rank_one(rules, run, &run->measurements[i], *out + *len))
            (*len)++;
    if (*len == 0)
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "run %s has no benchmark with cycles or a time to explain", run->id);
    qsort(*out, *len, sizeof(**out), compare_ranks);
    return PFC_OK;
}
