/*
 * Reads a series for the detector: its points in the branch's order, and the place of a change
 * in that history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/changepoint.h"
#include "server/repo/sql/jobs.h"
#include "server/services/detect/detect.h"
#include "server/services/sessions/anchored.h"

/* Raw repeats make the verdict more precise, but reading them for a very long series is too
 * slow: there only the medians are used. */
#define MAX_POINTS_WITH_SAMPLES 50000

void pfc_history_clear(pfc_history *h)
{
    for (size_t i = 0; i < h->len; i++)
        free(h->samples[i]);
    free(h->samples);
    free(h->points);
    free(h->meta);
    pfc_res_free(h->hold);
    memset(h, 0, sizeof(*h));
}

static uint64_t state_of(const char *fingerprint_hash)
{
    char head[17];

    (void)snprintf(head, sizeof(head), "%.16s", fingerprint_hash);
    return strtoull(head, NULL, 16);
}

static void read_points(const pfc_sql_detect_points_rows *rows, pfc_history *h)
{
    h->len = rows->len;
    h->points = pfc_calloc(h->len, sizeof(*h->points));
    h->samples = pfc_calloc(h->len, sizeof(*h->samples));
    h->meta = pfc_calloc(h->len, sizeof(*h->meta));
    for (size_t i = 0; i < h->len; i++) {
        const pfc_sql_detect_points_row *row = &rows->items[i];
        size_t n = 0;

        h->meta[i] = (pfc_point_meta){ .commit_id = row->commit_id,
                                       .position = row->position,
                                       .run_id = row->run_id,
                                       .median = row->median,
                                       .machine = row->machine,
                                       .sha = row->sha };
        pfc_array_f64s(row->samples, &h->samples[i], &n);
        h->points[i] = (pfc_point){
            .t = row->time,
            .v = row->median,
            .repeats = h->samples[i],
            .repeats_len = n,
            .machine_state = state_of(row->fingerprint_hash),
        };
    }
}

pfc_code pfc_history_load(pfc_tx *tx, int64_t project_id, const pfc_judged *series, int64_t from,
                          pfc_history *out, pfc_err *err)
{
    pfc_sql_detect_points_rows rows = { 0 };
    int64_t size = 0;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    code = pfc_sql_detect_size(
        tx, &(pfc_sql_detect_size_args){ .project_id = project_id, .series_id = series->id }, &size,
        err);
    if (code)
        return code;
    code = pfc_sql_detect_points(
        tx,
        &(pfc_sql_detect_points_args){ .project_id = project_id,
                                       .series_id = series->id,
                                       .branch = series->branch,
                                       .with_samples = size <= MAX_POINTS_WITH_SAMPLES,
                                       .position_from = from },
        &rows, err);
    if (!code)
        read_points(&rows, out);
    pfc_rows_keep_texts(&rows, &out->hold);
    return code ? code : pfc_anchored_history(tx, project_id, series, out, err);
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
