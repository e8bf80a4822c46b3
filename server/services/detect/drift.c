/*
 * Slow drift: one alert when a series has become worse gradually, without a step that is large
 * enough for an alert of its own. The alert closes when the drift is gone. After a person has
 * accepted the level, a later drift opens another alert.
 */
#include "core/changepoint/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"
#include "server/repo/sql/alerts.h"
#include "server/repo/sql/drift.h"
#include "server/repo/sql/jobs.h"
#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"
#include "server/services/owners/owners.h"

#define WINDOW_S       (182 * 86400.0) /* half a year */
#define SPAN_S         (28 * 86400.0)  /* a shorter change is a missed step, not a drift */
#define LEAST          0.02            /* relative loss; smaller ones are not worth an alert */
#define P_MOST         1e-4
#define RELEASES_TRIED 100
#define GONE           "went away: the drift is no longer there"

typedef struct stored {
    int64_t id, high, alert_id;
    bool gone, accepted;
    const char *state, *last_actor;
} stored;

static bool is_worse(const pfc_judged *series, const pfc_drift *d)
{
    const double loss = series->higher_is_better ? -d->rel_change : d->rel_change;
    const double sure = series->higher_is_better ? -d->rel_high : d->rel_low;

    return loss >= fmax(LEAST, series->settings.min_change) && sure > 0 && d->p <= P_MOST;
}

/* The drift since `from`, with the steps since taken out. *first is where it begins. */
static bool find_drift(const pfc_judged *series, const pfc_history *h, const pfc_detection *found,
                       int64_t after, size_t *first, pfc_drift *out)
{
    const double now = h->len ? h->points[h->len - 1].t : 0;
    pfc_change *steps;
    size_t start = 0, len = 0;
    bool drifts;

    while (start < h->len &&
           (h->meta[start].position <= after || !(h->points[start].t >= now - WINDOW_S)))
        start++;
    if (start == h->len || !(now - h->points[start].t >= SPAN_S))
        return false;
    steps = pfc_calloc(found->changes_len, sizeof(*steps));
    for (size_t i = 0; i < found->changes_len; i++) {
        if (found->changes[i].index <= start)
            continue;
        steps[len] = found->changes[i];
        steps[len++].index -= start;
    }
    drifts = pfc_stats_drift(h->points + start, h->len - start, steps, len, out) &&
             is_worse(series, out);
    free(steps);
    *first = start;
    return drifts;
}

static pfc_code read_stored(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                            pfc_sql_drift_of_series_rows *rows, stored *out, pfc_err *err)
{
    pfc_code code = pfc_sql_drift_of_series(
        tx,
        &(pfc_sql_drift_of_series_args){
            .project_id = project_id, .series_id = series->id, .branch = series->branch },
        rows, err);

    if (!code && rows->len)
        *out = (stored){
            .id = rows->items[0].id,
            .gone = rows->items[0].gone,
            .high = rows->items[0].position_high,
            .alert_id = rows->items[0].alert_id,
            .accepted = rows->items[0].accepted,
            .state = rows->items[0].state,
            .last_actor = rows->items[0].last_actor,
        };
    return code;
}

static pfc_code open_alert(pfc_tx *tx, int64_t project_id, int64_t series_id, int64_t change_id,
                           pfc_err *err)
{
    int64_t id = 0;
    pfc_code code;

    code = pfc_sql_alert_open(tx,
                              &(pfc_sql_alert_open_args){ .project_id = project_id,
                                                          .change_point_id = change_id,
                                                          .series_id = series_id },
                              &id, err);
    if (code || !id)
        return code;
    code = pfc_sql_alert_event_insert(
        tx,
        &(pfc_sql_alert_event_insert_args){ .project_id = project_id,
                                            .alert_id = id,
                                            .actor = "detector",
                                            .to = "untriaged",
                                            .reason = "slow drift: no single step explains it" },
        err);
    if (!code)
        code = pfc_owners_settle(tx, project_id, NULL, id, err);
    if (code)
        return code;
    return pfc_sql_alert_notify(tx, &(pfc_sql_alert_notify_args){ .alert_id = id }, err);
}

/* The release to compare the drift with: the newest with enough points before and after it. */
typedef struct reference {
    int64_t commit_id; /* 0: there is none */
    char *tag;
    pfc_drift since;
} reference;

static bool measure_since(const pfc_history *h, const pfc_detection *found, int64_t position,
                          pfc_drift *out)
{
    size_t end = 0;

    while (end < h->len && h->meta[end].position <= position)
        end++;
    return end > 0 && pfc_stats_drift_since(h->points, h->len, found->changes, found->changes_len,
                                            end - 1, out);
}

/* The first of the releases among the tags by name; NULL: none is a release. *names has it. */
static const char *release_of(pfc_array_text tags, pfc_texts *names)
{
    const char *first = NULL;

    pfc_array_texts(tags, names);
    for (size_t i = 0; i < names->len; i++)
        if (pfc_tag_is_release(names->items[i]) && (!first || strcmp(names->items[i], first) < 0))
            first = names->items[i];
    return first;
}

