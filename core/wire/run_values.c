#include "core/wire/run_values.h"

#include <string.h>

#include "core/base/base.h"
#include "core/base/parse.h"
#include "core/stats/stats.h"

bool pfc_run_is_id(const char *text)
{
    int64_t number;

    if (strlen(text) == 32 && pfc_is_hex_id(text))
        return true;
    return pfc_parse_i64(text, 1, INT64_MAX, "run", &number, NULL) == PFC_OK;
}

const pfc_measurement *pfc_run_find(const pfc_run *run, const pfc_measurement *like)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (pfc_streq(m->benchmark, like->benchmark) && pfc_streq(m->metric, like->metric) &&
            pfc_streq(m->backend, like->backend))
            return m;
    }
    return NULL;
}

double *pfc_measurement_values(const pfc_measurement *m, bool by_block, size_t *n)
{
    double *out = pfc_calloc(m->samples_len + 1, sizeof(double));
    size_t at = 0;

    *n = 0;
    if (!by_block) {
        memcpy(out, m->samples, m->samples_len * sizeof(double));
        *n = m->samples_len;
        return out;
    }
    for (size_t i = 0; i < m->blocks_len; i++) {
        if (m->blocks[i])
            out[(*n)++] = pfc_stats_median(m->samples + at, m->blocks[i]);
        at += m->blocks[i];
    }
    return out;
}
