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

pfc_code pfc_tokens_rotate(pfc_tx *tx, int64_t id, const char *hash, double overlap_s,
                           pfc_tokens *out, pfc_err *err)
{
    return pfc_sql_token_rotate(
        tx, &(pfc_sql_token_rotate_args){ .id = id, .hash = hash, .overlap_s = overlap_s }, out,
        err);
}
