/*
 * Packing the points of long series, so that a window of a hundred thousand reads dozens of rows.
 */
#include "server/services/internal.h"

#define WORTH_IT 500 /* points that lie outside of chunks */
#define PAGE     4   /* series of one step: whoever calls has other work, too */

static void series_args(pfc_args *args, const pfc_res *due, size_t i)
{
    pfc_args_i64(args, pfc_res_i64(due, i, 0));
    pfc_args_i64(args, pfc_res_i64(due, i, 1));
    pfc_args_text(args, pfc_res_text(due, i, 2));
}

static pfc_code build(pfc_db *db, const pfc_res *due, size_t i, double quiet_s, bool *made,
                      pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (code)
        return code;
    series_args(&args, due, i);
    code = pfc_tx_query(tx, "chunks_drop_stale", &args, NULL, err);
    if (!code) {
        series_args(&args, due, i);
        pfc_args_f64(&args, quiet_s);
        code = pfc_tx_query(tx, "chunks_add", &args, &res, err);
    }
    *made = !code && pfc_res_affected(res) > 0;
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_chunks_step(pfc_db *db, double quiet_s, int64_t *cursor, size_t *built, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *due = NULL;
    pfc_tx *tx = NULL;
    size_t n;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    *built = 0;
    if (!code) {
        pfc_args_i64(&args, *cursor);
        pfc_args_i64(&args, WORTH_IT);
        pfc_args_i64(&args, PAGE);
        code = pfc_tx_query(tx, "chunks_due", &args, &due, err);
    }
    pfc_tx_free(tx);
    if (code)
        return code;
    n = pfc_res_rows(due);
    for (size_t i = 0; i < n && !code; i++) {
        bool made = false;

        code = build(db, due, i, quiet_s, &made, err);
        *built += made;
    }
    if (!code)
        *cursor = n == PAGE ? pfc_res_i64(due, n - 1, 1) : 0;
    pfc_res_free(due);
    return code;
}
