/* Runs: stored, listed, and one with its samples. */
#include <string.h>

#include "core/base/parse.h"
#include "core/wire/run_values.h"
#include "server/handlers/handlers.h"
#include "server/services/ingest/ingest.h"

static json_t *encode_ingested(const pfc_ingest_result *r)
{
    return json_pack("{s:I, s:s, s:I, s:I}", "run_id", (json_int_t)r->run_id, "id", r->id, "series",
                     (json_int_t)r->series, "samples", (json_int_t)r->samples);
}

/* Long enough for any disk; a runner that gets 503 sends the same document again. */
#define STORE_WAIT_S 30

static void start_storing(pfc_app *app, void *ticket, uint64_t tag)
{
    pfc_err err = { 0 };

    if (pfc_writer_submit(app->writer, ticket, tag, &err)) {
        pfc_writer_refuse(ticket, &err);
        pfc_httpd_resume(app->http, &tag, 1);
    }
}

static void release_ticket(void *ticket)
{
    pfc_ingest_ticket_free(ticket);
}

static pfc_code answer_stored(pfc_app *app, pfc_ingest_ticket *ticket, pfc_reply *reply,
                              pfc_err *err)
{
    pfc_ingest_result result = { 0 };
    pfc_code code = pfc_ingest_ticket_take(app->db, ticket, &result, err);

    if (code)
        return code;
    code = pfc_reply_json(reply, result.repeated ? 200 : 201, encode_ingested(&result), err);
    reply->run_id = result.run_id;
    return code;
}

/* POST /api/v1/runs   body: schema/json/run.schema.json */
PFC_HANDLER(runs_post)
{
    static const pfc_later storing = { start_storing, release_ticket };
    const pfc_ingest_request request = { .actor = req->auth.actor,
                                         .only_project = req->auth.project_id,
                                         .lease = req->auth.lease,
                                         .body = req->body,
                                         .body_len = req->body_len,
                                         .key = req->idempotency_key };
    pfc_ingest_ticket *ticket = NULL;
    pfc_code code;

    if (req->later)
        return answer_stored(app, req->later, reply, err);
    pfc_ingest_ticket_request(&request, app->cache, &ticket);
    if (app->writer)
        return pfc_reply_later(reply, &storing, ticket, STORE_WAIT_S);
    code = answer_stored(app, ticket, reply, err);
    pfc_ingest_ticket_free(ticket);
    return code;
}

/* GET /api/v1/runs/{id} */
PFC_HANDLER(runs_get)
{
    const char *id = pfc_req_param(req, "id");
    pfc_run_rows row = { 0 };
    pfc_run *run = NULL;
    json_t *json;
    pfc_code code;

    if (!pfc_run_is_id(id))
        return pfc_err_set(err, PFC_ENOTFOUND, "there is no run \"%.40s\"", id);
    code = pfc_runs_get(app->db, req->auth.project_id, id, &row, err);
    if (!code)
        code = pfc_run_load(app->db, row.items[0].project_id, row.items[0].run_id, &run, err);
    if (!code) {
        json = pfc_run_to_json(run);
        json_object_set_new(json, "run_id", json_integer(row.items[0].run_id));
        json_object_set_new(json, "reproducibility",
                            pfc_reply_string(row.items[0].reproducibility));
        json_object_set_new(json, "quarantined", json_boolean(row.items[0].quarantined));
        code = pfc_reply_json(reply, 200, json, err);
    }
    pfc_run_free(run);
    pfc_rows_clear(&row);
    return code;
}

/* GET /api/v1/projects/{p}/runs */
PFC_HANDLER(runs_list)
{
    int64_t project = 0;
    pfc_run_rows rows = { 0 };
    const char *commit = NULL;
    pfc_page page;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_req_query(req, "commit", 40, &commit, err);
    if (!code && commit && !pfc_is_hex_id(commit))
        code = pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "query: expected a commit id of 7 to 40 hexadecimal digits");
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_runs_list(app->db, project, commit, page, &rows, err);
    if (!code)
        code = pfc_reply_table(reply, "runs", PFC_ROW_VIEW(&rows), pfc_run_fields, rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}
