/*
 * From a measurement to the server: through the spool, or from memory when the disk takes nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/parse.h"
#include "runner/agent/agent_priv.h"

#define DEFAULT_BACKOFF_S 0.5
#define MAX_BACKOFF_S     60.0
#define SLICE_S           0.5 /* between two looks at the lease while waiting */

bool pfc_agent_stopped(const pfc_agent *a)
{
    if (a->opts->alive)
        a->opts->alive(a->opts->alive_arg);
    return pfc_stop_wait(a->opts->stop_fd, 0.0);
}

bool pfc_agent_http_cancelled(void *arg)
{
    return pfc_agent_stopped(arg);
}

bool pfc_agent_pause(pfc_agent *a, pfc_lease *lease, double at_least_s)
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

/* Returns true if nothing is left to wait for. */
static bool is_settled(const pfc_agent *a, const char *id)
{
    char reason[PFC_ERR_MAX];

    return id && pfc_spool_look(a->spool, id, reason) != PFC_SPOOL_WAITS;
}

pfc_code pfc_agent_drain(pfc_agent *a, pfc_lease *lease, const char *id, unsigned tries,
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
        if (pfc_agent_stopped(a) || n == tries || is_settled(a, id))
            return code;
        pfc_log(code == PFC_EDENIED ? PFC_ERROR : PFC_WARN, "upload_failed", "reason", err->msg,
                "waiting", report->waiting);
        if (pfc_agent_pause(a, lease, report->retry_after_s))
            return code;
    }
}

/* A run, or a session with its runs. */
typedef struct parcel {
    const char *id;
    const pfc_run *run; /* NULL: the session */
    const pfc_run_trace *traces;
    size_t traces_len;
    const pfc_session_set *set;
} parcel;

static pfc_code put_into_spool(pfc_agent *a, const parcel *p, pfc_err *err)
{
    return p->run ? pfc_spool_add_traced(a->spool, p->run, p->traces, p->traces_len, err)
                  : pfc_spool_add_session(a->spool, p->set, err);
}

/* The disk accepts no data, so the result is sent from memory: without that it would be lost. */
static pfc_code send_unspooled(pfc_agent *a, pfc_lease *lease, const parcel *p, pfc_err *err)
{
    pfc_code code;

    a->failures = 0;
    for (;;) {
        code = p->run ? pfc_spool_bypass(a->http, lease->job->token, p->run, err)
                      : pfc_spool_bypass_session(a->http, lease->job->token, p->set, err);
        if (code == PFC_OK || !pfc_http_retryable(code) || pfc_agent_stopped(a))
            return code;
        pfc_log(PFC_ERROR, "result_in_memory_only", "reason", err->msg);
        if (pfc_agent_pause(a, lease, 0.0))
            return code;
    }
}

void pfc_agent_verdict(pfc_job_verdict *v, const char *status, const char *reason)
{
    v->status = status;
    (void)snprintf(v->reason, sizeof(v->reason), "%s", reason);
    /* a commit's author may have chosen the text, so control characters are escaped */
    pfc_text_plain(v->reason, false);
}

void pfc_agent_keep(pfc_agent *a, const pfc_leased_job *job, const pfc_job_verdict *v)
{
    pfc_err err = { 0 };

    if (pfc_job_keep(a->opts->dir, job, v, &err) != PFC_OK)
        pfc_log(PFC_WARN, "job_file_not_written", "job", job->id, "reason", err.msg);
}

/* v holds the verdict if all goes well; `whole`: with it the job is done. */
static void store(pfc_agent *a, pfc_lease *lease, const parcel *p, bool whole, pfc_job_verdict *v)
{
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    if (put_into_spool(a, p, &err) != PFC_OK) {
        pfc_log(PFC_ERROR, "spool_failed", "reason", err.msg);
        if (send_unspooled(a, lease, p, &err) != PFC_OK)
            pfc_agent_verdict(v, "failed", err.msg);
        return;
    }
    if (whole)
        pfc_agent_keep(a, lease->job, v);
    lease->progress = "uploading";
    /* A given job's lease is kept by another process, so its result waits here for the server. */
    (void)pfc_agent_drain(a, lease, p->id,
                          a->opts->once && !a->opts->job ? PFC_AGENT_ONCE_TRIES : 0, &report, &err);
    switch (pfc_spool_look(a->spool, p->id, reason)) {
    case PFC_SPOOL_GONE:
        break;
    case PFC_SPOOL_WAITS: /* on disk: the next round or the next start uploads it */
        pfc_agent_verdict(v, NULL, err.msg);
        break;
    case PFC_SPOOL_PUT_OFF:
    case PFC_SPOOL_REJECTED:
        pfc_agent_verdict(v, "failed", reason);
        break;
    }
}

void pfc_agent_store(pfc_agent *a, pfc_lease *lease, const pfc_outcome *measured, bool whole,
                     pfc_job_verdict *v)
{
    const parcel p = { .id = measured->run->id,
                       .run = measured->run,
                       .traces = measured->traces,
                       .traces_len = measured->traces_len };

    pfc_job_verdict_add_run(v, p.id);
    pfc_agent_verdict(v, "done", "");
    store(a, lease, &p, whole, v);
}

void pfc_agent_store_session(pfc_agent *a, pfc_lease *lease, const pfc_session_set *set,
                             const char *status, const char *reason, pfc_job_verdict *v)
{
    const parcel p = { .id = set->id, .set = set };

    (void)snprintf(v->session, sizeof(v->session), "%s", set->id);
    for (size_t i = 0; i < set->len; i++)
        pfc_job_verdict_add_run(v, set->runs[i]->id);
    pfc_agent_verdict(v, status, reason);
    store(a, lease, &p, true, v);
}
