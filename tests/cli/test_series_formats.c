/*
 * Every form of a series that `perfci detect` reads: what comes of it, or the sentence that refuses
 * it, each row with its neighbours at the limit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/detect/series_read.h"
#include "core/base/buf.h"

#include "tests/check/check.h"

/* "ID [UNIT] higher|lower: T=V(REPEATS) ..." a series, "LINE! WHY" a fault; one a line. */
static void show(pfc_buf *out, const pfc_series_in *s)
{
    pfc_buf_printf(out, "%s [%s] %s:", s->id, s->unit, s->higher_is_better ? "higher" : "lower");
    for (size_t i = 0; i < s->len; i++) {
        const pfc_point *p = &s->points[i];

        pfc_buf_printf(out, " %g=%g", p->t, p->v);
        for (size_t k = 0; k < p->repeats_len; k++)
            pfc_buf_printf(out, "%c%g", k ? ',' : '(', p->repeats[k]);
        if (p->repeats_len)
            pfc_buf_putc(out, ')');
        if (s->commits)
            pfc_buf_printf(out, "@%s", s->commits[i]);
    }
    pfc_buf_putc(out, '\n');
}

static void on_series(void *arg, const pfc_series_in *s, size_t line)
{
    cr_expect(eq(sz, line, 1));
    show(arg, s);
}

static void on_bad(void *arg, size_t line, const char *why)
{
    pfc_buf_printf(arg, "%zu! %s\n", line, why);
}

typedef struct form {
    const char *text, *shown;
} form;

/* ---- JSON ---- */

static char *read_json(const char *text, size_t len, const char *stem)
{
    pfc_series_in s = { 0 };
    pfc_buf out;
    size_t at = 0;
    pfc_err err = { 0 };

    pfc_buf_init(&out, 1 << 20);
    if (pfc_series_parse(text, len, stem, true, &s, &at, &err))
        pfc_buf_printf(&out, "%zu! %s\n", at, err.msg);
    else
        show(&out, &s);
    pfc_series_clear(&s);
    return pfc_buf_take(&out);
}

static void expect_json(const form *forms, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char *shown = read_json(forms[i].text, strlen(forms[i].text), NULL);

        cr_expect(eq(str, shown, (char *)forms[i].shown), "%s", forms[i].text);
        free(shown);
    }
}

Test(json_series, members_come_in_any_order_and_unknown_ones_are_passed_over)
{
    static const form forms[] = {
        { "{\"id\":\"a\",\"points\":[]}", "a [] higher:\n" },
        { " { \"points\" : [ { \"v\" : 1 } ] ,\n \"id\" :\t\"a\" }\r\n", "a [] higher: nan=1\n" },
        { "{\"id\":\"a\",\"unit\":\"ms\",\"higher_is_better\":false,\"points\":[{\"v\":1,\"t\":2}]"
          "}",
          "a [ms] lower: 2=1\n" },
        { "{\"id\":\"a\",\"unit\":null,\"higher_is_better\":true,\"points\":[{\"t\":null,\"v\":"
          "null}]}",
          "a [] higher: nan=nan\n" },
        { "{\"id\":\"a\",\"x\":{\"y\":[1,\"z\",{}],\"n\":null},\"w\":true,\"u\":false,\"points\":[{"
          "\"q\":"
          "[[]],\"v\":-0.5}]}",
          "a [] higher: nan=-0.5\n" },
        { "{\"id\":\"a\",\"points\":[{\"v\":1,\"repeats\":[1,2]},{\"v\":2,\"repeats\":null},{\"v\":"
          "3,"
          "\"repeats\":[]},{\"repeats\":[4],\"v\":4}]}",
          "a [] higher: nan=1(1,2) nan=2 nan=3 nan=4(4)\n" },
    };

    expect_json(forms, PFC_ARRAY_LEN(forms));
}

