/*
 * Reads series for the detector: their points in the branch's order, and the place of a change in
 * that history. Series of one suite were measured by the same runs, so that what a point has from
 * its run is read once for all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/changepoint.h"
#include "server/repo/sql/judging.h"
#include "server/services/detect/detect.h"
#include "server/services/sessions/anchored.h"

void pfc_history_clear(pfc_history *h)
{
    free(h->repeats);
    free(h->points);
    free(h->meta);
    memset(h, 0, sizeof(*h));
}

void pfc_histories_clear(pfc_histories *all)
{
    for (size_t i = 0; i < all->len; i++)
        pfc_history_clear(&all->items[i]);
    free(all->items);
    pfc_res_free(all->hold);
    memset(all, 0, sizeof(*all));
}

static uint64_t state_of(const char *fingerprint_hash)
{
    char head[17];

    (void)snprintf(head, sizeof(head), "%.16s", fingerprint_hash);
    return strtoull(head, NULL, 16);
}

/* ---- the runs ---- */

int pfc_by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* A run, and its number in the order of the points. */
typedef struct place {
    int64_t run_id;
    size_t nth;
} place;

typedef struct runs {
    pfc_sql_history_runs_rows rows; /* in the order of the points */
    uint64_t *states;               /* of their machines */
    place *places;                  /* the same, by run_id */
} runs;

static int by_run(const void *a, const void *b)
{
    return pfc_by_number(&((const place *)a)->run_id, &((const place *)b)->run_id);
}

/* The runs of the measurements, each once. */
static int64_t *runs_of(const pfc_sql_history_measured_rows *measured, size_t *len)
{
    int64_t *ids = pfc_calloc(measured->len + 1, sizeof(*ids));
    size_t n = 0;

    for (size_t i = 0; i < measured->len; i++)
        ids[i] = measured->items[i].run_id;
    qsort(ids, measured->len, sizeof(*ids), pfc_by_number);
    for (size_t i = 0; i < measured->len; i++) {
        if (n == 0 || ids[n - 1] != ids[i])
            ids[n++] = ids[i];
    }
    *len = n;
    return ids;
}

static pfc_code read_runs(pfc_tx *tx, int64_t project_id, const char *branch, int64_t from,
                          const pfc_sql_history_measured_rows *measured, runs *out, pfc_err *err)
{
    size_t ids_len = 0;
    int64_t *ids = runs_of(measured, &ids_len);
    pfc_code code = pfc_sql_history_runs(tx,
                                         &(pfc_sql_history_runs_args){ .project_id = project_id,
                                                                       .branch = branch,
                                                                       .run_ids = ids,
                                                                       .run_ids_len = ids_len,
                                                                       .position_from = from },
                                         &out->rows, err);

    free(ids);
    out->states = pfc_calloc(out->rows.len + 1, sizeof(*out->states));
    out->places = pfc_calloc(out->rows.len + 1, sizeof(*out->places));
    for (size_t i = 0; i < out->rows.len; i++) {
        out->states[i] = state_of(out->rows.items[i].fingerprint_hash);
        out->places[i] = (place){ out->rows.items[i].id, i };
    }
    qsort(out->places, out->rows.len, sizeof(*out->places), by_run);
    return code;
}

static void runs_clear(runs *r)
{
    pfc_rows_clear(&r->rows);
    free(r->states);
    free(r->places);
}

/* ---- the points ---- */

/* A measurement that is a point: its run's number, and its row. */
typedef struct measured {
    size_t nth;
    const pfc_sql_history_measured_row *row;
} measured;

static int by_nth(const void *a, const void *b)
{
    const measured *x = a, *y = b;

    return x->nth != y->nth ? (x->nth > y->nth) - (x->nth < y->nth)
                            : (x->row > y->row) - (x->row < y->row);
}

