/*
 * The rows of the database that a look works with.
 */
#include "server/bot/internal.h"

pfc_code pfc_look_load(pfc_look *look, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code;

    pfc_look_clear(look);
    code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_pull_get(tx,
                                &(pfc_sql_pull_get_args){ .project_id = look->key.project_id,
                                                          .number = look->key.number },
                                &look->pulls, err);
    if (!code)
        code = pfc_rows_expect_one(look->pulls.len, "such pull request", err);
    if (!code && look->pulls.items[0].head_sha)
        code = pfc_sql_pull_measurement_newest(
            tx,
            &(pfc_sql_pull_measurement_newest_args){ .project_id = look->key.project_id,
                                                     .number = look->key.number,
                                                     .head_sha = look->pulls.items[0].head_sha },
            &look->newest, err);
    pfc_tx_free(tx);
    return code;
}

void pfc_look_clear(pfc_look *look)
{
    pfc_rows_clear(&look->newest);
    pfc_rows_clear(&look->pulls);
}
