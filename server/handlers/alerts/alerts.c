/* Alerts: the list, one with its history and range, triage. */
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/alerts/effects.h"
#include "server/services/alerts/kinds.h"

/* Alerts that may have one cause; null until the detector has grouped this one. */
static json_t *encode_group(const pfc_alert *a)
{
    if (!a->group_id)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:o}", "id", (json_int_t)a->group_id, "series",
                     (json_int_t)a->group_series, "measured", (json_int_t)a->group_measured,
                     "summary", pfc_reply_string(a->group_summary));
}

/* The commit that is named as the culprit, else the one at which a step most likely lies. A drift lies in a
 * range, and a change of toolchain or harness is no commit's. */
static json_t *encode_suspect(const pfc_alert *a)
{
    const bool single = pfc_streq(a->kind, "step") || pfc_streq(a->kind, "broken");
    const char *commit = a->culprit ? a->culprit : single ? a->commit : NULL;

    if (!commit)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:b}", "commit", commit, "subject",
                     pfc_reply_string(a->suspect_subject), "author",
                     pfc_reply_string(a->suspect_author), "named", a->culprit != NULL);
}

static json_t *encode_reference(const pfc_alert *a)
{
    if (!a->reference_tag)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "tag", pfc_reply_string(a->reference_tag),
                     "commit", pfc_reply_string(a->reference_commit), "rel_change",
                     pfc_reply_number(a->reference_rel), "rel_low",
                     pfc_reply_number(a->reference_low), "rel_high",
                     pfc_reply_number(a->reference_high));
}

json_t *pfc_encode_drift(const pfc_alert *a)
{
    pfc_slope slope;

    if (!pfc_alert_is_drift(a))
        return json_null();
    pfc_drift_slope(a, &slope);
    return json_pack(
        "{s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "first", pfc_reply_string(a->commit_low),
        "last", pfc_reply_string(a->commit_high), "commits", (json_int_t)a->drift_commits, "weeks",
        pfc_reply_number(a->drift_weeks), "rel_per_week", pfc_reply_number(slope.per_week),
        "rel_per_week_low", pfc_reply_number(slope.per_week_low), "rel_per_week_high",
        pfc_reply_number(slope.per_week_high), "rel_per_commit", pfc_reply_number(slope.per_commit),
        "reference", encode_reference(a));
}

json_t *pfc_encode_title(const pfc_alert *a)
{
    char *title = pfc_alert_title(a);
    json_t *json = pfc_reply_string(title);

    free(title);
    return json;
}

static json_t *encode_alert(const pfc_alert *a)
{
    json_t *json = json_pack(
        "{s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", (json_int_t)a->id, "project",
        pfc_reply_string(a->project), "series_id", (json_int_t)a->series_id, "benchmark",
        pfc_reply_string(a->benchmark), "metric", pfc_reply_string(a->metric), "backend",
        pfc_reply_string(a->backend), "machine_class", pfc_reply_string(a->machine_class), "branch",
        pfc_reply_string(a->branch), "unit", pfc_reply_string(a->unit), "state",
        pfc_reply_string(a->state));

    json_object_set_new(json, "direction", pfc_encode_change(a->regression));
    json_object_set_new(json, "better", pfc_encode_direction(a->higher_is_better));
    json_object_set_new(json, "before", pfc_reply_number(a->before));
    json_object_set_new(json, "after", pfc_reply_number(a->after));
    json_object_set_new(json, "rel_change", pfc_reply_number(a->rel_change));
    json_object_set_new(json, "rel_low", pfc_reply_number(a->rel_low));
    json_object_set_new(json, "rel_high", pfc_reply_number(a->rel_high));
    json_object_set_new(json, "p", pfc_reply_number(a->p));
    /* A drift has no single commit that changed the level. */
    json_object_set_new(json, "commit", pfc_reply_string(pfc_alert_is_drift(a) ? NULL : a->commit));
    json_object_set_new(json, "commit_low", pfc_reply_string(a->commit_low));
    json_object_set_new(json, "commit_high", pfc_reply_string(a->commit_high));
    json_object_set_new(json, "culprit", pfc_reply_string(a->culprit));
    json_object_set_new(json, "created_at", pfc_encode_time(a->created_at));
    json_object_set_new(json, "updated_at", pfc_encode_time(a->updated_at));
    json_object_set_new(json, "note", pfc_reply_string(a->note));
    json_object_set_new(json, "repro", json_sprintf("perfci repro alert:%lld", (long long)a->id));
    json_object_set_new(json, "accepted", json_boolean(a->accepted));
    json_object_set_new(json, "undone_by", pfc_reply_string(a->undone_commit));
    json_object_set_new(json, "group", encode_group(a));
    json_object_set_new(json, "kind", pfc_reply_string(a->kind));
    json_object_set_new(json, "reason", pfc_reply_string(a->reason));
    json_object_set_new(json, "title", pfc_encode_title(a));
    json_object_set_new(json, "drift", pfc_encode_drift(a));
    json_object_set_new(json, "boundary",
                        a->boundary_json ? pfc_encode_json_text(a->boundary_json) : json_null());
    json_object_set_new(json, "evidence", pfc_reply_string(a->evidence));
    json_object_set_new(json, "two_speeds", pfc_encode_json_text(a->two_speeds_json));
    json_object_set_new(json, "blocks", pfc_encode_json_text(a->blocks_json));
    json_object_set_new(json, "worth", pfc_reply_number(a->worth));
    json_object_set_new(json, "event_id", pfc_encode_id(a->event_id));
    json_object_set_new(json, "suspect", encode_suspect(a));
    return json;
}

