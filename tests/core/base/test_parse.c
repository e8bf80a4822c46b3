/* Strict parsing. */

#include "core/base/address.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

#include "tests/check/check.h"

Test(parse, whole_numbers_take_the_whole_string_and_the_range)
{
    static const char *const bad[] = { "",    " 1",   "1 ",
                                       "+1",  "0x10", "1.0",
                                       "--1", "1e3",  "9223372036854775808" };
    int64_t value = 77;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_parse_i64("-5", -10, 10, "n", &value, &err), PFC_OK));
    cr_assert(eq(i64, value, -5));
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        value = 77;
        cr_assert(
            eq(int, pfc_parse_i64(bad[i], INT64_MIN, INT64_MAX, "n", &value, &err), PFC_EINVAL),
            "%s", bad[i]);
        cr_assert(eq(i64, value, 77));
    }
    cr_assert(eq(int, pfc_parse_i64("11", 0, 10, "--max-runs", &value, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "--max-runs: expected 0..10, got 11"));
    cr_assert(eq(int, pfc_parse_i64(NULL, 0, 10, "n", &value, &err), PFC_EINVAL));
}

Test(parse, decimals_are_finite_and_plain)
{
    static const char *const bad[] = { "",  "nan", "inf", "-inf",  "0x1p3", "1,5",
                                       ".", "e5",  "1e",  "1e999", "1 " };
    static const char *const good[] = { "1", "-1.5", ".5", "5.", "1e-3", "1E+2", "+2" };
    double value = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_assert(eq(int, pfc_parse_double(bad[i], -1e300, 1e300, "x", &value, NULL), PFC_EINVAL),
                  "%s", bad[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(good); i++)
        cr_assert(eq(int, pfc_parse_double(good[i], -1e300, 1e300, "x", &value, NULL), PFC_OK),
                  "%s", good[i]);
    cr_assert(eq(int, pfc_parse_double("1e-3", 0, 1, "x", &value, NULL), PFC_OK));
    cr_assert(epsilon_eq(dbl, value, 0.001, 1e-15));
}

Test(parse, durations_have_units)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = { { "90", 90 },   { "90s", 90 },   { "500ms", 0.5 }, { "5m", 300 },
                 { "2h", 7200 }, { "1d", 86400 }, { "1.5h", 5400 } };
    static const char *const bad[] = { "", "-5s", "5x", "s", "1e99d", "5 m" };
    double seconds = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(good); i++) {
        cr_assert(eq(int, pfc_parse_duration_s(good[i].text, "t", &seconds, NULL), PFC_OK));
        cr_assert(epsilon_eq(dbl, seconds, good[i].seconds, 1e-9), "%s", good[i].text);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_assert(eq(int, pfc_parse_duration_s(bad[i], "t", &seconds, NULL), PFC_EINVAL), "%s",
                  bad[i]);
}

/* Unix times by arithmetic: 2000-03-01 is day 11017 after 1970-01-01. */
Test(parse, times_follow_rfc3339)
{
    static const struct {
        const char *text;
        double unix_s;
    } good[] = { { "1970-01-01T00:00:00Z", 0 },
                 { "2000-03-01T00:00:00Z", 11017.0 * 86400 },
                 { "2000-02-29T23:59:59Z", 11017.0 * 86400 - 1 },
                 { "2000-03-01T02:30:00+02:30", 11017.0 * 86400 },
                 { "2000-02-29T23:00:00-01:00", 11017.0 * 86400 },
                 { "1970-01-01T00:00:00.25Z", 0.25 },
                 { "9999-12-31T23:59:59Z", 253402300799.0 },
                 { "1970-01-01T00:59:00+00:59", 0 } };
    static const char *const bad[] = { "",
                                       "2000-02-30T00:00:00Z",
                                       "2001-02-29T00:00:00Z",
                                       "2000-13-01T00:00:00Z",
                                       "2000-01-01",
                                       "2000-01-01T00:00:00",
                                       "2000-01-01T24:00:00Z",
                                       "2000-01-01T00:00:00.Z",
                                       "2000-01-01T00:00:00+1:00",
                                       "1969-12-31T23:59:59Z",
                                       "1970-01-01T00:00:00+00:01",
                                       "9999-12-31T23:59:60Z",
                                       "9999-12-31T23:59:59-00:01",
                                       "2000-01-01T00:00:00Zx" };
    double value = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(good); i++) {
        cr_assert(eq(int, pfc_parse_rfc3339(good[i].text, "t", &value, NULL), PFC_OK), "%s",
                  good[i].text);
        cr_assert(epsilon_eq(dbl, value, good[i].unix_s, 1e-6), "%s", good[i].text);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_assert(eq(int, pfc_parse_rfc3339(bad[i], "t", &value, NULL), PFC_EINVAL), "%s", bad[i]);
}

