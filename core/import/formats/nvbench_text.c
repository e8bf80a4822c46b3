/*
 * NVBench's other two forms: --csv, and its default Markdown. Both are converted to the document
 * of its JSON format, so that one function reads all three. Markdown's numbers are rounded for
 * people.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static const char *const csv_names[] = { "Device Name", "Benchmark", "Device", "Skipped", NULL };
static const char results[] = "# Benchmark Results";

enum { MAX_CELLS = 128 };

static bool begins_results(pfc_span line)
{
    return pfc_span_is(pfc_span_trim(line), results);
}

bool pfc_import_nvbench_match(const char *text, size_t len)
{
    return pfc_csv_find_header(text, len, csv_names, NULL, NULL) ||
           pfc_lines_any(text, len, 20000, begins_results);
}

/* A column that holds a result: its title without the unit, the tag and the hint of the JSON. */
typedef struct summary {
    const char *title;
    const char *tag; /* NULL: it says nothing of the code */
    const char *hint;
} summary;

static const summary *summary_of(pfc_span title)
{
    static const summary known[] = {
        { "Samples", NULL, NULL },
        { "Batch", NULL, NULL },
        { "Noise", NULL, NULL },
        { "CPU Time", "nv/cold/time/cpu/mean", "duration" },
        { "GPU Time", "nv/cold/time/gpu/mean", "duration" },
        { "Batch GPU", "nv/batch/time/gpu/mean", "duration" },
        { "Elem/s", "nv/cold/bw/item_rate", "item_rate" },
        { "GlobalMem BW", "nv/cold/bw/global/bytes_per_second", "byte_rate" },
        { "BWUtil", "nv/cold/bw/global/utilization", "percentage" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++) {
        if (pfc_span_is(title, known[i].title))
            return &known[i];
    }
    return NULL;
}

static void add_summary(json_t *state, pfc_span tag, const char *hint, double value)
{
    json_t *s = json_pack("{s:o,s:[{s:s,s:f}]}", "tag", json_stringn(tag.text, tag.len), "data",
                          "name", "value", "value", value);

    if (s && hint)
        json_object_set_new(s, "hint", json_string(hint));
    json_array_append_new(json_object_get(state, "summaries"), s);
}

/* "Elem/s (elem/sec)": the title alone, and the hint that its unit is. */
static pfc_span title_of(pfc_span column, const char **hint)
{
    static const char *const units[][2] = { { " (sec)", "duration" },
                                            { " (elem/sec)", "item_rate" },
                                            { " (bytes/sec)", "byte_rate" },
                                            { " (bytes)", "bytes" },
                                            { " (%)", "percentage" } };

    *hint = NULL;
    for (size_t i = 0; i < PFC_ARRAY_LEN(units); i++) {
        if (pfc_span_ends(column, units[i][0])) {
            *hint = units[i][1];
            column.len -= strlen(units[i][0]);
        }
    }
    return column;
}

/* "1.221 ms", "13.8G", "83.2%", "432x" in seconds, a second, shares; false: it is no number. */
static bool printed(pfc_span cell, double *value)
{
    static const struct {
        const char *unit;
        double scale;
    } sizes[] = { { "K", 1e3 },  { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 },
                  { "P", 1e15 }, { "", 1 },    { "x", 1 },   { "%", 0.01 } };
    const bool share = pfc_span_ends(cell, "%"); /* which a number may carry */
    double scale = 1.0;
    pfc_span unit;
    char *name;

    if (share)
        cell.len--;
    if (!pfc_span_quantity(cell, value, &unit))
        return false;
    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++) {
        if (pfc_span_is(unit, sizes[i].unit)) {
            *value *= share ? 0.01 : sizes[i].scale;
            return true;
        }
    }
    name = pfc_span_dup(unit);
    if (pfc_import_unit_ns(name) > 0)
        *value *= pfc_import_unit_ns(name) * 1e-9;
    else if (strcmp(pfc_import_unit_base(name, &scale), name) != 0 || scale > 0)
        *value *= scale;
    free(name);
    return true;
}

