/*
 * One job: reads its document, renews its lease, and reports its result.
 */
#include "runner/job/job.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "core/git/project_file.h"
#include "core/wire/rerun_json.h"
#include "core/wire/wire.h"

#define BEAT_TIMEOUT_S 5.0  /* the measured child goes on meanwhile */
/* time for the answer to a request, in addition to the wait in the server */
#define ANSWER_S       30.0
#define MAX_COMMAND    65536
#define MAX_SOURCE     2048
#define MAX_LEASE_S    86400.0
#define KEPT_FILE      "job.json"
#define MAX_KEPT       65536
#define MAX_LEASE      256
#define MAX_RUNS       1000 /* of one job, as the server takes them */
#define LEASE_LEN      32
#define QUESTIONS      (INT64_C(1) << 32) /* that a process may ask under one name */
#define GIVE_BACK_S    3.0                /* that a stopped runner waits for the server's answer */

void pfc_job_clear(pfc_leased_job *job)
{
    free(job->lease);
    free(job->token);
    free(job->kind);
    free(job->project);
    free(job->commit);
    free(job->branch);
    free(job->source);
    free(job->build);
    free(job->measure);
    free(job->suite);
    pfc_task_clear(&job->task);
    *job = (pfc_leased_job){ 0 };
}

pfc_code pfc_job_from_json(const json_t *doc, pfc_leased_job *out, pfc_err *err)
{
    const pfc_json_at at = { .up = NULL, .key = "job" };
    json_t *obj = NULL;
    pfc_leased_job job = { .lease_s = 60.0 };
    pfc_code code = pfc_json_object(doc, NULL, "job", true, &obj, err);
    const struct {
        const char *key;
        bool required;
        size_t max_len;
        char **to;
    } texts[] = {
        { "lease", true, MAX_LEASE, &job.lease },
        { "token", false, MAX_LEASE, &job.token },
        { "kind", false, 32, &job.kind },
        { "project", true, 63, &job.project },
        { "commit", true, PFC_REPO_MAX_REVISION, &job.commit },
        { "branch", false, PFC_WIRE_MAX_NAME, &job.branch },
        { "source", false, MAX_SOURCE, &job.source },
        { "build", false, MAX_COMMAND, &job.build },
        { "measure", false, MAX_COMMAND, &job.measure },
        { "suite", false, PFC_WIRE_MAX_TEXT, &job.suite },
    };

    if (code == PFC_OK)
        code = pfc_json_i64(obj, &at, "id", true, 1, INT64_MAX, &job.id, err);
    if (code == PFC_OK)
        code = pfc_json_i64(obj, &at, "fence", false, 0, PFC_WIRE_MAX_ID, &job.fence, err);
    if (code == PFC_OK)
        code = pfc_json_double(obj, &at, "lease_s", false, 1.0, MAX_LEASE_S, &job.lease_s, err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && code == PFC_OK; i++)
        code = pfc_json_string(obj, &at, texts[i].key, texts[i].required, texts[i].max_len,
                               texts[i].to, err);
    if (code == PFC_OK)
        code = pfc_task_from_json(obj, &at, &job.task, err);
    if (code) {
        pfc_job_clear(&job);
        return pfc_err_wrap(err, "the server's job");
    }
    *out = job;
    return PFC_OK;
}

static void put_over(char **setting, const char *text)
{
    if (!text || !text[0])
        return;
    free(*setting);
    *setting = pfc_strdup(text);
}

/* The branch as the source has it; a clone may have it under origin only. Only branches count: the
 * author of a pull request chooses the name of its branch, and the ref of the pull request itself,
 * such as "pull/7/head", leads to the author's own perfci.yaml. */
static pfc_code find_tip(const pfc_leased_job *job, pfc_repo *repo, pfc_commit_id *tip,
                         pfc_err *err)
{
    static const char *const folders[] = { "refs/heads/", "refs/remotes/origin/" };
    const char *branch = job->task.settings_branch ? job->task.settings_branch : job->branch;
    const bool plain = branch && branch[0] && !strpbrk(branch, "~^:@{}");

    for (size_t i = 0; i < PFC_ARRAY_LEN(folders) && plain; i++) {
        char *ref = pfc_format("%s%s", folders[i], branch);
        const pfc_code code = pfc_repo_resolve(repo, ref, tip, NULL);

        free(ref);
        if (code == PFC_OK)
            return PFC_OK;
    }
    return pfc_repo_resolve(repo, "HEAD", tip, err);
}

