#include "server/repo/documents/job_task.h"

#include <jansson.h>

static json_t *texts_of(const char *const *items, size_t len)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, json_string(items[i]));
    return list;
}

static json_t *blocks_of(const pfc_job_blocks *b)
{
    json_t *doc = json_pack("{s:o, s:s, s:o, s:f}", "commits", texts_of(b->commits, b->commits_len),
                            "base", b->base, "anchors", texts_of(b->anchors, b->anchors_len),
                            "budget_s", b->budget_s);

    if (b->known_len)
        json_object_set_new(doc, "known", texts_of(b->known, b->known_len));
    if (b->margin > 0)
        json_object_set_new(doc, "margin", json_real(b->margin));
    if (b->rounds)
        json_object_set_new(doc, "rounds", json_integer((json_int_t)b->rounds));
    if (b->reuse != PFC_JOB_REUSE_NONE)
        json_object_set_new(doc, "reuse", json_boolean(b->reuse == PFC_JOB_REUSE_ALLOWED));
    return doc;
}

static char *text_of(json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT);

    json_decref(doc);
    return text;
}

char *pfc_job_options_text(const pfc_job_options *o)
{
    json_t *backends = o->backends_len ? texts_of(o->backends, o->backends_len) : NULL;

    if (!o->config && !o->settings_branch && !o->filter && !backends && !o->traces && !o->blocks)
        return NULL;
    return text_of(json_pack("{s:s*, s:s*, s:s*, s:o*, s:o*, s:o*}", "config", o->config,
                             "settings_branch", o->settings_branch, "filter", o->filter, "backends",
                             backends, "traces", o->traces ? json_true() : NULL, "blocks",
                             o->blocks ? blocks_of(o->blocks) : NULL));
}

char *pfc_job_search_text(const pfc_job_search *s)
{
    json_t *doc =
        json_pack("{s:s, s:s*, s:s*, s:i, s:i, s:s*, s:s*}", "metric", s->metric, "benchmark",
                  s->benchmark, "backend", s->backend, "layout", (int)s->layout, "launches", 1,
                  "config", s->config, "settings_branch", s->settings_branch);

    if (s->pair) {
        json_object_set_new(doc, "pair", json_string(s->pair));
        json_object_set_new(doc, "pair_first", json_boolean(s->pair_first));
    }
    if (s->traces)
        json_object_set_new(doc, "traces", json_true());
    return text_of(doc);
}
