/*
 * asv (airspeed velocity): result files (version 1 and 2) and what `asv run` prints. A parametrised
 * benchmark is one a combination, named "bench(256, 'a')". The unit follows from the kind, which
 * asv itself tells by the function's name: time_ seconds, mem_ and peakmem_ bytes, track_ has its
 * own (in benchmarks.json, which is another file). null says that it failed, NaN that it was
 * skipped. The environment is the backend: one commit has a result file an environment.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

/* ---- kinds ---- */

static void kind_of(const char *benchmark, pfc_import_key *key, double *scale,
                    char unit[PFC_IMPORT_UNIT_BYTES])
{
    const char *paren = strchr(benchmark, '(');
    const size_t len = paren ? (size_t)(paren - benchmark) : strlen(benchmark);
    const char *name = benchmark;

    for (size_t i = 0; i < len; i++) {
        if (benchmark[i] == '.')
            name = benchmark + i + 1;
    }
    *scale = 1.0;
    if (strncmp(name, "time", 4) == 0 || strncmp(name, "Time", 4) == 0) {
        key->metric = "time_ns";
        key->unit = "ns";
        key->has_direction = true;
        *scale = 1e9;
    } else if (strncmp(name, "peakmem", 7) == 0 || strncmp(name, "mem", 3) == 0) {
        key->metric = strncmp(name, "peak", 4) == 0 ? "peak_memory_bytes" : "memory_bytes";
        key->unit = "bytes";
        key->has_direction = true;
    } else {
        key->metric = "value";
        key->unit = pfc_import_unit_of(name, unit);
        key->has_direction = pfc_import_nature(name, key->unit) != 0;
        key->higher_is_better = pfc_import_nature(name, key->unit) > 0;
    }
}

/* ---- result files ---- */

static bool match_json(const json_t *doc)
{
    const json_t *first = NULL;

    if (json_is_object(json_object_get(doc, "results")) &&
        (json_object_get(doc, "commit_hash") || json_object_get(doc, "result_columns")))
        return true;
    /* asv writes two other JSON files next to its results; the message names which one this is. */
    if (json_is_object(doc))
        first = pfc_import_first(doc, NULL);
    return (json_object_get(first, "code") && json_object_get(first, "param_names")) ||
           (json_object_get(doc, "machine") && json_object_get(doc, "arch") &&
            !json_object_get(doc, "run"));
}

typedef struct results {
    pfc_import *in;
    char *environment;
} results;

/* Version 1 has no env_name: as asv names it, "py2.7-Cython-numpy1.8". Caller frees. */
static char *environment_of(const json_t *doc)
{
    const char *name = pfc_import_string(doc, "env_name");
    const char *python = pfc_import_string(doc, "python");
    const json_t *needs = json_object_get(doc, "requirements");
    pfc_buf buf;

    if (name)
        return pfc_strdup(name);
    pfc_buf_init(&buf, 4 * PFC_WIRE_MAX_TEXT);
    if (python)
        pfc_buf_printf(&buf, "py%s", python);
    for (PFC_JSON_EACH(it, needs)) {
        const char *version = json_string_value(json_object_iter_value(it));
        pfc_buf_printf(&buf, "%s%s%s", buf.len ? "-" : "", json_object_iter_key(it),
                       version ? version : "");
    }
    return pfc_buf_take(&buf);
}

/* Value at a place of v2's row: by the column's name, or the first ones when there are no names. */
static const json_t *column(const json_t *columns, const json_t *row, const char *name)
{
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const char *one = json_string_value(json_array_get(columns, i));
        if (one && strcmp(one, name) == 0)
            return json_array_get(row, i);
    }
    return NULL;
}

static bool is_nan(const json_t *value)
{
    return json_is_string(value) && strcmp(json_string_value(value), PFC_IMPORT_NAN) == 0;
}

static pfc_code add_value(const results *r, const char *benchmark, const json_t *value,
                          const json_t *samples)
{
    pfc_import *in = r->in;
    pfc_import_key key = { .benchmark = benchmark, .backend = r->environment };
    char unit[PFC_IMPORT_UNIT_BYTES];
    double scale = 1.0;
    pfc_code code = PFC_OK;

    kind_of(benchmark, &key, &scale, unit);
    if (is_nan(value))
        return pfc_import_failed(in, &key, PFC_STATUS_SKIPPED, "asv says that it was skipped");
    if (!json_is_number(value))
        return pfc_import_failed(in, &key, PFC_STATUS_BROKEN, "asv says that it failed");
    for (size_t i = 0; i < json_array_size(samples) && !code; i++)
        code =
            pfc_import_sample(in, &key, scale * pfc_import_json_number(json_array_get(samples, i)));
    if (!code && json_array_size(samples) == 0)
        code = pfc_import_sample(in, &key, scale * json_number_value(value));
    return code;
}

