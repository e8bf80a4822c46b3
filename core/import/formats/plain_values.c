/* Bare numbers, {"value": x}, {"metrics": {...}} as users' own scripts print them, and perfci's own
 * run document. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/import/reader/reader.h"

#define MAX_NUMBER_TEXT 64

static pfc_import_key bare_key(const pfc_import *in)
{
    pfc_import_key key = { .benchmark = in->opts.benchmark ? in->opts.benchmark : "command",
                           .metric = in->opts.metric ? in->opts.metric : "value",
                           .unit = in->opts.unit };

    if (in->opts.number_is_cost && !in->opts.has_direction &&
        !pfc_import_nature(key.metric, key.unit)) {
        key.has_direction = true;
    }
    return key;
}

/* Notes that lower was assumed to be better. */
static void note_cost(pfc_import *in, const pfc_import_key *key)
{
    if (in->opts.number_is_cost && key->has_direction && !key->higher_is_better && !in->opts.metric)
        pfc_import_note(in, "a number without a name: lower is assumed to be better (otherwise "
                            "set \"better: higher\" in perfci.yaml)");
}

/* One number a line; blank lines are fine. */
static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    const pfc_import_key key = bare_key(in);
    size_t at = 0;

    note_cost(in, &key);
    for (size_t line = 1; at < len; line++) {
        const char *eol = memchr(text + at, '\n', len - at);
        size_t end = eol ? (size_t)(eol - text) : len;
        const size_t next = end + 1;
        char number[MAX_NUMBER_TEXT + 1];
        double value = 0.0;
        pfc_code code;

        while (at < end && (text[at] == ' ' || text[at] == '\t'))
            at++;
        while (end > at && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r'))
            end--;
        if (end > at) {
            const size_t n = PFC_MIN(end - at, (size_t)MAX_NUMBER_TEXT);
            memcpy(number, text + at, n);
            number[n] = '\0';
            if (n < end - at || memchr(text + at, '\0', n) ||
                pfc_parse_double(number, -1e300, 1e300, "number", &value, NULL))
                return pfc_err_set(in->err, PFC_EINVAL,
                                   "line %zu: expected a number or JSON, got '%.40s'", line,
                                   number);
            code = pfc_import_sample(in, &key, value);
            if (code)
                return code;
        }
        at = next;
    }
    return PFC_OK;
}

/* JSON lines (or a list) of flat objects: each number is a metric, each line a sample; a text under
 * "benchmark" or "name" says of what. */
static bool is_records(const json_t *doc)
{
    const json_t *first = json_array_get(doc, 0);

    for (PFC_JSON_EACH(it, first)) {
        if (json_is_number(json_object_iter_value(it)))
            return true;
    }
    return false;
}

static bool match(const json_t *doc)
{
    const json_t *value = json_object_get(doc, "value");
    const json_t *v;

    if (json_is_object(json_object_get(doc, "metrics")) || json_is_number(value) ||
        json_is_null(value) || json_is_array(json_object_get(doc, "samples")))
        return true;
    if (!json_is_array(doc) || json_array_size(doc) == 0)
        return false;
    v = json_array_get(doc, 0);
    return json_is_number(v) || json_is_null(v) || is_records(doc);
}

static pfc_code read_array(pfc_import *in, const pfc_import_key *key, const json_t *list,
                           const pfc_json_at *at)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        const pfc_json_at here = { .up = at, .index = i };
        pfc_code code;
        if (!json_is_number(v) && !json_is_null(v))
            return pfc_json_fault(&here, NULL, in->err, "%s: sample %zu: expected a number",
                                  key->metric, i);
        code = pfc_import_sample(in, key, json_is_number(v) ? json_number_value(v) : (double)NAN);
        if (code)
            return code;
    }
    return PFC_OK;
}

/* {"value": x | "samples": [..], "unit"?, "higher_is_better"?, "exact"?, "benchmark"?} */
static pfc_code read_object(pfc_import *in, pfc_import_key key, const json_t *obj,
                            const pfc_json_at *at)
{
    const json_t *value = json_object_get(obj, "value");
    const json_t *samples = json_object_get(obj, "samples");
    const json_t *higher = json_object_get(obj, "higher_is_better");
    const char *unit = pfc_import_string(obj, "unit");
    pfc_code code;

    if (unit) {
        key.unit = unit;
        key.has_direction = false;
    }
    if (higher) {
        if (!json_is_boolean(higher))
            return pfc_json_fault(at, "higher_is_better", in->err, "%s: expected true or false",
                                  key.metric);
        key.has_direction = true;
        key.higher_is_better = json_is_true(higher);
    }
    if (json_is_array(samples))
        code = read_array(in, &key, samples, at);
    else if (json_is_number(value) || json_is_null(value))
        code = pfc_import_sample(in, &key,
                                 json_is_number(value) ? json_number_value(value) : (double)NAN);
    else
        return pfc_json_fault(at, "value", in->err,
                              "%s: expected a number under 'value', or a list under 'samples'",
                              key.metric);
    if (!code && json_is_true(json_object_get(obj, "exact"))) {
        pfc_measurement *m = pfc_import_measurement(in, &key);
        pfc_unequal values;

        if (m)
            m->exact = true;
        if (m && pfc_measurement_unequal(m, &values))
            return pfc_json_fault(at, "samples", in->err,
                                  "%s is exact: expected equal samples, got %s and %s", key.metric,
                                  values.first, values.other);
    }
    return code;
}

