/* A commit against its first parent. */
#include "server/services/history/against_parent.h"

#include <string.h>

#include "server/services/history/compare.h"

pfc_code pfc_compare_parent(pfc_db *db, int64_t project_id, const pfc_commit_row *commit,
                            bool *measured, pfc_comparison *out, pfc_err *err)
{
    pfc_texts parents = { 0 };
    pfc_err why = { 0 };
    pfc_code code = PFC_OK;

    pfc_array_texts(commit->parents, &parents);
    memset(out, 0, sizeof(*out));
    *measured = false;
    if (parents.len)
        code = pfc_compare_commits(db, project_id, parents.items[0], commit->sha, out, &why);
    if (code == PFC_ENOTFOUND) /* the history begins here: the parent was never sent */
        code = PFC_OK;
    else if (code && err)
        *err = why;
    *measured = !code && out->rows_len > 0;
    pfc_texts_clear(&parents);
    return code;
}

static int compare_names(const pfc_compare_row *row, const pfc_commit_value *v)
{
    int order = strcmp(row->benchmark, v->benchmark);

    if (!order)
        order = strcmp(row->metric, v->metric);
    return order ? order : strcmp(row->backend, v->backend);
}

const pfc_compare_row *pfc_comparison_row(const pfc_comparison *c, const pfc_commit_value *value)
{
    size_t low = 0, high = c->rows_len;

    while (low < high) { /* rows are sorted by these names, in the order of bytes */
        const size_t mid = low + (high - low) / 2;
        const int order = compare_names(&c->rows[mid], value);

        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    /* Within a name the classes come in no order. */
    for (; low < c->rows_len && compare_names(&c->rows[low], value) == 0; low++) {
        if (pfc_streq(c->rows[low].machine_class, value->machine_class))
            return &c->rows[low];
    }
    return NULL;
}
