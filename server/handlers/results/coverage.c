/* Coverage: which commits have results of which benchmarks, and which results are missing. */
#include "server/services/history/coverage.h"

#include "server/handlers/handlers.h"

static const pfc_field commit_fields[] = {
    PFC_FIELD_NAMED(pfc_coverage_commit, "id", commit),
    PFC_FIELD(pfc_coverage_commit, position),
    PFC_FIELD_AS(pfc_coverage_commit, "time", time, TIME),
    PFC_FIELD(pfc_coverage_commit, subject),
    PFC_FIELD(pfc_coverage_commit, measured),
    PFC_FIELD(pfc_coverage_commit, missing),
};

static const pfc_field fill_fields[] = {
    PFC_FIELD(pfc_coverage_fill, commit),
    PFC_FIELD(pfc_coverage_fill, machine_class),
    PFC_FIELD(pfc_coverage_fill, missing),
};

static const pfc_field never_fields[] = {
    PFC_FIELD(pfc_coverage_never, benchmark),
    PFC_FIELD(pfc_coverage_never, backend),
    PFC_FIELD(pfc_coverage_never, machine_class),
};

/* One page of the rows; *next is the cursor of the next page. */
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

static json_t *encode_coverage(const pfc_coverage *c, const char *branch, pfc_page page)
{
    const pfc_row_view fills = { c->fills, c->fills_len, sizeof(*c->fills) };
    int64_t next = 0;
    json_t *rows = encode_rows(c, page, &next);

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "branch", pfc_reply_string(branch),
                     "commits",
                     pfc_encode_table(PFC_ROW_VIEW(&c->commits), PFC_FIELDS(commit_fields)), "rows",
                     rows, "fills", pfc_encode_table(fills, PFC_FIELDS(fill_fields)), "never",
                     pfc_encode_table(PFC_ROW_VIEW(&c->never), PFC_FIELDS(never_fields)),
                     "next_cursor", pfc_encode_id(next));
}

static pfc_code decode_filter(const pfc_req *req, pfc_coverage_filter *f, pfc_err *err)
{
    const struct {
        const char *name;
        const char **out;
    } texts[] = {
        { "branch", &f->branch },
        { "benchmark", &f->benchmark },
        { "backend", &f->backend },
        { "machine_class", &f->machine_class },
    };
    int64_t commits = PFC_COVERAGE_COMMITS;
    pfc_code code = pfc_req_query_i64(req, "commits", 1, PFC_COVERAGE_MOST, &commits, err);

    f->commits = (int)commits;
    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = pfc_req_query(req, texts[i].name, PFC_WIRE_MAX_NAME, texts[i].out, err);
    return code;
}

/* GET /api/v1/projects/{p}/coverage */
PFC_HANDLER(coverage)
{
    pfc_coverage_filter filter = { 0 };
    pfc_projects row = { 0 };
    pfc_coverage coverage = { 0 };
    int64_t project = 0;
    pfc_page page;
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
    if (!code)
        code = pfc_reply_json(reply, 200, encode_coverage(&coverage, filter.branch, page), err);
    pfc_coverage_clear(&coverage);
    pfc_rows_clear(&row);
    return code;
}
