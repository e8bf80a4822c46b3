/*
 * Reads suites: settings, named groups of shapes, and benchmarks that expand to cases.
 */
#include "bench/suite/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite/yaml.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

/* What is known while a suite is read. */
typedef struct reader {
    pfc_yaml yaml;
    pfc_suite *suite;
    struct fy_node *groups; /* top-level `groups`, or NULL */
    pfc_case_settings settings;
    char **backends; /* the suite's default */
    size_t backends_len;
} reader;

static const char *const known_backends[] = { "cpu-scalar", "cpu-avx2", "cpu-avx512", "cpu-neon" };

static void free_strings(char **items, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(items[i]);
    free(items);
}

static pfc_code read_settings(const reader *r, struct fy_node *node, pfc_case_settings *s,
                              pfc_err *err)
{
    static const char *const known[] = { "processes",   "min_samples",    "max_samples",
                                         "max_seconds", "warmup_seconds", "interval_rel",
                                         NULL };
    static const struct {
        const char *key;
        int64_t min, max;
        size_t offset;
    } counts[] = {
        { "processes", 1, 64, offsetof(pfc_case_settings, processes) },
        { "min_samples", 1, 100000, offsetof(pfc_case_settings, min_samples) },
        { "max_samples", 1, 100000, offsetof(pfc_case_settings, max_samples) },
    };
    static const struct {
        const char *key;
        double min, max;
        size_t offset;
    } reals[] = {
        { "max_seconds", 1e-3, 3600.0, offsetof(pfc_case_settings, max_seconds) },
        { "warmup_seconds", 0.0, 600.0, offsetof(pfc_case_settings, warmup_seconds) },
        { "interval_rel", 1e-6, 1.0, offsetof(pfc_case_settings, interval_rel) },
    };
    const pfc_yaml *y = &r->yaml;
    pfc_code code = pfc_yaml_want_mapping(y, node, "settings", err);

    if (!code)
        code = pfc_yaml_known(y, node, "settings", known, err);
    for (size_t i = 0; !code && i < PFC_ARRAY_LEN(counts); i++) {
        struct fy_node *v = pfc_yaml_get(node, counts[i].key);
        if (v)
            code = pfc_yaml_i64(y, v, counts[i].key, counts[i].min, counts[i].max,
                                (int64_t *)(void *)((char *)s + counts[i].offset), err);
    }
    for (size_t i = 0; !code && i < PFC_ARRAY_LEN(reals); i++) {
        struct fy_node *v = pfc_yaml_get(node, reals[i].key);
        if (v)
            code = pfc_yaml_double(y, v, reals[i].key, reals[i].min, reals[i].max,
                                   (double *)(void *)((char *)s + reals[i].offset), err);
    }
    if (!code && s->max_samples < s->min_samples)
        code = pfc_yaml_fault(y, node, err, "settings: max_samples %lld is below min_samples %lld",
                              (long long)s->max_samples, (long long)s->min_samples);
    return code;
}

static pfc_code check_backend(const reader *r, struct fy_node *node, const char *name, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(known_backends); i++) {
        if (strcmp(name, known_backends[i]) == 0)
            return PFC_OK;
    }
    if (strncmp(name, "accel:", 6) == 0 && (strcmp(name + 6, "*") == 0 || pfc_is_slug(name + 6)))
        return PFC_OK;
    return pfc_yaml_fault(&r->yaml, node, err,
                          "backends: unknown backend '%s' (known: cpu-scalar, cpu-avx2, "
                          "cpu-avx512, cpu-neon, accel:NAME, accel:*)",
                          name);
}

