/* The two small documents between perfci-bench and its child processes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench/harness/harness.h"
#include "core/base/fs.h"

#define MAX_SAMPLES PFC_WIRE_MAX_SAMPLES
#define MAX_PATH    PFC_PATH_MAX

static char *dump(json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));

    json_decref(doc);
    if (!text)
        pfc_die("block: JSON encoding failed");
    return text;
}

/* Set only where there is one, so that other blocks are as they were. */
static void add_file(json_t *doc, const char *name, const char *path)
{
    if (path)
        json_object_set_new(doc, name, json_string(path));
}

char *pfc_block_spec_to_text(const pfc_block_spec *spec)
{
    json_t *params = json_object();
    json_t *doc;

    for (size_t i = 0; i < spec->c->op->params_len; i++)
        json_object_set_new(params, spec->c->op->params[i].name, json_integer(spec->c->params[i]));
    doc = json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:f, s:f, s:b, s:i, s:s, s:I}", "op",
                    spec->c->op->name, "dtype", spec->c->dtype, "params", params, "backend",
                    spec->backend, "seed", (json_int_t)spec->seed, "samples",
                    (json_int_t)spec->samples, "max_seconds", spec->max_seconds, "warmup_seconds",
                    spec->warmup_seconds, "check", (int)spec->check, "cpu", spec->cpu, "counters",
                    spec->counters, "copies", (json_int_t)PFC_MAX(spec->copies, 1));
    if (doc) {
        add_file(doc, "program", spec->c->program);
        add_file(doc, "schedule", spec->c->schedule);
        add_file(doc, "trace", spec->trace[0] ? spec->trace : NULL);
    }
    return dump(doc);
}

static pfc_code read_case(const json_t *doc, pfc_case *c, pfc_err *err)
{
    char *op = NULL;
    char *dtype = NULL;
    json_t *params = NULL;
    pfc_code code = pfc_json_string(doc, NULL, "op", true, 32, &op, err);

    if (!code)
        code = pfc_json_string(doc, NULL, "dtype", true, sizeof(c->dtype) - 1, &dtype, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "program", false, MAX_PATH, &c->program, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "schedule", false, MAX_PATH, &c->schedule, err);
    if (!code)
        code = pfc_json_object(doc, NULL, "params", true, &params, err);
    if (!code) {
        c->op = pfc_op_find(op);
        if (!c->op)
            code = pfc_json_fault(NULL, "op", err, "unknown operation '%s'", op);
        else if (pfc_dtype_bytes(dtype) <= 0.0)
            code = pfc_json_fault(NULL, "dtype", err, "unknown type '%s'", dtype);
    }
    for (size_t i = 0; !code && i < c->op->params_len; i++) {
        const pfc_op_param *p = &c->op->params[i];
        code = pfc_json_i64(params, NULL, p->name, true, p->min, p->max, &c->params[i], err);
    }
    if (!code) {
        snprintf(c->dtype, sizeof(c->dtype), "%s", dtype);
        c->name = pfc_case_own_name(c->op, c->dtype, c->params, c->program, c->schedule);
    }
    free(op);
    free(dtype);
    return code;
}

pfc_code pfc_block_spec_from_text(const char *text, size_t len, pfc_block_spec *out, pfc_case *c,
                                  char **backend, pfc_err *err)
{
    json_t *doc = NULL;
    char *counters = NULL;
    char *trace = NULL;
    int64_t seed = 0;
    int64_t samples = 0;
    int64_t cpu = -1;
    int64_t copies = 1;
    pfc_code code = pfc_json_parse(text, len, &doc, err);

    *c = (pfc_case){ 0 };
    *backend = NULL;
    *out = (pfc_block_spec){ 0 };
    if (!code)
        code = read_case(doc, c, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "backend", true, 63, backend, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "seed", true, INT64_MIN, INT64_MAX, &seed, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "samples", true, 1, MAX_SAMPLES, &samples, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "cpu", true, -1, 1 << 20, &cpu, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "copies", false, 1, PFC_MAX_COPIES, &copies, err);
    if (!code)
        code = pfc_json_double(doc, NULL, "max_seconds", true, 0.0, 1e6, &out->max_seconds, err);
    if (!code)
        code =
            pfc_json_double(doc, NULL, "warmup_seconds", true, 0.0, 1e6, &out->warmup_seconds, err);
    if (!code)
        code = pfc_json_bool(doc, NULL, "check", true, &out->check, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "counters", false, sizeof(out->counters) - 1, &counters,
                               err);
    if (!code)
        code = pfc_json_string(doc, NULL, "trace", false, sizeof(out->trace) - 1, &trace, err);
    snprintf(out->counters, sizeof(out->counters), "%s", counters ? counters : "");
    snprintf(out->trace, sizeof(out->trace), "%s", trace ? trace : "");
    free(counters);
    free(trace);
    json_decref(doc);
    if (code) {
        pfc_case_clear(c);
        free(*backend);
        *backend = NULL;
        return code;
    }
    out->c = c;
    out->backend = *backend;
    out->seed = (uint64_t)seed;
    out->samples = (size_t)samples;
    out->cpu = (int)cpu;
    out->copies = (size_t)copies;
    return PFC_OK;
}

