/*
 * nccl-tests and rccl-tests: the table that all_reduce_perf and its sisters print. A size (with
 * type, operation and root) is a benchmark; time, algorithm and bus bandwidth out of place and in
 * place are its metrics. Columns came and went over the years ("error" became "#wrong", root was
 * added), so they are bound by the header's words: what stands before the first "time" from the
 * left, the rest from the right, for some releases leave the operation's cell empty.
 */
#include <string.h>

#include "core/import/reader/reader.h"

enum { MAX_WORDS = 40 };

static bool is_header(pfc_span line, pfc_span *words, size_t *len)
{
    bool size = false;
    bool busbw = false;

    if (line.len == 0 || line.text[0] != '#')
        return false;
    line.text++;
    line.len--;
    *len = PFC_MIN(pfc_span_words(line, words, MAX_WORDS), (size_t)MAX_WORDS);
    for (size_t i = 0; i < *len; i++) {
        size |= pfc_span_is(words[i], "size") || pfc_span_is(words[i], "bytes");
        busbw |= pfc_span_is(words[i], "busbw");
    }
    return size && busbw;
}

/* Behind what `mpirun --tag-output` puts before a line: "[1,0]<stdout>:". */
static pfc_span untagged(pfc_span line)
{
    const size_t at = pfc_span_find(line, "<stdout>:");

    if (line.len == 0 || line.text[0] != '[' || at == line.len)
        return line;
    return (pfc_span){ line.text + at + 9, line.len - at - 9 };
}

static bool begins_table(pfc_span line)
{
    pfc_span words[MAX_WORDS];
    size_t n;

    return is_header(untagged(line), words, &n);
}

static bool match(const char *text, size_t len)
{
    return pfc_lines_any(text, len, 5000, begins_table);
}

typedef struct table {
    pfc_span names[MAX_WORDS];
    size_t names_len;
    size_t first; /* column of the first "time" */
    double time_ns;
    char collective[64];
} table;

static void name_benchmark(const table *t, const pfc_span *words, size_t shared, pfc_buf *buf)
{
    pfc_buf_reset(buf);
    pfc_buf_puts(buf, t->collective);
    for (size_t i = 2; i < shared; i++) { /* type, redop, root */
        if (pfc_span_is(words[i], "none") || pfc_span_is(words[i], "-1"))
            continue;
        pfc_buf_putc(buf, '/');
        if (i < t->first && pfc_span_is(t->names[i], "root"))
            pfc_buf_puts(buf, "root=");
        pfc_buf_append(buf, words[i].text, words[i].len);
    }
    pfc_buf_puts(buf, "/size=");
    pfc_buf_append(buf, words[0].text, words[0].len);
}

static pfc_code read_cell(pfc_import *in, const table *t, const char *benchmark, pfc_span column,
                          bool in_place, pfc_span cell)
{
    const bool time = pfc_span_is(column, "time") || pfc_span_is(column, "cputime");
    const bool algbw = pfc_span_is(column, "algbw");
    const bool wrong = pfc_span_is(column, "#wrong");
    pfc_import_key key = { .benchmark = benchmark, .has_direction = true };
    double value = 0.0;

    key.metric = in_place ? "inplace_time_ns" : "time_ns";
    key.unit = "ns";
    if (!time && !algbw && !wrong && !pfc_span_is(column, "busbw"))
        return PFC_OK;
    if (pfc_span_number(cell, &value) != PFC_NUMBER)
        return PFC_OK; /* N/A: the operation has no such form */
    if (wrong)
        return value > 0 ? pfc_import_failed(in, &key, PFC_STATUS_BROKEN, "wrong results") : PFC_OK;
    if (time)
        return pfc_import_sample(in, &key, value * t->time_ns);
    key.metric = algbw ? (in_place ? "inplace_algbw_gbps" : "algbw_gbps")
                       : (in_place ? "inplace_busbw_gbps" : "busbw_gbps");
    key.unit = "GB/s";
    key.higher_is_better = true;
    return pfc_import_sample(in, &key, value);
}

