/*
 * Backfill narrows wide ranges automatically: the middle commit of an alert's range is measured
 * like any commit, and the detector then finds the half with the change. The runs are points of the
 * series and count as evidence in later bisections.
 */
#include "server/repo/sql/backfill.h"

#include "server/services/queue/queue.h"
#include "server/services/service.h"

static pfc_code enqueue(pfc_tx *tx, const pfc_sql_backfill_next_rows *rows, int64_t *job_id,
                        pfc_err *err)
{
    const int64_t project_id = rows->items[0].project_id, alert_id = rows->items[0].alert_id;
    const char *sha = rows->items[0].sha;
    pfc_labels labels = { 0 };
    char *dedupe = pfc_format("backfill %lld %s", (long long)alert_id, sha);
    char *what = pfc_format("alert %lld", (long long)alert_id);
    const pfc_job_row row = { .kind = "backfill",
                              .commit = sha,
                              .branch = rows->items[0].branch,
                              .source = rows->items[0].source,
                              .labels = &labels,
                              .dedupe = dedupe,
                              .priority = pfc_job_priority("backfill") };
    pfc_code code;

    pfc_labels_set(&labels, "machine_class", rows->items[0].machine_class);
    code = pfc_job_put(tx, project_id, &row, job_id, err);
    if (!code && *job_id)
        code = pfc_audit_add(tx, "backfill", "enqueue", project_id, what, sha, err);
    free(what);
    free(dedupe);
    pfc_labels_clear(&labels);
    return code;
}

pfc_code pfc_backfill_next(pfc_db *db, const pfc_backfill_opts *opts, int64_t *job_id, pfc_err *err)
{
    pfc_sql_backfill_next_rows rows = { 0 };
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code =
            pfc_sql_backfill_next(tx,
                                  &(pfc_sql_backfill_next_args){ .min_age_s = opts->delay_s,
                                                                 .max_jobs_a_day = opts->budget,
                                                                 .min_commits = opts->narrowest },
                                  &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no range is wide enough");
    if (!code)
        code = enqueue(tx, &rows, &id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    if (!code)
        *job_id = id;
    return code;
}
