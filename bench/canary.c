/*
 * `perfci-bench --canary`: one reading of the canary, for a program that measures something other
 * than a suite. Before the measurement it prints a reading; with --wait-quiet it waits first. After
 * it, with that reading in --before, it prints a run document with the canary alone, as in a suite:
 * both readings, load, the learned band, and whether the machine's speed changed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bracket.h"
#include "bench/program.h"
#include "core/base/fs.h"
#include "core/base/rng.h"

#define MAX_READING 65536

/* JSON has no NaN: what is not available is left out. */
static json_t *load_json(const pfc_load *l)
{
    const struct {
        const char *name;
        double value;
    } all[] = { { "load1", l->load1 },
                { "running", l->running },
                { "steal_seconds", l->steal_seconds },
                { "busy_seconds", l->busy_seconds },
                { "total_seconds", l->total_seconds },
                { "throttled", l->throttled } };
    json_t *doc = json_object();

    for (size_t i = 0; i < PFC_ARRAY_LEN(all); i++)
        if (isfinite(all[i].value))
            json_object_set_new(doc, all[i].name, json_real(all[i].value));
    return doc;
}

static double of_load(const json_t *doc, const char *name)
{
    const json_t *value = json_object_get(json_object_get(doc, "load"), name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static int print(json_t *doc)
{
    json_dumpf(doc, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(doc);
    putchar('\n');
    return pfc_bench_flush();
}

static int read_before(const pfc_bracket *b)
{
    json_t *samples = json_array();

    for (size_t i = 0; i < PFC_CANARY_SAMPLES; i++)
        json_array_append_new(samples, json_real(b->before[i]));
    return print(json_pack("{s:s, s:o, s:b, s:o}", "schema", "perfci.canary/1", "samples_ns",
                           samples, "out_of_band", b->out_of_band, "load", load_json(&b->load)));
}

static pfc_code take_before(const char *path, pfc_bracket *b, pfc_err *err)
{
    json_t *doc = NULL, *samples;
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, MAX_READING, &text, &len, err);

    if (!code)
        code = pfc_json_parse(text, len, &doc, err);
    samples = json_object_get(doc, "samples_ns");
    if (!code && json_array_size(samples) != PFC_CANARY_SAMPLES)
        code = pfc_err_set(err, PFC_EINVAL, "--before: expected %d samples, got %zu",
                           PFC_CANARY_SAMPLES, json_array_size(samples));
    for (size_t i = 0; !code && i < PFC_CANARY_SAMPLES; i++) {
        b->before[i] = json_number_value(json_array_get(samples, i));
        if (!(b->before[i] > 0))
            code = pfc_err_set(err, PFC_EINVAL, "--before: expected samples above 0");
    }
    if (!code) {
        b->out_of_band = json_is_true(json_object_get(doc, "out_of_band"));
        b->load = (pfc_load){ .load1 = of_load(doc, "load1"),
                              .running = of_load(doc, "running"),
                              .steal_seconds = of_load(doc, "steal_seconds"),
                              .busy_seconds = of_load(doc, "busy_seconds"),
                              .total_seconds = of_load(doc, "total_seconds"),
                              .throttled = of_load(doc, "throttled") };
    }
    json_decref(doc);
    free(text);
    return code ? pfc_err_wrap(err, "%.200s", path) : PFC_OK;
}

int pfc_bench_canary(const pfc_bench_args *args)
{
    pfc_backends backends;
    pfc_run *run = pfc_run_new();
    pfc_bracket b;
    pfc_err err = { 0 };
    pfc_code code = args->before ? PFC_OK : pfc_bench_wait_quiet(args, &err);
    int status;

    if (code) {
        pfc_run_free(run);
        return pfc_bench_fail(&err);
    }
    run->id = pfc_alloc(33);
    pfc_random_id(run->id);
    run->suite = pfc_strdup("canary");
    run->suite_hash = pfc_strdup("");
    pfc_backends_list(&backends);
    pfc_bench_machine(&backends, NULL, &run->machine);
    pfc_backends_clear(&backends);
    pfc_bracket_open_quick(&b, &run->machine, args->before == NULL);
    if (!args->before) {
        status = read_before(&b);
    } else {
        code = take_before(args->before, &b, &err);
        if (!code)
            pfc_bracket_finish(&b, run, args->quiet);
        status = code ? pfc_bench_fail(&err) : print(pfc_run_to_json(run));
    }
    pfc_bracket_close(&b);
    pfc_run_free(run);
    return status;
}
