/*
 * Catch2's benchmarks: the console reporter's table, and the XML reporter's elements. The test case
 * and the benchmark together are the name; the mean is the sample, for the tool keeps no others.
 *
 * A row of the table is three lines: name, samples, iterations and estimate; mean with its bounds;
 * standard deviation with its bounds. A long name takes several lines: either lines of its own
 * before the numbers, or the first column of the three lines. The first line of a row that ends in
 * three times holds the mean and its bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static const char header[] = "benchmark name";
static const char element[] = "<BenchmarkResults ";

static bool match(const char *text, size_t len)
{
    const pfc_span all = { text, len };
    const size_t at = pfc_span_find(all, header);

    if (pfc_span_find(all, element) < len)
        return true;
    return at < len && pfc_span_find((pfc_span){ text + at, PFC_MIN(len - at, (size_t)600) },
                                     "samples") < PFC_MIN(len - at, (size_t)600);
}

static pfc_code add(pfc_import *in, const char *test_case, const char *name, double mean_ns,
                    double low_ns, double high_ns)
{
    char *full = *test_case ? pfc_format("%s/%s", test_case, name) : pfc_strdup(name);
    const pfc_import_key key = { full, "time_ns", "ns", true, false, NULL };
    pfc_code code = pfc_import_sample(in, &key, mean_ns);
    pfc_measurement *m = code ? NULL : pfc_import_measurement(in, &key);

    if (m && low_ns <= high_ns) {
        pfc_import_extra(m, "mean_low", low_ns);
        pfc_import_extra(m, "mean_high", high_ns);
    }
    free(full);
    return code;
}

/* ---- the table ---- */

enum { MAX_WORDS = 64 };

static bool is_rule(pfc_span line, char of)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.text[i] != of)
            return false;
    }
    return line.len >= 10;
}

/* The last `n` quantities of a line ("344 ns  341 ns  349 ns"); what is before them is the rest. */
static bool trailing_times(pfc_span line, size_t n, double *ns, pfc_span *rest)
{
    pfc_span words[MAX_WORDS];
    const size_t len = pfc_span_words(line, words, MAX_WORDS);

    if (len > MAX_WORDS || len < 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const pfc_span value = words[len - 2 * n + 2 * i];
        char *unit = pfc_span_dup(words[len - 2 * n + 2 * i + 1]);
        const double scale = pfc_import_unit_ns(unit);
        free(unit);
        if (!(scale > 0) || pfc_span_number(value, &ns[i]) != PFC_NUMBER)
            return false;
        ns[i] *= scale;
    }
    *rest = pfc_span_trim((pfc_span){ line.text, (size_t)(words[len - 2 * n].text - line.text) });
    return true;
}

/* Cuts a whole number off the end. */
static bool trailing_count(pfc_span *line)
{
    size_t n = 0;

    while (n < line->len && line->text[line->len - 1 - n] >= '0' &&
           line->text[line->len - 1 - n] <= '9')
        n++;
    if (n == 0 || (n < line->len && line->text[line->len - 1 - n] != ' '))
        return false;
    line->len -= n;
    *line = pfc_span_trim(*line);
    return true;
}

typedef struct table {
    pfc_import *in;
    pfc_buf test_case; /* the names between two rules */
    pfc_buf name;      /* of the benchmark; its lines joined */
    bool between;      /* the rule that opens a heading was seen */
    bool titles;       /* the table's titles were seen */
    bool in_table;
    bool complete;  /* the samples and iterations were seen */
    size_t triples; /* lines of three times behind them: the mean, the deviation */
    double mean[3]; /* with its bounds, ns */
} table;

static void append_line(pfc_buf *buf, pfc_span text)
{
    if (text.len == 0)
        return;
    if (buf->len)
        pfc_buf_putc(buf, ' ');
    pfc_buf_append(buf, text.text, text.len);
}