/* "new" (or nothing) is newest first; by worth there is one page, the top of the list. */
static pfc_code read_order(const pfc_req *req, pfc_page page, bool *by_worth, pfc_err *err)
{
    const char *sort = NULL;
    pfc_code code = pfc_req_query(req, "sort", 16, &sort, err);

    *by_worth = pfc_streq(sort, "worth");
    if (!code && *by_worth && page.cursor)
        return pfc_err_set_field(err, PFC_EINVAL, "cursor",
                                 "query: a list by worth has one page; ask for a larger limit");
    return code;
}

/* GET /api/v1/alerts */
PFC_HANDLER(alerts_list)
{
    pfc_alert_filter filter = { 0 };
    pfc_alerts rows = { 0 };
    bool by_worth = false, grouped = false;
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = read_order(req, page, &by_worth, err);
    if (!code)
        code = pfc_req_query(req, "state", 32, &filter.state, err);
    if (!code)
        code = pfc_req_query_i64(req, "series", 1, INT64_MAX, &filter.series_id, err);
    if (!code)
        code = pfc_req_query_i64(req, "event", 1, INT64_MAX, &filter.event_id, err);
    if (!code)
        code = pfc_req_query_i64(req, "group", 1, INT64_MAX, &filter.group_id, err);
    if (!code)
        code = pfc_req_query_bool(req, "grouped", &grouped, err);
    if (!code && (grouped || by_worth) && filter.group_id)
        code = pfc_err_set_field(err, PFC_EINVAL, "group",
                                 "query: the alerts of one group have neither groups nor an order");
    if (!code)
        code = pfc_query_project(app, req, &filter.project_id, err);
    if (!code && grouped)
        code = pfc_alert_leaders(app->db, &filter, by_worth, page, &rows, err);
    else if (!code)
        code = by_worth ? pfc_alerts_by_worth(app->db, &filter, page.limit, &rows, err)
                        : pfc_alerts_list(app->db, &filter, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++)
        json_array_append_new(items, encode_alert(&rows.items[i]));
    code = pfc_reply_json(reply, 200, pfc_encode_list("alerts", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code load(pfc_app *app, const pfc_req *req, int64_t *id, pfc_alerts *out, pfc_err *err)
{
    pfc_alerts row = { 0 };
    pfc_code code;

    code = pfc_req_param_id(req, "id", id, err);
    if (!code)
        code = pfc_alerts_get(app->db, *id, &row, err);
    if (!code)
        code = pfc_req_allow_project(req, row.items[0].project_id, err);
    if (code) {
        pfc_rows_clear(&row);
        return code;
    }
    *out = row;
    return PFC_OK;
}

static json_t *encode_history(const pfc_req *req, const pfc_alert_events *events)
{
    json_t *list = json_array();

    for (size_t i = 0; i < events->len; i++) {
        const pfc_alert_event *e = &events->items[i];

        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "at", pfc_encode_time(e->at), "actor",
                            pfc_encode_actor(req, e->actor), "from", pfc_reply_string(e->state_from),
                            "to", pfc_reply_string(e->state_to), "reason", pfc_reply_string(e->reason)));
    }
    return list;
}

static json_t *encode_range(const pfc_alert_commits *commits)
{
    json_t *list = json_array();

    for (size_t i = 0; i < commits->len; i++) {
        const pfc_alert_commit *c = &commits->items[i];

        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "id", pfc_reply_string(c->sha),
                      "position", pfc_encode_id(c->position), "author", pfc_reply_string(c->author),
                      "time", pfc_encode_time(c->time), "subject", pfc_reply_string(c->subject),
                      "paths", pfc_encode_json_text(c->paths_json ? c->paths_json : "[]"),
                      "measured", c->measured));
    }
    return list;
}

