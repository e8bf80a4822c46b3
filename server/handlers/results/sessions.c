/* Sessions: builds measured together in blocks, as posted and as judged. */
#include <string.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/access/lease_tokens.h"
#include "server/services/sessions/changes.h"
#include "server/services/sessions/report.h"

/* A lease's token stores the session of its job alone. */
static pfc_code check_lease(pfc_app *app, const pfc_req *req, int64_t project,
                            const pfc_session *session, pfc_err *err)
{
    const char **commits = pfc_calloc(session->commits_len + 2, sizeof(*commits));
    pfc_lease_results results = { .project_id = project,
                                  .branch = session->branch,
                                  .commits = commits };
    pfc_code code;

    commits[results.commits_len++] = session->anchor;
    commits[results.commits_len++] = session->base;
    for (size_t i = 0; i < session->commits_len; i++)
        commits[results.commits_len++] = session->commits[i].commit;
    code = pfc_lease_check(app->db, &req->auth.lease, &results, err);
    free(commits);
    return code;
}

/* POST /api/v1/projects/{p}/sessions   body: schema/json/session.schema.json */
PFC_HANDLER(sessions_post)
{
    pfc_session *session = NULL;
    int64_t project = 0;
    bool repeated = false;
    pfc_code code;

    code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_session_from_json(req->body, req->body_len, &session, err);
    if (!code)
        code = check_lease(app, req, project, session, err);
    if (!code)
        code = pfc_session_store(app->db, req->auth.actor, project, session, &repeated, err);
    if (!code)
        code = pfc_reply_json(
            reply, repeated ? 200 : 201,
            json_pack("{s:s, s:I}", "id", session->id, "commits", (json_int_t)session->commits_len),
            err);
    pfc_session_free(session);
    return code;
}

/* The stored verdict; a commit without one is undecided when it was measured. */
static const char *word_of(const pfc_session_commit_row *c)
{
    if (c->verdict)
        return c->verdict;
    return strcmp(c->status, "measured") == 0 ? "undecided" : c->status;
}

static json_t *encode_commit(const pfc_session_commit_row *c, const char *verdict, double within,
                             double needs_s, json_t *worst)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "commit",
                     pfc_reply_string(c->commit), "status", pfc_reply_string(c->status), "reason",
                     pfc_reply_string(c->reason), "same_as", pfc_reply_string(c->same_as),
                     "verdict", verdict, "within", pfc_reply_number(within), "needs_s",
                     pfc_reply_number(needs_s), "worst", worst);
}

static const pfc_field worst_fields[] = {
    PFC_FIELD(pfc_session_worst, series_id),
    PFC_FIELD(pfc_session_worst, benchmark),
    PFC_FIELD(pfc_session_worst, metric),
    PFC_FIELD(pfc_session_worst, backend),
    PFC_FIELDS_REL_CHANGE(pfc_session_worst),
    PFC_FIELD_AS(pfc_session_worst, "alert_id", alert_id, ID),
};

static json_t *encode_worst(const pfc_session_verdict *verdict)
{
    pfc_session_worst worst;

    return pfc_session_worst_of(verdict, &worst)
               ? pfc_encode_fields(PFC_FIELDS(worst_fields), &worst)
               : json_null();
}

/* As of the last judging. */
static json_t *encode_stored(const pfc_session_commit_row *c)
{
    return encode_commit(c, word_of(c), c->within, c->verdict ? c->open_s : c->needs_s,
                         pfc_encode_json_text(c->worst_json));
}

static const pfc_field session_fields[] = {
    PFC_FIELD(pfc_session_row, id),
    PFC_FIELD(pfc_session_row, branch),
    PFC_FIELD(pfc_session_row, anchor),
    PFC_FIELD(pfc_session_row, base),
    PFC_FIELD(pfc_session_row, machine_class),
    PFC_FIELD(pfc_session_row, machine),
    PFC_FIELD_AS(pfc_session_row, "started_at", started_at, TIME),
    PFC_FIELD_AS(pfc_session_row, "finished_at", finished_at, TIME),
    PFC_FIELD(pfc_session_row, budget_s),
    PFC_FIELD(pfc_session_row, spent_s),
    PFC_FIELD(pfc_session_row, blocks),
    PFC_FIELD(pfc_session_row, note),
};

