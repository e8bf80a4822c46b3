/* Jobs for clients: queue one, list, show, cancel. Runners use leases.c. */
#include <math.h>
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/access/access.h"
#include "server/services/access/job_source.h"
#include "server/services/queue/queue.h"

static const char *const kinds[] = { "measure",  "nightly", "pull_request",
                                     "backfill", "bisect",  "verify" };

static bool is_one_of(const char *word, const char *const *words, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

static const pfc_field job_fields[] = {
    PFC_FIELD(pfc_job, id),
    PFC_FIELD(pfc_job, project),
    PFC_FIELD(pfc_job, kind),
    PFC_FIELD(pfc_job, state),
    PFC_FIELD(pfc_job, commit),
    PFC_FIELD(pfc_job, branch),
    PFC_FIELD(pfc_job, suite),
    PFC_FIELD(pfc_job, priority),
    PFC_FIELD(pfc_job, tries),
    PFC_FIELD_AS(pfc_job, "labels", labels_json, OBJECT),
    PFC_FIELD(pfc_job, runner),
    PFC_FIELD_AS(pfc_job, "position", position, ID),
    PFC_FIELD(pfc_job, reason),
    PFC_FIELD(pfc_job, progress),
    PFC_FIELD_AS(pfc_job, "run_ids", run_ids_json, ARRAY),
    PFC_FIELD_AS(pfc_job, "parents", parents_json, ARRAY),
    PFC_FIELD(pfc_job, session),
    PFC_FIELD(pfc_job, cancel_requested),
    PFC_FIELD_AS(pfc_job, "created_at", created_at, TIME),
    PFC_FIELD_AS(pfc_job, "started_at", started_at, TIME),
    PFC_FIELD_AS(pfc_job, "finished_at", finished_at, TIME),
    PFC_FIELD_AS(pfc_job, "not_before", not_before, TIME),
    PFC_FIELD(pfc_job, rerun_note),
    PFC_FIELD(pfc_job, reproducibility),
    PFC_FIELD(pfc_job, unsandboxed),
};

/* Which rule made the job; null: none did. */
static json_t *encode_rerun(const pfc_job *j)
{
    if (!j->rerun_rule)
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:o}", "rule", j->rerun_rule, "number",
                     (json_int_t)j->rerun_number, "times", (json_int_t)j->rerun_times, "of",
                     j->rerun_of ? json_integer((json_int_t)j->rerun_of) : json_null());
}

json_t *pfc_encode_job(const pfc_job *j)
{
    json_t *json = pfc_encode_fields(PFC_FIELDS(job_fields), j);

    json_object_set_new(json, "expected_wait", json_null());
    json_object_set_new(json, "wait_reason", json_null());
    json_object_set_new(json, "blocks", pfc_encode_job_blocks(j->task_json));
    json_object_set_new(json, "rerun", encode_rerun(j));
    return json;
}

/* Estimates of waits are not accurate to tenths of a second. */
static json_t *encode_seconds(double seconds)
{
    return json_integer((json_int_t)round(seconds));
}

static json_t *encode_waiting(const pfc_job *j, const pfc_job_wait *wait)
{
    json_t *json = pfc_encode_job(j);

    if (isfinite(wait->middle_s))
        json_object_set_new(json, "expected_wait",
                            json_pack("{s:o, s:o, s:o}", "seconds", encode_seconds(wait->middle_s),
                                      "low", encode_seconds(wait->low_s), "high",
                                      encode_seconds(wait->high_s)));
    json_object_set_new(json, "wait_reason", pfc_reply_string(wait->reason));
    return json;
}

/* GET /api/v1/jobs */
PFC_HANDLER(jobs_list)
{
    pfc_job_filter filter = { 0 };
    pfc_jobs rows = { 0 };
    pfc_job_wait *waits = NULL;
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_req_query(req, "state", 32, &filter.state, err);
    if (!code)
        code = pfc_req_query(req, "kind", 32, &filter.kind, err);
    if (!code)
        code = pfc_query_project(app, req, &filter.project_id, err);
    if (!code)
        code = pfc_jobs_list(app->db, &filter, page, &rows, err);
    if (!code)
        code = pfc_job_waits(app->db, &rows, &waits, err);
    if (!code) {
        items = json_array();
        for (size_t i = 0; i < rows.len; i++)
            json_array_append_new(items, encode_waiting(&rows.items[i], &waits[i]));
        code = pfc_reply_json(reply, 200, pfc_encode_list("jobs", items, rows.next), err);
    }
    pfc_job_waits_free(waits, rows.len);
    pfc_rows_clear(&rows);
    return code;
}

