/* From shapes to benchmarks: lists, combinations and ranges, named groups. */
#include <stdlib.h>
#include <string.h>

#include "bench/suite/reader.h"
#include "core/base/parse.h"

static bool same_settings(const pfc_case_settings *a, const pfc_case_settings *b)
{
    return a->processes == b->processes && a->min_samples == b->min_samples &&
           a->max_samples == b->max_samples && !(a->max_seconds < b->max_seconds) &&
           !(a->max_seconds > b->max_seconds) && !(a->warmup_seconds < b->warmup_seconds) &&
           !(a->warmup_seconds > b->warmup_seconds) && !(a->interval_rel < b->interval_rel) &&
           !(a->interval_rel > b->interval_rel) && !(a->launch_seconds < b->launch_seconds) &&
           !(a->launch_seconds > b->launch_seconds);
}

static bool same_backends(const pfc_case *c, const pfc_suite_entry *e)
{
    if (c->backends_len != e->backends_len)
        return false;
    for (size_t i = 0; i < c->backends_len; i++) {
        if (strcmp(c->backends[i], e->backends[i]) != 0)
            return false;
    }
    return true;
}

/* Models share shapes and generators meet hand-written ones: that is no fault as long as both want
 * the same of it. By hand twice is a slip, and two wishes for one benchmark a contradiction. */
static pfc_code already_there(const pfc_suite_reader *r, const pfc_suite_entry *e,
                              struct fy_node *at, const pfc_case *c, pfc_err *err)
{
    if (!e->generated)
        return pfc_yaml_fault(&r->file->yaml, at, err, "benchmarks: %s is named twice, first at %s",
                              c->name, c->where);
    if (c->headline == e->headline && same_settings(&c->settings, &e->settings) &&
        same_backends(c, e))
        return PFC_OK;
    return pfc_yaml_fault(&r->file->yaml, at, err,
                          "benchmarks: %s is there already, from %s, with other backends, settings "
                          "or headline",
                          c->name, c->where);
}

/* Every include on the way must let the name through. */
static bool passes(const pfc_suite_reader *r, const char *name)
{
    for (const pfc_suite_filter *f = r->filter; f; f = f->outer) {
        bool any = f->benchmarks_len == 0;

        for (size_t i = 0; i < f->benchmarks_len; i++) {
            if (pfc_suite_glob(f->benchmarks[i], name))
                any = f->matched[i] = true;
        }
        if (!any)
            return false;
    }
    return true;
}

static pfc_code append_case(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *at,
                            const int64_t *params, char *name, pfc_err *err)
{
    pfc_suite *suite = r->suite;
    pfc_case *c;

    if (suite->cases_len == PFC_SUITE_MAX_CASES) {
        free(name);
        return pfc_yaml_fault(&r->file->yaml, at, err, "benchmarks: more than %d",
                              PFC_SUITE_MAX_CASES);
    }
    suite->cases = pfc_grow(suite->cases, suite->cases_len, &suite->cases_cap, sizeof(*c));
    c = &suite->cases[suite->cases_len++];
    *c = (pfc_case){ .name = name,
                     .op = e->op,
                     .headline = e->headline,
                     .backends_len = e->backends_len,
                     .settings = e->settings,
                     .where = pfc_format("%s:%d", r->file->path, pfc_yaml_line(at)) };
    c->program = e->program ? pfc_strdup(e->program) : NULL;
    c->schedule = e->schedule ? pfc_strdup(e->schedule) : NULL;
    memcpy(c->dtype, e->dtype, sizeof(c->dtype));
    memcpy(c->params, params, sizeof(c->params));
    c->backends = pfc_calloc(e->backends_len, sizeof(*c->backends));
    for (size_t i = 0; i < e->backends_len; i++)
        c->backends[i] = pfc_strdup(e->backends[i]);
    return PFC_OK;
}

pfc_code pfc_suite_add_case(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *at,
                            const int64_t *params, pfc_err *err)
{
    const pfc_suite *suite = r->suite;
    const char *why = e->op->fault ? e->op->fault(params) : NULL;
    char *name = NULL;
    pfc_code code = PFC_OK;

    if (why)
        return pfc_yaml_fault(&r->file->yaml, at, err, "%s", why);
    name = pfc_case_own_name(e->op, e->dtype, params, e->program, e->schedule);
    if (!passes(r, name)) {
        free(name);
        return PFC_OK;
    }
    for (size_t i = 0; i < suite->cases_len; i++) {
        if (strcmp(suite->cases[i].name, name) != 0)
            continue;
        code = already_there(r, e, at, &suite->cases[i], err);
        free(name);
        return code;
    }
    return append_case(r, e, at, params, name, err);
}

void pfc_suite_param_names(const pfc_op *op, const char *const *more,
                           const char *names[PFC_OP_MAX_PARAMS + 8])
{
    size_t n = 0;

    for (; n < op->params_len; n++)
        names[n] = op->params[n].name;
    while (more && *more)
        names[n++] = *more++;
    names[n] = NULL;
}