/* GET /api/v1/projects/{p}/sessions */
PFC_HANDLER(sessions_list)
{
    pfc_session_rows rows = { 0 };
    pfc_session_commit_rows commits = { 0 };
    int64_t project = 0, limit = 0;
    pfc_page page = { 0 };
    json_t *items;
    pfc_code code;

    code = pfc_req_query_i64(req, "limit", 1, PFC_SESSIONS_PAGE_MAX, &limit, err);
    if (!code)
        code = pfc_req_query_i64(req, "cursor", 1, INT64_MAX, &page.cursor, err);
    page.limit = limit ? (int)limit : PFC_SESSIONS_PAGE_MAX;
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_sessions_list(app->db, project, page, &rows, &commits, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++) {
        json_t *item = pfc_encode_fields(PFC_FIELDS(session_fields), &rows.items[i]),
               *list = json_array();

        for (size_t c = 0; c < commits.len; c++) {
            if (strcmp(commits.items[c].session_id, rows.items[i].id) == 0)
                json_array_append_new(list, encode_stored(&commits.items[c]));
        }
        json_object_set_new(item, "commits", list);
        json_array_append_new(items, item);
    }
    code = pfc_reply_json(reply, 200, pfc_encode_list("sessions", items, rows.next), err);
    pfc_rows_clear(&commits);
    pfc_rows_clear(&rows);
    return code;
}

static json_t *encode_builds(const pfc_session_judgement *j, const pfc_session_series *s)
{
    json_t *list = json_array();

    for (size_t b = 0; b < s->fit.levels_len; b++) {
        const pfc_block_level *l = &s->fit.levels[b];

        if (l->visits)
            json_array_append_new(
                list, json_pack("{s:o, s:o, s:I, s:o, s:o, s:o}", "commit",
                                pfc_reply_string(j->builds[b].commit), "median",
                                pfc_reply_number(l->median), "visits", (json_int_t)l->visits,
                                "ratio", pfc_reply_number(l->ratio), "ratio_low",
                                pfc_reply_number(l->low), "ratio_high", pfc_reply_number(l->high)));
    }
    return list;
}

static json_t *encode_boundaries(const pfc_session_report *r, const pfc_session_series *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->boundaries_len; i++) {
        const pfc_session_boundary *b = &s->boundaries[i];

        json_array_append_new(
            list,
            json_pack(
                "{s:o, s:o, s:o, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}",
                "commit", pfc_reply_string(pfc_session_owner(&r->commits, &r->judgement, b->b->to)),
                "against", pfc_reply_string(r->judgement.builds[b->b->from].commit), "place_after",
                pfc_reply_string(r->judgement.builds[b->b->place_from].commit), "place_until",
                pfc_reply_string(pfc_session_owner(&r->commits, &r->judgement, b->b->place_to)),
                "test", pfc_session_test_name(b), "screen_p", pfc_reply_number(b->b->screen_p),
                "verdict", pfc_session_verdict_name(b), "rel_change",
                pfc_reply_number(b->b->rel_change), "rel_low", pfc_reply_number(b->b->rel_low),
                "rel_high", pfc_reply_number(b->b->rel_high), "p", pfc_reply_number(b->b->p),
                "p_adjusted", pfc_reply_number(b->p_adjusted), "rounds", (json_int_t)b->b->rounds,
                "needs_rounds", (json_int_t)PFC_MIN(b->b->more, (size_t)PFC_WIRE_MAX_PLACE),
                "alert_id", pfc_encode_id(b->alert_id)));
    }
    return list;
}

