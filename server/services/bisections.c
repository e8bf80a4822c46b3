/*
 * Reports of bisections, and the culprits they bring to open alerts.
 */
#include "server/services/internal.h"

pfc_code pfc_alert_of_culprit(pfc_tx *tx, int64_t project_id, const pfc_bisection_report *report,
                              int64_t *alert_id, pfc_err *err)
{
    pfc_args args = { 0 };

    *alert_id = report->alert_id;
    if (*alert_id || !report->culprit)
        return PFC_OK;
    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, report->metric);
    pfc_args_text(&args, report->benchmark);
    pfc_args_text(&args, report->backend);
    pfc_args_text(&args, report->culprit);
    return pfc_query_id(tx, "alert_for_culprit", &args, alert_id, err);
}

pfc_code pfc_alert_blame(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                         const char *culprit, const char *reason, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, alert_id);
    code = pfc_tx_query(tx, "alert_lock", &args, &res, err);
    if (!code && (pfc_res_rows(res) == 0 || pfc_res_i64(res, 0, 0) != project_id))
        code = pfc_err_set_field(err, PFC_ENOTFOUND, "alert_id", "no such alert in this project");
    if (!code && culprit)
        code = pfc_alert_apply(tx, actor, project_id, alert_id, pfc_res_text(res, 0, 1),
                               &(pfc_alert_change){ .reason = reason, .culprit = culprit }, err);
    pfc_res_free(res);
    return code;
}

static pfc_code insert_report(pfc_tx *tx, const char *actor, int64_t project_id,
                              const pfc_bisection_report *report, int64_t alert_id, int64_t *id,
                              pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, report->metric);
    pfc_args_text(&args, report->benchmark);
    pfc_args_text(&args, report->backend);
    pfc_args_text(&args, report->good);
    pfc_args_text(&args, report->bad);
    pfc_args_text(&args, report->verdict);
    pfc_args_text(&args, report->culprits_json);
    pfc_args_text(&args, report->steps_json);
    pfc_args_i64(&args, report->runs);
    pfc_args_i64(&args, report->builds);
    pfc_args_i64(&args, report->commits_measured);
    pfc_args_f64(&args, report->seconds);
    pfc_args_id(&args, alert_id);
    pfc_args_text(&args, actor);
    return pfc_query_id(tx, "bisection_insert", &args, id, err);
}

pfc_code pfc_bisection_store(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_bisection_report *report, pfc_bisections *out, pfc_err *err)
{
    int64_t id = 0, alert_id = 0;
    char *what = NULL;
    pfc_tx *tx = NULL;
    pfc_code code;

    if (report->culprit && !pfc_is_sha(report->culprit))
        return pfc_err_set_field(err, PFC_EINVAL, "culprits",
                                 "culprit: want a full id of 40 hexadecimal digits");
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_alert_of_culprit(tx, project_id, report, &alert_id, err);
    if (!code)
        code = insert_report(tx, actor, project_id, report, alert_id, &id, err);
    if (!code && alert_id) {
        what = pfc_format("bisection %lld named %.12s", (long long)id,
                          report->culprit ? report->culprit : "none");
        code = pfc_alert_blame(tx, actor, project_id, alert_id, report->culprit, what, err);
        free(what);
        what = NULL;
    }
    if (!code) {
        what = pfc_format("bisection %lld", (long long)id);
        code = pfc_note(tx, actor, "bisect", project_id, what, report->verdict, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code ? code : pfc_bisections_get(db, id, out, err);
}