static void make_history(const measured *items, size_t len, const runs *r, bool with_samples,
                         pfc_history *h)
{
    size_t repeats = 0, used = 0;

    for (size_t i = 0; with_samples && i < len; i++)
        repeats += pfc_bytes_f64s_len(items[i].row->samples);
    h->len = len;
    h->points = pfc_calloc(len, sizeof(*h->points));
    h->repeats = pfc_calloc(repeats, sizeof(*h->repeats));
    h->meta = pfc_calloc(len, sizeof(*h->meta));
    for (size_t i = 0; i < len; i++) {
        const pfc_sql_history_runs_row *run = &r->rows.items[items[i].nth];
        const pfc_sql_history_measured_row *row = items[i].row;
        size_t n = 0;

        h->meta[i] = (pfc_point_meta){ .commit_id = run->commit_id,
                                       .position = run->position,
                                       .run_id = run->id,
                                       .median = row->median,
                                       .machine = run->machine,
                                       .sha = run->sha };
        if (with_samples)
            n = pfc_bytes_f64s(row->samples, h->repeats + used, repeats - used);
        h->points[i] = (pfc_point){ .t = run->time,
                                    .v = row->median,
                                    .repeats = n ? h->repeats + used : NULL,
                                    .repeats_len = n,
                                    .machine_state = r->states[items[i].nth] };
        used += n;
    }
}

/* The points of the measurements items[0..n) of one series that are wanted. */
static size_t find_points(const pfc_sql_history_measured_row *const *items, size_t n, const runs *r,
                          const pfc_history_wanted *wanted, measured *out)
{
    size_t len = 0;
    bool sorted = true;

    for (size_t i = 0; i < n; i++) {
        const place key = { .run_id = items[i]->run_id };
        const place *at = bsearch(&key, r->places, r->rows.len, sizeof(*r->places), by_run);

        if (!at || r->rows.items[at->nth].position < wanted->from ||
            (wanted->to && r->rows.items[at->nth].position > wanted->to))
            continue;
        sorted = sorted && (len == 0 || out[len - 1].nth <= at->nth);
        out[len++] = (measured){ at->nth, items[i] };
    }
    if (!sorted)
        qsort(out, len, sizeof(*out), by_nth);
    return len;
}

/* *again: a series was read without its samples, and they are needed. */
static void make_histories(const pfc_history_wanted *wanted, const bool *with_samples, size_t len,
                           const pfc_sql_history_measured_rows *rows, const runs *r,
                           pfc_histories *out, bool *again)
{
    size_t *ends = pfc_calloc(len + 2, sizeof(*ends)); /* of the rows of each series */
    const pfc_sql_history_measured_row **sorted = pfc_calloc(rows->len + 1, sizeof(*sorted));
    measured *points = pfc_calloc(rows->len + 1, sizeof(*points));

    for (size_t i = 0; i < rows->len; i++)
        ends[rows->items[i].nth + 1]++;
    for (size_t i = 1; i < len + 2; i++)
        ends[i] += ends[i - 1];
    for (size_t i = 0; i < rows->len; i++)
        sorted[ends[rows->items[i].nth]++] = &rows->items[i];
    out->len = len;
    out->items = pfc_calloc(len + 1, sizeof(*out->items));
    for (size_t i = 0; i < len; i++) {
        const size_t n =
            find_points(sorted + ends[i], ends[i + 1] - ends[i], r, &wanted[i], points);
        const bool samples = wanted[i].before + n <= PFC_POINTS_WITH_SAMPLES;

        *again = *again || (samples && !with_samples[i]);
        make_history(points, n, r, samples, &out->items[i]);
    }
    free(points);
    free(sorted);
    free(ends);
}

/* No point that is wanted is of a run with a higher number. While runs wait to be judged, most of
 * what their series have is of later runs, which would be read for nothing. */
static pfc_code find_last_run(pfc_tx *tx, int64_t project_id, const pfc_history_wanted *wanted,
                              size_t len, int64_t *out, pfc_err *err)
{
    const pfc_judged *first = wanted[0].series;
    int64_t to = 0;

    *out = INT64_MAX;
    for (size_t i = 0; i < len; i++)
        to = PFC_MAX(to, wanted[i].to);
    if (to == 0 || first->runs_len == 0)
        return PFC_OK;
    return pfc_sql_history_last_run(
        tx,
        &(pfc_sql_history_last_run_args){ .project_id = project_id,
                                          .branch = first->branch,
                                          .run_id = first->runs[first->runs_len - 1],
                                          .position_to = to },
        out, err);
}

