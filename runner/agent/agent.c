/*
 * The loop. Each round: empty the spool, see that a result could be kept, ask for a job, do it.
 * In that order, so that nothing is measured that could not be stored, and what a killed
 * predecessor left is uploaded first.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/agent/agent_priv.h"
#include "runner/agent/machine_lock.h"
#include "runner/workspace/workspace_priv.h"

#define DEFAULT_POLL_S 20.0
#define COMPLETE_TRIES 5

/* The branch's perfci.yaml requests the network, and the operator must have allowed it. */
static bool may_use_network(const pfc_agent *a, const pfc_leased_job *job, const pfc_conf *conf)
{
    const bool stranger = pfc_streq(job->kind, "pull_request");
    const bool asked = conf->build_network == PFC_BUILD_NETWORK_ALL ||
                       (conf->build_network == PFC_BUILD_NETWORK_BRANCHES && !stranger);

    if (asked && !a->opts->build_network)
        pfc_log(PFC_INFO, "build_network_not_allowed", "job", job->id, "hint",
                "start the runner with --build-network");
    return asked && a->opts->build_network;
}

/* Everything between lease and completion; an error is a sentence for the server. */
static pfc_code work_on(pfc_agent *a, const pfc_leased_job *job, pfc_lease *lease,
                        pfc_job_verdict *v, pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    char *dir = NULL;
    pfc_workspace_opts opts = { .source = job->source ? job->source : "",
                                .build_timeout_s = a->opts->timeout_s,
                                .sandbox = a->sandbox,
                                .cgroups = a->cgroups,
                                .cancelled = pfc_lease_cancelled,
                                .cancelled_arg = lease };
    pfc_workspace *ws = NULL;
    pfc_conf conf = { 0 };
    pfc_commit_id id;
    pfc_code code;

    pfc_sha256_hex(opts.source, strlen(opts.source), hash);
    dir = pfc_format("%s/cache-%.12s", a->opts->dir, hash);
    opts.dir = dir;
    if (job->task.blocks) /* all builds of a session stay */
        opts.max_checkouts =
            PFC_MAX(PFC_WORKSPACE_CHECKOUTS,
                    job->task.blocks->commits_len + job->task.blocks->anchors_len + 2);
    lease->progress = "fetching";
    code = pfc_workspace_open(&opts, &ws, err);
    if (code == PFC_OK)
        code = pfc_workspace_find(ws, job->commit, &id, err);
    if (code == PFC_OK)
        code = pfc_job_settings(job, pfc_workspace_repo(ws), &conf, err);
    if (code == PFC_OK) {
        v->has_rerun = conf.path != NULL;
        v->rerun = conf.rerun;
        if (conf.timeout_s <= 0)
            conf.timeout_s = a->opts->timeout_s;
        pfc_workspace_build_by(ws, conf.build, conf.relink, conf.timeout_s);
        pfc_workspace_build_network(ws, may_use_network(a, job, &conf));
        code = job->task.blocks ? pfc_agent_session(a, ws, &conf, lease, v, err)
                                : pfc_agent_measure(a, ws, &conf, &id, lease, v, err);
    }
    pfc_workspace_close(ws);
    pfc_conf_clear(&conf);
    free(dir);
    return code;
}

static void renew_lease(pfc_agent *a)
{
    pfc_err err = { 0 };

    if (pfc_lease_new(a->opts->dir, &a->question, &err) != PFC_OK)
        pfc_log(PFC_WARN, "job_file_unavailable", "reason", err.msg);
}

static void complete(pfc_agent *a, const pfc_leased_job *job, pfc_lease *lease,
                     const pfc_job_verdict *v)
{
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    a->failures = 0;
    for (int n = 1; n <= COMPLETE_TRIES; n++) {
        code = pfc_job_complete(a->http, job, v, &err);
        if (!pfc_http_retryable(code) || pfc_agent_stopped(a) || pfc_agent_pause(a, lease, 0.0))
            break;
    }
    a->failures = 0;
    if (pfc_job_unsettled(code))
        pfc_agent_keep(a, job, v);
    else
        renew_lease(a);
    if (code)
        pfc_log(PFC_WARN, "job_not_completed", "job", job->id, "reason", err.msg);
    else
        pfc_log(PFC_INFO, "job_completed", "job", job->id, "status", v->status, "reason",
                v->reason);
}

