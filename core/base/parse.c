/* Strict parsing of numbers, durations, times and names. */
#include "core/base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"

pfc_code pfc_parse_i64(const char *text, int64_t min, int64_t max, const char *what, int64_t *out,
                       pfc_err *err)
{
    const char *digits = text != NULL && text[0] == '-' ? text + 1 : text;
    char *end = NULL;
    long long value;

    /* strtoll would also take blanks and a plus sign. */
    if (text == NULL || !isdigit((unsigned char)digits[0]))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected a whole number, got \"%.40s\"", what,
                           text == NULL ? "" : text);
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end != '\0')
        return pfc_err_set(err, PFC_EINVAL, "%s: expected a whole number, got \"%.40s\"", what,
                           text);
    if (errno == ERANGE || value < min || value > max)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected %lld..%lld, got %.40s", what,
                           (long long)min, (long long)max, text);
    *out = value;
    return PFC_OK;
}

/* [-]digits[.digits][e[+-]digits], and nothing else. Returns the end, or NULL. */
static const char *scan_decimal(const char *p)
{
    bool any = false;

    if (*p == '-' || *p == '+')
        p++;
    for (; isdigit((unsigned char)*p); p++)
        any = true;
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++)
            any = true;
    if (!any)
        return NULL;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '-' || *p == '+')
            p++;
        if (!isdigit((unsigned char)*p))
            return NULL;
        while (isdigit((unsigned char)*p))
            p++;
    }
    return p;
}

pfc_code pfc_parse_double(const char *text, double min, double max, const char *what, double *out,
                          pfc_err *err)
{
    const char *end = text == NULL ? NULL : scan_decimal(text);
    double value;

    if (end == NULL || *end != '\0')
        return pfc_err_set(err, PFC_EINVAL, "%s: expected a number, got \"%.40s\"", what,
                           text == NULL ? "" : text);
    value = strtod(text, NULL);
    if (!isfinite(value) || value < min || value > max)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected %g..%g, got %.40s", what, min, max, text);
    *out = value;
    return PFC_OK;
}

pfc_code pfc_parse_duration_s(const char *text, const char *what, double *out_s, pfc_err *err)
{
    const char *end = text == NULL ? NULL : scan_decimal(text);
    double factor = 1.0;
    double value;

    if (end == NULL || text[0] == '-')
        goto bad;
    if (strcmp(end, "ms") == 0)
        factor = 1e-3;
    else if (strcmp(end, "m") == 0)
        factor = 60.0;
    else if (strcmp(end, "h") == 0)
        factor = 3600.0;
    else if (strcmp(end, "d") == 0)
        factor = 86400.0;
    else if (*end != '\0' && strcmp(end, "s") != 0)
        goto bad;
    value = strtod(text, NULL) * factor;
    if (!isfinite(value) || value > 1e9)
        goto bad;
    *out_s = value;
    return PFC_OK;

bad:
    return pfc_err_set(
        err, PFC_EINVAL,
        "%s: expected a duration such as 90, 90s, 500ms, 5m, 2h or 1d, got \"%.40s\"", what,
        text == NULL ? "" : text);
}

pfc_code pfc_parse_bytes(const char *text, const char *what, uint64_t *out_bytes, pfc_err *err)
{
    static const char units[] = "KMGT";
    const char *end = text == NULL ? NULL : scan_decimal(text);
    const char *unit;
    double value;

    if (end == NULL || text[0] == '-' || (*end != '\0' && end[1] != '\0'))
        goto bad;
    value = strtod(text, NULL);
    if (*end != '\0') {
        unit = strchr(units, *end);
        if (unit == NULL)
            goto bad;
        value = ldexp(value, 10 * ((int)(unit - units) + 1));
    }
    if (!isfinite(value) || value >= 0x1p62)
        goto bad;
    *out_bytes = (uint64_t)value;
    return PFC_OK;

bad:
    return pfc_err_set(err, PFC_EINVAL,
                       "%s: expected bytes such as 4096, 512M or 8G, got \"%.40s\"", what,
                       text == NULL ? "" : text);
}

/* Reads exactly n digits at *p into *out and advances *p. */
static bool take_digits(const char **p, int n, int *out)
{
    int value = 0;

    for (int i = 0; i < n; i++) {
        if (!isdigit((unsigned char)(*p)[i]))
            return false;
        value = value * 10 + ((*p)[i] - '0');
    }
    *p += n;
    *out = value;
    return true;
}

