/* The fields of the series and their values. */
#include <stdlib.h>
#include <string.h>

#include "core/select/select.h"
#include "server/services/plot/plot.h"

static pfc_plot_name *name_at(pfc_plot_names *names, const char *name)
{
    for (size_t i = 0; i < names->len; i++)
        if (strcmp(names->items[i].name, name) == 0)
            return &names->items[i];
    if (names->len == PFC_PLOT_MAX_NAMES)
        return NULL;
    names->items = pfc_grow(names->items, names->len, &names->cap, sizeof(*names->items));
    names->items[names->len] = (pfc_plot_name){ .name = pfc_strdup(name), .numeric = true };
    return &names->items[names->len++];
}

/* Series come in the order in which they began, so that neighbours mostly have the same values. */
static void add(pfc_plot_names *names, const char *name, const char *value)
{
    pfc_plot_name *n = name_at(names, name);
    double number;

    if (!n)
        return;
    n->series++;
    for (size_t i = n->len; i-- > 0;) {
        if (strcmp(n->values[i].text, value) == 0) {
            n->values[i].series++;
            return;
        }
    }
    n->numeric &= pfc_select_number(value, &number);
    if (n->len == PFC_PLOT_MAX_VALUES) {
        n->left_out++;
        return;
    }
    n->values = pfc_grow(n->values, n->len, &n->cap, sizeof(*n->values));
    n->values[n->len++] = (pfc_plot_value){ .text = pfc_strdup(value), .series = 1 };
}

static int by_value(const void *a, const void *b)
{
    const pfc_plot_value *x = a, *y = b;
    double p = 0, q = 0;
    const bool xn = pfc_select_number(x->text, &p), yn = pfc_select_number(y->text, &q);

    if (xn != yn)
        return xn ? -1 : 1;
    return xn && p != q ? (p > q) - (p < q) : strcmp(x->text, y->text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const pfc_plot_name *)a)->name, ((const pfc_plot_name *)b)->name);
}

static void collect(pfc_plot_candidates *c, pfc_plot_names *names)
{
    size_t own = 0;

    names->series = c->rows.len;
    for (size_t i = 0; i < c->rows.len; i++) {
        for (size_t f = 0; pfc_plot_fields[f]; f++)
            add(names, pfc_plot_fields[f], pfc_plot_field(c, i, pfc_plot_fields[f]));
        (void)pfc_plot_field(c, i, "");
        for (size_t p = 0; p < c->params[i].len; p++)
            add(names, c->params[i].items[p].name, c->params[i].items[p].value);
    }
    while (pfc_plot_fields[own])
        own++;
    if (names->len > own)
        qsort(names->items + own, names->len - own, sizeof(*names->items), by_name);
    for (size_t i = 0; i < names->len; i++)
        qsort(names->items[i].values, names->items[i].len, sizeof(pfc_plot_value), by_value);
}

typedef struct reading {
    int64_t project_id;
    const char *branch;
    pfc_plot_candidates *candidates;
} reading;

static pfc_code read_candidates(pfc_tx *tx, void *into, pfc_err *err)
{
    const reading *r = into;

    pfc_plot_candidates_clear(r->candidates);
    return pfc_plot_candidates_load(tx, r->project_id, r->branch, r->candidates, err);
}

pfc_code pfc_plot_names_read(pfc_db *db, int64_t project_id, const char *branch,
                             pfc_plot_names *out, pfc_err *err)
{
    pfc_plot_candidates candidates = { 0 };
    reading r = { .project_id = project_id, .branch = branch, .candidates = &candidates };
    pfc_code code = pfc_db_read(db, read_candidates, &r, err);

    memset(out, 0, sizeof(*out));
    if (!code)
        collect(&candidates, out);
    pfc_plot_candidates_clear(&candidates);
    return code;
}

void pfc_plot_names_clear(pfc_plot_names *names)
{
    for (size_t i = 0; i < names->len; i++) {
        for (size_t k = 0; k < names->items[i].len; k++)
            free(names->items[i].values[k].text);
        free(names->items[i].values);
        free(names->items[i].name);
    }
    free(names->items);
    *names = (pfc_plot_names){ 0 };
}
