/* Finds the format. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/parse.h"
#include "core/import/reader.h"

/* In the order in which they are tried: the more a format insists on, the earlier. CSV of one's own
 * and bare numbers take what nobody else knew. */
static const pfc_import_format *const formats[] = {
    &pfc_import_perfci,
    &pfc_import_google_benchmark,
    &pfc_import_pytest_benchmark,
    &pfc_import_nvbench,
    &pfc_import_ncu,
    &pfc_import_rocprof,
    &pfc_import_nccl_tests,
    &pfc_import_cutlass,
    &pfc_import_hyperfine,
    &pfc_import_criterion,
    &pfc_import_asv,
    &pfc_import_conbench,
    &pfc_import_jmh,
    &pfc_import_lnt,
    &pfc_import_github_action,
    &pfc_import_go,
    &pfc_import_catch2,
    &pfc_import_nvbandwidth,
    &pfc_import_otava,
    &pfc_import_triton,
    &pfc_import_csv,
    &pfc_import_numbers,
    &pfc_import_bmf,
};

/* Other words for a format; those of github-action-benchmark carry a direction, too. */
static const struct {
    const char *name;
    const char *format;
    int direction; /* 1 higher is better, -1 lower, 0 not said */
} aliases[] = { { "customBiggerIsBetter", "github-action", 1 },
                { "customSmallerIsBetter", "github-action", -1 },
                { "github-action-benchmark", "github-action", 0 },
                { "googlecpp", "google-benchmark", 0 },
                { "pytest", "pytest-benchmark", 0 },
                { "bencher", "bmf", 0 },
                { "rocprofv3", "rocprof", 0 },
                { "nccl", "nccl-tests", 0 },
                { "cargo", "criterion", 0 },
                { "criterion-rs", "criterion", 0 },
                { "json", "numbers", 0 } };

const char *const *pfc_import_formats(void)
{
    static const char *const names[] = { "perfci",
                                         "google-benchmark",
                                         "pytest-benchmark",
                                         "nvbench",
                                         "ncu",
                                         "rocprof",
                                         "nccl-tests",
                                         "cutlass",
                                         "hyperfine",
                                         "criterion",
                                         "asv",
                                         "conbench",
                                         "jmh",
                                         "lnt",
                                         "github-action",
                                         "go",
                                         "catch2",
                                         "nvbandwidth",
                                         "otava",
                                         "triton",
                                         "csv",
                                         "numbers",
                                         "bmf",
                                         NULL };

    _Static_assert(PFC_ARRAY_LEN(names) == PFC_ARRAY_LEN(formats) + 1, "a name a format");
    return names;
}

static const pfc_import_format *find_format(pfc_import *in, const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(aliases); i++) {
        if (strcmp(aliases[i].name, name) != 0)
            continue;
        name = aliases[i].format;
        if (aliases[i].direction && !in->opts.has_direction) {
            in->opts.has_direction = true;
            in->opts.higher_is_better = aliases[i].direction > 0;
        }
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(formats); i++) {
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    }
    return NULL;
}

static void list_formats(pfc_buf *buf)
{
    pfc_buf_init(buf, 1024);
    for (size_t i = 0; i < PFC_ARRAY_LEN(formats); i++)
        pfc_buf_printf(buf, "%s%s", i ? ", " : "", formats[i]->name);
}

static pfc_code unknown_json(pfc_import *in)
{
    return pfc_err_set(in->err, PFC_EINVAL,
                       "JSON of no known benchmark format (want a number, {\"value\": x}, "
                       "{\"metrics\": {...}}, or the output of one of the tools that "
                       "`perfci import --help` lists)");
}

static pfc_code read_doc(pfc_import *in, const pfc_import_format *wanted, const json_t *doc)
{
    in->format = wanted;
    for (size_t i = 0; !in->format && i < PFC_ARRAY_LEN(formats); i++) {
        if (formats[i]->match_json && formats[i]->match_json(doc))
            in->format = formats[i];
    }
    if (!in->format)
        return unknown_json(in);
    if (!in->format->read_json || (wanted && !wanted->match_json(doc)))
        return pfc_err_set(in->err, PFC_EINVAL, "the JSON is not of format %s", in->format->name);
    return in->format->read_json(in, doc);
}

