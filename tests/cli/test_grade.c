/* Grades: cases from a seed, and shares with their intervals. */
#include <string.h>

#include "cli/accel/grade/grade.h"
#include "core/analysis/metrics/metrics.h"

#include "tests/check/check.h"

/* Wilson, 1927: 95 of 100 give 0.8882 (also R 4.2, binom::binom.wilson(95, 100)); none of 10
 * gives 0, all of 10 give 10 / (10 + 1.96^2) = 0.7225. */
Test(grade, low_end_of_a_share)
{
    cr_assert(epsilon_eq(dbl, grade_low95(95, 100), 0.8882, 1e-4));
    cr_assert(epsilon_eq(dbl, grade_low95(0, 10), 0.0, 1e-12));
    cr_assert(epsilon_eq(dbl, grade_low95(10, 10), 0.7225, 1e-4));
    cr_assert(epsilon_eq(dbl, grade_low95(0, 0), 0.0, 1e-12));
}

static grade_result result_of(pfc_resource truth, pfc_resource first, pfc_resource second,
                              double confidence)
{
    grade_result r = { .truth = truth };

    r.verdict[GRADE_TRACE] = (grade_verdict){ first, second, confidence };
    return r;
}

/* Right; second; wrong; inconclusive, which counts as wrong though its "second" is the truth. */
Test(grade, inconclusive_counts_as_wrong)
{
    const grade_result results[] = {
        result_of(PFC_RESOURCE_DMA, PFC_RESOURCE_DMA, PFC_RESOURCE_MEMORY, 0.93),
        result_of(PFC_RESOURCE_DMA, PFC_RESOURCE_MEMORY, PFC_RESOURCE_DMA, 0.94),
        result_of(PFC_RESOURCE_MEMORY, PFC_RESOURCE_VECTOR, PFC_RESOURCE_DMA, 0.3),
        result_of(PFC_RESOURCE_NONE - 1, PFC_RESOURCE_NONE, PFC_RESOURCE_NONE - 1, 0.99),
    };
    grade_tally t = { 0 };
    json_t *doc;

    for (size_t i = 0; i < PFC_ARRAY_LEN(results); i++)
        grade_tally_add(&t, &results[i], GRADE_TRACE);
    cr_assert(eq(u64, t.cases, 4));
    cr_assert(eq(u64, t.inconclusive, 1));
    cr_assert(eq(u64, t.top1, 1));
    cr_assert(eq(u64, t.top2, 2));
    cr_assert(eq(u64, t.by_resource[PFC_RESOURCE_DMA].cases, 2));
    cr_assert(eq(u64, t.by_resource[PFC_RESOURCE_DMA].right, 1));
    doc = grade_tally_json(&t);
    cr_assert(eq(int, (int)json_integer_value(json_object_get(doc, "decided")), 3));
    cr_assert(epsilon_eq(dbl, json_number_value(json_object_get(doc, "top1")), 0.25, 1e-12));
    cr_assert(eq(sz, json_array_size(json_object_get(doc, "confidence")), 2));
    json_decref(doc);
}

/* Over all chips, operators and types, with chips that their own rules accept. */
Test(grade, cases_cover_chips_operators_and_types)
{
    bool kernels[16] = { false };
    bool dtypes[3] = { false };
    bool leans[PFC_RESOURCES_LEN] = { false };
    bool chips[16] = { false };
    grade_case first, c;
    pfc_rng rng;
    size_t seen = 0;

    pfc_rng_seed(&rng, 1);
    grade_case_make(&rng, &first);
    pfc_rng_seed(&rng, 1);
    for (size_t i = 0; i < 2000; i++) {
        grade_case_make(&rng, &c);
        if (i == 0)
            cr_assert(eq(int, memcmp(&first.problem, &c.problem, sizeof(c.problem)), 0));
        kernels[c.problem.kernel] = dtypes[c.problem.dtype] = leans[c.leans] = true;
        for (size_t k = 0; pfc_accel_chip_name(k); k++)
            chips[k] |= strcmp(pfc_accel_chip_name(k), c.chip.name) == 0;
        cr_assert(ge(u64, c.chip.dma_bytes, 1));
        cr_assert(le(u64, c.chip.dma_bytes, 4096));
        cr_assert(le(u64, c.chip.sram_banks, PFC_ACCEL_MAX_BANKS));
        cr_assert(eq(u64, c.chip.sram_bytes % (64 * c.chip.sram_banks), 0));
        for (size_t k = 0; k < PFC_ACCEL_MAX_PARAMS; k++)
            cr_assert(le(i64, c.problem.p[k], PFC_ACCEL_MAX_DIM));
    }
    for (size_t k = 0; pfc_accel_kernel_name(k); k++, seen++)
        cr_assert(kernels[k], "%s", pfc_accel_kernel_name(k));
    cr_assert(ge(sz, seen, 7));
    for (size_t k = 0; k < PFC_ARRAY_LEN(dtypes); k++)
        cr_assert(dtypes[k]);
    for (size_t k = 0; pfc_accel_chip_name(k); k++)
        cr_assert(chips[k], "%s", pfc_accel_chip_name(k));
    for (pfc_resource r = 0; r <= PFC_RESOURCE_LATENCY; r++)
        cr_assert(leans[r], "%s", pfc_resource_name(r));
}

