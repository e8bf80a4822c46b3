/*
 * Measuring what was leased, commit by commit.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/git/codeowners.h"
#include "runner/agent/agent_priv.h"
#include "runner/measure/canary.h"
#include "runner/workspace/workspace_priv.h"

#define MEASURE_TRIES   3
#define COMMAND_REPEATS 5 /* launches of a measuring command: each is a block of its own */

void pfc_agent_label(const pfc_agent *a, const pfc_leased_job *job, pfc_run *run)
{
    free(run->project);
    run->project = pfc_strdup(job->project);
    free(run->branch);
    run->branch = pfc_strdup(job->branch);
    run->job_id = job->id;
    run->job_fence = job->fence;
    run->unsandboxed = !a->sandbox;
}

/* Makes one launch, and tries again if the failure may be temporary. The same reason twice is taken
 * as permanent. */
static pfc_code launch(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                       const pfc_benchmark_filter *wanted, const pfc_commit_id *id,
                       const pfc_leased_job *job, pfc_outcome *out, pfc_err *err)
{
    char before[sizeof(out->reason)] = "";
    pfc_code code = PFC_OK;

    for (int n = 1; n <= MEASURE_TRIES; n++) {
        code =
            pfc_workspace_measure_some(ws, opts, wanted, id, (unsigned)job->task.layout, out, err);
        if (code || (out->kind != PFC_OUTCOME_FAILED && out->kind != PFC_OUTCOME_TIMED_OUT))
            return code;
        pfc_log(PFC_WARN, "measurement_failed", "job", job->id, "try", n, "reason", out->reason);
        /* A machine that did not become quiet within the operator's limit is not awaited again, or
         * each commit would wait as long. */
        if (out->unavailable ||
            (n > 1 && out->kind == PFC_OUTCOME_FAILED && strcmp(before, out->reason) == 0))
            return code;
        (void)snprintf(before, sizeof(before), "%s", out->reason);
        if (n < MEASURE_TRIES)
            pfc_outcome_clear(out);
    }
    return code;
}

void pfc_agent_send_sources(pfc_agent *a, const pfc_leased_job *job, const pfc_commit_id *id,
                            const pfc_conf *conf, const pfc_built *built)
{
    char *path = pfc_format("/api/v1/projects/%s/sources", job->project);
    json_t *body = pfc_built_to_json(built, "", conf);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    char *whole = pfc_format("%s %s", path, text ? text : "");
    char hash[PFC_SHA256_HEX];
    pfc_err err = { 0 };

    pfc_sha256_hex(whole, strlen(whole), hash);
    if (text && strcmp(hash, a->sources_hash) != 0) {
        json_object_set_new(body, "commit", json_string(id->hex));
        if (pfc_http_json_as(a->http, job->token, "POST", path, body, NULL, NULL, &err))
            pfc_log(PFC_WARN, "sources_not_sent", "reason", err.msg);
        else
            memcpy(a->sources_hash, hash, sizeof(hash));
    }
    json_decref(body);
    free(whole);
    free(text);
    free(path);
}

void pfc_agent_send_owners(pfc_agent *a, const pfc_leased_job *job, pfc_repo *repo,
                           const pfc_commit_id *id)
{
    pfc_err err = { 0 };
    json_t *body = pfc_codeowners_document(repo, id, &err), *answer = NULL;
    char *path = pfc_format("/api/v1/projects/%s/codeowners", job->project);
    const char *text = json_string_value(json_object_get(body, "text"));
    char *whole = pfc_format("%s %s", path, text ? text : "");
    char hash[PFC_SHA256_HEX];
    pfc_code code = body ? PFC_OK : PFC_EINVAL;

    pfc_sha256_hex(whole, strlen(whole), hash);
    if (body && strcmp(hash, a->owners_hash) != 0)
        code = pfc_http_json_as(a->http, job->token, "POST", path, body, NULL, &answer, &err);
    if (code && code != PFC_ENOTFOUND) /* the server is too old for owners */
        pfc_log(PFC_WARN, "codeowners_not_sent", "reason", err.msg);
    /* One that was refused, of a branch, may be that of the next commit of the main branch. */
    if (json_is_true(json_object_get(answer, "stored")))
        memcpy(a->owners_hash, hash, sizeof(hash));
    json_decref(answer);
    json_decref(body);
    free(whole);
    free(path);
}

bool pfc_agent_whole_suite(const pfc_task *task)
{
    return !task->metric && !task->benchmark && !task->pair && !task->filter && !task->backends_len;
}

/* A build with another layout has other object code, which cannot be compared with that of other
 * commits. */