/* True when the text is several JSON values, one a line. */
static bool is_json_lines(const char *text, size_t len)
{
    pfc_lines lines;
    pfc_span line;
    size_t n = 0;

    pfc_lines_init(&lines, text, len);
    while (n < 2 && pfc_lines_next(&lines, &line)) {
        line = pfc_span_trim(line);
        if (line.len == 0)
            continue;
        if (line.text[0] != '{' || line.text[line.len - 1] != '}')
            return false;
        n++;
    }
    return n == 2;
}

static pfc_code read_json(pfc_import *in, const pfc_import_format *wanted, const char *text,
                          size_t len)
{
    json_t *doc = NULL;
    pfc_code code = is_json_lines(text, len) ? pfc_import_json_lines(text, len, &doc, in->err)
                                             : pfc_import_json(text, len, &doc, in->err);

    if (code)
        return code;
    code = read_doc(in, wanted, doc);
    json_decref(doc);
    return code;
}

/* Words for a terminal in captured output: escape sequences are cut. NULL: there are none. */
static char *cut_escapes(const char *text, size_t len, size_t *out_len)
{
    char *out;
    size_t n = 0;

    if (!memchr(text, 0x1b, len))
        return NULL;
    out = pfc_alloc(len + 1);
    for (size_t i = 0; i < len; i++) {
        if (text[i] != 0x1b) {
            out[n++] = text[i];
            continue;
        }
        if (i + 1 < len && text[i + 1] == '[') {
            i += 2;
            while (i < len && !(text[i] >= 0x40 && text[i] <= 0x7e))
                i++;
        }
    }
    *out_len = n;
    return out;
}

/* A JSON document behind what the program said before: the first line that begins with a bracket
 * and from which the rest parses. */
static const char *find_json(const char *text, size_t len)
{
    pfc_lines lines;
    pfc_span line;

    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &line)) {
        const bool opens = line.len > 0 && (line.text[0] == '{' || line.text[0] == '[');
        const char second = line.len > 1 ? line.text[1] : '\n';
        /* "[1/3] building" is no document. */
        if (opens && strchr("\n\" {[}]\t", second))
            return line.text;
    }
    return NULL;
}

static pfc_code read_plain(pfc_import *in, const pfc_import_format *wanted, const char *text,
                           size_t len)
{
    const char *json;

    in->format = wanted;
    for (size_t i = 0; !in->format && i < PFC_ARRAY_LEN(formats); i++) {
        if (formats[i]->match_text && formats[i]->match_text(text, len))
            in->format = formats[i];
    }
    json = in->format && in->format->read_text ? NULL : find_json(text, len);
    if (json)
        return read_json(in, wanted, json, len - (size_t)(json - text));
    if (!in->format)
        in->format = &pfc_import_numbers;
    if (!in->format->read_text)
        return pfc_err_set(in->err, PFC_EINVAL, "format %s: want JSON, line 1 does not start any",
                           in->format->name);
    return in->format->read_text(in, text, len);
}

/* "window.BENCHMARK_DATA = {...}": the page data of github-action-benchmark is JSON behind that. */
static size_t skip_assignment(const char *text, size_t len)
{
    static const char name[] = "window.BENCHMARK_DATA";
    const char *brace;

    if (len < sizeof(name) || memcmp(text, name, sizeof(name) - 1) != 0)
        return 0;
    brace = memchr(text, '{', len);
    return brace ? (size_t)(brace - text) : 0;
}

