/*
 * Judging one series: reads points in commit order, writes change points. A change keeps its
 * identity, and with it its alert, while later points move its edges or its size a little.
 */
#include "server/services/detect/judge.h"

#include <math.h>

#include "core/base/rng.h"
#include "core/changepoint/changepoint.h"
#include "core/changepoint/fdr.h"
#include "core/changepoint/power.h"
#include "server/repo/sql/jobs.h"
#include "server/services/alerts/alerts.h"
#include "server/services/alerts/withheld.h"
#include "server/services/detect/detect.h"
#include "server/services/detect/flaps.h"
#include "server/services/detect/known_changes.h"

#define UNDONE_SHARE      0.75 /* of a regression that must have come back */
#define DETECTABLE_POINTS 5    /* by then a change should be confirmed */

/* When a change becomes alertable: after an accepted level, by its evidence, by its duration. */
#define WATCH_ACCEPTED 3
#define WATCH_CLEAR    5
#define WATCH_LASTED   20

/* The state of the newest change, which decides how many points an alert needs. */
typedef struct newest_change {
    bool accepted;  /* they leave, or may leave, a level that a person has accepted */
    bool alertable; /* the change can open an alert */
} newest_change;

/* Why a change has no alert, as far as its series decides that. */
typedef struct reason {
    const char *code; /* NULL: the series of its commit decide together (alerts/group.c) */
    bool detailed;    /* it has a detail */
    pfc_withheld_detail detail;
} reason;

static pfc_code put_change(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                           const pfc_history *h, const pfc_change *c, const pfc_place *at,
                           const pfc_known *old, int64_t undone_commit, bool alertable,
                           const reason *why, int64_t *id, pfc_err *err)
{
    char *detail = why->detailed ? pfc_withheld_detail_text(why->code, &why->detail) : NULL;
    pfc_code code = pfc_sql_change_point_put(
        tx,
        &(pfc_sql_change_point_put_args){
            .project_id = project_id,
            .id = old ? old->id : 0,
            .series_id = series->id,
            .branch = series->branch,
            .commit_id = h->meta[at->index].commit_id,
            .position_low = at->low,
            .commit_high_id = h->meta[at->high_index].commit_id,
            .before = c->before,
            .after = c->after,
            .rel_change = c->rel_change,
            .rel_low = isfinite(c->rel_low) ? c->rel_low : c->rel_change,
            .rel_high = isfinite(c->rel_high) ? c->rel_high : c->rel_change,
            .p = isfinite(c->p) ? c->p : 1.0,
            .regression = c->regression,
            .confirmed = c->confirmed,
            .undone_commit_id = undone_commit,
            .alertable = alertable,
            .withheld = why->code,
            .withheld_detail_json = detail },
        id, err);

    free(detail);
    return code;
}

/* Enough to open an alert, or to close one. */
static bool is_firm(const pfc_history *h, const pfc_detection *found, size_t k)
{
    const size_t end = k + 1 < found->changes_len ? found->changes[k + 1].index : h->len;

    return pfc_alert_justified(&found->changes[k], end);
}

/* Does change k leave a level that a person has accepted? The accepted step is the newest live one
 * before it. */
static bool leaves_accepted(const pfc_history *h, const pfc_detection *found, size_t k,
                            const pfc_place *at, const pfc_known *items, size_t len)
{
    const pfc_known *newest = NULL;
    pfc_place before = { 0 };

    for (size_t i = 0; i < len; i++) {
        if (!items[i].gone && items[i].position < at->low &&
            (!newest || items[i].position > newest->position))
            newest = &items[i];
    }
    if (!newest || !newest->accepted)
        return false;
    /* A step in between that is not stored yet has begun another level. */
    return k == 0 || (pfc_history_place(h, &found->changes[k - 1], &before) &&
                      newest->low <= before.high && newest->high >= before.low);
}

/* Uses the spread of the whole history and the centre of the accepted level, so that the next
 * step needs fewer points. */
static bool is_alertable_here(const pfc_history *h, const pfc_detection *found, size_t k,
                              const pfc_place *at, const pfc_known *items, size_t len)
{
    const pfc_change *c = &found->changes[k];

    if (is_firm(h, found, k))
        return true;
    if (k + 1 < found->changes_len || !leaves_accepted(h, found, k, at, items, len))
        return false;
    return pfc_alert_justified_accepted(c, h->len,
                                        pfc_stats_change_or_spike(h->points, h->len, found));
}