pfc_code pfc_suite_read_param(const pfc_suite_reader *r, const pfc_op_param *p,
                              struct fy_node *value, int64_t *out, pfc_err *err)
{
    size_t len = 0;
    const char *text = value && fy_node_is_scalar(value) ? fy_node_get_scalar(value, &len) : NULL;

    /* Switches read better as true and false. */
    if (p->min == 0 && p->max == 1 && text && (len == 4 || len == 5) && text[0] != '0' &&
        text[0] != '1') {
        bool on = false;
        pfc_code code = pfc_yaml_bool(&r->file->yaml, value, p->name, &on, err);
        if (!code)
            *out = on ? 1 : 0;
        return code;
    }
    return pfc_yaml_i64(&r->file->yaml, value, p->name, p->min, p->max, out, err);
}

/* {m: 64, n: 64, k: 64} */
static pfc_code add_shape(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                          pfc_err *err)
{
    int64_t params[PFC_OP_MAX_PARAMS] = { 0 };
    const char *names[PFC_OP_MAX_PARAMS + 8];
    const pfc_yaml *y = &r->file->yaml;
    pfc_code code = pfc_yaml_want_mapping(y, node, "shape", err);

    pfc_suite_param_names(e->op, NULL, names);
    if (!code)
        code = pfc_yaml_known(y, node, e->op->name, names, err);
    for (size_t i = 0; !code && i < e->op->params_len; i++) {
        const pfc_op_param *p = &e->op->params[i];
        struct fy_node *value = pfc_yaml_get(node, p->name);
        params[i] = p->fallback;
        if (value)
            code = pfc_suite_read_param(r, p, value, &params[i], err);
        else if (p->fallback < 0)
            code = pfc_yaml_fault(y, node, err, "%s: shape lacks '%s'", e->op->name, p->name);
    }
    return code ? code : pfc_suite_add_case(r, e, node, params, err);
}

pfc_code pfc_suite_add_shapes(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *list,
                              pfc_err *err)
{
    void *prev = NULL;
    struct fy_node *item;
    pfc_code code = pfc_yaml_want_sequence(&r->file->yaml, list, "shapes", err);

    while (!code && (item = fy_node_sequence_iterate(list, &prev)))
        code = add_shape(r, e, item, err);
    return code;
}

/* ---- combinations ---- */

/* The values of one parameter in a `cross`. */
typedef struct axis {
    int64_t *values; /* owned */
    size_t len;
} axis;

static pfc_code axis_add(const pfc_suite_reader *r, struct fy_node *at, axis *a, int64_t value,
                         pfc_err *err)
{
    if (a->len == PFC_SUITE_MAX_CASES)
        return pfc_yaml_fault(&r->file->yaml, at, err, "cross: expected 1..%d combinations",
                              PFC_SUITE_MAX_CASES);
    if (!a->values)
        a->values = pfc_calloc(PFC_SUITE_MAX_CASES, sizeof(*a->values));
    a->values[a->len++] = value;
    return PFC_OK;
}

/* "x2" multiplies, "64" adds. */
static pfc_code read_step(const pfc_suite_reader *r, struct fy_node *node, int64_t *add,
                          int64_t *times, pfc_err *err)
{
    char *text = NULL;
    pfc_err inner = { 0 };
    pfc_code code = pfc_yaml_text(&r->file->yaml, node, "step", 20, &text, err);

    if (code)
        return code;
    *add = 0;
    *times = 1;
    if (text[0] == 'x')
        code = pfc_parse_i64(text + 1, 2, 1 << 16, "step", times, &inner);
    else
        code = pfc_parse_i64(text, 1, 1 << 20, "step", add, &inner);
    if (code)
        code = pfc_yaml_fault(
            &r->file->yaml, node, err,
            "step: expected a number to add, such as 64, or a factor, such as x2, got "
            "'%s'",
            text);
    free(text);
    return code;
}

/* {from: 64, to: 4096, step: x2}: both ends count; the last value is the largest not above `to`. */
static pfc_code axis_range(const pfc_suite_reader *r, const pfc_op_param *p, struct fy_node *node,
                           axis *a, pfc_err *err)
{
    static const char *const known[] = { "from", "to", "step", NULL };
    const pfc_yaml *y = &r->file->yaml;
    struct fy_node *ends[] = { pfc_yaml_get(node, "from"), pfc_yaml_get(node, "to") };
    struct fy_node *step = pfc_yaml_get(node, "step");
    int64_t from = 0;
    int64_t to = 0;
    int64_t add = 1;
    int64_t times = 1;
    pfc_code code = pfc_yaml_known(y, node, p->name, known, err);

    if (!code && (!ends[0] || !ends[1]))
        code = pfc_yaml_fault(y, node, err, "%s: expected 'from' and 'to' in a range", p->name);
    if (!code)
        code = pfc_suite_read_param(r, p, ends[0], &from, err);
    if (!code)
        code = pfc_suite_read_param(r, p, ends[1], &to, err);
    if (!code && step)
        code = read_step(r, step, &add, &times, err);
    if (!code && from > to)
        code = pfc_yaml_fault(y, node, err, "%s: the range ends at %lld, before its start %lld",
                              p->name, (long long)to, (long long)from);
    if (!code && times > 1 && from == 0)
        code =
            pfc_yaml_fault(y, node, err, "%s: a range that multiplies cannot start at 0", p->name);
    for (int64_t v = from; !code && v <= to; v = v * times + add)
        code = axis_add(r, node, a, v, err);
    return code;
}

