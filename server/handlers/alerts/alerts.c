/* Alerts: the list, one with its history and range, triage. */
#include "server/services/alerts/alerts.h"

#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/alerts/effects.h"
#include "server/services/alerts/kinds.h"
#include "server/services/owners/owners.h"

/* The alerts that may share a cause; null until the detector has described their group. */
static json_t *encode_group(const pfc_alert *a)
{
    if (!a->group_id || !*a->group_summary)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:o}", "id", (json_int_t)a->group_id, "series",
                     (json_int_t)a->group_series, "measured", (json_int_t)a->group_measured,
                     "summary", pfc_reply_string(a->group_summary));
}

static json_t *encode_suspect(const pfc_alert *a)
{
    const char *commit = pfc_alert_suspect(a);

    if (!commit)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:b, s:o}", "commit", commit, "subject",
                     pfc_reply_string(a->suspect_subject), "author",
                     pfc_reply_string(a->suspect_author), "named", a->culprit != NULL,
                     "bisection_id",
                     pfc_encode_id(pfc_alert_suspect_was_found(a) ? a->found_by : 0));
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

/* The rule that hides the alert. */
static json_t *encode_suppression(const pfc_alert *a)
{
    if (!a->suppression_id)
        return json_null();
    return json_pack("{s:I, s:o, s:o, s:o}", "id", (json_int_t)a->suppression_id, "owner",
                     pfc_reply_string(a->suppression_owner), "reason",
                     pfc_reply_string(a->suppression_reason), "expires_at",
                     pfc_encode_time(a->suppression_until));
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

static const pfc_field alert_fields[] = {
    PFC_FIELD(pfc_alert, id),
    PFC_FIELD(pfc_alert, project),
    PFC_FIELD(pfc_alert, series_id),
    PFC_FIELDS_SERIES(pfc_alert),
    PFC_FIELD(pfc_alert, branch),
    PFC_FIELD(pfc_alert, unit),
    PFC_FIELD(pfc_alert, state),
    PFC_FIELD_AS(pfc_alert, "direction", regression, CHANGE),
    PFC_FIELD_AS(pfc_alert, "better", higher_is_better, DIRECTION),
    PFC_FIELD(pfc_alert, before),
    PFC_FIELD(pfc_alert, after),
    PFC_FIELDS_REL_CHANGE(pfc_alert),
    PFC_FIELD(pfc_alert, p),
    PFC_FIELD(pfc_alert, commit),
    PFC_FIELD(pfc_alert, commit_low),
    PFC_FIELD(pfc_alert, commit_high),
    PFC_FIELD(pfc_alert, culprit),
    PFC_FIELD_AS(pfc_alert, "created_at", created_at, TIME),
    PFC_FIELD_AS(pfc_alert, "updated_at", updated_at, TIME),
    PFC_FIELD(pfc_alert, note),
    PFC_FIELD(pfc_alert, accepted),
    PFC_FIELD_NAMED(pfc_alert, "undone_by", undone_commit),
    PFC_FIELD(pfc_alert, kind),
    PFC_FIELD(pfc_alert, reason),
    PFC_FIELD_AS(pfc_alert, "boundary", boundary_json, JSON),
    PFC_FIELD(pfc_alert, evidence),
    PFC_FIELD_AS(pfc_alert, "two_speeds", two_speeds_json, JSON),
    PFC_FIELD_AS(pfc_alert, "blocks", blocks_json, JSON),
    PFC_FIELD(pfc_alert, worth),
    PFC_FIELD(pfc_alert, reproducibility),
    PFC_FIELD(pfc_alert, hidden),
    PFC_FIELD_AS(pfc_alert, "event_id", event_id, ID),
};

json_t *pfc_encode_alert(const pfc_req *req, const pfc_alert *a)
{
    json_t *json = pfc_encode_fields(PFC_FIELDS(alert_fields), a);

    /* A drift has no single commit that changed the level. */
    if (pfc_alert_is_drift(a))
        json_object_set_new(json, "commit", json_null());
    json_object_set_new(json, "repro", json_sprintf("perfci repro alert:%lld", (long long)a->id));
    json_object_set_new(json, "group_id", pfc_encode_id(a->group_id));
    json_object_set_new(json, "group", encode_group(a));
    json_object_set_new(json, "title", pfc_encode_title(a));
    json_object_set_new(json, "drift", pfc_encode_drift(a));
    json_object_set_new(json, "suspect", encode_suspect(a));
    json_object_set_new(json, "owner", pfc_encode_owner(req, a->owner));
    json_object_set_new(json, "suppression", encode_suppression(a));
    return json;
}

static json_t *encode_alert(const void *row, const void *req)
{
    return pfc_encode_alert(req, row);
}

/* "new", the default, lists the newest first; "worth" lists one page, the alerts with the highest
 * worth. */
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

static pfc_code read_suppressed(const pfc_req *req, pfc_maybe *out, pfc_err *err)
{
    const char *text = NULL;
    pfc_code code = pfc_req_query(req, "suppressed", 8, &text, err);

    out->known = text != NULL;
    return code ? code : pfc_req_query_bool(req, "suppressed", &out->value, err);
}

static pfc_code list_alerts(pfc_app *app, const pfc_alert_filter *filter, pfc_page page,
                            bool by_worth, bool grouped, pfc_alerts *out, pfc_err *err)
{
    if (grouped)
        return pfc_alert_leaders(app->db, filter, by_worth, page, out, err);
    if (by_worth)
        return pfc_alerts_by_worth(app->db, filter, page.limit, out, err);
    return pfc_alerts_list(app->db, filter, page, out, err);
}

/* GET /api/v1/alerts */
PFC_HANDLER(alerts_list)
{
    pfc_alert_filter filter = { 0 };
    pfc_alerts rows = { 0 };
    bool by_worth = false, grouped = false;
    pfc_page page;
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
        code = pfc_req_query(req, "owner", PFC_OWNERS_MAX_NAME + 1, &filter.owner, err);
    if (!code)
        code = pfc_req_query_bool(req, "grouped", &grouped, err);
    if (!code)
        code = read_suppressed(req, &filter.suppressed, err);
    if (!code)
        code = pfc_req_query(req, "q", PFC_WIRE_MAX_NAME, &filter.words, err);
    if (!code && (grouped || by_worth) && filter.words)
        code = pfc_err_set_field(err, PFC_EINVAL, "q",
                                 "query: q: expected a list without grouped and sort=worth");
    if (!code && (grouped || by_worth) && filter.group_id)
        code = pfc_err_set_field(err, PFC_EINVAL, "group",
                                 "query: the alerts of one group have neither groups nor an order");
    if (!code)
        code = pfc_query_project(app, req, &filter.project_id, err);
    if (!code)
        code = list_alerts(app, &filter, page, by_worth, grouped, &rows, err);
    if (!code)
        code =
            pfc_reply_rows(reply, "alerts", PFC_ROW_VIEW(&rows), encode_alert, req, rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}

/* The alert of the path's {id}, when the token may use its project. Clear *out in every case. */
static pfc_code load(pfc_app *app, const pfc_req *req, int64_t *id, pfc_alerts *out, pfc_err *err)
{
    pfc_code code = pfc_req_param_id(req, "id", id, err);

    if (!code)
        code = pfc_alerts_get(app->db, *id, out, err);
    return code ? code : pfc_req_allow_project(req, out->items[0].project_id, "alert", err);
}

static json_t *encode_event(const void *row, const void *req)
{
    const pfc_alert_event *e = row;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "at", pfc_encode_time(e->at), "actor",
                     pfc_encode_actor(req, e->actor), "from", pfc_reply_string(e->state_from), "to",
                     pfc_reply_string(e->state_to), "reason", pfc_reply_string(e->reason),
                     "culprit", pfc_reply_string(e->culprit));
}

static const pfc_field range_fields[] = {
    PFC_FIELD_NAMED(pfc_alert_commit, "id", sha),
    PFC_FIELD_AS(pfc_alert_commit, "position", position, ID),
    PFC_FIELD(pfc_alert_commit, author),
    PFC_FIELD_AS(pfc_alert_commit, "time", time, TIME),
    PFC_FIELD(pfc_alert_commit, subject),
    PFC_FIELD_AS(pfc_alert_commit, "paths", paths, TEXTS),
    PFC_FIELD(pfc_alert_commit, measured),
};

static const pfc_field member_fields[] = {
    PFC_FIELD(pfc_alert, id),         PFC_FIELD(pfc_alert, series_id), PFC_FIELDS_SERIES(pfc_alert),
    PFC_FIELDS_REL_CHANGE(pfc_alert), PFC_FIELD(pfc_alert, state),
};

static const pfc_field witness_fields[] = {
    PFC_FIELD(pfc_witness, series_id),  PFC_FIELD(pfc_witness, metric),
    PFC_FIELD(pfc_witness, backend),    PFC_FIELD(pfc_witness, machine_class),
    PFC_FIELD(pfc_witness, unit),       PFC_FIELD(pfc_witness, exact),
    PFC_FIELD(pfc_witness, rel_change), PFC_FIELD(pfc_witness, moved),
};

static const pfc_field effect_fields[] = {
    PFC_FIELD(pfc_effect, source), PFC_FIELD_AS(pfc_effect, "bisection_id", bisection_id, ID),
    PFC_FIELD(pfc_effect, commit), PFC_FIELDS_REL_CHANGE(pfc_effect),
    PFC_FIELD(pfc_effect, n),
};

json_t *pfc_encode_members(pfc_row_view rows)
{
    return pfc_encode_table(rows, PFC_FIELDS(member_fields));
}

/* The alerts of its group, without the members that the group has in common; only the alert itself
 * when it is in no group. */
static pfc_code encode_members(pfc_app *app, const pfc_alert *a, json_t **out, pfc_err *err)
{
    const pfc_alert_filter filter = { .project_id = a->project_id, .group_id = a->group_id };
    const pfc_row_view alone = { a, 1, sizeof(*a) };
    pfc_alerts rows = { 0 };
    pfc_code code = PFC_OK;

    if (a->group_id)
        code = pfc_alerts_list(app->db, &filter, (pfc_page){ .limit = PFC_LIST_MAX }, &rows, err);
    if (!code)
        *out = pfc_encode_members(a->group_id ? PFC_ROW_VIEW(&rows) : alone);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_encode_effects(pfc_app *app, int64_t project_id, int64_t alert_id, json_t *json,
                            pfc_err *err)
{
    pfc_effects effects = { 0 };
    char *differ;
    pfc_code code = pfc_alert_effects(app->db, project_id, alert_id, &effects, err);

    if (!code) {
        differ = pfc_effects_differ(effects.items, effects.len);
        json_object_set_new(json, "effects",
                            pfc_encode_table(PFC_ROW_VIEW(&effects), PFC_FIELDS(effect_fields)));
        json_object_set_new(json, "effects_differ", pfc_reply_string(differ));
        free(differ);
    }
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
        json = pfc_encode_alert(req, &row.items[0]);
        json_object_set_new(json, "witnesses",
                            pfc_encode_table(PFC_ROW_VIEW(&witnesses), PFC_FIELDS(witness_fields)));
        json_object_set_new(json, "history",
                            pfc_encode_rows(PFC_ROW_VIEW(&events), encode_event, req));
        json_object_set_new(json, "range",
                            pfc_encode_table(PFC_ROW_VIEW(&commits), PFC_FIELDS(range_fields)));
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

/* Without a state, accepting a level sets wont_fix. */
static pfc_code decode_accept(const json_t *body, char **state, bool *accept, pfc_err *err)
{
    pfc_code code = pfc_json_bool(body, NULL, "accept", false, accept, err);

    if (!code && *accept && !*state)
        *state = pfc_strdup("wont_fix");
    return code;
}

/* PATCH /api/v1/alerts/{id}   {"state"?, "seen"?, "reason"?, "note"?, "culprit"?, "accept"?} */
PFC_HANDLER(alerts_patch)
{
    static const char *const known[] = { "state",   "seen",   "reason", "note",
                                         "culprit", "accept", NULL };
    pfc_alert_change change = { 0 };
    pfc_alerts before = { 0 }, after = { 0 };
    char *state = NULL, *seen = NULL, *reason = NULL, *note = NULL, *culprit = NULL;
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
        code = pfc_json_string(body, NULL, "seen", false, 32, &seen, err);
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
    if (seen && !pfc_alert_state_known(seen)) {
        code = pfc_json_fault(NULL, "seen", err, "unknown state \"%.32s\"", seen);
        goto done;
    }
    if (culprit && *culprit && !pfc_is_commit_id(culprit)) {
        code =
            pfc_json_fault(NULL, "culprit", err, "expected a commit id of 40 hexadecimal digits");
        goto done;
    }
    change = (pfc_alert_change){ .state = state,
                                 .seen = seen,
                                 .reason = reason,
                                 .note = note,
                                 .culprit = culprit,
                                 .accept = accept };
    code = pfc_alert_update(app->db, req->auth.actor, id, &change, &after, err);
    if (!code)
        code = pfc_reply_json(reply, 200, pfc_encode_alert(req, &after.items[0]), err);

done:
    pfc_rows_clear(&after);
    pfc_rows_clear(&before);
    free(state);
    free(seen);
    free(reason);
    free(note);
    free(culprit);
    json_decref(body);
    return code;
}
