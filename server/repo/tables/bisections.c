/*
 * Bisections: those that were reported, and those that the runners do.
 */
#include "server/repo/tables/repo.h"

pfc_code pfc_bisections_list(pfc_db *db, int64_t project_id, const char *words, pfc_page page,
                             pfc_bisections *out, pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_bisections_list_once(db,
                                        &(pfc_sql_bisections_list_args){
                                            .project_id = project_id,
                                            .cursor = page.cursor,
                                            .limit = pfc_page_fetch(page),
                                            .words = words,
                                        },
                                        out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_bisections_get(pfc_db *db, int64_t id, pfc_bisections *out, pfc_err *err)
{
    pfc_bisections rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such bisection");
    code = pfc_sql_bisections_list_once(
        db, &(pfc_sql_bisections_list_args){ .id = id, .limit = pfc_page_fetch((pfc_page){ 0 }) },
        &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such bisection", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}
