/* Reads a file of rules. */
#include <stdlib.h>
#include <string.h>

#include "core/analysis/limiter/priv.h"
#include "core/base/fs.h"

static pfc_code read_resource(const pfc_expr_file *f, struct fy_node *node, pfc_resource *out,
                              pfc_err *err)
{
    char *text = NULL;
    pfc_code code = pfc_yaml_text(&f->yaml, node, "resource", 32, &text, err);

    if (!code && !pfc_resource_parse(text, out))
        code = pfc_yaml_fault(&f->yaml, node, err,
                              "expected a resource such as compute or memory, got \"%s\"", text);
    free(text);
    return code;
}

static pfc_code read_savings(const pfc_expr_file *f, pfc_limiter_rules *r, pfc_err *err)
{
    struct fy_node *node = pfc_yaml_get(f->root, "savings");
    struct fy_node_pair *pair;
    void *prev = NULL;
    pfc_code code = pfc_yaml_want_mapping(&f->yaml, node, "savings", err);

    while (!code && (pair = fy_node_mapping_iterate(node, &prev)) != NULL) {
        pfc_resource which = PFC_RESOURCE_NONE;

        code = read_resource(f, fy_node_pair_key(pair), &which, err);
        if (!code && r->savings[which])
            code = pfc_yaml_fault(&f->yaml, fy_node_pair_key(pair), err,
                                  "savings: \"%s\" is there twice", pfc_resource_name(which));
        if (!code)
            code = pfc_expr_of_node(f, fy_node_pair_value(pair), "savings", &r->defs,
                                    &r->savings[which], err);
    }
    return code;
}

/* ---- confidence ---- */

static pfc_code read_point(const pfc_expr_file *f, struct fy_node *node, confidence_table *out,
                           pfc_err *err)
{
    double ratio = 0;
    double probability = 0;
    pfc_code code = pfc_yaml_want_sequence(&f->yaml, node, "confidence", err);

    if (!code && (fy_node_sequence_item_count(node) != 2 || out->len == MAX_POINTS))
        code = pfc_yaml_fault(&f->yaml, node, err,
                              "confidence: expected at most %d pairs [ratio, probability]",
                              MAX_POINTS);
    if (!code)
        code = pfc_yaml_double(&f->yaml, fy_node_sequence_get_by_index(node, 0), "ratio", 0, 1,
                               &ratio, err);
    if (!code)
        code = pfc_yaml_double(&f->yaml, fy_node_sequence_get_by_index(node, 1), "probability", 0,
                               1, &probability, err);
    if (!code && out->len && ratio <= out->ratio[out->len - 1])
        code = pfc_yaml_fault(&f->yaml, node, err, "confidence: expected increasing ratios");
    if (code)
        return code;
    out->ratio[out->len] = ratio;
    out->probability[out->len++] = probability;
    return PFC_OK;
}

static pfc_code read_table(const pfc_expr_file *f, struct fy_node *parent, const char *key,
                           confidence_table *out, pfc_err *err)
{
    struct fy_node *list = pfc_yaml_get(parent, key);
    struct fy_node *node;
    void *prev = NULL;
    pfc_code code = list ? pfc_yaml_want_sequence(&f->yaml, list, key, err)
                         : pfc_yaml_fault(&f->yaml, parent, err, "expected the key \"%s\"", key);

    while (!code && (node = fy_node_sequence_iterate(list, &prev)) != NULL)
        code = read_point(f, node, out, err);
    if (!code && out->len == 0)
        code = pfc_yaml_fault(&f->yaml, list, err, "confidence: expected at least one pair");
    return code;
}

static pfc_code read_confidence(const pfc_expr_file *f, pfc_limiter_rules *r, pfc_err *err)
{
    static const char *const known[] = { "counters", "trace", NULL };
    struct fy_node *node = pfc_yaml_get(f->root, "confidence");
    pfc_code code = pfc_yaml_want_mapping(&f->yaml, node, "confidence", err);

    if (!code)
        code = pfc_yaml_known(&f->yaml, node, "confidence", known, err);
    if (!code)
        code = read_table(f, node, "counters", &r->counters, err);
    if (!code)
        code = read_table(f, node, "trace", &r->trace, err);
    return code;
}

/* ---- causes ---- */

static pfc_code read_resources(const pfc_expr_file *f, struct fy_node *mapping, cause_rule *out,
                               pfc_err *err)
{
    struct fy_node *node = pfc_yaml_get(mapping, "resource");
    struct fy_node *item;
    void *prev = NULL;
    pfc_resource which = PFC_RESOURCE_NONE;
    pfc_code code = PFC_OK;

    if (!node || !fy_node_is_sequence(node)) {
        code = read_resource(f, node, &which, err);
        if (!code)
            out->resources[which] = true;
        return code;
    }
    while (!code && (item = fy_node_sequence_iterate(node, &prev)) != NULL) {
        code = read_resource(f, item, &which, err);
        if (!code)
            out->resources[which] = true;
    }
    return code;
}

static pfc_code read_test(const pfc_expr_file *f, struct fy_node *node, const pfc_expr_defs *defs,
                          cause_rule *out, pfc_err *err)
{
    struct fy_node *below = pfc_yaml_get(node, "below");
    pfc_code code = pfc_expr_member(f, node, "value", defs, &out->value, err);

    if (!code && !out->value)
        code =
            pfc_yaml_fault(&f->yaml, node, err, "causes: %s: expected the key \"value\"", out->id);
    if (!code)
        code = pfc_yaml_double(&f->yaml, pfc_yaml_get(node, "threshold"), "threshold", -1e300,
                               1e300, &out->threshold, err);
    if (!code && below)
        code = pfc_yaml_bool(&f->yaml, below, "below", &out->below, err);
    if (!code)
        code = pfc_expr_member(f, node, "when", defs, &out->when, err);
    if (!code)
        code = pfc_expr_member(f, node, "share", defs, &out->share, err);
    return code;
}

