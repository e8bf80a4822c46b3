/* perfci.yaml: a flat mapping of scalars and one list, bounded before libfyaml sees it. */
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/config/conf.h"
#include "core/base/config/conf_priv.h"
#include "core/base/parse.h"

#define MAX_NESTING 8
#define MAX_PATHS   256

static const char known_keys[] = "project, branch, server, build, measure, suite, relink, metric, "
                                 "unit, better, directions, time, paths, anchor, budget, margin, "
                                 "runtime_files, rerun, timeout, build_network";

/* Deep flow nesting makes a recursive parser overflow its stack: count brackets first. Brackets in
 * quoted text are counted, too, which only makes the limit stricter. */
static bool nested_too_deep(const char *text, size_t len)
{
    int depth = 0;
    size_t indent_levels = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '[' || text[i] == '{')
            depth++;
        else if ((text[i] == ']' || text[i] == '}') && depth > 0)
            depth--;
        if (text[i] == '\n')
            indent_levels = 0;
        else if (text[i] == '-' && i + 1 < len && text[i + 1] == ' ')
            indent_levels++;
        if (depth > MAX_NESTING || indent_levels > 64)
            return true;
    }
    return false;
}

/* The text has only blanks and comments. libfyaml has no document for that and would report a
 * fault. */
static bool is_empty(const char *text, size_t len)
{
    bool comment = false;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            comment = false;
        else if (text[i] == '#')
            comment = true;
        else if (!comment && text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    }
    return true;
}

typedef struct reader {
    const char *name;
    pfc_conf *conf;
    pfc_err *err;
} reader;

static int line_of(struct fy_node *node)
{
    struct fy_token *token = fy_node_get_scalar_token(node);
    const struct fy_mark *mark = token == NULL ? NULL : fy_token_start_mark(token);

    return mark == NULL ? 0 : mark->line + 1;
}

static pfc_code scalar(const reader *r, const char *key, int line, struct fy_node *value,
                       char **out)
{
    size_t len = 0;
    const char *text = fy_node_is_scalar(value) ? fy_node_get_scalar(value, &len) : NULL;

    if (text == NULL)
        return pfc_err_set_field(r->err, PFC_EINVAL, key, "%.200s:%d: %s: expected a text", r->name,
                                 line, key);
    if (len > 4096 || memchr(text, '\0', len) != NULL)
        return pfc_err_set_field(r->err, PFC_EINVAL, key,
                                 "%.200s:%d: %s: expected at most 4096 bytes "
                                 "of text",
                                 r->name, line, key);
    free(*out);
    *out = pfc_strndup(text, len);
    return PFC_OK;
}

static pfc_code glob_list(const reader *r, const char *key, int line, struct fy_node *value,
                          char ***list, size_t *list_len)
{
    struct fy_node *item;
    void *iter = NULL;

    if (!fy_node_is_sequence(value))
        return pfc_err_set_field(r->err, PFC_EINVAL, key, "%.200s:%d: %s: expected a list of globs",
                                 r->name, line, key);
    while ((item = fy_node_sequence_iterate(value, &iter)) != NULL) {
        char *glob = NULL;
        pfc_code code = scalar(r, key, line, item, &glob);

        if (code == PFC_OK && *list_len == MAX_PATHS)
            code = pfc_err_set_field(r->err, PFC_EINVAL, key,
                                     "%.200s:%d: %s: expected at most %d globs", r->name, line, key,
                                     MAX_PATHS);
        if (code != PFC_OK) {
            free(glob);
            return code;
        }
        *list = pfc_realloc(*list, *list_len + 1, sizeof **list);
        (*list)[(*list_len)++] = glob;
    }
    return PFC_OK;
}

static pfc_code higher_or_lower(const reader *r, const char *key, int line, struct fy_node *value,
                                bool *higher)
{
    char *word = NULL;
    pfc_code code = scalar(r, key, line, value, &word);

    if (code == PFC_OK && !pfc_streq(word, "higher") && !pfc_streq(word, "lower"))
        code = pfc_err_set_field(r->err, PFC_EINVAL, key,
                                 "%.200s:%d: %s: expected higher or lower, got \"%.40s\"", r->name,
                                 line, key, word);
    if (code == PFC_OK)
        *higher = pfc_streq(word, "higher");
    free(word);
    return code;
}

static pfc_code direction(const reader *r, int line, struct fy_node *value)
{
    pfc_code code = higher_or_lower(r, "better", line, value, &r->conf->higher_is_better);

    r->conf->has_better = code == PFC_OK;
    return code;
}

