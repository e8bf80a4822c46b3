/* Detects the format of a text and calls its reader. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/parse.h"
#include "core/import/reader/reader.h"

/* lines after a document that begin with a bracket and are tried as a further document */
enum { MAX_TALK = 100 };

/* In the order in which they are tried: the stricter a format, the earlier. Users' own CSV
 * and bare numbers accept the text that no other format recognises. */
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
    int direction; /* 1: higher is better, -1: lower is better, 0: unknown */
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
                       "JSON of no known benchmark format (expected a number, {\"value\": x}, "
                       "{\"metrics\": {...}}, or the output of one of the tools that "
                       "`perfci import --help` lists)");
}

static const pfc_import_format *format_of(const json_t *doc)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(formats); i++) {
        if (formats[i]->match_json && formats[i]->match_json(doc))
            return formats[i];
    }
    return NULL;
}

static pfc_code read_doc(pfc_import *in, const pfc_import_format *wanted, const json_t *doc)
{
    in->format = wanted ? wanted : format_of(doc);
    if (!in->format)
        return unknown_json(in);
    if (!in->format->read_json || (wanted && !wanted->match_json(doc)))
        return pfc_err_set(in->err, PFC_EINVAL, "the JSON is not of format %s", in->format->name);
    return in->format->read_json(in, doc);
}

/* JSON lines are read as one list where a format knows such lists, else each line is a document. */
static pfc_code read_lines(pfc_import *in, const pfc_import_format *wanted, const json_t *list)
{
    const pfc_import_opts opts = in->opts;
    const json_t *first = json_array_get(list, 0);
    const pfc_import_format *each = wanted ? wanted : format_of(first);
    pfc_code code = PFC_OK;

    if ((wanted ? wanted->match_json && wanted->match_json(list) : format_of(list) != NULL) ||
        !each || !each->match_json || !each->match_json(first) || each == &pfc_import_perfci)
        return read_doc(in, wanted, list);
    for (size_t i = 0; i < json_array_size(list) && !code; i++) {
        code = read_doc(in, each, json_array_get(list, i));
        in->opts = opts;
    }
    return code;
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

/* A JSON document after other output of the program: it starts at the first line that begins with a
 * bracket and from which the rest parses. */
static const char *find_json(const char *text, size_t len)
{
    pfc_lines lines;
    pfc_span line;

    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &line)) {
        const bool opens = line.len > 0 && (line.text[0] == '{' || line.text[0] == '[');
        const char second = line.len > 1 ? line.text[1] : '\n';
        /* "[1/3] building" and "[ 50%] Linking" are no documents. */
        if (opens && strchr("\n\" {[}]\t", second) &&
            (line.text[0] == '{' || pfc_span_find(line, "%]") == line.len))
            return line.text;
    }
    return NULL;
}

/* Documents behind the first: what several programs of one tool wrote, one after another. Other
 * text is what was said around them. */
static pfc_code read_more(pfc_import *in, const char *text, size_t len)
{
    /* a document may name its benchmark; the name must not apply to the next one */
    const pfc_import_opts opts = in->opts;
    const char *at = find_json(text, len);
    size_t talk = 0;
    pfc_code code = PFC_OK;

    while (at && !code && talk < MAX_TALK) {
        const size_t left = len - (size_t)(at - text);
        const size_t end = pfc_import_json_end(at, left);
        json_t *doc = NULL;

        if (end == 0 && at[0] == '{')
            return pfc_err_set(in->err, PFC_EINVAL,
                               "the JSON document behind the first has no end: is it cut off?");
        code = end ? pfc_import_json(at, end, &doc, at[0] == '{' ? in->err : NULL) : PFC_OK;
        if (code && at[0] == '[')
            code = PFC_OK;
        else if (!code && doc && in->format == &pfc_import_perfci)
            code = pfc_err_set(in->err, PFC_EINVAL, "expected one run document a file, got two");
        else if (!code && doc && in->format->match_json(doc)) {
            in->json = (pfc_span){ at, end };
            code = in->format->read_json(in, doc);
            in->json = (pfc_span){ "", 0 };
        } else if (!code && doc)
            pfc_import_note(in,
                            "a JSON document behind the first is not of format %s and is left out",
                            in->format->name);
        talk += doc == NULL;
        json_decref(doc);
        in->opts = opts;
        at += PFC_MAX(end, (size_t)1);
        at = find_json(at, len - (size_t)(at - text));
    }
    return code;
}

/* The next document behind other text on its line: "INFO result: {...}". NULL: none of the tries is
 * one of a known format. */
