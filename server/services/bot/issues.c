/*
 * Issues at the forge for alert groups: what was asked for, and what was posted.
 */
#include "server/services/bot/issues.h"

#include <math.h>

#include "server/repo/sql/alert_groups.h"

#define CANDIDATES 16 /* due groups that are tried until one can be locked */

/* ---- the request ---- */

static pfc_code project_of(pfc_db *db, int64_t group_id, int64_t *project_id, pfc_err *err)
{
    pfc_sql_alert_group_projects_rows rows = { 0 };
    pfc_code code = pfc_sql_alert_group_projects_once(
        db, &(pfc_sql_alert_group_projects_args){ .ids = &group_id, .ids_len = 1 }, &rows, err);

    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such group");
    if (!code)
        *project_id = rows.items[0].project_id;
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code store(pfc_tx *tx, const char *actor, int64_t project_id, int64_t group_id,
                      pfc_err *err)
{
    int64_t stored = 0;
    pfc_code code = pfc_sql_group_issue_ask(
        tx,
        &(pfc_sql_group_issue_ask_args){
            .project_id = project_id, .group_id = group_id, .actor = actor },
        &stored, err);

    if (!code && !stored) {
        (void)pfc_err_set(err, PFC_ECONFLICT, "the project is linked to no repository of a forge");
        code = pfc_err_hint(err, "link it first: perfci project set P --forge F --repo R");
    }
    return code;
}

pfc_code pfc_group_issue_ask(pfc_db *db, const char *actor, int64_t group_id, pfc_err *err)
{
    int64_t project_id = 0;
    char *object = pfc_format("group %lld", (long long)group_id);
    pfc_tx *tx = NULL;
    pfc_code code = project_of(db, group_id, &project_id, err);

    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = store(tx, actor, project_id, group_id, err);
    if (!code)
        code = pfc_audit_add(tx, actor, "file_issue", project_id, object, NULL, err);
    if (!code)
        code = pfc_event_send(tx, "issue", group_id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(object);
    return code;
}

/* ---- the next one ---- */

/* Reads it after the lock was taken: another server may have finished with it before. */
static pfc_code lock_one(pfc_tx *tx, const pfc_sql_group_issues_due_rows *due,
                         pfc_group_issues *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && out->len == 0 && i < due->len; i++) {
        const pfc_sql_group_issues_due_row *row = &due->items[i];
        bool locked = false;

        code =
            pfc_sql_group_issue_lock(tx,
                                     &(pfc_sql_group_issue_lock_args){
                                         .project_id = row->project_id, .group_id = row->group_id },
                                     &locked, err);
        pfc_rows_clear(out);
        if (!code && locked)
            code = pfc_sql_group_issue_get(
                tx,
                &(pfc_sql_group_issue_get_args){ .project_id = row->project_id,
                                                 .group_id = row->group_id },
                out, err);
    }
    return code;
}

pfc_code pfc_group_issue_take(pfc_db *db, pfc_tx **lock, pfc_group_issues *out, double *due_s,
                              pfc_err *err)
{
    pfc_sql_group_issues_due_rows due = { 0 };
    double wait_s = (double)NAN;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *due_s = HUGE_VAL;
    if (!code)
        code = pfc_sql_group_issues_due(tx, &(pfc_sql_group_issues_due_args){ .limit = CANDIDATES },
                                        &due, err);
    if (!code)
        code = lock_one(tx, &due, out, err);
    if (!code && out->len == 0)
        code = pfc_sql_group_issues_wait(tx, &wait_s, err);
    if (!code && out->len == 0) {
        *due_s = isfinite(wait_s) ? fmax(wait_s, 0.5) : HUGE_VAL;
        code = pfc_err_set(err, PFC_ENOTFOUND, "no issue is due");
    }
    pfc_rows_clear(&due);
    if (code)
        pfc_tx_free(tx);
    else
        *lock = tx;
    return code;
}

/* ---- what was posted ---- */

pfc_code pfc_group_issue_note(pfc_db *db, const pfc_group_issue *issue,
                              const pfc_group_issue_posted *posted, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_group_issue_posted(
            tx,
            &(pfc_sql_group_issue_posted_args){ .project_id = issue->project_id,
                                                .group_id = issue->group_id,
                                                .number = posted->number,
                                                .url = posted->url ? posted->url : "",
                                                .state = posted->open ? "open" : "closed",
                                                .hash = posted->hash },
            err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_group_issue_gone(pfc_db *db, const pfc_group_issue *issue, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_group_issue_gone(
            tx,
            &(pfc_sql_group_issue_gone_args){ .project_id = issue->project_id,
                                              .group_id = issue->group_id },
            err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_group_issue_later(pfc_db *db, const pfc_group_issue *issue, double after_s,
                               int64_t tries, const char *trouble, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_group_issue_later(
            tx,
            &(pfc_sql_group_issue_later_args){ .project_id = issue->project_id,
                                               .group_id = issue->group_id,
                                               .after_s = after_s,
                                               .tries = tries,
                                               .trouble = trouble },
            err);
    pfc_tx_free(tx);
    return code;
}