/* Looks through a page of tagged commits; *left: releases that may still be measured. */
static void try_tags(const pfc_sql_drift_tags_rows *rows, const pfc_history *h,
                     const pfc_detection *found, size_t *left, reference *out)
{
    for (size_t i = 0; !out->commit_id && *left && i < rows->len; i++) {
        pfc_texts names = { 0 };
        const char *tag = release_of(rows->items[i].tags, &names);

        *left -= tag != NULL;
        if (tag && measure_since(h, found, rows->items[i].position, &out->since)) {
            out->commit_id = rows->items[i].commit_id;
            out->tag = pfc_strdup(tag);
        }
        pfc_texts_clear(&names);
    }
}

static pfc_code find_reference(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                               const pfc_history *h, const pfc_detection *found, reference *out,
                               pfc_err *err)
{
    int64_t to = h->meta[h->len - 1].position;
    size_t left = RELEASES_TRIED;
    bool more = true;
    pfc_code code = PFC_OK;

    /* In pages: a tag of each nightly build must not hide the release before them. */
    while (!code && more && left && !out->commit_id) {
        pfc_sql_drift_tags_rows rows = { 0 };

        code = pfc_sql_drift_tags(tx,
                                  &(pfc_sql_drift_tags_args){ .project_id = project_id,
                                                              .branch = series->branch,
                                                              .position_from = h->meta[0].position,
                                                              .position_to = to },
                                  &rows, err);
        more = !code && rows.len > 0;
        if (more) {
            try_tags(&rows, h, found, &left, out);
            to = rows.items[rows.len - 1].position - 1;
        }
        pfc_rows_clear(&rows);
    }
    return code;
}

static pfc_code put_drift(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                          const pfc_history *h, const pfc_detection *found, size_t first,
                          const pfc_drift *d, const stored *old, pfc_err *err)
{
    /* A drift that a person has closed stays closed; a drift after an accepted level is a new
     * one. */
    const bool same = old->id && !old->accepted;
    reference since = { 0 };
    bool known;
    int64_t id = 0;
    pfc_code code = find_reference(tx, project_id, series, h, found, &since, err);

    if (code)
        return code;
    known = since.commit_id != 0;
    code = pfc_sql_drift_put(tx,
                             &(pfc_sql_drift_put_args){
                                 .project_id = project_id,
                                 .id = same ? old->id : 0,
                                 .series_id = series->id,
                                 .commit_low_id = h->meta[first].commit_id,
                                 .commit_high_id = h->meta[h->len - 1].commit_id,
                                 .before = d->before,
                                 .after = d->after,
                                 .rel_change = d->rel_change,
                                 .rel_low = d->rel_low,
                                 .rel_high = d->rel_high,
                                 .p = d->p,
                                 .reference_commit_id = since.commit_id,
                                 .reference_tag = since.tag,
                                 .reference_rel = known ? since.since.rel_change : (double)NAN,
                                 .reference_low = known ? since.since.rel_low : (double)NAN,
                                 .reference_high = known ? since.since.rel_high : (double)NAN,
                             },
                             &id, err);
    free(since.tag);
    if (code || !same || !old->alert_id)
        return code ? code : open_alert(tx, project_id, series->id, id, err);
    if (old->gone && pfc_streq(old->state, "noise") && pfc_streq(old->last_actor, "detector"))
        return pfc_alert_follow(
            tx, project_id, old->alert_id, "noise", true,
            &(pfc_alert_change){ .state = "untriaged", .reason = "the drift is there again" }, err);
    return PFC_OK;
}

static pfc_code drop_drift(pfc_tx *tx, int64_t project_id, const stored *old, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (!old->id || old->gone || old->accepted)
        return PFC_OK;
    if (old->alert_id && pfc_streq(old->state, "untriaged") &&
        pfc_streq(old->last_actor, "detector"))
        code = pfc_alert_follow(tx, project_id, old->alert_id, "untriaged", true,
                                &(pfc_alert_change){ .state = "noise", .reason = GONE }, err);
    if (code)
        return code;
    return pfc_sql_change_points_gone(tx,
                                      &(pfc_sql_change_points_gone_args){
                                          .project_id = project_id, .ids = &old->id, .ids_len = 1 },
                                      err);
}

pfc_code pfc_drift_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                         const pfc_history *h, const pfc_detection *found, bool known, pfc_err *err)
{
    stored old = { 0 };
    pfc_sql_drift_of_series_rows rows = { 0 };
    pfc_drift drift = { 0 };
    size_t first = 0;
    pfc_code code = known ? read_stored(tx, project_id, series, &rows, &old, err) : PFC_OK;

    if (!code && series->settings.judged && !series->exact &&
        find_drift(series, h, found, old.accepted ? old.high : 0, &first, &drift))
        code = put_drift(tx, project_id, series, h, found, first, &drift, &old, err);
    else if (!code)
        code = drop_drift(tx, project_id, &old, err);
    pfc_rows_clear(&rows);
    return code;
}
