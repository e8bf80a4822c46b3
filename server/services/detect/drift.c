/*
 * Slow drift: one alert when a series has become worse little by little, without a step that would
 * have been alerted by itself. It closes when the drift is gone, and begins anew after its level was
 * accepted.
 */
#include "core/changepoint/drift.h"

#include <math.h>
#include <stdlib.h>

#include "server/services/internal.h"

#define WINDOW_S (182 * 86400.0) /* half a year back */
#define SPAN_S   (28 * 86400.0)  /* shorter is no drift, but a step that was missed */
#define LEAST    0.02            /* of what nobody acts on */
#define P_MOST   1e-4
#define GONE     "went away: the drift is no longer there"

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
                            pfc_res **hold, stored *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, series->id);
    pfc_args_text(&args, series->branch);
    code = pfc_tx_query(tx, "drift_of_series", &args, hold, err);
    if (!code && pfc_res_rows(*hold))
        *out = (stored){
            .id = pfc_res_i64(*hold, 0, pfc_res_column(*hold, "id")),
            .gone = pfc_res_bool(*hold, 0, pfc_res_column(*hold, "gone")),
            .high = pfc_res_i64(*hold, 0, pfc_res_column(*hold, "position_high")),
            .alert_id = pfc_res_i64(*hold, 0, pfc_res_column(*hold, "alert_id")),
            .accepted = pfc_res_bool(*hold, 0, pfc_res_column(*hold, "accepted")),
            .state = pfc_res_text(*hold, 0, pfc_res_column(*hold, "state")),
            .last_actor = pfc_res_text(*hold, 0, pfc_res_column(*hold, "last_actor")),
        };
    return code;
}

static pfc_code open_alert(pfc_tx *tx, int64_t project_id, int64_t series_id, int64_t change_id,
                           pfc_err *err)
{
    pfc_args args = { 0 };
    int64_t id = 0;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, change_id);
    pfc_args_i64(&args, series_id);
    code = pfc_query_id(tx, "alert_open", &args, &id, err);
    if (code || !id)
        return code;
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, id);
    pfc_args_text(&args, "detector");
    pfc_args_text(&args, NULL);
    pfc_args_text(&args, "untriaged");
    pfc_args_text(&args, "slow drift: no single step explains it");
    code = pfc_tx_query(tx, "alert_event_insert", &args, NULL, err);
    if (code)
        return code;
    pfc_args_i64(&args, id);
    return pfc_tx_query(tx, "alert_notify", &args, NULL, err);
}

/* What the drift is compared with: the newest release that has enough points before and after it. */
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

static pfc_code find_reference(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                               const pfc_history *h, const pfc_detection *found, reference *out,
                               pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, series->branch);
    pfc_args_i64(&args, h->meta[0].position);
    pfc_args_i64(&args, h->meta[h->len - 1].position);
    code = pfc_tx_query(tx, "drift_releases", &args, &res, err);
    for (size_t i = 0; !code && !out->commit_id && i < pfc_res_rows(res); i++) {
        if (!measure_since(h, found, pfc_res_i64(res, i, 0), &out->since))
            continue;
        out->commit_id = pfc_res_i64(res, i, 1);
        out->tag = pfc_strdup(pfc_res_text(res, i, 2));
    }
    pfc_res_free(res);
    return code;
}

static void reference_args(pfc_args *args, const reference *r)
{
    const bool known = r->commit_id != 0;

    pfc_args_id(args, r->commit_id);
    pfc_args_text(args, r->tag);
    pfc_args_f64(args, known ? r->since.rel_change : (double)NAN);
    pfc_args_f64(args, known ? r->since.rel_low : (double)NAN);
    pfc_args_f64(args, known ? r->since.rel_high : (double)NAN);
}

static pfc_code put_drift(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                          const pfc_history *h, const pfc_detection *found, size_t first,
                          const pfc_drift *d, const stored *old, pfc_err *err)
{
    /* A drift that a person has closed stays closed; what comes after an accepted one is another. */
    const bool same = old->id && !old->accepted;
    reference since = { 0 };
    pfc_args args = { 0 };
    int64_t id = 0;
    pfc_code code = find_reference(tx, project_id, series, h, found, &since, err);

    if (code)
        return code;
    pfc_args_i64(&args, project_id);
    pfc_args_id(&args, same ? old->id : 0);
    pfc_args_i64(&args, series->id);
    pfc_args_i64(&args, h->meta[first].commit_id);
    pfc_args_i64(&args, h->meta[h->len - 1].commit_id);
    pfc_args_f64(&args, d->before);
    pfc_args_f64(&args, d->after);
    pfc_args_f64(&args, d->rel_change);
    pfc_args_f64(&args, d->rel_low);
    pfc_args_f64(&args, d->rel_high);
    pfc_args_f64(&args, d->p);
    reference_args(&args, &since);
    code = pfc_query_id(tx, "drift_put", &args, &id, err);
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
    pfc_args args = { 0 };
    pfc_code code = PFC_OK;

    if (!old->id || old->gone || old->accepted)
        return PFC_OK;
    if (old->alert_id && pfc_streq(old->state, "untriaged") &&
        pfc_streq(old->last_actor, "detector"))
        code = pfc_alert_follow(tx, project_id, old->alert_id, "untriaged", true,
                                &(pfc_alert_change){ .state = "noise", .reason = GONE }, err);
    if (code)
        return code;
    pfc_args_i64(&args, project_id);
    pfc_args_i64s(&args, &old->id, 1);
    return pfc_tx_query(tx, "change_points_gone", &args, NULL, err);
}

pfc_code pfc_drift_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                         const pfc_history *h, const pfc_detection *found, pfc_err *err)
{
    stored old = { 0 };
    pfc_res *hold = NULL;
    pfc_drift drift = { 0 };
    size_t first = 0;
    pfc_code code = read_stored(tx, project_id, series, &hold, &old, err);

    if (!code && series->settings.judged && !series->exact &&
        find_drift(series, h, found, old.accepted ? old.high : 0, &first, &drift))
        code = put_drift(tx, project_id, series, h, found, first, &drift, &old, err);
    else if (!code)
        code = drop_drift(tx, project_id, &old, err);
    pfc_res_free(hold);
    return code;
}
