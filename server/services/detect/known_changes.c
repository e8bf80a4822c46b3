/*
 * Stored change points: matches them with new results, and updates their alerts.
 */
#include "server/services/detect/known_changes.h"

#include <stdlib.h>

#include "server/repo/sql/groups.h"
#include "server/services/alerts/alerts.h"

void pfc_known_read(const pfc_sql_change_points_of_series_rows *rows, pfc_known *items)
{
    for (size_t i = 0; i < rows->len; i++) {
        const pfc_sql_change_points_of_series_row *row = &rows->items[i];

        items[i] = (pfc_known){
            .id = row->id,
            .position = row->position,
            .low = row->position_low,
            .high = row->position_high,
            .alert_id = row->alert_id,
            .regression = row->regression,
            .gone = row->gone,
            .before = row->before,
            .after = row->after,
            .undone = row->undone,
            .rel_change = row->rel_change,
            .last_event_at = row->last_event_at,
            .blocks = row->blocks,
            .same = row->same,
            .may_return = row->may_return,
            .session = row->session,
            .withheld = row->withheld,
            .accepted = row->accepted,
            .alert_state = row->state,
            .last_actor = row->last_actor,
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

#define BLUR 3 /* commits by which later points can move the edges of a range */

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
                          const char *undone, pfc_err *err)
{
    static const char *const closable[] = { "untriaged", "acknowledged", "investigating", "fixed",
                                            "backed_out" };
    pfc_alert_change change = { 0 };
    bool own = false;

    for (size_t i = 0; undone && i < PFC_ARRAY_LEN(closable); i++) {
        if (pfc_streq(old->alert_state, closable[i]))
            change = (pfc_alert_change){ .state = "verified_fixed", .reason = undone };
    }
    if (undone && pfc_known_own(old, "infrastructure")) {
        change = (pfc_alert_change){ .state = "verified_fixed", .reason = undone };
        own = true;
    }
    if (!undone && pfc_known_own(old, "verified_fixed")) {
        change = (pfc_alert_change){ .state = "untriaged", .reason = "the level did not stay" };
        own = true;
    }
    /* The change may have returned earlier, without enough points for an alert. */
    if (!undone && confirmed && old->may_return && pfc_known_own(old, "noise")) {
        change = (pfc_alert_change){ .state = "untriaged", .reason = "the change is there again" };
        own = true;
    }
    if (!change.state)
        return PFC_OK;
    return pfc_alert_follow(tx, project_id, old->alert_id, old->alert_state, own, &change, err);
}

pfc_code pfc_alert_regroup(pfc_tx *tx, int64_t project_id, int64_t alert_id, bool moved,
                           pfc_err *err)
{
    return pfc_sql_alert_regroup(tx,
                                 &(pfc_sql_alert_regroup_args){ .project_id = project_id,
                                                                .alert_id = alert_id,
                                                                .moved = moved },
                                 err);
}
