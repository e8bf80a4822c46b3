/* Changes of machines and faults: the list, one, and the triage of a step or a fault. */
#include "server/services/alerts/environment.h"

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/queue/faults.h"

static const pfc_field event_fields[] = {
    PFC_FIELD(pfc_environment_event, id),
    PFC_FIELD(pfc_environment_event, project),
    PFC_FIELD(pfc_environment_event, kind),
    PFC_FIELD(pfc_environment_event, machine_class),
    PFC_FIELD(pfc_environment_event, machine),
    PFC_FIELD(pfc_environment_event, runs),
    PFC_FIELD(pfc_environment_event, first_run_id),
    PFC_FIELD(pfc_environment_event, last_run_id),
    PFC_FIELD(pfc_environment_event, first_commit),
    PFC_FIELD(pfc_environment_event, last_commit),
    PFC_FIELD_AS(pfc_environment_event, "opened_at", opened_at, TIME),
    PFC_FIELD_AS(pfc_environment_event, "closed_at", closed_at, TIME),
};

static const pfc_field step_fields[] = {
    PFC_FIELD(pfc_environment_event, branch),
    PFC_FIELD(pfc_environment_event, loss),
    PFC_FIELD(pfc_environment_event, loss_low),
    PFC_FIELD(pfc_environment_event, loss_high),
    PFC_FIELD(pfc_environment_event, series),
    PFC_FIELD(pfc_environment_event, moved),
    PFC_FIELD(pfc_environment_event, judged),
    PFC_FIELD_AS(pfc_environment_event, "reasons", reasons_json, JSON),
    PFC_FIELD(pfc_environment_event, cause),
    PFC_FIELD(pfc_environment_event, dismissed_reason),
};

static const pfc_field fault_fields[] = {
    PFC_FIELD(pfc_environment_event, id),
    PFC_FIELD(pfc_environment_event, project),
    PFC_FIELD(pfc_environment_event, kind),
    PFC_FIELD(pfc_environment_event, machine_class),
    PFC_FIELD(pfc_environment_event, machine),
    PFC_FIELD(pfc_environment_event, branch),
    PFC_FIELD(pfc_environment_event, series),
    PFC_FIELD(pfc_environment_event, cause),
    PFC_FIELD_AS(pfc_environment_event, "opened_at", opened_at, TIME),
    PFC_FIELD_AS(pfc_environment_event, "closed_at", closed_at, TIME),
    PFC_FIELD(pfc_environment_event, dismissed_reason),
};

static bool is_fault(const pfc_environment_event *e)
{
    return !pfc_streq(e->kind, "step") && !pfc_streq(e->kind, "canary");
}

static json_t *encode(const void *row, const void *req)
{
    const pfc_environment_event *e = row;
    json_t *json, *step;

    if (is_fault(e)) {
        json = pfc_encode_fields(PFC_FIELDS(fault_fields), e);
        json_object_set_new(json, "dismissed_by", pfc_encode_actor(req, e->dismissed_by));
        return json;
    }
    json = pfc_encode_fields(PFC_FIELDS(event_fields), e);
    if (pfc_streq(e->kind, "step")) {
        step = pfc_encode_fields(PFC_FIELDS(step_fields), e);
        json_object_set_new(step, "dismissed_by", pfc_encode_actor(req, e->dismissed_by));
        json_object_update(json, step);
        json_decref(step);
    }
    return json;
}

/* GET /api/v1/environment */
PFC_HANDLER(environment_list)
{
    pfc_environment_events rows = { 0 };
    int64_t project_id = 0;
    bool open_only = false;
    pfc_page page;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_req_query_bool(req, "open", &open_only, err);
    if (!code)
        code = pfc_query_project(app, req, &project_id, err);
    if (!code)
        code = pfc_environment_list(app->db, project_id, open_only, page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "events", PFC_ROW_VIEW(&rows), encode, req, rows.next, err);
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
        code = pfc_req_allow_project(req, out->items[0].project_id, "event", err);
    return code;
}

/* GET /api/v1/environment/{id} */
PFC_HANDLER(environment_get)
{
    pfc_environment_events row = { 0 };
    int64_t id = 0;
    pfc_code code = load(app, req, &id, &row, err);

    if (!code)
        code = pfc_reply_json(reply, 200, encode(&row.items[0], req), err);
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
    if (!code && is_fault(&before.items[0])) {
        code = pfc_fault_dismiss(app->db, req->auth.actor, id, dismissed, reason, err);
        if (!code)
            code = pfc_environment_get(app->db, id, &after, err);
    } else if (!code) {
        code = pfc_shift_dismiss(app->db, req->auth.actor, id, dismissed, reason, &after, err);
    }
    if (!code)
        code = pfc_reply_json(reply, 200, encode(&after.items[0], req), err);
    pfc_rows_clear(&after);
    pfc_rows_clear(&before);
    free(reason);
    json_decref(body);
    return code;
}
