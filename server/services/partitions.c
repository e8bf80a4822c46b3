/*
 * Monthly partitions of the measurements, made before they are needed: rows that land in the
 * default partition would have to be moved out of it later.
 */
#include "server/services/services.h"

pfc_code pfc_partitions_create(pfc_db *db, int ahead, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code) {
        pfc_args_i64(&args, ahead);
        code = pfc_tx_query(tx, "partition_months", &args, &res, err);
    }
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++)
        code = pfc_tx_partition(tx, pfc_res_text(res, i, 0), pfc_res_text(res, i, 1),
                                pfc_res_text(res, i, 2), err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}
