/* Cron expressions: what is read, what is refused, and when they fire. */
#include <string.h>

#include "core/base/parse.h"
#include "core/schedule/schedule.h"

#include "tests/check/check.h"

static pfc_zone *utc, *berlin;

static void setup(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_zone_load("UTC", NULL, &utc, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_zone_load("Europe/Berlin", NULL, &berlin, &err), PFC_OK), "%s", err.msg);
}

static void teardown(void)
{
    pfc_zone_free(utc);
    pfc_zone_free(berlin);
}

TestSuite(cron, .init = setup, .fini = teardown);

static int64_t unix_of(const char *time)
{
    double s = 0;

    cr_assert(eq(int, pfc_parse_rfc3339(time, "time", &s, NULL), PFC_OK), "%s", time);
    return (int64_t)s;
}

/* The expression fires at `next`, first after `after`. */
static void expect_next(const pfc_zone *zone, const char *text, const char *after, const char *next)
{
    pfc_err err = { 0 };
    pfc_cron cron;
    int64_t at = 0;

    cr_assert(eq(int, pfc_cron_parse(text, &cron, &err), PFC_OK), "%s: %s", text, err.msg);
    cr_assert(eq(int, pfc_cron_next(&cron, zone, unix_of(after), &at, &err), PFC_OK), "%s: %s",
              text, err.msg);
    cr_expect(eq(i64, at, unix_of(next)), "%s after %s: expected %s, got %lld", text, after, next,
              (long long)at);
}

Test(cron, fields_are_read_with_lists_ranges_steps_and_names)
{
    expect_next(utc, "30 2 * * *", "2026-01-01T00:00:00Z", "2026-01-01T02:30:00Z");
    expect_next(utc, "30 2 * * *", "2026-01-01T02:30:00Z", "2026-01-02T02:30:00Z");
    expect_next(utc, "*/20 * * * *", "2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z");
    expect_next(utc, "5-20/7 0 * * *", "2026-01-01T00:12:00Z", "2026-01-01T00:19:00Z");
    expect_next(utc, "5-20/7 0 * * *", "2026-01-01T00:19:00Z", "2026-01-02T00:05:00Z");
    expect_next(utc, "0 1,22 * * *", "2026-01-01T01:00:00Z", "2026-01-01T22:00:00Z");
    expect_next(utc, "0 0 1 FEB *", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    /* 2026-01-01 is a Thursday. */
    expect_next(utc, "0 0 * * Sat-Sun", "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z");
    expect_next(utc, "0 0 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z");
    expect_next(utc, "0 0 * * 0", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z");
    expect_next(utc, "@weekly", "2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z");
    expect_next(utc, "\t@daily" + 1, "2026-01-04T00:00:00Z", "2026-01-05T00:00:00Z");
    expect_next(utc, " 59\t23 31  12 * ", "2026-01-04T00:00:00Z", "2026-12-31T23:59:00Z");
}

Test(cron, one_of_two_restricted_days_suffices)
{
    /* 2026-02-13 is a Friday, the 6th another. */
    expect_next(utc, "0 0 13 * fri", "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z");
    expect_next(utc, "0 0 13 * fri", "2026-04-10T00:00:00Z", "2026-04-13T00:00:00Z");
    /* A star, also with a step: both. */
    expect_next(utc, "0 0 */2 * fri", "2026-02-01T00:00:00Z", "2026-02-13T00:00:00Z");
    expect_next(utc, "0 0 13 * */5", "2026-02-01T00:00:00Z", "2026-02-13T00:00:00Z");
}

Test(cron, leap_days_come_after_four_or_eight_years)
{
    expect_next(utc, "0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z");
    expect_next(utc, "0 0 29 2 *", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z");
    expect_next(utc, "0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z");
}

Test(cron, a_skipped_time_fires_once_at_the_end_of_the_gap)
{
    /* 02:00 to 03:00 does not exist on 2026-03-29; 03:00 CEST is 01:00 UTC. */
    expect_next(berlin, "30 2 * * *", "2026-03-28T02:00:00Z", "2026-03-29T01:00:00Z");
    expect_next(berlin, "30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z");
    expect_next(berlin, "*/10 2 * * *", "2026-03-28T02:00:00Z", "2026-03-29T01:00:00Z");
    expect_next(berlin, "*/10 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z");
}

Test(cron, a_repeated_time_fires_once_at_its_first_occurrence)
{
    /* 02:00 to 03:00 occurs twice on 2026-10-25: from 00:00 UTC and from 01:00 UTC. */
    expect_next(berlin, "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z");
    expect_next(berlin, "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z");
    expect_next(berlin, "30 2 * * *", "2026-10-25T01:15:00Z", "2026-10-26T01:30:00Z");
    expect_next(berlin, "0 3 * * *", "2026-10-25T01:15:00Z", "2026-10-25T02:00:00Z");
}

Test(cron, a_day_that_never_comes_is_reported)
{
    pfc_err err = { 0 };
    pfc_cron cron;
    int64_t at = 7;

    cr_assert(eq(int, pfc_cron_parse("0 0 30 2 *", &cron, &err), PFC_OK));
    cr_assert(eq(int, pfc_cron_next(&cron, utc, 0, &at, &err), PFC_ENOTFOUND));
    cr_assert(eq(i64, at, 7));
    cr_assert(eq(str, err.msg, (char *)"cron: no such day within 9 years"));
}

static void expect_refused(const char *text, const char *part)
{
    pfc_err err = { 0 };
    pfc_cron cron = { .minutes = 42 };

    cr_expect(eq(int, pfc_cron_parse(text, &cron, &err), PFC_EINVAL), "%s", text);
    cr_expect(strstr(err.msg, part) != NULL, "%s: %s", text, err.msg);
    cr_expect(eq(u64, cron.minutes, 42));
}

Test(cron, invalid_expressions_are_refused_with_the_field)
{
    char longer[PFC_CRON_MAX_BYTES + 2];

    expect_refused("60 * * * *", "minute: expected 0 to 59");
    expect_refused("* 24 * * *", "hour: expected 0 to 23");
    expect_refused("* * 0 * *", "day of the month: expected 1 to 31");
    expect_refused("* * 32 * *", "day of the month");
    expect_refused("* * * 0 *", "month: expected 1 to 12 or a name");
    expect_refused("* * * 13 *", "month");
    expect_refused("* * * foo *", "got \"foo\"");
    expect_refused("* * * january *", "got \"january\"");
    expect_refused("* * * * 8", "weekday: expected 0 to 7 or a name");
    expect_refused("5-1 * * * *", "got \"5-1\"");
    expect_refused("*/0 * * * *", "minute");
    expect_refused("*/60 * * * *", "minute");
    expect_refused("5/10 * * * *", "got \"5/10\"");
    expect_refused("1,, * * * *", "got \"1,,\"");
    expect_refused(", * * * *", "minute");
    expect_refused("-5 * * * *", "minute");
    expect_refused("1- * * * *", "minute");
    expect_refused("99999999999999999999 * * * *", "minute");
    expect_refused("* * * *", "expected five fields");
    expect_refused("* * * * * *", "expected five fields");
    expect_refused("", "expected five fields");
    expect_refused("@reboot", "got \"@reboot\"");
    expect_refused("@Daily", "@daily");
    memset(longer, ' ', sizeof(longer));
    memcpy(longer, "* * * * *", 9);
    longer[sizeof(longer) - 1] = '\0';
    expect_refused(longer, "at most 200 bytes, got 201");
    longer[sizeof(longer) - 2] = '\0';
    expect_next(utc, longer, "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z");
}