/* The perfci.yaml that counts. */
static pfc_code read_settings(const pfc_leased_job *job, pfc_repo *repo, pfc_conf *conf,
                              pfc_err *err)
{
    pfc_project_place place = { .repo = repo, .commits_len = 1 };
    pfc_commit_id tip;
    pfc_code code;

    if (job->task.config) {
        code = pfc_conf_parse(job->task.config, strlen(job->task.config), "the job's perfci.yaml",
                              conf, err);
        if (!code)
            conf->path = pfc_strdup("the job's perfci.yaml");
        return code;
    }
    code = find_tip(job, repo, &tip, err);
    place.commits = &tip;
    if (!code)
        code = pfc_project_read(&place, conf, NULL, err);
    if (!code && !conf->path)
        conf->timeout_s = 0; /* the runner's own */
    return code;
}

pfc_code pfc_job_settings(const pfc_leased_job *job, pfc_repo *repo, pfc_conf *conf, pfc_err *err)
{
    pfc_code code;

    *conf = (pfc_conf){ 0 };
    code = read_settings(job, repo, conf, err);
    if (code)
        return code;
    put_over(&conf->build, job->build);
    if (job->measure && job->measure[0]) {
        put_over(&conf->measure, job->measure);
    } else if (job->suite && job->suite[0]) {
        /* As --suite: it was asked for. */
        put_over(&conf->suite, job->suite);
        free(conf->measure);
        conf->measure = NULL;
    }
    if (conf->measure || conf->suite) {
        pfc_log(PFC_INFO, "job_settings", "job", job->id, "config",
                conf->path ? conf->path : "none", conf->measure ? "measure" : "suite",
                conf->measure ? conf->measure : conf->suite, "metric",
                conf->metric ? conf->metric : "all");
        return PFC_OK;
    }
    code =
        pfc_err_set(err, PFC_EINVAL,
                    "nothing to measure: %s on %s has neither \"measure\" nor \"suite\"; write a "
                    "line such as \"measure: ./build/bench --benchmark_format=json\" into it, or "
                    "give the job a suite",
                    conf->path ? conf->path : PFC_PROJECT_FILE, job->branch ? job->branch : "HEAD");
    pfc_conf_clear(conf);
    return code;
}

bool pfc_stop_wait(int fd, double wait_s)
{
    struct pollfd at = { .fd = fd, .events = POLLIN };
    int64_t until = pfc_clock_ns() + (int64_t)(wait_s * 1e9);

    for (;;) {
        int64_t left_ms = (until - pfc_clock_ns() + PFC_NS_PER_MS - 1) / PFC_NS_PER_MS;
        int rc = poll(&at, 1, (int)PFC_MAX(0, PFC_MIN(left_ms, 3600000))); /* fd < 0 is ignored */

        if (rc > 0)
            return true;
        if (rc == 0 && pfc_clock_ns() >= until)
            return false;
        if (rc < 0 && errno != EINTR)
            return true; /* the stop signal cannot be read: stopping is the safe choice */
    }
}