/* The report of this runner with its requests (server/services/queue/fleet.h). */
static json_t *report_of(void *arg)
{
    const pfc_agent *a = arg;
    pfc_spool_state spool;

    pfc_spool_look_at_all(a->spool, &spool);
    return json_pack("{s:s, s:s, s:{s:I, s:I, s:I, s:I, s:f, s:I}}", "version", PFC_VERSION,
                     "sandbox", a->isolation, "spool", "documents", (json_int_t)spool.documents,
                     "max_documents", (json_int_t)PFC_SPOOL_MAX_DOCUMENTS, "bytes",
                     (json_int_t)spool.bytes, "max_bytes", (json_int_t)PFC_SPOOL_MAX_BYTES,
                     "oldest_s", spool.oldest_s, "disk_free_bytes",
                     (json_int_t)spool.disk_free_bytes);
}

/* A pull request may come from a fork with an unknown author, so its commands must be isolated. */
static pfc_code refuse_stranger(const pfc_agent *a, const pfc_leased_job *job, pfc_err *err)
{
    if (a->sandbox || !pfc_streq(job->kind, "pull_request"))
        return PFC_OK;
    return pfc_err_set(err, PFC_EDENIED,
                       "not run: jobs of pull requests need isolation, and this runner's jobs are "
                       "not isolated: %s",
                       a->open_reason);
}

void pfc_agent_do_job(pfc_agent *a, const pfc_leased_job *job)
{
    pfc_lease lease = { .http = a->http,
                        .job = job,
                        .stop_fd = a->opts->stop_fd,
                        .report = a->question.unreported ? NULL : report_of,
                        .report_arg = a,
                        .alive = a->opts->alive,
                        .alive_arg = a->opts->alive_arg,
                        .next_beat_ns = pfc_clock_ns() + (int64_t)(job->lease_s / 3.0 * 1e9) };
    pfc_job_verdict v = { 0 };
    pfc_err err = { 0 };
    pfc_machine_lock lock;

    a->report->jobs++;
    pfc_log(PFC_INFO, "job_leased", "job", job->id, "project", job->project, "commit", job->commit);
    a->question.lease[0] = '\0';
    pfc_spool_lease_token(a->spool, job->token);
    if (pfc_machine_lock_take(a->opts->machine_lock, &lease, &lock, &err) != PFC_OK ||
        (lock.held &&
         (refuse_stranger(a, job, &err) != PFC_OK || work_on(a, job, &lease, &v, &err) != PFC_OK)))
        pfc_agent_verdict(&v, "failed", err.msg);
    pfc_machine_unlock(&lock);
    if (lease.lost || lease.cancelled || lease.stopped || !v.status) {
        a->report->abandoned++;
        pfc_log(PFC_INFO, "job_left", "job", job->id, "reason",
                lease.lost        ? "lease lost"
                : lease.cancelled ? "cancelled"
                : lease.stopped   ? "stopped"
                                  : v.reason);
        /* Return a cancelled job at once: the server need not wait until the lease expires. A
         * batch system that stops a job may start it elsewhere, under the same lease. A
         * stopped job with a run in the spool is completed at the next start. */
        if ((lease.cancelled || (lease.stopped && !v.runs && !a->opts->job)) && !lease.lost &&
            pfc_job_give_back(a->opts->url, a->opts->token, job, &err) != PFC_OK)
            pfc_log(PFC_WARN, "job_not_returned", "job", job->id, "reason", err.msg);
        if (lease.lost || lease.cancelled)
            renew_lease(a);
        pfc_job_verdict_clear(&v);
        return;
    }
    if (strcmp(v.status, "done") == 0)
        a->report->done++;
    else if (strcmp(v.status, "broken") == 0)
        a->report->broken++;
    else
        a->report->failed++;
    complete(a, job, &lease, &v);
    pfc_job_verdict_clear(&v);
}

