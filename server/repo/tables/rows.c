/*
 * Named queries to lists, pages included.
 */
#include "server/repo/tables/rows.h"

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
