/* Runners: listed, drained, revoked, released; and what they report of themselves. */
#include "server/services/queue/fleet.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/parse.h"
#include "server/handlers/handlers.h"

#define MAX_COUNT INT64_C(1000000000000000) /* bytes and documents that a runner can state */
#define MAX_AGE_S 1e10

static const pfc_field runner_fields[] = {
    PFC_FIELD(pfc_runner, name),
    PFC_FIELD(pfc_runner, project),
    PFC_FIELD(pfc_runner, machine_class),
    PFC_FIELD(pfc_runner, state),
    PFC_FIELD_AS(pfc_runner, "last_seen_at", last_seen_at, TIME),
    PFC_FIELD_AS(pfc_runner, "job_id", job_id, ID),
    PFC_FIELD_AS(pfc_runner, "labels", labels_json, OBJECT),
    PFC_FIELD_AS(pfc_runner, "backends", backends_json, ARRAY),
    PFC_FIELD(pfc_runner, version),
    PFC_FIELD(pfc_runner, sandbox),
    PFC_FIELD(pfc_runner, results),
    PFC_FIELD(pfc_runner, alarm),
    PFC_FIELD_AS(pfc_runner, "drained_at", drained_at, TIME),
    PFC_FIELD(pfc_runner, drained_by),
    PFC_FIELD_AS(pfc_runner, "revoked_at", revoked_at, TIME),
    PFC_FIELD(pfc_runner, revoked_by),
    PFC_FIELD_AS(pfc_runner, "quarantine", quarantine_json, JSON),
};

static json_t *encode_runner(const void *row, const void *context)
{
    const pfc_runner *r = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(runner_fields), r);
    json_t *spool = json_null();

    (void)context;
    if (isfinite(r->status_at) && r->status_at > 0)
        spool =
            json_pack("{s:I, s:o, s:I, s:o}", "documents", (json_int_t)r->documents, "oldest_s",
                      isfinite(r->oldest_s) ? json_integer((json_int_t)r->oldest_s) : json_null(),
                      "disk_free_bytes", (json_int_t)r->disk_free_bytes, "reported_at",
                      pfc_encode_time(r->status_at));
    json_object_set_new(json, "spool", spool);
    return json;
}

/* GET /api/v1/runners */
PFC_HANDLER(runners_list)
{
    pfc_runners rows = { 0 };
    int64_t project_id = 0;
    pfc_code code = pfc_query_project(app, req, &project_id, err);

    if (!code)
        code = pfc_runners_list(app->db, project_id, &rows, err);
    if (!code)
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:o}", "runners",
                                        pfc_encode_rows(PFC_ROW_VIEW(&rows), encode_runner, NULL)),
                              err);
    pfc_rows_clear(&rows);
    return code;
}

/* ---- operations ---- */

/* "runner" and "project"; without a project that of the token, 0: any. */
static pfc_code decode_runner(pfc_app *app, const pfc_req *req, const json_t *body, char **runner,
                              int64_t *project_id, pfc_err *err)
{
    char *project = NULL;
    pfc_code code = pfc_json_string(body, NULL, "runner", true, PFC_WIRE_MAX_NAME, runner, err);

    *project_id = req->auth.project_id;
    if (!code)
        code = pfc_json_string(body, NULL, "project", false, 64, &project, err);
    if (!code && project)
        code = pfc_decode_project(app, req, project, "project", project_id, err);
    free(project);
    return code;
}

static pfc_code drain(pfc_app *app, const pfc_req *req, pfc_reply *reply, bool on, pfc_err *err)
{
    static const char *const known[] = { "runner", "project", NULL };
    json_t *body = NULL;
    char *runner = NULL;
    int64_t project_id = 0;
    bool changed = false;
    pfc_code code = pfc_decode_object(req, known, &body, err);

    if (!code)
        code = decode_runner(app, req, body, &runner, &project_id, err);
    if (!code)
        code = pfc_runner_drain(app->db, req->auth.actor, project_id, runner, on, &changed, err);
    if (!code)
        code = pfc_reply_json(
            reply, 200,
            json_pack("{s:s, s:b, s:b}", "runner", runner, "drained", on, "changed", changed), err);
    free(runner);
    json_decref(body);
    return code;
}

/* POST /api/v1/runners/drain   {"runner", "project"?} */
PFC_HANDLER(runners_drain)
{
    return drain(app, req, reply, true, err);
}

/* POST /api/v1/runners/undrain   {"runner", "project"?} */
PFC_HANDLER(runners_undrain)
{
    return drain(app, req, reply, false, err);
}

static json_t *encode_revoked(const char *runner, const pfc_revoked *r, bool dry_run)
{
    json_t *tokens = json_array();

    for (size_t i = 0; i < r->tokens.len; i++)
        json_array_append_new(
            tokens, json_pack("{s:I, s:o, s:o}", "id", (json_int_t)r->tokens.items[i].id, "name",
                              pfc_reply_string(r->tokens.items[i].name), "other_runners",
                              pfc_reply_string(r->tokens.items[i].others)));
    return json_pack("{s:s, s:b, s:o, s:I, s:o, s:{s:I, s:I, s:I, s:I}}", "runner", runner,
                     "dry_run", dry_run, "tokens", tokens, "jobs_returned", (json_int_t)r->leases,
                     "quarantine",
                     r->quarantine ? json_integer((json_int_t)r->quarantine) : json_null(),
                     "hidden", "runs", (json_int_t)r->runs, "results", (json_int_t)r->results,
                     "series", (json_int_t)r->series, "commits", (json_int_t)r->commits);
}

