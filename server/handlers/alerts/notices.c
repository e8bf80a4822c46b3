/* The outbox: what is being sent, what could not be, and for whoever sends mails and messages himself. */
#include "server/services/notices.h"

#include "server/handlers/handlers.h"

/* GET /api/v1/notices */
PFC_HANDLER(notices_list)
{
    pfc_notices rows = { 0 };
    int64_t project_id = 0;
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_query_project_page(app, req, &project_id, &page, err);
    if (!code)
        code = pfc_notices_list(app->db, project_id, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    /* Where it goes, and why it did not get there, is not everybody's business. */
    for (size_t i = 0; i < rows.len; i++) {
        const pfc_notice *n = &rows.items[i];

        json_array_append_new(
            items,
            json_pack("{s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
                      (json_int_t)n->id, "project", pfc_reply_string(n->project), "kind",
                      pfc_reply_string(n->kind), "alert_id", (json_int_t)n->alert_id, "commit",
                      pfc_reply_string(n->commit), "subject", pfc_reply_string(n->subject),
                      "author", pfc_reply_string(n->author), "text", pfc_reply_string(n->text),
                      "repro", json_sprintf("perfci repro alert:%lld", (long long)n->alert_id),
                      "created_at", pfc_encode_time(n->created_at), "deliveries",
                      req->auth.token_id ? pfc_encode_json_text(n->deliveries_json) : json_array()));
    }
    code = pfc_reply_json(reply, 200, pfc_encode_list("notices", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}

/* The notice of the path's {id}, when the caller may do something with its project. */
static pfc_code path_notice(pfc_app *app, const pfc_req *req, int64_t *id, int64_t *project_id,
                            pfc_err *err)
{
    pfc_code code = pfc_req_param_id(req, "id", id, err);

    if (!code)
        code = pfc_notice_project(app->db, *id, project_id, err);
    return code ? code : pfc_req_allow_project(req, *project_id, err);
}

/* DELETE /api/v1/notices/{id}: it is sent, or nobody needs it. */
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

/* POST /api/v1/notices/{id}/send: what was given up is tried anew. */
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
