/* Runs of cases, before and after a change. */
#include <stdio.h>
#include <string.h>

#include "cli/accel/advice/advice.h"
#include "cli/accel/grade/grade.h"
#include "core/base/base.h"

/* Longer programs and more bytes would take seconds each. */
#define MAX_COMMANDS 6000
#define MAX_BYTES    (40ull << 20)

/* The problem and its tiles; the rest is as in any other grade. */
static pfc_code fill_profile(pfc_profile *p, const advice_case *c, const pfc_accel_case *made,
                             const pfc_accel_result *r, pfc_err *err)
{
    pfc_code code = grade_profile_fill(p, made, r, err);
    const char *name;
    uint64_t value;

    if (!code)
        code = pfc_profile_set_fact(p, "param_dtype", pfc_accel_dtype_name(c->problem.dtype), err);
    for (size_t i = 0; !code && (name = pfc_accel_param_name(c->problem.kernel, i)); i++) {
        char key[64];

        snprintf(key, sizeof(key), "param_%s", name);
        code = pfc_profile_set(p, key, (double)c->problem.p[i], err);
    }
    for (size_t i = 0; !code && (name = pfc_accel_tile_number(&c->tiles, i, &value)); i++)
        code = pfc_profile_set(p, name, (double)value, err);
    return code;
}

static bool too_long(const pfc_accel_program *p)
{
    return p->len > MAX_COMMANDS || p->dma_bytes > MAX_BYTES;
}

pfc_code advice_simulate(const advice_case *c, uint64_t *cycles, pfc_profile *profile, pfc_err *err)
{
    const pfc_accel_case_opts opts = { .timing_only = true, .gemm_tiles = &c->tiles };
    pfc_accel_case *made = NULL;
    pfc_accel_result result = { 0 };
    pfc_code code =
        pfc_accel_case_new(&made, &c->problem, &c->chip, PFC_ACCEL_PIPELINED_WS, &opts, err);

    if (profile)
        pfc_profile_init(profile, "case");
    if (!code && too_long(pfc_accel_case_program(made)))
        code = pfc_err_set(err, PFC_ETOOBIG, "expected at most %d commands", MAX_COMMANDS);
    if (!code)
        code = pfc_accel_case_run(made, &result, err);
    if (!code && profile)
        code = fill_profile(profile, c, made, &result, err);
    *cycles = result.cycles;
    pfc_accel_case_free(made);
    return code;
}

static size_t entry_of(const pfc_guidance *g, const char *id)
{
    size_t i = 0;

    while (pfc_guidance_id(g, i) && strcmp(pfc_guidance_id(g, i), id) != 0)
        i++;
    return i;
}

/* A change that cannot be compiled, or cannot be simulated here, has no outcome. */
static pfc_code try_advice(const pfc_guidance *g, const pfc_advice *a, const advice_case *c,
                           uint64_t before, advice_outcomes *out, pfc_err *err)
{
    advice_case changed = *c;
    uint64_t after = 0;
    pfc_code code = advice_apply(a->action, &changed, err);

    if (!code)
        code = advice_simulate(&changed, &after, NULL, err);
    if (code == PFC_ETOOBIG || code == PFC_EUNAVAIL || code == PFC_EINVAL) {
        out->impossible++;
        return PFC_OK;
    }
    if (!code)
        out->all[out->len++] = (advice_outcome){ .entry = entry_of(g, a->id),
                                                 .predicted = a->gain,
                                                 .low = a->low,
                                                 .high = a->high,
                                                 .simulated = 1 - (double)after / (double)before };
    return code;
}

/* A case that can be simulated, with its profile. */
static pfc_code draw_simulated(pfc_rng *rng, advice_case *c, uint64_t *cycles, pfc_profile *p,
                               pfc_err *err)
{
    pfc_code code;

    for (;;) {
        advice_draw(rng, c);
        code = advice_simulate(c, cycles, p, err);
        if (code != PFC_ETOOBIG && code != PFC_EUNAVAIL)
            return code;
        pfc_profile_clear(p);
    }
}

pfc_code advice_measure(const pfc_guidance *guidance, const pfc_limiter_rules *rules, uint64_t seed,
                        uint64_t index, advice_outcomes *out, pfc_err *err)
{
    pfc_advice advice[PFC_GUIDANCE_MAX];
    pfc_limiter_verdict verdict;
    advice_case c;
    pfc_profile p;
    pfc_rng rng;
    uint64_t cycles = 0;
    size_t len = 0;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    /* Each case has a generator of its own, so that cases can be measured in any order. */
    pfc_rng_seed(&rng, (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + index);
    code = draw_simulated(&rng, &c, &cycles, &p, err);
    /* all predictions are made before the first change is simulated, so that none can use a
     * result */
    if (!code) {
        pfc_limiter_judge(rules, &p, PFC_LIMITER_BEST, &verdict);
        len = pfc_guidance_advise(guidance, &p, &verdict, advice);
    }
    for (size_t i = 0; i < len && !code; i++)
        code = try_advice(guidance, &advice[i], &c, cycles, out, err);
    pfc_profile_clear(&p);
    return code;
}
