/* The run document: read with the path of the first fault, written with its keys in one order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/wire/arena.h"
#include "core/wire/wire_priv.h"

#define RUN_SCHEMA "perfci.run/1"
#define MAX_SAMPLE 1e300

static const char *const status_names[] = { "ok", "broken", "skipped" };

/* ---- reading ---- */

static bool is_pair_name(const char *name)
{
    const size_t len = strlen(name);

    return len >= 1 && len <= PFC_WIRE_MAX_NAME && !pfc_name_control(name);
}

static pfc_code read_pairs(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                           size_t most, pfc_labels *out, pfc_err *err)
{
    pfc_json_at here = { .up = at, .key = key };
    json_t *pairs = NULL;
    const char *name;
    json_t *value;
    pfc_code code = pfc_json_object(obj, at, key, required, &pairs, err);

    if (code != PFC_OK || pairs == NULL)
        return code;
    if (json_object_size(pairs) > most)
        return pfc_json_fault(at, key, err, "expected at most %zu members, got %zu", most,
                              json_object_size(pairs));
    json_object_foreach(pairs, name, value)
    {
        char *text = NULL;

        if (!is_pair_name(name))
            return pfc_json_fault(at, key, err,
                                  "expected names of 1 to %d bytes without control characters",
                                  PFC_WIRE_MAX_NAME);
        code = pfc_json_string(pairs, &here, name, true, PFC_WIRE_MAX_TEXT, &text, err);
        if (code != PFC_OK)
            return code;
        pfc_labels_set(out, name, text);
        free(text);
    }
    return PFC_OK;
}

static pfc_code read_block(const json_t *block, const pfc_json_at *at, pfc_measurement *m,
                           size_t *cap, pfc_err *err)
{
    if (!json_is_array(block) || json_array_size(block) == 0)
        return pfc_json_fault(at, NULL, err, "expected an array of numbers that is not empty");
    if (json_array_size(block) > PFC_WIRE_MAX_SAMPLES - m->samples_len)
        return pfc_json_fault(at, NULL, err, "expected at most %d samples in a measurement",
                              PFC_WIRE_MAX_SAMPLES);
    for (size_t i = 0; i < json_array_size(block); i++) {
        const json_t *value = json_array_get(block, i);
        pfc_json_at here = { .up = at, .index = i };
        double number = json_number_value(value);

        if (!json_is_number(value) || !isfinite(number) || fabs(number) > MAX_SAMPLE)
            return pfc_json_fault(&here, NULL, err, "expected a number from %g to %g", -MAX_SAMPLE,
                                  MAX_SAMPLE);
        m->samples = pfc_grow(m->samples, m->samples_len, cap, sizeof *m->samples);
        m->samples[m->samples_len++] = number;
    }
    return PFC_OK;
}

static pfc_code read_samples(const json_t *obj, const pfc_json_at *at, pfc_measurement *m,
                             pfc_err *err)
{
    pfc_json_at here = { .up = at, .key = "samples" };
    json_t *blocks = NULL;
    size_t cap = 0;
    pfc_code code = pfc_json_array(obj, at, "samples", m->status == PFC_STATUS_OK,
                                   PFC_WIRE_MAX_LAUNCHES, &blocks, err);

    if (code != PFC_OK)
        return code;
    if (m->status != PFC_STATUS_OK) {
        if (blocks != NULL && json_array_size(blocks) > 0)
            return pfc_json_fault(at, "samples", err, "a measurement that is not ok has none");
        return PFC_OK;
    }
    if (json_array_size(blocks) == 0)
        return pfc_json_fault(at, "samples", err, "expected at least one block of samples");
    m->blocks = pfc_calloc(json_array_size(blocks), sizeof *m->blocks);
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        pfc_json_at block = { .up = &here, .index = i };
        size_t before = m->samples_len;

        code = read_block(json_array_get(blocks, i), &block, m, &cap, err);
        if (code != PFC_OK)
            return code;
        m->blocks[m->blocks_len++] = (uint32_t)(m->samples_len - before);
    }
    return PFC_OK;
}

/* An exact metric with two different values is a fault of the benchmark or of its metric. */
static pfc_code refuse_unequal(const pfc_measurement *m, const pfc_json_at *at, pfc_err *err)
{
    pfc_unequal values;

    if (!pfc_measurement_unequal(m, &values))
        return PFC_OK;
    return pfc_json_fault(at, "samples", err,
                          "%.100s %.60s is exact: expected equal samples, got %s and %s",
                          m->benchmark, m->metric, values.first, values.other);
}

