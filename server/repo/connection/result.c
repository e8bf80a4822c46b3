/*
 * Results: libpq's text values as C values, and whole rows as structs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/repo/connection/db_internal.h"
#include "server/repo/statements/statement.h"

struct pfc_res {
    PGresult *pg;
};

pfc_res *pfc_res_wrap(PGresult *pg)
{
    pfc_res *res = pfc_alloc(sizeof(*res));

    res->pg = pg;
    return res;
}

void pfc_res_free(pfc_res *res)
{
    if (!res)
        return;
    PQclear(res->pg);
    free(res);
}

size_t pfc_res_rows(const pfc_res *res)
{
    return res ? (size_t)PQntuples(res->pg) : 0;
}

size_t pfc_res_affected(const pfc_res *res)
{
    return res ? (size_t)strtoull(PQcmdTuples(res->pg), NULL, 10) : 0;
}

size_t pfc_res_columns(const pfc_res *res)
{
    return (size_t)PQnfields(res->pg);
}

int pfc_res_column(const pfc_res *res, const char *name)
{
    return PQfnumber(res->pg, name);
}

const char *pfc_res_text(const pfc_res *res, size_t row, int column)
{
    if (PQgetisnull(res->pg, (int)row, column))
        return NULL;
    return PQgetvalue(res->pg, (int)row, column);
}

const unsigned char *pfc_res_bytes(const pfc_res *res, size_t row, int column, size_t *len)
{
    *len = (size_t)PQgetlength(res->pg, (int)row, column);
    return (const unsigned char *)pfc_res_text(res, row, column);
}

int64_t pfc_res_i64(const pfc_res *res, size_t row, int column)
{
    const char *text = pfc_res_text(res, row, column);

    return text ? strtoll(text, NULL, 10) : 0;
}

double pfc_res_f64(const pfc_res *res, size_t row, int column)
{
    const char *text = pfc_res_text(res, row, column);

    return text ? strtod(text, NULL) : (double)NAN;
}

bool pfc_res_bool(const pfc_res *res, size_t row, int column)
{
    const char *text = pfc_res_text(res, row, column);

    return text && *text == 't';
}

static size_t array_len(const char *text)
{
    size_t n = 1;

    if (!text || text[0] != '{' || text[1] == '}')
        return 0;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

void pfc_array_f64s(pfc_array_text array, double **out, size_t *len)
{
    const char *text = array.text;
    size_t n = array_len(text);
    double *values = n ? pfc_calloc(n, sizeof(*values)) : NULL;

    for (size_t i = 0; i < n; i++) {
        char *end = NULL;

        text++; /* the brace or the comma before the value */
        values[i] = strtod(text, &end);
        if (end == text) { /* NULL inside the array */
            values[i] = (double)NAN;
            end += strcspn(end, ",}");
        }
        text = end;
    }
    *out = values;
    *len = n;
}

void pfc_array_u32s(pfc_array_text array, uint32_t **out, size_t *len)
{
    const char *text = array.text;
    size_t n = array_len(text);
    uint32_t *values = n ? pfc_calloc(n, sizeof(*values)) : NULL;

    for (size_t i = 0; i < n; i++) {
        char *end = NULL;

        values[i] = (uint32_t)strtoul(text + 1, &end, 10);
        text = end + strcspn(end, ",}");
    }
    *out = values;
    *len = n;
}

void pfc_res_f64s(const pfc_res *res, size_t row, int column, double **out, size_t *len)
{
    pfc_array_f64s((pfc_array_text){ pfc_res_text(res, row, column) }, out, len);
}

void pfc_res_u32s(const pfc_res *res, size_t row, int column, uint32_t **out, size_t *len)
{
    pfc_array_u32s((pfc_array_text){ pfc_res_text(res, row, column) }, out, len);
}

static void set_field(const pfc_res *res, size_t row, int column, pfc_col_kind kind, char *at)
{
    /* memcpy, because `at` is a place in a struct of a type this file does not know */
    switch (kind) {
    case PFC_COL_TEXT: {
        const char *v = pfc_res_text(res, row, column);
        memcpy(at, &v, sizeof(v));
        break;
    }
    case PFC_COL_I64: {
        int64_t v = pfc_res_i64(res, row, column);
        memcpy(at, &v, sizeof(v));
        break;
    }
    case PFC_COL_F64: {
        double v = pfc_res_f64(res, row, column);
        memcpy(at, &v, sizeof(v));
        break;
    }
    case PFC_COL_BOOL: {
        bool v = pfc_res_bool(res, row, column);
        memcpy(at, &v, sizeof(v));
        break;
    }
    }
}

pfc_code pfc_res_structs(const pfc_res *res, const pfc_col *cols, size_t cols_len, size_t size,
                         void **out, pfc_err *err)
{
    size_t rows = pfc_res_rows(res);
    int at[64];
    char *items;

    if (cols_len > PFC_ARRAY_LEN(at))
        return pfc_err_set(err, PFC_EBUG, "database: a row has %zu columns", cols_len);
    for (size_t c = 0; c < cols_len; c++) {
        at[c] = pfc_res_column(res, cols[c].name);
        if (at[c] < 0)
            return pfc_err_set(err, PFC_EBUG, "database: no column %s in the result", cols[c].name);
    }
    items = rows ? pfc_calloc(rows, size) : NULL;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols_len; c++)
            set_field(res, r, at[c], cols[c].kind, items + r * size + cols[c].offset);
    }
    *out = items;
    return PFC_OK;
}
