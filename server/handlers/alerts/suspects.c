/* The suspects of an alert, and the source files of benchmarks that rank them. */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/access/lease_tokens.h"
#include "server/services/alerts/kinds.h"
#include "server/services/bisect/bisect.h"
#include "server/services/history/history.h"

static json_t *encode_suspect(const pfc_alert_ranking *r, const pfc_suspect *s)
{
    json_t *json = json_pack("{s:s, s:f, s:b, s:o}", "kind", pfc_suspect_kind_name(s->kind),
                             "probability", s->probability, "ruled_out", s->ruled_out, "reasons",
                             pfc_encode_texts(s->reasons, s->reasons_len));

    if (s->kind == PFC_SUSPECT_IS_COMMIT) {
        const pfc_alert_commit *c = &r->commits.items[s->index];

        json_object_set_new(json, "commit", pfc_reply_string(c->sha));
        json_object_set_new(json, "position", pfc_encode_id(c->position));
        json_object_set_new(json, "subject", pfc_reply_string(c->subject));
        json_object_set_new(json, "author", pfc_reply_string(c->author));
        json_object_set_new(json, "time", pfc_encode_time(c->time));
        json_object_set_new(json, "measured", json_boolean(c->measured));
    } else if (s->kind != PFC_SUSPECT_IS_NOTHING) {
        const pfc_suspect_boundary *b = &r->boundaries[s->index];

        json_object_set_new(json, "field", pfc_reply_string(b->field));
        json_object_set_new(json, "before", pfc_reply_string(b->before));
        json_object_set_new(json, "now", pfc_reply_string(b->now));
    }
    return json;
}

/* The reason why the list is empty; null when it has entries. */
static json_t *encode_reason(const pfc_alert_ranking *r)
{
    const pfc_alert *a = &r->alert.items[0];
    char *text = NULL;
    json_t *json;

    if (pfc_alert_is_drift(a))
        text = pfc_drift_reason(a);
    else if (r->suspects.len == 0)
        text = pfc_strdup("the alert's range of commits is not known");
    json = pfc_reply_string(text);
    free(text);
    return json;
}

static json_t *encode_ranking(const pfc_alert_ranking *r)
{
    const pfc_alert *a = &r->alert.items[0];
    json_t *list = json_array(), *json;

    for (size_t i = 0; i < r->suspects.len; i++)
        json_array_append_new(list, encode_suspect(r, &r->suspects.items[i]));
    json =
        json_pack("{s:I, s:o, s:o, s:I, s:I, s:o}", "alert_id", (json_int_t)a->id, "culprit",
                  pfc_reply_string(a->culprit), "suspects", list, "series", (json_int_t)r->series,
                  "sources", (json_int_t)r->sources, "project", pfc_reply_string(a->project));
    json_object_set_new(json, "kind", pfc_reply_string(a->kind));
    json_object_set_new(json, "title", pfc_encode_title(a));
    json_object_set_new(json, "drift", pfc_encode_drift(a));
    json_object_set_new(json, "reason", encode_reason(r));
    return json;
}

/* GET /api/v1/alerts/{id}/suspects */
PFC_HANDLER(alerts_suspects)
{
    pfc_alert_ranking ranking = { 0 };
    pfc_alerts alert = { 0 };
    int64_t id = 0;
    json_t *json;
    pfc_code code;

    code = pfc_req_param_id(req, "id", &id, err);
    /* Access is checked before the ranking, which is expensive. */
    if (!code)
        code = pfc_alerts_get(app->db, id, &alert, err);
    if (!code)
        code = pfc_req_allow_project(req, alert.items[0].project_id, "alert", err);
    pfc_rows_clear(&alert);
    if (!code)
        code = pfc_alert_rank(app->db, id, &ranking, err);
    if (code)
        return code;
    json = encode_ranking(&ranking);
    code = pfc_encode_effects(app, ranking.alert.items[0].project_id, id, json, err);
    if (code)
        json_decref(json);
    else
        code = pfc_reply_json(reply, 200, json, err);
    pfc_alert_ranking_clear(&ranking);
    return code;
}

/* The body of POST sources; all of it is owned. */
typedef struct sources_body {
    char *commit, *benchmark;
    pfc_texts files, globs, runtime;
} sources_body;

static pfc_code decode_sources(const json_t *body, sources_body *out, pfc_err *err)
{
    const struct {
        const char *key;
        size_t most;
        pfc_texts *to;
    } lists[] = {
        { "files", PFC_SOURCES_MAX_FILES, &out->files },
        { "globs", PFC_SOURCES_MAX_GLOBS, &out->globs },
        { "runtime", PFC_SOURCES_MAX_GLOBS, &out->runtime },
    };
    pfc_code code = pfc_json_string(body, NULL, "commit", true, 64, &out->commit, err);

    if (!code)
        code = pfc_json_name(body, NULL, "benchmark", false, PFC_WIRE_MAX_NAME, &out->benchmark,
                               err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(lists) && !code; i++) {
        const pfc_texts_limits limits = { lists[i].most, PFC_WIRE_MAX_TEXT };

        code = pfc_decode_texts(body, lists[i].key, false, &limits, lists[i].to, err);
    }
    return code;
}

static void sources_clear(sources_body *body)
{
    free(body->commit);
    free(body->benchmark);
    pfc_texts_clear(&body->files);
    pfc_texts_clear(&body->globs);
    pfc_texts_clear(&body->runtime);
}

/* POST /api/v1/projects/{p}/sources   {"commit", "benchmark"?, "files"?, "globs"?, "runtime"?} */
PFC_HANDLER(sources_post)
{
    static const char *const known[] = { "commit", "benchmark", "files", "globs", "runtime", NULL };
    int64_t project = 0;
    sources_body s = { 0 };
    json_t *body = NULL;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = decode_sources(body, &s, err);
    if (!code)
        code = pfc_lease_check(app->db, &req->auth.lease,
                               &(pfc_lease_results){ .project_id = project,
                                                     .any_branch = true,
                                                     .commits = (const char *const *)&s.commit,
                                                     .commits_len = s.commit ? 1 : 0 },
                               err);
    if (!code) {
        const pfc_sources sources = { .commit = s.commit,
                                      .benchmark = s.benchmark ? s.benchmark : "*",
                                      .files = (const char *const *)s.files.items,
                                      .files_len = s.files.len,
                                      .globs = (const char *const *)s.globs.items,
                                      .globs_len = s.globs.len,
                                      .runtime = (const char *const *)s.runtime.items,
                                      .runtime_len = s.runtime.len };

        code = pfc_sources_store(app->db, req->auth.actor, project, &sources, err);
    }
    if (!code)
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:s, s:I, s:I, s:I}", "benchmark",
                                        s.benchmark ? s.benchmark : "*", "files",
                                        (json_int_t)s.files.len, "globs", (json_int_t)s.globs.len,
                                        "runtime", (json_int_t)s.runtime.len),
                              err);
    sources_clear(&s);
    json_decref(body);
    return code;
}
