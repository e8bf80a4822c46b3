/*
 * Reads suites: the members at the top, and the entries that expand to benchmarks.
 */
#include "bench/suite/suite.h"

#include <stdlib.h>
#include <string.h>

#include "bench/suite/model.h"
#include "bench/suite/reader.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define MAX_HASHES ((PFC_SUITE_MAX_FILES + 1) * (size_t)PFC_SHA256_HEX)

/* ---- shapes of a model ---- */

static pfc_code read_phases(const pfc_suite_reader *r, struct fy_node *node, const pfc_model *model,
                            bool phases[PFC_PHASES], pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    void *prev = NULL;
    struct fy_node *item;
    pfc_code code = pfc_yaml_want_sequence(y, node, "phases", err);

    while (!code && (item = fy_node_sequence_iterate(node, &prev))) {
        pfc_model_phase phase = PFC_PHASE_PREFILL;
        pfc_err inner = { 0 };
        char *text = NULL;

        code = pfc_yaml_text(y, item, "phases", 20, &text, err);
        if (code)
            break;
        if (pfc_model_phase_parse(text, &phase, &inner))
            code = pfc_yaml_fault(y, item, err, "%s", inner.msg);
        else if (!pfc_model_has_phase(model, phase))
            code = pfc_yaml_fault(y, item, err, "phases: %s is an encoder, it has no %s",
                                  model->name, text);
        else if (phases[phase])
            code = pfc_yaml_fault(y, item, err, "phases: '%s' is named twice", text);
        else
            phases[phase] = true;
        free(text);
    }
    return code;
}

static pfc_code find_model(const pfc_suite_reader *r, struct fy_node *node, const pfc_model **out,
                           pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    char *name = NULL;
    pfc_code code;

    if (!node)
        return pfc_yaml_fault(y, NULL, err, "model: lacks 'name'");
    code = pfc_yaml_text(y, node, "model", 64, &name, err);
    if (code)
        return code;
    *out = pfc_model_builtin(name);
    if (!*out) {
        const char *const *known = pfc_model_builtin_names();
        pfc_buf names;

        pfc_buf_init(&names, 200);
        for (size_t i = 0; known[i]; i++)
            pfc_buf_printf(&names, "%s%s", i ? ", " : "", known[i]);
        code =
            pfc_yaml_fault(y, node, err,
                           "model: unknown model '%s' (known: %s; perfci suite from-model makes a "
                           "suite of any other)",
                           name, pfc_buf_text(&names));
        pfc_buf_clear(&names);
    }
    free(name);
    return code;
}

/* The shapes of one phase that are the entry's operation, or any when it names none. */
static pfc_code add_phase(pfc_suite_reader *r, const pfc_suite_entry *given, struct fy_node *node,
                          const pfc_model *model, const pfc_model_use *use, pfc_err *err)
{
    pfc_model_shape *shapes = pfc_calloc(PFC_MODEL_MAX_SHAPES, sizeof(*shapes));
    pfc_err inner = { 0 };
    size_t len = 0;
    pfc_code code = pfc_model_shapes(model, use, shapes, &len, &inner);

    if (code)
        code = pfc_yaml_fault(&r->file->yaml, node, err, "model: %s", inner.msg);
    for (size_t i = 0; !code && i < len; i++) {
        pfc_suite_entry e = *given;

        if (given->op ? shapes[i].op != given->op : !pfc_op_has_dtype(shapes[i].op, e.dtype))
            continue;
        e.op = shapes[i].op;
        e.generated = true;
        e.headline = given->headline && shapes[i].headline;
        code = pfc_suite_add_case(r, &e, node, shapes[i].params, err);
    }
    free(shapes);
    return code;
}

