/* Numbers, times and JSON strings: see text.h. */
#include "core/trace/export/text.h"

#include "core/base/buf.h"

void pfc_trace_text_u64(pfc_trace_text *t, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    pfc_trace_text_raw(t, digits + at, sizeof(digits) - at);
}

static uint64_t magnitude(pfc_trace_text *t, int64_t v)
{
    if (v >= 0)
        return (uint64_t)v;
    t->bytes[t->len++] = '-';
    return 0 - (uint64_t)v;
}

void pfc_trace_text_i64(pfc_trace_text *t, int64_t v)
{
    pfc_trace_text_u64(t, magnitude(t, v));
}

void pfc_trace_text_us(pfc_trace_text *t, int64_t ns)
{
    const uint64_t v = magnitude(t, ns);
    const unsigned rest = (unsigned)(v % 1000);
    const char decimals[] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                              (char)('0' + rest % 10) };

    pfc_trace_text_u64(t, v / 1000);
    pfc_trace_text_raw(t, decimals, sizeof(decimals));
}

char *pfc_trace_json_escape(const char *text)
{
    pfc_buf out;

    pfc_buf_init(&out, 6 * strlen(text) + 1);
    pfc_buf_puts(&out, "");
    for (const char *p = text; *p; p++) {
        const unsigned char c = (unsigned char)*p;

        if (c < 0x20 || c == 0x7f)
            pfc_buf_printf(&out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            pfc_buf_printf(&out, "\\%c", c);
        else
            pfc_buf_putc(&out, (char)c);
    }
    return pfc_buf_take(&out);
}
