/*
 * The loop. Each round: empty the spool, see that a result could be kept, ask for a job, do it.
 * In that order, so that nothing is measured that could not be stored, and what a killed
 * predecessor left is uploaded first.
 */
#include "runner/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "runner/built.h"
#include "runner/canary.h"
#include "runner/job.h"
#include "runner/priv.h"
#include "runner/spool.h"

#define DEFAULT_POLL_S    20.0
#define DEFAULT_BACKOFF_S 0.5
#define MAX_BACKOFF_S     60.0
#define ONCE_TRIES        5 /* with --once: questions to a server that does not answer */
#define MEASURE_TRIES     3
#define COMMAND_REPEATS   5 /* launches of a measuring command: each is a block of its own */
#define COMPLETE_TRIES    5
#define SLICE_S           0.5 /* between two looks at the lease while waiting */

typedef struct agent {
    const pfc_agent_opts *opts;
    pfc_agent_report *report;
    pfc_http *http;
    pfc_spool *spool;
    pfc_machine machine; /* name and class */
    pfc_rng rng;
    int lock_fd;
    unsigned failures;         /* in a row, for the back-off */
    char told[PFC_SHA256_HEX]; /* of what was last said to be built of what */
    pfc_question question;     /* its lease is "": what is kept must be settled first */
} agent;

static bool stopped(const agent *a)
{
    return pfc_stop_wait(a->opts->stop_fd, 0.0);
}

static bool http_cancelled(void *arg)
{
    return stopped(arg);
}

/* Waits after a failure: twice as long each time, with jitter, so that a hundred runners do not
 * come back at one instant; keeps the lease (may be NULL) meanwhile. True: stop. */
static bool pause_after_failure(agent *a, pfc_lease *lease, double at_least_s)
{
    double first = a->opts->backoff_s > 0 ? a->opts->backoff_s : DEFAULT_BACKOFF_S;
    double wait_s = fmin(MAX_BACKOFF_S, ldexp(first, (int)PFC_MIN(a->failures, 20u)));

    a->failures++;
    wait_s = fmax(wait_s * (0.5 + 0.5 * pfc_rng_double(&a->rng)), at_least_s);
    while (wait_s > 0.0) {
        double slice = fmin(wait_s, SLICE_S);

        if (pfc_stop_wait(a->opts->stop_fd, slice))
            return true;
        if (lease && pfc_lease_cancelled(lease))
            return true;
        wait_s -= slice;
    }
    return false;
}

/* Is there nothing more to wait for? */
static bool is_settled(const agent *a, const char *run_id)
{
    char reason[PFC_ERR_MAX];

    return run_id && pfc_spool_look(a->spool, run_id, reason) != PFC_SPOOL_WAITS;
}

/* Uploads until the spool is empty or the run (NULL: none) is no concern any more, for at most `tries`
 * failures (0: until stopped or the lease is lost). What remains stays on disk. */
static pfc_code drain(agent *a, pfc_lease *lease, const char *run_id, unsigned tries,
                      pfc_spool_report *report, pfc_err *err)
{
    pfc_code code;

    a->failures = 0;
    for (unsigned n = 1;; n++) {
        code = pfc_spool_upload(a->spool, a->http, report, err);
        if (code == PFC_OK) {
            a->failures = 0;
            return PFC_OK;
        }
        if (stopped(a) || n == tries || is_settled(a, run_id))
            return code;
        pfc_log(code == PFC_EDENIED ? PFC_ERROR : PFC_WARN, "upload failed, will be repeated",
                "reason", err->msg, "waiting", report->waiting);
        if (pause_after_failure(a, lease, report->retry_after_s))
            return code;
    }
}

/* The disk takes nothing: the result goes to the server straight from memory. */
static pfc_code send_unspooled(agent *a, pfc_lease *lease, const pfc_run *run, pfc_err *err)
{
    pfc_code code;

    a->failures = 0;
    for (;;) {
        code = pfc_spool_bypass(a->http, run, err);
        if (code == PFC_OK || !pfc_http_retryable(code) || stopped(a))
            return code;
        pfc_log(PFC_ERROR, "result is in memory only and the server is away", "reason", err->msg);
        if (pause_after_failure(a, lease, 0.0))
            return code;
    }
}

static void set_verdict(pfc_verdict *v, const char *status, const char *reason)
{
    v->status = status;
    (void)snprintf(v->reason, sizeof(v->reason), "%s", reason);
}

