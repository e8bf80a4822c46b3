/*
 * Criterion.rs: what it prints (and `cargo bench` of libtest), the messages of cargo-criterion, and
 * the files below target/criterion: raw.csv and sample.json hold every sample, estimates.json the
 * tool's own estimates, of which the median is taken. Times are ns a call.
 *
 * A file alone may not say which benchmark it belongs to; opts.benchmark does then.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

/* ---- the files below target/criterion ---- */

static bool is_estimates(const json_t *doc)
{
    const json_t *mean = json_object_get(doc, "mean");

    if (!mean)
        mean = json_object_get(doc, "Mean");
    return json_object_get(mean, "confidence_interval") && json_object_get(mean, "point_estimate");
}

static bool is_sample(const json_t *doc)
{
    if (json_object_get(doc, "sampling_mode"))
        return json_is_array(json_object_get(doc, "iters")) &&
               json_is_array(json_object_get(doc, "times"));
    return json_is_array(doc) && json_array_size(doc) == 2 &&
           json_is_array(json_array_get(doc, 0)) && json_is_array(json_array_get(doc, 1));
}

static bool is_description(const json_t *doc)
{
    return json_object_get(doc, "group_id") && json_object_get(doc, "full_id");
}

static bool is_messages(const json_t *doc)
{
    const json_t *first = json_is_array(doc) ? json_array_get(doc, 0) : doc;
    const char *reason = pfc_import_string(first, "reason");

    return reason &&
           (strcmp(reason, "benchmark-complete") == 0 || strcmp(reason, "group-complete") == 0);
}

static bool match_json(const json_t *doc)
{
    return is_estimates(doc) || is_sample(doc) || is_description(doc) || is_messages(doc);
}

static double estimate(const json_t *doc, const char *lower, const char *upper, const char *field)
{
    const json_t *e = json_object_get(doc, lower);

    return pfc_import_number(json_is_object(e) ? e : json_object_get(doc, upper), field);
}

static pfc_code read_estimates(pfc_import *in, const json_t *doc)
{
    const bool change = !json_object_get(doc, "std_dev") && !json_object_get(doc, "StdDev");
    const char *name = pfc_import_nameless(in, "criterion");
    const pfc_import_key time = { name, "time_ns", "ns", true, false, NULL };
    const pfc_import_key relative = { name, "time_change_percent", "%", true, false, NULL };
    const double median = estimate(doc, "median", "Median", "point_estimate");
    pfc_measurement *m;
    pfc_code code;

    if (!in->opts.benchmark)
        pfc_import_note(in, "the file does not say which benchmark it is; give --benchmark, or the "
                            "folder");
    if (change) {
        pfc_import_note(in, "the file holds the change against an earlier run, not a time");
        return pfc_import_sample(in, &relative, 100.0 * median);
    }
    code = pfc_import_sample(in, &time, median);
    m = code ? NULL : pfc_import_measurement(in, &time);
    if (m) {
        pfc_import_extra(m, "mean", estimate(doc, "mean", "Mean", "point_estimate"));
        pfc_import_extra(m, "slope", estimate(doc, "slope", "Slope", "point_estimate"));
        pfc_import_extra(m, "std_dev", estimate(doc, "std_dev", "StdDev", "point_estimate"));
    }
    return code;
}

static pfc_code read_sample(pfc_import *in, const json_t *doc)
{
    const bool object = json_is_object(doc);
    const json_t *iters = object ? json_object_get(doc, "iters") : json_array_get(doc, 0);
    const json_t *times = object ? json_object_get(doc, "times") : json_array_get(doc, 1);
    const pfc_import_key key = {
        pfc_import_nameless(in, "criterion"), "time_ns", "ns", true, false, NULL
    };
    pfc_code code = PFC_OK;

    if (json_array_size(iters) != json_array_size(times))
        return pfc_err_set(in->err, PFC_EINVAL,
                           "expected as many iterations as times, got %zu and %zu",
                           json_array_size(iters), json_array_size(times));
    if (!in->opts.benchmark)
        pfc_import_note(in, "the file does not say which benchmark it is; give --benchmark, or the "
                            "folder");
    for (size_t i = 0; i < json_array_size(times) && !code; i++) {
        const double n = pfc_import_json_number(json_array_get(iters, i));
        const double t = pfc_import_json_number(json_array_get(times, i));
        code = pfc_import_sample(in, &key, n > 0 ? t / n : (double)NAN);
    }
    return code;
}

