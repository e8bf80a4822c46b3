/*
 * `go test -bench`: "BenchmarkName-8  1000  325 ns/op  16 B/op  1 allocs/op  4.0 own/unit", a line
 * a count. Value and unit come in pairs; a "Unit NAME better=higher" line says a direction. The
 * number of processors (-8) belongs to the name: -cpu 1,2,4 gives three benchmarks. `go test -json`
 * wraps the same lines.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

enum { MAX_WORDS = 64, MAX_UNITS = 32 };

typedef struct own_unit {
    char *name;
    bool higher;
} own_unit;

typedef struct reader {
    pfc_import *in;
    char *package; /* NULL: not said */
    own_unit units[MAX_UNITS];
    size_t units_len;
} reader;

static bool is_result(pfc_span line)
{
    pfc_span words[MAX_WORDS];
    const size_t n = pfc_span_words(line, words, MAX_WORDS);
    double value = 0.0;

    return n >= 4 && pfc_span_starts(words[0], "Benchmark") && line.text[0] == 'B' &&
           pfc_span_number(words[1], &value) == PFC_NUMBER &&
           pfc_span_number(words[2], &value) != PFC_NUMBER_NO_NUMBER;
}

static bool match_text(const char *text, size_t len)
{
    return pfc_lines_any(text, len, 5000, is_result);
}

static const own_unit *find_unit(const reader *r, const char *name)
{
    for (size_t i = 0; i < r->units_len; i++) {
        if (strcmp(r->units[i].name, name) == 0)
            return &r->units[i];
    }
    return NULL;
}

static void read_unit(reader *r, pfc_span line)
{
    pfc_span words[MAX_WORDS];
    const size_t n = PFC_MIN(pfc_span_words(line, words, MAX_WORDS), (size_t)MAX_WORDS);

    for (size_t i = 2; i < n && r->units_len < MAX_UNITS; i++) {
        if (pfc_span_is(words[i], "better=higher") || pfc_span_is(words[i], "better=lower"))
            r->units[r->units_len++] =
                (own_unit){ pfc_span_dup(words[1]), pfc_span_is(words[i], "better=higher") };
    }
}

static void metric_of(const reader *r, const char *unit, pfc_import_key *key, double *scale)
{
    static const struct {
        const char *unit;
        const char *metric;
        const char *ours;
        bool higher;
    } known[] = { { "ns/op", "time_ns", "ns", false },
                  { "B/op", "bytes_per_op", "bytes", false },
                  { "allocs/op", "allocs_per_op", "allocs", false },
                  { "MB/s", "throughput_mbps", "MB/s", true } };
    const own_unit *own = find_unit(r, unit);

    *scale = 1.0;
    key->metric = unit;
    key->unit = unit;
    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++) {
        if (strcmp(unit, known[i].unit) != 0)
            continue;
        key->metric = known[i].metric;
        key->unit = known[i].ours;
        key->has_direction = true;
        key->higher_is_better = known[i].higher;
    }
    if (own) {
        key->has_direction = true;
        key->higher_is_better = own->higher;
    }
}

static pfc_code read_result(reader *r, pfc_span line)
{
    pfc_span words[MAX_WORDS];
    const size_t n = PFC_MIN(pfc_span_words(line, words, MAX_WORDS), (size_t)MAX_WORDS);
    char *name = pfc_span_dup(words[0]);
    char *full = r->package ? pfc_format("%s.%s", r->package, name) : pfc_strdup(name);
    pfc_code code = PFC_OK;

    for (size_t i = 2; i + 1 < n && !code; i += 2) {
        char *unit = pfc_span_dup(words[i + 1]);
        pfc_import_key key = { .benchmark = full };
        double scale = 1.0;
        double value = 0.0;
        const pfc_number_kind kind = pfc_span_number(words[i], &value);

        metric_of(r, unit, &key, &scale);
        if (kind == PFC_NUMBER)
            code = pfc_import_sample(r->in, &key, value * scale);
        else if (kind == PFC_NUMBER_NONE)
            code = pfc_import_failed(r->in, &key, PFC_STATUS_SKIPPED,
                                     "the value is not a finite number");
        else
            i = n; /* not a value with its unit: the rest of the row is a log line */
        free(unit);
    }
    free(name);
    free(full);
    return code;
}

/* "--- FAIL: BenchmarkX" and "--- SKIP: BenchmarkX". */
static pfc_code read_mark(reader *r, pfc_span line)
{
    const bool failed = pfc_span_starts(line, "--- FAIL: Benchmark");
    pfc_span word;
    pfc_span rest = line;
    char *name;
    char *full;
    pfc_code code;

    if (!failed && !pfc_span_starts(line, "--- SKIP: Benchmark"))
        return PFC_OK;
    rest.text += 10;
    rest.len -= 10;
    (void)pfc_span_word(&rest, &word);
    name = pfc_span_dup(word);
    full = r->package ? pfc_format("%s.%s", r->package, name) : pfc_strdup(name);
    const pfc_import_key key = { full, "time_ns", "ns", true, false, NULL };
    code = pfc_import_failed(r->in, &key, failed ? PFC_STATUS_BROKEN : PFC_STATUS_SKIPPED,
                             failed ? "the benchmark failed" : "the benchmark was skipped");
    free(name);
    free(full);
    return code;
}

static pfc_code read_line(reader *r, pfc_span line)
{
    if (pfc_span_starts(line, "pkg:")) {
        free(r->package);
        r->package = pfc_span_dup(pfc_span_trim((pfc_span){ line.text + 4, line.len - 4 }));
        return PFC_OK;
    }
    if (pfc_span_starts(line, "Unit ")) {
        read_unit(r, line);
        return PFC_OK;
    }
    if (pfc_span_starts(line, "---"))
        return read_mark(r, line);
    return line.len > 0 && is_result(line) ? read_result(r, line) : PFC_OK;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    reader r = { .in = in };
    pfc_lines lines;
    pfc_span line;
    pfc_code code = PFC_OK;

    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line))
        code = read_line(&r, line);
    free(r.package);
    for (size_t i = 0; i < r.units_len; i++)
        free(r.units[i].name);
    return code;
}

/* ---- go test -json ---- */

static bool match_json(const json_t *doc)
{
    const json_t *first = json_array_get(doc, 0);

    return json_is_array(doc) && json_object_get(first, "Action") &&
           (json_object_get(first, "Package") || json_object_get(first, "Output"));
}

static pfc_code read_json(pfc_import *in, const json_t *doc)
{
    pfc_buf buf;
    pfc_code code;

    pfc_buf_init(&buf, PFC_IMPORT_MAX_JSON_BYTES);
    for (size_t i = 0; i < json_array_size(doc); i++) {
        const char *output = pfc_import_string(json_array_get(doc, i), "Output");
        if (output)
            pfc_buf_puts(&buf, output);
    }
    code = read_text(in, pfc_buf_text(&buf), buf.len);
    pfc_buf_clear(&buf);
    return code;
}

const pfc_import_format pfc_import_go = { .name = "go",
                                          .match_json = match_json,
                                          .read_json = read_json,
                                          .match_text = match_text,
                                          .read_text = read_text };
