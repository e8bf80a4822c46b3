/*
 * The dispatcher's loop, once a second: read Slurm's list of batch jobs, see to each held job, and
 * lease more where nodes are free.
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
#include "core/http/client.h"
#include "runner/slurm/holdings.h"

#define TICK_S    1.0
#define KINDS_S   10.0 /* between two looks at the nodes */
#define AHEAD     1    /* jobs of each kind that wait in Slurm while its nodes work */
#define LATE_S    60.0 /* for a node to see by its own heartbeats that the lease has ended */
#define BEAT_S    5.0
#define MAX_KINDS 64

typedef struct dispatcher {
    const pfc_slurm_opts *opts;
    pfc_slurm_report *report;
    pfc_http *http;
    pfc_holdings all;
    pfc_slurm_kinds kinds;
    pfc_slurm_batches batches;
    uint64_t listing; /* number of the list in `batches`; 0: none yet */
    int64_t next_kinds_ns;
    size_t turn;    /* kind that waits for a job next */
    bool asked_all; /* the last round found no job for any kind */
} dispatcher;

/* ---- held jobs ---- */

/* Keeps the lease alive: of the lease, whatever start of it runs. */
static void beat(dispatcher *d, pfc_holding *h, const char *progress)
{
    char path[64];
    json_t *body = json_pack("{s:s, s:s*}", "lease", h->secret, "progress", progress), *doc = NULL;
    char *text = json_dumps(body, JSON_COMPACT);
    pfc_http_req req = { .method = "POST",
                         .path = path,
                         .body = text,
                         .body_len = text ? strlen(text) : 0,
                         .timeout_s = BEAT_S };
    pfc_http_answer answer = { 0 };
    pfc_err err = { 0 };
    pfc_code code;

    (void)snprintf(path, sizeof(path), "/api/v1/jobs/%lld/heartbeat", (long long)h->job.id);
    code = pfc_http_send(d->http, &req, &answer, &err);
    if (!code)
        code = pfc_http_check(d->http, &answer, &err);
    if (!code) {
        doc = json_loadb(answer.body.data, answer.body.len, 0, NULL);
        if (json_is_true(json_object_get(doc, "cancel")) && !h->cancelled && h->batch) {
            h->cancelled = true;
            pfc_log(PFC_INFO, "job_cancelled", "job", h->job.id, "batch_job", h->batch);
            if (pfc_slurm_cancel(h->batch, false, &err) != PFC_OK) {
                h->cancelled = false; /* the next heartbeat tries again */
                pfc_log(PFC_WARN, "batch_job_not_cancelled", "reason", err.msg);
            }
        }
    } else if ((code == PFC_ECONFLICT && answer.status == 409) || code == PFC_ENOTFOUND) {
        h->over_ns = pfc_clock_ns();
    } else {
        pfc_log(PFC_WARN, "heartbeat_failed", "job", h->job.id, "reason", err.msg);
    }
    json_decref(doc);
    json_decref(body);
    free(text);
    pfc_http_answer_clear(&answer);
}

static void keep_lease(dispatcher *d, pfc_holding *h, const pfc_slurm_batch *batch)
{
    char progress[200];
    const bool waits = !batch || batch->pending;

    if (h->over_ns || pfc_clock_ns() < h->next_beat_ns)
        return;
    (void)snprintf(progress, sizeof(progress), "waiting in Slurm as job %lld: %s",
                   (long long)h->batch, batch ? batch->reason : "submitted");
    beat(d, h, waits && h->batch ? progress : NULL);
    h->next_beat_ns = pfc_clock_ns() + (int64_t)(h->job.lease_s / 3.0 * 1e9);
}

/* The batch job has ended and the lease has not: no result came, so the service decides. */
static void give_back(dispatcher *d, pfc_holding *h, const char *why)
{
    pfc_leased_job job = h->job;
    pfc_err err = { 0 };
    pfc_code code;

    job.lease = h->secret;
    job.token = NULL;
    code = pfc_job_give_back(d->opts->url, d->opts->token, &job, &err);
    if (!code) {
        d->report->returned++;
        pfc_log(PFC_WARN, "job_returned", "job", h->job.id, "batch_job", h->batch, "reason", why);
    } else if (code != PFC_ECONFLICT && code != PFC_ENOTFOUND) { /* else: completed, as it should */
        pfc_log(PFC_WARN, "job_not_returned", "job", h->job.id, "reason", err.msg);
    }
    pfc_holding_drop(h);
}