/* Points of the new level that make change k alertable; the same numbers as watching_of's. */
static reason not_firm(const pfc_history *h, const pfc_detection *found, size_t k, bool accepted)
{
    const bool ended = k + 1 < found->changes_len;
    const size_t end = ended ? found->changes[k + 1].index : h->len;
    const size_t points = end - found->changes[k].index;
    size_t needed = points < WATCH_CLEAR ? WATCH_CLEAR : WATCH_LASTED;

    if (accepted && !ended && points < WATCH_ACCEPTED)
        needed = WATCH_ACCEPTED;
    return (reason){ PFC_WITHHELD_NOT_FIRM,
                     true,
                     { .points = (double)points, .needed = (double)needed, .ended = ended } };
}

static reason why_withheld(const pfc_judged *series, const pfc_history *h,
                           const pfc_detection *found, size_t k, const newest_change *newest)
{
    const pfc_change *c = &found->changes[k];

    if (!c->regression)
        return (reason){ .code = PFC_WITHHELD_IMPROVEMENT };
    if (series->canary)
        return (reason){ .code = PFC_WITHHELD_MACHINE };
    if (!newest->alertable)
        return not_firm(h, found, k, newest->accepted);
    if (fabs(c->rel_change) < series->settings.min_change)
        return (reason){ PFC_WITHHELD_MARGIN,
                         true,
                         { .rel = c->rel_change, .margin = series->settings.min_change } };
    return (reason){ 0 };
}

/* The first change from number `from` on, alertable, that brings a regression's level back: three
 * quarters of the way and more. NULL: none has. */
static const pfc_change *brings_back(const pfc_history *h, const pfc_detection *found, size_t from,
                                     double before, double after)
{
    for (size_t k = from; k < found->changes_len; k++) {
        const pfc_change *later = &found->changes[k];

        if (!later->regression && is_firm(h, found, k) &&
            (after - later->after) / (after - before) >= UNDONE_SHARE)
            return later;
    }
    return NULL;
}

/* The reason in the history of the alert that is closed; NULL: undone is. The caller frees it. */
static char *back_text(const pfc_history *h, double before, double after, const pfc_change *undone)
{
    if (!undone)
        return NULL;
    return pfc_format("%s: %.5g, %.5g, and %.5g since %.12s (%zu points)", PFC_WENT_AWAY, before,
                      after, undone->after, h->meta[undone->index].sha, h->len - undone->index);
}

static pfc_code store_change(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                             const pfc_history *h, const pfc_detection *found, size_t nth,
                             pfc_known *items, size_t items_len, newest_change *newest,
                             pfc_err *err)
{
    const pfc_change *c = &found->changes[nth];
    const pfc_change *undone =
        c->regression ? brings_back(h, found, nth + 1, c->before, c->after) : NULL;
    pfc_place at;
    int64_t id = 0;
    pfc_known *old;
    char *back = NULL;
    reason why;
    bool alertable;
    pfc_code code;

    if (!pfc_history_place(h, c, &at))
        return PFC_OK; /* between the runs of the newest commit: too early to judge */
    alertable = is_alertable_here(h, found, nth, &at, items, items_len);
    *newest = (newest_change){ .alertable = alertable,
                               .accepted = leaves_accepted(h, found, nth, &at, items, items_len) };
    if (pfc_known_same(items, items_len, at.low, at.high))
        return PFC_OK; /* blocks of both sides outweigh single measurements */
    old = pfc_known_match(items, items_len, at.position, at.low, at.high, c->regression);
    if (old && old->blocks) {
        old->used = true;
        return PFC_OK;
    }
    why = why_withheld(series, h, found, nth, newest);
    code = put_change(tx, project_id, series, h, c, &at, old,
                      undone ? h->meta[undone->index].commit_id : 0, alertable, &why, &id, err);
    if (!old)
        return code;
    old->used = true;
    back = back_text(h, c->before, c->after, undone);
    if (!code && old->alert_id)
        code = pfc_known_follow(tx, project_id, old, alertable, back, err);
    free(back);
    if (!code && old->alert_id &&
        (old->gone || old->low != at.low || old->high != at.high ||
         (alertable && old->may_return && pfc_known_own(old, "noise")) ||
         (!undone && pfc_known_own(old, "verified_fixed"))))
        code = pfc_alert_regroup(tx, project_id, old->alert_id, true, err);
    return code;
}

