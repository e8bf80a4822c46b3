/* Suppression rules: listed, tried, stored, ended, and what each has hidden. */
#include "server/services/suppressions/suppressions.h"

#include <math.h>
#include <stdlib.h>

#include "server/handlers/handlers.h"

static const pfc_field rule_fields[] = {
    PFC_FIELD(pfc_suppression, id),
    PFC_FIELD(pfc_suppression, owner),
    PFC_FIELD(pfc_suppression, reason),
    PFC_FIELD(pfc_suppression, benchmark),
    PFC_FIELD_AS(pfc_suppression, "params", params_json, OBJECT),
    PFC_FIELD(pfc_suppression, backend),
    PFC_FIELD(pfc_suppression, machine_class),
    PFC_FIELD(pfc_suppression, metric),
    PFC_FIELD(pfc_suppression, direction),
    PFC_FIELD(pfc_suppression, max_change),
    PFC_FIELD_AS(pfc_suppression, "created_at", created_at, TIME),
    PFC_FIELD_AS(pfc_suppression, "expires_at", expires_at, TIME),
    PFC_FIELD_AS(pfc_suppression, "ended_at", ended_at, TIME),
    PFC_FIELD(pfc_suppression, hidden),
    PFC_FIELD(pfc_suppression, hidden_total),
    PFC_FIELD(pfc_suppression, notices),
};

static json_t *encode_rule(const void *row, const void *req)
{
    const pfc_suppression *s = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(rule_fields), s);

    json_object_set_new(json, "created_by", pfc_encode_actor(req, s->created_by));
    json_object_set_new(json, "ended_by", pfc_encode_actor(req, s->ended_by));
    return json;
}

static const pfc_field hidden_fields[] = {
    PFC_FIELD(pfc_suppressed_alert, id),
    PFC_FIELD(pfc_suppressed_alert, series_id),
    PFC_FIELDS_SERIES(pfc_suppressed_alert),
    PFC_FIELD(pfc_suppressed_alert, kind),
    PFC_FIELD(pfc_suppressed_alert, state),
    PFC_FIELDS_REL_CHANGE(pfc_suppressed_alert),
    PFC_FIELD_AS(pfc_suppressed_alert, "hidden_at", hidden_at, TIME),
    PFC_FIELD_AS(pfc_suppressed_alert, "released_at", released_at, TIME),
    PFC_FIELD(pfc_suppressed_alert, notices),
};

