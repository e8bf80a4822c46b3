/*
 * Triage: an alert's state, who set it, and why.
 */
#include "core/base/parse.h"
#include "server/repo/sql/alerts.h"
#include "server/repo/sql/groups.h"
#include "server/repo/sql/notices.h"
#include "server/services/alerts/alerts.h"
#include "server/services/owners/owners.h"
#include "server/services/service.h"

static const char *const states[] = { "untriaged",     "acknowledged",   "investigating",
                                      "fixed",         "backed_out",     "wont_fix",
                                      "noise",         "infrastructure", "duplicate",
                                      "verified_fixed" };

bool pfc_alert_state_known(const char *state)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++) {
        if (pfc_streq(states[i], state))
            return true;
    }
    return false;
}

static pfc_code check_change(const char *actor, const char *from, const pfc_alert_change *change,
                             pfc_err *err)
{
    const char *to = change->state;

    if (change->accept && !pfc_streq(to, "wont_fix"))
        return pfc_err_set_field(err, PFC_EINVAL, "accept",
                                 "accept: a level is accepted with state wont_fix");

    if (to && !pfc_alert_state_known(to))
        return pfc_err_set_field(err, PFC_EINVAL, "state", "state: \"%.40s\" is not one of them",
                                 to);
    if (change->culprit && *change->culprit && !pfc_is_sha(change->culprit))
        return pfc_err_set_field(
            err, PFC_EINVAL, "culprit",
            "culprit: expected a full id of 40 hexadecimal digits, or nothing");
    /* "verified" needs a fix that the detector has measured. */
    if (pfc_streq(to, "verified_fixed") && !pfc_streq(actor, "detector") &&
        !pfc_streq(from, "fixed") && !pfc_streq(from, "backed_out") &&
        !pfc_streq(from, "verified_fixed"))
        return pfc_err_set_field(err, PFC_ECONFLICT, "state",
                                 "state: verified_fixed comes after fixed or backed_out, not %s",
                                 from);
    return PFC_OK;
}

static pfc_code announce_recovery(pfc_tx *tx, int64_t project_id, int64_t alert_id, pfc_err *err)
{
    pfc_code code = pfc_sql_notice_recovered_lock(
        tx, &(pfc_sql_notice_recovered_lock_args){ .project_id = project_id, .alert_id = alert_id },
        err);

    if (!code)
        code = pfc_sql_notice_recovered(
            tx, &(pfc_sql_notice_recovered_args){ .project_id = project_id, .alert_id = alert_id },
            err);
    return code;
}

static pfc_code accept_level(pfc_tx *tx, int64_t project_id, int64_t alert_id, pfc_err *err)
{
    int64_t accepted = 0;
    pfc_code code = pfc_sql_alert_accept(
        tx, &(pfc_sql_alert_accept_args){ .project_id = project_id, .alert_id = alert_id },
        &accepted, err);

    if (!code && !accepted)
        code = pfc_err_set_field(err, PFC_ECONFLICT, "accept",
                                 "accept: alert %lld reports a broken benchmark, "
                                 "which has no level",
                                 (long long)alert_id);
    return code;
}

pfc_code pfc_alert_apply(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                         const char *from, const pfc_alert_change *change, pfc_err *err)
{
    const char *to = change->state ? change->state : from;
    char *what = NULL;
    pfc_code code = check_change(actor, from, change, err);

    if (code)
        return code;
    code = pfc_sql_alert_set(tx,
                             &(pfc_sql_alert_set_args){ .project_id = project_id,
                                                        .alert_id = alert_id,
                                                        .state = to,
                                                        .note = change->note,
                                                        .culprit = change->culprit },
                             err);
    if (!code && change->culprit)
        code = pfc_owners_settle(tx, project_id, NULL, alert_id, err);
    if (!code && change->accept)
        code = accept_level(tx, project_id, alert_id, err);
    if (!code) {
        code = pfc_sql_alert_event_insert(
            tx,
            &(pfc_sql_alert_event_insert_args){ .project_id = project_id,
                                                .alert_id = alert_id,
                                                .actor = actor,
                                                .from = from,
                                                .to = to,
                                                .reason = change->reason,
                                                .culprit = change->culprit },
            err);
    }
    if (!code) {
        what = pfc_format("alert %lld", (long long)alert_id);
        code = pfc_audit_add(tx, actor, change->accept ? "accept" : "triage", project_id, what, to,
                             err);
        free(what);
    }
    if (!code && pfc_streq(to, "verified_fixed") && !pfc_streq(from, "verified_fixed"))
        code = announce_recovery(tx, project_id, alert_id, err);
    if (!code)
        code = pfc_sql_alert_notify(tx, &(pfc_sql_alert_notify_args){ .alert_id = alert_id }, err);
    return code;
}

/* Two statements, so that the second one sees changes committed while the first waited. */
static pfc_code last_actor(pfc_tx *tx, int64_t project_id, int64_t alert_id, bool *detector,
                           pfc_err *err)
{
    pfc_sql_alert_last_actor_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_alert_last_actor(
        tx, &(pfc_sql_alert_last_actor_args){ .project_id = project_id, .alert_id = alert_id },
        &rows, err);
    *detector = !code && rows.len && pfc_streq(rows.items[0].actor, "detector");
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_alert_follow(pfc_tx *tx, int64_t project_id, int64_t alert_id, const char *from,
                          bool own, const pfc_alert_change *change, pfc_err *err)
{
    pfc_sql_alert_lock_rows rows = { 0 };
    bool stands;
    pfc_code code;

    code = pfc_sql_alert_lock(tx, &(pfc_sql_alert_lock_args){ .alert_id = alert_id }, &rows, err);
    stands = !code && rows.len && pfc_streq(rows.items[0].state, from);
    if (!code && stands && own)
        code = last_actor(tx, project_id, alert_id, &stands, err);
    if (!code && stands)
        code = pfc_alert_apply(tx, "detector", project_id, alert_id, from, change, err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code refuse_culprit(const pfc_sql_alert_lock_rows *alert, const pfc_alert_change *change,
                               pfc_err *err)
{
    if (!change->culprit || !*change->culprit || !alert->items[0].drift)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_ECONFLICT, "culprit",
                             "culprit: a drift has no single culprit, got \"%.40s\"",
                             change->culprit);
}

/* Without it, a form that was opened before another user's change would revert that change. */
static pfc_code check_seen(const char *state, const char *seen, pfc_err *err)
{
    if (!seen || pfc_streq(state, seen))
        return PFC_OK;
    return pfc_err_set_field(err, PFC_ECONFLICT, "seen",
                             "seen: the alert is now %s, expected %.40s; read it again", state,
                             seen);
}

pfc_code pfc_alert_update(pfc_db *db, const char *actor, int64_t id, const pfc_alert_change *change,
                          pfc_alerts *out, pfc_err *err)
{
    pfc_sql_alert_lock_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_alert_lock(tx, &(pfc_sql_alert_lock_args){ .alert_id = id }, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such alert");
    if (!code)
        code = check_seen(rows.items[0].state, change->seen, err);
    if (!code)
        code = refuse_culprit(&rows, change, err);
    if (!code)
        code = pfc_alert_apply(tx, actor, rows.items[0].project_id, id, rows.items[0].state, change,
                               err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code ? code : pfc_alerts_get(db, id, out, err);
}