static pfc_code read_cause(const pfc_expr_file *f, struct fy_node *node, pfc_limiter_rules *r,
                           pfc_err *err)
{
    static const char *const known[] = { "id",   "resource", "value",  "threshold", "below",
                                         "when", "share",    "format", "text",      NULL };
    cause_rule *c = &r->causes[r->causes_len];
    pfc_code code = pfc_yaml_want_mapping(&f->yaml, node, "causes", err);

    if (!code)
        code = pfc_yaml_known(&f->yaml, node, "causes", known, err);
    if (!code)
        r->causes_len++; /* so that it is freed with the rest */
    if (!code)
        code = pfc_expr_text_member(f, node, "id", true, c->id, sizeof(c->id), err);
    if (!code)
        code = pfc_expr_text_member(f, node, "text", true, c->text, sizeof(c->text), err);
    if (!code)
        code = read_resources(f, node, c, err);
    if (!code)
        code = pfc_expr_format_member(f, node, &c->format, err);
    return code ? code : read_test(f, node, &r->defs, c, err);
}

static pfc_code read_causes(const pfc_expr_file *f, pfc_limiter_rules *r, pfc_err *err)
{
    struct fy_node *list = pfc_yaml_get(f->root, "causes");
    struct fy_node *node;
    void *prev = NULL;
    pfc_code code = list ? pfc_yaml_want_sequence(&f->yaml, list, "causes", err) : PFC_OK;

    while (list && !code && (node = fy_node_sequence_iterate(list, &prev)) != NULL) {
        if (r->causes_len == MAX_CAUSES)
            return pfc_yaml_fault(&f->yaml, node, err, "causes: expected at most %d", MAX_CAUSES);
        code = read_cause(f, node, r, err);
    }
    return code;
}

/* ---- the file ---- */

static pfc_code read_file(const pfc_expr_file *f, pfc_limiter_rules *r, pfc_err *err)
{
    static const char *const known[] = { "since",      "definitions", "savings", "least",
                                         "confidence", "causes",      NULL };
    pfc_code code = pfc_yaml_known(&f->yaml, f->root, "the file", known, err);

    if (!code)
        code = pfc_yaml_i64(&f->yaml, pfc_yaml_get(f->root, "since"), "since", 0, 1000000,
                            &r->since, err);
    if (!code)
        code = pfc_yaml_double(&f->yaml, pfc_yaml_get(f->root, "least"), "least", 0, 1, &r->least,
                               err);
    if (!code)
        code = pfc_expr_defs_read(f, &r->defs, err);
    if (!code)
        code = read_savings(f, r, err);
    if (!code)
        code = read_confidence(f, r, err);
    return code ? code : read_causes(f, r, err);
}

/* Reads and closes a file whose opening ended with `opened`. */
static pfc_code finish(pfc_expr_file *f, pfc_code opened, pfc_limiter_rules **out, pfc_err *err)
{
    pfc_limiter_rules *r = pfc_calloc(1, sizeof(*r));
    pfc_code code = opened ? opened : read_file(f, r, err);

    pfc_expr_file_close(f);
    if (code)
        pfc_limiter_rules_free(r);
    else
        *out = r;
    return code;
}

static pfc_code load_one(const char *dir, const char *name, pfc_limiter_rules **out, pfc_err *err)
{
    pfc_expr_file f;
    const pfc_code code = pfc_expr_file_open(&f, dir, name, err);

    return finish(&f, code, out, err);
}

/* The folder's file; the built-in one where the folder has none. */
static pfc_code load_either(const char *dir, const char *name, pfc_limiter_rules **out,
                            pfc_err *err)
{
    pfc_err first = { 0 };
    pfc_code code = load_one(dir, name, out, &first);

    if (code == PFC_ENOTFOUND && dir)
        return load_one(NULL, name, out, err);
    if (code && err)
        *err = first;
    return code;
}

pfc_code pfc_limiter_rules_load(const char *dir, pfc_limiter_rules **out, pfc_err *err)
{
    pfc_limiter_rules *cpu = NULL;
    pfc_code code;

    /* Each file in the folder is optional: a wrong name would change nothing and go unnoticed. */
    if (dir && !pfc_fs_is_dir(dir))
        return pfc_err_set(err, PFC_ENOTFOUND, "%s: expected a folder with rules", dir);
    code = load_either(dir, "limiter_cpu", &cpu, err);
    if (!code)
        code = load_either(dir, "limiter", out, err);
    if (code)
        pfc_limiter_rules_free(cpu);
    else
        (*out)->cpu = cpu;
    return code;
}

pfc_code pfc_limiter_rules_parse(const char *name, const char *text, size_t len,
                                 pfc_limiter_rules **out, pfc_err *err)
{
    pfc_expr_file f;
    const pfc_code code = pfc_expr_file_open_text(&f, name, text, len, err);

    return finish(&f, code, out, err);
}

void pfc_limiter_rules_free(pfc_limiter_rules *r)
{
    if (!r)
        return;
    pfc_limiter_rules_free(r->cpu);
    for (size_t i = 0; i < PFC_RESOURCES_LEN; i++)
        pfc_expr_free(r->savings[i]);
    for (size_t i = 0; i < r->causes_len; i++) {
        pfc_expr_free(r->causes[i].value);
        pfc_expr_free(r->causes[i].when);
        pfc_expr_free(r->causes[i].share);
    }
    pfc_expr_defs_clear(&r->defs);
    free(r);
}