/* The alerts of its group, each as in the list, without what the group has in common; itself alone without one. */
static pfc_code encode_members(pfc_app *app, const pfc_alert *a, json_t **out, pfc_err *err)
{
    const pfc_alert_filter filter = { .project_id = a->project_id, .group_id = a->group_id };
    pfc_alerts rows = { 0 };
    json_t *list = json_array();
    pfc_code code = PFC_OK;

    if (a->group_id)
        code = pfc_alerts_list(app->db, &filter, (pfc_page){ .limit = PFC_LIST_MAX }, &rows, err);
    for (size_t i = 0; i < rows.len + (a->group_id ? 0 : 1); i++) {
        const pfc_alert *m = a->group_id ? &rows.items[i] : a;

        json_array_append_new(
            list, json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
                            (json_int_t)m->id, "series_id", (json_int_t)m->series_id, "benchmark",
                            pfc_reply_string(m->benchmark), "metric", pfc_reply_string(m->metric),
                            "backend", pfc_reply_string(m->backend), "machine_class",
                            pfc_reply_string(m->machine_class), "rel_change",
                            pfc_reply_number(m->rel_change), "rel_low",
                            pfc_reply_number(m->rel_low), "rel_high", pfc_reply_number(m->rel_high),
                            "state", pfc_reply_string(m->state)));
    }
    pfc_rows_clear(&rows);
    *out = list;
    return code;
}

static json_t *encode_witnesses(const pfc_witnesses *witnesses)
{
    json_t *list = json_array();

    for (size_t i = 0; i < witnesses->len; i++) {
        const pfc_witness *w = &witnesses->items[i];

        json_array_append_new(
            list, json_pack("{s:I, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "series_id",
                            (json_int_t)w->series_id, "metric", pfc_reply_string(w->metric),
                            "backend", pfc_reply_string(w->backend), "machine_class",
                            pfc_reply_string(w->machine_class), "unit", pfc_reply_string(w->unit),
                            "exact", w->exact, "rel_change", pfc_reply_number(w->rel_change),
                            "moved", pfc_reply_string(w->moved)));
    }
    return list;
}

pfc_code pfc_encode_effects(pfc_app *app, int64_t project_id, int64_t alert_id, json_t *json,
                            pfc_err *err)
{
    pfc_effects effects = { 0 };
    json_t *list = json_array();
    char *differ;
    pfc_code code = pfc_alert_effects(app->db, project_id, alert_id, &effects, err);

    for (size_t i = 0; !code && i < effects.len; i++) {
        const pfc_effect *e = &effects.items[i];

        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "source", e->source,
                                        "bisection_id", pfc_encode_id(e->bisection_id), "commit",
                                        pfc_reply_string(e->commit), "rel_change",
                                        pfc_reply_number(e->rel_change), "rel_low",
                                        pfc_reply_number(e->rel_low), "rel_high",
                                        pfc_reply_number(e->rel_high), "n", (json_int_t)e->n));
    }
    differ = pfc_effects_differ(effects.items, effects.len);
    json_object_set_new(json, "effects", list);
    json_object_set_new(json, "effects_differ", pfc_reply_string(differ));
    free(differ);
    pfc_rows_clear(&effects);
    return code;
}