/* The axes name the state as its JSON does, "T=U8 Elements=2^20"; then the results. */
static void add_state(json_t *states, const pfc_span *names, const pfc_span *cells, size_t len,
                      size_t axes, int64_t device, bool markdown, bool skipped)
{
    json_t *state = json_pack("{s:[],s:[],s:b}", "axis_values", "summaries", "is_skipped", skipped);
    pfc_buf name;

    pfc_buf_init(&name, PFC_WIRE_MAX_TEXT);
    if (skipped)
        json_object_set_new(state, "skip_reason", json_string("NVBench skipped it"));
    if (device >= 0)
        json_object_set_new(state, "device", json_integer(device));
    for (size_t i = 0; i < axes && i < len; i++) {
        pfc_span axis = names[i];
        pfc_span value = pfc_span_trim(cells[i]);
        const size_t equals = pfc_span_find(value, " = ");

        if (i > 0 && pfc_span_ends(names[i - 1], " (pow2)"))
            continue; /* the same as a plain number */
        if (value.len == 0)
            continue; /* an axis of another benchmark */
        if (pfc_span_ends(axis, " (pow2)"))
            axis.len -= strlen(" (pow2)");
        if (markdown && equals < value.len) /* "2^24 = 16777216" */
            value.len = equals;
        pfc_buf_printf(&name, "%s%.*s=%.*s", name.len ? " " : "",
                       (int)PFC_MIN(axis.len, (size_t)200), axis.text,
                       (int)PFC_MIN(value.len, (size_t)200), value.text);
        json_array_append_new(json_object_get(state, "axis_values"),
                              json_pack("{s:o,s:o}", "name", json_stringn(axis.text, axis.len),
                                        "value", json_stringn(value.text, value.len)));
    }
    json_object_set_new(state, "name", json_string(pfc_buf_text(&name)));
    pfc_buf_clear(&name);
    for (size_t i = axes; i < len; i++) {
        const char *hint = NULL;
        const pfc_span title = title_of(names[i], &hint);
        const summary *known = summary_of(title);
        double value = 0.0;

        if ((known && !known->tag) || pfc_span_is(title, "Skipped") || title.len == 0 ||
            (markdown ? !printed(pfc_span_trim(cells[i]), &value)
                      : pfc_span_number(cells[i], &value) != PFC_NUMBER))
            continue;
        add_summary(state, known ? (pfc_span){ known->tag, strlen(known->tag) } : title,
                    known ? known->hint : hint, value);
    }
    json_array_append_new(states, state);
}

/* The benchmark of that name, made when new: its list of states. */
static json_t *states_of(json_t *doc, pfc_span name)
{
    json_t *list = json_object_get(doc, "benchmarks");
    const size_t len = json_array_size(list);
    json_t *last = json_array_get(list, len ? len - 1 : 0);
    const char *last_name = pfc_import_string(last, "name");

    if (!last_name || !pfc_span_is(name, last_name)) {
        last = json_pack("{s:o,s:[]}", "name", json_stringn(name.text, name.len), "states");
        json_array_append_new(list, last);
    }
    return json_object_get(last, "states");
}

static void add_device(json_t *doc, int64_t id, pfc_span name)
{
    json_t *devices = json_object_get(doc, "devices");

    for (size_t i = 0; i < json_array_size(devices); i++) {
        if (json_integer_value(json_object_get(json_array_get(devices, i), "id")) == id)
            return;
    }
    json_array_append_new(devices, json_pack("{s:I,s:o}", "id", (json_int_t)id, "name",
                                             json_stringn(name.text, name.len)));
}

/* ---- --csv ---- */