static void beat(pfc_lease *lease)
{
    char path[64];
    json_t *body =
        json_pack("{s:s, s:s*, s:o*}", "lease", lease->job->lease, "progress", lease->progress,
                  "status", lease->report ? lease->report(lease->report_arg) : NULL);
    char *text = json_dumps(body, JSON_COMPACT);
    pfc_http_req req = { .method = "POST",
                         .path = path,
                         .body = text,
                         .body_len = text ? strlen(text) : 0,
                         .token = lease->job->token,
                         .timeout_s = BEAT_TIMEOUT_S };
    pfc_http_answer answer = { 0 };
    json_t *doc = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    (void)snprintf(path, sizeof(path), "/api/v1/jobs/%lld/heartbeat", (long long)lease->job->id);
    code = pfc_http_send(lease->http, &req, &answer, &err);
    if (code == PFC_OK)
        code = pfc_http_check(lease->http, &answer, &err);
    if (code == PFC_OK) {
        doc = json_loadb(answer.body.data, answer.body.len, 0, NULL);
        lease->cancelled = json_is_true(json_object_get(doc, "cancel"));
        if (lease->cancelled)
            pfc_log(PFC_INFO, "job_cancelled", "job", lease->job->id);
    } else if (code == PFC_ECONFLICT && answer.status == 409) {
        lease->lost = true;
        pfc_log(PFC_WARN, "lease_lost", "job", lease->job->id, "reason", err.msg);
    } else if (code == PFC_ENOTFOUND) {
        lease->lost = true;
        pfc_log(PFC_WARN, "job_gone", "job", lease->job->id);
    } else if (code == PFC_EINVAL && lease->report && strncmp(err.field, "status", 6) == 0) {
        lease->report = NULL; /* a server from before reports: the next heartbeat is without one */
    } else {
        pfc_log(PFC_WARN, "heartbeat_failed", "job", lease->job->id, "reason", err.msg);
    }
    json_decref(doc);
    json_decref(body);
    free(text);
    pfc_http_answer_clear(&answer);
}

bool pfc_lease_cancelled(void *arg)
{
    pfc_lease *lease = arg;

    if (lease->alive)
        lease->alive(lease->alive_arg);
    if (!lease->stopped && pfc_stop_wait(lease->stop_fd, 0.0))
        lease->stopped = true;
    if (!lease->stopped && !lease->lost && !lease->cancelled &&
        pfc_clock_ns() >= lease->next_beat_ns) {
        beat(lease);
        /* A third of the lease, so that two heartbeats may fail before it expires. */
        lease->next_beat_ns = pfc_clock_ns() + (int64_t)(lease->job->lease_s / 3.0 * 1e9);
    }
    return lease->stopped || lease->lost || lease->cancelled;
}

/* *answer: clear it in every case. */
static pfc_code send_question(pfc_http *http, const pfc_machine *machine, double wait_s,
                              const pfc_question *q, pfc_http_answer *answer, pfc_err *err)
{
    json_t *body =
        json_pack("{s:s, s:s, s:s, s:{s:s}}", "runner", machine->name, "machine_class",
                  machine->machine_class, "lease", q->lease, "labels", "tasks", "blocks");
    char *path = pfc_format("/api/v1/jobs/lease?wait=%.0f", wait_s), *text;
    pfc_http_req req = { .method = "POST", .path = path, .timeout_s = wait_s + ANSWER_S };
    pfc_code code;

    if (q->labels)
        json_object_set(body, "labels", (json_t *)(uintptr_t)q->labels);
    if (!q->unnumbered)
        json_object_set_new(body, "asked", json_integer(q->asked));
    if (q->status && !q->unreported)
        json_object_set(body, "status", q->status);
    text = json_dumps(body, JSON_COMPACT);
    req.body = text;
    req.body_len = text ? strlen(text) : 0;
    code = pfc_http_send(http, &req, answer, err);
    json_decref(body);
    free(text);
    free(path);
    return code ? code : pfc_http_check(http, answer, err);
}

pfc_code pfc_job_ask(pfc_http *http, const pfc_machine *machine, double wait_s, pfc_question *q,
                     pfc_leased_job *out, bool *leased, pfc_err *err)
{
    pfc_http_answer answer = { 0 };
    pfc_err own = { 0 };
    json_t *doc = NULL;
    pfc_code code;

    *leased = false;
    q->asked++;
    code = send_question(http, machine, wait_s, q, &answer, &own);
    if (code == PFC_EINVAL && !q->unreported && strncmp(own.field, "status", 6) == 0) {
        q->unreported = true; /* a server from before reports */
        pfc_http_answer_clear(&answer);
        code = send_question(http, machine, wait_s, q, &answer, &own);
    }
    if (code == PFC_EINVAL && !q->unnumbered && strcmp(own.field, "asked") == 0) {
        q->unnumbered = true; /* a server from before questions had numbers */
        pfc_http_answer_clear(&answer);
        code = send_question(http, machine, wait_s, q, &answer, &own);
    }
    /* The call was cancelled, which is no answer. */
    if (code == PFC_ECONFLICT && answer.status != 409)
        code = PFC_EUNAVAIL;
    if (code == PFC_OK && answer.status != 204) {
        code = pfc_json_parse(pfc_buf_text(&answer.body), answer.body.len, &doc, &own);
        if (code == PFC_OK)
            code = pfc_job_from_json(doc, out, &own);
        *leased = code == PFC_OK;
        if (*leased && q->document)
            *q->document = json_dumps(doc, JSON_COMPACT);
    }
    pfc_http_answer_clear(&answer);
    json_decref(doc);
    if (code && err)
        *err = own;
    return code;
}

