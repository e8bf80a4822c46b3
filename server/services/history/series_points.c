/*
 * A series as the detector sees it: its points in the branch's order, and where in that history a
 * change lies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/changepoint.h"
#include "server/services/internal.h"
#include "server/services/sessions/anchored.h"

/* Raw repeats make the verdict sharper, but reading them all for a very long series costs more than
 * they bring: there the medians alone decide. */
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

static void read_points(const pfc_res *res, pfc_history *h)
{
    const int commit = pfc_res_column(res, "commit_id"), sha = pfc_res_column(res, "sha");
    const int position = pfc_res_column(res, "position"), time = pfc_res_column(res, "time");
    const int median = pfc_res_column(res, "median"), samples = pfc_res_column(res, "samples");
    const int machine = pfc_res_column(res, "fingerprint_hash");
    const int name = pfc_res_column(res, "machine"), run = pfc_res_column(res, "run_id");

    h->len = pfc_res_rows(res);
    h->points = pfc_calloc(h->len, sizeof(*h->points));
    h->samples = pfc_calloc(h->len, sizeof(*h->samples));
    h->meta = pfc_calloc(h->len, sizeof(*h->meta));
    for (size_t i = 0; i < h->len; i++) {
        size_t n = 0;

        h->meta[i] = (pfc_point_meta){ .commit_id = pfc_res_i64(res, i, commit),
                                       .position = pfc_res_i64(res, i, position),
                                       .run_id = pfc_res_i64(res, i, run),
                                       .median = pfc_res_f64(res, i, median),
                                       .machine = pfc_res_text(res, i, name),
                                       .sha = pfc_res_text(res, i, sha) };
        pfc_res_f64s(res, i, samples, &h->samples[i], &n);
        h->points[i] = (pfc_point){
            .t = pfc_res_f64(res, i, time),
            .v = pfc_res_f64(res, i, median),
            .repeats = h->samples[i],
            .repeats_len = n,
            .machine_state = state_of(pfc_res_text(res, i, machine)),
        };
    }
}

pfc_code pfc_history_load(pfc_tx *tx, int64_t project_id, const pfc_judged *series, int64_t from,
                          pfc_history *out, pfc_err *err)
{
    pfc_args args = { 0 };
    int64_t size = 0;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, series->id);
    code = pfc_query_id(tx, "detect_size", &args, &size, err);
    if (code)
        return code;
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, series->id);
    pfc_args_text(&args, series->branch);
    pfc_args_bool(&args, size <= MAX_POINTS_WITH_SAMPLES);
    pfc_args_i64(&args, from);
    code = pfc_tx_query(tx, "detect_points", &args, &out->hold, err);
    if (!code)
        read_points(out->hold, out);
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