static const char *status_name(pfc_status status)
{
    return status == PFC_STATUS_OK ? "ok" : status == PFC_STATUS_BROKEN ? "broken" : "skipped";
}

char *pfc_block_to_text(const pfc_block *block)
{
    json_t *samples = json_array();
    json_t *counters = json_object();
    json_t *doc;

    for (size_t i = 0; i < block->len; i++)
        json_array_append_new(samples, json_real(block->samples[i]));
    for (size_t i = 0; block->exact && i < block->exact->counters_len; i++)
        json_object_set_new(counters, block->exact->counters[i].name,
                            json_real(block->exact->counters[i].value));
    doc = json_pack("{s:s, s:s, s:o, s:I, s:b, s:s, s:f, s:f, s:f, s:b, s:I, s:I}", "status",
                    status_name(block->status), "reason", block->reason ? block->reason : "",
                    "samples", samples, "batch", (json_int_t)block->batch, "steady",
                    (int)block->steady, "clock", block->clock, "resolution_ns",
                    block->resolution_ns, "setup_seconds", block->setup_seconds, "seconds",
                    block->seconds, "pinned", (int)block->pinned, "preempted",
                    (json_int_t)block->preempted, "page_faults", (json_int_t)block->page_faults);
    if (!doc)
        pfc_die("block: JSON encoding failed");
    json_object_set_new(doc, "fifo", json_boolean(block->fifo));
    json_object_set_new(doc, "warmup_seconds", json_real(block->warmup_seconds));
    json_object_set_new(doc, "sampling_seconds", json_real(block->sampling_seconds));
    json_object_set_new(doc, "huge_bytes", json_integer((json_int_t)block->huge_bytes));
    if (block->counted) {
        json_t *counts = json_object();
        /* absent is null, which is not zero */
        for (size_t i = 0; i < block->counts.len; i++) {
            const pfc_count *n = &block->counts.items[i];
            json_object_set_new(counts, n->name,
                                n->share > 0.0 ? json_pack("[ff]", n->value, n->share)
                                               : json_null());
        }
        json_object_set_new(doc, "counts", counts);
    }
    if (block->exact) {
        json_t *facts = json_object();

        for (size_t i = 0; i < block->exact->facts_len; i++)
            json_object_set_new(facts, block->exact->facts[i].name,
                                json_string(block->exact->facts[i].text));
        json_object_set_new(doc, "facts", facts);
        json_object_set_new(doc, "cycles", json_integer((json_int_t)block->exact->cycles));
        json_object_set_new(doc, "counters", counters);
    } else {
        json_decref(counters);
    }
    return dump(doc);
}

static pfc_code read_samples(const json_t *doc, pfc_block *out, pfc_err *err)
{
    json_t *list = NULL;
    json_t *item;
    size_t i;
    pfc_code code = pfc_json_array(doc, NULL, "samples", true, MAX_SAMPLES, &list, err);

    if (code)
        return code;
    out->samples = pfc_calloc(json_array_size(list), sizeof(*out->samples));
    json_array_foreach(list, i, item)
    {
        const double v = json_number_value(item);
        if (!json_is_number(item) || !isfinite(v) || v <= 0.0)
            return pfc_json_fault(NULL, "samples", err, "sample %zu: expected a positive number",
                                  i);
        out->samples[out->len++] = v;
    }
    return PFC_OK;
}

static pfc_code read_counts(const json_t *doc, pfc_block *out, pfc_err *err)
{
    json_t *counts = json_object_get(doc, "counts");
    const char *name;
    json_t *pair;

    out->counted = json_is_object(counts);
    json_object_foreach(counts, name, pair)
    {
        const double value = json_number_value(json_array_get(pair, 0));
        const double share = json_number_value(json_array_get(pair, 1));
        pfc_count *n = &out->counts.items[out->counts.len];
        if (out->counts.len == PFC_COUNTERS_MAX || strlen(name) >= sizeof(n->name))
            return pfc_json_fault(NULL, "counts", err, "expected at most %d, with shorter names",
                                  PFC_COUNTERS_MAX);
        out->counts.len++;
        snprintf(n->name, sizeof(n->name), "%s", name);
        if (!json_is_array(pair))
            continue;
        if (!(value >= 0.0) || !isfinite(value) || !(share > 0.0 && share <= 1.0))
            return pfc_json_fault(NULL, "counts", err, "%s: expected a count and a share in (0, 1]",
                                  name);
        n->value = value;
        n->share = share;
    }
    return PFC_OK;
}

