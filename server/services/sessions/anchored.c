/*
 * Ratios to the anchor, read: see anchored.h.
 */
#include "server/repo/sql/anchored.h"

#include <math.h>
#include <stdlib.h>

#include "server/services/detect/detect.h"
#include "server/services/history/history.h"
#include "server/services/sessions/anchored.h"

/* ---- reading ---- */

static pfc_code load_current(pfc_tx *tx, int64_t project_id, int64_t series_id, pfc_anchored *out,
                             int64_t *anchor_id, pfc_err *err)
{
    pfc_sql_anchored_current_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_anchored_current(
        tx, &(pfc_sql_anchored_current_args){ .project_id = project_id, .series_id = series_id },
        &rows, err);
    if (!code && rows.len) {
        *anchor_id = rows.items[0].anchor_id;
        (void)snprintf(out->anchor, sizeof(out->anchor), "%s", rows.items[0].anchor);
        out->level = rows.items[0].level;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code load_joints(pfc_tx *tx, int64_t project_id, int64_t series_id, int64_t current,
                            pfc_joined **out, size_t *len, pfc_err *err)
{
    pfc_joint *joints;
    pfc_sql_anchored_joints_rows rows = { 0 };
    size_t n;
    pfc_code code;

    code = pfc_sql_anchored_joints(tx,
                                   &(pfc_sql_anchored_joints_args){ .project_id = project_id,
                                                                    .series_id = series_id,
                                                                    .limit = PFC_JOINTS_MAX },
                                   &rows, err);
    if (code)
        return code;
    n = rows.len;
    joints = pfc_calloc(n + 1, sizeof(*joints));
    for (size_t i = 0; i < n; i++)
        joints[i] = (pfc_joint){ rows.items[i].anchor_id, rows.items[i].commit_id,
                                 rows.items[i].log_ratio, rows.items[i].log_se };
    pfc_joints_resolve(joints, n, current, out, len);
    free(joints);
    pfc_rows_clear(&rows);
    return PFC_OK;
}

static const pfc_joined *find_joined(const pfc_joined *joined, size_t len, int64_t anchor)
{
    for (size_t i = 0; i < len; i++) {
        if (joined[i].anchor == anchor)
            return &joined[i];
    }
    return NULL;
}

static void take_runs(const pfc_sql_anchored_runs_rows *rows, const pfc_joined *joined,
                      size_t joined_len, pfc_anchored *out)
{
    const pfc_joined *at = NULL;

    out->runs = pfc_calloc(rows->len + 1, sizeof(*out->runs));
    for (size_t i = 0; i < rows->len; i++) {
        const int64_t anchor = rows->items[i].anchor_id;

        if (!at || at->anchor != anchor) /* seldom: the anchor stays for months */
            at = find_joined(joined, joined_len, anchor);
        if (at)
            out->runs[out->len++] =
                (pfc_anchored_run){ .run_id = rows->items[i].run_id,
                                    .log_ratio = rows->items[i].log_ratio + at->log_ratio,
                                    .log_se = hypot(rows->items[i].log_se, at->log_se),
                                    .own = rows->items[i].log_se == 0 };
    }
}

pfc_code pfc_anchored_load(pfc_tx *tx, int64_t project_id, int64_t series_id, int64_t run_from,
                           int64_t run_to, pfc_anchored *out, pfc_err *err)
{
    pfc_joined *joined = NULL;
    size_t joined_len = 0;
    int64_t current = 0;
    pfc_sql_anchored_runs_rows rows = { 0 };
    pfc_code code;

    *out = (pfc_anchored){ .level = (double)NAN };
    code = load_current(tx, project_id, series_id, out, &current, err);
    if (code || !current)
        return code;
    code = load_joints(tx, project_id, series_id, current, &joined, &joined_len, err);
    if (!code)
        code = pfc_sql_anchored_runs(tx,
                                     &(pfc_sql_anchored_runs_args){ .project_id = project_id,
                                                                    .series_id = series_id,
                                                                    .run_from = run_from,
                                                                    .run_to = run_to },
                                     &rows, err);
    if (!code)
        take_runs(&rows, joined, joined_len, out);
    pfc_rows_clear(&rows);
    free(joined);
    return code;
}

void pfc_anchored_clear(pfc_anchored *anchored)
{
    free(anchored->runs);
    *anchored = (pfc_anchored){ .level = (double)NAN };
}

static int by_run(const void *key, const void *item)
{
    const int64_t run = *(const int64_t *)key, other = ((const pfc_anchored_run *)item)->run_id;

    return (run > other) - (run < other);
}

const pfc_anchored_run *pfc_anchored_find(const pfc_anchored *anchored, int64_t run_id)
{
    return anchored->len
               ? bsearch(&run_id, anchored->runs, anchored->len, sizeof(*anchored->runs), by_run)
               : NULL;
}

/* ---- a history ---- */

/* Is it a run of an anchor that has a newer one at the same commit? */
static bool superseded(const pfc_anchored *a, const pfc_history *h, size_t i)
{
    const pfc_anchored_run *run = pfc_anchored_find(a, h->meta[i].run_id);

    for (size_t k = i + 1; run && run->own && k < h->len; k++) {
        const pfc_anchored_run *other;

        if (h->meta[k].commit_id != h->meta[i].commit_id)
            break;
        other = pfc_anchored_find(a, h->meta[k].run_id);
        if (other && other->own)
            return true;
    }
    return false;
}

static void apply(const pfc_anchored *a, pfc_history *h)
{
    size_t kept = 0;

    for (size_t i = 0; i < h->len; i++) {
        const pfc_anchored_run *run = pfc_anchored_find(a, h->meta[i].run_id);

        h->points[i].repeats = NULL;
        h->points[i].repeats_len = 0;
        if (run)
            h->points[i].v = a->level * exp(run->log_ratio);
        if (superseded(a, h, i))
            continue;
        h->points[kept] = h->points[i];
        h->meta[kept++] = h->meta[i];
    }
    h->len = kept;
}

pfc_code pfc_anchored_history(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                              pfc_history *h, pfc_err *err)
{
    pfc_anchored a = { 0 };
    pfc_code code = PFC_OK;

    if (series->exact || series->canary || h->len == 0)
        return PFC_OK;
    code = pfc_anchored_load(tx, project_id, series->id, 0, INT64_MAX, &a, err);
    h->anchored = !code && a.len && a.level > 0;
    if (h->anchored)
        apply(&a, h);
    pfc_anchored_clear(&a);
    return code;
}

/* ---- a window ---- */

/* Points [from, to) of the series, which are one point of the window. */
static void set_ratio(const pfc_anchored *a, const int64_t *run_ids, size_t from, size_t to,
                      double *ratios, pfc_window_point *p)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++) {
        const pfc_anchored_run *run = pfc_anchored_find(a, run_ids[i]);
        double half;

        if (!run)
            continue;
        half = PFC_ANCHORED_Z * run->log_se;
        ratios[n] = exp(run->log_ratio);
        p->ratio_low =
            n ? fmin(p->ratio_low, exp(run->log_ratio - half)) : exp(run->log_ratio - half);
        p->ratio_high =
            n ? fmax(p->ratio_high, exp(run->log_ratio + half)) : exp(run->log_ratio + half);
        n++;
    }
    if (n)
        p->ratio = pfc_stats_median(ratios, n);
}

pfc_code pfc_anchored_window(pfc_tx *tx, const pfc_series *series, const int64_t *run_ids,
                             const size_t *ends, pfc_window_points *points, pfc_err *err)
{
    const size_t n = points->len ? ends[points->len - 1] : 0;
    pfc_anchored a = { 0 };
    int64_t low = INT64_MAX, high = 0;
    double *ratios;
    pfc_code code;

    for (size_t i = 0; i < points->len; i++)
        points->items[i].ratio = points->items[i].ratio_low = points->items[i].ratio_high =
            (double)NAN;
    if (n == 0 || !series->anchor)
        return PFC_OK;
    for (size_t i = 0; i < n; i++) {
        low = PFC_MIN(low, run_ids[i]);
        high = PFC_MAX(high, run_ids[i]);
    }
    code = pfc_anchored_load(tx, series->project_id, series->id, low, high, &a, err);
    ratios = pfc_calloc(n, sizeof(*ratios));
    for (size_t i = 0, from = 0; !code && i < points->len; from = ends[i++])
        set_ratio(&a, run_ids, from, ends[i], ratios, &points->items[i]);
    free(ratios);
    pfc_anchored_clear(&a);
    return code;
}
