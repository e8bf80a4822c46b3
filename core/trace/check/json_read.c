/* A JSON document as tokens: see json_read.h. RFC 8259, without surrogate checks in \u escapes. */
#include "core/trace/check/json_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/parse.h"
#include "core/trace/layout.h"

#define NO_MORE (-1)

void pfc_trace_json_start(pfc_trace_json_in *in, int fd, const void *bytes, size_t len)
{
    memset(in, 0, offsetof(pfc_trace_json_in, chunk));
    in->fd = fd;
    in->bytes = fd < 0 ? bytes : in->chunk;
    in->len = fd < 0 ? len : 0;
}

static bool refill(pfc_trace_json_in *in)
{
    ssize_t got;

    if (in->fd < 0)
        return false;
    do
        got = read(in->fd, in->chunk, sizeof(in->chunk));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        in->error = errno;
    if (got <= 0)
        return false;
    in->before += in->len;
    in->at = 0;
    in->len = (size_t)got;
    return true;
}

static int peek(pfc_trace_json_in *in)
{
    return in->at < in->len || refill(in) ? (unsigned char)in->bytes[in->at] : NO_MORE;
}

static int take(pfc_trace_json_in *in)
{
    const int c = peek(in);

    if (c != NO_MORE)
        in->at++;
    return c;
}

static pfc_trace_token fail(pfc_trace_json_in *in, const char *why)
{
    if (!in->failed)
        snprintf(in->why, sizeof(in->why), "%s",
                 peek(in) == NO_MORE && !in->error ? "the document ends here" : why);
    in->failed = true;
    return PFC_TRACE_TOKEN_FAILED;
}

static int skip_blanks(pfc_trace_json_in *in)
{
    int c = peek(in);

    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        in->at++;
        c = peek(in);
    }
    return c;
}

/* ---- text ---- */

static void clear_text(pfc_trace_json_in *in)
{
    in->text_len = 0;
    in->hash = PFC_TRACE_DIGEST_START;
}

static void add(pfc_trace_json_in *in, int c)
{
    if (in->text_len < PFC_TRACE_JSON_TEXT)
        in->text[in->text_len++] = (char)c;
    in->hash = pfc_trace_digest(in->hash, (uint64_t)(unsigned char)c);
}

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A code point of the basic plane as UTF-8; surrogates one by one, which serves for comparing. */
static void add_code_point(pfc_trace_json_in *in, int v)
{
    if (v < 0x80) {
        add(in, v);
    } else if (v < 0x800) {
        add(in, 0xc0 | v >> 6);
        add(in, 0x80 | (v & 0x3f));
    } else {
        add(in, 0xe0 | v >> 12);
        add(in, 0x80 | (v >> 6 & 0x3f));
        add(in, 0x80 | (v & 0x3f));
    }
}

static bool escape(pfc_trace_json_in *in)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const int c = take(in);
    const char *at;
    int v = 0;

    if (c == 'u') {
        for (int i = 0; i < 4; i++) {
            const int digit = hex_digit(take(in));

            if (digit < 0)
                return false;
            v = v << 4 | digit;
        }
        add_code_point(in, v);
        return true;
    }
    at = c > 0 ? strchr(from, c) : NULL;
    if (at)
        add(in, to[at - from]);
    return at != NULL;
}

/* The rest of a string, behind its first quote. Whole strings up to PFC_TRACE_JSON_TEXT bytes are
 * checked to be UTF-8. */
static pfc_trace_token string(pfc_trace_json_in *in, pfc_trace_token token)
{
    bool escaped = false;

    clear_text(in);
    for (;;) {
        const int c = take(in);

        if (c == '"')
            break;
        if (c < 0x20)
            return fail(in, "a control character in a string");
        if (c != '\\') {
            add(in, c);
            continue;
        }
        escaped = true;
        if (!escape(in))
            return fail(in, "an unknown escape in a string");
    }
    in->text[in->text_len] = '\0';
    if (!escaped && in->text_len < PFC_TRACE_JSON_TEXT && !pfc_is_utf8(in->text, in->text_len))
        return fail(in, "a string that is not UTF-8");
    return token;
}

