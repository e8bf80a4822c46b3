/* Groups of alerts: the list, one with its alerts and history, triage of several, split, merge. */
#include "server/services/groups/groups.h"

#include <math.h>
#include <stdlib.h>

#include "server/handlers/handlers.h"
#include "server/services/alerts/alerts.h"
#include "server/services/bot/issues.h"
#include "server/services/owners/owners.h"

/* ---- encoding ---- */

static const pfc_field group_fields[] = {
    PFC_FIELD_AS(pfc_group, "id", id, ID),
    PFC_FIELD(pfc_group, project),
    PFC_FIELD(pfc_group, branch),
    PFC_FIELD(pfc_group, alerts),
    PFC_FIELD(pfc_group, suppressed),
    PFC_FIELD(pfc_group, series),
    PFC_FIELD(pfc_group, measured),
    PFC_FIELD(pfc_group, state),
    PFC_FIELD_AS(pfc_group, "states", states_json, OBJECT),
    PFC_FIELD(pfc_group, worth),
    PFC_FIELD(pfc_group, rel_least),
    PFC_FIELD(pfc_group, rel_most),
    PFC_FIELD(pfc_group, placed),
    PFC_FIELD_AS(pfc_group, "opened_first", opened_first, TIME),
    PFC_FIELD_AS(pfc_group, "opened_last", opened_last, TIME),
    PFC_FIELD_AS(pfc_group, "updated_at", updated_at, TIME),
    PFC_FIELD_AS(pfc_group, "spark", spark_json, ARRAY),
};

/* The series with the largest effect. */
static const pfc_field worst_fields[] = {
    PFC_FIELD_AS(pfc_group, "alert_id", worst_id, ID),
    PFC_FIELD_NAMED(pfc_group, "series_id", worst_series_id),
    PFC_FIELDS_SERIES(pfc_group),
    PFC_FIELD(pfc_group, unit),
    PFC_FIELD_AS(pfc_group, "better", higher_is_better, DIRECTION),
    PFC_FIELD(pfc_group, before),
    PFC_FIELD(pfc_group, after),
    PFC_FIELDS_REL_CHANGE(pfc_group),
};

/* The context of encode_group: the request, and the alert with the highest worth of each group. */
typedef struct group_context {
    const pfc_req *req;
    const pfc_alerts *leads;
} group_context;

static const pfc_alert *lead_of(const pfc_alerts *leads, int64_t id)
{
    for (size_t i = 0; i < leads->len; i++) {
        if (leads->items[i].id == id)
            return &leads->items[i];
    }
    return NULL;
}

static const pfc_field issue_fields[] = {
    PFC_FIELD_NAMED(pfc_group, "forge", issue_forge),
    PFC_FIELD_NAMED(pfc_group, "repo", issue_repo),
    PFC_FIELD_AS(pfc_group, "number", issue_number, ID),
    PFC_FIELD_NAMED(pfc_group, "url", issue_url),
    PFC_FIELD_NAMED(pfc_group, "state", issue_state),
    PFC_FIELD_NAMED(pfc_group, "trouble", issue_trouble),
    PFC_FIELD_AS(pfc_group, "asked_at", issue_asked_at, TIME),
};

/* null: none was asked for. */
static json_t *encode_issue(const pfc_req *req, const pfc_group *g)
{
    json_t *json = g->issue_state ? pfc_encode_fields(PFC_FIELDS(issue_fields), g) : json_null();

    if (g->issue_state)
        json_object_set_new(json, "asked_by", pfc_encode_actor(req, g->issue_asked_by));
    return json;
}

/* Names of persons are not for requests without a token. */
static json_t *encode_assignee(const pfc_req *req, const char *name)
{
    return req->auth.token_id && *name ? pfc_reply_string(name) : json_null();
}

/* Of one slower series its name, which says more than a share; a group that the detector has not
 * described has the title of its alert. lead NULL: unknown. */
static json_t *encode_summary(const pfc_group *g, const pfc_alert *lead)
{
    char percent[32], *text;
    json_t *json;

    if (!*g->summary && lead)
        return pfc_encode_title(lead);
    if (!lead || g->series != 1 || !isfinite(g->rel_most))
        return pfc_reply_string(g->summary);
    pfc_show_percent(g->rel_most, percent);
    text = pfc_format("%s %s%s%s; %s", lead->benchmark, lead->metric, *lead->backend ? " on " : "",
                      lead->backend, percent);
    json = pfc_reply_string(text);
    free(text);
    return json;
}

