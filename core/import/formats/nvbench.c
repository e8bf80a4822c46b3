/*
 * NVBench --json (file format 1.0). A state (one point of the axes, on one device) is a benchmark,
 * its device the backend. Every number in it is a string with its type beside it.
 *
 * Of the summaries those are taken that the tool shows by default and that say how fast it was:
 * times and rates by their hint. Counts of samples and the tool's own wall time do not describe the
 * code; noise is kept as an extra of the time. Median, quartiles and the like are hidden ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static bool match(const json_t *doc)
{
    const json_t *first = json_array_get(json_object_get(doc, "benchmarks"), 0);

    if (!json_is_array(json_object_get(doc, "benchmarks")))
        return false;
    return json_is_array(json_object_get(first, "states")) ||
           json_object_get(json_object_get(json_object_get(doc, "meta"), "version"), "nvbench");
}

/* The device's name, with its number when several have that name; caller frees. */
static char *device_of(const json_t *doc, const json_t *state)
{
    const json_t *devices = json_object_get(doc, "devices");
    const json_t *id = json_object_get(state, "device");
    const char *name = NULL;
    size_t same = 0;

    if (!json_is_integer(id))
        return pfc_strdup("");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *d = json_array_get(devices, i);
        if (json_equal((json_t *)(uintptr_t)json_object_get(d, "id"), (json_t *)(uintptr_t)id))
            name = pfc_import_string(d, "name");
    }
    for (size_t i = 0; name && i < json_array_size(devices); i++) {
        const char *other = pfc_import_string(json_array_get(devices, i), "name");
        same += other && strcmp(other, name) == 0;
    }
    if (!name)
        return pfc_format("device %lld", (long long)json_integer_value(id));
    return same > 1 ? pfc_format("%s #%lld", name, (long long)json_integer_value(id))
                    : pfc_strdup(name);
}

static double value_of(const json_t *summary)
{
    const json_t *data = json_object_get(summary, "data");

    for (size_t i = 0; i < json_array_size(data); i++) {
        const json_t *d = json_array_get(data, i);
        const char *name = pfc_import_string(d, "name");
        if (name && strcmp(name, "value") == 0)
            return pfc_import_number(d, "value");
    }
    return (double)NAN;
}

/* The metric that a summary becomes; NULL: none. Tags are the format's own names, hints its units.
 */
static const char *metric_of(const char *tag, const char *hint, bool hidden, pfc_import_key *key)
{
    static const struct {
        const char *tag;
        const char *metric;
    } known[] = { { "nv/cold/time/gpu/mean", "gpu_time_ns" },
                  { "nv/cold/time/cpu/mean", "cpu_time_ns" },
                  { "nv/batch/time/gpu/mean", "batch_gpu_time_ns" },
                  { "nv/batch/gpu/time/mean", "batch_gpu_time_ns" },
                  { "nv/cpu_only/time/cpu/mean", "cpu_time_ns" },
                  { "nv/cold/bw/item_rate", "items_per_second" },
                  { "nv/cpu_only/bw/item_rate", "items_per_second" },
                  { "nv/cold/bw/global/bytes_per_second", "bytes_per_second" },
                  { "nv/cpu_only/bw/global/bytes_per_second", "bytes_per_second" },
                  { "nv/cold/bw/global/utilization", "bandwidth_utilization" } };
    const char *metric = NULL;

    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++) {
        if (strcmp(tag, known[i].tag) == 0)
            metric = known[i].metric;
    }
    if (!hint)
        hint = "";
    if (!metric && (hidden || strncmp(tag, "nv/", 3) == 0) && strncmp(tag, "nv/cupti/", 9) != 0)
        return NULL;
    if (strcmp(hint, "sample_size") == 0 || strstr(tag, "stdev") || strstr(tag, "walltime") ||
        strncmp(hint, "file/", 5) == 0)
        return NULL;
    key->has_direction = true;
    key->higher_is_better = true;
    if (strcmp(hint, "duration") == 0) {
        key->unit = "ns";
        key->higher_is_better = false;
    } else if (strcmp(hint, "item_rate") == 0) {
        key->unit = "items/s";
    } else if (strcmp(hint, "byte_rate") == 0) {
        key->unit = "B/s";
    } else if (strcmp(hint, "percentage") == 0) {
        key->unit = "%";
    } else if (strcmp(hint, "bytes") == 0) {
        key->unit = "bytes";
        key->higher_is_better = false;
    } else {
        key->has_direction = false; /* a user's own summary without hint */
        key->unit = NULL;
    }
    return metric ? metric : tag;
}

static pfc_code read_summary(pfc_import *in, pfc_import_key key, const json_t *s)
{
    const char *tag = pfc_import_string(s, "tag");
    const char *hint = pfc_import_string(s, "hint");
    double value = value_of(s);

    if (!tag || !*tag)
        return PFC_OK;
    key.metric = metric_of(tag, hint, json_object_get(s, "hide") != NULL, &key);
    if (!key.metric)
        return PFC_OK;
    if (hint && strcmp(hint, "duration") == 0)
        value *= 1e9; /* s */
    else if (hint && strcmp(hint, "percentage") == 0)
        value *= 100.0; /* a share */
    return pfc_import_sample(in, &key, value);
}

