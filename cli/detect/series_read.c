/*
 * Cutting a stream into series: lines, elements of an array, or one whole document.
 */
#include "cli/detect/series_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/buf.h"

/* A file in pieces, with one character of look-ahead. */
typedef struct source {
    int fd;      /* -1: there is no more than the piece */
    char *own;   /* PIECE_BYTES */
    char *piece; /* own, or what was read before */
    size_t pos;
    size_t len;
    size_t line; /* 1-based line of the next character */
    int error;   /* errno of a failed read */
} source;

enum { PIECE_BYTES = 256 * 1024 };

static bool fill(source *s)
{
    ssize_t n;

    if (s->pos < s->len)
        return true;
    if (s->fd < 0)
        return false;
    s->piece = s->own;
    do {
        n = read(s->fd, s->piece, PIECE_BYTES);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        s->error = errno;
    s->pos = 0;
    s->len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static int peek(source *s)
{
    return fill(s) ? (unsigned char)s->piece[s->pos] : EOF;
}

static int next(source *s)
{
    const int ch = peek(s);

    if (ch == EOF)
        return EOF;
    s->pos++;
    s->line += ch == '\n';
    return ch;
}

#define is_space(ch) ((ch) == ' ' || (ch) == '\t' || (ch) == '\r' || (ch) == '\n')

static int skip_blank(source *s)
{
    while (is_space(peek(s)))
        next(s);
    return peek(s);
}

/* Appends up to and including the next newline; false at the end with nothing read. Bytes that do
 * not fit in the buffer are read and dropped (buf->overflow). */
static bool append_line(source *s, pfc_buf *buf)
{
    bool any = false;

    while (fill(s)) {
        const char *from = s->piece + s->pos;
        const char *newline = memchr(from, '\n', s->len - s->pos);
        const size_t n = newline ? (size_t)(newline - from) + 1 : s->len - s->pos;

        pfc_buf_append(buf, from, n);
        s->pos += n;
        any = true;
        if (newline) {
            s->line++;
            return true;
        }
    }
    return any;
}

/* State of the reading of one input. */
typedef struct reader {
    source src;
    pfc_buf buf;
    pfc_series_in series;
    const char *stem;
    const pfc_series_sink *sink;
} reader;

/* The text in r->buf, which began on `line`, is one series. */
static void emit(reader *r, size_t line)
{
    pfc_err err = { 0 };
    size_t at = 0;

    if (r->buf.overflow) {
        r->sink->bad(r->sink->arg, line, "longer than 256 MiB");
    } else if (pfc_series_is_api(pfc_buf_text(&r->buf), r->buf.len)) {
        pfc_series_parse_api(pfc_buf_text(&r->buf), r->buf.len, r->sink);
    } else if (pfc_series_parse(pfc_buf_text(&r->buf), r->buf.len, r->stem,
                                r->sink->higher_is_better, &r->series, &at, &err)) {
        for (size_t i = 0; i < at && i < r->buf.len; i++)
            line += r->buf.data[i] == '\n' && i + 1 < r->buf.len;
        r->sink->bad(r->sink->arg, line, err.msg);
    } else {
        r->sink->series(r->sink->arg, &r->series, line);
    }
    pfc_buf_reset(&r->buf);
    r->buf.overflow = false;
}

/* Returns true if the text ends within a bracket or a string. */
static bool is_open(const char *text, size_t len)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        const char ch = text[i];

        if (in_string) {
            if (ch == '\\')
                i++;
            else if (ch == '"')
                in_string = false;
        } else if (ch == '"') {
            in_string = true;
        } else if (ch == '{' || ch == '[') {
            depth++;
        } else if ((ch == '}' || ch == ']') && depth > 0) {
            depth--;
        }
    }
    return in_string || depth > 0;
}

/* JSON lines; or, when the first line leaves its object open and the second does not begin another
 * one, a single document printed over several lines. (A cut-off first line of JSON lines is
 * followed by a line that begins with '{', a pretty-printed object never is.) */
static void read_lines(reader *r)
{
    bool first = true;

    while (skip_blank(&r->src) != EOF) {
        const size_t line = r->src.line;

        append_line(&r->src, &r->buf);
        if (first && !r->buf.overflow && is_open(r->buf.data, r->buf.len) &&
            skip_blank(&r->src) != EOF && peek(&r->src) != '{')
            while (append_line(&r->src, &r->buf))
                continue;
        first = false;
        emit(r, line);
    }
}

