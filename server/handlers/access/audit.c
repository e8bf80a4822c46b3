/* The audit log: who changed what. */
#include "server/handlers/handlers.h"

static const pfc_field audit_fields[] = {
    PFC_FIELD(pfc_audit_row, id),      PFC_FIELD_AS(pfc_audit_row, "at", at, TIME),
    PFC_FIELD(pfc_audit_row, actor),   PFC_FIELD(pfc_audit_row, action),
    PFC_FIELD(pfc_audit_row, project), PFC_FIELD(pfc_audit_row, object),
    PFC_FIELD(pfc_audit_row, detail),
};

void pfc_app_refused(pfc_app *app, const pfc_route *route, const pfc_principal *who,
                     const char *address, int status)
{
    char what[96];

    (void)snprintf(what, sizeof(what), "%s %s", route->method, route->pattern);
    pfc_refusals_add(app->refusals, &(pfc_refusal){ .actor = who->token_id ? who->actor : NULL,
                                                    .project_id = who->project_id,
                                                    .what = what,
                                                    .address = address,
                                                    .status = status });
}

/* GET /api/v1/audit */
PFC_HANDLER(audit_list)
{
    pfc_audit_rows rows = { 0 };
    int64_t project_id = 0;
    pfc_page page;
    pfc_code code;

    code = pfc_query_project_page(app, req, &project_id, &page, err);
    if (!code)
        code = pfc_audit_list(app->db, project_id, page, &rows, err);
    if (!code)
        code = pfc_reply_table(reply, "audit", PFC_ROW_VIEW(&rows), PFC_FIELDS(audit_fields),
                               rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}
