/*
 * Results: libpq's values, as text or in PostgreSQL's binary form, as C values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/repo/connection/db_internal.h"

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

/* A number in network order; `len` is 1 to 8 bytes. */
static uint64_t wide(const char *bytes, size_t len)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++)
        value = value << 8 | (uint8_t)bytes[i];
    return value;
}

static bool is_binary(const pfc_res *res, int column)
{
    return PQfformat(res->pg, column) == 1;
}

int64_t pfc_res_i64(const pfc_res *res, size_t row, int column)
{
    const char *value = pfc_res_text(res, row, column);

    if (!value)
        return 0;
    if (!is_binary(res, column))
        return strtoll(value, NULL, 10);
    switch (PQgetlength(res->pg, (int)row, column)) {
    case 2:
        return (int16_t)wide(value, 2);
    case 4:
        return (int32_t)wide(value, 4);
    default:
        return (int64_t)wide(value, 8);
    }
}

double pfc_res_f64(const pfc_res *res, size_t row, int column)
{
    const char *value = pfc_res_text(res, row, column);
    uint64_t bits;
    double number;

    if (!value)
        return (double)NAN;
    if (!is_binary(res, column))
        return strtod(value, NULL);
    if (PQgetlength(res->pg, (int)row, column) != sizeof(bits))
        return (double)NAN; /* a test holds the columns against the tables */
    bits = wide(value, sizeof(bits));
    memcpy(&number, &bits, sizeof(number));
    return number;
}

bool pfc_res_bool(const pfc_res *res, size_t row, int column)
{
    const char *value = pfc_res_text(res, row, column);

    return value && *value == (is_binary(res, column) ? 1 : 't');
}
