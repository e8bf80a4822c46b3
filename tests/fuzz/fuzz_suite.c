/* Suite files: what is taken has bounded, valid benchmarks with names of their own. */
#include <string.h>

#include "bench/suite/suite.h"

#include "tests/fuzz/fuzz.h"

static void check_case(const pfc_suite *suite, size_t i)
{
    const pfc_case *c = &suite->cases[i];

    FUZZ_CHECK(c->name[0] != '\0' && c->op != NULL);
    for (size_t p = 0; p < c->op->params_len; p++) {
        FUZZ_CHECK(c->params[p] >= c->op->params[p].min);
        FUZZ_CHECK(c->params[p] <= c->op->params[p].max);
    }
    FUZZ_CHECK(c->settings.processes >= 1 && c->settings.processes <= 64);
    FUZZ_CHECK(c->settings.min_samples >= 1);
    FUZZ_CHECK(c->settings.max_samples >= c->settings.min_samples);
    FUZZ_CHECK(c->settings.max_samples <= 100000);
    FUZZ_CHECK(pfc_case_work(c) >= 0.0);
    if (i > 0)
        FUZZ_CHECK(strcmp(suite->cases[i - 1].name, c->name) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };

    if (pfc_suite_parse((const char *)data, size, "suite.yaml", &suite, &err)) {
        FUZZ_CHECK(suite == NULL && strstr(err.msg, "suite.yaml") != NULL);
        return 0;
    }
    FUZZ_CHECK(suite->cases_len <= PFC_SUITE_MAX_CASES);
    for (size_t i = 0; i < suite->cases_len; i++)
        check_case(suite, i);
    pfc_suite_free(suite);
    return 0;
}
