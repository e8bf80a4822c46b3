/*
 * A window of one series: its points in commit order, or buckets of them, with the change points
 * and the boundaries where the machine changed.
 */
#include <math.h>

#include "core/wire/fingerprint.h"
#include "server/repo/sql/chunks.h"
#include "server/repo/sql/series.h"
#include "server/services/history/history.h"
#include "server/services/service.h"
#include "server/services/sessions/anchored.h"

#define MAX_POINTS     5000
#define DEFAULT_POINTS 2000

/* The first and the last of the runs, by number. */
static void run_span(const pfc_packed_points *points, int64_t *low, int64_t *high)
{
    *low = INT64_MAX;
    *high = 0;
    for (size_t i = 0; i < points->len; i++) {
        *low = PFC_MIN(*low, points->items[i].run_id);
        *high = PFC_MAX(*high, points->items[i].run_id);
    }
}

/* buckets NULL: each point of the window is one run. */
static pfc_code set_ratios(pfc_tx *tx, const pfc_series *series, const pfc_packed_points *points,
                           const pfc_bucket *buckets, pfc_window *w, pfc_err *err)
{
    const size_t n = buckets ? points->len : w->points.len;
    int64_t *runs = pfc_calloc(n + 1, sizeof(*runs));
    size_t *ends = pfc_calloc(w->points.len + 1, sizeof(*ends));
    pfc_code code;

    for (size_t i = 0; i < n; i++)
        runs[i] = buckets ? points->items[i].run_id : w->points.items[i].run_id;
    for (size_t i = 0; i < w->points.len; i++)
        ends[i] = buckets ? buckets[i].last + 1 : i + 1;
    code = pfc_anchored_window(tx, series, runs, ends, &w->points, err);
    free(ends);
    free(runs);
    return code;
}

static void take_points(pfc_sql_window_point_rows *rows, pfc_window_points *out)
{
    out->len = rows->len;
    out->items = pfc_calloc(rows->len, sizeof(*out->items));
    for (size_t i = 0; i < rows->len; i++) {
        const pfc_sql_window_point_row *row = &rows->items[i];

        out->items[i] = (pfc_window_point){ .position = row->position,
                                            .commit = row->commit,
                                            .subject = row->subject,
                                            .author = row->author,
                                            .time = row->time,
                                            .median = row->median,
                                            .low = row->low,
                                            .high = row->high,
                                            .min = row->min,
                                            .n = row->n,
                                            .run_id = row->run_id,
                                            .machine_id = row->machine_id,
                                            .fingerprint = row->fingerprint,
                                            .infra = row->infra,
                                            .session = row->session };
    }
    pfc_rows_keep_texts(rows, &out->hold);
}

static pfc_code load_plain(pfc_tx *tx, const pfc_series *series, const pfc_window_bounds *b,
                           const pfc_packed_points *points, pfc_window *w, pfc_err *err)
{
    int64_t low, high;
    pfc_sql_window_point_rows rows = { 0 };
    pfc_code code;

    if (points->len == 0)
        return PFC_OK;
    run_span(points, &low, &high);
    code = pfc_sql_window_points(tx,
                                 &(pfc_sql_window_points_args){
                                     .project_id = series->project_id,
                                     .series_id = series->id,
                                     .branch = series->branch,
                                     .position_from = b->position_from,
                                     .position_to = b->position_to,
                                     .time_from = b->time_from,
                                     .time_to = b->time_to,
                                     .stored_from = points->stored_from,
                                     .stored_until = points->stored_until,
                                     .run_from = low,
                                     .run_to = high,
                                 },
                                 &rows, err);
    if (code)
        return code;
    take_points(&rows, &w->points);
    return set_ratios(tx, series, points, NULL, w, err);
}

