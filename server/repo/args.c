/*
 * Parameters of a statement as text, arrays as PostgreSQL's array literals.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "server/repo/db.h"

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

static void own_array(pfc_args *args, pfc_buf *buf)
{
    if (buf->overflow)
        pfc_die("an array parameter is over %u bytes", ARRAY_MAX_BYTES);
    pfc_args_own(args, pfc_buf_take(buf));
}

void pfc_args_texts(pfc_args *args, const char *const *values, size_t len)
{
    pfc_buf buf;

    pfc_buf_init(&buf, ARRAY_MAX_BYTES);
    pfc_buf_putc(&buf, '{');
    for (size_t i = 0; i < len; i++) {
        if (i)
            pfc_buf_putc(&buf, ',');
        if (values[i])
            put_quoted(&buf, values[i]);
        else
            pfc_buf_puts(&buf, "NULL");
    }
    pfc_buf_putc(&buf, '}');
    own_array(args, &buf);
}

void pfc_args_i64s(pfc_args *args, const int64_t *values, size_t len)
{
    pfc_buf buf;

    pfc_buf_init(&buf, ARRAY_MAX_BYTES);
    pfc_buf_putc(&buf, '{');
    for (size_t i = 0; i < len; i++)
        pfc_buf_printf(&buf, i ? ",%" PRId64 : "%" PRId64, values[i]);
    pfc_buf_putc(&buf, '}');
    own_array(args, &buf);
}

void pfc_args_f64s(pfc_args *args, const double *values, size_t len)
{
    pfc_buf buf;

    pfc_buf_init(&buf, ARRAY_MAX_BYTES);
    pfc_buf_putc(&buf, '{');
    for (size_t i = 0; i < len; i++) {
        if (i)
            pfc_buf_putc(&buf, ',');
        if (isfinite(values[i]))
            pfc_buf_printf(&buf, "%.17g", values[i]);
        else
            pfc_buf_puts(&buf, "NULL");
    }
    pfc_buf_putc(&buf, '}');
    own_array(args, &buf);
}

void pfc_args_bools(pfc_args *args, const bool *values, size_t len)
{
    pfc_buf buf;

    pfc_buf_init(&buf, ARRAY_MAX_BYTES);
    pfc_buf_putc(&buf, '{');
    for (size_t i = 0; i < len; i++)
        pfc_buf_puts(&buf, i ? (values[i] ? ",t" : ",f") : (values[i] ? "t" : "f"));
    pfc_buf_putc(&buf, '}');
    own_array(args, &buf);
}

void pfc_args_clear(pfc_args *args)
{
    for (int i = 0; i < args->len; i++)
        free(args->owned[i]);
    memset(args, 0, sizeof(*args));
}
