/* hyperfine --export-json: the time of each run of a command, in seconds; kept as ns. */
#include <math.h>

#include "core/import/reader.h"

static bool match(const json_t *doc)
{
    const json_t *list = json_object_get(doc, "results");

    return json_is_array(list) && json_object_get(json_array_get(list, 0), "command") != NULL;
}

static pfc_code read_list(pfc_import *in, const pfc_import_key *key, const json_t *list,
                          double scale, const pfc_json_at *at)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        pfc_code code;
        if (!json_is_number(v))
            return pfc_json_fault(at, "times", in->err, "value %zu: want a number", i);
        code = pfc_import_sample(in, key, scale * json_number_value(v));
        if (code)
            return code;
    }
    return PFC_OK;
}

static pfc_code read_one(pfc_import *in, const json_t *r, const pfc_json_at *at)
{
    const char *command = pfc_import_string(r, "command");
    const json_t *times = json_object_get(r, "times");
    const json_t *memory = json_object_get(r, "memory_usage_byte");
    const json_t *parameters = json_object_get(r, "parameters");
    const pfc_import_key key = { command, "time_ns", "ns", true, false };
    const pfc_import_key rss = { command, "max_rss_bytes", "bytes", true, false };
    pfc_measurement *m;
    pfc_code code;

    if (!command || !*command)
        return pfc_json_fault(at, "command", in->err, "want the command as a string");
    if (json_is_array(times) && json_array_size(times) > 0)
        code = read_list(in, &key, times, 1e9, at);
    else if (!isnan(pfc_import_number(r, "mean")))
        code = pfc_import_sample(in, &key, 1e9 * pfc_import_number(r, "mean"));
    else
        return pfc_json_fault(at, "times", in->err, "want a list of seconds, or 'mean'");
    if (!code && json_is_array(memory))
        code = read_list(in, &rss, memory, 1.0, at);
    m = code ? NULL : pfc_import_measurement(in, &key);
    for (void *it = m ? json_object_iter((json_t *)(uintptr_t)parameters) : NULL; it;
         it = json_object_iter_next((json_t *)(uintptr_t)parameters, it)) {
        const char *value = json_string_value(json_object_iter_value(it));
        if (value)
            pfc_pairs_set(&m->params, json_object_iter_key(it), value);
    }
    return code;
}

static pfc_code read_doc(pfc_import *in, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "results");
    const pfc_json_at root = { .key = "results" };

    for (size_t i = 0; i < json_array_size(list); i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        const pfc_code code = read_one(in, json_array_get(list, i), &at);
        if (code)
            return code;
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_hyperfine = { .name = "hyperfine",
                                                 .match_json = match,
                                                 .read_json = read_doc };