Test(json_series, each_fault_is_named_with_its_point_and_its_byte)
{
    static const form forms[] = {
        { "", "0! expected a series, an object, but the text ends\n" },
        { "[", "0! expected a series, an object, got [\n" },
        { "{}", "2! series without \"points\", but the text ends\n" },
        { "{\"points\":[]}", "13! series without \"id\", but the text ends\n" },
        { "{\"id\":\"a\",}", "10! expected a string\n" },
        { "{\"id\" \"a\"}", "6! expected ':' after a member's name, got \"a\"\n" },
        { "{\"id\":\"a\",\"id\":\"b\"}", "15! member \"id\" twice\n" },
        { "{\"unit\":\"a\",\"unit\":\"b\"}", "19! member \"unit\" twice\n" },
        { "{\"points\":[],\"points\":[]}", "22! member \"points\" twice\n" },
        { "{\"higher_is_better\":1}", "20! \"higher_is_better\": expected true or false, got 1\n" },
        { "{\"higher_is_better\":true,\"higher_is_better\":true}",
          "44! member \"higher_is_better\" twice\n" },
        { "{\"id\":1}", "6! expected a string, got 1\n" },
        { "{\"points\":1}", "10! \"points\": expected an array, got 1\n" },
        { "{\"points\":[1]}", "11! points[0]: expected an object, got 1\n" },
        { "{\"points\":[{}]}", "13! points[0]: point without \"v\"\n" },
        { "{\"points\":[{\"v\":1},{\"t\":1}]}", "26! points[1]: point without \"v\"\n" },
        { "{\"points\":[{\"v\":1,\"v\":2}]}", "22! points[0]: \"v\" twice in one point, got 2\n" },
        { "{\"points\":[{\"v\":1},{\"v\":x}]}", "24! points[1].v: expected a number, got x\n" },
        { "{\"points\":[{\"t\":\"x\"}]}", "16! points[0].t: expected a number, got \"x\"\n" },
        { "{\"points\":[{\"v\" 1}]}",
          "16! points[0]: expected ':' after a member's name, got 1\n" },
        { "{\"points\":[{\"v\":1 \"t\":1}]}", "18! points[0]: expected ',' or '}', got \"t\"\n" },
        { "{\"points\":[{\"v\":1}", "18! \"points\": expected ',' or ']', but the text ends\n" },
        { "{\"points\":[{\"repeats\":1}]}", "22! points[0].repeats: expected an array, got 1\n" },
        { "{\"points\":[{\"repeats\":[x]}]}", "23! points[0].repeats: expected a number, got x\n" },
        { "{\"points\":[{\"repeats\":[1 2]}]}",
          "25! points[0].repeats: expected ',' or ']', got 2\n" },
        { "{\"points\":[{\"repeats\":[1],\"repeats\":[1]}]}",
          "36! points[0]: \"repeats\" twice in one point, got [1\n" },
        { "{\"id\":\"a\",\"points\":[]", "21! expected ',' or '}', but the text ends\n" },
        { "{\"id\":\"a\",\"points\":[]} {", "23! more text after the series, got {\n" },
        { "{\"x\":[1 2]}", "8! expected ',' or ']', got 2\n" },
        { "{\"x\":{\"y\":1 2}}", "12! expected ',' or '}', got 2\n" },
        { "{\"x\":{1}}", "6! expected a string, got 1\n" },
        { "{\"x\":{\"y\" 1}}", "10! expected ':' after a member's name, got 1\n" },
        { "{\"x\":nul}", "5! expected a value, got nul\n" },
        { "{\"x\":\"a", "7! expected the closing quote of a string, but the text ends\n" },
        { "{\"x\":\"a\\", "8! expected the closing quote of a string, but the text ends\n" },
        { "{\"x\":\"\x1f\"}", "6! control character in a string\n" },
        { "{\"x\":abcdefghijklmnopqrstuvwxyz}",
          "5! expected a value, got abcdefghijklmnopqrstuvwx\n" },
    };

    expect_json(forms, PFC_ARRAY_LEN(forms));
}