/* "bench(256, 'a')" for combination number i, the last parameter running fastest. */
static char *combination(const char *benchmark, const json_t *params, size_t i)
{
    const size_t n = json_array_size(params);
    size_t below = 1;
    size_t stride;
    pfc_buf buf;

    for (size_t k = 0; k < n; k++)
        below *= PFC_MAX(json_array_size(json_array_get(params, k)), (size_t)1);
    pfc_buf_init(&buf, 4 * PFC_WIRE_MAX_TEXT);
    pfc_buf_puts(&buf, benchmark);
    pfc_buf_putc(&buf, '(');
    stride = below;
    for (size_t k = 0; k < n; k++) {
        const json_t *values = json_array_get(params, k);
        const size_t len = PFC_MAX(json_array_size(values), (size_t)1);
        const json_t *v;
        stride /= len;
        v = json_array_get(values, stride ? i / stride % len : 0);
        pfc_buf_puts(&buf, k ? ", " : "");
        if (json_is_string(v))
            pfc_buf_puts(&buf, json_string_value(v));
        else if (json_is_number(v))
            pfc_buf_printf(&buf, "%.10g", json_number_value(v));
        else
            pfc_buf_puts(&buf, "?");
    }
    pfc_buf_putc(&buf, ')');
    return pfc_buf_take(&buf);
}

static pfc_code read_results(const results *r, const char *name, const json_t *result,
                             const json_t *params, const json_t *samples, const pfc_json_at *at)
{
    const size_t len = json_array_size(result);
    size_t product = json_array_size(params) ? 1 : 0;
    pfc_code code = PFC_OK;

    for (size_t k = 0; k < json_array_size(params); k++) {
        product *= json_array_size(json_array_get(params, k));
        if (product > PFC_WIRE_MAX_MEASUREMENTS)
            return pfc_json_fault(at, name, r->in->err, "more than %d combinations of parameters",
                                  PFC_WIRE_MAX_MEASUREMENTS);
    }
    if (!json_is_array(result))
        return add_value(r, name, result, NULL);
    if (product == 0)
        return add_value(r, name, json_array_get(result, 0), json_array_get(samples, 0));
    if (len != product && len != 0)
        return pfc_json_fault(at, name, r->in->err,
                              "expected %zu results, one a combination, got %zu", product, len);
    for (size_t i = 0; i < len && !code; i++) {
        char *full = combination(name, params, i);
        code = add_value(r, full, json_array_get(result, i), json_array_get(samples, i));
        free(full);
    }
    return code;
}

static pfc_code read_file(pfc_import *in, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "results");
    const json_t *columns = json_object_get(doc, "result_columns");
    const pfc_json_at root = { .key = "results" };
    const double date_ms = pfc_import_number(doc, "date");
    results r = { .in = in, .environment = environment_of(doc) };
    pfc_code code = PFC_OK;

    pfc_import_commit(in, pfc_import_string(doc, "commit_hash"));
    if (date_ms > 0)
        in->run->started_at = in->run->finished_at = date_ms / 1000.0;
    for (PFC_JSON_EACH(it, list)) {
        const char *name = json_object_iter_key(it);
        const json_t *v = json_object_iter_value(it);
        if (code || !*name)
            continue;
        if (json_is_array(columns) && json_is_array(v))
            code = read_results(&r, name, column(columns, v, "result"),
                                column(columns, v, "params"), column(columns, v, "samples"), &root);
        else if (json_is_object(v)) /* version 1 with parameters */
            code = read_results(&r, name, json_object_get(v, "result"),
                                json_object_get(v, "params"), json_object_get(v, "samples"), &root);
        else
            code = read_results(&r, name, v, NULL, NULL, &root);
    }
    free(r.environment);
    return code;
}

static pfc_code read_json(pfc_import *in, const json_t *doc)
{
    json_t *with_nan = NULL;
    pfc_code code = PFC_OK;

    if (!json_is_object(json_object_get(doc, "results")))
        return pfc_err_set(in->err, PFC_EINVAL,
                           "asv's benchmarks.json and machine.json only describe; the results are "
                           "in the files named after commits");
    if (pfc_span_find(in->json, "NaN") < in->json.len)
        code = pfc_import_json_with_nan(in->json.text, in->json.len, &with_nan, in->err);
    if (!code)
        code = read_file(in, with_nan ? with_nan : doc);
    json_decref(with_nan);
    return code;
}

/* ---- what it prints ---- */

static const char dots[] = "\xc2\xb7\xc2\xb7\xc2\xb7 "; /* three middle dots */

