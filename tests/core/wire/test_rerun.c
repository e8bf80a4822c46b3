/* Rerun rules between runner and service. */

#include "core/wire/rerun_json.h"

#include "tests/check/check.h"

static pfc_code read_text(const char *text, pfc_rerun_rules *out, pfc_err *err)
{
    json_t *doc = json_loads(text, JSON_DECODE_ANY, NULL);
    pfc_code code;

    cr_assert_not_null(doc, "%s", text);
    code = pfc_rerun_from_json(doc, out, err);
    json_decref(doc);
    return code;
}

Test(rerun, rules_come_back_as_they_were_sent)
{
    pfc_rerun_rules rules = { .len = PFC_RERUN_TRIGGERS }, back = { 0 };
    pfc_err err = { 0 };
    json_t *doc;

    for (int i = 0; i < PFC_RERUN_TRIGGERS; i++)
        rules.items[i] = (pfc_rerun_rule){
            .on = (pfc_rerun_on)i, .times = i + 1, .after_s = 90.5 * i, .other_machine = i % 2 == 1
        };
    doc = pfc_rerun_to_json(&rules);
    cr_assert(eq(int, pfc_rerun_from_json(doc, &back, &err), PFC_OK), "%s", err.msg);
    json_decref(doc);
    cr_assert(eq(sz, back.len, rules.len));
    for (size_t i = 0; i < rules.len; i++) {
        cr_expect(eq(int, (int)back.items[i].on, (int)rules.items[i].on));
        cr_expect(eq(int, back.items[i].times, rules.items[i].times));
        cr_expect(epsilon_eq(dbl, back.items[i].after_s, rules.items[i].after_s, 1e-9));
        cr_expect(eq(int, back.items[i].other_machine, rules.items[i].other_machine));
    }
}

Test(rerun, absent_rules_are_no_rules)
{
    pfc_rerun_rules rules = { .len = 1 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_rerun_from_json(NULL, &rules, &err), PFC_OK));
    cr_assert(eq(sz, rules.len, 0));
    cr_assert(eq(int, read_text("[{\"on\": \"infra\"}]", &rules, &err), PFC_OK));
    cr_assert(eq(int, rules.items[0].times, 1));
    cr_assert(not(rules.items[0].other_machine));
}

Test(rerun, faults_name_the_member)
{
    static const struct {
        const char *text, *field, *part;
    } bad[] = {
        { "{}", "rerun", "expected an array" },
        { "[1]", "rerun[0]", "expected an object" },
        { "[{\"on\": \"moon\"}]", "rerun[0].on", "expected inconclusive, canary" },
        { "[{\"on\": \"infra\"}, {\"on\": \"infra\"}]", "rerun[1].on",
          "expected each trigger once" },
        { "[{\"on\": \"infra\", \"times\": 6}]", "rerun[0].times", "" },
        { "[{\"on\": \"infra\", \"times\": 0}]", "rerun[0].times", "" },
        { "[{\"on\": \"infra\", \"after_s\": 604801}]", "rerun[0].after_s", "" },
        { "[{\"on\": \"infra\", \"after_s\": -1}]", "rerun[0].after_s", "" },
        { "[{\"on\": \"infra\", \"machine\": \"mine\"}]", "rerun[0].machine", "expected any or" },
        { "[{\"on\": \"infra\", \"when\": 1}]", "rerun[0].when", "" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_rerun_rules rules = { .len = 7 };
        pfc_err err = { 0 };

        cr_expect(eq(int, read_text(bad[i].text, &rules, &err), PFC_EINVAL), "%s", bad[i].text);
        cr_expect(eq(str, err.field, (char *)(uintptr_t)bad[i].field), "%s", bad[i].text);
        cr_expect(strstr(err.msg, bad[i].part) != NULL, "%s: %s", bad[i].text, err.msg);
        cr_expect(eq(sz, rules.len, 7)); /* left alone */
    }
}
