/* Broken results of a series and of a commit. */
#include "server/repo/tables/broken.h"

pfc_code pfc_broken_of_series(pfc_db *db, int64_t series_id, int64_t from, int64_t to,
                              pfc_broken_results *out, pfc_err *err)
{
    return pfc_sql_broken_of_series_once(
        db,
        &(pfc_sql_broken_of_series_args){ .series_id = series_id,
                                          .position_from = from,
                                          .position_to = to,
                                          .limit = PFC_BROKEN_MAX },
        out, err);
}

pfc_code pfc_broken_of_commit(pfc_db *db, int64_t project_id, int64_t commit_id,
                              pfc_broken_results *out, pfc_err *err)
{
    return pfc_sql_broken_of_commit_once(
        db,
        &(pfc_sql_broken_of_commit_args){
            .project_id = project_id, .commit_id = commit_id, .limit = PFC_BROKEN_MAX },
        out, err);
}