/* Without it, a killed runner's job is measured again; no reason not to measure. */
static void keep(agent *a, const pfc_job *job, const pfc_verdict *v)
{
    pfc_err err = { 0 };

    if (pfc_job_keep(a->opts->dir, job, v, &err) != PFC_OK)
        pfc_log(PFC_WARN, "the job in hand is not kept", "job", job->id, "reason", err.msg);
}

/* `whole`: with this run the job is done. */
static void store(agent *a, pfc_lease *lease, const pfc_run *run, bool whole, pfc_verdict *v)
{
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    (void)snprintf(v->run_ids[v->runs++], sizeof(v->run_ids[0]), "%s", run->id);
    set_verdict(v, "done", "");
    if (pfc_spool_add(a->spool, run, &err) != PFC_OK) {
        pfc_log(PFC_ERROR, "spool refuses a result", "reason", err.msg);
        if (send_unspooled(a, lease, run, &err) != PFC_OK)
            set_verdict(v, "failed", err.msg);
        return;
    }
    if (whole)
        keep(a, lease->job, v);
    lease->progress = "uploading";
    (void)drain(a, lease, run->id, a->opts->once ? ONCE_TRIES : 0, &report, &err);
    switch (pfc_spool_look(a->spool, run->id, reason)) {
    case PFC_SPOOL_GONE:
        break;
    case PFC_SPOOL_WAITS: /* on disk: the next round or the next start uploads it */
        set_verdict(v, NULL, err.msg);
        break;
    case PFC_SPOOL_PUT_OFF:
    case PFC_SPOOL_REJECTED:
        set_verdict(v, "failed", reason);
        break;
    }
}

static void label_run(const pfc_job *job, pfc_run *run)
{
    free(run->project);
    run->project = pfc_strdup(job->project);
    free(run->branch);
    run->branch = pfc_strdup(job->branch);
    run->job_id = job->id;
    run->job_fence = job->fence;
}

/* One launch, tried again when it failed for a reason that may pass; twice the same reason will not pass. */
static pfc_code launch(pfc_workspace *ws, const pfc_measure_opts *opts, const pfc_select *wanted,
                       const pfc_commit_id *id, const pfc_job *job, pfc_outcome *out, pfc_err *err)
{
    char before[sizeof(out->reason)] = "";
    pfc_code code = PFC_OK;

    for (int n = 1; n <= MEASURE_TRIES; n++) {
        code =
            pfc_workspace_measure_some(ws, opts, wanted, id, (unsigned)job->task.layout, out, err);
        if (code || (out->kind != PFC_OUTCOME_FAILED && out->kind != PFC_OUTCOME_TIMED_OUT))
            return code;
        pfc_log(PFC_WARN, "measurement failed", "job", job->id, "try", n, "reason", out->reason);
        if (n > 1 && out->kind == PFC_OUTCOME_FAILED && strcmp(before, out->reason) == 0)
            return code;
        (void)snprintf(before, sizeof(before), "%s", out->reason);
        if (n < MEASURE_TRIES)
            pfc_outcome_clear(out);
    }
    return code;
}

/* What the benchmarks are built from, for the suspects of an alert. That it cannot be told changes no
 * result; what was said last is not said again. */
static void tell_sources(agent *a, const pfc_job *job, const pfc_commit_id *id,
                         const pfc_conf *conf, const pfc_built *built)
{
    char *path = pfc_format("/api/v1/projects/%s/sources", job->project);
    json_t *body = pfc_built_to_json(built, "", conf);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    char *whole = pfc_format("%s %s", path, text ? text : "");
    char hash[PFC_SHA256_HEX];
    pfc_err err = { 0 };

    pfc_sha256_hex(whole, strlen(whole), hash);
    if (text && strcmp(hash, a->told) != 0) {
        json_object_set_new(body, "commit", json_string(id->hex));
        if (pfc_http_json(a->http, "POST", path, body, NULL, NULL, &err))
            pfc_log(PFC_WARN, "what was built is not told", "reason", err.msg);
        else
            memcpy(a->told, hash, sizeof(hash));
    }
    json_decref(body);
    free(whole);
    free(text);
    free(path);
}