Test(json_series, numbers_follow_the_grammar_of_json)
{
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        { "0", true },
        { "-0.0", true },
        { "10", true },
        { "01", false },
        { "-01", false },
        { "00", false },
        { "+1", false },
        { ".5", false },
        { "5.", false },
        { "5.e1", false },
        { "1e", false },
        { "1e+", false },
        { "1E+9", true },
        { "1e-9", true },
        { "1e308", true },
        { "1e309", false },
        { "-", false },
        { "-x", false },
        { "NaN", false },
        { "Infinity", false },
        { "0x10", false },
        { "1_000", false },
        { "9007199254740992", true },
        { "9007199254740993", true },
        { "0.1234567890123456789", true },
        { "1.0000000000000000000001", true },
        { "123456789012345678", true },
        { "1234567890123456789", true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format("{\"id\":\"a\",\"points\":[{\"v\":%s}]}", rows[i].text);
        pfc_series_in s = { 0 };
        size_t at = 0;
        pfc_err err = { 0 };
        const pfc_code code = pfc_series_parse(text, strlen(text), NULL, false, &s, &at, &err);

        cr_expect(eq(int, code, rows[i].good ? PFC_OK : PFC_EINVAL), "%s", rows[i].text);
        if (!code)
            cr_expect(eq(dbl, s.points[0].v, strtod(rows[i].text, NULL)), "%s", rows[i].text);
        pfc_series_clear(&s);
        free(text);
    }
}

