/* The outbox's rows. */
#include "server/services/notices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/rng.h"
#include "server/repo/rows.h"
#include "server/services/internal.h"

#define BASIC_COLS                                                                                 \
    PFC_COL(pfc_notice, id, "id", I64), PFC_COL(pfc_notice, project, "project", TEXT),             \
        PFC_COL(pfc_notice, kind, "kind", TEXT), PFC_COL(pfc_notice, alert_id, "alert_id", I64),   \
        PFC_COL(pfc_notice, commit, "commit", TEXT),                                               \
        PFC_COL(pfc_notice, subject, "subject", TEXT),                                             \
        PFC_COL(pfc_notice, author, "author", TEXT), PFC_COL(pfc_notice, text, "text", TEXT),      \
        PFC_COL(pfc_notice, created_at, "created_at", F64)

static const pfc_col notice_cols[] = {
    BASIC_COLS,
    PFC_COL(pfc_notice, deliveries, "deliveries", TEXT),
};
static const pfc_shape notice_shape = PFC_SHAPE(notice_cols, pfc_notice);
static const pfc_col content_cols[] = {
    BASIC_COLS,
    PFC_COL(pfc_notice, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_notice, metric, "metric", TEXT),
    PFC_COL(pfc_notice, backend, "backend", TEXT),
    PFC_COL(pfc_notice, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_notice, rel_change, "rel_change", F64),
};
static const pfc_shape content_shape = PFC_SHAPE(content_cols, pfc_notice);

pfc_code pfc_notices_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_notices *out,
                          pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code = pfc_rows_page(db, "notices_open", project_id, page, &notice_shape, &rows, err);

    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_notice_project(pfc_db *db, int64_t id, int64_t *project_id, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    /* Not a replica's: the notice may be new. */
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    *project_id = 0;
    if (!code) {
        pfc_args_i64(&args, id);
        code = pfc_query_id(tx, "notice_project", &args, project_id, err);
    }
    pfc_tx_free(tx);
    if (!code && !*project_id)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such notice");
    return code;
}

