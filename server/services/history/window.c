/*
 * A window of one series: its points in commit order, or buckets of them, with the change points and
 * the boundaries where the machine changed.
 */
#include <math.h>

#include "core/base/parse.h"
#include "server/repo/rows.h"
#include "server/services/internal.h"
#include "server/services/sessions/anchored.h"

#define MAX_POINTS     5000
#define DEFAULT_POINTS 2000

static const pfc_col point_cols[] = {
    PFC_COL(pfc_window_point, position, "position", I64),
    PFC_COL(pfc_window_point, commit, "commit", TEXT),
    PFC_COL(pfc_window_point, subject, "subject", TEXT),
    PFC_COL(pfc_window_point, author, "author", TEXT),
    PFC_COL(pfc_window_point, time, "time", F64),
    PFC_COL(pfc_window_point, median, "median", F64),
    PFC_COL(pfc_window_point, low, "low", F64),
    PFC_COL(pfc_window_point, high, "high", F64),
    PFC_COL(pfc_window_point, min, "min", F64),
    PFC_COL(pfc_window_point, n, "n", I64),
    PFC_COL(pfc_window_point, run_id, "run_id", I64),
    PFC_COL(pfc_window_point, machine_id, "machine_id", I64),
    PFC_COL(pfc_window_point, fingerprint, "fingerprint", TEXT),
    PFC_COL(pfc_window_point, infra, "infra", BOOL),
    PFC_COL(pfc_window_point, session, "session", TEXT),
};
static const pfc_shape point_shape = PFC_SHAPE(point_cols, pfc_window_point);

static const pfc_col change_cols[] = {
    PFC_COL(pfc_window_change, id, "id", I64),
    PFC_COL(pfc_window_change, position, "position", I64),
    PFC_COL(pfc_window_change, position_low, "position_low", I64),
    PFC_COL(pfc_window_change, position_high, "position_high", I64),
    PFC_COL(pfc_window_change, commit, "commit", TEXT),
    PFC_COL(pfc_window_change, commit_low, "commit_low", TEXT),
    PFC_COL(pfc_window_change, commit_high, "commit_high", TEXT),
    PFC_COL(pfc_window_change, before, "before", F64),
    PFC_COL(pfc_window_change, after, "after", F64),
    PFC_COL(pfc_window_change, rel_change, "rel_change", F64),
    PFC_COL(pfc_window_change, rel_low, "rel_low", F64),
    PFC_COL(pfc_window_change, rel_high, "rel_high", F64),
    PFC_COL(pfc_window_change, p, "p", F64),
    PFC_COL(pfc_window_change, regression, "regression", BOOL),
    PFC_COL(pfc_window_change, confirmed, "confirmed", BOOL),
    PFC_COL(pfc_window_change, firm, "firm", BOOL),
    PFC_COL(pfc_window_change, alert_id, "alert_id", I64),
    PFC_COL(pfc_window_change, withheld, "withheld", TEXT),
    PFC_COL(pfc_window_change, withheld_detail, "withheld_detail", TEXT),
    PFC_COL(pfc_window_change, blocks, "blocks", TEXT),
    PFC_COL(pfc_window_change, index, "index", I64),
    PFC_COL(pfc_window_change, index_low, "index_low", I64),
    PFC_COL(pfc_window_change, index_high, "index_high", I64),
};
static const pfc_shape change_shape = PFC_SHAPE(change_cols, pfc_window_change);

/* "Unix seconds or a commit id": at most 11 decimal digits are seconds. */
static pfc_code read_bound(pfc_tx *tx, const pfc_series *series, const char *text,
                           const char *field, int64_t *position, double *time, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    if (!text)
        return PFC_OK;
    if (strspn(text, "0123456789.-") == strlen(text) && strlen(text) <= 18 &&
        strspn(text, "0123456789") <= 11 &&
        pfc_parse_double(text, -1e11, 1e11, field, time, NULL) == PFC_OK)
        return PFC_OK;
    if (!pfc_is_hex_id(text))
        return pfc_err_set_field(err, PFC_EINVAL, field, "%s: expected Unix seconds or a commit id",
                                 field);
    pfc_args_i64(&args, series->project_id);
    pfc_args_text(&args, series->branch);
    pfc_args_text(&args, text);
    code = pfc_tx_query(tx, "commit_position", &args, &res, err);
    if (!code && pfc_res_rows(res) > 1)
        code = pfc_err_set_field(err, PFC_EINVAL, field, "%s: \"%s\" fits several commits", field,
                                 text);
    if (!code) {
        *position = pfc_res_rows(res) == 1 ? pfc_res_i64(res, 0, 0) : 0;
        if (!*position)
            code = pfc_err_set_field(err, PFC_ENOTFOUND, field,
                                     "%s: no commit \"%s\" on the line of %s", field, text,
                                     series->branch);
    }
    pfc_res_free(res);
    return code;
}

/* Ends of one sort that are the wrong way round are a mistake, not an empty window. */
static pfc_code check_order(const pfc_window_bounds *b, pfc_err *err)
{
    if (b->time_from > b->time_to ||
        (b->position_from && b->position_to && b->position_from > b->position_to))
        return pfc_err_set_field(err, PFC_EINVAL, "to", "to: lies before from");
    return PFC_OK;
}

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

