/*
 * A job that another process leased and whose lease it keeps: a batch system started this one for
 * it, perhaps not for the first time.
 */
#include <string.h>

#include "core/base/log.h"
#include "runner/agent/agent_priv.h"

pfc_code pfc_agent_read_given(pfc_agent *a, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_code code = pfc_json_parse(a->opts->job, strlen(a->opts->job), &doc, err);

    if (!code)
        code = pfc_job_from_json(doc, &a->given, err);
    json_decref(doc);
    return code ? pfc_err_wrap(err, "--job") : PFC_OK;
}

/* The results of an earlier process in this folder are sent first: if this job's is among them, it
 * is complete and is not measured again. None of it may keep this job from its node, because it is
 * another one's result. */
static void send_left_over(pfc_agent *a)
{
    pfc_spool_report report;
    pfc_err err = { 0 };

    if (pfc_agent_drain(a, NULL, NULL, 1, &report, &err) != PFC_OK)
        pfc_log(PFC_WARN, "upload_failed", "reason", err.msg, "waiting", report.waiting);
    if (pfc_job_settle(a->http, a->opts->dir, a->spool, &a->question, &err) != PFC_OK)
        pfc_log(PFC_WARN, "earlier_job_not_completed", "reason", err.msg);
}

pfc_code pfc_agent_given_job(pfc_agent *a, pfc_err *err)
{
    pfc_code code;

    send_left_over(a);
    code = pfc_spool_probe(a->spool, err);
    if (code)
        return code;
    a->failures = 0;
    for (unsigned n = 1;; n++) {
        code = pfc_job_restart(a->http, a->machine.name, &a->given, err);
        if (!pfc_http_retryable(code) || n == PFC_AGENT_ONCE_TRIES || pfc_agent_stopped(a))
            break;
        pfc_log(PFC_WARN, "job_not_begun", "job", a->given.id, "reason", err->msg);
        if (pfc_agent_pause(a, NULL, 0.0))
            break;
    }
    if (code == PFC_ECONFLICT || code == PFC_ENOTFOUND) {
        pfc_log(PFC_WARN, "lease_lost", "job", a->given.id, "reason", err->msg);
        *err = (pfc_err){ 0 };
        return PFC_OK;
    }
    if (code || pfc_agent_stopped(a))
        return code;
    pfc_agent_do_job(a, &a->given);
    return PFC_OK;
}