/* Relative noise, and the axes as parameters, beside the state's first time. */
static void add_facts(pfc_import *in, pfc_import_key key, const json_t *state)
{
    static const char *const times[][2] = { { "gpu_time_ns", "nv/cold/time/gpu/stdev/relative" },
                                            { "cpu_time_ns", "nv/cold/time/cpu/stdev/relative" } };
    const json_t *axes = json_object_get(state, "axis_values");
    const json_t *summaries = json_object_get(state, "summaries");

    for (size_t t = 0; t < PFC_ARRAY_LEN(times); t++) {
        pfc_measurement *m;
        key.metric = times[t][0];
        key.unit = "ns";
        m = pfc_import_measurement(in, &key);
        if (!m)
            return;
        for (size_t i = 0; i < json_array_size(summaries); i++) {
            const json_t *s = json_array_get(summaries, i);
            const char *tag = pfc_import_string(s, "tag");
            if (tag && strcmp(tag, times[t][1]) == 0)
                pfc_import_extra(m, "stdev_relative", value_of(s));
        }
        for (size_t i = 0; i < json_array_size(axes) && i < 32; i++) {
            const char *name = pfc_import_string(json_array_get(axes, i), "name");
            const char *value = pfc_import_string(json_array_get(axes, i), "value");
            if (name && value && *name && strlen(name) + strlen(value) < PFC_WIRE_MAX_NAME)
                pfc_import_param(m, name, value);
        }
    }
}

static bool has_tag(const json_t *summaries, const char *tag)
{
    for (size_t i = 0; i < json_array_size(summaries); i++) {
        const char *one = pfc_import_string(json_array_get(summaries, i), "tag");
        if (one && strcmp(one, tag) == 0)
            return true;
    }
    return false;
}

/* "copy_sweep/BlockSize=2^6 NumBlocks=2^6": the state's name without the device, which is the
 * backend. */
static char *name_of(const char *benchmark, const char *state)
{
    if (state && strncmp(state, "Device=", 7) == 0) {
        state += strcspn(state, " ");
        state += strspn(state, " ");
    }
    return state && *state ? pfc_format("%s/%s", benchmark, state) : pfc_strdup(benchmark);
}

static pfc_code read_state(pfc_import *in, const json_t *doc, const char *benchmark,
                           const json_t *state)
{
    const json_t *summaries = json_object_get(state, "summaries");
    char *name = name_of(benchmark, pfc_import_string(state, "name"));
    char *device = device_of(doc, state);
    pfc_import_key key = {
        .benchmark = name, .metric = "gpu_time_ns", .unit = "ns", .backend = device
    };
    pfc_code code = PFC_OK;

    key.has_direction = true;
    if (json_is_true(json_object_get(state, "is_skipped")))
        code = pfc_import_failed(in, &key, PFC_STATUS_SKIPPED,
                                 pfc_import_string(state, "skip_reason"));
    /* The time on the device first: it is what the benchmark is about. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < json_array_size(summaries) && !code; i++) {
            const json_t *s = json_array_get(summaries, i);
            const char *tag = pfc_import_string(s, "tag");
            const bool first = tag && strcmp(tag, "nv/cold/time/gpu/mean") == 0;
            if (first == (pass == 0))
                code = read_summary(in, key, s);
        }
    }
    if (!code && has_tag(summaries, "nv/cold/time/gpu/mean") &&
        has_tag(summaries, "nv/cold/time/cpu/mean"))
        add_facts(in, key, state);
    free(name);
    free(device);
    return code;
}

pfc_code pfc_import_nvbench_doc(pfc_import *in, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "benchmarks");
    const pfc_json_at root = { .key = "benchmarks" };

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *b = json_array_get(list, i);
        const json_t *states = json_object_get(b, "states");
        const pfc_json_at at = { .up = &root, .index = i };
        const char *name = pfc_import_string(b, "name");

        if (!name || !*name)
            return pfc_json_fault(&at, "name", in->err, "expected the benchmark's name");
        if (states && !json_is_array(states) && !json_is_null(states))
            return pfc_json_fault(&at, "states", in->err, "%.80s: expected a list", name);
        for (size_t k = 0; k < json_array_size(states); k++) {
            const pfc_code code = read_state(in, doc, name, json_array_get(states, k));
            if (code)
                return code;
        }
    }
    return PFC_OK;
}

const pfc_import_format pfc_import_nvbench = { .name = "nvbench",
                                               .match_json = match,
                                               .read_json = pfc_import_nvbench_doc,
                                               .match_text = pfc_import_nvbench_match,
                                               .read_text = pfc_import_nvbench_text };
