/*
 * The files that benchmarks are built from and that their programs read at run time, as the project
 * declares them.
 */
#include "core/base/parse.h"
#include "server/repo/sql/suspects.h"
#include "server/services/history/history.h"
#include "server/services/service.h"

pfc_code pfc_sources_store(pfc_db *db, const char *actor, int64_t project_id,
                           const pfc_sources *sources, pfc_err *err)
{
    char *what = pfc_format("sources of %.200s", sources->benchmark);
    pfc_tx *tx = NULL;
    pfc_code code = PFC_OK;

    if (!pfc_is_sha(sources->commit))
        code = pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: expected a full id of 40 hexadecimal digits");
    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_sql_sources_put(
            tx,
            &(pfc_sql_sources_put_args){ .project_id = project_id,
                                         .benchmark = sources->benchmark,
                                         .sha = sources->commit,
                                         .files = sources->files,
                                         .files_len = sources->files_len,
                                         .globs = sources->globs,
                                         .globs_len = sources->globs_len,
                                         .runtime_globs = sources->runtime,
                                         .runtime_globs_len = sources->runtime_len },
            err);
    if (!code)
        code = pfc_audit_add(tx, actor, "sources", project_id, what, NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code;
}