/* *leased false and PFC_OK: there is no job now. */
static pfc_code ask_for_job(pfc_agent *a, pfc_leased_job *job, bool *leased, pfc_err *err)
{
    const double wanted_s = a->opts->poll_s > 0 ? a->opts->poll_s : DEFAULT_POLL_S;
    const double poll_s = a->opts->once ? 0.0 : fmin(fmax(wanted_s, 1.0), 30.0);
    const int64_t asked_ns = pfc_clock_ns();
    /* The service must not report the silence of a runner that ends on purpose. A label, because a
     * server that is older than this runner takes any. */
    json_t *labels =
        a->opts->once ? json_pack("{s:s, s:s}", "tasks", "blocks", "once", "yes") : NULL;
    pfc_code code;

    a->question.status = report_of(a);
    a->question.labels = labels;
    code = pfc_job_ask(a->http, &a->machine, poll_s, &a->question, job, leased, err);
    json_decref(a->question.status);
    json_decref(labels);
    a->question.status = NULL;
    a->question.labels = NULL;
    if (code == PFC_ECONFLICT) {
        /* the server has a later request number: the work folder was restored from a backup */
        renew_lease(a);
        code = PFC_EUNAVAIL;
    }
    /* Pauses, because a server that answers at once would otherwise receive thousands of requests a
     * second. The loop checks for a stop. */
    if (code == PFC_OK && !*leased && !a->opts->once && pfc_clock_ns() - asked_ns < PFC_NS_PER_S)
        (void)pfc_stop_wait(a->opts->stop_fd, 1.0);
    return code;
}

/* Nothing is leased whose result could not be kept. Checkouts give way first: they can be made
 * again. */
static pfc_code probe_disk(pfc_agent *a, pfc_err *err)
{
    pfc_code code = pfc_spool_probe(a->spool, err);

    if (code != PFC_EIO)
        return code;
    pfc_log(PFC_WARN, "disk_full", "reason", err->msg, "consequence", "all checkouts are removed");
    pfc_workspace_drop_caches(a->opts->dir);
    return pfc_spool_probe(a->spool, err);
}

/* One round; PFC_OK and *leased, or why there is no job. */
static pfc_code next_job(pfc_agent *a, pfc_leased_job *job, bool *leased, pfc_err *err)
{
    pfc_spool_report report;
    pfc_code code;

    *leased = false;
    code = pfc_agent_drain(a, NULL, NULL, 1, &report, err);
    if (code && report.only_put_off)
        code = PFC_OK; /* the spool logged them and retries them */
    if (code == PFC_OK && !a->question.lease[0])
        code = pfc_job_settle(a->http, a->opts->dir, a->spool, &a->question, err);
    if (code == PFC_OK)
        code = probe_disk(a, err);
    return code ? code : ask_for_job(a, job, leased, err);
}

static pfc_code loop(pfc_agent *a, pfc_err *err)
{
    unsigned tries = 0;

    while (!pfc_agent_stopped(a)) {
        pfc_leased_job job = { 0 };
        bool leased = false;
        unsigned before = a->failures;
        pfc_code code = next_job(a, &job, &leased, err);

        a->failures = code ? before : 0;
        if (leased) {
            pfc_agent_do_job(a, &job);
            pfc_job_clear(&job);
        }
        if (pfc_agent_stopped(a))
            break;
        if (code) {
            if (a->opts->once && (++tries >= PFC_AGENT_ONCE_TRIES || !pfc_http_retryable(code)))
                return code;
            pfc_log(PFC_ERROR, "lease_failed", "reason", err->msg);
            if (pfc_agent_pause(a, NULL, 0.0))
                break;
        } else if (a->opts->once) {
            break;
        }
    }
    return PFC_OK;
}

static pfc_code take_lock(pfc_agent *a, pfc_err *err)
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

