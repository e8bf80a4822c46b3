/*
 * The queue as people see it; runners and machines.
 */
#include "server/repo/tables/repo.h"

pfc_code pfc_jobs_list(pfc_db *db, const pfc_job_filter *filter, pfc_page page, pfc_jobs *out,
                       pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_jobs_list_once(db,
                                  &(pfc_sql_jobs_list_args){ .project_id = filter->project_id,
                                                             .state = filter->state,
                                                             .kind = filter->kind,
                                                             .cursor = page.cursor,
                                                             .limit = pfc_page_fetch(page),
                                                             .places = PFC_JOB_PLACES },
                                  out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_jobs_get(pfc_db *db, int64_t id, pfc_jobs *out, pfc_err *err)
{
    pfc_jobs rows = { 0 };
    pfc_code code;

    if (id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such job");
    code = pfc_sql_jobs_list_once(
        db,
        &(pfc_sql_jobs_list_args){
            .job_id = id, .limit = pfc_page_fetch((pfc_page){ 0 }), .places = PFC_JOB_PLACES },
        &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such job", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}

pfc_code pfc_runners_list(pfc_db *db, int64_t project_id, pfc_runners *out, pfc_err *err)
{
    return pfc_sql_runners_list_once(db, &(pfc_sql_runners_list_args){ .project_id = project_id },
                                     out, err);
}

pfc_code pfc_machine_canaries_list(pfc_db *db, int64_t project_id, pfc_machine_canaries *out,
                                   pfc_err *err)
{
    return pfc_sql_machine_canaries_once(
        db,
        &(pfc_sql_machine_canaries_args){ .project_id = project_id, .limit = PFC_CANARY_VALUES },
        out, err);
}

pfc_code pfc_machines_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_machine_rows *out,
                           pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_machines_list_once(
        db,
        &(pfc_sql_machines_list_args){
            .project_id = project_id, .cursor = page.cursor, .limit = pfc_page_fetch(page) },
        out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}
