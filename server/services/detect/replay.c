/*
 * Replays the stored history with another configuration of the detector, and compares the changes
 * found with the states that people have set on alerts. Reads only.
 */
#include "server/repo/sql/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/changepoint/changepoint.h"
#include "core/changepoint/fdr.h"
#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"

static pfc_replayed describe(const pfc_history *h, const pfc_judged *series, const pfc_change *c,
                             const pfc_place *at)
{
    pfc_replayed r = { .series_id = series->id,
                       .position = at->position,
                       .position_low = at->low,
                       .position_high = at->high,
                       .before = c->before,
                       .after = c->after,
                       .rel_change = c->rel_change,
                       .rel_low = c->rel_low,
                       .rel_high = c->rel_high,
                       .p = c->p,
                       .regression = c->regression,
                       .confirmed = c->confirmed };

    (void)snprintf(r.commit, sizeof(r.commit), "%s", h->meta[at->index].sha);
    return r;
}

/* Adds the series' changes to `out`. *all, with its history, is the caller's to clear. */
static pfc_code replay_one(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                           const pfc_detector_settings *settings, pfc_histories *all,
                           pfc_replay *out, size_t *cap, pfc_err *err)
{
    const pfc_detect_opts opts = { .higher_is_better = series->higher_is_better,
                                   .exact = series->exact,
                                   .min_rel = settings->min_change,
                                   .alpha = settings->alpha };
    pfc_detection found = { .noise_rel = (double)NAN };
    pfc_settled settled = { 0 };
    pfc_steady_replay replayed = { 0 };
    const pfc_history *h;
    size_t judged = 0;
    pfc_code code = pfc_history_load(tx, project_id, series, all, err);

    if (code)
        return code;
    h = &all->items[0];
    if (h->len)
        code = pfc_history_detect(h, &opts, &settled, &replayed, &judged, &found, err);
    for (size_t i = 0; !code && i < found.changes_len; i++) {
        pfc_place at;

        if (!pfc_history_place(h, &found.changes[i], &at))
            continue;
        out->changes = pfc_grow(out->changes, out->changes_len, cap, sizeof(*out->changes));
        out->changes[out->changes_len] = describe(h, series, &found.changes[i], &at);
        out->changes[out->changes_len++].alertable = pfc_alert_justified(
            &found.changes[i], i + 1 < found.changes_len ? found.changes[i + 1].index : judged);
    }
    pfc_steady_replay_clear(&replayed);
    out->series++;
    out->points += h->len;
    out->noise_rel = found.noise_rel;
    out->watching = found.watching;
    out->watching_odds = pfc_stats_change_or_spike(h->points, judged, &found);
    pfc_detection_clear(&found);
    return code;
}

pfc_code pfc_series_replay(pfc_db *db, int64_t series_id, const pfc_detector_settings *settings,
                           pfc_replay *out, pfc_err *err)
{
    pfc_series_rows rows = { 0 };
    pfc_replay replay = { 0 };
    pfc_histories all = { 0 };
    pfc_tx *tx = NULL;
    size_t cap = 0;
    pfc_code code = pfc_series_get(db, series_id, &rows, err);

    if (code)
        return code;
    code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);
    if (!code) {
        const pfc_series *s = &rows.items[0];
        const pfc_judged series = { .id = s->id,
                                    .branch = s->branch,
                                    .higher_is_better = s->higher_is_better,
                                    .exact = s->exact };

        code = replay_one(tx, s->project_id, &series, settings, &all, &replay, &cap, err);
    }
    pfc_tx_free(tx);
    pfc_histories_clear(&all);
    pfc_rows_clear(&rows);
    if (code)
        pfc_replay_clear(&replay);
    else
        *out = replay;
    return code;
}

/* ---- a whole branch ---- */

/* Positions at which a series was measured, ascending. */
typedef struct seen {
    int64_t *positions;
    size_t len;
} seen;