static json_t *encode_group(const void *row, const void *context)
{
    const group_context *c = context;
    const pfc_group *g = row;
    const pfc_alert *lead = lead_of(c->leads, g->lead_id);
    json_t *json = pfc_encode_fields(PFC_FIELDS(group_fields), g);

    json_object_set_new(json, "direction", json_string(g->back ? "recovery" : "regression"));
    json_object_set_new(json, "summary", encode_summary(g, lead));
    json_object_set_new(json, "assignee", encode_assignee(c->req, g->assignee));
    json_object_set_new(json, "owner", pfc_encode_owner(c->req, g->owners));
    json_object_set_new(json, "issue", encode_issue(c->req, g));
    json_object_set_new(json, "worst", pfc_encode_fields(PFC_FIELDS(worst_fields), g));
    json_object_set_new(json, "lead", lead ? pfc_encode_alert(c->req, lead) : json_null());
    return json;
}

static const pfc_field improvement_fields[] = {
    PFC_FIELD(pfc_improvement, project),
    PFC_FIELD(pfc_improvement, branch),
    PFC_FIELD(pfc_improvement, series),
    PFC_FIELD(pfc_improvement, rel_least),
    PFC_FIELD(pfc_improvement, rel_most),
    PFC_FIELD_AS(pfc_improvement, "opened_first", opened_first, TIME),
    PFC_FIELD_AS(pfc_improvement, "opened_last", opened_last, TIME),
    PFC_FIELD_AS(pfc_improvement, "spark", spark_json, ARRAY),
};

static const pfc_field best_fields[] = {
    PFC_FIELD_NAMED(pfc_improvement, "series_id", worst_series_id),
    PFC_FIELDS_SERIES(pfc_improvement),
    PFC_FIELD(pfc_improvement, unit),
    PFC_FIELD_AS(pfc_improvement, "better", higher_is_better, DIRECTION),
    PFC_FIELD(pfc_improvement, before),
    PFC_FIELD(pfc_improvement, after),
    PFC_FIELDS_REL_CHANGE(pfc_improvement),
};

static json_t *encode_improvement(const pfc_improvement *i, const char *summary)
{
    json_t *json = pfc_encode_fields(PFC_FIELDS(improvement_fields), i);
    json_t *best = pfc_encode_fields(PFC_FIELDS(best_fields), i);

    json_object_set_new(json, "direction", json_string("improvement"));
    json_object_set_new(json, "commit", pfc_reply_string(i->commit));
    json_object_set_new(json, "subject", pfc_reply_string(i->subject));
    json_object_set_new(json, "author", pfc_reply_string(i->author));
    json_object_set_new(json, "summary", pfc_reply_string(summary));
    json_object_set_new(json, "best", best);
    return json;
}

/* ---- the list ---- */

static pfc_code list_improvements(pfc_app *app, const pfc_group_filter *filter, pfc_page page,
                                  pfc_reply *reply, pfc_err *err)
{
    pfc_improvements list = { 0 };
    json_t *items = NULL;
    pfc_code code = pfc_improvements_list(app->db, filter, page, &list, err);

    if (!code) {
        items = json_array();
        for (size_t i = 0; i < list.rows.len; i++)
            json_array_append_new(items,
                                  encode_improvement(&list.rows.items[i], list.summaries[i]));
        code = pfc_reply_json(
            reply, 200,
            json_pack("{s:[], s:o, s:o}", "groups", "improvements", items, "next_cursor",
                      list.rows.next ? json_integer(list.rows.next) : json_null()),
            err);
    }
    pfc_improvements_clear(&list);
    return code;
}

