/* Machines that moved: the list, one, and a person's word on a step. */
#include "server/services/alerts/environment.h"

#include "core/base/parse.h"
#include "server/handlers/handlers.h"

/* What only a step has. */
static void encode_step(const pfc_req *req, const pfc_environment_event *e, json_t *json)
{
    json_object_set_new(json, "branch", pfc_reply_string(e->branch));
    json_object_set_new(json, "loss", pfc_reply_number(e->loss));
    json_object_set_new(json, "loss_low", pfc_reply_number(e->loss_low));
    json_object_set_new(json, "loss_high", pfc_reply_number(e->loss_high));
    json_object_set_new(json, "series", json_integer((json_int_t)e->series));
    json_object_set_new(json, "moved", json_integer((json_int_t)e->moved));
    json_object_set_new(json, "judged", json_integer((json_int_t)e->judged));
    json_object_set_new(json, "reasons", pfc_encode_json_text(e->reasons_json));
    json_object_set_new(json, "cause", pfc_reply_string(e->cause));
    json_object_set_new(json, "dismissed_by", pfc_encode_actor(req, e->dismissed_by));
    json_object_set_new(json, "dismissed_reason", pfc_reply_string(e->dismissed_reason));
}

static json_t *encode(const pfc_req *req, const pfc_environment_event *e)
{
    json_t *json = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "id", (json_int_t)e->id,
        "project", pfc_reply_string(e->project), "kind", pfc_reply_string(e->kind), "machine_class",
        pfc_reply_string(e->machine_class), "machine", pfc_reply_string(e->machine), "runs",
        (json_int_t)e->runs, "first_run_id", (json_int_t)e->first_run_id, "last_run_id",
        (json_int_t)e->last_run_id, "first_commit", pfc_reply_string(e->first_commit),
        "last_commit", pfc_reply_string(e->last_commit), "opened_at", pfc_encode_time(e->opened_at),
        "closed_at", pfc_encode_time(e->closed_at));

    if (pfc_streq(e->kind, "step"))
        encode_step(req, e, json);
    return json;
}

/* GET /api/v1/environment */
PFC_HANDLER(environment_list)
{
    pfc_environment_events rows = { 0 };
    int64_t project_id = 0;
    bool open_only = false;
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_req_query_bool(req, "open", &open_only, err);
    if (!code)
        code = pfc_query_project(app, req, &project_id, err);
    if (!code)
        code = pfc_environment_list(app->db, project_id, open_only, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++)
        json_array_append_new(items, encode(req, &rows.items[i]));
    code = pfc_reply_json(reply, 200, pfc_encode_list("events", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code load(pfc_app *app, const pfc_req *req, int64_t *id, pfc_environment_events *out,
                     pfc_err *err)
{
    pfc_code code = pfc_req_param_id(req, "id", id, err);

    if (!code)
        code = pfc_environment_get(app->db, *id, out, err);
    if (!code)
        code = pfc_req_allow_project(req, out->items[0].project_id, err);
    return code;
}

/* GET /api/v1/environment/{id} */
PFC_HANDLER(environment_get)
{
    pfc_environment_events row = { 0 };
    int64_t id = 0;
    pfc_code code = load(app, req, &id, &row, err);

    if (!code)
        code = pfc_reply_json(reply, 200, encode(req, &row.items[0]), err);
    pfc_rows_clear(&row);
    return code;
}

/* PATCH /api/v1/environment/{id}   {"dismissed", "reason"?} */
PFC_HANDLER(environment_patch)
{
    static const char *const known[] = { "dismissed", "reason", NULL };
    pfc_environment_events before = { 0 }, after = { 0 };
    json_t *body = NULL;
    char *reason = NULL;
    int64_t id = 0;
    bool dismissed = false;
    pfc_code code = load(app, req, &id, &before, err);

    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_bool(body, NULL, "dismissed", true, &dismissed, err);
    if (!code)
        code = pfc_json_string(body, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &reason, err);
    if (!code)
        code = pfc_shift_dismiss(app->db, req->auth.actor, id, dismissed, reason, &after, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode(req, &after.items[0]), err);
    pfc_rows_clear(&after);
    pfc_rows_clear(&before);
    free(reason);
    json_decref(body);
    return code;
}
