/* Traces of runs: stored, listed, summed up, and as files. */
#include "server/handlers/results/traces.h"

#include "core/wire/run_values.h"
#include "core/wire/wire.h"
#include "server/services/access/lease_tokens.h"

static const pfc_field trace_items[] = {
    PFC_FIELD(pfc_sql_trace_row, id),
    PFC_FIELD(pfc_sql_trace_row, project),
    PFC_FIELD(pfc_sql_trace_row, run_id),
    PFC_FIELD(pfc_sql_trace_row, run),
    PFC_FIELD(pfc_sql_trace_row, commit),
    PFC_FIELD(pfc_sql_trace_row, benchmark),
    PFC_FIELD(pfc_sql_trace_row, title),
    PFC_FIELD(pfc_sql_trace_row, digest),
    PFC_FIELD(pfc_sql_trace_row, size),
    PFC_FIELD(pfc_sql_trace_row, records),
    PFC_FIELD(pfc_sql_trace_row, span_ns),
    PFC_FIELD(pfc_sql_trace_row, units),
    PFC_FIELD_AS(pfc_sql_trace_row, "stored_at", stored_at, TIME),
};

json_t *pfc_encode_trace(const void *row, const void *context)
{
    const pfc_sql_trace_row *trace = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(trace_items), trace);

    json_object_set_new(json, "actor", pfc_encode_actor(context, trace->actor));
    return json;
}

/* ---- a run's ---- */

static pfc_code find_run(pfc_app *app, const pfc_req *req, pfc_run_rows *row, pfc_err *err)
{
    const char *id = pfc_req_param(req, "id");

    if (!pfc_run_is_id(id))
        return pfc_err_set(err, PFC_ENOTFOUND, "there is no run \"%.40s\"", id);
    return pfc_runs_get(app->db, req->auth.project_id, id, row, err);
}

static pfc_code check_lease(pfc_app *app, const pfc_req *req, const pfc_sql_run_row *run,
                            pfc_err *err)
{
    return pfc_lease_check(app->db, &req->auth.lease,
                           &(pfc_lease_results){ .project_id = run->project_id,
                                                 .branch = run->branch,
                                                 .commits = (const char *const[]){ run->commit },
                                                 .commits_len = 1 },
                           err);
}

/* POST /api/v1/runs/{id}/traces */
PFC_HANDLER(traces_post)
{
    pfc_trace_stored stored = { 0 };
    pfc_run_rows row = { 0 };
    const char *benchmark = NULL;
    pfc_code code = pfc_req_query(req, "benchmark", PFC_WIRE_MAX_NAME, &benchmark, err);

    if (!code)
        code = find_run(app, req, &row, err);
    if (!code)
        code = check_lease(app, req, &row.items[0], err);
    if (!code)
        code = pfc_trace_store(app->db,
                               &(pfc_trace_upload){ .actor = req->auth.actor,
                                                    .project_id = row.items[0].project_id,
                                                    .run_id = row.items[0].run_id,
                                                    .run = row.items[0].id,
                                                    .benchmark = benchmark,
                                                    .bytes = req->body,
                                                    .len = req->body_len },
                               &stored, err);
    if (!code)
        code = pfc_reply_json(reply, stored.repeated ? 200 : 201,
                              json_pack("{s:I, s:s, s:I}", "id", (json_int_t)stored.id, "run",
                                        row.items[0].id, "run_id", (json_int_t)row.items[0].run_id),
                              err);
    pfc_rows_clear(&row);
    return code;
}

/* GET /api/v1/runs/{id}/traces */
PFC_HANDLER(traces_list)
{
    pfc_run_rows run = { 0 };
    pfc_trace_rows rows = { 0 };
    pfc_code code = find_run(app, req, &run, err);

    if (!code)
        code = pfc_traces_list(app->db, run.items[0].project_id, run.items[0].run_id, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "traces", PFC_ROW_VIEW(&rows), pfc_encode_trace, req, 0, err);
    pfc_rows_clear(&rows);
    pfc_rows_clear(&run);
    return code;
}

/* ---- one ---- */

