/* Bisections on the runners: started, shown while they run, cancelled. */
#include <math.h>
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/bisect/bisect.h"
#include "server/services/queue/queue.h"

#define MAX_GLOBS    256
#define MAX_RUNS     100000
#define MAX_PARALLEL 8

/* The command that repeats the step or the search on another machine. */
static json_t *encode_repro(const char *kind, int64_t id, int64_t part)
{
    return part ? json_sprintf("perfci repro %s:%lld/%lld", kind, (long long)id, (long long)part)
                : json_sprintf("perfci repro %s:%lld", kind, (long long)id);
}

/* Every member is present, with null for a search that was not stopped. */
static void encode_stopped(const char *text, json_t *json)
{
    static const char *const keys[] = { "stopped",   "budget_runs",      "candidates",
                                        "likeliest", "probability_none", "expected_more_runs",
                                        "difference" };
    json_t *stopped = pfc_encode_json_text(text);

    for (size_t i = 0; i < PFC_ARRAY_LEN(keys); i++) {
        json_t *value = json_object_get(stopped, keys[i]);

        json_object_set_new(json, keys[i], value ? json_incref(value) : json_null());
    }
    json_decref(stopped);
}

static const pfc_field bisection_fields[] = {
    PFC_FIELD(pfc_bisection, id),
    PFC_FIELD(pfc_bisection, project),
    PFC_FIELD(pfc_bisection, metric),
    PFC_FIELD(pfc_bisection, benchmark),
    PFC_FIELD(pfc_bisection, backend),
    PFC_FIELD(pfc_bisection, good),
    PFC_FIELD(pfc_bisection, bad),
    PFC_FIELD(pfc_bisection, verdict),
    PFC_FIELD_AS(pfc_bisection, "culprits", culprits_json, ARRAY),
    PFC_FIELD(pfc_bisection, mode),
    PFC_FIELD(pfc_bisection, state),
    PFC_FIELD(pfc_bisection, reason),
    PFC_FIELD(pfc_bisection, branch),
    PFC_FIELD(pfc_bisection, machine_class),
    PFC_FIELD_AS(pfc_bisection, "commits", commits, ID),
    PFC_FIELD(pfc_bisection, expected_runs),
    PFC_FIELD(pfc_bisection, runs),
    PFC_FIELD(pfc_bisection, builds),
    PFC_FIELD(pfc_bisection, commits_measured),
    PFC_FIELD(pfc_bisection, seconds),
    PFC_FIELD_AS(pfc_bisection, "steps", steps_json, ARRAY),
    PFC_FIELD_AS(pfc_bisection, "alert_id", alert_id, ID),
    PFC_FIELD_AS(pfc_bisection, "counts", counts_json, JSON),
    PFC_FIELD_AS(pfc_bisection, "failure", failure_json, JSON),
    PFC_FIELD_AS(pfc_bisection, "created_at", created_at, TIME),
    PFC_FIELD_AS(pfc_bisection, "finished_at", finished_at, TIME),
};

json_t *pfc_encode_bisection(const pfc_req *req, const pfc_bisection *b)
{
    json_t *json = pfc_encode_fields(PFC_FIELDS(bisection_fields), b);

    json_object_set_new(json, "repro", encode_repro("bisection", b->id, 0));
    encode_stopped(b->stopped_json, json);
    json_object_set_new(json, "actor", pfc_encode_actor(req, b->actor));
    return json;
}

static json_t *encode_cost(const pfc_bisection_cost *c)
{
    return json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "commits", (json_int_t)c->commits,
        "stored_runs", (json_int_t)c->stored_runs, "runs", pfc_reply_number(c->expected_runs),
        "builds", pfc_reply_number(c->expected_builds), "run_seconds",
        pfc_reply_number(c->run_seconds), "wait_seconds", pfc_reply_number(c->wait_seconds),
        "seconds", pfc_reply_number(c->seconds), "runners", (json_int_t)c->runners, "jobs_waiting",
        (json_int_t)c->jobs_waiting);
}

static const pfc_field step_fields[] = {
    PFC_FIELD(pfc_bisection_step, n),
    PFC_FIELD(pfc_bisection_step, commit),
    PFC_FIELD(pfc_bisection_step, value),
    PFC_FIELD(pfc_bisection_step, state),
    PFC_FIELD_NAMED(pfc_bisection_step, "build", layout),
    PFC_FIELD_AS(pfc_bisection_step, "job_id", job_id, ID),
    PFC_FIELD(pfc_bisection_step, run),
    PFC_FIELD(pfc_bisection_step, job_state),
    PFC_FIELD(pfc_bisection_step, runner),
    PFC_FIELD(pfc_bisection_step, reason),
    PFC_FIELD(pfc_bisection_step, seconds),
};