static pfc_code read_backends(const reader *r, struct fy_node *node, char ***out, size_t *out_len,
                              pfc_err *err)
{
    char **items = pfc_calloc(PFC_SUITE_MAX_BACKENDS, sizeof(*items));
    size_t len = 0;
    void *prev = NULL;
    struct fy_node *item;
    pfc_code code = pfc_yaml_want_sequence(&r->yaml, node, "backends", err);

    while (!code && (item = fy_node_sequence_iterate(node, &prev))) {
        if (len == PFC_SUITE_MAX_BACKENDS) {
            code = pfc_yaml_fault(&r->yaml, item, err, "backends: more than %d",
                                  PFC_SUITE_MAX_BACKENDS);
            break;
        }
        code = pfc_yaml_text(&r->yaml, item, "backends", 64, &items[len], err);
        if (code)
            break;
        code = check_backend(r, item, items[len++], err);
    }
    if (!code && len == 0)
        code = pfc_yaml_fault(&r->yaml, node, err, "backends: want at least one");
    if (code) {
        free_strings(items, len);
        return code;
    }
    *out = items;
    *out_len = len;
    return PFC_OK;
}

/* What the entry under `benchmarks` says for all its shapes. */
typedef struct entry {
    const pfc_op *op;
    char dtype[8];
    bool headline;
    pfc_case_settings settings;
    char **backends; /* owned when own_backends */
    size_t backends_len;
    bool own_backends;
} entry;

static pfc_code add_case(reader *r, const entry *e, struct fy_node *at, const int64_t *params,
                         pfc_err *err)
{
    pfc_suite *suite = r->suite;
    char *name = pfc_case_name(e->op, e->dtype, params);
    pfc_case *c;
    pfc_code code = PFC_OK;

    if (suite->cases_len == PFC_SUITE_MAX_CASES)
        code = pfc_yaml_fault(&r->yaml, at, err, "benchmarks: more than %d", PFC_SUITE_MAX_CASES);
    for (size_t i = 0; !code && i < suite->cases_len; i++) {
        if (strcmp(suite->cases[i].name, name) == 0)
            code = pfc_yaml_fault(&r->yaml, at, err, "benchmarks: %s is named twice", name);
    }
    if (code) {
        free(name);
        return code;
    }
    suite->cases = pfc_grow(suite->cases, suite->cases_len, &suite->cases_cap, sizeof(*c));
    c = &suite->cases[suite->cases_len++];
    *c = (pfc_case){ .name = name,
                     .op = e->op,
                     .headline = e->headline,
                     .backends_len = e->backends_len,
                     .settings = e->settings };
    memcpy(c->dtype, e->dtype, sizeof(c->dtype));
    memcpy(c->params, params, sizeof(c->params));
    c->backends = pfc_calloc(e->backends_len, sizeof(*c->backends));
    for (size_t i = 0; i < e->backends_len; i++)
        c->backends[i] = pfc_strdup(e->backends[i]);
    return PFC_OK;
}

/* The names of an operation's parameters, NULL-terminated, for messages and checks. */
static void param_names(const pfc_op *op, const char *names[PFC_OP_MAX_PARAMS + 1])
{
    for (size_t i = 0; i < op->params_len; i++)
        names[i] = op->params[i].name;
    names[op->params_len] = NULL;
}

static pfc_code read_param(const reader *r, const pfc_op_param *p, struct fy_node *value,
                           int64_t *out, pfc_err *err)
{
    size_t len = 0;
    const char *text = value && fy_node_is_scalar(value) ? fy_node_get_scalar(value, &len) : NULL;

    /* Switches read better as true and false. */
    if (p->min == 0 && p->max == 1 && text && (len == 4 || len == 5) && text[0] != '0' &&
        text[0] != '1') {
        bool on = false;
        pfc_code code = pfc_yaml_bool(&r->yaml, value, p->name, &on, err);
        if (!code)
            *out = on ? 1 : 0;
        return code;
    }
    return pfc_yaml_i64(&r->yaml, value, p->name, p->min, p->max, out, err);
}

