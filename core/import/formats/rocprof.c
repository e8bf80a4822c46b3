/*
 * rocprofv3 --output-format csv, and rocprof before it: a trace (a row a dispatch, copy or call
 * with begin and end: duration is a sample), statistics (a row a name) or counters (a row a counter
 * of a dispatch). Columns vary from release to release: they are bound by name, without case.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static const char *const trace_v3[] = { "Start_Timestamp", "End_Timestamp", NULL };
static const char *const trace_v1[] = { "BeginNs", "EndNs", NULL };
static const char *const stats[] = { "Name", "Calls", "TotalDurationNs", NULL };
static const char *const counters[] = { "Counter_Name", "Counter_Value", NULL };

static const char *const *const kinds[] = { counters, trace_v3, trace_v1, stats };

static const char *const *kind_of(const char *text, size_t len)
{
    size_t offset = 0;
    size_t line = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(kinds); i++) {
        if (pfc_csv_find_header(text, len, kinds[i], &offset, &line))
            return kinds[i];
    }
    return NULL;
}

static bool match(const char *text, size_t len)
{
    return kind_of(text, len) != NULL;
}

static size_t name_column(const pfc_csv *csv)
{
    static const char *const names[] = { "Kernel_Name", "KernelName", "Function", "Direction",
                                         "Operation",   "Name",       "Kind",     NULL };

    return pfc_csv_column(csv, names);
}

static pfc_code whole(pfc_import *in, const pfc_csv *csv, size_t column, int64_t *out)
{
    double value = 0.0;
    const pfc_span cell = pfc_csv_cell(csv, column);

    /* Timestamps have up to 19 digits, more than a double holds: they are read as integers. */
    if (cell.len > 0 && cell.len <= 19 && cell.text[0] >= '0' && cell.text[0] <= '9') {
        uint64_t n = 0;
        size_t i = 0;
        for (; i < cell.len && cell.text[i] >= '0' && cell.text[i] <= '9'; i++)
            n = 10 * n + (uint64_t)(cell.text[i] - '0');
        if (i == cell.len && n <= INT64_MAX) {
            *out = (int64_t)n;
            return PFC_OK;
        }
    }
    if (pfc_span_number(cell, &value) != PFC_NUMBER || value < 0 || value > 9e18)
        return pfc_err_set(in->err, PFC_EINVAL, "line %zu: expected a time in ns, got '%.*s'",
                           csv->line, (int)PFC_MIN(cell.len, (size_t)40), cell.text);
    *out = (int64_t)value;
    return PFC_OK;
}

static pfc_code read_trace(pfc_import *in, pfc_csv *csv, const char *const *ends)
{
    const size_t name = name_column(csv);
    const size_t from = pfc_csv_column1(csv, ends[0]);
    const size_t to = pfc_csv_column1(csv, ends[1]);
    bool more = false;
    pfc_buf buf;
    pfc_code code;

    if (name == SIZE_MAX)
        return pfc_err_set(in->err, PFC_EINVAL, "expected a column Kernel_Name, Function or Name");
    pfc_buf_init(&buf, PFC_WIRE_MAX_TEXT * 4);
    while ((code = pfc_csv_row(csv, &more, in->err)) == PFC_OK && more) {
        const pfc_span label = pfc_csv_cell(csv, name);
        const pfc_import_key key = { NULL, "time_ns", "ns", true, false, NULL };
        pfc_import_key named = key;
        int64_t begin = 0;
        int64_t end = 0;

        if (label.len == 0 || csv->cells_len <= PFC_MAX(from, to))
            continue; /* a torn last line */
        code = whole(in, csv, from, &begin);
        if (!code)
            code = whole(in, csv, to, &end);
        if (!code && end < begin)
            code =
                pfc_err_set(in->err, PFC_EINVAL, "line %zu: it ends before it begins", csv->line);
        pfc_buf_reset(&buf);
        pfc_buf_append(&buf, label.text, label.len);
        named.benchmark = pfc_buf_text(&buf);
        if (!code && *named.benchmark)
            code = pfc_import_sample(in, &named, (double)(end - begin));
        if (code)
            break;
    }
    pfc_buf_clear(&buf);
    return code;
}

static pfc_code read_stats(pfc_import *in, pfc_csv *csv)
{
    static const struct {
        const char *column;
        const char *metric;
        const char *unit;
    } taken[] = { { "AverageNs", "time_ns", "ns" },
                  { "TotalDurationNs", "total_time_ns", "ns" },
                  { "MinNs", "min_time_ns", "ns" },
                  { "MaxNs", "max_time_ns", "ns" },
                  { "Calls", "calls", "calls" } };
    const size_t name = pfc_csv_column1(csv, "Name");
    const size_t stddev = pfc_csv_column1(csv, "StdDev");
    bool more = false;
    pfc_code code;

    while ((code = pfc_csv_row(csv, &more, in->err)) == PFC_OK && more) {
        char *label = pfc_span_dup(pfc_csv_cell(csv, name));
        double value = 0.0;

        for (size_t i = 0; i < PFC_ARRAY_LEN(taken) && *label && !code; i++) {
            const pfc_import_key key = { label, taken[i].metric, taken[i].unit, true, false, NULL };
            const size_t column = pfc_csv_column1(csv, taken[i].column);
            pfc_measurement *m;
            if (column == SIZE_MAX ||
                pfc_span_number(pfc_csv_cell(csv, column), &value) != PFC_NUMBER)
                continue;
            code = pfc_import_sample(in, &key, value);
            m = code || i > 0 ? NULL : pfc_import_measurement(in, &key);
            if (m && pfc_span_number(pfc_csv_cell(csv, stddev), &value) == PFC_NUMBER)
                pfc_import_extra(m, "stddev", value);
        }
        free(label);
        if (code)
            break;
    }
    return code;
}

static pfc_code read_counters(pfc_import *in, pfc_csv *csv)
{
    const size_t name = name_column(csv);
    const size_t counter = pfc_csv_column1(csv, "Counter_Name");
    const size_t at = pfc_csv_column1(csv, "Counter_Value");
    bool more = false;
    pfc_code code;

    while ((code = pfc_csv_row(csv, &more, in->err)) == PFC_OK && more) {
        char *label = pfc_span_dup(pfc_csv_cell(csv, name));
        char *metric = pfc_span_dup(pfc_csv_cell(csv, counter));
        const pfc_import_key key = { .benchmark = *label ? label : "counters", .metric = metric };
        double value = 0.0;

        if (*metric && pfc_span_number(pfc_csv_cell(csv, at), &value) == PFC_NUMBER)
            code = pfc_import_sample(in, &key, value);
        free(label);
        free(metric);
        if (code)
            break;
    }
    return code;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    const char *const *kind = kind_of(text, len);
    pfc_csv csv;
    pfc_code code;

    if (!kind)
        return pfc_err_set(
            in->err, PFC_EINVAL,
            "expected a trace with Start_Timestamp and End_Timestamp, statistics with "
            "Name, Calls and TotalDurationNs, or counters with Counter_Name");
    code = pfc_csv_open(&csv, text, len, kind, in->err);
    if (!code)
        code = kind == stats      ? read_stats(in, &csv)
               : kind == counters ? read_counters(in, &csv)
                                  : read_trace(in, &csv, kind);
    pfc_csv_clear(&csv);
    return code;
}

const pfc_import_format pfc_import_rocprof = { .name = "rocprof",
                                               .match_text = match,
                                               .read_text = read_text };
