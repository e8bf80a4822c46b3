/* One case of a grade: run once with a trace, judged, and simulated without each resource. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/accel/grade/grade.h"
#include "core/analysis/path/path.h"
#include "core/base/base.h"

/* Each case has a generator of its own, so that cases can be measured in any order. */
static uint64_t seed_of(uint64_t seed, uint64_t index)
{
    return (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + index;
}

/* ---- the truth ---- */

/* False when no resource is the limiter clearly enough. */
static bool find_truth(const pfc_accel_whatif *w, grade_result *out)
{
    double saving[PFC_RESOURCES_LEN];
    double first = 0;
    double second = 0;

    out->truth = PFC_RESOURCE_NONE;
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        saving[r] = (double)w->base - (double)w->cycles[r];
        if (saving[r] > first) {
            second = first;
            first = saving[r];
            out->truth = r;
        } else {
            second = PFC_MAX(second, saving[r]);
        }
    }
    out->margin = first > 0 ? (first - second) / first : 0;
    return first >= GRADE_LEAST_SAVING * (double)w->base && out->margin > GRADE_MARGIN;
}

pfc_code grade_simulate(pfc_accel_case *c, const grade_case *g, pfc_accel_whatif *out, pfc_err *err)
{
    pfc_accel_region region;
    pfc_code code;

    if (!g->is_region)
        return pfc_accel_case_whatif(c, out, err);
    code = pfc_accel_case_region(c, &g->region, &region, err);
    if (!code)
        *out = region.whatif;
    return code;
}

/* ---- the profile of the run ---- */

static pfc_code set(pfc_profile *p, const char *prefix, const char *name, double value,
                    pfc_err *err)
{
    char key[96];

    snprintf(key, sizeof(key), "%s%s", prefix, name);
    return pfc_profile_set(p, key, value, err);
}

pfc_code grade_profile_fill(pfc_profile *p, const pfc_accel_case *c, const pfc_accel_result *r,
                            pfc_err *err)
{
    const pfc_accel_chip *chip = pfc_accel_case_chip(c);
    pfc_code code = PFC_OK;
    const char *key;
    uint64_t value;

    for (pfc_accel_counter i = 0; i < PFC_ACCEL_COUNTERS_LEN && !code; i++)
        code = set(p, "", pfc_accel_counter_name(i), (double)r->counters.v[i], err);
    for (size_t i = 0; !code && (key = pfc_accel_chip_constant(chip, i, &value)); i++)
        code = set(p, "chip_", key, (double)value, err);
    if (!code)
        code = set(p, "", "ceiling_cycles", (double)r->ceiling_cycles, err);
    if (!code)
        code = pfc_profile_set_fact(p, "choice", r->choice, err);
    if (!code)
        code = pfc_profile_set_fact(p, "simulator", PFC_ACCEL_VERSION, err);
    return code;
}

/* Runs the kernel, or the region around it, and fills the profile. */
static pfc_code run_once(pfc_accel_case *c, const grade_case *g, const pfc_accel_trace_opts *trace,
                         pfc_profile *p, pfc_err *err)
{
    pfc_accel_region_opts opts = g->region;
    pfc_accel_result result = { 0 };
    pfc_accel_region region;
    pfc_code code;

    if (!g->is_region) {
        code = pfc_accel_case_run_detail(c, &result, NULL, trace, err);
        return code ? code : grade_profile_fill(p, c, &result, err);
    }
    code = pfc_accel_case_run(c, &result, err);
    opts.trace = trace;
    if (!code)
        code = pfc_accel_case_region(c, &opts, &region, err);
    if (code)
        return code;
    result.counters = region.counters;
    code = grade_profile_fill(p, c, &result, err);
    if (!code)
        code = set(p, "", "cycles", (double)region.cycles, err);
    if (!code)
        code = set(p, "", "kernel_cycles", (double)region.kernel_cycles, err);
    return code ? code : set(p, "", "launches", (double)region.launches, err);
}

pfc_code grade_profile_run(pfc_accel_case *c, const grade_case *g, pfc_profile *p, pfc_err *err)
{
    pfc_path_builder *builder = pfc_path_builder_new();
    const pfc_accel_trace_opts trace = { .consumer = pfc_path_builder_consumer(builder),
                                         .kernel = "kernel" };
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    pfc_code code = run_once(c, g, &trace, p, err);

    if (!code)
        code = pfc_path_builder_finish(builder, path, err);
    if (!code)
        code = pfc_path_store(path, p, err);
    pfc_path_builder_free(builder);
    free(path);
    return code;
}

static void judge(const pfc_limiter_rules *rules, const pfc_profile *p, grade_result *out)
{
    static const pfc_limiter_view views[GRADE_VIEWS] = {
        [GRADE_TRACE] = PFC_LIMITER_TRACE, [GRADE_COUNTERS] = PFC_LIMITER_COUNTERS
    };

    for (size_t v = 0; v < GRADE_VIEWS; v++) {
        pfc_limiter_verdict verdict;

        pfc_limiter_judge(rules, p, views[v], &verdict);
        out->verdict[v] = (grade_verdict){ .first = verdict.first,
                                           .second = verdict.second,
                                           .confidence = verdict.confidence };
        if (verdict.inconclusive)
            out->verdict[v].first = out->verdict[v].second = PFC_RESOURCE_NONE;
    }
}

/* *counts is false when the problem does not fit on the chip, or nothing limits it clearly. */
static pfc_code try_case(const pfc_limiter_rules *rules, grade_result *out, bool *counts,
                         pfc_err *err)
{
    const pfc_accel_case_opts opts = { .timing_only = true };
    pfc_accel_case *c = NULL;
    pfc_accel_whatif whatif;
    pfc_profile p;
    pfc_code code =
        pfc_accel_case_new(&c, &out->c.problem, &out->c.chip, PFC_ACCEL_PIPELINED_WS, &opts, err);

    *counts = false;
    if (code == PFC_ETOOBIG || code == PFC_EUNAVAIL)
        return PFC_OK;
    if (!code)
        code = grade_simulate(c, &out->c, &whatif, err);
    if (code == PFC_ETOOBIG) /* two sets of arguments do not fit */
        code = PFC_OK;
    else if (!code && find_truth(&whatif, out)) {
        *counts = true;
        pfc_profile_init(&p, "case");
        code = grade_profile_run(c, &out->c, &p, err);
        if (!code)
            judge(rules, &p, out);
        pfc_profile_clear(&p);
    }
    pfc_accel_case_free(c);
    return code;
}

pfc_code grade_measure(uint64_t seed, uint64_t index, const pfc_limiter_rules *rules,
                       grade_result *out, pfc_err *err)
{
    bool counts = false;
    pfc_rng rng;

    pfc_rng_seed(&rng, seed_of(seed, index));
    for (out->drawn = 1; out->drawn <= GRADE_DRAWS; out->drawn++) {
        char text[160];
        pfc_code code;

        grade_case_make(&rng, &out->c);
        code = try_case(rules, out, &counts, err);
        if (code) {
            grade_case_text(&out->c, text);
            return pfc_err_wrap(err, "%s", text);
        }
        if (counts)
            return PFC_OK;
    }
    return pfc_err_set(err, PFC_EBUG, "case %llu: none of %d drawn cases has a clear limiter",
                       (unsigned long long)index, GRADE_DRAWS);
}