static pfc_code list_groups(pfc_app *app, const pfc_req *req, const pfc_group_filter *filter,
                            pfc_page page, pfc_reply *reply, pfc_err *err)
{
    pfc_groups rows = { 0 };
    pfc_alerts leads = { 0 };
    const group_context context = { req, &leads };
    pfc_code code = pfc_groups_list(app->db, filter, page, &rows, &leads, err);

    if (!code)
        code = pfc_reply_json(
            reply, 200,
            json_pack("{s:o, s:[], s:o}", "groups",
                      pfc_encode_rows(PFC_ROW_VIEW(&rows), encode_group, &context), "improvements",
                      "next_cursor", rows.next ? json_integer(rows.next) : json_null()),
            err);
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code read_filter(const pfc_req *req, pfc_group_filter *f, const char **direction,
                            pfc_err *err)
{
    const char *sort = NULL;
    pfc_code code = pfc_req_query(req, "sort", 16, &sort, err);

    if (!code)
        code = pfc_req_query(req, "state", 32, &f->state, err);
    if (!code)
        code = pfc_req_query(req, "assignee", PFC_ASSIGNEE_MAX, &f->assignee, err);
    if (!code)
        code = pfc_req_query(req, "owner", PFC_OWNERS_MAX_NAME + 1, &f->owner, err);
    if (!code)
        code = pfc_req_query(req, "kernel", PFC_WIRE_MAX_NAME, &f->kernel, err);
    if (!code)
        code = pfc_req_query(req, "backend", PFC_WIRE_MAX_NAME, &f->backend, err);
    if (!code)
        code = pfc_req_query(req, "machine", PFC_WIRE_MAX_NAME, &f->machine_class, err);
    if (!code)
        code = pfc_req_query(req, "q", PFC_WIRE_MAX_NAME, &f->words, err);
    if (!code)
        code = pfc_req_query(req, "direction", 16, direction, err);
    f->by_worth = !sort || pfc_streq(sort, "worth");
    f->back = (pfc_maybe){ .known = *direction && !pfc_streq(*direction, "improvement"),
                           .value = pfc_streq(*direction, "recovery") };
    return code;
}

/* GET /api/v1/groups */
PFC_HANDLER(groups_list)
{
    pfc_group_filter filter = { 0 };
    const char *direction = NULL;
    pfc_page page;
    pfc_code code = pfc_query_project_page(app, req, &filter.project_id, &page, err);

    if (!code)
        code = read_filter(req, &filter, &direction, err);
    /* Assignees and owners are persons: a request without a token must not find groups by them. */
    if (!code && filter.assignee && !req->auth.token_id)
        code = pfc_err_set_field(err, PFC_EDENIED, "assignee",
                                 "query: a search by assignee needs a token");
    if (!code && filter.owner && !req->auth.token_id)
        code =
            pfc_err_set_field(err, PFC_EDENIED, "owner", "query: a search by owner needs a token");
    if (!code && pfc_streq(direction, "improvement"))
        return list_improvements(app, &filter, page, reply, err);
    return code ? code : list_groups(app, req, &filter, page, reply, err);
}

/* ---- one ---- */

/* Clear *out and *leads in every case. */
static pfc_code load(pfc_app *app, const pfc_req *req, int64_t id, pfc_groups *out,
                     pfc_alerts *leads, pfc_err *err)
{
    pfc_code code = pfc_groups_get(app->db, id, out, leads, err);

    return code ? code : pfc_req_allow_project(req, out->items[0].project_id, "group", err);
}

static json_t *encode_group_event(const void *row, const void *req)
{
    const pfc_group_event *e = row;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "at", pfc_encode_time(e->at), "actor",
                     pfc_encode_actor(req, e->actor), "from", pfc_reply_string(e->state_from), "to",
                     pfc_reply_string(e->state_to), "reason", pfc_reply_string(e->reason),
                     "culprit", pfc_reply_string(e->culprit), "alerts", (json_int_t)e->alerts);
}

static pfc_code answer(pfc_app *app, const pfc_req *req, int64_t id, int status, pfc_reply *reply,
                       pfc_err *err)
{
    pfc_groups row = { 0 };
    pfc_alerts leads = { 0 }, members = { 0 };
    pfc_group_events events = { 0 };
    const group_context context = { req, &leads };
    json_t *json;
    pfc_code code = load(app, req, id, &row, &leads, err);

    if (!code)
        code = pfc_alerts_list(app->db, &(pfc_alert_filter){ .group_id = id },
                               (pfc_page){ .limit = PFC_LIST_MAX }, &members, err);
    if (!code)
        code = pfc_group_events_list(app->db, id, &events, err);
    if (!code) {
        json = encode_group(row.items, &context);
        json_object_set_new(json, "members", pfc_encode_members(PFC_ROW_VIEW(&members)));
        json_object_set_new(json, "history",
                            pfc_encode_rows(PFC_ROW_VIEW(&events), encode_group_event, req));
        code = pfc_reply_json(reply, status, json, err);
    }
    pfc_rows_clear(&events);
    pfc_rows_clear(&members);
    pfc_rows_clear(&leads);
    pfc_rows_clear(&row);
    return code;
}

