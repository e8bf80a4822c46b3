/*
 * LNT reports: version 2 ("tests" with a member a metric) and the older one ("Tests" with a name
 * that ends in the metric), and lines of TEST.METRIC VALUE. Times in s become ns. Hashes and
 * statuses are no measurements, but a status that is not 0 says that the test failed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static bool match(const json_t *doc)
{
    return (json_is_array(json_object_get(doc, "tests")) && json_object_get(doc, "machine") &&
            json_object_get(doc, "run")) ||
           (json_is_array(json_object_get(doc, "Tests")) && json_object_get(doc, "Machine"));
}

/* Metrics of LNT's own schemas (nts, compile); others are a project's own. */
static void metric_of(const char *name, pfc_import_key *key, double *scale)
{
    static const struct {
        const char *name;
        const char *metric;
        const char *unit;
        double scale;
        bool higher;
    } known[] = { { "execution_time", "execution_time_ns", "ns", 1e9, false },
                  { "compile_time", "compile_time_ns", "ns", 1e9, false },
                  { "exec", "execution_time_ns", "ns", 1e9, false },
                  { "compile", "compile_time_ns", "ns", 1e9, false },
                  { "exec_time", "execution_time_ns", "ns", 1e9, false },
                  { "user_time", "user_time_ns", "ns", 1e9, false },
                  { "sys_time", "sys_time_ns", "ns", 1e9, false },
                  { "wall_time", "wall_time_ns", "ns", 1e9, false },
                  { "user", "user_time_ns", "ns", 1e9, false },
                  { "sys", "sys_time_ns", "ns", 1e9, false },
                  { "wall", "wall_time_ns", "ns", 1e9, false },
                  { "link_time", "link_time_ns", "ns", 1e9, false },
                  { "score", "score", "", 1, true },
                  { "mem_bytes", "mem_bytes", "bytes", 1, false },
                  { "mem", "mem_bytes", "bytes", 1, false },
                  { "code_size", "code_size_bytes", "bytes", 1, false },
                  { "size", "code_size_bytes", "bytes", 1, false } };

    *scale = 1.0;
    key->metric = name;
    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        key->metric = known[i].metric;
        key->unit = known[i].unit;
        key->has_direction = true;
        key->higher_is_better = known[i].higher;
        *scale = known[i].scale;
    }
}

static pfc_code read_values(pfc_import *in, const char *benchmark, const char *name,
                            const json_t *values)
{
    pfc_import_key key = { .benchmark = benchmark };
    const size_t len = json_is_array(values) ? json_array_size(values) : 1;
    double scale = 1.0;
    pfc_code code = PFC_OK;

    metric_of(name, &key, &scale);
    for (size_t i = 0; i < len && !code; i++) {
        const json_t *v = json_is_array(values) ? json_array_get(values, i) : values;
        code = pfc_import_sample(in, &key, scale * pfc_import_json_number(v));
    }
    return code;
}

