/* The growing, bounded text buffer. */
#include "core/base/buf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pfc_buf_init(pfc_buf *buf, size_t max_bytes)
{
    *buf = (pfc_buf){ .max_bytes = max_bytes };
}

void pfc_buf_clear(pfc_buf *buf)
{
    if (buf == NULL)
        return;
    free(buf->data);
    pfc_buf_init(buf, buf->max_bytes);
}

void pfc_buf_reset(pfc_buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

/* Reserves room for `more` bytes and the terminator. Returns false and marks the overflow when the
 * limit would be exceeded. */
static bool buf_reserve(pfc_buf *buf, size_t more)
{
    size_t wanted;

    if (buf->overflow || more > buf->max_bytes || buf->len > buf->max_bytes - more) {
        buf->overflow = true;
        return false;
    }
    wanted = buf->len + more + 1;
    if (wanted > buf->cap) {
        size_t cap = PFC_MAX(wanted, buf->cap * 2);

        buf->data = pfc_realloc(buf->data, PFC_MAX(cap, 64), 1);
        buf->cap = PFC_MAX(cap, 64);
    }
    return true;
}

void pfc_buf_append(pfc_buf *buf, const void *bytes, size_t len)
{
    if (!buf_reserve(buf, len))
        return;
    if (len > 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void pfc_buf_puts(pfc_buf *buf, const char *text)
{
    pfc_buf_append(buf, text, strlen(text));
}

void pfc_buf_putc(pfc_buf *buf, char c)
{
    pfc_buf_append(buf, &c, 1);
}

void pfc_buf_printf(pfc_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_list again;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0) {
        buf->overflow = true;
    } else if (buf_reserve(buf, (size_t)len)) {
        vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

const char *pfc_buf_text(const pfc_buf *buf)
{
    return buf->data == NULL ? "" : buf->data;
}

char *pfc_buf_take(pfc_buf *buf)
{
    char *text = buf->data == NULL ? pfc_strdup("") : buf->data;

    pfc_buf_init(buf, buf->max_bytes);
    return text;
}

pfc_code pfc_buf_check(const pfc_buf *buf, const char *what, pfc_err *err)
{
    if (!buf->overflow)
        return PFC_OK;
    return pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %zu bytes, it is larger", what,
                       buf->max_bytes);
}

/* ---- numbers and words as people read and type them ---- */

void pfc_show_value(double v, char out[32])
{
    const double size = fabs(v);

    if (!isfinite(v))
        snprintf(out, 32, "?");
    else if (size != 0 && (size >= 1e9 || size < 1e-3))
        snprintf(out, 32, "%.4g", v);
    else if (size >= 10000)
        snprintf(out, 32, "%.0f", v);
    else
        snprintf(out, 32, "%.5g", v);
}

void pfc_show_percent(double rel, char out[32])
{
    if (!isfinite(rel))
        snprintf(out, 32, "?");
    else
        snprintf(out, 32, "%+.*f %%", fabs(rel) < 0.0009995 && rel != 0 ? 3 : 1,
                 rel * 100 + 0.0); /* a negative zero loses its sign */
}

void pfc_shell_word(pfc_buf *out, const char *word)
{
    const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+";

    if (word[0] && word[strspn(word, plain)] == '\0') {
        pfc_buf_puts(out, word);
        return;
    }
    pfc_buf_putc(out, '\'');
    for (const char *p = word; *p; p++)
        if (*p == '\'')
            pfc_buf_puts(out, "'\\''");
        else
            pfc_buf_putc(out, *p);
    pfc_buf_putc(out, '\'');
}
