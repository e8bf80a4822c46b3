/* The points of the chosen series. */
#include <math.h>
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/repo/sql/chunks.h"
#include "server/services/plot/plot_priv.h"

static pfc_plot_member *member_of(const pfc_plot_candidates *candidates, pfc_plot_member *members,
                                  size_t len, int64_t id)
{
    size_t low = 0, high = len;

    while (low < high) { /* both are ordered by id */
        const size_t mid = low + (high - low) / 2;

        if (candidates->rows.items[members[mid].row].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return &members[low];
}

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Takes the results of a machine that had moved out of the points. */
static void take_moved(pfc_plot_member *m, const int64_t *runs, size_t len)
{
    pfc_packed_points *p = &m->points;
    size_t kept = 0;

    for (size_t i = 0; i < p->len; i++) {
        if (!bsearch(&p->items[i].run_id, runs, len, sizeof(*runs), by_id)) {
            p->items[kept++] = p->items[i];
            continue;
        }
        m->moved.items = pfc_grow(m->moved.items, m->moved.len, &m->moved.cap, sizeof(int64_t));
        m->moved.items[m->moved.len++] = p->items[i].position;
    }
    p->len = kept;
}

static pfc_code leave_moved_out(pfc_tx *tx, int64_t project_id, pfc_plot_member *members,
                                size_t len, pfc_err *err)
{
    int64_t low = INT64_MAX, high = 0, *runs;
    pfc_sql_window_infra_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < members[i].points.len; k++) {
            low = PFC_MIN(low, members[i].points.items[k].run_id);
            high = PFC_MAX(high, members[i].points.items[k].run_id);
        }
    }
    if (low > high)
        return PFC_OK;
    code = pfc_sql_window_infra(
        tx,
        &(pfc_sql_window_infra_args){ .project_id = project_id, .run_from = low, .run_to = high },
        &rows, err);
    if (!code && rows.len) {
        runs = pfc_calloc(rows.len, sizeof(*runs));
        for (size_t i = 0; i < rows.len; i++)
            runs[i] = rows.items[i].id;
        for (size_t i = 0; i < len; i++)
            take_moved(&members[i], runs, rows.len);
        free(runs);
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_plot_check_points(int64_t points, pfc_err *err)
{
    if (points <= PFC_PLOT_MAX_POINTS)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_ETOOBIG, "select",
                             "select: series with %lld points, expected at most %d",
                             (long long)points, PFC_PLOT_MAX_POINTS);
}

pfc_code pfc_plot_read_points(pfc_tx *tx, int64_t project_id, const char *branch,
                              const pfc_plot_candidates *candidates, pfc_plot_member *members,
                              size_t len, pfc_err *err)
{
    const pfc_window_bounds all = { .time_from = (double)NAN, .time_to = (double)NAN };
    int64_t *ids = pfc_calloc(len, sizeof(*ids));
    pfc_sql_plot_points_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        ids[i] = candidates->rows.items[members[i].row].id;
    code = pfc_sql_plot_points(
        tx,
        &(pfc_sql_plot_points_args){
            .project_id = project_id, .series_ids = ids, .series_ids_len = len, .branch = branch },
        &rows, err);
    free(ids);
    for (size_t i = 0; i < rows.len && !code; i++) {
        int64_t id = 0;

        code = pfc_parse_i64(rows.items[i].series, 1, INT64_MAX, "series", &id, err);
        if (!code)
            code = pfc_packed_append(rows.items[i].packed, &all,
                                     &member_of(candidates, members, len, id)->points, err);
    }
    pfc_rows_clear(&rows);
    for (size_t i = 0; i < len && !code; i++)
        pfc_packed_sort(&members[i].points);
    return code ? code : leave_moved_out(tx, project_id, members, len, err);
}

void pfc_plot_members_free(pfc_plot_member *members, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        free(members[i].points.items);
        free(members[i].moved.items);
    }
    free(members);
}
