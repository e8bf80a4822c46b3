/* YAML files whose scalars are expressions: built in, or of a folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/expr/expr.h"
#include "core/base/fs.h"

#define MAX_NESTING 8

static pfc_code open_owned(pfc_expr_file *out, pfc_err *err)
{
    pfc_code code = pfc_yaml_load(out->text, out->len, MAX_NESTING, out->name, &out->yaml, err);

    if (code)
        return code;
    out->root = fy_document_root(out->yaml.doc);
    return pfc_yaml_want_mapping(&out->yaml, out->root, "the file", err);
}

pfc_code pfc_expr_file_open_text(pfc_expr_file *out, const char *name, const char *text, size_t len,
                                 pfc_err *err)
{
    *out = (pfc_expr_file){ 0 };
    if (len > PFC_EXPR_FILE_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d bytes, got %zu", name,
                           PFC_EXPR_FILE_BYTES, len);
    out->name = pfc_strdup(name);
    out->text = pfc_strndup(text, len);
    out->len = len;
    return open_owned(out, err);
}

pfc_code pfc_expr_file_open(pfc_expr_file *out, const char *dir, const char *name, pfc_err *err)
{
    char file[80];
    pfc_code code;

    *out = (pfc_expr_file){ 0 };
    snprintf(file, sizeof(file), "%.64s.yaml", name);
    if (!dir) {
        const char *text = pfc_expr_builtin(name);

        if (!text)
            return pfc_err_set(err, PFC_ENOTFOUND, "%s: there is no built-in file of that name",
                               file);
        return pfc_expr_file_open_text(out, file, text, strlen(text), err);
    }
    out->name = pfc_fs_join(dir, file);
    code = pfc_fs_read(out->name, PFC_EXPR_FILE_BYTES, &out->text, &out->len, err);
    return code ? code : open_owned(out, err);
}

void pfc_expr_file_close(pfc_expr_file *f)
{
    pfc_yaml_clear(&f->yaml);
    free(f->name);
    free(f->text);
    *f = (pfc_expr_file){ 0 };
}

/* The bytes of the scalar in the file, so that places in messages are those of the file: folded
 * lines are one expression, and a quoted one starts behind its quote. */
static bool source_of(const pfc_expr_file *f, struct fy_node *node, size_t *from, size_t *to,
                      pfc_expr_place *place)
{
    struct fy_token *token = fy_node_get_scalar_token(node);
    const struct fy_mark *start = token ? fy_token_start_mark(token) : NULL;
    const struct fy_mark *end = token ? fy_token_end_mark(token) : NULL;

    if (!start || !end || start->input_pos > end->input_pos || end->input_pos > f->len)
        return false;
    *from = start->input_pos;
    *to = end->input_pos;
    *place = (pfc_expr_place){ f->name, start->line + 1, start->column + 1 };
    return true;
}

pfc_code pfc_expr_of_node(const pfc_expr_file *f, struct fy_node *node, const char *what,
                          const pfc_expr_defs *defs, pfc_expr **out, pfc_err *err)
{
    pfc_expr_place place;
    size_t from, to;

    if (!node || !fy_node_is_scalar(node) || fy_node_is_alias(node) ||
        !source_of(f, node, &from, &to, &place))
        return pfc_yaml_fault(&f->yaml, node, err, "%s: expected an expression", what);
    return pfc_expr_parse(f->text + from, to - from, &place, defs, out, err);
}

pfc_code pfc_expr_member(const pfc_expr_file *f, struct fy_node *mapping, const char *key,
                         const pfc_expr_defs *defs, pfc_expr **out, pfc_err *err)
{
    struct fy_node *node = pfc_yaml_get(mapping, key);

    *out = NULL;
    return node ? pfc_expr_of_node(f, node, key, defs, out, err) : PFC_OK;
}

