/* Rerun rules as JSON. */
#include "core/wire/rerun_json.h"

#include <stdlib.h>
#include <string.h>

json_t *pfc_rerun_to_json(const pfc_rerun_rules *rules)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rules->len; i++) {
        const pfc_rerun_rule *rule = &rules->items[i];

        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:f, s:s}", "on", pfc_rerun_name(rule->on),
                                        "times", rule->times, "after_s", rule->after_s, "machine",
                                        rule->other_machine ? "other" : "any"));
    }
    return list;
}

static pfc_code read_rule(const json_t *obj, const pfc_json_at *at, pfc_rerun_rules *out,
                          pfc_err *err)
{
    static const char *const known[] = { "on", "times", "after_s", "machine", NULL };
    pfc_rerun_rule rule = { 0 };
    char *on = NULL, *machine = NULL;
    int64_t times = 1;
    pfc_code code;

    if (!json_is_object(obj))
        return pfc_json_fault(at, NULL, err, "expected an object with a trigger in \"on\"");
    code = pfc_json_known(obj, at, known, err);
    if (!code)
        code = pfc_json_string(obj, at, "on", true, 32, &on, err);
    if (!code)
        code = pfc_json_i64(obj, at, "times", false, 1, PFC_RERUN_MAX_TIMES, &times, err);
    if (!code)
        code = pfc_json_double(obj, at, "after_s", false, 0, PFC_RERUN_MAX_AFTER_S, &rule.after_s,
                               err);
    if (!code)
        code = pfc_json_string(obj, at, "machine", false, 16, &machine, err);
    if (!code && !pfc_rerun_named(on, &rule.on))
        code = pfc_json_fault(at, "on", err,
                              "expected inconclusive, canary, infra, broken or suspected, got "
                              "\"%.32s\"",
                              on);
    if (!code && pfc_rerun_find(out, rule.on))
        code = pfc_json_fault(at, "on", err,
                              "expected each trigger once, \"%s\" has a rule already", on);
    if (!code && machine && strcmp(machine, "any") != 0 && strcmp(machine, "other") != 0)
        code = pfc_json_fault(at, "machine", err, "expected any or other, got \"%.16s\"", machine);
    if (!code) {
        rule.times = (int)times;
        rule.other_machine = machine && strcmp(machine, "other") == 0;
        out->items[out->len++] = rule;
    }
    free(on);
    free(machine);
    return code;
}

pfc_code pfc_rerun_from_json(const json_t *doc, pfc_rerun_rules *out, pfc_err *err)
{
    const pfc_json_at list = { .key = "rerun" };
    pfc_rerun_rules rules = { 0 };
    pfc_code code = PFC_OK;

    if (doc && !json_is_null(doc) &&
        (!json_is_array(doc) || json_array_size(doc) > PFC_RERUN_TRIGGERS))
        return pfc_json_fault(NULL, "rerun", err, "expected an array of at most %d rules",
                              PFC_RERUN_TRIGGERS);
    for (size_t i = 0; i < json_array_size(doc) && !code; i++) {
        const pfc_json_at at = { .up = &list, .index = i };

        code = read_rule(json_array_get(doc, i), &at, &rules, err);
    }
    if (!code)
        *out = rules;
    return code;
}
