/* One pair: both runs with their traces, explained, and the truth by simulation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/accel/delta/delta_grade.h"
#include "cli/accel/grade/grade.h"
#include "core/base/base.h"

/* One run: the profile that a stored run has, and its cycles without each resource. */
typedef struct run {
    pfc_profile profile;
    pfc_accel_whatif whatif;
} run;

static pfc_code simulate(const delta_case *c, bool after, run *out, pfc_err *err)
{
    const pfc_accel_case_opts opts = {
        .timing_only = true,
        .gemm_tiles = c->tiled ? (after ? &c->tiles_after : &c->tiles_before) : NULL,
    };
    pfc_accel_case *made = NULL;
    pfc_code code = pfc_accel_case_new(&made, &c->base.problem, after ? &c->after : &c->base.chip,
                                       PFC_ACCEL_PIPELINED_WS, &opts, err);

    if (!code)
        code = grade_simulate(made, &c->base, &out->whatif, err);
    if (!code)
        code = grade_profile_run(made, &c->base, &out->profile, err);
    pfc_accel_case_free(made);
    return code;
}

/* The resource whose removal removes most of the difference, by simulation; PFC_RESOURCE_NONE when
 * none does so clearly. */
static pfc_resource find_truth(const pfc_accel_whatif *a, const pfc_accel_whatif *b)
{
    const double delta = (double)b->base - (double)a->base;
    pfc_resource best = PFC_RESOURCE_NONE;
    double first = 0;
    double second = 0;

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        const double left = (double)b->cycles[r] - (double)a->cycles[r];
        const double removed = delta > 0 ? delta - left : left - delta;

        if (removed > first) {
            second = first;
            first = removed;
            best = r;
        } else {
            second = PFC_MAX(second, removed);
        }
    }
    return first > 0 && (first - second) / first > DELTA_MARGIN ? best : PFC_RESOURCE_NONE;
}

static pfc_code explain(const pfc_profile *before, const pfc_profile *after, pfc_resource named[2],
                        double *sum_error, size_t *causes, pfc_err *err)
{
    pfc_delta *d = pfc_calloc(1, sizeof(*d));
    pfc_code code = pfc_delta_of(before, after, d, err);
    double sum = 0;
    size_t len = 0;

    named[0] = named[1] = PFC_RESOURCE_NONE;
    for (size_t i = 0; i < d->contributions_len; i++)
        sum += d->contributions[i].value;
    for (size_t i = 0; i < d->causes_len && len < 2; i++)
        if (d->causes[i].resource != PFC_RESOURCE_NONE &&
            (len == 0 || d->causes[i].resource != named[0]))
            named[len++] = d->causes[i].resource;
    *sum_error = d->delta != 0 ? fabs(sum - d->delta) / fabs(d->delta) : fabs(sum);
    *causes = d->causes_len;
    free(d);
    return code;
}

/* The profile without the chip's constants: the rest alone has to show the resource. */
static pfc_code without_constants(const pfc_profile *p, pfc_profile *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    pfc_profile_init(out, p->source);
    for (size_t i = 0; i < p->numbers_len && !code; i++)
        if (strncmp(p->numbers[i].name, "chip_", 5) != 0)
            code = pfc_profile_set(out, p->numbers[i].name, p->numbers[i].value, err);
    for (size_t i = 0; i < p->facts_len && !code; i++)
        code = pfc_profile_set_fact(out, p->facts[i].name, p->facts[i].text, err);
    return code;
}

static pfc_code name_blind(const run *a, const run *b, delta_outcome *out, pfc_err *err)
{
    pfc_profile before;
    pfc_profile after;
    double sum_error;
    size_t causes;
    pfc_code code = without_constants(&a->profile, &before, err);
    const pfc_code more = without_constants(&b->profile, &after, err);

    if (!code)
        code = more;
    if (!code)
        code = explain(&before, &after, out->blind, &sum_error, &causes, err);
    pfc_profile_clear(&before);
    pfc_profile_clear(&after);
    return code;
}