static pfc_code read_any(pfc_import *in, const char *text, size_t len)
{
    const char *name = in->opts.format;
    const pfc_import_format *format = in->opts.map ? &pfc_import_csv : NULL;
    size_t start = 0;
    size_t at;

    if (name && strcmp(name, "auto") != 0) {
        format = find_format(in, name);
        if (!format) {
            pfc_buf known;
            pfc_code code;
            list_formats(&known);
            code = pfc_err_set(in->err, PFC_EINVAL, "unknown format '%.60s' (known: auto, %s)",
                               name, pfc_buf_text(&known));
            pfc_buf_clear(&known);
            return code;
        }
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* byte-order mark */
        start = 3;
    at = start;
    while (at < len && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at == len)
        return pfc_err_set(in->err, PFC_EINVAL, "want benchmark results, got nothing");
    at += skip_assignment(text + at, len - at);
    if ((text[at] == '{' || text[at] == '[') && (!format || format->read_json)) {
        const char second = at + 1 < len ? text[at + 1] : '\0';
        json_t *doc = NULL;
        pfc_code code;

        /* "[1/3] building" and "[ 50%] done" are talk, "[1, 2]" is a document: only parsing tells. */
        if (text[at] == '{' || !strchr("-0123456789 ", second) || second == '\0')
            return read_json(in, format, text + at, len - at);
        code = pfc_import_json(text + at, len - at, &doc, NULL);
        if (!code)
            code = read_doc(in, format, doc);
        else
            code = read_plain(in, format, text + start, len - start);
        json_decref(doc);
        return code;
    }
    return read_plain(in, format, text + start, len - start); /* lines count from the first */
}

pfc_code pfc_import_read(const pfc_import_opts *opts, const char *text, size_t len,
                         pfc_import_result *out, pfc_err *err)
{
    pfc_err local = { 0 };
    pfc_import in = { .opts = opts ? *opts : (pfc_import_opts){ 0 }, .err = err ? err : &local };
    char *plain = NULL;
    pfc_code code;

    if (len > PFC_IMPORT_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "results of %zu bytes, at most %u are read", len,
                           PFC_IMPORT_MAX_BYTES);
    if (!pfc_is_utf8(text, len))
        return pfc_err_set(err, PFC_EINVAL, "results: want UTF-8 text");
    if (in.opts.unit)
        in.opts.unit = pfc_import_unit_spelled(in.opts.unit);
    plain = cut_escapes(text, len, &len);
    in.run = pfc_run_new();
    code = read_any(&in, plain ? plain : text, len);
    if (!code && in.done_len == 0 && in.run->measurements_len == 0 && !in.opts.allow_empty)
        code = pfc_err_set(in.err, PFC_EINVAL, "the results hold no benchmark");
    free(plain);
    free(in.slots);
    if (in.run->measurements_len > 0 || in.done_len == 0) {
        in.done = pfc_grow(in.done, in.done_len, &in.done_cap, sizeof(pfc_run *));
        in.done[in.done_len++] = in.run;
    } else {
        pfc_run_free(in.run);
    }
    pfc_import_result result = { .format = in.format ? in.format->name : "",
                                 .runs = in.done,
                                 .runs_len = in.done_len,
                                 .has_points = in.point > 0,
                                 .notes = in.notes,
                                 .notes_len = in.notes_len };
    if (code)
        pfc_import_result_clear(&result);
    else
        *out = result;
    return code;
}

void pfc_import_result_clear(pfc_import_result *result)
{
    for (size_t i = 0; i < result->runs_len; i++)
        pfc_run_free(result->runs[i]);
    for (size_t i = 0; i < result->notes_len; i++)
        free(result->notes[i]);
    free(result->runs);
    free(result->notes);
    *result = (pfc_import_result){ 0 };
}

pfc_code pfc_import_text(const pfc_import_opts *opts, const char *text, size_t len, pfc_run **out,
                         pfc_err *err)
{
    pfc_import_opts own = opts ? *opts : (pfc_import_opts){ 0 };
    pfc_import_result result = { 0 };
    pfc_code code;

    own.split = false;
    own.allow_empty = false;
    code = pfc_import_read(&own, text, len, &result, err);
    if (code)
        return code;
    *out = result.runs[0];
    result.runs[0] = NULL;
    pfc_import_result_clear(&result);
    return PFC_OK;
}

/* What a benchmark is about, where a format does not put it first. */
static bool is_headline(const char *metric)
{
    static const char *const names[] = { "time_ns",    "gpu_time_ns",           "Duration",
                                         "throughput", "execution_time_ns",     "cpu_time_ns",
                                         "latency",    "gpu__time_duration.sum" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        if (strcmp(metric, names[i]) == 0)
            return true;
    }
    return false;
}

static bool same_benchmark(const pfc_measurement *a, const pfc_measurement *b)
{
    return strcmp(a->benchmark, b->benchmark) == 0 && strcmp(a->backend, b->backend) == 0;
}

bool pfc_import_is_primary(const pfc_run *run, size_t i)
{
    const pfc_measurement *m = run->measurements;
    size_t from = i;
    size_t best;

    while (from > 0 && same_benchmark(&m[from - 1], &m[i]))
        from--;
    best = from;
    for (size_t k = from; k < run->measurements_len && same_benchmark(&m[k], &m[i]); k++) {
        if (is_headline(m[k].metric)) {
            best = k;
            break;
        }
    }
    return best == i;
}