/* model: gpt2, or {name: gpt2, phases: [decode], batch: 8, sequence: 512} */
static pfc_code add_model(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                          pfc_err *err)
{
    static const char *const known[] = { "name", "phases", "batch", "sequence", NULL };
    const pfc_yaml *y = &r->file->yaml;
    const bool mapping = fy_node_is_mapping(node);
    pfc_model_use use = { .batch = 1, .sequence = 128 };
    const pfc_model *model = NULL;
    bool phases[PFC_PHASES] = { false };
    struct fy_node *v;
    pfc_code code = mapping ? pfc_yaml_known(y, node, "model", known, err) : PFC_OK;

    if (!code)
        code = find_model(r, mapping ? pfc_yaml_get(node, "name") : node, &model, err);
    if (!code && mapping && (v = pfc_yaml_get(node, "batch")))
        code = pfc_yaml_i64(y, v, "batch", 1, 1024, &use.batch, err);
    if (!code && mapping && (v = pfc_yaml_get(node, "sequence")))
        code = pfc_yaml_i64(y, v, "sequence", 1, model->max_sequence, &use.sequence, err);
    v = mapping && !code ? pfc_yaml_get(node, "phases") : NULL;
    if (v)
        code = read_phases(r, v, model, phases, err);
    for (size_t i = 0; !code && i < PFC_PHASES; i++) {
        use.phase = (pfc_model_phase)i;
        if (v ? phases[i] : pfc_model_has_phase(model, use.phase))
            code = add_phase(r, e, node, model, &use, err);
    }
    return code;
}

/* ---- entries ---- */

static pfc_code read_op(const pfc_suite_reader *r, struct fy_node *node, pfc_suite_entry *e,
                        pfc_err *err)
{
    struct fy_node *op = pfc_yaml_get(node, "op");
    struct fy_node *dtype = pfc_yaml_get(node, "dtype");
    char *text = NULL;
    pfc_code code = PFC_OK;

    if (!op && !pfc_yaml_get(node, "model"))
        return pfc_yaml_fault(&r->file->yaml, node, err, "benchmarks: entry lacks 'op'");
    if (op)
        code = pfc_yaml_text(&r->file->yaml, op, "op", 32, &text, err);
    if (code)
        return code;
    e->op = op ? pfc_op_find(text) : NULL;
    if (op && !e->op)
        code = pfc_yaml_fault(&r->file->yaml, op, err,
                              "op: unknown operation '%s' (known: gemm, attention, layernorm, "
                              "rmsnorm, softmax, gemm_bias_act, residual_rmsnorm)",
                              text);
    free(text);
    text = NULL;
    if (code || !dtype)
        return code;
    code = pfc_yaml_text(&r->file->yaml, dtype, "dtype", 32, &text, err);
    if (code)
        return code;
    if (!(pfc_dtype_bytes(text) > 0.0))
        code = pfc_yaml_fault(&r->file->yaml, dtype, err,
                              "dtype: unknown type '%s' (known: f32, bf16, int8)", text);
    else if (e->op && !pfc_op_has_dtype(e->op, text))
        code =
            pfc_yaml_fault(&r->file->yaml, dtype, err,
                           "dtype: %s is computed in f32 and bf16, only gemm in int8", e->op->name);
    else
        memcpy(e->dtype, text, strlen(text) + 1);
    free(text);
    return code;
}

/* Those of the including file stand (backends_fixed): then nothing is taken over. *taken: *out and
 * *out_len are set, and the caller's. */
static pfc_code read_own_backends(pfc_suite_reader *r, struct fy_node *node, char ***out,
                                  size_t *out_len, bool *taken, pfc_err *err)
{
    char **own = NULL;
    size_t len = 0;
    const pfc_code code = pfc_suite_read_backends(r, node, &own, &len, err);

    if (code)
        return code;
    *taken = !r->backends_fixed;
    if (*taken) {
        *out = own;
        *out_len = len;
    } else {
        pfc_suite_free_strings(own, len);
    }
    return PFC_OK;
}

