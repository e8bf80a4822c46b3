/*
 * Triage: an alert's state, who set it, and why.
 */
#include "server/services/internal.h"

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
    /* Verifying is a statement about a fix: there must be one. The detector has measured it. */
    if (pfc_streq(to, "verified_fixed") && !pfc_streq(actor, "detector") &&
        !pfc_streq(from, "fixed") && !pfc_streq(from, "backed_out") &&
        !pfc_streq(from, "verified_fixed"))
        return pfc_err_set_field(err, PFC_ECONFLICT, "state",
                                 "state: verified_fixed comes after fixed or backed_out, not %s",
                                 from);
    return PFC_OK;
}

pfc_code pfc_alert_apply(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                         const char *from, const pfc_alert_change *change, pfc_err *err)
{
    const char *to = change->state ? change->state : from;
    char *what = NULL;
    pfc_args args = { 0 };
    pfc_code code = check_change(actor, from, change, err);

    if (code)
        return code;
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, alert_id);
    pfc_args_text(&args, to);
    pfc_args_text(&args, change->note);
    pfc_args_text(&args, change->culprit);
    code = pfc_tx_query(tx, "alert_set", &args, NULL, err);
    if (!code && change->accept) {
        pfc_args_i64(&args, project_id);
        pfc_args_i64(&args, alert_id);
        code = pfc_tx_query(tx, "alert_accept", &args, NULL, err);
    }
    if (!code) {
        pfc_args_i64(&args, project_id);
        pfc_args_i64(&args, alert_id);
        pfc_args_text(&args, actor);
        pfc_args_text(&args, from);
        pfc_args_text(&args, to);
        pfc_args_text(&args, change->reason);
        code = pfc_tx_query(tx, "alert_event_insert", &args, NULL, err);
    }
    if (!code) {
        what = pfc_format("alert %lld", (long long)alert_id);
        code = pfc_note(tx, actor, change->accept ? "accept" : "triage", project_id, what, to, err);
        free(what);
    }
    if (!code) {
        pfc_args_i64(&args, alert_id);
        code = pfc_tx_query(tx, "alert_notify", &args, NULL, err);
    }
    return code;
}

/* Two statements: what was waited for is seen by the second. */
static pfc_code last_actor(pfc_tx *tx, int64_t project_id, int64_t alert_id, bool *detector,
                           pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, alert_id);
    code = pfc_tx_query(tx, "alert_last_actor", &args, &res, err);
    *detector = !code && pfc_res_rows(res) && pfc_streq(pfc_res_text(res, 0, 0), "detector");
    pfc_res_free(res);
    return code;
}

pfc_code pfc_alert_follow(pfc_tx *tx, int64_t project_id, int64_t alert_id, const char *from,
                          bool own, const pfc_alert_change *change, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    bool stands;
    pfc_code code;

    pfc_args_i64(&args, alert_id);
    code = pfc_tx_query(tx, "alert_lock", &args, &res, err);
    stands = !code && pfc_res_rows(res) && pfc_streq(pfc_res_text(res, 0, 1), from);
    if (!code && stands && own)
        code = last_actor(tx, project_id, alert_id, &stands, err);
    if (!code && stands)
        code = pfc_alert_apply(tx, "detector", project_id, alert_id, from, change, err);
    pfc_res_free(res);
    return code;
}

static pfc_code refuse_culprit(const pfc_res *alert, const pfc_alert_change *change, pfc_err *err)
{
    if (!change->culprit || !*change->culprit || !pfc_res_bool(alert, 0, 3))
        return PFC_OK;
    return pfc_err_set_field(err, PFC_ECONFLICT, "culprit",
                             "culprit: a drift has no single culprit, got \"%.40s\"",
                             change->culprit);
}

pfc_code pfc_alert_update(pfc_db *db, const char *actor, int64_t id, const pfc_alert_change *change,
                          pfc_alerts *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code) {
        pfc_args_i64(&args, id);
        code = pfc_tx_query(tx, "alert_lock", &args, &res, err);
    }
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such alert");
    if (!code)
        code = refuse_culprit(res, change, err);
    if (!code)
        code = pfc_alert_apply(tx, actor, pfc_res_i64(res, 0, 0), id, pfc_res_text(res, 0, 1),
                               change, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code ? code : pfc_alerts_get(db, id, out, err);
}
