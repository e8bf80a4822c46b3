/*
 * Broken benchmarks: one alert a benchmark, backend and machine class, "broken since COMMIT", which
 * closes when a later commit is measured again. Only the order of commits decides, not the order in
 * which results arrive: each pass reads the whole state and sets the alert to match it.
 */
#include "server/repo/sql/broken.h"

#include <stdio.h>

#include "server/repo/sql/alerts.h"
#include "server/repo/sql/jobs.h"
#include "server/services/alerts/alerts.h"
#include "server/services/owners/owners.h"

#define REASON_BYTES 400

typedef struct looking {
    int64_t project_id;
    const char *branch;
    const int64_t *runs;
    size_t runs_len;
    bool whole;
} looking;

/* How a benchmark is now. */
typedef struct state {
    int64_t series_id;          /* 0: never measured on the branch, so nothing was broken */
    bool seen;                  /* it was broken somewhere on the line */
    int64_t since, low, undone; /* commits; since 0: it is not broken */
    const char *reason;
} state;

/* The alert that is in force, if any. */
typedef struct standing {
    int64_t id, commit_id, alert_id;
    bool ended;
    const char *state, *last_actor;
} standing;

static state read_state(const pfc_sql_broken_state_rows *rows)
{
    state s = { .series_id = rows->items[0].series_id,
                .seen = rows->items[0].seen,
                .since = rows->items[0].since_commit_id,
                .low = rows->items[0].low_commit_id,
                .undone = rows->items[0].undone_commit_id,
                .reason = rows->items[0].reason };

    if (!s.low)
        s.low = s.since;
    return s;
}

/* The open alert; else the newest closed alert for the same commit, which is then reopened. */
static bool find_standing(const pfc_sql_broken_alerts_rows *rows, int64_t since, standing *out)
{
    bool found = false;

    for (size_t i = 0; i < rows->len; i++) {
        const standing s = {
            .id = rows->items[i].id,
            .commit_id = rows->items[i].commit_id,
            .alert_id = rows->items[i].alert_id,
            .ended = rows->items[i].ended,
            .state = rows->items[i].state,
            .last_actor = rows->items[i].last_actor,
        };

        if (s.ended && (s.commit_id != since || (found && !out->ended)))
            continue;
        *out = s;
        found = true;
    }
    return found;
}

static pfc_code open_alert(pfc_tx *tx, int64_t project_id, int64_t series_id, int64_t change_id,
                           const char *reason, pfc_err *err)
{
    char text[REASON_BYTES];
    int64_t id = 0;
    pfc_code code;

    code = pfc_sql_alert_open(tx,
                              &(pfc_sql_alert_open_args){ .project_id = project_id,
                                                          .change_point_id = change_id,
                                                          .series_id = series_id },
                              &id, err);
    if (code || !id)
        return code;
    (void)snprintf(text, sizeof(text), "broken: %s", reason ? reason : "");
    code = pfc_sql_alert_event_insert(tx,
                                      &(pfc_sql_alert_event_insert_args){ .project_id = project_id,
                                                                          .alert_id = id,
                                                                          .actor = "detector",
                                                                          .to = "untriaged",
                                                                          .reason = text },
                                      err);
    if (code)
        return code;
    return pfc_sql_alert_notify(tx, &(pfc_sql_alert_notify_args){ .alert_id = id }, err);
}

static pfc_code put(pfc_tx *tx, int64_t project_id, const state *now, const standing *old,
                    pfc_err *err)
{
    int64_t id = 0;
    pfc_code code;

    code = pfc_sql_broken_put(tx,
                              &(pfc_sql_broken_put_args){ .project_id = project_id,
                                                          .id = old ? old->id : 0,
                                                          .series_id = now->series_id,
                                                          .commit_low_id = now->low,
                                                          .since = now->since,
                                                          .reason = now->reason },
                              &id, err);
    if (code || !old || !old->alert_id)
        return code ? code : open_alert(tx, project_id, now->series_id, id, now->reason, err);
    if (old->ended && pfc_streq(old->state, "verified_fixed"))
        return pfc_alert_follow(
            tx, project_id, old->alert_id, old->state, true,
            &(pfc_alert_change){ .state = "untriaged", .reason = "it is broken again" }, err);
    return PFC_OK;
}

/* Closes only alerts in these states: others, such as noise or wont_fix, were set by a person. */
static pfc_code close_alert(pfc_tx *tx, int64_t project_id, const standing *old, const char *to,
                            const char *reason, pfc_err *err)
{
    static const char *const closable[] = { "untriaged", "acknowledged", "investigating", "fixed",
                                            "backed_out" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(closable); i++)
        if (old->alert_id && pfc_streq(old->state, closable[i]))
            return pfc_alert_follow(tx, project_id, old->alert_id, old->state, false,
                                    &(pfc_alert_change){ .state = to, .reason = reason }, err);
    return PFC_OK;
}