pfc_code pfc_notice_done(pfc_db *db, const char *actor, int64_t id, pfc_err *err)
{
    pfc_args args = { 0 };
    int64_t project_id = 0;
    pfc_tx *tx = NULL;
    char object[48];
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code) {
        pfc_args_i64(&args, id);
        pfc_args_text(&args, actor);
        code = pfc_query_id(tx, "notice_done", &args, &project_id, err);
    }
    if (!code && project_id) {
        (void)snprintf(object, sizeof(object), "notice %lld", (long long)id);
        code = pfc_note(tx, actor, "close", project_id, object, NULL, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_notice_again(pfc_db *db, const char *actor, int64_t project_id, int64_t id,
                          size_t *deliveries, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    char object[48];
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *deliveries = 0;
    if (!code) {
        pfc_args_i64(&args, project_id);
        pfc_args_i64(&args, id);
        code = pfc_tx_query(tx, "notify_again", &args, &res, err);
    }
    if (!code && pfc_res_rows(res)) {
        (void)snprintf(object, sizeof(object), "notice %lld", (long long)id);
        code = pfc_note(tx, actor, "notify", project_id, object, "dead letters tried again", err);
        if (!code)
            code =
                pfc_tell(tx, json_pack("{s:s, s:I}", "type", "notice", "id", (json_int_t)id), err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    if (!code)
        *deliveries = pfc_res_rows(res);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

/* ---- for who sends them ---- */

pfc_code pfc_notices_dispatch(pfc_db *db, const char *const *receivers, const char *const *projects,
                              size_t len, int days, size_t *notices, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    int64_t made = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code) {
        pfc_args_texts(&args, receivers, len);
        pfc_args_texts(&args, projects, len);
        pfc_args_i64(&args, days);
        code = pfc_query_id(tx, "notices_dispatch", &args, &made, err);
    }
    if (!code)
        *notices = (size_t)made;
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_delivery_take(pfc_db *db, double lease_s, pfc_delivery *out, pfc_err *err)
{
    char secret[33];
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    bool begun;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    *out = (pfc_delivery){ 0 };
    pfc_random_id(secret);
    pfc_sha256_hex(secret, strlen(secret), out->lease_hash);
    if (!code) {
        pfc_args_text(&args, out->lease_hash);
        pfc_args_f64(&args, lease_s);
        code = pfc_tx_query(tx, "notify_take", &args, &res, err);
    }
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no notice waits to be sent");
    if (!code) {
        out->job_id = pfc_res_i64(res, 0, pfc_res_column(res, "job_id"));
        out->project_id = pfc_res_i64(res, 0, pfc_res_column(res, "project_id"));
        out->notice_id = pfc_res_i64(res, 0, pfc_res_column(res, "notice_id"));
        out->tries = pfc_res_i64(res, 0, pfc_res_column(res, "tries"));
        out->closed = pfc_res_bool(res, 0, pfc_res_column(res, "closed"));
        (void)snprintf(out->receiver, sizeof(out->receiver), "%s",
                       pfc_res_text(res, 0, pfc_res_column(res, "receiver")));
    }
    pfc_res_free(res);
    begun = tx != NULL;
    pfc_tx_free(tx);
    /* Also when only the answer was lost: nobody would work under that lease. */
    if (begun && code && code != PFC_ENOTFOUND)
        pfc_lease_undo(db, out->lease_hash);
    return code;
}

pfc_code pfc_delivery_prolong(pfc_db *db, const pfc_delivery *delivery, double lease_s,
                              pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code) {
        pfc_args_text(&args, delivery->lease_hash);
        pfc_args_f64(&args, lease_s);
        code = pfc_query_id(tx, "lease_prolong", &args, &id, err);
    }
    pfc_tx_free(tx);
    if (!code && !id)
        code = pfc_err_set(err, PFC_ENOTFOUND, "the lease of delivery %lld is lost",
                           (long long)delivery->job_id);
    return code;
}

pfc_code pfc_delivery_due(pfc_db *db, double *seconds, pfc_err *err)
{
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_tx_query(tx, "notify_due", NULL, &res, err);
    if (!code) {
        const double s = pfc_res_f64(res, 0, 0);

        *seconds = isfinite(s) ? fmax(s, 0) : HUGE_VAL;
    }
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_notice_content(pfc_db *db, const pfc_delivery *delivery, pfc_notices *out,
                            pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, delivery->project_id);
    pfc_args_i64(&args, delivery->notice_id);
    code = pfc_rows_read(db, "notify_content", &args, &content_shape, NULL, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_delivery_finish(pfc_db *db, const pfc_delivery *delivery, pfc_delivery_end end,
                             const char *reason, double after_s, pfc_err *err)
{
    static const char *const states[] = { "done", "queued", "queued", "failed", "cancelled" };
    pfc_args args[3] = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    pfc_args_i64(&args[0], delivery->project_id);
    pfc_args_i64(&args[0], delivery->notice_id);
    pfc_args_i64(&args[1], delivery->job_id);
    pfc_args_text(&args[1], delivery->lease_hash);
    pfc_args_text(&args[1], states[end]);
    pfc_args_text(&args[1], reason);
    pfc_args_f64(&args[1], after_s);
    pfc_args_i64(&args[1], end == PFC_DELIVERY_BACK);
    pfc_args_i64(&args[2], delivery->project_id);
    pfc_args_i64(&args[2], delivery->notice_id);
    if (!code)
        code = pfc_tx_query(tx, "notice_lock", &args[0], NULL, err);
    if (!code)
        code = pfc_tx_query(tx, "notify_finish", &args[1], NULL, err);
    if (!code)
        code = pfc_tx_query(tx, "notify_close", &args[2], NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    for (size_t i = 0; i < PFC_ARRAY_LEN(args); i++)
        pfc_args_clear(&args[i]);
    return code;
}