/* GET /api/v1/alerts/{id} */
PFC_HANDLER(alerts_get)
{
    pfc_witnesses witnesses = { 0 };
    pfc_alerts row = { 0 };
    pfc_alert_events events = { 0 };
    pfc_alert_commits commits = { 0 };
    int64_t id = 0;
    json_t *json, *members = NULL;
    pfc_code code;

    code = load(app, req, &id, &row, err);
    if (!code)
        code = encode_members(app, &row.items[0], &members, err);
    if (!code)
        code = pfc_alert_events_list(app->db, id, &events, err);
    if (!code)
        code = pfc_alert_commits_list(app->db, id, &commits, err);
    if (!code)
        code = pfc_alert_witnesses(app->db, row.items[0].project_id, id, &witnesses, err);
    if (!code) {
        json = encode_alert(&row.items[0]);
        json_object_set_new(json, "witnesses", encode_witnesses(&witnesses));
        json_object_set_new(json, "history", encode_history(req, &events));
        json_object_set_new(json, "range", encode_range(&commits));
        json_object_set(json, "members", members);
        code = pfc_encode_effects(app, row.items[0].project_id, id, json, err);
        if (code)
            json_decref(json);
        else
            code = pfc_reply_json(reply, 200, json, err);
    }
    json_decref(members);
    pfc_rows_clear(&witnesses);
    pfc_rows_clear(&commits);
    pfc_rows_clear(&events);
    pfc_rows_clear(&row);
    return code;
}

/* Accepting a level says wont_fix by itself. */
static pfc_code decode_accept(const json_t *body, char **state, bool *accept, pfc_err *err)
{
    pfc_code code = pfc_json_bool(body, NULL, "accept", false, accept, err);

    if (!code && *accept && !*state)
        *state = pfc_strdup("wont_fix");
    return code;
}

/* PATCH /api/v1/alerts/{id}   {"state"?, "reason"?, "note"?, "culprit"?, "accept"?} */
PFC_HANDLER(alerts_patch)
{
    static const char *const known[] = { "state", "reason", "note", "culprit", "accept", NULL };
    pfc_alert_change change = { 0 };
    pfc_alerts before = { 0 }, after = { 0 };
    char *state = NULL, *reason = NULL, *note = NULL, *culprit = NULL;
    json_t *body = NULL;
    int64_t id = 0;
    bool accept = false;
    pfc_code code;

    code = load(app, req, &id, &before, err);
    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "state", false, 32, &state, err);
    if (!code)
        code = pfc_json_string(body, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &reason, err);
    if (!code)
        code = pfc_json_string(body, NULL, "note", false, PFC_WIRE_MAX_TEXT, &note, err);
    if (!code)
        code = pfc_json_string(body, NULL, "culprit", false, 64, &culprit, err);
    if (!code)
        code = decode_accept(body, &state, &accept, err);
    if (code)
        goto done;
    if (state && !pfc_alert_state_known(state)) {
        code = pfc_json_fault(NULL, "state", err, "unknown state \"%.32s\"", state);
        goto done;
    }
    if (culprit && *culprit && !pfc_is_commit_id(culprit)) {
        code =
            pfc_json_fault(NULL, "culprit", err, "expected a commit id of 40 hexadecimal digits");
        goto done;
    }
    change = (pfc_alert_change){
        .state = state, .reason = reason, .note = note, .culprit = culprit, .accept = accept
    };
    code = pfc_alert_update(app->db, req->auth.actor, id, &change, &after, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_alert(&after.items[0]), err);

done:
    pfc_rows_clear(&after);
    pfc_rows_clear(&before);
    free(state);
    free(reason);
    free(note);
    free(culprit);
    json_decref(body);
    return code;
}
