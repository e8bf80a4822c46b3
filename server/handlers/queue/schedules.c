/* Schedules of a project: listed, stored, changed, removed, run; and their nights. */
#include "server/services/queue/schedules.h"

#include <stdlib.h>
#include <string.h>

#include "server/handlers/handlers.h"
#include "server/services/queue/queue.h"

static const pfc_field schedule_fields[] = {
    PFC_FIELD(pfc_schedule, name),
    PFC_FIELD(pfc_schedule, cron),
    PFC_FIELD(pfc_schedule, zone),
    PFC_FIELD(pfc_schedule, branch),
    PFC_FIELD(pfc_schedule, suite),
    PFC_FIELD_AS(pfc_schedule, "backends", backends_json, ARRAY),
    PFC_FIELD_AS(pfc_schedule, "labels", labels_json, OBJECT),
    PFC_FIELD(pfc_schedule, max_commits),
    PFC_FIELD(pfc_schedule, budget_s),
    PFC_FIELD(pfc_schedule, enabled),
    PFC_FIELD_AS(pfc_schedule, "next_at", next_at, TIME),
    PFC_FIELD_AS(pfc_schedule, "last_at", last_at, TIME),
    PFC_FIELD(pfc_schedule, trouble),
    PFC_FIELD_AS(pfc_schedule, "created_at", created_at, TIME),
};

static json_t *encode_schedule(const void *row, const void *context)
{
    const pfc_schedule *s = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(schedule_fields), s);

    (void)context;
    json_object_set_new(json, "night",
                        s->night_id ? json_pack("{s:I, s:s, s:s}", "id", (json_int_t)s->night_id,
                                                "state", s->night_state, "reason", s->night_reason)
                                    : json_null());
    return json;
}

static const pfc_field night_fields[] = {
    PFC_FIELD(pfc_scheduled_night, id),
    PFC_FIELD(pfc_scheduled_night, schedule),
    PFC_FIELD(pfc_scheduled_night, state),
    PFC_FIELD(pfc_scheduled_night, reason),
    PFC_FIELD_AS(pfc_scheduled_night, "job_id", job_id, ID),
    PFC_FIELD(pfc_scheduled_night, head),
    PFC_FIELD(pfc_scheduled_night, base),
    PFC_FIELD(pfc_scheduled_night, commits),
    PFC_FIELD(pfc_scheduled_night, left_out),
    PFC_FIELD_AS(pfc_scheduled_night, "due_at", due_at, TIME),
    PFC_FIELD_AS(pfc_scheduled_night, "started_at", started_at, TIME),
    PFC_FIELD_AS(pfc_scheduled_night, "finished_at", finished_at, TIME),
};

static json_t *encode_night(const void *row, const void *req)
{
    const pfc_scheduled_night *n = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(night_fields), n);

    json_object_set_new(json, "actor", pfc_encode_actor(req, n->actor));
    return json;
}