/* Copies one element of an array into the buffer: up to the ',' or ']' that ends it. */
static void copy_element(reader *r)
{
    size_t depth = 0;
    bool in_string = false;
    int ch;

    while ((ch = peek(&r->src)) != EOF) {
        if (!in_string && depth == 0 && (ch == ',' || ch == ']'))
            return;
        pfc_buf_putc(&r->buf, (char)next(&r->src));
        if (in_string) {
            if (ch == '\\' && peek(&r->src) != EOF)
                pfc_buf_putc(&r->buf, (char)next(&r->src));
            else if (ch == '"')
                in_string = false;
        } else if (ch == '"') {
            in_string = true;
        } else if (ch == '{' || ch == '[') {
            depth++;
        } else if ((ch == '}' || ch == ']') && depth > 0) {
            depth--;
        }
    }
}

static void read_array(reader *r)
{
    next(&r->src); /* '[' */
    if (skip_blank(&r->src) == ']') {
        next(&r->src);
    } else {
        for (;;) {
            size_t line;
            int ch;

            skip_blank(&r->src);
            line = r->src.line;
            copy_element(r);
            emit(r, line);
            ch = next(&r->src);
            if (ch == ']')
                break;
            if (ch == EOF) {
                r->sink->bad(r->sink->arg, r->src.line, "the array is not closed");
                return;
            }
        }
    }
    if (skip_blank(&r->src) != EOF)
        r->sink->bad(r->sink->arg, r->src.line, "more text after the array");
}

static void read_csv(reader *r)
{
    while (append_line(&r->src, &r->buf))
        continue;
    if (r->buf.overflow)
        r->sink->bad(r->sink->arg, 1, "CSV longer than 256 MiB");
    else
        pfc_series_parse_csv(r->buf.data, r->buf.len, r->sink);
}

static void skip_bom(source *s)
{
    if (fill(s) && s->len >= 3 && memcmp(s->piece, "\xEF\xBB\xBF", 3) == 0)
        s->pos = 3;
}

/* A member "points" of whatever object. */
static bool has_points(const char *text, size_t len)
{
    static const char key[] = "\"points\"";
    const char *end = text + len;

    while ((text = memmem(text, (size_t)(end - text), key, sizeof(key) - 1)) != NULL) {
        text += sizeof(key) - 1;
        while (text < end && is_space(*text))
            text++;
        if (text < end && *text == ':')
            return true;
    }
    return false;
}

bool pfc_series_begins(const char *head, size_t len)
{
    const char *end = head + len;

    if (len >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0)
        head += 3;
    while (head < end && is_space(*head))
        head++;
    if (head == end)
        return true; /* no series at all */
    if (*head == '{' || *head == '[')
        return has_points(head, (size_t)(end - head));
    return end - head > 4 && strncasecmp(head, "time", 4) == 0 &&
           (is_space(head[4]) || head[4] == ',');
}

pfc_code pfc_series_read(int fd, const char *stem, const pfc_series_sink *sink, pfc_err *err)
{
    return pfc_series_read_on(fd, NULL, 0, stem, sink, err);
}

pfc_code pfc_series_read_on(int fd, char *head, size_t len, const char *stem,
                            const pfc_series_sink *sink, pfc_err *err)
{
    reader r = { .src = { .fd = fd, .line = 1, .piece = head, .len = len },
                 .stem = stem,
                 .sink = sink };
    pfc_code code = PFC_OK;

    r.src.own = pfc_alloc(PIECE_BYTES);
    pfc_buf_init(&r.buf, PFC_SERIES_MAX_TEXT);
    skip_bom(&r.src);
    switch (skip_blank(&r.src)) {
    case EOF:
        break;
    case '[':
        read_array(&r);
        break;
    case '{':
        read_lines(&r);
        break;
    default:
        /* Letters are CSV's header; digits, quotes and the like are neither. */
        read_csv(&r);
    }
    if (r.src.error)
        code = pfc_err_set(err, PFC_EIO, "cannot read: %s", strerror(r.src.error));
    pfc_series_clear(&r.series);
    pfc_buf_clear(&r.buf);
    free(r.src.own);
    return code;
}