/* Of the folder's benchmark.json and raw data, joined by the caller: {"full_id": .., "sample": ..}.
 */
static pfc_code read_description(pfc_import *in, const json_t *doc)
{
    const json_t *sample = json_object_get(doc, "sample");
    const json_t *estimates = json_object_get(doc, "estimates");

    in->opts.benchmark = pfc_import_string(doc, "full_id");
    if (in->opts.benchmark && is_sample(sample))
        return read_sample(in, sample);
    if (in->opts.benchmark && is_estimates(estimates))
        return read_estimates(in, estimates);
    return pfc_err_set(in->err, PFC_EINVAL,
                       "benchmark.json only describes a benchmark; the times are in sample.json "
                       "beside it, or give the folder");
}

/* ---- cargo-criterion's messages ---- */

static pfc_code read_message(pfc_import *in, const json_t *m)
{
    const char *reason = pfc_import_string(m, "reason");
    const char *id = pfc_import_string(m, "id");
    const char *unit = pfc_import_string(m, "unit");
    const json_t *counts = json_object_get(m, "iteration_count");
    const json_t *values = json_object_get(m, "measured_values");
    double scale = 1.0;
    pfc_import_key key = { .benchmark = id, .metric = "time_ns" };
    pfc_code code = PFC_OK;

    if (!reason || strcmp(reason, "benchmark-complete") != 0)
        return PFC_OK;
    if (!id || !*id)
        return pfc_err_set(in->err, PFC_EINVAL, "benchmark-complete: expected its id");
    key.unit = pfc_import_unit_time(unit ? unit : "ns", &scale);
    if (strcmp(key.unit, "ns") != 0)
        key.metric = "value";
    for (size_t i = 0; i < json_array_size(values) && !code; i++) {
        const double n = pfc_import_json_number(json_array_get(counts, i));
        code = pfc_import_sample(in, &key,
                                 scale * pfc_import_json_number(json_array_get(values, i)) /
                                     (n > 0 ? n : 1.0));
    }
    if (!code && json_array_size(values) == 0)
        code = pfc_import_sample(
            in, &key, scale * pfc_import_number(json_object_get(m, "typical"), "estimate"));
    return code;
}

static pfc_code read_json(pfc_import *in, const json_t *doc)
{
    pfc_code code = PFC_OK;

    if (is_estimates(doc))
        return read_estimates(in, doc);
    if (is_sample(doc))
        return read_sample(in, doc);
    if (is_description(doc))
        return read_description(in, doc);
    if (json_is_object(doc))
        return read_message(in, doc);
    for (size_t i = 0; i < json_array_size(doc) && !code; i++)
        code = read_message(in, json_array_get(doc, i));
    return code;
}

/* ---- raw.csv ---- */

static const char *const raw_names[] = { "group", "function", "value", "iteration_count", NULL };