static void look_at_build(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf,
                          const pfc_commit_measure_opts *opts, const pfc_commit_id *id,
                          const pfc_leased_job *job, pfc_run *run)
{
    pfc_outcome prepared = { 0 };
    pfc_built built = { 0 };
    char *dir = NULL;

    if (job->task.layout || pfc_workspace_prepare(ws, id, 0, &dir, &prepared, NULL) != PFC_OK ||
        !dir)
        goto done;
    pfc_built_look(dir, opts, &built);
    pfc_built_mark(&built, run);
    if (pfc_agent_whole_suite(&job->task))
        pfc_agent_send_sources(a, job, id, conf, &built);
    if (pfc_agent_whole_suite(&job->task))
        pfc_agent_send_owners(a, job, pfc_workspace_repo(ws), id);
    pfc_built_clear(&built);
done:
    pfc_outcome_clear(&prepared);
    free(dir);
}

pfc_commit_measure_opts pfc_agent_measure_opts(const pfc_agent *a, const pfc_conf *conf,
                                               pfc_lease *lease)
{
    return (pfc_commit_measure_opts){
        .measure = conf->measure,
        .suite = conf->suite,
        .bench = a->opts->bench,
        .metric = conf->metric,
        .unit = conf->unit,
        .has_direction = conf->has_better,
        .higher_is_better = conf->higher_is_better,
        .directions = conf->directions,
        .directions_len = conf->directions_len,
        .any_direction =
            lease->job->task.metric != NULL, /* of a bisection: its ends tell the direction */
        .time = conf->time,
        .machine_class = a->machine.machine_class,
        .machine_name = a->machine.name,
        .timeout_s = conf->timeout_s,
        .wait_quiet = a->opts->wait_quiet,
        .sandbox = a->sandbox,
        .cgroups = a->cgroups,
        .cancelled = pfc_lease_cancelled,
        .cancelled_arg = lease,
    };
}

/* Before a command: its build, then a quiet machine where the operator wants to wait for one, then
 * the first reading of the canary, so that nothing but the command is between the two readings.
 * out->kind is MEASURED when the command may run. */
static pfc_code make_ready(pfc_agent *a, pfc_workspace *ws, const pfc_commit_id *id,
                           pfc_lease *lease, pfc_canary *canary, pfc_outcome *out, pfc_err *err)
{
    const pfc_quiet_gate gate = { .wait = a->opts->wait_quiet,
                                  .cancelled = pfc_lease_cancelled,
                                  .cancelled_arg = lease };
    pfc_err why = { 0 };
    bool cancelled = false;
    char *dir = NULL;
    pfc_code code =
        pfc_workspace_prepare(ws, id, (unsigned)lease->job->task.layout, &dir, out, err);

    free(dir);
    if (code || out->kind != PFC_OUTCOME_MEASURED)
        return code;
    if (gate.wait) {
        lease->progress = "waiting for a quiet machine";
        if (pfc_quiet_wait_for(&gate, &cancelled, &why)) {
            out->kind = PFC_OUTCOME_FAILED;
            out->unavailable = true;
            (void)snprintf(out->reason, sizeof(out->reason), "%.390s", why.msg);
        } else if (cancelled) {
            out->kind = PFC_OUTCOME_CANCELLED;
        }
        lease->progress = "building and measuring";
    }
    if (out->kind == PFC_OUTCOME_MEASURED)
        pfc_canary_begin(canary, NULL);
    return PFC_OK;
}

/* One more launch, whose values are dropped: tracing slows the command. Without its traces the run
 * is complete. */
static void trace_command(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                          const pfc_benchmark_filter *wanted, const pfc_commit_id *id,
                          const pfc_leased_job *job, pfc_outcome *out)
{
    pfc_commit_measure_opts traced = *opts;
    pfc_outcome extra = { 0 };
    pfc_err err = { 0 };

    traced.traces = true;
    if (pfc_workspace_measure_some(ws, &traced, wanted, id, (unsigned)job->task.layout, &extra,
                                   &err))
        pfc_log(PFC_WARN, "traces_missing", "job", job->id, "reason", err.msg);
    else if (extra.kind != PFC_OUTCOME_MEASURED)
        pfc_log(PFC_WARN, "traces_missing", "job", job->id, "reason", extra.reason);
    out->traces = extra.traces;
    out->traces_len = extra.traces_len;
    extra.traces = NULL;
    extra.traces_len = 0;
    pfc_outcome_clear(&extra);
}

/* A suite launches its own processes. A command is started several times, because the variance
 * between launches differs from the variance within one. If a launch fails, the earlier ones are
 * dropped: a run is complete or absent. */