/* The runs that represent the buckets, with commits and machines, as points without values. */
static pfc_code load_runs(pfc_tx *tx, int64_t project_id, const pfc_packed_points *points,
                          const pfc_bucket *buckets, size_t len, pfc_window *w, pfc_err *err)
{
    int64_t *ids = pfc_calloc(len, sizeof(*ids));
    pfc_sql_window_point_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        ids[i] = points->items[buckets[i].last].run_id;
    code = pfc_sql_window_runs(
        tx,
        &(pfc_sql_window_runs_args){ .project_id = project_id, .run_ids = ids, .run_ids_len = len },
        &rows, err);
    free(ids);
    if (code)
        return code;
    take_points(&rows, &w->points);
    if (w->points.len != len)
        code = pfc_err_set(err, PFC_EBUG, "series: %zu of %zu runs are missing",
                           len - w->points.len, len);
    return code;
}

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* A bucket with one run of a machine that had moved is marked. */
static pfc_code mark_infra(pfc_tx *tx, int64_t project_id, const pfc_packed_points *points,
                           const pfc_bucket *buckets, pfc_window *w, pfc_err *err)
{
    int64_t low, high, *ids = NULL;
    pfc_sql_window_infra_rows rows = { 0 };
    size_t bucket = 0, n;
    pfc_code code;

    run_span(points, &low, &high);
    code = pfc_sql_window_infra(
        tx,
        &(pfc_sql_window_infra_args){ .project_id = project_id, .run_from = low, .run_to = high },
        &rows, err);
    n = code ? 0 : rows.len;
    if (n) {
        ids = pfc_calloc(n, sizeof(*ids));
        for (size_t i = 0; i < n; i++)
            ids[i] = rows.items[i].id;
        for (size_t i = 0; i < points->len; i++) {
            bucket += i > buckets[bucket].last;
            if (bsearch(&points->items[i].run_id, ids, n, sizeof(*ids), by_id))
                w->points.items[bucket].infra = true;
        }
        free(ids);
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code load_buckets(pfc_tx *tx, const pfc_series *series, const pfc_packed_points *points,
                             size_t len, pfc_window *w, pfc_err *err)
{
    pfc_bucket *buckets = pfc_calloc(len, sizeof(*buckets));
    pfc_code code;

    pfc_packed_buckets(points, buckets, len);
    code = load_runs(tx, series->project_id, points, buckets, len, w, err);
    for (size_t i = 0; i < len && !code; i++) {
        pfc_window_point *p = &w->points.items[i];

        p->position = points->items[buckets[i].last].position;
        p->median = buckets[i].median;
        p->low = buckets[i].low;
        p->high = buckets[i].high;
        p->min = buckets[i].min;
        p->n = buckets[i].n;
    }
    if (!code)
        code = mark_infra(tx, series->project_id, points, buckets, w, err);
    if (!code)
        code = set_ratios(tx, series, points, buckets, w, err);
    free(buckets);
    return code;
}

static pfc_code load_points(pfc_tx *tx, const pfc_series *series, const pfc_window_bounds *b,
                            size_t most, pfc_window *w, pfc_err *err)
{
    pfc_packed_points points = { 0 };
    pfc_code code =
        pfc_packed_load(tx, series->project_id, series->id, series->branch, b, &points, err);

    if (!code && points.len == 0)
        code = pfc_tx_behind(tx, err);
    if (code)
        return code;
    w->bucketed = points.len > most;
    code = w->bucketed ? load_buckets(tx, series, &points, most, w, err)
                       : load_plain(tx, series, b, &points, w, err);
    free(points.items);
    return code;
}

/* First point at or after the position. */
static int64_t index_of(const pfc_window_points *points, int64_t position)
{
    size_t low = 0, high = points->len;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (points->items[mid].position < position)
            low = mid + 1;
        else
            high = mid;
    }
    return (int64_t)low;
}

static pfc_window_change change_of(const pfc_sql_window_changes_row *row,
                                   const pfc_window_points *points)
{
    return (pfc_window_change){
        .id = row->id,
        .position = row->position,
        .position_low = row->position_low,
        .position_high = row->position_high,
        .commit = row->commit,
        .commit_low = row->commit_low,
        .commit_high = row->commit_high,
        .before = row->before,
        .after = row->after,
        .rel_change = row->rel_change,
        .rel_low = row->rel_low,
        .rel_high = row->rel_high,
        .p = row->p,
        .regression = row->regression,
        .confirmed = row->confirmed,
        .alertable = row->alertable,
        .alert_id = row->alert_id,
        .withheld = row->withheld,
        .withheld_detail = row->withheld_detail_json,
        .blocks = row->blocks_json,
        .index = index_of(points, row->position),
        .index_low = index_of(points, row->position_low),
        .index_high = PFC_MIN(index_of(points, row->position_high), (int64_t)points->len - 1),
    };
}

static pfc_code load_changes(pfc_tx *tx, const pfc_series *series, pfc_window *w, pfc_err *err)
{
    pfc_sql_window_changes_rows rows = { 0 };
    const pfc_window_points *points = &w->points;
    pfc_window_changes *changes = &w->changes;
    pfc_code code = pfc_sql_window_changes(
        tx,
        &(pfc_sql_window_changes_args){
            .project_id = series->project_id, .series_id = series->id, .branch = series->branch },
        &rows, err);

    if (code)
        return code;
    changes->items = pfc_calloc(rows.len, sizeof(*changes->items));
    for (size_t i = 0; i < rows.len && points->len; i++) {
        if (rows.items[i].position >= points->items[0].position &&
            rows.items[i].position <= points->items[points->len - 1].position)
            changes->items[changes->len++] = change_of(&rows.items[i], points);
    }
    pfc_rows_keep_texts(&rows, &changes->hold);
    return PFC_OK;
}

/* Fingerprints of the machines in the window, by machine. */
typedef struct fingerprints {
    int64_t *ids;
    pfc_labels *pairs;
    size_t len;
} fingerprints;

static const pfc_labels *fingerprint_of(const fingerprints *f, int64_t id)
{
    static const pfc_labels none = { 0 };

    for (size_t i = 0; i < f->len; i++) {
        if (f->ids[i] == id)
            return &f->pairs[i];
    }
    return &none;
}

static pfc_code load_fingerprints(pfc_tx *tx, const pfc_window *w, fingerprints *f, pfc_err *err)
{
    int64_t *wanted = pfc_calloc(w->points.len, sizeof(*wanted));
    size_t n = 0;
    pfc_sql_machine_fingerprints_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < w->points.len; i++) {
        int64_t id = w->points.items[i].machine_id;

        if (n == 0 || wanted[n - 1] != id) /* a machine seldom changes from point to point */
            wanted[n++] = id;
    }
    code = pfc_sql_machine_fingerprints(
        tx, &(pfc_sql_machine_fingerprints_args){ .machine_ids = wanted, .machine_ids_len = n },
        &rows, err);
    free(wanted);
    if (code)
        return code;
    f->ids = pfc_calloc(rows.len, sizeof(*f->ids));
    f->pairs = pfc_calloc(rows.len, sizeof(*f->pairs));
    for (size_t i = 0; !code && i < rows.len; i++) {
        f->ids[i] = rows.items[i].id;
        code = pfc_labels_parse(rows.items[i].fingerprint_json, &f->pairs[i], err);
        f->len++;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code find_boundaries(pfc_tx *tx, pfc_window *w, pfc_err *err)
{
    fingerprints f = { 0 };
    size_t cap = 0;
    pfc_code code = load_fingerprints(tx, w, &f, err);

    for (size_t i = 1; !code && i < w->points.len; i++) {
        const pfc_window_point *a = &w->points.items[i - 1], *b = &w->points.items[i];
        pfc_window_boundary edge = { .index = i };

        if (pfc_streq(a->fingerprint, b->fingerprint))
            continue;
        pfc_fingerprint_diff(fingerprint_of(&f, a->machine_id), fingerprint_of(&f, b->machine_id),
                             PFC_FINGERPRINT_VALUES, &edge.fields, &edge.fields_len);
        if (edge.fields_len == 0)
            continue; /* the same in other words */
        w->boundaries = pfc_grow(w->boundaries, w->boundaries_len, &cap, sizeof(edge));
        w->boundaries[w->boundaries_len++] = edge;
    }
    for (size_t i = 0; i < f.len; i++)
        pfc_labels_clear(&f.pairs[i]);
    free(f.pairs);
    free(f.ids);
    return code;
}

/* The input and the result of one read transaction. */
typedef struct reading {
    const pfc_window_opts *opts;
    size_t points;
    pfc_window *w;
} reading;

static pfc_code read_window(pfc_tx *tx, void *into, pfc_err *err)
{
    const reading *r = into;
    pfc_window_bounds b;
    pfc_series_rows known = r->w->series;
    const pfc_series *series = &known.items[0];
    pfc_code code;

    r->w->series = (pfc_series_rows){ 0 };
    pfc_window_clear(r->w);
    r->w->series = known;
    code = pfc_window_bounds_read(tx, series->project_id, series->branch, r->opts->from,
                                  r->opts->to, &b, err);
    if (!code)
        code = load_points(tx, series, &b, r->points, r->w, err);
    if (!code)
        code = pfc_window_reproduced(tx, series, r->w, err);
    if (!code)
        code =
            pfc_sql_window_hidden(tx,
                                  &(pfc_sql_window_hidden_args){ .project_id = series->project_id,
                                                                 .series_id = series->id },
                                  &r->w->hidden, err);
    if (!code)
        code = load_changes(tx, series, r->w, err);
    if (!code)
        code = find_boundaries(tx, r->w, err);
    return code;
}

pfc_code pfc_series_window(pfc_db *db, int64_t series_id, const pfc_window_opts *opts,
                           pfc_window *out, pfc_err *err)
{
    int points = opts->points ? opts->points : DEFAULT_POINTS;
    pfc_window w = { 0 };
    reading r = { .opts = opts, .points = (size_t)points, .w = &w };
    pfc_code code;

    if (points < 1 || points > MAX_POINTS)
        return pfc_err_set_field(err, PFC_EINVAL, "points", "points: expected 1 to %d, got %d",
                                 MAX_POINTS, points);
    code = pfc_series_get(db, series_id, &w.series, err);
    if (!code)
        code = pfc_db_read(db, read_window, &r, err);
    if (code)
        pfc_window_clear(&w);
    else
        *out = w;
    return code;
}

void pfc_window_clear(pfc_window *window)
{
    for (size_t i = 0; i < window->boundaries_len; i++)
        pfc_texts_free(window->boundaries[i].fields, window->boundaries[i].fields_len);
    free(window->boundaries);
    pfc_rows_clear(&window->series);
    pfc_rows_clear(&window->points);
    pfc_rows_clear(&window->changes);
    memset(window, 0, sizeof(*window));
}
