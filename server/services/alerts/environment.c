/*
 * Machines that moved: where the canary did not stand still, one event stands for all the
 * regressions that the machine would have shown. Where there is no canary, see shift.c; here a person
 * may say that such a step is no machine's.
 */
#include "server/services/alerts/environment.h"

#include "server/services/alerts/kinds.h"
#include "server/services/internal.h"

pfc_code pfc_environment_note(pfc_tx *tx, int64_t project_id, int64_t machine_id, int64_t run_id,
                              bool infra, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    int64_t id = 0;
    bool tell;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, machine_id);
    if (infra)
        pfc_args_i64(&args, run_id);
    code = pfc_tx_query(tx, infra ? "environment_moved" : "environment_still", &args, &res, err);
    if (code)
        return code;
    if (pfc_res_rows(res))
        id = pfc_res_i64(res, 0, 0);
    tell = id && (!infra || pfc_res_bool(res, 0, 1));
    pfc_res_free(res);
    if (!tell)
        return PFC_OK;
    pfc_args_i64(&args, id);
    return pfc_tx_query(tx, "environment_notify", &args, NULL, err);
}

/* Its alerts are the commits' again. As the detector's own: it set them, and may again. */
static pfc_code release_alerts(pfc_tx *tx, int64_t project_id, int64_t id, const char *reason,
                               pfc_err *err)
{
    /* Who it was stands at the event. */
    char *why = pfc_format("a person says that event %lld is no machine's%s%.400s", (long long)id,
                           reason && *reason ? ": " : "", reason ? reason : "");
    const pfc_alert_change change = { .state = "untriaged", .reason = why };
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, id);
    code = pfc_tx_query(tx, "shift_alerts", &args, &res, err);
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        const int64_t alert_id = pfc_res_i64(res, i, 0);

        pfc_args_i64(&args, project_id);
        pfc_args_i64s(&args, &alert_id, 1);
        pfc_args_id(&args, 0);
        code = pfc_tx_query(tx, "shift_alert", &args, NULL, err);
        if (!code && pfc_streq(pfc_res_text(res, i, 1), "infrastructure") &&
            pfc_streq(pfc_res_text(res, i, 2), "detector"))
            code = pfc_alert_follow(tx, project_id, alert_id, "infrastructure", true, &change, err);
    }
    pfc_res_free(res);
    free(why);
    return code;
}

/* A person's word on an event. */
typedef struct word {
    const char *actor, *reason;
    const pfc_environment_event *event; /* as it was */
    bool dismissed;
    pfc_detector detector;
} word;

/* Has the event, or it is a canary's. The branch goes first, as with all who write several of its alerts. */
static pfc_code lock_event(pfc_tx *tx, const pfc_environment_event *event, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code = PFC_OK;

    if (event->branch)
        code = pfc_branch_lock(tx, event->project_id, event->branch, err);
    if (!code) {
        pfc_args_i64(&args, event->id);
        code = pfc_tx_query(tx, "shift_lock", &args, &res, err);
    }
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ECONFLICT,
                           "event %lld is a canary's: it was measured, and ends by itself when the "
                           "canary stands still; only one of kind step can be dismissed",
                           (long long)event->id);
    pfc_res_free(res);
    return code;
}

static pfc_code dismiss(pfc_tx *tx, void *into, pfc_err *err)
{
    word *w = into;
    const int64_t id = w->event->id, project_id = w->event->project_id;
    char *what = pfc_format("event %lld", (long long)id);
    pfc_args args = { 0 };
    pfc_code code;

    pfc_detector_clear(&w->detector);
    code = lock_event(tx, w->event, err);
    if (!code) {
        pfc_args_i64(&args, id);
        pfc_args_text(&args, w->dismissed ? w->actor : NULL);
        pfc_args_text(&args, w->reason);
        code = pfc_tx_query(tx, "shift_dismiss", &args, NULL, err);
    }
    if (!code && w->dismissed)
        code = release_alerts(tx, project_id, id, w->reason, err);
    if (!code) {
        pfc_args_i64(&args, id);
        code = pfc_tx_query(tx, "shift_ask_again", &args, NULL, err);
    }
    if (!code)
        code = pfc_note(tx, w->actor, w->dismissed ? "dismiss" : "restore", project_id, what,
                        w->reason, err);
    if (!code) {
        pfc_args_i64(&args, id);
        code = pfc_tx_query(tx, "shift_notify", &args, NULL, err);
    }
    if (!code)
        code = pfc_detector_load(tx, project_id, &w->detector, err);
    free(what);
    return code;
}

pfc_code pfc_shift_dismiss(pfc_db *db, const char *actor, int64_t id, bool dismissed,
                           const char *reason, pfc_environment_events *out, pfc_err *err)
{
    pfc_environment_events before = { 0 };
    word w = { .actor = actor, .reason = reason, .dismissed = dismissed };
    pfc_code code = pfc_environment_get(db, id, &before, err);

    if (!code) {
        w.event = &before.items[0];
        code = pfc_db_write(db, dismiss, &w, err);
    }
    if (!code)
        code = pfc_alerts_open(db, w.event->project_id, w.event->branch, w.detector.fdr, err);
    if (!code && w.event->branch)
        code = pfc_boundaries_judge(db, w.event->project_id, w.event->branch, err);
    pfc_detector_clear(&w.detector);
    pfc_rows_clear(&before);
    return code ? code : pfc_environment_get(db, id, out, err);
}
