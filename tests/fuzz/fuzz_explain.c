/*
 * Run documents that are explained: refused with a sentence, or an explanation whose contributions
 * sum to the difference, and whose page holds none of the document's markup.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/report/report.h"
#include "core/base/base.h"

#include "tests/fuzz/fuzz.h"

static void check_sum(const pfc_explanation *e)
{
    double sum = 0;

    if (!e->delta)
        return;
    for (size_t i = 0; i < e->delta->contributions_len; i++)
        sum += e->delta->contributions[i].value;
    FUZZ_CHECK(fabs(sum - e->delta->delta) <=
               1e-6 * fmax(fabs(e->delta->before), fabs(e->delta->after)) + 1e-6);
    FUZZ_CHECK(e->delta->delta != 0 || e->delta->causes_len == 0);
}

static void check_forms(const pfc_explanation *e)
{
    pfc_report *r = pfc_report_new("title", NULL);
    json_t *doc = pfc_explanation_json(e);
    pfc_buf out;

    pfc_buf_init(&out, PFC_REPORT_MAX_BYTES);
    pfc_report_add(r, e);
    pfc_report_html(r, &out);
    FUZZ_CHECK(!out.overflow && !strstr(pfc_buf_text(&out), "<script"));
    pfc_buf_reset(&out);
    pfc_report_text(r, &out);
    pfc_report_markdown(r, &out);
    FUZZ_CHECK(json_is_object(doc));
    json_decref(doc);
    pfc_buf_clear(&out);
    pfc_report_free(r);
}

static void explain(const pfc_explain_rules *rules, const pfc_run *before, const pfc_run *after)
{
    const pfc_explain_what what = { NULL, NULL, NULL };
    pfc_explanation *e = pfc_calloc(1, sizeof(*e));
    pfc_err err = { 0 };
    const pfc_code code = before ? pfc_explain_pair(rules, before, after, &what, NULL, e, &err)
                                 : pfc_explain_run(rules, after, &what, e, &err);

    FUZZ_CHECK((code != PFC_OK) == (err.msg[0] != '\0'));
    if (!code) {
        check_sum(e);
        check_forms(e);
    }
    pfc_explanation_clear(e);
    free(e);
}

/* The document is explained alone, against itself, and against a copy whose samples are halved. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pfc_explain_rules rules;
    static bool loaded;
    pfc_run *run = NULL;
    pfc_run *other = NULL;
    pfc_err err = { 0 };

    if (!loaded)
        FUZZ_CHECK(pfc_explain_rules_load(NULL, &rules, &err) == PFC_OK);
    loaded = true;
    if (pfc_run_from_json((const char *)data, size, &run, &err))
        return 0;
    FUZZ_CHECK(pfc_run_from_json((const char *)data, size, &other, &err) == PFC_OK);
    for (size_t i = 0; i < other->measurements_len; i++)
        for (size_t k = 0; k < other->measurements[i].samples_len; k++)
            other->measurements[i].samples[k] /= 2;
    explain(&rules, NULL, run);
    explain(&rules, run, run);
    explain(&rules, other, run);
    pfc_run_free(run);
    pfc_run_free(other);
    return 0;
}
