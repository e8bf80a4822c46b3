/*
 * Partitions of the measurements, made before they are needed: rows that land in the default
 * partition would have to be moved out of it later. Old ones are thinned, one at a time; so is the
 * queue.
 */
#include <string.h>

#include "server/repo/sql/chunks.h"
#include "server/repo/sql/core.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/sql/retention.h"
#include "server/services/ingest/ingest.h"

#define AUDIT_AT_ONCE   5000 /* entries of one transaction */
#define LOAD_DAYS       28
#define MEMORY_SHARE    0.5 /* for the indexes of one partition */
#define LOCKS_PARTITION 5   /* the table, its indexes and its TOAST table's */
#define LOCK_SHARE      0.5 /* of the database's locks, for a query of all partitions */

/* Limits how long other transactions may wait for this one. */
static pfc_code limit_waits(pfc_tx *tx, const char *longest, pfc_err *err)
{
    return pfc_sql_upkeep_limits(tx, &(pfc_sql_upkeep_limits_args){ .lock_timeout = longest }, err);
}

static const char *widest_that_fits(double bytes_a_day, double memory_bytes)
{
    const double may = memory_bytes * MEMORY_SHARE;

    return bytes_a_day * 31 <= may ? "month" : bytes_a_day * 7 <= may ? "week" : "day";
}

pfc_code pfc_partition_width_choose(pfc_db *db, pfc_partition_width *out, pfc_err *err)
{
    pfc_sql_partition_load_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_partition_load(tx, &(pfc_sql_partition_load_args){ .days = LOAD_DAYS },
                                      &rows, err);
    if (!code) {
        const pfc_sql_partition_load_row *r = &rows.items[0];

        *out = (pfc_partition_width){
            .width = widest_that_fits(r->index_bytes_a_day, r->memory_bytes),
            .index_bytes_a_day = r->index_bytes_a_day,
            .memory_bytes = r->memory_bytes,
            .partitions = r->partitions,
            .short_of_locks =
                (double)r->partitions * LOCKS_PARTITION > (double)r->locks * LOCK_SHARE,
        };
    }
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

static pfc_code create_one(pfc_db *db, const pfc_sql_partitions_due_row *due, int64_t *moved,
                           pfc_err *err)
{
    pfc_sql_partition_create_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = limit_waits(tx, "2s", err);
    if (!code)
        code = pfc_sql_partition_create(
            tx, &(pfc_sql_partition_create_args){ .since = due->since, .until = due->until }, &rows,
            err);
    if (!code)
        *moved += rows.items[0].moved;
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_partitions_create(pfc_db *db, const char *width, int ahead, int64_t *moved,
                               pfc_err *err)
{
    pfc_sql_partitions_due_rows due = { 0 };
    pfc_tx *tx = NULL;
    pfc_err one = { 0 };
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    *moved = 0;
    if (!code)
        code = pfc_sql_partitions_due(
            tx, &(pfc_sql_partitions_due_args){ .width = width, .ahead = ahead }, &due, err);
    pfc_tx_free(tx);
    /* One that fails now must not keep the others from being made. */
    for (size_t i = 0, n = code ? 0 : due.len; i < n; i++) {
        pfc_code this = create_one(db, &due.items[i], moved, code ? &one : err);

        code = code ? code : this;
    }
    pfc_rows_clear(&due);
    return code;
}

/* The oldest partition that still needs thinning; its first day "": none. */
static pfc_code find_due(pfc_tx *tx, const pfc_retention *keep, pfc_retained *out, bool *days,
                         pfc_err *err)
{
    pfc_sql_retention_due_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_retention_due(tx,
                                 &(pfc_sql_retention_due_args){ .raw_months = keep->raw_months,
                                                                .day_months = keep->day_months },
                                 &rows, err);
    if (!code && rows.len > 0) {
        (void)snprintf(out->since, sizeof(out->since), "%s", rows.items[0].since);
        (void)snprintf(out->until, sizeof(out->until), "%s", rows.items[0].until);
        *days = rows.items[0].keep_days;
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_retention_step(pfc_db *db, const pfc_retention *keep, pfc_retained *out, pfc_err *err)
{
    pfc_sql_retention_thin_rows rows = { 0 };
    pfc_tx *tx = NULL;
    bool days = false;
    pfc_code code;

    *out = (pfc_retained){ 0 };
    if (keep->raw_months == 0)
        return PFC_OK;
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = find_due(tx, keep, out, &days, err);
    if (!code && out->since[0])
        code = limit_waits(tx, "5s", err);
    if (!code && out->since[0])
        code = pfc_sql_retention_thin(
            tx, &(pfc_sql_retention_thin_args){ .since = out->since, .keep_days = days }, &rows,
            err);
    if (!code && rows.len > 0) {
        out->rows_before = rows.items[0].rows_before;
        out->rows_after = rows.items[0].rows_after;
    }
    if (!code && out->since[0])
        code = pfc_sql_chunks_thinned(
            tx, &(pfc_sql_chunks_thinned_args){ .since = out->since, .until = out->until }, err);
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