static int by_position(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void note_seen(const pfc_history *h, seen *out)
{
    out->positions = pfc_calloc(h->len, sizeof(*out->positions));
    out->len = h->len;
    for (size_t i = 0; i < h->len; i++)
        out->positions[i] = h->meta[i].position;
}

/* A change that may become an alert, and its index. */
typedef struct candidate {
    pfc_clustered at;
    size_t change; /* in the replay */
} candidate;

static int by_width(const void *a, const void *b)
{
    const pfc_clustered *x = *(pfc_clustered *const *)a, *y = *(pfc_clustered *const *)b;
    const int64_t wx = x->high - x->low, wy = y->high - y->low;

    if (wx != wy)
        return wx < wy ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x > y) - (x < y); /* of one array: in its order */
}

static size_t measured_in(const seen *series, size_t series_len, pfc_clustered *const *items,
                          size_t n, size_t k)
{
    size_t measured = 0;

    for (size_t s = 0; s < series_len; s++) {
        bool hit = false;

        for (size_t i = 0; series[s].len && i < n && !hit; i++)
            hit = items[i]->cluster == k && bsearch(&items[i]->position, series[s].positions,
                                                    series[s].len, sizeof(int64_t), by_position);
        measured += hit;
    }
    return measured;
}

/* Firm regressions that remain among all series measured at the same commits. */
static void choose_alerts(pfc_replay *r, const seen *series, size_t series_len,
                          const size_t *series_of, const bool *exact, double fdr)
{
    candidate *all = pfc_calloc(r->changes_len, sizeof(*all));
    pfc_clustered **items = pfc_calloc(r->changes_len, sizeof(pfc_clustered *));
    pfc_fdr_stream stream = { .fdr = fdr };
    size_t n = 0, clusters, *order;

    for (size_t i = 0; i < r->changes_len; i++) {
        const pfc_replayed *c = &r->changes[i];
        const size_t s = series_of[i];
        const pfc_change claim = {
            .p = c->p, .rel_change = c->rel_change, .rel_low = c->rel_low, .rel_high = c->rel_high
        };

        if (!c->regression || !c->alertable)
            continue;
        all[n].change = i;
        all[n].at = (pfc_clustered){ .position = c->position,
                                     .low = c->position_low,
                                     .high = c->position_high,
                                     .p = pfc_fdr_anywhere(&claim, series[s].len, exact[s]) };
        items[n] = &all[n].at;
        n++;
    }
    if (n)
        qsort(items, n, sizeof(pfc_clustered *), by_width);
    clusters = pfc_clusters_make(items, n);
    order = pfc_clusters_in_order(items, n, clusters);
    for (size_t k = 0; k < clusters; k++) {
        const int64_t position = pfc_cluster_position(items, n, order[k]);

        pfc_cluster_judge(items, n, order[k], measured_in(series, series_len, items, n, order[k]),
                          pfc_fdr_level(&stream, position));
        if (pfc_cluster_kept(items, n, order[k]))
            pfc_fdr_found(&stream, position);
    }
    free(order);
    pfc_fdr_stream_clear(&stream);
    for (size_t i = 0; i < n; i++) {
        r->changes[all[i].change].alert = all[i].at.keep;
        r->alerts += all[i].at.keep;
    }
    free(items);
    free(all);
}

/* Compares with people's labels: an alert counts as a labelled one when it is of the same series
 * and may be the same commit. */
static void score(const pfc_sql_replay_labels_rows *labels, pfc_replay *r)
{
    for (size_t i = 0; i < labels->len; i++) {
        const int64_t series_id = labels->items[i].series_id;
        const int64_t low = labels->items[i].position_low;
        const int64_t high = labels->items[i].position_high;
        const bool real = labels->items[i].real;
        bool found = false;

        for (size_t k = 0; k < r->changes_len; k++) {
            pfc_replayed *c = &r->changes[k];

            if (!c->alert || c->series_id != series_id || c->position_high < low ||
                c->position_low > high)
                continue;
            c->label = real ? PFC_LABEL_REAL : PFC_LABEL_NOISE;
            found = true;
        }
        r->labelled_real += real;
        r->labelled_noise += !real;
        r->found_real += real && found;
        r->found_noise += !real && found;
    }
    r->recall = r->labelled_real ? (double)r->found_real / (double)r->labelled_real : (double)NAN;
    r->precision = r->found_real + r->found_noise
                       ? (double)r->found_real / (double)(r->found_real + r->found_noise)
                       : (double)NAN;
    r->f1 = r->precision + r->recall > 0 ? 2 * r->precision * r->recall / (r->precision + r->recall)
                                         : (r->found_real + r->labelled_real ? 0.0 : (double)NAN);
    for (size_t k = 0; k < r->changes_len; k++)
        r->unlabelled += r->changes[k].alert && r->changes[k].label == PFC_LABEL_NONE;
}

