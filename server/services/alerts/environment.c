/*
 * Machines that changed their speed. If the canary's values changed, one event replaces all the
 * regressions that the machine would have caused. For machines without a canary machine_shift.c
 * finds such steps; a person can dismiss those events here.
 */
#include "server/services/alerts/environment.h"

#include "server/repo/sql/groups.h"
#include "server/repo/sql/shifts.h"
#include "server/services/alerts/alerts.h"
#include "server/services/alerts/kinds.h"
#include "server/services/detect/detect.h"
#include "server/services/service.h"

/* *id: the event, 0: none; *news: subscribers of the event stream are notified of it. */
static pfc_code note_canary(pfc_tx *tx, int64_t project_id, int64_t machine_id, int64_t run_id,
                            int64_t *id, bool *news, pfc_err *err)
{
    pfc_sql_environment_moved_rows rows = { 0 };
    pfc_code code = pfc_sql_environment_moved(
        tx,
        &(pfc_sql_environment_moved_args){
            .project_id = project_id, .machine_id = machine_id, .run_id = run_id },
        &rows, err);

    if (!code && rows.len) {
        *id = rows.items[0].id;
        *news = rows.items[0].opened;
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_environment_note(pfc_tx *tx, int64_t project_id, int64_t machine_id, int64_t run_id,
                              bool infra, pfc_err *err)
{
    int64_t id = 0;
    bool news = !infra;
    pfc_code code;

    if (infra)
        code = note_canary(tx, project_id, machine_id, run_id, &id, &news, err);
    else
        code = pfc_sql_environment_still(
            tx,
            &(pfc_sql_environment_still_args){ .project_id = project_id, .machine_id = machine_id },
            &id, err);
    if (code || !id || !news)
        return code;
    return pfc_sql_environment_notify(tx, &(pfc_sql_environment_notify_args){ .id = id }, err);
}

/* Attributes the alerts to commits again. The change is recorded as the detector's own: the
 * detector marked these alerts, and may mark them again. */
static pfc_code release_alerts(pfc_tx *tx, int64_t project_id, int64_t id, const char *reason,
                               pfc_err *err)
{
    /* The event records the name of the person. */
    char *why = pfc_format("a person says that event %lld is no machine's%s%.400s", (long long)id,
                           reason && *reason ? ": " : "", reason ? reason : "");
    const pfc_alert_change change = { .state = "untriaged", .reason = why };
    pfc_sql_shift_alerts_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_shift_alerts(
        tx, &(pfc_sql_shift_alerts_args){ .project_id = project_id, .event_id = id }, &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        const int64_t alert_id = rows.items[i].id;

        code = pfc_sql_shift_alert(tx,
                                   &(pfc_sql_shift_alert_args){ .project_id = project_id,
                                                                .alert_ids = &alert_id,
                                                                .alert_ids_len = 1 },
                                   err);
        if (!code && pfc_streq(rows.items[i].state, "infrastructure") &&
            pfc_streq(rows.items[i].last_actor, "detector"))
            code = pfc_alert_follow(tx, project_id, alert_id, "infrastructure", true, &change, err);
    }
    pfc_rows_clear(&rows);
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

/* Locks the event; fails when a canary measured it. The branch is locked first, as in every
 * transaction that writes several of its alerts, so that two of them cannot deadlock. */
static pfc_code lock_event(pfc_tx *tx, const pfc_environment_event *event, pfc_err *err)
{
    pfc_sql_shift_lock_rows rows = { 0 };
    pfc_code code = PFC_OK;

    if (event->branch)
        code = pfc_branch_lock(tx, event->project_id, event->branch, err);
    if (!code)
        code = pfc_sql_shift_lock(tx, &(pfc_sql_shift_lock_args){ .id = event->id }, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ECONFLICT,
                           "event %lld was measured by a canary and ends automatically when the "
                           "canary is stable again; only events of kind step can be dismissed",
                           (long long)event->id);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code dismiss(pfc_tx *tx, void *into, pfc_err *err)
{
    word *w = into;
    const int64_t id = w->event->id, project_id = w->event->project_id;
    char *what = pfc_format("event %lld", (long long)id);
    pfc_code code;

    pfc_detector_clear(&w->detector);
    code = lock_event(tx, w->event, err);
    if (!code)
        code = pfc_sql_shift_dismiss(
            tx,
            &(pfc_sql_shift_dismiss_args){
                .id = id, .actor = w->dismissed ? w->actor : NULL, .reason = w->reason },
            err);
    if (!code && w->dismissed)
        code = release_alerts(tx, project_id, id, w->reason, err);
    if (!code)
        code = pfc_sql_shift_ask_again(tx, &(pfc_sql_shift_ask_again_args){ .id = id }, err);
    if (!code)
        code = pfc_audit_add(tx, w->actor, w->dismissed ? "dismiss" : "restore", project_id, what,
                             w->reason, err);
    if (!code)
        code = pfc_sql_shift_notify(tx, &(pfc_sql_shift_notify_args){ .id = id }, err);
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
