/* Bounded YAML with faults that name file and line. */
#include "core/base/config/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/parse.h"

/* Brackets count even inside quotes and comments, and an unmatched closer counts nothing: the
 * answer may be too large for odd texts, never too small, and no suite comes near the limit. */
size_t pfc_yaml_depth(const char *text, size_t len, size_t limit, int *line)
{
    size_t indents[64] = { 0 };
    size_t levels = 0;
    size_t flow = 0;
    size_t deepest = 0;
    size_t at = 0;

    *line = 1;
    for (int number = 1; at < len; number++) {
        const char *eol = memchr(text + at, '\n', len - at);
        const size_t end = eol ? (size_t)(eol - text) : len;
        size_t pos = at;

        /* Each "- " (or "? ") before the content opens one more level, so it must count towards the
         * depth. */
        while (pos < end &&
               (text[pos] == ' ' || text[pos] == '\t' || text[pos] == '-' || text[pos] == '?')) {
            if (text[pos] == '-' || text[pos] == '?') {
                const size_t column = pos - at;
                while (levels > 0 && indents[levels - 1] >= column)
                    levels--;
                if (levels < PFC_ARRAY_LEN(indents))
                    indents[levels++] = column;
            }
            pos++;
        }
        if (pos < end && text[pos] != '#' && text[pos] != '\r') {
            const size_t column = pos - at;
            while (levels > 0 && indents[levels - 1] >= column)
                levels--;
            if (levels < PFC_ARRAY_LEN(indents))
                indents[levels++] = column;
        }
        for (; pos < end; pos++) {
            if (text[pos] == '[' || text[pos] == '{')
                flow++;
            else if ((text[pos] == ']' || text[pos] == '}') && flow > 0)
                flow--;
            if (levels + flow > deepest) {
                deepest = levels + flow;
                if (deepest <= limit + 1)
                    *line = number;
            }
        }
        if (levels + flow > deepest)
            deepest = levels + flow;
        at = end + 1;
    }
    return deepest;
}

/* libfyaml prints some summaries even when it collects errors. They are discarded, because our
 * message has the same text with the place. */
static void swallow(struct fy_diag *diag, void *user, const char *buf, size_t len)
{
    (void)diag;
    (void)user;
    (void)buf;
    (void)len;
}

static pfc_code syntax_fault(const pfc_yaml *yaml, pfc_err *err)
{
    void *prev = NULL;
    const struct fy_diag_error *first =
        yaml->diag ? fy_diag_errors_iterate(yaml->diag, &prev) : NULL;

    if (!first || !first->msg)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected YAML, cannot be parsed", yaml->name);
    if (strcmp(first->msg, "duplicate key") == 0 && first->fyt) {
        size_t len = 0;
        const char *key = fy_token_get_text(first->fyt, &len);
        return pfc_err_set(err, PFC_EINVAL,
                           "%s:%d: expected each key once, '%.*s' stands here again", yaml->name,
                           first->line, (int)PFC_MIN(key ? len : 0, (size_t)60), key ? key : "");
    }
    return pfc_err_set(err, PFC_EINVAL, "%s:%d: expected YAML: %s", yaml->name, first->line,
                       first->msg);
}

pfc_code pfc_yaml_load(const char *text, size_t len, size_t max_depth, const char *name,
                       pfc_yaml *out, pfc_err *err)
{
    struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET };
    struct fy_diag_cfg diag_cfg;
    int line = 0;
    size_t depth;

    *out = (pfc_yaml){ .name = name };
    if (memchr(text, '\0', len))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected text, it has a NUL byte", name);
    if (!pfc_is_utf8(text, len))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected UTF-8 text", name);
    depth = pfc_yaml_depth(text, len, max_depth, &line);
    if (depth > max_depth)
        return pfc_err_set(err, PFC_EINVAL, "%s:%d: nested deeper than %zu levels", name, line,
                           max_depth);

    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = swallow;
    out->diag = fy_diag_create(&diag_cfg);
    if (!out->diag)
        return pfc_err_set(err, PFC_EBUG, "%s: no YAML diagnostics", name);
    fy_diag_set_collect_errors(out->diag, true);
    cfg.diag = out->diag;
    out->doc = fy_document_build_from_string(&cfg, text, len);
    return out->doc ? PFC_OK : syntax_fault(out, err);
}

void pfc_yaml_clear(pfc_yaml *yaml)
{
    if (yaml->doc)
        fy_document_destroy(yaml->doc);
    if (yaml->diag)
        fy_diag_destroy(yaml->diag);
    *yaml = (pfc_yaml){ 0 };
}

/* Line of the key that names the node in its mapping; 0 if the node is in no mapping. */
static int line_of_key(struct fy_node *node)
{
    struct fy_node *parent = fy_node_get_parent(node);
    struct fy_node_pair *pair;
    void *prev = NULL;

    while (parent && fy_node_is_mapping(parent) &&
           (pair = fy_node_mapping_iterate(parent, &prev)) != NULL) {
        if (fy_node_pair_value(pair) == node)
            return pfc_yaml_line(fy_node_pair_key(pair));
    }
    return 0;
}

/* Only scalars have a token. A collection therefore starts at its first scalar, and an empty one at
 * its key. */
int pfc_yaml_line(struct fy_node *node)
{
    struct fy_node *first = node;

    while (first && !fy_node_is_scalar(first)) {
        void *prev = NULL;
        if (fy_node_is_mapping(first)) {
            struct fy_node_pair *pair = fy_node_mapping_iterate(first, &prev);
            first = pair ? fy_node_pair_key(pair) : NULL;
        } else {
            first = fy_node_sequence_iterate(first, &prev);
        }
    }
    if (!first)
        return node ? line_of_key(node) : 0;
    const struct fy_mark *mark = fy_token_start_mark(fy_node_get_scalar_token(first));
    return mark ? mark->line + 1 : 0;
}

