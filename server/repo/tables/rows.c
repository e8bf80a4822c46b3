/*
 * Named queries to lists, pages included.
 */
#include "server/repo/tables/rows.h"

void pfc_args_cursor(pfc_args *args, pfc_page page)
{
    pfc_args_id(args, page.cursor);
}

pfc_code pfc_rows_query(pfc_tx *tx, const char *name, pfc_args *args, const pfc_shape *shape,
                        const pfc_page *page, pfc_rows *out, pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code = pfc_tx_query(tx, name, args, &rows.hold, err);

    if (code)
        return code;
    code = pfc_res_structs(rows.hold, shape->cols, shape->cols_len, shape->size, &rows.items, err);
    if (code) {
        pfc_res_free(rows.hold);
        return code;
    }
    rows.len = pfc_res_rows(rows.hold);
    if (page && rows.len == (size_t)pfc_page_fetch(*page)) {
        const char *last;

        rows.len--;
        last = (const char *)rows.items + (rows.len - 1) * shape->size + shape->cols[0].offset;
        memcpy(&rows.next, last, sizeof(rows.next));
    }
    *out = rows;
    return PFC_OK;
}

pfc_code pfc_rows_read(pfc_db *db, const char *name, pfc_args *args, const pfc_shape *shape,
                       const pfc_page *page, pfc_rows *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (code)
        pfc_args_clear(args);
    else
        code = pfc_rows_query(tx, name, args, shape, page, out, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_rows_page(pfc_db *db, const char *name, int64_t project_id, pfc_page page,
                       const pfc_shape *shape, pfc_rows *out, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_id(&args, project_id);
    pfc_args_cursor(&args, page);
    pfc_args_i64(&args, pfc_page_fetch(page));
    return pfc_rows_read(db, name, &args, shape, &page, out, err);
}

pfc_code pfc_rows_one(pfc_db *db, const char *name, pfc_args *args, const pfc_shape *shape,
                      pfc_rows *out, const char *what, pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code = pfc_rows_read(db, name, args, shape, NULL, &rows, err);

    if (code)
        return code;
    if (rows.len != 1) {
        code = rows.len ? pfc_err_set(err, PFC_EINVAL, "%s: fits several", what)
                        : pfc_err_set(err, PFC_ENOTFOUND, "no %s", what);
        pfc_rows_clear(&rows);
        return code;
    }
    *out = rows;
    return PFC_OK;
}
