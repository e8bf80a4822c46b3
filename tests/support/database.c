/*
 * One cluster a program, one database a test.
 *
 * Criterion runs every test in a process of its own that inherits the environment and nothing else,
 * so the cluster's address travels there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "core/base/rng.h"

#include "tests/support/support.h"

#define ADMIN_ENV "PFC_TEST_ADMIN_URL"

static pfc_cluster *the_cluster;

static PGconn *connect_or_die(const char *url)
{
    PGconn *pg = PQconnectdb(url);

    if (PQstatus(pg) != CONNECTION_OK)
        pfc_die("test database: %s", PQerrorMessage(pg));
    return pg;
}

static bool is_in_use(const PGresult *res)
{
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    return state && strcmp(state, "55006") == 0; /* object_in_use */
}

pfc_code pfc_cluster_create(const char *admin_url, const char *name, const char *template_name,
                            pfc_err *err)
{
    PGconn *pg = connect_or_die(admin_url);
    /* As files: by way of the log each block of a template is read, logged and written again. */
    char *sql = template_name ? pfc_format("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy",
                                           name, template_name)
                              : pfc_format("CREATE DATABASE %s TEMPLATE template0", name);
    PGresult *res = PQexec(pg, sql);
    pfc_code code = PFC_OK;

    /* The backend that migrated the template may take its time to go; the statement waits 5 s for
     * it. */
    for (int more = 60; more > 0 && is_in_use(res); more--) {
        PQclear(res);
        res = PQexec(pg, sql);
    }
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        code = pfc_err_set(err, PFC_EIO, "%s: %s", sql, PQresultErrorMessage(res));
    PQclear(res);
    PQfinish(pg);
    free(sql);
    return code;
}

pfc_code pfc_cluster_make_template(const pfc_cluster *cluster, pfc_err *err)
{
    char *admin, *url;
    pfc_db *db = NULL;
    pfc_code code;

    if (pfc_cluster_is_prepared(cluster))
        return PFC_OK;
    admin = pfc_cluster_url(cluster, "postgres");
    url = pfc_cluster_url(cluster, PFC_CLUSTER_TEMPLATE);
    code = pfc_cluster_create(admin, PFC_CLUSTER_TEMPLATE, NULL, err);
    if (!code)
        code = pfc_db_open(&db, &(pfc_db_opts){ .url = url, .connections = 1 }, err);
    if (!code)
        code = pfc_db_migrate(db, NULL, err);
    pfc_db_close(db); /* a template must have no connection */
    free(admin);
    free(url);
    return code;
}

void pfc_test_cluster_begin(void)
{
    pfc_err err = { 0 };
    char *admin;
    pfc_code code = pfc_cluster_start(&the_cluster, &err);

    if (code)
        pfc_die("%s", err.msg);
    admin = pfc_cluster_url(the_cluster, "postgres");
    (void)setenv(ADMIN_ENV, admin, 1);
    free(admin);
    code = pfc_cluster_make_template(the_cluster, &err);
    if (code) {
        pfc_test_cluster_end();
        pfc_die("%s", err.msg);
    }
}

void pfc_test_cluster_end(void)
{
    pfc_cluster_free(the_cluster);
    the_cluster = NULL;
}

char *pfc_test_db_url(bool empty)
{
    const char *admin = getenv(ADMIN_ENV);
    char id[33], name[48];
    const char *host_end;
    pfc_err err = { 0 };

    if (!admin)
        pfc_die("this test needs a cluster: include tests/support/cluster_hooks.h");
    pfc_random_id(id);
    (void)snprintf(name, sizeof(name), "t_%.16s", id);
    if (pfc_cluster_create(admin, name, empty ? NULL : PFC_CLUSTER_TEMPLATE, &err))
        pfc_die("%s", err.msg);
    host_end = strchr(admin, ' ');
    return pfc_format("%.*s user=perfci dbname=%s connect_timeout=60", (int)(host_end - admin),
                      admin, name);
}

pfc_db *pfc_test_db_open(unsigned connections, char **url)
{
    char *fresh = pfc_test_db_url(false);
    /* Generous limits: a busy machine must not look like a database that is away. */
    const pfc_db_opts opts = {
        .url = fresh, .connections = connections, .statement_ms = 120000, .wait_ms = 120000
    };
    pfc_err err = { 0 };
    pfc_db *db = NULL;

    if (pfc_db_open(&db, &opts, &err))
        pfc_die("%s", err.msg);
    if (url)
        *url = fresh;
    else
        free(fresh);
    return db;
}

char *pfc_test_sql_value(const char *url, const char *sql)
{
    PGconn *pg = connect_or_die(url);
    PGresult *res = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(res);
    char *value = NULL;

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        pfc_die("%s: %s", sql, PQresultErrorMessage(res));
    if (PQntuples(res) > 0 && !PQgetisnull(res, 0, 0))
        value = pfc_strdup(PQgetvalue(res, 0, 0));
    PQclear(res);
    PQfinish(pg);
    return value;
}

void pfc_test_sql(const char *url, const char *sql)
{
    free(pfc_test_sql_value(url, sql));
}
