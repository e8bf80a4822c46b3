/*
 * Results: libpq's text values as C values.
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
