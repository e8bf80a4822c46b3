/* Guidance: a small catalogue whose predictions are computed by hand, and the built-in one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/guidance/guidance.h"

#include "tests/check/check.h"
#include "tests/core/analysis/rules/simulated.h"

/* The model of the time is 100 + 1600 / tile cycles: 200 with tiles of 16, 150 with 32. */
static const char small[] =
    "least: 0.05\n"
    "spread: 0.2 * (1 - gain)\n"
    "definitions:\n"
    "  time: 100 + 1600 / tile\n"
    "entries:\n"
    "  - id: larger\n"
    "    when: tile < 64\n"
    "    value: tile\n"
    "    symptom: \"tiles of {value}\"\n"
    "    change: \"Double the tile\"\n"
    "    with: {tile: tile * 2, buffers: buffers}\n"
    "    fits: tile * buffers <= room\n"
    "    gain: 1 - time / before.time\n"
    "    spread: 0.1\n"
    "    risk: \"more room\"\n"
    "    effort: low\n"
    "  - id: by_hand\n"
    "    when: limiter_memory\n"
    "    value: share\n"
    "    format: percent\n"
    "    symptom: \"memory {value}\"\n"
    "    change: \"Move less\"\n"
    "    gain: share\n"
    "    risk: \"none\"\n"
    "    effort: high\n"
    "  - {id: same, when: 1, value: 1, symptom: s, change: c, with: {tile: tile}, gain: 0.9, risk: "
    "r,\n"
    "     effort: low}\n"
    "  - {id: little, when: 1, value: 1, symptom: s, change: c, gain: 0.2, risk: r, effort: low}\n"
    "  - {id: unknown, when: 1, value: 1, symptom: s, change: c, gain: no_number, risk: r, effort: "
    "low}\n"
    "  - {id: no_case, when: no_number, value: 1, symptom: s, change: c, gain: 0.9, risk: r, "
    "effort: low}\n";

static void fill(pfc_profile *p, double tile, double room)
{
    pfc_err err = { 0 };

    pfc_profile_init(p, "run 1");
    cr_assert(eq(int, pfc_profile_set(p, "tile", tile, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(p, "buffers", 2, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(p, "room", room, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(p, "share", 0.4, &err), PFC_OK));
}

static size_t advise(const pfc_profile *p, pfc_resource limiter, pfc_advice *out)
{
    const pfc_limiter_verdict verdict = { .first = limiter };
    pfc_guidance *g = NULL;
    pfc_err err = { 0 };
    size_t len;

    cr_assert(eq(int, pfc_guidance_parse("x.yaml", small, strlen(small), &g, &err), PFC_OK), "%s",
              err.msg);
    len = pfc_guidance_advise(g, p, &verdict, out);
    pfc_guidance_free(g);
    return len;
}

/* 1 - 150 / 200 = 0.25. */
Test(guidance, the_gain_is_that_of_the_model_before_and_after)
{
    pfc_advice advice[PFC_GUIDANCE_MAX];
    pfc_profile p;

    fill(&p, 16, 64);
    cr_assert(eq(sz, advise(&p, PFC_RESOURCE_COMPUTE, advice), 1));
    cr_expect(eq(str, advice[0].id, "larger"));
    cr_expect(eq(str, advice[0].symptom, "tiles of 16"));
    cr_expect(eq(str, advice[0].change, "Double the tile"));
    cr_expect(eq(str, advice[0].action, "tile=32"), "what stays the same is no part of it");
    cr_expect(epsilon_eq(dbl, advice[0].gain, 0.25, 1e-12));
    cr_expect(epsilon_eq(dbl, advice[0].low, 0.15, 1e-12));
    cr_expect(epsilon_eq(dbl, advice[0].high, 0.35, 1e-12));
    cr_expect(eq(str, advice[0].risk, "more room"));
    cr_expect(eq(str, advice[0].effort, "low"));
    pfc_profile_clear(&p);
}

/* `by_hand` gains 0.4 with a spread of 0.2 * 0.6, so its interval begins at 0.28. */
Test(guidance, entries_come_by_gain_and_know_the_limiter)
{
    pfc_advice advice[PFC_GUIDANCE_MAX];
    pfc_profile p;

    fill(&p, 16, 64);
    cr_assert(eq(sz, advise(&p, PFC_RESOURCE_MEMORY, advice), 2));
    cr_expect(eq(str, advice[0].id, "by_hand"));
    cr_expect(eq(str, advice[0].symptom, "memory 40.0 %"));
    cr_expect(eq(str, advice[0].action, ""));
    cr_expect(epsilon_eq(dbl, advice[0].low, 0.28, 1e-12));
    cr_expect(epsilon_eq(dbl, advice[0].high, 0.52, 1e-12));
    cr_expect(eq(str, advice[1].id, "larger"));
    pfc_profile_clear(&p);
}

/* `little` gains 0.2 with a spread of 0.16: its interval begins at 0.04, below 0.05. `larger` does
 * not fit into 63, and is no symptom at 64. */
Test(guidance, entries_that_do_not_fit_or_promise_too_little_are_left_out)
{
    pfc_advice advice[PFC_GUIDANCE_MAX];
    pfc_profile p;

    fill(&p, 16, 63);
    cr_expect(eq(sz, advise(&p, PFC_RESOURCE_COMPUTE, advice), 0));
    pfc_profile_clear(&p);
    fill(&p, 64, 1000);
    cr_expect(eq(sz, advise(&p, PFC_RESOURCE_COMPUTE, advice), 0));
    pfc_profile_clear(&p);
}

Test(guidance, a_wrong_file_is_refused_with_its_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "least: 0\nentries: []\n", "x.yaml:1: expected the key \"spread\"" },
        { "least: 0\nspread: 0\nentries:\n  - {id: a, when: 1, value: 1, symptom: s, change: c, "
          "gain: "
          "1, risk: r, effort: none}\n",
          "x.yaml:4: effort: expected low, medium or high, got \"none\"" },
        { "least: 0\nspread: 0\nentries:\n  - {id: a, when: 1, value: 1, symptom: s, change: c, "
          "risk: "
          "r, effort: low}\n",
          "x.yaml:4: entries: a: expected the key \"gain\"" },
        { "least: 0\nspread: 0\nentries:\n  - {id: a, when: 1, value: 1, symptom: s, change: c, "
          "gain: "
          "1, risk: r, effort: low, who: me}\n",
          "x.yaml:4: entries: unknown key 'who'" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_guidance *g = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int,
                     pfc_guidance_parse("x.yaml", cases[i].text, strlen(cases[i].text), &g, &err),
                     PFC_EINVAL),
                  "%s", cases[i].text);
        cr_expect(eq(int, strncmp(err.msg, cases[i].message, strlen(cases[i].message)), 0), "%s",
                  err.msg);
        cr_expect(g == NULL);
    }
}

