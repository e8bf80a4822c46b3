/* Faults of the installation; see faults.h. */
#include "server/services/queue/faults.h"

#include <stdlib.h>
#include <string.h>

#include "server/repo/sql/faults.h"

/* Announces what opened and what ended. */
static pfc_code announce(pfc_tx *tx, const pfc_sql_fault_change_rows *rows,
                         pfc_fault_counts *counts, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < rows->len; i++) {
        const pfc_sql_fault_change_row *row = &rows->items[i];
        const bool opened = strcmp(row->what, "opened") == 0;
        const bool ended = strcmp(row->what, "ended") == 0;

        counts->opened += opened;
        counts->ended += ended;
        if (opened || ended)
            code = pfc_sql_fault_notice(
                tx,
                &(pfc_sql_fault_notice_args){ .id = row->id,
                                              .kind = opened ? "infrastructure" : "recovered" },
                err);
        if (!code)
            code = pfc_sql_fault_notify(tx, &(pfc_sql_fault_notify_args){ .id = row->id }, err);
    }
    return code;
}

typedef pfc_code (*look_fn)(pfc_tx *tx, const pfc_fault_limits *limits,
                            pfc_sql_fault_change_rows *rows, pfc_err *err);

static pfc_code look(pfc_db *db, const pfc_fault_limits *limits, look_fn find,
                     pfc_fault_counts *counts, pfc_err *err)
{
    pfc_sql_fault_change_rows rows = { 0 };
    pfc_fault_counts own = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = find(tx, limits, &rows, err);
    if (!code)
        code = announce(tx, &rows, &own, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    if (!code) {
        counts->opened += own.opened;
        counts->ended += own.ended;
    }
    return code;
}

static pfc_code find_missed(pfc_tx *tx, const pfc_fault_limits *limits,
                            pfc_sql_fault_change_rows *rows, pfc_err *err)
{
    return pfc_sql_faults_missed(
        tx, &(pfc_sql_faults_missed_args){ .tolerance_s = limits->missed_s }, rows, err);
}

static pfc_code find_silent(pfc_tx *tx, const pfc_fault_limits *limits,
                            pfc_sql_fault_change_rows *rows, pfc_err *err)
{
    return pfc_sql_faults_silent(tx, &(pfc_sql_faults_silent_args){ .silent_s = limits->silent_s },
                                 rows, err);
}

static pfc_code find_stalled(pfc_tx *tx, const pfc_fault_limits *limits,
                             pfc_sql_fault_change_rows *rows, pfc_err *err)
{
    return pfc_sql_faults_stalled(
        tx, &(pfc_sql_faults_stalled_args){ .nights = limits->stalled_nights }, rows, err);
}

pfc_code pfc_faults_look(pfc_db *db, const pfc_fault_limits *limits, pfc_fault_counts *counts,
                         pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (limits->missed_s > 0)
        code = look(db, limits, find_missed, counts, err);
    if (!code && limits->silent_s > 0)
        code = look(db, limits, find_silent, counts, err);
    return code;
}

pfc_code pfc_faults_look_at_series(pfc_db *db, const pfc_fault_limits *limits,
                                   pfc_fault_counts *counts, pfc_err *err)
{
    return limits->stalled_nights > 0 ? look(db, limits, find_stalled, counts, err) : PFC_OK;
}

pfc_code pfc_fault_dismiss(pfc_db *db, const char *actor, int64_t id, bool dismissed,
                           const char *reason, pfc_err *err)
{
    pfc_sql_fault_lock_rows rows = { 0 };
    char *what = pfc_format("event %lld", (long long)id);
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_fault_lock(tx, &(pfc_sql_fault_lock_args){ .id = id }, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such event");
    if (!code && rows.items[0].ended)
        code = pfc_err_set(err, PFC_ECONFLICT, "event %lld has ended", (long long)id);
    if (!code && rows.items[0].dismissed != dismissed) {
        code = pfc_sql_fault_dismiss(
            tx,
            &(pfc_sql_fault_dismiss_args){
                .id = id, .actor = dismissed ? actor : NULL, .reason = dismissed ? reason : NULL },
            err);
        if (!code)
            code = pfc_audit_add(tx, actor, dismissed ? "dismiss" : "restore",
                                 rows.items[0].project_id, what, reason, err);
        if (!code)
            code = pfc_sql_fault_notify(tx, &(pfc_sql_fault_notify_args){ .id = id }, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    free(what);
    return code;
}

pfc_code pfc_faults_prune(pfc_db *db, int days, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_faults_prune(tx, &(pfc_sql_faults_prune_args){ .days = days }, err);
    pfc_tx_free(tx);
    return code;
}
