/*
 * Finds the one measurement of a run that a bisection searches by.
 */
#include <string.h>

#include "runner/workspace/workspace.h"

static bool fits(const pfc_measurement *m, const char *metric, const char *benchmark,
                 const char *backend)
{
    return m->status == PFC_STATUS_OK && m->samples_len > 0 &&
           (!metric || strcmp(m->metric, metric) == 0) &&
           (!benchmark || strcmp(m->benchmark, benchmark) == 0) &&
           (!backend || strcmp(m->backend, backend) == 0);
}

static void list_what_is_there(const pfc_run *run, pfc_buf *text)
{
    for (size_t i = 0; i < run->measurements_len && !text->overflow; i++) {
        const pfc_measurement *m = &run->measurements[i];

        pfc_buf_printf(text, "%s%s %s%s%s%s", i ? ", " : "", m->benchmark, m->metric,
                       m->backend[0] ? " on " : "", m->backend,
                       m->status == PFC_STATUS_OK ? "" : " (no result)");
    }
    if (text->len == 0)
        pfc_buf_puts(text, "nothing");
}

static bool is_headline(const pfc_measurement *m)
{
    return strcmp(m->benchmark, "headline") == 0;
}

pfc_code pfc_run_value(const pfc_run *run, const char *metric, const char *benchmark,
                       const char *backend, const pfc_measurement **out, pfc_err *err)
{
    const pfc_measurement *found = NULL;
    size_t matches = 0;
    pfc_buf text;
    pfc_code code;

    for (int headline = 1; headline >= 0 && matches == 0; headline--) {
        for (size_t i = 0; i < run->measurements_len; i++) {
            const pfc_measurement *m = &run->measurements[i];

            if (!fits(m, metric, benchmark, backend) || is_headline(m) != (headline == 1))
                continue;
            found = m;
            matches++;
        }
    }
    if (matches == 1) {
        *out = found;
        return PFC_OK;
    }
    pfc_buf_init(&text, 300);
    list_what_is_there(run, &text);
    code = matches ? pfc_err_set(err, PFC_EINVAL,
                                 "%s: %zu results fit; name one by --metric, --benchmark and "
                                 "--backend: %s%s",
                                 metric ? metric : "result", matches, pfc_buf_text(&text),
                                 text.overflow ? ", ..." : "")
                   : pfc_err_set(err, PFC_ENOTFOUND, "no result for %s%s%s%s%s; there is: %s%s",
                                 metric ? metric : "any metric", benchmark ? " of " : "",
                                 benchmark ? benchmark : "", backend ? " on " : "",
                                 backend ? backend : "", pfc_buf_text(&text),
                                 text.overflow ? ", ..." : "");
    pfc_buf_clear(&text);
    return code;
}
