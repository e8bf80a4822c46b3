/* Lines, words and numbers in the human-readable output of tools. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/parse.h"
#include "core/import/reader/reader.h"

#define MAX_NUMBER_TEXT 64

void pfc_lines_init(pfc_lines *lines, const char *text, size_t len)
{
    *lines = (pfc_lines){ .at = text, .end = text + len };
}

bool pfc_lines_next(pfc_lines *lines, pfc_span *line)
{
    const char *eol;

    if (lines->at >= lines->end)
        return false;
    eol = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    line->text = lines->at;
    line->len = (size_t)((eol ? eol : lines->end) - lines->at);
    lines->at = eol ? eol + 1 : lines->end;
    lines->number++;
    if (line->len > 0 && line->text[line->len - 1] == '\r')
        line->len--;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool pfc_lines_any(const char *text, size_t len, size_t max, bool (*wanted)(pfc_span line))
{
    pfc_lines lines;
    pfc_span line;

    pfc_lines_init(&lines, text, len);
    while (lines.number < max && pfc_lines_next(&lines, &line)) {
        if (wanted(line))
            return true;
    }
    return false;
}

pfc_span pfc_span_trim(pfc_span s)
{
    while (s.len > 0 && is_space(s.text[0])) {
        s.text++;
        s.len--;
    }
    while (s.len > 0 && is_space(s.text[s.len - 1]))
        s.len--;
    return s;
}

bool pfc_span_is(pfc_span s, const char *text)
{
    return strlen(text) == s.len && memcmp(s.text, text, s.len) == 0;
}

bool pfc_span_is_nocase(pfc_span s, const char *text)
{
    return strlen(text) == s.len && strncasecmp(s.text, text, s.len) == 0;
}

bool pfc_span_starts(pfc_span s, const char *text)
{
    const size_t n = strlen(text);

    return s.len >= n && memcmp(s.text, text, n) == 0;
}

bool pfc_span_ends(pfc_span s, const char *text)
{
    const size_t n = strlen(text);

    return s.len >= n && memcmp(s.text + s.len - n, text, n) == 0;
}

size_t pfc_span_find(pfc_span s, const char *text)
{
    const char *at = s.len ? memmem(s.text, s.len, text, strlen(text)) : NULL;

    return at ? (size_t)(at - s.text) : s.len;
}

bool pfc_span_word(pfc_span *s, pfc_span *word)
{
    size_t n = 0;

    while (s->len > 0 && is_space(s->text[0])) {
        s->text++;
        s->len--;
    }
    while (n < s->len && !is_space(s->text[n]))
        n++;
    *word = (pfc_span){ s->text, n };
    s->text += n;
    s->len -= n;
    return n > 0;
}

size_t pfc_span_words(pfc_span s, pfc_span *words, size_t cap)
{
    pfc_span word;
    size_t n = 0;

    while (pfc_span_word(&s, &word)) {
        if (n < cap)
            words[n] = word;
        n++;
    }
    return n;
}

char *pfc_span_dup(pfc_span s)
{
    return pfc_strndup(s.text, s.len);
}

/* ---- numbers ---- */

static bool stands_for_nothing(pfc_span s)
{
    static const char *const words[] = { "nan",      "-nan",   "inf",  "+inf",        "-inf",
                                         "infinity", "-",      "n/a",  "na",          "null",
                                         "none",     "--",     "(!)",  "-infinity",   "nil",
                                         "n/a %",    "(null)", "nan%", "not measured" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (pfc_span_is_nocase(s, words[i]))
            return true;
    }
    return s.len == 0;
}

/* Whole numbers up to 2^53 times or by a power of ten up to 22 are one correctly rounded operation
 * away from the value (Clinger 1990); all else goes to strtod. True when that sufficed. */
static bool parse_simple(pfc_span s, double *out)
{
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const char *p = s.text;
    const char *end = p + s.len;
    uint64_t mantissa = 0;
    size_t digits = 0;
    size_t decimals = 0;
    const bool minus = p < end && *p == '-';

    if (minus)
        p++;
    for (; p < end && *p >= '0' && *p <= '9'; p++, digits++)
        mantissa = 10 * mantissa + (uint64_t)(*p - '0');
    if (digits > 0 && p < end && *p == '.') {
        for (p++; p < end && *p >= '0' && *p <= '9'; p++, digits++, decimals++)
            mantissa = 10 * mantissa + (uint64_t)(*p - '0');
    }
    if (p != end || digits == 0 || digits > 18 || mantissa > (UINT64_C(1) << 53) ||
        decimals >= PFC_ARRAY_LEN(powers))
        return false;
    *out = (double)mantissa / powers[decimals];
    if (minus)
        *out = -*out;
    return true;
}

