/*
 * The audit log as administrators see it.
 */
#include "server/repo/tables/rows.h"

static const pfc_col audit_cols[] = {
    PFC_COL(pfc_audit_row, id, "id", I64),
    PFC_COL(pfc_audit_row, at, "at", F64),
    PFC_COL(pfc_audit_row, actor, "actor", TEXT),
    PFC_COL(pfc_audit_row, action, "action", TEXT),
    PFC_COL(pfc_audit_row, project, "project", TEXT),
    PFC_COL(pfc_audit_row, object, "object", TEXT),
    PFC_COL(pfc_audit_row, detail, "detail", TEXT),
};
static const pfc_shape audit_shape = PFC_SHAPE(audit_cols, pfc_audit_row);

pfc_code pfc_audit_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_audit_rows *out,
                        pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code = pfc_rows_page(db, "audit_list", project_id, page, &audit_shape, &rows, err);

    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