/* POST /api/v1/runners/revoke
 * {"runner", "project"?, "quarantine_since"?, "reason"?, "dry_run"?} */
PFC_HANDLER(runners_revoke)
{
    static const char *const known[] = { "runner", "project", "quarantine_since",
                                         "reason", "dry_run", NULL };
    pfc_revocation how = { .own_token = req->auth.token_id };
    pfc_revoked out = { 0 };
    json_t *body = NULL;
    char *runner = NULL, *since = NULL, *reason = NULL;
    int64_t project_id = 0;
    pfc_code code = pfc_decode_object(req, known, &body, err);

    if (!code)
        code = decode_runner(app, req, body, &runner, &project_id, err);
    if (!code)
        code = pfc_json_string(body, NULL, "quarantine_since", false, 40, &since, err);
    if (!code)
        code = pfc_json_string(body, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &reason, err);
    if (!code)
        code = pfc_json_bool(body, NULL, "dry_run", false, &how.dry_run, err);
    if (!code && since && pfc_parse_rfc3339(since, "quarantine_since", &how.since, err))
        code = pfc_json_fault(NULL, "quarantine_since", err,
                              "expected an RFC 3339 time, got \"%.40s\"", since);
    how.reason = reason;
    if (!code)
        code = pfc_runner_revoke(app->db, req->auth.actor, project_id, runner, &how, &out, err);
    if (!code && app->cache && !how.dry_run)
        pfc_cache_forget(app->cache);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_revoked(runner, &out, how.dry_run), err);
    pfc_revoked_clear(&out);
    free(runner);
    free(since);
    free(reason);
    json_decref(body);
    return code;
}

/* POST /api/v1/runners/release   {"runner", "project"?} */
PFC_HANDLER(runners_release)
{
    static const char *const known[] = { "runner", "project", NULL };
    json_t *body = NULL;
    char *runner = NULL;
    int64_t runs = 0, project_id = 0;
    pfc_code code = pfc_decode_object(req, known, &body, err);

    if (!code)
        code = decode_runner(app, req, body, &runner, &project_id, err);
    if (!code)
        code = pfc_runner_release(app->db, req->auth.actor, project_id, runner, &runs, err);
    if (!code)
        code = pfc_reply_json(
            reply, 200, json_pack("{s:s, s:I}", "runner", runner, "runs", (json_int_t)runs), err);
    free(runner);
    json_decref(body);
    return code;
}

/* ---- reports ---- */

static pfc_code decode_spool(const json_t *obj, const pfc_json_at *up, pfc_runner_status *s,
                             pfc_err *err)
{
    static const char *const known[] = { "documents", "max_documents",   "bytes", "max_bytes",
                                         "oldest_s",  "disk_free_bytes", NULL };
    const pfc_json_at at = { .up = up, .key = "spool" };
    const struct {
        const char *key;
        int64_t *out;
    } counts[] = { { "documents", &s->documents },
                   { "max_documents", &s->max_documents },
                   { "bytes", &s->bytes },
                   { "max_bytes", &s->max_bytes },
                   { "disk_free_bytes", &s->disk_free_bytes } };
    json_t *spool = NULL;
    pfc_code code = pfc_json_object(obj, up, "spool", true, &spool, err);

    if (!code)
        code = pfc_json_known(spool, &at, known, err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(counts) && !code; i++)
        code = pfc_json_i64(spool, &at, counts[i].key, true, 0, MAX_COUNT, counts[i].out, err);
    return code ? code
                : pfc_json_double(spool, &at, "oldest_s", true, 0, MAX_AGE_S, &s->oldest_s, err);
}

pfc_code pfc_decode_runner_status(const json_t *body, pfc_runner_body *out, pfc_err *err)
{
    static const char *const known[] = { "version", "sandbox", "spool", NULL };
    const pfc_json_at at = { .key = "status" };
    json_t *obj = NULL;
    pfc_code code = pfc_json_object(body, NULL, "status", false, &obj, err);

    if (code || !obj)
        return code;
    code = pfc_json_known(obj, &at, known, err);
    if (!code)
        code = pfc_json_string(obj, &at, "version", true, PFC_WIRE_MAX_NAME, &out->version, err);
    if (!code)
        code = pfc_json_string(obj, &at, "sandbox", false, PFC_WIRE_MAX_TEXT, &out->sandbox, err);
    if (!code)
        code = decode_spool(obj, &at, &out->status, err);
    out->given = !code;
    out->status.version = out->version;
    out->status.sandbox = out->sandbox;
    return code;
}

void pfc_store_runner_status(pfc_app *app, int64_t project_id, const char *runner,
                             const pfc_runner_body *body)
{
    pfc_err err = { 0 };

    if (body->given && runner &&
        pfc_runner_report(app->db, project_id, runner, &body->status, &err) != PFC_OK)
        pfc_log(PFC_WARN, "runner_report_not_stored", "runner", runner, "why", err.msg);
}

void pfc_runner_body_clear(pfc_runner_body *body)
{
    free(body->version);
    free(body->sandbox);
    *body = (pfc_runner_body){ 0 };
}