Test(clock, times_are_written_as_they_are_read)
{
    char text[32];
    double back = 0;

    pfc_clock_rfc3339(11017.0 * 86400 - 0.5, text);
    cr_assert(eq(str, text, "2000-02-29T23:59:59.500Z"));
    cr_assert(eq(int, pfc_parse_rfc3339(text, "t", &back, NULL), PFC_OK));
    cr_assert(epsilon_eq(dbl, back, 11017.0 * 86400 - 0.5, 1e-6));
    pfc_clock_rfc3339(0.9996, text);
    cr_assert(eq(str, text, "1970-01-01T00:00:01.000Z"));
    pfc_clock_rfc3339(253402300799.9996, text);
    cr_assert(eq(str, text, "9999-12-31T23:59:59.999Z"));
}

Test(parse, what_was_cut_or_never_was_text_becomes_text)
{
    char text[] = "caf\xc3\xa9 \xc3", wild[] = "\x1b[31m\xff\xe2\x80\xae\xed\xa0\x80\n\t\x7f.";
    pfc_err err = { 0 };

    cr_assert(eq(sz, pfc_utf8_cut("caf\xc3\xa9", 4), 3));
    cr_assert(eq(sz, pfc_utf8_cut("caf\xc3\xa9", 5), 5));
    cr_assert(eq(sz, pfc_utf8_cut("caf\xc3\xa9", 99), 5));
    cr_assert(eq(sz, pfc_utf8_cut("", 0), 0));
    pfc_utf8_mend(text);
    cr_assert(eq(str, text, "caf\xc3\xa9 ?"));
    pfc_utf8_mend(wild);
    cr_assert(eq(str, wild, "?[31m?\xe2\x80\xae???\n\t?."));
    cr_assert(
        eq(int, pfc_err_set_field(&err, PFC_EINVAL, "a\x01", "got %.1s", "\xc3\xa9"), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "got ?"));
    cr_assert(eq(str, err.field, "a?"));
}

