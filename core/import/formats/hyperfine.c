/*
 * hyperfine: --export-json has the time of each run of a command, in s; --export-csv its summary,
 * of which the median becomes one sample. Runs that ended with an error are not samples. Two
 * results of one command (a custom name in a parameter scan) are distinguished by their parameters.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static const char *const csv_names[] = { "command", "mean", "stddev", "median", NULL };

static bool match(const json_t *doc)
{
    const json_t *list = json_object_get(doc, "results");

    return json_is_array(list) && json_object_get(json_array_get(list, 0), "command") != NULL;
}

/* exit_codes[i] is 0, or null when a signal ended the run. */
static bool went_well(const json_t *codes, size_t i)
{
    const json_t *code = json_array_get(codes, i);

    return !code || (json_is_integer(code) && json_integer_value(code) == 0);
}

static pfc_code read_list(pfc_import *in, const pfc_import_key *key, const json_t *list,
                          const json_t *codes, double scale, const pfc_json_at *at)
{
    size_t taken = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < json_array_size(list) && !code; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_number(v))
            return pfc_json_fault(at, "times", in->err, "value %zu: expected a number", i);
        if (!went_well(codes, i))
            continue;
        code = pfc_import_sample(in, key, scale * json_number_value(v));
        taken++;
    }
    if (!code && taken == 0)
        code = pfc_import_failed(in, key, PFC_STATUS_BROKEN, "every run ended with an error");
    else if (!code && taken < json_array_size(list))
        pfc_import_note(in, "%.120s: %zu of %zu runs ended with an error and are left out",
                        key->benchmark, json_array_size(list) - taken, json_array_size(list));
    return code;
}

static const char *text_of(const json_t *value, char number[40])
{
    if (json_is_integer(value)) {
        (void)snprintf(number, 40, "%lld", (long long)json_integer_value(value));
        return number;
    }
    return json_string_value(value);
}

/* The command, with its parameters where another result has the same command. */
static char *name_of(const json_t *list, size_t i)
{
    const json_t *r = json_array_get(list, i);
    const char *command = pfc_import_string(r, "command");
    size_t same = 0;
    pfc_buf buf;

    for (size_t k = 0; k < json_array_size(list) && same < 2; k++) {
        const char *other = pfc_import_string(json_array_get(list, k), "command");
        same += other && strcmp(other, command) == 0;
    }
    pfc_buf_init(&buf, PFC_IMPORT_MAX_MAP_BYTES);
    pfc_buf_puts(&buf, command);
    for (PFC_JSON_EACH(it, same > 1 ? json_object_get(r, "parameters") : NULL)) {
        char number[40];
        const char *value = text_of(json_object_iter_value(it), number);
        if (value)
            pfc_buf_printf(&buf, " %s=%s", json_object_iter_key(it), value);
    }
    return pfc_buf_take(&buf);
}

static pfc_code read_one(pfc_import *in, const char *name, const json_t *r, const pfc_json_at *at)
{
    const json_t *times = json_object_get(r, "times");
    const json_t *memory = json_object_get(r, "memory_usage_byte");
    const json_t *codes = json_object_get(r, "exit_codes");
    const pfc_import_key key = { name, "time_ns", "ns", true, false, NULL };
    const pfc_import_key rss = { name, "max_rss_bytes", "bytes", true, false, NULL };
    pfc_measurement *m;
    pfc_code code;

    if (json_is_array(times) && json_array_size(times) > 0)
        code = read_list(in, &key, times, codes, 1e9, at);
    else if (!isnan(pfc_import_number(r, "mean")))
        code = pfc_import_sample(in, &key, 1e9 * pfc_import_number(r, "mean"));
    else
        return pfc_json_fault(at, "times", in->err, "expected a list of seconds, or 'mean'");
    if (!code && json_array_size(memory) > 0)
        code = read_list(in, &rss, memory, codes, 1.0, at);
    m = code ? NULL : pfc_import_measurement(in, &key);
    for (PFC_JSON_EACH(it, m ? json_object_get(r, "parameters") : NULL)) {
        char number[40];
        const char *value = text_of(json_object_iter_value(it), number);
        if (value)
            pfc_import_param(m, json_object_iter_key(it), value);
    }
    return code;
}

static pfc_code read_doc(pfc_import *in, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "results");
    const pfc_json_at root = { .key = "results" };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < json_array_size(list) && !code; i++) {
        const json_t *r = json_array_get(list, i);
        const char *command = pfc_import_string(r, "command");
        const pfc_json_at at = { .up = &root, .index = i };
        char *name;

        if (!command || !*command)
            return pfc_json_fault(&at, "command", in->err, "expected the command as a string");
        name = name_of(list, i);
        code = read_one(in, name, r, &at);
        free(name);
    }
    return code;
}

/* ---- --export-csv ---- */

static bool match_text(const char *text, size_t len)
{
    return pfc_csv_find_header(text, len, csv_names, NULL, NULL);
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    bool more = false;
    pfc_csv csv;
    pfc_code code = pfc_csv_open(&csv, text, len, csv_names, in->err);
    const size_t command = pfc_csv_column1(&csv, "command");
    const size_t median = pfc_csv_column1(&csv, "median");

    while (!code && (code = pfc_csv_row(&csv, &more, in->err)) == PFC_OK && more) {
        char *name = pfc_span_dup(pfc_csv_cell(&csv, command));
        const pfc_import_key key = { name, "time_ns", "ns", true, false, NULL };
        double value = 0.0;

        if (*name && pfc_span_number(pfc_csv_cell(&csv, median), &value) == PFC_NUMBER)
            code = pfc_import_sample(in, &key, 1e9 * value);
        free(name);
        if (code)
            break;
    }
    pfc_csv_clear(&csv);
    return code;
}

const pfc_import_format pfc_import_hyperfine = { .name = "hyperfine",
                                                 .match_json = match,
                                                 .read_json = read_doc,
                                                 .match_text = match_text,
                                                 .read_text = read_text };