/* A build with another layout has other code, and says nothing of the commit's. */
static void look_at_build(agent *a, pfc_workspace *ws, const pfc_conf *conf,
                          const pfc_measure_opts *opts, const pfc_commit_id *id, const pfc_job *job,
                          pfc_run *run)
{
    const bool whole_suite = !job->task.metric && !job->task.benchmark && !job->task.pair &&
                             !job->task.filter && !job->task.backends_len;
    pfc_outcome prepared = { 0 };
    pfc_built built = { 0 };
    char *dir = NULL;

    if (job->task.layout || pfc_workspace_prepare(ws, id, 0, &dir, &prepared, NULL) != PFC_OK ||
        !dir)
        goto done;
    pfc_built_look(dir, opts, &built);
    pfc_built_mark(&built, run);
    if (whole_suite)
        tell_sources(a, job, id, conf, &built);
    pfc_built_clear(&built);
done:
    pfc_outcome_clear(&prepared);
    free(dir);
}

/* A suite launches its own processes; a command is one, and the variance between launches is not
 * the one within. What was measured before a launch failed is not kept: a run is whole or not. */
static pfc_code measure(agent *a, pfc_workspace *ws, const pfc_conf *conf, const pfc_commit_id *id,
                        pfc_lease *lease, pfc_outcome *out, pfc_err *err)
{
    const pfc_task *task = &lease->job->task;
    char *filter = pfc_measure_filter(task->benchmark);
    const char *backend = task->backend && task->backend[0] ? task->backend : NULL;
    const pfc_measure_opts opts = {
        .measure = conf->measure,
        .suite = conf->suite,
        .bench = a->opts->bench,
        .metric = conf->metric,
        .unit = conf->unit,
        .has_direction = conf->has_better,
        .higher_is_better = conf->higher_is_better,
        .directions = conf->directions,
        .directions_len = conf->directions_len,
        .any_direction = task->metric != NULL, /* of a bisection: its ends tell the direction */
        .time = conf->time,
        .machine_class = a->machine.machine_class,
        .machine_name = a->machine.name,
        .timeout_s = conf->timeout_s,
        .wait_quiet = a->opts->wait_quiet,
        .cancelled = pfc_lease_cancelled,
        .cancelled_arg = lease,
    };
    pfc_select wanted = { .filter = task->filter,
                          .backends = (const char *const *)task->backends,
                          .backends_len = task->backends_len };
    const int64_t launches = task->launches > 0 ? task->launches : COMMAND_REPEATS;
    const int64_t repeats = conf->measure ? launches : 1;
    pfc_canary canary = { 0 };
    pfc_code code = PFC_OK;

    /* A search names one benchmark, which of a command's output is read by who searches. */
    if (!conf->measure && !wanted.filter)
        wanted.filter = filter;
    if (!conf->measure && !wanted.backends_len && backend) {
        wanted.backends = &backend;
        wanted.backends_len = 1;
    }
    lease->progress = "building and measuring";
    if (conf->measure)
        pfc_canary_begin(&canary, NULL);
    for (int64_t n = 0; n < repeats && !code; n++) {
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
    if (!code && out->kind == PFC_OUTCOME_MEASURED)
        look_at_build(a, ws, conf, &opts, id, lease->job, out->run);
    free(filter);
    return code;
}

/* Also a suite without a value: the service keeps what was broken, and why. */
static void judge(agent *a, pfc_lease *lease, pfc_outcome *out, bool whole, pfc_verdict *v)
{
    const bool measured = out->kind == PFC_OUTCOME_MEASURED;

    if (measured || (out->kind == PFC_OUTCOME_BROKEN && out->run)) {
        label_run(lease->job, out->run);
        store(a, lease, out->run, whole && measured, v);
    }
    if (out->kind == PFC_OUTCOME_BROKEN && (!out->run || v->status))
        set_verdict(v, "broken", out->reason);
    else if (out->kind == PFC_OUTCOME_FAILED)
        set_verdict(v, "failed", out->reason);
    else if (out->kind == PFC_OUTCOME_TIMED_OUT)
        set_verdict(v, "timed_out", out->reason);
    else if (out->kind == PFC_OUTCOME_CANCELLED)
        set_verdict(v, NULL, out->reason);
}

/* Measures what was leased: one commit, or a pair of them in the order that was asked for, both built
 * before either is measured, so that nothing lies between the two. */
static pfc_code take_turns(agent *a, pfc_workspace *ws, const pfc_conf *conf,
                           const pfc_commit_id *id, pfc_lease *lease, pfc_verdict *v, pfc_err *err)
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

        /* A build that breaks is found in the cache, and said, when its turn comes. */
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

/* Everything between lease and completion; an error is a sentence for the server. */
static pfc_code work_on(agent *a, const pfc_job *job, pfc_lease *lease, pfc_verdict *v,
                        pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    char *dir = NULL;
    pfc_workspace_opts opts = { .source = job->source ? job->source : "",
                                .build_timeout_s = a->opts->timeout_s,
                                .cancelled = pfc_lease_cancelled,
                                .cancelled_arg = lease };
    pfc_workspace *ws = NULL;
    pfc_conf conf = { 0 };
    pfc_commit_id id;
    pfc_code code;

    pfc_sha256_hex(opts.source, strlen(opts.source), hash);
    dir = pfc_format("%s/cache-%.12s", a->opts->dir, hash);
    opts.dir = dir;
    lease->progress = "fetching";
    code = pfc_workspace_open(&opts, &ws, err);
    if (code == PFC_OK)
        code = pfc_workspace_find(ws, job->commit, &id, err);
    if (code == PFC_OK)
        code = pfc_job_settings(job, pfc_workspace_repo(ws), &conf, err);
    if (code == PFC_OK) {
        if (conf.timeout_s <= 0)
            conf.timeout_s = a->opts->timeout_s;
        pfc_workspace_build_by(ws, conf.build, conf.relink, conf.timeout_s);
        code = take_turns(a, ws, &conf, &id, lease, v, err);
    }
    pfc_workspace_close(ws);
    pfc_conf_clear(&conf);
    free(dir);
    return code;
}

static void renew_lease(agent *a)
{
    pfc_err err = { 0 };

    if (pfc_lease_new(a->opts->dir, &a->question, &err) != PFC_OK)
        pfc_log(PFC_WARN, "the job in hand will not be kept", "reason", err.msg);
}

static void complete(agent *a, const pfc_job *job, pfc_lease *lease, const pfc_verdict *v)
{
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    a->failures = 0;
    for (int n = 1; n <= COMPLETE_TRIES; n++) {
        code = pfc_job_complete(a->http, job, v, &err);
        if (!pfc_http_retryable(code) || stopped(a) || pause_after_failure(a, lease, 0.0))
            break;
    }
    a->failures = 0;
    if (pfc_job_unsettled(code))
        keep(a, job, v);
    else
        renew_lease(a);
    if (code)
        pfc_log(PFC_WARN, "job not completed", "job", job->id, "reason", err.msg);
    else
        pfc_log(PFC_INFO, "job completed", "job", job->id, "status", v->status, "reason",
                v->reason);
}

static void do_job(agent *a, const pfc_job *job)
{
    pfc_lease lease = { .http = a->http,
                        .job = job,
                        .stop_fd = a->opts->stop_fd,
                        .next_beat_ns = pfc_clock_ns() + (int64_t)(job->lease_s / 3.0 * 1e9) };
    pfc_verdict v = { 0 };
    pfc_err err = { 0 };

    a->report->jobs++;
    pfc_log(PFC_INFO, "job leased", "job", job->id, "project", job->project, "commit", job->commit);
    a->question.lease[0] = '\0';
    if (work_on(a, job, &lease, &v, &err) != PFC_OK)
        set_verdict(&v, "failed", err.msg);
    if (lease.lost || lease.cancelled || lease.stopped || !v.status) {
        a->report->abandoned++;
        pfc_log(PFC_INFO, "job left", "job", job->id, "reason",
                lease.lost        ? "lease lost"
                : lease.cancelled ? "cancelled"
                : lease.stopped   ? "stopped"
                                  : v.reason);
        /* A cancelled one ends when it is given back: nobody waits for its lease to run out. With a run
         * in the spool the next start ends one that was stopped. */
        if ((lease.cancelled || (lease.stopped && !v.runs)) && !lease.lost &&
            pfc_job_give_back(a->opts->url, a->opts->token, job, &err) != PFC_OK)
            pfc_log(PFC_WARN, "job not given back", "job", job->id, "reason", err.msg);
        if (lease.lost || lease.cancelled)
            renew_lease(a);
        return;
    }
    if (strcmp(v.status, "done") == 0)
        a->report->done++;
    else if (strcmp(v.status, "broken") == 0)
        a->report->broken++;
    else
        a->report->failed++;
    complete(a, job, &lease, &v);
}

/* *leased false and PFC_OK: there is no job now. */
static pfc_code ask_for_job(agent *a, pfc_job *job, bool *leased, pfc_err *err)
{
    const double wanted_s = a->opts->poll_s > 0 ? a->opts->poll_s : DEFAULT_POLL_S;
    const double poll_s = a->opts->once ? 0.0 : fmin(fmax(wanted_s, 1.0), 30.0);
    const int64_t asked_ns = pfc_clock_ns();
    pfc_code code = pfc_job_ask(a->http, &a->machine, poll_s, &a->question, job, leased, err);

    if (code == PFC_ECONFLICT) {
        renew_lease(a); /* its numbers and ours have parted: a work folder that was put back */
        code = PFC_EUNAVAIL;
    }
    /* A server that does not hold the question open is not asked a thousand times a second; whether we
     * are stopped meanwhile is looked at by the loop. */
    if (code == PFC_OK && !*leased && !a->opts->once && pfc_clock_ns() - asked_ns < PFC_NS_PER_S)
        (void)pfc_stop_wait(a->opts->stop_fd, 1.0);
    return code;
}

/* One round; PFC_OK and *leased, or why there is no job. */
static pfc_code next_job(agent *a, pfc_job *job, bool *leased, pfc_err *err)
{
    pfc_spool_report report;
    pfc_code code;

    *leased = false;
    code = drain(a, NULL, NULL, 1, &report, err);
    if (code && report.only_put_off)
        code = PFC_OK; /* the spool has told of them, and looks after them */
    if (code == PFC_OK && !a->question.lease[0])
        code = pfc_job_settle(a->http, a->opts->dir, a->spool, &a->question, err);
    if (code == PFC_OK)
        code = pfc_spool_probe(a->spool, err);
    return code ? code : ask_for_job(a, job, leased, err);
}

static pfc_code loop(agent *a, pfc_err *err)
{
    unsigned tries = 0;

    while (!stopped(a)) {
        pfc_job job = { 0 };
        bool leased = false;
        unsigned before = a->failures;
        pfc_code code = next_job(a, &job, &leased, err);

        a->failures = code ? before : 0;
        if (leased) {
            do_job(a, &job);
            pfc_job_clear(&job);
        }
        if (stopped(a))
            break;
        if (code) {
            if (a->opts->once && (++tries >= ONCE_TRIES || !pfc_http_retryable(code)))
                return code;
            pfc_log(PFC_ERROR, "no job can be taken, will be repeated", "reason", err->msg);
            if (pause_after_failure(a, NULL, 0.0))
                break;
        } else if (a->opts->once) {
            break;
        }
    }
    return PFC_OK;
}

static pfc_code take_lock(agent *a, pfc_err *err)
{
    char *path = pfc_fs_join(a->opts->dir, "lock");
    pfc_code code = PFC_OK;

    a->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock_fd < 0)
        code = pfc_err_set(err, PFC_EIO, "open %s: %s", path, strerror(errno));
    else if (flock(a->lock_fd, LOCK_EX | LOCK_NB) != 0)
        code = pfc_err_set(err, PFC_ECONFLICT, "another runner works in %s", a->opts->dir);
    free(path);
    return code;
}