static pfc_code read_raw(pfc_import *in, const char *text, size_t len)
{
    bool more = false;
    pfc_csv csv;
    pfc_buf name;
    pfc_code code = pfc_csv_open(&csv, text, len, raw_names, in->err);
    const size_t parts[] = { pfc_csv_column1(&csv, "group"), pfc_csv_column1(&csv, "function"),
                             pfc_csv_column1(&csv, "value") };
    const size_t nanos = pfc_csv_column1(&csv, "sample_time_nanos");
    const size_t measured = pfc_csv_column1(&csv, "sample_measured_value");
    const size_t unit = pfc_csv_column1(&csv, "unit");
    const size_t count = pfc_csv_column1(&csv, "iteration_count");

    pfc_buf_init(&name, PFC_WIRE_MAX_TEXT * 4);
    while (!code && (code = pfc_csv_row(&csv, &more, in->err)) == PFC_OK && more) {
        pfc_import_key key = { .metric = "time_ns", .unit = "ns", .has_direction = true };
        const pfc_span u = pfc_csv_cell(&csv, unit);
        double t = 0.0;
        double n = 0.0;

        pfc_buf_reset(&name);
        for (size_t i = 0; i < PFC_ARRAY_LEN(parts); i++) {
            const pfc_span cell = pfc_csv_cell(&csv, parts[i]);
            if (cell.len && name.len)
                pfc_buf_putc(&name, '/');
            pfc_buf_append(&name, cell.text, cell.len);
        }
        if (pfc_span_number(pfc_csv_cell(&csv, nanos == SIZE_MAX ? measured : nanos), &t) !=
                PFC_NUMBER ||
            pfc_span_number(pfc_csv_cell(&csv, count), &n) != PFC_NUMBER || !(n > 0))
            code =
                pfc_err_set(in->err, PFC_EINVAL,
                            "line %zu: expected the time and the number of iterations", csv.line);
        if (u.len && !pfc_span_is(u, "ns")) { /* a measurement of another kind: cycles, bytes */
            key.metric = "value";
            key.unit = NULL;
        }
        key.benchmark = name.len ? pfc_buf_text(&name) : pfc_import_nameless(in, "criterion");
        if (!code)
            code = pfc_import_sample(in, &key, t / n);
    }
    pfc_buf_clear(&name);
    pfc_csv_clear(&csv);
    return code;
}

/* ---- what it prints ---- */

/* "name    time:   [320.62 ps 323.90 ps 327.55 ps]": the span between the brackets, or empty. */
static pfc_span bracketed(pfc_span line, const char *word, pfc_span *name)
{
    const size_t at = pfc_span_find(line, word);
    pfc_span rest = { line.text + at, line.len - at };
    const size_t open = pfc_span_find(rest, "[");
    const size_t close = pfc_span_find(rest, "]");

    *name = pfc_span_trim((pfc_span){ line.text, at });
    if (at == line.len || open >= close || close == rest.len)
        return (pfc_span){ "", 0 };
    return (pfc_span){ rest.text + open + 1, close - open - 1 };
}

/* Three quantities; the one in the middle is the estimate. */
static bool middle(pfc_span inside, double *value, char **unit)
{
    pfc_span words[8];

    if (pfc_span_words(inside, words, 8) != 6 || pfc_span_number(words[2], value) != PFC_NUMBER)
        return false;
    *unit = pfc_span_dup(words[3]);
    return true;
}

/* "test fib ... bench:   1,043 ns/iter (+/- 20)", as libtest and --output-format bencher print it.
 */
static bool bencher_line(pfc_span line, pfc_span *name, pfc_span *value, pfc_span *unit)
{
    pfc_span words[12];
    const size_t n = PFC_MIN(pfc_span_words(line, words, 12), (size_t)12);
    const size_t dots = pfc_span_find(line, " ... bench:");

    if (n < 6 || !pfc_span_is(words[0], "test") || dots == line.len || dots < sizeof("test"))
        return false; /* "test ... bench:" has no name */
    *name = pfc_span_trim((pfc_span){ line.text + 5, dots - 5 });
    for (size_t i = 2; i + 2 < n; i++) {
        if (pfc_span_is(words[i], "bench:")) {
            *value = words[i + 1];
            *unit = words[i + 2];
            return name->len > 0;
        }
    }
    return false;
}

static bool match_text(const char *text, size_t len)
{
    size_t offset = 0;
    size_t number = 0;
    pfc_lines lines;
    pfc_span line, name, value, unit;

    if (pfc_csv_find_header(text, len, raw_names, &offset, &number))
        return true;
    pfc_lines_init(&lines, text, len);
    while (lines.number < 20000 && pfc_lines_next(&lines, &line)) {
        pfc_span inside = bracketed(line, "time:", &name);
        if (pfc_span_words(inside, &value, 1) == 6)
            return true;
        if (bencher_line(line, &name, &value, &unit))
            return true;
    }
    return false;
}