static pfc_code directions(const reader *r, int line, struct fy_node *value)
{
    pfc_conf *conf = r->conf;
    struct fy_node_pair *pair;
    void *iter = NULL;

    if (!fy_node_is_mapping(value))
        return pfc_err_set_field(
            r->err, PFC_EINVAL, "directions",
            "%.200s:%d: directions: expected a mapping of metrics to higher or "
            "lower",
            r->name, line);
    while ((pair = fy_node_mapping_iterate(value, &iter)) != NULL) {
        bool higher = false;
        char *name = NULL;
        pfc_code code = scalar(r, "directions", line, fy_node_pair_key(pair), &name);

        if (code == PFC_OK && conf->directions_len == PFC_MAX_DIRECTIONS)
            code = pfc_err_set_field(r->err, PFC_EINVAL, "directions",
                                     "%.200s:%d: directions: expected at most %d", r->name, line,
                                     PFC_MAX_DIRECTIONS);
        if (code == PFC_OK)
            code = higher_or_lower(r, "directions", line_of(fy_node_pair_key(pair)),
                                   fy_node_pair_value(pair), &higher);
        if (code != PFC_OK) {
            free(name);
            return code;
        }
        conf->directions =
            pfc_realloc(conf->directions, conf->directions_len + 1, sizeof *conf->directions);
        conf->directions[conf->directions_len++] = (pfc_direction){ name, higher };
    }
    return PFC_OK;
}

static pfc_code yes_or_no(const reader *r, const char *key, int line, struct fy_node *value,
                          bool *out)
{
    char *word = NULL;
    pfc_code code = scalar(r, key, line, value, &word);

    if (code == PFC_OK && !pfc_streq(word, "true") && !pfc_streq(word, "false"))
        code = pfc_err_set_field(r->err, PFC_EINVAL, key,
                                 "%.200s:%d: %s: expected true or false, got \"%.40s\"", r->name,
                                 line, key, word);
    if (code == PFC_OK)
        *out = pfc_streq(word, "true");
    free(word);
    return code;
}

static pfc_code build_network(const reader *r, int line, struct fy_node *value)
{
    static const char *const words[] = { "none", "branches", "all" };
    char *word = NULL;
    pfc_code code = scalar(r, "build_network", line, value, &word);
    size_t i = 0;

    while (code == PFC_OK && i < PFC_ARRAY_LEN(words) && !pfc_streq(word, words[i]))
        i++;
    if (code == PFC_OK && i == PFC_ARRAY_LEN(words))
        code = pfc_err_set_field(
            r->err, PFC_EINVAL, "build_network",
            "%.200s:%d: build_network: expected none, branches or all, got \"%.40s\"", r->name,
            line, word);
    if (code == PFC_OK)
        r->conf->build_network = (pfc_build_network)i;
    free(word);
    return code;
}

static pfc_code duration(const reader *r, const char *key, int line, struct fy_node *value,
                         double *out)
{
    char *word = NULL;
    pfc_code code = scalar(r, key, line, value, &word);

    if (code == PFC_OK)
        code = pfc_parse_duration_s(word, key, out, r->err);
    /* Further down zero means "not said", so here it would quietly become the default. */
    if (code == PFC_OK && *out <= 0)
        code = pfc_err_set(r->err, PFC_EINVAL, "%s: expected more than zero, got \"%.40s\"", key,
                           word);
    if (code != PFC_OK)
        pfc_err_wrap(r->err, "%.200s:%d", r->name, line);
    free(word);
    return code;
}

static pfc_code margin(const reader *r, int line, struct fy_node *value)
{
    char *word = NULL;
    pfc_code code = scalar(r, "margin", line, value, &word);

    if (code == PFC_OK)
        code = pfc_parse_double(word, 1e-9, 10, "margin", &r->conf->margin, r->err);
    if (code != PFC_OK)
        pfc_err_wrap(r->err, "%.200s:%d", r->name, line);
    free(word);
    return code;
}

static pfc_code entry(const reader *r, const char *key, int line, struct fy_node *value)
{
    pfc_conf *conf = r->conf;
    const struct {
        const char *key;
        char **out;
    } texts[] = {
        { "project", &conf->project }, { "branch", &conf->branch },   { "server", &conf->server },
        { "build", &conf->build },     { "measure", &conf->measure }, { "suite", &conf->suite },
        { "relink", &conf->relink },   { "metric", &conf->metric },   { "unit", &conf->unit },
        { "anchor", &conf->anchor },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++)
        if (pfc_streq(key, texts[i].key))
            return scalar(r, key, line, value, texts[i].out);
    if (pfc_streq(key, "paths"))
        return glob_list(r, key, line, value, &conf->paths, &conf->paths_len);
    if (pfc_streq(key, "runtime_files"))
        return glob_list(r, key, line, value, &conf->runtime_files, &conf->runtime_files_len);
    if (pfc_streq(key, "better"))
        return direction(r, line, value);
    if (pfc_streq(key, "directions"))
        return directions(r, line, value);
    if (pfc_streq(key, "time"))
        return yes_or_no(r, key, line, value, &conf->time);
    if (pfc_streq(key, "timeout"))
        return duration(r, key, line, value, &conf->timeout_s);
    if (pfc_streq(key, "budget"))
        return duration(r, key, line, value, &conf->budget_s);
    if (pfc_streq(key, "margin"))
        return margin(r, line, value);
    if (pfc_streq(key, "build_network"))
        return build_network(r, line, value);
    if (pfc_streq(key, "rerun"))
        return pfc_conf_rerun(r->name, line, value, &conf->rerun, r->err);
    return pfc_err_set_field(r->err, PFC_EINVAL, key,
                             "%.200s:%d: unknown key \"%.40s\"; the known ones are %s", r->name,
                             line, key, known_keys);
}

