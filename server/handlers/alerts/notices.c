/* The outbox of notices: the list, with the deliveries and their failures, for programs that send
 * mail, too. */
#include "server/services/notices.h"

#include "server/handlers/handlers.h"

static const pfc_field notice_fields[] = {
    PFC_FIELD(pfc_notice, id),
    PFC_FIELD(pfc_notice, project),
    PFC_FIELD(pfc_notice, kind),
    PFC_FIELD_AS(pfc_notice, "alert_id", alert_id, ID),
    PFC_FIELD_AS(pfc_notice, "event_id", fault_id, ID),
    PFC_FIELD(pfc_notice, commit),
    PFC_FIELD(pfc_notice, subject),
    PFC_FIELD(pfc_notice, author),
    PFC_FIELD(pfc_notice, text),
    PFC_FIELD_AS(pfc_notice, "created_at", created_at, TIME),
};

/* Only a caller with a token reads the receivers and the reasons of failed deliveries. */
static json_t *encode_notice(const void *row, const void *context)
{
    const pfc_req *req = context;
    const pfc_notice *n = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(notice_fields), n);

    json_object_set_new(json, "repro",
                        n->alert_id
                            ? json_sprintf("perfci repro alert:%lld", (long long)n->alert_id)
                            : json_null());
    json_object_set_new(json, "owner", pfc_encode_owner(req, n->owner));
    json_object_set_new(json, "deliveries",
                        req->auth.token_id ? pfc_encode_json_text(n->deliveries_json)
                                           : json_array());
    return json;
}

/* GET /api/v1/notices */
PFC_HANDLER(notices_list)
{
    pfc_notices rows = { 0 };
    int64_t project_id = 0;
    pfc_page page;
    pfc_code code;

    code = pfc_query_project_page(app, req, &project_id, &page, err);
    if (!code)
        code = pfc_notices_list(app->db, project_id, page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "notices", PFC_ROW_VIEW(&rows), encode_notice, req, rows.next,
                              err);
    pfc_rows_clear(&rows);
    return code;
}

/* The notice of the path's {id}, when the token may use its project. */
static pfc_code path_notice(pfc_app *app, const pfc_req *req, int64_t *id, int64_t *project_id,
                            pfc_err *err)
{
    pfc_code code = pfc_req_param_id(req, "id", id, err);

    if (!code)
        code = pfc_notice_project(app->db, *id, project_id, err);
    return code ? code : pfc_req_allow_project(req, *project_id, "notice", err);
}

/* DELETE /api/v1/notices/{id}: closes the notice. */
PFC_HANDLER(notices_delete)
{
    int64_t id = 0, project_id = 0;
    pfc_code code = path_notice(app, req, &id, &project_id, err);

    if (!code)
        code = pfc_notice_done(app->db, req->auth.actor, id, err);
    if (!code)
        code = pfc_reply_empty(reply);
    return code;
}

/* POST /api/v1/notices/{id}/send: retries the deliveries that were given up. */
PFC_HANDLER(notices_send)
{
    int64_t id = 0, project_id = 0;
    size_t deliveries = 0;
    pfc_code code = path_notice(app, req, &id, &project_id, err);

    if (!code)
        code = pfc_notice_again(app->db, req->auth.actor, project_id, id, &deliveries, err);
    if (!code)
        code = pfc_reply_json(reply, 200, json_pack("{s:I}", "deliveries", (json_int_t)deliveries),
                              err);
    return code;
}
