/* A project's detector configuration: stored in versions, the newest of which applies. */
#include <stdlib.h>

#include "server/repo/documents/detector.h"
#include "server/repo/sql/detector.h"
#include "server/services/detect/detect.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

static pfc_code read_version(pfc_tx *tx, int64_t project_id, pfc_detector_version *out,
                             pfc_err *err)
{
    pfc_sql_detector_get_rows rows = { 0 };
    pfc_code code;

    memset(out, 0, sizeof(*out));
    code = pfc_sql_detector_get(tx, &(pfc_sql_detector_get_args){ .project_id = project_id }, &rows,
                                err);
    if (!code && rows.len) {
        out->document = pfc_strdup(rows.items[0].document_json);
        out->version = rows.items[0].version;
        out->actor = pfc_strdup(rows.items[0].actor);
        out->at = rows.items[0].created_at;
    } else if (!code) {
        out->document = pfc_strdup(PFC_DETECTOR_DEFAULT);
    }
    pfc_rows_clear(&rows);
    if (code)
        pfc_detector_version_clear(out);
    return code;
}

void pfc_detector_version_clear(pfc_detector_version *version)
{
    free(version->document);
    free(version->actor);
    memset(version, 0, sizeof(*version));
}

pfc_code pfc_detector_load(pfc_tx *tx, int64_t project_id, pfc_detector *out, pfc_err *err)
{
    pfc_detector_version stored = { 0 };
    pfc_code code = read_version(tx, project_id, &stored, err);

    if (!code)
        code = pfc_detector_parse(stored.document, out, err);
    pfc_detector_version_clear(&stored);
    return code ? pfc_err_wrap(err, "the stored detector configuration") : PFC_OK;
}

pfc_code pfc_detector_get(pfc_db *db, int64_t project_id, pfc_detector_version *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = read_version(tx, project_id, out, err);
    pfc_tx_free(tx);
    return code;
}

/* The history is unchanged, but verdicts may differ: queues all branches for another judging. */
static pfc_code queue_all_branches(pfc_tx *tx, int64_t project_id, pfc_err *err)
{
    pfc_sql_detector_branches_rows branches = { 0 };
    pfc_code code;

    code = pfc_sql_detector_branches(
        tx, &(pfc_sql_detector_branches_args){ .project_id = project_id }, &branches, err);
    for (size_t i = 0; !code && i < branches.len; i++)
        code = pfc_detect_enqueue(tx, project_id, 0, branches.items[i].branch, err);
    pfc_rows_clear(&branches);
    return code;
}

static pfc_code put_version(pfc_tx *tx, const char *actor, int64_t project_id, const char *document,
                            pfc_err *err)
{
    char *detail = NULL;
    int64_t version = 0;
    pfc_code code;

    code = pfc_sql_detector_put(tx,
                                &(pfc_sql_detector_put_args){ .project_id = project_id,
                                                              .document_json = document,
                                                              .actor = actor },
                                &version, err);
    if (!code) {
        detail = pfc_format("version %lld", (long long)version);
        code = pfc_audit_add(tx, actor, "configure", project_id, "detector", detail, err);
        free(detail);
    }
    return code ? code : queue_all_branches(tx, project_id, err);
}

static pfc_code check_seen(const pfc_detector_version *stored, int64_t seen, pfc_err *err)
{
    if (seen < 0 || seen == stored->version)
        return PFC_OK;
    return pfc_err_set(
        err, PFC_ECONFLICT,
        "seen: expected %lld, the version of the detector configuration that is stored%s%s; "
        "got %lld: read it and decide again",
        (long long)stored->version, stored->actor ? " by " : "", stored->actor ? stored->actor : "",
        (long long)seen);
}

pfc_code pfc_detector_store(pfc_db *db, const char *actor, int64_t project_id, const char *document,
                            int64_t seen, pfc_detector_version *out, pfc_err *err)
{
    pfc_detector_version stored = { 0 };
    pfc_detector checked = { 0 };
    pfc_tx *tx = NULL;
    bool same;
    pfc_code code = pfc_detector_parse(document, &checked, err);

    if (code)
        return code;
    pfc_detector_clear(&checked);
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_sql_detector_lock(tx, &(pfc_sql_detector_lock_args){ .project_id = project_id },
                                     NULL, err);
    if (!code)
        code = read_version(tx, project_id, &stored, err);
    same = !code && pfc_detector_texts_equal(stored.document, document);
    if (!code && !same)
        code = check_seen(&stored, seen, err);
    if (!code && !same) {
        code = put_version(tx, actor, project_id, document, err);
        pfc_detector_version_clear(&stored);
        if (!code)
            code = read_version(tx, project_id, &stored, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    if (code)
        pfc_detector_version_clear(&stored);
    else
        *out = stored;
    return code;
}
