/* Lines, words, numbers, dates and rows, on texts that end where unreadable memory begins. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/csv/csv_plan.h"
#include "core/import/reader/reader.h"

#include "tests/check/check.h"
#include "tests/support/guarded_text.h"

static guard page;

static void open_page(void)
{
    page = guard_open(4096);
}

static void close_page(void)
{
    guard_close(&page);
}

static pfc_span span(const char *text)
{
    return (pfc_span){ guard_end(&page, text, strlen(text)), strlen(text) };
}

TestSuite(text, .init = open_page, .fini = close_page);
TestSuite(csv, .init = open_page, .fini = close_page);

/* ---- numbers ---- */

Test(text, a_number_is_read_with_the_separators_of_every_country)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = { { "0", 0 },
                 { "-0.5", -0.5 },
                 { "+7", 7 },
                 { "007", 7 },
                 { ".5", 0.5 },
                 { "5.", 5 },
                 { " 5\t", 5 },
                 { "50%", 50 },
                 { "50 %", 50 },
                 { "1e3", 1000 },
                 { "1E-3", 0.001 },
                 { "1.5e+2", 150 },
                 { "1,234", 1234 },
                 { "12,345.5", 12345.5 },
                 { "123,456,789", 123456789 },
                 { "-1,234.5", -1234.5 },
                 { "1.234,5", 1234.5 },
                 { "1.234.567", 1234567 },
                 { "1.234.567,25", 1234567.25 },
                 { "1'234.5", 1234.5 },
                 { "1\xe2\x80\x99"
                   "234",
                   1234 },
                 { "1\xc2\xa0"
                   "234",
                   1234 },
                 { "1\xe2\x80\x89"
                   "234",
                   1234 },
                 { "1\xe2\x80\xaf"
                   "234",
                   1234 },
                 { "1,234e2", 123400 },
                 { "9007199254740992", 0x1p53 },
                 { "9007199254740993", 0x1p53 }, /* rounded to even */
                 { "9007199254740994", 0x1p53 + 2 },
                 { "900719925474099.25", 900719925474099.25 },
                 { "90071992547409.9325", 90071992547409.9325 },
                 { "44667375401.9253276", 44667375401.9253276 }, /* two roundings would miss it */
                 { "74952218996405.3685", 74952218996405.3685 }, /* two roundings would miss it */
                 { "8.40822083482316245", 8.40822083482316245 }, /* two roundings would miss it */
                 { "123456789012345678", 123456789012345678.0 },
                 { "1234567890123456789", 1234567890123456789.0 },
                 { "18446744073709551617", 18446744073709551617.0 },
                 { "0.00000000000000001", 1e-17 },
                 { "0.0000000000000000000001", 1e-22 },
                 { "1e300", 1e300 },
                 { "-1e300", -1e300 },
                 { "1.00000000000000000000000000000000000000000000000000000000000000", 1 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        double value = -99.0;

        cr_expect(eq(int, pfc_span_number(span(rows[i].text), &value), PFC_NUMBER), "%s",
                  rows[i].text);
        cr_expect(eq(dbl, value, rows[i].value), "%s", rows[i].text);
    }
}

Test(text, words_for_a_missing_value_are_distinguished_from_other_text)
{
    static const char *const none[] = { "",      "  ",     "nan",  "NaN",         "-nan",
                                        "inf",   "+inf",   "-inf", "Infinity",    "-Infinity",
                                        "-",     "n/a",    "N/A",  "na",          "null",
                                        "none",  "None",   "--",   "(!)",         "nil",
                                        "n/a %", "(null)", "nan%", "not measured" };
    static const char *const other[] = {
        "x",        "5x",     "1 2",
        "1,23",     "1,2345", "1234,567",
        ",123",     "1,,234", "0x10",
        "1e",       "e3",     "1.2.3",
        "1,23,456", "%",      "+-5",
        "++5",      "--5",    "1e301",
        "-1e301",   "nanx",   "5nan",
        "1,234,5",  "1'23",   "1.2e3.4",
        "12 ms",    "1,234,", "1.000000000000000000000000000000000000000000000000000000000000000"
    };
    double value = 0.0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(none); i++)
        cr_expect(eq(int, pfc_span_number(span(none[i]), &value), PFC_NUMBER_NONE), "'%s'",
                  none[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(other); i++)
        cr_expect(eq(int, pfc_span_number(span(other[i]), &value), PFC_NUMBER_NO_NUMBER), "'%s'",
                  other[i]);
    cr_expect(eq(int, pfc_span_number((pfc_span){ guard_end(&page, "1\0002", 3), 3 }, &value),
                 PFC_NUMBER_NO_NUMBER));
}

