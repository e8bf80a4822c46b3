/*
 * Tokens as administrators see them.
 */
#include "server/repo/tables/rows.h"

static const pfc_col token_cols[] = {
    PFC_COL(pfc_token, id, "id", I64),
    PFC_COL(pfc_token, name, "name", TEXT),
    PFC_COL(pfc_token, scopes, "scopes", I64),
    PFC_COL(pfc_token, project_id, "project_id", I64),
    PFC_COL(pfc_token, project, "project", TEXT),
    PFC_COL(pfc_token, created_at, "created_at", F64),
    PFC_COL(pfc_token, expires_at, "expires_at", F64),
    PFC_COL(pfc_token, revoked_at, "revoked_at", F64),
    PFC_COL(pfc_token, last_used_at, "last_used_at", F64),
    PFC_COL(pfc_token, hash, "hash", TEXT),
};
static const pfc_shape token_shape = PFC_SHAPE(token_cols, pfc_token);

pfc_code pfc_tokens_list(pfc_db *db, pfc_page page, pfc_tokens *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_text(&args, NULL);
    pfc_args_text(&args, NULL);
    pfc_args_cursor(&args, page);
    pfc_args_i64(&args, pfc_page_fetch(page));
    code = pfc_rows_read(db, "tokens_list", &args, &token_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_tokens_rotate(pfc_tx *tx, int64_t id, const char *hash, double overlap_s,
                           pfc_tokens *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, id);
    pfc_args_text(&args, hash);
    pfc_args_f64(&args, overlap_s);
    code = pfc_rows_query(tx, "token_rotate", &args, &token_shape, NULL, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
