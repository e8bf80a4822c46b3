/* Jobs for runners: lease, heartbeat, complete, release. */
#include <stdlib.h>

#include "core/wire/rerun_json.h"
#include "server/handlers/handlers.h"
#include "server/services/queue/queue.h"
#include "server/services/queue/seekers.h"

#define MAX_BACKENDS 64
#define MAX_RUN_IDS  1000

double pfc_lease_seconds(const pfc_app *app)
{
    return app->lease_s > 0 ? app->lease_s : PFC_LEASE_S;
}

static json_t *encode_lease(const pfc_app *app, const pfc_job *j, const char *secret,
                            const char *token)
{
    static const char *const left_out[] = { "expected_wait",   "wait_reason", "parents",
                                            "rerun",           "rerun_note",  "not_before",
                                            "reproducibility", "unsandboxed" };
    json_t *job = pfc_encode_job(j);

    /* Runners do not need these members, or only queued jobs have them. */
    for (size_t i = 0; i < PFC_ARRAY_LEN(left_out); i++)
        json_object_del(job, left_out[i]);
    json_object_set_new(job, "lease", json_string(secret));
    json_object_set_new(job, "token", json_string(token));
    json_object_set_new(job, "fence", json_integer((json_int_t)j->fence));
    json_object_set_new(job, "lease_s", json_integer((json_int_t)pfc_lease_seconds(app)));
    json_object_set_new(job, "source", pfc_reply_string(j->source));
    json_object_set_new(job, "build", pfc_reply_string(j->build));
    json_object_set_new(job, "measure", pfc_reply_string(j->measure));
    json_object_set_new(job, "task", pfc_encode_json_text(j->task_json ? j->task_json : "{}"));
    return json_pack("{s:o}", "job", job);
}

static pfc_code wait_for_seeker(pfc_reply *reply, const pfc_lease_request *request, double wait_s)
{
    const pfc_wish wish = { .suits = pfc_job_seeker_suits,
                            .free = pfc_job_seeker_free,
                            .self = pfc_job_seeker_new(request) };

    return pfc_reply_wait_for(reply, "job", wish, wait_s);
}

/* Until a job that fits this runner becomes ready. A drained or revoked one waits until it may
 * lease again: it must not take the place of a runner that could. */
static pfc_code wait_for_job(pfc_app *app, pfc_reply *reply, const pfc_lease_request *request,
                             double wait_s, pfc_err *err)
{
    bool stopped = false;
    pfc_code code =
        pfc_runner_stopped(app->db, request->project_id, request->runner, &stopped, err);

    if (code)
        return code;
    if (stopped)
        return pfc_reply_wait(reply, PFC_RUNNER_TOPIC, wait_s);
    return wait_for_seeker(reply, request, wait_s);
}

/*
 * POST /api/v1/jobs/lease?wait=30   {"runner", "machine_class", "labels"?, "backends"?, "lease"?,
 * "asked"?}
 *
 * With `wait`, an empty queue suspends the request; the handler runs again when a job is queued
 * that fits the runner.
 */
