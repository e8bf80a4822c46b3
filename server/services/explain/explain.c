#include "server/services/explain/explain.h"

#include <string.h>

#include "server/services/ingest/ingest.h"

static pfc_code load(pfc_db *db, const pfc_explain_stored_ask *ask, pfc_run **before,
                     pfc_run **after, pfc_err *err)
{
    pfc_code code = pfc_run_load(db, ask->project_id, ask->after, after, err);

    if (!code && ask->before)
        code = pfc_run_load(db, ask->project_id, ask->before, before, err);
    return code;
}

static pfc_code explain(pfc_db *db, const pfc_explain_rules *rules,
                        const pfc_explain_stored_ask *ask, const pfc_explain_judged *judged,
                        pfc_explanation *out, pfc_err *err)
{
    pfc_run *before = NULL;
    pfc_run *after = NULL;
    pfc_code code = load(db, ask, &before, &after, err);

    if (!code && before)
        code = pfc_explain_pair(rules, before, after, &ask->what, judged, out, err);
    else if (!code)
        code = pfc_explain_run(rules, after, &ask->what, out, err);
    if (!code && before)
        pfc_explanation_repeat(out,
                               "perfci explain %s %s --benchmark '%s' --backend '%s' --metric '%s'",
                               before->id, after->id, out->benchmark, out->backend, out->metric);
    else if (!code)
        pfc_explanation_repeat(out, "perfci explain --run %s --benchmark '%s' --backend '%s'",
                               after->id, out->benchmark, out->backend);
    if (!code)
        pfc_explanation_repeat_trace(out);
    pfc_run_free(before);
    pfc_run_free(after);
    return code;
}

pfc_code pfc_explain_stored(pfc_db *db, const pfc_explain_rules *rules,
                            const pfc_explain_stored_ask *ask, pfc_explanation *out, pfc_err *err)
{
    memset(out, 0, sizeof(*out));
    return explain(db, rules, ask, NULL, out, err);
}

pfc_code pfc_explain_alert_sides(pfc_db *db, int64_t alert_id,
                                 pfc_sql_explain_alert_runs_rows *rows, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = pfc_sql_explain_alert_runs(
            tx, &(pfc_sql_explain_alert_runs_args){ .alert_id = alert_id }, rows, err);
    pfc_tx_free(tx);
    if (!code && rows->len > 0 && strcmp(rows->items[0].kind, "step") != 0)
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "alert %lld is of kind %s: only a step has two sides to compare",
                           (long long)alert_id, rows->items[0].kind);
    if (!code && rows->len != 2)
        code =
            pfc_err_set(err, PFC_ENOTFOUND, "alert %lld has no stored run on %s side of its change",
                        (long long)alert_id, rows->len ? "one" : "either");
    return code;
}

pfc_code pfc_explain_alert(pfc_db *db, const pfc_explain_rules *rules, int64_t alert_id,
                           pfc_explanation *out, pfc_err *err)
{
    pfc_sql_explain_alert_runs_rows rows = { 0 };
    pfc_code code = pfc_explain_alert_sides(db, alert_id, &rows, err);

    memset(out, 0, sizeof(*out));
    if (!code) {
        const pfc_sql_explain_alert_runs_row *a = &rows.items[0];
        const pfc_explain_judged judged = { a->regression ? "regression" : "improvement",
                                            a->rel_change, a->rel_low, a->rel_high, a->p };
        const pfc_explain_stored_ask ask = {
            .project_id = a->project_id,
            .before = a->run_id,
            .after = rows.items[1].run_id,
            .what = { a->benchmark, a->backend, a->metric },
        };

        code = explain(db, rules, &ask, &judged, out, err);
    }
    if (!code) {
        pfc_explanation_repeat(out, "perfci why %lld", (long long)alert_id);
        pfc_explanation_repeat(out, "perfci repro %lld", (long long)alert_id);
    }
    pfc_rows_clear(&rows);
    return code;
}