static pfc_code read_measurement(const json_t *obj, const pfc_json_at *at, const pfc_run *run,
                                 pfc_measurement *m, pfc_err *err)
{
    static const char *const known[] = { "benchmark",  "metric", "backend", "unit",   "direction",
                                         "exact",      "status", "reason",  "params", "extra",
                                         "operations", "bytes",  "samples", "visits", NULL };
    static const char *const directions[] = { "lower", "higher" };
    size_t direction = 0;
    size_t status = 0;
    pfc_code code = pfc_json_known(obj, at, known, err);

    if (code == PFC_OK)
        code = pfc_wire_read_name(obj, at, "benchmark", true, &m->benchmark, err);
    if (code == PFC_OK)
        code = pfc_wire_read_name(obj, at, "metric", true, &m->metric, err);
    if (code == PFC_OK)
        code = pfc_wire_read_name(obj, at, "backend", false, &m->backend, err);
    if (code == PFC_OK)
        code = pfc_wire_read_name(obj, at, "unit", false, &m->unit, err);
    if (code == PFC_OK)
        code = pfc_wire_read_word(obj, at, "direction", false, directions, 2, 0, &direction, err);
    if (code == PFC_OK)
        code = pfc_json_bool(obj, at, "exact", false, &m->exact, err);
    if (code == PFC_OK)
        code = pfc_wire_read_word(obj, at, "status", false, status_names, 3, PFC_STATUS_OK, &status,
                                  err);
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "reason", false, PFC_WIRE_MAX_TEXT, &m->reason, err);
    if (code == PFC_OK)
        code = read_pairs(obj, at, "params", false, PFC_WIRE_MAX_FINGERPRINT, &m->params, err);
    if (code == PFC_OK)
        code = read_pairs(obj, at, "extra", false, PFC_WIRE_MAX_EXTRA, &m->extra, err);
    if (code != PFC_OK)
        return code;
    m->higher_is_better = direction == 1;
    m->status = (pfc_status)status;
    if (m->backend == NULL)
        m->backend = pfc_strdup("");
    if (m->unit == NULL)
        m->unit = pfc_strdup("");
    if (m->status != PFC_STATUS_OK && m->reason == NULL)
        return pfc_json_fault(at, "reason", err, "is missing: say why there are no samples");
    code = pfc_wire_read_work(obj, at, m, err);
    if (code == PFC_OK)
        code = read_samples(obj, at, m, err);
    if (code == PFC_OK)
        code = pfc_wire_read_visits(obj, at, run, m, err);
    return code == PFC_OK ? refuse_unequal(m, at, err) : code;
}

static int by_key(const void *a, const void *b)
{
    const pfc_measurement *x = *(const pfc_measurement *const *)a;
    const pfc_measurement *y = *(const pfc_measurement *const *)b;
    int order = strcmp(x->benchmark, y->benchmark);

    if (order == 0)
        order = strcmp(x->metric, y->metric);
    if (order == 0)
        order = strcmp(x->backend, y->backend);
    return order;
}

/* Twins in the order of the document, so that the later one can be named. */
static int by_key_and_place(const void *a, const void *b)
{
    const pfc_measurement *x = *(const pfc_measurement *const *)a;
    const pfc_measurement *y = *(const pfc_measurement *const *)b;
    int order = by_key(a, b);

    return order != 0 ? order : (x > y) - (x < y);
}

/* One value a series and run: twice the same key would count a result double. */
static pfc_code refuse_twins(const pfc_run *run, const pfc_json_at *list, pfc_err *err)
{
    const pfc_measurement **order = pfc_calloc(run->measurements_len, sizeof *order);
    const pfc_measurement *twin = NULL; /* the first that has one before it */
    pfc_json_at here = { .up = list };

    for (size_t i = 0; i < run->measurements_len; i++)
        order[i] = &run->measurements[i];
    qsort(order, run->measurements_len, sizeof *order, by_key_and_place);
    for (size_t i = 1; i < run->measurements_len; i++)
        if (by_key(&order[i - 1], &order[i]) == 0 && (!twin || order[i] < twin))
            twin = order[i];
    free(order);
    if (!twin)
        return PFC_OK;
    here.index = (size_t)(twin - run->measurements);
    return pfc_json_fault(&here, NULL, err, "%.100s, %.60s, %.60s is there twice", twin->benchmark,
                          twin->metric, twin->backend);
}

static pfc_code read_measurements(const json_t *obj, const pfc_json_at *at, pfc_run *run,
                                  pfc_err *err)
{
    pfc_json_at list = { .up = at, .key = "measurements" };
    json_t *items = NULL;
    pfc_code code =
        pfc_json_array(obj, at, "measurements", true, PFC_WIRE_MAX_MEASUREMENTS, &items, err);

    for (size_t i = 0; code == PFC_OK && i < json_array_size(items); i++) {
        pfc_json_at here = { .up = &list, .index = i };

        code = read_measurement(json_array_get(items, i), &here, run, pfc_run_add(run), err);
    }
    return code == PFC_OK ? refuse_twins(run, &list, err) : code;
}