static pfc_code drop_unseen(pfc_tx *tx, int64_t project_id, const pfc_known *items, size_t len,
                            pfc_err *err)
{
    int64_t *ids = pfc_calloc(len, sizeof(*ids));
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len && !code; i++) {
        if (items[i].used || items[i].gone || items[i].blocks)
            continue;
        ids[n++] = items[i].id;
        if (pfc_known_own(&items[i], "untriaged") || pfc_known_own(&items[i], "infrastructure"))
            code =
                pfc_alert_follow(tx, project_id, items[i].alert_id, items[i].alert_state, true,
                                 &(pfc_alert_change){ .state = "noise",
                                                      .reason = "went away: with the points that "
                                                                "came since, there is no change" },
                                 err);
        if (!code && items[i].alert_id)
            code = pfc_alert_regroup(tx, project_id, items[i].alert_id, false, err);
    }
    if (!code && n)
        code = pfc_sql_change_points_gone(tx,
                                          &(pfc_sql_change_points_gone_args){
                                              .project_id = project_id, .ids = ids, .ids_len = n },
                                          err);
    free(ids);
    return code;
}

/* A settled change is not updated, except when its level has come back. */
static pfc_code keep_settled(pfc_tx *tx, int64_t project_id, const pfc_history *h,
                             const pfc_detection *found, pfc_known *old, pfc_err *err)
{
    const pfc_change *undone;
    char *back;
    pfc_code code;

    old->used = true;
    if (old->gone || old->undone || !old->regression || old->blocks)
        return PFC_OK;
    undone = brings_back(h, found, 0, old->before, old->after);
    if (!undone)
        return PFC_OK;
    code = pfc_sql_change_point_undone(
        tx,
        &(pfc_sql_change_point_undone_args){ .project_id = project_id,
                                             .id = old->id,
                                             .undone_commit_id = h->meta[undone->index].commit_id },
        err);
    back = back_text(h, old->before, old->after, undone);
    if (!code && old->alert_id)
        code = pfc_known_follow(tx, project_id, old, true, back, err);
    free(back);
    return code;
}

/* known: the series has or had changes. settled_before: position before which the stored changes
 * were settled already; 0: none. */
static pfc_code store_changes(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                              const pfc_history *h, const pfc_detection *found, bool known,
                              int64_t settled_before, newest_change *newest, pfc_err *err)
{
    pfc_sql_change_points_of_series_rows rows = { 0 };
    pfc_known *items = NULL;
    size_t len;
    pfc_code code = PFC_OK;

    if (known)
        code = pfc_sql_change_points_of_series(
            tx,
            &(pfc_sql_change_points_of_series_args){
                .project_id = project_id, .series_id = series->id, .branch = series->branch },
            &rows, err);
    if (code)
        return code;
    len = rows.len;
    items = pfc_calloc(len, sizeof(*items));
    pfc_known_read(&rows, items);
    for (size_t i = 0; !code && i < len; i++) {
        if (items[i].position < settled_before)
            code = keep_settled(tx, project_id, h, found, &items[i], err);
    }
    for (size_t i = 0; !code && i < found->changes_len; i++)
        code = store_change(tx, project_id, series, h, found, i, items, len, newest, err);
    if (!code)
        code = drop_unseen(tx, project_id, items, len, err);
    free(items);
    pfc_rows_clear(&rows);
    return code;
}

/* The number of points that the newest level needs for an alert. */
static size_t watching_of(size_t watching, const newest_change *newest)
{
    if (watching == 0 || newest->alertable)
        return watching;
    if (newest->accepted && watching < WATCH_ACCEPTED)
        return WATCH_ACCEPTED;
    return watching < WATCH_CLEAR ? WATCH_CLEAR : PFC_MAX(watching, (size_t)WATCH_LASTED);
}

/* The points of the newest level in force. A provisional level does not replace the level before
 * it: the next change will be compared with that one. */
static size_t level_points(const pfc_history *h, const pfc_detection *found,
                           const newest_change *newest)
{
    size_t k = found->changes_len, end = h->len;

    if (k > 0 && newest->alertable)
        return end - found->changes[k - 1].index;
    if (k > 0)
        end = found->changes[--k].index;
    while (k > 0 && !is_firm(h, found, k - 1))
        k--;
    return end - (k > 0 ? found->changes[k - 1].index : 0);
}

double pfc_judged_detectable(const pfc_judged *series, double noise, size_t points, size_t level)
{
    return pfc_detectable(series->exact ? 0 : noise, points, level, DETECTABLE_POINTS,
                          series->settings.min_change);
}

