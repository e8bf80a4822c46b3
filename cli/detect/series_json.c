/*
 * A series object from JSON text: a cursor over the bytes, no tree.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/detect/series_read.h"
#include "core/base/parse.h"
#include "core/changepoint/changepoint.h"

typedef struct cursor {
    const char *text;
    const char *at;
    const char *end;
    const char *member; /* of the point being read; NULL: of none */
    size_t points;      /* read so far */
    bool in_point;
    pfc_err *err;
} cursor;

#define GOT_MAX 24 /* bytes of the offender that a message repeats */

/* The word or number at the cursor for a message, cut to a limit and without unprintable
 * characters. */
static size_t offender(const cursor *c)
{
    size_t n = 0;

    while (n < GOT_MAX && c->at + n < c->end && c->at[n] > 0x20 && c->at[n] < 0x7f &&
           !strchr(",:]}", c->at[n]))
        n++;
    return n;
}

/* "expected X" with the number of the point; "got" only where the text there is readable. */
static pfc_code fault(cursor *c, const char *what)
{
    char where[64] = "";
    const size_t got = offender(c);

    if (c->in_point && c->member)
        snprintf(where, sizeof(where), "points[%zu].%s: ", c->points, c->member);
    else if (c->in_point)
        snprintf(where, sizeof(where), "points[%zu]: ", c->points);
    if (c->at >= c->end)
        return pfc_err_set(c->err, PFC_EINVAL, "%s%s, but the text ends", where, what);
    if (got)
        return pfc_err_set(c->err, PFC_EINVAL, "%s%s, got %.*s", where, what, (int)got, c->at);
    return pfc_err_set(c->err, PFC_EINVAL, "%s%s", where, what);
}

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

/* Takes `ch` after white space. */
static bool take(cursor *c, char ch)
{
    skip_space(c);
    if (c->at >= c->end || *c->at != ch)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    const size_t n = strlen(word);

    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* The raw bytes between two quotes. */
static pfc_code scan_string(cursor *c, const char **raw, size_t *len)
{
    const char *start;

    if (!take(c, '"'))
        return fault(c, "expected a string");
    for (start = c->at; c->at < c->end && *c->at != '"'; c->at++) {
        if ((unsigned char)*c->at < 0x20)
            return fault(c, "control character in a string");
        if (*c->at == '\\' && ++c->at >= c->end)
            break;
    }
    if (c->at >= c->end)
        return fault(c, "expected the closing quote of a string");
    *raw = start;
    *len = (size_t)(c->at - start);
    if (!pfc_is_utf8(start, *len))
        return fault(c, "string is not UTF-8");
    c->at++;
    return PFC_OK;
}

static int hex4(const char *p, const char *end)
{
    int v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char ch = p[i];

        v <<= 4;
        if (ch >= '0' && ch <= '9')
            v |= ch - '0';
        else if ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'f')
            v |= (ch | 0x20) - 'a' + 10;
        else
            return -1;
    }
    return v;
}

static char *put_utf8(char *out, unsigned cp)
{
    if (cp < 0x80) {
        *out++ = (char)cp;
    } else if (cp < 0x800) {
        *out++ = (char)(0xC0 | cp >> 6);
        *out++ = (char)(0x80 | (cp & 0x3F));
    } else if (cp < 0x10000) {
        *out++ = (char)(0xE0 | cp >> 12);
        *out++ = (char)(0x80 | (cp >> 6 & 0x3F));
        *out++ = (char)(0x80 | (cp & 0x3F));
    } else {
        *out++ = (char)(0xF0 | cp >> 18);
        *out++ = (char)(0x80 | (cp >> 12 & 0x3F));
        *out++ = (char)(0x80 | (cp >> 6 & 0x3F));
        *out++ = (char)(0x80 | (cp & 0x3F));
    }
    return out;
}