static pfc_code load_plain(pfc_tx *tx, const pfc_series *series, const pfc_window_bounds *b,
                           const pfc_packed_points *points, pfc_window *w, pfc_err *err)
{
    int64_t low, high;
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    if (points->len == 0)
        return PFC_OK;
    pfc_args_i64(&args, series->project_id);
    pfc_args_i64(&args, series->id);
    pfc_args_text(&args, series->branch);
    pfc_args_id(&args, b->position_from);
    pfc_args_id(&args, b->position_to);
    pfc_args_f64(&args, b->time_from);
    pfc_args_f64(&args, b->time_to);
    pfc_args_text(&args, points->stored_from);
    pfc_args_text(&args, points->stored_until);
    run_span(points, &low, &high);
    pfc_args_i64(&args, low);
    pfc_args_i64(&args, high);
    code = pfc_rows_query(tx, "window_points", &args, &point_shape, NULL, &rows, err);
    if (code)
        return code;
    PFC_ROWS_INTO(&w->points, rows);
    return set_ratios(tx, series, points, NULL, w, err);
}

/* The runs that stand for the buckets, with their commits and machines, as points without figures. */
static pfc_code load_runs(pfc_tx *tx, int64_t project_id, const pfc_packed_points *points,
                          const pfc_bucket *buckets, size_t len, pfc_window *w, pfc_err *err)
{
    int64_t *ids = pfc_calloc(len, sizeof(*ids));
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        ids[i] = points->items[buckets[i].last].run_id;
    pfc_args_i64(&args, project_id);
    pfc_args_i64s(&args, ids, len);
    free(ids);
    code = pfc_rows_query(tx, "window_runs", &args, &point_shape, NULL, &rows, err);
    if (code)
        return code;
    PFC_ROWS_INTO(&w->points, rows);
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
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    size_t bucket = 0, n;
    pfc_code code;

    run_span(points, &low, &high);
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, low);
    pfc_args_i64(&args, high);
    code = pfc_tx_query(tx, "window_infra", &args, &res, err);
    n = code ? 0 : pfc_res_rows(res);
    if (n) {
        ids = pfc_calloc(n, sizeof(*ids));
        for (size_t i = 0; i < n; i++)
            ids[i] = pfc_res_i64(res, i, 0);
        for (size_t i = 0; i < points->len; i++) {
            bucket += i > buckets[bucket].last;
            if (bsearch(&points->items[i].run_id, ids, n, sizeof(*ids), by_id))
                w->points.items[bucket].infra = true;
        }
        free(ids);
    }
    pfc_res_free(res);
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

static pfc_code load_changes(pfc_tx *tx, const pfc_series *series, pfc_window *w, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    size_t kept = 0;
    pfc_code code;

    pfc_args_i64(&args, series->project_id);
    pfc_args_i64(&args, series->id);
    pfc_args_text(&args, series->branch);
    code = pfc_rows_query(tx, "window_changes", &args, &change_shape, NULL, &rows, err);
    if (code)
        return code;
    PFC_ROWS_INTO(&w->changes, rows);
    for (size_t i = 0; i < w->changes.len; i++) {
        pfc_window_change c = w->changes.items[i];

        if (w->points.len == 0 || c.position < w->points.items[0].position ||
            c.position > w->points.items[w->points.len - 1].position)
            continue;
        c.index = index_of(&w->points, c.position);
        c.index_low = index_of(&w->points, c.position_low);
        c.index_high = index_of(&w->points, c.position_high);
        c.index_high = PFC_MIN(c.index_high, (int64_t)w->points.len - 1);
        w->changes.items[kept++] = c;
    }
    w->changes.len = kept;
    return PFC_OK;
}

/* Fingerprints of the machines in the window, by machine. */
typedef struct fingerprints {
    int64_t *ids;
    pfc_pairs *pairs;
    size_t len;
} fingerprints;

static const pfc_pairs *fingerprint_of(const fingerprints *f, int64_t id)
{
    static const pfc_pairs none = { 0 };

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
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    for (size_t i = 0; i < w->points.len; i++) {
        int64_t id = w->points.items[i].machine_id;

        if (n == 0 || wanted[n - 1] != id) /* a machine seldom changes from point to point */
            wanted[n++] = id;
    }
    pfc_args_i64s(&args, wanted, n);
    free(wanted);
    code = pfc_tx_query(tx, "machine_fingerprints", &args, &res, err);
    if (code)
        return code;
    f->ids = pfc_calloc(pfc_res_rows(res), sizeof(*f->ids));
    f->pairs = pfc_calloc(pfc_res_rows(res), sizeof(*f->pairs));
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        f->ids[i] = pfc_res_i64(res, i, 0);
        code = pfc_pairs_parse(pfc_res_text(res, i, 1), &f->pairs[i], err);
        f->len++;
    }
    pfc_res_free(res);
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
        pfc_pairs_clear(&f.pairs[i]);
    free(f.pairs);
    free(f.ids);
    return code;
}

/* What one snapshot gives. */
typedef struct reading {
    const pfc_window_opts *opts;
    size_t points;
    pfc_window *w;
} reading;

static pfc_code read_window(pfc_tx *tx, void *into, pfc_err *err)
{
    const reading *r = into;
    pfc_window_bounds b = { .time_from = (double)NAN, .time_to = (double)NAN };
    pfc_series_rows known = r->w->series;
    const pfc_series *series = &known.items[0];
    pfc_code code;

    r->w->series = (pfc_series_rows){ 0 };
    pfc_window_clear(r->w);
    r->w->series = known;
    code = read_bound(tx, series, r->opts->from, "from", &b.position_from, &b.time_from, err);
    if (!code)
        code = read_bound(tx, series, r->opts->to, "to", &b.position_to, &b.time_to, err);
    if (!code)
        code = check_order(&b, err);
    if (!code)
        code = load_points(tx, series, &b, r->points, r->w, err);
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
