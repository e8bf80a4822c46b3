/*
 * What else of a benchmark moved where an alert says it became slower: simulated cycles and
 * instructions have no noise, so where they move the code did it; where only the wall time moves it may
 * be the machine.
 */
#include <stdlib.h>

#include "server/repo/rows.h"
#include "server/services/internal.h"

static const pfc_col witness_cols[] = {
    PFC_COL(pfc_witness, alert_id, "alert_id", I64),
    PFC_COL(pfc_witness, series_id, "series_id", I64),
    PFC_COL(pfc_witness, metric, "metric", TEXT),
    PFC_COL(pfc_witness, backend, "backend", TEXT),
    PFC_COL(pfc_witness, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_witness, unit, "unit", TEXT),
    PFC_COL(pfc_witness, exact, "exact", BOOL),
    PFC_COL(pfc_witness, rel_change, "rel_change", F64),
    PFC_COL(pfc_witness, moved, "moved", TEXT),
};
static const pfc_shape witness_shape = PFC_SHAPE(witness_cols, pfc_witness);

static pfc_code read_witnesses(pfc_tx *tx, int64_t project_id, const int64_t *alerts, size_t len,
                               pfc_witnesses *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64s(&args, alerts, len);
    code = pfc_rows_query(tx, "alert_evidence", &args, &witness_shape, NULL, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_alert_witnesses(pfc_db *db, int64_t project_id, int64_t alert_id, pfc_witnesses *out,
                             pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = read_witnesses(tx, project_id, &alert_id, 1, out, err);
    pfc_tx_free(tx);
    return code;
}

/* The strongest that the witnesses of one alert say. */
static const char *evidence_of(const pfc_witnesses *all, int64_t alert_id, bool own_exact)
{
    bool worse = false, still = false;

    if (own_exact)
        return "exact";
    for (size_t i = 0; i < all->len; i++) {
        const pfc_witness *w = &all->items[i];

        if (w->alert_id != alert_id)
            continue;
        if (w->exact && pfc_streq(w->moved, "worse"))
            return "exact";
        worse |= pfc_streq(w->moved, "worse");
        still |= pfc_streq(w->moved, "still");
    }
    return worse ? "corroborated" : still ? "alone" : "single";
}

static bool is_among(const pfc_res *res, int64_t id)
{
    for (size_t i = 0; i < pfc_res_rows(res); i++) {
        if (pfc_res_i64(res, i, 0) == id)
            return true;
    }
    return false;
}

pfc_code pfc_evidence_set(pfc_tx *tx, int64_t project_id, const int64_t *alerts, size_t len,
                          pfc_err *err)
{
    const char **evidence = pfc_calloc(len, sizeof(char *));
    pfc_witnesses all = { 0 };
    pfc_args args = { 0 };
    pfc_res *exact = NULL;
    pfc_code code = read_witnesses(tx, project_id, alerts, len, &all, err);

    if (!code) {
        pfc_args_i64(&args, project_id);
        pfc_args_i64s(&args, alerts, len);
        code = pfc_tx_query(tx, "alert_is_exact", &args, &exact, err);
    }
    for (size_t i = 0; !code && i < len; i++)
        evidence[i] = evidence_of(&all, alerts[i], is_among(exact, alerts[i]));
    if (!code) {
        pfc_args_i64(&args, project_id);
        pfc_args_i64s(&args, alerts, len);
        pfc_args_texts(&args, evidence, len);
        code = pfc_tx_query(tx, "alert_evidence_set", &args, NULL, err);
    }
    pfc_res_free(exact);
    pfc_rows_clear(&all);
    free(evidence);
    return code;
}
