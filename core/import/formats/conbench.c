/*
 * Conbench results (what is posted to /api/benchmark-results/): one, a list, or JSON lines. Tags
 * name the case; numbers may be strings. Times become ns; "B/s" and "i/s" are rates.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static bool match_one(const json_t *doc)
{
    return json_is_object(json_object_get(doc, "tags")) &&
           (json_is_object(json_object_get(doc, "stats")) || json_object_get(doc, "error")) &&
           (json_object_get(doc, "run_id") || json_object_get(doc, "context") ||
            json_object_get(doc, "batch_id"));
}

static bool match(const json_t *doc)
{
    return match_one(json_is_array(doc) ? json_array_get(doc, 0) : doc);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "file-write compression=snappy dataset=x": the name, then the other tags in order. */
static char *case_of(const json_t *tags, const char *name)
{
    const size_t len = json_object_size(tags);
    const char **keys = pfc_calloc(len + 1, sizeof(*keys));
    size_t n = 0;
    pfc_buf buf;

    pfc_buf_init(&buf, 4 * PFC_WIRE_MAX_TEXT);
    pfc_buf_puts(&buf, name);
    for (PFC_JSON_EACH(it, tags))
        keys[n++] = json_object_iter_key(it);
    qsort(keys, n, sizeof(*keys), by_name);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_object_get(tags, keys[i]);
        if (strcmp(keys[i], "name") == 0 || strcmp(keys[i], "id") == 0)
            continue;
        if (json_is_string(v))
            pfc_buf_printf(&buf, " %s=%s", keys[i], json_string_value(v));
        else if (json_is_number(v))
            pfc_buf_printf(&buf, " %s=%.10g", keys[i], json_number_value(v));
        else if (json_is_boolean(v))
            pfc_buf_printf(&buf, " %s=%s", keys[i], json_is_true(v) ? "true" : "false");
    }
    free(keys);
    return pfc_buf_take(&buf);
}

static pfc_code read_stats(pfc_import *in, const char *benchmark, const json_t *stats)
{
    const json_t *data = json_object_get(stats, "data");
    const char *unit = pfc_import_string(stats, "unit");
    pfc_import_key key = { .benchmark = benchmark, .metric = "value" };
    double scale = 1.0;
    pfc_code code = PFC_OK;

    /* Conbench's own words: "b/s" are bytes, "i/s" items. */
    if (unit && strcmp(unit, "b/s") == 0)
        unit = "B/s";
    key.unit = pfc_import_unit_time(unit ? unit : "s", &scale);
    if (strcmp(key.unit, "ns") == 0)
        key.metric = "time_ns";
    else if (pfc_import_nature("", key.unit) > 0)
        key.metric = "throughput";
    for (size_t i = 0; i < json_array_size(data) && !code; i++)
        code = pfc_import_sample(in, &key, scale * pfc_import_json_number(json_array_get(data, i)));
    if (!code && json_array_size(data) == 0)
        code = pfc_import_sample(in, &key, scale * pfc_import_number(stats, "mean"));
    return code;
}

static pfc_code read_one(pfc_import *in, const json_t *b, const pfc_json_at *at)
{
    const json_t *tags = json_object_get(b, "tags");
    const json_t *error = json_object_get(b, "error");
    const json_t *stats = json_object_get(b, "stats");
    const char *name = pfc_import_string(tags, "name");
    char *benchmark;
    pfc_code code;

    if (!name || !*name)
        name = pfc_import_string(b, "name");
    if (!name || !*name)
        return pfc_json_fault(at, "tags.name", in->err, "expected the benchmark's name");
    benchmark = case_of(tags, name);
    if (json_is_object(error) || json_is_string(error)) {
        const pfc_import_key key = { benchmark, "time_ns", "ns", true, false, NULL };
        const char *why = json_string_value(error);
        const json_t *first = pfc_import_first(error, NULL);
        if (!why)
            why = json_string_value(first);
        code = pfc_import_failed(in, &key, PFC_STATUS_BROKEN, why);
    } else if (json_is_object(stats)) {
        code = read_stats(in, benchmark, stats);
    } else {
        code = pfc_json_fault(at, "stats", in->err, "%.80s: expected an object", name);
    }
    pfc_import_commit(in, pfc_import_string(json_object_get(b, "github"), "commit"));
    free(benchmark);
    return code;
}

static pfc_code read_doc(pfc_import *in, const json_t *doc)
{
    const pfc_json_at root = { .key = NULL };

    if (json_is_object(doc))
        return read_one(in, doc, NULL);
    for (size_t i = 0; i < json_array_size(doc); i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        const pfc_code code = read_one(in, json_array_get(doc, i), &at);
        if (code)
            return code;
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_conbench = { .name = "conbench",
                                                .match_json = match,
                                                .read_json = read_doc };
