/*
 * One connection: how it is made, and what its faults mean.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "server/repo/connection/db_internal.h"

#define OLDEST_VERSION 150000 /* as PQserverVersion counts */

static void first_line(const char *text, char *out, size_t cap)
{
    size_t n = strcspn(text, "\n");

    n = PFC_MIN(n, cap - 1);
    memcpy(out, text, n);
    out[n] = '\0';
}

void pfc_conn_message(const PGconn *pg, char *out, size_t cap)
{
    const char *text = pg ? PQerrorMessage(pg) : "out of memory";
    size_t n = 0;

    while (*text && n + 1 < cap) {
        const size_t len = strcspn(text, "\n");

        /* A line that begins with a blank explains the one before it. */
        if (len && *text != '\t' && *text != ' ')
            n += (size_t)snprintf(out + n, cap - n, "%s%.*s", n ? "; " : "", (int)len, text);
        n = PFC_MIN(n, cap - 1);
        text += len + (text[len] == '\n');
    }
    out[n] = '\0';
}

static pfc_code code_of_sqlstate(const char *state)
{
    static const struct {
        const char *prefix;
        pfc_code code;
    } table[] = {
        { "23505", PFC_ECONFLICT }, { "23503", PFC_ENOTFOUND }, { "23", PFC_EINVAL },
        { "22", PFC_EINVAL },       { "57014", PFC_ETIMEOUT },  { "57", PFC_EUNAVAIL },
        { "08", PFC_EUNAVAIL },     { "53", PFC_EUNAVAIL },     { "40", PFC_EUNAVAIL },
        { "55P03", PFC_EUNAVAIL },  { "25006", PFC_EUNAVAIL },  { "25P03", PFC_EUNAVAIL },
        { "58", PFC_EUNAVAIL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(table); i++) {
        if (strncmp(state, table[i].prefix, strlen(table[i].prefix)) == 0)
            return table[i].code;
    }
    return PFC_EBUG;
}

/* The row's own partition was attached after the statement had chosen the default partition. A
 * check of a table's own has a name. */
static bool partition_came(const PGresult *res, const char *state)
{
    return strcmp(state, "23514") == 0 && PQresultErrorField(res, PG_DIAG_TABLE_NAME) &&
           !PQresultErrorField(res, PG_DIAG_CONSTRAINT_NAME);
}

#define READ_ONLY                                                                                  \
    ": the address for writing leads to a standby or a former leader: name all nodes with "        \
    "target_session_attrs=read-write, or the proxy's port of the leader"

pfc_code pfc_result_fault(PGconn *pg, const PGresult *res, const char *what, pfc_err *err)
{
    const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
    const char *text = res ? PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    char message[256];

    if (state && text) /* also when the connection ended: the server's reason is the better one */
        return pfc_err_set(err, partition_came(res, state) ? PFC_EUNAVAIL : code_of_sqlstate(state),
                           "database: %s: %s%s", what, text,
                           pfc_result_read_only(res) ? READ_ONLY : "");
    /* The result's own: the connection's is that of a later fault, or it is given up already. */
    if (res && *PQresultErrorMessage(res))
        first_line(PQresultErrorMessage(res), message, sizeof(message));
    else
        first_line(pg ? PQerrorMessage(pg) : "the connection is lost", message, sizeof(message));
    return pfc_err_set(err, PFC_EUNAVAIL, "database: %s: %s", what, message);
}

bool pfc_result_collided(const PGresult *res)
{
    const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;

    return state && (strncmp(state, "40", 2) == 0 || partition_came(res, state));
}

bool pfc_result_read_only(const PGresult *res)
{
    const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;

    return state && strcmp(state, "25006") == 0;
}

pfc_code pfc_conn_exec(PGconn *pg, const char *sql, const char *what, pfc_err *err)
{
    PGresult *res = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(res);
    pfc_code code = PFC_OK;

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        code = pfc_result_fault(pg, res, what, err);
    PQclear(res);
    return code;
}

bool pfc_conn_answered(PGconn *pg, int64_t limit_ms)
{
    const int64_t until_ns = pfc_clock_ns() + limit_ms * PFC_NS_PER_MS;

    while (PQisBusy(pg)) {
        struct pollfd fd = { .fd = PQsocket(pg), .events = POLLIN };
        const int64_t left_ns = until_ns - pfc_clock_ns();
        int n = 0;

        if (left_ns > 0)
            n = poll(&fd, 1, (int)PFC_MIN(left_ns / PFC_NS_PER_MS + 1, 60000));
        if (n < 0 && errno == EINTR)
            continue;
        if (left_ns <= 0)
            return false;
        if (n > 0 && !PQconsumeInput(pg))
            return true;
    }
    return true;
}

void pfc_conn_await(PGconn *pg, int64_t limit_ms)
{
    if (!pfc_conn_answered(pg, limit_ms))
        (void)shutdown(PQsocket(pg), SHUT_RDWR); /* PQgetResult says the rest */
}

/* arg: NULL, or a bool to set at a warning. */
static void take_notice(void *arg, const PGresult *res)
{
    const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (arg && severity && strcmp(severity, "WARNING") == 0)
        *(bool *)arg = true;
}

void pfc_conn_watch(PGconn *pg, bool *warned)
{
    PQsetNoticeReceiver(pg, take_notice, warned);
}

/* An @, / or : in a password that is not written as %XX makes a part of it the host or the port. */
static bool is_astray(const PQconninfoOption *option)
{
    const char *value = option->val ? option->val : "";

    if (strcmp(option->keyword, "port") == 0)
        return value[strspn(value, "0123456789,")] != '\0';
    return strcmp(option->keyword, "host") == 0 && strchr(value, '@') && value[0] != '/' &&
           value[0] != '@';
}

pfc_code pfc_conn_check(const char *url, pfc_err *err)
{
    char *why = NULL;
    PQconninfoOption *info = PQconninfoParse(url ? url : "", &why);
    bool astray = !info;

    for (const PQconninfoOption *option = info; option && option->keyword; option++)
        astray |= is_astray(option);
    PQconninfoFree(info);
    /* libpq's own reason may quote the URL, and with it a password. */
    PQfreemem(why);
    if (astray)
        return pfc_err_set(
            err, PFC_EINVAL,
            "database URL: expected a libpq URI, in which user and password have their "
            "special characters as %%XX, or key=value pairs");
    return PFC_OK;
}

#define NO_LEADER                                                                                  \
    "no node that was reached takes writes: has the cluster a leader (see patronictl list)? "

pfc_code pfc_conn_open(const char *url, unsigned statement_ms, PGconn **out, pfc_err *err)
{
    /* The URL comes after our defaults, so that it may override them. */
    const char *keys[] = { "connect_timeout",  "application_name",
                           "keepalives_idle",  "keepalives_interval",
                           "keepalives_count", "tcp_user_timeout",
                           "dbname",           NULL };
    /* A machine that went without a word is noticed within half a minute. */
    const char *values[] = { PFC_DB_CONNECT_S, "perfci", "15", "5", "3", "30000", url, NULL };
    char limit[16];
    const char *params[] = { limit };
    PGconn *pg;
    PGresult *res = NULL, *more;
    char message[PFC_ERR_MAX - 128];
    pfc_code code = pfc_conn_check(url, err);

    if (code)
        return code;
    pg = PQconnectdbParams(keys, values, 1);
    if (PQstatus(pg) != CONNECTION_OK) {
        pfc_conn_message(pg, message, sizeof(message));
        PQfinish(pg);
        return pfc_err_set(err, PFC_EUNAVAIL, "database: %s%s",
                           strstr(message, "session is read-only") ? NO_LEADER : "", message);
    }
    if (PQserverVersion(pg) < OLDEST_VERSION) {
        const char *version = PQparameterStatus(pg, "server_version");

        code =
            pfc_err_set(err, PFC_EUNAVAIL, "database: expected PostgreSQL 15 or newer, got %.40s",
                        version ? version : "one without a version");
        PQfinish(pg);
        return code;
    }
    pfc_conn_watch(pg, NULL);
    (void)snprintf(limit, sizeof(limit), "%u", statement_ms);
    /* Qualified: until then names are looked up where the role's or the database's settings say. */
    (void)PQsendQueryParams(
        pg,
        "SELECT pg_catalog.set_config('search_path', '" PFC_CONN_SEARCH "', false),"
        " pg_catalog.set_config('statement_timeout', $1, false),"
        " pg_catalog.set_config('idle_in_transaction_session_timeout', '60s', false),"
        " pg_catalog.set_config('timezone', 'UTC', false),"
        " pg_catalog.set_config('datestyle', 'ISO', false),"
        /* pages of 50 ms would wait 500 for their plan to be compiled */
        " pg_catalog.set_config('jit', 'off', false),"
        " pg_catalog.set_config('extra_float_digits', '1', false)",
        1, NULL, params, NULL, NULL, 0);
    pfc_conn_await(pg, PFC_CONN_SETUP_MS);
    res = PQgetResult(pg);
    while (PQresultStatus(res) == PGRES_TUPLES_OK && (more = PQgetResult(pg)) != NULL)
        PQclear(more);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        code = pfc_result_fault(pg, res, "settings", err);
    PQclear(res);
    if (code) {
        PQfinish(pg);
        return code;
    }
    *out = pg;
    return PFC_OK;
}

/* Left to itself, PostgreSQL plans a statement again for every call when it expects more of arrays
 * than they hold: at judging one run, 6 of 19 ms. These statements look rows up by their keys, also
 * where a table is so small that reading all of it is estimated to be cheaper: 200 times. The
 * settings are changed outside of transactions: a rollback would take them back. */
pfc_code pfc_tx_plan(pfc_tx *tx, bool generic, pfc_err *err)
{
    const bool begins = tx->mode == PFC_TX_AUTO || !tx->begun;
    pfc_code code;

    if (!begins || tx->conn->generic == generic)
        return PFC_OK;
    code =
        pfc_conn_exec(tx->conn->pg,
                      generic ? "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off"
                              : "SET plan_cache_mode = auto; SET enable_seqscan = on",
                      "settings", err);
    if (!code)
        tx->conn->generic = generic;
    return code;
}

pfc_code pfc_conn_durable(PGconn *pg, bool *forgets, pfc_err *err)
{
    PGresult *res =
        PQexec(pg, "SELECT name, setting FROM pg_catalog.pg_settings WHERE (setting = 'off'"
                   " AND name IN ('fsync', 'synchronous_commit')) OR (setting = 'local'"
                   " AND name = 'synchronous_commit') ORDER BY name DESC");
    pfc_code code = PFC_OK;

    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        code = pfc_result_fault(pg, res, "settings", err);
    *forgets = !code && PQntuples(res) > 0;
    if (*forgets)
        code = pfc_err_set(err, PFC_EUNAVAIL,
                           "database: its setting %s is %s, so that a %s takes results that "
                           "were acknowledged: turn it on, or start with --database-unsafe",
                           PQgetvalue(res, 0, 0), PQgetvalue(res, 0, 1),
                           pfc_streq(PQgetvalue(res, 0, 1), "local") ? "fail-over" : "crash");
    PQclear(res);
    return code;
}