/* context: the bisection's id. */
static json_t *encode_step(const void *row, const void *context)
{
    const pfc_bisection_step *s = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(step_fields), s);

    json_object_set_new(json, "repro", encode_repro("bisection", *(const int64_t *)context, s->n));
    json_object_set_new(json, "stored", json_boolean(!s->job_id));
    return json;
}

static const pfc_field verification_fields[] = {
    PFC_FIELD(pfc_verification, id),
    PFC_FIELD(pfc_verification, before),
    PFC_FIELD_NAMED(pfc_verification, "commit", after),
    PFC_FIELD(pfc_verification, state),
    PFC_FIELD(pfc_verification, pairs),
    PFC_FIELD(pfc_verification, layouts),
    PFC_FIELDS_REL_CHANGE(pfc_verification),
    PFC_FIELD(pfc_verification, p),
    PFC_FIELD(pfc_verification, runners),
    PFC_FIELD(pfc_verification, reason),
};

/* context: the bisection's id. */
static json_t *encode_verification(const void *row, const void *context)
{
    const pfc_verification *v = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(verification_fields), v);

    json_object_set_new(json, "repro",
                        encode_repro("verification", *(const int64_t *)context, v->id));
    return json;
}

void pfc_encode_bisection_detail(int64_t id, const pfc_bisection_detail *d, json_t *json)
{
    json_t *line = json_array();

    for (size_t i = 0; i < d->line.len; i++)
        json_array_append_new(
            line, json_pack("{s:s, s:o}", "commit", d->line.items[i], "probability",
                            d->posterior ? pfc_reply_number(d->posterior[i]) : json_null()));
    json_object_set_new(json, "steps", pfc_encode_rows(PFC_ROW_VIEW(&d->steps), encode_step, &id));
    json_object_set_new(json, "verifications",
                        pfc_encode_rows(PFC_ROW_VIEW(&d->verifications), encode_verification, &id));
    json_object_set_new(json, "line", line);
    json_object_set_new(json, "options", pfc_encode_json_text(d->options));
    json_object_set_new(json, "expected", encode_cost(&d->cost));
}

/* ---- ordering ---- */

/* Strings are owned. */
typedef struct order_body {
    char *project, *mode, *metric, *benchmark, *backend, *machine_class, *branch, *good, *bad,
        *source, *config;
    pfc_texts paths;
    int64_t alert_id, max_runs, priority, parallel;
    double confidence, noise, layout_noise, delta, margin;
    bool relink, dry_run;
} order_body;

static void order_clear(order_body *o)
{
    free(o->project);
    free(o->mode);
    free(o->metric);
    free(o->benchmark);
    free(o->backend);
    free(o->machine_class);
    free(o->branch);
    free(o->good);
    free(o->bad);
    free(o->source);
    free(o->config);
    pfc_texts_clear(&o->paths);
}

static pfc_code decode_texts(const json_t *body, order_body *o, pfc_err *err)
{
    static const pfc_texts_limits path_limits = { MAX_GLOBS, PFC_WIRE_MAX_TEXT };
    const struct {
        const char *key;
        bool required;
        char **out;
    } texts[] = {
        { "project", true, &o->project },  { "mode", true, &o->mode },
        { "metric", false, &o->metric },   { "benchmark", false, &o->benchmark },
        { "backend", false, &o->backend }, { "machine_class", false, &o->machine_class },
        { "branch", false, &o->branch },   { "good", false, &o->good },
        { "bad", false, &o->bad },
    };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = pfc_json_name(body, NULL, texts[i].key, texts[i].required, PFC_WIRE_MAX_NAME,
                             texts[i].out, err);
    if (!code)
        code = pfc_json_string(body, NULL, "source", false, PFC_WIRE_MAX_TEXT, &o->source, err);
    if (!code)
        code = pfc_decode_texts(body, "paths", false, &path_limits, &o->paths, err);
    return code;
}