/* First and last character of each length of UTF-8, and pairs at their ends. */
Test(json_series, escapes_become_the_characters_that_they_stand_for)
{
    static const struct {
        const char *text, *id; /* id NULL: refused */
    } rows[] = {
        { "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t" },
        { "\\u0041\\u007f", "A\x7f" },
        { "\\u0080\\u07FF", "\xc2\x80\xdf\xbf" },
        { "\\u0800\\uffff", "\xe0\xa0\x80\xef\xbf\xbf" },
        { "\\uD7ff\\ue000", "\xed\x9f\xbf\xee\x80\x80" },
        { "\\ud800\\udc00", "\xf0\x90\x80\x80" },
        { "\\uDBFF\\uDFFF", "\xf4\x8f\xbf\xbf" },
        { "\\u20ac x", "\xe2\x82\xac x" },
        { "\\u0000", NULL },
        { "\\ud800", NULL },
        { "\\udc00", NULL },
        { "\\udfff\\udc00", NULL },
        { "\\ud800\\ud800", NULL },
        { "\\ud800\\ue000", NULL },
        { "\\ud800\\n0000", NULL },
        { "\\ud800xudc00", NULL },
        { "\\u123", NULL },
        { "\\u12g4", NULL },
        { "\\u123:", NULL },
        { "\\u/123", NULL },
        { "\\u12@4", NULL },
        { "\\u12`4", NULL },
        { "\\x", NULL },
        { "\\U0041", NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format("{\"id\":\"%s\",\"points\":[]}", rows[i].text);
        char *shown = read_json(text, strlen(text), NULL);
        char *good = rows[i].id ? pfc_format("%s [] higher:\n", rows[i].id) : NULL;

        if (good)
            cr_expect(eq(str, shown, good), "%s", rows[i].text);
        else
            cr_expect(ne(ptr, strstr(shown, "! bad escape in a string"), NULL), "%s", shown);
        free(good);
        free(shown);
        free(text);
    }
}

Test(json_series, sizes_and_depths_have_limits)
{
    pfc_buf text;

    for (int extra = 0; extra < 2; extra++) {
        char *shown;

        pfc_buf_init(&text, 1 << 20);
        pfc_buf_puts(&text, "{\"points\":[],\"id\":\"");
        for (int i = 0; i < PFC_SERIES_MAX_ID + extra; i++)
            pfc_buf_putc(&text, 'x');
        pfc_buf_puts(&text, "\"}");
        shown = read_json(pfc_buf_text(&text), text.len, NULL);
        cr_expect(
            eq(int, strstr(shown, "! string of 4097 bytes, expected at most 4096") != NULL, extra));
        free(shown);
        pfc_buf_clear(&text);
        pfc_buf_puts(&text, "{\"points\":[],\"id\":\"a\",\"x\":");
        for (int i = 0; i < PFC_SERIES_MAX_DEPTH + extra; i++)
            pfc_buf_putc(&text, '[');
        pfc_buf_putc(&text, '1');
        for (int i = 0; i < PFC_SERIES_MAX_DEPTH + extra; i++)
            pfc_buf_putc(&text, ']');
        pfc_buf_putc(&text, '}');
        shown = read_json(pfc_buf_text(&text), text.len, NULL);
        cr_expect(eq(int, strstr(shown, "! nested too deeply") != NULL, extra), "%s", shown);
        free(shown);
        pfc_buf_clear(&text);
    }
}

Test(json_series, an_id_of_its_own_goes_before_that_of_the_file)
{
    static const char without[] = "{\"points\":[{\"v\":1}]}",
                      with[] = "{\"points\":[],\"id\":\"own\"}";
    char *shown = read_json(without, strlen(without), "file");

    cr_expect(eq(str, shown, "file [] higher: nan=1\n"));
    free(shown);
    shown = read_json(with, strlen(with), "file");
    cr_expect(eq(str, shown, "own [] higher:\n"));
    free(shown);
    /* Bytes behind the length are no part of the text. */
    shown = read_json("{\"points\":[],\"id\":\"a\"}x", strlen(with) - 2, "file");
    cr_expect(eq(str, shown, "a [] higher:\n"));
    free(shown);
}

/* ---- CSV ---- */

static void expect_csv(const form *forms, size_t len, bool higher)
{
    static const pfc_direction directions[] = { { "score", true }, { "rate", false } };

    for (size_t i = 0; i < len; i++) {
        char *text = pfc_strdup(forms[i].text);
        pfc_buf out;
        const pfc_series_sink sink = { .series = on_series,
                                       .bad = on_bad,
                                       .arg = &out,
                                       .higher_is_better = higher,
                                       .directions = directions,
                                       .directions_len = PFC_ARRAY_LEN(directions) };

        pfc_buf_init(&out, 1 << 20);
        pfc_series_parse_csv(text, strlen(text), &sink);
        cr_expect(eq(str, (char *)pfc_buf_text(&out), (char *)forms[i].shown), "%s", forms[i].text);
        pfc_buf_clear(&out);
        free(text);
    }
}

Test(csv_series, cells_are_quoted_trimmed_and_may_be_missing)
{
    static const form forms[] = {
        { "time,a\n1,2\n", "a [] lower: 1=2\n" },
        { "TIME , a \r\n 1 ,\t2 \r\n", "a [] lower: 1=2\n" },
        { "time,a\n1,2", "a [] lower: 1=2\n" },
        { "\n\ntime,a\n\n1,2\n \n", "a [] lower: 1=2\n" },
        { "\"time\",\"a,b\"\n\"1\",\"2\"\n", "a,b [] lower: 1=2\n" },
        { "time,\"say \"\"a\"\"\"\n1,2\n", "say \"a\" [] lower: 1=2\n" },
        { "time,\"\"\n1,2\n", " [] lower: 1=2\n" },
        { "time,a,b\n1,,2\n2,3,\n", "a [] lower: 1=nan 2=3\nb [] lower: 1=2 2=nan\n" },
        { "time,a\n1,null\n2,None\n3,NaN\n4,na\n5,N/A\n6,-inf\n7,+Infinity\n8,-\n9,1\n",
          "a [] lower: 1=nan 2=nan 3=nan 4=nan 5=nan 6=nan 7=nan 8=nan 9=1\n" },
        { "time,a\n1,-1e300\n2,1e300\n", "a [] lower: 1=-1e+300 2=1e+300\n" },
    };

    expect_csv(forms, PFC_ARRAY_LEN(forms), false);
}

Test(csv_series, times_are_numbers_dates_and_moments)
{
    static const form forms[] = {
        { "time,a\n-5.5,1\n1e15,1\n", "a [] lower: -5.5=1 1e+15=1\n" },
        { "time,a\n1970-01-02,1\n1970-01-01 00:01:00,1\n1970-01-01T00:00:09,1\n"
          "1970-01-01T01:00:00+01:00,1\n",
          "a [] lower: 86400=1 60=1 9=1 0=1\n" },
        { "time,a\n1970-01-0,1\n1970-01-01 00:01,1\n1.1e15,1\n,1\n1970-13-01,1\n",
          "2! time: expected Unix seconds or RFC 3339, got \"1970-01-0\"\n"
          "3! time: expected Unix seconds or RFC 3339, got \"1970-01-01 00:01\"\n"
          "4! time: expected Unix seconds or RFC 3339, got \"1.1e15\"\n"
          "5! time: expected Unix seconds or RFC 3339, got \"\"\n"
          "6! time: expected Unix seconds or RFC 3339, got \"1970-13-01\"\n"
          "a [] lower:\n" },
    };

    expect_csv(forms, PFC_ARRAY_LEN(forms), false);
}

Test(csv_series, columns_of_text_are_attributes_and_one_of_commits_names_each_point)
{
    static const form forms[] = {
        { "time,a,who\n1,2,me\n2,3,7\n", "a [] lower: 1=2 2=3\n" },
        { "time,a,branch,version,tag\n1,2,3,4,5\n", "a [] lower: 1=2\n" },
        { "time,a,commit\n1,2, 123 \n2,3,456\n", "a [] lower: 1=2@123 2=3@456\n" },
        { "time,Revision,a\n1,123,2\n", "a [] lower: 1=2@123\n" },
        { "time,sha,a\n1,12,2\n", "a [] lower: 1=2@12\n" },
        { "time,commit_id,a\n1,12,2\n", "a [] lower: 1=2@12\n" },
        { "time,commit_sha,a\n1,12,2\n", "a [] lower: 1=2@12\n" },
        { "time,commit_hash,a\n1,12,2\n", "a [] lower: 1=2@12\n" },
        { "time,git_commit,a\n1,12,2\n", "a [] lower: 1=2@12\n" },
        /* The bad line leaves no commit behind, either. */
        { "time,a,commit\n1,2,x\n2,y,z\n3,4,w\n",
          "3! column a: expected a number, got \"y\"\na [] lower: 1=2@x 3=4@w\n" },
        { "time,who\n1,me\n", "1! expected a column of numbers beside \"time\", got none\n" },
        { "time,who\n", "who [] lower:\n" },
        { "time\n1\n", "1! expected a column of numbers beside \"time\", got none\n" },
        { "time\n", "" },
    };

    expect_csv(forms, PFC_ARRAY_LEN(forms), false);
}

#define NO_HEADER                                                                                  \
    "1! expected JSON, or CSV whose header begins with \"time\" and has at most 1000 columns\n"

Test(csv_series, records_have_the_cells_of_the_header)
{
    static const form forms[] = {
        { "a,b\n1,2\n", NO_HEADER },
        { "", "" },
        { "time,\"a\n1,2\n", NO_HEADER },
        { "time,\"a\"b\n1,2\n", NO_HEADER },
        { "time,a\n1\n1,2,3\n\"1,2\n1,\"2\"x\n3,4\n",
          "2! expected 2 cells, got 1\n3! expected 2 cells, got 3\n4! expected 2 cells, got 0\n"
          "5! expected 2 cells, got 0\na [] lower: 3=4\n" },
        { "time,a\n1,2\n2,x\n3,1e301\n",
          "3! column a: expected a number, got \"x\"\n4! column a: expected a number, got "
          "\"1e301\"\na [] lower: 1=2\n" },
    };

    expect_csv(forms, PFC_ARRAY_LEN(forms), false);
}

Test(csv_series, what_was_said_of_a_column_goes_before_its_name_and_the_default)
{
    static const form lower[] = {
        { "time,score,rate,x,tokens_per_s,time_ns\n1,1,1,1,1,1\n",
          "score [] higher: 1=1\nrate [] lower: 1=1\nx [] lower: 1=1\n"
          "tokens_per_s [] higher: 1=1\ntime_ns [] lower: 1=1\n" },
    };
    static const form higher[] = {
        { "time,score,rate,x\n1,1,1,1\n",
          "score [] higher: 1=1\nrate [] lower: 1=1\nx [] higher: 1=1\n" },
    };

    expect_csv(lower, 1, false);
    expect_csv(higher, 1, true);
}

Test(csv_series, a_header_has_at_most_a_thousand_columns)
{
    for (int columns = 1000; columns <= 1001; columns++) {
        pfc_buf text, out;
        const pfc_series_sink sink = { .series = on_series, .bad = on_bad, .arg = &out };

        pfc_buf_init(&text, 1 << 20);
        pfc_buf_init(&out, 1 << 20);
        pfc_buf_puts(&text, "time");
        for (int i = 1; i < columns; i++)
            pfc_buf_printf(&text, ",c%d", i);
        pfc_series_parse_csv(text.data, text.len, &sink);
        if (columns == 1000)
            cr_expect(ne(ptr, strstr(out.data, "c999 [] lower:\n"), NULL));
        else
            cr_expect(eq(str, out.data, NO_HEADER));
        pfc_buf_clear(&text);
        pfc_buf_clear(&out);
    }
}

/* ---- what `perfci series --json` prints ---- */

Test(api_series, lists_and_single_series_are_read)
{
    static const form forms[] = {
        { "{\"series\":{\"id\":7,\"benchmark\":\"b\",\"metric\":\"m\",\"backend\":\"x\",\"unit\":"
          "\"ms\","
          "\"direction\":\"higher\"},\"columns\":{\"median\":[1,null,3,4],\"time\":[5,6,"
          "\"1970-01-01T00:01:00Z\",\"soon\"],\"infra\":[false,false,null,false]}}",
          "7 b m x [ms] higher: 5=1 60=3 3=4\n" },
        { "{\"series\":{\"id\":7,\"direction\":\"lower\"},\"columns\":{\"median\":[1,2,3],"
          "\"infra\":"
          "[false,true,false]}}",
          "7    [] lower: 0=1 2=3\n" },
        { "{\"series\":[{\"id\":1,\"spark\":[1,null,2]},{\"id\":2},{\"id\":3,\"metric\":\"m\","
          "\"spark\":"
          "[]}]}",
          "1    [] lower: 0=1 2=2\n1! a series without points: expected \"spark\"\n3  m  [] "
          "lower:\n" },
        { "{\"series\":{}}", "1! expected \"series\" with its \"columns\", or a list of series\n" },
        { "{\"series\":[]}", "" },
        { "{\"series\":{},\"columns\":[]}",
          "1! expected \"series\" with its \"columns\", or a list of series\n" },
        { "{\"series\":[\n\n}", "3! unexpected token near '}'\n" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(forms); i++) {
        pfc_buf out;
        const pfc_series_sink sink = { .series = on_series, .bad = on_bad, .arg = &out };

        pfc_buf_init(&out, 1 << 20);
        pfc_series_parse_api(forms[i].text, strlen(forms[i].text), &sink);
        cr_expect(eq(str, (char *)pfc_buf_text(&out), (char *)forms[i].shown), "%s", forms[i].text);
        pfc_buf_clear(&out);
    }
}

Test(api_series, its_beginning_is_recognised)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {
        { "{\"series\":[", true },
        { " \t\r\n{ \"series\" :\r\n {", true },
        { "\"series\":[", true },
        { "{\"series\":1", false },
        { "{\"series\":", false },
        { "{\"serie\":[1]", false },
        { "{\"seriess\":[", false },
        { "[\"series\":[", false },
        { "{\"id\":\"series\"}", false },
        { "{", false },
        { "", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, pfc_series_is_api(rows[i].text, strlen(rows[i].text)), rows[i].is), "%s",
                  rows[i].text);
}