/* {m: 64, n: 64, k: 64} */
static pfc_code add_shape(reader *r, const entry *e, struct fy_node *node, pfc_err *err)
{
    int64_t params[PFC_OP_MAX_PARAMS] = { 0 };
    const char *names[PFC_OP_MAX_PARAMS + 1];
    pfc_code code = pfc_yaml_want_mapping(&r->yaml, node, "shape", err);

    param_names(e->op, names);
    if (!code)
        code = pfc_yaml_known(&r->yaml, node, e->op->name, names, err);
    for (size_t i = 0; !code && i < e->op->params_len; i++) {
        const pfc_op_param *p = &e->op->params[i];
        struct fy_node *value = pfc_yaml_get(node, p->name);
        params[i] = p->fallback;
        if (value)
            code = read_param(r, p, value, &params[i], err);
        else if (p->fallback < 0)
            code =
                pfc_yaml_fault(&r->yaml, node, err, "%s: shape lacks '%s'", e->op->name, p->name);
    }
    return code ? code : add_case(r, e, node, params, err);
}

static pfc_code add_shapes(reader *r, const entry *e, struct fy_node *list, pfc_err *err)
{
    void *prev = NULL;
    struct fy_node *item;
    pfc_code code = pfc_yaml_want_sequence(&r->yaml, list, "shapes", err);

    while (!code && (item = fy_node_sequence_iterate(list, &prev)))
        code = add_shape(r, e, item, err);
    return code;
}

/* {m: [1, 8], n: [4096], k: [4096, 11008]}: every combination, the last parameter fastest. */
static pfc_code add_cross(reader *r, const entry *e, struct fy_node *node, pfc_err *err)
{
    struct fy_node *lists[PFC_OP_MAX_PARAMS] = { NULL };
    size_t counts[PFC_OP_MAX_PARAMS];
    size_t index[PFC_OP_MAX_PARAMS] = { 0 };
    const pfc_op *op = e->op;
    const char *names[PFC_OP_MAX_PARAMS + 1];
    pfc_code code = pfc_yaml_want_mapping(&r->yaml, node, "cross", err);
    size_t total = 1;

    param_names(op, names);
    if (!code)
        code = pfc_yaml_known(&r->yaml, node, op->name, names, err);
    for (size_t i = 0; !code && i < op->params_len; i++) {
        struct fy_node *list = pfc_yaml_get(node, op->params[i].name);
        counts[i] = 1;
        if (!list && op->params[i].fallback < 0)
            code = pfc_yaml_fault(&r->yaml, node, err, "cross: lacks '%s'", op->params[i].name);
        if (!list || code)
            continue;
        code = pfc_yaml_want_sequence(&r->yaml, list, "cross", err);
        if (code)
            break;
        lists[i] = list;
        counts[i] = (size_t)fy_node_sequence_item_count(list);
        total *= counts[i];
        if (total == 0 || total > PFC_SUITE_MAX_CASES)
            code = pfc_yaml_fault(&r->yaml, node, err, "cross: want 1..%d combinations",
                                  PFC_SUITE_MAX_CASES);
    }
    for (size_t n = 0; !code && n < total; n++) {
        int64_t params[PFC_OP_MAX_PARAMS] = { 0 };
        size_t rest = n;
        for (size_t i = op->params_len; i-- > 0;) {
            index[i] = rest % counts[i];
            rest /= counts[i];
        }
        for (size_t i = 0; !code && i < op->params_len; i++) {
            params[i] = op->params[i].fallback;
            if (lists[i])
                code = read_param(r, &op->params[i],
                                  fy_node_sequence_get_by_index(lists[i], (int)index[i]),
                                  &params[i], err);
        }
        if (!code)
            code = add_case(r, e, node, params, err);
    }
    return code;
}

