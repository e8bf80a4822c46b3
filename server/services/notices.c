/* The outbox's rows. */
#include "server/services/notices.h"

#include "server/repo/rows.h"
#include "server/services/internal.h"

static const pfc_col notice_cols[] = {
    PFC_COL(pfc_notice, id, "id", I64),
    PFC_COL(pfc_notice, project, "project", TEXT),
    PFC_COL(pfc_notice, kind, "kind", TEXT),
    PFC_COL(pfc_notice, alert_id, "alert_id", I64),
    PFC_COL(pfc_notice, commit, "commit", TEXT),
    PFC_COL(pfc_notice, subject, "subject", TEXT),
    PFC_COL(pfc_notice, author, "author", TEXT),
    PFC_COL(pfc_notice, text, "text", TEXT),
    PFC_COL(pfc_notice, created_at, "created_at", F64),
};
static const pfc_shape notice_shape = PFC_SHAPE(notice_cols, pfc_notice);

pfc_code pfc_notices_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_notices *out,
                          pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_id(&args, project_id);
    pfc_args_cursor(&args, page);
    pfc_args_i64(&args, pfc_page_fetch(page));
    code = pfc_rows_read(db, "notices_open", &args, &notice_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_notice_project(pfc_db *db, int64_t id, int64_t *project_id, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_READ, err);

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
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code) {
        pfc_args_i64(&args, id);
        pfc_args_text(&args, actor);
        code = pfc_tx_query(tx, "notice_done", &args, NULL, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}
