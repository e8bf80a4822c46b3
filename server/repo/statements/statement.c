/*
 * From structs to parameters and from rows to structs, by the tables of the generated statements.
 */
#include "server/repo/statements/statement.h"

#include <math.h>

/* Members are read and written by memcpy: they are of structs whose types this file does not know.
 */
static const void *pointer_at(const char *at)
{
    const void *value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static size_t size_at(const char *at)
{
    size_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static int64_t i64_at(const char *at)
{
    int64_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static double f64_at(const char *at)
{
    double value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static void push_bool(pfc_args *args, const pfc_sql_member *member, const char *at)
{
    pfc_maybe maybe = { .known = true };

    if (member->nullable)
        memcpy(&maybe, at, sizeof(maybe));
    else
        memcpy(&maybe.value, at, sizeof(maybe.value));
    if (maybe.known)
        pfc_args_bool(args, maybe.value);
    else
        pfc_args_text(args, NULL);
}

static void push_array(pfc_args *args, const pfc_sql_member *member, const char *base)
{
    const void *values = pointer_at(base + member->offset);
    size_t len = size_at(base + member->len_offset);

    if (!values && member->nullable) {
        pfc_args_text(args, NULL);
        return;
    }
    switch ((int)member->type) {
    case PFC_SQL_TEXTS:
        pfc_args_texts(args, values, len);
        break;
    case PFC_SQL_I64S:
        pfc_args_i64s(args, values, len);
        break;
    case PFC_SQL_U32S:
        pfc_args_u32s(args, values, len);
        break;
    case PFC_SQL_F64S:
        pfc_args_f64s(args, values, len);
        break;
    default:
        pfc_args_bools(args, values, len);
        break;
    }
}

static void push_bytes(pfc_args *args, const char *at)
{
    pfc_bytes value;

    memcpy(&value, at, sizeof(value));
    pfc_args_bytes(args, value.data, value.len);
}

static void push(pfc_args *args, const pfc_sql_member *member, const char *base)
{
    const char *at = base + member->offset;

    switch ((int)member->type) {
    case PFC_SQL_ID:
        pfc_args_id(args, i64_at(at));
        break;
    case PFC_SQL_I64:
        pfc_args_i64(args, i64_at(at));
        break;
    case PFC_SQL_F64:
        pfc_args_f64(args, f64_at(at));
        break;
    case PFC_SQL_BOOL:
        push_bool(args, member, at);
        break;
    case PFC_SQL_TEXT:
    case PFC_SQL_JSON:
    case PFC_SQL_TIMESTAMP:
    case PFC_SQL_DATE:
        pfc_args_text(args, pointer_at(at));
        break;
    case PFC_SQL_BYTES:
        push_bytes(args, at);
        break;
    default:
        push_array(args, member, base);
        break;
    }
}

static pfc_code query(pfc_tx *tx, const pfc_sql_statement *statement, const void *from,
                      pfc_res **out, pfc_err *err)
{
    pfc_args args = { 0 };

    for (size_t i = 0; i < statement->in_len; i++)
        push(&args, &statement->in[i], from);
    return statement->binary ? pfc_tx_query_bytes(tx, statement->name, &args, out, err)
                             : pfc_tx_query(tx, statement->name, &args, out, err);
}

/* ---- rows ---- */

static void take_i64(const pfc_res *res, size_t row, int column, char *at)
{
    const int64_t value = pfc_res_i64(res, row, column);

    memcpy(at, &value, sizeof(value));
}

static void take_f64(const pfc_res *res, size_t row, int column, char *at)
{
    const double value = pfc_res_f64(res, row, column);

    memcpy(at, &value, sizeof(value));
}

static void take_bool(const pfc_res *res, size_t row, int column, bool nullable, char *at)
{
    const pfc_maybe maybe = { .known = pfc_res_text(res, row, column) != NULL,
                              .value = pfc_res_bool(res, row, column) };

    if (nullable)
        memcpy(at, &maybe, sizeof(maybe));
    else
        memcpy(at, &maybe.value, sizeof(maybe.value));
}

static void take_bytes(const pfc_res *res, size_t row, int column, char *at)
{
    pfc_bytes value;

    value.data = pfc_res_bytes(res, row, column, &value.len);
    memcpy(at, &value, sizeof(value));
}

/* A pfc_array_text is its text, too. */
static void take_text(const pfc_res *res, size_t row, int column, char *at)
{
    const char *value = pfc_res_text(res, row, column);

    memcpy(at, &value, sizeof(value));
}

static void take(const pfc_res *res, size_t row, int column, const pfc_sql_member *member, char *at)
{
    switch ((int)member->type) {
    case PFC_SQL_VOID:
        break;
    case PFC_SQL_I64:
        take_i64(res, row, column, at);
        break;
    case PFC_SQL_F64:
        take_f64(res, row, column, at);
        break;
    case PFC_SQL_BOOL:
        take_bool(res, row, column, member->nullable, at);
        break;
    case PFC_SQL_BYTES:
        take_bytes(res, row, column, at);
        break;
    default:
        take_text(res, row, column, at);
        break;
    }
}

/* A test holds the columns of all statements against the tables; this is for a schema that another
 * version of the program has changed. */
static pfc_code check_columns(const pfc_sql_statement *statement, const pfc_res *res, pfc_err *err)
{
    const size_t columns = pfc_res_columns(res);

    if (columns != statement->out_len)
        return pfc_err_set(err, PFC_EBUG, "database: %s: expected %zu columns, got %zu",
                           statement->name, statement->out_len, columns);
    return PFC_OK;
}

pfc_code pfc_rows_expect_one(size_t len, const char *what, pfc_err *err)
{
    if (len == 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no %s", what);
    return len == 1 ? PFC_OK : pfc_err_set(err, PFC_EINVAL, "%s: fits several", what);
}

int pfc_page_fetch(pfc_page page)
{
    int limit = page.limit > 0 ? page.limit : PFC_LIST_LIMIT;

    return PFC_MIN(limit, PFC_LIST_MAX) + 1;
}

pfc_code pfc_sql_run(pfc_tx *tx, const pfc_sql_statement *statement, const void *args,
                     pfc_rows *out, pfc_err *err)
{
    pfc_rows rows = { 0 };
    pfc_code code = query(tx, statement, args, out ? &rows.hold : NULL, err);

    if (code || !out)
        return code;
    code = check_columns(statement, rows.hold, err);
    if (code) {
        pfc_res_free(rows.hold);
        return code;
    }
    rows.len = pfc_res_rows(rows.hold);
    rows.items = rows.len ? pfc_calloc(rows.len, statement->row_size) : NULL;
    for (size_t r = 0; r < rows.len; r++) {
        char *row = (char *)rows.items + r * statement->row_size;

        for (size_t c = 0; c < statement->out_len; c++)
            take(rows.hold, r, (int)c, &statement->out[c], row + statement->out[c].offset);
    }
    *out = rows;
    return PFC_OK;
}

pfc_code pfc_sql_count(pfc_tx *tx, const pfc_sql_statement *statement, const void *args,
                       size_t *changed, pfc_err *err)
{
    pfc_res *res = NULL;
    pfc_code code = query(tx, statement, args, &res, err);

    if (!code)
        *changed = pfc_res_affected(res);
    pfc_res_free(res);
    return code;
}

pfc_code pfc_sql_value(pfc_tx *tx, const pfc_sql_statement *statement, const void *args,
                       void *value, pfc_err *err)
{
    const double none = (double)NAN;
    pfc_rows rows = { 0 };
    pfc_code code = pfc_sql_run(tx, statement, args, value ? &rows : NULL, err);

    if (code || !value)
        return code;
    if (rows.len)
        memcpy(value, rows.items, statement->row_size);
    else if (statement->out[0].type == PFC_SQL_F64)
        memcpy(value, &none, sizeof(none));
    else
        memset(value, 0, statement->row_size);
    pfc_rows_clear(&rows);
    return PFC_OK;
}
