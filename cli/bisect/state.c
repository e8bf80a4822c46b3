/*
 * The state file: JSON, written after every run.
 */
#include "cli/bisect/state.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/bisect/bisect.h"

/* A perfci that reads version 2 only does not handle pairs and would take their runs for single
 * ones. */
enum { STATE_VERSION = 2, STATE_VERSION_PAIRED = 3, STATE_MAX_BYTES = 64 * 1024 * 1024 };

void bisect_state_add(bisect_state *state, const bisect_run *run)
{
    state->runs = pfc_grow(state->runs, state->len, &state->cap, sizeof(*run));
    state->runs[state->len++] = *run;
}

void bisect_state_clear(bisect_state *state)
{
    free(state->path);
    free(state->runs);
    *state = (bisect_state){ 0 };
}

static json_t *run_json(const bisect_run *s)
{
    json_t *doc = json_pack("{s:I,s:I,s:s,s:b,s:f,s:f}", "commit", (json_int_t)s->commit, "build",
                            (json_int_t)s->build, "outcome", pfc_outcome_name(s->kind), "built",
                            s->built, "build_s", s->build_s, "measure_s", s->measure_s);

    if (s->confirm)
        json_object_set_new(doc, "confirm", json_true());
    if (s->undirected)
        json_object_set_new(doc, "undirected", json_true());
    if (s->unit)
        json_object_set_new(doc, "unit", json_integer((json_int_t)s->unit));
    if (s->reference)
        json_object_set_new(doc, "reference", json_true());
    if (s->link)
        json_object_set_new(doc, "link", json_true());
    if (s->kind == PFC_OUTCOME_MEASURED) {
        json_object_set_new(doc, "value", json_real(s->value));
        json_object_set_new(doc, "higher_is_better", json_boolean(s->higher_is_better));
        json_object_set_new(doc, "exact", json_boolean(s->exact));
    }
    return doc;
}

pfc_code bisect_state_save(const bisect_state *state, pfc_err *err)
{
    json_t *steps = json_array();
    json_t *doc = json_pack("{s:i,s:s,s:f,s:i,s:o}", "version",
                            state->paired ? STATE_VERSION_PAIRED : STATE_VERSION, "key", state->key,
                            "seconds", state->seconds, "refuted", state->refuted, "steps", steps);
    char *folder = pfc_strdup(state->path);
    char *text;
    pfc_code code;

    for (size_t i = 0; i < state->len; i++)
        json_array_append_new(steps, run_json(&state->runs[i]));
    text = json_dumps(doc, JSON_COMPACT);
    *strrchr(folder, '/') = '\0';
    code = pfc_fs_mkdirs(folder, 0755, err);
    if (!code)
        code = pfc_fs_write_atomic(state->path, text, strlen(text), 0644, err);
    free(text);
    free(folder);
    json_decref(doc);
    return code;
}

static pfc_code read_outcome(const json_t *obj, const pfc_json_at *at, pfc_outcome_kind *out,
                             pfc_err *err)
{
    char *name = NULL;
    pfc_code code = pfc_json_string(obj, at, "outcome", true, 32, &name, err);

    if (code)
        return code;
    for (int kind = PFC_OUTCOME_MEASURED; kind <= PFC_OUTCOME_TIMED_OUT; kind++) {
        if (strcmp(name, pfc_outcome_name((pfc_outcome_kind)kind)) == 0) {
            *out = (pfc_outcome_kind)kind;
            free(name);
            return PFC_OK;
        }
    }
    code = pfc_json_fault(at, "outcome", err, "expected an outcome, got \"%.32s\"", name);
    free(name);
    return code;
}

static pfc_code read_run(const json_t *obj, const pfc_json_at *at, size_t commits, bisect_run *out,
                         pfc_err *err)
{
    int64_t commit = 0;
    int64_t build = 0;
    int64_t unit = 0;
    pfc_code code = read_outcome(obj, at, &out->kind, err);

    if (!code)
        code = pfc_json_i64(obj, at, "commit", true, 0, (int64_t)commits - 1, &commit, err);
    if (!code)
        code = pfc_json_i64(obj, at, "build", true, 0, 1000000, &build, err);
    if (!code)
        code = pfc_json_bool(obj, at, "built", false, &out->built, err);
    if (!code)
        code = pfc_json_bool(obj, at, "confirm", false, &out->confirm, err);
    if (!code)
        code = pfc_json_bool(obj, at, "undirected", false, &out->undirected, err);
    if (!code)
        code = pfc_json_i64(obj, at, "unit", false, 0, 2 * PFC_BISECT_MAX_RUNS, &unit, err);
    if (!code)
        code = pfc_json_bool(obj, at, "reference", false, &out->reference, err);
    if (!code)
        code = pfc_json_bool(obj, at, "link", false, &out->link, err);
    if (!code)
        code = pfc_json_double(obj, at, "build_s", false, 0, 1e9, &out->build_s, err);
    if (!code)
        code = pfc_json_double(obj, at, "measure_s", false, 0, 1e9, &out->measure_s, err);
    if (!code && out->kind == PFC_OUTCOME_MEASURED) {
        code = pfc_json_double(obj, at, "value", true, 0, 1e300, &out->value, err);
        if (!code)
            code = pfc_json_bool(obj, at, "higher_is_better", true, &out->higher_is_better, err);
        if (!code)
            code = pfc_json_bool(obj, at, "exact", true, &out->exact, err);
    }
    out->commit = (size_t)commit;
    out->build = (unsigned)build;
    out->unit = (unsigned)unit;
    return code;
}

static pfc_code read_state(bisect_state *state, const json_t *doc, size_t commits, bool *found,
                           pfc_err *err)
{
    const pfc_json_at root = { .key = "steps" };
    char *key = NULL;
    json_t *steps = NULL;
    int64_t version = 0;
    int64_t refuted = 0;
    pfc_code code = pfc_json_i64(doc, NULL, "version", true, 0, INT32_MAX, &version, err);

    if (!code && version != STATE_VERSION && version != STATE_VERSION_PAIRED)
        return PFC_OK; /* of another perfci: start again */
    if (!code)
        code = pfc_json_string(doc, NULL, "key", true, PFC_SHA256_HEX, &key, err);
    *found = !code && strcmp(key, state->key) == 0;
    free(key);
    if (code || !*found)
        return code;
    code = pfc_json_double(doc, NULL, "seconds", true, 0, 1e12, &state->seconds, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "refuted", true, 0, 1000, &refuted, err);
    state->refuted = (int)refuted;
    state->paired = version == STATE_VERSION_PAIRED;
    if (!code)
        code = pfc_json_array(doc, NULL, "steps", true, 2 * PFC_BISECT_MAX_RUNS, &steps, err);
    for (size_t i = 0; !code && i < json_array_size(steps); i++) {
        const pfc_json_at at = { .up = &root, .index = i };
        bisect_run run = { 0 };

        code = read_run(json_array_get(steps, i), &at, commits, &run, err);
        if (!code)
            bisect_state_add(state, &run);
    }
    return code;
}

pfc_code bisect_state_load(bisect_state *state, size_t commits, bool *found, pfc_err *err)
{
    char *text = NULL;
    json_t *doc = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(state->path, STATE_MAX_BYTES, &text, &len, err);

    *found = false;
    if (code == PFC_ENOTFOUND)
        return PFC_OK;
    if (!code)
        code = pfc_json_parse(text, len, &doc, err);
    if (!code)
        code = read_state(state, doc, commits, found, err);
    if (code)
        pfc_err_wrap(err, "%.200s", state->path);
    json_decref(doc);
    free(text);
    return code;
}