/* To /api/v1/jobs/ID/WHAT; takes `body`. */
static pfc_code tell(pfc_http *http, const pfc_leased_job *job, const char *what, json_t *body,
                     pfc_err *err)
{
    char path[64];
    int status = 0;
    pfc_code code;

    (void)snprintf(path, sizeof(path), "/api/v1/jobs/%lld/%s", (long long)job->id, what);
    code = pfc_http_json_as(http, job->token, "POST", path, body, &status, NULL, err);
    json_decref(body);
    /* The call was cancelled, which is no answer; 409 is one. */
    return code == PFC_ECONFLICT && status == 0 ? PFC_EUNAVAIL : code;
}

void pfc_job_verdict_add_run(pfc_job_verdict *v, const char *id)
{
    v->run_ids = pfc_grow(v->run_ids, v->runs, &v->cap, sizeof(*v->run_ids));
    (void)snprintf(v->run_ids[v->runs++], sizeof(*v->run_ids), "%s", id);
}

void pfc_job_verdict_clear(pfc_job_verdict *v)
{
    free(v->run_ids);
    *v = (pfc_job_verdict){ 0 };
}

pfc_code pfc_job_restart(pfc_http *http, const char *runner, pfc_leased_job *job, pfc_err *err)
{
    char path[64];
    json_t *body = json_pack("{s:s, s:s}", "lease", job->lease, "runner", runner), *answer = NULL;
    pfc_leased_job begun = { 0 };
    int status = 0;
    pfc_code code;

    (void)snprintf(path, sizeof(path), "/api/v1/jobs/%lld/restart", (long long)job->id);
    code = pfc_http_json_as(http, job->token, "POST", path, body, &status, &answer, err);
    if (code == PFC_ECONFLICT && status == 0)
        code = PFC_EUNAVAIL; /* the call was cancelled, which is no answer */
    if (!code)
        code = pfc_job_from_json(answer, &begun, err);
    json_decref(answer);
    json_decref(body);
    if (code)
        return code;
    pfc_job_clear(job);
    *job = begun;
    return PFC_OK;
}

static json_t *encode_verdict(const pfc_leased_job *job, const pfc_job_verdict *v)
{
    json_t *ids = json_array();

    for (size_t i = 0; i < v->runs; i++)
        json_array_append_new(ids, json_string(v->run_ids[i]));
    return json_pack("{s:s, s:s*, s:s*, s:o, s:s*, s:o*}", "lease", job->lease, "status", v->status,
                     "reason", v->reason[0] ? v->reason : NULL, "run_ids", ids, "session",
                     v->session[0] ? v->session : NULL, "rerun",
                     v->has_rerun ? pfc_rerun_to_json(&v->rerun) : NULL);
}

pfc_code pfc_job_complete(pfc_http *http, const pfc_leased_job *job, const pfc_job_verdict *verdict,
                          pfc_err *err)
{
    json_t *body = encode_verdict(job, verdict);
    pfc_err own = { 0 };
    pfc_code code = tell(http, job, "complete", json_incref(body), &own);

    if (code == PFC_EINVAL && strncmp(own.field, "rerun", 5) == 0) {
        json_object_del(body, "rerun"); /* a server from before the rules */
        own = (pfc_err){ 0 };
        code = tell(http, job, "complete", json_incref(body), &own);
    }
    json_decref(body);
    if (code && err)
        *err = own;
    return code;
}

