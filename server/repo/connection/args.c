/*
 * Parameters of a statement: single values as text, arrays in PostgreSQL's binary form.
 */
#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "server/repo/connection/db.h"

/* Bodies are bounded long before; this only keeps a fault of ours from eating the machine. */
#define ARRAY_MAX_BYTES (512u * 1024 * 1024)

static void push(pfc_args *args, const char *value, char *owned)
{
    if (args->len == PFC_ARGS_MAX)
        pfc_die("a statement has more than %d parameters", PFC_ARGS_MAX);
    args->values[args->len] = value;
    args->owned[args->len++] = owned;
}

void pfc_args_text(pfc_args *args, const char *value)
{
    push(args, value, NULL);
}

void pfc_args_own(pfc_args *args, char *value)
{
    push(args, value, value);
}

void pfc_args_i64(pfc_args *args, int64_t value)
{
    pfc_args_own(args, pfc_format("%" PRId64, value));
}

void pfc_args_id(pfc_args *args, int64_t value)
{
    if (value)
        pfc_args_i64(args, value);
    else
        pfc_args_text(args, NULL);
}

void pfc_args_f64(pfc_args *args, double value)
{
    if (isfinite(value))
        pfc_args_own(args, pfc_format("%.17g", value));
    else
        pfc_args_text(args, NULL);
}

void pfc_args_bool(pfc_args *args, bool value)
{
    push(args, value ? "t" : "f", NULL);
}

void pfc_args_bytes(pfc_args *args, const void *data, size_t len)
{
    push(args, data, NULL);
    args->lengths[args->len - 1] = (int)len;
    args->binary[args->len - 1] = 1;
}

/* ---- arrays: PostgreSQL's binary form (array_recv), because printing and reading back a double
 * costs more than storing it ---- */

enum { OID_BOOL = 16, OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25, OID_FLOAT8 = 701 };

static void put_u32(pfc_buf *buf, uint32_t value)
{
    const uint32_t big = htobe32(value);

    pfc_buf_append(buf, &big, sizeof(big));
}

/* An element of eight bytes with its length before it. */
static void put_wide(pfc_buf *buf, uint64_t value)
{
    const uint32_t len = htobe32(8);
    const uint64_t big = htobe64(value);
    char bytes[sizeof(len) + sizeof(big)];

    memcpy(bytes, &len, sizeof(len));
    memcpy(bytes + sizeof(len), &big, sizeof(big));
    pfc_buf_append(buf, bytes, sizeof(bytes));
}

static void put_null(pfc_buf *buf)
{
    put_u32(buf, UINT32_MAX);
}

/* Dimensions, whether there are nulls, the elements' type; then one dimension from 1. */
static void array_begin(pfc_buf *buf, size_t len, bool nulls, uint32_t type)
{
    pfc_buf_init(buf, ARRAY_MAX_BYTES);
    put_u32(buf, len > 0);
    put_u32(buf, nulls);
    put_u32(buf, type);
    if (len == 0)
        return;
    put_u32(buf, (uint32_t)len);
    put_u32(buf, 1);
}

static void array_end(pfc_args *args, pfc_buf *buf)
{
    size_t len = buf->len;

    if (buf->overflow)
        pfc_die("an array parameter is over %u bytes", ARRAY_MAX_BYTES);
    pfc_args_own(args, pfc_buf_take(buf));
    args->lengths[args->len - 1] = (int)len;
    args->binary[args->len - 1] = 1;
}

void pfc_args_texts(pfc_args *args, const char *const *values, size_t len)
{
    pfc_buf buf;
    bool nulls = false;

    for (size_t i = 0; i < len; i++)
        nulls = nulls || !values[i];
    array_begin(&buf, len, nulls, OID_TEXT);
    for (size_t i = 0; i < len; i++) {
        size_t bytes = values[i] ? strlen(values[i]) : 0;

        if (!values[i]) {
            put_null(&buf);
            continue;
        }
        put_u32(&buf, (uint32_t)bytes);
        pfc_buf_append(&buf, values[i], bytes);
    }
    array_end(args, &buf);
}

void pfc_args_i64s(pfc_args *args, const int64_t *values, size_t len)
{
    pfc_buf buf;

    array_begin(&buf, len, false, OID_INT8);
    for (size_t i = 0; i < len; i++)
        put_wide(&buf, (uint64_t)values[i]);
    array_end(args, &buf);
}

void pfc_args_u32s(pfc_args *args, const uint32_t *values, size_t len)
{
    pfc_buf buf;

    array_begin(&buf, len, false, OID_INT4);
    for (size_t i = 0; i < len; i++) {
        put_u32(&buf, 4);
        put_u32(&buf, PFC_MIN(values[i], (uint32_t)INT32_MAX));
    }
    array_end(args, &buf);
}

void pfc_args_f64s(pfc_args *args, const double *values, size_t len)
{
    pfc_buf buf;
    bool nulls = false;

    for (size_t i = 0; i < len; i++)
        nulls = nulls || !isfinite(values[i]);
    array_begin(&buf, len, nulls, OID_FLOAT8);
    for (size_t i = 0; i < len; i++) {
        uint64_t bits;

        if (!isfinite(values[i])) {
            put_null(&buf);
            continue;
        }
        memcpy(&bits, &values[i], sizeof(bits));
        put_wide(&buf, bits);
    }
    array_end(args, &buf);
}

void pfc_args_bools(pfc_args *args, const bool *values, size_t len)
{
    pfc_buf buf;

    array_begin(&buf, len, false, OID_BOOL);
    for (size_t i = 0; i < len; i++) {
        put_u32(&buf, 1);
        pfc_buf_putc(&buf, (char)values[i]);
    }
    array_end(args, &buf);
}

/* ---- an array as text, for arrays of arrays, which no binary form has ---- */

static void put_quoted(pfc_buf *buf, const char *text)
{
    pfc_buf_putc(buf, '"');
    while (*text) {
        size_t plain = strcspn(text, "\"\\");

        pfc_buf_append(buf, text, plain);
        text += plain;
        if (*text) {
            pfc_buf_putc(buf, '\\');
            pfc_buf_putc(buf, *text++);
        }
    }
    pfc_buf_putc(buf, '"');
}

char *pfc_array_literal(const char *const *values, size_t len)
{
    pfc_buf buf;

    pfc_buf_init(&buf, ARRAY_MAX_BYTES);
    pfc_buf_putc(&buf, '{');
    for (size_t i = 0; i < len; i++) {
        if (i)
            pfc_buf_putc(&buf, ',');
        put_quoted(&buf, values[i]);
    }
    pfc_buf_putc(&buf, '}');
    if (buf.overflow)
        pfc_die("an array parameter is over %u bytes", ARRAY_MAX_BYTES);
    return pfc_buf_take(&buf);
}

void pfc_args_clear(pfc_args *args)
{
    for (int i = 0; i < args->len; i++)
        free(args->owned[i]);
    memset(args, 0, sizeof(*args));
}
