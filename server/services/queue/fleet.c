/* Operating runners: draining, revoking, hiding results, reports. */
#include "server/services/queue/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "server/repo/sql/tokens.h"
#include "server/services/detect/detect.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

/* *project_id: of the caller, 0 for any; becomes the runner's, 0 for one that works for all. */
static pfc_code find(pfc_tx *tx, int64_t *project_id, const char *runner, pfc_err *err)
{
    pfc_sql_runners_named_rows rows = { 0 };
    pfc_code code = pfc_sql_runners_named(
        tx, &(pfc_sql_runners_named_args){ .project_id = *project_id, .name = runner }, &rows, err);

    if (!code && rows.len == 0) {
        code = pfc_err_set_field(err, PFC_ENOTFOUND, "runner", "runner: there is no \"%.200s\"",
                                 runner);
        pfc_err_hint(err, "`perfci runner list` names them");
    } else if (!code && rows.len > 1) {
        code = pfc_err_set_field(err, PFC_ECONFLICT, "runner",
                                 "runner: %zu projects have a \"%.200s\", expected one", rows.len,
                                 runner);
        pfc_err_hint(err, "name the project, too");
    } else if (!code) {
        *project_id = rows.items[0].project_id;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code audit(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                      const char *runner, const char *detail, pfc_err *err)
{
    char *what = pfc_format("runner %s", runner);
    pfc_code code = pfc_audit_add(tx, actor, action, project_id, what, detail, err);

    free(what);
    return code;
}

/* Lease requests of stopped runners that wait look again. */
static pfc_code announce(pfc_tx *tx, pfc_err *err)
{
    return pfc_event_send(tx, PFC_RUNNER_TOPIC, 0, err);
}

pfc_code pfc_runner_stopped(pfc_db *db, int64_t project_id, const char *runner, bool *stopped,
                            pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_runner_stopped(
            tx, &(pfc_sql_runner_stopped_args){ .project_id = project_id, .name = runner }, stopped,
            err);
    pfc_tx_free(tx);
    return code;
}

/* ---- draining ---- */

pfc_code pfc_runner_drain(pfc_db *db, const char *actor, int64_t project_id, const char *runner,
                          bool drain, bool *changed, pfc_err *err)
{
    size_t rows = 0;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = find(tx, &project_id, runner, err);
    if (!code && drain)
        code = pfc_sql_runner_drain(tx,
                                    &(pfc_sql_runner_drain_args){
                                        .project_id = project_id, .name = runner, .actor = actor },
                                    &rows, err);
    else if (!code)
        code = pfc_sql_runner_undrain(
            tx, &(pfc_sql_runner_undrain_args){ .project_id = project_id, .name = runner }, &rows,
            err);
    if (!code && rows)
        code = audit(tx, actor, drain ? "drain" : "undrain", project_id, runner, NULL, err);
    if (!code && rows)
        code = announce(tx, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    *changed = !code && rows > 0;
    return code;
}

/* ---- hiding results ---- */

static pfc_code hide(pfc_tx *tx, int64_t quarantine, size_t *branches, pfc_err *err)
{
    pfc_sql_quarantine_hide_rows rows = { 0 };
    pfc_code code = pfc_sql_quarantine_hide(tx, &(pfc_sql_quarantine_hide_args){ .id = quarantine },
                                            &rows, err);

    for (size_t i = 0; i < rows.len && !code; i++)
        code = pfc_detect_enqueue(tx, rows.items[i].project_id, 0, rows.items[i].branch, err);
    *branches += rows.len;
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code put_quarantine(pfc_tx *tx, const char *actor, int64_t project_id,
                               const char *runner, const pfc_revocation *r, pfc_revoked *out,
                               pfc_err *err)
{
    size_t branches = 0;
    char *detail;
    pfc_code code = pfc_sql_quarantine_put(tx,
                                           &(pfc_sql_quarantine_put_args){ .project_id = project_id,
                                                                           .name = runner,
                                                                           .since = r->since,
                                                                           .actor = actor,
                                                                           .reason = r->reason },
                                           &out->quarantine, err);

    if (!code)
        code = hide(tx, out->quarantine, &branches, err);
    if (code)
        return code;
    detail = pfc_format("quarantine %lld: %lld runs since %.0f%s%.300s", (long long)out->quarantine,
                        (long long)out->runs, r->since, r->reason ? ": " : "",
                        r->reason ? r->reason : "");
    code = audit(tx, actor, "quarantine", project_id, runner, detail, err);
    free(detail);
    return code;
}

pfc_code pfc_quarantines_sweep(pfc_db *db, size_t *branches, pfc_err *err)
{
    pfc_sql_quarantines_due_rows due = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    *branches = 0;
    if (!code)
        code = pfc_sql_quarantines_due(tx, &due, err);
    pfc_tx_free(tx);
    for (size_t i = 0; i < due.len && !code; i++) {
        tx = NULL;
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
        if (!code)
            code = hide(tx, due.items[i].id, branches, err);
        if (!code)
            code = pfc_tx_commit(tx, err);
        pfc_tx_free(tx);
    }
    tx = NULL;
    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_quarantines_seen(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&due);
    return code;
}

/* ---- revoking ---- */

static pfc_code count(pfc_tx *tx, int64_t project_id, const char *runner, const pfc_revocation *r,
                      pfc_revoked *out, pfc_err *err)
{
    pfc_sql_quarantine_preview_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_runner_tokens(tx,
                                 &(pfc_sql_runner_tokens_args){ .project_id = project_id,
                                                                .name = runner,
                                                                .own_token = r->own_token },
                                 &out->tokens, err);
    if (!code)
        code = pfc_sql_runner_leases(
            tx, &(pfc_sql_runner_leases_args){ .project_id = project_id, .name = runner },
            &out->leases, err);
    if (!code && r->since > 0)
        code = pfc_sql_quarantine_preview(
            tx,
            &(pfc_sql_quarantine_preview_args){
                .project_id = project_id, .name = runner, .since = r->since },
            &rows, err);
    if (!code && rows.len) {
        out->runs = rows.items[0].runs;
        out->results = rows.items[0].results;
        out->series = rows.items[0].series;
        out->commits = rows.items[0].commits;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code end_tokens(pfc_tx *tx, const char *actor, int64_t project_id,
                           const pfc_revoked *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < out->tokens.len && !code; i++) {
        const int64_t id = out->tokens.items[i].id;
        char *what = pfc_format("token %lld", (long long)id);
        int64_t found = 0;

        code = pfc_sql_token_revoke(tx, &(pfc_sql_token_revoke_args){ .id = id }, &found, err);
        if (!code)
            code = pfc_audit_add(tx, actor, "revoke", project_id, what, NULL, err);
        /* The event makes every server remove the token from its cache. */
        if (!code)
            code = pfc_event_send(tx, "token", id, err);
        free(what);
    }
    return code;
}

static pfc_code revoke(pfc_tx *tx, const char *actor, int64_t project_id, const char *runner,
                       const pfc_revocation *r, pfc_revoked *out, pfc_err *err)
{
    size_t rows = 0, ended = 0;
    pfc_code code = pfc_sql_runner_revoke(
        tx,
        &(pfc_sql_runner_revoke_args){ .project_id = project_id, .name = runner, .actor = actor },
        &rows, err);

    if (!code)
        code = end_tokens(tx, actor, project_id, out, err);
    if (!code)
        code = pfc_sql_runner_end_leases(
            tx, &(pfc_sql_runner_end_leases_args){ .project_id = project_id, .name = runner },
            &ended, err);
    out->leases = (int64_t)ended;
    if (!code && rows)
        code = audit(tx, actor, "revoke", project_id, runner, r->reason, err);
    if (!code && r->since > 0)
        code = put_quarantine(tx, actor, project_id, runner, r, out, err);
    return code;
}

pfc_code pfc_runner_revoke(pfc_db *db, const char *actor, int64_t project_id, const char *runner,
                           const pfc_revocation *revocation, pfc_revoked *out, pfc_err *err)
{
    size_t expired = 0;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *out = (pfc_revoked){ 0 };
    if (!code)
        code = find(tx, &project_id, runner, err);
    if (!code)
        code = count(tx, project_id, runner, revocation, out, err);
    if (!code && !revocation->dry_run)
        code = revoke(tx, actor, project_id, runner, revocation, out, err);
    if (!code && !revocation->dry_run)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    if (!code && out->leases && !revocation->dry_run)
        code = pfc_jobs_expire(db, &expired, err);
    if (code)
        pfc_revoked_clear(out);
    return code;
}

void pfc_revoked_clear(pfc_revoked *revoked)
{
    pfc_rows_clear(&revoked->tokens);
    *revoked = (pfc_revoked){ 0 };
}

/* ---- taking it back ---- */

static pfc_code give_back(pfc_tx *tx, const char *actor, int64_t quarantine, pfc_err *err)
{
    pfc_sql_quarantine_release_rows rows = { 0 };
    pfc_code code = pfc_sql_quarantine_release(
        tx, &(pfc_sql_quarantine_release_args){ .id = quarantine, .actor = actor }, &rows, err);

    for (size_t i = 0; i < rows.len && !code; i++) {
        const pfc_sql_quarantine_release_row *row = &rows.items[i];

        code = pfc_detect_enqueue(tx, row->project_id, row->run_id,
                                  row->run_id ? NULL : row->branch, err);
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code release(pfc_tx *tx, const char *actor, int64_t project_id, const char *runner,
                        int64_t *runs, bool *any, pfc_err *err)
{
    pfc_sql_quarantines_open_rows open = { 0 };
    size_t rows = 0;
    char *detail;
    pfc_code code = pfc_sql_runner_restore(
        tx, &(pfc_sql_runner_restore_args){ .project_id = project_id, .name = runner }, &rows, err);

    if (!code)
        code = pfc_sql_quarantines_open(
            tx, &(pfc_sql_quarantines_open_args){ .project_id = project_id, .name = runner }, &open,
            err);
    for (size_t i = 0; i < open.len && !code; i++) {
        code = give_back(tx, actor, open.items[i].id, err);
        *runs += open.items[i].runs;
    }
    *any = rows > 0 || open.len > 0;
    pfc_rows_clear(&open);
    if (code || !*any)
        return code;
    detail = pfc_format("%lld runs count again", (long long)*runs);
    code = audit(tx, actor, "release", project_id, runner, detail, err);
    free(detail);
    return code ? code : announce(tx, err);
}

pfc_code pfc_runner_release(pfc_db *db, const char *actor, int64_t project_id, const char *runner,
                            int64_t *runs, pfc_err *err)
{
    bool any = false;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *runs = 0;
    if (!code)
        code = find(tx, &project_id, runner, err);
    if (!code)
        code = release(tx, actor, project_id, runner, runs, &any, err);
    if (!code && !any)
        code = pfc_err_set_field(err, PFC_ECONFLICT, "runner",
                                 "runner: \"%.200s\" is neither revoked nor quarantined", runner);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

/* ---- reports ---- */

pfc_code pfc_runner_report(pfc_db *db, int64_t project_id, const char *runner,
                           const pfc_runner_status *status, pfc_err *err)
{
    pfc_sql_runner_status_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_runner_status(
            tx,
            &(pfc_sql_runner_status_args){ .name = runner,
                                           .project_id = project_id,
                                           .version = status->version,
                                           .sandbox = status->sandbox,
                                           .spool_documents = status->documents,
                                           .spool_max_documents = status->max_documents,
                                           .spool_bytes = status->bytes,
                                           .spool_max_bytes = status->max_bytes,
                                           .spool_oldest_s = status->oldest_s,
                                           .disk_free_bytes = status->disk_free_bytes },
            &rows, err);
    pfc_tx_free(tx);
    if (!code && rows.len)
        pfc_log(PFC_WARN, "runner_alarm", "runner", runner, "alarm", rows.items[0].alarm);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_fleet_figures_get(pfc_db *db, pfc_fleet_figures *out, pfc_err *err)
{
    pfc_sql_fleet_figures_rows rows = { 0 };
    pfc_code code = pfc_sql_fleet_figures_once(db, &rows, err);

    if (!code && rows.len)
        *out = rows.items[0];
    pfc_rows_clear(&rows);
    return code;
}