pfc_code pfc_job_give_back(const char *url, const char *token, const pfc_leased_job *job,
                           pfc_err *err)
{
    const pfc_http_opts opts = {
        .url = url, .token = token, .connect_timeout_s = GIVE_BACK_S, .timeout_s = GIVE_BACK_S
    };
    pfc_http *http = NULL;
    pfc_code code = pfc_http_new(&opts, &http, err);

    if (!code)
        code = tell(http, job, "release", json_pack("{s:s}", "lease", job->lease), err);
    pfc_http_free(http);
    return code;
}

bool pfc_job_unsettled(pfc_code code)
{
    return pfc_http_retryable(code) || code == PFC_EDENIED;
}

static pfc_code write_kept(const char *dir, json_t *doc, pfc_err *err)
{
    char *path = pfc_fs_join(dir, KEPT_FILE), *text = json_dumps(doc, JSON_COMPACT);
    pfc_code code = text ? pfc_fs_write_atomic(path, text, strlen(text), 0600, err)
                         : pfc_err_set(err, PFC_EINVAL, "%s: not text", path);

    json_decref(doc);
    free(text);
    free(path);
    return code;
}

pfc_code pfc_job_keep(const char *dir, const pfc_leased_job *job, const pfc_job_verdict *verdict,
                      pfc_err *err)
{
    json_t *doc = encode_verdict(job, verdict);

    json_object_set_new(doc, "id", json_integer(job->id));
    if (job->token) /* the next process here may have the token of another job alone */
        json_object_set_new(doc, "token", json_string(job->token));
    return write_kept(dir, doc, err);
}

static pfc_code keep_question(const char *dir, const pfc_question *q, pfc_err *err)
{
    return write_kept(
        dir, json_pack("{s:s, s:I}", "lease", q->lease, "asked", (json_int_t)q->asked), err);
}

pfc_code pfc_lease_new(const char *dir, pfc_question *q, pfc_err *err)
{
    pfc_random_id(q->lease);
    q->asked = 0;
    return keep_question(dir, q, err);
}

/* The numbers continue above all that the last process can have used; only its first number was
 * stored. */
static pfc_code resume_question(const char *dir, const char *lease, int64_t asked, pfc_question *q,
                                pfc_err *err)
{
    if (asked > PFC_WIRE_MAX_ID - 2 * QUESTIONS)
        return pfc_lease_new(dir, q, err);
    memcpy(q->lease, lease, LEASE_LEN + 1);
    q->asked = asked + QUESTIONS;
    return keep_question(dir, q, err);
}

static pfc_code read_verdict(const json_t *doc, pfc_job_verdict *v, pfc_err *err)
{
    static const char *const known[] = { "done", "failed", "broken", "timed_out" };
    const json_t *ids = json_object_get(doc, "run_ids");
    char *status = NULL, *reason = NULL, *session = NULL;
    pfc_code code = pfc_json_string(doc, NULL, "status", false, 16, &status, err);

    if (!code)
        code = pfc_json_string(doc, NULL, "reason", false, PFC_ERR_MAX - 1, &reason, err);
    for (size_t i = 0; status && i < PFC_ARRAY_LEN(known); i++)
        v->status = strcmp(status, known[i]) == 0 ? known[i] : v->status;
    if (!code && status && !v->status)
        code = pfc_err_set(err, PFC_EINVAL, "status: '%s' is none", status);
    for (size_t i = 0; !code && i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));

        if (!id || strlen(id) != sizeof(v->run_ids[0]) - 1 || i == MAX_RUNS)
            code =
                pfc_err_set(err, PFC_EINVAL, "run_ids: expected at most %d of 32 digits", MAX_RUNS);
        else
            pfc_job_verdict_add_run(v, id);
    }
    if (!code)
        code = pfc_json_string(doc, NULL, "session", false, sizeof(v->session) - 1, &session, err);
    v->has_rerun = json_is_array(json_object_get(doc, "rerun"));
    if (!code)
        code = pfc_rerun_from_json(json_object_get(doc, "rerun"), &v->rerun, err);
    if (session)
        (void)snprintf(v->session, sizeof(v->session), "%s", session);
    if (reason)
        (void)snprintf(v->reason, sizeof(v->reason), "%s", reason);
    free(reason);
    free(status);
    free(session);
    return code;
}