/* GET /api/v1/groups/{id} */
PFC_HANDLER(groups_get)
{
    int64_t id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    return code ? code : answer(app, req, id, 200, reply, err);
}

/* ---- changes ---- */

/* Strings and arrays are owned. */
typedef struct group_body {
    json_t *json;
    pfc_group_seen *groups;
    char **seen;
    int64_t *ids; /* of groups, or of alerts */
    size_t len;
    char *state, *reason, *assignee;
    bool accept;
} group_body;

static void body_clear(group_body *b)
{
    for (size_t i = 0; b->seen && i < b->len; i++)
        free(b->seen[i]);
    free(b->seen);
    free(b->groups);
    free(b->ids);
    free(b->state);
    free(b->reason);
    free(b->assignee);
    json_decref(b->json);
}

/* PFC_ENOTFOUND also for a group of a project that the token may not use. */
static pfc_code allow_groups(pfc_app *app, const pfc_req *req, const int64_t *ids, size_t len,
                             pfc_err *err)
{
    pfc_sql_alert_group_projects_rows places = { 0 };
    pfc_code code = pfc_sql_alert_group_projects_once(
        app->db, &(pfc_sql_alert_group_projects_args){ .ids = ids, .ids_len = len }, &places, err);

    for (size_t i = 0; !code && i < places.len; i++)
        code = pfc_req_allow_project(req, places.items[i].project_id, "group", err);
    pfc_rows_clear(&places);
    return code;
}

/* {"id", "seen"?} */
static pfc_code decode_seen(const json_t *list, group_body *b, pfc_err *err)
{
    static const char *const known[] = { "id", "seen", NULL };
    const pfc_json_at here = { .key = "groups" };
    pfc_code code = PFC_OK;

    b->len = json_array_size(list);
    b->groups = pfc_calloc(b->len + 1, sizeof(*b->groups));
    b->seen = pfc_calloc(b->len + 1, sizeof(*b->seen));
    b->ids = pfc_calloc(b->len + 1, sizeof(*b->ids));
    for (size_t i = 0; !code && i < b->len; i++) {
        const json_t *entry = json_array_get(list, i);
        const pfc_json_at at = { .up = &here, .index = i };

        if (!json_is_object(entry))
            return pfc_json_fault(&at, NULL, err, "expected an object");
        code = pfc_json_known(entry, &at, known, err);
        if (!code)
            code = pfc_json_i64(entry, &at, "id", true, 1, INT64_MAX, &b->ids[i], err);
        if (!code)
            code = pfc_json_string(entry, &at, "seen", false, 32, &b->seen[i], err);
        if (!code && b->seen[i] && !pfc_alert_state_known(b->seen[i]))
            code = pfc_json_fault(&at, "seen", err, "unknown state \"%.32s\"", b->seen[i]);
        b->groups[i] = (pfc_group_seen){ b->ids[i], b->seen[i] };
    }
    return code;
}

static pfc_code decode_ids(const json_t *body, const char *key, size_t max, group_body *b,
                           pfc_err *err)
{
    const pfc_json_at here = { .key = key };
    json_t *list = NULL;
    pfc_code code = pfc_json_array(body, NULL, key, true, max, &list, err);

    if (code)
        return code;
    b->len = json_array_size(list);
    b->ids = pfc_calloc(b->len + 1, sizeof(*b->ids));
    for (size_t i = 0; i < b->len; i++) {
        const json_t *id = json_array_get(list, i);
        const pfc_json_at at = { .up = &here, .index = i };

        if (!json_is_integer(id) || json_integer_value(id) < 1)
            return pfc_json_fault(&at, NULL, err, "expected a number above 0");
        b->ids[i] = json_integer_value(id);
    }
    return PFC_OK;
}

