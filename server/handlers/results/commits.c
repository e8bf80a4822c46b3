/* Commits: stored by whoever has the repository, read by everyone. */
#include <math.h>
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/repo/tables/broken.h"
#include "server/services/history/against_parent.h"

static json_t *encode_commit(const pfc_commit_row *c)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "id", pfc_reply_string(c->sha), "parents",
        pfc_encode_json_text(c->parents_json ? c->parents_json : "[]"), "author",
        pfc_reply_string(c->author), "time", pfc_encode_time(c->time), "subject",
        pfc_reply_string(c->subject), "tags",
        pfc_encode_json_text(c->tags_json ? c->tags_json : "[]"), "position",
        pfc_encode_id(c->position), "runs", (json_int_t)c->runs, "alerts", (json_int_t)c->alerts);
}

/* POST /api/v1/projects/{p}/commits */
PFC_HANDLER(commits_post)
{
    int64_t project = 0;
    char *branch = NULL;
    pfc_commit *commits = NULL;
    size_t len = 0, fresh = 0;
    pfc_code code;

    code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_commits_from_json(req->body, req->body_len, &branch, &commits, &len, err);
    if (!code)
        code =
            pfc_commits_store(app->db, req->auth.actor, project, branch, commits, len, &fresh, err);
    if (!code)
        code = pfc_reply_json(
            reply, 200,
            json_pack("{s:I, s:I}", "received", (json_int_t)len, "new", (json_int_t)fresh), err);
    pfc_commits_free(commits, len);
    free(branch);
    return code;
}

/* GET /api/v1/projects/{p}/commits */
PFC_HANDLER(commits_list)
{
    int64_t project = 0;
    pfc_commit_rows rows = { 0 };
    const char *branch = NULL;
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_req_query(req, "branch", PFC_WIRE_MAX_NAME, &branch, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_commits_list(app->db, project, branch, page, &rows, err);
    if (code)
        goto done;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++)
        json_array_append_new(items, encode_commit(&rows.items[i]));
    code = pfc_reply_json(reply, 200, pfc_encode_list("commits", items, rows.next), err);

done:
    pfc_rows_clear(&rows);
    return code;
}

static json_t *encode_value(const pfc_commit_value *v, const pfc_comparison *c)
{
    const pfc_compare_row *row = pfc_comparison_row(c, v);
    json_t *json = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "series_id",
        (json_int_t)v->series_id, "benchmark", pfc_reply_string(v->benchmark), "metric",
        pfc_reply_string(v->metric), "backend", pfc_reply_string(v->backend), "machine_class",
        pfc_reply_string(v->machine_class), "unit", pfc_reply_string(v->unit), "direction",
        pfc_encode_direction(v->higher_is_better), "median", pfc_reply_number(v->median), "low",
        pfc_reply_number(v->low), "high", pfc_reply_number(v->high), "n", (json_int_t)v->n,
        "parent_median", pfc_reply_number(v->parent_median));
    const double unknown = (double)NAN;

    json_object_set_new(json, "rel_change",
                        pfc_reply_number(row ? row->result.rel_change : unknown));
    json_object_set_new(json, "rel_low", pfc_reply_number(row ? row->result.rel_low : unknown));
    json_object_set_new(json, "rel_high", pfc_reply_number(row ? row->result.rel_high : unknown));
    json_object_set_new(json, "p", pfc_reply_number(row ? row->result.p : unknown));
    json_object_set_new(json, "p_adjusted", pfc_reply_number(row ? row->p_adjusted : unknown));
    json_object_set_new(json, "margin_rel", pfc_reply_number(row ? row->margin_rel : unknown));
    json_object_set_new(json, "verdict", row ? json_string(pfc_compare_word(row)) : json_null());
    return json;
}

static json_t *encode_broken(const pfc_broken_results *list)
{
    json_t *out = json_array();

    for (size_t i = 0; i < list->len; i++) {
        const pfc_broken_result *b = &list->items[i];

        json_array_append_new(
            out, json_pack("{s:o, s:o, s:o, s:o, s:o, s:I}", "benchmark",
                           pfc_reply_string(b->benchmark), "metric", pfc_reply_string(b->metric),
                           "backend", pfc_reply_string(b->backend), "machine_class",
                           pfc_reply_string(b->machine_class), "reason",
                           pfc_reply_string(b->reason), "run_id", (json_int_t)b->run_id));
    }
    return out;
}