static pfc_code read_machine(const json_t *obj, const pfc_json_at *at, pfc_machine *machine,
                             pfc_err *err)
{
    static const char *const known[] = { "name", "class", "fingerprint", "hash", NULL };
    pfc_json_at here = { .up = at, .key = "machine" };
    json_t *m = NULL;
    char *hash = NULL;
    pfc_code code = pfc_json_object(obj, at, "machine", true, &m, err);

    if (code == PFC_OK)
        code = pfc_json_known(m, &here, known, err);
    if (code == PFC_OK)
        code = pfc_wire_read_name(m, &here, "name", false, &machine->name, err);
    if (code == PFC_OK)
        code = pfc_wire_read_name(m, &here, "class", true, &machine->machine_class, err);
    if (code == PFC_OK)
        code = read_pairs(m, &here, "fingerprint", false, PFC_WIRE_MAX_FINGERPRINT,
                          &machine->fingerprint, err);
    /* The hash is computed again, but the member must still be a string. */
    if (code == PFC_OK)
        code = pfc_json_string(m, &here, "hash", false, PFC_SHA256_HEX - 1, &hash, err);
    free(hash);
    if (code == PFC_OK)
        pfc_machine_hash(machine);
    return code;
}

static pfc_code read_head(const json_t *obj, const pfc_json_at *at, pfc_run *run, pfc_err *err)
{
    char *schema = NULL;
    pfc_code code = pfc_json_string(obj, at, "schema", true, 64, &schema, err);

    if (code == PFC_OK && !pfc_streq(schema, RUN_SCHEMA))
        code =
            pfc_json_fault(at, "schema", err, "expected \"%s\", got \"%.60s\"", RUN_SCHEMA, schema);
    free(schema);
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "id", true, 32, &run->id, err);
    if (code == PFC_OK && (strlen(run->id) != 32 || !pfc_is_hex_id(run->id)))
        code = pfc_json_fault(at, "id", err, "expected 32 hexadecimal digits in lower case");
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "project", false, 63, &run->project, err);
    if (code == PFC_OK && run->project != NULL && !pfc_is_slug(run->project))
        code = pfc_json_fault(at, "project", err, "expected 1 to 63 of a-z, 0-9, '.', '_', '-'");
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "commit", false, 64, &run->commit, err);
    if (code == PFC_OK && run->commit != NULL && !pfc_is_sha(run->commit))
        code =
            pfc_json_fault(at, "commit", err, "expected a full commit id of 40 hexadecimal digits");
    if (code == PFC_OK)
        code = pfc_wire_read_name(obj, at, "branch", false, &run->branch, err);
    pfc_wire_drop_empty(&run->branch);
    if (code == PFC_OK)
        code = pfc_wire_read_name(obj, at, "suite", false, &run->suite, err);
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "suite_hash", false, 64, &run->suite_hash, err);
    return code;
}

static pfc_code read_run(const json_t *obj, pfc_run *run, pfc_err *err)
{
    static const char *const known[] = { "schema",       "id",      "project",    "commit",
                                         "branch",       "suite",   "suite_hash", "started_at",
                                         "finished_at",  "job_id",  "job_fence",  "infra",
                                         "unsandboxed",  "session", "machine",    "ceilings",
                                         "measurements", NULL };
    pfc_json_at root = { 0 };
    pfc_code code = pfc_json_known(obj, &root, known, err);

    if (code == PFC_OK)
        code = read_head(obj, &root, run, err);
    if (code == PFC_OK)
        code = pfc_wire_read_time(obj, &root, "started_at", true, &run->started_at, err);
    run->finished_at = run->started_at;
    if (code == PFC_OK)
        code = pfc_wire_read_time(obj, &root, "finished_at", false, &run->finished_at, err);
    if (code == PFC_OK)
        code = pfc_json_i64(obj, &root, "job_id", false, 0, PFC_WIRE_MAX_ID, &run->job_id, err);
    if (code == PFC_OK)
        code =
            pfc_json_i64(obj, &root, "job_fence", false, 0, PFC_WIRE_MAX_ID, &run->job_fence, err);
    if (code == PFC_OK)
        code = pfc_json_bool(obj, &root, "infra", false, &run->infra, err);
    if (code == PFC_OK)
        code = pfc_json_bool(obj, &root, "unsandboxed", false, &run->unsandboxed, err);
    if (code == PFC_OK)
        code = pfc_wire_read_session(obj, &root, run, err);
    if (code == PFC_OK)
        code = read_machine(obj, &root, &run->machine, err);
    if (code == PFC_OK)
        code = pfc_wire_read_ceilings(obj, &root, run, err);
    if (code == PFC_OK)
        code = read_measurements(obj, &root, run, err);
    if (code == PFC_OK && run->suite == NULL)
        run->suite = pfc_strdup("");
    if (code == PFC_OK && run->suite_hash == NULL)
        run->suite_hash = pfc_strdup("");
    return code;
}

