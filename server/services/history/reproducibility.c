/* How far the results of a series were reproduced (migration 0049 has the rule). */
#include <stdlib.h>

#include "server/repo/sql/series.h"
#include "server/services/history/history.h"

const char *pfc_reproducibility(bool exact, bool confirmed)
{
    return exact ? "exact" : confirmed ? "confirmed" : "single";
}

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The runs of commits that several runs measured: no other run can be confirmed. */
static size_t measured_again(const pfc_window_points *points, int64_t *ids)
{
    size_t n = 0;

    for (size_t i = 0; i < points->len; i++) {
        const int64_t position = points->items[i].position;

        if ((i > 0 && points->items[i - 1].position == position) ||
            (i + 1 < points->len && points->items[i + 1].position == position))
            ids[n++] = points->items[i].run_id;
    }
    return n;
}

static void set_class(const pfc_window_points *points, bool exact, const int64_t *confirmed,
                      size_t len)
{
    for (size_t i = 0; i < points->len; i++) {
        const int64_t *found =
            len ? bsearch(&points->items[i].run_id, confirmed, len, sizeof(*confirmed), by_id)
                : NULL;

        points->items[i].reproducibility = pfc_reproducibility(exact, found != NULL);
    }
}

pfc_code pfc_window_reproduced(pfc_tx *tx, const pfc_series *series, pfc_window *w, pfc_err *err)
{
    int64_t *ids;
    size_t n;
    pfc_sql_window_confirmed_rows rows = { 0 };
    pfc_code code = PFC_OK;

    if (w->bucketed && !series->exact)
        return PFC_OK;
    ids = pfc_calloc(w->points.len + 1, sizeof(*ids));
    n = series->exact ? 0 : measured_again(&w->points, ids);
    if (n)
        code = pfc_sql_window_confirmed(tx,
                                        &(pfc_sql_window_confirmed_args){
                                            .project_id = series->project_id,
                                            .series_id = series->id,
                                            .run_ids = ids,
                                            .run_ids_len = n,
                                        },
                                        &rows, err);
    for (size_t i = 0; i < rows.len; i++)
        ids[i] = rows.items[i].id;
    if (!code)
        set_class(&w->points, series->exact, ids, rows.len);
    pfc_rows_clear(&rows);
    free(ids);
    return code;
}
