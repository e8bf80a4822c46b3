/*
 * Bringing a database to this program's schema.
 */
#include <stdlib.h>
#include <string.h>

#include "server/repo/db_internal.h"

#include "schema/schema.h"

int pfc_schema_newest(void)
{
    return pfc_migrations[pfc_migrations_len - 1].version;
}

static pfc_code read_i64(PGconn *pg, const char *sql, int64_t *out, pfc_err *err)
{
    PGresult *pg_res = PQexec(pg, sql);
    pfc_code code = PFC_OK;

    if (PQresultStatus(pg_res) != PGRES_TUPLES_OK) {
        code = pfc_result_fault(pg, pg_res, "schema version", err);
        PQclear(pg_res);
    } else {
        pfc_res *res = pfc_res_wrap(pg_res);

        *out = pfc_res_i64(res, 0, 0);
        pfc_res_free(res);
    }
    return code;
}

static pfc_code version_of(PGconn *pg, int *version, pfc_err *err)
{
    int64_t there = 0, newest = 0;
    /* Of the table, not by to_regclass, whose memory may be older than the lock that we waited for. */
    pfc_code code = read_i64(pg,
                             "SELECT count(*) FROM pg_class WHERE relname = 'schema_migrations'"
                             " AND relnamespace = ANY (current_schemas(false)::regnamespace[])",
                             &there, err);

    if (!code && there)
        code =
            read_i64(pg, "SELECT coalesce(max(version), 0) FROM schema_migrations", &newest, err);
    if (!code)
        *version = (int)newest;
    return code;
}

pfc_code pfc_db_version(pfc_db *db, int *version, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = version_of(tx->conn->pg, version, err);
    pfc_tx_free(tx);
    return code;
}

/* One step: sees the version under the lock, applies the next migration if there is one. */
static pfc_code migrate_once(pfc_db *db, int *version, bool *more, pfc_err *err)
{
    const pfc_migration *next;
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code;

    *more = false;
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_tx_begin_now(tx, err);
    if (code)
        goto done;
    /* Other servers wait here, and may wait long while a large table is changed. */
    code = pfc_conn_exec(tx->conn->pg,
                         "SET LOCAL statement_timeout = 0; SET LOCAL timezone = 'UTC';"
                         " SELECT pg_advisory_xact_lock(74202026)",
                         "migration lock", err);
    if (!code)
        code = version_of(tx->conn->pg, version, err);
    if (code)
        goto done;
    if (*version > pfc_schema_newest()) {
        code = pfc_err_set(err, PFC_ECONFLICT,
                           "database: its schema is version %d, this program knows %d: update it",
                           *version, pfc_schema_newest());
        goto done;
    }
    if (*version == pfc_schema_newest())
        goto done;
    next = &pfc_migrations[*version];
    /* Whoever reads and stores queues behind a lock that we wait for: behind a long reader, such as a
     * backup, that would be for as long as it reads. */
    code = pfc_conn_exec(tx->conn->pg, "SET LOCAL lock_timeout = '2s'", "lock timeout", err);
    if (!code)
        code = pfc_conn_exec(tx->conn->pg, next->sql, next->name, err);
    if (code)
        goto done;
    pfc_args_i64(&args, next->version);
    pfc_args_text(&args, next->name);
    code = pfc_tx_query(tx, "migration_insert", &args, NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    if (!code) {
        *version = next->version;
        *more = next->version < pfc_schema_newest();
    }

done:
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_db_migrate(pfc_db *db, int *version, pfc_err *err)
{
    bool more = true;
    int v = 0;

    while (more) {
        pfc_code code = migrate_once(db, &v, &more, err);

        if (code)
            return code;
    }
    if (version)
        *version = v;
    return PFC_OK;
}
