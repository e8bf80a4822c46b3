/*
 * Wide ranges shrink by themselves: the middle of an alert's range is measured, as any commit is, and
 * the detector then says in which half the change lies. Its runs are points of the series and are
 * evidence for later searches.
 */
#include "server/services/internal.h"

static pfc_code enqueue(pfc_tx *tx, const pfc_res *res, int64_t *job_id, pfc_err *err)
{
    const int64_t project_id = pfc_res_i64(res, 0, 0), alert_id = pfc_res_i64(res, 0, 1);
    const char *sha = pfc_res_text(res, 0, 5);
    json_t *doc = json_pack("{s:s}", "machine_class", pfc_res_text(res, 0, 3));
    char *labels = json_dumps(doc, JSON_COMPACT);
    char *dedupe = pfc_format("backfill %lld %s", (long long)alert_id, sha);
    char *what = pfc_format("alert %lld", (long long)alert_id);
    const pfc_job_row row = { .kind = "backfill",
                              .commit = sha,
                              .branch = pfc_res_text(res, 0, 2),
                              .source = pfc_res_text(res, 0, 4),
                              .labels = labels,
                              .dedupe = dedupe,
                              .priority = pfc_job_priority("backfill") };
    pfc_code code = pfc_job_put(tx, project_id, &row, job_id, err);

    if (!code && *job_id)
        code = pfc_note(tx, "backfill", "enqueue", project_id, what, sha, err);
    free(what);
    free(dedupe);
    free(labels);
    json_decref(doc);
    return code;
}

pfc_code pfc_backfill_next(pfc_db *db, const pfc_backfill_opts *opts, int64_t *job_id, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code) {
        pfc_args_f64(&args, opts->delay_s);
        pfc_args_i64(&args, opts->budget);
        pfc_args_i64(&args, opts->narrowest);
        code = pfc_tx_query(tx, "backfill_next", &args, &res, err);
    }
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no range is wide enough");
    if (!code)
        code = enqueue(tx, res, &id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    if (!code)
        *job_id = id;
    return code;
}