pfc_code pfc_agent_run(const pfc_agent_opts *opts, pfc_agent_report *report, pfc_err *err)
{
    agent a = { .opts = opts, .report = report, .lock_fd = -1 };
    const pfc_http_opts http = {
        .url = opts->url, .token = opts->token, .cancelled = http_cancelled, .cancelled_arg = &a
    };
    pfc_err own = { 0 };
    char *spool_dir = pfc_fs_join(opts->dir, PFC_AGENT_SPOOL);
    pfc_code code;

    *report = (pfc_agent_report){ 0 };
    pfc_rng_seed(&a.rng, opts->seed);
    pfc_host_describe(NULL, &a.machine, opts->name, opts->machine_class);
    code = pfc_fs_mkdirs(opts->dir, 0700, &own);
    if (code == PFC_OK)
        code = take_lock(&a, &own);
    if (code == PFC_OK)
        code = pfc_spool_open(spool_dir, &a.spool, &own);
    if (code == PFC_OK && opts->backoff_s > 0)
        pfc_spool_backoff(a.spool, opts->backoff_s);
    if (code == PFC_OK)
        code = pfc_http_new(&http, &a.http, &own);
    if (code == PFC_OK) {
        code = loop(&a, &own);
        report->waiting = pfc_spool_waiting(a.spool);
    }
    pfc_http_free(a.http);
    pfc_spool_close(a.spool);
    if (a.lock_fd >= 0)
        (void)close(a.lock_fd);
    pfc_machine_clear(&a.machine);
    free(spool_dir);
    if (code && err)
        *err = own;
    return code;
}
