/*
 * pytest-benchmark --benchmark-json: stats.data holds seconds a call of each round (--benchmark-
 * save-data), else the median stands as one sample. Numbers in extra_info are metrics of their own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static bool match(const json_t *doc)
{
    const json_t *list = json_object_get(doc, "benchmarks");

    return json_is_array(list) && (json_object_get(doc, "machine_info") ||
                                   json_object_get(json_array_get(list, 0), "stats"));
}

static pfc_code read_extra(pfc_import *in, const char *name, const json_t *extra)
{
    for (PFC_JSON_EACH(it, extra)) {
        const pfc_import_key key = { .benchmark = name, .metric = json_object_iter_key(it) };
        const json_t *v = json_object_iter_value(it);
        pfc_code code;
        if (!json_is_number(v))
            continue;
        code = pfc_import_sample(in, &key, json_number_value(v));
        if (code)
            return code;
    }
    return PFC_OK;
}

/* Shortened files are seen in the wild ("... omitted"): a part of the rounds is no sample of them,
 * but the median in the file was taken over all. */
static bool all_numbers(const json_t *data)
{
    for (size_t i = 0; i < json_array_size(data); i++) {
        if (!json_is_number(json_array_get(data, i)))
            return false;
    }
    return json_array_size(data) > 0;
}

static pfc_code read_one(pfc_import *in, const json_t *b, const pfc_json_at *at)
{
    const char *full = pfc_import_string(b, "fullname");
    const char *name = full ? full : pfc_import_string(b, "name");
    const json_t *stats = json_object_get(b, "stats");
    const json_t *data = json_object_get(stats, "data");
    const pfc_import_key key = { name, "time_ns", "ns", true, false, NULL };
    const bool whole = all_numbers(data);
    pfc_code code = PFC_OK;

    if (!name || !*name)
        return pfc_json_fault(at, "fullname", in->err, "expected the test's name");
    if (!json_is_object(stats))
        return pfc_json_fault(at, "stats", in->err, "%.80s: expected an object", name);
    for (size_t i = 0; !code && whole && i < json_array_size(data); i++)
        code = pfc_import_sample(in, &key, 1e9 * json_number_value(json_array_get(data, i)));
    if (!code && !whole)
        code = pfc_import_sample(in, &key, 1e9 * pfc_import_number(stats, "median"));
    return code ? code : read_extra(in, name, json_object_get(b, "extra_info"));
}

static pfc_code read_doc(pfc_import *in, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "benchmarks");
    const json_t *commit = json_object_get(doc, "commit_info");
    const pfc_json_at root = { .key = "benchmarks" };

    if (json_is_false(json_object_get(commit, "dirty")))
        pfc_import_commit(in, pfc_import_string(commit, "id"));
    pfc_import_date(in, pfc_import_string(doc, "datetime"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        const pfc_code code = read_one(in, json_array_get(list, i), &at);
        if (code)
            return code;
    }
    return PFC_OK;
}

/* ---- --benchmark-csv: seconds; parameters have columns of their own ---- */

static const char *const csv_names[] = { "rounds", "name", "median", "iterations", NULL };

static bool match_text(const char *text, size_t len)
{
    return pfc_csv_find_header(text, len, csv_names, NULL, NULL);
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    bool more = false;
    pfc_csv csv;
    pfc_code code = pfc_csv_open(&csv, text, len, csv_names, in->err);
    const size_t name = pfc_csv_column1(&csv, "name");
    const size_t median = pfc_csv_column1(&csv, "median");

    while (!code && (code = pfc_csv_row(&csv, &more, in->err)) == PFC_OK && more) {
        char *label = pfc_span_dup(pfc_csv_cell(&csv, name));
        const pfc_import_key key = { label, "time_ns", "ns", true, false, NULL };
        double value = 0.0;
        pfc_measurement *m = NULL;

        if (*label && pfc_span_number(pfc_csv_cell(&csv, median), &value) == PFC_NUMBER) {
            code = pfc_import_sample(in, &key, 1e9 * value);
            m = code ? NULL : in->last;
        }
        for (size_t i = 0; m && i < csv.names_len && m->params.len < 32; i++) {
            const pfc_span cell = pfc_csv_cell(&csv, i);
            char *text_of = pfc_span_dup(cell);
            if (pfc_span_starts(csv.names[i], "param:") && cell.len > 0 &&
                cell.len < PFC_WIRE_MAX_NAME && csv.names[i].len < PFC_WIRE_MAX_NAME)
                pfc_import_param(m, csv.names[i].text + strlen("param:"), text_of);
            free(text_of);
        }
        free(label);
    }
    pfc_csv_clear(&csv);
    return code;
}

const pfc_import_format pfc_import_pytest_benchmark = { .name = "pytest-benchmark",
                                                        .match_json = match,
                                                        .read_json = read_doc,
                                                        .match_text = match_text,
                                                        .read_text = read_text };
