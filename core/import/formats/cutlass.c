/*
 * The CUTLASS profiler: its CSV (behind "CSV Results:" on stdout, or --output), and the report that
 * it prints for people. An operation at a problem size is a benchmark; time, bandwidth and
 * arithmetic rate are its metrics. Units are fixed by the columns: Runtime in ms, GB/s, GFLOPs.
 */
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static const char *const header[] = { "Operation", "Disposition", "Runtime", NULL };

static bool match_report(const char *text, size_t len)
{
    const pfc_span all = { text, len };

    return pfc_span_find(all, "OperationKind:") < len && pfc_span_find(all, "Disposition:") < len;
}

static bool match(const char *text, size_t len)
{
    return pfc_csv_find_header(text, len, header, NULL, NULL) || match_report(text, len);
}

/* An argument that says which problem it was, and is not at its usual value. */
static bool is_problem(pfc_span name, pfc_span value)
{
    static const struct {
        const char *name;
        const char *usual;
    } usual[] = {
        { "alpha", "1" }, { "beta", "0" }, { "split_k_slices", "1" }, { "batch_count", "1" }
    };
    double number = 0.0;

    if (value.len == 0 || name.len == 0 || pfc_span_number(value, &number) != PFC_NUMBER)
        return false;
    for (size_t i = 0; i < PFC_ARRAY_LEN(usual); i++) {
        if (pfc_span_is(name, usual[i].name))
            return !pfc_span_is(value, usual[i].usual);
    }
    return true;
}

typedef struct row {
    pfc_buf name;
    pfc_labels params;
    pfc_span disposition;
    pfc_span status;
    double runtime_ms, gbps, gflops;
} row;

static void add_argument(row *r, pfc_span name, pfc_span value)
{
    char *n;
    char *v;

    if (!is_problem(name, value))
        return;
    pfc_buf_puts(&r->name, r->params.len ? " " : "/");
    pfc_buf_append(&r->name, name.text, name.len);
    pfc_buf_putc(&r->name, '=');
    pfc_buf_append(&r->name, value.text, value.len);
    n = pfc_span_dup(name);
    v = pfc_span_dup(value);
    if (r->params.len < 64 && name.len < PFC_WIRE_MAX_NAME && value.len < PFC_WIRE_MAX_NAME)
        pfc_labels_set(&r->params, n, v);
    free(n);
    free(v);
}

static pfc_code add(pfc_import *in, row *r)
{
    const char *name = pfc_buf_text(&r->name);
    const pfc_import_key time = { name, "time_ns", "ns", true, false, NULL };
    const pfc_import_key rate = { name, "gflops", "GFLOP/s", true, true, NULL };
    const pfc_import_key bandwidth = { name, "bandwidth_gbps", "GB/s", true, true, NULL };
    pfc_measurement *m;
    pfc_code code;

    if (pfc_span_is_nocase(r->disposition, "incorrect"))
        return pfc_import_failed(in, &time, PFC_STATUS_BROKEN, "wrong result");
    if (pfc_span_is_nocase(r->disposition, "failed"))
        return pfc_import_failed(in, &time, PFC_STATUS_BROKEN, "it failed");
    if (!(r->runtime_ms > 0))
        return pfc_import_failed(in, &time, PFC_STATUS_SKIPPED, "it was not run");
    code = pfc_import_sample(in, &time, r->runtime_ms * 1e6);
    m = code ? NULL : pfc_import_measurement(in, &time);
    for (size_t i = 0; m && i < r->params.len; i++)
        pfc_import_param(m, r->params.items[i].name, r->params.items[i].value);
    if (!code && r->gflops > 0)
        code = pfc_import_sample(in, &rate, r->gflops);
    if (!code && r->gbps > 0)
        code = pfc_import_sample(in, &bandwidth, r->gbps);
    return code;
}

static void row_init(row *r)
{
    *r = (row){ .runtime_ms = 0 };
    pfc_buf_init(&r->name, PFC_WIRE_MAX_TEXT);
}

static void row_clear(row *r)
{
    pfc_buf_clear(&r->name);
    pfc_labels_clear(&r->params);
}

static double number_at(const pfc_csv *csv, const char *name)
{
    double value = 0.0;

    return pfc_span_number(pfc_csv_cell(csv, pfc_csv_column1(csv, name)), &value) == PFC_NUMBER
               ? value
               : 0.0;
}

/* Problem arguments stand between Status and op_class (how it is computed, which the operation's
 * name says already), or Bytes. */
