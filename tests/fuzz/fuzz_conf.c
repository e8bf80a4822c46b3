/* perfci.yaml: it comes with the commits that are measured, so strangers write it. */
#include <math.h>
#include <string.h>

#include "core/base/config/conf.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_conf conf = { 0 };
    pfc_err err = { 0 };

    if (pfc_conf_parse((const char *)data, size, "perfci.yaml", &conf, &err)) {
        FUZZ_CHECK(strstr(err.msg, "perfci.yaml") != NULL);
        return 0;
    }
    FUZZ_CHECK(isfinite(conf.timeout_s) && conf.timeout_s > 0);
    for (size_t i = 0; i < conf.paths_len; i++)
        FUZZ_CHECK(conf.paths[i] != NULL);
    pfc_conf_clear(&conf);
    return 0;
}