/* group: llama-7b, a list of shapes named under the suite's `groups`. */
static pfc_code add_group(reader *r, const entry *e, struct fy_node *node, pfc_err *err)
{
    char *name = NULL;
    struct fy_node *list;
    pfc_code code = pfc_yaml_text(&r->yaml, node, "group", 64, &name, err);

    if (code)
        return code;
    list = r->groups ? pfc_yaml_get(r->groups, name) : NULL;
    code = list ? add_shapes(r, e, list, err)
                : pfc_yaml_fault(&r->yaml, node, err, "group: no '%s' under groups", name);
    free(name);
    return code;
}

static pfc_code read_op(const reader *r, struct fy_node *node, entry *e, pfc_err *err)
{
    struct fy_node *op = pfc_yaml_get(node, "op");
    struct fy_node *dtype = pfc_yaml_get(node, "dtype");
    char *text = NULL;
    pfc_code code;

    if (!op)
        return pfc_yaml_fault(&r->yaml, node, err, "benchmarks: entry lacks 'op'");
    code = pfc_yaml_text(&r->yaml, op, "op", 32, &text, err);
    if (code)
        return code;
    e->op = pfc_op_find(text);
    if (!e->op)
        code = pfc_yaml_fault(&r->yaml, op, err,
                              "op: unknown operation '%s' (known: gemm, attention, layernorm, "
                              "rmsnorm, softmax)",
                              text);
    free(text);
    text = NULL;
    if (code || !dtype)
        return code;
    code = pfc_yaml_text(&r->yaml, dtype, "dtype", 32, &text, err);
    if (code)
        return code;
    if (pfc_dtype_bytes(text) > 0.0)
        memcpy(e->dtype, text, strlen(text) + 1);
    else
        code = pfc_yaml_fault(&r->yaml, dtype, err,
                              "dtype: unknown type '%s' (known: f32, bf16, int8)", text);
    free(text);
    return code;
}

static pfc_code read_entry(reader *r, struct fy_node *node, pfc_err *err)
{
    static const char *const known[] = { "op",       "dtype",    "shapes",   "cross", "group",
                                         "backends", "headline", "settings", NULL };
    entry e = { .dtype = "f32",
                .headline = true,
                .settings = r->settings,
                .backends = r->backends,
                .backends_len = r->backends_len };
    const size_t before = r->suite->cases_len;
    struct fy_node *v;
    pfc_code code = pfc_yaml_want_mapping(&r->yaml, node, "benchmarks", err);

    if (!code)
        code = pfc_yaml_known(&r->yaml, node, "benchmarks", known, err);
    if (!code)
        code = read_op(r, node, &e, err);
    if (!code && (v = pfc_yaml_get(node, "headline")))
        code = pfc_yaml_bool(&r->yaml, v, "headline", &e.headline, err);
    if (!code && (v = pfc_yaml_get(node, "settings")))
        code = read_settings(r, v, &e.settings, err);
    if (!code && (v = pfc_yaml_get(node, "backends"))) {
        code = read_backends(r, v, &e.backends, &e.backends_len, err);
        e.own_backends = code == PFC_OK;
    }
    if (!code && e.backends_len == 0)
        code = pfc_yaml_fault(&r->yaml, node, err, "benchmarks: entry lacks 'backends'");
    if (!code && (v = pfc_yaml_get(node, "shapes")))
        code = add_shapes(r, &e, v, err);
    if (!code && (v = pfc_yaml_get(node, "cross")))
        code = add_cross(r, &e, v, err);
    if (!code && (v = pfc_yaml_get(node, "group")))
        code = add_group(r, &e, v, err);
    if (!code && r->suite->cases_len == before)
        code = pfc_yaml_fault(&r->yaml, node, err,
                              "benchmarks: entry wants 'shapes', 'cross' or 'group'");
    if (e.own_backends)
        free_strings(e.backends, e.backends_len);
    return code;
}