static pfc_code check_name(const pfc_expr_file *f, struct fy_node *key, const pfc_expr_defs *defs,
                           const char *name, pfc_err *err)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz_0123456789";

    if (!strchr(first, name[0]) || strspn(name, rest) != strlen(name))
        return pfc_yaml_fault(&f->yaml, key, err,
                              "definitions: expected a name of a-z, 0-9 and \"_\", got \"%s\"",
                              name);
    for (size_t i = 0; i < defs->len; i++)
        if (strcmp(defs->names[i], name) == 0)
            return pfc_yaml_fault(&f->yaml, key, err, "definitions: \"%s\" is defined twice", name);
    return PFC_OK;
}

pfc_code pfc_expr_defs_read(const pfc_expr_file *f, pfc_expr_defs *defs, pfc_err *err)
{
    struct fy_node *node = pfc_yaml_get(f->root, "definitions");
    struct fy_node_pair *pair;
    void *prev = NULL;
    pfc_code code;

    memset(defs, 0, sizeof(*defs));
    if (!node)
        return PFC_OK;
    code = pfc_yaml_want_mapping(&f->yaml, node, "definitions", err);
    while (!code && (pair = fy_node_mapping_iterate(node, &prev)) != NULL) {
        char *name = NULL;
        pfc_expr *e = NULL;

        if (defs->len == PFC_EXPR_MAX_DEFS)
            return pfc_yaml_fault(&f->yaml, fy_node_pair_key(pair), err,
                                  "definitions: expected at most %d", PFC_EXPR_MAX_DEFS);
        code = pfc_yaml_text(&f->yaml, fy_node_pair_key(pair), "definitions", 64, &name, err);
        if (!code)
            code = check_name(f, fy_node_pair_key(pair), defs, name, err);
        if (!code)
            code = pfc_expr_of_node(f, fy_node_pair_value(pair), name, defs, &e, err);
        if (code) {
            free(name);
            break;
        }
        defs->names[defs->len] = name;
        defs->exprs[defs->len++] = e;
    }
    return code;
}

void pfc_expr_defs_clear(pfc_expr_defs *defs)
{
    for (size_t i = 0; i < defs->len; i++) {
        free(defs->names[i]);
        pfc_expr_free(defs->exprs[i]);
    }
    memset(defs, 0, sizeof(*defs));
}

pfc_code pfc_expr_text_member(const pfc_expr_file *f, struct fy_node *mapping, const char *key,
                              bool required, char *out, size_t size, pfc_err *err)
{
    struct fy_node *node = pfc_yaml_get(mapping, key);
    char *text = NULL;
    pfc_code code;

    out[0] = '\0';
    if (!node && !required)
        return PFC_OK;
    if (!node)
        return pfc_yaml_fault(&f->yaml, mapping, err, "expected the key \"%s\"", key);
    code = pfc_yaml_text(&f->yaml, node, key, size - 1, &text, err);
    if (!code)
        snprintf(out, size, "%s", text);
    free(text);
    return code;
}

pfc_code pfc_expr_format_member(const pfc_expr_file *f, struct fy_node *mapping,
                                pfc_expr_format *out, pfc_err *err)
{
    static const struct {
        const char *name;
        pfc_expr_format format;
    } formats[] = { { "", PFC_EXPR_NUMBER },
                    { "number", PFC_EXPR_NUMBER },
                    { "percent", PFC_EXPR_PERCENT },
                    { "bytes", PFC_EXPR_BYTES } };
    char text[16];
    pfc_code code = pfc_expr_text_member(f, mapping, "format", false, text, sizeof(text), err);

    if (code)
        return code;
    for (size_t i = 0; i < PFC_ARRAY_LEN(formats); i++) {
        if (strcmp(formats[i].name, text) == 0) {
            *out = formats[i].format;
            return PFC_OK;
        }
    }
    return pfc_yaml_fault(&f->yaml, pfc_yaml_get(mapping, "format"), err,
                          "format: expected percent, number or bytes, got \"%s\"", text);
}