static bool take_char(const char **p, const char *one_of)
{
    if (**p == '\0' || strchr(one_of, **p) == NULL)
        return false;
    (*p)++;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

static bool take_offset(const char **p, int *offset_s)
{
    int hours = 0;
    int minutes = 0;
    int sign;

    *offset_s = 0;
    if (take_char(p, "Zz"))
        return true;
    sign = **p == '-' ? -1 : 1;
    if (!take_char(p, "+-") || !take_digits(p, 2, &hours) || !take_char(p, ":") ||
        !take_digits(p, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *offset_s = sign * (hours * 3600 + minutes * 60);
    return true;
}

pfc_code pfc_parse_rfc3339(const char *text, const char *what, double *out_unix_s, pfc_err *err)
{
    const char *p = text == NULL ? "" : text;
    struct tm tm = { 0 };
    int year = 0;
    int month = 0;
    int offset_s = 0;
    time_t seconds;
    double fraction = 0.0;

    if (!take_digits(&p, 4, &year) || !take_char(&p, "-") || !take_digits(&p, 2, &month) ||
        !take_char(&p, "-") || !take_digits(&p, 2, &tm.tm_mday) || !take_char(&p, "Tt ") ||
        !take_digits(&p, 2, &tm.tm_hour) || !take_char(&p, ":") ||
        !take_digits(&p, 2, &tm.tm_min) || !take_char(&p, ":") || !take_digits(&p, 2, &tm.tm_sec))
        goto bad;
    if (take_char(&p, ".")) {
        double unit = 0.1;

        if (!isdigit((unsigned char)*p))
            goto bad;
        for (; isdigit((unsigned char)*p); p++, unit /= 10.0)
            fraction += unit * (*p - '0');
    }
    if (!take_offset(&p, &offset_s) || *p != '\0')
        goto bad;
    if (year < 1970 || month < 1 || month > 12 || tm.tm_mday < 1 ||
        tm.tm_mday > days_in_month(year, month) || tm.tm_hour > 23 || tm.tm_min > 59 ||
        tm.tm_sec > 60)
        goto bad;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    seconds = timegm(&tm) - offset_s;
    /* The offset can move the time out of the range of years that can be written again. */
    if (seconds < 0 || seconds > PFC_CLOCK_LAST_S)
        goto bad;
    *out_unix_s = (double)seconds + fraction;
    return PFC_OK;

bad:
    return pfc_err_set(err, PFC_EINVAL,
                       "%s: expected a time such as 2026-11-22T10:00:00Z, got \"%.40s\"", what,
                       text == NULL ? "" : text);
}

bool pfc_is_hex_id(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);

    return len >= 7 && len <= 64 && strspn(text, "0123456789abcdef") == len;
}

bool pfc_is_commit_id(const char *text)
{
    return pfc_is_hex_id(text) && (strlen(text) == 40 || strlen(text) == 64);
}

bool pfc_is_sha(const char *text)
{
    return pfc_is_hex_id(text) && strlen(text) == 40;
}

bool pfc_is_slug(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);

    return len >= 1 && len <= 63 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") == len &&
           (islower((unsigned char)text[0]) || isdigit((unsigned char)text[0]));
}

/* Returns the length of the UTF-8 character that begins here, or 0 if none does. */
static size_t utf8_character(const unsigned char *p, const unsigned char *end)
{
    uint32_t c = *p;
    unsigned more = c < 0x80                ? 0
                    : c >= 0xc2 && c < 0xe0 ? 1
                    : (c & 0xf0) == 0xe0    ? 2
                    : c >= 0xf0 && c < 0xf5 ? 3
                                            : 9;

    if (more == 9 || (size_t)(end - p) <= more)
        return 0;
    c &= more == 0 ? 0x7fu : 0x3fu >> more;
    for (unsigned i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = (c << 6) | (p[i] & 0x3fu);
    }
    if ((more == 2 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
        (more == 3 && (c < 0x10000 || c > 0x10ffff)))
        return 0;
    return more + 1;
}

bool pfc_is_utf8(const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes;
    const unsigned char *end = p + len;

    while (p < end) {
        uint64_t eight;
        size_t size;

        /* Nearly all text is ASCII, so eight bytes are tested at once as long as none has its
         * highest bit set. */
        for (; end - p >= 8; p += 8) {
            memcpy(&eight, p, 8);
            if (eight & UINT64_C(0x8080808080808080))
                break;
        }
        if (p == end)
            break;
        size = utf8_character(p, end);
        if (size == 0)
            return false;
        p += size;
    }
    return true;
}

void pfc_utf8_mend(char *text)
{
    unsigned char *p = (unsigned char *)text;
    const unsigned char *end = p + strlen(text);

    while (p < end) {
        size_t size = utf8_character(p, end);

        if (size == 0 || (*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f) {
            *p = '?';
            size = 1;
        }
        p += size;
    }
}

/* Characters that a terminal obeys instead of showing them. */
static bool controls_terminal(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x61c, 0x61c },   { 0x200e, 0x200f },
        { 0x2028, 0x202e }, { 0x2066, 0x206f }, { 0xfeff, 0xfeff }, { 0xe0000, 0xe007f },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static uint32_t code_point(const unsigned char *p, size_t size)
{
    uint32_t c = size == 1 ? *p : *p & (0xffu >> (size + 1));

    for (size_t i = 1; i < size; i++)
        c = (c << 6) | (p[i] & 0x3fu);
    return c;
}

size_t pfc_text_control(const char *text, size_t len, uint32_t *code)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t size = utf8_character(at, at + len);

    *code = size ? code_point(at, size) : 0;
    return size && controls_terminal(*code) ? size : 0;
}

const char *pfc_name_control(const char *name)
{
    const char *end = name + strlen(name);

    for (uint32_t code; name < end; name++) {
        /* Tags (U+E0000 on) are invisible and change nothing else. */
        if (pfc_text_control(name, (size_t)(end - name), &code) && code < 0xe0000)
            return name;
    }
    return NULL;
}

void pfc_text_plain(char *text, bool lines)
{
    unsigned char *in = (unsigned char *)text, *out = in;
    const unsigned char *end = in + strlen(text);

    while (in < end) {
        const size_t size = utf8_character(in, end);

        if (*in == '\t' || *in == '\n') {
            *out++ = *in == '\n' && lines ? '\n' : ' ';
        } else if (size == 0 || controls_terminal(code_point(in, size))) {
            *out++ = '?';
        } else {
            memmove(out, in, size);
            out += size;
        }
        in += size ? size : 1;
    }
    *out = '\0';
}

size_t pfc_utf8_cut(const char *text, size_t max_len)
{
    size_t len = strnlen(text, max_len + 1);

    if (len <= max_len)
        return len;
    len = max_len;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}