static pfc_code measure(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf,
                        const pfc_commit_id *id, pfc_lease *lease, pfc_outcome *out, pfc_err *err)
{
    const pfc_task *task = &lease->job->task;
    char *filter = pfc_measure_filter(task->benchmark);
    const char *backend = task->backend && task->backend[0] ? task->backend : NULL;
    pfc_commit_measure_opts opts = pfc_agent_measure_opts(a, conf, lease);
    pfc_benchmark_filter wanted = { .filter = task->filter,
                                    .backends = (const char *const *)task->backends,
                                    .backends_len = task->backends_len };
    const int64_t launches = task->launches > 0 ? task->launches : COMMAND_REPEATS;
    const int64_t repeats = conf->measure ? launches : 1;
    pfc_canary canary = { 0 };
    pfc_code code = PFC_OK;

    /* A search names one benchmark; the service selects it from the command's output. */
    if (!conf->measure && !wanted.filter)
        wanted.filter = filter;
    if (!conf->measure && !wanted.backends_len && backend) {
        wanted.backends = &backend;
        wanted.backends_len = 1;
    }
    /* perfci-bench traces in runs of their own, so its numbers stay valid. */
    opts.traces = task->traces && !conf->measure;
    lease->progress = "building and measuring";
    if (conf->measure)
        code = make_ready(a, ws, id, lease, &canary, out, err);
    for (int64_t n = 0; n < repeats && !code && out->kind == PFC_OUTCOME_MEASURED; n++) {
        pfc_outcome next = { 0 };

        code = launch(ws, &opts, &wanted, id, lease->job, &next, err);
        if (code || next.kind != PFC_OUTCOME_MEASURED || n == 0) {
            pfc_outcome_clear(out);
            *out = next;
            if (code || next.kind != PFC_OUTCOME_MEASURED)
                break;
        } else {
            pfc_run_merge(out->run, next.run);
            next.run = NULL;
            pfc_outcome_clear(&next);
        }
    }
    if (!code && out->kind == PFC_OUTCOME_MEASURED && pfc_canary_end(&canary, &out->run, 1, NULL))
        pfc_log(PFC_WARN, "canary_moved", "job", lease->job->id);
    pfc_canary_clear(&canary);
    if (!code && out->kind == PFC_OUTCOME_MEASURED && task->traces && conf->measure)
        trace_command(ws, &opts, &wanted, id, lease->job, out);
    if (!code && out->kind == PFC_OUTCOME_MEASURED)
        look_at_build(a, ws, conf, &opts, id, lease->job, out->run);
    free(filter);
    return code;
}

/* Also a suite without a value: the service keeps what was broken, and why. */
static void judge(pfc_agent *a, pfc_lease *lease, pfc_outcome *out, bool whole, pfc_job_verdict *v)
{
    const bool measured = out->kind == PFC_OUTCOME_MEASURED;

    if (measured || (out->kind == PFC_OUTCOME_BROKEN && out->run)) {
        pfc_agent_label(a, lease->job, out->run);
        pfc_agent_store(a, lease, out, whole && measured, v);
    }
    if (out->kind == PFC_OUTCOME_BROKEN && (!out->run || v->status))
        pfc_agent_verdict(v, "broken", out->reason);
    else if (out->kind == PFC_OUTCOME_FAILED)
        pfc_agent_verdict(v, "failed", out->reason);
    else if (out->kind == PFC_OUTCOME_TIMED_OUT)
        pfc_agent_verdict(v, "timed_out", out->reason);
    else if (out->kind == PFC_OUTCOME_CANCELLED)
        pfc_agent_verdict(v, NULL, out->reason);
}

pfc_code pfc_agent_measure(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf,
                           const pfc_commit_id *id, pfc_lease *lease, pfc_job_verdict *v,
                           pfc_err *err)
{
    const pfc_task *task = &lease->job->task;
    pfc_commit_id sides[2] = { *id, *id };
    const size_t len = task->pair ? 2 : 1;
    pfc_code code = PFC_OK;

    if (task->pair)
        code = pfc_workspace_find(ws, task->pair, &sides[task->pair_first ? 0 : 1], err);
    for (size_t i = 0; i < len && !code && task->pair; i++) {
        pfc_outcome built = { 0 };
        char *dir = NULL;

        /* A broken build is found in the cache and reported when its commit is measured. */
        lease->progress = "building both";
        code = pfc_workspace_prepare(ws, &sides[i], (unsigned)task->layout, &dir, &built, err);
        pfc_outcome_clear(&built);
        free(dir);
    }
    for (size_t i = 0; i < len && !code; i++) {
        pfc_outcome out = { 0 };

        code = measure(a, ws, conf, &sides[i], lease, &out, err);
        if (!code)
            judge(a, lease, &out, i + 1 == len, v);
        pfc_outcome_clear(&out);
        if (!v->status || strcmp(v->status, "done") != 0)
            break;
    }
    return code;
}