/* False for NAN, which a metric without a peak has. */
static bool over_one(double share)
{
    return share > 1 + 1e-9;
}

/* A case is left out when its problem does not fit on its chip. */
static size_t check_shares(const pfc_metrics *metrics, const grade_case *g)
{
    const pfc_accel_case_opts opts = { .timing_only = true };
    pfc_metric_value values[PFC_METRICS_MAX];
    pfc_accel_case *c = NULL;
    pfc_profile p;
    pfc_err err = { 0 };
    char text[160];
    size_t len = 0;
    bool fits;
    pfc_code code =
        pfc_accel_case_new(&c, &g->problem, &g->chip, PFC_ACCEL_PIPELINED_WS, &opts, &err);

    grade_case_text(g, text);
    pfc_profile_init(&p, "case");
    if (!code)
        code = grade_profile_run(c, g, &p, &err);
    if (!code)
        len = pfc_metrics_evaluate(metrics, &p, values);
    fits = code != PFC_ETOOBIG && code != PFC_EUNAVAIL;
    cr_assert(eq(int, fits ? code : PFC_OK, PFC_OK), "%s: %s", text, err.msg);
    for (size_t i = 0; i < len; i++) {
        const pfc_metric_value *m = &values[i];
        const bool is_share = strcmp(m->unit, "share") == 0;

        if (!m->available)
            continue;
        cr_expect(not(over_one(m->share)), "%s of %s: share %g", m->name, text, m->share);
        cr_expect(not(over_one(m->achievable / m->peak)), "%s of %s: achievable %g, peak %g",
                  m->name, text, m->achievable, m->peak);
        cr_expect(not(is_share && over_one(m->value)), "%s of %s: %g", m->name, text, m->value);
        cr_expect(not(is_share && m->value < -1e-9), "%s of %s: %g", m->name, text, m->value);
    }
    pfc_profile_clear(&p);
    pfc_accel_case_free(c);
    return len > 0;
}

/* The named ones have a ceiling below the time that the array alone takes: an f32 attention and an
 * int8 product whose best schedule uses the vector unit as well, and a causal attention. */
Test(grade, no_share_of_a_peak_exceeds_one)
{
    static const pfc_accel_problem named[] = {
        { .kernel = PFC_ACCEL_ATTENTION, .dtype = PFC_ACCEL_F32, .p = { 4, 337, 32, 0, 0, 2 } },
        { .kernel = PFC_ACCEL_ATTENTION, .dtype = PFC_ACCEL_BF16, .p = { 1, 105, 128, 1, 0, 1 } },
        { .kernel = PFC_ACCEL_GEMM, .dtype = PFC_ACCEL_INT8, .p = { 308, 206, 367 } },
    };
    pfc_metrics *metrics = NULL;
    grade_case c;
    pfc_rng rng;
    pfc_err err = { 0 };
    size_t checked = 0;

    cr_assert(eq(int, pfc_metrics_load(NULL, "accelerator", &metrics, &err), PFC_OK), "%s",
              err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(named); i++) {
        c = (grade_case){ .problem = named[i] };
        cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &c.chip, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(sz, check_shares(metrics, &c), 1));
    }
    pfc_rng_seed(&rng, 5);
    for (size_t i = 0; i < 60; i++) {
        grade_case_make(&rng, &c);
        checked += check_shares(metrics, &c);
    }
    cr_assert(ge(sz, checked, 40));
    pfc_metrics_free(metrics);
}

/* The trace's view names nine of ten limiters, whatever is measured first. */
Test(grade, a_case_is_the_same_in_every_order)
{
    pfc_limiter_rules *rules = NULL;
    grade_result a, b;
    pfc_err err = { 0 };
    size_t right = 0;

    cr_assert(eq(int, pfc_limiter_rules_load(NULL, &rules, &err), PFC_OK), "%s", err.msg);
    for (uint64_t i = 0; i < 10; i++) {
        cr_assert(eq(int, grade_measure(5, i, rules, &a, &err), PFC_OK), "%s", err.msg);
        right += a.verdict[GRADE_TRACE].first == a.truth;
        cr_assert(gt(dbl, a.margin, GRADE_MARGIN));
    }
    cr_assert(eq(int, grade_measure(5, 3, rules, &b, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, grade_measure(5, 3, rules, &a, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, a.truth, b.truth));
    cr_assert(epsilon_eq(dbl, a.margin, b.margin, 1e-15));
    cr_assert(ge(sz, right, 9));
    pfc_limiter_rules_free(rules);
}