static pfc_code read_how(pfc_suite_reader *r, struct fy_node *node, pfc_suite_entry *e,
                         pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    struct fy_node *v;
    pfc_code code = PFC_OK;

    if ((v = pfc_yaml_get(node, "headline")))
        code = pfc_yaml_bool(y, v, "headline", &e->headline, err);
    if (!code && (v = pfc_yaml_get(node, "settings")))
        code = pfc_suite_read_settings(r, v, false, &e->settings, err);
    if (!code && (v = pfc_yaml_get(node, "backends")))
        code = read_own_backends(r, v, &e->backends, &e->backends_len, &e->own_backends, err);
    if (!code && e->backends_len == 0)
        code = pfc_yaml_fault(y, node, err, "benchmarks: entry lacks 'backends'");
    return code;
}

/* A file of an entry, which must be there. */
static pfc_code read_file_of(const pfc_suite_reader *r, struct fy_node *node, const char *what,
                             const char *suffix, char **out, pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    char *text = NULL;
    pfc_code code = pfc_yaml_text(y, node, what, 200, &text, err);

    if (code)
        return code;
    if (suffix && (strlen(text) <= strlen(suffix) ||
                   strcmp(text + strlen(text) - strlen(suffix), suffix) != 0))
        code = pfc_yaml_fault(y, node, err, "%s: expected the name of a file *%s, got %s", what,
                              suffix, text);
    if (!code)
        code = pfc_suite_beside(r, node, what, text, out, err);
    if (!code && !pfc_fs_exists(*out))
        code = pfc_yaml_fault(y, node, err, "%s: there is no file %s", what, *out);
    free(text);
    return code;
}

/* program: a kernel in text; schedule: tiles of the built-in GEMM. */
static pfc_code read_own(const pfc_suite_reader *r, struct fy_node *node, pfc_suite_entry *e,
                         pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    struct fy_node *program = pfc_yaml_get(node, "program");
    struct fy_node *schedule = pfc_yaml_get(node, "schedule");

    if (!program && !schedule)
        return PFC_OK;
    if (program && schedule)
        return pfc_yaml_fault(y, schedule, err,
                              "schedule: expected 'program' or 'schedule', got both");
    if (!e->op)
        return pfc_yaml_fault(y, program ? program : schedule, err,
                              "%s: expected an 'op' beside it", program ? "program" : "schedule");
    if (program)
        return read_file_of(r, program, "program", ".pca", &e->program, err);
    if (strcmp(e->op->name, "gemm") != 0)
        return pfc_yaml_fault(y, schedule, err, "schedule: expected gemm, got %s", e->op->name);
    return read_file_of(r, schedule, "schedule", NULL, &e->schedule, err);
}

static const struct {
    const char *key;
    pfc_code (*add)(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                    pfc_err *err);
} shape_keys[] = {
    { "shapes", pfc_suite_add_shapes },     { "cross", pfc_suite_add_cross },
    { "group", pfc_suite_add_group },       { "random", pfc_suite_add_random },
    { "boundary", pfc_suite_add_boundary }, { "model", add_model },
};

static pfc_code read_shapes(pfc_suite_reader *r, struct fy_node *node, const pfc_suite_entry *e,
                            pfc_err *err)
{
    size_t given = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < PFC_ARRAY_LEN(shape_keys); i++) {
        struct fy_node *v = pfc_yaml_get(node, shape_keys[i].key);

        if (!v)
            continue;
        given++;
        if (!e->op && shape_keys[i].add != add_model)
            code = pfc_yaml_fault(&r->file->yaml, v, err,
                                  "benchmarks: expected an 'op' beside '%s'", shape_keys[i].key);
        else
            code = shape_keys[i].add(r, e, v, err);
    }
    if (!code && given == 0)
        code = pfc_yaml_fault(&r->file->yaml, node, err,
                              "benchmarks: expected 'shapes', 'cross', 'group', 'random', "
                              "'boundary' or 'model'");
    return code;
}

