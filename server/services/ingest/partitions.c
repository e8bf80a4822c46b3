/*
 * Monthly partitions of the measurements, made before they are needed: rows that land in the
 * default partition would have to be moved out of it later. Old ones are thinned, a month at a
 * time; so is the queue.
 */
#include "server/repo/sql/chunks.h"
#include "server/repo/sql/core.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/sql/retention.h"
#include "server/services/ingest/ingest.h"

#define AUDIT_AT_ONCE 5000 /* entries of one transaction */

/* Limits how long other transactions may wait for this one. */
static pfc_code limit_waits(pfc_tx *tx, const char *longest, pfc_err *err)
{
    return pfc_sql_upkeep_limits(tx, &(pfc_sql_upkeep_limits_args){ .lock_timeout = longest }, err);
}

static pfc_code create_month(pfc_db *db, const char *month, int64_t *moved, pfc_err *err)
{
    pfc_sql_month_create_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = limit_waits(tx, "2s", err);
    if (!code)
        code = pfc_sql_month_create(tx, &(pfc_sql_month_create_args){ .month = month }, &rows, err);
    if (!code)
        *moved += rows.items[0].moved;
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_partitions_create(pfc_db *db, int ahead, int64_t *moved, pfc_err *err)
{
    pfc_sql_months_due_rows due = { 0 };
    pfc_tx *tx = NULL;
    pfc_err one = { 0 };
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    *moved = 0;
    if (!code)
        code =
            pfc_sql_months_due(tx, &(pfc_sql_months_due_args){ .months_ahead = ahead }, &due, err);
    pfc_tx_free(tx);
    /* A month that fails now must not keep the others from being made. */
    for (size_t i = 0, n = code ? 0 : due.len; i < n; i++) {
        pfc_code this = create_month(db, due.items[i].month, moved, code ? &one : err);

        code = code ? code : this;
    }
    pfc_rows_clear(&due);
    return code;
}

/* The oldest month that still needs thinning; "": none. */
static pfc_code find_due(pfc_tx *tx, const pfc_retention *keep, char month[16], bool *days,
                         pfc_err *err)
{
    pfc_sql_retention_due_rows rows = { 0 };
    pfc_code code;

    month[0] = '\0';
    code = pfc_sql_retention_due(tx,
                                 &(pfc_sql_retention_due_args){ .raw_months = keep->raw_months,
                                                                .day_months = keep->day_months },
                                 &rows, err);
    if (!code && rows.len > 0) {
        (void)snprintf(month, 16, "%s", rows.items[0].month);
        *days = rows.items[0].keep_days;
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_retention_step(pfc_db *db, const pfc_retention *keep, pfc_retained *out, pfc_err *err)
{
    pfc_sql_retention_apply_rows rows = { 0 };
    pfc_tx *tx = NULL;
    bool days = false;
    pfc_code code;

    *out = (pfc_retained){ 0 };
    if (keep->raw_months == 0)
        return PFC_OK;
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = find_due(tx, keep, out->month, &days, err);
    if (!code && out->month[0])
        code = limit_waits(tx, "5s", err);
    if (!code && out->month[0])
        code = pfc_sql_retention_apply(
            tx, &(pfc_sql_retention_apply_args){ .month = out->month, .keep_days = days }, &rows,
            err);
    if (!code && rows.len > 0) {
        out->rows_before = rows.items[0].rows_before;
        out->rows_after = rows.items[0].rows_after;
    }
    if (!code && out->month[0])
        code =
            pfc_sql_chunks_thinned(tx, &(pfc_sql_chunks_thinned_args){ .month = out->month }, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_jobs_prune(pfc_db *db, int days, int limit, size_t *pruned, pfc_err *err)
{
    size_t changed = 0;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_jobs_prune(tx, &(pfc_sql_jobs_prune_args){ .days = days, .limit = limit },
                                  &changed, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    *pruned = code ? 0 : changed;
    return code;
}

static pfc_code prune_some(pfc_db *db, int months, int64_t *pruned, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_audit_prune(
            tx, &(pfc_sql_audit_prune_args){ .months = months, .limit = AUDIT_AT_ONCE }, pruned,
            err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_audit_prune(pfc_db *db, int months, int64_t *pruned, pfc_err *err)
{
    int64_t some = months ? AUDIT_AT_ONCE : 0;
    pfc_code code = PFC_OK;

    for (*pruned = 0; !code && some == AUDIT_AT_ONCE; *pruned += code ? 0 : some)
        code = prune_some(db, months, &some, err);
    return code;
}

pfc_code pfc_questions_prune(pfc_db *db, int days, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_lease_questions_prune(
            tx, &(pfc_sql_lease_questions_prune_args){ .days = days }, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_tallies_fold(pfc_db *db, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_tallies_fold(tx, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}
