/* Exact limits of what is read from outside: the last value that is taken, the first one refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/config/conf.h"
#include "core/base/config/yaml.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#include "tests/check/check.h"

/* n times `c`, then `end`; caller frees. */
static char *repeated(char c, size_t n, const char *end)
{
    char *text = pfc_calloc(1, n + strlen(end) + 1);

    memset(text, c, n);
    memcpy(text + n, end, strlen(end));
    return text;
}

/* ---- numbers ---- */

Test(limits, whole_numbers_have_both_ends)
{
    static const struct {
        const char *text;
        int64_t min, max;
        pfc_code code;
    } cases[] = {
        { "-3", -3, 4, PFC_OK },
        { "-4", -3, 4, PFC_EINVAL },
        { "4", -3, 4, PFC_OK },
        { "5", -3, 4, PFC_EINVAL },
        { "9223372036854775807", 0, INT64_MAX, PFC_OK },
        { "-9223372036854775808", INT64_MIN, 0, PFC_OK },
        { "-9223372036854775809", INT64_MIN, 0, PFC_EINVAL },
        { "-", -3, 4, PFC_EINVAL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        int64_t value = 77;

        cr_expect(eq(int,
                     pfc_parse_i64(cases[i].text, cases[i].min, cases[i].max, "n", &value, NULL),
                     cases[i].code),
                  "%s", cases[i].text);
        cr_expect(eq(i64, value, cases[i].code ? (int64_t)77 : strtoll(cases[i].text, NULL, 10)));
    }
}

Test(limits, decimals_have_both_ends)
{
    static const struct {
        const char *text;
        pfc_code code;
    } cases[] = { { "-0.5", PFC_OK },        { "2.5", PFC_OK },       { "-0.50001", PFC_EINVAL },
                  { "2.50001", PFC_EINVAL }, { "1e308", PFC_EINVAL }, { "+", PFC_EINVAL },
                  { "1e+", PFC_EINVAL },     { "1.e1", PFC_EINVAL },  { "1x", PFC_EINVAL } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        double value = 77;

        cr_expect(
            eq(int, pfc_parse_double(cases[i].text, -0.5, 2.5, "x", &value, NULL), cases[i].code),
            "%s", cases[i].text);
        cr_expect(eq(dbl, value, cases[i].code ? 77 : strtod(cases[i].text, NULL)));
    }
}

Test(limits, durations_end_at_a_billion_seconds)
{
    static const struct {
        const char *text;
        double seconds; /* below zero: refused */
    } cases[] = { { "0", 0 },        { "1e9", 1e9 },     { "1000000001", -1 },
                  { "1e12ms", 1e9 }, { "1.1e12ms", -1 }, { "11574d", 11574.0 * 86400 },
                  { "11575d", -1 },  { "0.5s", 0.5 },    { "5S", -1 },
                  { "5ss", -1 },     { "5min", -1 },     { "+5s", 5 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        double seconds = -1;

        (void)!pfc_parse_duration_s(cases[i].text, "t", &seconds, NULL);
        cr_expect(epsilon_eq(dbl, seconds, cases[i].seconds, 1e-6), "%s", cases[i].text);
    }
}

Test(limits, bytes_end_below_two_to_the_62)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 7: refused */
    } cases[] = { { "4194303T", ((uint64_t)1 << 62) - ((uint64_t)1 << 40) },
                  { "4194304T", 7 },
                  { "4611686018427387904", 7 },
                  { "3M", 3u << 20 },
                  { "5G", (uint64_t)5 << 30 },
                  { "1P", 7 },
                  { "1B", 7 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        uint64_t bytes = 7;

        (void)!pfc_parse_bytes(cases[i].text, "t", &bytes, NULL);
        cr_expect(eq(u64, bytes, cases[i].bytes), "%s", cases[i].text);
    }
}

/* ---- times ---- */

Test(limits, every_field_of_a_time_has_its_range)
{
    static const char *const good[] = {
        "2000-01-31T00:00:00Z",      "2001-04-30T23:59:59Z",      "2004-02-29T00:00:00Z",
        "2016-12-31T23:59:60Z",      "2000-12-01t00:00:00z",      "2000-12-01 00:00:00Z",
        "2000-12-01T00:00:00+23:59", "2000-12-01T00:00:00-23:59", "1970-01-01T00:00:00-00:01",
    };
    static const char *const bad[] = {
        "2000-00-10T00:00:00Z",      "2000-01-00T00:00:00Z",      "2000-01-32T00:00:00Z",
        "2001-04-31T00:00:00Z",      "2001-06-31T00:00:00Z",      "2001-09-31T00:00:00Z",
        "2001-11-31T00:00:00Z",      "2100-02-29T00:00:00Z",      "2000-01-01T00:60:00Z",
        "2000-01-01T00:00:61Z",      "2000-12-01T00:00:00+24:00", "2000-12-01T00:00:00+00:60",
        "2000-12-01T00:00:00 00:00", "2000-12-01X00:00:00Z",      "2000-12-01T00:00:00+0000",
        "200-12-01T00:00:00Z",       "2000-12-01T00:00:00.5",     "2000-12-01T00:00Z",
    };
    double value = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(good); i++)
        cr_expect(eq(int, pfc_parse_rfc3339(good[i], "t", &value, NULL), PFC_OK), "%s", good[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_expect(eq(int, pfc_parse_rfc3339(bad[i], "t", &value, NULL), PFC_EINVAL), "%s", bad[i]);
}

/* 2000-02-29 is day 11016 after 1970-01-01; offsets are subtracted. */
Test(limits, offsets_and_fractions_count_exactly)
{
    static const struct {
        const char *text;
        double unix_s;
    } cases[] = { { "2000-02-29T00:00:00.125Z", 11016.0 * 86400 + 0.125 },
                  { "2000-02-29T01:30:00+01:30", 11016.0 * 86400 },
                  { "2000-02-28T22:15:00-01:45", 11016.0 * 86400 },
                  { "2000-02-29T01:02:03Z", 11016.0 * 86400 + 3723 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        double value = 0;

        cr_expect(eq(int, pfc_parse_rfc3339(cases[i].text, "t", &value, NULL), PFC_OK));
        cr_expect(epsilon_eq(dbl, value, cases[i].unix_s, 1e-6), "%s", cases[i].text);
    }
}

Test(limits, milliseconds_are_rounded_to_the_nearest)
{
    static const struct {
        double unix_s;
        const char *text;
    } cases[] = { { 0, "1970-01-01T00:00:00.000Z" },      { 0.0004, "1970-01-01T00:00:00.000Z" },
                  { 0.0006, "1970-01-01T00:00:00.001Z" }, { 1.9994, "1970-01-01T00:00:01.999Z" },
                  { 1.9996, "1970-01-01T00:00:02.000Z" }, { -0.25, "1969-12-31T23:59:59.750Z" },
                  { -1, "1969-12-31T23:59:59.000Z" },     { 3723, "1970-01-01T01:02:03.000Z" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char text[32];

        pfc_clock_rfc3339(cases[i].unix_s, text);
        cr_expect(eq(str, text, (char *)cases[i].text));
    }
}

/* ---- names and text ---- */

Test(limits, names_have_lengths)
{
    static const struct {
        size_t len;
        bool hex, commit, sha, slug;
    } cases[] = {
        { 0, false, false, false, false }, { 1, false, false, false, true },
        { 6, false, false, false, true },  { 7, true, false, false, true },
        { 39, true, false, false, true },  { 40, true, true, true, true },
        { 41, true, false, false, true },  { 63, true, false, false, true },
        { 64, true, true, false, false },  { 65, false, false, false, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *text = repeated('a', cases[i].len, "");

        cr_expect(eq(int, pfc_is_hex_id(text), cases[i].hex), "%zu", cases[i].len);
        cr_expect(eq(int, pfc_is_commit_id(text), cases[i].commit), "%zu", cases[i].len);
        cr_expect(eq(int, pfc_is_sha(text), cases[i].sha), "%zu", cases[i].len);
        cr_expect(eq(int, pfc_is_slug(text), cases[i].slug), "%zu", cases[i].len);
        free(text);
    }
    cr_expect(pfc_is_slug("0a"));
    cr_expect(pfc_is_slug("z9._-"));
    cr_expect_not(pfc_is_slug(".a"));
    cr_expect_not(pfc_is_slug("_a"));
    cr_expect_not(pfc_is_slug("a b"));
    cr_expect_not(pfc_is_slug(NULL));
    cr_expect_not(pfc_is_hex_id("abcdefg"));
}

/* First and last character of each length (RFC 3629), alone and around the eight bytes that are
 * read at once. */
Test(limits, utf8_ends_of_each_length)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        { "\x7f", true },
        { "\x80", false },
        { "\xc1\xbf", false },
        { "\xc2\x80", true },
        { "\xdf\xbf", true },
        { "\xdf\x7f", false },
        { "\xdf\xc0", false },
        { "\xe0\x9f\xbf", false },
        { "\xe0\xa0\x80", true },
        { "\xed\x9f\xbf", true },
        { "\xed\xbf\xbf", false },
        { "\xee\x80\x80", true },
        { "\xef\xbf\xbf", true },
        { "\xe1\x80", false },
        { "\xf0\x8f\xbf\xbf", false },
        { "\xf0\x90\x80\x80", true },
        { "\xf4\x8f\xbf\xbf", true },
        { "\xf4\x90\x80\x80", false },
        { "\xf5\x80\x80\x80", false },
        { "\xf1\x80\x80", false },
        { "\xf8\x88\x80\x80", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++)
        for (size_t before = 0; before <= 17; before++)
            for (size_t after = 0; after <= 9; after += 3) {
                char *text = pfc_format("%.*s%s%.*s", (int)before, "aaaaaaaaaaaaaaaaa",
                                        cases[i].text, (int)after, "aaaaaaaaa");

                cr_expect(eq(int, pfc_is_utf8(text, strlen(text)), cases[i].good), "%zu %zu %zu", i,
                          before, after);
                free(text);
            }
    /* Nothing behind the length is looked at. */
    cr_expect(pfc_is_utf8("aaaaaaaa\xff", 8));
    cr_expect(pfc_is_utf8("aaaaaaa\xff", 7));
    cr_expect_not(pfc_is_utf8("aaaaaaa\xc2\x80", 8));
}

Test(limits, ranges_of_characters_that_steer_a_terminal)
{
    static const struct {
        const char *text;
        bool steers;
    } cases[] = {
        { "\x01", true },
        { "\x1f", true },
        { " ", false },
        { "~", false },
        { "\x7f", true },
        { "\xc2\x80", true },
        { "\xc2\x9f", true },
        { "\xc2\xa0", false },
        { "\xd8\x9b", false },
        { "\xd8\x9c", true },
        { "\xd8\x9d", false },
        { "\xe2\x80\x8d", false },
        { "\xe2\x80\x8e", true },
        { "\xe2\x80\x8f", true },
        { "\xe2\x80\x90", false },
        { "\xe2\x80\xa7", false },
        { "\xe2\x80\xa8", true },
        { "\xe2\x80\xae", true },
        { "\xe2\x80\xaf", false },
        { "\xe2\x81\xa5", false },
        { "\xe2\x81\xa6", true },
        { "\xe2\x81\xaf", true },
        { "\xe2\x81\xb0", false },
        { "\xef\xbb\xbe", false },
        { "\xef\xbb\xbf", true },
        { "\xef\xbc\x80", false },
        { "\xf3\xa0\x80\x80", true },
        { "\xf3\xa0\x81\xbf", true },
        { "\xf3\xa0\x82\x80", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *text = pfc_strdup(cases[i].text);

        pfc_text_plain(text, true);
        cr_expect(eq(str, text, cases[i].steers ? "?" : (char *)cases[i].text), "%zu", i);
        free(text);
    }
}

/* Text up to the last byte of a page, behind which no byte can be read. */
Test(limits, nothing_behind_a_text_is_read)
{
    static const char tail[] =
        "a: [b]\n- - c: \xc3\xbc\n# \xe2\x82\xac d\xf0\x90\x80\x80 e\r\nf? -\t\x80";
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    cr_assert(ne(ptr, pages, MAP_FAILED));
    cr_assert(eq(int, mprotect(pages + page, page, PROT_NONE), 0));
    memset(pages, 'a', page);
    for (size_t len = 0; len <= 40; len++)
        cr_expect(pfc_is_utf8(pages + page - len, len));
    for (size_t len = 1; len < sizeof(tail); len++) {
        char *at = pages + page - len;
        pfc_conf conf = { 0 };
        int line = 0;

        memcpy(at, tail, len);
        (void)pfc_is_utf8(at, len);
        (void)pfc_yaml_depth(at, len, 4, &line);
        (void)!pfc_conf_parse(at, len, "f", &conf, NULL);
        pfc_conf_clear(&conf);
    }
    munmap(pages, 2 * page);
}

/* ---- errors and buffers ---- */

Test(limits, every_code_has_an_exit_status_and_a_name)
{
    static const struct {
        pfc_code code;
        int status;
        const char *name;
    } cases[] = {
        { PFC_OK, 0, "OK" },
        { PFC_EINVAL, 2, "EINVAL" },
        { PFC_ENOTFOUND, 2, "ENOTFOUND" },
        { PFC_ECONFLICT, 2, "ECONFLICT" },
        { PFC_EDENIED, 2, "EDENIED" },
        { PFC_ETOOBIG, 2, "ETOOBIG" },
        { PFC_EBROKEN, 4, "EBROKEN" },
        { PFC_EUNAVAIL, 5, "EUNAVAIL" },
        { PFC_ETIMEOUT, 5, "ETIMEOUT" },
        { PFC_EIO, 5, "EIO" },
        { PFC_EBUG, 5, "EBUG" },
        { (pfc_code)-77, 5, "UNKNOWN" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        cr_expect(eq(int, pfc_code_exit(cases[i].code), cases[i].status), "%s", cases[i].name);
        cr_expect(eq(str, (char *)pfc_code_name(cases[i].code), (char *)cases[i].name));
    }
}

Test(limits, a_buffer_takes_its_limit_to_the_byte_by_every_way)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 4);
    pfc_buf_printf(&buf, "%s", "1234");
    cr_expect(not(buf.overflow));
    cr_expect(eq(str, (char *)pfc_buf_text(&buf), "1234"));
    pfc_buf_putc(&buf, '5');
    cr_expect(buf.overflow);
    pfc_buf_reset(&buf);
    cr_expect(not(buf.overflow));
    cr_expect(eq(str, (char *)pfc_buf_text(&buf), ""));
    pfc_buf_printf(&buf, "%s", "12345");
    cr_expect(buf.overflow);
    cr_expect(eq(sz, buf.len, 0));
    pfc_buf_clear(&buf);
    pfc_buf_append(&buf, "1234", 4);
    cr_expect(eq(sz, buf.len, 4), "the limit outlives clear");
    pfc_buf_append(&buf, "5", 1);
    cr_expect(buf.overflow);
    pfc_buf_clear(&buf);
}

/* ---- perfci.yaml ---- */

static pfc_code parse(const char *text, pfc_err *err)
{
    pfc_conf conf = { 0 };
    pfc_code code = pfc_conf_parse(text, strlen(text), "perfci.yaml", &conf, err);

    pfc_conf_clear(&conf);
    return code;
}

/* Takes `text`, caller's no more. */
static pfc_code parse_taken(char *text)
{
    pfc_code code = parse(text, NULL);

    free(text);
    return code;
}

/* behind NULL: items without a number. */
static char *list(const char *head, const char *item, const char *behind, int n, const char *end)
{
    pfc_buf buf;

    pfc_buf_init(&buf, PFC_CONF_MAX_BYTES);
    pfc_buf_puts(&buf, head);
    for (int i = 0; i < n; i++)
        if (behind)
            pfc_buf_printf(&buf, "%s%d%s", item, i, behind);
        else
            pfc_buf_puts(&buf, item);
    pfc_buf_puts(&buf, end);
    return pfc_buf_take(&buf);
}

#define LISTED(head, item, behind, n, end) parse_taken(list(head, item, behind, n, end))

Test(limits, perfci_yaml_has_sizes)
{
    cr_expect(eq(int, LISTED("paths: [", "p", ", ", 256, "]\n"), PFC_OK));
    cr_expect(eq(int, LISTED("paths: [", "p", ", ", 257, "]\n"), PFC_EINVAL));
    cr_expect(eq(int, LISTED("runtime_files: [", "p", ", ", 256, "]\n"), PFC_OK));
    cr_expect(eq(int, LISTED("runtime_files: [", "p", ", ", 257, "]\n"), PFC_EINVAL));
    cr_expect(eq(int, LISTED("directions: {", "m", ": lower, ", 256, "}\n"), PFC_OK));
    cr_expect(eq(int, LISTED("directions: {", "m", ": lower, ", 257, "}\n"), PFC_EINVAL));
    cr_expect(eq(int, LISTED("build: ", "x", NULL, 4096, "\n"), PFC_OK));
    cr_expect(eq(int, LISTED("build: ", "x", NULL, 4097, "\n"), PFC_EINVAL));
    cr_expect(eq(int, LISTED("project: ", "x", NULL, 63, "\n"), PFC_OK));
    cr_expect(eq(int, LISTED("project: ", "x", NULL, 64, "\n"), PFC_EINVAL));
    cr_expect(eq(int, LISTED("project: a\n#", "x", NULL, PFC_CONF_MAX_BYTES - 13, "\n"), PFC_OK));
}

Test(limits, numbers_of_perfci_yaml_have_both_ends)
{
    static const struct {
        const char *text;
        pfc_code code;
    } cases[] = { { "margin: 1e-9\n", PFC_OK },  { "margin: 0.9e-9\n", PFC_EINVAL },
                  { "margin: 10\n", PFC_OK },    { "margin: 10.01\n", PFC_EINVAL },
                  { "margin: 0\n", PFC_EINVAL }, { "budget: 1ms\n", PFC_OK },
                  { "timeout: 1e9\n", PFC_OK },  { "timeout: 1.1e9\n", PFC_EINVAL },
                  { "budget: 0\n", PFC_EINVAL }, { "timeout: -1\n", PFC_EINVAL },
                  { "better: lower\n", PFC_OK }, { "better: Higher\n", PFC_EINVAL },
                  { "time: false\n", PFC_OK },   { "time: yes\n", PFC_EINVAL } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++)
        cr_expect(eq(int, parse(cases[i].text, NULL), cases[i].code), "%s", cases[i].text);
}

Test(limits, both_directions_and_answers_of_perfci_yaml_are_distinguished)
{
    static const struct {
        const char *text;
        bool has, higher, time;
    } cases[] = { { "project: a\n", false, false, false },
                  { "better: lower\ntime: false\n", true, false, false },
                  { "better: higher\ntime: true\n", true, true, true } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_conf conf = { 0 };

        cr_assert(eq(int, pfc_conf_parse(cases[i].text, strlen(cases[i].text), "f", &conf, NULL),
                     PFC_OK));
        cr_expect(eq(int, conf.has_better, cases[i].has), "%s", cases[i].text);
        cr_expect(eq(int, conf.higher_is_better, cases[i].higher), "%s", cases[i].text);
        cr_expect(eq(int, conf.time, cases[i].time), "%s", cases[i].text);
        cr_expect(eq(dbl, conf.timeout_s, 600));
        pfc_conf_clear(&conf);
    }
}

/* ---- guarded YAML ---- */

static pfc_code yaml_depth_of(const char *text, size_t most, pfc_err *err)
{
    pfc_yaml yaml;
    pfc_code code = pfc_yaml_load(text, strlen(text), most, "f", &yaml, err);

    pfc_yaml_clear(&yaml);
    return code;
}

Test(limits, yaml_is_as_deep_as_it_may_be_and_no_deeper)
{
    static const struct {
        const char *text;
        size_t depth;
        int line; /* where it first passes depth - 1 */
    } cases[] = { { "a: 1\n", 1, 1 },
                  { "a:\n  b: 1\n  c: 2\nd:\n  e: 3\n", 2, 2 },
                  { "- 1\n- 2\n- 3\n", 2, 1 },
                  { "a:\n  b: 1\n", 2, 2 },
                  { "a: [1]\n", 2, 1 },
                  { "a: {b: [1]}\n", 3, 1 },
                  { "- - - 1\n", 4, 1 },
                  { "a:\n  b:\n    c: 1\nd: 1\n", 3, 3 },
                  { "a: 1\nb: [[1]]\nc: 1\n", 3, 2 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char where[16];
        pfc_err err = { 0 };

        cr_expect(eq(int, yaml_depth_of(cases[i].text, cases[i].depth, &err), PFC_OK), "%s %s",
                  cases[i].text, err.msg);
        cr_expect(eq(int, yaml_depth_of(cases[i].text, cases[i].depth - 1, &err), PFC_EINVAL), "%s",
                  cases[i].text);
        (void)snprintf(where, sizeof(where), "f:%d: ", cases[i].line);
        cr_expect(eq(int, strncmp(err.msg, where, strlen(where)), 0), "%s", err.msg);
    }
}

Test(limits, the_line_that_passes_the_depth_is_named_however_deep_it_goes_on)
{
    static const char text[] = "a:\n  b:\n    c:\n      d: 1\n";
    int line = 0;

    for (size_t limit = 1; limit < 4; limit++) {
        cr_expect(eq(sz, pfc_yaml_depth(text, strlen(text), limit, &line), 4));
        cr_expect(eq(int, line, (int)limit + 1));
    }
}

Test(limits, values_of_yaml_have_both_ends)
{
    static const char text[] = "a: 12345\nb: 1.5\nc: true\nd: false\ne: \"\"\n";
    pfc_yaml yaml;
    char *word = NULL;
    int64_t n = 0;
    double x = 0;
    bool yes = false;

    cr_assert(eq(int, pfc_yaml_load(text, strlen(text), 8, "f", &yaml, NULL), PFC_OK));
    struct fy_node *root = fy_document_root(yaml.doc);
    struct fy_node *a = pfc_yaml_get(root, "a"), *b = pfc_yaml_get(root, "b");

    cr_expect(eq(int, pfc_yaml_text(&yaml, a, "a", 5, &word, NULL), PFC_OK));
    free(word);
    cr_expect(eq(int, pfc_yaml_text(&yaml, a, "a", 4, &word, NULL), PFC_EINVAL));
    cr_expect(
        eq(int, pfc_yaml_text(&yaml, pfc_yaml_get(root, "e"), "e", 4, &word, NULL), PFC_EINVAL));
    cr_expect(eq(int, pfc_yaml_i64(&yaml, a, "a", 12345, 12345, &n, NULL), PFC_OK));
    cr_expect(eq(i64, n, 12345));
    cr_expect(eq(int, pfc_yaml_i64(&yaml, a, "a", 12346, 20000, &n, NULL), PFC_EINVAL));
    cr_expect(eq(int, pfc_yaml_i64(&yaml, a, "a", 0, 12344, &n, NULL), PFC_EINVAL));
    cr_expect(eq(int, pfc_yaml_double(&yaml, b, "b", 1.5, 1.5, &x, NULL), PFC_OK));
    cr_expect(eq(dbl, x, 1.5));
    cr_expect(eq(int, pfc_yaml_double(&yaml, b, "b", 1.51, 2, &x, NULL), PFC_EINVAL));
    cr_expect(eq(int, pfc_yaml_double(&yaml, b, "b", 0, 1.49, &x, NULL), PFC_EINVAL));
    cr_expect(eq(int, pfc_yaml_bool(&yaml, pfc_yaml_get(root, "c"), "c", &yes, NULL), PFC_OK));
    cr_expect(yes);
    cr_expect(eq(int, pfc_yaml_bool(&yaml, pfc_yaml_get(root, "d"), "d", &yes, NULL), PFC_OK));
    cr_expect(not(yes));
    cr_expect(eq(int, pfc_yaml_bool(&yaml, a, "a", &yes, NULL), PFC_EINVAL));
    cr_expect(eq(int, pfc_yaml_line(b), 2));
    cr_expect(pfc_yaml_get(root, "f") == NULL);
    pfc_yaml_clear(&yaml);
}

/* ---- files ---- */

Test(limits, only_what_everybody_may_read_is_not_private)
{
    char *dir = NULL, *path;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("limits", &dir, &err), PFC_OK), "%s", err.msg);
    path = pfc_fs_join(dir, "a");
    cr_assert(eq(int, pfc_fs_write_atomic(path, "x", 1, 0600, &err), PFC_OK));
    for (unsigned mode = 0; mode < 01000; mode++) {
        cr_assert(eq(int, chmod(path, mode), 0));
        cr_expect(eq(int, pfc_fs_private(path, &err), mode & 4 ? PFC_EDENIED : PFC_OK), "%03o",
                  mode);
    }
    cr_expect(eq(int, pfc_fs_private(dir, &err), PFC_OK));
    cr_expect(eq(int, pfc_fs_private("-", &err), PFC_OK));
    cr_expect(pfc_fs_exists(path) && !pfc_fs_is_dir(path) && pfc_fs_is_dir(dir));
    cr_expect(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(path);
    free(dir);
}

Test(limits, paths_are_joined_by_one_slash)
{
    static const char *const cases[][3] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" }, { "", "b", "/b" }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *path = pfc_fs_join(cases[i][0], cases[i][1]);

        cr_expect(eq(str, path, (char *)cases[i][2]));
        free(path);
    }
}
