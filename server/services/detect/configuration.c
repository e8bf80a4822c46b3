/* A project's detector configuration: stored in versions, the newest of which holds. */
#include <stdlib.h>

#include "server/services/internal.h"

static pfc_code read_version(pfc_tx *tx, int64_t project_id, pfc_detector_version *out,
                             pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    pfc_args_i64(&args, project_id);
    code = pfc_tx_query(tx, "detector_get", &args, &res, err);
    if (!code && pfc_res_rows(res)) {
        const char *text = pfc_res_text(res, 0, pfc_res_column(res, "document"));

        code = pfc_json_parse(text, strlen(text), &out->document, err);
        out->version = pfc_res_i64(res, 0, pfc_res_column(res, "version"));
        out->actor = pfc_strdup(pfc_res_text(res, 0, pfc_res_column(res, "actor")));
        out->at = pfc_res_f64(res, 0, pfc_res_column(res, "created_at"));
    } else if (!code) {
        out->document = json_pack("{s:[]}", "rules");
    }
    pfc_res_free(res);
    if (code)
        pfc_detector_version_clear(out);
    return code;
}

void pfc_detector_version_clear(pfc_detector_version *version)
{
    json_decref(version->document);
    free(version->actor);
    memset(version, 0, sizeof(*version));
}

pfc_code pfc_detector_load(pfc_tx *tx, int64_t project_id, pfc_detector *out, pfc_err *err)
{
    pfc_detector_version stored = { 0 };
    pfc_code code = read_version(tx, project_id, &stored, err);

    if (!code)
        code = pfc_detector_from_json(stored.document, out, err);
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

/* The history stays, but what it says may change: all of it is judged anew. */
static pfc_code judge_anew(pfc_tx *tx, int64_t project_id, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *branches = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    code = pfc_tx_query(tx, "detector_branches", &args, &branches, err);
    for (size_t i = 0; !code && i < pfc_res_rows(branches); i++)
        code = pfc_detect_enqueue(tx, project_id, 0, pfc_res_text(branches, i, 0), err);
    pfc_res_free(branches);
    return code;
}

static pfc_code put_version(pfc_tx *tx, const char *actor, int64_t project_id,
                            const json_t *document, pfc_err *err)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS), *detail = NULL;
    pfc_args args = { 0 };
    int64_t version = 0;
    pfc_code code;

    if (!text)
        return pfc_err_set(err, PFC_EBUG, "a detector configuration cannot be encoded");
    pfc_args_i64(&args, project_id);
    pfc_args_own(&args, text);
    pfc_args_text(&args, actor);
    code = pfc_query_id(tx, "detector_put", &args, &version, err);
    if (!code) {
        detail = pfc_format("version %lld", (long long)version);
        code = pfc_note(tx, actor, "configure", project_id, "detector", detail, err);
        free(detail);
    }
    return code ? code : judge_anew(tx, project_id, err);
}

pfc_code pfc_detector_store(pfc_db *db, const char *actor, int64_t project_id,
                            const json_t *document, pfc_detector_version *out, pfc_err *err)
{
    pfc_detector_version stored = { 0 };
    pfc_detector checked = { 0 };
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    bool same;
    pfc_code code = pfc_detector_from_json(document, &checked, err);

    if (code)
        return code;
    pfc_detector_clear(&checked);
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code) {
        pfc_args_i64(&args, project_id);
        code = pfc_tx_query(tx, "detector_lock", &args, NULL, err);
    }
    if (!code)
        code = read_version(tx, project_id, &stored, err);
    same = !code && json_equal(stored.document, document);
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