static bool ends(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_values(const json_t *v)
{
    return json_is_number(v) || json_is_null(v) ||
           (json_is_array(v) && json_array_size(v) > 0 && !json_is_string(json_array_get(v, 0)));
}

static pfc_code read_test(pfc_import *in, const json_t *test, const pfc_json_at *at)
{
    const char *name = pfc_import_string(test, "name");
    pfc_code code = PFC_OK;

    if (!name || !*name)
        return pfc_json_fault(at, "name", in->err, "expected the test's name");
    for (PFC_JSON_EACH(it, test)) {
        const char *key = json_object_iter_key(it);
        const json_t *v = json_object_iter_value(it);
        if (code || ends(key, "hash") || ends(key, "status") || strcmp(key, "profile") == 0 ||
            !*key || !is_values(v))
            continue;
        code = read_values(in, name, key, v);
    }
    for (PFC_JSON_EACH(it, test)) {
        const char *key = json_object_iter_key(it);
        const double status = pfc_import_json_number(json_object_iter_value(it));
        char *base;
        if (code || !ends(key, "_status") || !(status > 0) || status > 1.5)
            continue; /* 2: it failed as expected */
        base = pfc_format("%.*s_time", (int)(strlen(key) - 7), key);
        pfc_import_key failed = { .benchmark = name };
        double scale = 1.0;
        metric_of(base, &failed, &scale);
        code = pfc_import_failed(in, &failed, PFC_STATUS_BROKEN, "LNT says that it failed");
        free(base);
    }
    return code;
}

/* "nts.SingleSource/foo.exec" of the suite nts (the run's tag): the metric is the last part. A
 * ".exec.status" of 1 is a failure (0 passed, 2 failed as expected). */
static pfc_code read_old(pfc_import *in, const json_t *test, const char *suite,
                         const pfc_json_at *at)
{
    const char *name = pfc_import_string(test, "Name");
    const json_t *data = json_object_get(test, "Data");
    const size_t prefix = suite ? strlen(suite) : 0;
    const bool status = name && ends(name, ".status");
    char *benchmark;
    char *dot;
    pfc_code code;

    if (!name || !*name)
        return pfc_json_fault(at, "Name", in->err, "expected the test's name");
    if (!json_is_array(data) || ends(name, ".hash") || ends(name, ".profile"))
        return PFC_OK;
    if (prefix > 0 && strncmp(name, suite, prefix) == 0 && name[prefix] == '.' && name[prefix + 1])
        name += prefix + 1;
    benchmark = pfc_strdup(name);
    if (status)
        benchmark[strlen(name) - strlen(".status")] = '\0';
    dot = strrchr(benchmark, '.');
    if (dot && (dot == benchmark || !dot[1]))
        dot = NULL;
    if (dot)
        *dot = '\0';
    if (!status) {
        code = read_values(in, benchmark, dot ? dot + 1 : "value", data);
    } else {
        pfc_import_key failed = { .benchmark = benchmark };
        double scale = 1.0;
        metric_of(dot ? dot + 1 : "value", &failed, &scale);
        code = (int)pfc_import_json_number(json_array_get(data, 0)) != 1 || !*benchmark
                   ? PFC_OK
                   : pfc_import_failed(in, &failed, PFC_STATUS_BROKEN, "LNT says that it failed");
    }
    free(benchmark);
    return code;
}

static pfc_code read_doc(pfc_import *in, const json_t *doc)
{
    const json_t *tests = json_object_get(doc, "tests");
    const bool old = !json_is_array(tests);
    const json_t *list = old ? json_object_get(doc, "Tests") : tests;
    const pfc_json_at root = { .key = old ? "Tests" : "tests" };

    const json_t *info = json_object_get(json_object_get(doc, "Run"), "Info");

    pfc_import_commit(in, pfc_import_string(json_object_get(doc, "run"), "llvm_project_revision"));
    if (json_array_size(list) == 0)
        pfc_import_note(in, "the report has no tests");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        const json_t *test = json_array_get(list, i);
        const pfc_code code = old ? read_old(in, test, pfc_import_string(info, "tag"), &at)
                                  : read_test(in, test, &at);
        if (code)
            return code;
    }
    return PFC_OK;
}

/* ---- lines for `lnt importreport`: "foo.execution_time 10" ---- */

/* Of such a line the test, the metric and the value; false when it is none with a metric of LNT's.
 */
static bool text_line(pfc_span line, pfc_span *test, char metric[64], pfc_span *value)
{
    pfc_import_key key = { .metric = NULL };
    pfc_span words[3];
    size_t dot;
    double scale = 1.0;

    if (pfc_span_words(line, words, 3) != 2)
        return false;
    for (dot = words[0].len; dot > 0 && words[0].text[dot - 1] != '.'; dot--)
        continue;
    if (dot < 2 || words[0].len - dot >= 64 || dot == words[0].len)
        return false;
    memcpy(metric, words[0].text + dot, words[0].len - dot);
    metric[words[0].len - dot] = '\0';
    *test = (pfc_span){ words[0].text, dot - 1 };
    *value = words[1];
    metric_of(metric, &key, &scale);
    return key.unit != NULL || strcmp(metric, "hash") == 0 || strcmp(metric, "profile") == 0;
}

/* Every line is one, so that no log is taken for it. */
static bool match_text(const char *text, size_t len)
{
    pfc_lines lines;
    pfc_span line, test, value;
    char metric[64];
    size_t seen = 0;

    pfc_lines_init(&lines, text, len);
    while (seen < 100 && pfc_lines_next(&lines, &line)) {
        if (pfc_span_trim(line).len == 0)
            continue;
        if (!text_line(line, &test, metric, &value))
            return false;
        seen++;
    }
    return seen > 0;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    pfc_lines lines;
    pfc_span line, test, value;
    char metric[64];
    pfc_code code = PFC_OK;

    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line)) {
        pfc_import_key key = { .benchmark = NULL };
        double scale = 1.0;
        double x = 0.0;
        char *name;
        if (pfc_span_trim(line).len == 0)
            continue;
        if (!text_line(line, &test, metric, &value))
            return pfc_err_set(in->err, PFC_EINVAL, "line %zu: expected TEST.METRIC and a number",
                               lines.number);
        if (pfc_span_number(value, &x) != PFC_NUMBER)
            continue; /* a hash, a profile */
        name = pfc_span_dup(test);
        metric_of(metric, &key, &scale);
        key.benchmark = name;
        if (key.unit)
            code = pfc_import_sample(in, &key, x * scale);
        free(name);
    }
    return code;
}

const pfc_import_format pfc_import_lnt = { .name = "lnt",
                                           .match_json = match,
                                           .read_json = read_doc,
                                           .match_text = match_text,
                                           .read_text = read_text };
