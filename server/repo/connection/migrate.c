/*
 * Bringing a database to this program's schema.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/repo/connection/db_internal.h"

#include "schema/schema.h"

#define ROLES_VERSION 27 /* which brought server_rights */

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
    /* Of the table, not by to_regclass, whose memory may be older than the lock that we waited for.
     */
    pfc_code code = read_i64(pg,
                             "SELECT count(*) FROM pg_class WHERE relname = 'schema_migrations'"
                             " AND relnamespace = 'public'::regnamespace",
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
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_tx_begin_now(tx, err); /* so that names are looked up where they should be */
    if (!code)
        code = version_of(tx->conn->pg, version, err);
    pfc_tx_free(tx);
    return code;
}

static pfc_code try_write(pfc_tx *tx, pfc_err *err)
{
    static const char limits[] = "SELECT pg_catalog.set_config('statement_timeout', '3s', true),"
                                 " pg_catalog.set_config('lock_timeout', '3s', true)";
    pfc_err why = { 0 };
    pfc_code code = pfc_conn_exec(tx->conn->pg, limits, "settings", &why);

    if (!code)
        code = pfc_tx_query(tx, "readiness_write", NULL, NULL, &why);
    /* For readiness every reason counts, a revoked privilege as well. */
    return code ? pfc_err_set(err, PFC_EUNAVAIL, "the database takes no writes: %s", why.msg)
                : PFC_OK;
}

pfc_code pfc_db_probe(pfc_db *db, int *version, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_tx_begin_now(tx, err);
    if (!code)
        code = version_of(tx->conn->pg, version, err);
    if (!code && *version >= pfc_schema_newest())
        code = try_write(tx, err);
    pfc_tx_free(tx); /* rolls back */
    return code;
}

/* The rights of the connected role on the schema. */
typedef struct standing {
    pfc_res *res;
    const char *me, *owner;
    bool acts, readable, mine;
} standing;

static pfc_code look_at_standing(pfc_tx *tx, standing *out, pfc_err *err)
{
    pfc_code code = pfc_tx_query(tx, "migration_standing", NULL, &out->res, err);

    if (code)
        return code;
    out->me = pfc_res_text(out->res, 0, pfc_res_column(out->res, "me"));
    out->owner = pfc_res_text(out->res, 0, pfc_res_column(out->res, "owner"));
    out->acts = pfc_res_bool(out->res, 0, pfc_res_column(out->res, "acts"));
    out->readable = pfc_res_bool(out->res, 0, pfc_res_column(out->res, "readable"));
    out->mine = pfc_res_bool(out->res, 0, pfc_res_column(out->res, "mine"));
    return PFC_OK;
}

/* `version`: of the schema, -1 when it cannot even be read. */
static pfc_code refuse(const standing *who, int version, pfc_err *err)
{
    char may_not[128];

    if (version < 0)
        (void)snprintf(may_not, sizeof(may_not), "may not read its schema");
    else
        (void)snprintf(may_not, sizeof(may_not),
                       "may not bring its schema from version %d to this program's %d", version,
                       pfc_schema_newest());
    return pfc_err_set(
        err, PFC_ECONFLICT,
        "database: role \"%s\" %s: run `perfci admin migrate --server-role %s` as role "
        "\"%s\" or a superuser",
        who->me, may_not, who->me, who->owner);
}

static pfc_code apply(pfc_tx *tx, const pfc_migration *next, pfc_err *err)
{
    pfc_args args = { 0 };
    /* Whoever reads and stores queues behind a lock that we wait for: behind a long reader, such as
     * a backup, that would be for as long as it reads. */
    pfc_code code =
        pfc_conn_exec(tx->conn->pg, "SET LOCAL lock_timeout = '2s'", "lock timeout", err);

    if (!code)
        code = pfc_conn_exec(tx->conn->pg, next->sql, next->name, err);
    if (code)
        return code;
    pfc_args_i64(&args, next->version);
    pfc_args_text(&args, next->name);
    code = pfc_tx_query(tx, "migration_insert", &args, NULL, err);
    if (!code && next->version >= ROLES_VERSION)
        code = pfc_tx_query(tx, "server_grant_again", NULL, NULL, err);
    return code;
}

/* One step: sees the version under the lock, applies the next migration if there is one. */
static pfc_code migrate_once(pfc_db *db, int *version, bool *more, pfc_err *err)
{
    const pfc_migration *next;
    standing who = { 0 };
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
        code = look_at_standing(tx, &who, err);
    if (!code && !who.readable)
        code = refuse(&who, -1, err);
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
    if (!who.mine)
        code = refuse(&who, *version, err);
    if (!code && who.acts) { /* what a superuser adds is the owner's, too */
        pfc_args_text(&args, who.owner);
        code = pfc_tx_query(tx, "migration_as", &args, NULL, err);
    }
    if (!code)
        code = apply(tx, next, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    if (!code) {
        *version = next->version;
        *more = next->version < pfc_schema_newest();
    }

done:
    pfc_tx_free(tx);
    pfc_res_free(who.res);
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

pfc_code pfc_db_grant(pfc_db *db, const char *role, pfc_err *err)
{
    standing who = { 0 };
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = look_at_standing(tx, &who, err);
    if (!code && !who.mine)
        code = pfc_err_set(
            err, PFC_ECONFLICT,
            "database: role \"%s\" may not grant rights in it: expected role \"%s\" or a "
            "superuser",
            who.me, who.owner);
    if (!code && who.acts) {
        pfc_args_text(&args, who.owner);
        code = pfc_tx_query(tx, "migration_as", &args, NULL, err);
    }
    if (!code) {
        pfc_args_text(&args, role);
        code = pfc_tx_query(tx, "server_grant", &args, NULL, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_res_free(who.res);
    return code;
}