static json_t *next_inline(const char *text, size_t len, const pfc_import_format *wanted,
                           pfc_span *found)
{
    const char *at = text;
    const char *end = text + len;

    for (int tries = 0; tries < MAX_TALK && (at = memchr(at, '{', (size_t)(end - at))) != NULL;
         tries++, at++) {
        const size_t n = pfc_import_json_end(at, (size_t)(end - at));
        json_t *doc = NULL;

        if (n == 0 || pfc_import_json(at, n, &doc, NULL) != PFC_OK)
            continue;
        if (wanted ? wanted->match_json && wanted->match_json(doc) : format_of(doc) != NULL) {
            *found = (pfc_span){ at, n };
            return doc;
        }
        json_decref(doc);
    }
    return NULL;
}

/* All of them, of the first one's format. *any is left false when there is none. */
static pfc_code read_inline(pfc_import *in, const pfc_import_format *wanted, const char *text,
                            size_t len, bool *any)
{
    const pfc_import_opts opts = in->opts;
    const char *end = text + len;
    pfc_span found;
    json_t *doc;
    pfc_code code = PFC_OK;

    while (!code && (doc = next_inline(text, (size_t)(end - text), wanted, &found)) != NULL) {
        in->json = found;
        code = read_doc(in, wanted, doc);
        in->json = (pfc_span){ "", 0 };
        in->opts = opts;
        json_decref(doc);
        *any = true;
        wanted = in->format;
        text = found.text + found.len;
    }
    return code;
}

static pfc_code read_json(pfc_import *in, const pfc_import_format *wanted, const char *text,
                          size_t len)
{
    const pfc_import_opts opts = in->opts;
    const bool lines = is_json_lines(text, len);
    const size_t end = lines ? 0 : pfc_import_json_end(text, len);
    json_t *doc = NULL;
    pfc_code code = lines ? pfc_import_json_lines(text, len, &doc, in->err)
                          : pfc_import_json(text, end ? end : len, &doc, in->err);

    if (code)
        return code;
    in->json = lines ? (pfc_span){ "", 0 } : (pfc_span){ text, end ? end : len };
    code = lines ? read_lines(in, wanted, doc) : read_doc(in, wanted, doc);
    in->json = (pfc_span){ "", 0 };
    in->opts = opts;
    if (!code && end > 0)
        code = read_more(in, text + end, len - end);
    json_decref(doc);
    return code;
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
    if (!in->format || !in->format->read_text) {
        bool any = false;
        const pfc_code code = read_inline(in, wanted, text, len, &any);
        if (any)
            return code;
        in->format = wanted;
    }
    if (!in->format)
        in->format = &pfc_import_numbers;
    if (!in->format->read_text)
        return pfc_err_set(in->err, PFC_EINVAL,
                           "format %s: expected JSON, line 1 does not start any", in->format->name);
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
        return pfc_err_set(in->err, PFC_EINVAL, "expected benchmark results, got nothing");
    at += skip_assignment(text + at, len - at);
    if ((text[at] == '{' || text[at] == '[') && (!format || format->read_json)) {
        const char second = at + 1 < len ? text[at + 1] : '\0';
        json_t *doc = NULL;
        pfc_code code;

        /* "[1/3] building" and "[ 50%] done" are progress lines, "[1, 2]" is a document: only a
         * parser can distinguish them. */
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
    char *plain[3] = { NULL, NULL, NULL };
    pfc_code code;

    if (len > PFC_IMPORT_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "results of %zu bytes, at most %u are read", len,
                           PFC_IMPORT_MAX_BYTES);
    plain[0] = pfc_import_from_utf16(text, len, &len);
    text = plain[0] ? plain[0] : text;
    if (!pfc_is_utf8(text, len)) {
        free(plain[0]);
        return pfc_err_set(err, PFC_EINVAL, "results: expected UTF-8 text");
    }
    if (in.opts.unit)
        in.opts.unit = pfc_import_unit_spelled(in.opts.unit);
    plain[1] = pfc_import_without_escapes(text, len, &len);
    text = plain[1] ? plain[1] : text;
    plain[2] = pfc_import_without_stamps(text, len, &len);
    text = plain[2] ? plain[2] : text;
    in.run = pfc_run_new();
    code = read_any(&in, text, len);
    if (!code && in.done_len == 0 && in.run->measurements_len == 0 && !in.opts.allow_empty)
        code = pfc_err_set(in.err, PFC_EINVAL, "the results hold no benchmark");
    for (size_t i = 0; i < PFC_ARRAY_LEN(plain); i++)
        free(plain[i]);
    free(in.slots);
    in.slots = NULL;
    if (in.run->measurements_len > 0 || in.done_len == 0) {
        in.done = pfc_grow(in.done, in.done_len, &in.done_cap, sizeof(pfc_run *));
        in.done[in.done_len++] = in.run;
    } else {
        pfc_run_free(in.run);
    }
    if (!code && in.unknown_len > 0)
        code = pfc_import_require_directions(&in);
    free(in.unknown);
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

/* True for a benchmark's primary metric, where a format does not list it first. */
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
