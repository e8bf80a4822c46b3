/*
 * Reads a bisection on the runners for the API, and cancels it.
 */
#include "server/services/bisect/bisect.h"
#include "server/services/bisect/remote.h"
#include "server/services/service.h"

void pfc_bisection_detail_clear(pfc_bisection_detail *d)
{
    pfc_rows_clear(&d->steps);
    pfc_rows_clear(&d->verifications);
    pfc_texts_clear(&d->line);
    free(d->posterior);
    free(d->options);
    *d = (pfc_bisection_detail){ 0 };
}

pfc_code pfc_bisection_detail_get(pfc_db *db, int64_t project_id, int64_t id,
                                  pfc_bisection_detail *out, pfc_err *err)
{
    pfc_bisection_detail d = { 0 };
    size_t len = 0;
    remote r = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = remote_load(tx, project_id, id, &r, err);
    if (!code)
        code = remote_cost(tx, &r, r.row.items[0].expected_runs, &d.cost, err);
    if (!code)
        code = pfc_sql_bisection_steps(
            tx, &(pfc_sql_bisection_steps_args){ .project_id = project_id, .bisection_id = id },
            &d.steps, err);
    if (!code)
        code = verify_list(tx, project_id, id, &d.verifications, err);
    if (!code) {
        d.line = r.line;
        r.line = (pfc_texts){ 0 };
        d.options = pfc_strdup(r.row.items[0].options_json);
        pfc_array_f64s(r.row.items[0].posterior, &d.posterior, &len);
        if (len != r.len) {
            free(d.posterior);
            d.posterior = NULL;
        }
        *out = d;
    }
    if (code)
        pfc_bisection_detail_clear(&d);
    pfc_tx_free(tx);
    remote_clear(&r);
    return code;
}

/* Ends the row and its jobs; *ended false: it had ended before. */
static pfc_code cancel(pfc_tx *tx, const char *actor, int64_t project_id, int64_t id, bool *ended,
                       pfc_err *err)
{
    char *what = pfc_format("bisection %lld", (long long)id);
    int64_t row = 0;
    pfc_code code = remote_finish(tx, project_id, id, "cancelled",
                                  &(remote_end){ .reason = "cancelled" }, &row, err);

    *ended = row != 0;
    if (!code && row)
        code = remote_cancel_jobs(tx, project_id, id, err);
    if (!code && row)
        code = pfc_audit_add(tx, actor, "cancel", project_id, what, NULL, err);
    free(what);
    return code;
}

pfc_code pfc_bisection_cancel(pfc_db *db, const char *actor, int64_t id, pfc_bisections *out,
                              pfc_err *err)
{
    pfc_bisections rows = { 0 };
    bool ended = false;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_bisections_get(db, id, &rows, err);

    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = cancel(tx, actor, rows.items[0].project_id, id, &ended, err);
    if (!code && !ended)
        code = pfc_err_set(err, PFC_ECONFLICT, "bisection %lld is %s already", (long long)id,
                           rows.items[0].state);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    return code ? code : pfc_bisections_get(db, id, out, err);
}