/* A number, a list of numbers, or a range. */
static pfc_code read_axis(const pfc_suite_reader *r, const pfc_op_param *p, struct fy_node *node,
                          axis *a, pfc_err *err)
{
    void *prev = NULL;
    struct fy_node *item;
    int64_t value = 0;
    pfc_code code = PFC_OK;

    if (fy_node_is_mapping(node))
        return axis_range(r, p, node, a, err);
    if (fy_node_is_scalar(node)) {
        code = pfc_suite_read_param(r, p, node, &value, err);
        return code ? code : axis_add(r, node, a, value, err);
    }
    while (!code && (item = fy_node_sequence_iterate(node, &prev))) {
        code = pfc_suite_read_param(r, p, item, &value, err);
        for (size_t i = 0; !code && i < a->len; i++) {
            if (a->values[i] == value)
                code = pfc_yaml_fault(&r->file->yaml, item, err, "%s: %lld is named twice", p->name,
                                      (long long)value);
        }
        if (!code)
            code = axis_add(r, item, a, value, err);
    }
    return code;
}

static pfc_code read_axes(const pfc_suite_reader *r, const pfc_op *op, struct fy_node *node,
                          axis *axes, size_t *total, pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    pfc_code code = PFC_OK;

    *total = 1;
    for (size_t i = 0; !code && i < op->params_len; i++) {
        struct fy_node *value = pfc_yaml_get(node, op->params[i].name);

        if (value)
            code = read_axis(r, &op->params[i], value, &axes[i], err);
        else if (op->params[i].fallback < 0)
            code = pfc_yaml_fault(y, node, err, "cross: lacks '%s'", op->params[i].name);
        else
            code = axis_add(r, node, &axes[i], op->params[i].fallback, err);
        if (code)
            return code;
        *total *= axes[i].len;
        if (*total == 0 || *total > PFC_SUITE_MAX_CASES)
            code = pfc_yaml_fault(y, node, err, "cross: expected 1..%d combinations",
                                  PFC_SUITE_MAX_CASES);
    }
    return code;
}

/* {m: [1, 8], n: 4096, k: {from: 256, to: 4096, step: x2}}: every combination, the last parameter
 * fastest. */
pfc_code pfc_suite_add_cross(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                             pfc_err *err)
{
    const pfc_op *op = e->op;
    const char *names[PFC_OP_MAX_PARAMS + 8];
    axis axes[PFC_OP_MAX_PARAMS] = { { NULL, 0 } };
    size_t total = 0;
    pfc_code code = pfc_yaml_want_mapping(&r->file->yaml, node, "cross", err);

    pfc_suite_param_names(op, NULL, names);
    if (!code)
        code = pfc_yaml_known(&r->file->yaml, node, op->name, names, err);
    if (!code)
        code = read_axes(r, op, node, axes, &total, err);
    for (size_t n = 0; !code && n < total; n++) {
        int64_t params[PFC_OP_MAX_PARAMS] = { 0 };
        size_t rest = n;

        for (size_t i = op->params_len; i-- > 0;) {
            params[i] = axes[i].values[rest % axes[i].len];
            rest /= axes[i].len;
        }
        code = pfc_suite_add_case(r, e, node, params, err);
    }
    for (size_t i = 0; i < PFC_OP_MAX_PARAMS; i++)
        free(axes[i].values);
    return code;
}

/* group: llama-7b, a list of shapes named under `groups`, here or in an included file. */
pfc_code pfc_suite_add_group(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                             pfc_err *err)
{
    pfc_suite_file *here = r->file;
    char *name = NULL;
    pfc_code code = pfc_yaml_text(&here->yaml, node, "group", 64, &name, err);

    if (code)
        return code;
    for (size_t i = 0; i < r->files_len; i++) {
        pfc_suite_file *file = r->files[i];
        struct fy_node *list = file->groups ? pfc_yaml_get(file->groups, name) : NULL;

        if (!list)
            continue;
        r->file = file; /* whatever is wrong with a shape is wrong there */
        code = pfc_suite_add_shapes(r, e, list, err);
        r->file = here;
        free(name);
        return code;
    }
    code = pfc_yaml_fault(&here->yaml, node, err, "group: no '%s' under groups", name);
    free(name);
    return code;
}