/* Separators of groups of three digits other than a comma: the Swiss apostrophe (' and U+2019),
 * and the spaces that never break (U+00A0, U+2009, U+202F). Bytes of one that starts here; 0: none.
 */
static size_t separator(pfc_span s, size_t at)
{
    static const char *const marks[] = { "'", "\xe2\x80\x99", "\xc2\xa0", "\xe2\x80\x89",
                                         "\xe2\x80\xaf" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(marks); i++) {
        if (pfc_span_starts((pfc_span){ s.text + at, s.len - at }, marks[i]))
            return strlen(marks[i]);
    }
    return 0;
}

/* "1.234.567,89", as half of Europe writes it: of two separators the last one is decimal, and
 * one that occurs twice separates groups. */
static bool is_continental(pfc_span s)
{
    const char *comma = memchr(s.text, ',', s.len);
    const char *dot = memchr(s.text, '.', s.len);
    const char *second = dot ? memchr(dot + 1, '.', (size_t)(s.text + s.len - dot - 1)) : NULL;

    return dot && ((comma && comma > dot) || (!comma && second));
}

/* "1,208,777.47" without its separators; false when they do not stand between groups of three. */
static bool cut_thousands(pfc_span s, char *out)
{
    const char decimal = is_continental(s) ? ',' : '.';
    const char comma = decimal == ',' ? '.' : ',';
    size_t n = 0;
    size_t group = 0; /* digits since the last separator; before the first: since the start */
    bool seen = false;
    bool fraction = false;

    for (size_t i = 0; i < s.len; i++) {
        const char c = s.text[i];
        const size_t other = c == comma ? 1 : separator(s, i);
        if (other > 0 && !fraction) {
            if (seen ? group != 3 : group < 1 || group > 3)
                return false;
            seen = true;
            group = 0;
            i += other - 1;
            continue;
        }
        if (c >= '0' && c <= '9')
            group++;
        else if (!fraction && (c == decimal || c == 'e' || c == 'E')) {
            if (seen && group != 3)
                return false;
            fraction = true;
        }
        out[n++] = c == decimal ? '.' : c;
    }
    out[n] = '\0';
    return !seen || fraction || group == 3;
}

pfc_number_kind pfc_span_number(pfc_span s, double *out)
{
    char text[MAX_NUMBER_TEXT + 1];
    size_t plus;

    if (parse_simple(s, out))
        return PFC_NUMBER;
    s = pfc_span_trim(s);
    if (!(s.len && s.text[0] >= '0' && s.text[0] <= '9') && stands_for_nothing(s))
        return PFC_NUMBER_NONE;
    if (s.len > 1 && s.text[s.len - 1] == '%') {
        s.len--;
        s = pfc_span_trim(s);
    }
    if (s.len == 0 || s.len > MAX_NUMBER_TEXT || memchr(s.text, '\0', s.len))
        return PFC_NUMBER_NO_NUMBER;
    if (!cut_thousands(s, text))
        return PFC_NUMBER_NO_NUMBER;
    if (parse_simple((pfc_span){ text, strlen(text) }, out))
        return PFC_NUMBER;
    plus = text[0] == '+' && text[1] != '-' && text[1] != '+';
    return pfc_parse_double(text + plus, -1e300, 1e300, "number", out, NULL) ? PFC_NUMBER_NO_NUMBER
                                                                             : PFC_NUMBER;
}

bool pfc_span_quantity(pfc_span s, double *value, pfc_span *unit)
{
    size_t n = 0;

    s = pfc_span_trim(s);
    while (n < s.len && (isdigit((unsigned char)s.text[n]) || strchr("+-.,'", s.text[n])) &&
           s.text[n])
        n++;
    /* An exponent needs digits after it: "1e3 ns" has one, "12 events" must not. */
    if (n > 0 && n + 1 < s.len && (s.text[n] == 'e' || s.text[n] == 'E')) {
        size_t k = n + 1;
        if (k < s.len && (s.text[k] == '+' || s.text[k] == '-'))
            k++;
        if (k < s.len && isdigit((unsigned char)s.text[k])) {
            while (k < s.len && isdigit((unsigned char)s.text[k]))
                k++;
            n = k;
        }
    }
    if (pfc_span_number((pfc_span){ s.text, n }, value) != PFC_NUMBER)
        return false;
    *unit = pfc_span_trim((pfc_span){ s.text + n, s.len - n });
    return true;
}