static void submit(dispatcher *d, pfc_holding *h)
{
    const pfc_slurm_kind kind = { .features = h->features,
                                  .gres = h->gres,
                                  .machine_class = h->machine_class };
    char *script = pfc_slurm_script(d->opts, &kind, h->document);
    pfc_err err = { 0 };
    pfc_code code = pfc_slurm_submit(d->opts, &kind, h->name, script, &h->batch, &err);

    free(script);
    if (!code) {
        h->listing = d->listing + 1;
        d->report->submitted++;
        pfc_log(PFC_INFO, "job_submitted", "job", h->job.id, "batch_job", h->batch, "class",
                h->machine_class);
    } else if (code == PFC_EUNAVAIL) { /* the lease is kept meanwhile */
        pfc_log(PFC_WARN, "job_not_submitted", "job", h->job.id, "reason", err.msg);
    } else {
        pfc_log(PFC_ERROR, "job_refused_by_slurm", "job", h->job.id, "reason", err.msg);
        give_back(d, h, err.msg);
    }
}

/* Called after the end of the lease. The process of a completed job is about to end, and that of a
 * lost one ends at its next heartbeat. A batch job that still waits is cancelled: otherwise it
 * would use a node for nothing. */
static void wind_up(pfc_holding *h, const pfc_slurm_batch *batch)
{
    const bool late = pfc_clock_ns() - h->over_ns > (int64_t)(LATE_S * 1e9);
    pfc_err err = { 0 };

    if ((batch->pending || late) && pfc_slurm_cancel(batch->id, batch->pending, &err) != PFC_OK)
        pfc_log(PFC_WARN, "batch_job_not_cancelled", "batch_job", batch->id, "reason", err.msg);
}

/* `fresh`: the list is of this round. Else only the lease is kept. */
static void attend(dispatcher *d, pfc_holding *h, bool fresh)
{
    const pfc_slurm_batch *batch = pfc_slurm_batch_find(&d->batches, h->name);

    if (batch)
        h->batch = batch->id;
    keep_lease(d, h, batch);
    if (!fresh)
        return;
    if (batch && h->over_ns)
        wind_up(h, batch);
    else if (batch)
        h->listing = h->listing ? h->listing : d->listing; /* of an earlier dispatcher */
    else if (h->over_ns)
        pfc_holding_drop(h);
    else if (!h->listing)
        submit(d, h);
    else if (d->listing >= h->listing)
        give_back(d, h, "the batch job ended without a result");
}

static bool list_batches(dispatcher *d)
{
    pfc_err err = { 0 };

    if (pfc_slurm_batches_read(&d->batches, &err) == PFC_OK) {
        d->listing++;
        return true;
    }
    pfc_log(PFC_WARN, "slurm_unavailable", "reason", err.msg, "held", pfc_holdings_held(&d->all));
    return false;
}

/* ---- new jobs ---- */

static pfc_code ask(dispatcher *d, const pfc_slurm_kind *kind, double wait_s, bool *leased,
                    pfc_err *err)
{
    char *name = pfc_format("%s/%s", d->opts->name, kind->machine_class), *document = NULL;
    const pfc_machine machine = { .name = name, .machine_class = kind->machine_class };
    pfc_holding *h = NULL;
    pfc_code code = pfc_holdings_spare(&d->all, d->http, &h, err);

    *leased = false;
    if (!code) {
        h->question.labels = kind->labels;
        h->question.document = &document;
        code = pfc_job_ask(d->http, &machine, wait_s, &h->question, &h->job, leased, err);
        h->question.labels = NULL;
        h->question.document = NULL;
    }
    if (code == PFC_ECONFLICT) { /* a work folder that was put back */
        code = pfc_lease_new(h->dir, &h->question, err);
    }
    free(name);
    if (code || !*leased)
        return code;
    pfc_log(PFC_INFO, "job_leased", "job", h->job.id, "project", h->job.project, "commit",
            h->job.commit, "class", kind->machine_class);
    h->next_beat_ns = pfc_clock_ns() + (int64_t)(h->job.lease_s / 3.0 * 1e9);
    code = pfc_holding_keep(h, document, kind, err);
    if (code)
        give_back(d, h, err->msg); /* a full disk: nothing is begun that could be lost */
    else
        submit(d, h);
    return code;
}

static void read_kinds(dispatcher *d)
{
    pfc_err err = { 0 };

    if (pfc_clock_ns() < d->next_kinds_ns)
        return;
    d->next_kinds_ns = pfc_clock_ns() + (int64_t)(KINDS_S * 1e9);
    if (pfc_slurm_kinds_read(d->opts, &d->kinds, &err) != PFC_OK)
        pfc_log(PFC_WARN, "slurm_unavailable", "reason", err.msg);
}

/* A drained or failed kind gets no more jobs. */
static bool has_room(const dispatcher *d, const pfc_slurm_kind *kind)
{
    return kind->usable > 0 && pfc_holdings_of_kind(&d->all, kind) < kind->usable + AHEAD;
}

/* Each kind is asked for once without waiting; when none got a job, one kind waits for the rest of
 * the second, in turn. */
