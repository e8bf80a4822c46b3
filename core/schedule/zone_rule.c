/* POSIX TZ strings, with which TZif files continue beyond their table (RFC 8536, 3.3). */
#include <ctype.h>
#include <string.h>

#include "core/schedule/zone_priv.h"

#define MAX_HOURS 167 /* RFC 8536, 3.3.1 */

/* A name, which is skipped: letters, or anything in angle brackets. */
static bool skip_name(const char **at)
{
    const char *p = *at;

    if (*p == '<') {
        p = strchr(p, '>');
        if (!p)
            return false;
        *at = p + 1;
        return true;
    }
    while (isalpha((unsigned char)*p))
        p++;
    if (p - *at < 3)
        return false;
    *at = p;
    return true;
}

static bool take_number(const char **at, int max, int *out)
{
    int n = 0;

    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++) {
        n = 10 * n + (**at - '0');
        if (n > max)
            return false;
    }
    *out = n;
    return true;
}

/* "[+-]h[:m[:s]]", in seconds. */
static bool take_time(const char **at, int64_t *out)
{
    const bool minus = **at == '-';
    int part[3] = { 0 };

    if (**at == '-' || **at == '+')
        (*at)++;
    for (int i = 0; i < 3; i++) {
        if (i && **at != ':')
            break;
        if (i)
            (*at)++;
        if (!take_number(at, i ? 59 : MAX_HOURS, &part[i]))
            return false;
    }
    *out = (part[0] * 3600 + part[1] * 60 + part[2]) * (minus ? -1 : 1);
    return true;
}

static bool take_char(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* ",Mm.w.d[/time]", ",Jn[/time]" or ",n[/time]". */
static bool take_day(const char **at, pfc_rule_day *out)
{
    bool ok = take_char(at, ',');

    *out = (pfc_rule_day){ .kind = PFC_RULE_DAY, .time_s = 2 * 3600 };
    if (ok && take_char(at, 'M')) {
        out->kind = PFC_RULE_MONTH;
        ok = take_number(at, 12, &out->month) && out->month >= 1 && take_char(at, '.') &&
             take_number(at, 5, &out->week) && out->week >= 1 && take_char(at, '.') &&
             take_number(at, 6, &out->weekday);
    } else if (ok && take_char(at, 'J')) {
        out->kind = PFC_RULE_JULIAN;
        ok = take_number(at, 365, &out->day) && out->day >= 1;
    } else if (ok) {
        ok = take_number(at, 365, &out->day);
    }
    if (ok && take_char(at, '/'))
        ok = take_time(at, &out->time_s);
    return ok;
}

bool pfc_zone_rule_parse(const char *text, pfc_zone_rule *out)
{
    const char *p = text;

    *out = (pfc_zone_rule){ 0 };
    if (!*text)
        return true;
    out->known = true;
    if (!skip_name(&p) || !take_time(&p, &out->offset))
        return false;
    out->offset = -out->offset; /* POSIX counts westwards */
    out->dst = *p != '\0';
    if (!out->dst)
        return true;
    if (!skip_name(&p))
        return false;
    out->dst_offset = out->offset + 3600;
    if (*p != ',') {
        if (!take_time(&p, &out->dst_offset))
            return false;
        out->dst_offset = -out->dst_offset;
    }
    return take_day(&p, &out->start) && take_day(&p, &out->end) && !*p;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Seconds of the day's local midnight since 1970, plus the time of the change. */
static int64_t local_of(const pfc_rule_day *d, int64_t year)
{
    int64_t days = pfc_days_of(year, 1, 1);

    if (d->kind == PFC_RULE_MONTH) {
        const int64_t first = pfc_days_of(year, d->month, 1);
        const int64_t behind =
            d->month == 12 ? pfc_days_of(year + 1, 1, 1) : pfc_days_of(year, d->month + 1, 1);

        days = first + (d->weekday - pfc_weekday_of(first) + 7) % 7 + 7 * (d->week - 1);
        if (days >= behind)
            days -= 7;
    } else if (d->kind == PFC_RULE_JULIAN) {
        days += d->day - 1 + (d->day > 59 && is_leap(year));
    } else {
        days += d->day;
    }
    return days * PFC_DAY_S + d->time_s;
}

void pfc_zone_rule_year(const pfc_zone_rule *rule, int64_t year, int64_t *start, int64_t *end)
{
    *start = local_of(&rule->start, year) - rule->offset;
    *end = local_of(&rule->end, year) - rule->dst_offset;
}
