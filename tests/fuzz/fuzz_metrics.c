/* Files of metrics: refused with the file's name, or each metric has a value or a reason. */
#include <string.h>

#include "core/analysis/metrics/metrics.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pfc_metric_value values[PFC_METRICS_MAX];
    pfc_metrics *m = NULL;
    pfc_profile p;
    pfc_err err = { 0 };
    size_t len;

    if (pfc_metrics_parse("x.yaml", (const char *)data, size, &m, &err)) {
        FUZZ_CHECK(m == NULL && strstr(err.msg, "x.yaml") != NULL);
        return 0;
    }
    pfc_profile_init(&p, "x");
    FUZZ_CHECK(pfc_profile_set(&p, "cycles", 1000, &err) == PFC_OK);
    len = pfc_metrics_evaluate(m, &p, values);
    FUZZ_CHECK(len <= PFC_METRICS_MAX);
    for (size_t i = 0; i < len; i++) {
        FUZZ_CHECK(values[i].name[0] != '\0');
        FUZZ_CHECK(values[i].available == (values[i].reason[0] == '\0'));
        FUZZ_CHECK(pfc_metric_find(values, len, values[i].name) == &values[i]);
    }
    pfc_profile_clear(&p);
    pfc_metrics_free(m);
    return 0;
}
