/* `rerun:` of perfci.yaml. */
#include "core/base/config/rerun.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/config/conf_priv.h"
#include "core/base/parse.h"

static const char *const names[] = { "inconclusive", "canary", "infra", "broken", "suspected" };
_Static_assert(PFC_ARRAY_LEN(names) == PFC_RERUN_TRIGGERS, "each trigger has a name");

const char *pfc_rerun_name(pfc_rerun_on on)
{
    return names[on];
}

bool pfc_rerun_named(const char *name, pfc_rerun_on *out)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (pfc_rerun_on)i;
            return true;
        }
    }
    return false;
}

const pfc_rerun_rule *pfc_rerun_find(const pfc_rerun_rules *rules, pfc_rerun_on on)
{
    for (size_t i = 0; i < rules->len; i++) {
        if (rules->items[i].on == on)
            return &rules->items[i];
    }
    return NULL;
}

/* ---- from perfci.yaml ---- */

static pfc_code read_after(const pfc_yaml *yaml, struct fy_node *node, double *out, pfc_err *err)
{
    char *text = NULL;
    pfc_err why = { 0 };
    pfc_code code = pfc_yaml_text(yaml, node, "rerun: after", 64, &text, err);

    if (code)
        return code;
    if (pfc_parse_duration_s(text, "rerun: after", out, &why) != PFC_OK)
        code = pfc_yaml_fault(yaml, node, err, "%s", why.msg);
    else if (*out > PFC_RERUN_MAX_AFTER_S)
        code =
            pfc_yaml_fault(yaml, node, err, "rerun: after: expected at most 7d, got \"%s\"", text);
    free(text);
    return code;
}

static pfc_code read_machine(const pfc_yaml *yaml, struct fy_node *node, bool *other, pfc_err *err)
{
    char *text = NULL;
    pfc_code code = pfc_yaml_text(yaml, node, "rerun: machine", 64, &text, err);

    if (code)
        return code;
    if (strcmp(text, "any") != 0 && strcmp(text, "other") != 0)
        code = pfc_yaml_fault(yaml, node, err, "rerun: machine: expected any or other, got \"%s\"",
                              text);
    *other = strcmp(text, "other") == 0;
    free(text);
    return code;
}

/* Adds `rule` with the trigger that `node` names. */
static pfc_code add_rule(const pfc_yaml *yaml, struct fy_node *node, pfc_rerun_rule rule,
                         pfc_rerun_rules *out, pfc_err *err)
{
    char *text = NULL;
    pfc_code code = pfc_yaml_text(yaml, node, "rerun: on", 64, &text, err);

    if (code)
        return code;
    if (!pfc_rerun_named(text, &rule.on))
        code = pfc_yaml_fault(yaml, node, err,
                              "rerun: on: expected inconclusive, canary, infra, broken or "
                              "suspected, got \"%s\"",
                              text);
    else if (pfc_rerun_find(out, rule.on))
        code = pfc_yaml_fault(yaml, node, err,
                              "rerun: on: expected each trigger once, \"%s\" has a rule already",
                              text);
    else
        out->items[out->len++] = rule;
    free(text);
    return code;
}

static pfc_code read_rule(const pfc_yaml *yaml, struct fy_node *node, pfc_rerun_rules *out,
                          pfc_err *err)
{
    static const char *const known[] = { "on", "times", "after", "machine", NULL };
    pfc_rerun_rule rule = { .times = 1 };
    struct fy_node *on, *times, *after, *machine, *one;
    int64_t n = 1;
    void *prev = NULL;
    pfc_code code = pfc_yaml_want_mapping(yaml, node, "rerun: rule", err);

    if (!code)
        code = pfc_yaml_known(yaml, node, "rerun", known, err);
    if (code)
        return code;
    on = pfc_yaml_get(node, "on");
    times = pfc_yaml_get(node, "times");
    after = pfc_yaml_get(node, "after");
    machine = pfc_yaml_get(node, "machine");
    if (!on || (fy_node_is_sequence(on) && fy_node_sequence_is_empty(on)))
        return pfc_yaml_fault(yaml, node, err,
                              "rerun: on: expected one or more of inconclusive, canary, infra, "
                              "broken, suspected");
    if (times)
        code = pfc_yaml_i64(yaml, times, "rerun: times", 1, PFC_RERUN_MAX_TIMES, &n, err);
    if (!code && after)
        code = read_after(yaml, after, &rule.after_s, err);
    if (!code && machine)
        code = read_machine(yaml, machine, &rule.other_machine, err);
    rule.times = (int)n;
    if (!code && !fy_node_is_sequence(on))
        return add_rule(yaml, on, rule, out, err);
    while (!code && (one = fy_node_sequence_iterate(on, &prev)) != NULL)
        code = add_rule(yaml, one, rule, out, err);
    return code;
}

pfc_code pfc_conf_rerun(const char *name, int line, struct fy_node *value, pfc_rerun_rules *out,
                        pfc_err *err)
{
    const pfc_yaml yaml = { .name = name };
    pfc_rerun_rules rules = { 0 };
    struct fy_node *node;
    void *prev = NULL;
    pfc_code code = PFC_OK;

    if (!value || !fy_node_is_sequence(value))
        return pfc_err_set_field(err, PFC_EINVAL, "rerun",
                                 "%.200s:%d: rerun: expected a list of rules such as \"- {on: "
                                 "canary, times: 2, after: 10m, machine: other}\"",
                                 name, line);
    while (!code && (node = fy_node_sequence_iterate(value, &prev)) != NULL)
        code = read_rule(&yaml, node, &rules, err);
    if (!code)
        *out = rules;
    return code;
}