pfc_code pfc_run_from_json(const char *text, size_t len, pfc_run **out, pfc_err *err)
{
    static const pfc_json_limits limits = { PFC_WIRE_MAX_NESTED, SIZE_MAX };
    pfc_run *run = NULL;
    json_t *doc = NULL;
    pfc_code code;

    if (len > PFC_WIRE_MAX_BODY_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "run document: expected at most %u bytes, got %zu",
                           PFC_WIRE_MAX_BODY_BYTES, len);
    pfc_json_arena_begin(); /* all that is kept is copied into the run */
    code = pfc_json_parse_within(text, len, &limits, &doc, err);
    pfc_json_arena_seal();
    if (code == PFC_OK) {
        run = pfc_run_new();
        code = read_run(doc, run, err);
    }
    pfc_json_arena_free();
    if (code != PFC_OK) {
        pfc_run_free(run);
        return code;
    }
    *out = run;
    return PFC_OK;
}

/* ---- writing ---- */

static void set_text(json_t *obj, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(obj, key, json_string(text));
}

static json_t *samples_to_json(const pfc_measurement *m)
{
    json_t *blocks = json_array();
    size_t at = 0;

    for (size_t b = 0; b < m->blocks_len; b++) {
        json_t *block = json_array();

        for (uint32_t i = 0; i < m->blocks[b]; i++)
            json_array_append_new(block, json_real(m->samples[at++]));
        json_array_append_new(blocks, block);
    }
    return blocks;
}

static json_t *measurement_to_json(const pfc_measurement *m)
{
    json_t *obj = json_object();

    set_text(obj, "benchmark", m->benchmark);
    set_text(obj, "metric", m->metric);
    set_text(obj, "backend", m->backend);
    set_text(obj, "unit", m->unit);
    set_text(obj, "direction", m->higher_is_better ? "higher" : "lower");
    if (m->exact)
        json_object_set_new(obj, "exact", json_true());
    set_text(obj, "status", status_names[m->status]);
    set_text(obj, "reason", m->reason);
    if (m->params.len > 0)
        json_object_set_new(obj, "params", pfc_labels_to_json(&m->params));
    if (m->extra.len > 0)
        json_object_set_new(obj, "extra", pfc_labels_to_json(&m->extra));
    pfc_wire_set_work(obj, m);
    if (m->status == PFC_STATUS_OK)
        json_object_set_new(obj, "samples", samples_to_json(m));
    if (m->visits != NULL)
        json_object_set_new(obj, "visits", pfc_wire_visits_to_json(m));
    return obj;
}

json_t *pfc_run_to_json(const pfc_run *run)
{
    json_t *doc = json_object();
    json_t *machine = json_object();
    json_t *list = json_array();

    set_text(doc, "schema", RUN_SCHEMA);
    set_text(doc, "id", run->id);
    set_text(doc, "project", run->project);
    set_text(doc, "commit", run->commit);
    set_text(doc, "branch", run->branch);
    set_text(doc, "suite", run->suite);
    set_text(doc, "suite_hash", run->suite_hash);
    pfc_wire_set_time(doc, "started_at", run->started_at);
    pfc_wire_set_time(doc, "finished_at", run->finished_at);
    if (run->job_id != 0)
        json_object_set_new(doc, "job_id", json_integer(run->job_id));
    if (run->job_fence != 0)
        json_object_set_new(doc, "job_fence", json_integer(run->job_fence));
    if (run->infra)
        json_object_set_new(doc, "infra", json_true());
    if (run->unsandboxed)
        json_object_set_new(doc, "unsandboxed", json_true());
    if (run->session_id != NULL)
        json_object_set_new(doc, "session", pfc_wire_session_to_json(run));
    set_text(machine, "name", run->machine.name);
    set_text(machine, "class", run->machine.machine_class);
    json_object_set_new(machine, "fingerprint", pfc_labels_to_json(&run->machine.fingerprint));
    set_text(machine, "hash", run->machine.fingerprint_hash);
    json_object_set_new(doc, "machine", machine);
    if (run->ceilings_len > 0)
        json_object_set_new(doc, "ceilings", pfc_wire_ceilings_to_json(run));
    for (size_t i = 0; i < run->measurements_len; i++)
        json_array_append_new(list, measurement_to_json(&run->measurements[i]));
    json_object_set_new(doc, "measurements", list);
    return doc;
}
