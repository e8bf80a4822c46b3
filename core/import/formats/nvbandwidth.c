/*
 * NVIDIA's nvbandwidth: a matrix of pairs a test, under a line that says what it is and in which
 * unit. Each cell is a measurement of the test, "row->column"; the tool's sum is its headline.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

enum { MAX_WORDS = 130 }; /* a matrix of 128 devices */

static bool match(const char *text, size_t len)
{
    const pfc_span head = { text, PFC_MIN(len, (size_t)65536) };

    return pfc_span_find(head, "nvbandwidth Version") < head.len ||
           (pfc_span_find(head, "Running ") < head.len && pfc_span_find(head, "\nSUM ") < head.len);
}

typedef struct reader {
    pfc_import *in;
    char *test;
    char *unit;
    bool higher;
    pfc_span columns[MAX_WORDS];
    size_t columns_len;
} reader;

static pfc_code add(const reader *r, const char *benchmark, pfc_span cell)
{
    const bool latency = !r->higher;
    double scale = 1.0;
    const char *unit = pfc_import_unit_time(r->unit ? r->unit : "", &scale);
    const pfc_import_key key = { benchmark, latency ? "latency_ns" : "bandwidth_gbps",
                                 unit,      true,
                                 r->higher, NULL };
    double value = 0.0;

    if (pfc_span_number(cell, &value) != PFC_NUMBER)
        return PFC_OK; /* N/A on the diagonal */
    return pfc_import_sample(r->in, &key, value * scale);
}

/* "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)" */
static void read_title(reader *r, pfc_span line)
{
    size_t open = line.len;

    while (open > 0 && line.text[open - 1] != '(')
        open--;
    free(r->unit);
    r->unit = pfc_span_dup((pfc_span){ line.text + open, line.len - open - 1 });
    r->higher = pfc_span_find(line, "latency") == line.len;
    r->columns_len = 0;
}

static pfc_code read_row(const reader *r, const pfc_span *words, size_t n)
{
    pfc_code code = PFC_OK;

    for (size_t i = 1; i < n && i <= r->columns_len && !code; i++) {
        char *name = pfc_format("%s/%.*s->%.*s", r->test, (int)words[0].len, words[0].text,
                                (int)r->columns[i - 1].len, r->columns[i - 1].text);
        code = add(r, name, words[i]);
        free(name);
    }
    return code;
}

static bool is_whole(pfc_span word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (word.text[i] < '0' || word.text[i] > '9')
            return false;
    }
    return word.len > 0 && word.len < 6;
}

static pfc_code read_line(reader *r, pfc_span line)
{
    pfc_span words[MAX_WORDS];
    const size_t n = PFC_MIN(pfc_span_words(line, words, MAX_WORDS), (size_t)MAX_WORDS);

    if (n == 2 && pfc_span_is(words[0], "Running")) {
        free(r->test);
        r->test =
            pfc_strndup(words[1].text, words[1].len - (words[1].text[words[1].len - 1] == '.'));
        r->columns_len = 0;
    } else if (!r->test || !*r->test) {
        return PFC_OK;
    } else if (line.text[line.len - 1] == ')' && pfc_span_find(line, "(row)") < line.len) {
        read_title(r, line);
    } else if (n == 3 && pfc_span_is(words[0], "SUM")) {
        return r->unit ? add(r, r->test, words[2]) : PFC_OK;
    } else if (n >= 2 && is_whole(words[0]) && r->columns_len) {
        return read_row(r, words, n);
    } else if (n >= 1 && is_whole(words[0]) && is_whole(words[n - 1])) {
        memcpy(r->columns, words, sizeof(words));
        r->columns_len = n;
    }
    return PFC_OK;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    reader r = { .in = in };
    pfc_lines lines;
    pfc_span line;
    pfc_code code = PFC_OK;

    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line)) {
        line = pfc_span_trim(line);
        if (line.len > 0)
            code = read_line(&r, line);
    }
    free(r.test);
    free(r.unit);
    return code;
}

const pfc_import_format pfc_import_nvbandwidth = { .name = "nvbandwidth",
                                                   .match_text = match,
                                                   .read_text = read_text };
