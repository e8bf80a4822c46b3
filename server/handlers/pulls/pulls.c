/* Pull requests of a project, with the verdict of their head. */
#include "server/handlers/handlers.h"
#include "server/services/bot/bot.h"

static const pfc_field pull_fields[] = {
    PFC_FIELD(pfc_pull_row, number),
    PFC_FIELD(pfc_pull_row, title),
    PFC_FIELD(pfc_pull_row, author),
    PFC_FIELD(pfc_pull_row, url),
    PFC_FIELD(pfc_pull_row, head),
    PFC_FIELD(pfc_pull_row, base),
    PFC_FIELD(pfc_pull_row, base_branch),
    PFC_FIELD(pfc_pull_row, fork),
    PFC_FIELD(pfc_pull_row, draft),
    PFC_FIELD(pfc_pull_row, open),
    PFC_FIELD(pfc_pull_row, allowed),
    PFC_FIELD(pfc_pull_row, verdict),
    PFC_FIELD(pfc_pull_row, reason),
    PFC_FIELD_AS(pfc_pull_row, "job_id", job_id, ID),
    PFC_FIELD(pfc_pull_row, job_state),
    PFC_FIELD(pfc_pull_row, session),
    PFC_FIELD(pfc_pull_row, accepted_by),
    PFC_FIELD(pfc_pull_row, accepted_reason),
    PFC_FIELD(pfc_pull_row, trouble),
    PFC_FIELD_AS(pfc_pull_row, "updated_at", updated_at, TIME),
};

/* GET /api/v1/projects/{p}/pulls */
PFC_HANDLER(pulls_list)
{
    pfc_pull_rows rows = { 0 };
    pfc_maybe open = { 0 };
    int64_t project = 0;
    pfc_page page;
    const char *word = NULL;
    pfc_code code = pfc_decode_page(req, &page, err);

    if (!code)
        code = pfc_req_query(req, "open", 8, &word, err);
    open.known = word != NULL;
    if (!code)
        code = pfc_req_query_bool(req, "open", &open.value, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_pulls_list(app->db, project, open, page, &rows, err);
    if (!code)
        code = pfc_reply_table(reply, "pulls", PFC_ROW_VIEW(&rows), PFC_FIELDS(pull_fields),
                               rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}