Test(text, a_quantity_is_a_number_and_its_unit)
{
    static const struct {
        const char *text, *unit;
        double value;
    } rows[] = { { "41.5 us", "us", 41.5 },
                 { "1.5GiB/s", "GiB/s", 1.5 },
                 { "-3ns", "ns", -3 },
                 { "+3 ns", "ns", 3 },
                 { "1e3 ns", "ns", 1000 },
                 { "1e-3s", "s", 0.001 },
                 { "1E+3", "", 1000 },
                 { "12 events", "events", 12 },
                 { "12events", "events", 12 },
                 { "12e", "e", 12 },
                 { "12e+", "e+", 12 },
                 { "1,234.5 ms ", "ms", 1234.5 },
                 { " 7 ", "", 7 },
                 { "8%", "%", 8 } };
    static const char *const others[] = { "", "ms", "e3", "x5", "-", ".", "1.2.3 ms" };
    double value = 0.0;
    pfc_span unit = { "", 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_expect(pfc_span_quantity(span(rows[i].text), &value, &unit), "%s", rows[i].text);
        cr_expect(eq(dbl, value, rows[i].value), "%s", rows[i].text);
        cr_expect(pfc_span_is(unit, rows[i].unit), "%s", rows[i].text);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(others); i++)
        cr_expect(not(pfc_span_quantity(span(others[i]), &value, &unit)), "%s", others[i]);
}

/* ---- spans, lines, words ---- */

Test(text, parts_of_a_span_are_compared_within_it)
{
    const pfc_span s = span("GB/sec");

    cr_expect(pfc_span_is(s, "GB/sec"));
    cr_expect(not(pfc_span_is(s, "GB/secs")));
    cr_expect(not(pfc_span_is(s, "GB/se")));
    cr_expect(pfc_span_is_nocase(s, "gb/SEC"));
    cr_expect(not(pfc_span_is_nocase(s, "gb/SECS")));
    cr_expect(not(pfc_span_is_nocase(s, "gb/SE")));
    cr_expect(pfc_span_starts(s, "GB/sec"));
    cr_expect(not(pfc_span_starts(s, "GB/secs")));
    cr_expect(not(pfc_span_starts(s, "B/")));
    cr_expect(pfc_span_ends(s, "/sec"));
    cr_expect(pfc_span_ends(s, "GB/sec"));
    cr_expect(not(pfc_span_ends(s, "xGB/sec")));
    cr_expect(not(pfc_span_ends(s, "/se")));
    cr_expect(eq(sz, pfc_span_find(s, "/"), 2));
    cr_expect(eq(sz, pfc_span_find(s, "c"), 5));
    cr_expect(eq(sz, pfc_span_find(s, "x"), 6));
    cr_expect(eq(sz, pfc_span_find(span(""), "x"), 0));
    cr_expect(pfc_span_is(pfc_span_trim(span(" \t\r\nx y\n\r\t ")), "x y"));
    cr_expect(pfc_span_is(pfc_span_trim(span(" \t")), ""));
}

