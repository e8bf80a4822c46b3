/*
 * Removes what capturing adds to a tool's output: an encoding (PowerShell's `>` writes UTF-16),
 * terminal escape sequences, the time stamp that a CI log puts before every line.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

/* ---- UTF-16 ---- */

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* By its byte-order mark alone: without one, text with zeros in it is no text. */
char *pfc_import_from_utf16(const char *text, size_t len, size_t *out_len)
{
    const unsigned char *in = (const unsigned char *)text;
    const bool little = len >= 2 && in[0] == 0xff && in[1] == 0xfe;
    const bool big = len >= 2 && in[0] == 0xfe && in[1] == 0xff;
    uint32_t high = 0; /* the first half of a pair */
    size_t n = 0;
    char *out;

    if (!little && !big)
        return NULL;
    out = pfc_alloc(2 * len + 4); /* two bytes become three at most */
    for (size_t i = 2; i + 1 < len; i += 2) {
        uint32_t c = little ? (uint32_t)in[i] | (uint32_t)in[i + 1] << 8
                            : (uint32_t)in[i + 1] | (uint32_t)in[i] << 8;
        if (c >= 0xd800 && c < 0xdc00) {
            if (high)
                n += put_utf8(out + n, 0xfffd);
            high = c;
            continue;
        }
        if (c >= 0xdc00 && c < 0xe000)
            c = high ? 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00) : 0xfffd;
        else if (high)
            n += put_utf8(out + n, 0xfffd);
        high = 0;
        n += put_utf8(out + n, c);
    }
    *out_len = n;
    return out;
}

/* ---- a terminal's words ---- */

/* The first byte after the escape sequence that begins with the ESC at `i`: "ESC [ ... letter",
 * "ESC ] ... BEL" or
 * "... ESC \\", else the ESC alone. */
static size_t behind_escape(const char *text, size_t len, size_t i)
{
    const char kind = i + 1 < len ? text[i + 1] : '\0';

    if (kind == '[') {
        for (i += 2; i < len && !(text[i] >= 0x40 && text[i] <= 0x7e); i++)
            continue;
        return PFC_MIN(i + 1, len);
    }
    if (kind == ']') {
        for (i += 2; i < len && text[i] != 0x07 && text[i] != 0x1b && text[i] != '\n'; i++)
            continue;
        if (i < len && text[i] == 0x07)
            return i + 1;
        return i + 1 < len && text[i] == 0x1b && text[i + 1] == '\\' ? i + 2 : i;
    }
    return i + 1;
}

char *pfc_import_without_escapes(const char *text, size_t len, size_t *out_len)
{
    char *out;
    size_t n = 0;

    if (!memchr(text, 0x1b, len))
        return NULL;
    out = pfc_alloc(len + 1);
    for (size_t i = 0; i < len;) {
        if (text[i] == 0x1b)
            i = behind_escape(text, len, i);
        else
            out[n++] = text[i++];
    }
    *out_len = n;
    return out;
}

/* ---- a CI log's times ---- */

/* "2026-01-31T10:00:00.1234567Z " at the start of a line: its bytes, 0: none. */
static size_t stamp(pfc_span line)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    size_t i = 0;

    if (line.len < sizeof(form))
        return 0;
    for (; form[i]; i++) {
        const bool digit = line.text[i] >= '0' && line.text[i] <= '9';
        if (form[i] == 'd' ? !digit : line.text[i] != form[i])
            return 0;
    }
    if (line.text[i] == '.') {
        for (i++; i < line.len && line.text[i] >= '0' && line.text[i] <= '9'; i++)
            continue;
    }
    if (i < line.len && line.text[i] == 'Z' && (i + 1 == line.len || line.text[i + 1] == ' '))
        return PFC_MIN(i + 2, line.len);
    return 0;
}

/* Only where every line has one: a history's rows may begin with their time, its header does not.
 */
char *pfc_import_without_stamps(const char *text, size_t len, size_t *out_len)
{
    pfc_lines lines;
    pfc_span line;
    char *out;
    size_t n = 0;

    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &line)) {
        if (line.len > 0 && stamp(line) == 0)
            return NULL;
    }
    if (lines.number == 0)
        return NULL;
    out = pfc_alloc(len + 1);
    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &line)) {
        const size_t cut = stamp(line);
        memcpy(out + n, line.text + cut, line.len - cut);
        n += line.len - cut;
        out[n++] = '\n';
    }
    *out_len = n;
    return out;
}
