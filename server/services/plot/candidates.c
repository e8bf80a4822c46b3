/* The series among which an expression chooses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/services/plot/plot_priv.h"

const char *const pfc_plot_fields[] = { "benchmark",     "kernel", "metric", "backend",
                                        "machine_class", "unit",   NULL };

pfc_code pfc_plot_candidates_load(pfc_tx *tx, int64_t project_id, const char *branch,
                                  pfc_plot_candidates *out, pfc_err *err)
{
    pfc_plot_candidates c = { 0 };
    pfc_code code = pfc_sql_plot_candidates(
        tx,
        &(pfc_sql_plot_candidates_args){
            .project_id = project_id, .branch = branch, .limit = PFC_PLOT_MAX_CANDIDATES + 1 },
        &c.rows, err);

    if (code)
        return code;
    if (c.rows.len > PFC_PLOT_MAX_CANDIDATES) {
        pfc_rows_clear(&c.rows);
        return pfc_err_set(err, PFC_ETOOBIG, "plot: branch %s has over %d series, the limit",
                           branch, PFC_PLOT_MAX_CANDIDATES);
    }
    c.params = pfc_calloc(c.rows.len, sizeof(*c.params));
    c.parsed = pfc_calloc(c.rows.len, sizeof(*c.parsed));
    *out = c;
    return PFC_OK;
}

void pfc_plot_candidates_clear(pfc_plot_candidates *candidates)
{
    for (size_t i = 0; candidates->params && i < candidates->rows.len; i++)
        pfc_labels_clear(&candidates->params[i]);
    free(candidates->params);
    free(candidates->parsed);
    pfc_rows_clear(&candidates->rows);
    *candidates = (pfc_plot_candidates){ 0 };
}

const char *pfc_plot_field(pfc_plot_candidates *candidates, size_t row, const char *name)
{
    const pfc_plot_series *s = &candidates->rows.items[row];
    const struct {
        const char *name, *value;
    } own[] = {
        { "benchmark", s->benchmark },         { "metric", s->metric }, { "backend", s->backend },
        { "machine_class", s->machine_class }, { "unit", s->unit },
    };
    static _Thread_local char kernel[PFC_WIRE_MAX_NAME + 1];

    for (size_t i = 0; i < PFC_ARRAY_LEN(own); i++)
        if (strcmp(own[i].name, name) == 0)
            return own[i].value;
    if (strcmp(name, "kernel") == 0) {
        const size_t len = PFC_MIN(strcspn(s->benchmark, "/"), sizeof(kernel) - 1);

        memcpy(kernel, s->benchmark, len);
        kernel[len] = '\0';
        return kernel;
    }
    if (!candidates->parsed[row]) {
        /* Stored as labels: a text that is not JSON has none. */
        if (pfc_labels_parse(s->params_json, &candidates->params[row], NULL))
            pfc_labels_clear(&candidates->params[row]);
        candidates->parsed[row] = true;
    }
    return pfc_labels_get(&candidates->params[row], name);
}

typedef struct item {
    pfc_plot_candidates *candidates;
    size_t row;
    char text[3 * PFC_WIRE_MAX_NAME + 3];
} item;

static const char *value_of(void *into, const char *name)
{
    item *it = into;
    const pfc_plot_series *s = &it->candidates->rows.items[it->row];

    if (name)
        return pfc_plot_field(it->candidates, it->row, name);
    (void)snprintf(it->text, sizeof(it->text), "%s %s %s", s->benchmark, s->metric, s->backend);
    return it->text;
}

bool pfc_plot_selects(pfc_plot_candidates *candidates, size_t row, const pfc_select *select)
{
    item it = { .candidates = candidates, .row = row };

    return pfc_select_matches(select, value_of, &it);
}

static bool any_has(pfc_plot_candidates *c, const char *field)
{
    for (size_t i = 0; i < c->rows.len; i++)
        if (pfc_plot_field(c, i, field))
            return true;
    return false;
}

void pfc_plot_unknown(pfc_plot_candidates *candidates, const pfc_select *select, const char *more,
                      pfc_texts *out)
{
    const size_t terms = pfc_select_terms(select);

    out->items = pfc_calloc(terms + 1, sizeof(char *));
    for (size_t i = 0; i <= terms; i++) {
        const char *field = i < terms ? pfc_select_field(select, i) : more;

        if (field && !any_has(candidates, field))
            out->items[out->len++] = pfc_strdup(field);
    }
}