/* GET /api/v1/projects/{p}/suppressions */
PFC_HANDLER(suppressions_list)
{
    pfc_suppressions rows = { 0 };
    int64_t project = 0;
    pfc_page page = { 0 };
    bool ended = false;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_req_query_bool(req, "ended", &ended, err);
    if (!code)
        code = pfc_suppressions_page(app->db, project, ended, page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "suppressions", PFC_ROW_VIEW(&rows), encode_rule, req,
                              rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code answer(pfc_app *app, const pfc_req *req, int64_t project, int64_t id, int status,
                       pfc_reply *reply, pfc_err *err)
{
    pfc_suppressions rows = { 0 };
    pfc_code code = pfc_suppression_get(app->db, project, id, &rows, err);

    if (!code)
        code = pfc_reply_json(reply, status, encode_rule(rows.items, req), err);
    pfc_rows_clear(&rows);
    return code;
}

/* GET /api/v1/projects/{p}/suppressions/{id} */
PFC_HANDLER(suppressions_get)
{
    pfc_suppressions rule = { 0 };
    pfc_suppressed_alerts rows = { 0 };
    int64_t project = 0, id = 0;
    pfc_page page = { 0 };
    json_t *json;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_suppression_get(app->db, project, id, &rule, err);
    if (!code)
        code = pfc_suppressed_page(app->db, project, id, page, &rows, err);
    if (!code) {
        json = encode_rule(rule.items, req);
        json_object_set_new(json, "alerts",
                            pfc_encode_table(PFC_ROW_VIEW(&rows), PFC_FIELDS(hidden_fields)));
        json_object_set_new(json, "next_cursor", pfc_encode_id(rows.next));
        code = pfc_reply_json(reply, 200, json, err);
    }
    pfc_rows_clear(&rows);
    pfc_rows_clear(&rule);
    return code;
}

/* ---- bodies ---- */

/* The texts of a request, which `spec` points to. */
typedef struct rule_body {
    json_t *json;
    char *owner, *reason, *benchmark, *backend, *machine_class, *metric, *direction;
    pfc_labels params;
    pfc_suppression_spec spec;
} rule_body;

static void clear_body(rule_body *b)
{
    json_decref(b->json);
    free(b->owner);
    free(b->reason);
    free(b->benchmark);
    free(b->backend);
    free(b->machine_class);
    free(b->metric);
    free(b->direction);
    pfc_labels_clear(&b->params);
}

static pfc_code decode_matcher(rule_body *b, pfc_err *err)
{
    pfc_suppression_matcher *m = &b->spec.matcher;
    pfc_code code =
        pfc_json_name(b->json, NULL, "benchmark", false, PFC_WIRE_MAX_NAME, &b->benchmark, err);

    m->max_change = (double)NAN;
    if (!code)
        code = pfc_decode_labels(b->json, "params", &b->params, err);
    if (!code)
        code = pfc_json_name(b->json, NULL, "backend", false, PFC_WIRE_MAX_NAME, &b->backend, err);
    if (!code)
        code = pfc_json_name(b->json, NULL, "machine_class", false, PFC_WIRE_MAX_NAME,
                             &b->machine_class, err);
    if (!code)
        code = pfc_json_name(b->json, NULL, "metric", false, PFC_WIRE_MAX_NAME, &b->metric, err);
    if (!code)
        code = pfc_json_string(b->json, NULL, "direction", false, 8, &b->direction, err);
    if (!code)
        code = pfc_json_double(b->json, NULL, "max_change", false, 0, 10, &m->max_change, err);
    m->benchmark = b->benchmark;
    m->params = &b->params;
    m->backend = b->backend;
    m->machine_class = b->machine_class;
    m->metric = b->metric;
    m->direction = b->direction;
    return code;
}

/* POST /api/v1/projects/{p}/suppressions   {"owner", "reason", "days", "benchmark"?, "params"?,
 * "backend"?, "machine_class"?, "metric"?, "direction"?, "max_change"?} */
PFC_HANDLER(suppressions_post)
{
    static const char *const known[] = { "owner",     "reason",     "days",   "benchmark",
                                         "params",    "backend",    "metric", "machine_class",
                                         "direction", "max_change", NULL };
    rule_body b = { 0 };
    int64_t project = 0, id = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &b.json, err);
    if (!code)
        code = pfc_json_name(b.json, NULL, "owner", true, PFC_WIRE_MAX_NAME, &b.owner, err);
    if (!code)
        code = pfc_json_string(b.json, NULL, "reason", true, PFC_WIRE_MAX_TEXT, &b.reason, err);
    if (!code)
        code = pfc_json_i64(b.json, NULL, "days", true, 1, PFC_SUPPRESSION_MAX_DAYS, &b.spec.days,
                            err);
    if (!code)
        code = decode_matcher(&b, err);
    b.spec.owner = b.owner;
    b.spec.reason = b.reason;
    if (!code)
        code = pfc_suppression_add(app->db, req->auth.actor, project, &b.spec, &id, err);
    if (!code)
        code = answer(app, req, project, id, 201, reply, err);
    clear_body(&b);
    return code;
}

/* POST /api/v1/projects/{p}/suppressions/preview   the members of a matcher */
PFC_HANDLER(suppressions_preview)
{
    static const char *const known[] = { "benchmark", "params",    "backend",    "machine_class",
                                         "metric",    "direction", "max_change", NULL };
    pfc_suppression_counts counts = { 0 };
    pfc_suppressed_alerts rows = { 0 };
    rule_body b = { 0 };
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &b.json, err);
    if (!code)
        code = decode_matcher(&b, err);
    if (!code)
        code = pfc_suppression_try(app->db, project, &b.spec.matcher, &counts, &rows, err);
    if (!code)
        code = pfc_reply_json(
            reply, 200,
            json_pack("{s:I, s:I, s:I, s:I, s:o}", "open", (json_int_t)counts.open, "visible",
                      (json_int_t)counts.visible, "past", (json_int_t)counts.past, "series",
                      (json_int_t)counts.series, "alerts",
                      pfc_encode_table(PFC_ROW_VIEW(&rows), PFC_FIELDS(hidden_fields))),
            err);
    pfc_rows_clear(&rows);
    clear_body(&b);
    return code;
}

/* DELETE /api/v1/projects/{p}/suppressions/{id} */
PFC_HANDLER(suppressions_delete)
{
    int64_t project = 0, id = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = pfc_suppression_end(app->db, req->auth.actor, project, id, err);
    if (!code)
        code = answer(app, req, project, id, 200, reply, err);
    return code;
}