static pfc_code read_csv(pfc_import *in, const char *text, size_t len, json_t *doc)
{
    bool more = false;
    pfc_csv csv;
    pfc_code code = pfc_csv_open(&csv, text, len, csv_names, in->err);
    const size_t benchmark = pfc_csv_column1(&csv, "Benchmark");
    const size_t device = pfc_csv_column1(&csv, "Device");
    const size_t device_name = pfc_csv_column1(&csv, "Device Name");
    const size_t skipped = pfc_csv_column1(&csv, "Skipped");
    const size_t first = PFC_MAX(benchmark, PFC_MAX(device, device_name)) + 1;

    if (!code && skipped < first)
        code = pfc_err_set(in->err, PFC_EINVAL, "expected the column Skipped behind Device Name");
    while (!code && (code = pfc_csv_row(&csv, &more, in->err)) == PFC_OK && more) {
        const size_t n = PFC_MIN(csv.cells_len, csv.names_len);
        double id = -1.0;
        if (n <= skipped || csv.cells[benchmark].len == 0)
            continue; /* cut off, or talk */
        if (pfc_span_number(csv.cells[device], &id) != PFC_NUMBER || id < 0 || id > 1e6)
            id = -1.0; /* of the CPU alone */
        else
            add_device(doc, (int64_t)id, pfc_csv_cell(&csv, device_name));
        add_state(states_of(doc, csv.cells[benchmark]), csv.names + first, csv.cells + first,
                  n - first, skipped - first, (int64_t)id, false,
                  pfc_span_is(csv.cells[skipped], "Yes"));
    }
    pfc_csv_clear(&csv);
    return code;
}

/* ---- markdown ---- */

/* Cells between bars; 0: the line is no row. */
static size_t cells_of(pfc_span line, pfc_span *cells)
{
    size_t n = 0;
    size_t at = 1;

    line = pfc_span_trim(line);
    if (line.len < 3 || line.text[0] != '|' || line.text[line.len - 1] != '|')
        return 0;
    for (size_t i = 1; i < line.len && n < MAX_CELLS; i++) {
        if (line.text[i] == '|') {
            cells[n++] = pfc_span_trim((pfc_span){ line.text + at, i - at });
            at = i + 1;
        }
    }
    return n;
}

static bool is_rule(pfc_span cell)
{
    return cell.len >= 2 && cell.text[cell.len / 2] == '-';
}

/* "[0] Quadro GV100" */
static int64_t device_of(json_t *doc, pfc_span title)
{
    const size_t close = pfc_span_find(title, "]");
    double id = 0.0;

    if (title.len == 0 || title.text[0] != '[' || close == title.len ||
        pfc_span_number((pfc_span){ title.text + 1, close - 1 }, &id) != PFC_NUMBER || id < 0 ||
        id > 1e6)
        return -1;
    title = pfc_span_trim((pfc_span){ title.text + close + 1, title.len - close - 1 });
    if (title.len > 1 && title.text[0] == '`')
        title = (pfc_span){ title.text + 1, title.len - 2 };
    add_device(doc, (int64_t)id, title);
    return (int64_t)id;
}

static void read_markdown(const char *text, size_t len, json_t *doc)
{
    pfc_span names[MAX_CELLS];
    pfc_span cells[MAX_CELLS];
    pfc_span benchmark = { "", 0 };
    size_t names_len = 0;
    size_t axes = 0;
    int64_t device = -1;
    bool begun = false;
    pfc_lines lines;
    pfc_span line;

    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &line)) {
        const size_t n = cells_of(line, cells);
        line = pfc_span_trim(line);
        if (pfc_span_is(line, results)) {
            begun = true;
        } else if (begun && pfc_span_starts(line, "## ")) {
            benchmark = pfc_span_trim((pfc_span){ line.text + 3, line.len - 3 });
            device = -1;
        } else if (begun && pfc_span_starts(line, "### ")) {
            device = device_of(doc, pfc_span_trim((pfc_span){ line.text + 4, line.len - 4 }));
        } else if (n == 0) {
            names_len = 0;
        } else if (names_len == 0) {
            memcpy(names, cells, sizeof(names));
            names_len = n;
            for (axes = 0; axes < n && !summary_of(names[axes]); axes++)
                continue;
        } else if (begun && benchmark.len && !is_rule(cells[0])) {
            add_state(states_of(doc, benchmark), names, cells, PFC_MIN(n, names_len), axes, device,
                      true, false);
        }
    }
}

pfc_code pfc_import_nvbench_text(pfc_import *in, const char *text, size_t len)
{
    json_t *doc = json_pack("{s:[],s:[]}", "devices", "benchmarks");
    pfc_code code = PFC_OK;

    if (pfc_csv_find_header(text, len, csv_names, NULL, NULL))
        code = read_csv(in, text, len, doc);
    else
        read_markdown(text, len, doc);
    if (!code)
        code = pfc_import_nvbench_doc(in, doc);
    json_decref(doc);
    return code;
}
