/*
 * Google Benchmark's other two forms: --benchmark_format=csv and its default table.
 * Both are converted to the document of its JSON format, so that one function reads all three. The
 * table's numbers are rounded for people, and its counters carry suffixes ("1.2Gi/s", "3.5k").
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

enum { MAX_WORDS = 64 };

static const char *const csv_names[] = { "iterations", "name",      "real_time",
                                         "cpu_time",   "time_unit", NULL };

/* "Benchmark   Time   CPU   Iterations UserCounters..." */
static bool is_title(pfc_span line)
{
    pfc_span words[MAX_WORDS];
    const size_t n = pfc_span_words(line, words, MAX_WORDS);

    return n >= 4 && n <= MAX_WORDS && pfc_span_is(words[0], "Benchmark") &&
           pfc_span_is(words[1], "Time") && pfc_span_is(words[2], "CPU") &&
           pfc_span_is(words[3], "Iterations");
}

bool pfc_import_google_benchmark_match(const char *text, size_t len)
{
    return pfc_csv_find_header(text, len, csv_names, NULL, NULL) ||
           pfc_lines_any(text, len, 5000, is_title);
}

static void set_text(json_t *obj, const char *key, pfc_span value)
{
    json_object_set_new(obj, key, json_stringn(value.text, value.len));
}

static void set_failed(json_t *obj, bool error, pfc_span why)
{
    json_object_set_new(obj, error ? "error_occurred" : "skipped", json_true());
    set_text(obj, error ? "error_message" : "skip_message", why);
}

/* ---- CSV ---- */

static json_t *csv_row(const pfc_csv *csv, size_t error)
{
    const pfc_span failed = pfc_csv_cell(csv, error);
    json_t *b = json_object();

    if (pfc_span_is(failed, "true") || pfc_span_is(failed, "false")) {
        set_text(b, "name", pfc_csv_cell(csv, pfc_csv_column1(csv, "name")));
        set_failed(b, pfc_span_is(failed, "true"),
                   pfc_csv_cell(csv, pfc_csv_column1(csv, "error_message")));
        return b;
    }
    for (size_t i = 0; i < csv->names_len; i++) {
        const pfc_span cell = pfc_csv_cell(csv, i);
        double value = 0.0;
        const pfc_number_kind kind = pfc_span_number(cell, &value);

        if (cell.len == 0 || i == error)
            continue;
        if (pfc_span_is(csv->names[i], "name") || kind == PFC_NUMBER_NO_NUMBER)
            set_text(b, csv->names[i].text, cell);
        else
            json_object_set_new(b, csv->names[i].text,
                                kind == PFC_NUMBER ? json_real(value) : json_null());
    }
    return b;
}

static pfc_code read_csv(pfc_import *in, const char *text, size_t len, json_t *list)
{
    bool more = false;
    pfc_csv csv;
    pfc_code code = pfc_csv_open(&csv, text, len, csv_names, in->err);
    const size_t error = code ? SIZE_MAX : pfc_csv_column1(&csv, "error_occurred");
    const size_t real = code ? SIZE_MAX : pfc_csv_column1(&csv, "real_time");

    while (!code && (code = pfc_csv_row(&csv, &more, in->err)) == PFC_OK && more) {
        if (csv.cells_len > real) /* else what the program said behind its table */
            json_array_append_new(list, csv_row(&csv, error));
    }
    pfc_csv_clear(&csv);
    return code;
}

/* ---- the table ---- */

/* "1.2Gi/s", "3.5k", "12": a number with the suffix of its size. */
static bool counter_value(pfc_span text, double *value)
{
    static const struct {
        const char *suffix;
        double scale;
    } sizes[] = { { "Ki", 1024.0 },
                  { "Mi", 1024.0 * 1024 },
                  { "Gi", 1024.0 * 1024 * 1024 },
                  { "Ti", 1024.0 * 1024 * 1024 * 1024 },
                  { "k", 1e3 },
                  { "M", 1e6 },
                  { "G", 1e9 },
                  { "T", 1e12 },
                  { "P", 1e15 },
                  { "m", 1e-3 },
                  { "u", 1e-6 },
                  { "n", 1e-9 },
                  { "p", 1e-12 } };
    pfc_span unit;

    if (!pfc_span_quantity(text, value, &unit))
        return false;
    if (pfc_span_ends(unit, "/s"))
        unit.len -= 2;
    else if (pfc_span_is(unit, "s"))
        unit.len = 0;
    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++) {
        if (pfc_span_is(unit, sizes[i].suffix)) {
            *value *= sizes[i].scale;
            return true;
        }
    }
    return unit.len == 0 || pfc_span_is(unit, "%");
}