static pfc_code read_csv_row(pfc_import *in, const pfc_csv *csv)
{
    const size_t from =
        PFC_MAX(pfc_csv_column1(csv, "Status"), pfc_csv_column1(csv, "Disposition"));
    const pfc_span operation = pfc_csv_cell(csv, pfc_csv_column1(csv, "Operation"));
    row r;
    pfc_code code = PFC_OK;

    if (operation.len == 0 || csv->cells_len <= pfc_csv_column1(csv, "Runtime"))
        return PFC_OK;
    row_init(&r);
    pfc_buf_append(&r.name, operation.text, operation.len);
    for (size_t i = from == SIZE_MAX ? csv->names_len : from + 1; i < csv->names_len; i++) {
        if (pfc_span_is(csv->names[i], "op_class") || pfc_span_is(csv->names[i], "Bytes"))
            break;
        add_argument(&r, csv->names[i], pfc_csv_cell(csv, i));
    }
    r.disposition = pfc_csv_cell(csv, pfc_csv_column1(csv, "Disposition"));
    r.status = pfc_csv_cell(csv, pfc_csv_column1(csv, "Status"));
    r.runtime_ms = number_at(csv, "Runtime");
    r.gbps = number_at(csv, "GB/s");
    r.gflops = number_at(csv, "GFLOPs");
    code = add(in, &r);
    row_clear(&r);
    return code;
}

static pfc_code read_csv(pfc_import *in, const char *text, size_t len)
{
    bool more = false;
    pfc_csv csv;
    pfc_code code = pfc_csv_open(&csv, text, len, header, in->err);

    while (!code && (code = pfc_csv_row(&csv, &more, in->err)) == PFC_OK && more)
        code = read_csv_row(in, &csv);
    pfc_csv_clear(&csv);
    return code;
}

/* ---- the report ---- */

/* "--gemm_kind=universal --m=1024 ...": the arguments, in lines of their own. */
static void read_arguments(row *r, pfc_span line)
{
    pfc_span word;

    while (pfc_span_word(&line, &word)) {
        const size_t eq = pfc_span_find(word, "=");
        if (!pfc_span_starts(word, "--") || eq == word.len)
            continue;
        if (pfc_span_starts(word, "--op_class"))
            return;
        add_argument(r, (pfc_span){ word.text + 2, eq - 2 },
                     (pfc_span){ word.text + eq + 1, word.len - eq - 1 });
    }
}

static void read_report_line(row *r, pfc_span line, bool *arguments)
{
    const size_t colon = pfc_span_find(line, ":");
    const pfc_span name = pfc_span_trim((pfc_span){ line.text, colon });
    const pfc_span value =
        colon == line.len
            ? (pfc_span){ line.text + colon, 0 }
            : pfc_span_trim((pfc_span){ line.text + colon + 1, line.len - colon - 1 });
    const bool named = colon < line.len && !pfc_span_starts(name, "--");
    pfc_span unit;
    double x = 0.0;

    if (named)
        *arguments = pfc_span_is(name, "Arguments");
    if (*arguments) {
        read_arguments(r, named ? value : line);
        return;
    }
    if (!named)
        return;
    if (pfc_span_is(name, "Operation")) {
        pfc_buf_reset(&r->name);
        pfc_buf_append(&r->name, value.text, value.len);
    } else if (pfc_span_is(name, "Disposition")) {
        r->disposition = value;
    } else if (pfc_span_is(name, "Status")) {
        r->status = value;
    } else if (pfc_span_quantity(value, &x, &unit)) {
        if (pfc_span_is(name, "Runtime"))
            r->runtime_ms = x;
        else if (pfc_span_is(name, "Memory") && pfc_span_is(unit, "GiB/s"))
            r->gbps = x * 1.073741824;
        else if (pfc_span_is(name, "Memory"))
            r->gbps = x;
        else if (pfc_span_is(name, "Math"))
            r->gflops = x;
    }
}

static pfc_code read_report(pfc_import *in, const char *text, size_t len)
{
    pfc_lines lines;
    pfc_span line;
    bool arguments = false;
    row r;
    pfc_code code = PFC_OK;

    row_init(&r);
    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line)) {
        line = pfc_span_trim(line);
        /* A report begins with its problem's number or a line of "=". */
        if (pfc_span_starts(line, "Problem ID:") || pfc_span_starts(line, "=====")) {
            if (r.name.len > 0)
                code = add(in, &r);
            row_clear(&r);
            row_init(&r);
            arguments = false;
        } else {
            read_report_line(&r, line, &arguments);
        }
    }
    if (!code && r.name.len > 0)
        code = add(in, &r);
    row_clear(&r);
    return code;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    if (pfc_csv_find_header(text, len, header, NULL, NULL))
        return read_csv(in, text, len);
    return read_report(in, text, len);
}

const pfc_import_format pfc_import_cutlass = { .name = "cutlass",
                                               .match_text = match,
                                               .read_text = read_text };
