/*
 * Two small formats that many tools can be made to write:
 * github-action-benchmark's customSmallerIsBetter and customBiggerIsBetter, the same array whose
 * direction is said outside of it (opts, else by the unit or the name), and the history that the
 * action keeps for its page; and Bencher Metric Format, {benchmark: {measure: {"value": x}}}, whose
 * built-in measures have units and directions.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

/* ---- github-action-benchmark ---- */

static bool is_bench(const json_t *b)
{
    return json_object_get(b, "name") && json_object_get(b, "value");
}

/* The page's data.js: {"entries": {suite: [{commit, date, tool, benches: [..]}]}}. */
static bool is_page_data(const json_t *doc)
{
    const json_t *runs = pfc_import_first(json_object_get(doc, "entries"), NULL);

    return json_is_object(json_object_get(doc, "entries")) &&
           (json_object_get(doc, "lastUpdate") ||
            json_object_get(json_array_get(runs, 0), "benches"));
}

static bool match_action(const json_t *doc)
{
    return (json_is_array(doc) && is_bench(json_array_get(doc, 0))) || is_page_data(doc);
}

/* Directions of the action's tools whose values grow with speed; of the others a rate still says so
 * by its unit. */
static bool tool_is_bigger(const char *tool)
{
    static const char *const bigger[] = { "customBiggerIsBetter", "benchmarkjs", "pytest" };

    for (size_t i = 0; tool && i < PFC_ARRAY_LEN(bigger); i++) {
        if (strcmp(tool, bigger[i]) == 0)
            return true;
    }
    return false;
}

static pfc_code read_bench(pfc_import *in, const json_t *b, const char *suite, const char *tool,
                           const pfc_json_at *at)
{
    const char *name = pfc_import_string(b, "name");
    const char *unit = pfc_import_string(b, "unit");
    const json_t *value = json_object_get(b, "value");
    pfc_import_key key = { .metric = in->opts.metric ? in->opts.metric : "value",
                           .unit = unit            ? unit
                                   : in->opts.unit ? in->opts.unit
                                                   : "" };
    char *full;
    int nature;
    pfc_code code;

    if (!name || !*name)
        return pfc_json_fault(at, "name", in->err, "expected the benchmark's name");
    if (!json_is_number(value) && !json_is_null(value) && !json_is_string(value))
        return pfc_json_fault(at, "value", in->err, "%.80s: expected a number", name);
    full = suite ? pfc_format("%s/%s", suite, name) : pfc_strdup(name);
    key.benchmark = full;
    nature = pfc_import_nature(name, key.unit);
    if (tool || (nature && !in->opts.has_direction)) {
        key.has_direction = true;
        key.higher_is_better =
            tool_is_bigger(tool) ||
            (nature > 0 && !(tool && strcmp(tool, "customSmallerIsBetter") == 0));
    }
    code = pfc_import_sample(in, &key, pfc_import_json_number(value));
    free(full);
    return code;
}

static pfc_code read_entry(pfc_import *in, const json_t *entry, const char *suite,
                           const pfc_json_at *at)
{
    const json_t *benches = json_object_get(entry, "benches");
    const json_t *commit = json_object_get(entry, "commit");
    const char *id = pfc_import_string(commit, "id");
    const double date_ms = pfc_import_number(entry, "date");
    pfc_code code = pfc_import_point(in, id, NULL, isnan(date_ms) ? 0.0 : date_ms / 1000.0);

    if (!json_is_array(benches))
        return pfc_json_fault(at, "benches", in->err, "expected a list");
    for (size_t i = 0; i < json_array_size(benches) && !code; i++) {
        const pfc_json_at here = { .up = at, .index = i };
        code = read_bench(in, json_array_get(benches, i), suite, pfc_import_string(entry, "tool"),
                          &here);
    }
    return code;
}

