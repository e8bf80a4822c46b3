/* The types that schema/queries states for parameters and columns, against PostgreSQL's. */
#include <libpq-fe.h>

#include "server/repo/statements/statement.h"

#include "schema/schema.h"
#include "tests/check/check.h"
#include "tests/support/support.h"

/* Numbers of PostgreSQL's types (pg_type.dat), which never change; 0 ends a list. */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_JSON = 114,
    OID_FLOAT8 = 701,
    OID_BOOLS = 1000,
    OID_INT4S = 1007,
    OID_TEXTS = 1009,
    OID_INT8S = 1016,
    OID_FLOAT8S = 1022,
    OID_DATE = 1082,
    OID_TIMESTAMPTZ = 1184,
    OID_VOID = 2278,
    OID_JSONB = 3802
};

/* JSON is read as text: no other form keeps what was stored. */
static const Oid accepted[][5] = {
    [PFC_SQL_ID] = { OID_INT8, OID_INT4, OID_INT2 },
    [PFC_SQL_I64] = { OID_INT8, OID_INT4, OID_INT2 },
    [PFC_SQL_F64] = { OID_FLOAT8 },
    [PFC_SQL_BOOL] = { OID_BOOL },
    [PFC_SQL_TEXT] = { OID_TEXT },
    [PFC_SQL_JSON] = { OID_JSONB, OID_JSON, OID_TEXT },
    [PFC_SQL_TIMESTAMP] = { OID_TIMESTAMPTZ },
    [PFC_SQL_DATE] = { OID_DATE },
    [PFC_SQL_BYTES] = { OID_BYTEA },
    [PFC_SQL_TEXTS] = { OID_TEXTS },
    [PFC_SQL_I64S] = { OID_INT8S },
    [PFC_SQL_U32S] = { OID_INT4S },
    [PFC_SQL_F64S] = { OID_FLOAT8S },
    [PFC_SQL_BOOLS] = { OID_BOOLS },
};

static bool accepts(pfc_sql_type type, Oid oid)
{
    if (type == PFC_SQL_VOID)
        return true;
    for (size_t i = 0; accepted[type][i]; i++) {
        if (accepted[type][i] == oid)
            return true;
    }
    return false;
}

static void compare_parameters(const pfc_sql_statement *statement, const PGresult *described,
                               pfc_buf *faults)
{
    if ((size_t)PQnparams(described) != statement->in_len) {
        pfc_buf_printf(faults, "%s: expected %zu parameters, got %d\n", statement->name,
                       statement->in_len, PQnparams(described));
        return;
    }
    for (size_t i = 0; i < statement->in_len; i++) {
        if (!accepts(statement->in[i].type, PQparamtype(described, (int)i)))
            pfc_buf_printf(faults, "%s: $%zu %s has another type than type %u of PostgreSQL\n",
                           statement->name, i + 1, statement->in[i].name,
                           PQparamtype(described, (int)i));
    }
}

/* A statement without `out` has no columns, or calls functions that return nothing. */
static void compare_columns(const pfc_sql_statement *statement, const PGresult *described,
                            pfc_buf *faults)
{
    for (int i = 0; statement->out_len == 0 && i < PQnfields(described); i++) {
        if (PQftype(described, i) != OID_VOID)
            pfc_buf_printf(faults, "%s: column %s is not in \"out\"\n", statement->name,
                           PQfname(described, i));
    }
    if (statement->out_len == 0)
        return;
    if ((size_t)PQnfields(described) != statement->out_len) {
        pfc_buf_printf(faults, "%s: expected %zu columns, got %d\n", statement->name,
                       statement->out_len, PQnfields(described));
        return;
    }
    for (size_t i = 0; i < statement->out_len; i++) {
        const char *name = PQfname(described, (int)i);

        if (strcmp(name, statement->out[i].name) != 0)
            pfc_buf_printf(faults, "%s: column %zu: expected %s, got %s\n", statement->name, i + 1,
                           statement->out[i].name, name);
        else if (!accepts(statement->out[i].type, PQftype(described, (int)i)))
            pfc_buf_printf(faults, "%s: column %s has another type than type %u of PostgreSQL\n",
                           statement->name, name, PQftype(described, (int)i));
    }
}