pfc_code pfc_path_trace(pfc_app *app, const pfc_req *req, pfc_trace_rows *out, pfc_err *err)
{
    pfc_trace_rows rows = { 0 };
    int64_t id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = pfc_trace_find(app->db, id, &rows, err);
    if (!code)
        code = pfc_req_allow_project(req, rows.items[0].project_id, "trace", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}

static json_t *encode_clocks(const pfc_trace_view *v)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->header->clocks_len; i++) {
        const pfc_trace_clock *c = &v->header->clocks[i];
        const pfc_trace_view_clock *placed = &v->clocks[i];

        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:b, s:s, s:I, s:I, s:o, s:I}", "name", c->name,
                            "nominal_hz", (json_int_t)c->nominal_hz, "width_bits",
                            (json_int_t)c->width_bits, "reference", placed->host, "method",
                            placed->method, "offset_ns", (json_int_t)placed->offset_ns, "knots",
                            (json_int_t)placed->knots, "bound_ns",
                            placed->knots ? json_integer(placed->bound_ns) : json_null(),
                            "pairs_left_out", (json_int_t)placed->left_out));
    }
    return list;
}

static json_t *encode_units(const pfc_trace_view *v)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->header->units_len; i++) {
        const pfc_trace_unit *u = &v->header->units[i];
        const pfc_trace_view_unit *had = &v->units[i];

        json_array_append_new(
            list,
            json_pack("{s:s, s:i, s:s, s:i, s:i, s:b, s:I, s:I, s:I, s:I}", "name", u->name, "id",
                      u->id, "kind", pfc_trace_kind_of(u->kind)->name, "device", u->device, "clock",
                      u->clock, "overlaps", u->overlaps, "records", (json_int_t)had->records,
                      "left_out", (json_int_t)had->left_out, "unmatched",
                      (json_int_t)had->unmatched, "dropped", (json_int_t)had->dropped));
    }
    return list;
}

static json_t *encode_series(const pfc_trace_view *v)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->series_len; i++)
        json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:I}", "unit",
                                              (json_int_t)v->series[i].unit, "name",
                                              v->series[i].name, "measure", v->series[i].measure,
                                              "values", (json_int_t)v->series[i].len));
    return list;
}

static json_t *encode_metadata(const pfc_trace_view *v)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->header->meta_len; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "key", v->header->meta[i].key, "value",
                                              v->header->meta[i].value));
    return list;
}

/* GET /api/v1/traces/{id} */
PFC_HANDLER(traces_get)
{
    pfc_trace_rows row = { 0 };
    pfc_trace_held held = { 0 };
    pfc_code code = pfc_path_trace(app, req, &row, err);

    if (!code)
        code = pfc_trace_hold(app->db, app->traces, row.items[0].id, &held, err);
    if (!code) {
        json_t *json = pfc_encode_trace(&row.items[0], req);

        json_object_set_new(json, "begin_ns", json_integer(held.view->begin_ns));
        json_object_set_new(json, "details", json_integer((json_int_t)held.view->details));
        json_object_set_new(json, "clocks", encode_clocks(held.view));
        json_object_set_new(json, "unit_list", encode_units(held.view));
        json_object_set_new(json, "counters", encode_series(held.view));
        json_object_set_new(json, "values_left_out",
                            json_integer((json_int_t)held.view->values_left_out));
        json_object_set_new(json, "metadata", encode_metadata(held.view));
        code = pfc_reply_json(reply, 200, json, err);
    }
    pfc_trace_drop(&held);
    pfc_rows_clear(&row);
    return code;
}

/* GET /api/v1/traces/{id}/file */
PFC_HANDLER(traces_file)
{
    pfc_trace_rows row = { 0 };
    char *bytes = NULL;
    size_t len = 0;
    pfc_code code = pfc_path_trace(app, req, &row, err);

    if (!code)
        code = pfc_trace_file(app->db, row.items[0].id, &bytes, &len, err);
    if (!code)
        code = pfc_reply_bytes(reply, 200, "application/octet-stream", bytes, len);
    pfc_rows_clear(&row);
    return code;
}