static pfc_code mapping(const reader *r, struct fy_node *root)
{
    struct fy_node_pair *pair;
    void *iter = NULL;

    if (fy_node_is_null(root))
        return PFC_OK; /* a file with only "---" sets nothing */
    if (!fy_node_is_mapping(root))
        return pfc_err_set(r->err, PFC_EINVAL, "%.200s: expected a mapping of keys to values",
                           r->name);
    while ((pair = fy_node_mapping_iterate(root, &iter)) != NULL) {
        struct fy_node *key_node = fy_node_pair_key(pair);
        size_t len = 0;
        const char *text = key_node != NULL && fy_node_is_scalar(key_node)
                               ? fy_node_get_scalar(key_node, &len)
                               : NULL;
        char *key;
        pfc_code code;

        if (text == NULL || len > 64)
            return pfc_err_set(r->err, PFC_EINVAL, "%.200s: expected plain words as keys", r->name);
        key = pfc_strndup(text, len);
        code = entry(r, key, line_of(key_node), fy_node_pair_value(pair));
        free(key);
        if (code != PFC_OK)
            return code;
    }
    if (r->conf->project != NULL && !pfc_is_slug(r->conf->project))
        return pfc_err_set_field(
            r->err, PFC_EINVAL, "project",
            "%.200s: project: expected 1 to 63 of a-z, 0-9, '.', '_', '-', got "
            "\"%.60s\"",
            r->name, r->conf->project);
    return PFC_OK;
}

/* libfyaml would print its messages: the first line goes into our sentence instead. */
static void keep_first_line(struct fy_diag *diag, void *user, const char *text, size_t len)
{
    pfc_buf *line = user;
    size_t end = 0;

    (void)diag;
    if (line->len > 0)
        return;
    while (end < len && text[end] != '\n')
        end++;
    pfc_buf_append(line, text, PFC_MIN(end, line->max_bytes));
}

pfc_code pfc_conf_parse(const char *text, size_t len, const char *name, pfc_conf *out, pfc_err *err)
{
    struct fy_diag_cfg diag_cfg;
    struct fy_parse_cfg cfg = { 0 };
    pfc_buf why;
    pfc_conf conf = { .timeout_s = 600 };
    reader r = { .name = name, .conf = &conf, .err = err };
    struct fy_document *doc;
    pfc_code code = PFC_OK;

    if (len > PFC_CONF_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: expected at most %d bytes, it has %zu", name,
                           PFC_CONF_MAX_BYTES, len);
    if (!pfc_is_utf8(text, len) || memchr(text, '\0', len) != NULL)
        return pfc_err_set(err, PFC_EINVAL, "%.200s: expected UTF-8 text", name);
    if (nested_too_deep(text, len))
        return pfc_err_set(err, PFC_EINVAL, "%.200s: nested deeper than %d levels", name,
                           MAX_NESTING);
    if (is_empty(text, len)) {
        *out = conf;
        return PFC_OK;
    }
    pfc_buf_init(&why, 200);
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.output_fn = keep_first_line;
    diag_cfg.user = &why;
    diag_cfg.colorize = false;
    diag_cfg.fp = NULL;
    cfg.diag = fy_diag_create(&diag_cfg);
    doc = fy_document_build_from_string(&cfg, text, len);
    fy_diag_destroy(cfg.diag);
    if (doc == NULL) {
        const char *reason = strstr(pfc_buf_text(&why), "error: ");

        code = pfc_err_set(err, PFC_EINVAL, "%.200s: not well-formed YAML%s%.160s", name,
                           reason == NULL ? "" : ": ", reason == NULL ? "" : reason + 7);
    }
    pfc_buf_clear(&why);
    if (doc == NULL)
        return code;
    code = mapping(&r, fy_document_root(doc));
    fy_document_destroy(doc);
    if (code != PFC_OK) {
        pfc_conf_clear(&conf);
        return code;
    }
    *out = conf;
    return PFC_OK;
}
