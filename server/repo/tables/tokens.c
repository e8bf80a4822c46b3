/*
 * Tokens as administrators see them.
 */
#include "server/repo/tables/repo.h"

pfc_code pfc_tokens_list(pfc_db *db, pfc_page page, pfc_tokens *out, pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_tokens_list_once(
        db, &(pfc_sql_tokens_list_args){ .cursor = page.cursor, .limit = pfc_page_fetch(page) },
        out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_tokens_get(pfc_db *db, int64_t id, pfc_tokens *out, pfc_err *err)
{
    pfc_tokens rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such token");
    code = pfc_sql_tokens_list_once(db, &(pfc_sql_tokens_list_args){ .id = id, .limit = 1 }, &rows,
                                    err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such token", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}

pfc_code pfc_tokens_rotate(pfc_tx *tx, int64_t id, const char *hash, double overlap_s,
                           pfc_tokens *out, pfc_err *err)
{
    return pfc_sql_token_rotate(
        tx, &(pfc_sql_token_rotate_args){ .id = id, .hash = hash, .overlap_s = overlap_s }, out,
        err);
}