/* The row that ends here, if it has a mean. Its name is whole only now. */
static pfc_code end_row(table *t)
{
    pfc_code code = PFC_OK;

    if (t->complete && t->triples > 0 && t->name.len)
        code = add(t->in, pfc_buf_text(&t->test_case), pfc_buf_text(&t->name), t->mean[0],
                   t->mean[1], t->mean[2]);
    pfc_buf_reset(&t->name);
    t->complete = false;
    t->triples = 0;
    return code;
}

static pfc_code read_row(table *t, pfc_span line)
{
    double ns[3];
    pfc_span rest;
    const pfc_span body = pfc_span_trim(line);
    pfc_code code = PFC_OK;

    if (body.len == 0)
        return end_row(t);
    if (t->complete && t->triples < 2) {
        if (trailing_times(body, 3, ns, &rest)) {
            if (t->triples == 0)
                memcpy(t->mean, ns, sizeof(ns));
            t->triples++;
            append_line(&t->name, rest);
        }
        return PFC_OK;
    }
    if (t->complete)
        code = end_row(t);
    if (trailing_times(body, 1, ns, &rest) && trailing_count(&rest) && trailing_count(&rest)) {
        append_line(&t->name, rest);
        t->complete = true;
    } else {
        append_line(&t->name, body);
    }
    return code;
}

static pfc_code read_line(table *t, pfc_span line)
{
    const pfc_span body = pfc_span_trim(line);
    pfc_code code = PFC_OK;

    if (pfc_span_starts(body, header)) {
        code = end_row(t);
        t->in_table = false;
        t->between = false;
        t->titles = true; /* two more lines of them, up to the rule */
    } else if (is_rule(body, '-')) {
        code = end_row(t);
        if (t->titles && t->test_case.len) {
            t->in_table = true;
        } else {
            if (!t->between)
                pfc_buf_reset(&t->test_case);
            t->between = !t->between;
            t->in_table = false;
        }
        t->titles = false;
    } else if (is_rule(body, '=') || is_rule(body, '~')) {
        code = end_row(t);
        t->in_table = t->between = t->titles = false;
    } else if (t->in_table) {
        return read_row(t, line);
    } else if (t->between && body.len) {
        append_line(&t->test_case, body);
    }
    return code;
}

static pfc_code read_table(pfc_import *in, const char *text, size_t len)
{
    table t = { .in = in };
    pfc_lines lines;
    pfc_span line;
    pfc_code code = PFC_OK;

    pfc_buf_init(&t.test_case, PFC_WIRE_MAX_TEXT);
    pfc_buf_init(&t.name, PFC_WIRE_MAX_TEXT);
    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line))
        code = read_line(&t, line);
    if (!code)
        code = end_row(&t);
    pfc_buf_clear(&t.test_case);
    pfc_buf_clear(&t.name);
    return code;
}

/* ---- XML ---- */

