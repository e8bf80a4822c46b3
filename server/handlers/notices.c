/* The outbox, for whoever sends comments, mails and messages. */
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

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_query_project(app, req, &project_id, err);
    if (!code)
        code = pfc_notices_list(app->db, project_id, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++) {
        const pfc_notice *n = &rows.items[i];

        json_array_append_new(
            items,
            json_pack("{s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "id", (json_int_t)n->id,
                      "project", pfc_reply_string(n->project), "kind", pfc_reply_string(n->kind),
                      "alert_id", (json_int_t)n->alert_id, "commit", pfc_reply_string(n->commit),
                      "subject", pfc_reply_string(n->subject), "author",
                      pfc_reply_string(n->author), "text", pfc_reply_string(n->text), "repro",
                      json_sprintf("perfci repro alert:%lld", (long long)n->alert_id), "created_at",
                      pfc_encode_time(n->created_at)));
    }
    code = pfc_reply_json(reply, 200, pfc_encode_list("notices", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}

/* DELETE /api/v1/notices/{id}: it is sent. */
PFC_HANDLER(notices_delete)
{
    int64_t id = 0, project_id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = pfc_notice_project(app->db, id, &project_id, err);
    if (!code)
        code = pfc_req_allow_project(req, project_id, err);
    if (!code)
        code = pfc_notice_done(app->db, req->auth.actor, id, err);
    if (!code)
        code = pfc_reply_empty(reply);
    return code;
}
