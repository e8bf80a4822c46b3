/*
 * The end of a transaction. Success is reported only when a synchronous standby has the
 * transaction, too: PostgreSQL answers with success and a warning when its wait was cancelled.
 */
#include <string.h>

#include "server/repo/connection/db_internal.h"

#define STANDBY_MS 15000 /* Patroni drops a standby that is away within 13 s */

void pfc_commit_await(PGconn *pg, int64_t statement_ms)
{
    char why[256];
    PGcancel *cancel;

    if (pfc_conn_answered(pg, statement_ms + STANDBY_MS))
        return;
    cancel = PQgetCancel(pg);
    if (cancel)
        (void)PQcancel(cancel, why, sizeof(why));
    PQfreeCancel(cancel);
    pfc_conn_await(pg, PFC_CONN_SETUP_MS);
}

PGresult *pfc_commit_result(PGconn *pg, int sent, int64_t statement_ms)
{
    PGresult *res = NULL, *next;

    if (!sent)
        return NULL;
    pfc_commit_await(pg, statement_ms);
    while ((next = PQgetResult(pg)) != NULL) {
        if (res && PQresultStatus(res) == PGRES_FATAL_ERROR) { /* the first one has the reason */
            PQclear(next);
            continue;
        }
        PQclear(res);
        res = next;
    }
    return res;
}

pfc_code pfc_commit_unreplicated(const char *what, pfc_err *err)
{
    return pfc_err_set(
        err, PFC_EUNAVAIL,
        "database: %s: the wait for a standby was interrupted, so that it may lack "
        "the transaction: send the same again; if it repeats, see the standby's log and "
        "disk",
        what);
}

pfc_code pfc_conn_committed(PGconn *pg, PGresult *res, bool warned, pfc_err *err)
{
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        return pfc_result_fault(pg, res, "commit", err);
    /* A failed transaction answers COMMIT with ROLLBACK, and calls that a success. */
    if (strcmp(PQcmdStatus(res), "COMMIT") != 0)
        return pfc_err_set(err, PFC_EBUG, "database: commit of a transaction that had failed");
    return warned ? pfc_commit_unreplicated("commit", err) : PFC_OK;
}

pfc_code pfc_tx_commit(pfc_tx *tx, pfc_err *err)
{
    bool warned = false;
    PGresult *res;
    pfc_code code;

    if (!tx->open)
        return PFC_OK;
    tx->open = false;
    if (!tx->begun)
        return PFC_OK;
    pfc_conn_watch(tx->conn->pg, &warned);
    res = pfc_commit_result(tx->conn->pg, PQsendQuery(tx->conn->pg, "COMMIT"), 0);
    pfc_conn_watch(tx->conn->pg, NULL);
    code = pfc_conn_committed(tx->conn->pg, res, warned, err);
    tx->collided = pfc_result_collided(res);
    PQclear(res);
    return code;
}

/* A commit waits for the standby only where its transaction wrote to the log. */
pfc_code pfc_commit_replicate(PGconn *pg, pfc_err *err)
{
    bool warned = false;
    pfc_code code;

    pfc_conn_watch(pg, &warned);
    code = pfc_conn_exec(pg, "SELECT pg_catalog.pg_logical_emit_message(true, 'perfci', '')",
                         "replicate", err);
    pfc_conn_watch(pg, NULL);
    return !code && warned ? pfc_commit_unreplicated("replicate", err) : code;
}