/* Appends the faults of the statement, one per line. */
static void compare(PGconn *pg, const pfc_sql_statement *statement, const char *sql,
                    pfc_buf *faults)
{
    PGresult *prepared = PQprepare(pg, "", sql, 0, NULL), *described;

    cr_assert(eq(int, PQresultStatus(prepared), PGRES_COMMAND_OK), "%s: %s", statement->name,
              PQresultErrorMessage(prepared));
    described = PQdescribePrepared(pg, "");
    cr_assert(eq(int, PQresultStatus(described), PGRES_COMMAND_OK));
    compare_parameters(statement, described, faults);
    compare_columns(statement, described, faults);
    PQclear(described);
    PQclear(prepared);
}

static PGconn *connect(void)
{
    char *url = pfc_test_db_url(false);
    PGconn *pg = PQconnectdb(url);

    cr_assert(eq(int, PQstatus(pg), CONNECTION_OK), "%s", PQerrorMessage(pg));
    free(url);
    return pg;
}

static size_t place_of(const char *name)
{
    for (size_t i = 0; i < pfc_sql_statements_len; i++) {
        if (strcmp(pfc_sql_statements[i].name, name) == 0)
            return i;
    }
    cr_fatal("there is no statement %s", name);
}

Test(statements, every_statement_has_the_parameters_and_columns_that_its_header_states)
{
    PGconn *pg = connect();
    pfc_buf faults;

    pfc_buf_init(&faults, 1024 * 1024);
    cr_assert(eq(sz, pfc_sql_statements_len, pfc_statements_len));
    for (size_t i = 0; i < pfc_statements_len; i++) {
        cr_assert(eq(str, (char *)pfc_sql_statements[i].name, (char *)pfc_statements[i].name));
        if (!pfc_statements[i].copy)
            compare(pg, &pfc_sql_statements[i], pfc_statements[i].sql, &faults);
    }
    cr_expect(eq(sz, faults.len, 0), "%s", faults.len ? faults.data : "");
    pfc_buf_clear(&faults);
    PQfinish(pg);
}

Test(statements, a_wrong_header_is_noticed)
{
    static const struct {
        const char *statement;
        bool out;
        size_t member;
        const char *name; /* NULL: its own */
        pfc_sql_type type;
        const char *fault;
    } planted[] = {
        { "alert_lock", false, 0, NULL, PFC_SQL_TEXT, "alert_lock: $1 alert_id has another type" },
        { "alert_lock", true, 3, NULL, PFC_SQL_I64, "alert_lock: column drift has another type" },
        { "alert_lock", true, 1, "stage", PFC_SQL_TEXT, "column 2: expected stage, got state" },
        { "branches_of", false, 1, NULL, PFC_SQL_F64S, "branches_of: $2 commit_ids" },
    };
    PGconn *pg = connect();

    for (size_t i = 0; i < PFC_ARRAY_LEN(planted); i++) {
        const size_t at = place_of(planted[i].statement);
        pfc_sql_statement wrong = pfc_sql_statements[at];
        const pfc_sql_member *members = planted[i].out ? wrong.out : wrong.in;
        size_t len = planted[i].out ? wrong.out_len : wrong.in_len;
        pfc_sql_member *changed = pfc_calloc(len, sizeof(*changed));
        pfc_buf faults;

        memcpy(changed, members, len * sizeof(*changed));
        changed[planted[i].member].type = planted[i].type;
        if (planted[i].name)
            changed[planted[i].member].name = planted[i].name;
        if (planted[i].out)
            wrong.out = changed;
        else
            wrong.in = changed;
        pfc_buf_init(&faults, 64 * 1024);
        compare(pg, &wrong, pfc_statements[at].sql, &faults);
        cr_expect(ne(sz, faults.len, 0));
        cr_expect(faults.len && strstr(faults.data, planted[i].fault), "%s",
                  faults.len ? faults.data : "no fault");
        pfc_buf_clear(&faults);
        free(changed);
    }
    PQfinish(pg);
}