static pfc_code read_suite(reader *r, struct fy_node *root, pfc_err *err)
{
    static const char *const known[] = { "suite",  "settings",   "backends",
                                         "groups", "benchmarks", NULL };
    const pfc_yaml *y = &r->yaml;
    struct fy_node *v;
    void *prev = NULL;
    pfc_code code = pfc_yaml_want_mapping(y, root, "suite", err);

    if (!code)
        code = pfc_yaml_known(y, root, "suite", known, err);
    if (code)
        return code;
    v = pfc_yaml_get(root, "suite");
    if (!v)
        return pfc_yaml_fault(y, root, err, "suite: lacks its name under 'suite'");
    code = pfc_yaml_text(y, v, "suite", 63, &r->suite->name, err);
    if (!code && !pfc_is_slug(r->suite->name))
        code = pfc_yaml_fault(y, v, err, "suite: want a name of [a-z0-9._-], got '%s'",
                              r->suite->name);
    if (!code && (v = pfc_yaml_get(root, "settings")))
        code = read_settings(r, v, &r->settings, err);
    if (!code && (v = pfc_yaml_get(root, "backends")))
        code = read_backends(r, v, &r->backends, &r->backends_len, err);
    if (!code && (v = pfc_yaml_get(root, "groups"))) {
        code = pfc_yaml_want_mapping(y, v, "groups", err);
        r->groups = v;
    }
    if (code)
        return code;
    v = pfc_yaml_get(root, "benchmarks");
    code = pfc_yaml_want_sequence(y, v ? v : root, "benchmarks", err);
    while (!code && (root = fy_node_sequence_iterate(v, &prev)))
        code = read_entry(r, root, err);
    if (!code && r->suite->cases_len == 0)
        code = pfc_err_set(err, PFC_EINVAL, "%s: benchmarks: want at least one", y->name);
    return code;
}

pfc_code pfc_suite_parse(const char *text, size_t len, const char *name, pfc_suite **out,
                         pfc_err *err)
{
    reader r = { .settings = { .processes = 5,
                               .min_samples = 25,
                               .max_samples = 250,
                               .max_seconds = 1.0,
                               .warmup_seconds = 0.1,
                               .interval_rel = 0.01 } };
    pfc_code code;

    if (len > PFC_SUITE_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%s: %zu bytes, a suite has at most %u", name, len,
                           PFC_SUITE_MAX_BYTES);
    r.suite = pfc_alloc(sizeof(*r.suite));
    pfc_sha256_hex(text, len, r.suite->hash);
    code = pfc_yaml_load(text, len, PFC_SUITE_MAX_DEPTH, name, &r.yaml, err);
    if (!code)
        code = read_suite(&r, fy_document_root(r.yaml.doc), err);
    free_strings(r.backends, r.backends_len);
    pfc_yaml_clear(&r.yaml);
    if (code) {
        pfc_suite_free(r.suite);
        return code;
    }
    *out = r.suite;
    return PFC_OK;
}

pfc_code pfc_suite_load(const char *path_or_name, pfc_suite **out, pfc_err *err)
{
    const char *builtin = pfc_suite_builtin(path_or_name);
    char *text = NULL;
    size_t len = 0;
    pfc_code code;

    /* A name has no slash; a file of that name in the current folder is written ./quick. */
    if (builtin)
        return pfc_suite_parse(builtin, strlen(builtin), path_or_name, out, err);
    if (!strchr(path_or_name, '/') && !pfc_fs_exists(path_or_name))
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "suite '%s': neither a file nor a built-in suite (built in: quick)",
                           path_or_name);
    code = pfc_fs_read(path_or_name, PFC_SUITE_MAX_BYTES, &text, &len, err);
    if (code)
        return code;
    code = pfc_suite_parse(text, len, path_or_name, out, err);
    free(text);
    return code;
}

void pfc_suite_free(pfc_suite *suite)
{
    if (!suite)
        return;
    for (size_t i = 0; i < suite->cases_len; i++) {
        free(suite->cases[i].name);
        free_strings(suite->cases[i].backends, suite->cases[i].backends_len);
    }
    free(suite->cases);
    free(suite->name);
    free(suite);
}