static json_t *encode_series(const pfc_session_report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->judgement.series_len; i++) {
        const pfc_session_series *s = &r->judgement.series[i];

        json_array_append_new(
            list,
            json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:o, s:I, s:o, s:o}",
                      "series_id", (json_int_t)s->id, "benchmark", pfc_reply_string(s->benchmark),
                      "metric", pfc_reply_string(s->metric), "backend",
                      pfc_reply_string(s->backend), "machine_class",
                      pfc_reply_string(s->machine_class), "unit", pfc_reply_string(s->unit),
                      "higher_is_better", s->higher_is_better, "exact", s->exact, "judged",
                      s->judged, "margin_rel", pfc_reply_number(s->margin), "noise_rel",
                      pfc_reply_number(s->fit.noise_rel), "rounds", (json_int_t)s->rounds, "builds",
                      encode_builds(&r->judgement, s), "boundaries", encode_boundaries(r, s)));
    }
    return list;
}

static json_t *encode_report(const pfc_session_report *r)
{
    json_t *json = pfc_encode_fields(PFC_FIELDS(session_fields), r->session.items),
           *list = json_array();

    for (size_t i = 0; i < r->commits.len; i++) {
        const pfc_session_verdict *v = &r->verdicts[i];

        json_array_append_new(list, encode_commit(&r->commits.items[i], v->word, v->within,
                                                  v->needs_s, encode_worst(v)));
    }
    json_object_set_new(json, "commits", list);
    json_object_set_new(json, "series", encode_series(r));
    return json;
}

/* GET /api/v1/projects/{p}/sessions/{id} */
PFC_HANDLER(sessions_get)
{
    const char *id = pfc_req_param(req, "id");
    pfc_session_report report = { 0 };
    int64_t project = 0;
    pfc_tx *tx = NULL;
    pfc_code code;

    code = pfc_path_project(app, req, &project, err);
    if (code)
        return code;
    if (strlen(id) != 32 || !pfc_is_hex_id(id))
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "expected a session id of 32 hexadecimal digits, got \"%.64s\"", id);
    code = pfc_tx_begin(&tx, app->db, PFC_TX_SNAPSHOT, err);
    if (!code)
        code = pfc_session_report_load(tx, project, id, &report, err);
    pfc_tx_free(tx);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_report(&report), err);
    pfc_session_report_clear(&report);
    return code;
}

static const pfc_field candidate_fields[] = {
    PFC_FIELD(pfc_candidate, id),         PFC_FIELD(pfc_candidate, series_id),
    PFC_FIELDS_SERIES(pfc_candidate),     PFC_FIELD(pfc_candidate, branch),
    PFC_FIELD(pfc_candidate, against),    PFC_FIELD(pfc_candidate, commit),
    PFC_FIELD(pfc_candidate, rel_change), PFC_FIELD(pfc_candidate, p),
};

static json_t *encode_candidate(const void *row, const void *context)
{
    const pfc_candidate *c = row;
    const pfc_withheld why = { 0, true, true, c->withheld, c->withheld_detail_json };
    json_t *json = pfc_encode_fields(PFC_FIELDS(candidate_fields), c);

    (void)context;
    json_object_set_new(json, "why_no_alert", pfc_encode_why_no_alert(&why));
    return json;
}

/* GET /api/v1/projects/{p}/candidates */
PFC_HANDLER(candidates)
{
    const char *branch = NULL, *machine_class = NULL;
    pfc_candidates list = { 0 };
    int64_t project = 0, limit = 100;
    pfc_code code;

    code = pfc_req_query(req, "branch", PFC_WIRE_MAX_NAME, &branch, err);
    if (!code)
        code = pfc_req_query(req, "machine_class", PFC_WIRE_MAX_NAME, &machine_class, err);
    if (!code)
        code = pfc_req_query_i64(req, "limit", 1, PFC_CANDIDATES_MAX, &limit, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_candidates_list(app->db, project, branch, machine_class, (int)limit, &list, err);
    if (!code)
        code =
            pfc_reply_json(reply, 200,
                           json_pack("{s:o}", "candidates",
                                     pfc_encode_rows(PFC_ROW_VIEW(&list), encode_candidate, NULL)),
                           err);
    pfc_rows_clear(&list);
    return code;
}