Test(text, lines_end_at_either_end_of_line_and_are_counted)
{
    static const char *const want[] = { "a", "", "b\rc", "d\r", "", "e" };
    const pfc_span s = span("a\r\n\nb\rc\nd\r\r\n\r\ne");
    pfc_lines lines;
    pfc_span line;

    pfc_lines_init(&lines, s.text, s.len);
    for (size_t i = 0; i < PFC_ARRAY_LEN(want); i++) {
        cr_assert(pfc_lines_next(&lines, &line));
        cr_expect(pfc_span_is(line, want[i]), "line %zu", i + 1);
        cr_expect(eq(sz, lines.number, i + 1));
    }
    cr_expect(not(pfc_lines_next(&lines, &line)));
    cr_expect(eq(sz, lines.number, 6));
}

static bool is_x(pfc_span line)
{
    return pfc_span_is(line, "x");
}

Test(text, only_the_first_lines_are_looked_at)
{
    const pfc_span s = span("a\nb\nx");

    cr_expect(pfc_lines_any(s.text, s.len, 3, is_x));
    cr_expect(not(pfc_lines_any(s.text, s.len, 2, is_x)));
    cr_expect(not(pfc_lines_any(s.text, s.len - 1, 3, is_x)));
}

Test(text, words_are_counted_beyond_the_room_for_them)
{
    pfc_span words[2] = { { "", 0 }, { "", 0 } };

    cr_expect(eq(sz, pfc_span_words(span(" a\tbc \r\n d "), words, 2), 3));
    cr_expect(pfc_span_is(words[0], "a"));
    cr_expect(pfc_span_is(words[1], "bc"));
    cr_expect(eq(sz, pfc_span_words(span("  "), words, 2), 0));
}

/* ---- JSON's end ---- */

Test(text, a_document_ends_at_its_last_bracket)
{
    static const struct {
        const char *text;
        size_t end;
    } rows[] = { { "{}", 2 },
                 { "{} x", 2 },
                 { "[{}]]", 4 },
                 { "{\"}\":1}", 7 },
                 { "{\"\\\"}\":1}", 9 },
                 { "{\"\\\\\"}", 6 },
                 { "[[]", 0 },
                 { "{", 0 },
                 { "", 0 },
                 { "x{}", 0 },
                 { "{\"", 0 },
                 { "{\"\\", 0 },
                 { "{\"a\":\"b\"}", 9 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_span s = span(rows[i].text);
        cr_expect(eq(sz, pfc_import_json_end(s.text, s.len), rows[i].end), "%s", rows[i].text);
    }
}

Test(text, words_that_json_lacks_may_end_the_text)
{
    static const char *const words[] = { "NaN",      "nan",       "-nan", "-NaN", "NAN",
                                         "Infinity", "-Infinity", "inf",  "-inf", "None" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        const pfc_span s = span(words[i]);
        json_t *doc = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_import_json(s.text, s.len, &doc, &err), PFC_OK), "%s", words[i]);
        cr_expect(eq(int, json_typeof(doc), JSON_NULL), "%s", words[i]);
        json_decref(doc);
        cr_expect(eq(int, pfc_import_json_with_nan(s.text, s.len, &doc, &err), PFC_OK), "%s",
                  words[i]);
        cr_expect(eq(str, (char *)json_string_value(doc), "NaN"), "%s", words[i]);
        json_decref(doc);
    }
}

/* ---- dates: `date -u -d "2024-01-31 10:20:30" +%s` ---- */