/* The job of the path's {id}, when the token may use its project. Clear *out in every case. */
static pfc_code load(pfc_app *app, const pfc_req *req, int64_t *id, pfc_jobs *out, pfc_err *err)
{
    pfc_code code = pfc_req_param_id(req, "id", id, err);

    if (!code)
        code = pfc_jobs_get(app->db, *id, out, err);
    return code ? code : pfc_req_allow_project(req, out->items[0].project_id, "job", err);
}

/* GET /api/v1/jobs/{id} */
PFC_HANDLER(jobs_get)
{
    pfc_jobs row = { 0 };
    pfc_job_wait *wait = NULL;
    int64_t id = 0;
    pfc_code code = load(app, req, &id, &row, err);

    if (!code)
        code = pfc_job_waits(app->db, &row, &wait, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_waiting(&row.items[0], wait), err);
    pfc_job_waits_free(wait, row.len);
    pfc_rows_clear(&row);
    return code;
}

/* DELETE /api/v1/jobs/{id} */
PFC_HANDLER(jobs_delete)
{
    pfc_jobs before = { 0 }, after = { 0 };
    int64_t id = 0;
    pfc_code code = load(app, req, &id, &before, err);

    if (!code)
        code = pfc_job_cancel(app->db, req->auth.actor, id, &after, err);
    if (!code)
        code = pfc_reply_json(reply, 200, pfc_encode_job(&after.items[0]), err);
    pfc_rows_clear(&after);
    pfc_rows_clear(&before);
    return code;
}

/* POST /api/v1/jobs/{id}/retry */
PFC_HANDLER(jobs_retry)
{
    pfc_jobs before = { 0 }, after = { 0 };
    int64_t id = 0;
    bool created = false;
    pfc_code code = load(app, req, &id, &before, err);

    if (!code)
        code = pfc_job_retry(app->db, req->auth.actor, before.items[0].project_id, id,
                             (req->auth.scopes & PFC_SCOPE_ADMIN) != 0, &created, &after, err);
    if (!code)
        code = pfc_reply_json(reply, created ? 201 : 200, pfc_encode_job(&after.items[0]), err);
    pfc_rows_clear(&after);
    pfc_rows_clear(&before);
    return code;
}

/* The body of POST /jobs; strings are owned. */
typedef struct job_body {
    char *project, *kind, *commit, *branch, *suite, *source;
    pfc_labels labels;
    char *config, *filter;
    pfc_texts backends;
    bool traces;
    int64_t priority;
    int64_t parents[PFC_JOB_MAX_PARENTS];
    size_t parents_len;
} job_body;

static void job_body_clear(job_body *b)
{
    free(b->project);
    free(b->kind);
    free(b->commit);
    free(b->branch);
    free(b->suite);
    free(b->source);
    pfc_labels_clear(&b->labels);
    free(b->config);
    free(b->filter);
    pfc_texts_clear(&b->backends);
}

static pfc_code decode_parents(const json_t *json, job_body *b, pfc_err *err)
{
    const json_t *list = json_object_get(json, "parents");

    if (!list || json_is_null(list))
        return PFC_OK;
    if (!json_is_array(list) || json_array_size(list) > PFC_JOB_MAX_PARENTS)
        return pfc_json_fault(NULL, "parents", err, "expected an array of at most %d ids of jobs",
                              PFC_JOB_MAX_PARENTS);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *id = json_array_get(list, i);

        if (!json_is_integer(id) || json_integer_value(id) <= 0)
            return pfc_json_fault(NULL, "parents", err,
                                  "expected ids of jobs, whole numbers above 0");
        b->parents[b->parents_len++] = json_integer_value(id);
    }
    return PFC_OK;
}

