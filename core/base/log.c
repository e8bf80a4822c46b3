/* Log lines: JSON on a pipe or file, plain text on a terminal. */
#include "core/base/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

#define LINE_MAX_BYTES  8192
#define VALUE_MAX_BYTES 1024

static atomic_int level_now = PFC_INFO;
static const char *program_name = NULL;
static _Thread_local const char *request_now = NULL;
static const char *const level_names[] = { "debug", "info", "warn", "error", "off" };

void pfc_log_set_level(pfc_log_level level)
{
    atomic_store(&level_now, (int)level);
}

pfc_log_level pfc_log_get_level(void)
{
    return (pfc_log_level)atomic_load_explicit(&level_now, memory_order_relaxed);
}

bool pfc_log_level_parse(const char *text, pfc_log_level *out)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(level_names); i++) {
        if (pfc_streq(text, level_names[i])) {
            *out = (pfc_log_level)i;
            return true;
        }
    }
    return false;
}

void pfc_log_set_program(const char *program)
{
    program_name = program;
}

void pfc_log_set_request(const char *request_id)
{
    request_now = request_id;
}

/* A quoted JSON string; bytes that are not UTF-8 become U+FFFD so that the line stays JSON. */
static void put_quoted(pfc_buf *line, const char *text)
{
    size_t len = strnlen(text, VALUE_MAX_BYTES);
    bool clean;

    while (len > 0 && len == VALUE_MAX_BYTES && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--; /* do not cut a character in two */
    clean = pfc_is_utf8(text, len);
    pfc_buf_putc(line, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            pfc_buf_printf(line, "\\%c", c);
        else if (c == '\n')
            pfc_buf_puts(line, "\\n");
        else if (c < 0x20 || c == 0x7f)
            pfc_buf_printf(line, "\\u%04x", c);
        else if (c >= 0x80 && !clean)
            pfc_buf_puts(line, "\xef\xbf\xbd");
        else
            pfc_buf_putc(line, (char)c);
    }
    pfc_buf_putc(line, '"');
}

static void put_value(pfc_buf *line, const pfc_log_arg *arg)
{
    switch (arg->kind) {
    case PFC_LOG_I64:
        pfc_buf_printf(line, "%" PRId64, arg->value.i64);
        break;
    case PFC_LOG_U64:
        pfc_buf_printf(line, "%" PRIu64, arg->value.u64);
        break;
    case PFC_LOG_F64:
        if (isfinite(arg->value.f64))
            pfc_buf_printf(line, "%.9g", arg->value.f64);
        else
            pfc_buf_puts(line, "null");
        break;
    case PFC_LOG_BOOL:
        pfc_buf_puts(line, arg->value.b ? "true" : "false");
        break;
    case PFC_LOG_STR:
        if (arg->value.str == NULL)
            pfc_buf_puts(line, "null");
        else
            put_quoted(line, arg->value.str);
        break;
    }
}

void pfc_log_write(pfc_log_level level, const char *event, const pfc_log_arg *args, size_t len)
{
    bool plain = isatty(STDERR_FILENO) != 0;
    pfc_buf line;
    char now[32];
    ssize_t written;

    pfc_buf_init(&line, LINE_MAX_BYTES);
    pfc_clock_rfc3339(pfc_clock_unix_s(), now);
    if (plain) {
        pfc_buf_printf(&line, "%.8s %-5s %s", now + 11, level_names[level], event);
    } else {
        pfc_buf_printf(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":", now,
                       level_names[level]);
        put_quoted(&line, event);
        if (program_name != NULL)
            pfc_buf_printf(&line, ",\"program\":\"%s\"", program_name);
    }
    if (request_now != NULL) {
        pfc_buf_puts(&line, plain ? " request=" : ",\"request\":");
        put_quoted(&line, request_now);
    }
    for (size_t i = 0; i < len; i++) {
        if (args[i].key == NULL)
            continue;
        pfc_buf_printf(&line, plain ? " %s=" : ",\"%s\":", args[i].key);
        put_value(&line, &args[i]);
    }
    pfc_buf_puts(&line, plain ? "\n" : "}\n");
    /* A log line that cannot be written has nowhere to be reported. */
    written = write(STDERR_FILENO, pfc_buf_text(&line), line.len);
    (void)written;
    pfc_buf_clear(&line);
}
