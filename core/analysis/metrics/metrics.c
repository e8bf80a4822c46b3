/* Reads a file of metrics and evaluates it for a profile. */
#include "core/analysis/metrics/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/expr/expr.h"

typedef struct metric {
    char name[48];
    char unit[16];
    char title[80];
    pfc_expr *value, *peak, *achievable; /* the last two may be NULL */
} metric;

struct pfc_metrics {
    pfc_expr_defs defs;
    metric all[PFC_METRICS_MAX];
    size_t len;
};

static pfc_code read_metric(const pfc_expr_file *f, struct fy_node *node, pfc_metrics *m,
                            pfc_err *err)
{
    static const char *const known[] = { "name", "title",      "unit", "value",
                                         "peak", "achievable", NULL };
    metric *one = &m->all[m->len];
    pfc_code code = pfc_yaml_want_mapping(&f->yaml, node, "metrics", err);

    if (!code)
        code = pfc_yaml_known(&f->yaml, node, "metrics", known, err);
    if (!code)
        m->len++; /* what it holds is freed with the rest */
    if (!code)
        code = pfc_expr_text_member(f, node, "name", true, one->name, sizeof(one->name), err);
    for (size_t i = 0; i + 1 < m->len && !code; i++)
        if (strcmp(m->all[i].name, one->name) == 0)
            code = pfc_yaml_fault(&f->yaml, node, err, "metrics: \"%s\" is there twice", one->name);
    if (!code)
        code = pfc_expr_text_member(f, node, "title", true, one->title, sizeof(one->title), err);
    if (!code)
        code = pfc_expr_text_member(f, node, "unit", true, one->unit, sizeof(one->unit), err);
    if (!code)
        code = pfc_expr_member(f, node, "value", &m->defs, &one->value, err);
    if (!code && !one->value)
        code = pfc_yaml_fault(&f->yaml, node, err, "metrics: %s: expected the key \"value\"",
                              one->name);
    if (!code)
        code = pfc_expr_member(f, node, "peak", &m->defs, &one->peak, err);
    if (!code)
        code = pfc_expr_member(f, node, "achievable", &m->defs, &one->achievable, err);
    return code;
}

static pfc_code read_file(const pfc_expr_file *f, pfc_metrics *m, pfc_err *err)
{
    static const char *const known[] = { "definitions", "metrics", NULL };
    struct fy_node *list = pfc_yaml_get(f->root, "metrics");
    struct fy_node *node;
    void *prev = NULL;
    pfc_code code = pfc_yaml_known(&f->yaml, f->root, "the file", known, err);

    if (!code)
        code = pfc_expr_defs_read(f, &m->defs, err);
    if (!code)
        code = pfc_yaml_want_sequence(&f->yaml, list, "metrics", err);
    while (!code && (node = fy_node_sequence_iterate(list, &prev)) != NULL) {
        if (m->len == PFC_METRICS_MAX)
            return pfc_yaml_fault(&f->yaml, node, err, "metrics: expected at most %d",
                                  PFC_METRICS_MAX);
        code = read_metric(f, node, m, err);
    }
    return code;
}

/* Reads and closes a file whose opening ended with `opened`. */
static pfc_code finish(pfc_expr_file *f, pfc_code opened, pfc_metrics **out, pfc_err *err)
{
    pfc_metrics *m = pfc_calloc(1, sizeof(*m));
    pfc_code code = opened ? opened : read_file(f, m, err);

    pfc_expr_file_close(f);
    if (code)
        pfc_metrics_free(m);
    else
        *out = m;
    return code;
}

pfc_code pfc_metrics_load(const char *dir, const char *family, pfc_metrics **out, pfc_err *err)
{
    pfc_expr_file f;
    const pfc_code code = pfc_expr_file_open(&f, dir, family, err);

    return finish(&f, code, out, err);
}

pfc_code pfc_metrics_parse(const char *name, const char *text, size_t len, pfc_metrics **out,
                           pfc_err *err)
{
    pfc_expr_file f;
    const pfc_code code = pfc_expr_file_open_text(&f, name, text, len, err);

    return finish(&f, code, out, err);
}

void pfc_metrics_free(pfc_metrics *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->len; i++) {
        pfc_expr_free(m->all[i].value);
        pfc_expr_free(m->all[i].peak);
        pfc_expr_free(m->all[i].achievable);
    }
    pfc_expr_defs_clear(&m->defs);
    free(m);
}

static double number_or_nan(const pfc_expr *e, const pfc_expr_scope *scope)
{
    return e ? pfc_expr_eval(e, scope).number : (double)NAN;
}

size_t pfc_metrics_evaluate(const pfc_metrics *m, const pfc_profile *p,
                            pfc_metric_value out[PFC_METRICS_MAX])
{
    pfc_expr_scope scope;

    pfc_expr_scope_init(&scope, &m->defs, p);
    for (size_t i = 0; i < m->len; i++) {
        const metric *one = &m->all[i];
        const pfc_expr_result value = pfc_expr_eval(one->value, &scope);
        pfc_metric_value *v = &out[i];

        memset(v, 0, sizeof(*v));
        snprintf(v->name, sizeof(v->name), "%s", one->name);
        snprintf(v->unit, sizeof(v->unit), "%s", one->unit);
        snprintf(v->title, sizeof(v->title), "%s", one->title);
        v->available = value.available;
        pfc_expr_reason(&value, v->reason, sizeof(v->reason));
        v->value = value.number;
        v->peak = number_or_nan(one->peak, &scope);
        v->achievable = number_or_nan(one->achievable, &scope);
        v->share = v->peak > 0.0 ? v->value / v->peak : (double)NAN;
    }
    return m->len;
}

const pfc_metric_value *pfc_metric_find(const pfc_metric_value *values, size_t len,
                                        const char *name)
{
    for (size_t i = 0; i < len; i++)
        if (strcmp(values[i].name, name) == 0)
            return &values[i];
    return NULL;
}
