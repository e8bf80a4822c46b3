/* Commits: stored from a client's checkout, listed, and one with its results. */
#include <math.h>
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/repo/tables/broken.h"
#include "server/services/history/against_parent.h"
#include "server/services/history/compare.h"
#include "server/services/history/history.h"

static const pfc_field commit_fields[] = {
    PFC_FIELD_NAMED(pfc_commit_row, "id", sha),
    PFC_FIELD_AS(pfc_commit_row, "parents", parents, TEXTS),
    PFC_FIELD(pfc_commit_row, author),
    PFC_FIELD_AS(pfc_commit_row, "time", time, TIME),
    PFC_FIELD(pfc_commit_row, subject),
    PFC_FIELD_AS(pfc_commit_row, "tags", tags, TEXTS),
    PFC_FIELD_AS(pfc_commit_row, "position", position, ID),
    PFC_FIELD(pfc_commit_row, runs),
    PFC_FIELD(pfc_commit_row, alerts),
};

/* A commit with those of its tags that are releases: the rule is not repeated in clients. */
static json_t *encode_commit(const void *row, const void *context)
{
    const pfc_commit_row *c = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(commit_fields), c), *releases = json_array();
    pfc_texts tags = { 0 };

    (void)context;
    pfc_array_texts(c->tags, &tags);
    for (size_t i = 0; i < tags.len; i++)
        if (pfc_tag_is_release(tags.items[i]))
            json_array_append_new(releases, json_string(tags.items[i]));
    pfc_texts_clear(&tags);
    json_object_set_new(json, "releases", releases);
    return json;
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
    pfc_commit_filter filter = { 0 };
    pfc_page page;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_req_query(req, "branch", PFC_WIRE_MAX_NAME, &filter.branch, err);
    if (!code)
        code = pfc_req_query(req, "q", PFC_WIRE_MAX_NAME, &filter.words, err);
    if (!code)
        code = pfc_req_query_bool(req, "tagged", &filter.tagged, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_commits_list(app->db, project, &filter, page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "commits", PFC_ROW_VIEW(&rows), encode_commit, NULL, rows.next,
                              err);
    pfc_rows_clear(&rows);
    return code;
}

static const pfc_field value_fields[] = {
    PFC_FIELD(pfc_commit_value, series_id),
    PFC_FIELDS_SERIES(pfc_commit_value),
    PFC_FIELD(pfc_commit_value, unit),
    PFC_FIELD_AS(pfc_commit_value, "direction", higher_is_better, DIRECTION),
    PFC_FIELD(pfc_commit_value, median),
    PFC_FIELD(pfc_commit_value, low),
    PFC_FIELD(pfc_commit_value, high),
    PFC_FIELD(pfc_commit_value, n),
    PFC_FIELD(pfc_commit_value, parent_median),
};

/* context: the comparison with the parent; its members are null in rows that it does not have. */
static json_t *encode_value(const void *value, const void *context)
{
    const pfc_compare_row *row = pfc_comparison_row(context, value);
    const double none = (double)NAN;
    json_t *json = pfc_encode_fields(PFC_FIELDS(value_fields), value);

    json_object_set_new(json, "rel_change", pfc_reply_number(row ? row->result.rel_change : none));
    json_object_set_new(json, "rel_low", pfc_reply_number(row ? row->result.rel_low : none));
    json_object_set_new(json, "rel_high", pfc_reply_number(row ? row->result.rel_high : none));
    json_object_set_new(json, "p", pfc_reply_number(row ? row->result.p : none));
    json_object_set_new(json, "p_adjusted", pfc_reply_number(row ? row->p_adjusted : none));
    json_object_set_new(json, "margin_rel", pfc_reply_number(row ? row->margin_rel : none));
    json_object_set_new(json, "verdict", row ? json_string(pfc_compare_word(row)) : json_null());
    return json;
}

static const pfc_field broken_fields[] = {
    PFC_FIELDS_SERIES(pfc_broken_result),
    PFC_FIELD(pfc_broken_result, reason),
    PFC_FIELD(pfc_broken_result, run_id),
};

