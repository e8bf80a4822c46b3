/* Files of rules: refused with the file's name, or a verdict that keeps its promises. */
#include <string.h>

#include "core/analysis/limiter/limiter.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_limiter_rules *rules = NULL;
    pfc_limiter_verdict v;
    pfc_profile p;
    pfc_err err = { 0 };

    if (pfc_limiter_rules_parse("x.yaml", (const char *)data, size, &rules, &err)) {
        FUZZ_CHECK(rules == NULL && strstr(err.msg, "x.yaml") != NULL);
        return 0;
    }
    pfc_profile_init(&p, "x");
    FUZZ_CHECK(pfc_profile_set(&p, "cycles", 1000, &err) == PFC_OK);
    FUZZ_CHECK(pfc_profile_set(&p, "a", 300, &err) == PFC_OK);
    pfc_limiter_judge(rules, &p, PFC_LIMITER_BEST, &v);
    FUZZ_CHECK(v.inconclusive == (v.first == PFC_RESOURCE_NONE));
    FUZZ_CHECK(v.inconclusive == (v.reason[0] != '\0'));
    FUZZ_CHECK(v.confidence >= 0 && v.confidence <= 1 && v.causes_len <= PFC_LIMITER_MAX_CAUSES);
    for (size_t i = 0; i < PFC_RESOURCES_LEN; i++)
        FUZZ_CHECK(v.saving[i] >= 0 && v.saving[i] <= 1);
    pfc_profile_clear(&p);
    pfc_limiter_rules_free(rules);
    return 0;
}
