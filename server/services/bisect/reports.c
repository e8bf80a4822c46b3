/*
 * Posted reports of bisections, and the culprits that they set on open alerts.
 */
#include "core/base/parse.h"
#include "core/bisect/confirm.h"
#include "server/repo/sql/alerts.h"
#include "server/repo/sql/bisections.h"
#include "server/repo/sql/notices.h"
#include "server/services/alerts/alerts.h"
#include "server/services/bisect/bisect.h"
#include "server/services/service.h"

pfc_code pfc_alert_of_culprit(pfc_tx *tx, int64_t project_id, const pfc_bisection_report *report,
                              int64_t *alert_id, pfc_err *err)
{
    *alert_id = report->alert_id;
    if (*alert_id || !report->culprit)
        return PFC_OK;
    return pfc_sql_alert_for_culprit(
        tx,
        &(pfc_sql_alert_for_culprit_args){ .project_id = project_id,
                                           .metric = report->metric,
                                           .benchmark = report->benchmark,
                                           .backend = report->backend,
                                           .culprit = report->culprit },
        alert_id, err);
}

pfc_code pfc_alert_set_culprit(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                               const char *culprit, const char *reason, pfc_err *err)
{
    pfc_sql_alert_lock_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_alert_lock(tx, &(pfc_sql_alert_lock_args){ .alert_id = alert_id }, &rows, err);
    if (!code && (rows.len == 0 || rows.items[0].project_id != project_id))
        code = pfc_err_set_field(err, PFC_ENOTFOUND, "alert_id", "no such alert in this project");
    /* The alert became a drift after the bisection began: a drift has no culprit. */
    if (!code && rows.items[0].drift)
        culprit = NULL;
    if (!code)
        code = pfc_alert_apply(tx, actor, project_id, alert_id, rows.items[0].state,
                               &(pfc_alert_change){ .reason = reason, .culprit = culprit }, err);
    if (!code && culprit)
        code = pfc_sql_notice_put(tx,
                                  &(pfc_sql_notice_put_args){ .project_id = project_id,
                                                              .kind = "culprit_confirmed",
                                                              .alert_id = alert_id,
                                                              .sha = culprit,
                                                              .text = reason },
                                  err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code insert_report(pfc_tx *tx, const char *actor, int64_t project_id,
                              const pfc_bisection_report *report, int64_t alert_id, int64_t *id,
                              pfc_err *err)
{
    return pfc_sql_bisection_insert(
        tx,
        &(pfc_sql_bisection_insert_args){ .project_id = project_id,
                                          .metric = report->metric,
                                          .benchmark = report->benchmark,
                                          .backend = report->backend,
                                          .good = report->good,
                                          .bad = report->bad,
                                          .verdict = report->verdict,
                                          .culprits_json = report->culprits_json,
                                          .steps = report->steps_json,
                                          .runs = report->runs,
                                          .builds = report->builds,
                                          .commits_measured = report->commits_measured,
                                          .seconds = report->seconds,
                                          .alert_id = alert_id,
                                          .actor = actor,
                                          .stopped_json = report->stopped_json },
        id, err);
}

/* ---- the evidence of a report ---- */

/* Evaluates the pairs by the test of the service's own verification: the verdict in the report is
 * not evidence. */
static pfc_code judge_pairs(const pfc_bisection_report *report, bool higher_is_better, bool exact,
                            pfc_confirm_result *out, pfc_err *err)
{
    const pfc_confirm_opts opts = { .higher_is_better = higher_is_better,
                                    .exact = exact,
                                    .expected_rel = report->rel_change,
                                    .max_pairs = PFC_CONFIRM_MAX_PAIRS };
    pfc_confirm *confirm = NULL;
    pfc_code code = pfc_confirm_new(&confirm, &opts, err);

    for (size_t i = 0; !code && i < report->pairs_len; i++)
        code = pfc_confirm_add_pair(confirm, report->pairs[2 * i], report->pairs[2 * i + 1], err);
    if (!code)
        pfc_confirm_result_get(confirm, out);
    pfc_confirm_free(confirm);
    return code;
}

/* PFC_CONFIRM_OPEN without pairs: there is no evidence. */
static pfc_code check_evidence(pfc_tx *tx, int64_t alert_id, const pfc_bisection_report *report,
                               pfc_confirm_result *out, pfc_err *err)
{
    pfc_sql_alert_culprit_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_alert_culprit(
        tx, &(pfc_sql_alert_culprit_args){ .alert_id = alert_id, .sha = report->culprit }, &rows,
        err);
    if (!code && rows.len == 0)
        code = pfc_err_set_field(err, PFC_EINVAL, "alert_id",
                                 "alert_id: the range of alert %lld does not hold %.12s",
                                 (long long)alert_id, report->culprit);
    else if (!code && report->before && pfc_streq(report->before, rows.items[0].before))
        code = judge_pairs(report, rows.items[0].higher_is_better, rows.items[0].exact, out, err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code note_on_alert(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                              int64_t id, const pfc_bisection_report *report, pfc_err *err)
{
    pfc_confirm_result seen = { 0 };
    char *reason = NULL;
    bool holds;
    pfc_code code = PFC_OK;

    if (report->culprit)
        code = check_evidence(tx, alert_id, report, &seen, err);
    if (code)
        return code;
    holds = seen.verdict == PFC_CONFIRM_CONFIRMED;
    if (holds)
        reason = pfc_format("culprit confirmed: %.12s, by the report of bisection %lld and its %zu "
                            "new pairs against the commit before it (%+.2f %%, %+.2f to %+.2f)",
                            report->culprit, (long long)id, seen.pairs, 100 * seen.cmp.rel_change,
                            100 * seen.cmp.rel_low, 100 * seen.cmp.rel_high);
    else
        reason = pfc_format("bisection %lld reported %.12s, unconfirmed: %s", (long long)id,
                            report->culprit ? report->culprit : "no commit",
                            !report->culprit  ? "it names no single commit"
                            : !report->before ? "it has no new pairs"
                            : !seen.pairs     ? "its pairs are not of the commit before it"
                            : seen.verdict    ? "its new pairs do not show the change"
                                              : "its new pairs do not decide");
    code = pfc_alert_set_culprit(tx, actor, project_id, alert_id, holds ? report->culprit : NULL,
                                 reason, err);
    free(reason);
    return code;
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
                                 "culprit: expected a full id of 40 hexadecimal digits");
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_alert_of_culprit(tx, project_id, report, &alert_id, err);
    if (!code)
        code = insert_report(tx, actor, project_id, report, alert_id, &id, err);
    if (!code && alert_id)
        code = note_on_alert(tx, actor, project_id, alert_id, id, report, err);
    if (!code) {
        what = pfc_format("bisection %lld", (long long)id);
        code = pfc_audit_add(tx, actor, "bisect", project_id, what, report->verdict, err);
    }
    if (!code)
        code = pfc_sql_bisection_notify(tx, &(pfc_sql_bisection_notify_args){ .id = id }, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code ? code : pfc_bisections_get(db, id, out, err);
}