/* A \u escape (p after the 'u'), perhaps a pair; 0 when malformed, a lone surrogate, or NUL. */
static unsigned unescape_u(const char **p, const char *end)
{
    int cp = hex4(*p, end);

    if (cp < 0)
        return 0;
    *p += 4;
    if (cp < 0xD800 || cp > 0xDFFF)
        return (unsigned)cp;
    if (cp <= 0xDBFF && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        const int low = hex4(*p + 2, end);

        if (low >= 0xDC00 && low <= 0xDFFF) {
            *p += 6;
            return 0x10000u + (((unsigned)cp & 0x3FFu) << 10) + ((unsigned)low & 0x3FFu);
        }
    }
    return 0;
}

/* Escapes only ever shrink, so the raw length is room enough. */
static pfc_code parse_string(cursor *c, char **out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *raw = NULL;
    size_t len = 0;
    char *text;
    char *w;

    if (scan_string(c, &raw, &len))
        return PFC_EINVAL;
    if (len > PFC_SERIES_MAX_ID)
        return pfc_err_set(c->err, PFC_EINVAL, "string of %zu bytes, expected at most %d", len,
                           PFC_SERIES_MAX_ID);
    text = w = pfc_alloc(len + 1);
    for (const char *p = raw; p < raw + len;) {
        const char *known;

        if (*p != '\\') {
            *w++ = *p++;
            continue;
        }
        p++;
        known = memchr(from, *p, sizeof(from) - 1);
        if (known) {
            *w++ = to[known - from];
            p++;
        } else if (*p == 'u') {
            unsigned cp;

            p++;
            cp = unescape_u(&p, raw + len);
            if (!cp)
                goto bad;
            w = put_utf8(w, cp);
        } else {
            goto bad;
        }
    }
    *w = '\0';
    free(*out);
    *out = text;
    return PFC_OK;

bad:
    free(text);
    return fault(c, "bad escape in a string");
}