pfc_code pfc_yaml_fault(const pfc_yaml *yaml, struct fy_node *node, pfc_err *err, const char *fmt,
                        ...)
{
    char msg[PFC_ERR_MAX];
    const int line = pfc_yaml_line(node);
    va_list args;

    va_start(args, fmt);
    vsnprintf(msg, sizeof(msg), fmt, args);
    va_end(args);
    if (line > 0)
        return pfc_err_set(err, PFC_EINVAL, "%s:%d: %s", yaml->name, line, msg);
    return pfc_err_set(err, PFC_EINVAL, "%s: %s", yaml->name, msg);
}

pfc_code pfc_yaml_text(const pfc_yaml *yaml, struct fy_node *node, const char *what, size_t max_len,
                       char **out, pfc_err *err)
{
    const char *text;
    size_t len = 0;

    if (!node || !fy_node_is_scalar(node) || fy_node_is_alias(node))
        return pfc_yaml_fault(yaml, node, err, "%s: expected a plain value", what);
    text = fy_node_get_scalar(node, &len);
    if (!text || len == 0 || len > max_len)
        return pfc_yaml_fault(yaml, node, err, "%s: expected 1..%zu bytes, got %zu", what, max_len,
                              text ? len : 0);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return pfc_yaml_fault(yaml, node, err, "%s: expected no control characters", what);
    }
    *out = pfc_strndup(text, len);
    return PFC_OK;
}

pfc_code pfc_yaml_i64(const pfc_yaml *yaml, struct fy_node *node, const char *what, int64_t min,
                      int64_t max, int64_t *out, pfc_err *err)
{
    char *text = NULL;
    pfc_err inner = { 0 };
    pfc_code code = pfc_yaml_text(yaml, node, what, 64, &text, err);

    if (code)
        return code;
    if (pfc_parse_i64(text, min, max, what, out, &inner))
        code = pfc_yaml_fault(yaml, node, err, "%s", inner.msg);
    free(text);
    return code;
}

pfc_code pfc_yaml_double(const pfc_yaml *yaml, struct fy_node *node, const char *what, double min,
                         double max, double *out, pfc_err *err)
{
    char *text = NULL;
    pfc_err inner = { 0 };
    pfc_code code = pfc_yaml_text(yaml, node, what, 64, &text, err);

    if (code)
        return code;
    if (pfc_parse_double(text, min, max, what, out, &inner))
        code = pfc_yaml_fault(yaml, node, err, "%s", inner.msg);
    free(text);
    return code;
}

pfc_code pfc_yaml_bool(const pfc_yaml *yaml, struct fy_node *node, const char *what, bool *out,
                       pfc_err *err)
{
    char *text = NULL;
    pfc_code code = pfc_yaml_text(yaml, node, what, 64, &text, err);

    if (code)
        return code;
    if (pfc_streq(text, "true"))
        *out = true;
    else if (pfc_streq(text, "false"))
        *out = false;
    else
        code = pfc_yaml_fault(yaml, node, err, "%s: expected true or false, got '%s'", what, text);
    free(text);
    return code;
}

pfc_code pfc_yaml_want_mapping(const pfc_yaml *yaml, struct fy_node *node, const char *what,
                               pfc_err *err)
{
    if (node && fy_node_is_mapping(node))
        return PFC_OK;
    return pfc_yaml_fault(yaml, node, err, "%s: expected a mapping of names to values", what);
}

pfc_code pfc_yaml_want_sequence(const pfc_yaml *yaml, struct fy_node *node, const char *what,
                                pfc_err *err)
{
    if (node && fy_node_is_sequence(node))
        return PFC_OK;
    return pfc_yaml_fault(yaml, node, err, "%s: expected a list", what);
}

pfc_code pfc_yaml_known(const pfc_yaml *yaml, struct fy_node *mapping, const char *what,
                        const char *const *known, pfc_err *err)
{
    void *prev = NULL;
    struct fy_node_pair *pair;

    while ((pair = fy_node_mapping_iterate(mapping, &prev))) {
        struct fy_node *key = fy_node_pair_key(pair);
        char *text = NULL;
        bool found = false;
        pfc_buf names;
        pfc_code code = pfc_yaml_text(yaml, key, "key", 200, &text, err);

        if (code)
            return code;
        pfc_buf_init(&names, 300);
        for (size_t i = 0; known[i]; i++) {
            found = found || pfc_streq(known[i], text);
            pfc_buf_printf(&names, "%s%s", i ? ", " : "", known[i]);
        }
        if (!found)
            code = pfc_yaml_fault(yaml, key, err, "%s: unknown key '%s' (known: %s)", what, text,
                                  pfc_buf_text(&names));
        pfc_buf_clear(&names);
        free(text);
        if (code)
            return code;
    }
    return PFC_OK;
}

struct fy_node *pfc_yaml_get(struct fy_node *mapping, const char *key)
{
    void *prev = NULL;
    struct fy_node_pair *pair;

    while ((pair = fy_node_mapping_iterate(mapping, &prev))) {
        size_t len = 0;
        const char *text = fy_node_get_scalar(fy_node_pair_key(pair), &len);
        if (text && len == strlen(key) && memcmp(text, key, len) == 0)
            return fy_node_pair_value(pair);
    }
    return NULL;
}
