/*
 * Google Benchmark's --benchmark_format=json (all versions from 2016 on).
 *
 * A repetition is a sample; its name is run_name where the tool gives one. Aggregates repeat what
 * the repetitions say and are read only of benchmarks without repetitions (report_aggregates_only,
 * of the program or of one benchmark): then the median, else the mean, stands as one sample. Times
 * become ns. Members that the format does not define are user counters: metrics of their own. Its
 * other two forms, CSV and the console's table, are brought into this one
 * (google_benchmark_text.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static bool match(const json_t *doc)
{
    const json_t *list = json_object_get(doc, "benchmarks");
    const json_t *first = json_array_get(list, 0);

    if (!json_is_array(list) || json_object_get(doc, "machine_info"))
        return false;
    return json_object_get(doc, "context") || json_object_get(first, "run_type") ||
           json_object_get(first, "real_time");
}

static double unit_ns(const char *unit)
{
    if (!unit || strcmp(unit, "ns") == 0)
        return 1.0;
    if (strcmp(unit, "us") == 0)
        return 1e3;
    if (strcmp(unit, "ms") == 0)
        return 1e6;
    return strcmp(unit, "s") == 0 ? 1e9 : (double)NAN;
}

/* Everything that the format itself defines; the rest are user counters. */
static bool is_own(const char *name)
{
    static const char *const own[] = {
        "name",
        "run_name",
        "run_type",
        "family_index",
        "per_family_instance_index",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "real_time",
        "cpu_time",
        "time_unit",
        "error_occurred",
        "error_message",
        "skipped",
        "skip_message",
        "label",
        "aggregate_name",
        "aggregate_unit",
        "big_o",
        "cpu_coefficient",
        "real_coefficient",
        "rms",
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(own); i++) {
        if (strcmp(own[i], name) == 0)
            return true;
    }
    return false;
}

/* Name of an aggregate, which is also the suffix of its benchmark's name ("BM_x_median"). */
static const char *suffix_of(const char *name)
{
    static const char *const kinds[] = { "mean", "median", "stddev", "cv", "BigO", "RMS" };
    const char *last = name ? strrchr(name, '_') : NULL;

    for (size_t i = 0; last && last > name && i < PFC_ARRAY_LEN(kinds); i++) {
        if (strcmp(last + 1, kinds[i]) == 0)
            return last;
    }
    return NULL;
}

static bool is_aggregate(const json_t *b)
{
    const char *type = pfc_import_string(b, "run_type");

    if (type)
        return strcmp(type, "aggregate") == 0;
    /* before 1.4.2 only the name shows that it is an aggregate */
    return suffix_of(pfc_import_string(b, "name")) != NULL;
}

/* Which aggregate this is: "mean", "median", ...; NULL: not said. */
static const char *aggregate_of(const json_t *b)
{
    const char *given = pfc_import_string(b, "aggregate_name");
    const char *suffix = suffix_of(pfc_import_string(b, "name"));

    return given ? given : suffix ? suffix + 1 : NULL;
}

/* The benchmark's own name; caller frees. NULL: none is given. */
static char *name_of(const json_t *b)
{
    const char *run_name = pfc_import_string(b, "run_name");
    const char *name = run_name ? run_name : pfc_import_string(b, "name");
    const char *suffix = !run_name && is_aggregate(b) ? suffix_of(name) : NULL;

    if (!name || !*name)
        return NULL;
    return suffix ? pfc_strndup(name, (size_t)(suffix - name)) : pfc_strdup(name);
}

static const char *why_failed(const json_t *b)
{
    const char *why = pfc_import_string(b, "error_message");

    return why ? why : pfc_import_string(b, "skip_message");
}

/* Counters of its memory manager, whose names carry no unit. */
static void memory_counter(pfc_import_key *key)
{
    static const char *const bytes[] = { "max_bytes_used", "total_allocated_bytes",
                                         "net_heap_growth" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bytes); i++) {
        if (strcmp(key->metric, bytes[i]) == 0) {
            key->unit = "bytes";
            key->has_direction = true;
        }
    }
    if (strcmp(key->metric, "allocs_per_iter") == 0) {
        key->unit = "allocs";
        key->has_direction = true;
    }
}