/* "[ 35.00%] ··· benchmarks.TimeSuite.time_iterkeys     11.1±0.01μs": what is behind the dots. */
static bool result_line(pfc_span line, pfc_span *rest)
{
    const size_t at = pfc_span_find(line, dots);

    if (line.len == 0 || line.text[0] != '[' || at == line.len ||
        pfc_span_find(line, "%]") == line.len)
        return false;
    *rest = pfc_span_trim(
        (pfc_span){ line.text + at + sizeof(dots) - 1, line.len - at - (sizeof(dots) - 1) });
    return pfc_span_find(*rest, "Running (") == rest->len && rest->len > 0;
}

static bool is_result(pfc_span line)
{
    pfc_span rest;

    return result_line(line, &rest);
}

static bool match_text(const char *text, size_t len)
{
    return pfc_lines_any(text, len, 5000, is_result);
}

/* "11.1±0.01μs", "2.42k" (bytes), "18.4": the value in the unit of its kind; false: it is none. */
static bool printed_value(pfc_span word, bool bytes, double *value)
{
    const size_t sign = pfc_span_find(word, "\xc2\xb1");
    pfc_span unit = { "", 0 };
    pfc_span tail = word;
    char *name;
    double scale = 1.0;

    if (sign < word.len) {
        double error = 0.0;
        tail = (pfc_span){ word.text + sign + 2, word.len - sign - 2 };
        if (!pfc_span_quantity(tail, &error, &unit) ||
            pfc_span_number((pfc_span){ word.text, sign }, value) != PFC_NUMBER)
            return false;
    } else if (!pfc_span_quantity(word, value, &unit)) {
        return false;
    }
    if (unit.len == 0)
        return true;
    name = pfc_span_dup(unit);
    if (bytes && (pfc_span_is(unit, "k") || pfc_span_is(unit, "K")))
        scale = 1e3;
    else if (bytes && pfc_span_is(unit, "M"))
        scale = 1e6;
    else if (bytes && pfc_span_is(unit, "G"))
        scale = 1e9;
    else if (!bytes)
        scale = pfc_import_unit_ns(name);
    free(name);
    *value *= scale;
    return isfinite(*value);
}

enum { MAX_COLUMNS = 32 };

typedef struct printed {
    pfc_import *in;
    char *environment; /* NULL: not said */
    char *benchmark;   /* the parametrised one whose table follows; NULL: none */
    size_t columns;    /* of its table, parameters included; 0: the table did not begin */
    size_t widths[MAX_COLUMNS];
    size_t params; /* how many of them hold parameters */
    bool spanned;  /* the last parameters' values are the titles of the other columns */
    bool body;     /* what stands above the results was read */
} printed;

static pfc_code add_printed(printed *p, const char *benchmark, pfc_span word)
{
    pfc_import_key key = { .benchmark = benchmark, .backend = p->environment };
    char unit[PFC_IMPORT_UNIT_BYTES];
    double scale = 1.0;
    double value = 0.0;

    kind_of(benchmark, &key, &scale, unit);
    if (pfc_span_is(word, "failed"))
        return pfc_import_failed(p->in, &key, PFC_STATUS_BROKEN, "asv says that it failed");
    if (pfc_span_is(word, "n/a") || pfc_span_is(word, "skipped"))
        return pfc_import_failed(p->in, &key, PFC_STATUS_SKIPPED, "asv says that it was skipped");
    if (!printed_value(word, key.unit && strcmp(key.unit, "bytes") == 0, &value))
        return PFC_OK; /* "ok": a table follows; else talk */
    return pfc_import_sample(p->in, &key, value);
}

static pfc_code read_result(printed *p, pfc_span rest)
{
    pfc_span words[64];
    const size_t n = pfc_span_words(rest, words, 64);
    pfc_span name;
    char *benchmark;
    pfc_code code;

    free(p->benchmark);
    p->benchmark = NULL;
    p->columns = 0;
    p->spanned = p->body = false;
    if (n < 2 || n > 64)
        return PFC_OK;
    name = words[0];
    benchmark = pfc_span_dup(name);
    if (pfc_span_is(words[n - 1], "ok")) {
        p->benchmark = benchmark;
        return PFC_OK;
    }
    code = add_printed(p, benchmark, words[n - 1]);
    free(benchmark);
    return code;
}

/* Behind the percentage and its dots a table's lines are plain. */
static pfc_span table_line(pfc_span line)
{
    const size_t at = pfc_span_find(line, dots);

    if (at < line.len)
        return (pfc_span){ line.text + at + sizeof(dots) - 1, line.len - at - (sizeof(dots) - 1) };
    return line;
}

static bool is_rule(pfc_span line, char of)
{
    line = pfc_span_trim(line);
    for (size_t i = 0; i < line.len; i++) {
        if (line.text[i] != of && line.text[i] != ' ')
            return false;
    }
    return line.len >= 2;
}

