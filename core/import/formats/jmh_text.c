/*
 * JMH's other forms: the table that it prints, and -rf csv (or scsv, with semicolons). Both become
 * the document that -rf json would have been. Scores are printed without group separators and in
 * the machine's locale: a comma is the decimals'.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

enum { MAX_WORDS = 64, MAX_NUMBER = 60 };

static const char *const csv_names[] = { "Benchmark", "Mode", "Threads", "Samples",
                                         "Score",     "Unit", NULL };

/* "Benchmark  (size)  Mode  Cnt  Score  Error  Units": how many parameters it has, or SIZE_MAX. */
static size_t title(pfc_span line, pfc_span *words)
{
    const size_t n = pfc_span_words(line, words, MAX_WORDS);
    size_t mode = 1;

    if (n < 4 || n > MAX_WORDS || !pfc_span_is(words[0], "Benchmark"))
        return SIZE_MAX;
    while (mode < n && words[mode].len > 2 && words[mode].text[0] == '(' &&
           words[mode].text[words[mode].len - 1] == ')')
        mode++;
    if (mode + 2 >= n || !pfc_span_is(words[mode], "Mode") || !pfc_span_is(words[n - 1], "Units"))
        return SIZE_MAX;
    return mode - 1;
}

static bool is_title(pfc_span line)
{
    pfc_span words[MAX_WORDS];

    return pfc_span_starts(line, "Benchmark ") && title(line, words) != SIZE_MAX;
}

bool pfc_import_jmh_match(const char *text, size_t len)
{
    return pfc_csv_find_header(text, len, csv_names, NULL, NULL) ||
           pfc_lines_any(text, len, 100000, is_title);
}

static bool score_of(pfc_span word, double *out)
{
    char text[MAX_NUMBER];

    if (word.len == 0 || word.len >= sizeof(text))
        return false;
    for (size_t i = 0; i < word.len; i++)
        text[i] = word.text[i] == ',' ? '.' : word.text[i];
    return pfc_span_number((pfc_span){ text, word.len }, out) == PFC_NUMBER;
}

/* "a.B.run:gc.alloc.rate" is a secondary metric of a.B.run, whose row stands before it. Takes
 * `params`. */
static void add_row(json_t *list, pfc_span name, pfc_span mode, json_t *params, double score,
                    pfc_span unit)
{
    static const char dot[] = "\xc2\xb7"; /* before the names of profilers */
    const size_t colon = pfc_span_find(name, ":");
    json_t *metric =
        json_pack("{s:f,s:o}", "score", score, "scoreUnit", json_stringn(unit.text, unit.len));
    json_t *b = json_array_get(list, json_array_size(list) ? json_array_size(list) - 1 : 0);
    pfc_span second = { "", 0 };
    char *key;

    if (colon < name.len) {
        second = (pfc_span){ name.text + colon + 1, name.len - colon - 1 };
        while (pfc_span_find(second, dot) < second.len) {
            const size_t at = pfc_span_find(second, dot) + sizeof(dot) - 1;
            second = (pfc_span){ second.text + at, second.len - at };
        }
        name.len = colon;
    }
    if (!second.len || !b || !pfc_span_is(name, pfc_import_string(b, "benchmark")) ||
        !json_equal(params, json_object_get(b, "params"))) {
        b = json_pack("{s:o,s:o,s:O,s:{}}", "benchmark", json_stringn(name.text, name.len), "mode",
                      json_stringn(mode.text, mode.len), "params", params, "secondaryMetrics");
        json_array_append_new(list, b);
    }
    if (second.len) {
        key = pfc_span_dup(second);
        json_object_set_new(json_object_get(b, "secondaryMetrics"), key, metric);
        free(key);
    } else {
        json_object_set_new(b, "primaryMetric", metric);
    }
    json_decref(params);
}

static bool is_mode(pfc_span word)
{
    return pfc_span_is(word, "thrpt") || pfc_span_is(word, "avgt") || pfc_span_is(word, "sample") ||
           pfc_span_is(word, "ss");
}

static const char plus_minus[] = "\xc2\xb1";

/* "B.run  10  avgt  5  1.234 +- 0.056  us/op"; the count and the error may be missing. */
static void table_row(json_t *list, pfc_span line, const pfc_span *names, size_t params_len)
{
    pfc_span words[MAX_WORDS];
    const size_t n = pfc_span_words(line, words, MAX_WORDS);
    const size_t mode = 1 + params_len;
    json_t *params;
    double score = 0.0;
    size_t at = mode + 1;

    if (n > MAX_WORDS || n < mode + 3 || !is_mode(words[mode]))
        return;
    /* A count stands before the score, unless there is none: then the unit or the error follows. */
    if (at + 2 < n && !pfc_span_is(words[at + 1], plus_minus))
        at++;
    if (!score_of(words[at], &score))
        return; /* almost zero: a sign for "about" and a power of ten */
    params = json_object();
    for (size_t i = 0; i < params_len; i++) {
        char *name = pfc_strndup(names[1 + i].text + 1, names[1 + i].len - 2);
        if (!pfc_span_is(words[1 + i], "N/A"))
            json_object_set_new(params, name, json_stringn(words[1 + i].text, words[1 + i].len));
        free(name);
    }
    add_row(list, words[0], words[mode], params, score, words[n - 1]);
}

static void read_table(const char *text, size_t len, json_t *list)
{
    pfc_span names[MAX_WORDS];
    pfc_span words[MAX_WORDS];
    size_t params = SIZE_MAX;
    pfc_lines lines;
    pfc_span line;

    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &line)) {
        const size_t begins = title(line, words);
        if (begins != SIZE_MAX) {
            params = begins;
            memcpy(names, words, sizeof(names));
        } else if (params != SIZE_MAX && line.len > 0) {
            table_row(list, line, names, params);
        }
    }
}

static pfc_code read_csv(pfc_import *in, const char *text, size_t len, json_t *list)
{
    bool more = false;
    pfc_csv csv;
    pfc_code code = pfc_csv_open(&csv, text, len, csv_names, in->err);
    const size_t score = pfc_csv_column1(&csv, "Score");
    const size_t unit = pfc_csv_column1(&csv, "Unit");

    while (!code && (code = pfc_csv_row(&csv, &more, in->err)) == PFC_OK && more) {
        const pfc_span name = pfc_csv_cell(&csv, pfc_csv_column1(&csv, "Benchmark"));
        const pfc_span mode = pfc_csv_cell(&csv, pfc_csv_column1(&csv, "Mode"));
        json_t *params;
        double value = 0.0;

        if (name.len == 0 || !is_mode(mode) || !score_of(pfc_csv_cell(&csv, score), &value))
            continue;
        params = json_object();
        for (size_t i = 0; i < csv.names_len; i++) {
            const pfc_span cell = pfc_csv_cell(&csv, i);
            if (pfc_span_starts(csv.names[i], "Param: ") && cell.len > 0)
                json_object_set_new(params, csv.names[i].text + strlen("Param: "),
                                    json_stringn(cell.text, cell.len));
        }
        add_row(list, name, mode, params, value, pfc_csv_cell(&csv, unit));
    }
    pfc_csv_clear(&csv);
    return code;
}

pfc_code pfc_import_jmh_text(pfc_import *in, const char *text, size_t len)
{
    json_t *list = json_array();
    pfc_code code = PFC_OK;

    if (pfc_csv_find_header(text, len, csv_names, NULL, NULL))
        code = read_csv(in, text, len, list);
    else
        read_table(text, len, list);
    if (!code)
        code = pfc_import_jmh_doc(in, list);
    json_decref(list);
    return code;
}