/* The lowest number of a run from the anchor on; 0: the anchor is the first point. */
static int64_t anchor_run(const pfc_history *h, size_t before, const pfc_settled *settled)
{
    int64_t first = settled->anchor_points ? INT64_MAX : 0;

    for (size_t i = (size_t)settled->anchor_points - before; first && i < h->len; i++)
        first = PFC_MIN(first, h->meta[i].run_id);
    return first;
}

/* h: all points; due: those up to the newest that is due; before: the points before h. */
static pfc_judged_row summary_of(const pfc_judged *series, const pfc_history *h,
                                 const pfc_history *due, const pfc_detection *found,
                                 const newest_change *newest, size_t before,
                                 const pfc_settled *settled)
{
    const size_t points = before + h->len;
    /* Too few points: the noise is unknown, not zero. */
    const bool known_noise = points >= PFC_NOISE_POINTS || series->exact;
    const double noise = known_noise ? found->noise_rel : (double)NAN;
    const size_t level = level_points(due, found, newest) + h->len - due->len;

    return (pfc_judged_row){
        .series_id = series->id,
        .points = (int64_t)points,
        .last_commit_id = h->len ? h->meta[h->len - 1].commit_id : 0,
        .position = h->len ? h->meta[h->len - 1].position : 0,
        .noise_rel = noise,
        .watching = (int64_t)found->watching,
        .detectable_rel = pfc_judged_detectable(series, noise, points, level),
        .judged = series->settings.judged,
        .settled = *settled,
        .anchor_run = anchor_run(h, before, settled),
        .level_points = (int64_t)level,
        .watching_of = (int64_t)watching_of(found->watching, newest),
    };
}

pfc_detect_opts pfc_judged_opts(const pfc_judged *series)
{
    return (pfc_detect_opts){ .higher_is_better = series->higher_is_better,
                              .exact = series->exact,
                              .min_rel = series->settings.min_change,
                              .alpha = series->settings.alpha };
}

static int64_t new_generation(void)
{
    uint64_t bits = 0;

    while (bits == 0) {
        pfc_random_bytes(&bits, sizeof(bits));
        bits >>= 1;
    }
    return (int64_t)bits;
}

/* The lowest position without a settled point. The settled points may end between the points of one
 * commit. A change at that commit counts as settled then: its first point is a settled one. */
static int64_t first_unsettled(const pfc_history *h, size_t settled)
{
    const int64_t position = h->meta[settled].position;

    return settled && h->meta[settled - 1].position == position ? position + 1 : position;
}

pfc_code pfc_judge_history(pfc_tx *tx, int64_t project_id, const pfc_judge_item *item,
                           const pfc_history *h, pfc_steady_replay *replay, pfc_judged_rows *rows,
                           pfc_judge_state *out, pfc_err *err)
{
    const pfc_judged *series = item->series;
    const pfc_detect_opts opts = pfc_judged_opts(series);
    pfc_settled settled = item->settled;
    pfc_detection found = { .noise_rel = (double)NAN };
    pfc_history due = *h;
    newest_change newest = { 0 };
    int64_t settled_before = 0;
    size_t before = 0;
    pfc_code code = PFC_OK;

    *out = (pfc_judge_state){ 0 };
    if (settled.points) {
        before = (size_t)settled.anchor_points;
        settled_before = first_unsettled(h, (size_t)settled.points - before);
    }
    due.len = 0;
    if (h->len)
        code = pfc_history_detect(h, &opts, &settled, replay, &due.len, &found, err);
    if (!series->settings.judged)
        found.changes_len = 0;
    if (!code)
        code = store_changes(tx, project_id, series, &due, &found, item->changed, settled_before,
                             &newest, err);
    if (!code && item->changed)
        code = pfc_flaps_note(tx, project_id, series, &due, err);
    if (!code && !series->canary)
        code = pfc_drift_judge(tx, project_id, series, &due, &found, item->changed, err);
    if (!code) {
        pfc_judged_row row = summary_of(series, h, &due, &found, &newest, before, &settled);

        if (h->len && !h->anchored)
            row.generation = new_generation();
        pfc_judged_rows_add(rows, &row, h, &replay->steady);
        *out = (pfc_judge_state){ .generation = row.generation,
                                  .anchor = (size_t)settled.anchor_points - before };
    }
    pfc_detection_clear(&found);
    return code;
}