static pfc_code decode_numbers(const json_t *body, order_body *o, pfc_err *err)
{
    pfc_code code = pfc_json_i64(body, NULL, "alert_id", false, 1, INT64_MAX, &o->alert_id, err);

    if (!code)
        code = pfc_json_i64(body, NULL, "max_runs", false, 2, MAX_RUNS, &o->max_runs, err);
    if (!code)
        code = pfc_json_i64(body, NULL, "priority", false, 0, 100, &o->priority, err);
    if (!code)
        code = pfc_json_i64(body, NULL, "parallel", false, 1, MAX_PARALLEL, &o->parallel, err);
    if (!code)
        code = pfc_json_double(body, NULL, "confidence", false, 0.5, 0.999999, &o->confidence, err);
    if (!code)
        code = pfc_json_double(body, NULL, "noise", false, 0, 10, &o->noise, err);
    if (!code)
        code = pfc_json_double(body, NULL, "layout_noise", false, 0, 10, &o->layout_noise, err);
    if (!code)
        code = pfc_json_double(body, NULL, "delta", false, -0.999, 1000, &o->delta, err);
    if (!code)
        code = pfc_json_double(body, NULL, "margin", false, 1e-9, 10, &o->margin, err);
    if (!code)
        code = pfc_json_bool(body, NULL, "relink", false, &o->relink, err);
    if (!code)
        code = pfc_json_bool(body, NULL, "dry_run", false, &o->dry_run, err);
    return code;
}

static pfc_code start(pfc_app *app, const pfc_req *req, const order_body *o, int64_t project_id,
                      pfc_reply *reply, pfc_err *err)
{
    const pfc_bisection_order order = {
        .metric = o->metric,
        .benchmark = o->benchmark,
        .backend = o->backend,
        .machine_class = o->machine_class,
        .branch = o->branch,
        .good = o->good,
        .bad = o->bad,
        .globs = o->paths.items,
        .globs_len = o->paths.len,
        .alert_id = o->alert_id,
        .options = { .confidence = o->confidence,
                     .noise_rel = o->noise,
                     .layout_noise_rel = o->layout_noise,
                     .delta_rel = o->delta,
                     .margin_rel = o->margin,
                     .relink = o->relink,
                     .max_runs = o->max_runs,
                     .priority = (int)o->priority,
                     .parallel = (int)o->parallel,
                     .source = o->source,
                     .config = o->config },
    };
    pfc_bisection_cost cost = { 0 };
    pfc_bisections row = { 0 };
    json_t *json;
    pfc_code code = pfc_bisection_start(app->db, req->auth.actor, project_id, &order, o->dry_run,
                                        &cost, &row, err);

    if (code)
        return code;
    if (o->dry_run)
        return pfc_reply_json(reply, 200, json_pack("{s:o}", "expected", encode_cost(&cost)), err);
    json = pfc_encode_bisection(req, &row.items[0]);
    json_object_set_new(json, "expected", encode_cost(&cost));
    code = pfc_reply_json(reply, 201, json, err);
    pfc_rows_clear(&row);
    return code;
}

pfc_code pfc_bisection_order_post(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    static const char *const known[] = { "project",      "mode",          "metric",     "benchmark",
                                         "backend",      "machine_class", "branch",     "good",
                                         "bad",          "paths",         "alert_id",   "max_runs",
                                         "priority",     "parallel",      "confidence", "noise",
                                         "layout_noise", "delta",         "relink",     "dry_run",
                                         "source",       "config",        "margin",     NULL };
    order_body o = { .priority = pfc_job_priority("bisect") };
    int64_t project = 0;
    json_t *body = NULL;
    pfc_code code = pfc_decode_object(req, known, &body, err);

    if (!code)
        code = decode_texts(body, &o, err);
    if (!code && strcmp(o.mode, "remote") != 0)
        code = pfc_json_fault(NULL, "mode", err,
                              "expected remote, or a report without it, got \"%.32s\"", o.mode);
    if (!code)
        code = decode_numbers(body, &o, err);
    if (!code)
        code = pfc_decode_config(req, body, &o.config, err);
    if (!code)
        code = pfc_decode_project(app, req, o.project, "project", &project, err);
    if (!code)
        code = pfc_decode_source(app, req, o.project, o.source, err);
    if (!code)
        code = start(app, req, &o, project, reply, err);
    order_clear(&o);
    json_decref(body);
    return code;
}

/* DELETE /api/v1/bisections/{id} */
PFC_HANDLER(bisections_delete)
{
    pfc_bisections before = { 0 }, after = { 0 };
    int64_t id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = pfc_bisections_get(app->db, id, &before, err);
    if (!code)
        code = pfc_req_allow_project(req, before.items[0].project_id, "bisection", err);
    if (!code)
        code = pfc_bisection_cancel(app->db, req->auth.actor, id, &after, err);
    if (!code)
        code = pfc_reply_json(reply, 200, pfc_encode_bisection(req, &after.items[0]), err);
    pfc_rows_clear(&after);
    pfc_rows_clear(&before);
    return code;
}
