/*
 * The audit log as administrators see it.
 */
#include "server/repo/tables/repo.h"

pfc_code pfc_audit_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_audit_rows *out,
                        pfc_err *err)
{
    pfc_code code = pfc_sql_audit_list_once(
        db,
        &(pfc_sql_audit_list_args){
            .project_id = project_id, .cursor = page.cursor, .limit = pfc_page_fetch(page) },
        out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}