static bool is_digit(const cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

/* JSON's grammar by hand; the value by exact arithmetic where that is possible (up to 2^53 with a
 * power of ten up to 10^22, both exact in a double), else by strtod. */
static pfc_code parse_number(cursor *c, double *out)
{
    static const double pow10[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const char *start;
    uint64_t mantissa = 0;
    int digits = 0;
    int scale = 0;
    bool plain = true;
    bool negative;

    skip_space(c);
    start = c->at;
    negative = c->at < c->end && *c->at == '-';
    c->at += negative;
    if (!is_digit(c)) {
        c->at = start;
        return fault(c, "expected a number");
    }
    if (*c->at == '0' && c->at + 1 < c->end && c->at[1] >= '0' && c->at[1] <= '9')
        return fault(c, "number with a leading zero");
    for (; is_digit(c); c->at++, digits++)
        mantissa = mantissa * 10 + (uint64_t)(*c->at - '0');
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (!is_digit(c))
            return fault(c, "expected digits after the point");
        for (; is_digit(c); c->at++, digits++, scale++)
            mantissa = mantissa * 10 + (uint64_t)(*c->at - '0');
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        plain = false;
        c->at++;
        if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
            c->at++;
        if (!is_digit(c))
            return fault(c, "expected digits in the exponent");
        while (is_digit(c))
            c->at++;
    }
    if (plain && digits <= 18 && mantissa <= (UINT64_C(1) << 53) && scale <= 22) {
        const double v = (double)mantissa / pow10[scale];

        *out = negative ? -v : v;
        return PFC_OK;
    }
    *out = strtod(start, NULL); /* the text behind is NUL-terminated or no number */
    if (isfinite(*out))
        return PFC_OK;
    c->at = start;
    return fault(c, "number out of range");
}

static pfc_code skip_value(cursor *c, int depth);

static pfc_code skip_members(cursor *c, int depth, char close)
{
    const char *raw = NULL;
    size_t len = 0;

    if (take(c, close))
        return PFC_OK;
    do {
        if (close == '}') {
            if (scan_string(c, &raw, &len))
                return PFC_EINVAL;
            if (!take(c, ':'))
                return fault(c, "expected ':' after a member's name");
        }
        if (skip_value(c, depth + 1))
            return PFC_EINVAL;
    } while (take(c, ','));
    return take(c, close) ? PFC_OK
                          : fault(c, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
}

static pfc_code skip_value(cursor *c, int depth)
{
    const char *raw = NULL;
    size_t len = 0;
    double v = 0;

    if (depth > PFC_SERIES_MAX_DEPTH)
        return fault(c, "nested too deeply");
    skip_space(c);
    if (c->at < c->end && *c->at == '"')
        return scan_string(c, &raw, &len);
    if (take(c, '{'))
        return skip_members(c, depth, '}');
    if (take(c, '['))
        return skip_members(c, depth, ']');
    if (take_word(c, "true") || take_word(c, "false") || take_word(c, "null"))
        return PFC_OK;
    return parse_number(c, &v) ? fault(c, "expected a value") : PFC_OK;
}

static pfc_code parse_repeats(cursor *c, pfc_series_in *out, size_t *count)
{
    *count = 0;
    if (take_word(c, "null"))
        return PFC_OK;
    if (!take(c, '['))
        return fault(c, "expected an array");
    if (take(c, ']'))
        return PFC_OK;
    do {
        double v = 0;

        if (parse_number(c, &v))
            return PFC_EINVAL;
        out->repeats = pfc_grow(out->repeats, out->repeats_len, &out->repeats_cap, sizeof(v));
        out->repeats[out->repeats_len++] = v;
        ++*count;
    } while (take(c, ','));
    return take(c, ']') ? PFC_OK : fault(c, "expected ',' or ']'");
}

static bool name_is(const char *raw, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(raw, name, len) == 0;
}

static pfc_code parse_point(cursor *c, pfc_series_in *out)
{
    double t = NAN;
    double v = NAN;
    size_t repeats = 0;
    bool seen_v = false;

    if (!take(c, '{'))
        return fault(c, "expected an object");
    if (!take(c, '}')) {
        do {
            const char *raw = NULL;
            size_t len = 0;
            pfc_code code;

            if (scan_string(c, &raw, &len))
                return PFC_EINVAL;
            if (!take(c, ':'))
                return fault(c, "expected ':' after a member's name");
            if (name_is(raw, len, "v")) {
                if (seen_v)
                    return fault(c, "\"v\" twice in one point");
                seen_v = true;
                c->member = "v";
                code = take_word(c, "null") ? PFC_OK : parse_number(c, &v);
            } else if (name_is(raw, len, "t")) {
                c->member = "t";
                code = take_word(c, "null") ? PFC_OK : parse_number(c, &t);
            } else if (name_is(raw, len, "repeats")) {
                if (repeats)
                    return fault(c, "\"repeats\" twice in one point");
                c->member = "repeats";
                code = parse_repeats(c, out, &repeats);
            } else {
                code = skip_value(c, 0);
            }
            if (code)
                return code;
            c->member = NULL;
        } while (take(c, ','));
        if (!take(c, '}'))
            return fault(c, "expected ',' or '}'");
    }
    if (!seen_v)
        return pfc_err_set(c->err, PFC_EINVAL, "points[%zu]: point without \"v\"", c->points);
    if (out->len >= PFC_SERIES_MAX_POINTS)
        return pfc_err_set(c->err, PFC_EINVAL, "more than %d points in one series",
                           PFC_SERIES_MAX_POINTS);
    pfc_series_point(out, t, v);
    out->points[out->len - 1].repeats_len = repeats;
    return PFC_OK;
}

static pfc_code parse_points(cursor *c, pfc_series_in *out)
{
    const double *repeats;

    if (!take(c, '['))
        return fault(c, "\"points\": expected an array");
    if (!take(c, ']')) {
        do {
            c->in_point = true;
            if (parse_point(c, out))
                return PFC_EINVAL;
            c->in_point = false;
            c->points++;
        } while (take(c, ','));
        if (!take(c, ']'))
            return fault(c, "\"points\": expected ',' or ']'");
    }
    /* The pointer is taken only now, because the array may move while it grows. */
    repeats = out->repeats;
    for (size_t i = 0; i < out->len; i++) {
        pfc_point *p = &out->points[i];

        p->repeats = NULL;
        if (p->repeats_len > 0) { /* without any there is no array to point into */
            p->repeats = repeats;
            repeats += p->repeats_len;
        }
    }
    return PFC_OK;
}

static pfc_code parse_bool(cursor *c, bool *out)
{
    if (take_word(c, "true"))
        *out = true;
    else if (take_word(c, "false"))
        *out = false;
    else
        return fault(c, "\"higher_is_better\": expected true or false");
    return PFC_OK;
}

/* One known member of the series, or something to skip. `seen` has a bit for each known one. */
static pfc_code parse_member(cursor *c, pfc_series_in *out, unsigned *seen)
{
    static const char *const known[] = { "id", "unit", "higher_is_better", "points" };
    const char *raw = NULL;
    size_t len = 0;
    size_t which = 0;

    if (scan_string(c, &raw, &len))
        return PFC_EINVAL;
    if (!take(c, ':'))
        return fault(c, "expected ':' after a member's name");
    while (which < PFC_ARRAY_LEN(known) && !name_is(raw, len, known[which]))
        which++;
    if (which == PFC_ARRAY_LEN(known))
        return skip_value(c, 0);
    if (*seen & 1u << which)
        return pfc_err_set(c->err, PFC_EINVAL, "member \"%s\" twice", known[which]);
    *seen |= 1u << which;
    if (which == 0)
        return parse_string(c, &out->id);
    if (which == 1)
        return take_word(c, "null") ? PFC_OK : parse_string(c, &out->unit);
    if (which == 2)
        return parse_bool(c, &out->higher_is_better);
    return parse_points(c, out);
}

static pfc_code parse_series(cursor *c, const char *stem, pfc_series_in *out)
{
    unsigned seen = 0;

    if (!take(c, '{'))
        return fault(c, "expected a series, an object");
    if (!take(c, '}')) {
        do {
            if (parse_member(c, out, &seen))
                return PFC_EINVAL;
        } while (take(c, ','));
        if (!take(c, '}'))
            return fault(c, "expected ',' or '}'");
    }
    skip_space(c);
    if (c->at < c->end)
        return fault(c, "more text after the series");
    if (!(seen & 8u))
        return fault(c, "series without \"points\"");
    if (!(seen & 1u) && !stem)
        return fault(c, "series without \"id\"");
    if (!(seen & 1u)) {
        free(out->id);
        out->id = pfc_strdup(stem);
    }
    return PFC_OK;
}

pfc_code pfc_series_parse(const char *text, size_t len, const char *stem, bool higher_is_better,
                          pfc_series_in *out, size_t *fault_at, pfc_err *err)
{
    cursor c = { .text = text, .at = text, .end = text + len, .err = err };
    pfc_code code;

    pfc_series_reset(out);
    out->higher_is_better = higher_is_better;
    code = parse_series(&c, stem, out);
    *fault_at = (size_t)(c.at - text);
    return code;
}

void pfc_series_point(pfc_series_in *series, double t, double v)
{
    series->points = pfc_grow(series->points, series->len, &series->cap, sizeof(series->points[0]));
    series->points[series->len++] = (pfc_point){ .t = t, .v = v };
}

void pfc_series_reset(pfc_series_in *series)
{
    free(series->id);
    free(series->unit);
    series->id = NULL;
    series->unit = pfc_strdup("");
    series->len = 0;
    series->repeats_len = 0;
}

void pfc_series_clear(pfc_series_in *series)
{
    free(series->id);
    free(series->unit);
    free(series->points);
    free(series->repeats);
    *series = (pfc_series_in){ 0 };
}
