/* Time zones: unknown names, missing data, damaged files, and rules beyond the table. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/schedule/schedule.h"

#include "tests/check/check.h"

static void expect_no_zone(const char *name, const char *dir, pfc_code code, const char *part)
{
    pfc_zone *zone = NULL;
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_zone_load(name, dir, &zone, &err), code), "%s: %s", name, err.msg);
    cr_expect(strstr(err.msg, part) != NULL, "%s: %s", name, err.msg);
    cr_expect(zone == NULL);
}

Test(zone, unknown_names_and_missing_data_are_told_apart)
{
    pfc_zone *zone = NULL;

    expect_no_zone("Europe/Atlantis", NULL, PFC_EINVAL, "unknown: /usr/share/zoneinfo has no such");
    expect_no_zone("Europe", NULL, PFC_EINVAL, "unknown");
    expect_no_zone("../../../etc/passwd", NULL, PFC_EINVAL, "expected a name such as");
    expect_no_zone("/etc/localtime", NULL, PFC_EINVAL, "expected a name such as");
    expect_no_zone("Europe//Berlin", NULL, PFC_EINVAL, "expected a name such as");
    expect_no_zone("", NULL, PFC_EINVAL, "expected a name such as");
    expect_no_zone("Europe/Berlin", "/nonexistent", PFC_EUNAVAIL, "install the package tzdata");
    /* UTC needs no data. */
    cr_assert(eq(int, pfc_zone_load("UTC", "/nonexistent", &zone, NULL), PFC_OK));
    cr_assert(eq(i64, pfc_zone_offset(zone, 0), 0));
    cr_assert(eq(i64, pfc_zone_change(zone, 0), INT64_MAX));
    pfc_zone_free(zone);
}

Test(zone, a_table_that_ends_is_continued_by_its_rule)
{
    pfc_zone *zone = NULL;

    cr_assert(eq(int, pfc_zone_load("Europe/Berlin", NULL, &zone, NULL), PFC_OK));
    /* 2026-01-15, 2026-07-15, 2090-01-15, 2090-07-15, at noon. */
    cr_expect(eq(i64, pfc_zone_offset(zone, 1768478400), 3600));
    cr_expect(eq(i64, pfc_zone_offset(zone, 1784116800), 7200));
    cr_expect(eq(i64, pfc_zone_offset(zone, 3788164800), 3600));
    cr_expect(eq(i64, pfc_zone_offset(zone, 3803803200), 7200));
    /* 2026-03-29T01:00:00Z, and 2090-03-26T01:00:00Z. */
    cr_expect(eq(i64, pfc_zone_change(zone, 1768478400), 1774746000));
    cr_expect(eq(i64, pfc_zone_change(zone, 3788164800), 3794173200));
    pfc_zone_free(zone);
}

/* Every file that is shorter, or has one byte changed, is a zone or refused; never read beyond. */
Test(zone, damaged_files_are_refused_or_read)
{
    char *bytes = NULL;
    size_t len = 0, read = 0, refused = 0;

    cr_assert(eq(int, pfc_fs_read(PFC_ZONE_DIR "/Europe/Berlin", 65536, &bytes, &len, NULL), 0));
    for (size_t cut = 0; cut < len; cut++) {
        pfc_zone *zone = NULL;
        char *copy = pfc_alloc(cut + 1); /* exact, for the sanitizer */

        memcpy(copy, bytes, cut);
        cr_expect(eq(int, pfc_zone_parse("cut", copy, cut, &zone, NULL), PFC_EIO), "%zu", cut);
        pfc_zone_free(zone);
        free(copy);
    }
    for (size_t i = 0; i < len; i++) {
        pfc_zone *zone = NULL;
        const char old = bytes[i];

        bytes[i] = (char)(old ^ 0x55);
        if (pfc_zone_parse("changed", bytes, len, &zone, NULL) == PFC_OK) {
            pfc_cron cron;
            int64_t at = 0;

            cr_assert(eq(int, pfc_cron_parse("30 2 * * *", &cron, NULL), PFC_OK));
            if (!pfc_cron_next(&cron, zone, 1774659600, &at, NULL))
                cr_expect(at > 1774659600);
            read++;
        } else {
            refused++;
        }
        pfc_zone_free(zone);
        bytes[i] = old;
    }
    cr_expect(gt(sz, read, 100));
    cr_expect(gt(sz, refused, 100));
    free(bytes);
}

Test(zone, a_file_of_leap_seconds_is_refused)
{
    /* Version 1, one type, one leap second. */
    static const char file[44 + 6 + 4 + 8] = "TZif";
    char bytes[sizeof(file)];
    pfc_zone *zone = NULL;
    pfc_err err = { 0 };

    memcpy(bytes, file, sizeof(file));
    bytes[39] = 1; /* types */
    bytes[43] = 4; /* characters */
    bytes[31] = 1; /* leap seconds */
    cr_expect(eq(int, pfc_zone_parse("right/UTC", bytes, sizeof(bytes), &zone, &err), PFC_EIO));
    cr_expect(strstr(err.msg, "without leap seconds") != NULL);
    bytes[31] = 0;
    cr_assert(eq(int, pfc_zone_parse("UTC", bytes, sizeof(bytes), &zone, &err), PFC_OK));
    cr_expect(eq(i64, pfc_zone_offset(zone, 0), 0));
    pfc_zone_free(zone);
}