static pfc_code decode_job(const pfc_req *req, const json_t *json, job_body *b, pfc_err *err)
{
    static const pfc_texts_limits backend_limits = { PFC_JOB_MAX_BACKENDS, PFC_WIRE_MAX_NAME };
    const struct {
        const char *key;
        bool required;
        size_t max;
        char **out;
    } texts[] = {
        { "project", true, 64, &b->project },
        { "kind", true, 32, &b->kind },
        { "commit", true, 64, &b->commit },
        { "branch", false, PFC_WIRE_MAX_NAME, &b->branch },
        { "suite", false, PFC_WIRE_MAX_NAME, &b->suite },
        { "source", false, PFC_WIRE_MAX_TEXT, &b->source },
        { "filter", false, PFC_WIRE_MAX_TEXT, &b->filter },
    };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = (texts[i].max == PFC_WIRE_MAX_TEXT ? pfc_json_string : pfc_json_name)(
            json, NULL, texts[i].key, texts[i].required, texts[i].max, texts[i].out, err);
    if (!code)
        code = pfc_json_i64(json, NULL, "priority", false, 0, 100, &b->priority, err);
    if (!code)
        code = pfc_decode_labels(json, "labels", &b->labels, err);
    if (!code)
        code = decode_parents(json, b, err);
    if (!code)
        code = pfc_decode_texts(json, "backends", false, &backend_limits, &b->backends, err);
    if (!code)
        code = pfc_json_bool(json, NULL, "traces", false, &b->traces, err);
    if (!code)
        code = pfc_decode_config(req, json, &b->config, err);
    if (code)
        return code;
    if (!is_one_of(b->kind, kinds, PFC_ARRAY_LEN(kinds)))
        return pfc_json_fault(NULL, "kind", err, "unknown kind \"%.32s\"", b->kind);
    if (!pfc_is_commit_id(b->commit))
        return pfc_json_fault(NULL, "commit", err, "expected a commit id of 40 hexadecimal digits");
    return PFC_OK;
}

pfc_code pfc_decode_source(pfc_app *app, const pfc_req *req, const char *project,
                           const char *source, pfc_err *err)
{
    const bool any = (req->auth.scopes & PFC_SCOPE_ADMIN) && req->auth.project_id == 0;

    return !source || any ? PFC_OK
                          : pfc_job_source_check(app->db, project, app->sources, source, err);
}

/* POST /api/v1/jobs */
PFC_HANDLER(jobs_post)
{
    static const char *const known[] = { "project", "kind",     "commit", "branch",  "suite",
                                         "labels",  "priority", "source", "parents", "config",
                                         "filter",  "backends", "traces",  "blocks",
                                         NULL };
    job_body b = { .priority = PFC_JOB_BY_KIND };
    pfc_blocks_body blocks = { 0 };
    int64_t project = 0;
    pfc_jobs row = { 0 };
    json_t *body = NULL;
    bool created = false;
    pfc_code code;

    code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = decode_job(req, body, &b, err);
    if (!code)
        code = pfc_decode_blocks(body, &blocks, err);
    if (!code)
        code = pfc_decode_project(app, req, b.project, "project", &project, err);
    if (!code)
        code = pfc_decode_source(app, req, b.project, b.source, err);
    if (!code) {
        const pfc_job_spec spec = {
            .kind = b.kind,
            .commit = b.commit,
            .branch = b.branch,
            .suite = b.suite,
            .source = b.source,
            .labels = &b.labels,
            .priority = (int)b.priority,
            .parents = b.parents,
            .parents_len = b.parents_len,
            .config = b.config,
            .filter = b.filter,
            .backends = (const char *const *)b.backends.items,
            .backends_len = b.backends.len,
            .traces = b.traces,
            .blocks = blocks.given ? &blocks.blocks : NULL,
        };

        code = pfc_job_enqueue(app->db, req->auth.actor, project, &spec, &created, &row, err);
    }
    if (!code)
        code = pfc_reply_json(reply, created ? 201 : 200, pfc_encode_job(&row.items[0]), err);
    pfc_rows_clear(&row);
    pfc_blocks_body_clear(&blocks);
    job_body_clear(&b);
    json_decref(body);
    return code;
}