Test(parse, text_from_outside_cannot_steer_a_terminal)
{
    static const struct {
        const char *text, *line, *lines;
    } cases[] = {
        { "plain, gr\u00fc\u00df, \u4e2d", "plain, gr\u00fc\u00df, \u4e2d",
          "plain, gr\u00fc\u00df, \u4e2d" },
        { "a\tb\nc\rd", "a b c?d", "a b\nc?d" },
        { "\033[31mx\a\x7f", "?[31mx??", "?[31mx??" },
        { "c1 \xc2\x9b"
          "2J",
          "c1 ?2J", "c1 ?2J" },
        { "bad \xc3( \xff", "bad ?( ?", "bad ?( ?" },
        { "\u202ebidi\u2066\u200f\u2028\ufeff", "?bidi????", "?bidi????" },
        { "joined \u200d stays", "joined \u200d stays", "joined \u200d stays" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *line = pfc_strdup(cases[i].text), *lines = pfc_strdup(cases[i].text);

        pfc_text_plain(line, false);
        pfc_text_plain(lines, true);
        cr_expect(eq(str, line, (char *)cases[i].line));
        cr_expect(eq(str, lines, (char *)cases[i].lines));
        free(line);
        free(lines);
    }
}

Test(parse, the_first_character_that_a_terminal_obeys_is_found)
{
    static const struct {
        const char *text;
        int at; /* -1: none */
    } cases[] = {
        { "gemm/f32 \u00e9\u4e2d\U0001f600", -1 },
        { "", -1 },
        { "a\tb", 1 },
        { "ab\n", 2 },
        { "\x1b[2J", 0 },
        { "a\x7f", 1 },
        { "a\xc2\x9b"
          "2J",
          1 },
        { "a\xc2\x80", 1 },
        { "a\u00a0", -1 },
        { "ab\u202egnp", 2 },
        { "a\u2066", 1 },
        { "a\u200f", 1 },
        { "a\u061c", 1 },
        { "a\ufeff", 1 },
        { "a\u2028", 1 },
        { "a\u2010", -1 },
        { "a\U000e0041", -1 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const char *at = pfc_name_control(cases[i].text);

        cr_expect(eq(int, at ? (int)(at - cases[i].text) : -1, cases[i].at), "%zu", i);
    }
}

Test(parse, ids_and_slugs)
{
    cr_assert(pfc_is_hex_id("abcdef0"));
    cr_assert_not(pfc_is_hex_id("abcdef"));
    cr_assert_not(pfc_is_hex_id("ABCDEF0"));
    cr_assert_not(pfc_is_hex_id(NULL));
    cr_assert(pfc_is_commit_id("0123456789012345678901234567890123456789"));
    cr_assert_not(pfc_is_commit_id("012345678901234567890123456789012345678"));
    cr_assert(pfc_is_slug("tiny-gemm_1.0"));
    cr_assert_not(pfc_is_slug("-x"));
    cr_assert_not(pfc_is_slug("Upper"));
    cr_assert_not(pfc_is_slug("a/b"));
    cr_assert_not(pfc_is_slug(""));
}

/* The boundary cases of RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. */
Test(parse, utf8_is_checked_to_the_letter)
{
    cr_assert(pfc_is_utf8("gr\xc3\xbc\xc3\x9f", 6));
    cr_assert(pfc_is_utf8("\xf4\x8f\xbf\xbf", 4));
    cr_assert(pfc_is_utf8("", 0));
    cr_assert_not(pfc_is_utf8("\xc0\x80", 2));
    cr_assert_not(pfc_is_utf8("\xe0\x80\xaf", 3));
    cr_assert_not(pfc_is_utf8("\xed\xa0\x80", 3));
    cr_assert_not(pfc_is_utf8("\xf4\x90\x80\x80", 4));
    cr_assert_not(pfc_is_utf8("\xc3", 1));
    cr_assert_not(pfc_is_utf8("\xff", 1));
    cr_assert_not(pfc_is_utf8("a\x80", 2));
}

Test(parse, bytes_have_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = { { "0", 0 },
                 { "4096", 4096 },
                 { "2K", 2048 },
                 { "1.5G", (uint64_t)3 << 29 },
                 { "1T", (uint64_t)1 << 40 } };
    static const char *const bad[] = { "", "-1", "G", "4g", "4GB", "1e30", "inf", "5 M", NULL };

    for (size_t i = 0; i < PFC_ARRAY_LEN(good); i++) {
        uint64_t bytes = 7;
        cr_assert(eq(int, pfc_parse_bytes(good[i].text, "t", &bytes, NULL), PFC_OK));
        cr_assert(eq(u64, bytes, good[i].bytes));
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        uint64_t bytes = 7;
        pfc_err err = { 0 };
        cr_assert(eq(int, pfc_parse_bytes(bad[i], "t", &bytes, &err), PFC_EINVAL), "%zu", i);
        cr_assert(ne(ptr, strstr(err.msg, "512M"), NULL));
        cr_assert(eq(u64, bytes, 7));
    }
}

/* ---- addresses ---- */

/* Examples of RFC 6890's tables and of what lies beside them. */
Test(address, what_is_public_and_what_is_this_machine)
{
    static const struct {
        const char *text;
        bool loopback, public;
    } cases[] = {
        { "127.0.0.1", true, false },
        { "127.255.0.9", true, false },
        { "::1", true, false },
        { "::ffff:127.0.0.1", true, false },
        { "10.1.2.3", false, false },
        { "172.16.0.1", false, false },
        { "172.32.0.1", false, true },
        { "192.168.1.1", false, false },
        { "169.254.169.254", false, false },
        { "::ffff:169.254.169.254", false, false },
        { "100.64.0.1", false, false },
        { "0.0.0.0", false, false },
        { "224.0.0.1", false, false },
        { "255.255.255.255", false, false },
        { "8.8.8.8", false, true },
        { "::", false, false },
        { "fe80::1", false, false },
        { "fd00::1", false, false },
        { "ff02::1", false, false },
        { "64:ff9b::a00:1", false, false },
        { "2002:a00:1::", false, false },
        { "2606:4700::1111", false, true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_address address;

        cr_assert(pfc_address_parse(cases[i].text, strlen(cases[i].text), &address));
        cr_assert(eq(int, pfc_address_is_loopback(&address), cases[i].loopback), "%s",
                  cases[i].text);
        cr_assert(eq(int, pfc_address_is_public(&address), cases[i].public), "%s", cases[i].text);
    }
}

Test(address, no_network_is_one_sentence_that_names_the_setting)
{
    static const char *const bad[] = { "10.0.0.0/33", "ten", "10.0.0.0/", "::/129", "10.0.0/8" };
    pfc_nets nets;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        cr_assert(eq(int, pfc_nets_parse(bad[i], "networks", &nets, &err), PFC_EINVAL), "%s",
                  bad[i]);
        cr_assert(strstr(err.msg, "networks: expected") != NULL, "%s", err.msg);
    }
}
