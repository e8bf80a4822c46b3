/* Numbers that a run of the accelerator stores beside its cycles, to be explained by later. */
#include <stdio.h>
#include <string.h>

#include "bench/harness/backends/backend.h"
#include "core/analysis/profile/profile.h"

#include "tests/check/check.h"

static const char suite_text[] =
    "suite: t\nbackends: [\"accel:*\"]\nbenchmarks:\n"
    "  - {op: gemm, dtype: bf16, shapes: [{m: 40, n: 72, k: 100}]}\n"
    "  - {op: gemm_bias_act, dtype: bf16, shapes: [{m: 9, n: 64, k: 64, act: 2}]}\n"
    "  - {op: attention, dtype: bf16, shapes: [{h: 2, s: 96, d: 32, causal: true}]}\n"
    "  - {op: layernorm, dtype: f32, shapes: [{rows: 5, cols: 300}]}\n";

/* As the run document has it: text that is read back as a number. */
static void take(pfc_profile *p, const pfc_exact *exact, size_t *bytes)
{
    char text[64];
    pfc_err err = { 0 };

    snprintf(text, sizeof(text), "%llu", (unsigned long long)exact->cycles);
    cr_assert(eq(int, pfc_profile_set_text(p, "cycles", text, &err), PFC_OK), "%s", err.msg);
    *bytes = 0;
    for (size_t i = 0; i < exact->counters_len; i++) {
        snprintf(text, sizeof(text), "%.17g", exact->counters[i].value);
        *bytes += strlen(exact->counters[i].name) + strlen(text) + strlen("\"\":\"\",");
        cr_assert(eq(int, pfc_profile_set_text(p, exact->counters[i].name, text, &err), PFC_OK),
                  "%s", err.msg);
    }
    for (size_t i = 0; i < exact->facts_len; i++)
        *bytes +=
            strlen(exact->facts[i].name) + strlen(exact->facts[i].text) + strlen("\"\":\"\",");
}

static void expect_explainable(const pfc_backend *backend, const pfc_case *c)
{
    pfc_exact *exact = pfc_calloc(1, sizeof(*exact));
    pfc_profile_part parts[PFC_PROFILE_MAX_PARTS];
    pfc_profile p;
    pfc_err err = { 0 };
    void *inst = NULL;
    double sum = 0;
    size_t bytes, len;

    cr_assert(eq(int, backend->ops->open(backend, c, 1, &inst, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, backend->ops->exact(inst, exact, &err), PFC_OK), "%s", err.msg);
    pfc_profile_init(&p, c->name);
    take(&p, exact, &bytes);
    cr_assert(le(sz, bytes, 16384), "%s", c->name);
    cr_assert(eq(int, pfc_profile_check(&p, &err), PFC_OK), "%s", err.msg);
    len = pfc_profile_parts(&p, parts, PFC_ARRAY_LEN(parts));
    for (size_t i = 0; i < len; i++)
        sum += parts[i].ticks;
    cr_assert(epsilon_eq(dbl, sum, (double)exact->cycles, 1e-9), "%s", c->name);
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        char name[64];

        snprintf(name, sizeof(name), "recoverable_%s_cycles", pfc_resource_name(r));
        cr_assert(ge(dbl, pfc_profile_or(&p, name, -1), 0), "%s", name);
    }
    cr_assert(gt(dbl, pfc_profile_or(&p, "chip_hbm_channels", 0), 0));
    cr_assert(gt(dbl, pfc_profile_or(&p, "chip_launch_ns", 0), 0));
    pfc_profile_clear(&p);
    backend->ops->close(inst);
    free(exact);
}

Test(accel_extra, every_run_has_its_path_and_the_constants_of_its_chip)
{
    pfc_backends backends;
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };
    size_t checked = 0;

    pfc_backends_list(&backends);
    cr_assert(eq(int, pfc_suite_parse(suite_text, strlen(suite_text), "t", &suite, &err), PFC_OK),
              "%s", err.msg);
    for (size_t b = 0; b < backends.len; b++) {
        if (!backends.items[b].exact)
            continue;
        for (size_t i = 0; i < suite->cases_len; i++, checked++)
            expect_explainable(&backends.items[b], &suite->cases[i]);
    }
    cr_assert(ge(sz, checked, 20));
    pfc_suite_free(suite);
    pfc_backends_clear(&backends);
}