/* ---- the built-in catalogue ---- */

Test(guidance, there_are_twelve_entries_for_the_accelerator_and_four_for_cpus)
{
    pfc_guidance *g = NULL;
    pfc_err err = { 0 };
    size_t accelerator = 0;
    size_t cpu = 0;

    cr_assert(eq(int, pfc_guidance_load(NULL, &g, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; pfc_guidance_id(g, i); i++) {
        const bool is_cpu = strncmp(pfc_guidance_id(g, i), "cpu_", 4) == 0;

        cpu += is_cpu;
        accelerator += !is_cpu;
    }
    cr_expect(ge(sz, accelerator, 12));
    cr_expect(ge(sz, cpu, 4));
    pfc_guidance_free(g);
}

/* Two buffers of tiles that are loaded again for each product: the run neither computes nor loads
 * all the time, and the same schedule with four buffers is faster. */
Test(guidance, buffers_are_advised_where_loads_and_products_take_turns)
{
    static const pfc_accel_problem gemm = { .kernel = PFC_ACCEL_GEMM,
                                            .dtype = PFC_ACCEL_BF16,
                                            .p = { 512, 512, 2048 } };
    pfc_accel_gemm_tiles tiles = { .m = 128, .n = 128, .k = 128, .group = 1, .slots = 2 };
    pfc_advice advice[PFC_GUIDANCE_MAX];
    const pfc_advice *found = NULL;
    pfc_guidance *g = NULL;
    pfc_accel_chip chip;
    pfc_profile p, after;
    pfc_err err = { 0 };
    const char *name;
    uint64_t number;
    double cycles[2];
    size_t len;

    cr_assert(eq(int, pfc_guidance_load(NULL, &g, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, &err), PFC_OK));
    cr_assert(eq(int, simulate(&gemm, &chip, &tiles, &p, NULL, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; (name = pfc_accel_tile_number(&tiles, i, &number)); i++)
        cr_assert(eq(int, pfc_profile_set(&p, name, (double)number, &err), PFC_OK));
    for (size_t i = 0; i < 3; i++) {
        char param[16];

        snprintf(param, sizeof(param), "param_%s", pfc_accel_param_name(gemm.kernel, i));
        cr_assert(eq(int, pfc_profile_set(&p, param, (double)gemm.p[i], &err), PFC_OK));
    }
    cr_assert(eq(int, pfc_profile_set_fact(&p, "param_dtype", "bf16", &err), PFC_OK));
    len = pfc_guidance_advise(g, &p, NULL, advice);
    for (size_t i = 0; i < len; i++)
        if (strcmp(advice[i].id, "more_buffers") == 0)
            found = &advice[i];
    cr_assert(found != NULL, "%zu others", len);
    cr_expect(eq(str, (char *)found->action, "tile_buffers=4"));
    tiles.slots = 4;
    cr_assert(eq(int, simulate(&gemm, &chip, &tiles, &after, NULL, &err), PFC_OK), "%s", err.msg);
    cycles[0] = pfc_profile_or(&p, "cycles", 0);
    cycles[1] = pfc_profile_or(&after, "cycles", 0);
    cr_expect(lt(dbl, cycles[1], cycles[0]));
    cr_expect(epsilon_eq(dbl, found->gain, 1 - cycles[1] / cycles[0], 0.15));
    pfc_profile_clear(&p);
    pfc_profile_clear(&after);
    pfc_guidance_free(g);
}

Test(guidance, a_slow_scalar_kernel_is_advised_to_use_vectors)
{
    pfc_advice advice[PFC_GUIDANCE_MAX];
    pfc_guidance *g = NULL;
    pfc_profile p;
    pfc_err err = { 0 };

    pfc_profile_init(&p, "run 1");
    cr_assert(eq(int, pfc_profile_set(&p, "percent_of_peak", 17, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set_fact(&p, "backend", "cpu-scalar", &err), PFC_OK));
    cr_assert(eq(int, pfc_guidance_load(NULL, &g, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, pfc_guidance_advise(g, &p, NULL, advice), 1));
    cr_expect(eq(str, advice[0].id, "cpu_wider_vectors"));
    cr_expect(epsilon_eq(dbl, advice[0].gain, 0.8, 1e-12)); /* 1 - 17 / 85 */
    cr_expect(eq(str, advice[0].action, "backend=cpu-avx2"));
    pfc_guidance_free(g);
    pfc_profile_clear(&p);
}