/* "ns/iter", or what a harness of one's own counts: "cycles/iter", "MS/s". */
static pfc_code read_bencher(pfc_import *in, pfc_span name, pfc_span value, pfc_span unit)
{
    char *benchmark = pfc_span_dup(name);
    pfc_import_key key = { .benchmark = benchmark, .metric = "time_ns" };
    const bool per_iteration = pfc_span_ends(unit, "/iter");
    char *word = pfc_strndup(unit.text, per_iteration ? pfc_span_find(unit, "/") : unit.len);
    double scale = 1.0;
    double x = 0.0;
    pfc_code code;

    key.unit = pfc_import_unit_time(word, &scale);
    if (!per_iteration || strcmp(key.unit, "ns") != 0)
        key.metric = "value";
    key.has_direction = true;
    key.higher_is_better = !per_iteration && pfc_import_higher_is_better("", key.unit);
    if (pfc_span_number(value, &x) != PFC_NUMBER)
        code = pfc_err_set(in->err, PFC_EINVAL, "%.80s: expected a number an iteration, got '%.*s'",
                           benchmark, (int)PFC_MIN(value.len, (size_t)40), value.text);
    else
        code = pfc_import_sample(in, &key, x * scale);
    free(word);
    free(benchmark);
    return code;
}

static pfc_code read_time(pfc_import *in, const char *benchmark, pfc_span inside)
{
    const pfc_import_key key = { benchmark, "time_ns", "ns", true, false, NULL };
    char *unit = NULL;
    double value = 0.0;
    double scale;
    pfc_code code = PFC_OK;

    if (!middle(inside, &value, &unit))
        return PFC_OK; /* "change: time: [-2.0% ...]" */
    scale = pfc_import_unit_ns(unit);
    if (!isnan(scale))
        code = pfc_import_sample(in, &key, value * scale);
    free(unit);
    return code;
}

static pfc_code read_rate(pfc_import *in, const char *benchmark, pfc_span inside)
{
    pfc_import_key key = { benchmark, "throughput", NULL, true, true, NULL };
    char *unit = NULL;
    double value = 0.0;
    double scale = 1.0;
    pfc_code code = PFC_OK;

    if (!middle(inside, &value, &unit))
        return PFC_OK;
    key.unit = pfc_import_unit_base(unit, &scale);
    code = pfc_import_sample(in, &key, value * scale);
    free(unit);
    return code;
}

static pfc_code read_printed(pfc_import *in, const char *text, size_t len)
{
    pfc_lines lines;
    pfc_span line, name, value, unit;
    char *benchmark = NULL;
    char *before = NULL; /* the line above: a long name stands alone */
    pfc_code code = PFC_OK;

    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line)) {
        const pfc_span time = bracketed(line, "time:", &name);
        const bool is_time = pfc_span_words(time, &value, 1) == 6;

        if (bencher_line(line, &name, &value, &unit)) {
            code = read_bencher(in, name, value, unit);
        } else if (is_time) {
            free(benchmark);
            benchmark = name.len ? pfc_span_dup(name) : pfc_strdup(before ? before : "");
            if (*benchmark)
                code = read_time(in, benchmark, time);
        } else if (benchmark && *benchmark) {
            code = read_rate(in, benchmark, bracketed(line, "thrpt:", &name));
        }
        free(before);
        before = pfc_span_dup(pfc_span_trim(line));
    }
    free(benchmark);
    free(before);
    return code;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    size_t offset = 0;
    size_t line = 0;

    if (pfc_csv_find_header(text, len, raw_names, &offset, &line))
        return read_raw(in, text, len);
    return read_printed(in, text, len);
}

const pfc_import_format pfc_import_criterion = { .name = "criterion",
                                                 .match_json = match_json,
                                                 .read_json = read_json,
                                                 .match_text = match_text,
                                                 .read_text = read_text };