/* The header of a table of results (asv/util.py, format_text_table): a rule of "=", then the names
 * of the parameters over a rule of "-". Where the values of the last parameters are columns, their
 * names come first ("--   n" over a rule of "-" in two parts), and the results follow a second rule
 * of "=". */
static void read_head(printed *p, pfc_span line)
{
    pfc_span words[MAX_COLUMNS];

    if (is_rule(line, '=') && p->columns > 0) {
        p->body = true;
    } else if (is_rule(line, '=')) {
        p->columns = PFC_MIN(pfc_span_words(line, words, MAX_COLUMNS), (size_t)MAX_COLUMNS);
        p->params = p->columns - 1;
        for (size_t i = 0; i < p->columns; i++)
            p->widths[i] = words[i].len;
    } else if (p->columns > 0 && is_rule(line, '-') && !p->spanned) {
        p->body = true;
    } else if (p->columns > 0 && is_rule(line, '-')) {
        size_t width = p->widths[0];
        (void)pfc_span_words(line, words, 1);
        for (p->params = 1; p->params + 1 < p->columns && width < words[0].len; p->params++)
            width += 1 + p->widths[p->params];
    } else if (pfc_span_starts(pfc_span_trim(line), "-- ")) {
        p->spanned = true;
    }
}

/* "256, a": the row's parameters, as a combination's name has them. A value may hold spaces: then
 * the row's text stands as it is. Caller frees. */
static char *row_params(const printed *p, const pfc_span *words, size_t n)
{
    const pfc_span last = words[n - (p->columns - p->params) - 1];
    pfc_buf buf;

    if (n > p->columns)
        return pfc_strndup(words[0].text, (size_t)(last.text + last.len - words[0].text));
    pfc_buf_init(&buf, PFC_WIRE_MAX_TEXT);
    for (size_t i = 0; i < p->params; i++) {
        pfc_buf_puts(&buf, i ? ", " : "");
        pfc_buf_append(&buf, words[i].text, words[i].len);
    }
    return pfc_buf_take(&buf);
}

/* A row of results: "  256     1.22±0.01ms". Where the last parameters are columns, the name of a
 * result has the column's number in their place. Parameters may hold spaces and results may not, so
 * columns are counted from the right. */
static pfc_code read_row(printed *p, pfc_span line)
{
    pfc_span words[64];
    const size_t n = pfc_span_words(line, words, 64);
    const size_t values = p->columns - p->params;
    char *params;
    pfc_code code = PFC_OK;

    if (n < 2 || n > 64 || p->columns < 2 || n < p->columns)
        return PFC_OK;
    params = row_params(p, words, n);
    for (size_t i = 0; i < values && !code; i++) {
        const pfc_span value = words[n - values + i];
        double x = 0.0;
        char *name = p->spanned ? pfc_format("%s(%s, #%zu)", p->benchmark, params, i + 1)
                                : pfc_format("%s(%s)", p->benchmark, params);
        if (printed_value(value, false, &x) || printed_value(value, true, &x) ||
            pfc_span_is(value, "failed") || pfc_span_is(value, "n/a"))
            code = add_printed(p, name, value);
        free(name);
    }
    free(params);
    return code;
}

static pfc_code read_line(printed *p, pfc_span line)
{
    static const char benchmarking[] = " Benchmarking ";
    const size_t at = pfc_span_find(line, benchmarking);
    pfc_span rest;

    if (at < line.len && line.text[0] == '[') {
        free(p->environment);
        p->environment =
            pfc_span_dup(pfc_span_trim((pfc_span){ line.text + at + sizeof(benchmarking) - 1,
                                                   line.len - at - (sizeof(benchmarking) - 1) }));
        return PFC_OK;
    }
    rest = table_line(line);
    /* A table's lines are indented; only its first line stands behind the percentage. */
    if (p->benchmark && p->body && line.text[0] == ' ')
        return read_row(p, line);
    if (p->benchmark && (line.text[0] == ' ' || is_rule(rest, '='))) {
        read_head(p, rest);
        return PFC_OK;
    }
    return result_line(line, &rest) ? read_result(p, rest) : PFC_OK;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    printed p = { .in = in };
    pfc_lines lines;
    pfc_span line;
    pfc_code code = PFC_OK;

    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line)) {
        if (line.len > 0)
            code = read_line(&p, line);
    }
    free(p.environment);
    free(p.benchmark);
    return code;
}

const pfc_import_format pfc_import_asv = { .name = "asv",
                                           .match_json = match_json,
                                           .read_json = read_json,
                                           .match_text = match_text,
                                           .read_text = read_text };
