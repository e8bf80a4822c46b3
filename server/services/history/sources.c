/*
 * What benchmarks are built from, and what their programs read while they run, as the project says.
 */
#include "server/services/internal.h"

pfc_code pfc_sources_store(pfc_db *db, const char *actor, int64_t project_id,
                           const pfc_sources *sources, pfc_err *err)
{
    char *what = pfc_format("sources of %.200s", sources->benchmark);
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = PFC_OK;

    if (!pfc_is_sha(sources->commit))
        code = pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: expected a full id of 40 hexadecimal digits");
    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code) {
        pfc_args_i64(&args, project_id);
        pfc_args_text(&args, sources->benchmark);
        pfc_args_text(&args, sources->commit);
        pfc_args_texts(&args, sources->files, sources->files_len);
        pfc_args_texts(&args, sources->globs, sources->globs_len);
        pfc_args_texts(&args, sources->runtime, sources->runtime_len);
        code = pfc_tx_query(tx, "sources_put", &args, NULL, err);
    }
    if (!code)
        code = pfc_note(tx, actor, "sources", project_id, what, NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code;
}