/* Fills lease, and id with a verdict, else asked. PFC_ENOTFOUND: none is kept; PFC_EINVAL: not
 * readable. */
static pfc_code read_kept(const char *dir, pfc_leased_job *job, pfc_job_verdict *verdict,
                          int64_t *asked, pfc_err *err)
{
    char *path = pfc_fs_join(dir, KEPT_FILE), *text = NULL;
    pfc_code code = PFC_ENOTFOUND;
    json_t *doc = NULL;
    size_t len = 0;

    *job = (pfc_leased_job){ 0 };
    *verdict = (pfc_job_verdict){ 0 };
    if (!pfc_fs_exists(path))
        goto done;
    code = pfc_fs_read(path, MAX_KEPT, &text, &len, err);
    if (!code)
        code = pfc_json_parse(text, len, &doc, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "lease", true, MAX_LEASE, &job->lease, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "token", false, MAX_LEASE, &job->token, err);
    if (!code)
        code = read_verdict(doc, verdict, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "asked", false, 0, PFC_WIRE_MAX_ID, asked, err);
    if (!code && verdict->status)
        code = pfc_json_i64(doc, NULL, "id", true, 1, INT64_MAX, &job->id, err);
    if (!code && !verdict->status && strlen(job->lease) != LEASE_LEN)
        code = pfc_err_set(err, PFC_EINVAL, "lease: expected %d digits", LEASE_LEN);
    if (code) {
        pfc_job_clear(job);
        pfc_job_verdict_clear(verdict);
        (void)pfc_err_wrap(err, "%s", path);
        code = PFC_EINVAL;
    }
done:
    json_decref(doc);
    free(text);
    free(path);
    return code;
}

/* Fails a verdict "done" whose result was not stored. Runs of a session are in the spool under its
 * id. */
static void fail_refused(const pfc_spool *spool, pfc_job_verdict *v)
{
    const size_t len = v->session[0] ? 1 : v->runs;

    for (size_t i = 0; i < len && strcmp(v->status, "done") == 0; i++) {
        const char *id = v->session[0] ? v->session : v->run_ids[i];
        const pfc_spool_fate fate = pfc_spool_look(spool, id, v->reason);

        if (fate == PFC_SPOOL_REJECTED || fate == PFC_SPOOL_PUT_OFF)
            v->status = "failed";
    }
}

pfc_code pfc_job_settle(pfc_http *http, const char *dir, const pfc_spool *spool, pfc_question *q,
                        pfc_err *err)
{
    pfc_job_verdict v;
    pfc_leased_job job;
    int64_t asked = 0;
    pfc_code code = read_kept(dir, &job, &v, &asked, err);

    if (!code && !v.status) {
        if (resume_question(dir, job.lease, asked, q, err) != PFC_OK)
            pfc_log(PFC_WARN, "job_file_unavailable", "reason", err->msg);
        pfc_job_clear(&job);
        pfc_job_verdict_clear(&v);
        return PFC_OK;
    }
    if (code && code != PFC_ENOTFOUND)
        pfc_log(PFC_WARN, "job_file_removed", "reason", err->msg);
    if (!code) {
        fail_refused(spool, &v);
        code = pfc_job_complete(http, &job, &v, err);
        if (!pfc_job_unsettled(code))
            pfc_log(PFC_INFO, "earlier_job_completed", "job", job.id, "status", v.status, "reason",
                    code ? err->msg : v.reason);
        pfc_job_clear(&job);
        pfc_job_verdict_clear(&v);
        if (pfc_job_unsettled(code))
            return code;
    }
    /* The disk accepts no data. The lease has a name all the same, but no later process can read
     * it. */
    if (pfc_lease_new(dir, q, err) != PFC_OK)
        pfc_log(PFC_WARN, "job_file_unavailable", "reason", err->msg);
    return PFC_OK;
}