/* GET /api/v1/projects/{p}/schedules */
PFC_HANDLER(schedules_list)
{
    pfc_schedules rows = { 0 };
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_schedules_all(app->db, project, &rows, err);
    if (!code)
        code =
            pfc_reply_json(reply, 200,
                           json_pack("{s:o}", "schedules",
                                     pfc_encode_rows(PFC_ROW_VIEW(&rows), encode_schedule, NULL)),
                           err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code answer(pfc_app *app, int64_t project, const char *name, int status,
                       pfc_reply *reply, pfc_err *err)
{
    pfc_schedules rows = { 0 };
    pfc_code code = pfc_schedule_get(app->db, project, name, &rows, err);

    if (!code)
        code = pfc_reply_json(reply, status, encode_schedule(rows.items, NULL), err);
    pfc_rows_clear(&rows);
    return code;
}

/* ---- storing ---- */

/* The texts of a request and of the schedule that it changes. */
typedef struct schedule_body {
    json_t *json;
    char *name, *cron, *zone, *branch, *suite;
    pfc_labels labels;
    pfc_texts backends;
    pfc_schedules old; /* behind the spec's members that the request leaves out */
    pfc_schedule_spec spec;
} schedule_body;

static void clear_body(schedule_body *b)
{
    json_decref(b->json);
    free(b->name);
    free(b->cron);
    free(b->zone);
    free(b->branch);
    free(b->suite);
    pfc_labels_clear(&b->labels);
    pfc_texts_clear(&b->backends);
    pfc_rows_clear(&b->old);
}

/* A member that is null returns to the default. */
static bool is_given(const json_t *json, const char *key)
{
    return json_object_get(json, key) != NULL;
}

/* The members that both routes take, over those of b->spec. */
static pfc_code decode_settings(schedule_body *b, bool required, pfc_err *err)
{
    static const pfc_texts_limits limits = { PFC_JOB_MAX_BACKENDS, PFC_WIRE_MAX_NAME };
    pfc_schedule_spec *s = &b->spec;
    pfc_code code =
        pfc_json_string(b->json, NULL, "cron", required, PFC_CRON_MAX_BYTES, &b->cron, err);

    if (!code)
        code = pfc_json_string(b->json, NULL, "zone", false, PFC_ZONE_MAX_BYTES, &b->zone, err);
    if (!code)
        code = pfc_json_name(b->json, NULL, "branch", false, PFC_WIRE_MAX_NAME, &b->branch, err);
    if (!code)
        code = pfc_json_name(b->json, NULL, "suite", false, PFC_WIRE_MAX_NAME, &b->suite, err);
    if (!code)
        code = pfc_decode_texts(b->json, "backends", false, &limits, &b->backends, err);
    if (!code)
        code = pfc_decode_labels(b->json, "labels", &b->labels, err);
    if (!code)
        code = pfc_json_i64(b->json, NULL, "max_commits", false, 1, PFC_JOB_MAX_COMMITS,
                            &s->max_commits, err);
    if (!code)
        code = pfc_json_double(b->json, NULL, "budget_s", false, 1, PFC_JOB_MAX_BUDGET_S,
                               &s->budget_s, err);
    if (!code)
        code = pfc_json_bool(b->json, NULL, "enabled", false, &s->enabled, err);
    s->cron = b->cron ? b->cron : s->cron;
    s->zone = is_given(b->json, "zone") ? b->zone : s->zone;
    s->branch = is_given(b->json, "branch") ? b->branch : s->branch;
    s->suite = is_given(b->json, "suite") ? b->suite : s->suite;
    s->backends = (const char *const *)b->backends.items;
    s->backends_len = b->backends.len;
    s->labels = &b->labels;
    return code;
}

/* POST /api/v1/projects/{p}/schedules   {"name", "cron", "zone"?, "branch"?, "suite"?, "backends"?,
 * "labels"?, "max_commits"?, "budget_s"?, "enabled"?} */
PFC_HANDLER(schedules_post)
{
    static const char *const known[] = { "name",     "cron",     "zone",   "branch",
                                         "suite",    "backends", "labels", "max_commits",
                                         "budget_s", "enabled",  NULL };
    schedule_body b = { .spec.enabled = true };
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &b.json, err);
    if (!code)
        code = pfc_json_string(b.json, NULL, "name", true, 63, &b.name, err);
    if (!code)
        code = decode_settings(&b, true, err);
    b.spec.name = b.name;
    if (!code)
        code = pfc_schedule_add(app->db, req->auth.actor, project, &b.spec, err);
    if (!code)
        code = answer(app, project, b.name, 201, reply, err);
    clear_body(&b);
    return code;
}

/* The stored settings, which the request then changes. */
static pfc_code take_old(pfc_app *app, int64_t project, const char *name, schedule_body *b,
                         pfc_err *err)
{
    pfc_code code = pfc_schedule_get(app->db, project, name, &b->old, err);
    const pfc_schedule *old = code ? NULL : &b->old.items[0];
    json_t *backends;

    if (code)
        return code;
    b->spec = (pfc_schedule_spec){ .name = name,
                                   .cron = old->cron,
                                   .zone = old->zone,
                                   .branch = old->own_branch,
                                   .suite = old->suite,
                                   .max_commits = old->max_commits,
                                   .budget_s = old->budget_s,
                                   .enabled = old->enabled };
    if (!is_given(b->json, "labels"))
        code = pfc_labels_parse(old->labels_json, &b->labels, err);
    if (!code && !is_given(b->json, "backends")) {
        backends = pfc_encode_json_text(old->backends_json);
        json_object_set_new(b->json, "backends", backends);
    }
    return code;
}

/* PATCH /api/v1/projects/{p}/schedules/{id}: members that are absent stay as they are. */
PFC_HANDLER(schedules_patch)
{
    static const char *const known[] = { "cron",   "zone",        "branch",   "suite",   "backends",
                                         "labels", "max_commits", "budget_s", "enabled", NULL };
    schedule_body b = { 0 };
    const char *name = pfc_req_param(req, "id");
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &b.json, err);
    if (!code)
        code = take_old(app, project, name, &b, err);
    if (!code)
        code = decode_settings(&b, false, err);
    if (!code)
        code = pfc_schedule_change(app->db, req->auth.actor, project, &b.spec, err);
    if (!code)
        code = answer(app, project, name, 200, reply, err);
    clear_body(&b);
    return code;
}

/* DELETE /api/v1/projects/{p}/schedules/{id} */
PFC_HANDLER(schedules_delete)
{
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code =
            pfc_schedule_remove(app->db, req->auth.actor, project, pfc_req_param(req, "id"), err);
    return code ? code : pfc_reply_empty(reply);
}

/* ---- nights ---- */

/* POST /api/v1/projects/{p}/schedules/{id}/run */
PFC_HANDLER(schedules_run)
{
    pfc_scheduled_nights rows = { 0 };
    const char *name = pfc_req_param(req, "id");
    int64_t project = 0, night = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_schedule_run(app->db, req->auth.actor, project, name, &night, err);
    if (!code)
        code = pfc_nights_list(app->db, project, name, night, (pfc_page){ 0 }, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "the schedule was removed meanwhile");
    if (!code)
        code = pfc_reply_json(reply, 201, encode_night(rows.items, req), err);
    pfc_rows_clear(&rows);
    return code;
}

/* GET /api/v1/projects/{p}/schedules/{id}/nights */
PFC_HANDLER(nights_list)
{
    pfc_scheduled_nights rows = { 0 };
    int64_t project = 0;
    pfc_page page = { 0 };
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_nights_list(app->db, project, pfc_req_param(req, "id"), 0, page, &rows, err);
    if (!code)
        code =
            pfc_reply_rows(reply, "nights", PFC_ROW_VIEW(&rows), encode_night, req, rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}
