/*
 * Stored change points: matching them with what is found now, and what their alerts do then.
 */
#include "server/services/detect/known_changes.h"

#include <stdlib.h>

void pfc_known_read(const pfc_res *res, pfc_known *items)
{
    for (size_t i = 0; i < pfc_res_rows(res); i++) {
        items[i] = (pfc_known){
            .id = pfc_res_i64(res, i, pfc_res_column(res, "id")),
            .position = pfc_res_i64(res, i, pfc_res_column(res, "position")),
            .low = pfc_res_i64(res, i, pfc_res_column(res, "position_low")),
            .high = pfc_res_i64(res, i, pfc_res_column(res, "position_high")),
            .alert_id = pfc_res_i64(res, i, pfc_res_column(res, "alert_id")),
            .regression = pfc_res_bool(res, i, pfc_res_column(res, "regression")),
            .gone = pfc_res_bool(res, i, pfc_res_column(res, "gone")),
            .before = pfc_res_f64(res, i, pfc_res_column(res, "before")),
            .after = pfc_res_f64(res, i, pfc_res_column(res, "after")),
            .undone = pfc_res_bool(res, i, pfc_res_column(res, "undone")),
            .rel_change = pfc_res_f64(res, i, pfc_res_column(res, "rel_change")),
            .last_event_at = pfc_res_f64(res, i, pfc_res_column(res, "last_event_at")),
            .blocks = pfc_res_bool(res, i, pfc_res_column(res, "blocks")),
            .same = pfc_res_bool(res, i, pfc_res_column(res, "same")),
            .may_return = pfc_res_bool(res, i, pfc_res_column(res, "may_return")),
            .session = pfc_res_text(res, i, pfc_res_column(res, "session")),
            .withheld = pfc_res_text(res, i, pfc_res_column(res, "withheld")),
            .accepted = pfc_res_bool(res, i, pfc_res_column(res, "accepted")),
            .alert_state = pfc_res_text(res, i, pfc_res_column(res, "state")),
            .last_actor = pfc_res_text(res, i, pfc_res_column(res, "last_actor")),
        };
    }
}

pfc_known *pfc_known_match(pfc_known *items, size_t len, int64_t position, int64_t low,
                           int64_t high, bool regression)
{
    pfc_known *best = NULL;

    for (size_t i = 0; i < len; i++) {
        pfc_known *k = &items[i];

        if (k->used || (k->same && k->gone) || k->regression != regression || k->high < low ||
            k->low > high)
            continue;
        if (!best || (best->gone == k->gone && llabs((long long)(k->position - position)) <
                                                   llabs((long long)(best->position - position))))
            best = k;
    }
    return best;
}

#define BLUR 3 /* commits by which the edges of a place move with later points */

bool pfc_known_at(const pfc_known *k, int64_t low, int64_t high)
{
    return k->high >= low && k->low <= high && k->low >= low - BLUR && k->high <= high + BLUR;
}

bool pfc_known_same(const pfc_known *items, size_t len, int64_t low, int64_t high)
{
    for (size_t i = 0; i < len; i++) {
        const pfc_known now = { .low = low, .high = high };

        if (items[i].same && items[i].gone && pfc_known_at(&now, items[i].low, items[i].high))
            return true;
    }
    return false;
}

bool pfc_known_own(const pfc_known *k, const char *state)
{
    return k->alert_id && pfc_streq(k->alert_state, state) && pfc_streq(k->last_actor, "detector");
}

pfc_code pfc_known_follow(pfc_tx *tx, int64_t project_id, const pfc_known *old, bool confirmed,
                          bool undone, pfc_err *err)
{
    static const char *const closable[] = { "untriaged", "acknowledged", "investigating", "fixed",
                                            "backed_out" };
    pfc_alert_change change = { 0 };
    bool own = false;

    for (size_t i = 0; undone && i < PFC_ARRAY_LEN(closable); i++) {
        if (pfc_streq(old->alert_state, closable[i]))
            change = (pfc_alert_change){ .state = "verified_fixed", .reason = PFC_WENT_AWAY };
    }
    if (undone && pfc_known_own(old, "infrastructure")) {
        change = (pfc_alert_change){ .state = "verified_fixed", .reason = PFC_WENT_AWAY };
        own = true;
    }
    if (!undone && pfc_known_own(old, "verified_fixed")) {
        change = (pfc_alert_change){ .state = "untriaged", .reason = "the level did not stay" };
        own = true;
    }
    if (!undone && old->gone && confirmed && old->may_return && pfc_known_own(old, "noise")) {
        change = (pfc_alert_change){ .state = "untriaged", .reason = "the change is there again" };
        own = true;
    }
    if (!change.state)
        return PFC_OK;
    return pfc_alert_follow(tx, project_id, old->alert_id, old->alert_state, own, &change, err);
}

pfc_code pfc_alert_regroup(pfc_tx *tx, int64_t project_id, int64_t alert_id, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, alert_id);
    return pfc_tx_query(tx, "alert_regroup", &args, NULL, err);
}
