/*
 * Projects, and the figures over all of them.
 */
#include "server/repo/tables/repo.h"

pfc_code pfc_projects_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_projects *out,
                           pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_projects_list_once(
        db,
        &(pfc_sql_projects_list_args){
            .project_id = project_id, .cursor = page.cursor, .limit = pfc_page_fetch(page) },
        out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_projects_get(pfc_db *db, const char *name, pfc_projects *out, pfc_err *err)
{
    pfc_projects rows = { 0 };
    pfc_code code;

    code = pfc_sql_projects_list_once(
        db, &(pfc_sql_projects_list_args){ .name = name, .limit = pfc_page_fetch((pfc_page){ 0 }) },
        &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such project", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}

pfc_code pfc_figures_get(pfc_db *db, int64_t project_id, pfc_figures *out, pfc_err *err)
{
    pfc_sql_figures_rows rows = { 0 };
    pfc_code code =
        pfc_sql_figures_once(db, &(pfc_sql_figures_args){ .project_id = project_id }, &rows, err);

    if (!code)
        code = pfc_rows_expect_one(rows.len, "figures", err);
    if (!code)
        *out = rows.items[0];
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_job_counts_get(pfc_db *db, pfc_job_counts *out, pfc_err *err)
{
    return pfc_sql_job_counts_once(db, out, err);
}
