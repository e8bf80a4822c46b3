/*
 * The other metrics of a benchmark that changed at the place of an alert. Simulated cycles and
 * instructions have no noise: if they changed, the code is the cause. If only the wall time
 * changed, the machine may be the cause.
 */
#include "server/repo/sql/evidence.h"

#include <stdlib.h>

#include "server/services/alerts/alerts.h"

static pfc_code read_witnesses(pfc_tx *tx, int64_t project_id, const int64_t *alerts, size_t len,
                               pfc_witnesses *out, pfc_err *err)
{
    return pfc_sql_alert_evidence(tx,
                                  &(pfc_sql_alert_evidence_args){ .project_id = project_id,
                                                                  .alert_ids = alerts,
                                                                  .alert_ids_len = len },
                                  out, err);
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

/* The strongest evidence among the witnesses of one alert. */
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

static bool is_among(const pfc_sql_alert_is_exact_rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->items[i].id == id)
            return true;
    }
    return false;
}

pfc_code pfc_evidence_set(pfc_tx *tx, int64_t project_id, const int64_t *alerts, size_t len,
                          pfc_err *err)
{
    const char **evidence = pfc_calloc(len, sizeof(char *));
    pfc_witnesses all = { 0 };
    pfc_sql_alert_is_exact_rows exact = { 0 };
    pfc_code code = read_witnesses(tx, project_id, alerts, len, &all, err);

    if (!code)
        code = pfc_sql_alert_is_exact(tx,
                                      &(pfc_sql_alert_is_exact_args){ .project_id = project_id,
                                                                      .alert_ids = alerts,
                                                                      .alert_ids_len = len },
                                      &exact, err);
    for (size_t i = 0; !code && i < len; i++)
        evidence[i] = evidence_of(&all, alerts[i], is_among(&exact, alerts[i]));
    if (!code)
        code = pfc_sql_alert_evidence_set(
            tx,
            &(pfc_sql_alert_evidence_set_args){
                .project_id = project_id, .alert_ids = alerts, .evidence = evidence, .len = len },
            err);
    pfc_rows_clear(&exact);
    pfc_rows_clear(&all);
    free(evidence);
    return code;
}