Test(text, times_of_histories_are_read_in_every_form)
{
    static const double whole = 1706696430, day = 1706659200;
    const struct {
        const char *text;
        double unix_s;
    } rows[] = { { "2024-01-31T10:20:30Z", whole },
                 { "2024-01-31T10:20:30+02:00", whole - 7200 },
                 { "2024-01-31 10:20:30", whole },
                 { "2024.01.31 10:20:30", whole },
                 { "2024/01/31 10:20:30", whole },
                 { "2024.01.31 10:20:30.75", whole },
                 { "2024.01.31 10:20:30 +0100", whole - 3600 },
                 { "2024.01.31 10:20:30 -0130", whole + 5400 },
                 { "2024.01.31 10:20:30 +01:30", whole - 5400 },
                 { "2024.01.31 10:20:30 -01:30", whole + 5400 },
                 { "2024.01.31 10:20", whole - 30 },
                 { "2024.01.31T10:20", whole - 30 },
                 { "2024.01.31", day },
                 { " 2024-01-31 ", day },
                 { "1970-01-01", 0 },
                 { "1706696430", whole },
                 { "1706696430.5", whole + 0.5 },
                 { "1706696430500", whole + 0.5 },
                 { "100000000", 1e8 },
                 { "100000000000", 1e11 },
                 { "100000000001", 100000000.001 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        double unix_s = -1.0;

        cr_expect(pfc_plan_time(span(rows[i].text), &unix_s), "%s", rows[i].text);
        cr_expect(epsilon_eq(dbl, unix_s, rows[i].unix_s, 1e-6), "%s: %.3f", rows[i].text, unix_s);
    }
}

Test(text, what_is_no_time_is_none)
{
    static const char *const rows[] = { "",
                                        "soon",
                                        "2024",
                                        "99999999",
                                        "-1706696430",
                                        "1969-12-31",
                                        "2024-00-31",
                                        "2024-13-31",
                                        "2024-01-00",
                                        "2024-01-32",
                                        "2024-01-31 noon",
                                        "2024-01-31 10",
                                        "2024-01-31x10:20",
                                        "2024 01 31",
                                        "2024-01-31 10:20:30                                     "
                                        "      +0100" };
    double unix_s = 0.0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(not(pfc_plan_time(span(rows[i]), &unix_s)), "%s", rows[i]);
}

/* ---- columns ---- */

Test(csv, a_columns_name_is_distinguished_from_its_unit)
{
    static const struct {
        const char *column, *name, *unit;
    } rows[] = { { "Time (ms)", "Time", "ms" },
                 { "Time [ms]", "Time", "ms" },
                 { "Time( ms )", "Time", "ms" },
                 { "a (b) (s)", "a (b)", "s" },
                 { "triton (execution time (ms))", "triton", "ms" },
                 { "GB/s", "GB/s", "GB/s" },
                 { "GFLOPs", "GFLOPs", "GFLOPs" },
                 { "ms", "ms", "ms" },
                 { "ns", "ns", "" },
                 { "us", "us", "us" },
                 { "s", "s", "" },
                 { "(ms)", "(ms)", "" },
                 { "time", "time", "" },
                 { "time ()", "time", "" },
                 { "time)", "time)", "" },
                 { "time ms)", "time ms)", "" },
                 { "time (ms]", "time (ms]", "" },
                 { "time (mean)", "time (mean)", "" },
                 { "time (AVG)", "time (AVG)", "" },
                 { "time (average)", "time (average)", "" },
                 { "time (median)", "time (median)", "" },
                 { "time (min)", "time (min)", "" },
                 { "time (max)", "time (max)", "" },
                 { "time (stddev)", "time (stddev)", "" },
                 { "time (std)", "time (std)", "" },
                 { "time (total)", "time (total)", "" },
                 { "time (sum)", "time (sum)", "" },
                 { "time (p99)", "time (p99)", "" },
                 { "time (P50)", "time (P50)", "" },
                 { "time (ps)", "time", "ps" },
                 { "time (p)", "time", "p" },
                 { "", "", "" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_span name, unit;

        pfc_plan_unit(span(rows[i].column), &name, &unit);
        cr_expect(pfc_span_is(name, rows[i].name), "%s: '%.*s'", rows[i].column, (int)name.len,
                  name.text);
        cr_expect(pfc_span_is(unit, rows[i].unit), "%s: '%.*s'", rows[i].column, (int)unit.len,
                  unit.text);
    }
}

Test(csv, the_delimiter_is_what_the_line_has_most_of)
{
    static const struct {
        const char *line;
        char delimiter;
    } rows[] = { { "a,b", ',' },     { "a;b", ';' },       { "a\tb", '\t' },       { "a|b", '|' },
                 { "a;b;c,d", ';' }, { "a;b,c", ',' },     { "\"a;b;c\",d", ',' }, { "", ',' },
                 { "a|b;c", ';' },   { "a\tb;c\td", '\t' } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(chr, pfc_csv_delimiter(span(rows[i].line)), rows[i].delimiter), "%s",
                  rows[i].line);
}

/* Rows of a text, cells apart by "|", rows by "\n" with their line's number before them. */
static char *rows_of(const char *text, char delimiter, bool at_start)
{
    const pfc_span s =
        at_start ? (pfc_span){ guard_start(&page, text, strlen(text)), strlen(text) } : span(text);
    bool more = false;
    pfc_err err = { 0 };
    pfc_code code;
    pfc_csv csv;
    pfc_buf out;

    pfc_buf_init(&out, 65536);
    pfc_csv_init(&csv, s.text, s.len, 1, delimiter);
    while ((code = pfc_csv_row(&csv, &more, &err)) == PFC_OK && more) {
        pfc_buf_printf(&out, "%zu:", csv.line);
        for (size_t i = 0; i < csv.cells_len; i++)
            pfc_buf_printf(&out, "%s%.*s", i ? "|" : "", (int)csv.cells[i].len, csv.cells[i].text);
        pfc_buf_putc(&out, '\n');
    }
    if (code)
        pfc_buf_puts(&out, err.msg);
    pfc_csv_clear(&csv);
    return pfc_buf_take(&out);
}

Test(csv, rows_are_cut_at_delimiters_and_lines_outside_of_quotes)
{
    static const struct {
        const char *text;
        char delimiter;
        const char *want;
    } rows[] = { { "a,b\nc,d", ',', "1:a|b\n2:c|d\n" },
                 { "a,b\r\nc,d\r\n", ',', "1:a|b\n2:c|d\n" },
                 { "a\rb,c\r", ',', "1:a\rb|c\n" },
                 { "\n\r\na\n\nb\n", ',', "3:a\n5:b\n" },
                 { ",\n,,", ',', "1:|\n2:||\n" },
                 { ",\"a\"", ',', "1:|a\n" },
                 { ",\"a\",\n,\"b\"", ',', "1:|a|\n2:|b\n" },
                 { "a, \"b\" ,c", ',', "1:a|b|c\n" },
                 { "\"a,b\";c", ';', "1:a,b|c\n" },
                 { "\"a\"\"b\",\"\"\"\",\"\"", ',', "1:a\"b|\"|\n" },
                 { "\"a\nb\",c\nd", ',', "1:a\nb|c\n3:d\n" },
                 { "\"a\n\nb\",\"c\nd\"\ne", ',', "1:a\n\nb|c\nd\n5:e\n" },
                 { "\"a\"x,b", ',', "1:a|b\n" },
                 { "a\"b\",c", ',', "1:a\"b\"|c\n" },
                 { "\"a\"", ',', "1:a\n" },
                 { "\"a\"\r\n\"b\"\r", ',', "1:a\n2:b\n" },
                 { "\"a\",b\r\nc", ',', "1:a|b\n2:c\n" },
                 { "\"a\",b\r", ',', "1:a|b\n" },
                 { "\"a\",\r\nc", ',', "1:a|\n2:c\n" },
                 { "\"a\",\n", ',', "1:a|\n" },
                 { "\"\"\"\",\"x\"\"\",\"\"\"y\"", ',', "1:\"|x\"|\"y\n" },
                 { "a\n\"b\nc", ',', "1:a\nline 2: a quoted cell has no end" },
                 { "\"", ',', "line 1: a quoted cell has no end" },
                 { "\"a\"\"", ',', "line 1: a quoted cell has no end" },
                 { "a\t\"b\tc\"", '\t', "1:a|b\tc\n" } };

    for (size_t i = 0; i < 2 * PFC_ARRAY_LEN(rows); i++) {
        const char *text = rows[i / 2].text;
        char *got = rows_of(text, rows[i / 2].delimiter, i % 2);

        cr_expect(eq(str, got, (char *)rows[i / 2].want), "%s", text);
        free(got);
    }
}

Test(csv, a_header_is_found_by_its_columns_in_any_order_and_case)
{
    static const char *const names[] = { "Time", "Name", NULL };
    const pfc_span s = span("time of talk\nname,time of day\nx,NAME, time \n1,a,2\n");
    size_t offset = 0, line = 0;
    bool more = false;
    pfc_csv csv;
    pfc_err err = { 0 };

    cr_assert(pfc_csv_find_header(s.text, s.len, names, &offset, &line));
    cr_expect(eq(sz, offset, 30));
    cr_expect(eq(sz, line, 3));
    cr_assert(eq(int, pfc_csv_open(&csv, s.text, s.len, names, &err), PFC_OK));
    cr_expect(eq(sz, pfc_csv_column1(&csv, "name"), 1));
    cr_expect(eq(sz, pfc_csv_column1(&csv, "time"), 2));
    cr_expect(eq(sz, pfc_csv_column1(&csv, "tim"), SIZE_MAX));
    cr_expect(eq(sz, pfc_csv_column(&csv, names), 2));
    cr_assert(eq(int, pfc_csv_row(&csv, &more, &err), PFC_OK));
    cr_expect(more);
    cr_expect(eq(sz, csv.line, 4));
    cr_expect(pfc_span_is(pfc_csv_cell(&csv, 1), "a"));
    cr_expect(pfc_span_is(pfc_csv_cell(&csv, 3), ""));
    cr_expect(pfc_span_is(pfc_csv_cell(&csv, SIZE_MAX), ""));
    pfc_csv_clear(&csv);
    cr_expect(not(pfc_csv_find_header(s.text, 40, names, NULL, NULL)));
    cr_expect(eq(int, pfc_csv_open(&csv, s.text, 29, names, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "expected a line with the column 'Time'"));
    pfc_csv_clear(&csv);
}

Test(csv, a_header_may_have_a_byte_order_mark_and_must_be_there)
{
    static const char *const texts[] = { "\xef\xbb\xbf"
                                         "a,b",
                                         "a,b", " a ,\tb" };
    pfc_span none;
    pfc_csv csv;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        const pfc_span s = span(texts[i]);

        pfc_csv_init(&csv, s.text, s.len, 1, ',');
        cr_assert(eq(int, pfc_csv_header(&csv, &err), PFC_OK));
        cr_expect(eq(sz, csv.names_len, 2));
        cr_expect(eq(str, (char *)csv.names[0].text, "a"));
        cr_expect(eq(str, (char *)csv.names[1].text, "b"));
        pfc_csv_clear(&csv);
    }
    none = span("\xef\xbb");
    pfc_csv_init(&csv, none.text, none.len, 1, ',');
    cr_expect(eq(int, pfc_csv_header(&csv, &err), PFC_OK));
    pfc_csv_clear(&csv);
    pfc_csv_init(&csv, none.text, 0, 1, ',');
    cr_expect(eq(int, pfc_csv_header(&csv, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "expected a line with the columns' names, got nothing"));
    pfc_csv_clear(&csv);
}

/* Of one column a value that is called like it is a value. */
Test(csv, a_header_comes_again_only_where_there_are_two_columns)
{
    static const struct {
        const char *text;
        size_t rows;
    } rows[] = { { "a\na\nb\n", 2 }, { "a,b\na,b\nb,a\n", 1 }, { "a,b\na,bb\na,b,c\na\n", 3 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_span s = span(rows[i].text);
        size_t n = 0;
        bool more = false;
        pfc_csv csv;

        pfc_csv_init(&csv, s.text, s.len, 1, ',');
        cr_assert(eq(int, pfc_csv_header(&csv, NULL), PFC_OK));
        while (pfc_csv_row(&csv, &more, NULL) == PFC_OK && more)
            n++;
        cr_expect(eq(sz, n, rows[i].rows), "%s", rows[i].text);
        pfc_csv_clear(&csv);
    }
}