static pfc_code read_metrics(pfc_import *in, const json_t *metrics)
{
    const pfc_json_at root = { .key = "metrics" };

    for (PFC_JSON_EACH(it, metrics)) {
        const json_t *v = json_object_iter_value(it);
        const char *name = json_object_iter_key(it);
        const pfc_json_at at = { .up = &root, .key = name };
        pfc_import_key key = bare_key(in);
        pfc_code code;

        if (!*name)
            return pfc_json_fault(&root, NULL, in->err, "expected a name for every metric");
        key.metric = name;
        /* The caller's unit is the unit of the metric that the caller named. */
        if (!in->opts.metric || strcmp(in->opts.metric, name) != 0)
            key.unit = NULL;
        key.has_direction = false;
        if (json_is_number(v) || json_is_null(v))
            code =
                pfc_import_sample(in, &key, json_is_number(v) ? json_number_value(v) : (double)NAN);
        else if (json_is_array(v))
            code = read_array(in, &key, v, &at);
        else if (json_is_object(v))
            code = read_object(in, key, v, &at);
        else
            code = pfc_json_fault(&at, NULL, in->err,
                                  "%s: expected a number, a list of numbers or an object", name);
        if (code)
            return code;
    }
    return PFC_OK;
}

static pfc_code read_record(pfc_import *in, const json_t *record, const pfc_json_at *at)
{
    const char *name = pfc_import_string(record, "benchmark");
    pfc_import_key key = bare_key(in);
    pfc_code code = PFC_OK;

    if (!json_is_object(record))
        return pfc_json_fault(at, NULL, in->err, "expected an object as the first one is");
    if (!name)
        name = pfc_import_string(record, "name");
    if (name && *name)
        key.benchmark = name;
    for (PFC_JSON_EACH(it, record)) {
        const json_t *v = json_object_iter_value(it);
        if (code || !json_is_number(v) || !*json_object_iter_key(it))
            continue;
        key.metric = json_object_iter_key(it);
        key.unit = NULL;
        key.has_direction = false;
        code = pfc_import_sample(in, &key, json_number_value(v));
    }
    return code;
}

static pfc_code read_records(pfc_import *in, const json_t *doc)
{
    const pfc_json_at root = { .key = NULL };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < json_array_size(doc) && !code; i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        code = read_record(in, json_array_get(doc, i), &at);
    }
    return code;
}

static pfc_code read_doc(pfc_import *in, const json_t *doc)
{
    const json_t *metrics = json_object_get(doc, "metrics");
    pfc_import_key key = bare_key(in);
    const char *name = pfc_import_string(doc, "benchmark");

    if (name && !in->opts.benchmark)
        in->opts.benchmark = name;
    if (metrics)
        return read_metrics(in, metrics);
    if (json_is_array(doc) && is_records(doc))
        return read_records(in, doc);
    if (json_is_array(doc)) {
        note_cost(in, &key);
        return read_array(in, &key, doc, NULL);
    }
    if (name)
        key.benchmark = name;
    if (pfc_import_string(doc, "metric") && !in->opts.metric) {
        key.metric = pfc_import_string(doc, "metric");
        key.has_direction = false;
    }
    if (!pfc_import_string(doc, "unit") && !json_object_get(doc, "higher_is_better"))
        note_cost(in, &key);
    return read_object(in, key, doc, NULL);
}

const pfc_import_format pfc_import_numbers = { .name = "numbers",
                                               .match_json = match,
                                               .read_json = read_doc,
                                               .read_text = read_text,
                                               .bare = true };

/* ---- perfci's own documents ---- */

static bool match_perfci(const json_t *doc)
{
    return json_is_array(json_object_get(doc, "measurements")) &&
           json_is_object(json_object_get(doc, "machine"));
}

static pfc_code read_perfci(pfc_import *in, const json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));
    pfc_run *run = NULL;
    pfc_code code = pfc_run_from_json(text, strlen(text), &run, in->err);

    free(text);
    if (code)
        return code;
    pfc_run_free(in->run);
    in->run = run;
    return PFC_OK;
}

const pfc_import_format pfc_import_perfci = { .name = "perfci",
                                              .match_json = match_perfci,
                                              .read_json = read_perfci };
