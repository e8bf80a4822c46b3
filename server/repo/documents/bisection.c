#include "server/repo/documents/bisection.h"

#include "core/bisect/report_json.h"
#include "core/wire/wire.h"

static char *text_of(json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT);

    json_decref(doc);
    return text;
}

char *pfc_bisection_options_text(const pfc_bisection_options *o)
{
    return text_of(json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:b, s:I, s:i, s:i, s:s*, s:s*, s:s*, s:o*}", "confidence",
        o->confidence, "noise", o->noise_rel, "layout_noise", o->layout_noise_rel, "delta",
        o->delta_rel, "margin", o->margin_rel, "relink", o->relink, "max_runs",
        (json_int_t)o->max_runs, "priority", o->priority, "parallel", o->parallel, "source",
        o->source, "config", o->config, "settings_branch", o->settings_branch, "stranger",
        o->stranger ? json_true() : NULL));
}

static double number_of(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

/* A copy in `texts`, which has room for it; NULL: there is no such text. */
static const char *keep(const json_t *json, const char *key, pfc_texts *texts)
{
    const char *text = json_string_value(json_object_get(json, key));

    if (!text)
        return NULL;
    texts->items[texts->len] = pfc_strdup(text);
    return texts->items[texts->len++];
}

pfc_code pfc_bisection_options_parse(const char *text, pfc_bisection_options *out, pfc_texts *texts,
                                     pfc_err *err)
{
    json_t *json = NULL;
    pfc_code code = pfc_json_parse(text, strlen(text), &json, err);

    if (code)
        return code;
    *texts = (pfc_texts){ .items = pfc_calloc(3, sizeof(char *)) };
    *out = (pfc_bisection_options){
        .confidence = number_of(json, "confidence"),
        .noise_rel = number_of(json, "noise"),
        .layout_noise_rel = number_of(json, "layout_noise"),
        .delta_rel = number_of(json, "delta"),
        .margin_rel = number_of(json, "margin"),
        .relink = json_is_true(json_object_get(json, "relink")),
        .max_runs = (int64_t)number_of(json, "max_runs"),
        .priority = (int)number_of(json, "priority"),
        .parallel = (int)number_of(json, "parallel"),
        .source = keep(json, "source", texts),
        .config = keep(json, "config", texts),
        .settings_branch = keep(json, "settings_branch", texts),
        .stranger = json_is_true(json_object_get(json, "stranger")),
    };
    json_decref(json);
    return PFC_OK;
}

char *pfc_bisection_culprits_text(const pfc_culprit *culprits, size_t len, const char *const *line)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++) {
        json_t *ids = json_array();

        for (size_t k = culprits[i].first; k <= culprits[i].last; k++)
            json_array_append_new(ids, json_string(line[k]));
        json_array_append_new(list, pfc_culprit_json(&culprits[i], ids));
    }
    return text_of(list);
}

char *pfc_bisection_stopped_text(const pfc_finding *finding, const pfc_bisect_remaining *left,
                                 const char *likeliest)
{
    json_t *doc = json_object();

    if (left)
        pfc_bisect_remaining_json(left, left->budget, likeliest, left->runs, doc);
    json_object_set_new(doc, "difference",
                        pfc_finding_json(finding, finding->within ? 0 : finding->more_runs));
    return text_of(doc);
}