static void lease_more(dispatcher *d)
{
    const int64_t begin_ns = pfc_clock_ns();
    bool any = false, leased = false, waited = false;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < d->kinds.len && !code; i++) {
        if (!has_room(d, &d->kinds.items[i]))
            continue;
        code = ask(d, &d->kinds.items[i], 0.0, &leased, &err);
        any = any || leased;
    }
    d->asked_all = !any && !code;
    for (size_t i = 0; i < d->kinds.len && !code && !any && !waited && !d->opts->once; i++) {
        const pfc_slurm_kind *kind = &d->kinds.items[d->turn++ % d->kinds.len];

        if (has_room(d, kind)) {
            waited = true;
            code = ask(d, kind, TICK_S, &leased, &err);
            any = leased;
        }
    }
    if (code)
        pfc_log(PFC_ERROR, "lease_failed", "reason", err.msg);
    if (!any) {
        const double left_s = TICK_S - (double)(pfc_clock_ns() - begin_ns) * 1e-9;

        (void)pfc_stop_wait(d->opts->stop_fd, fmax(0.05, left_s));
    }
}

static void loop(dispatcher *d)
{
    while (!pfc_stop_wait(d->opts->stop_fd, 0.0)) {
        const bool fresh = list_batches(d);

        if (d->opts->alive)
            d->opts->alive(d->opts->alive_arg);
        for (size_t i = 0; i < d->all.len; i++)
            if (d->all.items[i]->held)
                attend(d, d->all.items[i], fresh);
        read_kinds(d);
        if (fresh)
            lease_more(d);
        else if (pfc_stop_wait(d->opts->stop_fd, TICK_S))
            break;
        if (d->opts->once && d->asked_all && !pfc_holdings_held(&d->all))
            break;
    }
}

/* ---- begin and end ---- */

static pfc_code take_lock(const char *dir, int *fd, pfc_err *err)
{
    char *path = pfc_fs_join(dir, "lock");
    pfc_code code = PFC_OK;

    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0)
        code = pfc_err_set(err, PFC_EIO, "open %s: %s", path, strerror(errno));
    else if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        code = pfc_err_set(err, PFC_ECONFLICT, "another runner works in %s", dir);
    free(path);
    return code;
}

/* Permanent faults must be found before the first lease. */
static pfc_code look_at_cluster(dispatcher *d, pfc_err *err)
{
    pfc_code code = pfc_slurm_kinds_read(d->opts, &d->kinds, err);

    if (code == PFC_EUNAVAIL) {
        pfc_log(PFC_WARN, "slurm_unavailable", "reason", err->msg);
        *err = (pfc_err){ 0 };
        return PFC_OK;
    }
    if (!code && (d->kinds.len == 0 || d->kinds.len > MAX_KINDS))
        code = pfc_err_set(err, PFC_EINVAL,
                           "sinfo: expected 1 to %d kinds of nodes (features and GRES) in the "
                           "partition, got %zu; choose one with --slurm-partition",
                           MAX_KINDS, d->kinds.len);
    for (size_t i = 0; i < d->kinds.len && !code; i++)
        pfc_log(PFC_INFO, "nodes_found", "class", d->kinds.items[i].machine_class, "features",
                d->kinds.items[i].features, "gres", d->kinds.items[i].gres, "usable",
                d->kinds.items[i].usable);
    return code;
}

static bool is_stopped(void *arg)
{
    const dispatcher *d = arg;

    return pfc_stop_wait(d->opts->stop_fd, 0.0);
}

pfc_code pfc_slurm_run(const pfc_slurm_opts *opts, pfc_slurm_report *report, pfc_err *err)
{
    pfc_slurm_opts own = *opts;
    dispatcher d = { .opts = &own, .report = report };
    const pfc_http_opts http = {
        .url = opts->url, .token = opts->token, .cancelled = is_stopped, .cancelled_arg = &d
    };
    char *nodes = pfc_fs_join(opts->dir, "nodes"), *bin = NULL, *program = NULL;
    int lock_fd = -1;
    pfc_code code;

    *report = (pfc_slurm_report){ 0 };
    own.name = opts->name ? opts->name : "slurm";
    own.node_dir = opts->node_dir ? opts->node_dir : nodes;
    code = pfc_fs_mkdirs(opts->dir, 0700, err);
    if (!code)
        code = take_lock(opts->dir, &lock_fd, err);
    if (!code && !opts->program) {
        code = pfc_fs_program_dir(&bin, err);
        program = bin ? pfc_fs_join(bin, "perfci-runner") : NULL;
        own.program = program;
    }
    if (!code)
        code = look_at_cluster(&d, err);
    if (!code)
        code = pfc_http_new(&http, &d.http, err);
    if (!code)
        code = pfc_holdings_open(opts->dir, &d.all, err);
    if (!code && opts->ready)
        opts->ready(opts->ready_arg);
    if (!code) {
        loop(&d);
        report->held = pfc_holdings_held(&d.all);
    }
    pfc_holdings_close(&d.all);
    pfc_slurm_kinds_clear(&d.kinds);
    pfc_slurm_batches_clear(&d.batches);
    pfc_http_free(d.http);
    if (lock_fd >= 0)
        (void)close(lock_fd);
    free(program);
    free(bin);
    free(nodes);
    return code;
}
