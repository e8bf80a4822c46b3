/* Explanations: of one run, of two, of an alert; as JSON, Markdown or a page. */
#include "server/services/explain/explain.h"

#include <string.h>

#include "core/analysis/report/report.h"
#include "core/wire/run_values.h"
#include "server/handlers/handlers.h"

typedef pfc_code explain_part(pfc_app *app, const pfc_req *req, const pfc_explain_rules *rules,
                              pfc_explanation *out, pfc_err *err);

static pfc_code reply_report(const pfc_explanation *e, const char *format, pfc_reply *reply,
                             pfc_err *err)
{
    char *claim = pfc_explanation_claim(e);
    const bool html = strcmp(format, "html") == 0;
    /* A page of this service links to the others; Markdown is read elsewhere. */
    pfc_report *r = pfc_report_new(claim, html ? "" : NULL);
    pfc_buf out;
    pfc_code code;

    pfc_buf_init(&out, PFC_REPORT_MAX_BYTES);
    pfc_report_add(r, e);
    if (html)
        pfc_report_html(r, &out);
    else
        pfc_report_markdown(r, &out);
    code = pfc_buf_check(&out, "the report", err);
    if (!code)
        code = pfc_reply_text(reply, 200,
                              html ? "text/html; charset=utf-8" : "text/markdown; charset=utf-8",
                              pfc_buf_take(&out));
    reply->own_style = html;
    pfc_buf_clear(&out);
    pfc_report_free(r);
    free(claim);
    return code;
}

static pfc_code answer(pfc_app *app, const pfc_req *req, explain_part *part, pfc_reply *reply,
                       pfc_err *err)
{
    const char *format = NULL;
    pfc_explain_rules rules = { 0 };
    pfc_explanation *e = pfc_calloc(1, sizeof(*e));
    pfc_code code = pfc_req_query(req, "format", 16, &format, err);

    if (!code)
        code = pfc_explain_rules_load(NULL, &rules, err);
    if (!code)
        code = part(app, req, &rules, e, err);
    if (!code && (!format || strcmp(format, "json") == 0))
        code = pfc_reply_json(reply, 200, pfc_explanation_json(e), err);
    else if (!code)
        code = reply_report(e, format, reply, err);
    pfc_explanation_clear(e);
    pfc_explain_rules_clear(&rules);
    free(e);
    return code;
}

/* ---- GET /api/v1/explain ---- */

static pfc_code find_run(pfc_app *app, const pfc_req *req, const char *name, const char *id,
                         int64_t *project_id, int64_t *run_id, pfc_err *err)
{
    pfc_run_rows row = { 0 };
    pfc_code code;

    if (!pfc_run_is_id(id))
        return pfc_err_set_field(
            err, PFC_EINVAL, name,
            "query: expected the number or the 32 hexadecimal digits of a run");
    code = pfc_runs_get(app->db, req->auth.project_id, id, &row, err);
    if (!code) {
        *project_id = row.items[0].project_id;
        *run_id = row.items[0].run_id;
    }
    pfc_rows_clear(&row);
    return code;
}

static pfc_code explain_runs(pfc_app *app, const pfc_req *req, const pfc_explain_rules *rules,
                             pfc_explanation *out, pfc_err *err)
{
    const char *before = NULL;
    const char *after = NULL;
    int64_t other = 0;
    pfc_explain_stored_ask ask = { 0 };
    pfc_code code = pfc_req_query(req, "before", 40, &before, err);

    if (!code)
        code = pfc_req_query(req, "after", 40, &after, err);
    if (!code && !after)
        code = pfc_err_set_field(err, PFC_EINVAL, "after", "query: expected the id of a run");
    if (!code)
        code = pfc_req_query(req, "benchmark", PFC_WIRE_MAX_NAME, &ask.what.benchmark, err);
    if (!code)
        code = pfc_req_query(req, "backend", PFC_WIRE_MAX_NAME, &ask.what.backend, err);
    if (!code)
        code = pfc_req_query(req, "metric", PFC_WIRE_MAX_NAME, &ask.what.metric, err);
    if (!code)
        code = find_run(app, req, "after", after, &ask.project_id, &ask.after, err);
    if (!code && before)
        code = find_run(app, req, "before", before, &other, &ask.before, err);
    if (!code && before && other != ask.project_id)
        code = pfc_err_set_field(err, PFC_EINVAL, "before",
                                 "query: expected a run of the same project as that of after");
    return code ? code : pfc_explain_stored(app->db, rules, &ask, out, err);
}

PFC_HANDLER(explain)
{
    return answer(app, req, explain_runs, reply, err);
}

/* ---- GET /api/v1/alerts/{id}/explanation ---- */

static pfc_code explain_one_alert(pfc_app *app, const pfc_req *req, const pfc_explain_rules *rules,
                                  pfc_explanation *out, pfc_err *err)
{
    pfc_alerts alert = { 0 };
    int64_t id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = pfc_alerts_get(app->db, id, &alert, err);
    if (!code)
        code = pfc_req_allow_project(req, alert.items[0].project_id, "alert", err);
    pfc_rows_clear(&alert);
    return code ? code : pfc_explain_alert(app->db, rules, id, out, err);
}

PFC_HANDLER(alerts_explanation)
{
    return answer(app, req, explain_one_alert, reply, err);
}