static pfc_code read_entry(pfc_suite_reader *r, struct fy_node *node, pfc_err *err)
{
    static const char *const known[] = { "op",       "dtype",    "shapes",   "cross",    "group",
                                         "random",   "boundary", "model",    "backends", "headline",
                                         "settings", "program",  "schedule", NULL };
    pfc_suite_entry e = { .dtype = "f32",
                          .headline = true,
                          .settings = r->settings,
                          .backends = r->backends,
                          .backends_len = r->backends_len };
    const size_t before = r->suite->cases_len;
    pfc_code code = pfc_yaml_want_mapping(&r->file->yaml, node, "benchmarks", err);

    if (!code)
        code = pfc_yaml_known(&r->file->yaml, node, "benchmarks", known, err);
    if (!code)
        code = read_op(r, node, &e, err);
    if (!code)
        code = read_how(r, node, &e, err);
    if (!code)
        code = read_own(r, node, &e, err);
    if (!code)
        code = read_shapes(r, node, &e, err);
    if (!code && r->suite->cases_len == before && !r->filter && !pfc_yaml_get(node, "model"))
        code = pfc_yaml_fault(&r->file->yaml, node, err, "benchmarks: entry has no shape");
    if (e.own_backends)
        pfc_suite_free_strings(e.backends, e.backends_len);
    free(e.program);
    free(e.schedule);
    return code;
}

/* ---- the top ---- */

static pfc_code read_name(pfc_suite_reader *r, struct fy_node *root, pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    struct fy_node *v = pfc_yaml_get(root, "suite");
    char *name = NULL;
    pfc_code code;

    if (!v && r->depth > 0) /* a part of suites needs no name */
        return PFC_OK;
    if (!v)
        return pfc_yaml_fault(y, root, err, "suite: lacks its name under 'suite'");
    code = pfc_yaml_text(y, v, "suite", 63, &name, err);
    if (!code && !pfc_is_slug(name))
        code = pfc_yaml_fault(y, v, err, "suite: expected a name of [a-z0-9._-], got '%s'", name);
    if (r->depth == 0)
        r->suite->name = name;
    else
        free(name);
    return code;
}

/* One name, one list of shapes, in all files together. */
static pfc_code read_groups(pfc_suite_reader *r, struct fy_node *groups, pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    void *prev = NULL;
    struct fy_node_pair *pair;
    pfc_code code = pfc_yaml_want_mapping(y, groups, "groups", err);

    while (!code && (pair = fy_node_mapping_iterate(groups, &prev))) {
        struct fy_node *key = fy_node_pair_key(pair);
        char *name = NULL;

        code = pfc_yaml_text(y, key, "groups", 64, &name, err);
        for (size_t i = 0; !code && i < r->files_len; i++) {
            struct fy_node *there =
                r->files[i]->groups ? pfc_yaml_get(r->files[i]->groups, name) : NULL;
            if (there)
                code = pfc_yaml_fault(y, key, err, "groups: '%s' is there already, at %s:%d", name,
                                      r->files[i]->path, pfc_yaml_line(there));
        }
        free(name);
    }
    if (!code)
        r->file->groups = groups;
    return code;
}

static pfc_code read_defaults(pfc_suite_reader *r, struct fy_node *root, pfc_err *err)
{
    struct fy_node *v;
    bool taken = false;
    pfc_code code = PFC_OK;

    if ((v = pfc_yaml_get(root, "settings")))
        code = pfc_suite_read_settings(r, v, true, &r->settings, err);
    /* pfc_suite_read_file frees what is taken and puts back what was there */
    if (!code && (v = pfc_yaml_get(root, "backends")))
        code = read_own_backends(r, v, &r->backends, &r->backends_len, &taken, err);
    return code;
}