static const pfc_field change_fields[] = {
    PFC_FIELD(pfc_commit_change, series_id),
    PFC_FIELDS_SERIES(pfc_commit_change),
    PFC_FIELD(pfc_commit_change, branch),
    PFC_FIELDS_REL_CHANGE(pfc_commit_change),
    PFC_FIELD(pfc_commit_change, p),
    PFC_FIELD_AS(pfc_commit_change, "direction", regression, CHANGE),
    PFC_FIELD_AS(pfc_commit_change, "status", confirmed, STATUS),
    PFC_FIELD(pfc_commit_change, alertable),
    PFC_FIELD_AS(pfc_commit_change, "alert_id", alert_id, ID),
};

static json_t *encode_change(const void *row, const void *context)
{
    const pfc_commit_change *c = row;
    const pfc_withheld why = { c->alert_id, c->regression, c->alertable, c->withheld,
                               c->withheld_detail_json };
    json_t *json = pfc_encode_fields(PFC_FIELDS(change_fields), c);

    (void)context;
    json_object_set_new(json, "why_no_alert", pfc_encode_why_no_alert(&why));
    return json;
}

/* All that GET commits/{id} says of one commit. */
typedef struct commit_detail {
    pfc_commit_rows row;
    pfc_commit_values values;
    pfc_broken_results broken;
    pfc_commit_changes changes;
    pfc_run_rows runs;
    pfc_comparison moved; /* against the parent */
    bool measured;        /* the parent is */
} commit_detail;

static pfc_code load(pfc_db *db, int64_t project, const char *id, commit_detail *d, pfc_err *err)
{
    const pfc_page all = { .limit = PFC_LIST_MAX };
    const pfc_commit_row *c;
    pfc_code code = pfc_commits_get(db, project, id, &d->row, err);

    if (code)
        return code;
    c = d->row.items;
    code = pfc_commit_values_list(db, project, c->id, &d->values, err);
    if (!code)
        code = pfc_broken_of_commit(db, project, c->id, &d->broken, err);
    if (!code)
        code = pfc_commit_changes_list(db, project, c->id, &d->changes, err);
    if (!code)
        code = pfc_runs_list(db, project, c->sha, all, &d->runs, err);
    if (!code)
        code = pfc_compare_parent(db, project, c, &d->measured, &d->moved, err);
    return code;
}

static void detail_clear(commit_detail *d)
{
    pfc_comparison_clear(&d->moved);
    pfc_rows_clear(&d->runs);
    pfc_rows_clear(&d->broken);
    pfc_rows_clear(&d->changes);
    pfc_rows_clear(&d->values);
    pfc_rows_clear(&d->row);
}

static json_t *encode_against_parent(const commit_detail *d)
{
    if (!d->measured)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "commit", pfc_reply_string(d->moved.a.end.commit),
                     "margin_rel", pfc_reply_number(d->moved.margin_rel), "summary",
                     pfc_encode_summary(&d->moved));
}

static json_t *encode_detail(const commit_detail *d)
{
    json_t *json = encode_commit(d->row.items, NULL);

    json_object_set_new(json, "paths", pfc_encode_array(d->row.items[0].paths));
    /* In place of the number of runs that a list shows. */
    json_object_set_new(json, "runs", pfc_encode_table(PFC_ROW_VIEW(&d->runs), pfc_run_fields));
    json_object_set_new(json, "values",
                        pfc_encode_rows(PFC_ROW_VIEW(&d->values), encode_value, &d->moved));
    json_object_set_new(json, "against_parent", encode_against_parent(d));
    json_object_set_new(json, "broken",
                        pfc_encode_table(PFC_ROW_VIEW(&d->broken), PFC_FIELDS(broken_fields)));
    json_object_set_new(json, "changes",
                        pfc_encode_rows(PFC_ROW_VIEW(&d->changes), encode_change, NULL));
    return json;
}

/* GET /api/v1/projects/{p}/commits/{id} */
PFC_HANDLER(commits_get)
{
    const char *id = pfc_req_param(req, "id");
    int64_t project = 0;
    commit_detail detail = { 0 };
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code && !pfc_is_hex_id(id))
        code = pfc_err_set(err, PFC_ENOTFOUND,
                           "expected a commit id of 7 to 40 hexadecimal digits, got \"%.64s\"", id);
    if (!code)
        code = load(app->db, project, id, &detail, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_detail(&detail), err);
    detail_clear(&detail);
    return code;
}
