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

/* One row of plot_points. */
typedef struct part {
    bool in_chunk;              /* it is a chunk */
    int64_t series_id, version; /* version: of a chunk */
    pfc_plot_chunk *chunk;      /* NULL: points that are in no chunk */
    pfc_bytes packed;           /* those */
} part;

static pfc_code parts_of(const pfc_sql_plot_points_rows *rows, part *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < rows->len && !code; i++) {
        const pfc_sql_plot_points_row *row = &rows->items[i];

        code = pfc_parse_i64(row->series, 1, INT64_MAX, "series", &out[i].series_id, err);
        out[i].packed = row->packed;
        out[i].in_chunk = row->version != NULL;
        if (!code && row->version) {
            code =
                pfc_parse_i64(row->version, INT64_MIN, INT64_MAX, "version", &out[i].version, err);
            out[i].chunk = code ? NULL : pfc_plot_chunk_find(out[i].series_id, out[i].version);
        }
    }
    return code;
}

/* Reads the chunks that are not in memory. The statement sees the same state as plot_points, and
 * answers in the same order. */
static pfc_code read_chunks(pfc_tx *tx, int64_t project_id, part *parts, size_t len, pfc_err *err)
{
    part **missing = pfc_calloc(len, sizeof(part *));
    int64_t *ids = pfc_calloc(len, sizeof(*ids)), *versions = pfc_calloc(len, sizeof(*versions));
    pfc_sql_plot_packed_rows rows = { 0 };
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len; i++) {
        if (!parts[i].in_chunk || parts[i].chunk)
            continue;
        ids[n] = parts[i].series_id;
        versions[n] = parts[i].version;
        missing[n++] = &parts[i];
    }
    if (n)
        code = pfc_sql_plot_packed(tx,
                                   &(pfc_sql_plot_packed_args){ .project_id = project_id,
                                                                .series_ids = ids,
                                                                .series_ids_len = n,
                                                                .versions = versions,
                                                                .versions_len = n },
                                   &rows, err);
    if (!code && rows.len != n)
        code = pfc_err_set(err, PFC_EBUG, "plot: %zu chunks, expected %zu", rows.len, n);
    for (size_t i = 0; i < n && !code; i++) {
        int64_t version = 0;

        code = pfc_parse_i64(rows.items[i].version, INT64_MIN, INT64_MAX, "version", &version, err);
        if (!code && version != versions[i])
            code = pfc_err_set(err, PFC_EBUG, "plot: chunk %lld, expected %lld", (long long)version,
                               (long long)versions[i]);
        if (!code)
            code = pfc_plot_chunk_unpack(ids[i], version, rows.items[i].packed, &missing[i]->chunk,
                                         err);
    }
    pfc_rows_clear(&rows);
    free(versions);
    free(ids);
    free(missing);
    return code;
}

pfc_code pfc_plot_read_points(pfc_tx *tx, int64_t project_id, const char *branch,
                              const pfc_plot_candidates *candidates, pfc_plot_member *members,
                              size_t len, pfc_err *err)
{
    const pfc_window_bounds all = { .time_from = (double)NAN, .time_to = (double)NAN };
    int64_t *ids = pfc_calloc(len, sizeof(*ids));
    pfc_sql_plot_points_rows rows = { 0 };
    part *parts = NULL;
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        ids[i] = candidates->rows.items[members[i].row].id;
    code = pfc_sql_plot_points(
        tx,
        &(pfc_sql_plot_points_args){
            .project_id = project_id, .series_ids = ids, .series_ids_len = len, .branch = branch },
        &rows, err);
    free(ids);
    if (!code) {
        parts = pfc_calloc(rows.len, sizeof(*parts));
        code = parts_of(&rows, parts, err);
    }
    if (!code)
        code = read_chunks(tx, project_id, parts, rows.len, err);
    for (size_t i = 0; i < rows.len && !code; i++) {
        pfc_packed_points *points =
            &member_of(candidates, members, len, parts[i].series_id)->points;

        if (parts[i].chunk)
            pfc_plot_chunk_append(parts[i].chunk, points);
        else
            code = pfc_packed_append(parts[i].packed, &all, points, err);
    }
    for (size_t i = 0; parts && i < rows.len; i++)
        pfc_plot_chunk_release(parts[i].chunk);
    free(parts);
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
