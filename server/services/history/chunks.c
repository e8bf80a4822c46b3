/*
 * Packs the points of long series into chunks, so that a window of 100,000 points reads dozens of
 * rows.
 */
#include "server/repo/sql/chunks.h"

#include "server/services/history/history.h"

#define WORTH_IT 500 /* points that lie outside of chunks */
#define PAGE     4   /* series of one step: the calling thread has other work, too */

static pfc_code build(pfc_db *db, const pfc_sql_chunks_due_row *due, double quiet_s, bool *made,
                      pfc_err *err)
{
    size_t added = 0;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (code)
        return code;
    code = pfc_sql_chunks_drop_stale(
        tx,
        &(pfc_sql_chunks_drop_stale_args){
            .project_id = due->project_id, .series_id = due->id, .branch = due->branch },
        err);
    if (!code)
        code = pfc_sql_chunks_add(tx,
                                  &(pfc_sql_chunks_add_args){ .project_id = due->project_id,
                                                              .series_id = due->id,
                                                              .branch = due->branch,
                                                              .min_age_s = quiet_s },
                                  &added, err);
    *made = !code && added > 0;
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_chunks_step(pfc_db *db, double quiet_s, int64_t *cursor, size_t *built, pfc_err *err)
{
    pfc_sql_chunks_due_rows due = { 0 };
    pfc_tx *tx = NULL;
    size_t n;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    *built = 0;
    if (!code)
        code = pfc_sql_chunks_due(
            tx,
            &(pfc_sql_chunks_due_args){ .cursor = *cursor, .min_points = WORTH_IT, .limit = PAGE },
            &due, err);
    pfc_tx_free(tx);
    if (code)
        return code;
    n = due.len;
    for (size_t i = 0; i < n && !code; i++) {
        bool made = false;

        code = build(db, &due.items[i], quiet_s, &made, err);
        *built += made;
    }
    if (!code)
        *cursor = n == PAGE ? due.items[n - 1].id : 0;
    pfc_rows_clear(&due);
    return code;
}