static json_t *encode_changes(const pfc_commit_changes *list)
{
    json_t *out = json_array();

    for (size_t i = 0; i < list->len; i++) {
        const pfc_commit_change *c = &list->items[i];
        const pfc_withheld why = { c->alert_id, c->regression, c->firm, c->withheld,
                                   c->withheld_detail_json };

        json_array_append_new(
            out,
            json_pack(
                "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:o, s:o}",
                "series_id", (json_int_t)c->series_id, "benchmark", pfc_reply_string(c->benchmark),
                "metric", pfc_reply_string(c->metric), "backend", pfc_reply_string(c->backend),
                "machine_class", pfc_reply_string(c->machine_class), "branch",
                pfc_reply_string(c->branch), "rel_change", pfc_reply_number(c->rel_change),
                "rel_low", pfc_reply_number(c->rel_low), "rel_high", pfc_reply_number(c->rel_high),
                "p", pfc_reply_number(c->p), "direction", pfc_encode_change(c->regression),
                "status", c->confirmed ? "confirmed" : "provisional", "firm", c->firm, "alert_id",
                pfc_encode_id(c->alert_id), "why_no_alert", pfc_encode_why_no_alert(&why)));
    }
    return out;
}

/* GET /api/v1/projects/{p}/commits/{id} */
PFC_HANDLER(commits_get)
{
    const char *id = pfc_req_param(req, "id");
    int64_t project = 0;
    pfc_commit_rows row = { 0 };
    pfc_commit_values values = { 0 };
    pfc_broken_results broken = { 0 };
    pfc_commit_changes changes = { 0 };
    pfc_run_rows runs = { 0 };
    pfc_comparison moved = { 0 };
    bool measured = false;
    json_t *json, *list;
    pfc_code code;

    code = pfc_path_project(app, req, &project, err);
    if (code)
        goto done;
    if (!pfc_is_hex_id(id)) {
        code = pfc_err_set(err, PFC_ENOTFOUND,
                           "expected a commit id of 7 to 40 hexadecimal digits, got \"%.64s\"", id);
        goto done;
    }
    code = pfc_commits_get(app->db, project, id, &row, err);
    if (!code)
        code = pfc_commit_values_list(app->db, project, row.items[0].id, &values, err);
    if (!code)
        code = pfc_broken_of_commit(app->db, project, row.items[0].id, &broken, err);
    if (!code)
        code = pfc_commit_changes_list(app->db, project, row.items[0].id, &changes, err);
    if (!code)
        code = pfc_runs_list(app->db, project, row.items[0].sha,
                             (pfc_page){ .limit = PFC_LIST_MAX }, &runs, err);
    if (!code)
        code = pfc_compare_parent(app->db, project, row.items[0].parents_json, row.items[0].sha,
                                  &measured, &moved, err);
    if (code)
        goto done;
    json = encode_commit(&row.items[0]);
    json_object_set_new(
        json, "paths",
        pfc_encode_json_text(row.items[0].paths_json ? row.items[0].paths_json : "[]"));
    /* Here the count gives way to the rows themselves. */
    list = json_array();
    for (size_t i = 0; i < runs.len; i++)
        json_array_append_new(list, pfc_encode_run_row(&runs.items[i]));
    json_object_set_new(json, "runs", list);
    list = json_array();
    for (size_t i = 0; i < values.len; i++)
        json_array_append_new(list, encode_value(&values.items[i], &moved));
    json_object_set_new(json, "values", list);
    json_object_set_new(
        json, "against_parent",
        measured
            ? json_pack("{s:o, s:o, s:o}", "commit", pfc_reply_string(moved.a.commit), "margin_rel",
                        pfc_reply_number(moved.margin_rel), "summary", pfc_encode_summary(&moved))
            : json_null());
    json_object_set_new(json, "broken", encode_broken(&broken));
    json_object_set_new(json, "changes", encode_changes(&changes));
    code = pfc_reply_json(reply, 200, json, err);

done:
    pfc_comparison_clear(&moved);
    pfc_rows_clear(&runs);
    pfc_rows_clear(&broken);
    pfc_rows_clear(&changes);
    pfc_rows_clear(&values);
    pfc_rows_clear(&row);
    return code;
}