static pfc_code drop(pfc_tx *tx, int64_t project_id, const state *now, const standing *old,
                     pfc_err *err)
{
    pfc_code code;

    if (!now->undone) { /* no commit of the branch has a broken result now */
        code = pfc_sql_change_points_gone(
            tx,
            &(pfc_sql_change_points_gone_args){
                .project_id = project_id, .ids = &old->id, .ids_len = 1 },
            err);
        return code
                   ? code
                   : close_alert(tx, project_id, old, "noise",
                                 "went away: no commit of the branch has a broken result now", err);
    }
    code = pfc_sql_change_point_undone(
        tx,
        &(pfc_sql_change_point_undone_args){
            .project_id = project_id, .id = old->id, .undone_commit_id = now->undone },
        err);
    return code ? code
                : close_alert(tx, project_id, old, "verified_fixed",
                              "a later commit measures again", err);
}

static pfc_code judge_key(pfc_tx *tx, const looking *l, const pfc_sql_broken_keys_row *key,
                          pfc_err *err)
{
    pfc_sql_broken_alerts_rows alerts = { 0 };
    pfc_sql_broken_state_rows rows = { 0 };
    standing old = { 0 };
    state now = { 0 };
    bool found = false;
    pfc_code code;

    code = pfc_sql_broken_state(tx,
                                &(pfc_sql_broken_state_args){ .project_id = l->project_id,
                                                              .branch = l->branch,
                                                              .benchmark = key->benchmark,
                                                              .backend = key->backend,
                                                              .machine_class = key->machine_class },
                                &rows, err);
    if (!code)
        now = read_state(&rows);
    if (!code && now.series_id) {
        code = pfc_sql_broken_alerts(tx,
                                     &(pfc_sql_broken_alerts_args){ .project_id = l->project_id,
                                                                    .series_id = now.series_id },
                                     &alerts, err);
        found = !code && find_standing(&alerts, now.since, &old);
    }
    if (!code && now.series_id && now.since)
        code = put(tx, l->project_id, &now, found ? &old : NULL, err);
    else if (!code && found && !old.ended)
        code = drop(tx, l->project_id, &now, &old, err);
    pfc_rows_clear(&alerts);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code judge_branch(pfc_tx *tx, void *into, pfc_err *err)
{
    const looking *l = into;
    pfc_sql_broken_keys_rows keys = { 0 };
    pfc_code code;

    code = pfc_branch_lock(tx, l->project_id, l->branch, err);
    if (!code)
        code = pfc_sql_broken_keys(tx,
                                   &(pfc_sql_broken_keys_args){ .project_id = l->project_id,
                                                                .branch = l->branch,
                                                                .run_ids = l->runs,
                                                                .run_ids_len = l->runs_len,
                                                                .whole = l->whole },
                                   &keys, err);
    for (size_t i = 0; !code && i < keys.len; i++)
        code = judge_key(tx, l, &keys.items[i], err);
    if (!code && keys.len)
        code = pfc_sql_broken_group(
            tx, &(pfc_sql_broken_group_args){ .project_id = l->project_id, .branch = l->branch },
            err);
    if (!code && keys.len)
        code = pfc_owners_settle(tx, l->project_id, l->branch, 0, err);
    pfc_rows_clear(&keys);
    return code;
}

static pfc_code list_branches(pfc_db *db, const looking *l, const char *const *branches,
                              size_t branches_len, pfc_sql_broken_branches_rows *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code =
            pfc_sql_broken_branches(tx,
                                    &(pfc_sql_broken_branches_args){ .project_id = l->project_id,
                                                                     .run_ids = l->runs,
                                                                     .run_ids_len = l->runs_len,
                                                                     .branches = branches,
                                                                     .branches_len = branches_len },
                                    out, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_broken_judge(pfc_db *db, int64_t project_id, const int64_t *runs, size_t runs_len,
                          const char *const *branches, size_t branches_len, pfc_err *err)
{
    looking l = { .project_id = project_id, .runs = runs, .runs_len = runs_len };
    pfc_sql_broken_branches_rows list = { 0 };
    pfc_code code = list_branches(db, &l, branches, branches_len, &list, err);

    for (size_t i = 0; !code && i < list.len; i++) {
        l.branch = list.items[i].branch;
        l.whole = list.items[i].whole;
        code = pfc_db_write(db, judge_branch, &l, err);
        if (code)
            code = pfc_err_wrap(err, "broken benchmarks on %.80s", l.branch);
    }
    pfc_rows_clear(&list);
    return code;
}