static pfc_code read_counters(pfc_import *in, const char *benchmark, const json_t *b)
{
    for (PFC_JSON_EACH(it, b)) {
        const json_t *v = json_object_iter_value(it);
        pfc_import_key key = { .benchmark = benchmark, .metric = json_object_iter_key(it) };
        pfc_code code;

        memory_counter(&key);

        if (is_own(key.metric) || (!json_is_number(v) && !json_is_null(v)))
            continue;
        code = pfc_import_sample(in, &key, json_is_number(v) ? json_number_value(v) : (double)NAN);
        if (code)
            return code;
    }
    return PFC_OK;
}

static pfc_code read_one(pfc_import *in, const char *name, const json_t *b, const pfc_json_at *at)
{
    const json_t *skipped = json_object_get(b, "skipped");
    const double scale = unit_ns(pfc_import_string(b, "time_unit"));
    const double real = pfc_import_number(b, "real_time");
    const double cpu = pfc_import_number(b, "cpu_time");
    const pfc_import_key time = { name, "time_ns", "ns", true, false, NULL };
    const pfc_import_key cpu_time = { name, "cpu_time_ns", "ns", true, false, NULL };
    pfc_code code;

    if (json_is_true(json_object_get(b, "error_occurred")) ||
        (json_is_string(skipped) && strcmp(json_string_value(skipped), "error") == 0))
        return pfc_import_failed(in, &time, PFC_STATUS_BROKEN, why_failed(b));
    if (json_is_true(skipped) || json_is_string(skipped))
        return pfc_import_failed(in, &time, PFC_STATUS_SKIPPED, why_failed(b));
    if (isnan(scale))
        return pfc_json_fault(at, "time_unit", in->err,
                              "%.80s: expected ns, us, ms or s, got '%.20s'", name,
                              pfc_import_string(b, "time_unit"));
    if (isnan(real))
        code = pfc_import_failed(in, &time, PFC_STATUS_SKIPPED, "it has no real_time");
    else
        code = pfc_import_sample(in, &time, real * scale);
    if (!code && !isnan(cpu))
        code = pfc_import_sample(in, &cpu_time, cpu * scale);
    return code ? code : read_counters(in, name, b);
}

/* Names of the benchmarks that have repetitions, and of those that have a median. */
static void list_names(const json_t *list, json_t *plain, json_t *medians)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *b = json_array_get(list, i);
        const char *kind = is_aggregate(b) ? aggregate_of(b) : NULL;
        char *name = name_of(b);

        if (name && !is_aggregate(b))
            json_object_set_new(plain, name, json_true());
        else if (name && kind && strcmp(kind, "median") == 0)
            json_object_set_new(medians, name, json_true());
        free(name);
    }
}

static bool is_wanted(const json_t *b, const char *name, const json_t *plain, const json_t *medians)
{
    const char *kind = aggregate_of(b);

    if (!is_aggregate(b))
        return true;
    return kind && !json_object_get(plain, name) &&
           strcmp(kind, json_object_get(medians, name) ? "median" : "mean") == 0;
}

pfc_code pfc_import_google_benchmark_doc(pfc_import *in, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "benchmarks");
    const pfc_json_at root = { .key = "benchmarks" };
    json_t *plain = json_object();
    json_t *medians = json_object();
    pfc_code code = PFC_OK;

    pfc_import_date(in, pfc_import_string(json_object_get(doc, "context"), "date"));
    list_names(list, plain, medians);
    for (size_t i = 0; i < json_array_size(list) && !code; i++) {
        const json_t *b = json_array_get(list, i);
        const pfc_json_at at = { .up = &root, .index = i };
        char *name = name_of(b);

        if (!json_is_object(b))
            code = pfc_json_fault(&at, NULL, in->err, "benchmarks: expected objects");
        else if (!name)
            code = pfc_json_fault(&at, "name", in->err, "expected the benchmark's name");
        else if (is_wanted(b, name, plain, medians))
            code = read_one(in, name, b, &at);
        free(name);
    }
    json_decref(plain);
    json_decref(medians);
    return code;
}

const pfc_import_format pfc_import_google_benchmark = {
    .name = "google-benchmark",
    .match_json = match,
    .read_json = pfc_import_google_benchmark_doc,
    .match_text = pfc_import_google_benchmark_match,
    .read_text = pfc_import_google_benchmark_text,
};
