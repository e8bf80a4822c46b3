/* The audit log: who changed what. */
#include "server/handlers/handlers.h"

/* GET /api/v1/audit */
PFC_HANDLER(audit_list)
{
    pfc_audit_rows rows = { 0 };
    int64_t project_id = 0;
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_query_project_page(app, req, &project_id, &page, err);
    if (!code)
        code = pfc_audit_list(app->db, project_id, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++) {
        const pfc_audit_row *a = &rows.items[i];

        json_array_append_new(
            items, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "id", (json_int_t)a->id, "at",
                             pfc_encode_time(a->at), "actor", pfc_reply_string(a->actor), "action",
                             pfc_reply_string(a->action), "project", pfc_reply_string(a->project),
                             "object", pfc_reply_string(a->object), "detail",
                             pfc_reply_string(a->detail)));
    }
    code = pfc_reply_json(reply, 200, pfc_encode_list("audit", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}