static pfc_code decode_change(const pfc_req *req, group_body *b, pfc_err *err)
{
    static const char *const known[] = { "groups", "state", "reason", "assignee", "accept", NULL };
    json_t *list = NULL;
    pfc_code code = pfc_decode_object(req, known, &b->json, err);

    if (!code)
        code = pfc_json_array(b->json, NULL, "groups", true, PFC_GROUPS_MAX, &list, err);
    if (!code)
        code = decode_seen(list, b, err);
    if (!code)
        code = pfc_json_string(b->json, NULL, "state", false, 32, &b->state, err);
    if (!code)
        code = pfc_json_string(b->json, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &b->reason, err);
    if (!code)
        code =
            pfc_json_string(b->json, NULL, "assignee", false, PFC_ASSIGNEE_MAX, &b->assignee, err);
    if (!code)
        code = pfc_json_bool(b->json, NULL, "accept", false, &b->accept, err);
    if (!code && b->accept && !b->state)
        b->state = pfc_strdup("wont_fix");
    if (!code && b->state && !pfc_alert_state_known(b->state))
        code = pfc_json_fault(NULL, "state", err, "unknown state \"%.32s\"", b->state);
    return code;
}

/* PATCH /api/v1/groups   {"groups": [{"id", "seen"?}], "state"?, "reason"?, "assignee"?, "accept"?}
 */
PFC_HANDLER(groups_patch)
{
    group_body b = { 0 };
    pfc_groups rows = { 0 };
    pfc_alerts leads = { 0 };
    const group_context context = { req, &leads };
    size_t alerts = 0;
    pfc_code code = decode_change(req, &b, err);

    if (!code)
        code = allow_groups(app, req, b.ids, b.len, err);
    if (!code)
        code = pfc_groups_update(app->db, req->auth.actor,
                                 &(pfc_group_change){ .groups = b.groups,
                                                      .len = b.len,
                                                      .state = b.state,
                                                      .reason = b.reason,
                                                      .assignee = b.assignee,
                                                      .accept = b.accept },
                                 &alerts, err);
    if (!code)
        code = pfc_groups_list(app->db, &(pfc_group_filter){ .ids = b.ids, .ids_len = b.len },
                               (pfc_page){ .limit = PFC_GROUPS_MAX }, &rows, &leads, err);
    if (!code)
        code =
            pfc_reply_json(reply, 200,
                           json_pack("{s:I, s:o}", "alerts", (json_int_t)alerts, "groups",
                                     pfc_encode_rows(PFC_ROW_VIEW(&rows), encode_group, &context)),
                           err);
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    body_clear(&b);
    return code;
}

/* POST /api/v1/groups/{id}/split   {"alerts": [...], "reason"?} */
PFC_HANDLER(groups_split)
{
    static const char *const known[] = { "alerts", "reason", NULL };
    group_body b = { 0 };
    int64_t id = 0, made = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = allow_groups(app, req, &id, 1, err);
    if (!code)
        code = pfc_decode_object(req, known, &b.json, err);
    if (!code)
        code = decode_ids(b.json, "alerts", PFC_GROUP_SPLIT_MAX, &b, err);
    if (!code)
        code = pfc_json_string(b.json, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &b.reason, err);
    if (!code)
        code = pfc_group_split(app->db, req->auth.actor, id, b.ids, b.len, b.reason, &made, err);
    if (!code)
        code = answer(app, req, made, 201, reply, err);
    body_clear(&b);
    return code;
}

/* POST /api/v1/groups/{id}/merge   {"groups": [...], "reason"?} */
PFC_HANDLER(groups_merge)
{
    static const char *const known[] = { "groups", "reason", NULL };
    group_body b = { 0 };
    int64_t id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = allow_groups(app, req, &id, 1, err);
    if (!code)
        code = pfc_decode_object(req, known, &b.json, err);
    if (!code)
        code = decode_ids(b.json, "groups", PFC_GROUPS_MAX, &b, err);
    if (!code)
        code = allow_groups(app, req, b.ids, b.len, err);
    if (!code)
        code = pfc_json_string(b.json, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &b.reason, err);
    if (!code)
        code = pfc_groups_merge(app->db, req->auth.actor, id, b.ids, b.len, b.reason, err);
    if (!code)
        code = answer(app, req, id, 200, reply, err);
    body_clear(&b);
    return code;
}

/* POST /api/v1/groups/{id}/issue */
PFC_HANDLER(groups_issue)
{
    int64_t id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = allow_groups(app, req, &id, 1, err);
    if (!code)
        code = pfc_group_issue_ask(app->db, req->auth.actor, id, err);
    return code ? code : answer(app, req, id, 202, reply, err);
}