static pfc_code read_histories(pfc_tx *tx, int64_t project_id, const pfc_history_wanted *wanted,
                               const bool *with_samples, size_t len, pfc_histories *out,
                               bool *again, pfc_err *err)
{
    pfc_sql_history_measured_rows rows = { 0 };
    runs r = { 0 };
    int64_t *ids = pfc_calloc(len + 1, sizeof(*ids)), from = INT64_MAX, last_run;
    int64_t *runs_from = pfc_calloc(len + 1, sizeof(*runs_from));
    int64_t *runs_to = pfc_calloc(len + 1, sizeof(*runs_to));
    pfc_code code = find_last_run(tx, project_id, wanted, len, &last_run, err);

    for (size_t i = 0; i < len; i++) {
        ids[i] = wanted[i].series->id;
        runs_from[i] = wanted[i].from_run;
        runs_to[i] = wanted[i].to ? last_run : INT64_MAX;
        from = PFC_MIN(from, wanted[i].from);
    }
    if (!code)
        code =
            pfc_sql_history_measured(tx,
                                     &(pfc_sql_history_measured_args){ .project_id = project_id,
                                                                       .series_ids = ids,
                                                                       .series_ids_len = len,
                                                                       .runs_from = runs_from,
                                                                       .runs_from_len = len,
                                                                       .runs_to = runs_to,
                                                                       .runs_to_len = len,
                                                                       .with_samples = with_samples,
                                                                       .with_samples_len = len },
                                     &rows, err);
    if (!code)
        code = read_runs(tx, project_id, wanted[0].series->branch, from, &rows, &r, err);
    if (!code)
        make_histories(wanted, with_samples, len, &rows, &r, out, again);
    pfc_rows_keep_texts(&r.rows, &out->hold);
    runs_clear(&r);
    pfc_rows_clear(&rows);
    free(runs_to);
    free(runs_from);
    free(ids);
    return code;
}

pfc_code pfc_histories_load(pfc_tx *tx, int64_t project_id, const pfc_history_wanted *wanted,
                            size_t len, pfc_histories *out, pfc_err *err)
{
    bool *with_samples = pfc_calloc(len + 1, sizeof(*with_samples)), again = false;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < len; i++)
        with_samples[i] = wanted[i].expected <= PFC_POINTS_WITH_SAMPLES;
    code = read_histories(tx, project_id, wanted, with_samples, len, out, &again, err);
    if (!code && again) {
        pfc_histories_clear(out);
        memset(with_samples, true, len);
        code = read_histories(tx, project_id, wanted, with_samples, len, out, &again, err);
    }
    free(with_samples);
    for (size_t i = 0; !code && i < len; i++) {
        if (wanted[i].anchored)
            code = pfc_anchored_history(tx, project_id, wanted[i].series, &out->items[i], err);
    }
    return code;
}

pfc_code pfc_history_load(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                          pfc_histories *out, pfc_err *err)
{
    pfc_history_wanted wanted = { .series = series, .anchored = true };
    int64_t size = 0;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    code = pfc_sql_history_size(
        tx, &(pfc_sql_history_size_args){ .project_id = project_id, .series_id = series->id },
        &size, err);
    wanted.expected = (size_t)size;
    return code ? code : pfc_histories_load(tx, project_id, &wanted, 1, out, err);
}

/* A step cannot lie between two runs of one commit: it is moved to the nearer edge of that commit's
 * points, to the one that leaves fewer of them on the wrong side. n: past the last point. */
static size_t snap(const pfc_history *h, size_t index)
{
    size_t first = index, end = index;

    while (first > 0 && h->meta[first - 1].position == h->meta[index].position)
        first--;
    while (end < h->len && h->meta[end].position == h->meta[index].position)
        end++;
    if (first == index)
        return index;
    return end - index >= index - first ? first : end;
}

bool pfc_history_place(const pfc_history *h, const pfc_change *c, pfc_place *out)
{
    size_t index = snap(h, c->index), low = PFC_MIN(c->index_low, index);

    if (index >= h->len)
        return false;
    out->index = index;
    out->high_index = PFC_MIN(PFC_MAX(c->index_high, index), h->len - 1);
    out->position = h->meta[index].position;
    /* Commits between the last good point and the first bad one were not measured: suspects too. */
    out->low = low ? h->meta[low - 1].position + 1 : h->meta[low].position;
    out->low = PFC_MIN(out->low, out->position);
    out->high = h->meta[out->high_index].position;
    return true;
}
