/*
 * Two small formats that many tools can be made to write:
 * github-action-benchmark's customSmallerIsBetter and customBiggerIsBetter, the same array whose
 * direction is said outside of it (opts, else by the unit); and Bencher Metric Format,
 * {benchmark: {measure: {"value": x}}}, whose built-in measures have units.
 */
#include <math.h>
#include <string.h>

#include "core/import/reader.h"

static bool match_action(const json_t *doc)
{
    const json_t *first = json_array_get(doc, 0);

    return json_is_array(doc) && json_object_get(first, "name") && json_object_get(first, "value");
}

static pfc_code read_action(pfc_import *in, const json_t *doc)
{
    const pfc_json_at root = { 0 };

    for (size_t i = 0; i < json_array_size(doc); i++) {
        const json_t *b = json_array_get(doc, i);
        const pfc_json_at at = { .up = &root, .index = i };
        const char *name = pfc_import_string(b, "name");
        const char *unit = pfc_import_string(b, "unit");
        const json_t *value = json_object_get(b, "value");
        const pfc_import_key key = { .benchmark = name,
                                     .metric = in->opts.metric ? in->opts.metric : "value",
                                     .unit = unit ? unit : "" };
        pfc_code code;

        if (!name || !*name)
            return pfc_json_fault(&at, "name", in->err, "want the benchmark's name");
        if (!json_is_number(value) && !json_is_null(value))
            return pfc_json_fault(&at, "value", in->err, "%.80s: want a number", name);
        code = pfc_import_sample(in, &key, pfc_import_number(b, "value"));
        if (code)
            return code;
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_github_action = { .name = "github-action",
                                                     .match_json = match_action,
                                                     .read_json = read_action };

static bool match_bmf(const json_t *doc)
{
    const json_t *first = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)doc));
    const json_t *measure = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)first));

    return json_is_object(measure) && json_object_get(measure, "value");
}

/* Units of Bencher's built-in measures; others carry theirs in the name, or none. */
static const char *bmf_unit(const char *measure)
{
    static const struct {
        const char *name;
        const char *unit;
    } units[] = { { "latency", "ns" },
                  { "throughput", "ops/s" },
                  { "build-time", "s" },
                  { "file-size", "bytes" },
                  { "instructions", "instructions" },
                  { "estimated-cycles", "cycles" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(units); i++) {
        if (strcmp(units[i].name, measure) == 0)
            return units[i].unit;
    }
    return NULL;
}

static pfc_code read_bmf(pfc_import *in, const json_t *doc)
{
    for (void *it = json_object_iter((json_t *)(uintptr_t)doc); it;
         it = json_object_iter_next((json_t *)(uintptr_t)doc, it)) {
        const char *benchmark = json_object_iter_key(it);
        json_t *measures = json_object_iter_value(it);
        const pfc_json_at at = { .key = benchmark };

        if (!*benchmark || !json_is_object(measures))
            return pfc_json_fault(&at, NULL, in->err, "want an object of measures");
        for (void *jt = json_object_iter(measures); jt; jt = json_object_iter_next(measures, jt)) {
            const json_t *m = json_object_iter_value(jt);
            const char *measure = json_object_iter_key(jt);
            const pfc_import_key key = { .benchmark = benchmark,
                                         .metric = measure,
                                         .unit = bmf_unit(measure) };
            pfc_code code;
            if (!*measure || !json_object_get(m, "value"))
                return pfc_json_fault(&at, measure, in->err, "want an object with 'value'");
            code = pfc_import_sample(in, &key, pfc_import_number(m, "value"));
            if (code)
                return code;
        }
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_bmf = { .name = "bmf",
                                           .match_json = match_bmf,
                                           .read_json = read_bmf };
