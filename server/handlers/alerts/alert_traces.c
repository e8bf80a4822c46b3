/* Traces of both sides of an alert's change. */
#include "server/handlers/results/traces.h"
#include "server/services/access/access.h"

static json_t *encode_side(const pfc_alert_trace_side *side, const pfc_req *req)
{
    const pfc_sql_trace_side_row *at = &side->at.items[0];
    json_t *traces = json_array();

    for (size_t i = 0; i < side->traces.len; i++)
        json_array_append_new(traces, pfc_encode_trace(&side->traces.items[i], req));
    return json_pack("{s:I, s:s, s:o, s:o}", "run_id", (json_int_t)at->run_id, "commit", at->commit,
                     "job",
                     at->asked ? json_pack("{s:I, s:s}", "id", (json_int_t)at->asked, "state",
                                           at->asked_state)
                               : json_null(),
                     "traces", traces);
}

/* The alert of the path's {id}, when the sender may use its project. */
static pfc_code find_alert(pfc_app *app, const pfc_req *req, int64_t *id, pfc_err *err)
{
    pfc_alerts alert = { 0 };
    pfc_code code = pfc_req_param_id(req, "id", id, err);

    if (!code)
        code = pfc_alerts_get(app->db, *id, &alert, err);
    if (!code)
        code = pfc_req_allow_project(req, alert.items[0].project_id, "alert", err);
    pfc_rows_clear(&alert);
    return code;
}

static pfc_code answer(const pfc_req *req, int status, const pfc_alert_traces *traces,
                       pfc_reply *reply, pfc_err *err)
{
    return pfc_reply_json(reply, status,
                          json_pack("{s:o, s:o}", "before", encode_side(&traces->sides[0], req),
                                    "after", encode_side(&traces->sides[1], req)),
                          err);
}

/* GET /api/v1/alerts/{id}/traces */
PFC_HANDLER(alert_traces_get)
{
    pfc_alert_traces traces = { 0 };
    int64_t id = 0;
    pfc_code code = find_alert(app, req, &id, err);

    if (!code)
        code = pfc_alert_traces_load(app->db, id, &traces, err);
    if (!code)
        code = answer(req, 200, &traces, reply, err);
    pfc_alert_traces_clear(&traces);
    return code;
}

/* POST /api/v1/alerts/{id}/traces */
PFC_HANDLER(alert_traces_post)
{
    pfc_alert_traces traces = { 0 };
    int64_t id = 0;
    pfc_code code = find_alert(app, req, &id, err);

    if (!code)
        code = pfc_alert_traces_ask(app->db, req->auth.actor, id, &traces, err);
    if (!code)
        code = answer(req, 200, &traces, reply, err);
    pfc_alert_traces_clear(&traces);
    return code;
}