static void set_counters(json_t *b, const pfc_span *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t eq = pfc_span_find(words[i], "=");
        double value = 0.0;
        char *name;

        if (eq == 0 || eq == words[i].len ||
            !counter_value((pfc_span){ words[i].text + eq + 1, words[i].len - eq - 1 }, &value))
            continue; /* a word of the label */
        name = pfc_strndup(words[i].text, eq);
        if (!json_object_get(b, name))
            json_object_set_new(b, name, json_real(value));
        free(name);
    }
}

/* "BM_x  ERROR OCCURRED: 'why'" or "BM_x  SKIPPED: 'why'". */
static bool failed_line(pfc_span line, json_t *b)
{
    static const char *const marks[] = { "ERROR OCCURRED: '", "SKIPPED: '" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(marks); i++) {
        const size_t at = pfc_span_find(line, marks[i]);
        const size_t from = at + strlen(marks[i]);
        if (at == line.len || at == 0)
            continue;
        set_text(b, "name", pfc_span_trim((pfc_span){ line.text, at }));
        set_failed(
            b, i == 0,
            (pfc_span){ line.text + from,
                        line.len - from - (line.text[line.len - 1] == '\'' && line.len > from) });
        return true;
    }
    return false;
}

static bool is_time(pfc_span unit)
{
    return pfc_span_is(unit, "ns") || pfc_span_is(unit, "us") || pfc_span_is(unit, "ms") ||
           pfc_span_is(unit, "s");
}

/* "BM_x/8   12.5 ns   12.5 ns   56000000 items_per_second=2M/s": false for what is no result, such
 * as "BM_x_BigO 3.21 N 3.2 N". */
static bool table_line(pfc_span line, json_t *b)
{
    pfc_span words[MAX_WORDS];
    const size_t n = PFC_MIN(pfc_span_words(line, words, MAX_WORDS), (size_t)MAX_WORDS);
    double real = 0.0;
    double cpu = 0.0;
    double count = 0.0;

    if (failed_line(line, b))
        return true;
    for (size_t i = 1; i + 4 < n; i++) {
        if (!is_time(words[i + 1]) || !is_time(words[i + 3]) ||
            pfc_span_number(words[i], &real) != PFC_NUMBER ||
            pfc_span_number(words[i + 2], &cpu) != PFC_NUMBER ||
            pfc_span_number(words[i + 4], &count) != PFC_NUMBER)
            continue;
        set_text(
            b, "name",
            pfc_span_trim((pfc_span){ words[0].text, (size_t)(words[i].text - words[0].text) }));
        json_object_set_new(b, "real_time", json_real(real));
        json_object_set_new(b, "cpu_time", json_real(cpu));
        set_text(b, "time_unit", words[i + 1]);
        set_counters(b, words + i + 5, n - i - 5);
        return true;
    }
    return false;
}

static void read_table(const char *text, size_t len, json_t *list)
{
    bool begun = false;
    pfc_lines lines;
    pfc_span line;

    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &line)) {
        json_t *b;
        if (is_title(line)) {
            begun = true;
            continue;
        }
        b = json_object();
        if (begun && table_line(line, b))
            json_array_append(list, b);
        json_decref(b);
    }
}

pfc_code pfc_import_google_benchmark_text(pfc_import *in, const char *text, size_t len)
{
    json_t *doc = json_object();
    json_t *list = json_array();
    pfc_code code = PFC_OK;

    json_object_set_new(doc, "benchmarks", list);
    if (pfc_csv_find_header(text, len, csv_names, NULL, NULL))
        code = read_csv(in, text, len, list);
    else
        read_table(text, len, list);
    if (!code)
        code = pfc_import_google_benchmark_doc(in, doc);
    json_decref(doc);
    return code;
}