static bool digits(pfc_trace_json_in *in)
{
    bool some = false;

    while (peek(in) >= '0' && peek(in) <= '9') {
        add(in, take(in));
        some = true;
    }
    return some;
}

static pfc_trace_token number(pfc_trace_json_in *in)
{
    bool ok;

    clear_text(in);
    if (peek(in) == '-')
        add(in, take(in));
    if (peek(in) == '0') {
        add(in, take(in));
        ok = !(peek(in) >= '0' && peek(in) <= '9');
    } else {
        ok = digits(in);
    }
    if (ok && peek(in) == '.') {
        add(in, take(in));
        ok = digits(in);
    }
    if (ok && (peek(in) == 'e' || peek(in) == 'E')) {
        add(in, take(in));
        if (peek(in) == '+' || peek(in) == '-')
            add(in, take(in));
        ok = digits(in);
    }
    in->text[in->text_len] = '\0';
    return ok ? PFC_TRACE_TOKEN_NUMBER : fail(in, "expected a number");
}

static pfc_trace_token word(pfc_trace_json_in *in)
{
    clear_text(in);
    while (peek(in) >= 'a' && peek(in) <= 'z')
        add(in, take(in));
    in->text[in->text_len] = '\0';
    if (strcmp(in->text, "true") != 0 && strcmp(in->text, "false") != 0 &&
        strcmp(in->text, "null") != 0)
        return fail(in, "expected a value");
    return PFC_TRACE_TOKEN_WORD;
}

/* ---- structure ---- */

static pfc_trace_token open_container(pfc_trace_json_in *in, int c)
{
    if (in->depth == PFC_TRACE_JSON_DEPTH)
        return fail(in, "nested too deeply");
    in->at++;
    in->closes[in->depth++] = c == '{' ? '}' : ']';
    in->needs_comma = false;
    return c == '{' ? PFC_TRACE_TOKEN_OBJECT : PFC_TRACE_TOKEN_ARRAY;
}

static pfc_trace_token value(pfc_trace_json_in *in, int c)
{
    in->after_key = false;
    in->started = true;
    if (c == '{' || c == '[')
        return open_container(in, c);
    in->needs_comma = true;
    if (c == '"') {
        in->at++;
        return string(in, PFC_TRACE_TOKEN_STRING);
    }
    return c == '-' || (c >= '0' && c <= '9') ? number(in) : word(in);
}

static pfc_trace_token key(pfc_trace_json_in *in, int c)
{
    if (c != '"')
        return fail(in, "expected a member's name in quotes");
    in->at++;
    if (string(in, PFC_TRACE_TOKEN_KEY) == PFC_TRACE_TOKEN_FAILED)
        return PFC_TRACE_TOKEN_FAILED;
    if (skip_blanks(in) != ':')
        return fail(in, "expected a colon");
    in->at++;
    in->after_key = true;
    return PFC_TRACE_TOKEN_KEY;
}

pfc_trace_token pfc_trace_json_next(pfc_trace_json_in *in)
{
    int c;

    if (in->failed)
        return PFC_TRACE_TOKEN_FAILED;
    c = skip_blanks(in);
    if (in->depth == 0) {
        if (!in->started)
            return value(in, c);
        return c == NO_MORE && !in->error ? PFC_TRACE_TOKEN_END
                                          : fail(in, "expected nothing behind the document");
    }
    if (in->after_key)
        return value(in, c);
    if (c == in->closes[in->depth - 1]) {
        in->at++;
        in->depth--;
        in->needs_comma = true;
        return PFC_TRACE_TOKEN_CLOSE;
    }
    if (in->needs_comma) {
        if (c != ',')
            return fail(in, "expected a comma or the end of the container");
        in->at++;
        in->needs_comma = false;
        c = skip_blanks(in);
    }
    return in->closes[in->depth - 1] == '}' ? key(in, c) : value(in, c);
}

pfc_trace_token pfc_trace_json_skip(pfc_trace_json_in *in, pfc_trace_token token)
{
    const unsigned depth = in->depth;

    if (token != PFC_TRACE_TOKEN_OBJECT && token != PFC_TRACE_TOKEN_ARRAY)
        return token;
    do
        token = pfc_trace_json_next(in);
    while (token != PFC_TRACE_TOKEN_FAILED && in->depth >= depth);
    return token;
}