static pfc_code read_row(pfc_import *in, const table *t, pfc_span line, pfc_buf *buf)
{
    pfc_span words[MAX_WORDS];
    const size_t len = pfc_span_words(line, words, MAX_WORDS);
    const size_t tail = t->names_len - t->first;
    double size = 0.0;
    bool in_place = false;
    bool seen = false;
    pfc_code code = PFC_OK;

    if (len > MAX_WORDS || len < tail + 2 || len > t->names_len ||
        pfc_span_number(words[0], &size) != PFC_NUMBER)
        return PFC_OK; /* the library's own log among the rows */
    name_benchmark(t, words, len - tail, buf);
    for (size_t i = 0; i < tail && !code; i++) {
        const pfc_span column = t->names[t->first + i];
        if (pfc_span_is(column, "time") || pfc_span_is(column, "cputime")) {
            in_place = seen;
            seen = true;
        }
        code = read_cell(in, t, pfc_buf_text(buf), column, in_place, words[len - tail + i]);
    }
    return code;
}

/* "(us)" under "time"; old and new ones say so, too. */
static void read_units(table *t, pfc_span line)
{
    if (pfc_span_find(line, "(ms)") < line.len)
        t->time_ns = 1e6;
    else if (pfc_span_find(line, "(us)") < line.len)
        t->time_ns = 1e3;
}

static void read_comment(table *t, pfc_span line)
{
    static const char starting[] = "# Collective test starting: ";
    pfc_span name;

    if (pfc_span_starts(line, starting)) {
        name = pfc_span_trim(
            (pfc_span){ line.text + sizeof(starting) - 1, line.len - (sizeof(starting) - 1) });
        for (size_t i = name.len; i-- > 0;) {
            if (name.text[i] == '/') { /* a path: its last part */
                name = (pfc_span){ name.text + i + 1, name.len - i - 1 };
                break;
            }
        }
        if (name.len > 0 && name.len < sizeof(t->collective)) {
            memcpy(t->collective, name.text, name.len);
            t->collective[name.len] = '\0';
        }
    } else if (pfc_span_find(line, "(elements)") < line.len) {
        read_units(t, line);
    }
}

static pfc_code read_average(pfc_import *in, const table *t, pfc_span line)
{
    const pfc_import_key key = { t->collective, "avg_busbw_gbps", "GB/s", true, true, NULL };
    const size_t at = pfc_span_find(line, "Avg bus bandwidth");
    pfc_span rest = { line.text + at, line.len - at };
    const size_t colon = pfc_span_find(rest, ":");
    double value = 0.0;
    pfc_span word;

    if (at == line.len || colon == rest.len)
        return PFC_OK;
    rest.text += colon + 1;
    rest.len -= colon + 1;
    if (!pfc_span_word(&rest, &word) || pfc_span_number(word, &value) != PFC_NUMBER)
        return PFC_OK;
    return pfc_import_sample(in, &key, value);
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    table t = { .time_ns = 1e3 };
    pfc_span names[MAX_WORDS];
    size_t names_len = 0;
    pfc_lines lines;
    pfc_span line;
    pfc_buf buf;
    pfc_code code = PFC_OK;

    pfc_buf_init(&buf, PFC_WIRE_MAX_TEXT);
    pfc_buf_puts(&buf, pfc_import_nameless(in, "nccl"));
    strncpy(t.collective, pfc_buf_text(&buf), sizeof(t.collective) - 1);
    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line)) {
        line = untagged(line);
        if (is_header(line, names, &names_len)) {
            memcpy(t.names, names, sizeof(names));
            t.names_len = names_len;
            for (t.first = 0; t.first < t.names_len; t.first++) {
                if (pfc_span_is(t.names[t.first], "time") ||
                    pfc_span_is(t.names[t.first], "cputime"))
                    break;
            }
        } else if (line.len > 0 && line.text[0] == '#') {
            read_comment(&t, line);
            code = read_average(in, &t, line);
        } else if (t.names_len > t.first && t.first >= 2) {
            code = read_row(in, &t, line, &buf);
        }
    }
    pfc_buf_clear(&buf);
    return code;
}

const pfc_import_format pfc_import_nccl_tests = { .name = "nccl-tests",
                                                  .match_text = match,
                                                  .read_text = read_text };
