/* What was measured at which commits, and what is missing. */
#include "server/services/history/coverage.h"

#include "server/handlers/handlers.h"

static json_t *encode_commits(const pfc_coverage *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->commits.len; i++) {
        const pfc_coverage_commit *k = &c->commits.items[i];

        json_array_append_new(
            list, json_pack("{s:o, s:I, s:o, s:o, s:I, s:I}", "id", pfc_reply_string(k->commit),
                            "position", (json_int_t)k->position, "time", pfc_encode_time(k->time),
                            "subject", pfc_reply_string(k->subject), "measured",
                            (json_int_t)k->measured, "missing", (json_int_t)k->missing));
    }
    return list;
}

/* One page of them. */
static json_t *encode_rows(const pfc_coverage *c, pfc_page page, int64_t *next)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->rows.len; i++) {
        const pfc_coverage_row *r = &c->rows.items[i];

        if (r->id <= page.cursor)
            continue;
        if (json_array_size(list) == (size_t)page.limit) {
            *next = c->rows.items[i - 1].id;
            break;
        }
        json_array_append_new(list, json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:I}", "series_id",
                                              (json_int_t)r->id, "benchmark",
                                              pfc_reply_string(r->benchmark), "params",
                                              pfc_encode_json_text(r->params_json), "backend",
                                              pfc_reply_string(r->backend), "machine_class",
                                              pfc_reply_string(r->machine_class), "cells",
                                              c->cells[i], "missing", (json_int_t)c->missing[i]));
    }
    return list;
}

static json_t *encode_fills(const pfc_coverage *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->fills_len; i++) {
        const pfc_coverage_fill *f = &c->fills[i];

        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:I}", "commit", pfc_reply_string(f->commit),
                                        "machine_class", pfc_reply_string(f->machine_class),
                                        "missing", (json_int_t)f->missing));
    }
    return list;
}

static json_t *encode_never(const pfc_coverage *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->never.len; i++) {
        const pfc_coverage_never *n = &c->never.items[i];

        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "benchmark",
                                              pfc_reply_string(n->benchmark), "backend",
                                              pfc_reply_string(n->backend), "machine_class",
                                              pfc_reply_string(n->machine_class)));
    }
    return list;
}

static pfc_code decode_filter(const pfc_req *req, pfc_coverage_filter *f, pfc_err *err)
{
    int64_t commits = PFC_COVERAGE_COMMITS;
    pfc_code code = pfc_req_query_i64(req, "commits", 1, PFC_COVERAGE_MOST, &commits, err);

    f->commits = (int)commits;
    if (!code)
        code = pfc_req_query(req, "branch", PFC_WIRE_MAX_NAME, &f->branch, err);
    if (!code)
        code = pfc_req_query(req, "benchmark", PFC_WIRE_MAX_NAME, &f->benchmark, err);
    if (!code)
        code = pfc_req_query(req, "backend", PFC_WIRE_MAX_NAME, &f->backend, err);
    if (!code)
        code = pfc_req_query(req, "machine_class", PFC_WIRE_MAX_NAME, &f->machine_class, err);
    return code;
}

/* GET /api/v1/projects/{p}/coverage */
PFC_HANDLER(coverage)
{
    pfc_coverage_filter filter = { 0 };
    pfc_projects row = { 0 };
    pfc_coverage coverage = { 0 };
    int64_t project = 0, next = 0;
    pfc_page page;
    json_t *rows;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = decode_filter(req, &filter, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code && !filter.branch) {
        code = pfc_projects_get(app->db, pfc_req_param(req, "p"), &row, err);
        filter.branch = code ? NULL : row.items[0].branch;
    }
    if (!code)
        code = pfc_coverage_read(app->db, project, &filter, &coverage, err);
    if (!code) {
        rows = encode_rows(&coverage, page, &next);
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "branch",
                                        pfc_reply_string(filter.branch), "commits",
                                        encode_commits(&coverage), "rows", rows, "fills",
                                        encode_fills(&coverage), "never", encode_never(&coverage),
                                        "next_cursor", pfc_encode_id(next)),
                              err);
    }
    pfc_coverage_clear(&coverage);
    pfc_rows_clear(&row);
    return code;
}