static pfc_code read_page_data(pfc_import *in, const json_t *doc)
{
    const json_t *entries = json_object_get(doc, "entries");
    const bool several = json_object_size(entries) > 1;
    pfc_code code = PFC_OK;

    for (PFC_JSON_EACH(it, entries)) {
        const json_t *list = json_object_iter_value(it);
        const char *suite = json_object_iter_key(it);
        const pfc_json_at root = { .key = suite };
        for (size_t i = 0; i < json_array_size(list) && !code; i++) {
            const pfc_json_at at = { .up = &root, .index = i };
            code = read_entry(in, json_array_get(list, i), several ? suite : NULL, &at);
        }
    }
    return code;
}

static pfc_code read_action(pfc_import *in, const json_t *doc)
{
    const pfc_json_at root = { .key = NULL };
    pfc_code code = PFC_OK;

    if (is_page_data(doc))
        return read_page_data(in, doc);
    if (!json_is_array(doc))
        return pfc_err_set(in->err, PFC_EINVAL, "expected a list of results");
    for (size_t i = 0; i < json_array_size(doc) && !code; i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        code = read_bench(in, json_array_get(doc, i), NULL, NULL, &at);
    }
    return code;
}

const pfc_import_format pfc_import_github_action = {
    .name = "github-action", .match_json = match_action, .read_json = read_action, .bare = true
};

/* ---- Bencher Metric Format ---- */

static bool match_bmf(const json_t *doc)
{
    const json_t *first = pfc_import_first(doc, NULL);

    return json_is_object(doc) && json_is_object(first) &&
           json_object_get(pfc_import_first(first, NULL), "value");
}

/* Bencher's built-in measures; others carry what they are in the name, or not at all. */
static void measure_of(const char *measure, pfc_import_key *key)
{
    static const struct {
        const char *name;
        const char *unit;
        bool higher;
    } known[] = { { "latency", "ns", false },
                  { "throughput", "ops/s", true },
                  { "build-time", "s", false },
                  { "file-size", "bytes", false },
                  { "instructions", "instructions", false },
                  { "l1-hits", "hits", true },
                  { "l2-hits", "hits", true },
                  { "ram-hits", "hits", false },
                  { "total-read-write", "accesses", false },
                  { "estimated-cycles", "cycles", false },
                  { "json", "", false } };

    key->metric = measure;
    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++) {
        if (strcmp(known[i].name, measure) == 0) {
            key->unit = known[i].unit;
            key->has_direction = true;
            key->higher_is_better = known[i].higher;
        }
    }
}

static pfc_code read_measure(pfc_import *in, const char *benchmark, const char *measure,
                             const json_t *m, const pfc_json_at *at)
{
    pfc_import_key key = { .benchmark = benchmark };
    pfc_measurement *stored;
    pfc_code code;

    if (!*measure || !json_object_get(m, "value"))
        return pfc_json_fault(at, measure, in->err, "expected an object with 'value'");
    measure_of(measure, &key);
    code = pfc_import_sample(in, &key, pfc_import_number(m, "value"));
    stored = code ? NULL : pfc_import_measurement(in, &key);
    if (stored) {
        pfc_import_extra(stored, "lower_value", pfc_import_number(m, "lower_value"));
        pfc_import_extra(stored, "upper_value", pfc_import_number(m, "upper_value"));
    }
    return code;
}

static pfc_code read_bmf(pfc_import *in, const json_t *doc)
{
    pfc_code code = PFC_OK;

    for (PFC_JSON_EACH(it, doc)) {
        const char *benchmark = json_object_iter_key(it);
        const json_t *measures = json_object_iter_value(it);
        const pfc_json_at at = { .key = benchmark };

        if (!*benchmark || !json_is_object(measures))
            return pfc_json_fault(&at, NULL, in->err, "expected an object of measures");
        for (PFC_JSON_EACH(jt, measures)) {
            if (!code)
                code = read_measure(in, benchmark, json_object_iter_key(jt),
                                    json_object_iter_value(jt), &at);
        }
        if (code)
            return code;
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_bmf = {
    .name = "bmf", .match_json = match_bmf, .read_json = read_bmf, .bare = true
};
