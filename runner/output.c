/*
 * What a measuring command printed: a bare number, {"value": x} or {"metrics": {M: x}}.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "runner/priv.h"

#define MAX_VALUE 1e300

static pfc_code add_value(const pfc_measure_opts *opts, const char *metric, double value,
                          pfc_run *run)
{
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup("command");
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup("");
    m->unit = pfc_strdup(opts->unit ? opts->unit : "");
    m->higher_is_better = opts->has_direction && opts->higher_is_better;
    m->samples = pfc_calloc(1, sizeof(*m->samples));
    m->samples[0] = value;
    m->samples_len = 1;
    m->blocks = pfc_calloc(1, sizeof(*m->blocks));
    m->blocks[0] = 1;
    m->blocks_len = 1;
    return PFC_OK;
}

static pfc_code read_metrics(const pfc_measure_opts *opts, json_t *metrics, pfc_run *run,
                             pfc_err *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(metrics, name, value)
    {
        if (!json_is_number(value) || strlen(name) > PFC_WIRE_MAX_NAME)
            return pfc_err_set(err, PFC_EINVAL, "metrics.%.64s: want a number", name);
        if (add_value(opts, name, json_number_value(value), run))
            return PFC_EBUG;
    }
    return run->measurements_len ? PFC_OK
                                 : pfc_err_set(err, PFC_EINVAL, "metrics: want at least one");
}

static pfc_code read_document(const pfc_measure_opts *opts, const char *text, size_t len,
                              pfc_run *run, pfc_err *err)
{
    const char *metric = opts->metric ? opts->metric : "value";
    json_t *doc = NULL;
    double value = 0.0;
    pfc_code code = pfc_json_parse(text, len, &doc, err);

    if (code == PFC_OK && json_is_object(json_object_get(doc, "metrics"))) {
        code = read_metrics(opts, json_object_get(doc, "metrics"), run, err);
    } else if (code == PFC_OK) {
        code = pfc_json_double(doc, NULL, "value", true, -MAX_VALUE, MAX_VALUE, &value, err);
        if (code == PFC_OK)
            code = add_value(opts, metric, value, run);
    }
    json_decref(doc);
    return code;
}

pfc_code pfc_output_read(const pfc_measure_opts *opts, const char *text, size_t len, pfc_run **out,
                         pfc_err *err)
{
    size_t start = strspn(text, " \t\r\n");
    size_t end = len;
    pfc_run *run = pfc_run_new();
    char *word;
    double value = 0.0;
    pfc_code code;

    while (end > start && strchr(" \t\r\n", text[end - 1]))
        end--;
    word = pfc_strndup(text + start, end - start);
    if (word[0] == '{') {
        code = read_document(opts, word, strlen(word), run, err);
    } else {
        code = pfc_parse_double(word, -MAX_VALUE, MAX_VALUE, "result", &value, err);
        if (code == PFC_OK)
            code = add_value(opts, opts->metric ? opts->metric : "value", value, run);
    }
    free(word);
    if (code) {
        pfc_run_free(run);
        return code;
    }
    *out = run;
    return PFC_OK;
}
