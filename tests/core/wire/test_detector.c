/* A project's detector settings: which rules hold for a series, and which documents are refused. */
#include <string.h>

#include "core/wire/detector.h"

#include "tests/check/check.h"

static pfc_code read_text(const char *text, pfc_detector *out, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_code code = pfc_json_parse(text, strlen(text), &doc, err);

    if (!code)
        code = pfc_detector_from_json(doc, out, err);
    json_decref(doc);
    return code;
}

Test(detector_config, later_rules_override_what_they_say_and_leave_the_rest)
{
    const pfc_series_name gemm = { "gemm/bf16/m64", "time_ns", "cpu-avx512", "rack", "main" };
    const pfc_series_name norm = { "rmsnorm/f32", "time_ns", "cpu-avx2", "rack", "main" };
    pfc_detector detector = { 0 };
    pfc_detector_settings s;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 read_text("{\"fdr\": 0.1, \"rules\": [{\"min_change\": 0.02, \"alpha\": 0.05},"
                           " {\"benchmark\": \"gemm*m64\", \"min_change\": 0.001},"
                           " {\"backend\": \"*avx2\", \"judged\": false}]}",
                           &detector, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(epsilon_eq(dbl, detector.fdr, 0.1, 0));
    s = pfc_detector_for(&detector, &gemm);
    cr_assert(epsilon_eq(dbl, s.min_change, 0.001, 0));
    cr_assert(epsilon_eq(dbl, s.alpha, 0.05, 0));
    cr_assert(s.judged);
    s = pfc_detector_for(&detector, &norm);
    cr_assert(epsilon_eq(dbl, s.min_change, 0.02, 0));
    cr_assert(not(s.judged));
    s = pfc_detector_for(NULL, &norm);
    cr_assert(epsilon_eq(dbl, s.min_change, 0, 0));
    cr_assert(s.judged);
    pfc_detector_clear(&detector);
}

Test(detector_config, bad_documents_name_the_member)
{
    static const struct {
        const char *text, *field;
    } cases[] = {
        { "{\"rules\": [{\"min_change\": 0.02}, {\"min_change\": 0}]}", "rules[1].min_change" },
        { "{\"rules\": [{\"benchmark\": \"gemm\"}]}", "rules[0]" },
        { "{\"rules\": [{\"benchmark\": \"*a*b*c*d*e*f*g*h*i\", \"alpha\": 0.1}]}",
          "rules[0].benchmark" },
        { "{\"rules\": [{\"metric\": \"\", \"alpha\": 0.1}]}", "rules[0].metric" },
        { "{\"rules\": [{\"alpha\": 0.6}]}", "rules[0].alpha" },
        { "{\"rules\": [{\"judged\": 1}]}", "rules[0].judged" },
        { "{\"fdr\": 1, \"rules\": []}", "fdr" },
        { "{}", "rules" },
        { "{\"rule\": []}", "rule" },
        { "{\"rules\": [7]}", "rules[0]" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_detector detector = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int, read_text(cases[i].text, &detector, &err), PFC_EINVAL), "%s",
                  cases[i].text);
        cr_assert(eq(str, err.field, (char *)cases[i].field), "%s: %s", cases[i].text, err.msg);
    }
}