pfc_code pfc_suite_read_document(pfc_suite_reader *r, pfc_err *err)
{
    static const char *const known[] = { "suite",  "include",    "settings", "backends",
                                         "groups", "benchmarks", NULL };
    const pfc_yaml *y = &r->file->yaml;
    struct fy_node *root = fy_document_root(r->file->yaml.doc);
    struct fy_node *list;
    struct fy_node *v;
    void *prev = NULL;
    pfc_code code = pfc_yaml_want_mapping(y, root, "suite", err);

    if (!code)
        code = pfc_yaml_known(y, root, "suite", known, err);
    if (!code)
        code = read_name(r, root, err);
    if (!code)
        code = read_defaults(r, root, err);
    if (!code && (v = pfc_yaml_get(root, "groups")))
        code = read_groups(r, v, err);
    if (!code && (v = pfc_yaml_get(root, "include")))
        code = pfc_suite_read_includes(r, v, err);
    if (code)
        return code;
    list = pfc_yaml_get(root, "benchmarks");
    if (!list && (pfc_yaml_get(root, "include") || r->depth > 0))
        return PFC_OK;
    code = pfc_yaml_want_sequence(y, list ? list : root, "benchmarks", err);
    while (!code && (v = fy_node_sequence_iterate(list, &prev)))
        code = read_entry(r, v, err);
    return code;
}

/* ---- public ---- */

static pfc_code parse(const char *text, size_t len, const char *name, bool on_disk, pfc_suite **out,
                      pfc_err *err)
{
    pfc_suite_reader r = { .settings = { .processes = 5,
                                         .min_samples = 25,
                                         .max_samples = 250,
                                         .max_seconds = 1.0,
                                         .warmup_seconds = 0.1,
                                         .interval_rel = 0.01,
                                         .launch_seconds = 120.0 } };
    pfc_code code;

    r.suite = pfc_alloc(sizeof(*r.suite));
    pfc_buf_init(&r.hashes, MAX_HASHES);
    code = pfc_suite_read_file(&r, name, on_disk, text, len, err);
    if (!code && r.suite->cases_len == 0)
        code = pfc_err_set(err, PFC_EINVAL, "%s: benchmarks: expected at least one", name);
    if (r.files_len == 1)
        pfc_sha256_hex(text, len, r.suite->hash);
    else
        pfc_sha256_hex(pfc_buf_text(&r.hashes), r.hashes.len, r.suite->hash);
    pfc_suite_reader_clear(&r);
    if (code) {
        pfc_suite_free(r.suite);
        return code;
    }
    *out = r.suite;
    return PFC_OK;
}

pfc_code pfc_suite_parse(const char *text, size_t len, const char *name, pfc_suite **out,
                         pfc_err *err)
{
    return parse(text, len, name, false, out, err);
}

static pfc_code no_such_suite(const char *name, pfc_err *err)
{
    const char *const *known = pfc_suite_builtin_names();
    pfc_buf names;

    pfc_buf_init(&names, 200);
    for (size_t i = 0; known[i]; i++)
        pfc_buf_printf(&names, "%s%s", i ? ", " : "", known[i]);
    pfc_err_set(err, PFC_ENOTFOUND,
                "suite '%.200s': neither a file nor a built-in suite (built in: %s)", name,
                pfc_buf_text(&names));
    pfc_buf_clear(&names);
    return PFC_ENOTFOUND;
}

pfc_code pfc_suite_load(const char *path_or_name, pfc_suite **out, pfc_err *err)
{
    const char *builtin = pfc_suite_builtin(path_or_name);
    char *text = NULL;
    size_t len = 0;
    pfc_code code;

    /* A name has no slash; a file of that name in the current folder is written ./quick. */
    if (builtin)
        return parse(builtin, strlen(builtin), path_or_name, false, out, err);
    if (!strchr(path_or_name, '/') && !pfc_fs_exists(path_or_name))
        return no_such_suite(path_or_name, err);
    code = pfc_fs_read(path_or_name, PFC_SUITE_MAX_BYTES, &text, &len, err);
    if (code)
        return code;
    code = parse(text, len, path_or_name, true, out, err);
    free(text);
    return code;
}

void pfc_suite_free(pfc_suite *suite)
{
    if (!suite)
        return;
    for (size_t i = 0; i < suite->cases_len; i++)
        pfc_case_clear(&suite->cases[i]);
    free(suite->cases);
    free(suite->name);
    free(suite);
}
