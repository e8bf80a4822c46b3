/* A profile from a run document: everything that the run's measurements say about one benchmark. */
#include <stdio.h>
#include <string.h>

#include "core/analysis/explain/explain.h"
#include "core/base/base.h"
#include "core/stats/stats.h"

static pfc_code set_prefixed(pfc_profile *p, const char *prefix, const char *name, const char *text,
                             pfc_err *err)
{
    char full[2 * PFC_PROFILE_NAME_BYTES];

    snprintf(full, sizeof(full), "%s%s", prefix, name);
    /* A name that is too long for a profile is no counter; the run document still has it. */
    if (strlen(full) > PFC_PROFILE_NAME_BYTES)
        return PFC_OK;
    return pfc_profile_set_text(p, full, text, err);
}

static pfc_code add_labels(pfc_profile *p, const char *prefix, const pfc_labels *labels,
                           pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < labels->len && !code; i++)
        code = set_prefixed(p, prefix, labels->items[i].name, labels->items[i].value, err);
    return code;
}

static pfc_code add_measurement(pfc_profile *p, const pfc_measurement *m, pfc_err *err)
{
    char median[32];
    pfc_code code = add_labels(p, "", &m->extra, err);

    if (!code)
        code = add_labels(p, "param_", &m->params, err);
    if (code || m->samples_len == 0)
        return code;
    snprintf(median, sizeof(median), "%.17g", pfc_stats_median(m->samples, m->samples_len));
    return set_prefixed(p, "metric_", m->metric, median, err);
}

/* The canary's measurement carries the ceilings of the CPU that were measured in the same run. */
static pfc_code add_ceilings(pfc_profile *p, const pfc_measurement *canary, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < canary->extra.len && !code; i++)
        if (strncmp(canary->extra.items[i].name, "ceiling_", 8) == 0)
            code = pfc_profile_set_text(p, canary->extra.items[i].name,
                                        canary->extra.items[i].value, err);
    return code;
}

pfc_code pfc_explain_profile(const pfc_run *run, const char *benchmark, const char *backend,
                             pfc_profile *out, pfc_err *err)
{
    const bool cpu = strncmp(backend, "cpu", 3) == 0;
    bool found = false;
    double value;
    pfc_code code = PFC_OK;

    pfc_profile_init(out, run->id);
    for (size_t i = 0; i < run->measurements_len && !code; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (pfc_streq(m->benchmark, benchmark) && pfc_streq(m->backend, backend)) {
            found = true;
            code = add_measurement(out, m, err);
        } else if (cpu && pfc_streq(m->benchmark, PFC_CANARY_BENCHMARK)) {
            code = add_ceilings(out, m, err);
        }
    }
    if (!code && !found)
        code = pfc_err_set(err, PFC_ENOTFOUND, "run %s has no benchmark \"%.100s\" on \"%.60s\"",
                           run->id, benchmark, backend);
    /* The total of a backend without cycles of its own is its time. */
    if (!code && pfc_profile_number_of(out, "metric_time_ns", &value))
        code = pfc_profile_set(out, "time_ns", value, err);
    return code ? code : pfc_profile_set_fact(out, "backend", backend, err);
}