static pfc_code check_size(const pfc_sql_replay_series_rows *list, pfc_err *err)
{
    int64_t points = 0;

    for (size_t i = 0; i < list->len; i++)
        points += list->items[i].points;
    if (points > PFC_REPLAY_MAX_POINTS)
        return pfc_err_set(err, PFC_ETOOBIG,
                           "the branch has %lld points; a replay reads at most %d: try single "
                           "series instead",
                           (long long)points, PFC_REPLAY_MAX_POINTS);
    return PFC_OK;
}

static pfc_code replay_series(pfc_tx *tx, int64_t project_id,
                              const pfc_sql_replay_series_rows *list, const pfc_detector *detector,
                              pfc_replay *out, pfc_err *err)
{
    const size_t n = list->len;
    seen *series = pfc_calloc(n, sizeof(*series));
    bool *exact = pfc_calloc(n, sizeof(*exact));
    size_t *series_of = NULL, series_of_cap = 0, cap = 0, known = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < n && !code; i++) {
        const pfc_series_name name = {
            .benchmark = list->items[i].benchmark,
            .metric = list->items[i].metric,
            .backend = list->items[i].backend,
            .machine_class = list->items[i].machine_class,
            .branch = list->items[i].branch,
        };
        const pfc_detector_settings settings = pfc_detector_for(detector, &name);
        const pfc_judged one = {
            .id = list->items[i].id,
            .branch = name.branch,
            .higher_is_better = list->items[i].higher_is_better,
            .exact = list->items[i].exact,
        };
        pfc_histories all = { 0 };

        if (!settings.judged)
            continue;
        exact[i] = one.exact;
        code = replay_one(tx, project_id, &one, &settings, &all, out, &cap, err);
        if (!code)
            note_seen(&all.items[0], &series[i]);
        pfc_histories_clear(&all);
        for (; known < out->changes_len; known++) {
            series_of = pfc_grow(series_of, known, &series_of_cap, sizeof(*series_of));
            series_of[known] = i;
        }
    }
    if (!code)
        choose_alerts(out, series, n, series_of, exact, detector->fdr);
    for (size_t i = 0; i < n; i++)
        free(series[i].positions);
    free(series_of);
    free(exact);
    free(series);
    return code;
}

pfc_code pfc_project_replay(pfc_db *db, int64_t project_id, const char *branch,
                            const pfc_detector *detector, pfc_replay *out, pfc_err *err)
{
    pfc_replay replay = { 0 };
    pfc_sql_replay_labels_rows labels = { 0 };
    pfc_sql_replay_series_rows list = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = pfc_sql_replay_series(
            tx, &(pfc_sql_replay_series_args){ .project_id = project_id, .branch = branch }, &list,
            err);
    if (!code)
        code = check_size(&list, err);
    if (!code)
        code = replay_series(tx, project_id, &list, detector, &replay, err);
    if (!code)
        code = pfc_sql_replay_labels(
            tx, &(pfc_sql_replay_labels_args){ .project_id = project_id, .branch = branch },
            &labels, err);
    if (!code)
        score(&labels, &replay);
    pfc_rows_clear(&labels);
    pfc_rows_clear(&list);
    pfc_tx_free(tx);
    if (code)
        pfc_replay_clear(&replay);
    else
        *out = replay;
    return code;
}

void pfc_replay_clear(pfc_replay *replay)
{
    free(replay->changes);
    memset(replay, 0, sizeof(*replay));
}
