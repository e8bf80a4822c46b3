/*
 * Rows for COPY in its binary form: no statement is planned for them, and PostgreSQL writes them to
 * the table a page at a time.
 */
#include <endian.h>
#include <string.h>

#include "server/repo/connection/db_internal.h"

#define SLICE ((size_t)256 * 1024)

enum { OID_INT4 = 23, OID_FLOAT8 = 701 };

static const char signature[] = "PGCOPY\n\377\r\n"; /* and the zero that ends it */

static void put_u16(pfc_copy *copy, uint16_t value)
{
    const uint16_t big = htobe16(value);

    pfc_buf_append(&copy->buf, &big, sizeof(big));
}

static void put_u32(pfc_copy *copy, uint32_t value)
{
    const uint32_t big = htobe32(value);

    pfc_buf_append(&copy->buf, &big, sizeof(big));
}

/* A field of eight bytes, or an element of an array, with its length before it. */
static char *encode_wide(char *at, uint64_t value)
{
    const uint32_t len = htobe32(8);
    const uint64_t big = htobe64(value);

    memcpy(at, &len, sizeof(len));
    memcpy(at + sizeof(len), &big, sizeof(big));
    return at + sizeof(len) + sizeof(big);
}

void pfc_copy_begin(pfc_copy *copy)
{
    pfc_buf_init(&copy->buf, PFC_COPY_MAX_BYTES);
    pfc_buf_append(&copy->buf, signature, sizeof(signature));
    put_u32(copy, 0); /* flags */
    put_u32(copy, 0); /* no more header */
}

void pfc_copy_row(pfc_copy *copy, unsigned columns)
{
    put_u16(copy, (uint16_t)columns);
}

void pfc_copy_null(pfc_copy *copy)
{
    put_u32(copy, UINT32_MAX); /* a length of -1 */
}

void pfc_copy_i64(pfc_copy *copy, int64_t value)
{
    char bytes[12];

    (void)encode_wide(bytes, (uint64_t)value);
    pfc_buf_append(&copy->buf, bytes, sizeof(bytes));
}

void pfc_copy_i32(pfc_copy *copy, int32_t value)
{
    put_u32(copy, 4);
    put_u32(copy, (uint32_t)value);
}

void pfc_copy_f64(pfc_copy *copy, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    pfc_copy_i64(copy, (int64_t)bits);
}

/* One dimension from 1, without nulls. */
static void array_begin(pfc_copy *copy, size_t len, uint32_t type, uint32_t element)
{
    put_u32(copy, (uint32_t)(len ? 20 + len * (4 + element) : 12));
    put_u32(copy, len > 0);
    put_u32(copy, 0);
    put_u32(copy, type);
    if (len == 0)
        return;
    put_u32(copy, (uint32_t)len);
    put_u32(copy, 1);
}

void pfc_copy_f64s(pfc_copy *copy, const double *values, size_t len)
{
    char bytes[64 * 12];

    array_begin(copy, len, OID_FLOAT8, 8);
    for (size_t i = 0; i < len;) {
        char *at = bytes;

        for (; i < len && at < bytes + sizeof(bytes); i++) {
            uint64_t bits;

            memcpy(&bits, &values[i], sizeof(bits));
            at = encode_wide(at, bits);
        }
        pfc_buf_append(&copy->buf, bytes, (size_t)(at - bytes));
    }
}

void pfc_copy_u32s(pfc_copy *copy, const uint32_t *values, size_t len)
{
    array_begin(copy, len, OID_INT4, 4);
    for (size_t i = 0; i < len; i++)
        pfc_copy_i32(copy, (int32_t)PFC_MIN(values[i], (uint32_t)INT32_MAX));
}

void pfc_copy_json(pfc_copy *copy, const char *text)
{
    const size_t len = strlen(text);

    put_u32(copy, (uint32_t)len + 1);
    pfc_buf_putc(&copy->buf, 1); /* the form's version */
    pfc_buf_append(&copy->buf, text, len);
}

void pfc_copy_end(pfc_copy *copy)
{
    put_u16(copy, UINT16_MAX);
    if (copy->buf.overflow)
        pfc_die("rows for COPY are over %u bytes", PFC_COPY_MAX_BYTES);
}

bool pfc_conn_put_rows(PGconn *pg, const pfc_copy *rows)
{
    const pfc_buf *buf = &rows->buf;

    for (size_t at = 0; at < buf->len; at += SLICE) {
        if (PQputCopyData(pg, buf->data + at, (int)PFC_MIN(buf->len - at, SLICE)) != 1)
            return false;
    }
    return PQputCopyEnd(pg, NULL) == 1;
}
