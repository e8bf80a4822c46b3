/*
 * Google Benchmark's --benchmark_format=json (all versions from 2016 on).
 *
 * A repetition is a sample; its name is run_name where the tool gives one. Aggregates repeat what
 * the repetitions say and are read only when there are no repetitions
 * (--benchmark_report_aggregates_only): then the median, else the mean, stands as one sample. Times become ns.
 * Members that the format does not define are user counters: metrics of their own.
 */
#include <math.h>
#include <string.h>

#include "core/import/reader.h"

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

static bool is_aggregate(const json_t *b)
{
    const char *type = pfc_import_string(b, "run_type");
    const char *name = pfc_import_string(b, "name");
    const size_t len = name ? strlen(name) : 0;

    if (type)
        return strcmp(type, "aggregate") == 0;
    /* before 1.4.2 only the name told */
    return (len > 5 && strcmp(name + len - 5, "_mean") == 0) ||
           (len > 7 && strcmp(name + len - 7, "_median") == 0) ||
           (len > 7 && strcmp(name + len - 7, "_stddev") == 0) ||
           (len > 5 && (strcmp(name + len - 5, "_BigO") == 0)) ||
           (len > 4 && strcmp(name + len - 4, "_RMS") == 0);
}

/* Which aggregate this is; NULL: none. Before 1.4.2 only the name tells. */
static const char *aggregate_of(const json_t *b)
{
    static const char *const kinds[] = { "median", "mean" };
    const char *given = pfc_import_string(b, "aggregate_name");
    const char *name = pfc_import_string(b, "name");
    const char *last = name ? strrchr(name, '_') : NULL;

    for (size_t i = 0; i < PFC_ARRAY_LEN(kinds); i++) {
        if (given ? strcmp(given, kinds[i]) == 0 : last && strcmp(last + 1, kinds[i]) == 0)
            return kinds[i];
    }
    return NULL;
}

/* The aggregate that stands for benchmarks without repetitions: the median, else the mean. */
static const char *wanted_aggregate(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *kind = aggregate_of(json_array_get(list, i));
        if (kind && strcmp(kind, "median") == 0)
            return kind;
    }
    return "mean";
}

static bool is_wanted(const json_t *b, const char *wanted)
{
    const char *kind = aggregate_of(b);

    return kind && strcmp(kind, wanted) == 0;
}

static const char *why_failed(const json_t *b)
{
    const char *why = pfc_import_string(b, "error_message");

    return why ? why : pfc_import_string(b, "skip_message");
}

static pfc_code read_counters(pfc_import *in, const char *benchmark, const json_t *b)
{
    for (PFC_JSON_EACH(it, b)) {
        const json_t *v = json_object_iter_value(it);
        const pfc_import_key key = { .benchmark = benchmark, .metric = json_object_iter_key(it) };
        pfc_code code;

        if (is_own(key.metric) || (!json_is_number(v) && !json_is_null(v)))
            continue;
        code = pfc_import_sample(in, &key, json_is_number(v) ? json_number_value(v) : (double)NAN);
        if (code)
            return code;
    }
    return PFC_OK;
}

static pfc_code read_one(pfc_import *in, const json_t *b, const pfc_json_at *at)
{
    const char *run_name = pfc_import_string(b, "run_name");
    const char *name = run_name ? run_name : pfc_import_string(b, "name");
    const json_t *skipped = json_object_get(b, "skipped");
    const double scale = unit_ns(pfc_import_string(b, "time_unit"));
    const double real = pfc_import_number(b, "real_time");
    const double cpu = pfc_import_number(b, "cpu_time");
    const pfc_import_key time = { name, "time_ns", "ns", true, false, NULL };
    const pfc_import_key cpu_time = { name, "cpu_time_ns", "ns", true, false, NULL };
    pfc_code code;

    if (!name || !*name)
        return pfc_json_fault(at, "name", in->err, "want the benchmark's name");
    if (json_is_true(json_object_get(b, "error_occurred")) ||
        (json_is_string(skipped) && strcmp(json_string_value(skipped), "error") == 0))
        return pfc_import_failed(in, &time, PFC_STATUS_BROKEN, why_failed(b));
    if (json_is_true(skipped) || json_is_string(skipped))
        return pfc_import_failed(in, &time, PFC_STATUS_SKIPPED, why_failed(b));
    if (isnan(scale))
        return pfc_json_fault(at, "time_unit", in->err, "%.80s: want ns, us, ms or s, got '%.20s'",
                              name, pfc_import_string(b, "time_unit"));
    if (isnan(real))
        code = pfc_import_failed(in, &time, PFC_STATUS_SKIPPED, "it has no real_time");
    else
        code = pfc_import_sample(in, &time, real * scale);
    if (!code && !isnan(cpu))
        code = pfc_import_sample(in, &cpu_time, cpu * scale);
    return code ? code : read_counters(in, name, b);
}

static pfc_code read_doc(pfc_import *in, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "benchmarks");
    const char *wanted = wanted_aggregate(list);
    const pfc_json_at root = { .key = "benchmarks" };
    bool any = false;

    for (size_t i = 0; i < json_array_size(list); i++)
        any = any || !is_aggregate(json_array_get(list, i));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *b = json_array_get(list, i);
        const pfc_json_at at = { .up = &root, .index = i };
        pfc_code code;

        if (!json_is_object(b))
            return pfc_json_fault(&at, NULL, in->err, "benchmarks: want objects");
        if (any ? is_aggregate(b) : !is_wanted(b, wanted))
            continue;
        code = read_one(in, b, &at);
        if (code)
            return code;
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_google_benchmark = { .name = "google-benchmark",
                                                        .match_json = match,
                                                        .read_json = read_doc };