static void read_facts(const json_t *doc, pfc_exact *out)
{
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(doc, "facts"), name, value)
    {
        if (!json_is_string(value) || out->facts_len == PFC_EXACT_MAX_FACTS)
            continue;
        snprintf(out->facts[out->facts_len].name, sizeof(out->facts[0].name), "%s", name);
        snprintf(out->facts[out->facts_len].text, sizeof(out->facts[0].text), "%s",
                 json_string_value(value));
        out->facts_len++;
    }
}

static void read_exact(const json_t *doc, int64_t cycles, pfc_block *out)
{
    const json_t *counters = json_object_get(doc, "counters");
    const char *name;
    json_t *value;

    out->exact = pfc_calloc(1, sizeof(*out->exact));
    out->exact->cycles = (uint64_t)cycles;
    out->exact->time_ns = out->len ? out->samples[0] : 0.0;
    for (void *it = json_object_iter((json_t *)(uintptr_t)counters);
         it && out->exact->counters_len < PFC_EXACT_MAX_COUNTERS;
         it = json_object_iter_next((json_t *)(uintptr_t)counters, it)) {
        name = json_object_iter_key(it);
        value = json_object_iter_value(it);
        if (!json_is_number(value))
            continue;
        snprintf(out->exact->counters[out->exact->counters_len].name,
                 sizeof(out->exact->counters[0].name), "%s", name);
        out->exact->counters[out->exact->counters_len++].value = json_number_value(value);
    }
    read_facts(doc, out->exact);
}

/* How the samples were taken. */
static pfc_code read_sampling(const json_t *doc, pfc_block *out, pfc_err *err)
{
    int64_t batch = 0;
    pfc_code code =
        pfc_json_i64(doc, NULL, "huge_bytes", false, -1, INT64_MAX, &out->huge_bytes, err);

    if (!code)
        code = pfc_json_i64(doc, NULL, "batch", true, 0, INT64_MAX, &batch, err);
    if (!code)
        code = pfc_json_bool(doc, NULL, "steady", true, &out->steady, err);
    if (!code)
        code = pfc_json_bool(doc, NULL, "pinned", true, &out->pinned, err);
    if (!code)
        code = pfc_json_bool(doc, NULL, "fifo", false, &out->fifo, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "preempted", true, 0, INT64_MAX, &out->preempted, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "page_faults", true, 0, INT64_MAX, &out->page_faults, err);
    out->batch = (uint64_t)batch;
    return code;
}

static pfc_code read_durations(const json_t *doc, pfc_block *out, pfc_err *err)
{
    pfc_code code =
        pfc_json_double(doc, NULL, "warmup_seconds", false, 0, 1e6, &out->warmup_seconds, err);

    if (!code)
        code = pfc_json_double(doc, NULL, "sampling_seconds", false, 0, 1e9, &out->sampling_seconds,
                               err);
    if (!code)
        code = pfc_json_double(doc, NULL, "resolution_ns", true, 0, 1e12, &out->resolution_ns, err);
    if (!code)
        code = pfc_json_double(doc, NULL, "setup_seconds", true, 0, 1e6, &out->setup_seconds, err);
    if (!code)
        code = pfc_json_double(doc, NULL, "seconds", true, 0, 1e6, &out->seconds, err);
    return code;
}

static pfc_status status_of(const char *name)
{
    return pfc_streq(name, "ok")       ? PFC_STATUS_OK
           : pfc_streq(name, "broken") ? PFC_STATUS_BROKEN
                                       : PFC_STATUS_SKIPPED;
}

pfc_code pfc_block_from_text(const char *text, size_t len, pfc_block *out, pfc_err *err)
{
    json_t *doc = NULL;
    char *status = NULL;
    char *clock = NULL;
    int64_t cycles = -1;
    pfc_code code = pfc_json_parse(text, len, &doc, err);

    *out = (pfc_block){ .huge_bytes = -1 };
    if (!code)
        code = pfc_json_string(doc, NULL, "status", true, 16, &status, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &out->reason, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "clock", false, sizeof(out->clock) - 1, &clock, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "cycles", false, 0, INT64_MAX, &cycles, err);
    if (!code)
        code = read_sampling(doc, out, err);
    if (!code)
        code = read_durations(doc, out, err);
    if (!code)
        code = read_samples(doc, out, err);
    if (!code)
        code = read_counts(doc, out, err);
    if (!code) {
        out->status = status_of(status);
        if (clock)
            snprintf(out->clock, sizeof(out->clock), "%s", clock);
        if (cycles >= 0)
            read_exact(doc, cycles, out);
        if (out->status == PFC_STATUS_OK && out->len == 0)
            code = pfc_json_fault(NULL, "samples", err, "expected at least one");
    }
    free(status);
    free(clock);
    json_decref(doc);
    if (code)
        pfc_block_clear(out);
    return code;
}