/* The pair in words, and by resource: ticks that its removal removes from the difference, by
 * simulation and by projection. */
static void describe(const delta_case *c, const run *a, const run *b, char *out, size_t size)
{
    char text[160];
    size_t len;

    grade_case_text(&c->base, text);
    len = (size_t)snprintf(out, size, "%s; %llu to %llu;", text, (unsigned long long)a->whatif.base,
                           (unsigned long long)b->whatif.base);
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN && len < size; r++) {
        char name[48];
        const double simulated = ((double)b->whatif.base - (double)b->whatif.cycles[r]) -
                                 ((double)a->whatif.base - (double)a->whatif.cycles[r]);
        double projected;

        snprintf(name, sizeof(name), "recoverable_%s_cycles", pfc_resource_name(r));
        projected = pfc_profile_or(&b->profile, name, 0) - pfc_profile_or(&a->profile, name, 0);
        if (simulated != 0 || projected != 0)
            len += (size_t)snprintf(out + len, size - len, " %s %.0f/%.0f", pfc_resource_name(r),
                                    simulated, projected);
    }
}

/* *counts is false when the change hardly alters the total, or has no clear resource. */
static pfc_code judge(const delta_case *c, const run *a, const run *b, delta_outcome *out,
                      bool *counts, pfc_err *err)
{
    const double change = (double)b->whatif.base / (double)a->whatif.base - 1;
    double sum_error = 0;
    pfc_resource none[2];
    size_t causes = 0;
    pfc_code code;

    *out = (delta_outcome){ .change = c->change,
                            .constants = c->constants,
                            .truth = { c->resources[0], c->resources[1] } };
    if (c->constants == 0)
        out->truth[0] = find_truth(&a->whatif, &b->whatif);
    *counts = fabs(change) >= DELTA_LEAST_CHANGE && out->truth[0] != PFC_RESOURCE_NONE;
    if (!*counts)
        return PFC_OK;
    describe(c, a, b, out->text, sizeof(out->text));
    code = explain(&a->profile, &b->profile, out->named, &out->sum_error, &causes, err);
    if (!code)
        code = name_blind(a, b, out, err);
    if (!code)
        code = explain(&a->profile, &a->profile, none, &sum_error, &causes, err);
    out->equal_named = causes > 0;
    return code;
}

static pfc_code try_pair(const delta_case *c, delta_outcome *out, bool *counts, pfc_err *err)
{
    run a;
    run b;
    pfc_code code;

    pfc_profile_init(&a.profile, "before");
    pfc_profile_init(&b.profile, "after");
    *counts = false;
    code = simulate(c, false, &a, err);
    if (!code)
        code = simulate(c, true, &b, err);
    if (!code)
        code = judge(c, &a, &b, out, counts, err);
    pfc_profile_clear(&a.profile);
    pfc_profile_clear(&b.profile);
    /* A schedule or a problem that does not fit: another pair is drawn. */
    return code == PFC_ETOOBIG || code == PFC_EUNAVAIL || code == PFC_EINVAL ? PFC_OK : code;
}

pfc_code delta_measure(uint64_t seed, uint64_t index, size_t constants, delta_outcome *out,
                       pfc_err *err)
{
    pfc_rng rng;

    /* Each pair has a generator of its own, so that pairs can be measured in any order. */
    pfc_rng_seed(&rng, (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + index * 4 + constants);
    for (int i = 0; i < DELTA_DRAWS; i++) {
        bool counts = false;
        delta_case c;
        pfc_code code;

        delta_draw(&rng, constants, &c);
        code = try_pair(&c, out, &counts, err);
        if (code || counts)
            return code;
    }
    return pfc_err_set(err, PFC_EBUG, "pair %llu: none of %d drawn pairs counts",
                       (unsigned long long)index, DELTA_DRAWS);
}