static pfc_code open_sandbox(pfc_agent *a, pfc_err *err)
{
    const pfc_sandbox_opts opts = { .dir = a->opts->dir,
                                    .read_only = a->opts->sandbox_paths,
                                    .socket = a->opts->sandbox_socket,
                                    .variables = a->opts->sandbox_variables };
    pfc_code code;

    if (a->opts->sandbox == PFC_SANDBOX_OFF) {
        (void)snprintf(a->open_reason, sizeof(a->open_reason), "--sandbox off");
        pfc_log(PFC_WARN, "jobs_not_isolated", "reason", "--sandbox off");
        return PFC_OK;
    }
    code = pfc_sandbox_open(&opts, &a->sandbox, err);
    if (!code)
        pfc_log(PFC_INFO, "jobs_isolated", "by", pfc_sandbox_description(a->sandbox));
    if (code != PFC_EUNAVAIL || a->opts->sandbox == PFC_SANDBOX_REQUIRE)
        return code ? pfc_err_wrap(err, "sandbox") : PFC_OK;
    (void)snprintf(a->open_reason, sizeof(a->open_reason), "%s", err->msg);
    pfc_log(PFC_WARN, "jobs_not_isolated", "reason", err->msg, "consequence",
            "a job can read and change everything that this user can");
    *err = (pfc_err){ 0 };
    return PFC_OK;
}

/* Control groups are a second wall: jobs run without them, too. */
static void open_cgroups(pfc_agent *a)
{
    pfc_err err = { 0 };
    const char *walls = a->sandbox ? pfc_sandbox_description(a->sandbox) : "none";

    if (a->sandbox && a->opts->sandbox_socket)
        pfc_log(PFC_INFO, "jobs_in_cgroups_of", "by", "perfci-sandbox");
    else if (pfc_cgroups_open(NULL, &a->cgroups, &err) == PFC_OK)
        pfc_log(PFC_INFO, "jobs_in_cgroups", "by", pfc_cgroups_description(a->cgroups));
    else
        pfc_log(PFC_INFO, "jobs_without_cgroups", "reason", err.msg, "consequence",
                "the runner itself watches the memory of a job, ten times a second");
    (void)snprintf(a->isolation, sizeof(a->isolation), "%s%s%s", walls, a->cgroups ? ", " : "",
                   a->cgroups ? pfc_cgroups_description(a->cgroups) : "");
}

pfc_code pfc_agent_run(const pfc_agent_opts *opts, pfc_agent_report *report, pfc_err *err)
{
    pfc_agent a = { .opts = opts, .report = report, .lock_fd = -1 };
    pfc_http_opts http = { .url = opts->url,
                           .token = opts->token,
                           .cancelled = pfc_agent_http_cancelled,
                           .cancelled_arg = &a };
    pfc_err own = { 0 };
    char *spool_dir = pfc_fs_join(opts->dir, PFC_AGENT_SPOOL);
    pfc_code code;

    *report = (pfc_agent_report){ 0 };
    pfc_rng_seed(&a.rng, opts->seed);
    pfc_host_describe(NULL, &a.machine, opts->name, opts->machine_class);
    code = pfc_fs_mkdirs(opts->dir, 0700, &own);
    if (code == PFC_OK)
        code = take_lock(&a, &own);
    if (code == PFC_OK) /* before perfci-sandbox starts, whose unit closes this folder to it */
        code = pfc_fs_mkdirs(spool_dir, 0700, &own);
    if (code == PFC_OK)
        code = open_sandbox(&a, &own);
    if (code == PFC_OK)
        open_cgroups(&a);
    if (code == PFC_OK)
        code = pfc_spool_open(spool_dir, &a.spool, &own);
    if (code == PFC_OK && opts->backoff_s > 0)
        pfc_spool_backoff(a.spool, opts->backoff_s);
    if (code == PFC_OK && opts->job)
        code = pfc_agent_read_given(&a, &own);
    if (!http.token)
        http.token = a.given.token;
    if (code == PFC_OK)
        code = pfc_http_new(&http, &a.http, &own);
    if (code == PFC_OK && opts->ready)
        opts->ready(opts->ready_arg);
    if (code == PFC_OK) {
        code = opts->job ? pfc_agent_given_job(&a, &own) : loop(&a, &own);
        report->waiting = pfc_spool_waiting(a.spool);
    }
    pfc_http_free(a.http);
    pfc_spool_close(a.spool);
    pfc_cgroups_close(a.cgroups);
    pfc_sandbox_close(a.sandbox);
    if (a.lock_fd >= 0)
        (void)close(a.lock_fd);
    pfc_machine_clear(&a.machine);
    pfc_job_clear(&a.given);
    free(spool_dir);
    if (code && err)
        *err = own;
    return code;
}
