/*
 * Monthly partitions of the measurements, made before they are needed: rows that land in the
 * default partition would have to be moved out of it later. Old ones are thinned, a month at a time;
 * so is the queue.
 */
#include "server/services/services.h"

/* For the time that others may have to wait for us. */
static pfc_code limit_waits(pfc_tx *tx, const char *longest, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_text(&args, longest);
    return pfc_tx_query(tx, "upkeep_limits", &args, NULL, err);
}

static pfc_code create_month(pfc_db *db, const char *month, int64_t *moved, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = limit_waits(tx, "2s", err);
    if (!code) {
        pfc_args_text(&args, month);
        code = pfc_tx_query(tx, "month_create", &args, &res, err);
    }
    if (!code)
        *moved += pfc_res_i64(res, 0, 0);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_partitions_create(pfc_db *db, int ahead, int64_t *moved, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *due = NULL;
    pfc_tx *tx = NULL;
    pfc_err one = { 0 };
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    *moved = 0;
    if (!code) {
        pfc_args_i64(&args, ahead);
        code = pfc_tx_query(tx, "months_due", &args, &due, err);
    }
    pfc_tx_free(tx);
    /* A month that cannot be had now is no reason to do without the others. */
    for (size_t i = 0, n = code ? 0 : pfc_res_rows(due); i < n; i++) {
        pfc_code this = create_month(db, pfc_res_text(due, i, 0), moved, code ? &one : err);

        code = code ? code : this;
    }
    pfc_res_free(due);
    return code;
}

/* The oldest month that is not yet as it should be; "" when there is none. */
static pfc_code find_due(pfc_tx *tx, const pfc_retention *keep, char month[16], bool *days,
                         pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    month[0] = '\0';
    pfc_args_i64(&args, keep->raw_months);
    pfc_args_i64(&args, keep->day_months);
    code = pfc_tx_query(tx, "retention_due", &args, &res, err);
    if (!code && pfc_res_rows(res) > 0) {
        (void)snprintf(month, 16, "%s", pfc_res_text(res, 0, 0));
        *days = pfc_res_bool(res, 0, 1);
    }
    pfc_res_free(res);
    return code;
}

pfc_code pfc_retention_step(pfc_db *db, const pfc_retention *keep, pfc_retained *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
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
    if (!code && out->month[0]) {
        pfc_args_text(&args, out->month);
        pfc_args_bool(&args, days);
        code = pfc_tx_query(tx, "retention_apply", &args, &res, err);
    }
    if (!code && res && pfc_res_rows(res) > 0) {
        out->rows_before = pfc_res_i64(res, 0, 0);
        out->rows_after = pfc_res_i64(res, 0, 1);
    }
    if (!code && out->month[0]) {
        pfc_args_text(&args, out->month);
        code = pfc_tx_query(tx, "chunks_thinned", &args, NULL, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

/* One statement in a transaction of its own. */
static pfc_code tidy(pfc_db *db, const char *name, pfc_args *args, size_t *rows, pfc_err *err)
{
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *rows = 0;
    if (!code)
        code = pfc_tx_query(tx, name, args, &res, err);
    else
        pfc_args_clear(args);
    if (!code)
        code = pfc_tx_commit(tx, err);
    if (!code)
        *rows = pfc_res_affected(res);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_jobs_prune(pfc_db *db, int days, int limit, size_t *pruned, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, days);
    pfc_args_i64(&args, limit);
    return tidy(db, "jobs_prune", &args, pruned, err);
}

pfc_code pfc_questions_prune(pfc_db *db, int days, pfc_err *err)
{
    size_t gone;
    pfc_args args = { 0 };

    pfc_args_i64(&args, days);
    return tidy(db, "lease_questions_prune", &args, &gone, err);
}

pfc_code pfc_tallies_fold(pfc_db *db, pfc_err *err)
{
    size_t sums;
    pfc_args args = { 0 };

    return tidy(db, "tallies_fold", &args, &sums, err);
}
