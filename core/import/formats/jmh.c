/*
 * JMH's -rf json: a benchmark in a mode with its parameters; raw data lies in one list a fork,
 * which are blocks here. Throughput: higher is better; the other modes are times. Secondary metrics
 * (of profilers) are metrics of their own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static bool match(const json_t *doc)
{
    const json_t *first = json_array_get(doc, 0);

    return json_is_array(doc) && json_object_get(first, "primaryMetric") &&
           json_object_get(first, "benchmark");
}

/* "ns/op" is a time an operation; "ops/ms" a rate, brought to operations a second. */
static const char *unit_of(const char *unit, double *scale, bool *higher)
{
    const size_t slash = strcspn(unit, "/");
    char *left = pfc_strndup(unit, slash);
    const char *right = unit[slash] ? unit + slash + 1 : "";
    const char *out = NULL;

    *scale = 1.0;
    if (strcmp(right, "op") == 0 && pfc_import_unit_ns(left) > 0) {
        *scale = pfc_import_unit_ns(left);
        *higher = false;
        out = "ns";
    } else if (strcmp(left, "ops") == 0 && pfc_import_unit_ns(right) > 0) {
        *scale = 1e9 / pfc_import_unit_ns(right);
        *higher = true;
        out = "ops/s";
    }
    free(left);
    return out;
}

static pfc_code read_raw(pfc_import *in, const pfc_import_key *key, const json_t *metric,
                         double scale)
{
    const json_t *raw = json_object_get(metric, "rawData");
    size_t block = 0;
    pfc_code code = PFC_OK;
    bool any = false;

    for (size_t f = 0; f < json_array_size(raw) && !code; f++) {
        const json_t *fork = json_array_get(raw, f);
        for (size_t i = 0; i < json_array_size(fork) && !code; i++) {
            const double value = pfc_import_json_number(json_array_get(fork, i));
            if (isnan(value))
                continue;
            code = pfc_import_block_sample(in, key, block, value * scale);
            any = true;
        }
        block += json_array_size(fork) > 0;
    }
    if (!code && !any) /* the sample mode keeps a histogram, and no raw data */
        code = pfc_import_sample(in, key, scale * pfc_import_number(metric, "score"));
    return code;
}

static pfc_code read_metric(pfc_import *in, const char *benchmark, const char *name,
                            const json_t *metric)
{
    const char *unit = pfc_import_string(metric, "scoreUnit");
    pfc_import_key key = { .benchmark = benchmark, .metric = name };
    double scale = 1.0;
    bool higher = false;

    key.unit = unit_of(unit ? unit : "", &scale, &higher);
    if (key.unit) {
        key.has_direction = true;
        key.higher_is_better = higher;
    } else {
        key.unit = unit ? pfc_import_unit_spelled(unit) : "";
        /* Counters of a profiler (allocation, collections) are costs. */
        key.has_direction = strstr(name, "gc.") || strstr(name, "alloc");
    }
    return read_raw(in, &key, metric, scale);
}

static char *name_of(const json_t *b, const char *benchmark)
{
    const json_t *params = json_object_get(b, "params");
    pfc_buf buf;

    pfc_buf_init(&buf, 4 * PFC_WIRE_MAX_TEXT);
    pfc_buf_puts(&buf, benchmark);
    for (PFC_JSON_EACH(it, params)) {
        const char *value = json_string_value(json_object_iter_value(it));
        if (value)
            pfc_buf_printf(&buf, "%s%s=%s", strchr(pfc_buf_text(&buf), '{') ? "," : "{",
                           json_object_iter_key(it), value);
    }
    if (strchr(pfc_buf_text(&buf), '{'))
        pfc_buf_putc(&buf, '}');
    return pfc_buf_take(&buf);
}

/* By the mode; where its unit says otherwise (files edited by hand, other tools' exports), by that.
 */
static const char *metric_of(const char *mode, const json_t *primary)
{
    const char *unit = pfc_import_string(primary, "scoreUnit");
    double scale = 1.0;
    bool rate = !mode || strcmp(mode, "thrpt") == 0;

    if (unit && unit_of(unit, &scale, &rate) && !rate && mode && strcmp(mode, "thrpt") == 0)
        return "time_ns";
    if (rate)
        return "throughput";
    if (strcmp(mode, "sample") == 0)
        return "sample_time_ns";
    if (strcmp(mode, "ss") == 0)
        return "single_shot_time_ns";
    return "time_ns";
}

static pfc_code read_one(pfc_import *in, const json_t *b, const pfc_json_at *at)
{
    const char *benchmark = pfc_import_string(b, "benchmark");
    const json_t *primary = json_object_get(b, "primaryMetric");
    const json_t *secondary = json_object_get(b, "secondaryMetrics");
    char *name;
    pfc_code code;

    if (!benchmark || !*benchmark)
        return pfc_json_fault(at, "benchmark", in->err, "expected the benchmark's name");
    if (!json_is_object(primary) && json_object_size(secondary) == 0)
        return pfc_json_fault(at, "primaryMetric", in->err, "%.80s: expected an object", benchmark);
    name = name_of(b, benchmark);
    code = !primary
               ? PFC_OK
               : read_metric(in, name, metric_of(pfc_import_string(b, "mode"), primary), primary);
    for (PFC_JSON_EACH(it, secondary)) {
        const char *key = json_object_iter_key(it);
        if (strncmp(key, "\xc2\xb7", 2) == 0) /* a middle dot marks profilers' */
            key += 2;
        if (!code && *key && json_is_object(json_object_iter_value(it)))
            code = read_metric(in, name, key, json_object_iter_value(it));
    }
    free(name);
    return code;
}

pfc_code pfc_import_jmh_doc(pfc_import *in, const json_t *doc)
{
    const pfc_json_at root = { .key = NULL };

    for (size_t i = 0; i < json_array_size(doc); i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        const pfc_code code = read_one(in, json_array_get(doc, i), &at);
        if (code)
            return code;
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_jmh = { .name = "jmh",
                                           .match_json = match,
                                           .read_json = pfc_import_jmh_doc,
                                           .match_text = pfc_import_jmh_match,
                                           .read_text = pfc_import_jmh_text };