PFC_HANDLER(jobs_lease)
{
    static const pfc_texts_limits backend_limits = { MAX_BACKENDS, PFC_WIRE_MAX_NAME };
    static const char *const known[] = { "runner", "machine_class", "labels", "backends",
                                         "lease",  "asked",         "status", NULL };
    pfc_runner_body report = { 0 };
    pfc_lease_request request = { .project_id = req->auth.project_id,
                                  .lease_s = pfc_lease_seconds(app) };
    pfc_jobs row = { 0 };
    json_t *body = NULL;
    pfc_labels labels = { 0 };
    char *runner = NULL, *machine_class = NULL, *lease = NULL;
    pfc_texts backends = { 0 };
    char secret[PFC_LEASE_SIZE] = "", token[PFC_TOKEN_TEXT] = "";
    int64_t wait_s = 0;
    pfc_code code;

    code = pfc_req_query_i64(req, "wait", 0, PFC_HTTPD_MAX_WAIT_S, &wait_s, err);
    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_name(body, NULL, "runner", true, PFC_WIRE_MAX_NAME, &runner, err);
    if (!code)
        code = pfc_json_name(body, NULL, "machine_class", true, PFC_WIRE_MAX_NAME, &machine_class,
                             err);
    if (!code)
        code = pfc_json_string(body, NULL, "lease", false, 64, &lease, err);
    if (!code)
        code = pfc_json_i64(body, NULL, "asked", false, 1, PFC_WIRE_MAX_ID, &request.asked, err);
    if (!code)
        code = pfc_decode_labels(body, "labels", &labels, err);
    if (!code)
        code = pfc_decode_texts(body, "backends", false, &backend_limits, &backends, err);
    if (!code)
        code = pfc_decode_runner_status(body, &report, err);
    if (code)
        goto done;

    request.runner = runner;
    request.machine_class = machine_class;
    request.labels = &labels;
    request.lease = lease;
    request.backends = (const char *const *)backends.items;
    request.backends_len = backends.len;
    request.token_id = req->auth.token_id;
    request.token = token;
    request.again = req->again;
    code = pfc_job_lease(app->db, &request, &row, secret, err);
    if (code == PFC_OK || code == PFC_ENOTFOUND) /* the runner is known from here on */
        pfc_store_runner_status(app, req->auth.project_id, runner, &report);
    if (code == PFC_ENOTFOUND) {
        code = wait_s > 0 && req->waited_s < (double)wait_s && !req->stopping
                   ? wait_for_job(app, reply, &request, (double)wait_s, err)
                   : pfc_reply_empty(reply);
        goto done;
    }
    if (!code)
        code = pfc_reply_json(reply, 200, encode_lease(app, &row.items[0], secret, token), err);
    reply->cache = "no-store";

done:
    pfc_rows_clear(&row);
    pfc_texts_clear(&backends);
    pfc_runner_body_clear(&report);
    free(runner);
    free(machine_class);
    pfc_labels_clear(&labels);
    free(lease);
    json_decref(body);
    return code;
}

pfc_code pfc_req_leased_job(pfc_app *app, const pfc_req *req, int64_t *id, pfc_jobs *out,
                            pfc_err *err)
{
    pfc_code code = pfc_req_param_id(req, "id", id, err);

    if (!code && req->auth.lease.job_id && req->auth.lease.job_id != *id)
        code = pfc_err_set(err, PFC_EDENIED, "the token is bound to job %lld",
                           (long long)req->auth.lease.job_id);
    if (!code)
        code = pfc_jobs_get(app->db, *id, out, err);
    return code ? code : pfc_req_allow_project(req, out->items[0].project_id, "job", err);
}

/* *runner: of the job's newest lease; the caller frees it; NULL: not wanted. */
static pfc_code check_job(pfc_app *app, const pfc_req *req, int64_t *id, char **runner,
                          pfc_err *err)
{
    pfc_jobs row = { 0 };
    pfc_code code = pfc_req_leased_job(app, req, id, &row, err);

    if (!code && runner)
        *runner = pfc_strdup(row.items[0].runner);
    pfc_rows_clear(&row);
    return code;
}

/* POST /api/v1/jobs/{id}/heartbeat   {"lease", "progress"?, "status"?} */
PFC_HANDLER(jobs_heartbeat)
{
    static const char *const known[] = { "lease", "progress", "status", NULL };
    pfc_runner_body report = { 0 };
    json_t *body = NULL;
    char *lease = NULL, *progress = NULL, *runner = NULL;
    int64_t id = 0;
    bool cancel = false;
    pfc_code code;

    code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "lease", true, 64, &lease, err);
    if (!code)
        code = pfc_json_string(body, NULL, "progress", false, PFC_WIRE_MAX_TEXT, &progress, err);
    if (!code)
        code = pfc_decode_runner_status(body, &report, err);
    if (!code)
        code = check_job(app, req, &id, &runner, err);
    if (!code)
        code =
            pfc_job_heartbeat(app->db, id, lease, progress, pfc_lease_seconds(app), &cancel, err);
    if (!code)
        pfc_store_runner_status(app, req->auth.project_id, runner, &report);
    if (!code)
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:I, s:b}", "lease_s", (json_int_t)pfc_lease_seconds(app),
                                        "cancel", cancel),
                              err);
    pfc_runner_body_clear(&report);
    free(lease);
    free(progress);
    free(runner);
    json_decref(body);
    return code;
}

