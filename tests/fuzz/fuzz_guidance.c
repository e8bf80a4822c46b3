/* Catalogues: refused with the file's name, or advice in order whose interval holds its gain. */
#include <string.h>

#include "core/analysis/guidance/guidance.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pfc_advice advice[PFC_GUIDANCE_MAX];
    pfc_guidance *g = NULL;
    pfc_profile p;
    pfc_err err = { 0 };
    size_t len;

    if (pfc_guidance_parse("x.yaml", (const char *)data, size, &g, &err)) {
        FUZZ_CHECK(g == NULL && strstr(err.msg, "x.yaml") != NULL);
        return 0;
    }
    pfc_profile_init(&p, "x");
    FUZZ_CHECK(pfc_profile_set(&p, "cycles", 1000, &err) == PFC_OK);
    FUZZ_CHECK(pfc_profile_set(&p, "a", 300, &err) == PFC_OK);
    len = pfc_guidance_advise(g, &p, NULL, advice);
    FUZZ_CHECK(len <= PFC_GUIDANCE_MAX);
    for (size_t i = 0; i < len; i++) {
        FUZZ_CHECK(advice[i].low <= advice[i].gain && advice[i].gain <= advice[i].high);
        FUZZ_CHECK(i == 0 || advice[i].gain <= advice[i - 1].gain);
        FUZZ_CHECK(advice[i].id[0] && advice[i].effort[0]);
    }
    pfc_profile_clear(&p);
    pfc_guidance_free(g);
    return 0;
}