/* Value of an attribute in a tag, its five entities read; caller frees, NULL: absent. */
static char *attribute(pfc_span tag, const char *name)
{
    static const struct {
        const char *entity;
        char c;
    } entities[] = {
        { "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' }
    };
    char *key = pfc_format(" %s=\"", name);
    const size_t at = pfc_span_find(tag, key);
    const size_t from = at + strlen(key);
    pfc_span value;
    char *out;
    size_t n = 0;

    free(key);
    if (at == tag.len || from > tag.len)
        return NULL;
    value = (pfc_span){ tag.text + from, tag.len - from };
    value.len = pfc_span_find(value, "\"");
    out = pfc_alloc(value.len + 1);
    for (size_t i = 0; i < value.len; i++) {
        size_t step = 1;
        out[n] = value.text[i];
        for (size_t e = 0; value.text[i] == '&' && e < PFC_ARRAY_LEN(entities); e++) {
            if (pfc_span_starts((pfc_span){ value.text + i, value.len - i }, entities[e].entity)) {
                out[n] = entities[e].c;
                step = strlen(entities[e].entity);
            }
        }
        i += step - 1;
        n++;
    }
    out[n] = '\0';
    return out;
}

static bool number_attribute(pfc_span tag, const char *name, double *out)
{
    char *text = attribute(tag, name);
    const bool ok = text && pfc_span_number((pfc_span){ text, strlen(text) }, out) == PFC_NUMBER;

    free(text);
    return ok;
}

enum { MAX_SECTIONS = 32 };

typedef struct xml {
    pfc_import *in;
    pfc_buf path; /* the test case and its sections, as the console writes them in one heading */
    size_t ends[MAX_SECTIONS]; /* lengths of the path before each open section */
    size_t depth;
    char *name; /* of the benchmark; NULL: none is open */
} xml;

static void open_section(xml *x, pfc_span tag)
{
    char *name = attribute(tag, "name");

    if (x->depth < MAX_SECTIONS)
        x->ends[x->depth] = x->path.len;
    x->depth++;
    if (name && x->depth <= MAX_SECTIONS)
        append_line(&x->path, (pfc_span){ name, strlen(name) });
    free(name);
}

static void close_section(xml *x)
{
    if (x->depth == 0)
        return;
    x->depth--;
    if (x->depth < MAX_SECTIONS) {
        char *path = pfc_strndup(pfc_buf_text(&x->path), PFC_MIN(x->ends[x->depth], x->path.len));
        pfc_buf_reset(&x->path);
        pfc_buf_puts(&x->path, path);
        free(path);
    }
}

static pfc_code failed(xml *x, pfc_span tag)
{
    const char *path = pfc_buf_text(&x->path);
    char *full = *path ? pfc_format("%s/%s", path, x->name) : pfc_strdup(x->name);
    char *why = attribute(tag, "message");
    const pfc_import_key key = { full, "time_ns", "ns", true, false, NULL };
    const pfc_code code = pfc_import_failed(x->in, &key, PFC_STATUS_BROKEN, why);

    free(full);
    free(why);
    return code;
}

static pfc_code read_tag(xml *x, pfc_span tag)
{
    double mean = 0.0;
    double low = 1.0;
    double high = 0.0;
    pfc_code code = PFC_OK;

    if (pfc_span_starts(tag, "<TestCase ")) {
        pfc_buf_reset(&x->path);
        x->depth = 0;
        open_section(x, tag);
    } else if (pfc_span_starts(tag, "<Section ")) {
        open_section(x, tag);
    } else if (pfc_span_is(tag, "</Section")) {
        close_section(x);
    } else if (pfc_span_starts(tag, element)) {
        free(x->name);
        x->name = attribute(tag, "name");
    } else if (x->name && *x->name && pfc_span_starts(tag, "<failed ")) {
        code = failed(x, tag);
    } else if (x->name && pfc_span_starts(tag, "<mean ") && number_attribute(tag, "value", &mean)) {
        if (!number_attribute(tag, "lowerBound", &low) ||
            !number_attribute(tag, "upperBound", &high))
            low = 1.0, high = 0.0;
        if (*x->name)
            code = add(x->in, pfc_buf_text(&x->path), x->name, mean, low, high);
        free(x->name);
        x->name = NULL;
    }
    return code;
}

static pfc_code read_xml(pfc_import *in, const char *text, size_t len)
{
    const char *at = text;
    const char *end = text + len;
    xml x = { .in = in };
    pfc_code code = PFC_OK;

    pfc_buf_init(&x.path, PFC_WIRE_MAX_TEXT);
    while (!code && (at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        const char *close = memchr(at, '>', (size_t)(end - at));
        if (!close)
            break;
        code = read_tag(&x, (pfc_span){ at, (size_t)(close - at) });
        at = close;
    }
    pfc_buf_clear(&x.path);
    free(x.name);
    return code;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    if (pfc_span_find((pfc_span){ text, len }, element) < len)
        return read_xml(in, text, len);
    return read_table(in, text, len);
}

const pfc_import_format pfc_import_catch2 = { .name = "catch2",
                                              .match_text = match,
                                              .read_text = read_text };