/* POST /api/v1/jobs/{id}/complete
 * {"lease", "status", "reason"?, "run_ids"?, "session"?, "rerun"?} */
PFC_HANDLER(jobs_complete)
{
    static const char *const known[] = { "lease",   "status", "reason", "run_ids",
                                         "session", "rerun",  NULL };
    json_t *body = NULL;
    const json_t *rerun;
    pfc_rerun_rules rules = { 0 };
    char *lease = NULL, *status = NULL, *reason = NULL, *session = NULL;
    const pfc_texts_limits run_limits = { MAX_RUN_IDS, 64 };
    pfc_texts run_ids = { 0 };
    pfc_jobs row = { 0 };
    int64_t id = 0;
    pfc_code code;

    code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "lease", true, 64, &lease, err);
    if (!code)
        code = pfc_json_string(body, NULL, "status", true, 16, &status, err);
    if (!code)
        code = pfc_json_string(body, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &reason, err);
    if (!code)
        code = pfc_decode_texts(body, "run_ids", false, &run_limits, &run_ids, err);
    if (!code)
        code = pfc_json_string(body, NULL, "session", false, 64, &session, err);
    rerun = json_object_get(body, "rerun");
    if (!code)
        code = pfc_rerun_from_json(rerun, &rules, err);
    if (code)
        goto done;
    code = check_job(app, req, &id, NULL, err);
    if (!code) {
        const pfc_job_result result = { (const char *const *)run_ids.items, run_ids.len, session,
                                        json_is_array(rerun) ? &rules : NULL };

        code = pfc_job_finish(app->db, id, lease, status, reason, &result, err);
    }
    if (!code)
        code = pfc_jobs_get(app->db, id, &row, err);
    if (!code)
        code = pfc_reply_json(reply, 200, pfc_encode_job(&row.items[0]), err);

done:
    pfc_rows_clear(&row);
    pfc_texts_clear(&run_ids);
    free(lease);
    free(status);
    free(reason);
    free(session);
    json_decref(body);
    return code;
}

/* POST /api/v1/jobs/{id}/restart   {"lease", "runner"}: the answer of a lease, with a new fencing
 * token and a token of its own. */
PFC_HANDLER(jobs_restart)
{
    static const char *const known[] = { "lease", "runner", NULL };
    pfc_lease_request request = { .lease_s = pfc_lease_seconds(app) };
    char secret[PFC_LEASE_SIZE] = "", token[PFC_TOKEN_TEXT] = "";
    char *lease = NULL, *runner = NULL;
    json_t *body = NULL;
    pfc_jobs row = { 0 };
    int64_t id = 0;
    pfc_code code;

    code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "lease", true, 64, &lease, err);
    if (!code)
        code = pfc_json_string(body, NULL, "runner", true, PFC_WIRE_MAX_NAME, &runner, err);
    if (!code)
        code = check_job(app, req, &id, NULL, err);
    if (!code) {
        request.lease = lease;
        request.runner = runner;
        request.token_id = req->auth.token_id;
        request.token = token;
        code = pfc_job_restart(app->db, id, &request, &row, secret, err);
    }
    if (!code)
        code = pfc_reply_json(reply, 200, encode_lease(app, &row.items[0], secret, token), err);
    reply->cache = "no-store";
    pfc_rows_clear(&row);
    free(lease);
    free(runner);
    json_decref(body);
    return code;
}

/* POST /api/v1/jobs/{id}/release   {"lease"}: queues the job at once, without waiting for the lease
 * to expire. */
PFC_HANDLER(jobs_release)
{
    static const char *const known[] = { "lease", NULL };
    json_t *body = NULL;
    char *lease = NULL;
    pfc_jobs row = { 0 };
    int64_t id = 0;
    pfc_code code;

    code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "lease", true, 64, &lease, err);
    if (!code)
        code = check_job(app, req, &id, NULL, err);
    if (!code)
        code = pfc_job_release(app->db, id, lease, err);
    if (!code)
        code = pfc_jobs_get(app->db, id, &row, err);
    if (!code)
        code = pfc_reply_json(reply, 200, pfc_encode_job(&row.items[0]), err);
    pfc_rows_clear(&row);
    free(lease);
    json_decref(body);
    return code;
}
