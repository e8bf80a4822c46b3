/*
 * The next instant of a schedule. Matching local times are visited in order, and each is mapped to
 * its instant. The mapping never decreases, so that the first instant after the given one is the
 * answer.
 */
#include "core/schedule/zone_priv.h"

#define MINUTE_S 60
#define HOUR_S   3600
/* More than any offset from UTC, so that a local time's instant is that near. */
#define REACH_S  (26 * HOUR_S)
/* Between two leap days lie at most eight years, as from 2096 to 2104. */
#define YEARS    9

/* The first instant with this local time; that of the clock change when it is skipped. */
static int64_t instant_of(const pfc_zone *zone, int64_t local)
{
    int64_t begin = local - REACH_S;

    for (;;) {
        const int64_t at = local - pfc_zone_offset(zone, begin);
        const int64_t end = pfc_zone_change(zone, begin);

        /* Before this stretch, and behind the one before it: between the two. */
        if (at < begin)
            return begin;
        if (at < end)
            return at;
        begin = end;
    }
}

static bool is_set(uint64_t bits, int bit)
{
    return bits >> bit & 1;
}

static bool matches_day(const pfc_cron *c, int64_t days)
{
    int64_t year;
    int month, day;
    bool by_day, by_weekday;

    pfc_date_of(days, &year, &month, &day);
    if (!is_set(c->months, month))
        return false;
    by_day = is_set(c->days, day);
    by_weekday = is_set(c->weekdays, pfc_weekday_of(days));
    return c->both_days ? by_day && by_weekday : by_day || by_weekday;
}

/* The first matching minute of a day that is not before `from`, in seconds since its midnight; -1:
 * none. */
static int64_t minute_of_day(const pfc_cron *c, int64_t from)
{
    for (int64_t hour = from / HOUR_S; hour < 24; hour++) {
        if (!is_set(c->hours, (int)hour))
            continue;
        for (int64_t minute = 0; minute < 60; minute++) {
            const int64_t at = hour * HOUR_S + minute * MINUTE_S;

            if (at >= from && is_set(c->minutes, (int)minute))
                return at;
        }
    }
    return -1;
}

/* The first matching local time that is not before `from`, within YEARS; false: none. */
static bool next_local(const pfc_cron *c, int64_t from, int64_t *out)
{
    const int64_t first = pfc_floor_div(from, PFC_DAY_S);

    for (int64_t days = first; days <= first + YEARS * INT64_C(366); days++) {
        int64_t at;

        if (!matches_day(c, days))
            continue;
        at = minute_of_day(c, days == first ? from - first * PFC_DAY_S : 0);
        if (at >= 0) {
            *out = days * PFC_DAY_S + at;
            return true;
        }
    }
    return false;
}

pfc_code pfc_cron_next(const pfc_cron *cron, const pfc_zone *zone, int64_t after, int64_t *next,
                       pfc_err *err)
{
    int64_t local = after + pfc_zone_offset(zone, after) + 1;

    /* Local times that occurred before, in the first pass through a repeated hour, are passed over.
     */
    while (next_local(cron, local, &local)) {
        const int64_t at = instant_of(zone, local);

        if (at > after) {
            *next = at;
            return PFC_OK;
        }
        local++;
    }
    return pfc_err_set(err, PFC_ENOTFOUND, "cron: no such day within %d years", YEARS);
}
