/*
 * Machines that moved.
 */
#include "server/repo/tables/repo.h"

pfc_code pfc_environment_list(pfc_db *db, int64_t project_id, bool open_only, pfc_page page,
                              pfc_environment_events *out, pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_environment_list_once(
        db,
        &(pfc_sql_environment_list_args){ .project_id = project_id,
                                          .open_only = open_only,
                                          .cursor = page.cursor,
                                          .limit = pfc_page_fetch(page) },
        out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_environment_get(pfc_db *db, int64_t id, pfc_environment_events *out, pfc_err *err)
{
    pfc_environment_events rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such event");
    code = pfc_sql_environment_list_once(
        db, &(pfc_sql_environment_list_args){ .id = id, .limit = pfc_page_fetch((pfc_page){ 0 }) },
        &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such event", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}
