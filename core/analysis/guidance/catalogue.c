/* Reads the catalogue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/guidance/priv.h"

static pfc_code read_texts(const pfc_expr_file *f, struct fy_node *node, guidance_entry *e,
                           pfc_err *err)
{
    const struct {
        const char *key;
        char *out;
        size_t size;
        bool required;
    } texts[] = {
        { "symptom", e->symptom, sizeof(e->symptom), true },
        { "change", e->change, sizeof(e->change), true },
        { "risk", e->risk, sizeof(e->risk), true },
        { "effort", e->effort, sizeof(e->effort), true },
        { "action", e->action, sizeof(e->action), false },
    };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = pfc_expr_text_member(f, node, texts[i].key, texts[i].required, texts[i].out,
                                    texts[i].size, err);
    if (!code && strcmp(e->effort, "low") != 0 && strcmp(e->effort, "medium") != 0 &&
        strcmp(e->effort, "high") != 0)
        code = pfc_yaml_fault(&f->yaml, pfc_yaml_get(node, "effort"), err,
                              "effort: expected low, medium or high, got \"%s\"", e->effort);
    return code;
}

static pfc_code read_expressions(const pfc_expr_file *f, struct fy_node *node,
                                 const pfc_expr_defs *defs, guidance_entry *e, pfc_err *err)
{
    const struct {
        const char *key;
        pfc_expr **out;
        bool required;
    } all[] = {
        { "when", &e->when, true },  { "value", &e->value, true },    { "gain", &e->gain, true },
        { "fits", &e->fits, false }, { "spread", &e->spread, false },
    };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(all) && !code; i++) {
        code = pfc_expr_member(f, node, all[i].key, defs, all[i].out, err);
        if (!code && all[i].required && !*all[i].out)
            code = pfc_yaml_fault(&f->yaml, node, err, "entries: %s: expected the key \"%s\"",
                                  e->id, all[i].key);
    }
    return code;
}

static pfc_code read_with(const pfc_expr_file *f, struct fy_node *node, const pfc_expr_defs *defs,
                          guidance_entry *e, pfc_err *err)
{
    struct fy_node *with = pfc_yaml_get(node, "with");
    struct fy_node_pair *pair;
    void *prev = NULL;
    pfc_code code = with ? pfc_yaml_want_mapping(&f->yaml, with, "with", err) : PFC_OK;

    while (with && !code && (pair = fy_node_mapping_iterate(with, &prev)) != NULL) {
        char *name = NULL;

        if (e->with_len == MAX_WITH)
            return pfc_yaml_fault(&f->yaml, with, err, "with: expected at most %d numbers",
                                  MAX_WITH);
        code = pfc_yaml_text(&f->yaml, fy_node_pair_key(pair), "with", sizeof(e->names[0]) - 1,
                             &name, err);
        if (!code)
            snprintf(e->names[e->with_len], sizeof(e->names[0]), "%s", name);
        free(name);
        if (!code)
            code = pfc_expr_of_node(f, fy_node_pair_value(pair), "with", defs,
                                    &e->values[e->with_len], err);
        if (!code)
            e->with_len++;
    }
    return code;
}

static pfc_code read_entry(const pfc_expr_file *f, struct fy_node *node, pfc_guidance *g,
                           pfc_err *err)
{
    static const char *const known[] = { "id",     "when", "value",  "format", "symptom",
                                         "change", "with", "fits",   "gain",   "spread",
                                         "action", "risk", "effort", NULL };
    guidance_entry *e = &g->entries[g->len];
    pfc_code code = pfc_yaml_want_mapping(&f->yaml, node, "entries", err);

    if (!code)
        code = pfc_yaml_known(&f->yaml, node, "entries", known, err);
    if (!code)
        g->len++; /* so that it is freed with the rest */
    if (!code)
        code = pfc_expr_text_member(f, node, "id", true, e->id, sizeof(e->id), err);
    for (size_t i = 0; i + 1 < g->len && !code; i++)
        if (strcmp(g->entries[i].id, e->id) == 0)
            code = pfc_yaml_fault(&f->yaml, node, err, "entries: \"%s\" is there twice", e->id);
    if (!code)
        code = read_texts(f, node, e, err);
    if (!code)
        code = pfc_expr_format_member(f, node, &e->format, err);
    if (!code)
        code = read_expressions(f, node, &g->defs, e, err);
    return code ? code : read_with(f, node, &g->defs, e, err);
}

static pfc_code read_file(const pfc_expr_file *f, pfc_guidance *g, pfc_err *err)
{
    static const char *const known[] = { "definitions", "least", "spread", "entries", NULL };
    struct fy_node *list = pfc_yaml_get(f->root, "entries");
    struct fy_node *node;
    void *prev = NULL;
    pfc_code code = pfc_yaml_known(&f->yaml, f->root, "the file", known, err);

    if (!code)
        code = pfc_yaml_double(&f->yaml, pfc_yaml_get(f->root, "least"), "least", 0, 1, &g->least,
                               err);
    if (!code)
        code = pfc_expr_defs_read(f, &g->defs, err);
    if (!code)
        code = pfc_expr_member(f, f->root, "spread", &g->defs, &g->spread, err);
    if (!code && !g->spread)
        code = pfc_yaml_fault(&f->yaml, f->root, err, "expected the key \"spread\"");
    if (!code)
        code = pfc_yaml_want_sequence(&f->yaml, list, "entries", err);
    while (!code && (node = fy_node_sequence_iterate(list, &prev)) != NULL) {
        if (g->len == MAX_ENTRIES)
            return pfc_yaml_fault(&f->yaml, node, err, "entries: expected at most %d", MAX_ENTRIES);
        code = read_entry(f, node, g, err);
    }
    return code;
}

/* Reads and closes a file whose opening ended with `opened`. */
static pfc_code finish(pfc_expr_file *f, pfc_code opened, pfc_guidance **out, pfc_err *err)
{
    pfc_guidance *g = pfc_calloc(1, sizeof(*g));
    pfc_code code = opened ? opened : read_file(f, g, err);

    pfc_expr_file_close(f);
    if (code)
        pfc_guidance_free(g);
    else
        *out = g;
    return code;
}

pfc_code pfc_guidance_load(const char *dir, pfc_guidance **out, pfc_err *err)
{
    pfc_expr_file f;
    const pfc_code code = pfc_expr_file_open(&f, dir, "guidance", err);

    return finish(&f, code, out, err);
}

pfc_code pfc_guidance_parse(const char *name, const char *text, size_t len, pfc_guidance **out,
                            pfc_err *err)
{
    pfc_expr_file f;
    const pfc_code code = pfc_expr_file_open_text(&f, name, text, len, err);

    return finish(&f, code, out, err);
}

void pfc_guidance_free(pfc_guidance *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->len; i++) {
        guidance_entry *e = &g->entries[i];

        pfc_expr_free(e->when);
        pfc_expr_free(e->value);
        pfc_expr_free(e->gain);
        pfc_expr_free(e->fits);
        pfc_expr_free(e->spread);
        for (size_t w = 0; w < e->with_len; w++)
            pfc_expr_free(e->values[w]);
    }
    pfc_expr_free(g->spread);
    pfc_expr_defs_clear(&g->defs);
    free(g);
}

const char *pfc_guidance_id(const pfc_guidance *g, size_t i)
{
    return i < g->len ? g->entries[i].id : NULL;
}
